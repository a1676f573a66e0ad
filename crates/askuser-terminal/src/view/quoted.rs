//! The bar before untrusted text. The text cannot draw in the bar's column.

use super::theme::{Role, Theme};
use super::wrap::{Start, width, wrap_exactly};
use crate::markdown;
use ratatui_core::style::Style;
use ratatui_core::text::{Line, Span};

/// Returns the bar `┃ ` before a line.
pub(super) fn bar(theme: &Theme) -> Span<'static> {
    bar_at(Start::Line, theme)
}

/// Returns `┃ ` before a line, and `╏ ` before the continuation of a wrapped line.
fn bar_at(start: Start, theme: &Theme) -> Span<'static> {
    let sign = match start {
        Start::Line => theme.signs.bar,
        Start::Wrapped => theme.signs.bar_wrapped,
    };
    Span::styled(format!("{sign} "), theme.style(Role::Muted))
}

/// Returns the rows of a text that is shown exactly, in this many columns. `style` returns the style of each row. The
/// line numbers, if there are any, stand before the bar and have one width.
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

/// Returns rows of Markdown in this many columns, with a bar before each and prose in the style `base`.
pub(super) fn prose(rows: &[markdown::Row], theme: &Theme, columns: usize, base: Style) -> Vec<Line<'static>> {
    let bar = bar(theme);
    let room = columns.saturating_sub(width(&bar.content));
    let lines = markdown::render_wrapped(rows, theme, room, base);
    lines.into_iter().map(|line| Line::from_iter([bar.clone()].into_iter().chain(line.spans))).collect()
}
