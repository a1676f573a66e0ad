//! Lines as rows of glyphs, and when two glyphs look the same.

use super::pen::{PLAIN, Pen};
use crate::view::{grapheme_columns, is_plain};
use ratatui_core::text::{Line, Span};
use unicode_segmentation::UnicodeSegmentation;

/// What stands in a column of a row.
#[derive(Clone, Copy, Debug)]
pub(super) struct Glyph<'a> {
    pub(super) symbol: &'a str,
    pub(super) pen: Pen,
    /// The columns it takes; blanks stand in all but the first of them.
    pub(super) columns: u16,
}

/// A glyph for each column, without trailing blanks.
pub(super) type Row<'a> = Vec<Glyph<'a>>;

impl Glyph<'_> {
    pub(super) const BLANK: Glyph<'static> = Glyph { symbol: " ", pen: PLAIN, columns: 1 };

    /// Whether it is a space that cannot be seen.
    pub(super) fn is_blank(&self) -> bool {
        self.symbol == " " && !self.pen.marks_blanks()
    }

    pub(super) fn looks_like(&self, other: &Glyph<'_>) -> bool {
        (self.is_blank() && other.is_blank()) || (self.symbol == other.symbol && self.pen == other.pen)
    }

    /// Whether every terminal gives it as many columns: they disagree about clusters and emoji.
    pub(super) fn has_certain_width(&self) -> bool {
        let is_emoji = |c| matches!(c, '\u{2190}'..='\u{2BFF}' | '\u{1F000}'..);
        let mut chars = self.symbol.chars();
        chars.next().is_some_and(|c| self.columns == 1 || !is_emoji(c)) && chars.next().is_none()
    }
}

/// A line on the screen.
#[derive(Debug, Default)]
pub(super) struct Drawn {
    line: Line<'static>,
    /// The columns it was truncated at.
    columns: u16,
    /// The columns it takes.
    pub(super) length: u16,
}

impl Drawn {
    pub(super) fn new(line: &Line<'_>, columns: u16, row: &Row<'_>) -> Drawn {
        let spans = line.spans.iter().map(|span| Span::styled(span.content.to_string(), span.style));
        let line = Line { style: line.style, alignment: line.alignment, spans: spans.collect() };
        Drawn { line, columns, length: length(row) }
    }

    pub(super) fn is_of(&self, line: &Line<'_>, columns: u16) -> bool {
        self.columns == columns && self.line == *line
    }

    pub(super) fn row(&self) -> Row<'_> {
        row_of(&self.line, self.columns)
    }
}

/// The row of a line, truncated.
pub(super) fn row_of<'a>(line: &'a Line<'_>, columns: u16) -> Row<'a> {
    let columns = usize::from(columns);
    let mut row = Row::with_capacity(columns);
    for span in &line.spans {
        let (text, pen) = (&*span.content, Pen::of(line.style.patch(span.style)));
        let mut push = |symbol, wide: usize| {
            let end = row.len() + wide;
            if end <= columns {
                row.push(Glyph { symbol, pen, columns: wide as u16 });
                row.resize(end, Glyph::BLANK);
            }
            end <= columns
        };
        if is_plain(text) {
            text.char_indices().all(|(at, c)| push(&text[at..at + c.len_utf8()], 1));
        } else {
            let mut graphemes = text.graphemes(true).map(|symbol| (symbol, grapheme_columns(symbol)));
            graphemes.all(|(symbol, wide)| wide == 0 || push(symbol, wide));
        }
    }
    row.truncate(row.iter().rposition(|glyph| !glyph.is_blank()).map_or(0, |last| last + 1));
    row
}

/// The columns a row takes: its last glyph may take more than one.
pub(super) fn length(row: &[Glyph<'_>]) -> u16 {
    row.len() as u16 + row.last().map_or(0, |glyph| glyph.columns - 1)
}
