//! Read: a file as numbered lines, a folder as a listing. Files of any size are streamed; what is kept is bounded.

use super::background::{self, Stoppable};
use super::folder::{Folder, Thing};
use super::input::{Fields, refuse};
use super::paths::{self, Place};
use super::s;
use crate::message::ToolCall;
use crate::tool::{Access, Running, Tool, ToolContext, ToolDefinition, ToolResult};
use serde_json::json;
use std::io::{self, BufRead, BufReader};
use tokio_util::sync::CancellationToken;

/// Reads a file or lists a folder.
#[derive(Clone, Copy, Debug, Default)]
pub struct Read;

const NAME: &str = "Read";
const MOST_LINES: u64 = 2_000;
const MOST_CHARS: usize = 50_000;
const MOST_NAMES: usize = 500;
/// Longer lines are cut.
const LINE_CHARS: usize = 2_000;
/// What is kept of a line: enough to know that it is too long, whatever it is made of.
const LINE_BYTES: usize = 4 * LINE_CHARS + 4;
/// How far beyond the page lines are counted.
const COUNTED_BYTES: u64 = 64 << 20;
const BUFFER: usize = 64 << 10;

impl Tool for Read {
    fn definition(&self) -> ToolDefinition {
        ToolDefinition {
            name: NAME.into(),
            description: include_str!("../../prompts/tools/read.txt").trim_ascii_end().into(),
            schema: json!({
                "type": "object",
                "properties": {
                    "path": {"type": "string"},
                    "offset": {"type": "integer", "minimum": 1, "description": "First line; default 1"},
                    "limit": {"type": "integer", "minimum": 1, "maximum": MOST_LINES, "description": "How many lines"},
                },
                "required": ["path"],
            }),
        }
    }

    fn access(&self) -> Access {
        Access::Read
    }

    fn run<'a>(&'a self, call: &'a ToolCall, context: &'a ToolContext) -> Running<'a> {
        Box::pin(async move {
            let (place, span) = match parse(call, context) {
                Ok(parsed) => parsed,
                Err(refused) => return Ok(refused),
            };
            let shown = place.shown();
            let result = background::run(context, move |stopped| read(&place, span, stopped)).await?;
            Ok(result.unwrap_or_else(|broken| broken).titled(NAME, shown))
        })
    }
}

/// Which lines.
#[derive(Clone, Copy)]
struct Span {
    first: u64,
    most: u64,
}

fn parse(call: &ToolCall, context: &ToolContext) -> Result<(Place, Span), ToolResult> {
    let fields = Fields::of(call)?;
    let place = Place::of(call, fields.text("path")?, context)?;
    let at_least_one = |field: &str, default: u64| match fields.optional_number(field)? {
        Some(0) => Err(refuse(call, field, "0", "must be at least 1")),
        number => Ok(number.unwrap_or(default)),
    };
    let span = Span { first: at_least_one("offset", 1)?, most: at_least_one("limit", MOST_LINES)?.min(MOST_LINES) };
    Ok((place, span))
}

fn read(place: &Place, span: Span, stopped: &CancellationToken) -> ToolResult {
    let shown = place.shown();
    let result = match place.thing() {
        Ok(Thing::File(file, metadata)) => {
            let mut reader = BufReader::with_capacity(BUFFER, Stoppable { file, stopped });
            page(&mut reader, &shown, metadata.len(), span)
        }
        Ok(Thing::Folder(folder)) => listing(&folder, &shown),
        Ok(Thing::Other) => Ok(ToolResult::error(format!(
            "{shown} is neither a file nor a folder but a pipe, socket, device or link; Read does not open it."
        ))),
        Ok(Thing::Nothing) => {
            Ok(ToolResult::error(format!("{shown} does not exist. Glob finds files by name, Read lists a folder.")))
        }
        Err(error) => Err(error),
    };
    result.unwrap_or_else(|error| paths::failure(&shown, "cannot be read", &error))
}

fn listing(folder: &Folder, shown: &str) -> io::Result<ToolResult> {
    let (names, count) = folder.names(MOST_NAMES)?;
    let mut output = format!("{shown} is a folder with {count} entr{}:\n", if count == 1 { "y" } else { "ies" });
    for entry in &names {
        output.push_str(&format!("{}{}\n", entry.name, if entry.is_folder { "/" } else { "" }));
    }
    if count > names.len() {
        output.push_str(&format!("({} more; Glob narrows it down)\n", count - names.len()));
    }
    Ok(ToolResult::ok(output))
}

fn page(reader: &mut impl BufRead, shown: &str, bytes: u64, span: Span) -> io::Result<ToolResult> {
    let start = reader.fill_buf()?;
    if start.is_empty() {
        return Ok(ToolResult::ok(format!("({shown} is empty.)")));
    }
    if start.starts_with(b"\xff\xfe") || start.starts_with(b"\xfe\xff") {
        return Ok(ToolResult::error(format!("{shown} is UTF-16 text, which Read does not show; iconv converts it.")));
    }
    if start.contains(&0) {
        return Ok(ToolResult::error(format!("{shown} is a binary file of {bytes} bytes; Read shows text only.")));
    }
    if start.starts_with(b"\xef\xbb\xbf") {
        reader.consume(3);
    }
    let mut lines = Lines { span, ..Lines::default() };
    lines.take(reader)?;
    Ok(lines.into_result(shown))
}

/// The lines of a page, and what has been passed on the way.
#[derive(Default)]
struct Lines {
    span: Span,
    output: String,
    output_chars: usize,
    /// The last line in the output.
    last: u64,
    /// Whether no more lines fit.
    full: bool,
    /// How many lines have been passed, and whether that is all.
    passed: u64,
    whole: bool,
    lossy: bool,
    crlf: bool,
    /// The beginning of the line at hand, its bytes and its characters.
    line: Vec<u8>,
    line_bytes: u64,
    line_chars: u64,
}

impl Default for Span {
    fn default() -> Span {
        Span { first: 1, most: MOST_LINES }
    }
}

impl Lines {
    fn take(&mut self, reader: &mut impl BufRead) -> io::Result<()> {
        let mut beyond = 0;
        loop {
            let buffer = reader.fill_buf()?;
            if buffer.is_empty() {
                if self.line_bytes > 0 {
                    self.end_line();
                }
                self.whole = true;
                return Ok(());
            }
            if self.full {
                beyond += buffer.len() as u64;
                if beyond > COUNTED_BYTES {
                    return Ok(());
                }
            }
            for piece in buffer.split_inclusive(|byte| *byte == b'\n') {
                self.feed(piece);
            }
            let used = buffer.len();
            reader.consume(used);
        }
    }

    /// A line, or a piece of one.
    fn feed(&mut self, piece: &[u8]) {
        self.line_bytes += piece.len() as u64;
        if self.is_wanted() {
            let text = piece.strip_suffix(b"\n").unwrap_or(piece);
            self.line.extend(text.iter().take(LINE_BYTES - self.line.len()));
            self.line_chars += text.iter().filter(|byte| **byte & 0xc0 != 0x80).count() as u64;
        }
        if piece.ends_with(b"\n") {
            self.end_line();
        }
    }

    fn is_wanted(&self) -> bool {
        !self.full && self.passed + 1 >= self.span.first
    }

    fn end_line(&mut self) {
        if self.is_wanted() {
            self.keep_line();
        }
        self.passed += 1;
        self.line.clear();
        (self.line_bytes, self.line_chars) = (0, 0);
    }

    fn keep_line(&mut self) {
        let number = self.passed + 1;
        let is_crlf = self.line.last() == Some(&b'\r');
        let kept = if is_crlf { &self.line[..self.line.len() - 1] } else { &self.line };
        let text = String::from_utf8_lossy(kept);
        let mut line = format!("{number}\t");
        match text.char_indices().nth(LINE_CHARS) {
            Some((end, _)) => {
                line.push_str(&text[..end]);
                line.push_str(&format!("… (cut: the line has {} characters)", self.line_chars));
            }
            None => line.push_str(&text),
        }
        line.push('\n');
        let chars = line.chars().count();
        if number > self.span.first && self.output_chars + chars > MOST_CHARS {
            self.full = true;
            return;
        }
        // Only a whole line shows whether its bytes are text: a cut may fall inside a character.
        self.lossy |= self.line.len() < LINE_BYTES && matches!(text, std::borrow::Cow::Owned(_));
        self.crlf |= is_crlf;
        self.output.push_str(&line);
        self.output_chars += chars;
        self.last = number;
        self.full = number + 1 - self.span.first >= self.span.most;
    }

    fn into_result(mut self, shown: &str) -> ToolResult {
        let Span { first, .. } = self.span;
        if self.last == 0 {
            let passed = self.passed as usize;
            return ToolResult::error(format!("offset: {first}, but {shown} has {passed} line{}", s(passed)));
        }
        let mut notes = Vec::new();
        if self.last < self.passed || !self.whole {
            let than = if self.whole { "" } else { "more than " };
            let (last, passed, next) = (self.last, self.passed, self.last + 1);
            notes.push(format!("Lines {first}-{last} of {than}{passed}. Read on with offset {next}."));
        }
        if self.crlf {
            notes.push("Lines end with CRLF; Edit keeps that.".into());
        }
        if self.lossy {
            notes.push("Not all of it is UTF-8: \u{fffd} stands for what is not.".into());
        }
        if !notes.is_empty() {
            self.output.push_str(&format!("\n({})\n", notes.join(" ")));
        }
        ToolResult::ok(self.output)
    }
}

#[cfg(all(test, unix))]
#[path = "read_tests.rs"]
mod tests;
