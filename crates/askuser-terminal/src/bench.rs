//! Entry points for benchmarks, which are not part of the public API.

use crate::paint::Painter;
use crate::view::{ColorDepth, LaidOut, PromptPhase, Role, Theme, View};
use askuser::Prompt;
use askuser::verbatim::Charset;

/// A painter of prompts for a terminal of 80 × 24.
pub struct Frames {
    painter: Painter,
    theme: Theme,
    laid_out: LaidOut,
}

impl Default for Frames {
    /// Creates a painter in 256 colours.
    fn default() -> Frames {
        Frames::new(Theme { depth: ColorDepth::Ansi256, ..Theme::default() })
    }
}

impl Frames {
    /// Creates a painter in the colours of a theme.
    pub fn new(theme: Theme) -> Frames {
        Frames { painter: Painter::new(Charset::Utf8), theme, laid_out: LaidOut::default() }
    }

    /// Lays out a prompt and paints it over the previous frame, as the inline prompt does. Returns the bytes to write.
    pub fn paint(&mut self, prompt: &Prompt) -> Vec<u8> {
        let view = View::after(&mut self.laid_out, prompt, None, &self.theme, PromptPhase::Asking, (79, 23));
        self.painter.paint(&view.lines, view.columns, view.caret);
        if view.caret.is_none() {
            self.painter.preset([self.theme.style(Role::Secondary), self.theme.focused(Role::Text)]);
        }
        self.painter.take()
    }
}
