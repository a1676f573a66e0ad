//! Colours by role, and the characters that are drawn.
//!
//! Views use roles, never colours; a [`Theme`] maps roles to styles for this terminal.

use askuser::exact::Charset;
use ratatui_core::style::{Color, Modifier, Style};

/// The role of a piece of text, from which its style follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Role {
    /// Chip, radio buttons, checkboxes, caret.
    Primary,
    /// The header inside its chip.
    Chip,
    /// The question and the focused option.
    Text,
    /// Options without the focus.
    Secondary,
    /// Descriptions, hints, borders.
    Muted,
    /// Recommended, confirmed.
    Success,
    /// Time running out.
    Warning,
    /// A rejected key.
    Danger,
}

/// What is known about the terminal's background; it decides the colours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Background {
    /// Dark: the proposals' colours.
    #[default]
    Dark,
    /// Light: darker ones, which reach a contrast of 4.5:1 on white.
    Light,
    /// Unknown: the terminal's own foreground, and one grey that can be read on black and on white.
    Unknown,
    /// Whatever it is, no colour and no grey are wanted: the terminal's own foreground alone.
    Contrast,
}

/// How many colours the terminal has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum ColorDepth {
    None,
    #[default]
    Ansi16,
    Ansi256,
    TrueColor,
}

/// Each sign on a line: its name, in Unicode, in ASCII.
macro_rules! signs {
    ($($name:ident $unicode:literal $ascii:literal)*) => {
        /// The characters the prompt is drawn with. A `bar` stands before every row of a text that others wrote and that takes
        /// several: whatever it holds, it cannot pass for a row of ours. `bar_wrapped` is for the rest of a line that did not
        /// fit.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[allow(missing_docs)]
        pub struct Signs {
            $(pub $name: &'static str,)*
        }

        impl Signs {
            /// Box drawing and symbols.
            pub const UNICODE: Signs = Signs { $($name: $unicode,)* };
            /// For terminals without Unicode.
            pub const ASCII: Signs = Signs { $($name: $ascii,)* };
        }
    };
}

signs! {
    cursor           ">"   ">"
    radio            "○"   "( )"
    radio_on         "●"   "(*)"
    checkbox         "☐"   "[ ]"
    checkbox_on      "☑"   "[x]"
    chip_left        "╭─"  "+-"
    chip_right       "─╮"  "-+"
    box_bottom_left  "╰"   "+"
    box_bottom_right "╯"   "+"
    vertical         "│"   "|"
    bar              "┃"   "|"
    bar_wrapped      "╏"   ":"
    horizontal       "─"   "-"
    done             "✔"   "+"
    not_done         "✘"   "x"
    warning          "⚠"   "!"
    bullet           "•"   "*"
    dot              "·"   "-"
    up               "↑"   "^"
    down             "↓"   "v"
    ellipsis         "…"   "..."
}

/// How the prompt looks: background, colour depth and characters.
///
/// ```
/// use askuser_terminal::{ColorDepth, Role, Signs, Theme};
/// use ratatui_core::style::Color;
///
/// let theme = Theme { depth: ColorDepth::Ansi16, signs: Signs::ASCII, ..Theme::default() };
/// assert_eq!(theme.style(Role::Success).fg, Some(Color::LightGreen));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Theme {
    /// The terminal's background.
    pub background: Background,
    /// How many colours it has.
    pub depth: ColorDepth,
    /// The characters to draw with.
    pub signs: Signs,
    /// Which characters the terminal can show at all.
    pub charset: Charset,
    /// Everything dimmed, for a prompt whose deadline has passed.
    pub dimmed: bool,
}

impl Default for Theme {
    fn default() -> Theme {
        Theme {
            background: Background::Dark,
            depth: ColorDepth::TrueColor,
            signs: Signs::UNICODE,
            charset: Charset::Utf8,
            dimmed: false,
        }
    }
}

/// A colour: exact, of the 256 (chosen by hand: the nearest one to a slate is a teal), and of the sixteen.
#[derive(Clone, Copy)]
struct RoleColor(u32, u8, Color);

/// The one grey that reaches 4.5:1 on black and on white.
const GREY: u8 = 243;

impl Theme {
    /// The style of a role.
    pub fn style(&self, role: Role) -> Style {
        let style = Style::new().fg(self.colour(role));
        let style = match (palette(self.background), role) {
            (Some(palette), Role::Chip) if self.has_exact_colours() => {
                style.bg(self.shade(CHIP_BACKGROUND[palette])).add_modifier(Modifier::BOLD)
            }
            (None, Role::Chip) => style.add_modifier(Modifier::BOLD | Modifier::REVERSED),
            (None, Role::Text | Role::Primary | Role::Success | Role::Warning | Role::Danger) | (_, Role::Chip) => {
                style.add_modifier(Modifier::BOLD)
            }
            _ => style,
        };
        if self.dimmed { style.add_modifier(Modifier::DIM) } else { style }
    }

    /// The style of the label under the cursor: where colours do not tell it from the others, it is underlined.
    pub(crate) fn focused(&self, role: Role) -> Style {
        let style = self.style(role);
        match palette(self.background) {
            Some(_) if self.has_exact_colours() => style,
            _ => style.add_modifier(Modifier::BOLD | Modifier::UNDERLINED),
        }
    }

    /// The foreground colour of a role.
    pub fn colour(&self, role: Role) -> Color {
        match palette(self.background) {
            Some(palette) => self.shade(colours(role)[palette]),
            None if role == Role::Muted && self.background == Background::Unknown && self.has_exact_colours() => {
                Color::Indexed(GREY)
            }
            None => Color::Reset,
        }
    }

    fn has_exact_colours(&self) -> bool {
        matches!(self.depth, ColorDepth::Ansi256 | ColorDepth::TrueColor)
    }

    fn shade(&self, RoleColor(rgb, index, named): RoleColor) -> Color {
        let [_, r, g, b] = rgb.to_be_bytes();
        match self.depth {
            ColorDepth::None => Color::Reset,
            ColorDepth::Ansi16 => named,
            ColorDepth::Ansi256 => Color::Indexed(index),
            ColorDepth::TrueColor => Color::Rgb(r, g, b),
        }
    }
}

/// Which of two colours a background needs, if it is known: the first on a dark one, the second on a light one.
fn palette(background: Background) -> Option<usize> {
    match background {
        Background::Dark => Some(0),
        Background::Light => Some(1),
        Background::Unknown | Background::Contrast => None,
    }
}

const CHIP_BACKGROUND: [RoleColor; 2] =
    [RoleColor(0x1E293B, 235, Color::Reset), RoleColor(0xE0E7FF, 255, Color::Reset)];

/// Of the sixteen, only blue and red can be read on white everywhere; bold black is a grey in some terminals.
#[rustfmt::skip]
fn colours(role: Role) -> [RoleColor; 2] {
    match role {
        Role::Primary | Role::Chip =>
                           [RoleColor(0x818CF8, 105, Color::LightBlue),   RoleColor(0x4F46E5,  61, Color::Blue)],
        Role::Text =>      [RoleColor(0xF1F5F9, 255, Color::White),       RoleColor(0x0F172A, 233, Color::Reset)],
        Role::Secondary => [RoleColor(0x94A3B8, 247, Color::Gray),        RoleColor(0x334155, 238, Color::Reset)],
        Role::Muted =>     [RoleColor(0x64748B, 243, Color::DarkGray),    RoleColor(0x64748B, 242, Color::Reset)],
        Role::Success =>   [RoleColor(0x34D399,  78, Color::LightGreen),  RoleColor(0x047857,  29, Color::Reset)],
        Role::Warning =>   [RoleColor(0xFBBF24, 214, Color::LightYellow), RoleColor(0xB45309, 130, Color::Reset)],
        Role::Danger =>    [RoleColor(0xF87171, 210, Color::LightRed),    RoleColor(0xDC2626, 160, Color::Red)],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(depth: ColorDepth, role: Role, expected: Color) {
        let theme = Theme { depth, ..Theme::default() };
        assert_eq!(theme.style(role).fg, Some(expected));
    }

    #[test]
    fn truecolor_terminals_get_the_hex_values_of_the_proposals() {
        check(ColorDepth::TrueColor, Role::Primary, Color::Rgb(0x81, 0x8C, 0xF8));
        check(ColorDepth::TrueColor, Role::Text, Color::Rgb(0xF1, 0xF5, 0xF9));
        check(ColorDepth::TrueColor, Role::Secondary, Color::Rgb(0x94, 0xA3, 0xB8));
        check(ColorDepth::TrueColor, Role::Muted, Color::Rgb(0x64, 0x74, 0x8B));
        check(ColorDepth::TrueColor, Role::Success, Color::Rgb(0x34, 0xD3, 0x99));
        let chip = Theme::default().style(Role::Chip);
        assert_eq!((chip.fg, chip.bg), (Some(Color::Rgb(0x81, 0x8C, 0xF8)), Some(Color::Rgb(0x1E, 0x29, 0x3B))));
    }

    #[test]
    fn other_terminals_get_the_nearest() {
        check(ColorDepth::Ansi256, Role::Primary, Color::Indexed(105));
        check(ColorDepth::Ansi256, Role::Text, Color::Indexed(255));
        check(ColorDepth::Ansi16, Role::Success, Color::LightGreen);
        check(ColorDepth::None, Role::Danger, Color::Reset);
    }

    const ROLES: [Role; 8] = [
        Role::Primary,
        Role::Chip,
        Role::Text,
        Role::Secondary,
        Role::Muted,
        Role::Success,
        Role::Warning,
        Role::Danger,
    ];

    /// The RGB values of a colour that is ours; the first sixteen are the terminal's.
    fn rgb(colour: Color) -> [u8; 3] {
        const LEVELS: [u8; 6] = [0, 95, 135, 175, 215, 255];
        match colour {
            Color::Rgb(r, g, b) => [r, g, b],
            Color::Indexed(i @ 232..) => [8 + 10 * (i - 232); 3],
            Color::Indexed(i @ 16..) => [(i - 16) / 36, (i - 16) / 6 % 6, (i - 16) % 6].map(|l| LEVELS[usize::from(l)]),
            colour => panic!("{colour:?} is the terminal's own"),
        }
    }

    /// The contrast of WCAG 2.
    fn contrast(a: Color, b: Color) -> f64 {
        let luminance = |colour| {
            let linear = rgb(colour).map(|v| {
                let v = f64::from(v) / 255.0;
                if v <= 0.04045 { v / 12.92 } else { ((v + 0.055) / 1.055).powf(2.4) }
            });
            0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
        };
        let (a, b) = (luminance(a), luminance(b));
        (a.max(b) + 0.05) / (a.min(b) + 0.05)
    }

    const EXACT: [ColorDepth; 2] = [ColorDepth::Ansi256, ColorDepth::TrueColor];
    const BLACK: Color = Color::Rgb(0, 0, 0);
    const WHITE: Color = Color::Rgb(255, 255, 255);

    #[test]
    fn every_text_on_a_light_background_reaches_a_contrast_of_four_and_a_half() {
        for depth in EXACT {
            let theme = Theme { background: Background::Light, depth, ..Theme::default() };
            for role in ROLES {
                let style = theme.style(role);
                let reached = contrast(style.fg.unwrap(), style.bg.unwrap_or(WHITE));
                assert!(reached >= 4.5, "{role:?} in {depth:?}: {reached:.2}");
            }
        }
    }

    #[test]
    fn every_text_on_a_dark_background_can_be_read() {
        for depth in EXACT {
            let theme = Theme { depth, ..Theme::default() };
            for role in ROLES {
                let style = theme.style(role);
                // The proposals' slate for descriptions and borders is a little below 4.5:1 on black.
                let least = if role == Role::Muted { 4.3 } else { 4.5 };
                let reached = contrast(style.fg.unwrap(), style.bg.unwrap_or(BLACK));
                assert!(reached >= least, "{role:?} in {depth:?}: {reached:.2}");
            }
        }
    }

    #[test]
    fn on_an_unknown_background_all_is_the_terminals_own_foreground_or_a_grey_that_reads_on_both() {
        for depth in [ColorDepth::None, ColorDepth::Ansi16, ColorDepth::Ansi256, ColorDepth::TrueColor] {
            let theme = Theme { background: Background::Unknown, depth, ..Theme::default() };
            for role in ROLES {
                match theme.style(role).fg {
                    Some(Color::Reset) => {}
                    Some(grey) => assert!(contrast(grey, BLACK) >= 4.5 && contrast(grey, WHITE) >= 4.5, "{role:?}"),
                    None => panic!("{role:?} has no colour"),
                }
            }
        }
    }

    #[test]
    fn the_contrast_theme_has_no_grey() {
        let theme = Theme { background: Background::Contrast, ..Theme::default() };
        assert!(ROLES.iter().all(|&role| theme.style(role).fg == Some(Color::Reset)));
    }

    #[test]
    fn slate_does_not_turn_teal_in_256_colours() {
        for background in [Background::Dark, Background::Light] {
            let theme = Theme { background, depth: ColorDepth::Ansi256, ..Theme::default() };
            for role in [Role::Text, Role::Secondary, Role::Muted] {
                let [r, g, b] = rgb(theme.colour(role));
                assert!(r == g && g == b, "{role:?} on {background:?}");
            }
        }
    }

    #[test]
    fn the_focused_label_is_more_than_a_cursor_where_colours_do_not_show_it() {
        for depth in [ColorDepth::None, ColorDepth::Ansi16] {
            let style = Theme { depth, ..Theme::default() }.focused(Role::Text);
            assert!(style.add_modifier.contains(Modifier::BOLD | Modifier::UNDERLINED), "{depth:?}");
        }
    }
}
