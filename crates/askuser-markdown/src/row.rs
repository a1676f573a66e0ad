//! A text as rows of styled pieces, independent of the width and colours of a surface.

use crate::blocks;
use askuser::sanitize;
use serde::Serialize;

/// A line of Markdown as styled pieces.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    /// The number of block quotes around the row.
    pub quotes: usize,
    /// The indent of the row in columns.
    pub indent: usize,
    /// The list marker before the text; `None` if the row begins no list item.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub marker: Option<Marker>,
    /// The kind of the row, such as a heading.
    #[serde(flatten)]
    pub kind: Kind,
    /// The text of the row, in runs of one style each.
    pub pieces: Vec<Piece>,
}

/// The marker of a list item.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Marker {
    /// The marker is a bullet.
    Bullet,
    /// The marker of an open task.
    Open,
    /// The marker of a finished task.
    Done,
    /// A number as written: `3)` or `3.`.
    Number(String),
}

/// The kind of a row, which determines its look.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "kind", content = "of", rename_all = "snake_case")]
pub enum Kind {
    /// An empty line.
    Blank,
    /// A row of a paragraph.
    Prose,
    /// A heading of this level.
    Heading(usize),
    /// The fence that opens a block of code. The text is its language.
    FenceOpen(String),
    /// A line of code.
    Code,
    /// A line of code in a block of the language `diff`.
    Diff(DiffLine),
    /// The fence that closes a block of code.
    FenceClose,
    /// A rule across the text.
    Rule,
    /// A table as a single row.
    Table(Box<Table>),
}

/// A table, in parsed cells.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Table {
    /// The cells of the header.
    pub header: Vec<Cell>,
    /// The rows below the header. No row has more cells than the header.
    pub rows: Vec<Vec<Cell>>,
    /// The alignment of each column.
    pub align: Vec<Align>,
}

/// The content of a table cell.
pub type Cell = Vec<Piece>;

/// The alignment of a column.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs, reason = "they say it")]
pub enum Align {
    #[default]
    Left,
    Center,
    Right,
}

/// A run of text in one style.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Piece {
    /// The sanitized text of the run.
    pub text: String,
    /// The style of the run.
    #[serde(flatten)]
    pub look: Look,
}

/// The style of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Look {
    /// The kind of the text, which determines its colour.
    #[serde(skip_serializing_if = "Token::is_plain")]
    pub token: Token,
    /// Whether the run is bold.
    #[serde(skip_serializing_if = "is_false")]
    pub bold: bool,
    /// Whether the run is in italics.
    #[serde(skip_serializing_if = "is_false")]
    pub italic: bool,
    /// Whether the run is struck out.
    #[serde(skip_serializing_if = "is_false")]
    pub struck: bool,
    /// Whether the run is the text of a link.
    #[serde(skip_serializing_if = "is_false")]
    pub link: bool,
}

fn is_false(flag: &bool) -> bool {
    !*flag
}

/// The kind of a run's text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Token {
    /// Plain text.
    #[default]
    Plain,
    /// Inline code.
    Code,
    /// The target of a link.
    Target,
    /// A keyword in a code block.
    Keyword,
    /// A string in a code block.
    Text,
    /// A comment in a code block.
    Comment,
    /// A number in a code block.
    Number,
}

impl Token {
    fn is_plain(&self) -> bool {
        *self == Token::Plain
    }
}

/// The kind of a line in a diff.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum DiffLine {
    /// The name of a file.
    File,
    /// The header of a hunk, which gives the position of its lines.
    Place,
    /// An added line.
    Added,
    /// A removed line.
    Removed,
    /// An unchanged line.
    Kept,
}

impl DiffLine {
    /// Returns the kind of this line. Only the beginning of the line determines it.
    pub fn of(line: &str) -> DiffLine {
        match line.as_bytes() {
            [b'+', b'+', b'+', ..] | [b'-', b'-', b'-', ..] => DiffLine::File,
            [b'+', ..] => DiffLine::Added,
            [b'-', ..] => DiffLine::Removed,
            [b'@', b'@', ..] => DiffLine::Place,
            _ => DiffLine::Kept,
        }
    }
}

/// Returns whether a line of a text begins a list or a block of code.
pub fn has_blocks(text: &str) -> bool {
    text.lines().map(str::trim_start).any(|line| {
        let after_digits = line.trim_start_matches(|c: char| c.is_ascii_digit());
        let is_number = after_digits.len() < line.len() && [". ", ") "].iter().any(|end| after_digits.starts_with(end));
        is_number || ["- ", "* ", "+ ", "```", "~~~"].iter().any(|mark| line.starts_with(mark))
    })
}

/// Parses a text into rows.
pub fn rows(text: &str) -> Vec<Row> {
    let clean = sanitize::block(text);
    let mut rows = Vec::new();
    for block in blocks::read(&clean) {
        if block.is_spaced && !rows.is_empty() {
            rows.push(Row::blank());
        }
        rows.extend(block.rows);
    }
    rows
}

impl Row {
    pub(crate) fn blank() -> Row {
        Row { quotes: 0, indent: 0, marker: None, kind: Kind::Blank, pieces: Vec::new() }
    }

    /// Returns the text of the row without styles.
    pub fn text(&self) -> String {
        self.pieces.iter().map(|piece| piece.text.as_str()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn page(text: &str) -> Value {
        serde_json::to_value(rows(text)).expect("rows")
    }

    #[test]
    fn a_page_gets_every_kind_of_row_by_its_name() {
        assert_eq!(
            page("# A\n1) **b** `c` [d](e)"),
            json!([
                {"quotes": 0, "indent": 0, "kind": "heading", "of": 1, "pieces": [{"text": "A"}]},
                {"quotes": 0, "indent": 0, "marker": {"number": "1)"}, "kind": "prose", "pieces": [
                    {"text": "b", "bold": true}, {"text": " "}, {"text": "c", "token": "code"}, {"text": " "},
                    {"text": "d", "link": true}, {"text": " (e)", "token": "target"},
                ]},
            ])
        );
        let kinds =
            |text: &str| page(text).as_array().unwrap().iter().map(|row| row["kind"].clone()).collect::<Vec<_>>();
        assert_eq!(kinds("```diff\n+a\n```\n---"), ["fence_open", "diff", "fence_close", "blank", "rule"]);
        let table = page("| a | b |\n|--:|---|\n| 1 | 2 |");
        assert_eq!(table[0]["of"]["align"], json!(["right", "left"]));
        assert_eq!(table[0]["of"]["rows"], json!([[[{"text": "1"}], [{"text": "2"}]]]));
    }

    #[test]
    fn a_line_of_a_diff_is_known_by_how_it_begins() {
        use DiffLine::{Added, File, Kept, Place, Removed};
        let lines = ["--- a/x", "+++ b/x", "@@ -1 +1 @@", "-old", "+new", " same", ""];
        assert_eq!(lines.map(DiffLine::of), [File, File, Place, Removed, Added, Kept, Kept]);
    }
}
