//! The model's Markdown as rows for a terminal, rendered line by line while it streams in.
//!
//! A row is emitted once its line is complete, or once nothing that follows can change it, so printed rows never have to be
//! taken back. Ambiguous markup is shown as written. All text goes through `sanitize`. Deliberately absent: a document
//! model; tables, footnotes and HTML stay text.

mod inline;
mod partial;

use askuser::sanitize;
use askuser_terminal::text::{Line, Modifier, Span, Style};
use askuser_terminal::{Role, Theme, width, wrap};
use inline::read_inline;
use partial::Continuation;

/// A parsed line of Markdown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Row {
    /// The depth of block quotes.
    quotes: usize,
    /// Columns of indentation.
    indent: usize,
    marker: Marker,
    kind: Kind,
    pieces: Vec<Piece>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Marker {
    None,
    Bullet,
    Open,
    Done,
    Number(String),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Blank,
    Prose,
    Heading(usize),
    /// Wrapped by the terminal, not by us, so that it is copied as one line.
    Code,
    Rule,
}

/// A run of text in one style.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Piece {
    text: String,
    look: Look,
}

/// The style of a run; `None` is the terminal's default colour.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Look {
    role: Option<Role>,
    modifier: Modifier,
}

impl Look {
    fn with(self, modifier: Modifier) -> Look {
        Look { modifier: self.modifier | modifier, ..self }
    }

    fn style(self, theme: &Theme) -> Style {
        self.role.map_or_else(Style::new, |role| theme.style(role)).add_modifier(self.modifier)
    }
}

/// A parser for text that streams in.
#[derive(Clone, Debug, Default)]
pub(crate) struct Stream {
    /// The unfinished last line, as the model wrote it.
    partial: String,
    fence: Option<Fence>,
    /// How the unfinished line continues, if its first rows were emitted already.
    continuation: Option<Continuation>,
    /// Whether a blank line is due before the next row.
    gap: Gap,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Gap {
    /// Nothing was emitted yet, so no blank line.
    #[default]
    Start,
    Owed,
    None,
}

/// The fence that opened a code block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Fence {
    mark: char,
    length: usize,
    indent: usize,
}

/// How much of an unfinished line is previewed: only its end is visible anyway.
const MAX_TAIL_BYTES: usize = 8_000;
/// Lists are indented no further than this.
const MAX_INDENT: usize = 12;
/// Block quotes are shown no deeper than this.
const MAX_QUOTES: usize = 6;

impl Stream {
    /// Takes more text; returns the rows that are complete now.
    pub(crate) fn push(&mut self, text: &str) -> Vec<Row> {
        let mut rows = Vec::new();
        let mut rest = text;
        while let Some((line, after)) = rest.split_once('\n') {
            self.partial.push_str(line);
            let line = std::mem::take(&mut self.partial);
            self.read(&line, &mut rows);
            rest = after;
        }
        self.partial.push_str(rest);
        rows
    }

    /// Ends the text; returns the remaining rows.
    pub(crate) fn finish(&mut self) -> Vec<Row> {
        let mut rows = Vec::new();
        let line = std::mem::take(&mut self.partial);
        if !line.trim().is_empty() {
            self.read(&line, &mut rows);
        }
        *self = Stream::default();
        rows
    }

    /// A preview of the unfinished line.
    pub(crate) fn tail(&self) -> Vec<Row> {
        let mut rows = Vec::new();
        if !self.partial.trim().is_empty() {
            let skipped = self.partial.len().saturating_sub(MAX_TAIL_BYTES);
            let start = (skipped..=self.partial.len()).find(|at| self.partial.is_char_boundary(*at)).unwrap_or(0);
            let mut preview = Stream { partial: String::new(), ..*self };
            preview.read(&self.partial[start..], &mut rows);
        }
        rows
    }

    fn read(&mut self, line: &str, rows: &mut Vec<Row>) {
        // `sanitize` turns a carriage return inside a line into a newline.
        let clean = sanitize::block(line.strip_suffix('\r').unwrap_or(line)).into_owned();
        for line in clean.split('\n') {
            self.read_clean(line.trim_end_matches(' '), rows);
        }
    }

    fn read_clean(&mut self, line: &str, rows: &mut Vec<Row>) {
        if let Some(continuation) = self.continuation.take() {
            let words = line.trim_start_matches(' ');
            if !words.is_empty() {
                self.put(continuation.read(words), rows);
            }
            return;
        }
        let indent = line.len() - line.trim_start_matches(' ').len();
        let body = &line[indent..];
        if let Some(fence) = self.fence {
            if closes(body, fence) {
                self.fence = None;
                self.gap = Gap::Owed;
                return;
            }
            let code = &line[indent.min(fence.indent)..];
            return self.put(Row::code(fence.indent, code), rows);
        }
        if let Some(fence) = opens(body, indent) {
            self.fence = Some(fence);
            if self.gap == Gap::None {
                self.gap = Gap::Owed;
            }
            return;
        }
        if body.is_empty() {
            if self.gap == Gap::None {
                self.gap = Gap::Owed;
            }
            return;
        }
        self.put(Row::read(line), rows);
    }

    fn put(&mut self, row: Row, rows: &mut Vec<Row>) {
        // Blank lines inside a code block are rows of their own.
        if self.gap == Gap::Owed {
            rows.push(Row::blank());
        }
        self.gap = Gap::None;
        rows.push(row);
    }
}

/// Parses a complete text.
pub(crate) fn rows(text: &str) -> Vec<Row> {
    let mut stream = Stream::default();
    let mut rows = stream.push(text);
    rows.extend(stream.finish());
    rows
}

fn opens(body: &str, indent: usize) -> Option<Fence> {
    let mark = body.chars().next().filter(|c| matches!(c, '`' | '~'))?;
    let length = body.len() - body.trim_start_matches(mark).len();
    let info = &body[length..];
    (length >= 3 && !info.contains('`')).then_some(Fence { mark, length, indent: indent.min(MAX_INDENT) })
}

fn closes(body: &str, fence: Fence) -> bool {
    body.len() >= fence.length && body.chars().all(|c| c == fence.mark)
}

// ---- lines ----

impl Row {
    fn blank() -> Row {
        Row { quotes: 0, indent: 0, marker: Marker::None, kind: Kind::Blank, pieces: Vec::new() }
    }

    fn code(indent: usize, text: &str) -> Row {
        let look = Look { role: Some(Role::Secondary), modifier: Modifier::empty() };
        let pieces = vec![Piece { text: text.to_owned(), look }];
        Row { indent: indent + 2, kind: Kind::Code, pieces, ..Row::blank() }
    }

    fn read(line: &str) -> Row {
        let (row, words) = Row::split(line);
        Row { pieces: read_inline(words, row.look()), ..row }
    }

    /// The style of its unmarked text.
    fn look(&self) -> Look {
        let italic = if self.quotes > 0 { Modifier::ITALIC } else { Modifier::empty() };
        match self.kind {
            Kind::Heading(level) => {
                Look { role: (level <= 2).then_some(Role::Primary), modifier: italic | Modifier::BOLD }
            }
            _ => Look { role: None, modifier: italic },
        }
    }

    /// Splits a line into its block markup and its text.
    fn split(line: &str) -> (Row, &str) {
        let mut rest = line;
        let mut quotes = 0;
        while let Some(inside) = rest.trim_start_matches(' ').strip_prefix('>') {
            rest = inside.strip_prefix(' ').unwrap_or(inside);
            quotes += 1;
        }
        let body = rest.trim_start_matches(' ');
        let indent = (rest.len() - body.len()).min(MAX_INDENT);
        let quotes = quotes.min(MAX_QUOTES);
        if is_rule(body) {
            return (Row { quotes, kind: Kind::Rule, ..Row::blank() }, "");
        }
        if let Some((level, title)) = heading(body) {
            return (Row { quotes, kind: Kind::Heading(level), ..Row::blank() }, title);
        }
        let (marker, words) = marker(body);
        (Row { quotes, indent, marker, kind: Kind::Prose, pieces: Vec::new() }, words)
    }
}

fn is_rule(body: &str) -> bool {
    let marks = || body.chars().filter(|c| *c != ' ');
    let first = marks().next();
    matches!(first, Some('-' | '*' | '_')) && marks().count() >= 3 && marks().all(|c| Some(c) == first)
}

fn heading(body: &str) -> Option<(usize, &str)> {
    let level = body.len() - body.trim_start_matches('#').len();
    let title = body[level..].strip_prefix(' ')?;
    (1..=6).contains(&level).then(|| (level, title.trim().trim_end_matches('#').trim_end()))
}

fn marker(body: &str) -> (Marker, &str) {
    if let Some(words) = ["- ", "* ", "+ "].iter().find_map(|mark| body.strip_prefix(mark)) {
        let words = words.trim_start_matches(' ');
        return match (words.strip_prefix("[ ] "), words.strip_prefix("[x] ").or(words.strip_prefix("[X] "))) {
            (Some(words), _) => (Marker::Open, words),
            (_, Some(words)) => (Marker::Done, words),
            (None, None) => (Marker::Bullet, words),
        };
    }
    let digits = body.len() - body.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    if (1..=9).contains(&digits)
        && let Some(words) = body[digits..].strip_prefix(['.', ')']).and_then(|rest| rest.strip_prefix(' '))
    {
        return (Marker::Number(body[..=digits].to_owned()), words);
    }
    (Marker::None, body)
}

// ---- rendering ----

/// Renders rows in this width; code is not wrapped.
pub(crate) fn render(rows: &[Row], theme: &Theme, columns: usize) -> Vec<Line<'static>> {
    rows.iter().flat_map(|row| render_row(row, theme, columns)).collect()
}

fn render_row(row: &Row, theme: &Theme, columns: usize) -> Vec<Line<'static>> {
    let signs = theme.signs;
    let muted = theme.style(Role::Muted);
    let mut lead = Vec::new();
    for _ in 0..row.quotes {
        lead.push(Span::styled(format!("{} ", signs.vertical), muted));
    }
    let quoted = lead.clone();
    lead.push(Span::raw(" ".repeat(row.indent)));
    let primary = theme.style(Role::Primary);
    match &row.marker {
        Marker::None => {}
        Marker::Bullet => lead.push(Span::styled(format!("{} ", signs.bullet), primary)),
        Marker::Open => lead.push(Span::styled(format!("{} ", signs.checkbox), primary)),
        Marker::Done => lead.push(Span::styled(format!("{} ", signs.checkbox_on), primary)),
        Marker::Number(number) => lead.push(Span::styled(format!("{number} "), primary)),
    }
    let taken = |spans: &[Span<'_>]| spans.iter().map(|span| width(&span.content)).sum::<usize>();
    let mut further = quoted.clone();
    further.push(Span::raw(" ".repeat(taken(&lead) - taken(&quoted))));
    let words = row.pieces.iter().map(|piece| (piece.text.as_str(), piece.look.style(theme)));
    match row.kind {
        Kind::Blank => vec![Line::default()],
        Kind::Rule => {
            let length = columns.saturating_sub(taken(&lead)).min(40);
            lead.push(Span::styled(signs.horizontal.repeat(length), muted));
            vec![Line::from(lead)]
        }
        Kind::Code => {
            lead.extend(words.map(|(text, style)| Span::styled(text.to_owned(), style)));
            vec![Line::from(lead)]
        }
        Kind::Prose | Kind::Heading(_) => wrapped(words, &lead, &further, columns),
    }
}

/// Wraps text of several styles; the first line starts with `lead`, the others with `further`.
pub(crate) fn wrapped<'a>(
    words: impl Iterator<Item = (&'a str, Style)>,
    lead: &[Span<'static>],
    further: &[Span<'static>],
    columns: usize,
) -> Vec<Line<'static>> {
    let words: Vec<(&str, Style)> = words.collect();
    let text: String = words.iter().map(|(text, _)| *text).collect();
    let taken = |spans: &[Span<'_>]| spans.iter().map(|span| width(&span.content)).sum::<usize>();
    let ranges = wrap(&text, columns.saturating_sub(taken(lead)), columns.saturating_sub(taken(further)));
    let lines = ranges.into_iter().enumerate().map(|(i, range)| {
        let end = range.start + text[range.clone()].trim_end_matches(' ').len();
        let mut spans = if i == 0 { lead.to_vec() } else { further.to_vec() };
        let mut start = 0;
        for (piece, style) in &words {
            let (from, to) = (range.start.max(start), end.min(start + piece.len()));
            if from < to {
                spans.push(Span::styled(text[from..to].to_owned(), *style));
            }
            start += piece.len();
        }
        Line::from(spans)
    });
    lines.collect()
}

#[cfg(test)]
#[path = "markdown_tests.rs"]
mod tests;
