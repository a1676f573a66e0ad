//! Converts lines to bytes. Only the changed cells are written, with relative cursor moves.
//!
//! The frame is drawn at the cursor, and the scrollback above is not touched. Between frames the cursor is at the
//! caret, or hidden in the frame's first cell. A terminal that rewraps its lines on a resize moves the cursor along, so
//! the frame can be found again. Between frames the pen keeps its foreground colour and its weight, because the next
//! change is likely to use them. All other attributes are reset.

mod cells;
mod pen;
mod resize;

use crate::environment::encode;
use crate::view::Theme;
use askuser::verbatim::Charset;
use cells::{Change, Drawn, Glyph, ToPaint, length, pen_of};
use pen::{PLAIN, Pen, push_number};
use ratatui_core::layout::Position;
use ratatui_core::style::Style;
use ratatui_core::text::Line;
use resize::Erased;

/// A painter that draws frames over each other, and collects the bytes to write.
#[derive(Debug)]
pub(crate) struct Painter {
    charset: Charset,
    /// Whether styles are left out, as in line mode. A dumb terminal would print the sequences, and a screen reader may
    /// read them out.
    is_plain: bool,
    /// The frame on the screen.
    shown: Vec<Drawn>,
    /// The number of rows below the frame's top that the terminal is known to have.
    known_rows: u16,
    row: u16,
    /// The cursor's column; `None` after a character whose width on this terminal is uncertain.
    column: Option<u16>,
    pen: Pen,
    cursor_visible: bool,
    /// The widths of the rows right above the frame that belong to earlier frames. A smaller terminal has scrolled them
    /// off the screen, where they cannot be erased. A larger terminal brings them back.
    stranded: Vec<u16>,
    /// The part erased after a resize; `None` once the terminal has confirmed it.
    erased: Option<Erased>,
    out: Vec<u8>,
}

/// Clears from the start of this row to the end of the screen.
///
/// The space is for tmux, which pushes the whole screen into its history if the first cell is cleared. The final clear
/// is also for tmux: it would treat this row as full and wrap it when the terminal becomes narrower.
pub(crate) const CLEAR_BELOW: &[u8] = b" \x1b[J\r\x1b[K";

impl Painter {
    pub(crate) fn new(charset: Charset) -> Painter {
        Painter {
            charset,
            is_plain: false,
            shown: Vec::new(),
            known_rows: 1,
            row: 0,
            column: Some(0),
            pen: PLAIN,
            cursor_visible: true,
            stranded: Vec::new(),
            erased: None,
            out: Vec::new(),
        }
    }

    /// Creates a painter that writes no styles, for line mode.
    pub(crate) fn plain(charset: Charset) -> Painter {
        Painter { is_plain: true, ..Painter::new(charset) }
    }

    /// Removes and returns the bytes collected since the last call.
    pub(crate) fn take(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.out)
    }

    /// Adds bytes that do not move the cursor, such as a mode.
    pub(crate) fn raw(&mut self, bytes: &[u8]) {
        self.out.extend_from_slice(bytes);
    }

    /// Replaces the frame on the screen by these lines, each truncated at `columns`.
    pub(crate) fn paint(&mut self, lines: &[impl ToPaint], columns: u16, caret: Option<Position>) {
        if caret.is_none() {
            self.show_cursor(false);
        }
        let mut shown = std::mem::take(&mut self.shown);
        let before = shown.len();
        shown.resize(lines.len(), Drawn::default());
        self.out.reserve(1024);
        let mut changed: Vec<_> = (0..lines.len()).filter(|&y| !shown[y].is_of(lines[y].line(), columns)).collect();
        // A row that begins in the pen's colours is painted first. An arrow key changes two rows, and then only the
        // other row costs a colour change.
        if before == lines.len() {
            let is_pens = |line: &Line<'_>, old: &Line<'_>| {
                let mut changed =
                    line.spans.iter().zip(&old.spans).filter(|(new, old)| new != old && new.content != " ");
                changed.next().is_some_and(|(new, _)| pen_of(line, new) == self.pen)
            };
            changed.sort_by_cached_key(|&y| !is_pens(lines[y].line(), &shown[y].line));
        }
        for y in changed {
            let new = Drawn { line: lines[y].share(), columns };
            match new.changes(&shown[y]) {
                Some(spans) => self.paint_spans(spans, y as u16),
                None => self.paint_row(&new.row(), &shown[y].row(), y as u16),
            }
            shown[y] = new;
        }
        self.shown = shown;
        if before > lines.len() {
            self.move_to(lines.len() as u16, 0);
            self.set_pen(PLAIN);
            self.raw(b"\x1b[J");
        }
        self.ask_bottom_row(lines.len());
        self.set_pen(self.pen.after_frame());
        match caret {
            Some(Position { x, y }) => {
                self.move_to(y, x);
                self.show_cursor(true);
            }
            None => self.move_to(0, 0),
        }
    }

    /// Returns the columns and rows for a frame in a terminal of this size. The last column stays free, so that no line
    /// is exactly full. One row of the scrollback stays visible.
    pub(crate) fn room((columns, rows): (u16, u16)) -> (u16, u16) {
        (columns.saturating_sub(1).max(1), rows.saturating_sub(1).max(1))
    }

    /// Returns the sequence that moves the cursor to the frame's first row, followed by these bytes.
    pub(crate) fn at_the_top(&self, bytes: &[u8]) -> Vec<u8> {
        let up = if self.row > 0 { format!("\x1b[{}A", self.row) } else { String::new() };
        [up.as_bytes(), bytes].concat()
    }

    /// Sets the pen to the first of these styles, unless the pen already has one of them. The next change is likely to
    /// use them.
    pub(crate) fn preset(&mut self, styles: [Style; 2]) {
        let pens = styles.map(|style| Pen::of(style).resting());
        if !pens.contains(&self.pen) {
            self.set_pen(pens[0]);
        }
    }

    /// Erases the frame and resets the pen. The cursor ends where the frame began.
    pub(crate) fn erase(&mut self) {
        self.move_to(0, 0);
        self.set_pen(PLAIN);
        self.raw(CLEAR_BELOW);
        self.reset();
        self.show_cursor(true);
    }

    /// Leaves the frame on the screen and moves below it.
    pub(crate) fn leave(&mut self) {
        let below = self.shown.len() as u16;
        self.set_pen(PLAIN);
        self.move_to(below, 0);
        self.reset();
        self.show_cursor(true);
    }

    /// Writes permanent lines that are not part of the frame, each with a line end.
    pub(crate) fn print(&mut self, lines: &[Line<'_>]) {
        // The next frame begins below the printed lines.
        self.stranded.clear();
        for line in lines {
            for span in &line.spans {
                self.set_pen(pen_of(line, span));
                self.out.extend(encode(&span.content, self.charset));
            }
            self.set_pen(PLAIN);
            self.raw(b"\r\n");
        }
    }

    fn reset(&mut self) {
        let cursor_visible = self.cursor_visible;
        let out = self.take();
        let stranded = std::mem::take(&mut self.stranded);
        let erased = self.erased.take();
        let is_plain = self.is_plain;
        *self = Painter { out, stranded, erased, cursor_visible, is_plain, ..Painter::new(self.charset) };
    }

    fn show_cursor(&mut self, visible: bool) {
        if self.cursor_visible != visible {
            self.cursor_visible = visible;
            self.raw(if visible { b"\x1b[?25h" } else { b"\x1b[?25l" });
        }
    }

    // ---- rows ----

    fn paint_row(&mut self, new: &[Glyph<'_>], old: &[Glyph<'_>], y: u16) {
        // For tmux, a row cleared from its middle keeps its old length. tmux would wrap it when the terminal becomes
        // narrower, and the frame would be taller than recorded. A row that becomes shorter is therefore cleared as a
        // whole.
        let shorter = length(old) > length(new);
        if shorter {
            self.move_to(y, 0);
            self.set_pen(self.pen.unmarked());
            self.raw(b"\x1b[K");
        }
        let old = if shorter { &[] } else { old };
        // Wide characters were overwritten at least in part up to this column, so all glyphs there are drawn again.
        let mut stale = 0;
        let mut x = 0;
        while let Some(glyph) = new.get(x) {
            let before = old.get(x);
            if x < stale || !before.map_or(glyph.is_blank(), |before| glyph.looks_like(before)) {
                if before.is_some_and(|before| (before.columns, glyph.columns) != (1, 1)) {
                    let covered = (x..).zip(old[x..].iter().take(glyph.columns.into()));
                    stale = covered.fold(stale, |stale, (x, glyph)| stale.max(x + usize::from(glyph.columns)));
                }
                if (self.row, self.column) != (y, Some(x as u16)) {
                    let words = new[..x].iter().rposition(|glyph| !glyph.is_blank()).map_or(0, |last| last as u16 + 1);
                    self.advance(words, y, x as u16);
                }
                self.put(glyph);
            }
            x += usize::from(glyph.columns);
        }
    }

    /// Paints a row whose spans keep their columns. The same text in other colours needs no comparison of cells.
    fn paint_spans(&mut self, spans: Vec<(&str, Pen, Change)>, y: u16) {
        // The current column, and the end of the last word before it.
        let mut x = 0;
        let mut words = 0;
        for (text, pen, change) in spans {
            // Plain text contains no line feed, so all of it is written.
            let separator = if change == Change::Text { '\n' } else { ' ' };
            for (i, word) in text.split(separator).enumerate() {
                x += u16::from(i > 0);
                if word.is_empty() {
                    continue;
                }
                let end = x + word.chars().count() as u16;
                if change != Change::None {
                    self.advance(words, y, x);
                    self.put_text(word, pen);
                    self.column = Some(end);
                }
                x = end;
                words = if word == " " && !pen.marks_blanks() { words } else { end };
            }
        }
    }

    /// Moves to a column of a row. Up to three blanks before the column are written instead, which takes fewer bytes.
    /// `words` is the column where the text before it ends.
    fn advance(&mut self, words: u16, y: u16, x: u16) {
        if self.row == y
            && !self.pen.marks_blanks()
            && let Some(from) = self.column.filter(|from| (*from..=from + 3).contains(&x))
            && from >= words
        {
            (from..x).for_each(|_| self.out.push(b' '));
            self.column = Some(x);
        }
        self.move_to(y, x);
    }

    fn put_text(&mut self, text: &str, pen: Pen) {
        if text != " " || pen.marks_blanks() {
            self.set_pen(pen);
        } else if self.pen.marks_blanks() {
            self.set_pen(PLAIN);
        }
        match self.charset {
            Charset::Ascii if !text.is_ascii() => self.out.extend(encode(text, self.charset)),
            Charset::Ascii | Charset::Utf8 => self.out.extend_from_slice(text.as_bytes()),
        }
    }

    fn put(&mut self, glyph: &Glyph<'_>) {
        if !glyph.is_blank() {
            self.set_pen(glyph.pen);
        } else if self.pen.marks_blanks() {
            self.set_pen(PLAIN);
        }
        self.write(glyph.symbol, glyph.columns);
        self.column = self.column.filter(|_| glyph.has_certain_width).map(|column| column + glyph.columns);
    }

    // ---- bytes ----

    fn write(&mut self, symbol: &[u8], wide: u16) {
        match (symbol, self.charset) {
            (&[byte], _) => self.out.push(byte),
            (_, Charset::Ascii) if !symbol.is_ascii() => (0..wide).for_each(|_| self.out.push(b'?')),
            _ => self.out.extend_from_slice(symbol),
        }
    }

    fn move_to(&mut self, row: u16, column: u16) {
        if row >= self.known_rows {
            // Only a line feed creates a row at the bottom of the screen.
            (self.row..row).for_each(|_| self.out.push(b'\n'));
            self.known_rows = row + 1;
        } else if row > self.row {
            self.sequence(row - self.row, b'B');
        } else if row < self.row {
            self.sequence(self.row - row, b'A');
        }
        match self.column {
            Some(here) if here == column => {}
            _ if column == 0 => self.out.push(b'\r'),
            Some(here) if here < column => self.sequence(column - here, b'C'),
            _ => self.sequence(column + 1, b'G'),
        }
        (self.row, self.column) = (row, Some(column));
    }

    fn sequence(&mut self, count: u16, end: u8) {
        self.out.extend(b"\x1b[");
        if count != 1 {
            push_number(&mut self.out, count);
        }
        self.out.push(end);
    }

    #[inline]
    fn set_pen(&mut self, pen: Pen) {
        if pen == self.pen || self.is_plain {
            return;
        }
        pen.write_change(self.pen, &mut self.out);
        self.pen = pen;
    }
}

/// Converts lines to text with the codes of their styles, for a terminal without a prompt.
pub fn styled(lines: &[Line<'_>], theme: &Theme) -> String {
    let mut painter = Painter::new(theme.charset);
    painter.print(lines);
    String::from_utf8_lossy(&painter.take()).replace("\r\n", "\n")
}

#[cfg(test)]
#[path = "paint_tests.rs"]
mod tests;
