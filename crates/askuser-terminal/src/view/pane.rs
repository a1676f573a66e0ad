//! A text that scrolls by itself inside the frame, and says how much of it is hidden.

use super::theme::{Role, Theme};
use super::wrap::width;
use super::{PromptPhase, border};
use askuser::prompt::Window;
use ratatui_core::text::{Line, Span};

/// The rows that a pane keeps when rows are short, if it has as many: three of its text, and one that says how much more
/// there is.
pub(super) const LEAST: usize = 4;
/// The rows that are left to what is beside it: the question and an option, or two options.
const LEFT_FREE: usize = 2;

pub(super) struct Pane {
    rows: Vec<Line<'static>>,
    window: Window,
    /// The rows it takes; the last says how much more there is, where there is more.
    height: usize,
}

impl Pane {
    /// A pane that would take `wanted` rows, and shares `room` rows with a page of `page` rows. It starts at line `offset`, or
    /// as near as fills it.
    pub(super) fn sharing(rows: Vec<Line<'static>>, wanted: usize, room: usize, page: usize, offset: usize) -> Pane {
        let most = room.saturating_sub(page.min(LEFT_FREE));
        Pane::new(rows, room.saturating_sub(page).max(LEAST).min(wanted).min(most), offset)
    }

    /// A pane that takes so many rows.
    pub(super) fn new(rows: Vec<Line<'static>>, height: usize, offset: usize) -> Pane {
        let total = rows.len();
        let marked = height < total && height > 1;
        let shown = (height - usize::from(marked)).min(total);
        Pane { rows, window: Window { offset: offset.min(total - shown), height: shown, total }, height }
    }

    pub(super) fn window(&self) -> Window {
        self.window
    }

    /// The rows it takes.
    pub(super) fn height(&self) -> usize {
        self.height
    }

    /// The rows it shows, and under them how many it does not. That row has no bar, so no text can pass for it.
    pub(super) fn lines(self, theme: &Theme, phase: PromptPhase, columns: usize) -> Vec<Line<'static>> {
        let Window { offset, height, total } = self.window;
        let mut lines: Vec<_> = self.rows.into_iter().skip(offset).take(height).collect();
        if height < total && height < self.height {
            let more = border::hidden(self.window, theme, phase).into_iter().find(|more| width(more) < columns);
            lines.push(Line::from(Span::styled(more.unwrap_or_default(), theme.style(Role::Secondary))));
        }
        lines.resize(self.height, Line::default());
        lines
    }
}
