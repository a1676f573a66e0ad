//! Colours by role, and the characters that are drawn.
//!
//! Views use roles, never colours; a [`Theme`] maps roles to styles for this terminal.

use ratatui_core::style::{Color, Modifier, Style};

/// The role of a piece of text, from which its style follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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

/// Whether the terminal's background is dark or light.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Background {
    #[default]
    Dark,
    Light,
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

/// The characters the prompt is drawn with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Signs {
    pub cursor: &'static str,
    pub radio: &'static str,
    pub radio_on: &'static str,
    pub checkbox: &'static str,
    pub checkbox_on: &'static str,
    pub chip_left: &'static str,
    pub chip_right: &'static str,
    pub box_bottom_left: &'static str,
    pub box_bottom_right: &'static str,
    pub vertical: &'static str,
    pub horizontal: &'static str,
    pub caret: &'static str,
    pub done: &'static str,
    pub not_done: &'static str,
    pub warning: &'static str,
    pub bullet: &'static str,
    pub up: &'static str,
    pub down: &'static str,
    pub ellipsis: &'static str,
}

impl Signs {
    /// Box drawing and symbols.
    pub const UNICODE: Signs = Signs {
        cursor: ">",
        radio: "○",
        radio_on: "●",
        checkbox: "☐",
        checkbox_on: "☑",
        chip_left: "╭─",
        chip_right: "─╮",
        box_bottom_left: "╰",
        box_bottom_right: "╯",
        vertical: "│",
        horizontal: "─",
        caret: "█",
        done: "✔",
        not_done: "✘",
        warning: "⚠",
        bullet: "•",
        up: "↑",
        down: "↓",
        ellipsis: "…",
    };

    /// For terminals without Unicode.
    pub const ASCII: Signs = Signs {
        cursor: ">",
        radio: "( )",
        radio_on: "(*)",
        checkbox: "[ ]",
        checkbox_on: "[x]",
        chip_left: "+-",
        chip_right: "-+",
        box_bottom_left: "+",
        box_bottom_right: "+",
        vertical: "|",
        horizontal: "-",
        caret: "_",
        done: "+",
        not_done: "x",
        warning: "!",
        bullet: "*",
        up: "^",
        down: "v",
        ellipsis: "...",
    };
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
    /// Everything dimmed, for a prompt whose deadline has passed.
    pub dimmed: bool,
}

impl Default for Theme {
    fn default() -> Theme {
        Theme { background: Background::Dark, depth: ColorDepth::TrueColor, signs: Signs::UNICODE, dimmed: false }
    }
}

/// A role's colour: exact, and the name of one of the sixteen ANSI colours.
struct RoleColor(u32, Color);

impl Theme {
    /// The style of a role.
    pub fn style(&self, role: Role) -> Style {
        let style = Style::new().fg(self.colour(role));
        let style = match role {
            Role::Chip if self.depth == ColorDepth::TrueColor || self.depth == ColorDepth::Ansi256 => {
                style.bg(self.shade(chip_background(self.background))).add_modifier(Modifier::BOLD)
            }
            Role::Chip => style.add_modifier(Modifier::BOLD),
            _ => style,
        };
        if self.dimmed { style.add_modifier(Modifier::DIM) } else { style }
    }

    /// The foreground colour of a role.
    pub fn colour(&self, role: Role) -> Color {
        self.shade(role_color(role, self.background))
    }

    fn shade(&self, RoleColor(rgb, named): RoleColor) -> Color {
        let [_, r, g, b] = rgb.to_be_bytes();
        match self.depth {
            ColorDepth::None => Color::Reset,
            ColorDepth::Ansi16 => named,
            ColorDepth::Ansi256 => Color::Indexed(nearest_256(r, g, b)),
            ColorDepth::TrueColor => Color::Rgb(r, g, b),
        }
    }
}

fn role_color(role: Role, background: Background) -> RoleColor {
    match (background, role) {
        (Background::Dark, Role::Primary | Role::Chip) => RoleColor(0x818CF8, Color::LightBlue),
        (Background::Dark, Role::Text) => RoleColor(0xF1F5F9, Color::White),
        (Background::Dark, Role::Secondary) => RoleColor(0x94A3B8, Color::Gray),
        (Background::Dark, Role::Muted) => RoleColor(0x64748B, Color::DarkGray),
        (Background::Dark, Role::Success) => RoleColor(0x34D399, Color::LightGreen),
        (Background::Dark, Role::Warning) => RoleColor(0xFBBF24, Color::LightYellow),
        (Background::Dark, Role::Danger) => RoleColor(0xF87171, Color::LightRed),
        (Background::Light, Role::Primary | Role::Chip) => RoleColor(0x4F46E5, Color::Blue),
        (Background::Light, Role::Text) => RoleColor(0x0F172A, Color::Black),
        (Background::Light, Role::Secondary) => RoleColor(0x334155, Color::Black),
        (Background::Light, Role::Muted) => RoleColor(0x64748B, Color::DarkGray),
        (Background::Light, Role::Success) => RoleColor(0x047857, Color::Green),
        (Background::Light, Role::Warning) => RoleColor(0xB45309, Color::Yellow),
        (Background::Light, Role::Danger) => RoleColor(0xDC2626, Color::Red),
    }
}

fn chip_background(background: Background) -> RoleColor {
    match background {
        Background::Dark => RoleColor(0x1E293B, Color::Reset),
        Background::Light => RoleColor(0xE0E7FF, Color::Reset),
    }
}

/// The nearest colour of the 6×6×6 cube and the grey ramp. The first sixteen are not used, because people redefine them.
fn nearest_256(r: u8, g: u8, b: u8) -> u8 {
    const LEVELS: [u8; 6] = [0, 95, 135, 175, 215, 255];
    let level = |v: u8| (0..6u8).min_by_key(|&i| LEVELS[i as usize].abs_diff(v)).unwrap_or(0);
    let distance = |(cr, cg, cb): (u8, u8, u8)| {
        let square = |a: u8, b: u8| u32::from(a.abs_diff(b)).pow(2);
        square(cr, r) + square(cg, g) + square(cb, b)
    };
    let (lr, lg, lb) = (level(r), level(g), level(b));
    let cube = distance((LEVELS[lr as usize], LEVELS[lg as usize], LEVELS[lb as usize]));
    let average = (u16::from(r) + u16::from(g) + u16::from(b)) / 3;
    let step = (average.saturating_sub(3) / 10).min(23) as u8;
    let grey = 8 + 10 * step;
    if distance((grey, grey, grey)) < cube { 232 + step } else { 16 + 36 * lr + 6 * lg + lb }
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
}
