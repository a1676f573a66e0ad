//! Parses Markdown that arrives in pieces.
//!
//! A row is emitted once no further text can change it. Printed rows therefore never change.

use crate::blocks::{Block, BlockKind, read, read_rest};
use crate::highlight::Highlighter;
use crate::inline::{OPENING, OPTIONS, Runs};
use crate::{DiffLine, Kind, Piece, Row};
use askuser::sanitize;
use pulldown_cmark::{Event, Parser, Tag, TagEnd};
use std::ops::Range;

/// A parser for Markdown that arrives in pieces.
#[derive(Clone, Debug, Default)]
pub struct Stream {
    /// The lines of the block that may still change, sanitized.
    pending: String,
    /// The number of rows of the pending block that were emitted.
    given: usize,
    /// Whether the pending block is the rest of a paragraph.
    continues: bool,
    /// The unfinished last line, as received.
    partial: String,
    /// The open fence, if the pending text is inside a top-level code block.
    fence: Option<Fence>,
    gap: Gap,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Fence {
    mark: char,
    length: usize,
    /// The indent of the fence. Lines of code have the same indent.
    indent: usize,
    is_diff: bool,
    highlighter: Highlighter,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Gap {
    /// The state before the first row, which needs no blank line before it.
    #[default]
    Start,
    None,
    /// A blank line is due before the next row.
    Owed,
}

/// The size in bytes at which a pending block is emitted. Parsing a longer block again and again would be slow.
const MAX_PENDING: usize = 64_000;
/// The number of bytes of an unfinished line that a preview shows. The preview shows the end of the line.
const MAX_TAIL_BYTES: usize = 8_000;
/// The number of rows after which an unfinished paragraph is emitted row by row.
const ROWS_HELD: usize = 4;

impl Stream {
    /// Parses more text and returns the rows that have become final.
    pub fn push(&mut self, text: &str) -> Vec<Row> {
        let mut rows = Vec::new();
        let mut rest = text;
        let mut ended = false;
        while let Some((line, after)) = rest.split_once('\n') {
            self.partial.push_str(line);
            let line = std::mem::take(&mut self.partial);
            self.end_line(&line, &mut rows);
            (rest, ended) = (after, true);
        }
        self.partial.push_str(rest);
        if ended {
            self.settle(&mut rows);
        }
        rows
    }

    /// Ends the text and returns the remaining rows. The parser is then ready for another text.
    pub fn finish(&mut self) -> Vec<Row> {
        let mut rows = Vec::new();
        let line = std::mem::take(&mut self.partial);
        if !line.trim().is_empty() {
            self.end_line(&line, &mut rows);
        }
        self.give_all(&mut rows);
        *self = Stream::default();
        rows
    }

    /// Returns a preview of the rows that may still change.
    pub fn tail(&self) -> Vec<Row> {
        let skipped = self.partial.len().saturating_sub(MAX_TAIL_BYTES);
        let start = self.partial.ceil_char_boundary(skipped);
        let pending = if skipped == 0 { self.pending.clone() } else { String::new() };
        let given = if skipped == 0 { self.given } else { 0 };
        let mut preview = Stream { pending, given, partial: String::new(), ..*self };
        let mut rows = Vec::new();
        let line = &self.partial[start..];
        if !line.trim().is_empty() {
            preview.end_line(line, &mut rows);
        }
        preview.give_all(&mut rows);
        rows
    }

    fn end_line(&mut self, line: &str, rows: &mut Vec<Row>) {
        // `sanitize` turns a carriage return inside a line into a newline.
        let clean = sanitize::block(line.strip_suffix('\r').unwrap_or(line)).into_owned();
        for line in clean.split('\n') {
            match self.fence {
                Some(fence) => self.code_line(line, fence, rows),
                None => {
                    let line = if self.pending.is_empty() && line.trim().is_empty() { "" } else { line };
                    if self.pending.is_empty() && line.is_empty() {
                        self.owe_gap();
                        self.continues = false;
                        continue;
                    }
                    self.pending.push_str(line);
                    self.pending.push('\n');
                    if line.trim_start_matches(' ').starts_with(['`', '~']) || self.pending.len() > MAX_PENDING {
                        self.settle(rows);
                    }
                }
            }
        }
    }

    /// Emits a line inside a top-level fence as code, or closes the fence.
    fn code_line(&mut self, line: &str, fence: Fence, rows: &mut Vec<Row>) {
        if is_closing(line, fence.mark, fence.length) {
            self.fence = None;
            self.put(Row { kind: Kind::FenceClose, ..Row::blank() }, rows);
            self.owe_gap();
        } else {
            let indent = (line.len() - line.trim_start_matches(' ').len()).min(fence.indent);
            let mut highlighter = fence.highlighter;
            let pieces = highlighter.line(&line[indent..]);
            self.fence = Some(Fence { highlighter, ..fence });
            let kind = if fence.is_diff { Kind::Diff(DiffLine::of(&line[indent..])) } else { Kind::Code };
            self.put(Row { kind, pieces, ..Row::blank() }, rows);
        }
    }

    /// Emits the rows that are final: all blocks but the last, and the settled rows of the last block.
    fn settle(&mut self, rows: &mut Vec<Row>) {
        if self.pending.len() > MAX_PENDING {
            return self.give_all(rows);
        }
        let mut blocks = self.read();
        let Some(last) = blocks.pop() else { return };
        for block in blocks {
            self.give(block, usize::MAX, rows);
        }
        let is_closed = self.pending.ends_with("\n\n");
        match last.kind {
            BlockKind::Fence(mark, length) if !is_closed_fence(&self.pending[last.range.clone()], mark, length) => {
                let language = match &last.rows[0].kind {
                    Kind::FenceOpen(language) => language.as_str(),
                    _ => "",
                };
                let is_diff = language == "diff";
                let mut highlighter = Highlighter::new(language);
                // The closing fence is still missing.
                for row in &last.rows[1..last.rows.len() - 1] {
                    highlighter.line(&row.pieces.iter().map(|piece| piece.text.as_str()).collect::<String>());
                }
                let before = &self.pending[..last.range.start];
                let indent = before.len() - before.rfind('\n').map_or(0, |end| end + 1);
                self.fence = Some(Fence { mark, length, indent, is_diff, highlighter });
                // The closing fence is still missing, so all rows but the last are emitted.
                let rows_so_far = last.rows.len() - 1;
                self.give(last, rows_so_far, rows);
                self.forget();
            }
            BlockKind::Fence(..) | BlockKind::Line | BlockKind::Paragraph
                if is_closed || last.kind != BlockKind::Paragraph =>
            {
                let is_line = last.kind == BlockKind::Line;
                self.give(last, usize::MAX, rows);
                self.forget();
                if is_closed || !is_line {
                    self.owe_gap();
                }
            }
            _ => {
                // The indent stays in the pending text. Without the indent the block might be of another kind.
                let before = &self.pending[..last.range.start.min(self.pending.len())];
                let start = before.rfind('\n').map_or(0, |end| end + 1);
                if start > 0 {
                    let rest = self.pending.split_off(start);
                    self.forget();
                    self.pending = rest;
                }
                let settled = last.settled;
                self.give(last, settled, rows);
            }
        }
    }

    fn read(&self) -> Vec<Block> {
        if self.continues { read_rest(&self.pending) } else { read(&self.pending) }
    }

    /// Emits the rows of a block before the index `to`, except the rows that were emitted before.
    fn give(&mut self, block: Block, to: usize, rows: &mut Vec<Row>) {
        if block.is_spaced && self.given == 0 {
            self.owe_gap();
        }
        let count = block.rows.len().min(to);
        for row in block.rows.into_iter().take(count).skip(self.given) {
            self.put(row, rows);
        }
        self.given = if to == usize::MAX { 0 } else { self.given.max(count) };
    }

    fn give_all(&mut self, rows: &mut Vec<Row>) {
        for block in self.read() {
            self.give(block, usize::MAX, rows);
        }
        self.forget();
    }

    fn forget(&mut self) {
        self.pending.clear();
        self.given = 0;
        self.continues = false;
    }

    fn owe_gap(&mut self) {
        if self.gap == Gap::None {
            self.gap = Gap::Owed;
        }
    }

    fn put(&mut self, row: Row, rows: &mut Vec<Row>) {
        if self.gap == Gap::Owed && row.kind != Kind::Blank {
            rows.push(Row::blank());
        }
        self.gap = Gap::None;
        rows.push(row);
    }

    /// Returns the first rows of a long unfinished paragraph that are final at this width. `wrap` returns the rows into
    /// which a text breaks.
    pub fn take_stable_rows(&mut self, columns: usize, wrap: impl Fn(&str) -> Vec<Range<usize>>) -> Vec<Row> {
        let mut rows = Vec::new();
        let long = self.pending.len() + self.partial.len() > columns;
        // A text that `sanitize` changes must be complete before it is emitted.
        if self.fence.is_some() || self.given > 0 || !long || sanitize::block(&self.partial) != self.partial {
            return rows;
        }
        let source = format!("{}{}", self.pending, self.partial);
        if let Some(taken) = self.take_from(&source, wrap, &mut rows) {
            let rest = &source[taken..];
            let line = rest.rfind('\n').map_or(0, |end| end + 1);
            (self.pending, self.partial) = (rest[..line].to_owned(), rest[line..].to_owned());
            self.continues = true;
        }
        rows
    }

    /// Emits rows from the beginning of a paragraph and returns their length in bytes. `None` if no row is final.
    fn take_from(
        &mut self,
        source: &str,
        wrap: impl Fn(&str) -> Vec<Range<usize>>,
        rows: &mut Vec<Row>,
    ) -> Option<usize> {
        if source.len() > MAX_PENDING {
            return None;
        }
        let stable = stable_start(source, self.continues)?;
        let text: String = stable.pieces.iter().map(|piece| piece.text.as_str()).collect();
        let ranges = wrap(&text);
        if ranges.len() < ROWS_HELD {
            return None;
        }
        // The last row that begins where the source is drawn as written.
        let (count, taken) = (1..ranges.len()).rev().find_map(|i| Some((i, stable.source_of(ranges[i].start)?)))?;
        for range in ranges.into_iter().take(count) {
            let pieces = within(&stable.pieces, range.start, range.end);
            self.put(Row { kind: Kind::Prose, pieces, ..Row::blank() }, rows);
        }
        Some(taken)
    }
}

/// Returns whether a fenced block ends with its closing fence.
fn is_closed_fence(block: &str, mark: char, length: usize) -> bool {
    let after_opening = block.trim_end_matches('\n').split_once('\n').map(|(_, rest)| rest);
    after_opening.and_then(|rest| rest.rsplit('\n').next()).is_some_and(|line| is_closing(line, mark, length))
}

fn is_closing(line: &str, mark: char, length: usize) -> bool {
    let body = line.trim_start_matches(' ');
    let indent = line.len() - body.len();
    let body = body.trim_end_matches(' ');
    indent < 4 && body.len() >= length && body.chars().all(|c| c == mark)
}

/// The beginning of an unfinished paragraph. No further text can change it.
struct StableStart {
    pieces: Vec<Piece>,
    /// The runs that are drawn as written. A run has a start in the rendered text, a start in the source, and a length
    /// in bytes.
    plain: Vec<(usize, usize, usize)>,
}

impl StableStart {
    fn source_of(&self, shown: usize) -> Option<usize> {
        let run = self.plain.iter().find(|(at, _, length)| (*at..=at + length).contains(&shown));
        run.map(|(at, source, _)| source + shown - at)
    }
}

/// Parses the beginning of a paragraph. Returns `None` if the text is another kind of block.
fn stable_start(text: &str, continues: bool) -> Option<StableStart> {
    let hidden = if continues { OPENING.len() } else { 0 };
    let source = format!("{}{text}", &OPENING[..hidden]);
    let mut runs = Runs::new(&source);
    let mut start = StableStart { pieces: Vec::new(), plain: Vec::new() };
    let mut shown = 0;
    for (i, (event, range)) in Parser::new_ext(&source, OPTIONS).into_offset_iter().enumerate() {
        match event {
            Event::Start(Tag::Paragraph) if i == 0 => continue,
            _ if i == 0 => return None,
            Event::End(TagEnd::Paragraph) => break,
            // The line after a break is a separate row, which is emitted once it is complete.
            Event::SoftBreak | Event::HardBreak => break,
            _ => {}
        }
        let range = range.start.max(hidden)..range.end;
        if range.is_empty() {
            continue;
        }
        let is_text = matches!(event, Event::Text(_)) && !runs.is_inside();
        // Further text may match an open mark.
        let open = is_text.then(|| range.clone().find(|at| may_mark(&source, *at))).flatten();
        let end = open.unwrap_or(range.end);
        runs.read(&event, range.start..end);
        if runs.is_inside() {
            continue;
        }
        let pieces = runs.take();
        let length: usize = pieces.iter().map(|piece| piece.text.len()).sum();
        if is_text {
            start.plain.push((shown, range.start - hidden, length));
        }
        shown += length;
        start.pieces.extend(pieces);
        if open.is_some() {
            break;
        }
    }
    Some(start)
}

/// The distance in bytes within which the end of a bracketed name is searched.
const MAX_NAME: usize = 200;

/// Returns whether this character may become a mark with further text.
fn may_mark(source: &str, at: usize) -> bool {
    let bytes = source.as_bytes();
    let (before, after) = (at.checked_sub(1).map(|at| bytes[at]), bytes.get(at + 1));
    match bytes[at] {
        // A character between blanks is no mark.
        b'*' => !(before == Some(b' ') && after == Some(&b' ')),
        // A character inside a word is no mark.
        b'_' => {
            !(before.is_some_and(|b| b.is_ascii_alphanumeric()) && after.is_some_and(|b| b.is_ascii_alphanumeric()))
        }
        b'<' => after != Some(&b' '),
        // A bracketed name is a mark only if a target may follow.
        b'[' => {
            let name = &bytes[at..bytes.len().min(at + MAX_NAME)];
            let next = name.iter().position(|b| *b == b']').and_then(|end| bytes.get(at + end + 1));
            matches!(next, None | Some(b'(' | b'[' | b':'))
        }
        b'`' | b'~' => true,
        b'\\' | b'!' => after.is_none(),
        _ => false,
    }
}

/// Returns the pieces of a part of the text.
fn within(pieces: &[Piece], start: usize, end: usize) -> Vec<Piece> {
    let mut at = 0;
    let mut out = Vec::new();
    for Piece { text, look } in pieces {
        let from = start.max(at);
        let to = end.min(at + text.len());
        if from < to {
            out.push(Piece { text: text[from - at..to - at].to_owned(), look: *look });
        }
        at += text.len();
    }
    out
}
