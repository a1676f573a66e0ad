//! A text that scrolls by itself inside the frame, and says how much of it is hidden.

use super::theme::{Role, Theme};
use super::{PromptPhase, border};
use askuser::prompt::Window;
use ratatui_core::text::{Line, Span};

/// The rows that a pane keeps when rows are short, if it has as many: three of its text, and one that says how much more
/// there is.
const LEAST: usize = 4;
/// The rows that are left to what is beside it: the question and an option, or two options.
const LEFT_FREE: usize = 2;

pub(super) struct Pane {
    rows: Vec<Line<'static>>,
    window: Window,
    /// Whether the last row says how much more there is.
    marked: bool,
}

impl Pane {
    /// A pane that shares `room` rows with a page of `page` rows. It starts at line `offset`, or as near as fills it.
    pub(super) fn new(rows: Vec<Line<'static>>, room: usize, page: usize, offset: usize) -> Pane {
        let total = rows.len();
        let most = room.saturating_sub(page.min(LEFT_FREE));
        let share = room.saturating_sub(page).max(LEAST.min(total)).min(total).min(most);
        let marked = share < total && share > 1;
        let height = share - usize::from(marked);
        Pane { rows, window: Window { offset: offset.min(total - height), height, total }, marked }
    }

    pub(super) fn window(&self) -> Window {
        self.window
    }

    /// The rows it takes.
    pub(super) fn height(&self) -> usize {
        self.window.height + usize::from(self.marked)
    }

    /// The rows it shows, and under them how many it does not. That row has no bar, so no text can pass for it.
    pub(super) fn lines(self, theme: &Theme, phase: PromptPhase, columns: usize) -> Vec<Line<'static>> {
        let Window { offset, height, .. } = self.window;
        let mut lines: Vec<_> = self.rows.into_iter().skip(offset).take(height).collect();
        if self.marked {
            let more = border::hidden(self.window, theme, phase).into_iter().find(|more| more.len() < columns);
            lines.push(Line::from(Span::styled(more.unwrap_or_default(), theme.style(Role::Secondary))));
        }
        lines
    }
}
