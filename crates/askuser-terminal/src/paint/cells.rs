//! Lines as rows of cells, and when two cells look the same.

use super::pen::Pen;
use ratatui_core::buffer::{Buffer, Cell, CellWidth};
use ratatui_core::layout::Rect;
use ratatui_core::text::{Line, Span};

/// A row of cells, without trailing blanks.
pub(super) type Row = Vec<Cell>;

/// A line of the frame, and the cells it was drawn as.
#[derive(Debug, Default)]
pub(super) struct Drawn {
    line: Option<Line<'static>>,
    pub(super) row: Row,
}

impl Drawn {
    pub(super) fn new(line: &Line<'_>, columns: u16) -> Drawn {
        let spans = line.spans.iter().map(|span| Span::styled(span.content.to_string(), span.style));
        let owned = Line { style: line.style, alignment: line.alignment, spans: spans.collect() };
        Drawn { line: Some(owned), row: cells(line, columns) }
    }

    pub(super) fn is_of(&self, line: &Line<'_>) -> bool {
        self.line.as_ref() == Some(line)
    }

    /// Makes the next frame compare cells: the same line has other cells in another width.
    pub(super) fn forget_line(&mut self) {
        self.line = None;
    }
}

/// A line as cells, truncated. The second half of a wide character is an empty cell.
fn cells(line: &Line<'_>, columns: u16) -> Row {
    let mut buffer = Buffer::empty(Rect::new(0, 0, columns, 1));
    buffer.set_line(0, 0, line, columns);
    let mut row = buffer.content;
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
