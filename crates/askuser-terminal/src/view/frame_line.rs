//! A line of a frame. Frames share their unchanged lines, which therefore need no comparison.

use super::wrap::{plain_columns, width};
use ratatui_core::text::{Line, Span};
use std::ops::Deref;
use std::sync::Arc;

/// A line with its width in columns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FrameLine {
    line: Line<'static>,
    columns: usize,
    is_plain: bool,
}

/// A line that several frames can share.
pub(crate) type SharedLine = Arc<FrameLine>;

impl FrameLine {
    pub(crate) fn columns(&self) -> usize {
        self.columns
    }

    /// Returns whether every character takes one column.
    pub(crate) fn is_plain(&self) -> bool {
        self.is_plain
    }

    pub(super) fn extend(&mut self, spans: impl IntoIterator<Item = Span<'static>>) {
        let before = self.line.spans.len();
        self.line.spans.extend(spans);
        self.measure(before);
    }

    /// Replaces the first span by a span of the same width.
    pub(super) fn begin_with(&mut self, span: Span<'static>) {
        if let Some(first) = self.line.spans.first_mut() {
            *first = span;
        }
    }

    /// Adds the columns of the spans from this index on.
    fn measure(&mut self, first: usize) {
        for span in &self.line.spans[first..] {
            let columns = plain_columns(&span.content);
            self.is_plain &= columns.is_some();
            self.columns += columns.unwrap_or_else(|| width(&span.content));
        }
    }
}

impl From<Line<'static>> for FrameLine {
    fn from(line: Line<'static>) -> FrameLine {
        let mut line = FrameLine { line, columns: 0, is_plain: true };
        line.measure(0);
        line
    }
}

impl Default for FrameLine {
    fn default() -> FrameLine {
        Line::default().into()
    }
}

impl Deref for FrameLine {
    type Target = Line<'static>;

    fn deref(&self) -> &Line<'static> {
        &self.line
    }
}
