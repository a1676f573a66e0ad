//! The prompt as a widget, for programs that draw with ratatui.

use super::{PromptPhase, Theme, View};
use askuser::Prompt;
use ratatui_core::buffer::Buffer;
use ratatui_core::layout::{Position, Rect};
use ratatui_core::widgets::StatefulWidget;

/// Draws a [`Prompt`] into an area, and tells it what is seen there, so that its keys scroll.
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
/// PromptWidget::new(Theme::default()).render(area, &mut buffer, &mut prompt);
/// assert_eq!(buffer[(3, 0)].symbol(), "P");
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct PromptWidget {
    theme: Theme,
    phase: PromptPhase,
}

impl PromptWidget {
    /// A widget in a theme.
    pub fn new(theme: Theme) -> PromptWidget {
        PromptWidget { theme, phase: PromptPhase::Asking }
    }

    /// What to show besides the state.
    pub fn phase(self, phase: PromptPhase) -> PromptWidget {
        PromptWidget { phase, ..self }
    }

    /// The rows the prompt would like in a width; give it fewer and it scrolls.
    pub fn height(&self, prompt: &Prompt, columns: u16) -> u16 {
        View::new(prompt, &self.theme, self.phase, columns, u16::MAX).size().1
    }

    /// Where the hardware cursor belongs while text is typed, so that input methods show up in the right place.
    pub fn cursor(&self, prompt: &Prompt, area: Rect) -> Option<Position> {
        let caret = View::new(prompt, &self.theme, self.phase, area.width, area.height).caret()?;
        Some(Position::new(area.x + caret.x, area.y + caret.y))
    }
}

impl StatefulWidget for PromptWidget {
    type State = Prompt;

    fn render(self, area: Rect, buffer: &mut Buffer, prompt: &mut Prompt) {
        if area.is_empty() {
            return;
        }
        let view = View::new(prompt, &self.theme, self.phase, area.width, area.height);
        view.render(area, buffer);
        let viewport = view.viewport().clone();
        prompt.look(viewport);
    }
}
