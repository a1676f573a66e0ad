//! The pen: the colours and modifiers that the terminal applies to what is written next (SGR).

use ratatui_core::style::{Color, Modifier};

/// Colours and modifiers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Pen {
    pub(super) fg: Color,
    pub(super) bg: Color,
    pub(super) modifier: Modifier,
}

pub(super) const PLAIN: Pen = Pen { fg: Color::Reset, bg: Color::Reset, modifier: Modifier::empty() };

impl Pen {
    /// Whether a blank that it writes can be seen.
    pub(super) fn marks_blanks(self) -> bool {
        self.bg != Color::Reset || self.modifier.intersects(Modifier::REVERSED.union(Modifier::UNDERLINED))
    }

    /// The parameters of the SGR sequence that changes `previous` to this pen, as few as possible.
    pub(super) fn codes_from(self, previous: Pen) -> String {
        let mut codes = Codes::default();
        let mut from = previous;
        if !self.modifier.contains(from.modifier) || (self.bg == Color::Reset && from.bg != Color::Reset) {
            codes.add(format_args!("0"));
            from = PLAIN;
        }
        for (modifier, code) in MODIFIERS {
            if self.modifier.contains(modifier) && !from.modifier.contains(modifier) {
                codes.add(format_args!("{code}"));
            }
        }
        if self.fg != from.fg {
            codes.colour(self.fg, 30);
        }
        if self.bg != from.bg {
            codes.colour(self.bg, 40);
        }
        codes.0
    }
}

const MODIFIERS: [(Modifier, u8); 5] = [
    (Modifier::BOLD, 1),
    (Modifier::DIM, 2),
    (Modifier::ITALIC, 3),
    (Modifier::UNDERLINED, 4),
    (Modifier::REVERSED, 7),
];

/// The numbers of one SGR sequence.
#[derive(Default)]
struct Codes(String);

impl Codes {
    fn add(&mut self, code: std::fmt::Arguments<'_>) {
        use std::fmt::Write;
        if !self.0.is_empty() {
            self.0.push(';');
        }
        let _ = self.0.write_fmt(code);
    }

    /// `base` is 30 for the foreground, 40 for the background.
    fn colour(&mut self, colour: Color, base: u8) {
        match (colour, NAMED.iter().position(|named| *named == colour)) {
            (_, Some(i @ 0..8)) => self.add(format_args!("{}", usize::from(base) + i)),
            (_, Some(bright)) => self.add(format_args!("{}", usize::from(base) + 60 + bright - 8)),
            (Color::Indexed(i), _) => self.add(format_args!("{};5;{i}", base + 8)),
            (Color::Rgb(r, g, b), _) => self.add(format_args!("{};2;{r};{g};{b}", base + 8)),
            _ => self.add(format_args!("{}", base + 9)),
        }
    }
}

/// The sixteen, in the terminal's order.
#[rustfmt::skip]
const NAMED: [Color; 16] = [
    Color::Black, Color::Red, Color::Green, Color::Yellow, Color::Blue, Color::Magenta, Color::Cyan, Color::Gray,
    Color::DarkGray, Color::LightRed, Color::LightGreen, Color::LightYellow, Color::LightBlue, Color::LightMagenta,
    Color::LightCyan, Color::White,
];
