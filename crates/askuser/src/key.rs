//! Key presses, independent of terminal libraries.
//!
//! Each surface converts its own input (bytes, crossterm events) to these types.

/// A key press with its modifiers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Key {
    /// The code of the key.
    pub code: KeyCode,
    /// The modifiers held down.
    pub mods: Mods,
}

/// The code of a key. `Char` holds the typed character, so [`Mods`] does not report Shift for it.
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

/// The modifiers of a key press.
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
    /// Creates a key without modifiers.
    pub const fn plain(code: KeyCode) -> Key {
        Key { code, mods: Mods::NONE }
    }

    /// Creates a character with Control, in lower case: `Key::ctrl('c')`.
    pub const fn ctrl(c: char) -> Key {
        Key { code: KeyCode::Char(c), mods: Mods::CTRL }
    }

    /// Creates a key with Alt.
    pub const fn alt(code: KeyCode) -> Key {
        Key { code, mods: Mods::ALT }
    }
}

impl From<KeyCode> for Key {
    fn from(code: KeyCode) -> Key {
        Key::plain(code)
    }
}
