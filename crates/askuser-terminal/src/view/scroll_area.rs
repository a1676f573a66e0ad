//! A text that scrolls separately inside the frame, with the number of its hidden lines.

use super::laid_out::Rows;
use super::theme::{Role, Theme};
use super::wrap::width;
use super::{PromptPhase, border};
use askuser::prompt::Window;
use ratatui_core::text::{Line, Span};

/// The number of rows that a pane keeps when rows are short.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Claim {
    /// The person reads the text. The pane keeps three rows of text, and one row with the number of hidden lines.
    Read,
    /// The text is only offered. The pane keeps one row, with the number of lines.
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
    /// The text begins at this row, or earlier if the pane would not be full.
    At(usize),
    /// The text begins at the top if this row is then in the first half of the pane. Otherwise it begins at this row.
    For(usize),
}

/// The number of rows that a pane leaves to the page: the question and an option, or two options.
const LEFT_FREE: usize = 2;

pub(super) struct Pane {
    rows: Rows,
    pub(super) window: Window,
    /// The height of the pane in rows. If lines are hidden, the last row shows their number.
    pub(super) height: usize,
}

impl Pane {
    /// Creates a pane of up to `wanted` rows, which shares `room` rows with a page of `page` rows.
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

    /// Creates a pane of this height.
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

    /// Returns the visible rows, and below them a row with the number of hidden lines. That row has no bar, so no text
    /// can pass for it.
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
