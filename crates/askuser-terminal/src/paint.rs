//! From lines to bytes: only the rows, and in them only the cells, that changed, with relative moves.
//!
//! The frame is drawn where the cursor happens to be, so nothing is ever asked of the terminal and the scrollback above
//! stays as it is. At rest the cursor waits in the frame's first cell (hidden), or at the caret: a terminal that
//! rewraps its lines on a resize carries it along, so the frame can be found again. At rest the pen keeps its last
//! foreground colour, because the next change is likely to want it; everything else is reset.

mod cells;
mod pen;

use crate::environment::Charset;
use cells::{Row, cells, columns, is_blank, is_emoji, length, looks_same, pen_of};
use pen::{PLAIN, Pen};
use ratatui_core::buffer::Cell;
use ratatui_core::layout::Position;
use ratatui_core::style::{Color, Modifier};
use ratatui_core::text::Line;
use std::io::Write;

/// Draws frames over each other.
#[derive(Debug)]
pub(crate) struct Painter {
    charset: Charset,
    styling: Styling,
    /// What is on the screen.
    shown: Vec<Row>,
    /// How many rows below the frame's top the terminal is known to have.
    known_rows: u16,
    row: u16,
    /// `None` when a character's width on this terminal is anybody's guess.
    column: Option<u16>,
    pen: Pen,
    caret: Option<Position>,
    cursor_visible: bool,
    out: Vec<u8>,
}

/// Whether text is styled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Styling {
    Styled,
    /// Not at all: a dumb terminal would show the sequences, a screen reader may speak them.
    Plain,
}

/// Clears from the start of this row to the end of the screen. The space is for tmux, which takes clearing from the very
/// first cell for clearing the whole screen, and keeps what was there in its history. The last clearing is for it too: it
/// takes this row for a full one otherwise, and breaks it where the terminal is made narrower.
pub(crate) const CLEAR_BELOW: &[u8] = b" \x1b[J\r\x1b[K";

impl Painter {
    pub(crate) fn new(charset: Charset) -> Painter {
        Painter {
            charset,
            styling: Styling::Styled,
            shown: Vec::new(),
            known_rows: 1,
            row: 0,
            column: Some(0),
            pen: PLAIN,
            caret: None,
            cursor_visible: true,
            out: Vec::new(),
        }
    }

    /// For what is spoken line by line: no styles at all.
    pub(crate) fn plain(charset: Charset) -> Painter {
        Painter { styling: Styling::Plain, ..Painter::new(charset) }
    }

    /// The bytes made since the last call.
    pub(crate) fn take(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.out)
    }

    /// Adds bytes that move nothing, such as a mode.
    pub(crate) fn raw(&mut self, bytes: &[u8]) {
        self.out.extend_from_slice(bytes);
    }

    /// Replaces the frame on the screen by these lines, each cut at `columns`.
    pub(crate) fn paint(&mut self, lines: &[Line<'_>], columns: u16, caret: Option<Position>) {
        if caret.is_none() {
            self.show_cursor(false);
        }
        let mut changed = self.changed_rows(lines, columns);
        // Rows above `room` exist, so they may be painted in either order: begin with what suits the pen.
        if lines.len() <= usize::from(self.known_rows) && self.last_suits_pen(&changed) {
            changed.reverse();
        }
        let surplus = self.shown.len() > lines.len();
        self.shown.resize_with(lines.len(), Row::default);
        for (y, row) in changed {
            let before = std::mem::take(&mut self.shown[y]);
            self.paint_row(&row, &before, y as u16);
            self.shown[y] = row;
        }
        if surplus {
            self.move_to(lines.len() as u16, 0);
            self.set_pen(PLAIN);
            self.raw(b"\x1b[J");
        }
        self.caret = caret;
        if self.pen.bg != Color::Reset || !self.pen.modifier.is_empty() {
            self.set_pen(PLAIN);
        }
        match caret {
            Some(Position { x, y }) => {
                self.move_to(y, x);
                self.show_cursor(true);
            }
            None => self.move_to(0, 0),
        }
    }

    /// Takes up the first of these colours, unless the pen has one of them: the next change is likely to want it, and
    /// an arrow key then costs one change of colour, not two.
    pub(crate) fn preset_foreground(&mut self, colours: [Color; 2]) {
        if !colours.contains(&self.pen.fg) {
            self.set_pen(Pen { fg: colours[0], ..self.pen });
        }
    }

    /// Takes the frame off the screen and leaves the terminal's modes plain, the cursor where the frame began.
    pub(crate) fn erase(&mut self) {
        self.move_to(0, 0);
        self.set_pen(PLAIN);
        self.raw(CLEAR_BELOW);
        self.reset();
        self.show_cursor(true);
    }

    /// Leaves the frame where it is and goes below it.
    pub(crate) fn leave(&mut self) {
        let below = self.shown.len() as u16;
        self.set_pen(PLAIN);
        self.move_to(below, 0);
        self.reset();
        self.show_cursor(true);
    }

    /// The terminal has a new width: wipes what it made of the frame. With `reflow`, rows that no longer fit have
    /// become several.
    pub(crate) fn resized(&mut self, columns: u16, reflow: bool) {
        let columns = columns.max(1);
        let mut up = 0;
        if let Some(caret) = self.caret {
            up = caret.y;
            if reflow {
                let above = self.shown.iter().take(usize::from(caret.y));
                let taken = above.map(|row| length(row).max(1).div_ceil(columns));
                up = taken.sum::<u16>() + caret.x / columns;
            }
        }
        if up > 0 {
            let _ = write!(self.out, "\x1b[{up}A");
        }
        self.set_pen(PLAIN);
        self.raw(b"\r");
        self.raw(CLEAR_BELOW);
        self.reset();
    }

    /// Writes lines that stay, each ended.
    pub(crate) fn print(&mut self, lines: &[Line<'_>]) {
        for line in lines {
            for span in &line.spans {
                let style = line.style.patch(span.style);
                self.set_pen(Pen {
                    fg: style.fg.unwrap_or(Color::Reset),
                    bg: style.bg.unwrap_or(Color::Reset),
                    modifier: style.add_modifier,
                });
                self.out.extend(self.charset.encode(&span.content));
            }
            self.set_pen(PLAIN);
            self.raw(b"\r\n");
        }
    }

    fn reset(&mut self) {
        let cursor_visible = self.cursor_visible;
        let out = self.take();
        *self = Painter { out, cursor_visible, styling: self.styling, ..Painter::new(self.charset) };
    }

    fn show_cursor(&mut self, visible: bool) {
        if self.cursor_visible != visible {
            self.cursor_visible = visible;
            self.raw(if visible { b"\x1b[?25h" } else { b"\x1b[?25l" });
        }
    }

    // ---- rows ----

    /// The rows that are not on the screen yet.
    fn changed_rows(&self, lines: &[Line<'_>], columns: u16) -> Vec<(usize, Row)> {
        let rows = lines.iter().map(|line| cells(line, usize::from(columns))).enumerate();
        rows.filter(|(y, row)| self.shown.get(*y) != Some(row)).collect()
    }

    fn paint_row(&mut self, new: &[Cell], old: &[Cell], y: u16) {
        // Up to here wide characters are gone, or half gone: what is there has to be drawn again.
        let mut stale = 0;
        let mut x = 0;
        while let Some(cell) = new.get(x) {
            let wide = columns(cell);
            let end = x + usize::from(wide);
            let before = old.get(x).unwrap_or(&Cell::EMPTY);
            if x < stale || !looks_same(cell, before) {
                let covered = old.iter().enumerate().take(end).skip(x);
                stale = covered.map(|(x, cell)| x + usize::from(columns(cell))).fold(stale, usize::max);
                self.bridge(new, y, x as u16);
                self.put_cell(cell, wide);
            }
            x = end;
        }
        if usize::from(length(old)).max(stale) > x {
            self.move_to(y, x as u16);
            self.set_pen(Pen { bg: Color::Reset, modifier: Modifier::empty(), ..self.pen });
            self.raw(b"\x1b[K");
        }
    }

    /// Goes to a cell, drawing over a few cells that need no drawing where that is shorter than a move.
    fn bridge(&mut self, row: &[Cell], y: u16, x: u16) {
        if self.row == y
            && let Some(from) = self.column
            && from < x
            && x - from <= 3
        {
            let gap = &row[usize::from(from)..usize::from(x)];
            if gap.iter().all(|cell| self.is_free(cell)) {
                gap.iter().for_each(|cell| self.put_cell(cell, 1));
            }
        }
        self.move_to(y, x);
    }

    /// Whether a cell can be drawn without touching the pen, for one byte.
    fn is_free(&self, cell: &Cell) -> bool {
        (is_blank(cell) && self.pen.bg == Color::Reset && self.pen.modifier.is_empty())
            || (cell.symbol().len() == 1 && pen_of(cell) == self.pen)
    }

    fn put_cell(&mut self, cell: &Cell, wide: u16) {
        let blank = is_blank(cell);
        if blank && (self.pen.bg != Color::Reset || !self.pen.modifier.is_empty()) {
            self.set_pen(PLAIN);
        } else if !blank {
            self.set_pen(pen_of(cell));
        }
        self.write(cell.symbol(), wide);
        // Terminals disagree about the width of clusters and of emoji; where in doubt, find the column anew.
        let certain = cell.symbol().chars().count() == 1 && (wide == 1 || !is_emoji(cell.symbol()));
        self.column = self.column.filter(|_| certain).map(|column| column + wide);
    }

    /// Whether the lowest thing to draw has the colour of the pen.
    fn last_suits_pen(&self, changed: &[(usize, Row)]) -> bool {
        let first_drawn = |(y, row): &(usize, Row)| {
            let old = self.shown.get(*y).map_or(&[][..], Vec::as_slice);
            let different =
                |(x, cell): &(usize, &Cell)| !is_blank(cell) && !looks_same(cell, old.get(*x).unwrap_or(&Cell::EMPTY));
            row.iter().enumerate().find(different).map(|(_, cell)| pen_of(cell))
        };
        changed.iter().rev().find_map(first_drawn) == Some(self.pen)
    }

    // ---- bytes ----

    fn write(&mut self, symbol: &str, wide: u16) {
        match self.charset {
            Charset::Ascii if !symbol.is_ascii() => (0..wide).for_each(|_| self.out.push(b'?')),
            Charset::Ascii | Charset::Utf8 => self.out.extend_from_slice(symbol.as_bytes()),
        }
    }

    fn move_to(&mut self, row: u16, column: u16) {
        if row > self.row {
            let down = row - self.row;
            // Only a line feed makes a row that is not there yet.
            if row >= self.known_rows || down <= 3 {
                (0..down).for_each(|_| self.out.push(b'\n'));
            } else {
                let _ = write!(self.out, "\x1b[{down}B");
            }
            self.known_rows = self.known_rows.max(row + 1);
        } else if row < self.row {
            self.sequence(self.row - row, b'A');
        }
        self.row = row;
        match self.column {
            Some(here) if here == column => {}
            Some(here) if here < column => self.sequence(column - here, b'C'),
            Some(here) if here - column <= 4 && column > 0 => (column..here).for_each(|_| self.out.push(b'\x08')),
            _ => {
                self.out.push(b'\r');
                if column > 0 {
                    self.sequence(column, b'C');
                }
            }
        }
        self.column = Some(column);
    }

    fn sequence(&mut self, count: u16, end: u8) {
        let _ = match count {
            1 => write!(self.out, "\x1b["),
            _ => write!(self.out, "\x1b[{count}"),
        };
        self.out.push(end);
    }

    fn set_pen(&mut self, pen: Pen) {
        if pen == self.pen || self.styling == Styling::Plain {
            return;
        }
        if pen == PLAIN {
            self.raw(b"\x1b[m");
            self.pen = pen;
            return;
        }
        let codes = pen.codes_from(self.pen);
        let _ = write!(self.out, "\x1b[{codes}m");
        self.pen = pen;
    }
}

#[cfg(test)]
#[path = "paint_tests.rs"]
mod tests;
