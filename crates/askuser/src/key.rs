//! Keys, independent of terminal libraries.
//!
//! Each surface converts its own input (bytes, crossterm events) to them.

/// A key, with the modifiers held down.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Key {
    /// The key.
    pub code: KeyCode,
    /// The modifiers.
    pub mods: Mods,
}

/// The code of a key. `Char` carries the typed character, so [`Mods`] omits Shift for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum KeyCode {
    Char(char),
    Enter,
    Esc,
    Tab,
    BackTab,
    Backspace,
    Delete,
    Up,
    Down,
    Left,
    Right,
    Home,
    End,
    PageUp,
    PageDown,
}

/// Modifier keys.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub struct Mods {
    pub ctrl: bool,
    pub alt: bool,
    pub shift: bool,
}

impl Mods {
    /// No modifier.
    pub const NONE: Mods = Mods { ctrl: false, alt: false, shift: false };
    /// Control alone.
    pub const CTRL: Mods = Mods { ctrl: true, ..Mods::NONE };
    /// Alt alone.
    pub const ALT: Mods = Mods { alt: true, ..Mods::NONE };
    /// Shift alone.
    pub const SHIFT: Mods = Mods { shift: true, ..Mods::NONE };
}

impl Key {
    /// A key without modifiers.
    pub const fn plain(code: KeyCode) -> Key {
        Key { code, mods: Mods::NONE }
    }

    /// A character held with Control, in lower case: `Key::ctrl('c')`.
    pub const fn ctrl(c: char) -> Key {
        Key { code: KeyCode::Char(c), mods: Mods::CTRL }
    }

    /// A key held with Alt.
    pub const fn alt(code: KeyCode) -> Key {
        Key { code, mods: Mods::ALT }
    }
}

impl From<KeyCode> for Key {
    fn from(code: KeyCode) -> Key {
        Key::plain(code)
    }
}
