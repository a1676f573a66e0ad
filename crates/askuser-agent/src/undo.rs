//! The contents of files before their edits, so that each edit can be undone, even after a resume.
//!
//! The log is a folder beside the transcript and equally private. It has a file for each replaced content, and the list
//! of edits, `edits.jsonl`. Both are on disk before the edit. Modes are not stored, because no edit changes them.
//! Changes by commands are not recorded.

use crate::regular_file::{self, Links};
use crate::shared_file::{Original, Update, UpdateError};
use crate::tools::{ConfinedPath, Opened, digest, file_change};
use crate::transcript::{Transcript, TranscriptError};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::PathBuf;

/// The maximum size of a session's replaced contents in bytes. Later edits are applied, and reported as permanent.
const MAX_KEPT: u64 = 256 << 20;

pub(crate) struct UndoLog {
    folder: PathBuf,
    max_kept: u64,
}

/// A line of `edits.jsonl`, the list of edits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Line {
    /// The edit is about to be applied.
    Edit(Edit),
    /// The edit with this number was undone, or could not be applied.
    Undone { number: u64 },
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Edit {
    /// The number of the edit, which is also the name of the file with the replaced content.
    number: u64,
    path: ConfinedPath,
    /// The size in bytes of the replaced content; `None` if the edit created the file.
    before: Option<u64>,
    /// The SHA-256 of the content after the edit.
    after: String,
}

/// An edit that was undone.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Undone {
    /// The path of the file as the model knows it.
    pub path: String,
    /// The state of the file after the undo.
    pub state: UndoneState,
}

/// The state of a file after an undo.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UndoneState {
    /// The file has the content from before the edit again.
    Restored,
    /// The file was removed, because the edit had created it.
    Removed,
    /// The file was not changed. Another program had already undone the edit, or the edit was never applied.
    Unchanged,
}

/// The changes of one file by the edits of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FileDiff {
    /// The path of the file as the model knows it.
    pub path: String,
    /// A unified diff from the content before the first edit to the current content. It is empty if they are equal.
    pub text: String,
}

/// The reason why an edit cannot be undone. Unless the error says otherwise, no file has changed.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs)]
#[non_exhaustive]
pub enum UndoError {
    #[error("this session has no more edits to undo; changes by commands cannot be undone")]
    Nothing,
    #[error("this session is not kept in a file, so its edits cannot be taken back")]
    NotKept,
    #[error("the last edit is of {path}, which has changed since, so it was not taken back; {next}")]
    ChangedSince { path: String, next: &'static str },
    #[error("nothing else can be taken back; left alone: {}", paths.join(", "))]
    OnlyLeftAlone { paths: Vec<String> },
    #[error("the last edit is of {path}: {fact}; nothing was taken back")]
    File { path: String, fact: String },
    #[error("the last edit cannot be taken back: {0}")]
    Unusable(String),
    #[error("{0}")]
    Refused(String),
    #[error("the edit of {path} was taken back, but that cannot be recorded: {source}")]
    NotRecorded { path: String, source: TranscriptError },
}

impl UndoLog {
    /// Returns the undo log of a session; `None` if the session has no file.
    pub(crate) fn beside(transcript: &Transcript) -> Option<UndoLog> {
        Some(UndoLog { folder: transcript.path()?.with_extension("undo"), max_kept: MAX_KEPT })
    }

    /// Stores the content that an edit is about to replace. Returns the number of the edit.
    pub(crate) fn keep(&self, path: &ConfinedPath, before: Option<&[u8]>, after: &[u8]) -> io::Result<u64> {
        let edits = self.edits()?;
        let kept: u64 = edits.iter().filter_map(|(edit, _)| edit.before).sum();
        let size = before.map(|bytes| bytes.len() as u64);
        if kept + size.unwrap_or_default() > self.max_kept {
            let most = self.max_kept >> 20;
            return Err(io::Error::other(format!("this session keeps at most {most} MiB of what edits replaced")));
        }
        regular_file::make_private_folder(&self.folder)?;
        let number = edits.last().map_or(1, |(edit, _)| edit.number + 1);
        if let Some(bytes) = before {
            // A crash may have left a file of this name.
            let mut file =
                regular_file::private().create(true).truncate(true).open(self.folder.join(number.to_string()))?;
            file.write_all(bytes)?;
            file.sync_all()?;
        }
        self.append(&Line::Edit(Edit { number, path: path.clone(), before: size, after: digest(after) }))?;
        Ok(number)
    }

    /// Records that an edit was undone, or could not be applied.
    pub(crate) fn mark_undone(&self, number: u64) -> io::Result<()> {
        self.append(&Line::Undone { number })
    }

    /// Undoes the last edit that is still in place. If its file has changed since, adds the file to `left_alone`. The
    /// next call then skips the edits of that file.
    pub(crate) fn undo_last(&self, left_alone: &mut Vec<ConfinedPath>) -> Result<Undone, UndoError> {
        let _lock = file_change::change_lock();
        let mut edits = self.not_undone()?;
        let is_empty = edits.is_empty();
        // The files in `left_alone` are tried again. A person who has restored such a file wants to undo that edit.
        while let Some(edit) = edits.pop() {
            match self.undo(&edit) {
                Ok(Some(state)) => {
                    // If this entry cannot be written, the next undo finds the file unchanged.
                    let _ = self.mark_undone(edit.number);
                    return Ok(Undone { path: edit.path.display(), state });
                }
                _ if left_alone.contains(&edit.path) => {}
                Err(error) => {
                    left_alone.push(edit.path.clone());
                    return Err(error);
                }
                Ok(None) => {
                    left_alone.push(edit.path.clone());
                    let next = if edits.iter().any(|edit| !left_alone.contains(&edit.path)) {
                        "/undo again continues with the edits of other files"
                    } else {
                        "there is no edit of another file"
                    };
                    return Err(UndoError::ChangedSince { path: edit.path.display(), next });
                }
            }
        }
        if is_empty {
            Err(UndoError::Nothing)
        } else {
            Err(UndoError::OnlyLeftAlone { paths: left_alone.iter().map(ConfinedPath::display).collect() })
        }
    }

    /// Undoes an edit. Returns `None` if the file has neither the old nor the new content.
    fn undo(&self, edit: &Edit) -> Result<Option<UndoneState>, UndoError> {
        let failed = |fact: String| UndoError::File { path: edit.path.display(), fact };
        let before = self.before(edit).map_err(|error| failed(error.to_string()))?;
        let now = file_change::load(&edit.path).map_err(|rejected| UndoError::Unusable(rejected.output))?;
        let bytes_now = now.as_ref().map(|now| now.bytes.as_slice());
        let Some(now) = now.as_ref().filter(|now| digest(&now.bytes) == edit.after) else {
            return Ok((bytes_now == before.as_deref()).then_some(UndoneState::Unchanged));
        };
        restore(&edit.path, now, before.as_deref()).map_err(|error| failed(error.to_string()))
    }

    /// Returns the changes of all edits that are still in place, by file.
    pub(crate) fn diffs(&self) -> Result<Vec<FileDiff>, UndoError> {
        let edits = self.not_undone()?;
        let mut diffs: Vec<FileDiff> = Vec::new();
        for (i, first) in edits.iter().enumerate() {
            if edits[..i].iter().any(|edit| edit.path == first.path) {
                continue;
            }
            let path = first.path.display();
            let failed = |error: io::Error| UndoError::File { path: path.clone(), fact: error.to_string() };
            let before = self.before(first).map_err(failed)?;
            let now = read_now(&first.path).map_err(failed)?;
            let text = if before == now {
                String::new()
            } else {
                askuser_markdown::file_change(&path, before.as_deref(), now.as_deref()).diff
            };
            diffs.push(FileDiff { path, text });
        }
        Ok(diffs)
    }

    /// Reads all edits in order, each with whether it was undone. An incomplete last line has not taken effect.
    fn edits(&self) -> io::Result<Vec<(Edit, bool)>> {
        let mut edits: Vec<(Edit, bool)> = Vec::new();
        let bytes = match regular_file::read(&self.folder.join("edits.jsonl"), Links::Follow, u64::MAX) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
            // An unreadable list is an error: a new edit could otherwise overwrite a stored content.
            read => read?,
        };
        for line in bytes.split(|byte| *byte == b'\n') {
            match serde_json::from_slice(line) {
                Ok(Line::Edit(edit)) => edits.push((edit, false)),
                Ok(Line::Undone { number }) => {
                    edits.iter_mut().filter(|(edit, _)| edit.number == number).for_each(|(_, undone)| *undone = true);
                }
                Err(_) => {}
            }
        }
        Ok(edits)
    }

    /// Reads the edits that were not undone.
    fn not_undone(&self) -> Result<Vec<Edit>, UndoError> {
        let edits = self.edits().map_err(|error| {
            UndoError::Refused(format!("what the edits of this session replaced cannot be read: {error}"))
        })?;
        Ok(edits.into_iter().filter(|(_, undone)| !undone).map(|(edit, _)| edit).collect())
    }

    fn append(&self, line: &Line) -> io::Result<()> {
        let mut file = regular_file::private().create(true).append(true).open(self.folder.join("edits.jsonl"))?;
        // The previous line may be incomplete, so this line begins with a line feed.
        let mut bytes = b"\n".to_vec();
        serde_json::to_writer(&mut bytes, line)?;
        bytes.push(b'\n');
        file.write_all(&bytes)?;
        file.sync_all()?;
        // The names of the files must survive a crash, too. Some systems cannot sync a folder, so errors are ignored.
        let _ = File::open(&self.folder).and_then(|folder| folder.sync_all());
        Ok(())
    }

    /// Reads the content that an edit replaced; `None` if the edit created the file.
    fn before(&self, edit: &Edit) -> io::Result<Option<Vec<u8>>> {
        let Some(size) = edit.before else { return Ok(None) };
        match regular_file::read(&self.folder.join(edit.number.to_string()), Links::Follow, size) {
            Ok(bytes) if bytes.len() as u64 == size => Ok(Some(bytes)),
            Ok(_) => Err(io::Error::other("what the edit replaced is damaged")),
            Err(error) => Err(io::Error::other(format!("what the edit replaced cannot be read: {error}"))),
        }
    }
}

/// Restores the old content of a file. Returns `None` if the file has changed since it was checked.
fn restore(path: &ConfinedPath, now: &Original, before: Option<&[u8]>) -> Result<Option<UndoneState>, UpdateError> {
    let (update, state) = match before {
        Some(bytes) => (Update::Replace(now, bytes), UndoneState::Restored),
        None => (Update::Remove(now), UndoneState::Removed),
    };
    match path.update(update) {
        Ok(()) => Ok(Some(state)),
        Err(UpdateError::ChangedMeanwhile) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Reads the current content up to the maximum size, even if it is not text; `None` if the file does not exist.
fn read_now(path: &ConfinedPath) -> io::Result<Option<Vec<u8>>> {
    match path.open()? {
        Opened::File(file, _) => {
            let mut bytes = Vec::new();
            file.take(file_change::MAX_FILE).read_to_end(&mut bytes)?;
            Ok(Some(bytes))
        }
        Opened::Missing => Ok(None),
        Opened::Folder(_) | Opened::Other => Err(io::Error::other("is not a file any more")),
    }
}

impl fmt::Display for Undone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = &self.path;
        match self.state {
            UndoneState::Restored => write!(f, "{path} is as it was before its last edit."),
            UndoneState::Removed => write!(f, "{path} is gone, as before the agent made it."),
            UndoneState::Unchanged => write!(f, "{path} was already as before its last edit."),
        }
    }
}

impl Undone {
    /// Returns the text that the model reads with the person's next message; `None` if the file did not change.
    pub(crate) fn for_the_model(&self) -> Option<String> {
        let path = &self.path;
        match self.state {
            UndoneState::Restored => {
                Some(format!("[The user took back your last edit of {path}: it is as it was before.]"))
            }
            UndoneState::Removed => {
                Some(format!("[The user took back your new file {path}: it does not exist any more.]"))
            }
            UndoneState::Unchanged => None,
        }
    }
}

#[cfg(test)]
#[path = "undo_tests.rs"]
mod tests;
