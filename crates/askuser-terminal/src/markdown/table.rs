//! Renders tables. A table is as wide as its content. If that is too wide, its cells are wrapped. If the columns still
//! do not fit, the table becomes a list.

use super::words;
use crate::view::{Role, Theme, spans_width, width, wrap_styled};
use askuser_markdown::{Align, Cell, Table};
use ratatui_core::style::{Modifier, Style};
use ratatui_core::text::{Line, Span};

/// The least width of a column that has to be narrowed.
const MIN_COLUMN: usize = 8;

/// Renders a table in this many columns, with `lead` before every row.
pub(super) fn render(
    table: &Table,
    lead: &[Span<'static>],
    theme: &Theme,
    columns: usize,
    base: Style,
) -> Vec<Line<'static>> {
    match widths(table, theme, base, columns.saturating_sub(spans_width(lead))) {
        Some(widths) => grid(table, &widths, lead, theme, base),
        None => list(table, lead, theme, columns, base),
    }
}

/// Returns the width of each column; `None` if the columns do not fit side by side.
fn widths(table: &Table, theme: &Theme, base: Style, room: usize) -> Option<Vec<usize>> {
    let natural: Vec<usize> = (0..table.header.len())
        .map(|column| {
            let cells =
                std::iter::once(&table.header[column]).chain(table.rows.iter().filter_map(|row| row.get(column)));
            cells.map(|cell| cell_width(cell, theme, base)).max().unwrap_or(0).max(1)
        })
        .collect();
    let between = (width(theme.signs.vertical) + 2) * natural.len().saturating_sub(1);
    let room = room.checked_sub(between)?;
    let mut widths = natural.clone();
    // The widest columns are narrowed first, all to the same width.
    let mut most = natural.iter().copied().max()?;
    while widths.iter().sum::<usize>() > room {
        most -= 1;
        if most < MIN_COLUMN {
            return None;
        }
        widths = natural.iter().map(|width| (*width).min(most)).collect();
    }
    Some(widths)
}

fn grid(table: &Table, widths: &[usize], lead: &[Span<'static>], theme: &Theme, base: Style) -> Vec<Line<'static>> {
    let muted = theme.style(Role::Muted);
    let bold = base.add_modifier(Modifier::BOLD);
    let mut lines = grid_row(table, &table.header, widths, lead, theme, bold);
    let horizontal = theme.signs.horizontal;
    let cross = if theme.signs.horizontal == "-" { "+" } else { "┼" };
    let rule: Vec<String> = widths.iter().map(|width| horizontal.repeat(*width)).collect();
    let mut line = lead.to_vec();
    line.push(Span::styled(rule.join(&format!("{horizontal}{cross}{horizontal}")), muted));
    lines.push(Line::from(line));
    lines.extend(table.rows.iter().flat_map(|row| grid_row(table, row, widths, lead, theme, base)));
    lines
}

fn grid_row(
    table: &Table,
    row: &[Cell],
    widths: &[usize],
    lead: &[Span<'static>],
    theme: &Theme,
    base: Style,
) -> Vec<Line<'static>> {
    let empty = Vec::new();
    let cells: Vec<Vec<Line<'static>>> = widths
        .iter()
        .enumerate()
        .map(|(column, width)| {
            let words = words(row.get(column).unwrap_or(&empty), base, theme);
            wrap_styled(words, &[], &[], *width)
        })
        .collect();
    let height = cells.iter().map(Vec::len).max().unwrap_or(1);
    let line = |at: usize| {
        let mut spans = lead.to_vec();
        for (column, cell) in cells.iter().enumerate() {
            if column > 0 {
                spans.push(Span::styled(format!(" {} ", theme.signs.vertical), theme.style(Role::Muted)));
            }
            let words = cell.get(at).map(|line| line.spans.clone()).unwrap_or_default();
            let free = widths[column].saturating_sub(spans_width(&words));
            let before = match table.align.get(column) {
                Some(Align::Right) => free,
                Some(Align::Center) => free / 2,
                _ => 0,
            };
            let is_last = column + 1 == cells.len();
            spans.push(Span::raw(" ".repeat(before)));
            spans.extend(words);
            spans.push(Span::raw(" ".repeat(if is_last { 0 } else { free - before })));
        }
        Line::from(spans)
    };
    (0..height).map(line).collect()
}

/// Renders a table as a list, with a line such as `• Name: value` for each cell.
fn list(table: &Table, lead: &[Span<'static>], theme: &Theme, columns: usize, base: Style) -> Vec<Line<'static>> {
    let mut lines = Vec::new();
    for row in &table.rows {
        for (column, cell) in row.iter().enumerate() {
            let sign = if column == 0 { theme.signs.bullet } else { " " };
            let first = [lead, &[Span::styled(format!("{sign} "), theme.style(Role::Primary))]].concat();
            let further = [lead, &[Span::raw("    ")]].concat();
            let mut runs =
                words(&table.header[column.min(table.header.len() - 1)], base.add_modifier(Modifier::BOLD), theme);
            runs.push((": ".to_owned(), base));
            runs.extend(words(cell, base, theme));
            lines.extend(wrap_styled(runs, &first, &further, columns));
        }
    }
    if table.rows.is_empty() {
        let names = table.header.iter().flat_map(|cell| words(cell, base.add_modifier(Modifier::BOLD), theme));
        let names = names.flat_map(|name| [name, (" ".to_owned(), base)]);
        lines.extend(wrap_styled(names, lead, lead, columns));
    }
    lines
}

fn cell_width(cell: &Cell, theme: &Theme, base: Style) -> usize {
    words(cell, base, theme).iter().map(|(text, _)| width(text)).sum()
}
