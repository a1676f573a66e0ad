//! Blocks of a document: paragraphs, headings, lists, quotes, tables, fences.

use crate::highlight::Highlighter;
use crate::inline::{OPENING, OPTIONS, Runs};
use crate::{Align, DiffLine, Kind, Look, Marker, Piece, Row, Table};
use pulldown_cmark::{Alignment, CodeBlockKind, Event, Parser, Tag, TagEnd};
use std::ops::Range;

/// The largest indent of a row, in columns.
const MAX_INDENT: usize = 12;
/// The maximum number of block quotes that are drawn around a text.
const MAX_QUOTES: usize = 6;

/// A top-level block of the document, with the blocks inside it.
pub(crate) struct Block {
    /// The range of the block in the source.
    pub(crate) range: Range<usize>,
    pub(crate) rows: Vec<Row>,
    /// The number of rows that no further line of the source can change.
    pub(crate) settled: usize,
    pub(crate) kind: BlockKind,
    /// Whether a blank line stands before the block.
    pub(crate) is_spaced: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum BlockKind {
    Paragraph,
    /// A block that one line completes, such as a heading with `#` or a rule.
    Line,
    /// A fence made of this character, and its length in characters.
    Fence(char, usize),
    Other,
}

/// Parses a text that has been sanitized.
pub(crate) fn read(text: &str) -> Vec<Block> {
    read_behind("", text)
}

/// Parses the rest of a paragraph. A hidden word before the text makes the parser continue the paragraph.
pub(crate) fn read_rest(text: &str) -> Vec<Block> {
    read_behind(OPENING, text)
}

fn read_behind(hidden: &str, text: &str) -> Vec<Block> {
    let source = format!("{hidden}{text}");
    let hidden = hidden.len();
    let mut reader = Reader { source: &source, hidden, ..Reader::default() };
    for (event, range) in Parser::new_ext(&source, OPTIONS).into_offset_iter() {
        reader.event(event, range);
    }
    reader.literal_gap(source.len());
    reader.close_loose(source.len());
    let mut blocks = reader.blocks;
    for block in &mut blocks {
        block.range = block.range.start.saturating_sub(hidden)..block.range.end.saturating_sub(hidden);
    }
    blocks
}

enum Container {
    Quote,
    List {
        is_numbered: bool,
    },
    /// A list item. The number is the width of its marker in columns.
    Item(usize),
}

#[derive(Default)]
struct Reader<'s> {
    source: &'s str,
    /// The number of leading bytes in `source` that are not drawn.
    hidden: usize,
    blocks: Vec<Block>,
    /// The rows of the block being read.
    rows: Vec<Row>,
    /// The index of the first row of the block's last leaf.
    leaf: usize,
    containers: Vec<Container>,
    /// The marker of an item that has no row yet; `None` if the first row of the item has been read.
    marker: Option<Marker>,
    /// The text of the code or HTML block being read, and the kind of its rows. `None` outside of such a block.
    verbatim: Option<(Kind, String)>,
    /// Whether the code block being read has a fence.
    is_fenced: bool,
    /// The highlighter of the code block being read.
    highlighter: Highlighter,
    table: Option<Table>,
    runs: Option<(Runs<'s>, Kind)>,
    /// The end of the source that has been read, in bytes.
    end: usize,
}

impl Reader<'_> {
    fn event(&mut self, event: Event<'_>, range: Range<usize>) {
        let read = match event {
            Event::Start(_) | Event::End(_) => self.end,
            _ => range.end,
        };
        match event {
            Event::Start(tag) => self.start(tag, range),
            Event::End(tag) => self.close(tag, range),
            Event::Rule => {
                self.open_leaf(range.start);
                self.push(Kind::Rule, Vec::new());
                self.close_top(range, BlockKind::Line);
            }
            Event::TaskListMarker(done) => self.marker = Some(if done { Marker::Done } else { Marker::Open }),
            Event::SoftBreak | Event::HardBreak => self.break_line(),
            Event::Text(_) | Event::Html(_) if self.verbatim.is_some() => {
                if let Some((_, text)) = &mut self.verbatim {
                    text.push_str(&self.source[range]);
                }
            }
            event => {
                self.open_text(range.start);
                let shown = range.start.max(self.hidden)..range.end;
                if let Some((runs, _)) = &mut self.runs
                    && !shown.is_empty()
                {
                    runs.read(&event, shown);
                }
            }
        }
        // The text of a tight list item has no block around it and leaves no gap.
        self.end = self.end.max(read);
    }

    fn start(&mut self, tag: Tag<'_>, range: Range<usize>) {
        match tag {
            Tag::Paragraph => {
                self.open_leaf(range.start);
                self.runs = Some((Runs::new(self.source), Kind::Prose));
            }
            Tag::Heading { level, .. } => {
                self.open_leaf(range.start);
                self.runs = Some((Runs::new(self.source), Kind::Heading(level as usize)));
            }
            Tag::BlockQuote(_) => {
                self.open_container(range.start);
                self.containers.push(Container::Quote);
            }
            Tag::List(first) => {
                self.open_container(range.start);
                self.containers.push(Container::List { is_numbered: first.is_some() });
            }
            Tag::Item => {
                self.open_container(range.start);
                let number = match self.containers.last() {
                    Some(Container::List { is_numbered: true }) => {
                        let mark = &self.source[range.start..];
                        let digits = mark.len() - mark.trim_start_matches(|c: char| c.is_ascii_digit()).len();
                        // The marker as written: `3)` or `3.`.
                        mark.get(..=digits).map(str::to_owned)
                    }
                    _ => None,
                };
                let columns = number.as_ref().map_or(2, |number| number.len() + 1);
                self.marker = Some(number.map_or(Marker::Bullet, Marker::Number));
                self.containers.push(Container::Item(columns));
            }
            Tag::CodeBlock(kind) => {
                self.open_leaf(range.start);
                self.is_fenced = kind.is_fenced();
                let language = match &kind {
                    CodeBlockKind::Fenced(language) => askuser::sanitize::line(language).trim().to_owned(),
                    CodeBlockKind::Indented => String::new(),
                };
                self.highlighter = Highlighter::new(&language);
                self.verbatim =
                    Some((if language == "diff" { Kind::Diff(DiffLine::Kept) } else { Kind::Code }, String::new()));
                self.push(Kind::FenceOpen(language), Vec::new());
            }
            Tag::HtmlBlock => {
                self.open_leaf(range.start);
                self.verbatim = Some((Kind::Prose, String::new()));
            }
            Tag::Table(align) => {
                self.open_leaf(range.start);
                self.table = Some(Table { align: align.into_iter().map(aligned).collect(), ..Table::default() });
            }
            Tag::TableHead => {}
            Tag::TableRow => {
                if let Some(table) = &mut self.table {
                    table.rows.push(Vec::new());
                }
            }
            Tag::TableCell => self.runs = Some((Runs::new(self.source), Kind::Prose)),
            tag => {
                self.open_text(range.start);
                if let Some((runs, _)) = &mut self.runs {
                    runs.read(&Event::Start(tag), range);
                }
            }
        }
    }

    fn close(&mut self, tag: TagEnd, range: Range<usize>) {
        match tag {
            TagEnd::Paragraph => {
                self.close_text();
                self.close_top(range, BlockKind::Paragraph);
            }
            TagEnd::Heading(_) => {
                self.close_text();
                let kind = if self.source[range.clone()].starts_with('#') { BlockKind::Line } else { BlockKind::Other };
                self.close_top(range, kind);
            }
            TagEnd::CodeBlock => {
                self.close_verbatim();
                self.push(Kind::FenceClose, Vec::new());
                self.leaf = self.rows.len() - 1;
                let kind = if self.is_fenced { fence(&self.source[range.clone()]) } else { BlockKind::Other };
                self.close_top(range, kind);
            }
            TagEnd::HtmlBlock => {
                self.close_verbatim();
                self.close_top(range, BlockKind::Other);
            }
            TagEnd::TableCell => {
                if let (Some((mut runs, _)), Some(table)) = (self.runs.take(), &mut self.table) {
                    let row = table.rows.last_mut().unwrap_or(&mut table.header);
                    row.push(runs.take());
                }
            }
            TagEnd::TableHead | TagEnd::TableRow => {}
            TagEnd::Table => {
                self.close_table(range.clone());
                self.close_top(range, BlockKind::Other);
            }
            TagEnd::BlockQuote(_) | TagEnd::List(_) | TagEnd::Item => {
                self.close_text();
                self.literal_gap(range.end);
                if tag == TagEnd::Item && self.marker.is_some() {
                    // The item has no text.
                    self.leaf = self.rows.len();
                    self.push(Kind::Prose, Vec::new());
                }
                self.containers.pop();
                self.close_top(range, BlockKind::Other);
            }
            tag => {
                self.end = self.end.max(range.end);
                if let Some((runs, _)) = &mut self.runs {
                    runs.read(&Event::End(tag), range);
                }
            }
        }
    }

    // ---- leaves ----

    fn open_container(&mut self, start: usize) {
        self.close_text();
        self.literal_gap(start);
        self.space(start);
    }

    fn open_leaf(&mut self, start: usize) {
        self.open_container(start);
        self.leaf = self.rows.len();
    }

    /// Begins the text of a tight list item. Such a text has no paragraph around it.
    fn open_text(&mut self, start: usize) {
        if self.runs.is_none() {
            self.open_leaf(start);
            self.runs = Some((Runs::new(self.source), Kind::Prose));
        }
    }

    /// Adds a blank row inside a block if the source has one.
    fn space(&mut self, start: usize) {
        let is_blank = |row: &Row| row.kind == Kind::Blank;
        if self.rows.last().is_some_and(|row| !is_blank(row)) && has_blank_line(self.source, self.end, start) {
            let quotes = self.quotes();
            self.rows.push(Row { quotes, ..Row::blank() });
        }
        self.end = self.end.max(start);
    }

    /// Adds definitions of link targets as text. The parser skips them.
    fn literal_gap(&mut self, to: usize) {
        let from = self.end.max(self.hidden).min(to);
        let gap = &self.source[from..to];
        if gap.contains("]:") {
            self.end = to;
            self.leaf = self.rows.len();
            let definitions = &gap[gap.find('[').unwrap_or(0)..];
            self.push_as_written(definitions);
            let blank = gap.len() - gap.trim_start().len();
            self.close_top(from + blank..to, BlockKind::Other);
        }
    }

    fn break_line(&mut self) {
        if let Some((runs, kind)) = &mut self.runs {
            let pieces = runs.take();
            let kind = kind.clone();
            self.push(kind, pieces);
        }
    }

    fn close_text(&mut self) {
        self.break_line();
        self.runs = None;
    }

    fn close_verbatim(&mut self) {
        if let Some((kind, text)) = self.verbatim.take()
            && !text.is_empty()
        {
            let mut highlighter = std::mem::take(&mut self.highlighter);
            for line in text.strip_suffix('\n').unwrap_or(&text).split('\n') {
                let kind = match kind {
                    Kind::Diff(_) => Kind::Diff(DiffLine::of(line)),
                    _ => kind.clone(),
                };
                self.push(kind, highlighter.line(line));
            }
        }
    }

    /// Adds a table. The parser drops cells beyond the header's columns, so a table with such cells is drawn as
    /// written.
    fn close_table(&mut self, range: Range<usize>) {
        let Some(table) = self.table.take() else { return };
        let source = &self.source[range.start.max(self.hidden)..range.end];
        let cells = table.header.iter().chain(table.rows.iter().flatten()).flatten();
        let shown: String = cells.map(|piece| piece.text.as_str()).collect();
        let visible = |text: &str| {
            let is_mark = |c: &char| c.is_whitespace() || "|\\`*_~-:()[]<>\"'!".contains(*c);
            text.chars().filter(|c| !is_mark(c)).collect::<String>()
        };
        let bare: String = source.lines().map(|line| line.trim_start_matches([' ', '>'])).collect();
        if visible(&bare) == visible(&shown) {
            return self.push(Kind::Table(Box::new(table)), Vec::new());
        }
        self.push_as_written(source);
    }

    fn push_as_written(&mut self, source: &str) {
        for line in source.lines().filter(|line| !line.trim().is_empty()) {
            let text = line.trim_start_matches([' ', '>']).to_owned();
            self.push(Kind::Prose, vec![Piece { text, look: Look::default() }]);
        }
    }

    /// Ends text that stands outside any block.
    fn close_loose(&mut self, end: usize) {
        self.close_text();
        if !self.rows.is_empty() {
            self.containers.clear();
            self.close_top(self.end.min(end)..end, BlockKind::Other);
        }
    }

    fn quotes(&self) -> usize {
        self.containers.iter().filter(|container| matches!(container, Container::Quote)).count().min(MAX_QUOTES)
    }

    fn push(&mut self, kind: Kind, pieces: Vec<Piece>) {
        let mut items = self.containers.iter().filter_map(|container| match container {
            Container::Item(columns) => Some(*columns),
            _ => None,
        });
        let marker = self.marker.take();
        // A marker takes the columns of its own item.
        if marker.is_some() {
            items.next_back();
        }
        let indent = items.sum::<usize>().min(MAX_INDENT);
        self.rows.push(Row { quotes: self.quotes(), indent, marker, kind, pieces });
    }

    /// Ends a block. A top-level block becomes an item of the document.
    fn close_top(&mut self, range: Range<usize>, kind: BlockKind) {
        self.end = self.end.max(range.end);
        if !self.containers.is_empty() {
            return;
        }
        let is_code = |kind: &BlockKind| matches!(kind, BlockKind::Fence(..));
        let before = self.blocks.last();
        let before_end = before.map_or(0, |block| block.range.end);
        let is_spaced = has_blank_line(self.source, before_end, range.start)
            || (before.is_some_and(|block| is_code(&block.kind)) || is_code(&kind));
        let settled = self.leaf.min(self.rows.len());
        self.leaf = 0;
        self.blocks.push(Block { range, rows: std::mem::take(&mut self.rows), settled, kind, is_spaced });
    }
}

/// Returns whether a blank line separates two positions. The end of a block may or may not include its line end.
fn has_blank_line(source: &str, from: usize, to: usize) -> bool {
    let from = from.min(to);
    let ended = source[..from].ends_with('\n');
    let ends = source[from..to].chars().filter(|c| *c == '\n').count();
    let blank_before = source[..from].trim_end_matches([' ', '>']).ends_with("\n\n");
    ends + usize::from(ended) >= 2 || blank_before
}

/// Returns the kind of a code block, with the fence that opens it.
fn fence(block: &str) -> BlockKind {
    match block.chars().next() {
        Some(mark @ ('`' | '~')) => BlockKind::Fence(mark, block.len() - block.trim_start_matches(mark).len()),
        _ => BlockKind::Other,
    }
}

fn aligned(alignment: Alignment) -> Align {
    match alignment {
        Alignment::None | Alignment::Left => Align::Left,
        Alignment::Center => Align::Center,
        Alignment::Right => Align::Right,
    }
}
