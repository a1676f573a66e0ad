//! Markdown in a terminal, with one renderer for the prompt and for a conversation. [`askuser_markdown`] parses the
//! text, and this module applies the width and the colours.
//!
//! ```
//! use askuser_terminal::{Theme, markdown};
//!
//! let lines = markdown::render(&markdown::rows("Use **bold** and\n- a list"), &Theme::default(), 60);
//! let text: Vec<String> = lines.iter().map(ToString::to_string).collect();
//! assert_eq!(text, ["Use bold and", "• a list"]);
//! ```

mod table;

pub use askuser_markdown::{Row, Stream, rows};
pub(crate) use askuser_markdown::{has_blocks, inline};

use crate::view::{ColorDepth, Role, Theme, role_of, spans_width, wrap_exactly, wrap_styled};
use askuser_markdown::{Kind, Look, Marker, Piece, Token};
use ratatui_core::style::{Modifier, Style};
use ratatui_core::text::{Line, Span};
use std::borrow::Cow;

/// Returns the style of a run in a text that has the style `base`.
fn style(look: Look, base: Style, theme: &Theme) -> Style {
    // These tokens stand in code blocks and differ only in colour. Without colours they look like other code.
    let coloured = |role| Style::new().fg(theme.colour(role));
    let style = match look.token {
        Token::Plain => base,
        Token::Code => theme.style(Role::Primary),
        Token::Target => theme.style(Role::Muted),
        Token::Keyword => coloured(Role::Primary),
        Token::Text => coloured(Role::Success),
        Token::Comment => coloured(Role::Muted),
        Token::Number => coloured(Role::Warning),
    };
    let marks = [
        (look.bold, Modifier::BOLD),
        (look.italic, Modifier::ITALIC),
        (look.struck, Modifier::DIM),
        (look.link, Modifier::UNDERLINED),
    ];
    marks.iter().filter(|(is_set, _)| *is_set).fold(style, |style, (_, modifier)| style.add_modifier(*modifier))
}

/// The way in which a block of code is wrapped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Code {
    /// The terminal wraps the lines, so that each is copied as one line.
    Whole,
    /// The lines are wrapped in the columns of the text.
    Wrapped,
}

/// Parses a text into rows; `None` if the text contains no lists or code blocks.
pub(crate) fn blocks(text: &str) -> Option<Vec<Row>> {
    has_blocks(text).then(|| rows(text))
}

/// Returns a text without its marks, for output without styles. Bold becomes plain, and code stays between backticks.
pub(crate) fn unstyled(text: &str) -> Cow<'_, str> {
    let theme = Theme { depth: ColorDepth::None, ..Theme::default() };
    match inline(text) {
        Some(pieces) => words(&pieces, Style::new(), &theme).into_iter().map(|(text, _)| text).collect(),
        None => text.into(),
    }
}

/// Renders rows in this width. Code is not wrapped: if the terminal wraps it, it is copied as one line.
pub fn render(rows: &[Row], theme: &Theme, columns: usize) -> Vec<Line<'static>> {
    rows.iter().flat_map(|row| render_row(row, theme, columns, Code::Whole, Style::new())).collect()
}

/// Renders rows within this width, with prose in the style `base`.
pub(crate) fn render_wrapped(rows: &[Row], theme: &Theme, columns: usize, base: Style) -> Vec<Line<'static>> {
    rows.iter().flat_map(|row| render_row(row, theme, columns, Code::Wrapped, base)).collect()
}

/// Returns the runs of a row with their styles. Without colours, code stands between backticks.
pub(crate) fn words(pieces: &[Piece], base: Style, theme: &Theme) -> Vec<(String, Style)> {
    let text = |piece: &Piece| {
        let is_marked = piece.look.token == Token::Code && theme.depth == ColorDepth::None;
        if is_marked { format!("`{}`", piece.text) } else { piece.text.clone() }
    };
    pieces.iter().map(|piece| (text(piece), style(piece.look, base, theme))).collect()
}

fn render_row(row: &Row, theme: &Theme, columns: usize, code: Code, base: Style) -> Vec<Line<'static>> {
    let signs = theme.signs;
    let muted = theme.style(Role::Muted);
    let primary = theme.style(Role::Primary);
    let quoted = vec![Span::styled(format!("{} ", signs.vertical), muted); row.quotes];
    let mut lead = quoted.clone();
    lead.push(Span::raw(" ".repeat(row.indent)));
    let marker = row.marker.as_ref().map(|marker| match marker {
        Marker::Bullet => signs.bullet,
        Marker::Open => signs.checkbox,
        Marker::Done => signs.checkbox_on,
        Marker::Number(number) => number,
    });
    lead.extend(marker.map(|marker| Span::styled(format!("{marker} "), primary)));
    let taken = spans_width(&lead);
    let mut further = quoted;
    further.push(Span::raw(" ".repeat(taken - spans_width(&further))));
    let italic = if row.quotes > 0 { Modifier::ITALIC } else { Modifier::empty() };
    let code = |role: Role| {
        let indented = [&lead[..], &[Span::raw("  ")]].concat();
        let line = |spans: Vec<Span<'static>>| Line::from_iter(indented.iter().cloned().chain(spans));
        if code == Code::Whole {
            let style = |piece: &Piece| style(piece.look, theme.style(role), theme);
            return vec![line(row.pieces.iter().map(|piece| Span::styled(piece.text.clone(), style(piece))).collect())];
        }
        let text = row.text();
        let words = |range: std::ops::Range<usize>| vec![Span::styled(text[range].to_owned(), theme.style(role))];
        let rows = wrap_exactly(&text, columns.saturating_sub(taken + 2)).into_iter();
        rows.map(|(range, _)| line(words(range))).collect()
    };
    match &row.kind {
        Kind::Blank => vec![Line::default()],
        Kind::Rule => {
            lead.push(Span::styled(signs.horizontal.repeat(columns.saturating_sub(taken).min(40)), muted));
            vec![Line::from(lead)]
        }
        Kind::FenceOpen(_) | Kind::FenceClose => Vec::new(),
        Kind::Table(table) => table::render(table, &lead, theme, columns, base.add_modifier(italic)),
        Kind::Code => code(Role::Secondary),
        Kind::Diff(line) => code(role_of(*line)),
        Kind::Prose | Kind::Heading(_) => {
            let base = match row.kind {
                Kind::Heading(1 | 2) => primary.add_modifier(Modifier::BOLD),
                Kind::Heading(_) => base.add_modifier(Modifier::BOLD),
                _ => base,
            };
            wrap_styled(words(&row.pieces, base.add_modifier(italic), theme), &lead, &further, columns)
        }
    }
}

#[cfg(test)]
mod tests;
