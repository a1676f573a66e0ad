//! Records the changes to files, so that they can be undone byte for byte. The file alone does not show whether its
//! empty table existed before.

use crate::failure::{Failure, OrFail, reason};
use askuser_agent::atomic_file::{self, FilePermissions};
use askuser_agent::regular_file::{self, Links};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

/// The replacement of one part of a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Splice {
    at: usize,
    removed: String,
    inserted: String,
    /// Whether the change created the file.
    pub(super) created: bool,
    /// Whether the change created the table of servers. The table is removed with the entry if it contains nothing
    /// else.
    #[serde(default)]
    pub(super) made_table: bool,
    /// The folders that were created for the file, the outermost first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) folders: Vec<PathBuf>,
}

impl Splice {
    pub(super) fn between(before: &str, after: &str) -> Splice {
        let common = |pairs: &mut dyn Iterator<Item = (char, char)>| -> usize {
            pairs.take_while(|(a, b)| a == b).map(|(a, _)| a.len_utf8()).sum()
        };
        let at = common(&mut before.chars().zip(after.chars()));
        let old = &before[at..];
        let new = &after[at..];
        let end = common(&mut old.chars().rev().zip(new.chars().rev()));
        Splice {
            at,
            removed: old[..old.len() - end].to_owned(),
            inserted: new[..new.len() - end].to_owned(),
            created: false,
            made_table: false,
            folders: Vec::new(),
        }
    }

    /// Returns the text before the change; `None` if the inserted text is not found exactly once. The inserted text may
    /// have moved.
    pub(super) fn undo(&self, text: &str) -> Option<String> {
        let is_there = text.get(self.at..).is_some_and(|rest| rest.starts_with(&self.inserted));
        let at = if is_there {
            self.at
        } else if self.inserted.is_empty() {
            return None;
        } else {
            let mut places = text.match_indices(&self.inserted).map(|(at, _)| at);
            places.next().filter(|_| places.next().is_none())?
        };
        Some(format!("{}{}{}", &text[..at], self.removed, &text[at + self.inserted.len()..]))
    }
}

/// The changes that can be undone, by file.
#[derive(Debug, Default)]
pub(super) struct Changes {
    file: PathBuf,
    changes: BTreeMap<PathBuf, Splice>,
}

impl Changes {
    pub(super) fn read(state_folder: &Path) -> Result<Changes, Failure> {
        let file = state_folder.join("setup.json");
        let failed = |why: String| Failure::new(format!("{}: {why}", file.display()));
        let changes = match std::fs::read_to_string(&file) {
            Ok(text) => serde_json::from_str(&text).map_err(|error| failed(error.to_string()))?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => BTreeMap::new(),
            Err(error) => return Err(failed(reason(&error))),
        };
        Ok(Changes { file, changes })
    }

    pub(super) fn files(&self) -> impl Iterator<Item = &Path> {
        self.changes.keys().map(PathBuf::as_path)
    }

    pub(super) fn of(&self, path: &Path) -> Option<&Splice> {
        self.changes.get(path)
    }
}

/// The changes, with a lock against other `askuser init` processes. The record is one file for all clients and is
/// written as a whole.
pub(super) struct LockedChanges {
    pub(super) changes: Changes,
    _lock: std::fs::File,
}

impl LockedChanges {
    /// Waits for the lock and reads the changes. Another process holds the lock only while it writes two files, not
    /// while it asks a person.
    pub(super) fn wait_for(state_folder: &Path) -> Result<LockedChanges, Failure> {
        let path = state_folder.join("setup.lock");
        let lock = || -> io::Result<std::fs::File> {
            regular_file::make_private_folder(state_folder)?;
            let mut options = regular_file::private();
            options.write(true).create(true).truncate(false);
            let file = regular_file::open_with(&mut options, &path, Links::Refuse)?;
            file.lock()?;
            Ok(file)
        };
        let lock = lock().or_fail(format!("cannot lock {}", path.display()))?;
        Ok(LockedChanges { changes: Changes::read(state_folder)?, _lock: lock })
    }

    /// Stores the change of a file, or removes its record if there is none.
    pub(super) fn keep(&mut self, path: &Path, splice: Option<Splice>) -> Result<(), Failure> {
        let Changes { file, changes } = &mut self.changes;
        match splice {
            Some(splice) => drop(changes.insert(path.to_owned(), splice)),
            None => drop(changes.remove(path)),
        }
        let text = serde_json::to_string_pretty(changes).map_err(Failure::new)?;
        // The removed text may contain secrets, such as the key of another server.
        atomic_file::replace(file, text.as_bytes(), FilePermissions::OwnerOnly)
            .or_fail(format!("cannot write {}", file.display()))
    }
}
