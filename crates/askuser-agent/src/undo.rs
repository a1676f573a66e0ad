//! What files were before they were edited, so that each edit can be taken back, also after a resume.
//!
//! It is a folder beside the transcript, as private as that: a file for what each edit replaced, and `edits.jsonl`, which says
//! what was edited. Both are on the disk before the edit is made. Modes are not kept: no edit changes them. What commands
//! change is not seen here and cannot be taken back.

use crate::regular_file::{self, Links};
use crate::shared_file::{Original, Update, UpdateError};
use crate::tools::{ConfinedPath, Opened, digest, file_change};
use crate::transcript::{Transcript, TranscriptError};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::PathBuf;

/// How much is kept in a session, in bytes. Edits beyond that are made, and said to be for good.
const MAX_KEPT: u64 = 256 << 20;

pub(crate) struct UndoLog {
    folder: PathBuf,
    max_kept: u64,
}

/// A line of `edits.jsonl`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Line {
    /// An edit is about to be made.
    Edit(Edit),
    /// It was taken back, or not made after all.
    Undone { number: u64 },
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Edit {
    /// Also the name of the file with what was replaced.
    number: u64,
    path: ConfinedPath,
    /// How many bytes were replaced; `None` if there was no file.
    before: Option<u64>,
    /// The SHA-256 of what is there since.
    after: String,
}

/// An edit that was taken back.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Undone {
    /// The file, as the model knows it.
    pub path: String,
    /// What came of it.
    pub state: UndoneState,
}

/// What a file is now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UndoneState {
    /// As it was before the edit.
    Restored,
    /// Gone, as before the edit.
    Removed,
    /// As it was already: another program has taken the edit back, or it was never made.
    Unchanged,
}

/// The changes of one file in a session.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FileDiff {
    /// The file, as the model knows it.
    pub path: String,
    /// A unified diff from what it was before the first edit to what it is now; empty if that is the same.
    pub text: String,
}

/// Why an edit cannot be taken back. Nothing has changed then, except where it says so.
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
    /// The one of a session; `None` if that is not kept in a file.
    pub(crate) fn beside(transcript: &Transcript) -> Option<UndoLog> {
        Some(UndoLog { folder: transcript.path()?.with_extension("undo"), max_kept: MAX_KEPT })
    }

    /// Keeps what an edit is about to replace, and returns the edit's number.
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
            // There may be one that was written just before a crash.
            let mut file =
                regular_file::private().create(true).truncate(true).open(self.folder.join(number.to_string()))?;
            file.write_all(bytes)?;
            file.sync_all()?;
        }
        self.append(&Line::Edit(Edit { number, path: path.clone(), before: size, after: digest(after) }))?;
        Ok(number)
    }

    /// An edit was taken back, or could not be made.
    pub(crate) fn mark_undone(&self, number: u64) -> io::Result<()> {
        self.append(&Line::Undone { number })
    }

    /// Takes the last edit back that has not been. Where that cannot be done, because the file has changed since, it is one
    /// of `left_alone`, and the next time its edits are passed over.
    pub(crate) fn undo_last(&self, left_alone: &mut Vec<ConfinedPath>) -> Result<Undone, UndoError> {
        let _lock = file_change::change_lock();
        let mut edits = self.not_undone()?;
        let is_empty = edits.is_empty();
        // Who has put a file back since it was left alone means that edit again.
        while let Some(edit) = edits.pop() {
            match self.undo(&edit) {
                Ok(Some(state)) => {
                    // Where that cannot be written, it is found to be as it was the next time.
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
                    let next = match edits.iter().any(|edit| !left_alone.contains(&edit.path)) {
                        true => "/undo again continues with the edits of other files",
                        false => "there is no edit of another file",
                    };
                    return Err(UndoError::ChangedSince { path: edit.path.display(), next });
                }
            }
        }
        match is_empty {
            true => Err(UndoError::Nothing),
            false => Err(UndoError::OnlyLeftAlone { paths: left_alone.iter().map(ConfinedPath::display).collect() }),
        }
    }

    /// Takes an edit back; `None` if the file is neither as the edit left it nor as it was before.
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

    /// What the edits that have not been taken back have changed, file by file.
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

    /// All edits in their order, and whether each was taken back. A line that was cut off has not been acted on.
    fn edits(&self) -> io::Result<Vec<(Edit, bool)>> {
        let mut edits: Vec<(Edit, bool)> = Vec::new();
        let bytes = match regular_file::read(&self.folder.join("edits.jsonl"), Links::Follow, u64::MAX) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
            // Without knowing what is kept already, something would be written over it.
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

    /// Those that have not been taken back.
    fn not_undone(&self) -> Result<Vec<Edit>, UndoError> {
        let edits = self.edits().map_err(|error| {
            UndoError::Refused(format!("what the edits of this session replaced cannot be read: {error}"))
        })?;
        Ok(edits.into_iter().filter(|(_, undone)| !undone).map(|(edit, _)| edit).collect())
    }

    fn append(&self, line: &Line) -> io::Result<()> {
        let mut file = regular_file::private().create(true).append(true).open(self.folder.join("edits.jsonl"))?;
        // The line before may have been cut off.
        let mut bytes = b"\n".to_vec();
        serde_json::to_writer(&mut bytes, line)?;
        bytes.push(b'\n');
        file.write_all(&bytes)?;
        file.sync_all()?;
        // The names have to survive too. Not every system lets a folder be synced.
        let _ = File::open(&self.folder).and_then(|folder| folder.sync_all());
        Ok(())
    }

    /// What an edit replaced.
    fn before(&self, edit: &Edit) -> io::Result<Option<Vec<u8>>> {
        let Some(size) = edit.before else { return Ok(None) };
        match regular_file::read(&self.folder.join(edit.number.to_string()), Links::Follow, size) {
            Ok(bytes) if bytes.len() as u64 == size => Ok(Some(bytes)),
            Ok(_) => Err(io::Error::other("what the edit replaced is damaged")),
            Err(error) => Err(io::Error::other(format!("what the edit replaced cannot be read: {error}"))),
        }
    }
}

/// Puts back what was there before; `None` if the file has changed since it was looked at.
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

/// What is there now, whatever it is.
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
    /// The text that the model reads with the person's next message.
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
