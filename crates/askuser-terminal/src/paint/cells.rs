//! Lines as rows of glyphs, and when two glyphs look the same.

use super::pen::{PLAIN, Pen};
use crate::view::{SharedLine, grapheme_columns};
use ratatui_core::style::{Color, Style};
use ratatui_core::text::{Line, Span};
use std::sync::Arc;
use unicode_segmentation::UnicodeSegmentation;

/// The content of a column of a row.
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
    #[inline]
    pub(super) fn is_blank(&self) -> bool {
        matches!(self.symbol.as_bytes(), [b' ']) && !self.pen.marks_blanks()
    }

    #[inline]
    pub(super) fn looks_like(&self, other: &Glyph<'_>) -> bool {
        let is_same = match (self.symbol.as_bytes(), other.symbol.as_bytes()) {
            ([a], [b]) => a == b,
            (a, b) => a == b,
        };
        is_same && (self.pen == other.pen || (self.is_blank() && other.is_blank()))
    }

    /// Whether every terminal gives it as many columns: they disagree about clusters and emoji.
    pub(super) fn has_certain_width(&self) -> bool {
        if self.symbol.len() == 1 {
            return true;
        }
        let is_emoji = |c| matches!(c, '\u{2190}'..='\u{2BFF}' | '\u{1F000}'..);
        let mut chars = self.symbol.chars();
        chars.next().is_some_and(|c| self.columns == 1 || !is_emoji(c)) && chars.next().is_none()
    }
}

/// A line that can be painted.
pub(crate) trait ToPaint {
    fn line(&self) -> &Line<'_>;

    /// The line, to be kept with the frame.
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

/// A line on the screen.
#[derive(Debug, Default)]
pub(super) struct Drawn {
    pub(super) line: SharedLine,
    /// The columns it was truncated at.
    pub(super) columns: u16,
}

impl Drawn {
    pub(super) fn is_of(&self, line: &Line<'_>, columns: u16) -> bool {
        let shown: &Line<'_> = &self.line;
        self.columns == columns && (std::ptr::eq(shown, line) || shown == line)
    }

    /// Its row, truncated.
    pub(super) fn row(&self) -> Row<'_> {
        let columns = usize::from(self.columns);
        let mut row = Row::with_capacity(columns.min(self.line.columns()));
        for span in &self.line.spans {
            let (text, pen) = (&*span.content, pen_of(&self.line, span));
            if self.line.is_plain() {
                for (at, c) in text.char_indices().take(columns - row.len()) {
                    row.push(Glyph { symbol: &text[at..at + c.len_utf8()], pen, columns: 1 });
                }
                continue;
            }
            let graphemes = text.graphemes(true).map(|symbol| (symbol, grapheme_columns(symbol)));
            for (symbol, wide) in graphemes.filter(|(_, wide)| *wide > 0) {
                let end = row.len() + wide;
                if end > columns {
                    break;
                }
                row.push(Glyph { symbol, pen, columns: wide as u16 });
                row.resize(end, Glyph::BLANK);
            }
        }
        row.truncate(row.iter().rposition(|glyph| !glyph.is_blank()).map_or(0, |last| last + 1));
        row
    }

    /// The columns it takes.
    pub(super) fn length(&self) -> u16 {
        length(&self.row())
    }
}

/// The pen of a span in its line.
pub(super) fn pen_of(line: &Line<'_>, span: &Span<'_>) -> Pen {
    let Style { fg, bg, add_modifier, sub_modifier, .. } = span.style;
    Pen {
        fg: fg.or(line.style.fg).unwrap_or(Color::Reset),
        bg: bg.or(line.style.bg).unwrap_or(Color::Reset),
        modifier: (line.style.add_modifier - sub_modifier) | add_modifier,
    }
}

/// The columns a row takes: its last glyph may take more than one.
pub(super) fn length(row: &[Glyph<'_>]) -> u16 {
    row.len() as u16 + row.last().map_or(0, |glyph| glyph.columns - 1)
}
