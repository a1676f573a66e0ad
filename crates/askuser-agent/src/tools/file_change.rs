//! The change of a file: its old and new content, the diff that the user approves, and the write.
//!
//! A change is computed twice: to ask for permission, and to apply it. If any part of the file has changed in between,
//! the change is refused. A lock orders the changes of this process, so that no change is lost between reading and
//! writing. Saves of other programs survive, too ([`shared_file`](crate::shared_file)).

use super::blocking;
use super::confined_path::{self, ConfinedPath, RootKind};
use super::folder::Opened;
use super::sensitive;
use crate::event::AgentEvent;
use crate::message::ToolCall;
use crate::permission_rules::PermissionRule;
use crate::shared_file::{Original, Update, UpdateError};
use crate::tool::{Agreed, Consent, Stop, ToolContext, ToolResult};
use crate::undo::UndoLog;
use askuser::{Context, FileChange, sanitize};
use askuser_markdown::{MAX_DIFF, file_change};
use serde_json::{Value, json};
use std::io::Read;
use std::sync::{Mutex, MutexGuard, PoisonError};
use tokio_util::sync::CancellationToken;

pub(crate) const MAX_CONTENT: usize = 1_000_000;
pub(crate) const MAX_FILE: u64 = 10_000_000;
/// The maximum number of bytes of the diff in the result of an applied change.
const MAX_EXCERPT: usize = 100_000;

pub(crate) struct Change {
    pub(crate) path: ConfinedPath,
    pub(crate) original: Option<Original>,
    pub(crate) new_content: String,
    /// The output for the model after the change was applied.
    pub(crate) done: String,
}

pub(crate) fn target_path(call: &ToolCall, given: &str, context: &ToolContext) -> Result<ConfinedPath, ToolResult> {
    if given.ends_with('/') {
        return Err(call.invalid_input("path", "ends with /", "must name a file"));
    }
    let path = ConfinedPath::resolve(call, given, context)?;
    let shown = path.display();
    // The user must be able to read the path before approving the change.
    if sanitize::line(&shown) != shown {
        return Err(call.invalid_input("path", "has characters that cannot be shown", "must be readable to the user"));
    }
    Ok(path)
}

pub(crate) fn load(path: &ConfinedPath) -> Result<Option<Original>, ToolResult> {
    let shown = path.display();
    let (file, metadata) = match path.open() {
        Ok(Opened::File(file, metadata)) => (file, metadata),
        Ok(Opened::Missing) => return Ok(None),
        Ok(Opened::Folder(_)) => return Err(ToolResult::error(format!("{shown} is a folder; nothing was done."))),
        Ok(Opened::Other) => {
            return Err(ToolResult::error(format!(
                "{shown} is a pipe, socket, device or link, not a file; nothing was done."
            )));
        }
        Err(error) => {
            return Err(confined_path::path_error(&shown, "nothing was done, since it cannot be read", &error));
        }
    };
    let too_large = |bytes: u64| {
        ToolResult::error(format!("{shown} has {bytes} bytes, at most {MAX_FILE} can be changed; nothing was done."))
    };
    if metadata.len() > MAX_FILE {
        return Err(too_large(metadata.len()));
    }
    if metadata.permissions().readonly() {
        return Err(ToolResult::error(format!("{shown} is read-only; nothing was done.")));
    }
    let mut bytes = Vec::with_capacity(metadata.len() as usize);
    if let Err(error) = file.take(MAX_FILE + 1).read_to_end(&mut bytes) {
        return Err(confined_path::path_error(&shown, "nothing was done, since it cannot be read", &error));
    }
    if bytes.len() as u64 > MAX_FILE {
        return Err(too_large(bytes.len() as u64));
    }
    if bytes.contains(&0) {
        return Err(ToolResult::error(format!("{shown} is a binary file; nothing was done.")));
    }
    Ok(Some(Original { bytes, metadata }))
}

/// Loads the file that a call changes; `None` if the file does not exist.
///
/// # Errors
/// If the file no longer has the content that the person has seen.
pub(crate) fn load_as_agreed(path: &ConfinedPath, context: &ToolContext) -> Result<Option<Original>, ToolResult> {
    let original = load(path)?;
    match &context.agreed {
        Some(Agreed::Change(shown)) if shown.as_ref() != original.as_ref().map(|original| &original.bytes) => {
            Err(changed_meanwhile(&path.display()))
        }
        _ => Ok(original),
    }
}

/// A function that computes the change of a call.
pub(crate) type Plan = fn(&ToolCall, &ToolContext) -> Result<Change, ToolResult>;

/// Computes and applies the change of a call.
pub(crate) async fn run(
    tool: &'static str,
    plan: Plan,
    call: &ToolCall,
    context: &ToolContext,
) -> Result<ToolResult, Stop> {
    let call = call.clone();
    let own_context = context.clone();
    let made = blocking::run(context, move |cancel| {
        let _lock = change_lock();
        let change = plan(&call, &own_context)?;
        change.apply(&own_context, cancel)?;
        let seen = own_context.shared.seen_files.has_written(&change, tool == "Write");
        Ok(change.result(tool, &seen))
    });
    Ok(made.await?.flatten().unwrap_or_else(|rejected| rejected))
}

/// Returns the result for a file that no longer has the content on which the change is based.
pub(crate) fn changed_meanwhile(shown: &str) -> ToolResult {
    ToolResult::error(format!(
        "{shown} was changed by another program meanwhile; nothing was written. Read it again first."
    ))
}

/// Takes the lock that is held from reading a file until writing it.
pub(crate) fn change_lock() -> MutexGuard<'static, ()> {
    static LOCK: Mutex<()> = Mutex::new(());
    LOCK.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Change {
    /// Writes the file, unless the caller has stopped waiting. Stores the old content first, so that the change can be
    /// undone.
    pub(crate) fn apply(&self, context: &ToolContext, cancel: &CancellationToken) -> Result<(), ToolResult> {
        let shown = self.path.display();
        if cancel.is_cancelled() {
            return Err(ToolResult::error(format!("{shown} was not changed: stopped before.")));
        }
        let original = self.original.as_ref();
        let new = self.new_content.as_bytes();
        let log = UndoLog::beside(&context.shared.transcript);
        let kept = log.as_ref().map(|log| log.keep(&self.path, original.map(|original| &*original.bytes), new));
        if let Some(Err(error)) = &kept {
            let message = format!("/undo cannot take this edit of {shown} back: {error}");
            context.emit(AgentEvent::Notice { message });
        }
        let update = original.map_or(Update::Create(new), |original| Update::Replace(original, new));
        self.path.update(update).map_err(|error| {
            if let (Some(log), Some(Ok(number))) = (&log, kept) {
                // If the mark cannot be written, the undo finds that the file was not changed.
                let _ = log.mark_undone(number);
            }
            match error {
                UpdateError::ChangedMeanwhile => changed_meanwhile(&shown),
                error => ToolResult::error(format!("{shown}: cannot be written: {error}")),
            }
        })
    }

    pub(crate) fn diff(&self) -> FileChange {
        let old = self.original.as_ref().map(|original| original.bytes.as_slice());
        file_change(&self.path.display(), old, Some(self.new_content.as_bytes()))
    }

    /// Returns the agreement that the change needs. `verb` is "Edit" or "Write".
    pub(crate) fn consent(&self, verb: &str, context: &ToolContext) -> Result<Consent, ToolResult> {
        let sensitive = sensitive::why_sensitive(&self.path, context);
        let always_ask = sensitive::is_protected(&self.path.absolute(), &context.protected);
        let shown = self.path.display();
        let change = self.diff();
        if change.diff.len() > MAX_DIFF {
            let fact = format!("the diff of {shown} has {} bytes, at most {MAX_DIFF} can be shown", change.diff.len());
            return Err(ToolResult::error(format!("{fact}; nothing was done. Make smaller changes.")));
        }
        let (rule, always) = match (sensitive, self.path.root_kind) {
            (Some(_), _) => {
                let path = self.path.absolute().display().to_string();
                (PermissionRule::File { tool: verb.into(), path }, format!("{verb} {shown} without asking"))
            }
            (None, RootKind::Cwd) => (PermissionRule::Edits, "Change files in this folder without asking".into()),
            (None, RootKind::Added) => {
                let root = self.path.root.display().to_string();
                let always = format!("Change files in {root} without asking");
                (PermissionRule::EditsIn(root), always)
            }
        };
        let consent = Consent::new(change.title(), Context::Diff(change.diff), rule, always);
        let agreed = Agreed::Change(self.original.as_ref().map(|original| original.bytes.clone()));
        Ok(Consent { always_ask, because: sensitive.map(str::to_owned), agreed: Some(agreed), ..consent })
    }

    fn result(&self, tool: &str, seen: &Value) -> ToolResult {
        let FileChange { diff, added, removed, .. } = self.diff();
        let mut details = json!({"diff": excerpt(diff), "added": added, "removed": removed});
        if !seen.is_null() {
            details["seen"] = seen.clone();
        }
        ToolResult::ok(&self.done).with_title(tool, self.path.display()).with_details(details)
    }
}

/// Returns the first lines of an applied diff, with the number of lines that were left out.
fn excerpt(diff: String) -> String {
    let Some(end) = diff.get(..diff.floor_char_boundary(MAX_EXCERPT)).filter(|first| first.len() < diff.len()) else {
        return diff;
    };
    let end = end.rfind('\n').map_or(0, |end| end + 1);
    let (first, rest) = diff.split_at(end);
    format!("{first}… {} more lines of this diff are not shown\n", rest.lines().count())
}

#[cfg(test)]
#[path = "file_change_tests.rs"]
mod tests;
