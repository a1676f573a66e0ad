//! The message that is being typed, and the history of earlier messages.
//!
//! The history keeps the new text at its end, and restores it when an older entry is sent. Other modules handle keys
//! and the history file.

use super::pastes::Pastes;
use askuser::{Edit, Fit, Text};
use askuser_terminal::{width, wrap};
use std::collections::BTreeMap;
use std::ops::Range;

pub(crate) const LIMIT: usize = 50_000;

#[derive(Clone, Debug)]
pub(crate) struct ComposedText {
    text: Text,
    /// The folded pastes. The text shows each of them as one label.
    pastes: Pastes,
    entries: Vec<String>,
    /// The index of the shown entry. `entries.len()` stands for the new text.
    at: usize,
    touched: BTreeMap<usize, String>,
}

impl ComposedText {
    pub(crate) fn new(entries: Vec<String>) -> ComposedText {
        ComposedText {
            text: Text::new(LIMIT),
            pastes: Pastes::default(),
            at: entries.len(),
            entries,
            touched: BTreeMap::new(),
        }
    }

    pub(crate) fn text(&self) -> &Text {
        &self.text
    }

    pub(crate) fn as_str(&self) -> &str {
        self.text.as_str()
    }

    pub(crate) fn is_blank(&self) -> bool {
        self.text.is_blank()
    }

    /// Returns the text with its folded pastes in full.
    pub(crate) fn expanded(&self) -> String {
        self.pastes.expand(self.as_str())
    }

    pub(crate) fn edit(&mut self, edit: Edit) -> Fit {
        if let Edit::Paste(pasted) = &edit
            && let Some(label) = self.pastes.fold(pasted, self.text.as_str())
        {
            let room = LIMIT.saturating_sub(self.expanded().chars().count());
            if pasted.chars().count() <= room && self.text.apply(Edit::Paste(label)) == Fit::Kept {
                return Fit::Kept;
            }
            self.pastes.unfold_last();
            return Fit::Refused;
        }
        let folds = self.pastes.ranges(self.as_str());
        let caret = self.text.caret();
        let length = self.as_str().len();
        let fit = self.text.apply(edit);
        match length.checked_sub(self.as_str().len()) {
            Some(0) | None => self.leave_folds(caret),
            Some(removed) => {
                let removed = self.text.caret()..self.text.caret() + removed;
                folds.iter().for_each(|fold| self.remove_rest(fold, &removed));
            }
        }
        fit
    }

    /// Moves the caret out of a fold, in the direction of its last movement.
    fn leave_folds(&mut self, from: usize) {
        let is_inside = |caret: usize, fold: &Range<usize>| fold.start < caret && caret < fold.end;
        let folds = self.pastes.ranges(self.as_str());
        let back = self.text.caret() < from;
        while folds.iter().any(|fold| is_inside(self.text.caret(), fold)) {
            let _ = self.text.apply(if back { Edit::Left } else { Edit::Right });
        }
    }

    /// Removes the rest of a fold after a part of it was removed.
    fn remove_rest(&mut self, fold: &Range<usize>, removed: &Range<usize>) {
        if fold.start < removed.start && removed.start < fold.end {
            (fold.start..removed.start).for_each(|_| _ = self.text.apply(Edit::Backspace));
        }
        if fold.start < removed.end && removed.end < fold.end {
            (removed.end..fold.end).for_each(|_| _ = self.text.apply(Edit::Delete));
        }
    }

    pub(crate) fn set(&mut self, text: &str) -> Fit {
        self.text.set(text)
    }

    /// Returns the rows of the text wrapped in `room` columns, and the index of the caret's row.
    pub(crate) fn rows(&self, room: usize) -> (Vec<Range<usize>>, usize) {
        let rows = wrap(self.as_str(), room, room);
        let row = rows.iter().rposition(|row| row.start <= self.text.caret()).unwrap_or(0);
        (rows, row)
    }

    /// Moves the caret to the row above, in a text wrapped in `room` columns. Returns whether there is such a row.
    pub(crate) fn up(&mut self, room: usize) -> bool {
        let (rows, row) = self.rows(room);
        let (Some(above), here) = (row.checked_sub(1).map(|above| &rows[above]), &rows[row]) else { return false };
        let column = self.columns_from(here.start);
        while self.text.caret() >= here.start
            || (self.text.caret() > above.start && self.columns_from(above.start) > column)
        {
            let _ = self.text.apply(Edit::Left);
        }
        self.leave_folds(usize::MAX);
        true
    }

    /// Moves the caret to the row below, in a text wrapped in `room` columns. Returns whether there is such a row.
    pub(crate) fn down(&mut self, room: usize) -> bool {
        let (rows, row) = self.rows(room);
        let Some(below) = rows.get(row + 1) else { return false };
        let column = self.columns_from(rows[row].start);
        while self.text.caret() < below.start
            || (self.text.caret() < below.end && self.columns_from(below.start) < column)
        {
            let _ = self.text.apply(Edit::Right);
        }
        // The end of a wrapped row is the start of the next row, so the caret stays one character before it.
        if rows.get(row + 2).is_some_and(|next| self.text.caret() >= next.start) {
            let _ = self.text.apply(Edit::Left);
        }
        self.leave_folds(0);
        true
    }

    fn columns_from(&self, start: usize) -> usize {
        width(&self.as_str()[start..self.text.caret()])
    }

    /// Shows the previous message of the history. Returns whether there is one.
    pub(crate) fn older(&mut self) -> bool {
        self.at > 0 && self.show(self.at - 1)
    }

    pub(crate) fn newer(&mut self) -> bool {
        self.is_older() && self.show(self.at + 1)
    }

    fn show(&mut self, at: usize) -> bool {
        self.touched.insert(self.at, self.as_str().to_owned());
        let text = self.touched.get(&at).or(self.entries.get(at)).cloned().unwrap_or_default();
        // An entry from a version with a higher limit may be too long. The text then stays unchanged.
        let _ = self.text.set(&text);
        self.at = at;
        true
    }

    /// Returns whether an earlier message is shown.
    pub(crate) fn is_older(&self) -> bool {
        self.at < self.entries.len()
    }

    /// Removes the text from the draft, adds it to the history and returns it. After an older entry, the new text is
    /// shown again.
    pub(crate) fn take(&mut self) -> String {
        let taken = self.expanded();
        let begun = if self.is_older() { self.touched.remove(&self.entries.len()) } else { None };
        if self.entries.last() != Some(&taken) && !self.is_blank() {
            self.entries.push(taken.clone());
        }
        self.at = self.entries.len();
        self.touched.clear();
        let _ = self.text.set(&begun.unwrap_or_default());
        self.pastes.retain_in(self.text.as_str());
        taken
    }

    /// Inserts a text before the current one. Returns `Refused`, and changes nothing, if the two are too long together.
    pub(crate) fn put_back(&mut self, text: &str) -> Fit {
        if self.is_blank() {
            return self.text.set(text);
        }
        self.text.set(&format!("{text}\n{}", self.as_str()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn draft(entries: &[&str], text: &str) -> ComposedText {
        let mut draft = ComposedText::new(entries.iter().map(|&entry| entry.to_owned()).collect());
        assert_eq!(draft.set(text), Fit::Kept);
        draft
    }

    #[test]
    fn what_was_being_typed_waits_at_the_end_of_the_history() {
        let mut draft = draft(&["one", "two"], "new");
        draft.older();
        draft.older();
        assert_eq!((draft.older(), draft.as_str()), (false, "one"));
        draft.newer();
        draft.newer();
        assert_eq!((draft.newer(), draft.as_str()), (false, "new"));
    }

    #[test]
    fn sending_an_earlier_text_leaves_the_new_one() {
        let mut draft = draft(&["one"], "half a thought");
        draft.older();
        assert_eq!(draft.take(), "one");
        assert_eq!(draft.as_str(), "half a thought");
    }

    #[test]
    fn a_change_to_an_earlier_text_is_there_on_return() {
        let mut draft = draft(&["one", "two"], "");
        draft.older();
        assert_eq!(draft.edit(Edit::Insert('!')), Fit::Kept);
        draft.older();
        draft.newer();
        assert_eq!(draft.as_str(), "two!");
    }

    #[test]
    fn what_was_sent_is_the_last_of_the_history_and_only_once() {
        let mut draft = draft(&["one"], "two");
        draft.take();
        assert_eq!(draft.set("two"), Fit::Kept);
        draft.take();
        draft.older();
        assert_eq!(draft.as_str(), "two");
        draft.older();
        assert_eq!(draft.as_str(), "one");
    }

    /// Returns the text before the caret.
    fn before(draft: &ComposedText) -> &str {
        &draft.as_str()[..draft.text().caret()]
    }

    #[test]
    fn up_and_down_go_by_the_rows_that_are_seen() {
        let mut draft = draft(&[], "one two three four\nfive 漢字 seven");
        assert_eq!((draft.up(10), before(&draft)), (true, "one two three four\nfive "));
        assert_eq!((draft.up(10), before(&draft)), (true, "one two three"));
        assert_eq!((draft.up(10), before(&draft)), (true, "one t"));
        assert_eq!((draft.up(10), before(&draft)), (false, "one t"));
        assert_eq!((draft.down(10), before(&draft)), (true, "one two three"));
        assert_eq!((draft.down(10), before(&draft)), (true, "one two three four\nfive "));
        assert_eq!((draft.down(10), before(&draft)), (true, "one two three four\nfive 漢字 seven"));
        assert!(!draft.down(10));
    }

    #[test]
    fn moving_by_rows_always_ends_and_always_moves() {
        let texts =
            ["", "\n", "\n\n", "a\n", "abcdefghijklmnop", "   spaces    at   the   ends   ", "漢字漢字漢字", "a\n\nb"];
        for text in texts {
            for room in 2..8 {
                let mut draft = draft(&[], text);
                let rows = draft.rows(room).0.len();
                let ups = std::iter::repeat_with(|| draft.up(room)).take_while(|moved| *moved).count();
                assert_eq!(ups, draft.rows(room).0.len() - 1, "{text:?} in {room}");
                let downs = std::iter::repeat_with(|| draft.down(room)).take_while(|moved| *moved).count();
                assert_eq!(downs, rows - 1, "{text:?} in {room}");
            }
        }
    }

    fn long_paste() -> String {
        (1..=120).map(|n| format!("line {n}\n")).collect()
    }

    #[test]
    fn a_long_paste_is_folded_and_sent_in_full() {
        let mut draft = draft(&[], "see ");
        assert_eq!(draft.edit(Edit::Paste(long_paste())), Fit::Kept);
        assert_eq!(draft.edit(Edit::Paste(long_paste())), Fit::Kept);
        assert_eq!(draft.edit(Edit::Paste("!".into())), Fit::Kept);
        assert_eq!(draft.as_str(), "see [pasted 120 lines][pasted 120 lines, 2]!");
        assert_eq!(draft.take(), format!("see {0}{0}!", long_paste()));
        assert_eq!(draft.edit(Edit::Paste("x".repeat(1_001))), Fit::Kept);
        assert_eq!(draft.as_str(), "[pasted 1001 characters]");
        assert_eq!(draft.edit(Edit::Paste("short\nlines".into())), Fit::Kept);
        assert!(draft.as_str().ends_with("short\nlines"));
    }

    #[test]
    fn a_fold_is_deleted_as_one_whatever_deletes_it() {
        for (moves, edit) in [
            (0, Edit::Backspace),
            (0, Edit::DeleteWordLeft),
            (1, Edit::Delete),
            (1, Edit::DeleteWordRight),
            (0, Edit::KillToStart),
        ] {
            let mut draft = draft(&[], "");
            assert_eq!(draft.edit(Edit::Paste(long_paste())), Fit::Kept);
            (0..moves).for_each(|_| assert_eq!(draft.edit(Edit::Left), Fit::Kept));
            assert_eq!(draft.edit(edit.clone()), Fit::Kept);
            assert_eq!(draft.expanded(), "", "{edit:?}");
        }
    }

    #[test]
    fn the_caret_does_not_stop_in_a_fold() {
        let mut draft = draft(&[], "a");
        assert_eq!(draft.edit(Edit::Paste(long_paste())), Fit::Kept);
        assert_eq!(draft.edit(Edit::Insert('b')), Fit::Kept);
        let all = [Edit::Left, Edit::WordLeft, Edit::Home, Edit::Right, Edit::WordRight, Edit::End, Edit::WordLeft];
        for edit in all {
            assert_eq!(draft.edit(edit.clone()), Fit::Kept);
            assert!([0, 1, 19, 20].contains(&draft.text().caret()), "{edit:?}: {}", draft.text().caret());
        }
        for room in 4..16 {
            draft.up(room);
            assert!([0, 1, 19, 20].contains(&draft.text().caret()), "{room}: {}", draft.text().caret());
            draft.down(room);
            assert!([0, 1, 19, 20].contains(&draft.text().caret()), "{room}: {}", draft.text().caret());
        }
    }

    #[test]
    fn a_paste_that_is_too_long_is_refused_whole() {
        let mut draft = draft(&[], "kept");
        assert_eq!(draft.edit(Edit::Paste("x".repeat(LIMIT))), Fit::Refused);
        assert_eq!((draft.as_str(), draft.expanded().as_str()), ("kept", "kept"));
    }

    #[test]
    fn a_fold_is_there_after_a_walk_through_the_history() {
        let mut draft = draft(&["one"], "");
        assert_eq!(draft.edit(Edit::Paste(long_paste())), Fit::Kept);
        draft.older();
        assert_eq!(draft.take(), "one");
        assert_eq!(draft.as_str(), "[pasted 120 lines]");
        assert_eq!(draft.take(), long_paste());
    }

    #[test]
    fn a_text_put_back_stands_before_what_is_there() {
        let mut draft = draft(&[], "later");
        assert_eq!(draft.put_back("sooner"), Fit::Kept);
        assert_eq!(draft.as_str(), "sooner\nlater");
    }
}
