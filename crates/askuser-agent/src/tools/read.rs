//! Read, the tool that shows a file as numbered lines, or the entries of a folder. Files are streamed, so memory use is
//! limited.

use super::blocking::{self, CancellableFile};
use super::confined_path::{self, ConfinedPath};
use super::folder::{Folder, Opened};
use super::s;
use super::seen_files::{Digesting, SeenFiles};
use crate::message::ToolCall;
use crate::tool::{Access, Running, Tool, ToolContext, ToolDefinition, ToolResult};
use crate::tool_input;
use serde::Deserialize;
use serde_json::json;
use sha2::Sha256;
use std::io::{self, BufRead, BufReader};
use tokio_util::sync::CancellationToken;

/// A tool that reads a file or lists a folder.
#[derive(Clone, Copy, Debug, Default)]
pub struct Read;

const NAME: &str = "Read";
const MAX_LINES: u64 = 2_000;
const MAX_CHARS: usize = 50_000;
const MAX_ENTRIES: usize = 500;
/// The maximum number of characters that are shown of a line.
const LINE_CHARS: usize = 2_000;
/// The maximum number of bytes that are stored of a line. It suffices to show in any script that the line is too long.
const LINE_BYTES: usize = 4 * LINE_CHARS + 4;
/// The number of bytes after the page in which lines are still counted.
const COUNTED_BYTES: u64 = 64 << 20;
const BUFFER: usize = 64 << 10;

impl Tool for Read {
    fn definition(&self) -> ToolDefinition {
        super::built_in(
            NAME,
            include_str!("../../prompts/tools/read.txt"),
            json!({
                "path": {"type": "string"},
                "offset": {"type": "integer", "minimum": 1, "description": "First line; default 1"},
                "limit": {"type": "integer", "minimum": 1, "maximum": MAX_LINES, "description": "How many lines"},
            }),
            &["path"],
        )
    }

    fn access(&self) -> Access {
        Access::Read
    }

    fn run<'a>(&'a self, call: &'a ToolCall, context: &'a ToolContext) -> Running<'a> {
        let parsed = parse(call, context).map(|(path, range)| {
            let shown = path.display();
            ((path, range), shown)
        });
        let known = context.shared.seen_files.clone();
        let work = move |(path, range): (ConfinedPath, LineRange), cancel: &CancellationToken| {
            read(&path, range, &known, cancel)
        };
        Box::pin(blocking::run_parsed(NAME, context, parsed, work))
    }
}

#[derive(Deserialize)]
struct Input<'a> {
    path: &'a str,
    #[serde(default, deserialize_with = "tool_input::number")]
    offset: Option<u64>,
    #[serde(default, deserialize_with = "tool_input::number")]
    limit: Option<u64>,
}

#[derive(Clone, Copy, Default)]
struct LineRange {
    first: u64,
    max: u64,
}

fn parse(call: &ToolCall, context: &ToolContext) -> Result<(ConfinedPath, LineRange), ToolResult> {
    let Input { path, offset, limit } = call.typed_input()?;
    let path = ConfinedPath::resolve_to_read(call, path, context)?;
    let range = LineRange { first: offset.unwrap_or(1), max: limit.unwrap_or(MAX_LINES).min(MAX_LINES) };
    Ok((path, range))
}

fn read(path: &ConfinedPath, range: LineRange, known: &SeenFiles, cancel: &CancellationToken) -> ToolResult {
    let shown = path.display();
    let result = match path.open() {
        Ok(Opened::File(file, metadata)) => {
            let reader = Digesting { reader: CancellableFile { file, cancel }, read: Sha256::default() };
            let mut reader = BufReader::with_capacity(BUFFER, reader);
            let page = read_page(&mut reader, &shown, metadata.len(), range);
            // A file with uncounted bytes is not recorded as seen. It is too long for Write to replace it.
            let is_whole = reader.fill_buf().is_ok_and(<[u8]>::is_empty);
            page.map(|page| {
                if !page.success || !is_whole {
                    return page;
                }
                page.with_details(json!({"seen": known.has_read(path, reader.into_inner().finish())}))
            })
        }
        Ok(Opened::Folder(folder)) => listing(&folder, &shown),
        Ok(Opened::Other) => Ok(ToolResult::error(format!(
            "{shown} is a pipe, socket, device or link, not a file or folder; Read does not open it."
        ))),
        Ok(Opened::Missing) => {
            Ok(ToolResult::error(format!("{shown} does not exist. Glob finds files by name, Read lists a folder.")))
        }
        Err(error) => Err(error),
    };
    result.unwrap_or_else(|error| confined_path::path_error(&shown, "cannot be read", &error))
}

fn listing(folder: &Folder, shown: &str) -> io::Result<ToolResult> {
    let (entries, count) = folder.entries(MAX_ENTRIES)?;
    let mut output = format!("{shown} is a folder with {count} entr{}:\n", if count == 1 { "y" } else { "ies" });
    for (name, is_folder) in &entries {
        output.push_str(&format!("{name}{}\n", if *is_folder { "/" } else { "" }));
    }
    if count > entries.len() {
        output.push_str(&format!("({} more; Glob narrows it down)\n", count - entries.len()));
    }
    Ok(ToolResult::ok(output))
}

fn read_page(reader: &mut impl BufRead, shown: &str, bytes: u64, range: LineRange) -> io::Result<ToolResult> {
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
    let mut page = Page { range, ..Page::default() };
    page.read_lines(reader)?;
    Ok(page.into_result(shown))
}

/// The page that is being read, and the facts about the lines so far.
#[derive(Default)]
struct Page {
    range: LineRange,
    output: String,
    output_chars: usize,
    /// The number of the last line in the output.
    last: u64,
    /// Whether the output has reached a limit.
    full: bool,
    /// The number of lines that were read. `at_end` tells whether the file ended.
    line_count: u64,
    at_end: bool,
    lossy: bool,
    crlf: bool,
    /// The beginning of the current line. `line_bytes` and `line_chars` have its whole length.
    line: Vec<u8>,
    line_bytes: u64,
    line_chars: u64,
}

impl Page {
    fn read_lines(&mut self, reader: &mut impl BufRead) -> io::Result<()> {
        let mut beyond = 0;
        loop {
            let buffer = reader.fill_buf()?;
            if buffer.is_empty() {
                if self.line_bytes > 0 {
                    self.end_line();
                }
                self.at_end = true;
                return Ok(());
            }
            if self.full {
                beyond += buffer.len() as u64;
                if beyond > COUNTED_BYTES {
                    return Ok(());
                }
            }
            for piece in buffer.split_inclusive(|byte| *byte == b'\n') {
                self.add(piece);
            }
            let used = buffer.len();
            reader.consume(used);
        }
    }

    fn add(&mut self, piece: &[u8]) {
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
        !self.full && self.line_count + 1 >= self.range.first
    }

    fn end_line(&mut self) {
        if self.is_wanted() {
            self.keep_line();
        }
        self.line_count += 1;
        self.line.clear();
        (self.line_bytes, self.line_chars) = (0, 0);
    }

    fn keep_line(&mut self) {
        let number = self.line_count + 1;
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
        if number > self.range.first && self.output_chars + chars > MAX_CHARS {
            self.full = true;
            return;
        }
        // A shortened line may end inside a character. So only complete lines show whether the file is UTF-8.
        self.lossy |= self.line.len() < LINE_BYTES && matches!(text, std::borrow::Cow::Owned(_));
        self.crlf |= is_crlf;
        self.output.push_str(&line);
        self.output_chars += chars;
        self.last = number;
        self.full = number + 1 - self.range.first >= self.range.max;
    }

    fn into_result(mut self, shown: &str) -> ToolResult {
        let LineRange { first, .. } = self.range;
        if self.last == 0 {
            let lines = self.line_count as usize;
            return ToolResult::error(format!("offset: {first}, but {shown} has {lines} line{}", s(lines)));
        }
        let mut notes = Vec::new();
        if self.last < self.line_count || !self.at_end {
            let than = if self.at_end { "" } else { "more than " };
            let (last, lines, next) = (self.last, self.line_count, self.last + 1);
            notes.push(format!("Lines {first}-{last} of {than}{lines}. Read on with offset {next}."));
        }
        if self.crlf {
            notes.push("Lines end with CRLF; Edit keeps that.".into());
        }
        if self.lossy {
            notes.push("Not all of it is UTF-8; invalid bytes are shown as \u{fffd}.".into());
        }
        if !notes.is_empty() {
            self.output.push_str(&format!("\n({})\n", notes.join(" ")));
        }
        ToolResult::ok(self.output)
    }
}

#[cfg(test)]
#[path = "read_tests.rs"]
mod tests;
