//! Enums with names for JSON, a database and messages.

/// Names each member, and finds a member by its name.
macro_rules! named {
    ($kind:ident { $($member:ident = $name:literal),* $(,)? }) => {
        impl $kind {
            /// All members.
            pub const ALL: [$kind; [$($name),*].len()] = [$($kind::$member),*];

            /// The name as JSON spells it.
            pub fn name(self) -> &'static str {
                match self {
                    $($kind::$member => $name),*
                }
            }

            /// The member of this name.
            pub fn named(name: &str) -> Option<$kind> {
                $kind::ALL.into_iter().find(|one| one.name() == name)
            }
        }
    };
}
