//! What the benchmarks measure. Not part of the crate's interface.

use crate::Charset;
use crate::paint::Painter;
use crate::view::{ColorDepth, PromptPhase, Role, Theme, View};
use askuser::Prompt;

/// A terminal of 80 columns and 24 rows in 256 colours, of which only the bytes are kept.
pub struct Frames {
    painter: Painter,
    theme: Theme,
}

impl Default for Frames {
    fn default() -> Frames {
        Frames { painter: Painter::new(Charset::Utf8), theme: Theme { depth: ColorDepth::Ansi256, ..Theme::default() } }
    }
}

impl Frames {
    /// Lays out a prompt and paints it over the frame before, as the driver does; the bytes it would write.
    pub fn paint(&mut self, prompt: &Prompt) -> Vec<u8> {
        let view = View::new(prompt, None, &self.theme, PromptPhase::Asking, 79, 23);
        self.painter.paint(view.lines(), view.size().0, view.caret());
        if view.caret().is_none() {
            self.painter.preset_foreground([Role::Secondary, Role::Text].map(|role| self.theme.colour(role)));
        }
        self.painter.take()
    }
}
