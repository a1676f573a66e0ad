//! The prompt as a widget, for programs that draw with ratatui.

use super::{LaidOut, PromptPhase, Theme, View};
use askuser::{Context, Prompt};
use ratatui_core::buffer::Buffer;
use ratatui_core::layout::{Position, Rect};
use ratatui_core::widgets::StatefulWidget;

/// Draws a [`Prompt`] into an area and reports the visible lines to the prompt, so that its keys scroll.
///
/// The widget is for programs that manage the prompt and its clock themselves. A
/// [`PromptSession`](crate::PromptSession) manages both. An area that extends beyond the buffer is clipped.
///
/// ```
/// # use askuser::{Prompt, QuestionSet, Rules};
/// # use askuser_terminal::{PromptWidget, Theme};
/// # use ratatui_core::{buffer::Buffer, layout::Rect, widgets::StatefulWidget};
/// # let json = r#"{"questions":[{"question":"Which?","header":"Pick","multiSelect":false,
/// #   "options":[{"label":"A","description":"a"},{"label":"B","description":"b"}]}]}"#;
/// let set = QuestionSet::from_json(json, &Rules::default()).unwrap();
/// let mut prompt = Prompt::new(set, Default::default());
/// let area = Rect::new(0, 0, 60, 20);
/// let mut buffer = Buffer::empty(area);
/// PromptWidget { theme: Theme::default(), ..Default::default() }.render(area, &mut buffer, &mut prompt);
/// assert_eq!(buffer[(3, 0)].symbol(), "P");
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct PromptWidget<'a> {
    /// The colours and symbols.
    pub theme: Theme,
    /// The phase of the prompt, which determines its colours.
    pub phase: PromptPhase,
    /// The context of the questions, such as a plan or a diff. It is shown above each question and scrolls separately.
    /// `None` if there is none.
    pub context: Option<&'a Context>,
}

impl PromptWidget<'_> {
    /// Returns the number of rows that the prompt needs in this width. In fewer rows the prompt scrolls.
    pub fn height(&self, prompt: &Prompt, columns: u16) -> u16 {
        self.view(prompt, columns, u16::MAX).lines.len() as u16
    }

    /// Renders like [`StatefulWidget::render`]. Also returns the position of the hardware cursor, so that input methods
    /// appear there. `None` while no text is typed.
    pub fn render_with_cursor(self, area: Rect, buffer: &mut Buffer, prompt: &mut Prompt) -> Option<Position> {
        let area = area.intersection(buffer.area);
        if area.is_empty() {
            return None;
        }
        let (cursor, viewport) = self.view(prompt, area.width, area.height).draw(area, buffer);
        prompt.look(viewport);
        cursor
    }

    fn view(&self, prompt: &Prompt, columns: u16, rows: u16) -> View {
        View::after(&mut LaidOut::default(), prompt, self.context, &self.theme, self.phase, (columns, rows))
    }
}

impl StatefulWidget for PromptWidget<'_> {
    type State = Prompt;

    fn render(self, area: Rect, buffer: &mut Buffer, prompt: &mut Prompt) {
        self.render_with_cursor(area, buffer, prompt);
    }
}
