//! Decodes control strings (OSC, DCS, APC, PM, SOS). They are replies of the terminal, which may contain untrusted
//! text.

use super::{CAN, Decoder, ESC, ETX, Lead, MAX_PARAM_BYTES, SUB, State, replies};

const BEL: u8 = 0x07;
/// The 8-bit control character that ends a string.
const ST: u8 = 0x9c;

/// The spelling of the control characters around a string.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// The control characters are written as ESC and a letter.
    SevenBits,
    /// The control characters are single bytes.
    EightBits,
    /// The control characters are encoded in UTF-8.
    Utf8,
}

/// The known origin of a control string.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Origin {
    /// The string may be a requested reply.
    Reply,
    /// The string was not requested, the bytes were Alt-], or the end of the reply is lost.
    Unknown,
}

impl Decoder {
    /// Handles a byte of a string. Line ends belong to the string, because a reply may contain untrusted text. Only the
    /// string's end or a pause makes the following bytes keys again.
    pub(super) fn in_string(&mut self, byte: u8, form: Form, last: u8, origin: Origin) {
        let ends = match (form, last, byte) {
            (_, ESC, b'\\') | (_, _, BEL) | (Form::Utf8, 0xc2, ST) => true,
            // After the first byte of a character, this byte is the second byte of that character.
            (Form::EightBits, last, ST) => last < 0xc2,
            _ => false,
        };
        if ends {
            self.state = State::Ground;
            return self.replies.string(&self.params);
        }
        match byte {
            CAN | SUB => self.state = State::Ground,
            // The end of the string may be lost.
            ETX => {
                self.state = State::Ground;
                self.step(byte);
            }
            // Any other escape sequence ends the string.
            _ if last == ESC => self.after_escape(byte, Lead::None),
            ESC => self.state = State::ControlString { form, last: byte, origin },
            _ => {
                let origin = if replies::may_follow(&self.params, byte) { origin } else { Origin::Unknown };
                let is_end = form == Form::Utf8 && byte == 0xc2;
                if !is_end && self.params.len() <= MAX_PARAM_BYTES {
                    self.params.push(byte);
                }
                self.state = State::ControlString { form, last: byte, origin };
            }
        }
    }

    pub(super) fn begin_string(&mut self, form: Form) {
        self.params.clear();
        let origin = if self.replies.expect_string() { Origin::Reply } else { Origin::Unknown };
        self.state = State::ControlString { form, last: 0, origin };
    }
}
