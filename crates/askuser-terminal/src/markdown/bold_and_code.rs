//! Bold and code in a line of text, for questions and descriptions. All else is as it was written, which is why this reads the
//! text itself: a parser of Markdown would have to be kept from every other mark.

use super::inline::push;
use super::{Look, Piece};
use ratatui_core::style::Modifier;

/// The longest run of backticks that begins code.
const MAX_TICKS: usize = 16;

/// The bold and the code of a text. `None` if nothing in it is marked, which most texts are spared to be read for.
pub(crate) fn inline(text: &str) -> Option<Vec<Piece>> {
    if !text.contains("**") && !text.contains('`') {
        return None;
    }
    let mut pieces = Vec::new();
    for (i, line) in text.split('\n').enumerate() {
        if i > 0 {
            push(&mut pieces, "\n", Look::default());
        }
        read(line, &mut pieces);
    }
    Some(pieces)
}

fn read(line: &str, pieces: &mut Vec<Piece>) {
    let (mut at, mut look) = (0, Look::default());
    let mut marks = Marks { line, no_ticks: [false; MAX_TICKS + 1], no_bold: false };
    while at < line.len() {
        let rest = &line[at..];
        if let Some(code) = marks.code(at) {
            push(pieces, code.content, Look { code: true, ..look });
            at = code.end;
        } else if rest.starts_with("**") && look.modifier.is_empty() && marks.opens_bold(at) {
            look = look.with(Modifier::BOLD);
            at += 2;
        } else if rest.starts_with("**") && !look.modifier.is_empty() && marks.closes_bold(at) {
            look = Look::default();
            at += 2;
        } else {
            let end = marks.end_of_plain(at);
            push(pieces, &line[at..end], look);
            at = end;
        }
    }
}

/// The marks of a line. What has no end is remembered, so that no text is searched for it again and again.
struct Marks<'a> {
    line: &'a str,
    /// For each length of a run of backticks: no other run of that length follows.
    no_ticks: [bool; MAX_TICKS + 1],
    /// No bold ends from here on.
    no_bold: bool,
}

struct Code<'a> {
    content: &'a str,
    end: usize,
}

impl<'a> Marks<'a> {
    /// The code that begins here, if any does.
    fn code(&mut self, at: usize) -> Option<Code<'a>> {
        let ticks = ticks(&self.line[at..]);
        if ticks == 0 || ticks > MAX_TICKS || self.no_ticks[ticks] {
            return None;
        }
        let start = at + ticks;
        let mut from = start;
        while let Some(found) = self.line[from..].find('`') {
            let run = from + found;
            let length = self::ticks(&self.line[run..]);
            if length == ticks {
                let content = &self.line[start..run];
                // A blank on either side keeps a backtick in it apart from the marks.
                let inner = content.strip_prefix(' ').and_then(|inner| inner.strip_suffix(' '));
                let content = inner.filter(|inner| !inner.trim().is_empty()).unwrap_or(content);
                return Some(Code { content, end: run + ticks });
            }
            from = run + length;
        }
        self.no_ticks[ticks] = true;
        None
    }

    /// Whether bold begins here: it touches a word, and ends later.
    fn opens_bold(&mut self, at: usize) -> bool {
        let touches = self.line[at + 2..].starts_with(|c: char| !c.is_whitespace() && c != '*');
        if !touches || self.no_bold {
            return false;
        }
        let mut from = at + 2;
        while from < self.line.len() {
            if let Some(code) = self.code(from) {
                from = code.end;
            } else if self.line[from..].starts_with("**") && self.closes_bold(from) {
                return true;
            } else {
                from = self.end_of_plain(from);
            }
        }
        self.no_bold = true;
        false
    }

    /// Whether bold may end here: it touches a word before it.
    fn closes_bold(&self, at: usize) -> bool {
        self.line[..at].ends_with(|c: char| !c.is_whitespace())
    }

    /// Up to where the text is as it was written: an escaped character with its backslash, a run of marks, or up to the next.
    fn end_of_plain(&self, at: usize) -> usize {
        let rest = &self.line[at..];
        let length = match rest.as_bytes()[0] {
            b'\\' => 1 + rest[1..].chars().next().map_or(0, char::len_utf8),
            b'`' => ticks(rest),
            b'*' => rest.bytes().take_while(|byte| *byte == b'*').count(),
            _ => rest.find(['\\', '`', '*']).unwrap_or(rest.len()),
        };
        at + length
    }
}

/// How many backticks a text begins with.
fn ticks(text: &str) -> usize {
    text.bytes().take_while(|byte| *byte == b'`').count()
}
