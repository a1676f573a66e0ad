//! The gate for text that a person agrees to: it removes nothing, so that what is shown determines what runs.
//!
//! Every character without a glyph is spelled out, as `<U+009D>`; a tab is an arrow that fills four columns, a carriage
//! return `␍`, and a blank that ends a line `␣`. Where the text holds one of these signs itself, that is spelled out too, so
//! [`read`] finds every text again from what [`shown`] made of it. Line ends stay line ends: a surface puts a bar before
//! each line. What comes out is as safe to show as what [`sanitize`] lets through, and passes that gate unchanged.
//! Deliberately absent: letters that look like other letters, and wrapping.

use crate::sanitize::{self, Gate};
use std::borrow::Cow;
use std::fmt::Write;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Which characters a surface can show.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Charset {
    /// All of Unicode.
    #[default]
    Utf8,
    /// Only ASCII for certain. In a single-byte charset, the bytes of a UTF-8 character may be control characters.
    Ascii,
}

/// Begins the name of a character that is spelled out; `>` ends it.
const SPELLED: &str = "<U+";
/// The blanks fill the columns of a tab: an arrow without them is an arrow.
const TAB: &str = "→   ";
const CARRIAGE_RETURN: char = '␍';
const LAST_BLANK: char = '␣';
/// Stands before every line of others, as in a terminal.
const BAR: char = '┃';

/// `text` as it may be shown to a person who agrees to it, with nothing left out.
///
/// ```
/// use askuser::exact::{Charset, read, shown};
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
            // The context lines of a diff are full of lines that are one blank.
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

/// The text that [`shown`] has made this of, also where a screen has cut off the blanks at the end of its lines; only a line
/// that is one blank is empty then.
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

/// A shown text for a surface that draws nothing itself: every line behind a bar, where no line of the surface begins.
pub fn barred(shown: &str) -> String {
    let lines: Vec<String> = shown.split('\n').map(|line| format!("{BAR} {line}").trim_end().to_owned()).collect();
    lines.join("\n")
}

/// How many rows of so many columns a shown text takes.
pub fn rows(shown: &str, columns: usize) -> usize {
    shown.split('\n').map(|line| line.width().div_ceil(columns.max(1)).max(1)).sum()
}

fn spell(gate: &mut Gate, c: char) {
    let mut name = String::new();
    let _ = write!(name, "{SPELLED}{:04X}>", c as u32);
    gate.put_sign(&name);
}

/// The character whose name stands at the beginning, and the length of the name.
fn spelled(shown: &str) -> Option<(char, usize)> {
    let name = shown.strip_prefix(SPELLED)?;
    let end = name.find('>')?;
    let c = char::from_u32(u32::from_str_radix(&name[..end], 16).ok()?)?;
    Some((c, SPELLED.len() + end + 1))
}

/// Whether a character of the text, with what follows it, would be read as a sign of ours.
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

/// Whether a character can be seen. Not every font has it, but no blank and nothing invisible, private or unassigned does.
fn has_glyph(c: char, charset: Charset) -> bool {
    match charset {
        _ if c.is_ascii() => matches!(c, ' '..='~'),
        Charset::Ascii => false,
        Charset::Utf8 => is_graphic(c) && !sanitize::is_ignorable(c) && c != '\u{2800}',
    }
}

/// Whether the standard library prints a character as it is: no control, format, private use, unassigned or blank.
fn is_graphic(c: char) -> bool {
    // As the second of two, since it escapes a mark that has nothing to stand on.
    let mut two = [b'a', 0, 0, 0, 0];
    let length = 1 + c.encode_utf8(&mut two[1..]).len();
    std::str::from_utf8(&two[..length]).is_ok_and(|two| two.escape_debug().nth(2).is_none())
}

/// Whether a combining character would stand on punctuation, which Markdown may take away from under it, or on a blank.
fn stands_on_a_mark(c: char, gate: &Gate) -> bool {
    c.width().unwrap_or(0) == 0 && gate.base().is_some_and(|base| base.is_ascii() && !base.is_ascii_alphanumeric())
}

#[cfg(test)]
#[path = "exact_tests.rs"]
mod tests;
