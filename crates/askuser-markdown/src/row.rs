//! A text as rows of styled pieces, independent of the width and colours of a surface.

use crate::blocks;
use askuser::sanitize;
use serde::Serialize;

/// A line of Markdown, independent of width and colours.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    /// The depth of block quotes.
    pub quotes: usize,
    /// Columns of indentation.
    pub indent: usize,
    /// The list marker before the text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub marker: Option<Marker>,
    /// The kind of the row.
    #[serde(flatten)]
    pub kind: Kind,
    /// Its text, in runs of one look.
    pub pieces: Vec<Piece>,
}

/// The marker of an item in a list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Marker {
    /// A bullet.
    Bullet,
    /// An open task.
    Open,
    /// A finished task.
    Done,
    /// A number as written: `3)` or `3.`.
    Number(String),
}

/// The kind of a row.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "kind", content = "of", rename_all = "snake_case")]
pub enum Kind {
    /// An empty line.
    Blank,
    /// Text.
    Prose,
    /// A heading of this level.
    Heading(usize),
    /// The fence that opens a block of code, with its language.
    FenceOpen(String),
    /// A line of code.
    Code,
    /// A line of code in a block of the language `diff`.
    Diff(DiffLine),
    /// The end of a block of code.
    FenceClose,
    /// A rule across the text.
    Rule,
    /// A whole table.
    Table(Box<Table>),
}

/// A parsed table.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Table {
    /// The header.
    pub header: Vec<Cell>,
    /// The rows. None has more cells than the header.
    pub rows: Vec<Vec<Cell>>,
    /// The alignment of each column.
    pub align: Vec<Align>,
}

/// The text of a cell.
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

/// A run of text of one look.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Piece {
    /// The text, sanitized.
    pub text: String,
    /// The style of the run.
    #[serde(flatten)]
    pub look: Look,
}

/// The style of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Look {
    /// The kind of text.
    #[serde(skip_serializing_if = "Token::is_plain")]
    pub token: Token,
    /// Marked as important.
    #[serde(skip_serializing_if = "is_false")]
    pub bold: bool,
    /// Emphasised.
    #[serde(skip_serializing_if = "is_false")]
    pub italic: bool,
    /// Struck out.
    #[serde(skip_serializing_if = "is_false")]
    pub struck: bool,
    /// The text of a link.
    #[serde(skip_serializing_if = "is_false")]
    pub link: bool,
}

fn is_false(flag: &bool) -> bool {
    !*flag
}

/// The kind of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Token {
    /// Text.
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
    /// The position of the lines that follow.
    Place,
    /// An added line.
    Added,
    /// A removed line.
    Removed,
    /// An unchanged line.
    Kept,
}

impl DiffLine {
    /// The kind of this line in a diff.
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

/// Whether a line of a text begins a list or a block of code.
pub fn has_blocks(text: &str) -> bool {
    text.lines().map(str::trim_start).any(|line| {
        let after_digits = line.trim_start_matches(|c: char| c.is_ascii_digit());
        let is_number = after_digits.len() < line.len() && [". ", ") "].iter().any(|end| after_digits.starts_with(end));
        is_number || ["- ", "* ", "+ ", "```", "~~~"].iter().any(|mark| line.starts_with(mark))
    })
}

/// Reads a text.
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

    /// The text without styles.
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
