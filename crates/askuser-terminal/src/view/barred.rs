//! The bar before text that others wrote: they cannot draw in its column.

use super::theme::{Role, Theme};
use super::wrap::{Start, width, wrap_exactly};
use crate::markdown;
use ratatui_core::style::Style;
use ratatui_core::text::{Line, Span};

/// `┃ `
pub(super) fn bar(theme: &Theme) -> Span<'static> {
    bar_at(Start::Line, theme)
}

/// `┃ ` before a line, `╏ ` before the rest of one that did not fit.
fn bar_at(start: Start, theme: &Theme) -> Span<'static> {
    let sign = match start {
        Start::Line => theme.signs.bar,
        Start::Wrapped => theme.signs.bar_wrapped,
    };
    Span::styled(format!("{sign} "), theme.style(Role::Muted))
}

/// A text that is shown exactly, in so many columns; `style` gives each row its style.
pub(super) fn exactly(
    text: &str,
    theme: &Theme,
    columns: usize,
    mut style: impl FnMut(&str, Start) -> Style,
) -> Vec<Line<'static>> {
    let rows = wrap_exactly(text, columns.saturating_sub(width(theme.signs.bar) + 1)).into_iter();
    let mut words = |words: &str, start| Span::styled(words.to_owned(), style(words, start));
    rows.map(|(range, start)| Line::from(vec![bar_at(start, theme), words(&text[range], start)])).collect()
}

/// Rows of Markdown in so many columns, prose in the style `base`.
pub(super) fn prose(rows: &[markdown::Row], theme: &Theme, columns: usize, base: Style) -> Vec<Line<'static>> {
    let bar = bar(theme);
    let room = columns.saturating_sub(width(&bar.content));
    let lines = markdown::render_boxed(rows, theme, room, base);
    lines.into_iter().map(|line| Line::from_iter([bar.clone()].into_iter().chain(line.spans))).collect()
}
