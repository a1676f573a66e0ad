//! Control strings (OSC, DCS, APC, PM, SOS): replies of the terminal, which may hold text that others wrote.

use super::{CAN, Decoder, ESC, ETX, Lead, MAX_PARAM_BYTES, SUB, State, replies};

const BEL: u8 = 0x07;
/// Ends a string, in eight bits.
const ST: u8 = 0x9c;

/// The spelling of the control characters around a string.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// As ESC and a letter.
    SevenBits,
    /// As one byte.
    EightBits,
    /// As one character in UTF-8.
    Utf8,
}

/// The origin of a control string, as far as it is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Origin {
    /// It may be the reply that the terminal was asked for.
    Reply,
    /// It was not asked for; or this was Alt-], or the end of the reply is lost.
    Unknown,
}

impl Decoder {
    /// Handles a byte of a string. Line ends belong to it, too, because untrusted text may come back in a reply. Only
    /// its end, or a pause, makes the following bytes keys again.
    pub(super) fn in_string(&mut self, byte: u8, form: Form, last: u8, origin: Origin) {
        let ends = match (form, last, byte) {
            (_, ESC, b'\\') | (_, _, BEL) | (Form::Utf8, 0xc2, ST) => true,
            // Behind the first byte of a character it is the second.
            (Form::EightBits, last, ST) => last < 0xc2,
            _ => false,
        };
        if ends {
            self.state = State::Ground;
            return self.replies.string(&self.params);
        }
        match byte {
            CAN | SUB => self.state = State::Ground,
            // The end of it may be lost.
            ETX => {
                self.state = State::Ground;
                self.step(byte);
            }
            // Any other sequence ends the string.
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
