//! Decodes keys from bytes and escape sequences: legacy, xterm, rxvt, modifyOtherKeys and kitty encodings.
//!
//! All functions are pure. They return `None` if a sequence is no supported key.

use super::ESC;
use askuser::{Key, KeyCode, Mods};

/// Returns the key that sends a byte below 0x80.
pub(super) fn ascii_key(byte: u8) -> Key {
    match byte {
        b'\r' => KeyCode::Enter.into(),
        b'\t' => KeyCode::Tab.into(),
        ESC => KeyCode::Esc.into(),
        0x08 | 0x7f => KeyCode::Backspace.into(),
        0x00 => Key::ctrl(' '),
        0x01..=0x1a => Key::ctrl(char::from(byte - 1 + b'a')),
        0x1c..=0x1f => Key::ctrl(char::from(byte + 0x40)),
        _ => KeyCode::Char(char::from(byte)).into(),
    }
}

/// Returns the key that sends `ESC [ params end`; `None` if no supported key does.
pub(super) fn csi_key(params: &[u8], end: u8) -> Option<Key> {
    let params = Params::parse(params)?;
    if let Some(code) = arrow(end) {
        // Old xterms send the modifiers as the only parameter: `CSI 5 C`.
        let mods = if params.count == 1 { params.mods(0)? } else { params.mods(1)? };
        return Some(Key { code, mods: mods.known });
    }
    match end {
        b'Z' => Some(Key { code: KeyCode::BackTab, mods: Mods { shift: false, ..params.mods(1)?.known } }),
        b'a'..=b'd' if params.count == 0 => Some(Key { code: arrow(end.to_ascii_uppercase())?, mods: Mods::SHIFT }),
        b'~' if params.main(0) == Some(27) => character_key(params.main(2)?, None, params.mods(1)?),
        b'~' => Some(Key { code: numbered(params.main(0)?)?, mods: params.mods(1)?.known }),
        b'^' => Some(Key { code: numbered(params.main(0)?)?, mods: Mods::CTRL }),
        b'$' => Some(Key { code: numbered(params.main(0)?)?, mods: Mods::SHIFT }),
        b'@' => Some(Key { code: numbered(params.main(0)?)?, mods: Mods { shift: true, ..Mods::CTRL } }),
        b'u' => character_key(params.main(0)?, params.sub(0), params.mods(1)?),
        _ => None,
    }
}

/// Returns the key that sends `ESC O params end`; `None` if no supported key does.
pub(super) fn ss3_key(params: &[u8], end: u8) -> Option<Key> {
    let mods = || {
        let params = Params::parse(params)?;
        Some(params.mods(params.count.saturating_sub(1))?.known)
    };
    match end {
        // The Enter key of the keypad.
        b'M' if params.is_empty() => Some(KeyCode::Enter.into()),
        // rxvt sends a lower-case letter for an arrow key with Control.
        b'a'..=b'd' if params.is_empty() => Some(Key { code: arrow(end.to_ascii_uppercase())?, mods: Mods::CTRL }),
        _ => Some(Key { code: arrow(end)?, mods: mods()? }),
    }
}

fn arrow(end: u8) -> Option<KeyCode> {
    Some(match end {
        b'A' => KeyCode::Up,
        b'B' => KeyCode::Down,
        b'C' => KeyCode::Right,
        b'D' => KeyCode::Left,
        b'H' => KeyCode::Home,
        b'F' => KeyCode::End,
        _ => return None,
    })
}

fn numbered(number: u32) -> Option<KeyCode> {
    Some(match number {
        1 | 7 => KeyCode::Home,
        4 | 8 => KeyCode::End,
        3 => KeyCode::Delete,
        5 => KeyCode::PageUp,
        6 => KeyCode::PageDown,
        _ => return None,
    })
}

/// Returns the key for a code point, as modifyOtherKeys and the kitty protocol report it. `None` if the key is not
/// supported.
fn character_key(code: u32, shifted: Option<u32>, mods: ReportedMods) -> Option<Key> {
    let ReportedMods { known, caps, foreign } = mods;
    let code = match code {
        13 | 57414 => KeyCode::Enter,
        27 => KeyCode::Esc,
        9 if known.shift => return Some(Key { code: KeyCode::BackTab, mods: Mods { shift: false, ..known } }),
        9 => KeyCode::Tab,
        8 | 127 => KeyCode::Backspace,
        // The code points of the keypad in the kitty protocol.
        57399..=57408 => KeyCode::Char(char::from_digit(code - 57399, 10)?),
        57417 => KeyCode::Left,
        57418 => KeyCode::Right,
        57419 => KeyCode::Up,
        57420 => KeyCode::Down,
        57421 => KeyCode::PageUp,
        57422 => KeyCode::PageDown,
        57423 => KeyCode::Home,
        57424 => KeyCode::End,
        57426 => KeyCode::Delete,
        // The code points of other keys without a character.
        57344..=63743 => return None,
        _ => {
            // Shortcuts with Super or Hyper belong to the window manager or the terminal.
            if foreign {
                return None;
            }
            let c = char::from_u32(code).filter(|c| !c.is_control())?;
            let c = if known.ctrl {
                c.to_ascii_lowercase()
            } else if let Some(c) = shifted.filter(|_| known.shift).and_then(char::from_u32).filter(|c| !c.is_control())
            {
                c
            } else if known.shift != caps {
                single(c.to_uppercase()).unwrap_or(c)
            } else {
                c
            };
            return Some(Key { code: KeyCode::Char(c), mods: Mods { shift: false, ..known } });
        }
    };
    let shift = known.shift && !matches!(code, KeyCode::Char(_));
    Some(Key { code, mods: Mods { shift, ..known } })
}

fn single(mut chars: impl Iterator<Item = char>) -> Option<char> {
    let first = chars.next()?;
    chars.next().is_none().then_some(first)
}

/// The modifiers that a terminal reports.
#[derive(Clone, Copy)]
struct ReportedMods {
    known: Mods,
    caps: bool,
    /// Whether Super or Hyper is held.
    foreign: bool,
}

/// The numbers in a sequence. A sequence has up to four numbers, each with at most one sub-number.
struct Params {
    values: [(Option<u32>, Option<u32>); 4],
    count: usize,
}

impl Params {
    /// Parses the parameters of a sequence. Returns `None` if they have private markers, intermediate bytes, or too
    /// many numbers. Such a sequence is no key.
    fn parse(bytes: &[u8]) -> Option<Params> {
        let mut params = Params { values: [(None, None); 4], count: 0 };
        if bytes.is_empty() {
            return Some(params);
        }
        for part in bytes.split(|&b| b == b';') {
            let slot = params.values.get_mut(params.count)?;
            let mut numbers = part.split(|&b| b == b':').map(number);
            *slot = (numbers.next()??, numbers.next().unwrap_or(Some(None))?);
            params.count += 1;
        }
        Some(params)
    }

    fn main(&self, index: usize) -> Option<u32> {
        self.values.get(index)?.0
    }

    fn sub(&self, index: usize) -> Option<u32> {
        self.values.get(index)?.1
    }

    /// Returns the modifiers in this parameter; `None` for a key release.
    fn mods(&self, index: usize) -> Option<ReportedMods> {
        if self.sub(index) == Some(3) {
            return None;
        }
        let bits = self.main(index).unwrap_or(1).saturating_sub(1);
        let held = |bit: u32| bits & bit != 0;
        // Some terminals use bit 8 for Meta (Option on a Mac), others for Super. The difference matters only for
        // characters.
        let known = Mods { shift: held(1), alt: held(2 | 8 | 32), ctrl: held(4) };
        Some(ReportedMods { known, caps: held(64), foreign: held(8 | 16) })
    }
}

/// Parses a decimal number. Returns `Some(None)` for an empty parameter, and `None` for any other text.
fn number(digits: &[u8]) -> Option<Option<u32>> {
    if digits.is_empty() {
        return Some(None);
    }
    let digits = std::str::from_utf8(digits).ok().filter(|digits| digits.bytes().all(|b| b.is_ascii_digit()))?;
    digits.parse().ok().map(Some)
}
