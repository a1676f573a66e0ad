//! A macro for enums whose members have names in JSON, in a database and in messages.

/// Implements `ALL`, `name` and `named` for an enum.
macro_rules! named {
    ($kind:ident { $($member:ident = $name:literal),* $(,)? }) => {
        impl $kind {
            /// All members, in the order of their declaration.
            pub const ALL: [$kind; [$($name),*].len()] = [$($kind::$member),*];

            /// Returns the name of the member, as in JSON.
            pub fn name(self) -> &'static str {
                match self {
                    $($kind::$member => $name),*
                }
            }

            /// Returns the member with this name; `None` if there is none.
            pub fn named(name: &str) -> Option<$kind> {
                $kind::ALL.into_iter().find(|one| one.name() == name)
            }
        }
    };
}
