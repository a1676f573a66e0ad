//! The pen: the colours and modifiers that the terminal applies to what is written next (SGR).

use ratatui_core::style::{Color, Modifier, Style};

/// Colours and modifiers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Pen {
    pub(super) fg: Color,
    pub(super) bg: Color,
    pub(super) modifier: Modifier,
}

pub(super) const PLAIN: Pen = Pen { fg: Color::Reset, bg: Color::Reset, modifier: Modifier::empty() };

impl Pen {
    pub(super) fn of(style: Style) -> Pen {
        Pen { fg: style.fg.unwrap_or(Color::Reset), bg: style.bg.unwrap_or(Color::Reset), modifier: style.add_modifier }
    }

    /// The part of it that stays between frames.
    pub(super) fn resting(self) -> Pen {
        Pen { fg: self.fg, bg: Color::Reset, modifier: self.modifier & Modifier::BOLD }
    }

    /// Whether a blank that it writes can be seen.
    pub(super) fn marks_blanks(self) -> bool {
        self.bg != Color::Reset || self.modifier.intersects(Modifier::REVERSED.union(Modifier::UNDERLINED))
    }

    /// Writes the SGR sequence that changes `previous` to this pen, with as few parameters as possible.
    pub(super) fn write_change(self, previous: Pen, out: &mut Vec<u8>) {
        out.extend(b"\x1b[");
        let mut from = previous;
        // The first terminals know no code that takes one modifier away.
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

/// `base` is 30 for the foreground, 40 for the background.
fn push_colour(out: &mut Vec<u8>, colour: Color, base: u8) {
    let named = || NAMED.iter().position(|named| *named == colour).map(|index| index as u8);
    match colour {
        Color::Reset => push_parameters(out, &[base + 9]),
        Color::Indexed(i) => push_parameters(out, &[base + 8, 5, i]),
        Color::Rgb(r, g, b) => push_parameters(out, &[base + 8, 2, r, g, b]),
        _ => match named().unwrap_or(0) {
            dark @ 0..8 => push_parameters(out, &[base + dark]),
            bright => push_parameters(out, &[base + 60 + bright - 8]),
        },
    }
}

/// Appends each number, and a semicolon behind it.
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

/// The sixteen, in the terminal's order.
#[rustfmt::skip]
const NAMED: [Color; 16] = [
    Color::Black, Color::Red, Color::Green, Color::Yellow, Color::Blue, Color::Magenta, Color::Cyan, Color::Gray,
    Color::DarkGray, Color::LightRed, Color::LightGreen, Color::LightYellow, Color::LightBlue, Color::LightMagenta,
    Color::LightCyan, Color::White,
];
