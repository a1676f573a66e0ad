//! Displays text that a person agrees to. No character is removed, so the display determines the text that runs.
//!
//! A character without a glyph is spelled out by its code point, as `<U+009D>`. A tab is shown as an arrow that fills
//! four columns. A carriage return is shown as `␍`, and a blank at the end of a line as `␣`. If the text itself
//! contains such a sign, the sign is spelled out, too. So [`read`] restores every text from the output of [`shown`].
//! Line ends stay line ends, and a surface draws a bar before each line. The output passes [`sanitize`] unchanged.
//! Look-alike letters and wrapping are out of scope.

use crate::sanitize::{self, Gate};
use std::borrow::Cow;
use std::fmt::Write;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// The character set that a surface can display.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Charset {
    /// The Unicode characters.
    #[default]
    Utf8,
    /// The ASCII characters only. In a single-byte charset, the bytes of a UTF-8 character may be control characters.
    Ascii,
}

/// The beginning of a spelled-out character, such as `<U+009D>`.
const SPELLED: &str = "<U+";
/// The sign of a tab, four columns wide. The blanks distinguish it from an arrow in the text.
const TAB: &str = "→   ";
const CARRIAGE_RETURN: char = '␍';
const LAST_BLANK: char = '␣';
/// The bar before every line of untrusted text, as in a terminal.
const BAR: char = '┃';

/// Returns the complete display of `text` for a person who agrees to it.
///
/// ```
/// use askuser::verbatim::{Charset, read, shown};
///
/// let command = "echo hello \u{1b}];touch PWNED;\u{7}";
/// assert_eq!(shown(command, Charset::Utf8), "echo hello <U+001B>];touch PWNED;<U+0007>");
/// assert_eq!(read(&shown(command, Charset::Utf8)), command);
/// ```
pub fn shown(text: &str, charset: Charset) -> Cow<'_, str> {
    let is_plain = |b: &u8| matches!(b, b' '..=b'~' | b'\n');
    let has_signs = || text.contains(SPELLED) || text.contains(" \n") || text.ends_with(' ');
    if text.as_bytes().iter().all(is_plain) && !has_signs() {
        return Cow::Borrowed(text);
    }
    let mut gate = Gate::after("", text.len());
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        let ahead = rest.as_str();
        match (c, charset) {
            ('\n', _) => gate.put_sign("\n"),
            ('\t', Charset::Utf8) => gate.put_sign(TAB),
            ('\r', Charset::Utf8) => gate.put_sign(CARRIAGE_RETURN.encode_utf8(&mut [0; 4])),
            // A blank alone on its line stays as it is. The context lines of a diff often consist of one blank.
            (' ', Charset::Utf8) if ends_line(ahead) && !gate.is_at_line_start() => {
                gate.put_sign(LAST_BLANK.encode_utf8(&mut [0; 4]));
            }
            (' ', Charset::Ascii) if ends_line(ahead) && !gate.is_at_line_start() => spell(&mut gate, c),
            _ if is_sign(c, ahead) || !has_glyph(c, charset) || stands_on_a_mark(c, &gate) || !gate.feed(c) => {
                spell(&mut gate, c);
            }
            _ => {}
        }
    }
    let shown = gate.into_text();
    if shown == text { Cow::Borrowed(text) } else { Cow::Owned(shown) }
}

/// Restores the text from the output of [`shown`]. A screen may have cut the final blanks of the lines. A line of one
/// blank is then restored as an empty line.
pub fn read(shown: &str) -> String {
    let mut text = String::with_capacity(shown.len());
    let mut rest = shown;
    while let Some(c) = rest.chars().next() {
        let whole = (c, c.len_utf8());
        let (read, used) = match c {
            '<' => spelled(rest).unwrap_or(whole),
            '→' if rest.starts_with(TAB) => ('\t', TAB.len()),
            '→' if ends_line(&rest[whole.1..]) => ('\t', whole.1),
            CARRIAGE_RETURN => ('\r', whole.1),
            LAST_BLANK => (' ', whole.1),
            _ => whole,
        };
        text.push(read);
        rest = &rest[used..];
    }
    text
}

/// Adds a bar to the beginning of every line of a shown text. A surface that draws no bars itself needs them.
pub fn barred(shown: &str) -> String {
    let lines: Vec<String> = shown.split('\n').map(|line| format!("{BAR} {line}").trim_end().to_owned()).collect();
    lines.join("\n")
}

/// Returns the number of rows that a shown text takes at this width.
pub fn rows(shown: &str, columns: usize) -> usize {
    shown.split('\n').map(|line| line.width().div_ceil(columns.max(1)).max(1)).sum()
}

fn spell(gate: &mut Gate, c: char) {
    let mut name = String::new();
    let _ = write!(name, "{SPELLED}{:04X}>", c as u32);
    gate.put_sign(&name);
}

/// Returns the spelled-out character at the beginning, and the length of its name in bytes; `None` if there is none.
fn spelled(shown: &str) -> Option<(char, usize)> {
    let name = shown.strip_prefix(SPELLED)?;
    let end = name.find('>')?;
    let c = char::from_u32(u32::from_str_radix(&name[..end], 16).ok()?)?;
    Some((c, SPELLED.len() + end + 1))
}

/// Whether a character of the text, with the text after it, would read as a sign of [`shown`].
fn is_sign(c: char, ahead: &str) -> bool {
    match c {
        '<' => ahead.starts_with(&SPELLED[1..]),
        '→' => ends_line(ahead) || ahead.starts_with(&TAB['→'.len_utf8()..]),
        CARRIAGE_RETURN | LAST_BLANK => true,
        _ => false,
    }
}

fn ends_line(ahead: &str) -> bool {
    ahead.is_empty() || ahead.starts_with('\n')
}

/// Whether a character is shown as itself. The ASCII space is. Other blanks and invisible, private or unassigned
/// characters are not. A font may still lack a glyph.
fn has_glyph(c: char, charset: Charset) -> bool {
    match charset {
        _ if c.is_ascii() => matches!(c, ' '..='~'),
        Charset::Ascii => false,
        Charset::Utf8 => is_graphic(c) && !sanitize::is_ignorable(c) && c != '\u{2800}',
    }
}

/// Whether the standard library prints a character unchanged, because it is no control, format, private, unassigned or
/// blank character.
fn is_graphic(c: char) -> bool {
    // The character comes second, because a combining mark at the beginning is escaped.
    let mut two = [b'a', 0, 0, 0, 0];
    let length = 1 + c.encode_utf8(&mut two[1..]).len();
    std::str::from_utf8(&two[..length]).is_ok_and(|two| two.escape_debug().nth(2).is_none())
}

/// Whether a combining character would attach to a blank or to punctuation, which Markdown may remove.
fn stands_on_a_mark(c: char, gate: &Gate) -> bool {
    c.width().unwrap_or(0) == 0 && gate.base().is_some_and(|base| base.is_ascii() && !base.is_ascii_alphanumeric())
}

#[cfg(test)]
#[path = "verbatim_tests.rs"]
mod tests;
