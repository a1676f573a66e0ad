//! The layout of a prompt: pure functions from a [`Prompt`] and an area to lines and cells.

mod border;
mod closing;
mod context;
mod frame_line;
mod laid_out;
mod layout;
mod preview;
mod prompt_lines;
mod quoted;
mod scroll_area;
mod side_text;
mod theme;
mod widget;
mod wrap;

pub use closing::{Confirm, closing_lines};
pub(crate) use closing::{closed_lines, failed_lines, not_run_lines, unsent_lines};
use context::read_context;
pub(crate) use context::role_of;
pub use context::{ShownDiffLine, context_lines, diff_lines};
pub(crate) use frame_line::SharedLine;
pub(crate) use laid_out::LaidOut;
pub(crate) use prompt_lines::ORIGIN_GAP;
pub use prompt_lines::key_hints;
pub use side_text::{first_rows, side_text_lines};
pub use theme::{Background, ColorDepth, PromptStyle, Role, Signs, Theme};
pub use widget::PromptWidget;
pub(crate) use wrap::{Start, grapheme_columns, spans_width, wrap_exactly};
pub use wrap::{width, wrap, wrap_styled};

use askuser::prompt::{Trigger, Viewport};
use askuser::{Context, Form, Prompt};
use layout::Layout;
use ratatui_core::buffer::Buffer;
use ratatui_core::layout::{Position, Rect};

/// The phase of a prompt. It changes the colours, but not the content.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PromptPhase {
    /// The prompt waits for the person.
    #[default]
    Asking,
    /// The person has just answered. The prompt is shown in the success colour.
    Confirmed,
    /// The deadline has passed. The prompt is dimmed, with a warning.
    Expired,
}

/// A prompt laid out for a size: the visible lines, and the position of the caret.
pub(crate) struct View {
    pub(crate) lines: Vec<SharedLine>,
    /// The part of the prompt that the lines show, for [`Prompt::look`].
    pub(crate) viewport: Viewport,
    pub(crate) caret: Option<Position>,
    pub(crate) columns: u16,
}

impl View {
    #[cfg(test)]
    pub(crate) fn new(
        prompt: &Prompt,
        context: Option<&Context>,
        theme: &Theme,
        phase: PromptPhase,
        columns: u16,
        rows: u16,
    ) -> View {
        View::after(&mut LaidOut::default(), prompt, context, theme, phase, (columns, rows))
    }

    /// Lays a prompt out in at most `columns` × `rows`, with `context` above the question. The texts of the previous
    /// frame are not laid out again.
    pub(crate) fn after(
        laid_out: &mut LaidOut,
        prompt: &Prompt,
        context: Option<&Context>,
        theme: &Theme,
        phase: PromptPhase,
        (columns, rows): (u16, u16),
    ) -> View {
        laid_out.begin_frame();
        // The proposal contains no prompt without a header.
        let is_own = matches!(prompt.set().questions(), [only] if only.form() != Form::Tool && only.chip().is_none());
        let is_small = is_own || prompt.trigger() == Trigger::Popup;
        let prompt_style = if is_small { PromptStyle::Compact } else { theme.prompt_style };
        let theme = Theme { dimmed: theme.dimmed || phase == PromptPhase::Expired, prompt_style, ..*theme };
        Layout { prompt, theme: &theme, phase, columns, rows: usize::from(rows.max(1)) }.view(context, laid_out)
    }

    /// Draws the lines into `area`. Returns the position of the hardware cursor, and the visible part.
    pub(crate) fn draw(self, area: Rect, buffer: &mut Buffer) -> (Option<Position>, Viewport) {
        self.render(area, buffer);
        (self.caret.map(|caret| Position::new(area.x + caret.x, area.y + caret.y)), self.viewport)
    }

    /// Draws the lines into the top left of `area`.
    pub(crate) fn render(&self, area: Rect, buffer: &mut Buffer) {
        for (line, y) in self.lines.iter().zip(area.top()..area.bottom()) {
            buffer.set_line(area.x, y, line, self.columns.min(area.width));
        }
    }
}

#[cfg(test)]
mod tests;
