//! The lines of a prompt, with the information which of them may be left out.

use crate::view::frame_line::SharedLine;
use std::ops::Range;

#[derive(Default)]
pub(in crate::view) struct PromptLines {
    pub(in crate::view) head: Vec<SharedLine>,
    pub(in crate::view) body: Vec<SharedLine>,
    /// The range of a list's lines. They are not in `body`, because most of them are not on the screen.
    pub(in crate::view) list: Range<usize>,
    /// The lines below the bottom border. The view draws the border, because it knows the number of hidden lines.
    pub(in crate::view) footer: Vec<SharedLine>,
    pub(in crate::view) footer_kind: FooterKind,
    /// The range of lines in the body for each row (the options, then Other).
    pub(in crate::view) rows: Vec<Range<usize>>,
    /// The line of the body and the column of the caret; `None` if the caret is not in the body.
    pub(in crate::view) caret: Option<(usize, usize)>,
    /// The line of the head and the column of the caret; `None` if the caret is not in the head.
    pub(in crate::view) head_caret: Option<(usize, usize)>,
    /// The lines of the body that stand below unfocused options.
    pub(in crate::view) descriptions: Vec<Range<usize>>,
    /// The number of lines by which an unfocused option may exceed the focused one.
    pub(in crate::view) longer: usize,
    /// The number of lines that the body may grow when the cursor moves to another row.
    pub(in crate::view) spare: usize,
    /// Whether the model's reason is whole on the screen, or missing.
    pub(in crate::view) is_why_whole: bool,
    /// A blank line with its border.
    pub(in crate::view) blank: SharedLine,
}

impl PromptLines {
    /// Returns the number of lines in the body, with those of the list.
    pub(in crate::view) fn height(&self) -> usize {
        self.body.len() + self.list.len()
    }

    /// Returns the visible lines of the body. `list` composes the lines of the list.
    pub(in crate::view) fn shown(
        &self,
        shown: Range<usize>,
        list: impl FnOnce(Range<usize>) -> Vec<SharedLine>,
    ) -> Vec<SharedLine> {
        if self.list.is_empty() {
            return self.body[shown].to_vec();
        }
        let before = shown.start.min(self.list.start)..shown.end.min(self.list.start);
        let inside = shown.start.clamp(self.list.start, self.list.end)..shown.end.clamp(self.list.start, self.list.end);
        let after = shown.start.max(self.list.end)..shown.end.max(self.list.end);
        let after = after.start - self.list.len()..after.end - self.list.len();
        [&self.body[before], &list(inside), &self.body[after]].concat()
    }

    /// Leaves out the descriptions of unfocused options.
    pub(in crate::view) fn leave_out_descriptions(&mut self) {
        self.spare = self.longer;
        let left_out = std::mem::take(&mut self.descriptions);
        if left_out.is_empty() {
            return;
        }
        // The number of removed lines before a line, which gives the line's new index.
        let before =
            |line: usize| left_out.iter().map(|lines| lines.len().min(line.saturating_sub(lines.start))).sum::<usize>();
        let place = |line| line - before(line);
        self.rows.iter_mut().for_each(|row| *row = place(row.start)..place(row.end));
        self.caret = self.caret.map(|(line, column)| (place(line), column));
        left_out.iter().rev().for_each(|lines| drop(self.body.drain(lines.clone())));
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::view) enum FooterKind {
    /// The footer has key hints, which may be dropped.
    #[default]
    Hints,
    /// The footer has a notice about the last key, which must stay visible.
    Notice,
}
