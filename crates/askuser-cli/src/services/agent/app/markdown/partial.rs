//! Long unfinished lines: emits the rows that can no longer change, before the line is complete.

use super::inline::{MAX_INLINE_BYTES, read_inline, stable_positions};
use super::{Kind, Look, Marker, Piece, Row, Stream, opens};
use askuser::sanitize;
use askuser_terminal::{width, wrap};
use std::ops::Range;

/// How a line continues after its first rows were emitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Continuation {
    quotes: usize,
    indent: usize,
    markup: Markup,
}

/// Whether inline markup is parsed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Markup {
    Read,
    /// Not in a line that is too long.
    Literal,
}

/// An unfinished line is emitted row by row once it has this many rows.
const ROWS_HELD: usize = 4;

impl Stream {
    /// The first rows of a long unfinished line in this width, as far as they can no longer change.
    pub(crate) fn take_stable_rows(&mut self, columns: usize) -> Vec<Row> {
        let mut rows = Vec::new();
        // Text that `sanitize` changes has to be complete first.
        if self.fence.is_some() || self.partial.len() <= columns || sanitize::block(&self.partial) != self.partial {
            return rows;
        }
        let line = std::mem::take(&mut self.partial);
        match self
            .continuation
            .map_or_else(|| Row::start(&line), |continuation| Some((continuation.row(), line.as_str())))
        {
            Some((first, words)) => {
                let taken = self.take_rows(first, words, columns, &mut rows);
                self.partial = if taken > 0 { words[taken..].to_owned() } else { line };
            }
            None => self.partial = line,
        }
        rows
    }

    /// Emits rows from the beginning of a line's text; returns how many bytes they take.
    fn take_rows(&mut self, first: Row, words: &str, columns: usize, rows: &mut Vec<Row>) -> usize {
        let known = self.continuation.map(|continuation| continuation.markup);
        let markup = match known {
            Some(Markup::Literal) => Markup::Literal,
            _ if words.len() > MAX_INLINE_BYTES => Markup::Literal,
            _ => Markup::Read,
        };
        let positions = match markup {
            Markup::Read => stable_positions(words),
            Markup::Literal => Vec::new(),
        };
        let end = if markup == Markup::Literal { words.len() } else { positions.last().map_or(0, |(at, _)| *at) };
        let look = first.look();
        let pieces = markup.read(&words[..end], look);
        let text: String = pieces.iter().map(|piece| piece.text.as_str()).collect();
        let lead = 2 * first.quotes + first.indent;
        let hanging = lead + first.marker.width();
        let ranges = wrap(&text, columns.saturating_sub(hanging), columns.saturating_sub(hanging));
        if ranges.len() < ROWS_HELD {
            return 0;
        }
        // The last row start, from the end, that corresponds to a position in the source.
        let source_offset = |shown: usize| match markup {
            Markup::Literal => Some(shown),
            Markup::Read => positions.iter().rev().find(|(_, other)| *other == shown).map(|(at, _)| *at),
        };
        let cut = (1..ranges.len()).rev().find_map(|i| Some((i, source_offset(ranges[i].start)?)));
        let Some((count, taken)) = cut else { return 0 };
        let continuation = Continuation { quotes: first.quotes, indent: hanging - 2 * first.quotes, markup };
        for (i, range) in ranges.into_iter().take(count).enumerate() {
            let row = if i == 0 { first.clone() } else { continuation.row() };
            self.put(Row { pieces: within(&pieces, range), ..row }, rows);
        }
        self.continuation = Some(continuation);
        taken
    }
}

impl Row {
    /// Splits a line into its block markup and its text; `None` if it is not prose that can be emitted in parts.
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

impl Continuation {
    /// A continuation row without text.
    fn row(self) -> Row {
        Row { quotes: self.quotes, indent: self.indent, kind: Kind::Prose, ..Row::blank() }
    }

    /// A continuation row with this text.
    pub(super) fn read(self, words: &str) -> Row {
        let row = self.row();
        Row { pieces: self.markup.read(words, row.look()), ..row }
    }
}

impl Markup {
    fn read(self, words: &str, look: Look) -> Vec<Piece> {
        match self {
            Markup::Read => read_inline(words, look),
            Markup::Literal => vec![Piece { text: words.to_owned(), look }],
        }
    }
}

impl Marker {
    /// Its columns with the space after it. Not used for checkboxes, whose width depends on the character set.
    fn width(&self) -> usize {
        match self {
            Marker::None => 0,
            Marker::Bullet => 2,
            Marker::Open | Marker::Done => 2,
            Marker::Number(number) => width(number) + 1,
        }
    }
}

/// The pieces inside a range of the whole text.
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
