//! A small multi-line editor for typed answers: text, caret, and the edits a key can ask for.
//!
//! Always true: the text is what [`sanitize::typed`] makes of it, it has at most `limit` scalars, and the caret is on a
//! grapheme boundary. An edit that would break this is refused and changes nothing; text is never cut to fit.
//! Deliberately absent: keys (the prompt maps them to [`Edit`]s), soft wrapping and drawing.

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
    /// The column that a row of `Up` and `Down` tries to keep.
    column: Option<usize>,
    /// A joiner typed after the last character, waiting for the one it joins: alone it would be invisible.
    joiner: Option<char>,
}

/// What a key asks of a [`Text`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Edit {
    /// Puts a typed character at the caret; a combining one joins what is before it.
    Insert(char),
    /// Puts pasted text at the caret, cleaned.
    Paste(String),
    /// Begins a new line at the caret.
    Newline,
    /// Removes the grapheme before the caret.
    Backspace,
    /// Removes the grapheme after the caret.
    Delete,
    /// Moves back by one grapheme.
    Left,
    /// Moves on by one grapheme.
    Right,
    /// Moves to the line above, keeping the column; stays on the first line.
    Up,
    /// Moves to the line below, keeping the column; stays on the last line.
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
    /// Moves on to the end of a word.
    WordRight,
    /// Removes back to the start of a word.
    DeleteWordLeft,
    /// Removes up to the end of a word.
    DeleteWordRight,
    /// Removes the rest of the line; at its end, the line break.
    KillToEnd,
    /// Removes the line up to the caret; at its start, the line break before it.
    KillToStart,
}

/// Whether an edit was taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Fit {
    /// It was; also where there was nothing to do, as for `Left` at the start.
    Kept,
    /// It was not, for it would put in something invisible or go over the limit; nothing changed.
    Refused,
}

impl Text {
    /// An empty text that takes up to `limit` Unicode scalar values.
    pub fn new(limit: usize) -> Text {
        Text { text: String::new(), caret: 0, limit, column: None, joiner: None }
    }

    /// A text that begins with `text`, the caret at its end; empty if `text` is over the limit (see [`Text::set`]).
    pub fn with(limit: usize, text: &str) -> Text {
        let mut new = Text::new(limit);
        let _ = new.set(text);
        new
    }

    /// What has been typed.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Whether there is no text.
    pub fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// Whether there is nothing to be seen in the text.
    pub fn is_blank(&self) -> bool {
        sanitize::is_blank(&self.text)
    }

    /// How many Unicode scalar values the text has.
    pub fn chars(&self) -> usize {
        self.text.chars().count()
    }

    /// How many Unicode scalar values it may have.
    pub fn limit(&self) -> usize {
        self.limit
    }

    /// Where the caret is: a byte offset into the text, on a grapheme boundary.
    pub fn caret(&self) -> usize {
        self.caret
    }

    /// Replaces everything by `text`, cleaned, and puts the caret at its end.
    pub fn set(&mut self, text: &str) -> Fit {
        let text = sanitize::typed(text);
        let end = text.len();
        self.adopt(text, end)
    }

    /// Does one edit.
    pub fn apply(&mut self, edit: Edit) -> Fit {
        let (joiner, column) = (self.joiner.take(), self.column.take());
        let fit = match edit {
            Edit::Insert(c) => self.insert(joiner, c),
            Edit::Paste(text) => self.paste(&text),
            Edit::Newline => self.put("\n"),
            // The joiner is what was typed last.
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
        // Keyboards send a joiner before what it joins, and emoji arrive scalar by scalar: it has to wait somewhere.
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
        // Cleaned together with what is before it, so that it can begin with a combining mark; but not with what is
        // after it, which an unfinished escape sequence could otherwise take along.
        let mut text = sanitize::typed(&[before, pasted].concat());
        if text == sanitize::block(before) {
            return if pasted.is_empty() { Fit::Kept } else { Fit::Refused };
        }
        let caret = text.len();
        text.push_str(after);
        self.adopt(text, caret)
    }

    /// Puts `piece` at the caret as it is, or not at all.
    fn put(&mut self, piece: &str) -> Fit {
        let before = &self.text[..self.caret];
        // A joiner before the caret may have nothing to join any more, as when a space comes between.
        let starts = [before.len(), before.trim_end_matches(sanitize::is_joiner).len()];
        for start in starts {
            let text = [&self.text[..start], piece, &self.text[self.caret..]].concat();
            if self.adopt(text, start + piece.len()) == Fit::Kept {
                return Fit::Kept;
            }
        }
        Fit::Refused
    }

    /// Takes `text` if it is clean and short enough; the caret goes to the next boundary, as the text around it may
    /// have grown together.
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
        let (before, after) = (&self.text[..start], &self.text[end..]);
        // What was apart is now side by side: a joiner may be left with nothing to join.
        let text = sanitize::typed(&[before, after].concat());
        let caret = if text.starts_with(before) { start } else { sanitize::block(before).len() };
        self.text = text;
        self.go(self.boundary_from(caret))
    }

    fn go(&mut self, caret: usize) -> Fit {
        self.caret = caret;
        Fit::Kept
    }

    /// Moves to the line that has the byte offset `at`, to the column where this row of moves began.
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

    /// The last grapheme boundary at or before `at`.
    fn boundary_up_to(&self, at: usize) -> usize {
        self.boundaries().take_while(|boundary| *boundary <= at).last().unwrap_or(0)
    }

    /// The first grapheme boundary at or after `at`.
    fn boundary_from(&self, at: usize) -> usize {
        self.boundaries().find(|boundary| *boundary >= at).unwrap_or(self.text.len())
    }

    /// Counted from the start, though only a few are wanted: flags pair up from there, and the text is short.
    fn boundaries(&self) -> impl Iterator<Item = usize> {
        self.text.grapheme_indices(true).map(|(at, _)| at).chain([self.text.len()])
    }
}

/// Columns taken by a part of a line, cluster by cluster as it is drawn.
fn columns(text: &str) -> usize {
    text.graphemes(true).map(UnicodeWidthStr::width).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sanitize::tests::nasty_text;
    use proptest::prelude::*;

    /// A text written with its caret as `|`.
    fn text(marked: &str) -> Text {
        let (before, after) = marked.split_once('|').expect("a caret");
        let mut text = Text::with(2_000, &[before, after].concat());
        text.caret = before.len();
        text
    }

    fn marked(text: &Text) -> String {
        let (before, after) = text.as_str().split_at(text.caret());
        format!("{before}|{after}")
    }

    #[track_caller]
    fn check(before: &str, edits: impl IntoIterator<Item = Edit>, after: &str) {
        let mut text = text(before);
        for edit in edits {
            assert_eq!(text.apply(edit.clone()), Fit::Kept, "{edit:?} in {:?}", marked(&text));
        }
        assert_eq!(marked(&text), after);
    }

    #[track_caller]
    fn check_refused(mut text: Text, edit: Edit) {
        let before = text.clone();
        assert_eq!(text.apply(edit), Fit::Refused);
        assert_eq!(text, before);
    }

    fn typing(text: &str) -> impl Iterator<Item = Edit> {
        text.chars().map(Edit::Insert)
    }

    fn paste(text: &str) -> Edit {
        Edit::Paste(text.into())
    }

    #[test]
    fn typing_goes_in_at_the_caret() {
        check("|", typing("bun"), "bun|");
        check("b|n", typing("u"), "bu|n");
        check("a|b", [Edit::Newline], "a\n|b");
    }

    #[test]
    fn a_combining_character_joins_what_is_before_it() {
        check("e|x", typing("\u{301}"), "e\u{301}|x");
        check("|", typing("हिन्दी"), "हिन्दी|");
        check("|", typing("\u{1112}\u{1161}\u{11ab}"), "\u{1112}\u{1161}\u{11ab}|");
    }

    #[test]
    fn an_emoji_typed_scalar_by_scalar_becomes_one() {
        check("|", typing("👩🏽\u{200d}❤\u{fe0f}\u{200d}👨").chain([Edit::Left]), "|👩🏽\u{200d}❤\u{fe0f}\u{200d}👨");
        check("|", typing("🇩🇪").chain([Edit::Backspace]), "|");
    }

    #[test]
    fn a_joiner_waits_for_what_it_joins() {
        check("|", typing("می\u{200c}خ"), "می\u{200c}خ|");
        check("می|خ", typing("\u{200c}"), "می\u{200c}|خ");
        check("می|", typing("\u{200c} x"), "می x|");
        check("می\u{200c}|خ", typing(" "), "می |خ");
        check("می|", [Edit::Insert('\u{200c}'), Edit::Backspace], "می|");
        check("می\u{200c}|خ", [Edit::Delete], "می|");
    }

    #[test]
    fn characters_that_cannot_be_seen_are_refused() {
        for c in [
            '\0',
            '\x1b',
            '\t',
            '\n',
            '\r',
            '\x7f',
            '\u{9b}',
            '\u{202e}',
            '\u{200b}',
            '\u{e0041}',
            '\u{feff}',
            '\u{ffff}',
        ] {
            check_refused(text("a|b"), Edit::Insert(c));
        }
        check_refused(text("|a"), Edit::Insert('\u{301}'));
        check_refused(text("a |"), Edit::Insert('\u{200d}'));
        check_refused(text("a\u{301}\u{301}\u{301}\u{301}\u{301}\u{301}\u{301}\u{301}|"), Edit::Insert('\u{301}'));
        check_refused(text("a|b"), paste("\x1b[31m\u{200b}"));
    }

    #[test]
    fn a_paste_is_cleaned() {
        check("a|b", [paste("1\r\n\t2\x1b[31m")], "a1\n    2|b");
        check("e|", [paste("\u{301}x")], "e\u{301}x|");
        check("a|b", [paste("\x1b]0;")], "a0;|b");
    }

    #[test]
    fn a_paste_of_nothing_loses_no_joiner() {
        check("می\u{200c}|خ", [paste("")], "می\u{200c}|خ");
        check_refused(text("می\u{200c}|خ"), paste("\u{200b}"));
    }

    #[test]
    fn what_goes_over_the_limit_is_refused_whole() {
        let full = Text::with(3, "añb");
        assert_eq!((full.chars(), full.limit()), (3, 3));
        check_refused(full.clone(), Edit::Insert('c'));
        check_refused(full.clone(), Edit::Newline);
        check_refused(full, paste("cd"));
        check_refused(Text::with(3, "a"), paste("bcd"));
        check_refused(Text::with(2, "ی"), Edit::Insert('\u{200c}'));
        assert_eq!(Text::with(3, "abcd"), Text::new(3));
    }

    #[test]
    fn setting_replaces_everything_or_nothing() {
        let mut text = Text::with(5, "old");
        assert_eq!(text.set("too long"), Fit::Refused);
        assert_eq!(marked(&text), "old|");
        assert_eq!(text.set("a\r\nb\x07"), Fit::Kept);
        assert_eq!(marked(&text), "a\nb|");
    }

    #[test]
    fn one_backspace_removes_one_grapheme() {
        check("a👨‍👩‍👧‍👦|b", [Edit::Backspace], "a|b");
        check("🇩🇪🇫🇷|", [Edit::Backspace], "🇩🇪|");
        check("e\u{301}|", [Edit::Backspace], "|");
        check("a\n|b", [Edit::Backspace], "a|b");
        check("|a", [Edit::Backspace], "|a");
    }

    #[test]
    fn one_delete_removes_one_grapheme() {
        check("a|👨‍👩‍👧‍👦b", [Edit::Delete], "a|b");
        check("a|\nb", [Edit::Delete], "a|b");
        check("a|", [Edit::Delete], "a|");
    }

    #[test]
    fn left_and_right_step_over_whole_graphemes() {
        check("a👍🏽|", [Edit::Left], "a|👍🏽");
        check("a|👍🏽b", [Edit::Right], "a👍🏽|b");
        check("a|\nb", [Edit::Right], "a\n|b");
        check("|", [Edit::Left, Edit::Right], "|");
    }

    #[test]
    fn up_and_down_keep_the_column_as_drawn() {
        check("abcd\nefg|h", [Edit::Up], "abc|d\nefgh");
        check("日本語\nabcd|", [Edit::Up], "日本|語\nabcd");
        check("日本語\nabc|", [Edit::Up], "日|本語\nabc");
        check("ab|c\n\nxyz", [Edit::Down], "abc\n|\nxyz");
    }

    #[test]
    fn a_short_line_in_between_does_not_lose_the_column() {
        check("abcd|\n\nefgh", [Edit::Down, Edit::Down], "abcd\n\nefgh|");
        check("abcd|\nx\nefgh", [Edit::Down, Edit::Left, Edit::Down], "abcd\nx\n|efgh");
    }

    #[test]
    fn up_stays_on_the_first_line_and_down_on_the_last() {
        check("ab|c\nd", [Edit::Up], "ab|c\nd");
        check("a\nb|c", [Edit::Down], "a\nb|c");
    }

    #[test]
    fn home_and_end_are_of_the_line_start_and_finish_of_the_text() {
        check("a\nb|c\nd", [Edit::Home], "a\n|bc\nd");
        check("a\nb|c\nd", [Edit::End], "a\nbc|\nd");
        check("a\nb|c\nd", [Edit::Start], "|a\nbc\nd");
        check("a\nb|c\nd", [Edit::Finish], "a\nbc\nd|");
    }

    #[test]
    fn words_are_stepped_over_and_removed() {
        check("use don't  |x", [Edit::WordLeft], "use |don't  x");
        check("use|  don't x", [Edit::WordRight], "use  don't| x");
        check("a\nb|", [Edit::WordLeft, Edit::WordLeft], "|a\nb");
        check("one two  |three", [Edit::DeleteWordLeft], "one |three");
        check("one|  two three", [Edit::DeleteWordRight], "one| three");
        check("  |", [Edit::WordLeft, Edit::WordRight], "  |");
    }

    #[test]
    fn kills_take_the_line_and_then_its_break() {
        check("a\nb|c\nd", [Edit::KillToEnd], "a\nb|\nd");
        check("a\nb|\nd", [Edit::KillToEnd], "a\nb|d");
        check("a\nb|c\nd", [Edit::KillToStart], "a\n|c\nd");
        check("a\n|c\nd", [Edit::KillToStart], "a|c\nd");
        check("|", [Edit::KillToStart, Edit::KillToEnd], "|");
    }

    #[test]
    fn blank_is_not_the_same_as_empty() {
        let text = Text::with(10, " \n ");
        assert!(text.is_blank() && !text.is_empty());
        assert!(Text::new(10).is_blank() && Text::new(10).is_empty());
    }

    fn edit() -> impl Strategy<Value = Edit> {
        let step = prop::sample::select(vec![
            Edit::Newline,
            Edit::Backspace,
            Edit::Delete,
            Edit::Left,
            Edit::Right,
            Edit::Up,
            Edit::Down,
            Edit::Home,
            Edit::End,
            Edit::Start,
            Edit::Finish,
            Edit::WordLeft,
            Edit::WordRight,
            Edit::DeleteWordLeft,
            Edit::DeleteWordRight,
            Edit::KillToEnd,
            Edit::KillToStart,
        ]);
        let scalar = nasty_text().prop_map(|text| Edit::Insert(text.chars().next_back().unwrap_or('x')));
        prop_oneof![3 => step, 3 => scalar, 1 => nasty_text().prop_map(Edit::Paste)]
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn every_row_of_edits_leaves_a_sound_text(limit in 0usize..80, edits in prop::collection::vec(edit(), 0..60)) {
            let mut text = Text::new(limit);
            for edit in edits {
                let before = text.clone();
                let fit = text.apply(edit.clone());
                if fit == Fit::Refused {
                    prop_assert_eq!(&text, &before, "{:?}", edit);
                }
                let boundaries: Vec<usize> = text.boundaries().collect();
                prop_assert!(boundaries.contains(&text.caret()), "{:?} made {:?}", edit, text);
                prop_assert!(text.chars() <= limit, "{:?} made {:?}", edit, text);
                prop_assert_eq!(sanitize::typed(text.as_str()), text.as_str(), "{:?} on {:?}", edit, before);
                prop_assert!(!text.as_str().chars().any(|c| c != '\n' && c.is_control()));
            }
        }

        #[test]
        fn backspace_takes_back_what_stands_alone(start in nasty_text(), left in 0usize..9, c in any::<char>()) {
            let mut text = Text::with(2_000, &start);
            for _ in 0..left {
                let _ = text.apply(Edit::Left);
            }
            text.column = None;
            let before = text.clone();
            let (head, tail) = before.as_str().split_at(before.caret());
            let alone = [head, c.encode_utf8(&mut [0; 4]), tail].concat();
            let end = head.len() + c.len_utf8();
            let kept = text.apply(Edit::Insert(c)) == Fit::Kept;
            if kept && text.as_str() == alone && text.left() == head.len() && text.caret() == end {
                prop_assert_eq!(text.apply(Edit::Backspace), Fit::Kept);
                prop_assert_eq!(text, before);
            }
        }
    }
}
