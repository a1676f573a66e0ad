//! A text that scrolls by itself inside the frame, and says how much of it is hidden.

use super::laid_out::Rows;
use super::theme::{Role, Theme};
use super::wrap::width;
use super::{PromptPhase, border};
use askuser::prompt::Window;
use ratatui_core::text::{Line, Span};

/// The number of rows that a pane keeps when rows are short.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Claim {
    /// Three of its text, and one that says how much more there is: it is being read.
    Read,
    /// One that says how much there is to read.
    Offered,
}

impl Claim {
    pub(super) fn rows(self) -> usize {
        match self {
            Claim::Read => 4,
            Claim::Offered => 1,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Begin {
    /// At this row, or as near as fills the pane.
    At(usize),
    /// At the top, if this row is among the first half of what is shown then; else at this row.
    For(usize),
}

/// The rows that are left to what is beside it: the question and an option, or two options.
const LEFT_FREE: usize = 2;

pub(super) struct Pane {
    rows: Rows,
    pub(super) window: Window,
    /// The rows it takes; the last says how much more there is, where there is more.
    pub(super) height: usize,
}

impl Pane {
    /// A pane that would take `wanted` rows, and shares `room` rows with a page of `page` rows.
    pub(super) fn sharing(rows: Rows, wanted: usize, room: usize, page: usize, claim: Claim, begin: Begin) -> Pane {
        let most = room.saturating_sub(page.min(LEFT_FREE));
        let height = room.saturating_sub(page).max(claim.rows()).min(wanted).min(most);
        match claim {
            Claim::Offered if height == 1 && rows.0.len() > 1 => {
                Pane { window: Window { offset: 0, height: 0, total: rows.0.len() }, rows, height }
            }
            _ => Pane::new(rows, height, begin),
        }
    }

    /// A pane that takes so many rows.
    pub(super) fn new(rows: Rows, height: usize, begin: Begin) -> Pane {
        let total = rows.0.len();
        let marked = height < total && height > 1;
        let shown = (height - usize::from(marked)).min(total);
        let offset = match begin {
            Begin::For(row) if row * 2 < shown => 0,
            Begin::At(row) | Begin::For(row) => row.min(total - shown),
        };
        Pane { rows, window: Window { offset, height: shown, total }, height }
    }

    /// The rows it shows, and under them how many it does not. That row has no bar, so no text can pass for it.
    pub(super) fn lines(self, theme: &Theme, phase: PromptPhase, columns: usize) -> Vec<Line<'static>> {
        let Window { offset, height, total } = self.window;
        let mut lines = self.rows.0[offset..offset + height].to_vec();
        if height < total && height < self.height {
            let down = theme.signs.down;
            let forms = match height {
                0 => vec![format!("{down} preview, {total} lines, PgDn"), format!("{down} {total}")],
                _ => border::hidden(self.window, theme, phase),
            };
            let more = forms.into_iter().find(|more| width(more) < columns);
            lines.push(Line::from(Span::styled(more.unwrap_or_default(), theme.style(Role::Secondary))));
        }
        lines.resize(self.height, Line::default());
        lines
    }
}
