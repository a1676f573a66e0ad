//! Detects the terminal's abilities from environment variables. The terminal itself is not queried, because a reply may
//! be slow or missing.

use crate::ask::Options;
use crate::view::{Background, ColorDepth, Confirm, PromptStyle, Signs, Theme};
use askuser::prompt::{PromptOptions, Trigger};
use askuser::verbatim::Charset;
use std::time::Duration;

/// The presentation of a prompt, on the screen or as lines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Presentation {
    /// The prompt is drawn inline, with a movable cursor.
    #[default]
    Screen,
    /// The prompt is written line by line, for screen readers, dumb terminals and logs.
    Line,
}

/// Encodes a text for the terminal. Characters outside the charset become question marks.
pub(crate) fn encode(text: &str, charset: Charset) -> Vec<u8> {
    match charset {
        Charset::Utf8 => text.as_bytes().to_vec(),
        Charset::Ascii => text.chars().map(|c| if c.is_ascii() { c as u8 } else { b'?' }).collect(),
    }
}

impl Options {
    /// Returns the options for the terminal of this process, according to its environment variables.
    pub fn detect() -> Options {
        Options::from_variables(|name| std::env::var(name).ok())
    }

    /// Returns the options for a terminal, according to the environment variables that `get` returns.
    ///
    /// ```
    /// use askuser_terminal::{ColorDepth, Options, Presentation};
    ///
    /// let options = Options::from_variables(|name| (name == "TERM").then(|| "xterm-256color".to_owned()));
    /// assert_eq!(options.presentation, Presentation::Screen);
    /// assert_eq!(options.theme.depth, ColorDepth::Ansi256);
    /// ```
    pub fn from_variables(get: impl Fn(&str) -> Option<String>) -> Options {
        let get = |name: &str| get(name).filter(|value| !value.is_empty());
        let term = get("TERM").unwrap_or_default();
        let accessible = get("ACCESSIBLE").is_some_and(|value| value != "0");
        // Without TERM, the terminal's escape sequences are unknown.
        let unknown = term == "dumb" || (term.is_empty() && cfg!(unix));
        let charset = charset(get);
        let modest = charset == Charset::Ascii || term.starts_with("vt");
        let signs = if modest { Signs::ASCII } else { Signs::UNICODE };
        // xterm and screen do not rewrap lines; tmux inside them does.
        let keeps_lines = get("TMUX").is_none() && (get("XTERM_VERSION").is_some() || get("STY").is_some());
        let bare = unknown || term == "linux" || term.starts_with("vt") || term.starts_with("cons");
        Options {
            presentation: if accessible || unknown { Presentation::Line } else { Presentation::Screen },
            theme: Theme {
                background: background(get),
                depth: depth(&term, get),
                signs,
                charset,
                dimmed: false,
                prompt_style: PromptStyle::default(),
            },
            confirm: Confirm::default(),
            key_delay: PromptOptions::default().key_delay,
            flash: Duration::from_millis(80),
            reflows: !keeps_lines,
            has_window: !bare,
            trigger: Trigger::default(),
            kept_in: None,
            ends_process: false,
        }
    }
}

fn depth(term: &str, get: impl Fn(&str) -> Option<String>) -> ColorDepth {
    let colorterm = get("COLORTERM").unwrap_or_default();
    if get("NO_COLOR").is_some() || term == "dumb" || term.starts_with("vt") || term.ends_with("-m") {
        ColorDepth::None
    } else if matches!(colorterm.as_str(), "truecolor" | "24bit")
        || term.ends_with("-direct")
        || get("WT_SESSION").is_some()
    {
        ColorDepth::TrueColor
    } else if term.contains("256color") {
        ColorDepth::Ansi256
    } else {
        ColorDepth::Ansi16
    }
}

/// Returns the background according to `COLORFGBG`. Its value is `foreground;background`, sometimes with a part in
/// between. The numbers are those of the sixteen colours.
fn background(get: impl Fn(&str) -> Option<String>) -> Background {
    let value = get("COLORFGBG").unwrap_or_default();
    match value.rsplit(';').next().and_then(|number| number.parse::<u8>().ok()) {
        Some(7 | 9..=15) => Background::Light,
        Some(0..=6 | 8) => Background::Dark,
        _ => Background::Unknown,
    }
}

/// Returns the charset of the locale, which is UTF-8 unless the locale names another one.
fn charset(get: impl Fn(&str) -> Option<String>) -> Charset {
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"].iter().find_map(|name| get(name)).unwrap_or_default();
    let charset = locale.split_once('.').map(|(_, charset)| charset.to_ascii_lowercase());
    if charset.is_some_and(|charset| !charset.starts_with("utf")) { Charset::Ascii } else { Charset::Utf8 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(variables: &[(&str, &str)]) -> Options {
        Options::from_variables(|name| variables.iter().find(|(n, _)| *n == name).map(|(_, value)| (*value).to_owned()))
    }

    #[test]
    fn colours_are_as_many_as_the_terminal_has() {
        let check =
            |variables: &[(&str, &str)], expected| assert_eq!(read(variables).theme.depth, expected, "{variables:?}");
        check(&[("TERM", "xterm-256color"), ("COLORTERM", "truecolor")], ColorDepth::TrueColor);
        check(&[("TERM", "tmux-256color")], ColorDepth::Ansi256);
        check(&[("TERM", "linux")], ColorDepth::Ansi16);
        check(&[("TERM", "vt100")], ColorDepth::None);
        check(&[("TERM", "xterm-256color"), ("NO_COLOR", "1")], ColorDepth::None);
        check(&[("TERM", "xterm-256color"), ("NO_COLOR", "")], ColorDepth::Ansi256);
    }

    #[test]
    fn the_background_is_what_colorfgbg_says_and_unknown_otherwise() {
        let check = |value, expected| assert_eq!(read(&[("COLORFGBG", value)]).theme.background, expected, "{value}");
        check("0;15", Background::Light);
        check("0;default;7", Background::Light);
        check("15;0", Background::Dark);
        check("15;8", Background::Dark);
        check("nonsense", Background::Unknown);
        check("", Background::Unknown);
    }

    #[test]
    fn screen_readers_and_dumb_terminals_get_lines() {
        assert_eq!(read(&[("TERM", "dumb")]).presentation, Presentation::Line);
        assert_eq!(read(&[("TERM", "xterm"), ("ACCESSIBLE", "1")]).presentation, Presentation::Line);
        assert_eq!(read(&[("TERM", "xterm"), ("ACCESSIBLE", "0")]).presentation, Presentation::Screen);
    }

    #[test]
    fn only_terminals_that_may_have_a_window_are_told_about_it() {
        let check = |term, expected| assert_eq!(read(&[("TERM", term)]).has_window, expected, "{term}");
        check("xterm-256color", true);
        check("tmux-256color", true);
        check("linux", false);
        check("vt100", false);
        check("dumb", false);
    }

    #[test]
    fn a_serial_terminal_and_an_old_charset_get_ascii() {
        assert_eq!(read(&[("TERM", "vt100")]).theme.signs, Signs::ASCII);
        assert_eq!(read(&[("TERM", "xterm"), ("LANG", "de_DE.ISO-8859-1")]).theme.signs, Signs::ASCII);
        assert_eq!(read(&[("TERM", "xterm"), ("LANG", "C")]).theme.signs, Signs::UNICODE);
        assert_eq!(read(&[("TERM", "xterm"), ("LANG", "en_GB.UTF-8")]).theme.signs, Signs::UNICODE);
    }

    #[test]
    fn xterm_and_screen_keep_lines_on_a_resize_but_not_under_tmux() {
        assert!(read(&[]).reflows);
        assert!(!read(&[("XTERM_VERSION", "XTerm(390)")]).reflows);
        assert!(!read(&[("STY", "1.pts")]).reflows);
        assert!(read(&[("XTERM_VERSION", "XTerm(390)"), ("TMUX", "/tmp/x")]).reflows);
    }
}
