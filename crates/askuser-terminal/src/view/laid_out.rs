//! The texts beside the options, laid out once for each size and theme: a context may be a long file, and a key changes none of it.

use super::side_text::side_text_lines;
use super::{Theme, barred, read_context};
use crate::markdown;
use askuser::Context;
use askuser::prompt::SideText;
use ratatui_core::style::Style;
use ratatui_core::text::Line;
use std::borrow::Cow;
use std::sync::Arc;

/// A text of a prompt.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Text<'a> {
    Context(Cow<'a, Context>),
    Side(SideText, Cow<'a, str>),
    Preview(Cow<'a, str>),
}

/// The rows of a text, and the first of them that a diff changes.
pub(super) type Rows = Arc<(Vec<Line<'static>>, usize)>;

/// The texts of the last frame. Each is kept with all that its rows depend on, so none of them is ever stale.
#[derive(Clone, Debug, Default)]
pub(crate) struct LaidOut {
    texts: Vec<(Text<'static>, Theme, u16, Rows)>,
    /// The number of texts that this frame has used. They come first.
    used: usize,
}

impl LaidOut {
    /// Forgets the texts that the last frame did not use.
    pub(super) fn begin_frame(&mut self) {
        self.texts.truncate(self.used);
        self.used = 0;
    }

    /// The rows of a text in so many columns.
    pub(super) fn rows(&mut self, text: Text<'_>, theme: &Theme, columns: u16) -> Rows {
        let is_it = |(kept, of, width, _): &(Text<'static>, Theme, u16, Rows)| {
            *width == columns && of == theme && *kept == text
        };
        let found = self.texts.iter().position(is_it).unwrap_or_else(|| {
            let (text, rows) = text.lay_out(theme, columns);
            self.texts.push((text, *theme, columns, rows.into()));
            self.texts.len() - 1
        });
        let rows = self.texts[found].3.clone();
        if found >= self.used {
            self.texts.swap(found, self.used);
            self.used += 1;
        }
        rows
    }
}

impl Text<'_> {
    fn lay_out(self, theme: &Theme, columns: u16) -> (Text<'static>, (Vec<Line<'static>>, usize)) {
        let width = usize::from(columns);
        match self {
            Text::Context(context) => {
                let rows = read_context(&context, theme, columns);
                (Text::Context(Cow::Owned(context.into_owned())), rows)
            }
            Text::Side(kind, text) => {
                let rows = side_text_lines(kind, &text, theme, width);
                (Text::Side(kind, text.into_owned().into()), (rows, 0))
            }
            Text::Preview(text) => {
                let rows = barred::prose(&markdown::rows(&text), theme, width, Style::new());
                (Text::Preview(text.into_owned().into()), (rows, 0))
            }
        }
    }
}
