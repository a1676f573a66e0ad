//! The content of each file as the model last read or wrote it.
//!
//! Write replaces no other content in any mode, so that a person's edits are not lost. The results of calls record the
//! contents, so that a resumed session knows them.

use super::confined_path::ConfinedPath;
use super::file_change::Change;
use crate::shared_file::Original;
use crate::tool::ToolResult;
use askuser_sys::random::hex;
use serde::Deserialize;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::collections::HashMap;
use std::io::{self, Read};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The SHA-256 of a file's content, in hexadecimal.
type Content = String;

/// The record of a file in the result of a call.
#[derive(Deserialize)]
struct Seen {
    path: PathBuf,
    sha256: Content,
}

/// The files that one conversation has seen. Clones refer to the same files.
#[derive(Clone, Debug, Default)]
pub(crate) struct SeenFiles(Arc<Mutex<HashMap<PathBuf, Content>>>);

impl SeenFiles {
    /// Returns the files that are recorded in the results of a session.
    pub(crate) fn recorded<'a>(results: impl Iterator<Item = &'a ToolResult>) -> SeenFiles {
        let details = results.filter_map(|result| result.metadata.as_ref()?.details.as_ref());
        let seen = details.filter_map(|details| Seen::deserialize(&details["seen"]).ok());
        SeenFiles(Arc::new(Mutex::new(seen.map(|seen| (seen.path, seen.sha256)).collect())))
    }

    /// Records that the model has read lines of this file. Returns the record for the result.
    pub(crate) fn has_read(&self, path: &ConfinedPath, content: Content) -> Value {
        let path = path.absolute();
        let seen = json!({"path": path, "sha256": content});
        self.files().insert(path, content);
        seen
    }

    /// Records that the model has changed a file. A file that was unknown before stays unknown if only a part was
    /// replaced. Returns the record for the result.
    pub(crate) fn has_written(&self, change: &Change, replaces_all: bool) -> Value {
        let path = change.path.absolute();
        let knew = change.original.as_ref().is_none_or(|old| self.files().get(&path) == Some(&digest(&old.bytes)));
        if replaces_all || knew {
            self.has_read(&change.path, digest(change.new_content.as_bytes()))
        } else {
            Value::Null
        }
    }

    /// Checks that the model knows the current content of a file.
    ///
    /// # Errors
    /// If the content is unknown. The result tells the model to read the file first.
    pub(crate) fn check(&self, path: &ConfinedPath, original: &Original) -> Result<(), ToolResult> {
        let fact = match self.files().get(&path.absolute()) {
            Some(known) if *known == digest(&original.bytes) => return Ok(()),
            Some(_) => "was changed since you read it",
            None => "exists, and you have not read it in this session",
        };
        let shown = path.display();
        Err(ToolResult::error(format!("{shown} {fact}; nothing was written. Read it first, or use Edit.")))
    }

    fn files(&self) -> MutexGuard<'_, HashMap<PathBuf, Content>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

pub(crate) fn digest(bytes: &[u8]) -> Content {
    hex(&Sha256::digest(bytes))
}

/// A reader that hashes all content that passes through it.
pub(crate) struct Digesting<R> {
    pub(crate) reader: R,
    pub(crate) read: Sha256,
}

impl<R> Digesting<R> {
    pub(crate) fn finish(self) -> Content {
        hex(&self.read.finalize())
    }
}

impl<R: Read> Read for Digesting<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.reader.read(buffer)?;
        self.read.update(&buffer[..count]);
        Ok(count)
    }
}
