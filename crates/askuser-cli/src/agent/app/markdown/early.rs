//! A long line that is still being written, given row by row: the rows that nothing changes any more, whatever follows.

use super::inline::{READ_AT_MOST, read_inline, settled};
use super::{Kind, Look, Marker, Piece, Row, Stream, opens};
use askuser::sanitize;
use askuser_terminal::{width, wrap};
use std::ops::Range;

/// A line whose beginning has been given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct GoesOn {
    quotes: usize,
    indent: usize,
    marks: Marks,
}

/// Whether the marks of a line mean something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Marks {
    Read,
    /// The line is too long for that.
    Literal,
}

/// An unfinished line of so many rows is given row by row.
const ROWS_HELD: usize = 4;

impl Stream {
    /// The first rows of a long line that is not whole yet, at so many columns: those that nothing changes any more.
    pub(crate) fn overflow(&mut self, columns: usize) -> Vec<Row> {
        let mut rows = Vec::new();
        // What is not shown as it was written has to be whole before anybody knows how it is.
        if self.fence.is_some() || self.partial.len() <= columns || sanitize::block(&self.partial) != self.partial {
            return rows;
        }
        let line = std::mem::take(&mut self.partial);
        match self.goes_on.map_or_else(|| Row::start(&line), |goes_on| Some((goes_on.row(), line.as_str()))) {
            Some((first, words)) => {
                let taken = self.take_rows(first, words, columns, &mut rows);
                self.partial = if taken > 0 { words[taken..].to_owned() } else { line };
            }
            None => self.partial = line,
        }
        rows
    }

    /// Takes rows off the beginning of a line's words, and says how much of them.
    fn take_rows(&mut self, first: Row, words: &str, columns: usize, rows: &mut Vec<Row>) -> usize {
        let known = self.goes_on.map(|goes_on| goes_on.marks);
        let marks = match known {
            Some(Marks::Literal) => Marks::Literal,
            _ if words.len() > READ_AT_MOST => Marks::Literal,
            _ => Marks::Read,
        };
        let places = match marks {
            Marks::Read => settled(words),
            Marks::Literal => Vec::new(),
        };
        let end = if marks == Marks::Literal { words.len() } else { places.last().map_or(0, |(at, _)| *at) };
        let look = first.look();
        let pieces = marks.read(&words[..end], look);
        let text: String = pieces.iter().map(|piece| piece.text.as_str()).collect();
        let lead = 2 * first.quotes + first.indent;
        let hanging = lead + first.marker.width();
        let ranges = wrap(&text, columns.saturating_sub(hanging), columns.saturating_sub(hanging));
        if ranges.len() < ROWS_HELD {
            return 0;
        }
        // Where the last row but one that can be told from the words as they were written ends.
        let place = |shown: usize| match marks {
            Marks::Literal => Some(shown),
            Marks::Read => places.iter().rev().find(|(_, other)| *other == shown).map(|(at, _)| *at),
        };
        let cut = (1..ranges.len()).rev().find_map(|i| Some((i, place(ranges[i].start)?)));
        let Some((count, taken)) = cut else { return 0 };
        let goes_on = GoesOn { quotes: first.quotes, indent: hanging - 2 * first.quotes, marks };
        for (i, range) in ranges.into_iter().take(count).enumerate() {
            let row = if i == 0 { first.clone() } else { goes_on.row() };
            self.put(Row { pieces: within(&pieces, range), ..row }, rows);
        }
        self.goes_on = Some(goes_on);
        taken
    }
}

impl Row {
    /// A line of prose without its words, and its words; nothing else goes on from row to row.
    fn start(line: &str) -> Option<(Row, &str)> {
        let indent = line.len() - line.trim_start_matches(' ').len();
        if opens(&line[indent..], indent).is_some() {
            return None;
        }
        let (row, words) = Row::split(line);
        let is_plain = row.kind == Kind::Prose && !matches!(row.marker, Marker::Open | Marker::Done);
        is_plain.then_some((row, words))
    }
}

impl GoesOn {
    /// The rest of it, without its words.
    fn row(self) -> Row {
        Row { quotes: self.quotes, indent: self.indent, kind: Kind::Prose, ..Row::blank() }
    }

    /// The rest of it.
    pub(super) fn read(self, words: &str) -> Row {
        let row = self.row();
        Row { pieces: self.marks.read(words, row.look()), ..row }
    }
}

impl Marks {
    fn read(self, words: &str, look: Look) -> Vec<Piece> {
        match self {
            Marks::Read => read_inline(words, look),
            Marks::Literal => vec![Piece { text: words.to_owned(), look }],
        }
    }
}

impl Marker {
    /// How many columns it takes, with the space after it. Boxes are not asked: they differ between character sets.
    fn width(&self) -> usize {
        match self {
            Marker::None => 0,
            Marker::Bullet => 2,
            Marker::Open | Marker::Done => 2,
            Marker::Number(number) => width(number) + 1,
        }
    }
}

/// The part of some words that is in this range of them all.
fn within(pieces: &[Piece], range: Range<usize>) -> Vec<Piece> {
    let mut start = 0;
    let mut out = Vec::new();
    for Piece { text, look } in pieces {
        let (from, to) = (range.start.max(start), range.end.min(start + text.len()));
        if from < to {
            out.push(Piece { text: text[from - start..to - start].to_owned(), look: *look });
        }
        start += text.len();
    }
    out
}
