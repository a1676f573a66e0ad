//! Decodes terminal input from bytes to keys and pastes.
//!
//! The decoder is a state machine that takes one byte at a time. It therefore does not matter how reads split the
//! stream. Sequences that are not supported keys (mouse reports, replies, function keys) are dropped as a whole, in
//! seven and eight bits. An unknown sequence never becomes typed characters. Replies are read only after a request
//! (`replies`). Memory is bounded. The decoder has no clock. The caller calls [`Decoder::flush`] once a lone escape
//! byte has waited long enough, or takes the byte for the Esc key at once.

mod keys;
pub(crate) mod replies;
mod strings;

use askuser::{Key, KeyCode, Mods};
use keys::{ascii_key, csi_key, ss3_key};
use replies::Replies;
use strings::{Form, Origin};

/// Input from a terminal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TerminalInput {
    /// A key was pressed.
    Key(Key),
    /// Text was pasted. The text is unchanged, with line ends (often `\r`) and control characters.
    Paste(String),
    /// The window gained or lost the focus. The terminal reports this only if focus events are switched on.
    Focus(Focus),
}

/// A change of the window's focus.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Focus {
    /// The terminal now has the keyboard.
    Gained,
    /// Another window now has the keyboard.
    Lost,
}

/// Turns terminal input bytes into [`TerminalInput`]s, however the bytes are split over reads.
///
/// ```
/// use askuser::KeyCode;
/// use askuser_terminal::{Decoder, TerminalInput};
///
/// let (mut decoder, mut inputs) = (Decoder::default(), Vec::new());
/// decoder.feed(b"\x1b[", &mut inputs);
/// assert!(inputs.is_empty() && decoder.is_waiting());
/// decoder.feed(b"Ay", &mut inputs);
/// assert_eq!(inputs, [KeyCode::Up, KeyCode::Char('y')].map(|code| TerminalInput::Key(code.into())));
/// ```
#[derive(Debug, Default)]
pub struct Decoder {
    state: State,
    /// The parameters of the sequence being read, at most [`MAX_PARAM_BYTES`] bytes.
    params: Vec<u8>,
    /// The pasted text so far, at most [`MAX_PASTE_BYTES`] bytes.
    paste: Vec<u8>,
    pub(crate) replies: Replies,
    /// The decoded input that the caller has not received yet.
    out: Vec<TerminalInput>,
}

/// The longest sequence that is read, in bytes. Key sequences have at most some thirty bytes, and longer ones are
/// dropped.
const MAX_PARAM_BYTES: usize = 64;
/// The longest paste that is read, in bytes. The limit is far above the size that a prompt accepts, and the rest of a
/// longer paste is dropped.
const MAX_PASTE_BYTES: usize = 1 << 20;
const PASTE_END: &[u8] = b"\x1b[201~";

const ESC: u8 = 0x1b;
/// The byte of Ctrl-C.
const ETX: u8 = 0x03;
const CAN: u8 = 0x18;
const SUB: u8 = 0x1a;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    #[default]
    Ground,
    /// The decoder is inside a multi-byte character.
    Utf8 { bytes: [u8; 4], have: u8, need: u8, lead: Lead },
    /// The decoder is after ESC, or after ESC ESC if `lead` is [`Lead::Escape`].
    Escape { lead: Lead },
    /// The decoder is after an ESC that was taken for the Esc key at once.
    TakenEscape,
    /// The decoder is inside `ESC [ …` or `ESC O …`.
    Sequence { kind: Kind, lead: Lead },
    /// The decoder is inside a control string (OSC, DCS, APC, PM, SOS). `last` is the last byte read. The first bytes
    /// are in `params`.
    ControlString { form: Form, last: u8, origin: Origin },
    /// The decoder is inside a report. This many more bytes belong to the report and are dropped.
    Skip { left: u8 },
    /// The decoder is inside a bracketed paste, and has matched this many bytes of its end marker.
    Paste { matched: usize },
}

/// A preceding escape byte. It means Alt if a key follows, and the Esc key otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Lead {
    None,
    Escape,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Csi,
    Ss3,
}

impl Decoder {
    /// Decodes the next bytes and appends the completed inputs to `out`.
    pub fn feed(&mut self, bytes: &[u8], out: &mut Vec<TerminalInput>) {
        let mut rest = bytes;
        while let [byte, tail @ ..] = rest {
            // Pastes are long, so all bytes up to the next escape byte are taken at once.
            if self.state == (State::Paste { matched: 0 }) {
                let plain = rest.iter().position(|&b| b == ESC).unwrap_or(rest.len());
                self.keep_pasted(&rest[..plain]);
                rest = &rest[plain..];
                if let [_, tail @ ..] = rest {
                    self.state = State::Paste { matched: 1 };
                    rest = tail;
                }
                continue;
            }
            self.step(*byte);
            rest = tail;
        }
        out.append(&mut self.out);
    }

    /// Returns whether the decoder holds an unfinished sequence, so that [`Decoder::flush`] is due after a pause.
    ///
    /// An unfinished paste does not count, unless it ends with Ctrl-C. Its end marker may be lost, and the person wants
    /// to interrupt.
    pub fn is_waiting(&self) -> bool {
        match self.state {
            State::Ground => false,
            State::Paste { .. } => self.paste.ends_with(&[ETX]),
            State::ControlString { .. } => !self.is_in_reply(),
            _ => true,
        }
    }

    /// Returns whether the decoder is inside a requested reply. A reply in parts must not become typed text, so
    /// [`Decoder::flush`] is due only after a long pause.
    pub(crate) fn is_in_reply(&self) -> bool {
        matches!(self.state, State::ControlString { origin: Origin::Reply, .. }) && self.replies.expect_string()
    }

    /// Handles a pause in the input. A lone escape byte becomes the Esc key, and other unfinished sequences are
    /// dropped. An unfinished paste continues, unless it ends with Ctrl-C.
    pub fn flush(&mut self, out: &mut Vec<TerminalInput>) {
        match self.state {
            State::Ground => return,
            State::Paste { .. } if !self.is_waiting() => return,
            State::Paste { .. } => {
                self.paste.clear();
                self.key(Key::ctrl('c'));
            }
            State::Escape { lead } => {
                self.emit_esc(lead);
                self.key(KeyCode::Esc);
            }
            State::Sequence { lead, .. } => self.emit_esc(lead),
            State::Utf8 { .. } | State::TakenEscape | State::ControlString { .. } | State::Skip { .. } => {}
        }
        self.state = State::Ground;
        out.append(&mut self.out);
    }

    /// Takes a lone escape byte as the Esc key at once. The rest of an arrow key that follows soon is still read as a
    /// key and not as text.
    pub(crate) fn take_escape(&mut self, out: &mut Vec<TerminalInput>) {
        if let State::Escape { lead } = self.state {
            self.emit_esc(lead);
            self.key(KeyCode::Esc);
            self.state = State::TakenEscape;
            out.append(&mut self.out);
        }
    }

    /// Drops an unfinished sequence, unless a reply is due. The second half of a reply must not become typed text.
    pub(crate) fn restart(&mut self) {
        if !self.replies.are_due() {
            self.state = State::Ground;
            self.paste.clear();
        }
    }

    fn step(&mut self, byte: u8) {
        match self.state {
            State::Ground if byte == ESC => self.state = State::Escape { lead: Lead::None },
            State::Ground => self.plain_byte(byte, Lead::None),
            State::Utf8 { bytes, have, need, lead } => self.continue_char(byte, bytes, have, need, lead),
            State::Escape { lead } => self.after_escape(byte, lead),
            State::TakenEscape if matches!(byte, b'[' | b'O') => self.after_escape(byte, Lead::None),
            // Any other key is separate. The user has seen the effect of Esc and may press the key at once.
            State::TakenEscape => {
                self.state = State::Ground;
                self.step(byte);
            }
            State::Sequence { kind, lead } => self.in_sequence(byte, kind, lead),
            State::ControlString { form, last, origin } => self.in_string(byte, form, last, origin),
            State::Skip { left } => {
                self.state = if left > 1 { State::Skip { left: left - 1 } } else { State::Ground };
            }
            State::Paste { matched } => self.in_paste(byte, matched),
        }
    }

    /// Begins the sequence of an 8-bit control character. Other characters have no effect.
    fn after_c1(&mut self, c1: u8, form: Form, lead: Lead) {
        match c1 - 0x40 {
            b'[' => self.begin_sequence(Kind::Csi, lead),
            b'O' => self.begin_sequence(Kind::Ss3, lead),
            b']' | b'P' | b'_' | b'^' | b'X' => {
                self.emit_esc(lead);
                self.begin_string(form);
            }
            _ => {}
        }
    }

    fn begin_sequence(&mut self, kind: Kind, lead: Lead) {
        self.params.clear();
        self.state = State::Sequence { kind, lead };
    }

    /// Handles a byte outside of sequences.
    fn plain_byte(&mut self, byte: u8, lead: Lead) {
        self.state = State::Ground;
        let need = match byte {
            0x00..=0x7f => {
                let mut key = ascii_key(byte);
                if lead == Lead::Escape {
                    // Some terminals are set up to send ESC LF for Shift-Enter or Alt-Enter.
                    if byte == b'\n' {
                        key = KeyCode::Enter.into();
                    }
                    key.mods.alt = true;
                }
                self.key(key);
                return;
            }
            0x80..=0x9f => return self.after_c1(byte, Form::EightBits, lead),
            0xc2..=0xdf => 2,
            0xe0..=0xef => 3,
            0xf0..=0xf4 => 4,
            // The byte is not UTF-8.
            _ => return,
        };
        self.state = State::Utf8 { bytes: [byte, 0, 0, 0], have: 1, need, lead };
    }

    fn continue_char(&mut self, byte: u8, mut bytes: [u8; 4], have: u8, need: u8, lead: Lead) {
        if !(0x80..=0xbf).contains(&byte) {
            self.state = State::Ground;
            return self.step(byte);
        }
        bytes[usize::from(have)] = byte;
        let have = have + 1;
        if have < need {
            self.state = State::Utf8 { bytes, have, need, lead };
            return;
        }
        self.state = State::Ground;
        match std::str::from_utf8(&bytes[..usize::from(need)]).ok().and_then(|s| s.chars().next()) {
            Some(c1 @ '\u{80}'..='\u{9f}') => self.after_c1(c1 as u8, Form::Utf8, lead),
            Some(c) => {
                let mods = Mods { alt: lead == Lead::Escape, ..Mods::NONE };
                self.key(Key { code: KeyCode::Char(c), mods });
            }
            None => {}
        }
    }

    fn after_escape(&mut self, byte: u8, lead: Lead) {
        match byte {
            b'[' => return self.begin_sequence(Kind::Csi, lead),
            b'O' => return self.begin_sequence(Kind::Ss3, lead),
            _ => {}
        }
        // ESC ESC before another byte than a sequence's: the first was the Esc key.
        self.emit_esc(lead);
        match byte {
            ESC => self.state = State::Escape { lead: Lead::Escape },
            b']' | b'P' | b'_' | b'^' | b'X' => self.begin_string(Form::SevenBits),
            _ => self.plain_byte(byte, Lead::Escape),
        }
    }

    fn in_sequence(&mut self, byte: u8, kind: Kind, lead: Lead) {
        let is_csi = kind == Kind::Csi;
        match byte {
            // In rxvt `$` ends a key with Shift. In other terminals it is an intermediate byte.
            b'$' if is_csi && !self.params.is_empty() && self.params.iter().all(u8::is_ascii_digit) => {
                self.finish(byte, kind, lead);
            }
            0x20..=0x3f => {
                // One byte over the limit marks the sequence as too long.
                if self.params.len() <= MAX_PARAM_BYTES {
                    self.params.push(byte);
                }
            }
            // X10 mouse reports and the Linux console's function keys have bytes after their final byte.
            b'M' if is_csi && self.params.is_empty() => self.skip(3, lead),
            b'[' if is_csi && self.params.is_empty() => self.skip(1, lead),
            b'~' if is_csi && self.params == b"200" => {
                self.emit_esc(lead);
                self.state = State::Paste { matched: 0 };
            }
            b'I' | b'O' if is_csi && self.params.is_empty() => {
                self.emit_esc(lead);
                self.state = State::Ground;
                self.out.push(TerminalInput::Focus(if byte == b'I' { Focus::Gained } else { Focus::Lost }));
            }
            0x40..=0x7e => self.finish(byte, kind, lead),
            // The byte is invalid in a sequence. The sequence is dropped, but the byte is read.
            _ => {
                self.emit_esc(lead);
                self.state = State::Ground;
                match byte {
                    CAN | SUB => {}
                    _ => self.step(byte),
                }
            }
        }
    }

    fn finish(&mut self, end: u8, kind: Kind, lead: Lead) {
        self.state = State::Ground;
        let key = match kind {
            _ if self.params.len() > MAX_PARAM_BYTES => None,
            Kind::Csi => csi_key(&self.params, end),
            Kind::Ss3 => ss3_key(&self.params, end),
        };
        match key {
            Some(mut key) => {
                key.mods.alt |= lead == Lead::Escape;
                self.key(key);
            }
            None => {
                self.emit_esc(lead);
                if kind == Kind::Csi {
                    self.replies.sequence(&self.params, end);
                }
            }
        }
    }

    fn skip(&mut self, left: u8, lead: Lead) {
        self.emit_esc(lead);
        self.state = State::Skip { left };
    }

    fn key(&mut self, key: impl Into<Key>) {
        self.out.push(TerminalInput::Key(key.into()));
    }

    /// Emits the Esc key for a preceding escape byte.
    fn emit_esc(&mut self, lead: Lead) {
        if lead == Lead::Escape {
            self.key(KeyCode::Esc);
        }
    }

    fn in_paste(&mut self, byte: u8, matched: usize) {
        if byte != PASTE_END[matched] {
            self.keep_pasted(&PASTE_END[..matched]);
            // The marker has only one escape byte, its first, so a failed match can restart only here.
            let restart = byte == ESC;
            if !restart {
                self.keep_pasted(&[byte]);
            }
            self.state = State::Paste { matched: usize::from(restart) };
        } else if matched + 1 < PASTE_END.len() {
            self.state = State::Paste { matched: matched + 1 };
        } else {
            self.state = State::Ground;
            let bytes = std::mem::take(&mut self.paste);
            let mut text = String::from_utf8_lossy(&bytes).into_owned();
            // The limit may have split the last character.
            if bytes.len() == MAX_PASTE_BYTES && text.ends_with(char::REPLACEMENT_CHARACTER) {
                text.pop();
            }
            self.out.push(TerminalInput::Paste(text));
        }
    }

    fn keep_pasted(&mut self, bytes: &[u8]) {
        let room = MAX_PASTE_BYTES - self.paste.len();
        self.paste.extend_from_slice(&bytes[..bytes.len().min(room)]);
    }
}

#[cfg(test)]
#[path = "decode_tests.rs"]
mod tests;
