//! Grep, the tool that searches the contents of files.

use super::blocking::{self, CancellableFile, TIMED_OUT};
use super::confined_path::{self, ConfinedPath, MissingFolders};
use super::folder::{Folder, Opened};
use super::s;
use super::walk::{self, Pattern};
use crate::message::ToolCall;
use crate::tool::{Access, Running, Tool, ToolContext, ToolDefinition, ToolResult};
use crate::tool_input;
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder, Sink, SinkContext, SinkMatch};
use serde::Deserialize;
use serde_json::json;
use std::fs::File;
use std::io;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use tokio_util::sync::CancellationToken;

/// A tool that searches the contents of files.
#[derive(Clone, Copy, Debug, Default)]
pub struct Grep;

const NAME: &str = "Grep";
const MAX_MATCHES: usize = 200;
const MAX_CHARS: usize = 50_000;
const MAX_CONTEXT: u64 = 20;
const LINE_CHARS: usize = 500;
const LINE_BYTES: usize = 8 << 20;

impl Tool for Grep {
    fn definition(&self) -> ToolDefinition {
        super::built_in(
            NAME,
            include_str!("../../prompts/tools/grep.txt"),
            json!({
                "pattern": {"type": "string", "description": "Regular expression, matched line by line"},
                "path": {"type": "string", "description": "File or folder; default the working folder"},
                "glob": {"type": "string", "description": "Only these files, such as *.rs"},
                "ignore_case": {"type": "boolean"},
                "output": {
                    "enum": ["content", "files", "count"],
                    "description": "Matching lines (default), files that match, or matching lines counted by file",
                },
                "context": {
                    "type": "integer", "minimum": 0, "maximum": MAX_CONTEXT,
                    "description": "Lines around each match; default 0",
                },
            }),
            &["pattern"],
        )
    }

    fn access(&self) -> Access {
        Access::Read
    }

    fn run<'a>(&'a self, call: &'a ToolCall, context: &'a ToolContext) -> Running<'a> {
        let subtitle = call.input["pattern"].as_str().unwrap_or_default().to_owned();
        let parsed = parse(call, context).map(|search| (search, subtitle));
        Box::pin(blocking::run_parsed(NAME, context, parsed, |search, cancel| search.run(cancel)))
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum OutputMode {
    #[default]
    Content,
    Files,
    Count,
}

#[derive(Deserialize)]
struct Input<'a> {
    pattern: &'a str,
    #[serde(default, borrow, deserialize_with = "tool_input::text")]
    path: Option<&'a str>,
    #[serde(default, borrow, deserialize_with = "tool_input::text")]
    glob: Option<&'a str>,
    #[serde(default, deserialize_with = "tool_input::flag")]
    ignore_case: Option<bool>,
    #[serde(default, deserialize_with = "tool_input::word")]
    output: Option<OutputMode>,
    #[serde(default, deserialize_with = "tool_input::number")]
    context: Option<u64>,
}

struct Search {
    path: ConfinedPath,
    matcher: RegexMatcher,
    glob: Option<Pattern>,
    mode: OutputMode,
    context: usize,
}

fn parse(call: &ToolCall, context: &ToolContext) -> Result<Search, ToolResult> {
    let Input { pattern, path, glob, ignore_case, output, context: lines } = call.typed_input()?;
    if pattern.is_empty() {
        return Err(call.invalid_input("pattern", "empty", "must be a regular expression"));
    }
    let matcher = RegexMatcherBuilder::new()
        .case_insensitive(ignore_case.unwrap_or(false))
        .multi_line(true)
        // `$` matches before CRLF, too, but a line ends only with LF.
        .crlf(true)
        .line_terminator(Some(b'\n'))
        .build(pattern)
        .map_err(|error| {
            let limit =
                "must be a regular expression for single lines; escape ( ) [ ] { } . * + ? ^ $ | \\ to mean themselves";
            call.invalid_input("pattern", &error.to_string(), limit)
        })?;
    let glob = match glob {
        Some(text) => Some(Pattern::parse(text).map_err(|why| call.invalid_input("glob", text, &why))?),
        None => None,
    };
    let lines = lines.unwrap_or(0);
    if lines > MAX_CONTEXT {
        return Err(call.invalid_input("context", &lines.to_string(), &format!("at most {MAX_CONTEXT}")));
    }
    let path = ConfinedPath::resolve_to_read(call, path.unwrap_or("."), context)?;
    Ok(Search { path, matcher, glob, mode: output.unwrap_or_default(), context: lines as usize })
}

impl Search {
    fn run(&self, cancel: &CancellationToken) -> ToolResult {
        let shown = self.path.display();
        match self.path.open() {
            Ok(Opened::Folder(_) | Opened::File(..)) => {}
            Ok(Opened::Missing) => return ToolResult::error(format!("path: {shown} does not exist")),
            Ok(Opened::Other) => return ToolResult::error(format!("path: {shown} is neither a file nor a folder")),
            Err(error) => return confined_path::path_error(&shown, "cannot be searched", &error),
        }
        let context = if self.mode == OutputMode::Content { self.context } else { 0 };
        let mut searcher = SearcherBuilder::new()
            .binary_detection(BinaryDetection::quit(0))
            .heap_limit(Some(LINE_BYTES))
            .before_context(context)
            .after_context(context)
            .build();
        let mut opener = Opener { root: &self.path, folder: None };
        let mut report = Report { mode: self.mode, ..Report::default() };
        walk::files(&self.path.absolute(), self.glob.as_ref(), cancel, |below, _| {
            let Some(file) = opener.open(below) else { return ControlFlow::Continue(()) };
            let searched = searcher.search_reader(&self.matcher, CancellableFile { file, cancel }, &mut report);
            report.unread += usize::from(searched.is_err() && !cancel.is_cancelled());
            report.end_file(searched.is_ok().then(|| self.path.display_below(below)));
            if report.full { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        report.timed_out = cancel.is_cancelled();
        report.into_result()
    }
}

/// Opens files without following links. It keeps the last folder open for the next file in it.
struct Opener<'a> {
    root: &'a ConfinedPath,
    folder: Option<(PathBuf, Folder)>,
}

impl Opener<'_> {
    fn open(&mut self, below: &Path) -> Option<File> {
        let path = self.root.join(below);
        let parent = path.relative.parent().unwrap_or(Path::new("")).to_owned();
        if self.folder.as_ref().is_none_or(|(path, _)| *path != parent) {
            let (folder, _) = path.open_parent(MissingFolders::Fail).ok()?;
            self.folder = Some((parent, folder));
        }
        let (_, folder) = self.folder.as_ref()?;
        match folder.open(path.relative.file_name()?) {
            Ok(Opened::File(file, _)) => Some(file),
            _ => None,
        }
    }
}

#[derive(Default)]
struct Report {
    mode: OutputMode,
    output: String,
    /// The number of characters of the output, including the matches in the current file.
    chars: usize,
    matches: usize,
    files: usize,
    unread: usize,
    file: Found,
    /// Whether matches were left out.
    full: bool,
    timed_out: bool,
}

/// The matches in the current file so far.
#[derive(Default)]
struct Found {
    text: String,
    count: usize,
    is_binary: bool,
}

impl Report {
    fn line(&mut self, number: Option<u64>, mark: char, bytes: &[u8]) -> bool {
        let text = String::from_utf8_lossy(bytes);
        let text = text.trim_end_matches(['\n', '\r']);
        let number = number.unwrap_or_default();
        let line = match text.char_indices().nth(LINE_CHARS) {
            Some((end, _)) => format!("{number}{mark}{}… (cut)\n", &text[..end]),
            None => format!("{number}{mark}{text}\n"),
        };
        let chars = line.chars().count();
        self.full = self.chars + chars > MAX_CHARS;
        if !self.full {
            self.chars += chars;
            self.file.text.push_str(&line);
        }
        !self.full
    }

    /// Ends the search of a file. If `shown` is `None`, its matches do not count.
    fn end_file(&mut self, shown: Option<String>) {
        let Found { text, count, is_binary } = std::mem::take(&mut self.file);
        self.chars -= text.chars().count();
        // A NUL byte shows that the file is binary, so the matches before it do not count.
        let Some(shown) = shown.filter(|_| count > 0 && !is_binary) else { return };
        if self.mode != OutputMode::Content && self.files == MAX_MATCHES {
            self.full = true;
            return;
        }
        let entry = match self.mode {
            OutputMode::Content if self.files == 0 => format!("{shown}\n{text}"),
            OutputMode::Content => format!("\n{shown}\n{text}"),
            OutputMode::Files => format!("{shown}\n"),
            OutputMode::Count => format!("{shown}:{count}\n"),
        };
        self.chars += entry.chars().count();
        self.output.push_str(&entry);
        self.files += 1;
        self.matches += count;
        self.full |= self.chars > MAX_CHARS;
    }

    fn into_result(mut self) -> ToolResult {
        let mut notes = Vec::new();
        let matches = self.matches;
        let files = self.files;
        match (self.full, self.mode) {
            (true, OutputMode::Content) => notes.push(format!(
                "Stopped after {matches} match{}; there are more. Narrow the pattern, path or glob.",
                if matches == 1 { "" } else { "es" }
            )),
            (true, OutputMode::Files | OutputMode::Count) => {
                notes.push(format!("Stopped after {files} files; there are more. Narrow the pattern, path or glob."));
            }
            (false, OutputMode::Count) if matches > 0 => {
                notes.push(format!("{matches} matching line{} in {files} file{}", s(matches), s(files)));
            }
            (false, _) if matches == 0 && !self.timed_out => {
                notes.push(
                    "No matches. Binary and ignored files are not searched, hidden ones only if glob names them."
                        .into(),
                );
            }
            (false, _) => {}
        }
        if self.timed_out {
            notes.push(TIMED_OUT.into());
        }
        if self.unread > 0 {
            notes.push(format!("{} file{} could not be read to the end.", self.unread, s(self.unread)));
        }
        if !notes.is_empty() {
            let before = if self.output.is_empty() { "" } else { "\n" };
            self.output.push_str(&format!("{before}({})\n", notes.join(" ")));
        }
        ToolResult::ok(self.output)
    }
}

impl Sink for Report {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> io::Result<bool> {
        if self.mode == OutputMode::Content {
            if self.matches + self.file.count == MAX_MATCHES {
                self.full = true;
                return Ok(false);
            }
            if !self.line(found.line_number(), ':', found.bytes()) {
                return Ok(false);
            }
        }
        self.file.count += 1;
        Ok(self.mode != OutputMode::Files)
    }

    fn context(&mut self, _: &Searcher, line: &SinkContext<'_>) -> io::Result<bool> {
        Ok(self.line(line.line_number(), '-', line.bytes()))
    }

    fn context_break(&mut self, _: &Searcher) -> io::Result<bool> {
        self.file.text.push_str("--\n");
        self.chars += 3;
        Ok(true)
    }

    fn binary_data(&mut self, _: &Searcher, _: u64) -> io::Result<bool> {
        self.file.is_binary = true;
        Ok(false)
    }
}

// The paths in these tests have the format of Unix.
#[cfg(all(test, unix))]
#[path = "grep_tests.rs"]
mod tests;
