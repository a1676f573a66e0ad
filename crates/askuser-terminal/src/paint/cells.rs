//! Lines as rows of glyphs, and the comparison of glyphs.

use super::pen::{PLAIN, Pen};
use crate::view::{SharedLine, grapheme_columns};
use ratatui_core::style::Style;
use ratatui_core::text::{Line, Span};
use std::sync::Arc;
use unicode_segmentation::UnicodeSegmentation;

/// The content of one column in a row.
#[derive(Clone, Copy, Debug)]
pub(super) struct Glyph<'a> {
    pub(super) symbol: &'a [u8],
    pub(super) pen: Pen,
    /// The number of columns that the glyph takes. All but the first of these columns hold blanks.
    pub(super) columns: u16,
    /// Whether the glyph has the same width on every terminal. Terminals disagree about clusters and emoji.
    pub(super) has_certain_width: bool,
}

/// The glyphs of a row, one for each column, without trailing blanks.
pub(super) type Row<'a> = Vec<Glyph<'a>>;

impl<'a> Glyph<'a> {
    const BLANK: Glyph<'static> = Glyph::plain(b" ", PLAIN);

    const fn plain(symbol: &'a [u8], pen: Pen) -> Glyph<'a> {
        Glyph { symbol, pen, columns: 1, has_certain_width: true }
    }

    fn new(symbol: &'a str, pen: Pen, columns: u16) -> Glyph<'a> {
        let is_emoji = |c| matches!(c, '\u{2190}'..='\u{2BFF}' | '\u{1F000}'..);
        let mut chars = symbol.chars();
        let has_certain_width = chars.next().is_some_and(|c| columns == 1 || !is_emoji(c)) && chars.next().is_none();
        Glyph { symbol: symbol.as_bytes(), pen, columns, has_certain_width }
    }

    /// Returns whether the glyph is an invisible space.
    #[inline]
    pub(super) fn is_blank(&self) -> bool {
        matches!(self.symbol, [b' ']) && !self.pen.marks_blanks()
    }

    #[inline]
    pub(super) fn looks_like(&self, other: &Glyph<'_>) -> bool {
        let is_same = match (self.symbol, other.symbol) {
            ([a], [b]) => a == b,
            (a, b) => a == b,
        };
        is_same && (self.pen == other.pen || (self.is_blank() && other.is_blank()))
    }
}

/// A line that can be painted.
pub(crate) trait ToPaint {
    fn line(&self) -> &Line<'_>;

    /// Returns a shared copy of the line, to be stored with the frame.
    fn share(&self) -> SharedLine;
}

impl ToPaint for SharedLine {
    fn line(&self) -> &Line<'_> {
        self
    }

    fn share(&self) -> SharedLine {
        self.clone()
    }
}

impl ToPaint for Line<'_> {
    fn line(&self) -> &Line<'_> {
        self
    }

    fn share(&self) -> SharedLine {
        let spans = self.spans.iter().map(|span| Span::styled(span.content.clone().into_owned(), span.style));
        Arc::new(Line { spans: spans.collect(), ..Line::default().style(self.style) }.into())
    }
}

/// A change of a span on the screen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Change {
    None,
    /// The pen has changed. Blanks look as before.
    Pen,
    /// The whole text is redrawn, with its blanks.
    Text,
}

/// A line on the screen.
#[derive(Clone, Debug, Default)]
pub(super) struct Drawn {
    pub(super) line: SharedLine,
    /// The number of columns at which the line was truncated.
    pub(super) columns: u16,
}

impl Drawn {
    pub(super) fn is_of(&self, line: &Line<'_>, columns: u16) -> bool {
        let shown: &Line<'_> = &self.line;
        self.columns == columns && (std::ptr::eq(shown, line) || shown == line)
    }

    /// Returns the change of each span; `None` if the spans of the old line stand in other columns.
    pub(super) fn changes(&self, old: &Drawn) -> Option<Vec<(&str, Pen, Change)>> {
        let is_whole = |drawn: &Drawn| drawn.line.is_plain() && drawn.line.columns() <= usize::from(drawn.columns);
        let new = &self.line.spans;
        let old_spans = &old.line.spans;
        // If the length of the row changes, its cells are compared instead.
        let has_end = new.last().is_some_and(|span| !span.content.ends_with(' '));
        if !has_end || !is_whole(self) || !is_whole(old) || !(old_spans.is_empty() || old_spans.len() == new.len()) {
            return None;
        }
        let changes = new.iter().enumerate().map(|(i, span)| {
            let text = &*span.content;
            let pen = pen_of(&self.line, span);
            let before = old_spans.get(i).map(|span| (&*span.content, pen_of(&old.line, span)));
            let marks_blanks = pen.marks_blanks() || before.is_some_and(|(_, pen)| pen.marks_blanks());
            let change = match before {
                Some((before, old_pen)) if before == text && old_pen == pen => Change::None,
                Some((before, _)) if before != text && [before, text].map(|text| text.chars().count()) != [1, 1] => {
                    return None;
                }
                Some((before, _)) if before != text => Change::Text,
                _ if marks_blanks => Change::Text,
                _ => Change::Pen,
            };
            Some((text, pen, change))
        });
        changes.collect()
    }

    /// Returns the line as a row of glyphs, truncated.
    pub(super) fn row(&self) -> Row<'_> {
        let columns = usize::from(self.columns);
        let mut row = Row::with_capacity(columns.min(self.line.columns()));
        for span in &self.line.spans {
            let text = &*span.content;
            let pen = pen_of(&self.line, span);
            if self.line.is_plain() && text.is_ascii() {
                let symbols = text.as_bytes().chunks_exact(1).take(columns - row.len());
                row.extend(symbols.map(|symbol| Glyph::plain(symbol, pen)));
            } else if self.line.is_plain() {
                let symbols = text.char_indices().take(columns - row.len());
                let bytes = text.as_bytes();
                row.extend(symbols.map(|(at, c)| Glyph::plain(&bytes[at..at + c.len_utf8()], pen)));
            } else {
                let graphemes = text.graphemes(true).map(|symbol| (symbol, grapheme_columns(symbol)));
                for (symbol, wide) in graphemes.filter(|(_, wide)| *wide > 0) {
                    let end = row.len() + wide;
                    if end > columns {
                        break;
                    }
                    row.push(Glyph::new(symbol, pen, wide as u16));
                    row.resize(end, Glyph::BLANK);
                }
            }
        }
        row.truncate(row.iter().rposition(|glyph| !glyph.is_blank()).map_or(0, |last| last + 1));
        row
    }

    /// Returns the number of columns that the line takes on the screen.
    pub(super) fn length(&self) -> u16 {
        length(&self.row())
    }
}

/// Returns the pen of a span in its line.
pub(super) fn pen_of(line: &Line<'_>, span: &Span<'_>) -> Pen {
    if line.style == Style::new() { Pen::of(span.style) } else { Pen::of(line.style.patch(span.style)) }
}

/// Returns the number of columns that a row takes. Its last glyph may take more than one.
pub(super) fn length(row: &[Glyph<'_>]) -> u16 {
    row.len() as u16 + row.last().map_or(0, |glyph| glyph.columns - 1)
}
