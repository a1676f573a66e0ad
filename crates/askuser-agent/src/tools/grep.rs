//! Grep: files by what is in them.

use super::background::{self, OUT_OF_TIME, Stoppable};
use super::folder::{Folder, Thing};
use super::input::{Fields, refuse};
use super::paths::{self, Missing, Place};
use super::s;
use super::walk::{self, Next, Pattern};
use crate::message::ToolCall;
use crate::tool::{Access, Running, Tool, ToolContext, ToolDefinition, ToolResult};
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder, Sink, SinkContext, SinkMatch};
use serde_json::json;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use tokio_util::sync::CancellationToken;

/// Searches in files.
#[derive(Clone, Copy, Debug, Default)]
pub struct Grep;

const NAME: &str = "Grep";
const MOST_MATCHES: usize = 200;
const MOST_CHARS: usize = 50_000;
const MOST_CONTEXT: u64 = 20;
const LINE_CHARS: usize = 500;
/// The longest line that is searched.
const LINE_BYTES: usize = 8 << 20;

impl Tool for Grep {
    fn definition(&self) -> ToolDefinition {
        ToolDefinition {
            name: NAME.into(),
            description: include_str!("../../prompts/tools/grep.txt").trim_ascii_end().into(),
            schema: json!({
                "type": "object",
                "properties": {
                    "pattern": {"type": "string", "description": "Regular expression, matched line by line"},
                    "path": {"type": "string", "description": "File or folder; default the working folder"},
                    "glob": {"type": "string", "description": "Only these files, such as *.rs"},
                    "ignore_case": {"type": "boolean"},
                    "output": {
                        "enum": ["content", "files", "count"],
                        "description": "Matching lines (default), files that match, or matching lines counted by file",
                    },
                    "context": {
                        "type": "integer", "minimum": 0, "maximum": MOST_CONTEXT,
                        "description": "Lines around each match; default 0",
                    },
                },
                "required": ["pattern"],
            }),
        }
    }

    fn access(&self) -> Access {
        Access::Read
    }

    fn run<'a>(&'a self, call: &'a ToolCall, context: &'a ToolContext) -> Running<'a> {
        Box::pin(async move {
            let search = match parse(call, context) {
                Ok(search) => search,
                Err(refused) => return Ok(refused),
            };
            let subtitle = call.input["pattern"].as_str().unwrap_or_default().to_owned();
            let result = background::run(context, move |stopped| search.run(stopped)).await?;
            Ok(result.unwrap_or_else(|broken| broken).titled(NAME, subtitle))
        })
    }
}

/// What is told of a match.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Content,
    Files,
    Count,
}

struct Search {
    place: Place,
    matcher: RegexMatcher,
    glob: Option<Pattern>,
    form: Form,
    context: usize,
}

fn parse(call: &ToolCall, context: &ToolContext) -> Result<Search, ToolResult> {
    let fields = Fields::of(call)?;
    let pattern = fields.text("pattern")?;
    if pattern.is_empty() {
        return Err(refuse(call, "pattern", "empty", "must be a regular expression"));
    }
    let matcher = RegexMatcherBuilder::new()
        .case_insensitive(fields.flag("ignore_case")?)
        .multi_line(true)
        // `$` is before CRLF too; lines end with LF all the same.
        .crlf(true)
        .line_terminator(Some(b'\n'))
        .build(pattern)
        .map_err(|error| {
            let limit =
                "must be a regular expression for single lines; escape ( ) [ ] { } . * + ? ^ $ | \\ to mean themselves";
            refuse(call, "pattern", &error.to_string(), limit)
        })?;
    let glob = match fields.optional_text("glob")? {
        Some(text) => Some(Pattern::parse(text).map_err(|why| refuse(call, "glob", text, &why))?),
        None => None,
    };
    let form = match fields.optional_text("output")? {
        None | Some("content") => Form::Content,
        Some("files") => Form::Files,
        Some("count") => Form::Count,
        Some(other) => return Err(refuse(call, "output", other, "must be content, files or count")),
    };
    let lines = fields.optional_number("context")?.unwrap_or(0);
    if lines > MOST_CONTEXT {
        return Err(refuse(call, "context", &lines.to_string(), &format!("at most {MOST_CONTEXT}")));
    }
    let place = Place::of(call, fields.optional_text("path")?.unwrap_or("."), context)?;
    Ok(Search { place, matcher, glob, form, context: lines as usize })
}

impl Search {
    fn run(&self, stopped: &CancellationToken) -> ToolResult {
        let shown = self.place.shown();
        match self.place.thing() {
            Ok(Thing::Folder(_) | Thing::File(..)) => {}
            Ok(Thing::Nothing) => return ToolResult::error(format!("path: {shown} does not exist")),
            Ok(Thing::Other) => return ToolResult::error(format!("path: {shown} is neither a file nor a folder")),
            Err(error) => return paths::failure(&shown, "cannot be searched", &error),
        }
        let context = if self.form == Form::Content { self.context } else { 0 };
        let mut searcher = SearcherBuilder::new()
            .binary_detection(BinaryDetection::quit(0))
            .heap_limit(Some(LINE_BYTES))
            .before_context(context)
            .after_context(context)
            .build();
        let mut opener = Opener { root: &self.place, last: None };
        let mut report = Report::new(self.form);
        walk::files(&self.place.real(), self.glob.as_ref(), stopped, |below, _| {
            let Some(file) = opener.open(below) else { return Next::Continue };
            let mut sink = Matches::new(self.form, report.room());
            let reader = Stoppable { file, stopped };
            match searcher.search_reader(&self.matcher, reader, &mut sink) {
                Ok(()) => report.add(&self.place.below(below), sink),
                Err(_) if stopped.is_cancelled() => {}
                Err(_) => report.unread += 1,
            }
            if report.full { Next::Stop } else { Next::Continue }
        });
        report.out_of_time = stopped.is_cancelled();
        report.into_result()
    }
}

/// Opens files without following links, and the folder of neighbours once.
struct Opener<'a> {
    root: &'a Place,
    last: Option<(PathBuf, Folder)>,
}

impl Opener<'_> {
    fn open(&mut self, below: &Path) -> Option<File> {
        let place = self.root.join(below);
        let parent = place.inner.parent().unwrap_or(Path::new("")).to_owned();
        if self.last.as_ref().is_none_or(|(path, _)| *path != parent) {
            let (folder, _) = place.parent(Missing::Fail).ok()?;
            self.last = Some((parent, folder));
        }
        let (_, folder) = self.last.as_ref()?;
        match folder.thing(place.inner.file_name()?) {
            Ok(Thing::File(file, _)) => Some(file),
            _ => None,
        }
    }
}

/// The matches of one file.
struct Matches {
    form: Form,
    room: Room,
    text: String,
    chars: usize,
    count: usize,
    binary: bool,
    /// Whether there was no room for more.
    cut: bool,
}

/// What still fits.
#[derive(Clone, Copy)]
struct Room {
    matches: usize,
    chars: usize,
}

impl Matches {
    fn new(form: Form, room: Room) -> Matches {
        Matches { form, room, text: String::new(), chars: 0, count: 0, binary: false, cut: false }
    }

    fn line(&mut self, number: Option<u64>, mark: char, bytes: &[u8]) -> bool {
        let text = String::from_utf8_lossy(bytes);
        let text = text.trim_end_matches(['\n', '\r']);
        let number = number.unwrap_or_default();
        let line = match text.char_indices().nth(LINE_CHARS) {
            Some((end, _)) => format!("{number}{mark}{}… (cut)\n", &text[..end]),
            None => format!("{number}{mark}{text}\n"),
        };
        let chars = line.chars().count();
        if self.chars + chars > self.room.chars {
            self.cut = true;
            return false;
        }
        self.chars += chars;
        self.text.push_str(&line);
        true
    }
}

impl Sink for Matches {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> io::Result<bool> {
        match self.form {
            Form::Files => {
                self.count = 1;
                return Ok(false);
            }
            Form::Count => {
                self.count += 1;
                return Ok(true);
            }
            Form::Content => {}
        }
        if self.count == self.room.matches {
            self.cut = true;
            return Ok(false);
        }
        if !self.line(found.line_number(), ':', found.bytes()) {
            return Ok(false);
        }
        self.count += 1;
        Ok(true)
    }

    fn context(&mut self, _: &Searcher, line: &SinkContext<'_>) -> io::Result<bool> {
        Ok(self.line(line.line_number(), '-', line.bytes()))
    }

    fn context_break(&mut self, _: &Searcher) -> io::Result<bool> {
        self.text.push_str("--\n");
        self.chars += 3;
        Ok(true)
    }

    fn binary_data(&mut self, _: &Searcher, _: u64) -> io::Result<bool> {
        self.binary = true;
        Ok(false)
    }
}

/// The matches of all files.
struct Report {
    form: Form,
    output: String,
    chars: usize,
    matches: usize,
    files: usize,
    unread: usize,
    full: bool,
    out_of_time: bool,
}

impl Report {
    fn new(form: Form) -> Report {
        Report {
            form,
            output: String::new(),
            chars: 0,
            matches: 0,
            files: 0,
            unread: 0,
            full: false,
            out_of_time: false,
        }
    }

    fn room(&self) -> Room {
        Room { matches: MOST_MATCHES.saturating_sub(self.matches), chars: MOST_CHARS.saturating_sub(self.chars) }
    }

    fn add(&mut self, shown: &str, found: Matches) {
        // Lines before the first NUL may look like text; the file is none.
        if found.binary {
            return;
        }
        if found.count > 0 {
            let entry = match self.form {
                Form::Content if self.files == 0 => format!("{shown}\n{}", found.text),
                Form::Content => format!("\n{shown}\n{}", found.text),
                Form::Files => format!("{shown}\n"),
                Form::Count => format!("{shown}:{}\n", found.count),
            };
            let is_listed = match self.form {
                Form::Content => true,
                Form::Files | Form::Count => self.files < MOST_MATCHES,
            };
            if !is_listed {
                self.full = true;
                return;
            }
            self.chars += entry.chars().count();
            self.output.push_str(&entry);
            self.files += 1;
            self.matches += found.count;
        }
        self.full |= found.cut || self.chars > MOST_CHARS;
    }

    fn into_result(mut self) -> ToolResult {
        let mut notes = Vec::new();
        let (matches, files) = (self.matches, self.files);
        match (self.full, self.form) {
            (true, Form::Content) => notes.push(format!(
                "Stopped after {matches} match{}; there are more. Narrow the pattern, path or glob.",
                if matches == 1 { "" } else { "es" }
            )),
            (true, Form::Files | Form::Count) => {
                notes.push(format!("Stopped after {files} files; there are more. Narrow the pattern, path or glob."));
            }
            (false, Form::Count) if matches > 0 => {
                notes.push(format!("{matches} matching line{} in {files} file{}", s(matches), s(files)));
            }
            (false, _) if matches == 0 && !self.out_of_time => {
                notes.push(
                    "No matches. Binary and ignored files are not searched, hidden ones only if glob names them."
                        .into(),
                );
            }
            (false, _) => {}
        }
        if self.out_of_time {
            notes.push(OUT_OF_TIME.into());
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

#[cfg(all(test, unix))]
#[path = "grep_tests.rs"]
mod tests;
