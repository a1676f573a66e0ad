//! The lines of a prompt, and which of them may be left out.

use ratatui_core::text::Line;
use std::ops::Range;

#[derive(Default)]
pub(in crate::view) struct PromptLines<'a> {
    pub(in crate::view) head: Vec<Line<'a>>,
    pub(in crate::view) body: Vec<Line<'a>>,
    /// The lines under the bottom border. The border is drawn by the view, which knows how many lines are hidden.
    pub(in crate::view) footer: Vec<Line<'a>>,
    pub(in crate::view) footer_kind: FooterKind,
    /// The lines of the body that each row (option, then Other) takes.
    pub(in crate::view) rows: Vec<Range<usize>>,
    /// The line of the body and the column of the caret.
    pub(in crate::view) caret: Option<(usize, usize)>,
    /// The same in the head.
    pub(in crate::view) head_caret: Option<(usize, usize)>,
    /// The lines of the body that stand under options without the focus.
    pub(in crate::view) descriptions: Vec<Range<usize>>,
    /// How many more lines than under the focused option stand under another.
    pub(in crate::view) longer: usize,
    /// How many more lines the body would take with the cursor on another row.
    pub(in crate::view) spare: usize,
    /// Whether the model's reason is whole on the screen, or missing.
    pub(in crate::view) is_why_whole: bool,
    /// A blank line with its border.
    pub(in crate::view) blank: Line<'a>,
}

impl PromptLines<'_> {
    /// Leaves out the descriptions of options without the focus.
    pub(in crate::view) fn leave_out_descriptions(&mut self) {
        self.spare = self.longer;
        let before = self.body.len();
        // They are in order.
        let mut ranges = std::mem::take(&mut self.descriptions).into_iter().peekable();
        // Where each line is afterwards.
        let mut places = Vec::with_capacity(before + 1);
        let mut at = 0;
        self.body.retain(|_| {
            let line = places.len();
            while ranges.next_if(|range| range.end <= line).is_some() {}
            let kept = ranges.peek().is_none_or(|range| !range.contains(&line));
            places.push(at);
            at += usize::from(kept);
            kept
        });
        places.push(at);
        for range in &mut self.rows {
            *range = places[range.start]..places[range.end];
        }
        self.caret = self.caret.map(|(line, column)| (places[line], column));
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::view) enum FooterKind {
    /// Key hints, which may be dropped.
    #[default]
    Hints,
    /// A notice about the last key, which must be seen.
    Notice,
}
