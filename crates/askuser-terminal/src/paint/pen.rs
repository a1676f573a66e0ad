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
        let bright = base + 60;
        match colour {
            Color::Reset => self.add(format_args!("{}", base + 9)),
            Color::Black => self.add(format_args!("{base}")),
            Color::Red => self.add(format_args!("{}", base + 1)),
            Color::Green => self.add(format_args!("{}", base + 2)),
            Color::Yellow => self.add(format_args!("{}", base + 3)),
            Color::Blue => self.add(format_args!("{}", base + 4)),
            Color::Magenta => self.add(format_args!("{}", base + 5)),
            Color::Cyan => self.add(format_args!("{}", base + 6)),
            Color::Gray => self.add(format_args!("{}", base + 7)),
            Color::DarkGray => self.add(format_args!("{bright}")),
            Color::LightRed => self.add(format_args!("{}", bright + 1)),
            Color::LightGreen => self.add(format_args!("{}", bright + 2)),
            Color::LightYellow => self.add(format_args!("{}", bright + 3)),
            Color::LightBlue => self.add(format_args!("{}", bright + 4)),
            Color::LightMagenta => self.add(format_args!("{}", bright + 5)),
            Color::LightCyan => self.add(format_args!("{}", bright + 6)),
            Color::White => self.add(format_args!("{}", bright + 7)),
            Color::Indexed(i) => self.add(format_args!("{};5;{i}", base + 8)),
            Color::Rgb(r, g, b) => self.add(format_args!("{};2;{r};{g};{b}", base + 8)),
        }
    }
}
