//! The pen: the colours and modifiers that the terminal applies to the text written next (SGR).

use ratatui_core::style::{Color, Modifier, Style};

/// The colours and modifiers of a cell. A colour is a number, so that the pens of two cells are compared fast.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Pen {
    fg: u32,
    bg: u32,
    modifier: Modifier,
}

pub(super) const PLAIN: Pen = Pen { fg: RESET, bg: RESET, modifier: Modifier::empty() };

/// The number of the terminal's own colour. For the other kinds of colour, the lower three bytes hold the value.
const RESET: u32 = 0;
const NAMED: u32 = 1 << 24;
const INDEXED: u32 = 2 << 24;
const RGB: u32 = 3 << 24;

impl Pen {
    pub(super) fn of(style: Style) -> Pen {
        Pen {
            fg: style.fg.map_or(RESET, number_of),
            bg: style.bg.map_or(RESET, number_of),
            modifier: style.add_modifier,
        }
    }

    /// Returns the part of the pen that may stay between frames.
    pub(super) fn resting(self) -> Pen {
        Pen { bg: RESET, modifier: self.modifier & Modifier::BOLD, ..self }
    }

    /// Returns the pen to set after a frame. It keeps the resting part, unless removing the other modifiers needs a
    /// full reset. A background can be removed alone.
    pub(super) fn after_frame(self) -> Pen {
        let resting = self.resting();
        if resting.modifier == self.modifier { resting } else { PLAIN }
    }

    /// Returns the pen for blanks. It keeps the foreground colour, because the next change is likely to use it.
    pub(super) fn unmarked(self) -> Pen {
        Pen { bg: RESET, modifier: Modifier::empty(), ..self }
    }

    /// Returns whether a blank in this pen is visible.
    #[inline]
    pub(super) fn marks_blanks(self) -> bool {
        self.bg != RESET || self.modifier.intersects(Modifier::REVERSED.union(Modifier::UNDERLINED))
    }

    /// Writes the SGR sequence that changes `previous` to this pen, with as few parameters as possible.
    pub(super) fn write_change(self, previous: Pen, out: &mut Vec<u8>) {
        out.extend(b"\x1b[");
        let mut from = previous;
        // Old terminals have no code that removes a single modifier.
        let is_removed = !self.modifier.contains(from.modifier);
        if is_removed && self != PLAIN {
            push_parameters(out, &[0]);
        }
        if is_removed || self == PLAIN {
            from = PLAIN;
        }
        let added = self.modifier.difference(from.modifier);
        for (_, code) in MODIFIERS.iter().filter(|(modifier, _)| added.contains(*modifier)) {
            push_parameters(out, &[*code]);
        }
        if self.fg != from.fg {
            push_colour(out, self.fg, 30);
        }
        if self.bg != from.bg {
            push_colour(out, self.bg, 40);
        }
        out.pop_if(|last| *last == b';');
        out.push(b'm');
    }
}

const MODIFIERS: [(Modifier, u8); 5] = [
    (Modifier::BOLD, 1),
    (Modifier::DIM, 2),
    (Modifier::ITALIC, 3),
    (Modifier::UNDERLINED, 4),
    (Modifier::REVERSED, 7),
];

/// The sixteen colours, in the terminal's order.
#[rustfmt::skip]
const SIXTEEN: [Color; 16] = [
    Color::Black, Color::Red, Color::Green, Color::Yellow, Color::Blue, Color::Magenta, Color::Cyan, Color::Gray,
    Color::DarkGray, Color::LightRed, Color::LightGreen, Color::LightYellow, Color::LightBlue, Color::LightMagenta,
    Color::LightCyan, Color::White,
];

fn number_of(colour: Color) -> u32 {
    match colour {
        Color::Reset => RESET,
        Color::Indexed(index) => INDEXED | u32::from(index),
        Color::Rgb(r, g, b) => RGB | u32::from_be_bytes([0, r, g, b]),
        _ => NAMED | SIXTEEN.iter().position(|named| *named == colour).unwrap_or(0) as u32,
    }
}

/// Appends the parameters of a colour. `base` is 30 for the foreground and 40 for the background.
fn push_colour(out: &mut Vec<u8>, colour: u32, base: u8) {
    let [_, r, g, b] = colour.to_be_bytes();
    match colour & !0xFF_FFFF {
        RESET => push_parameters(out, &[base + 9]),
        INDEXED => push_parameters(out, &[base + 8, 5, b]),
        RGB => push_parameters(out, &[base + 8, 2, r, g, b]),
        _ if b < 8 => push_parameters(out, &[base + b]),
        _ => push_parameters(out, &[base + 60 + b - 8]),
    }
}

/// Appends each number with a semicolon after it.
fn push_parameters(out: &mut Vec<u8>, numbers: &[u8]) {
    for number in numbers {
        push_number(out, (*number).into());
        out.push(b';');
    }
}

pub(super) fn push_number(out: &mut Vec<u8>, number: u16) {
    if number > 9 {
        push_number(out, number / 10);
    }
    out.push(b'0' + (number % 10) as u8);
}
