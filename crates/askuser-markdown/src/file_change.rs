//! The change of a file as a unified diff, and the change that an editing tool's call would make.

use askuser::{FileChange, ToolUse};
use serde_json::{Map, Value};
use similar::{ChangeTag, TextDiff};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The time limit for computing a minimal diff. A diff that takes longer is less minimal, but still correct.
const DIFF_TIMEOUT: Duration = Duration::from_millis(500);
/// The size of the longest diff that is shown, in bytes. A person cannot agree to a longer diff.
pub const MAX_DIFF: usize = 4_000_000;

/// Compares two contents of a file. `None` stands for a file that does not exist.
pub fn file_change(path: &str, old: Option<&[u8]>, new: Option<&[u8]>) -> FileChange {
    let text = |content: Option<&[u8]>| String::from_utf8_lossy(content.unwrap_or_default()).into_owned();
    let old_text = text(old);
    let new_text = text(new);
    // A carriage return alone does not end a line. Otherwise half a line would stand behind the sign of another line.
    let lines = |text| str::split_inclusive(text, '\n').collect::<Vec<_>>();
    let compared = TextDiff::configure().timeout(DIFF_TIMEOUT).diff_slices(&lines(&old_text), &lines(&new_text));
    let count = |tag| compared.iter_all_changes().filter(|change| change.tag() == tag).count();
    let added = count(ChangeTag::Insert);
    let removed = count(ChangeTag::Delete);
    let name = |content: Option<&[u8]>, side| content.map_or("/dev/null".into(), |_| format!("{side}/{path}"));
    let mut diff = String::new();
    for hunk in compared.unified_diff().iter_hunks() {
        if diff.is_empty() {
            diff = format!("--- {}\n+++ {}\n", name(old, "a"), name(new, "b"));
        }
        diff.push_str(&format!("{}\n", hunk.header()));
        for change in hunk.iter_changes() {
            let end = if change.value().ends_with('\n') { "" } else { "\n\\ No newline at end of file\n" };
            diff.push_str(&format!("{}{}{end}", change.tag(), change.value()));
        }
    }
    FileChange { path: path.to_owned(), is_new: old.is_none(), added, removed, diff }
}

/// Describes a call of another agent's tool, with the change that the call makes if it edits a file. `read` returns the
/// content of a file, and `Ok(None)` if the file does not exist.
///
/// A call has no change if the outcome of the edit is uncertain. The person then reads the input itself.
pub fn tool_use(
    tool: &str,
    input: &Map<String, Value>,
    folder: &Path,
    read: &dyn Fn(&Path) -> std::io::Result<Option<Vec<u8>>>,
) -> ToolUse {
    let call = ToolUse::new(tool, input.clone());
    let change = edit(tool, input).and_then(|(path, edit)| {
        let path = folder.join(path);
        let shown = path.strip_prefix(folder).unwrap_or(&path).to_str()?.to_owned();
        // A line end in a file name would draw further lines.
        if shown.chars().any(char::is_control) {
            return None;
        }
        let old = read(&path).ok()?;
        let (old, new) = edit.apply(old)?;
        let change = file_change(&shown, old.as_deref().map(str::as_bytes), Some(new.as_bytes()));
        (change.diff.len() <= MAX_DIFF).then_some(change)
    });
    call.with_change(change)
}

/// An edit in the format of Claude Code's tools.
enum Edit<'a> {
    Replace(Vec<Replacement<'a>>),
    Write(&'a str),
    Cell { id: Option<&'a str>, mode: CellEdit, source: &'a str },
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum CellEdit {
    Replace,
    Insert,
    Delete,
}

#[derive(Clone, Copy)]
struct Replacement<'a> {
    old: &'a str,
    new: &'a str,
    all: bool,
}

/// Returns the file that a call edits, and the edit. `None` if the call edits no file, or its input is invalid.
fn edit<'a>(tool: &str, input: &'a Map<String, Value>) -> Option<(PathBuf, Edit<'a>)> {
    let text = |name: &str| input.get(name)?.as_str();
    let path = |name: &str| Some(PathBuf::from(text(name)?));
    let replacement = |input: &'a Value| {
        let text = |name: &str| input[name].as_str();
        let all = input["replace_all"].as_bool().unwrap_or(false);
        Some(Replacement { old: text("old_string")?, new: text("new_string")?, all })
    };
    match tool {
        "Edit" => {
            let all = input.get("replace_all").and_then(Value::as_bool).unwrap_or(false);
            let only = Replacement { old: text("old_string")?, new: text("new_string")?, all };
            Some((path("file_path")?, Edit::Replace(vec![only])))
        }
        "MultiEdit" => {
            let edits = input.get("edits")?.as_array()?;
            Some((path("file_path")?, Edit::Replace(edits.iter().map(replacement).collect::<Option<_>>()?)))
        }
        "Write" => Some((path("file_path")?, Edit::Write(text("content")?))),
        "NotebookEdit" => {
            let mode = match text("edit_mode") {
                None | Some("replace") => CellEdit::Replace,
                Some("insert") => CellEdit::Insert,
                Some("delete") => CellEdit::Delete,
                Some(_) => return None,
            };
            let cell = Edit::Cell { id: text("cell_id"), mode, source: text("new_source")? };
            Some((path("notebook_path")?, cell))
        }
        _ => None,
    }
}

impl Edit<'_> {
    /// Returns the content before and after the edit. For a notebook, both are the content of one cell. `None` if the
    /// outcome is uncertain.
    fn apply(&self, old: Option<Vec<u8>>) -> Option<(Option<String>, String)> {
        let old = old.map(String::from_utf8).transpose().ok()?;
        match self {
            Edit::Write(content) => Some((old, (*content).to_owned())),
            Edit::Replace(edits) => {
                let mut text = old.clone();
                for edit in edits {
                    text = Some(edit.apply(text.as_deref())?);
                }
                Some((old, text?))
            }
            Edit::Cell { id, mode, source } => {
                let source = if *mode == CellEdit::Delete { String::new() } else { (*source).to_owned() };
                let notebook: Value = serde_json::from_str(&old?).ok()?;
                let cells = notebook["cells"].as_array()?;
                if *mode == CellEdit::Insert {
                    return Some((Some(String::new()), source));
                }
                let id = (*id)?;
                let numbered = id.strip_prefix("cell-").and_then(|number| cells.get(number.parse::<usize>().ok()?));
                let cell = cells.iter().find(|cell| cell["id"] == id).or(numbered)?;
                Some((Some(source_of(cell)?), source))
            }
        }
    }
}

/// Returns the source of a notebook's cell, which is a text or a list of lines. `None` for any other JSON value.
fn source_of(cell: &Value) -> Option<String> {
    match &cell["source"] {
        Value::String(text) => Some(text.clone()),
        Value::Array(lines) => lines.iter().map(|line| line.as_str().map(str::to_owned)).collect(),
        _ => None,
    }
}

impl Replacement<'_> {
    fn apply(&self, text: Option<&str>) -> Option<String> {
        // An empty text stands for a file that is new or empty.
        if self.old.is_empty() {
            return text.is_none_or(str::is_empty).then(|| self.new.to_owned());
        }
        let text = text?;
        // Claude Code converts line ends. The line ends that it writes back are uncertain.
        if text.contains('\r') {
            return None;
        }
        let places = text.matches(self.old).count();
        if places == 0 || (places > 1 && !self.all) {
            return None;
        }
        let whole_line = format!("{}\n", self.old);
        let removes_line = self.new.is_empty() && !self.old.ends_with('\n') && text.contains(&whole_line);
        let old = if removes_line { &whole_line } else { self.old };
        Some(if self.all { text.replace(old, self.new) } else { text.replacen(old, self.new, 1) })
    }
}

#[cfg(test)]
#[path = "file_change_tests.rs"]
mod tests;
