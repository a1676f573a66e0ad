//! Colours by role, and the drawing characters.
//!
//! Views use roles, never colours. A [`Theme`] maps roles to styles for this terminal.

use askuser::verbatim::Charset;
use ratatui_core::style::{Color, Modifier, Style};

/// The role of a piece of text, which determines its style.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Role {
    /// The chip, the radio buttons, the checkboxes and the caret.
    Primary,
    /// The header inside its chip.
    Chip,
    /// The question and the focused option.
    Text,
    /// The options without the focus.
    Secondary,
    /// The descriptions and key hints.
    Detail,
    /// Borders, and text that need not be read.
    Muted,
    /// Recommendations and confirmations.
    Success,
    /// A warning, for example about the time left.
    Warning,
    /// An error, such as a rejected key.
    Danger,
}

/// The known background of the terminal, which determines the colours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Background {
    /// A dark background, with the proposals' colours.
    #[default]
    Dark,
    /// A light background, with darker colours that reach a contrast of 4.5:1 on white.
    Light,
    /// The background that the terminal reported, in red, green and blue. The colours are those of the nearer kind,
    /// dark or light. Details are adjusted to a contrast of 4.5:1.
    Told([u8; 3]),
    /// An unknown background. The colours are the terminal's own sixteen, which its owner can read, and one grey for
    /// borders.
    Unknown,
    /// Any background, with only the terminal's own foreground and no colours or greys.
    Contrast,
}

/// The number of colours of the terminal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum ColorDepth {
    None,
    #[default]
    Ansi16,
    Ansi256,
    TrueColor,
}

/// The style of drawing a prompt.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PromptStyle {
    /// The style of the proposal, used if it fits: the header in a chip, blank lines, and descriptions below their
    /// labels.
    #[default]
    Proposal,
    /// A style for few rows: tabs as the title, descriptions beside their labels, and no bottom line.
    Compact,
}

impl PromptStyle {
    /// Returns the number of blanks between the border and the text.
    pub(super) fn indent(self) -> usize {
        if self == PromptStyle::Compact { 1 } else { 2 }
    }
}

/// Defines the signs. Each line has a sign's name, then its text in Unicode and in ASCII.
macro_rules! signs {
    ($($name:ident $unicode:literal $ascii:literal)*) => {
        /// The characters of the prompt.
        ///
        /// A `bar` precedes each row of an untrusted text with several rows. No such row can then pass for one of the
        /// prompt's own. `bar_wrapped` marks the continuation of a wrapped line.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[allow(missing_docs)]
        pub struct Signs {
            $(pub $name: &'static str,)*
        }

        impl Signs {
            /// Box drawing characters and symbols.
            pub const UNICODE: Signs = Signs { $($name: $unicode,)* };
            /// Characters for terminals without Unicode.
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
    box_top_left     "╭"   "+"
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

/// The look of the prompt: background, colour depth and characters.
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
    /// The number of colours that the terminal has.
    pub depth: ColorDepth,
    /// The characters to draw with.
    pub signs: Signs,
    /// The charset of the terminal.
    pub charset: Charset,
    /// Whether all text is dimmed, as in a prompt whose deadline has passed.
    pub dimmed: bool,
    /// The style of a prompt in a terminal with room for both styles.
    pub prompt_style: PromptStyle,
}

impl Default for Theme {
    fn default() -> Theme {
        Theme {
            background: Background::Dark,
            depth: ColorDepth::TrueColor,
            signs: Signs::UNICODE,
            charset: Charset::Utf8,
            dimmed: false,
            prompt_style: PromptStyle::default(),
        }
    }
}

/// A colour in three forms: exact, one of the 256, and one of the sixteen. The one of the 256 is chosen by hand,
/// because the nearest colour to a slate is a teal.
#[derive(Clone, Copy)]
struct RoleColor(u32, u8, Color);

/// A grey that is visible on black and on white.
const GREY: u8 = 243;
/// The contrast that readable text needs, by WCAG 2.
const READABLE: f64 = 4.5;

impl Role {
    /// All roles, in the order of their definition.
    pub(super) const ALL: [Role; 9] = {
        use Role::{Chip, Danger, Detail, Muted, Primary, Secondary, Success, Text, Warning};
        [Primary, Chip, Text, Secondary, Detail, Muted, Success, Warning, Danger]
    };
}

impl Theme {
    /// Returns the style of a role.
    pub fn style(&self, role: Role) -> Style {
        let style = Style::new().fg(self.colour(role));
        let style = match (self.palette(), role) {
            (Some(palette), Role::Chip) if self.has_exact_colours() => {
                style.bg(self.shade(CHIP_BACKGROUND[palette])).add_modifier(Modifier::BOLD)
            }
            (None, Role::Chip) => style.add_modifier(Modifier::BOLD | Modifier::REVERSED),
            (_, Role::Chip) => style.add_modifier(Modifier::BOLD),
            // Some terminals brighten bold text. A bright green or yellow is unreadable on white.
            (None, Role::Success | Role::Warning | Role::Danger) if style.fg == Some(Color::Reset) => {
                style.add_modifier(Modifier::BOLD)
            }
            _ => style,
        };
        if self.dimmed { style.add_modifier(Modifier::DIM) } else { style }
    }

    /// Returns the style of a role in bold, for text that should be found first.
    pub fn strong(&self, role: Role) -> Style {
        self.style(role).add_modifier(Modifier::BOLD)
    }

    /// Returns the style of the label under the cursor: bold on the background of the chip, or reversed if that is not
    /// an exact colour.
    pub fn focused(&self, role: Role) -> Style {
        match self.palette().filter(|_| self.has_exact_colours()) {
            Some(palette) => self.strong(role).bg(self.shade(CHIP_BACKGROUND[palette])),
            None => self.strong(role).add_modifier(Modifier::REVERSED),
        }
    }

    /// Returns the style of a key in a hint. It is brighter than the words of the hint, or bold if there is no brighter
    /// colour.
    pub(crate) fn key(&self) -> Style {
        let style = self.style(Role::Secondary);
        if style == self.style(Role::Detail) { self.strong(Role::Secondary) } else { style }
    }

    /// Returns the style of a ticked label that is not under the cursor. It is brighter than other labels, or bold if
    /// there is no brighter colour.
    pub(crate) fn ticked(&self) -> Style {
        if self.palette().is_some() { self.style(Role::Text) } else { self.strong(Role::Text) }
    }

    /// Returns the style of a message in the colour of a role. The terminal's own yellow is unreadable on white, so a
    /// warning in the terminal's colours uses its foreground.
    pub fn message(&self, role: Role) -> Style {
        match (self.palette(), role) {
            (None, Role::Warning) => self.strong(Role::Text),
            _ => self.style(role),
        }
    }

    /// Returns the foreground colour of a role.
    pub fn colour(&self, role: Role) -> Color {
        match (self.palette(), self.background) {
            (Some(palette), Background::Told(background))
                if matches!(role, Role::Detail | Role::Muted) && self.has_exact_colours() =>
            {
                // A colour for every background of a kind is brighter than a known background needs.
                self.readable(colours(Role::Muted)[palette], background)
            }
            (Some(palette), _) => self.shade(colours(role)[palette]),
            (None, Background::Unknown) => self.own_colour(role),
            (None, _) => Color::Reset,
        }
    }

    /// Returns one of the terminal's own colours for a role, chosen to be readable on most backgrounds. Bright blue and
    /// red are readable on light backgrounds too. Green and yellow are readable there only if they are not bright.
    fn own_colour(&self, role: Role) -> Color {
        match role {
            _ if self.depth == ColorDepth::None => Color::Reset,
            Role::Primary | Role::Chip => Color::LightBlue,
            Role::Success => Color::Green,
            Role::Warning => Color::Yellow,
            Role::Danger => Color::LightRed,
            Role::Muted if self.has_exact_colours() => Color::Indexed(GREY),
            Role::Muted | Role::Detail | Role::Text | Role::Secondary => Color::Reset,
        }
    }

    /// Returns the index of the colours for a known background: 0 if it is dark, and 1 if it is light. `None` if it is
    /// unknown.
    fn palette(&self) -> Option<usize> {
        match self.background {
            Background::Dark => Some(0),
            Background::Light => Some(1),
            // The luminance at which black and white have the same contrast.
            Background::Told(background) => Some(usize::from(luminance(background) > 0.18)),
            Background::Unknown | Background::Contrast => None,
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

    /// Returns the colour, moved away from the background just as far as reading needs.
    fn readable(&self, RoleColor(rgb, index, named): RoleColor, background: [u8; 3]) -> Color {
        let is_dark = self.palette() == Some(0);
        let reads = |colour: &[u8; 3]| contrast(*colour, background) >= READABLE;
        match self.depth {
            ColorDepth::TrueColor => {
                let [_, rgb @ ..] = rgb.to_be_bytes();
                let end = if is_dark { 255 } else { 0 };
                let step = |n: u16| rgb.map(|v| ((u16::from(v) * (255 - n) + end * n) / 255) as u8);
                // The contrast grows with each step, so a binary search finds the first readable colour.
                let mut first = 0;
                let mut last = 255;
                while first < last {
                    let middle = (first + last) / 2;
                    (first, last) = if reads(&step(middle)) { (first, middle) } else { (middle + 1, last) };
                }
                let [r, g, b] = step(first);
                Color::Rgb(r, g, b)
            }
            ColorDepth::Ansi256 => {
                let reads = |index: &u8| reads(&[8 + 10 * (index - 232); 3]);
                let (grey, last) =
                    if is_dark { ((index..=255).find(reads), 255) } else { ((232..=index).rev().find(reads), 232) };
                Color::Indexed(grey.unwrap_or(last))
            }
            _ => self.shade(RoleColor(rgb, index, named)),
        }
    }
}

/// Returns the contrast of two colours, by WCAG 2.
fn contrast(a: [u8; 3], b: [u8; 3]) -> f64 {
    let a = luminance(a);
    let b = luminance(b);
    (a.max(b) + 0.05) / (a.min(b) + 0.05)
}

/// Computes the power of 2.4 of a share, by Newton's method. The standard library's function would load libm at every
/// start.
const fn to_the_power_of_2_4(share: f64) -> f64 {
    let square = share * share;
    let mut fifth_root = 1.0;
    let mut step = 0;
    while step < 20 {
        fifth_root = (4.0 * fifth_root + square / (fifth_root * fifth_root * fifth_root * fifth_root)) / 5.0;
        step += 1;
    }
    square * fifth_root
}

/// The linear light of each value of a colour channel.
static LINEAR: [f64; 256] = {
    let mut linear = [0.0; 256];
    let mut value = 0;
    while value < linear.len() {
        let share = value as f64 / 255.0;
        linear[value] = if share <= 0.04045 { share / 12.92 } else { to_the_power_of_2_4((share + 0.055) / 1.055) };
        value += 1;
    }
    linear
};

fn luminance([r, g, b]: [u8; 3]) -> f64 {
    let linear = |value: u8| LINEAR[usize::from(value)];
    0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b)
}

const CHIP_BACKGROUND: [RoleColor; 2] =
    [RoleColor(0x1E293B, 235, Color::Reset), RoleColor(0xE0E7FF, 255, Color::Reset)];

/// Returns the colours of a role on a dark and on a light background. Of the sixteen colours, only blue and red are
/// readable on white everywhere. Bold black is a grey in some terminals.
#[rustfmt::skip]
fn colours(role: Role) -> [RoleColor; 2] {
    match role {
        Role::Primary | Role::Chip =>
                           [RoleColor(0x818CF8, 105, Color::LightBlue),   RoleColor(0x4F46E5,  61, Color::Blue)],
        Role::Text =>      [RoleColor(0xF1F5F9, 255, Color::White),       RoleColor(0x0F172A, 233, Color::Reset)],
        Role::Secondary => [RoleColor(0x94A3B8, 247, Color::Gray),        RoleColor(0x334155, 238, Color::Reset)],
        // Details reach 4.5:1 on all common backgrounds, because the background is not known exactly.
        Role::Detail =>    [RoleColor(0x94A3B8, 247, Color::Reset),       RoleColor(0x475569, 240, Color::Reset)],
        Role::Muted =>     [RoleColor(0x64748B, 243, Color::DarkGray),    RoleColor(0x64748B, 242, Color::Reset)],
        Role::Success =>   [RoleColor(0x34D399,  78, Color::LightGreen),  RoleColor(0x047857,  22, Color::Reset)],
        Role::Warning =>   [RoleColor(0xFBBF24, 214, Color::LightYellow), RoleColor(0xB45309,  94, Color::Reset)],
        Role::Danger =>    [RoleColor(0xF87171, 210, Color::LightRed),    RoleColor(0xB91C1C, 160, Color::Red)],
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

    /// Returns the RGB values of a colour of the theme. The first sixteen colours have no fixed values, because they
    /// are the terminal's.
    fn rgb(colour: Color) -> [u8; 3] {
        const LEVELS: [u8; 6] = [0, 95, 135, 175, 215, 255];
        match colour {
            Color::Rgb(r, g, b) => [r, g, b],
            Color::Indexed(i @ 232..) => [8 + 10 * (i - 232); 3],
            Color::Indexed(i @ 16..) => [(i - 16) / 36, (i - 16) / 6 % 6, (i - 16) % 6].map(|l| LEVELS[usize::from(l)]),
            colour => panic!("{colour:?} is the terminal's own"),
        }
    }

    /// Common backgrounds: xterm, VS Code, Dracula, Solarized, One Dark, Nord; white, Solarized, Gruvbox, Catppuccin
    /// Latte.
    const DARK: [u32; 6] = [0x000000, 0x1E1E1E, 0x282A36, 0x002B36, 0x282C34, 0x2E3440];
    const LIGHT: [u32; 4] = [0xFFFFFF, 0xFDF6E3, 0xFBF1C7, 0xEFF1F5];

    fn channels(colour: u32) -> [u8; 3] {
        let [_, rgb @ ..] = colour.to_be_bytes();
        rgb
    }

    #[test]
    fn the_power_is_that_of_the_standard_library() {
        for share in (1..=100).map(|n| f64::from(n) / 100.0) {
            assert!((to_the_power_of_2_4(share) - share.powf(2.4)).abs() < 1e-9, "{share}");
        }
    }

    const EXACT: [ColorDepth; 2] = [ColorDepth::Ansi256, ColorDepth::TrueColor];

    fn contrasts(background: Background, on: [u8; 3]) -> impl Iterator<Item = (Role, ColorDepth, f64)> {
        let all = EXACT.into_iter().flat_map(|depth| Role::ALL.map(|role| (role, depth)));
        all.map(move |(role, depth)| {
            let style = Theme { background, depth, ..Theme::default() }.style(role);
            (role, depth, contrast(rgb(style.fg.unwrap()), style.bg.map_or(on, rgb)))
        })
    }

    #[test]
    fn every_palette_reads_on_ten_real_backgrounds() {
        let dark = DARK.map(|on| (Background::Dark, on));
        let kinds = dark.into_iter().chain(LIGHT.map(|on| (Background::Light, on)));
        for (kind, on) in kinds.map(|(kind, on)| (kind, channels(on))) {
            for background in [kind, Background::Told(on)] {
                for (role, depth, reached) in
                    contrasts(background, on).filter(|(role, ..)| !matches!(role, Role::Muted | Role::Chip))
                {
                    // The proposals' accents are unchanged. Each also has a sign, a position or a weight.
                    let is_read = matches!(role, Role::Text | Role::Secondary | Role::Detail);
                    let least = if is_read { READABLE } else { 4.1 };
                    assert!(reached >= least, "{role:?} in {depth:?} of {background:?} on {on:x?}: {reached:.2}");
                }
            }
        }
    }

    #[test]
    fn details_are_in_the_terminals_own_foreground_where_no_contrast_is_known() {
        let dark = Background::Told(channels(DARK[1]));
        for background in [Background::Dark, Background::Light, dark, Background::Unknown, Background::Contrast] {
            let theme = Theme { background, depth: ColorDepth::Ansi16, ..Theme::default() };
            assert_eq!(theme.colour(Role::Detail), Color::Reset, "{background:?}");
        }
        let theme = Theme { background: Background::Unknown, ..Theme::default() };
        assert_eq!(theme.colour(Role::Detail), Color::Reset);
    }

    #[test]
    fn the_focused_label_reads_on_its_own_background() {
        for background in [Background::Dark, Background::Light] {
            for depth in EXACT {
                let style = Theme { background, depth, ..Theme::default() }.focused(Role::Text);
                let [fg, bg] = [style.fg, style.bg].map(|colour| rgb(colour.unwrap()));
                assert!(contrast(fg, bg) >= READABLE, "{background:?} {depth:?}");
            }
        }
    }

    #[test]
    fn details_are_dimmed_to_four_and_a_half_and_no_further() {
        for on in DARK.into_iter().chain(LIGHT).map(channels) {
            for depth in EXACT {
                let theme = Theme { background: Background::Told(on), depth, ..Theme::default() };
                let reached = contrast(rgb(theme.colour(Role::Detail)), on);
                // The steps between the 256 colours are larger.
                let most = if depth == ColorDepth::TrueColor { 4.6 } else { 5.3 };
                let is_ours = theme.colour(Role::Detail) == theme.shade(colours(Role::Muted)[theme.palette().unwrap()]);
                assert!(is_ours || reached < most, "{depth:?} on {on:x?}: {reached:.2}");
            }
        }
    }

    #[test]
    fn on_an_unknown_background_there_are_the_terminals_own_colours() {
        use Color::{Green, LightBlue, LightRed, Reset, Yellow};
        let own = |depth| {
            let theme = Theme { background: Background::Unknown, depth, ..Theme::default() };
            Role::ALL.map(|role| theme.colour(role))
        };
        let with = |muted| [LightBlue, LightBlue, Reset, Reset, Reset, muted, Green, Yellow, LightRed];
        let grey = Color::Indexed(GREY);
        assert_eq!(own(ColorDepth::Ansi16), with(Reset));
        assert_eq!(EXACT.map(own), [with(grey); 2]);
        assert_eq!(own(ColorDepth::None), [Reset; 9]);
    }

    #[test]
    fn the_terminals_own_colours_read_in_six_palettes_that_people_have() {
        /// The background, the foreground, then red, green, yellow and blue as they are drawn. Red and blue are the
        /// bright ones.
        const PALETTES: [(&str, u32, u32, [u32; 4]); 6] = [
            ("xterm", 0x000000, 0xE5E5E5, [0xFF0000, 0x00CD00, 0xCDCD00, 0x5C5CFF]),
            ("xterm on white", 0xFFFFFF, 0x000000, [0xFF0000, 0x00CD00, 0xCDCD00, 0x5C5CFF]),
            ("GNOME", 0x1E1E1E, 0xFFFFFF, [0xF66151, 0x26A269, 0xA2734C, 0x2A7BDE]),
            ("VS Code light", 0xFFFFFF, 0x333333, [0xCD3131, 0x00BC00, 0x949800, 0x0451A5]),
            ("Dracula", 0x282A36, 0xF8F8F2, [0xFF6E6E, 0x50FA7B, 0xF1FA8C, 0xD6ACFF]),
            ("kitty", 0x000000, 0xDDDDDD, [0xF2201F, 0x19CB00, 0xCECB00, 0x1A8FFF]),
        ];
        let theme = Theme { background: Background::Unknown, depth: ColorDepth::Ansi16, ..Theme::default() };
        for (name, background, foreground, [red, green, yellow, blue]) in PALETTES {
            let is_light = background == 0xFFFFFF;
            let reads = |style: Style, least: f64| {
                let drawn = match style.fg.unwrap() {
                    Color::LightRed => red,
                    Color::Green => green,
                    Color::Yellow => yellow,
                    Color::LightBlue => blue,
                    _ => foreground,
                };
                let reached = contrast(channels(drawn), channels(background));
                assert!(reached >= least, "{style:?} in {name}: {reached:.2}");
            };
            // Text that must be readable.
            for style in [Role::Text, Role::Secondary, Role::Detail].map(|role| theme.style(role)) {
                reads(style, READABLE);
            }
            reads(theme.message(Role::Warning), READABLE);
            // This text also has a sign or a position. No terminal's green and yellow are readable on white, but git
            // also uses them.
            reads(theme.focused(Role::Text), 3.9);
            reads(theme.message(Role::Danger), 3.9);
            let least = if is_light { 1.6 } else { 3.9 };
            reads(theme.style(Role::Success), least);
            reads(theme.style(Role::Warning), least);
        }
    }

    #[test]
    fn the_contrast_theme_has_no_grey() {
        let theme = Theme { background: Background::Contrast, ..Theme::default() };
        assert!(Role::ALL.iter().all(|&role| theme.style(role).fg == Some(Color::Reset)));
    }

    #[test]
    fn slate_does_not_turn_teal_in_256_colours() {
        for background in [Background::Dark, Background::Light] {
            let theme = Theme { background, depth: ColorDepth::Ansi256, ..Theme::default() };
            for role in [Role::Text, Role::Secondary, Role::Detail, Role::Muted] {
                let [r, g, b] = rgb(theme.colour(role));
                assert!(r == g && g == b, "{role:?} on {background:?}");
            }
        }
    }

    #[test]
    fn a_ticked_label_differs_from_a_focused_one_by_weight_or_hue() {
        for background in
            [Background::Dark, Background::Told([0; 3]), Background::Light, Background::Unknown, Background::Contrast]
        {
            for depth in [ColorDepth::None, ColorDepth::Ansi16, ColorDepth::Ansi256, ColorDepth::TrueColor] {
                let theme = Theme { background, depth, ..Theme::default() };
                let focused = theme.focused(Role::Text);
                let ticked = theme.ticked();
                let has_another_colour = focused.fg != ticked.fg;
                assert!(has_another_colour || focused.add_modifier != ticked.add_modifier, "{theme:?}");
            }
        }
        let plain = Theme { background: Background::Unknown, ..Theme::default() };
        assert!(plain.ticked() != plain.style(Role::Secondary));
    }

    #[test]
    fn a_key_is_told_from_what_it_does() {
        for background in [Background::Dark, Background::Light, Background::Unknown, Background::Contrast] {
            for depth in [ColorDepth::None, ColorDepth::Ansi16, ColorDepth::Ansi256, ColorDepth::TrueColor] {
                let theme = Theme { background, depth, ..Theme::default() };
                assert_ne!(theme.key(), theme.style(Role::Detail), "{theme:?}");
            }
        }
    }

    #[test]
    fn the_focused_label_is_bold_on_a_background_of_its_own() {
        for depth in [ColorDepth::None, ColorDepth::Ansi16, ColorDepth::Ansi256, ColorDepth::TrueColor] {
            for background in [Background::Dark, Background::Light, Background::Unknown, Background::Contrast] {
                let theme = Theme { depth, background, ..Theme::default() };
                let style = theme.focused(Role::Text);
                let is_marked = style.bg.is_some() || style.add_modifier.contains(Modifier::REVERSED);
                assert!(is_marked && style.add_modifier.contains(Modifier::BOLD), "{theme:?}");
            }
        }
    }
}
