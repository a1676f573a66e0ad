//! Changing a file: what is there, what will be there, the difference a person agrees to, and the one write.
//!
//! A change is worked out twice, once to ask and once to act, since a file may change while a person thinks. Changes of
//! this process come one after another, so that none is lost between reading and writing.

use super::folder::Thing;
use super::input::refuse;
use super::paths::{self, Home, Missing, Place};
use crate::message::ToolCall;
use crate::tool::{Consent, ToolContext, ToolResult};
use askuser::sanitize;
use serde_json::json;
use similar::{ChangeTag, TextDiff};
use std::fs::Metadata;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::Read;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// The longest content of a call.
pub(crate) const MOST_CONTENT: usize = 1_000_000;
/// The largest file that is changed.
pub(crate) const MOST_FILE: u64 = 10_000_000;
/// What is shown of a difference, and of one line of it: a long line does not hide the others.
const MOST_DIFF_CHARS: usize = 100_000;
const MOST_LINE_CHARS: usize = 2_000;
/// A difference that takes longer is a rougher one, and still true.
const DIFF_TIME: Duration = Duration::from_millis(500);

/// What is in a file before it is changed.
pub(crate) struct Before {
    pub(crate) bytes: Vec<u8>,
    metadata: Metadata,
}

/// A change that can be made.
pub(crate) struct Change {
    pub(crate) place: Place,
    pub(crate) before: Option<Before>,
    pub(crate) after: String,
}

/// What a change changes.
pub(crate) struct Difference {
    text: String,
    added: usize,
    removed: usize,
    left_out: LeftOut,
}

/// What a person is not shown of a difference, in lines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct LeftOut {
    /// Shown as far as a line may reach.
    cut: usize,
    /// Not shown at all.
    hidden: usize,
}

/// Where a change is to be made.
pub(crate) fn place(call: &ToolCall, given: &str, context: &ToolContext) -> Result<Place, ToolResult> {
    if given.ends_with('/') {
        return Err(refuse(call, "path", "ends with /", "must name a file"));
    }
    let place = Place::of(call, given, context)?;
    let shown = place.shown();
    // What a person reads must be what happens.
    if sanitize::line(&shown) != shown {
        return Err(refuse(call, "path", "has characters that cannot be shown", "must be readable to the user"));
    }
    Ok(place)
}

/// What is in the file, if there is one.
pub(crate) fn load(place: &Place) -> Result<Option<Before>, ToolResult> {
    let shown = place.shown();
    let (file, metadata) = match place.thing() {
        Ok(Thing::File(file, metadata)) => (file, metadata),
        Ok(Thing::Nothing) => return Ok(None),
        Ok(Thing::Folder(_)) => return Err(ToolResult::error(format!("{shown} is a folder; nothing was done."))),
        Ok(Thing::Other) => {
            return Err(ToolResult::error(format!(
                "{shown} is a pipe, socket, device or link, not a file; nothing was done."
            )));
        }
        Err(error) => return Err(paths::failure(&shown, "nothing was done, for it cannot be read", &error)),
    };
    let too_large = |bytes: u64| {
        ToolResult::error(format!("{shown} has {bytes} bytes, at most {MOST_FILE} can be changed; nothing was done."))
    };
    if metadata.len() > MOST_FILE {
        return Err(too_large(metadata.len()));
    }
    if metadata.permissions().readonly() {
        return Err(ToolResult::error(format!("{shown} is read-only; nothing was done.")));
    }
    let mut bytes = Vec::with_capacity(metadata.len() as usize);
    if let Err(error) = file.take(MOST_FILE + 1).read_to_end(&mut bytes) {
        return Err(paths::failure(&shown, "nothing was done, for it cannot be read", &error));
    }
    if bytes.len() as u64 > MOST_FILE {
        return Err(too_large(bytes.len() as u64));
    }
    if bytes.contains(&0) {
        return Err(ToolResult::error(format!("{shown} is a binary file; nothing was done.")));
    }
    Ok(Some(Before { bytes, metadata }))
}

/// Changes come one after another.
pub(crate) fn turn() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Change {
    /// Makes the change.
    pub(crate) fn apply(&self) -> Result<(), ToolResult> {
        let made = self.place.parent(Missing::Create).and_then(|(folder, name)| match name {
            Some(name) => {
                let before = self.before.as_ref().map(|before| &before.metadata);
                folder.replace(&name, self.after.as_bytes(), before)
            }
            None => Err(std::io::ErrorKind::IsADirectory.into()),
        });
        made.map_err(|error| paths::failure(&self.place.shown(), "cannot be written", &error))
    }

    pub(crate) fn difference(&self) -> Difference {
        let old = self.before.as_ref().map_or_else(Default::default, |before| String::from_utf8_lossy(&before.bytes));
        let diff = TextDiff::configure().timeout(DIFF_TIME).diff_lines(&*old, self.after.as_str());
        let count = |tag| diff.iter_all_changes().filter(|change| change.tag() == tag).count();
        let (added, removed) = (count(ChangeTag::Insert), count(ChangeTag::Delete));
        let shown = self.place.shown();
        let from = if self.before.is_some() { format!("a/{shown}") } else { "/dev/null".into() };
        let text = diff.unified_diff().header(&from, &format!("b/{shown}")).to_string();
        let (text, left_out) = bounded(&text);
        Difference { text, added, removed, left_out }
    }

    /// What a person is asked. `verb` is what is done: "Edit", "Write".
    pub(crate) fn consent(&self, verb: &str, new_text: &str, context: &ToolContext) -> Consent {
        let sensitive = is_sensitive(&self.place, &context.protected);
        let shown = self.place.shown();
        let difference = self.difference();
        let Difference { added, removed, .. } = difference;
        let mut question = match self.before {
            Some(_) => format!("{verb} {shown} (+{added} −{removed})?"),
            None => format!("{verb} new file {shown} (+{added})?"),
        };
        // Nobody agrees to what they have not seen without knowing that they have not.
        if let Some(words) = difference.left_out.words() {
            question.push_str(&format!("\n\n{words}"));
        }
        if hides_something(new_text) {
            question.push_str("\n\nThe new text has characters that cannot be shown.");
        }
        let (rule, always) = match (sensitive, self.place.home) {
            (true, _) => (format!("edit {}", self.place.real().display()), format!("{verb} {shown} without asking")),
            (false, Home::Here) => ("edit".into(), "Change files in this folder without asking".into()),
            (false, Home::Added) => {
                let root = self.place.root.display();
                (format!("edit in {root}"), format!("Change files in {root} without asking"))
            }
        };
        Consent { question, context: Some(difference.text), rule, always, edits_here: !sensitive }
    }

    /// What came of it.
    pub(crate) fn result(&self, tool: &str, output: String) -> ToolResult {
        let Difference { text, added, removed, .. } = self.difference();
        ToolResult::ok(output)
            .titled(tool, self.place.shown())
            .with_details(json!({"diff": text, "added": added, "removed": removed}))
    }
}

impl Before {
    /// Tells one content from another.
    pub(crate) fn fingerprint(before: Option<&Before>) -> u64 {
        let mut hasher = DefaultHasher::new();
        before.map(|before| &before.bytes).hash(&mut hasher);
        hasher.finish()
    }
}

impl LeftOut {
    /// What is said about it where somebody is asked.
    fn words(self) -> Option<String> {
        let LeftOut { cut, hidden } = self;
        let lines = |lines| format!("{} line{} {}", grouped(lines), super::s(lines), are(lines));
        match (hidden, cut) {
            (0, 0) => None,
            (hidden, 0) => Some(format!("Of this difference, {} not shown.", lines(hidden))),
            (0, cut) => Some(format!("Of this difference, {} shown only in part.", lines(cut))),
            (hidden, cut) => {
                Some(format!("Of this difference, {} not shown and {} shown only in part.", lines(hidden), lines(cut)))
            }
        }
    }
}

/// As much of a difference as is shown, and what is left out of it.
fn bounded(text: &str) -> (String, LeftOut) {
    let (mut shown, mut chars, mut left_out) = (String::new(), 0, LeftOut::default());
    let mut lines = text.split_inclusive('\n');
    for line in lines.by_ref() {
        let body = line.strip_suffix('\n').unwrap_or(line);
        let length = body.chars().count();
        chars += length.min(MOST_LINE_CHARS) + 1;
        if chars > MOST_DIFF_CHARS {
            left_out.hidden = 1;
            break;
        }
        match body.char_indices().nth(MOST_LINE_CHARS) {
            Some((end, _)) => {
                left_out.cut += 1;
                let more = grouped(length - MOST_LINE_CHARS);
                shown.push_str(&format!("{}… {more} more characters of this line are not shown\n", &body[..end]));
            }
            None => shown.push_str(line),
        }
    }
    left_out.hidden += lines.count();
    if left_out.hidden > 0 {
        let (more, s, are) = (grouped(left_out.hidden), super::s(left_out.hidden), are(left_out.hidden));
        shown.push_str(&format!("… {more} more line{s} of this difference {are} not shown\n"));
    }
    (shown, left_out)
}

fn are(number: usize) -> &'static str {
    if number == 1 { "is" } else { "are" }
}

/// A number with its thousands apart.
fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

fn hides_something(text: &str) -> bool {
    let text = text.replace('\t', "    ").replace("\r\n", "\n");
    sanitize::block(&text) != text
}

/// Whether a change here could run something, or loosen what guards the person, beyond what an edit usually does.
fn is_sensitive(place: &Place, protected: &[PathBuf]) -> bool {
    const FOLDERS: [&str; 11] =
        [".cargo", ".git", ".ssh", ".gnupg", ".aws", ".kube", ".askuser", ".claude", ".husky", ".idea", ".vscode"];
    /// Two names in a row: the person's own settings and what they allowed.
    const NESTED: [[&str; 2]; 6] = [
        [".config", "askuser"],
        ["share", "askuser"],
        ["state", "askuser"],
        [".config", "fish"],
        [".config", "autostart"],
        [".config", "systemd"],
    ];
    const FILES: [&str; 22] = [
        "askuser.toml",
        ".bashrc",
        ".bash_profile",
        ".bash_login",
        ".bash_logout",
        ".bash_aliases",
        ".profile",
        ".zshrc",
        ".zshenv",
        ".zprofile",
        ".zlogin",
        ".zlogout",
        ".kshrc",
        ".cshrc",
        ".tcshrc",
        "config.fish",
        ".envrc",
        ".gitconfig",
        ".gitmodules",
        ".mcp.json",
        ".npmrc",
        ".pre-commit-config.yaml",
    ];
    // Some file systems do not tell cases apart. The agent's own folder may itself lie in a sensitive one.
    let real = place.real();
    let names: Vec<String> = real.iter().map(|name| name.to_string_lossy().to_lowercase()).collect();
    protected.iter().any(|folder| real.starts_with(folder))
        || names.iter().any(|name| FOLDERS.contains(&name.as_str()))
        || names.windows(2).any(|pair| NESTED.iter().any(|nested| nested == pair))
        || names.last().is_some_and(|name| FILES.contains(&name.as_str()))
}

#[cfg(all(test, unix))]
#[path = "change_tests.rs"]
mod tests;
