//! A small multi-line editor for typed answers: text, caret, and the edits that keys cause.
//!
//! Invariants: the text passes [`sanitize::typed`] unchanged, it has at most `limit` scalars, and the caret is on a
//! grapheme boundary. An edit that would break them is refused without a change; text is never truncated. Keys (the
//! prompt maps them to [`Edit`]s), soft wrapping and drawing belong elsewhere.

use std::borrow::Cow;

use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

use crate::sanitize;

/// Typed text with a caret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Text {
    text: String,
    caret: usize,
    limit: usize,
    /// The column that a series of `Up` and `Down` tries to keep; `None` outside of such a series.
    column: Option<usize>,
    /// A joiner typed after the last character, which waits for its partner; `None` if none waits. Alone, a joiner
    /// would be invisible.
    joiner: Option<char>,
}

/// An edit of a [`Text`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Edit {
    /// Inserts a typed character at the caret. A combining character joins the one before it.
    Insert(char),
    /// Inserts pasted text at the caret, cleaned.
    Paste(String),
    /// Begins a new line at the caret.
    Newline,
    /// Removes the grapheme before the caret.
    Backspace,
    /// Removes the grapheme after the caret.
    Delete,
    /// Moves back by one grapheme.
    Left,
    /// Moves forward by one grapheme.
    Right,
    /// Moves to the line above in the same column, or stays on the first line.
    Up,
    /// Moves to the line below in the same column, or stays on the last line.
    Down,
    /// Moves to the start of the line.
    Home,
    /// Moves to the end of the line.
    End,
    /// Moves to the start of the text.
    Start,
    /// Moves to the end of the text.
    Finish,
    /// Moves back to the start of a word.
    WordLeft,
    /// Moves forward to the end of a word.
    WordRight,
    /// Removes the text back to the start of a word.
    DeleteWordLeft,
    /// Removes the text up to the end of a word.
    DeleteWordRight,
    /// Removes the rest of the line, or the line break at its end.
    KillToEnd,
    /// Removes the line up to the caret, or the line break before its start.
    KillToStart,
}

/// The result of an edit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Fit {
    /// The edit was applied, perhaps without effect, as `Left` at the start.
    Kept,
    /// The edit was refused, because it would insert an invisible character or exceed the limit.
    Refused,
}

impl Text {
    /// Creates an empty text of at most `limit` Unicode scalar values.
    pub fn new(limit: usize) -> Text {
        Text { text: String::new(), caret: 0, limit, column: None, joiner: None }
    }

    /// The text without its caret.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Whether the text is empty.
    pub fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// Whether the text has no visible character.
    pub fn is_blank(&self) -> bool {
        sanitize::is_blank(&self.text)
    }

    /// The text; `None` if it has no visible character.
    pub(crate) fn written(&self) -> Option<String> {
        (!self.is_blank()).then(|| self.text.clone())
    }

    /// The number of Unicode scalar values in the text.
    pub fn chars(&self) -> usize {
        self.text.chars().count()
    }

    /// The maximum number of Unicode scalar values in the text.
    pub fn limit(&self) -> usize {
        self.limit
    }

    /// The position of the caret: a byte offset on a grapheme boundary.
    pub fn caret(&self) -> usize {
        self.caret
    }

    /// Replaces the whole text by `text`, cleaned, and moves the caret to the end.
    pub fn set(&mut self, text: &str) -> Fit {
        let text = sanitize::typed(text);
        let end = text.len();
        self.adopt(text, end)
    }

    /// Applies an edit.
    pub fn apply(&mut self, edit: Edit) -> Fit {
        let joiner = self.joiner.take();
        let column = self.column.take();
        let fit = match edit {
            Edit::Insert(c) => self.insert(joiner, c),
            Edit::Paste(text) => self.paste(&text),
            Edit::Newline => self.put("\n"),
            // A pending joiner was typed last, so only the joiner is removed.
            Edit::Backspace if joiner.is_some() => Fit::Kept,
            Edit::Backspace => self.remove(self.left(), self.caret),
            Edit::Delete => self.remove(self.caret, self.right()),
            Edit::Left => self.go(self.left()),
            Edit::Right => self.go(self.right()),
            Edit::Up => self.go_to_line(self.line_start().checked_sub(1), column),
            Edit::Down => self.go_to_line(Some(self.line_end() + 1).filter(|at| *at <= self.text.len()), column),
            Edit::Home => self.go(self.line_start()),
            Edit::End => self.go(self.line_end()),
            Edit::Start => self.go(0),
            Edit::Finish => self.go(self.text.len()),
            Edit::WordLeft => self.go(self.word_left()),
            Edit::WordRight => self.go(self.word_right()),
            Edit::DeleteWordLeft => self.remove(self.word_left(), self.caret),
            Edit::DeleteWordRight => self.remove(self.caret, self.word_right()),
            Edit::KillToEnd if self.caret == self.line_end() => self.remove(self.caret, self.right()),
            Edit::KillToEnd => self.remove(self.caret, self.line_end()),
            Edit::KillToStart if self.caret == self.line_start() => self.remove(self.left(), self.caret),
            Edit::KillToStart => self.remove(self.line_start(), self.caret),
        };
        if fit == Fit::Refused {
            (self.joiner, self.column) = (joiner, column);
        }
        fit
    }

    /// Returns the reason why an edit was refused, for the person who typed it.
    pub fn why_refused(&self, edit: &Edit) -> String {
        let chars = self.chars();
        let limit = self.limit;
        match edit {
            Edit::Paste(text) => match (sanitize::typed(text).chars().count(), limit.saturating_sub(chars)) {
                (pasted, room) if pasted > room => {
                    format!("Not pasted: {pasted} characters, room for {room} (at most {limit})")
                }
                _ => "Not pasted: nothing in it that can be shown".into(),
            },
            _ if chars >= limit => format!("At most {limit} characters"),
            _ => "Not a character that can be shown".into(),
        }
    }

    fn insert(&mut self, waiting: Option<char>, c: char) -> Fit {
        if c.is_control() {
            return Fit::Refused;
        }
        if let Some(joiner) = waiting
            && self.put(&String::from_iter([joiner, c])) == Fit::Kept
        {
            return Fit::Kept;
        }
        let fit = self.put(c.encode_utf8(&mut [0; 4]));
        // Keyboards send a joiner before its partner, and emoji arrive scalar by scalar, so the joiner has to wait.
        if fit == Fit::Refused && sanitize::is_joiner(c) && self.joinable() {
            self.joiner = Some(c);
            return Fit::Kept;
        }
        fit
    }

    fn joinable(&self) -> bool {
        let before = self.text[..self.caret].chars().next_back();
        self.chars() + 1 < self.limit && before.is_some_and(|c| !c.is_whitespace() && !sanitize::is_joiner(c))
    }

    fn paste(&mut self, pasted: &str) -> Fit {
        let (before, after) = self.text.split_at(self.caret);
        // The pasted text is cleaned together with the text before it, so that it may begin with a combining mark. The
        // text after it is left out, because an unfinished escape sequence could swallow it.
        let mut text = sanitize::typed(&[before, pasted].concat());
        if text == sanitize::block(before) {
            return if pasted.is_empty() { Fit::Kept } else { Fit::Refused };
        }
        let caret = text.len();
        text.push_str(after);
        self.adopt(text, caret)
    }

    /// Inserts `piece` at the caret unchanged, or refuses it.
    fn put(&mut self, piece: &str) -> Fit {
        let before = &self.text[..self.caret];
        // A joiner before the caret may lose its partner, for example to a space.
        let starts = [before.len(), before.trim_end_matches(sanitize::is_joiner).len()];
        for start in starts {
            let text = [&self.text[..start], piece, &self.text[self.caret..]].concat();
            if self.adopt(text, start + piece.len()) == Fit::Kept {
                return Fit::Kept;
            }
        }
        Fit::Refused
    }

    /// Accepts `text` if it is clean and short enough. The caret moves to the next boundary, because neighbours may
    /// have merged.
    fn adopt(&mut self, text: String, caret: usize) -> Fit {
        if text.chars().count() > self.limit || !matches!(sanitize::block(&text), Cow::Borrowed(_)) {
            return Fit::Refused;
        }
        self.text = text;
        self.caret = self.boundary_from(caret);
        (self.column, self.joiner) = (None, None);
        Fit::Kept
    }

    fn remove(&mut self, start: usize, end: usize) -> Fit {
        let before = &self.text[..start];
        let after = &self.text[end..];
        // The text before and after the gap is adjacent now, so a joiner may have lost its partner.
        let text = sanitize::typed(&[before, after].concat());
        let caret = if text.starts_with(before) { start } else { sanitize::block(before).len() };
        self.text = text;
        self.go(self.boundary_from(caret))
    }

    fn go(&mut self, caret: usize) -> Fit {
        self.caret = caret;
        Fit::Kept
    }

    /// Moves to the line at byte offset `at`, in the column where this series of moves began.
    fn go_to_line(&mut self, at: Option<usize>, column: Option<usize>) -> Fit {
        let column = column.unwrap_or_else(|| columns(&self.text[self.line_start()..self.caret]));
        self.column = Some(column);
        let Some(at) = at else { return Fit::Kept };
        self.caret = at;
        self.caret = self.line_start();
        let mut passed = 0;
        for cluster in self.text[self.caret..self.line_end()].graphemes(true) {
            passed += cluster.width();
            if passed > column {
                break;
            }
            self.caret += cluster.len();
        }
        Fit::Kept
    }

    fn line_start(&self) -> usize {
        self.text[..self.caret].rfind('\n').map_or(0, |at| at + 1)
    }

    fn line_end(&self) -> usize {
        self.text[self.caret..].find('\n').map_or(self.text.len(), |at| self.caret + at)
    }

    fn left(&self) -> usize {
        self.caret.checked_sub(1).map_or(0, |at| self.boundary_up_to(at))
    }

    fn right(&self) -> usize {
        self.boundary_from(self.caret + 1)
    }

    fn word_left(&self) -> usize {
        let mut words = self.text[..self.caret].split_word_bound_indices().rev();
        let start = words.find(|(_, word)| !sanitize::is_blank(word)).map_or(0, |(at, _)| at);
        self.boundary_up_to(start)
    }

    fn word_right(&self) -> usize {
        let mut words = self.text[self.caret..].split_word_bound_indices();
        let end = words.find(|(_, word)| !sanitize::is_blank(word)).map(|(at, word)| self.caret + at + word.len());
        self.boundary_from(end.unwrap_or(self.text.len()))
    }

    /// Returns the last grapheme boundary at or before `at`.
    fn boundary_up_to(&self, at: usize) -> usize {
        self.boundaries().take_while(|boundary| *boundary <= at).last().unwrap_or(0)
    }

    /// Returns the first grapheme boundary at or after `at`.
    fn boundary_from(&self, at: usize) -> usize {
        self.boundaries().find(|boundary| *boundary >= at).unwrap_or(self.text.len())
    }

    /// Returns the grapheme boundaries, counted from the start, because flags pair up from there. The text is short.
    fn boundaries(&self) -> impl Iterator<Item = usize> {
        self.text.grapheme_indices(true).map(|(at, _)| at).chain([self.text.len()])
    }
}

/// Returns the number of columns of a part of a line, cluster by cluster as it is drawn.
fn columns(text: &str) -> usize {
    text.graphemes(true).map(UnicodeWidthStr::width).sum()
}

#[cfg(test)]
#[path = "text_tests.rs"]
mod tests;
