//! Which content of each file the model knows: what it last read of it or wrote to it. Write replaces nothing else, whatever
//! was allowed, so that what a person saves meanwhile is not lost. A session that is resumed begins without any.

use super::confined_path::ConfinedPath;
use super::file_change::Change;
use crate::shared_file::Original;
use crate::tool::ToolResult;
use sha2::{Digest, Sha256};
use std::collections::HashMap;
use std::io::{self, Read};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

type Content = [u8; 32];

/// What one conversation knows. Clones are about the same.
#[derive(Clone, Debug, Default)]
pub(crate) struct KnownFiles(Arc<Mutex<HashMap<PathBuf, Content>>>);

impl KnownFiles {
    /// The model has read this file, whichever of its lines.
    pub(crate) fn has_read(&self, path: &ConfinedPath, content: Content) {
        self.files().insert(path.absolute(), content);
    }

    /// The model has changed a file. One that it did not know before it does not know now: it replaced a part.
    pub(crate) fn has_written(&self, change: &Change, replaces_all: bool) {
        let path = change.path.absolute();
        let knew = change.original.as_ref().is_none_or(|old| self.files().get(&path) == Some(&digest(&old.bytes)));
        if replaces_all || knew {
            self.files().insert(path, digest(change.new_content.as_bytes()));
        }
    }

    /// Refuses to replace a file that the model does not know as it is now.
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

fn digest(bytes: &[u8]) -> Content {
    Sha256::digest(bytes).into()
}

/// Tells what a reader has read by the end.
pub(crate) struct Digesting<R> {
    pub(crate) reader: R,
    pub(crate) read: Sha256,
}

impl<R: Read> Read for Digesting<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.reader.read(buffer)?;
        self.read.update(&buffer[..count]);
        Ok(count)
    }
}
