//! What SQLite says went wrong, in words that say what to do.

use super::{PAUSE, TRIES};
use askuser::store::StoreError;
use rusqlite::ErrorCode;
use std::path::Path;

/// What went wrong inside: ours, or SQLite's.
pub(super) enum Fault {
    Ours(StoreError),
    Sqlite(rusqlite::Error),
}

impl From<StoreError> for Fault {
    fn from(error: StoreError) -> Fault {
        Fault::Ours(error)
    }
}

impl From<rusqlite::Error> for Fault {
    fn from(error: rusqlite::Error) -> Fault {
        Fault::Sqlite(error)
    }
}

impl Fault {
    pub(super) fn of(self, path: &Path, doing: &'static str) -> StoreError {
        match self {
            Fault::Ours(error) => error,
            Fault::Sqlite(error) => failed(path, doing)(error),
        }
    }
}

/// An error of SQLite in words that say what to do.
pub(super) fn failed(path: &Path, doing: &'static str) -> impl Fn(rusqlite::Error) -> StoreError {
    let what = format!("{doing} {}", path.display());
    move |error| match error.sqlite_error_code() {
        Some(ErrorCode::NotADatabase) => StoreError::broken(&what, "it is damaged, or no inbox at all"),
        Some(ErrorCode::DatabaseCorrupt) => StoreError::broken(
            &what,
            "it is damaged: move it away to begin a new one, `sqlite3 FILE .recover` may save what is in it",
        ),
        Some(ErrorCode::DiskFull) => StoreError::broken(&what, "the disk is full"),
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
            let patience = PAUSE.saturating_mul(TRIES.unsigned_abs()).as_secs();
            StoreError::broken(&what, format!("another process has kept it locked for {patience} s"))
        }
        Some(ErrorCode::ReadOnly) => StoreError::broken(&what, "it is read-only"),
        _ => StoreError::broken(&what, error),
    }
}

pub(super) fn unreadable(error: impl std::fmt::Display) -> Fault {
    Fault::Ours(StoreError::broken("cannot read a stored question", error.to_string()))
}

pub(super) fn unwritable(error: serde_json::Error) -> StoreError {
    StoreError::broken("cannot write a question", error)
}
