//! What a prompt looks like: pure functions from a [`Prompt`] and an area to lines and cells.

mod barred;
mod border;
mod closing;
mod context;
mod pane;
mod preview;
mod prompt_lines;
mod theme;
mod widget;
mod wrap;

pub use closing::{Confirm, closing_lines};
pub(crate) use closing::{closed_lines, not_stored_lines};
pub(crate) use context::{context_lines, diff_role};
pub use theme::{Background, ColorDepth, Role, Signs, Theme};
pub use widget::PromptWidget;
pub(crate) use wrap::{Start, is_plain, wrap_exactly};
pub use wrap::{width, wrap, wrap_styled};

use askuser::prompt::{InputMode, Page, Scroll, Viewport};
use askuser::{Context, Prompt};
use pane::Pane;
use preview::{Place, Preview, preview};
use prompt_lines::{FooterKind, PromptLines, compose};
use ratatui_core::buffer::Buffer;
use ratatui_core::layout::{Position, Rect};
use ratatui_core::text::{Line, Span};

/// Lines longer than this are hard to read.
const MAX_COLUMNS: u16 = 100;

/// Whether a prompt is being asked or is over. It changes the colours, not the content.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PromptPhase {
    /// Waiting for the person.
    #[default]
    Asking,
    /// Just answered: shown in the success colour.
    Confirmed,
    /// The deadline has passed: dimmed, with a warning.
    Expired,
}

/// A prompt laid out for a size: the visible lines, and where the caret is.
pub(crate) struct View<'a> {
    lines: Vec<Line<'a>>,
    viewport: Viewport,
    caret: Option<Position>,
    columns: u16,
}

impl<'a> View<'a> {
    /// Lays a prompt out in at most `columns` × `rows`, with `context` above the question.
    pub(crate) fn new(
        prompt: &'a Prompt,
        context: Option<&Context>,
        theme: &Theme,
        phase: PromptPhase,
        columns: u16,
        rows: u16,
    ) -> View<'a> {
        let theme = Theme { dimmed: theme.dimmed || phase == PromptPhase::Expired, ..*theme };
        let rows = usize::from(rows.max(1));
        let on_question = matches!(prompt.page(), Page::Question(_)) && prompt.mode() != InputMode::Help;
        let preview = if on_question { preview(prompt, &theme, columns, prompt_lines::EDGE) } else { None };
        let columns = preview.as_ref().map_or(columns.min(MAX_COLUMNS), |preview| preview.columns);
        let list = match &preview {
            Some(Preview { place: Place::Beside(columns), .. }) => *columns,
            _ => columns,
        };
        let context = match context.filter(|_| on_question) {
            Some(context) => context_lines(context, &theme, columns.saturating_sub(prompt_lines::EDGE)),
            None => Vec::new(),
        };
        let mut content = compose(prompt, &theme, phase, usize::from(columns), usize::from(list));
        let fits = |content: &PromptLines<'_>| {
            let below = match &preview {
                Some(Preview { place: Place::Below, tallest, .. }) => *tallest,
                _ => 0,
            };
            // Plus one line for the bottom border.
            content.head.len() + context.len() + content.body.len() + below + 1 + content.footer.len() <= rows
        };
        // When rows are short, options give way to what has to be read: first blank lines, then descriptions.
        if !fits(&content) {
            content.leave_out_gaps();
        }
        if !fits(&content) {
            content.leave_out_descriptions();
        }
        View::fit(content, context, preview, prompt, &theme, phase, columns, rows)
    }

    #[allow(clippy::too_many_arguments)]
    fn fit(
        mut content: PromptLines<'a>,
        context: Vec<Line<'static>>,
        preview: Option<Preview>,
        prompt: &Prompt,
        theme: &Theme,
        phase: PromptPhase,
        columns: u16,
        rows: usize,
    ) -> View<'a> {
        // With few rows, footer hints, border and head give way to the question and to notices.
        let mut border = 1;
        let notice = if content.footer_kind == FooterKind::Notice { content.footer.len() } else { 0 };
        while content.head.len() + border + content.footer.len() + 2 > rows {
            if content.footer.len() > notice {
                content.footer.pop();
            } else if border == 1 {
                border = 0;
            } else if content.head.pop().is_none() {
                break;
            }
        }
        // Of a notice, keep as much as leaves one row for the question.
        content.footer.truncate(rows.saturating_sub(1));
        let room = rows - content.head.len() - border - content.footer.len();
        let (beside, below) = match &preview {
            Some(Preview { place: Place::Beside(_), tallest, .. }) => (*tallest, 0),
            Some(Preview { place: Place::Below, tallest, .. }) => (0, *tallest),
            None => (0, 0),
        };
        // The frame keeps its height while the cursor moves to a longer description or preview, if there is room for that.
        let most = room.saturating_sub(context.len() + below);
        let wanted = (content.body.len() + content.spare).max(beside).min(most);
        let missing = wanted.saturating_sub(content.body.len());
        content.body.extend(vec![content.blank.clone(); missing]);
        let total = content.body.len();
        let wanted = context.len();
        let context = Pane::sharing(context, wanted, room, total + below.min(pane::LEAST), prompt.context_offset());
        let room = room - context.height();
        let (list, preview) = match preview {
            Some(Preview { place: Place::Beside(list), rows, .. }) => {
                (Some(list), Pane::new(rows, room.min(total), prompt.preview_offset()))
            }
            Some(Preview { rows, tallest, .. }) => {
                (None, Pane::sharing(rows, tallest, room, total, prompt.preview_offset()))
            }
            None => (None, Pane::new(Vec::new(), 0, 0)),
        };
        let height = if list.is_some() { room } else { room - preview.height() }.min(total);
        let offset = offset(prompt, &content, height);
        let shown = offset..offset + height;
        let (rows, context_window) = (content.rows.clone(), context.window());
        let viewport = Viewport { offset, height, total, rows, context: context_window, preview: preview.window() };
        // Enter does not choose a row that is off the screen, so the footer does not offer it.
        let focused = prompt.current().and_then(|_| viewport.rows.get(prompt.focus()));
        let unread = focused.is_some_and(|row| row.start >= shown.end);
        if unread
            && prompt.mode() == InputMode::Choosing
            && content.footer_kind == FooterKind::Hints
            && !content.footer.is_empty()
        {
            content.footer = vec![prompt_lines::read_on(theme, usize::from(columns))];
        }
        let above = content.head.len() + context.height();
        let caret = content.caret.filter(|(line, _)| shown.contains(line)).map(|(line, column)| {
            let column = (column as u16).min(columns.saturating_sub(1));
            Position::new(column, (above + line - offset) as u16)
        });
        let blank = content.blank;
        let bordered = |row: Line<'static>| {
            let edge = blank.spans.iter().cloned().chain([Span::raw("  ")]);
            Line::from_iter(edge.chain(row.spans))
        };
        let whole = usize::from(columns);
        let mut lines = content.head;
        lines.extend(context.lines(theme, phase, whole).into_iter().map(bordered));
        let body = content.body.into_iter().skip(offset).take(height);
        match list {
            Some(list) => {
                let room = whole.saturating_sub(list.into());
                lines.extend(
                    body.zip(preview.lines(theme, phase, room))
                        .map(|(row, preview)| beside_each_other(row, preview, list.into())),
                );
            }
            None => {
                lines.extend(body);
                lines.extend(preview.lines(theme, phase, whole).into_iter().map(bordered));
            }
        }
        if border == 1 {
            lines.push(border::bottom(prompt, theme, phase, &viewport, whole, &lines));
        }
        lines.extend(content.footer);
        View { lines, viewport, caret, columns }
    }

    /// The visible part, for [`Prompt::look`].
    pub(crate) fn viewport(&self) -> &Viewport {
        &self.viewport
    }

    /// Where the caret is, if there is one.
    pub(crate) fn caret(&self) -> Option<Position> {
        self.caret
    }

    /// Columns and rows of the prompt.
    pub(crate) fn size(&self) -> (u16, u16) {
        (self.columns, self.lines.len() as u16)
    }

    /// The visible lines.
    pub(crate) fn lines(&self) -> &[Line<'a>] {
        &self.lines
    }

    /// Draws into the top left of `area`.
    pub(crate) fn render(&self, area: Rect, buffer: &mut Buffer) {
        for (line, y) in self.lines.iter().zip(area.top()..area.bottom()) {
            buffer.set_line(area.x, y, line, self.columns.min(area.width));
        }
    }
}

/// A row of the options with a row of the preview to its right, in this column.
fn beside_each_other<'a>(mut row: Line<'a>, preview: Line<'static>, column: usize) -> Line<'a> {
    let taken: usize = row.spans.iter().map(|span| width(&span.content)).sum();
    row.spans.push(Span::raw(" ".repeat(column.saturating_sub(taken))));
    row.spans.extend(preview.spans);
    row
}

/// The first visible line of the body.
fn offset(prompt: &Prompt, content: &PromptLines, height: usize) -> usize {
    let end = content.body.len() - height;
    let target = match content.caret {
        Some((line, _)) => line..line + 1,
        None => content.rows.get(prompt.focus()).cloned().unwrap_or(0..0),
    };
    let offset = match prompt.scroll() {
        Scroll::At(line) => line,
        Scroll::Reveal(line) => {
            let lowest = if target.len() > height { target.start } else { target.end.saturating_sub(height) };
            line.max(lowest).min(target.start)
        }
    };
    offset.min(end)
}

#[cfg(test)]
mod tests;
