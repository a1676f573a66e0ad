//! The preview of an option, as Markdown. It stands beside the options if there is room, and below them otherwise.

use super::laid_out::{LaidOut, Rows, Text};
use super::theme::Theme;
use askuser::{Form, Prompt};

/// The least number of columns with which a preview stands beside the options. A terminal's last column stays free.
const BESIDE_FROM: u16 = 99;
/// The maximum width of a prompt with a preview beside the options.
const MAX_COLUMNS: u16 = 160;

/// The position of the preview.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// The preview is below the options.
    Below,
    /// The preview is to the right of the options. The number is the width of the options in columns.
    Beside(u16),
}

/// The preview of the focused option, with the height of the longest preview of its question.
pub(super) struct Preview {
    pub(super) place: Place,
    /// The width of the whole prompt in columns.
    pub(super) columns: u16,
    pub(super) rows: Rows,
    pub(super) tallest: usize,
}

impl Preview {
    /// Returns the number of rows that the longest preview takes below the options. It is 0 if previews stand beside
    /// them.
    pub(super) fn rows_below(&self) -> usize {
        if self.place == Place::Below { self.tallest } else { 0 }
    }

    /// Returns the number of rows that the longest preview takes beside the options. It is 0 if previews stand below
    /// them.
    pub(super) fn rows_beside(&self) -> usize {
        self.tallest - self.rows_below()
    }
}

/// Returns the preview in a terminal of this width; `None` if no option of the question has a preview. `edge` is the
/// width of the border and blanks to the left of text.
pub(super) fn preview(
    prompt: &Prompt,
    theme: &Theme,
    columns: u16,
    edge: u16,
    laid_out: &mut LaidOut,
) -> Option<Preview> {
    let (question, draft) = prompt.current()?;
    if question.form() == Form::Pick || question.options().iter().all(|option| option.preview().is_none()) {
        return None;
    }
    let (place, columns) = if columns >= BESIDE_FROM {
        (Place::Beside(columns.min(MAX_COLUMNS) * 9 / 20), columns.min(MAX_COLUMNS))
    } else {
        (Place::Below, columns)
    };
    let left = match place {
        Place::Beside(list) => list,
        Place::Below => edge,
    };
    let mut rows = |text: &str| laid_out.rows(Text::Preview(text.into()), theme, columns.saturating_sub(left));
    let mut all: Vec<_> = question.options().iter().map(|option| option.preview().map(&mut rows)).collect();
    let tallest = all.iter().flatten().map(|rows| rows.0.len()).max().unwrap_or(0);
    let rows = all.get_mut(draft.focus).and_then(Option::take).unwrap_or_default();
    Some(Preview { place, columns, rows, tallest })
}
