//! Lines as rows of cells, and when two cells look the same.

use super::pen::Pen;
use crate::view::is_plain;
use ratatui_core::buffer::{Cell, CellWidth};
use ratatui_core::text::Line;
use unicode_segmentation::UnicodeSegmentation;

/// A row of cells, without trailing blanks.
pub(super) type Row = Vec<Cell>;

/// A line as cells, truncated. The second half of a wide character is an empty cell.
pub(super) fn cells(line: &Line<'_>, columns: usize) -> Row {
    let bytes: usize = line.spans.iter().map(|span| span.content.len()).sum();
    let mut row = Row::with_capacity(columns.min(bytes));
    for span in &line.spans {
        let mut cell = Cell::EMPTY;
        cell.set_style(line.style.patch(span.style));
        let room = columns - row.len();
        if is_plain(&span.content) {
            row.extend(span.content.chars().take(room).map(|c| {
                let mut cell = cell.clone();
                cell.set_char(c);
                cell
            }));
            continue;
        }
        for grapheme in span.content.graphemes(true) {
            let wide = usize::from(grapheme.cell_width());
            if row.len() + wide > columns {
                break;
            }
            if wide > 0 && !grapheme.contains(char::is_control) {
                cell.set_symbol(grapheme);
                row.push(cell.clone());
                row.resize(row.len() + wide - 1, Cell::EMPTY);
            }
        }
    }
    row.truncate(row.iter().rposition(|cell| !is_blank(cell)).map_or(0, |x| x + 1));
    row
}

/// The columns a row takes: its last character may be wider than one cell.
pub(super) fn length(row: &[Cell]) -> u16 {
    row.len() as u16 + row.last().map_or(0, |cell| columns(cell) - 1)
}

pub(super) fn columns(cell: &Cell) -> u16 {
    if cell.symbol().len() == 1 { 1 } else { cell.cell_width().max(1) }
}

pub(super) fn pen_of(cell: &Cell) -> Pen {
    Pen { fg: cell.fg, bg: cell.bg, modifier: cell.modifier }
}

/// Whether a cell is a space that cannot be seen.
pub(super) fn is_blank(cell: &Cell) -> bool {
    cell.symbol() == " " && !pen_of(cell).marks_blanks()
}

pub(super) fn looks_same(a: &Cell, b: &Cell) -> bool {
    (is_blank(a) && is_blank(b)) || (a.symbol() == b.symbol() && pen_of(a) == pen_of(b))
}

pub(super) fn is_emoji(symbol: &str) -> bool {
    symbol.chars().next().is_some_and(|c| matches!(c, '\u{2190}'..='\u{2BFF}' | '\u{1F000}'..))
}
