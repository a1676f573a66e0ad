//! What a surface shows of a prompt: which lines of a page that may be longer than the screen, and which rows are among them.

use std::ops::Range;

/// Where the view of a long page starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scroll {
    /// At this line.
    At(usize),
    /// At this line or as near to it as shows the focused row, or the caret.
    Reveal(usize),
}

/// What a view shows of a page that may be longer than the screen.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Viewport {
    /// What is shown of the page itself.
    pub page: Window,
    /// The lines that each listed row (an option, then Other) takes; none on pages without rows.
    pub rows: Vec<Range<usize>>,
    /// What is shown of the context, which scrolls by itself.
    pub context: Window,
    /// What is shown of the preview of the focused option, which scrolls by itself.
    pub preview: Window,
}

/// The part that is shown of a page, or of a text that scrolls by itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Window {
    /// The first line shown.
    pub offset: usize,
    /// How many lines are shown.
    pub height: usize,
    /// How many lines there are.
    pub total: usize,
}

impl Window {
    /// The first line below it.
    pub fn end(&self) -> usize {
        self.offset + self.height
    }

    /// How far a page scrolls: a line of overlap keeps the reader's place.
    pub(super) fn step(&self) -> usize {
        self.height.saturating_sub(1).max(1)
    }

    /// Where it starts after scrolling by so many pages; `None` where there is nothing further that way.
    pub(super) fn paged(&self, pages: isize) -> Option<usize> {
        if self.height == 0 {
            // Nothing of it has been read.
            return (pages.is_positive() && self.total > 0).then_some(0);
        }
        let to = self.offset.saturating_add_signed(pages * self.step() as isize);
        let to = to.min(self.total.saturating_sub(self.height));
        (to != self.offset).then_some(to)
    }
}

/// The field of a request that holds the text the person agrees to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AgreedText {
    Context,
    /// The question, for a permission or a plan without a context.
    Question,
}

impl Viewport {
    /// The part that is shown of the text the person agrees to.
    pub(super) fn agreed(&self, source: AgreedText) -> Window {
        let total = match source {
            AgreedText::Context => return self.context,
            AgreedText::Question => self.rows.first().map_or(0, |row| row.start),
        };
        let offset = self.page.offset.min(total);
        Window { offset, height: self.page.end().min(total) - offset, total }
    }

    /// Whether the row in this place of the list is on the screen: all of it, or its beginning where it is longer than the
    /// screen.
    pub fn shows(&self, row: usize) -> bool {
        let (page, end) = (&self.page, self.page.end());
        self.rows.get(row).is_none_or(|row| {
            page.offset <= row.start && row.start < end && (row.end <= end || row.len() > page.height)
        })
    }
}
