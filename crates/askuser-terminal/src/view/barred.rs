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

/// A text that is shown exactly, in so many columns; `style` gives each row its style. Before the bar stands what is ours: the numbers
/// of the lines, all of one width, if they have any.
pub(super) fn exactly(
    text: &str,
    numbers: &[String],
    theme: &Theme,
    columns: usize,
    mut style: impl FnMut(&str, Start) -> Style,
) -> Vec<Line<'static>> {
    let gutter = numbers.first().filter(|number| !number.is_empty()).map_or(0, |number| width(number) + 1);
    let rows = wrap_exactly(text, columns.saturating_sub(gutter + width(theme.signs.bar) + 1)).into_iter();
    let mut words = |words: &str, start| Span::styled(words.to_owned(), style(words, start));
    let mut numbers = numbers.iter();
    let mut number = |start| {
        let number = if start == Start::Line { numbers.next().map(|number| format!("{number} ")) } else { None };
        Span::styled(number.unwrap_or_else(|| " ".repeat(gutter)), theme.style(Role::Muted))
    };
    let row = |(range, start): (std::ops::Range<usize>, Start)| {
        let text = words(&text[range], start);
        let before = (gutter > 0).then(|| number(start));
        Line::from_iter(before.into_iter().chain([bar_at(start, theme), text]))
    };
    rows.map(row).collect()
}

/// Rows of Markdown in so many columns, prose in the style `base`.
pub(super) fn prose(rows: &[markdown::Row], theme: &Theme, columns: usize, base: Style) -> Vec<Line<'static>> {
    let bar = bar(theme);
    let room = columns.saturating_sub(width(&bar.content));
    let lines = markdown::render_wrapped(rows, theme, room, base);
    lines.into_iter().map(|line| Line::from_iter([bar.clone()].into_iter().chain(line.spans))).collect()
}
