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
        let [fg, bg] = [style.fg, style.bg].map(|colour| colour.unwrap_or(Color::Reset));
        Pen { fg, bg, modifier: style.add_modifier }
    }

    /// What of it stays between frames.
    pub(super) fn resting(self) -> Pen {
        Pen { fg: self.fg, bg: Color::Reset, modifier: self.modifier & Modifier::BOLD }
    }

    /// Whether a blank that it writes can be seen.
    pub(super) fn marks_blanks(self) -> bool {
        self.bg != Color::Reset || self.modifier.intersects(Modifier::REVERSED.union(Modifier::UNDERLINED))
    }

    /// The parameters of the SGR sequence that changes `previous` to this pen, as few as possible.
    pub(super) fn codes_from(self, previous: Pen) -> String {
        let mut codes = Vec::new();
        let mut from = previous;
        if !self.modifier.contains(from.modifier) || (self.bg == Color::Reset && from.bg != Color::Reset) {
            codes.push("0".to_owned());
            from = PLAIN;
        }
        let added = self.modifier.difference(from.modifier);
        codes.extend(
            MODIFIERS.iter().filter(|(modifier, _)| added.contains(*modifier)).map(|(_, code)| code.to_string()),
        );
        if self.fg != from.fg {
            codes.push(colour_code(self.fg, 30));
        }
        if self.bg != from.bg {
            codes.push(colour_code(self.bg, 40));
        }
        codes.join(";")
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
fn colour_code(colour: Color, base: usize) -> String {
    match (colour, NAMED.iter().position(|named| *named == colour)) {
        (_, Some(i @ 0..8)) => (base + i).to_string(),
        (_, Some(bright)) => (base + 60 + bright - 8).to_string(),
        (Color::Indexed(i), _) => format!("{};5;{i}", base + 8),
        (Color::Rgb(r, g, b), _) => format!("{};2;{r};{g};{b}", base + 8),
        _ => (base + 9).to_string(),
    }
}

/// The sixteen, in the terminal's order.
#[rustfmt::skip]
const NAMED: [Color; 16] = [
    Color::Black, Color::Red, Color::Green, Color::Yellow, Color::Blue, Color::Magenta, Color::Cyan, Color::Gray,
    Color::DarkGray, Color::LightRed, Color::LightGreen, Color::LightYellow, Color::LightBlue, Color::LightMagenta,
    Color::LightCyan, Color::White,
];
