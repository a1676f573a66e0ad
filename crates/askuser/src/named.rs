//! Enums whose members have a name in JSON, in a database and in messages.

/// Gives each member its name, and finds it again by that.
macro_rules! named {
    ($kind:ident { $($member:ident = $name:literal),* $(,)? }) => {
        impl $kind {
            /// All there are.
            pub const ALL: [$kind; [$($name),*].len()] = [$($kind::$member),*];

            /// The name as JSON spells it.
            pub fn name(self) -> &'static str {
                match self {
                    $($kind::$member => $name),*
                }
            }

            /// The one of this name.
            pub fn named(name: &str) -> Option<$kind> {
                $kind::ALL.into_iter().find(|one| one.name() == name)
            }
        }
    };
}
