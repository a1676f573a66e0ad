//! The visible part of a prompt: the lines of a page that may exceed the screen, and the rows among them.

use std::ops::Range;

/// The scroll position of a long page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scroll {
    /// The page starts at this line.
    At(usize),
    /// The page starts at this line, or as near to it as keeps the focused row or the caret visible.
    Reveal(usize),
}

/// The visible part of a page that may exceed the screen.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Viewport {
    /// The visible part of the page itself.
    pub page: Window,
    /// The lines of each listed row (an option, then Other). Empty on a page without rows.
    pub rows: Vec<Range<usize>>,
    /// The visible part of the context, which scrolls separately.
    pub context: Window,
    /// The visible part of the focused option's preview, which scrolls separately.
    pub preview: Window,
}

/// The visible part of a page or a scrolled text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Window {
    /// The first visible line.
    pub offset: usize,
    /// The number of visible lines.
    pub height: usize,
    /// The number of lines, visible or not.
    pub total: usize,
}

impl Window {
    /// The first line below the visible part.
    pub fn end(&self) -> usize {
        self.offset + self.height
    }

    /// The number of lines of a page scroll. One line of overlap keeps the reader's place.
    pub(super) fn step(&self) -> usize {
        self.height.saturating_sub(1).max(1)
    }

    /// Returns the first line after scrolling by this many pages; `None` if the text cannot scroll further.
    pub(super) fn paged(&self, pages: isize) -> Option<usize> {
        if self.height == 0 {
            // No line was visible, so the first page is the next one.
            return (pages.is_positive() && self.total > 0).then_some(0);
        }
        let to = self.offset.saturating_add_signed(pages * self.step() as isize);
        let to = to.min(self.total.saturating_sub(self.height));
        (to != self.offset).then_some(to)
    }
}

/// The part of a request that is the text to agree to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AgreedText {
    Context,
    /// The question of a permission or a plan without a context.
    Question,
}

impl Viewport {
    /// Returns the visible part of the text to agree to.
    pub(super) fn agreed(&self, source: AgreedText) -> Window {
        let total = match source {
            AgreedText::Context => return self.context,
            AgreedText::Question => self.rows.first().map_or(0, |row| row.start),
        };
        let offset = self.page.offset.min(total);
        Window { offset, height: self.page.end().min(total) - offset, total }
    }

    /// Whether the row at this position is visible: in full, or at its beginning if it is taller than the screen.
    pub fn shows(&self, row: usize) -> bool {
        let (page, end) = (&self.page, self.page.end());
        self.rows.get(row).is_none_or(|row| {
            page.offset <= row.start && row.start < end && (row.end <= end || row.len() > page.height)
        })
    }
}
