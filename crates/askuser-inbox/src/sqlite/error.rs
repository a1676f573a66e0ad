//! Errors of SQLite, with messages that name the remedy.

use super::database::{PAUSE, TRIES};
use askuser::store::StoreError;
use rusqlite::ErrorCode;
use std::path::Path;

/// The operation of a write in error messages.
pub(super) const WRITING: &str = "cannot write";

/// An error of this crate or of SQLite.
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

/// Returns a function that converts errors of SQLite. The messages name the operation, the file and the remedy.
pub(super) fn failed(path: &Path, doing: &'static str) -> impl Fn(rusqlite::Error) -> StoreError {
    move |error| explain(error, format!("{doing} {}", path.display()), doing == WRITING)
}

fn explain(error: rusqlite::Error, what: String, is_writing: bool) -> StoreError {
    use rusqlite::Error::{FromSqlConversionFailure, IntegralValueOutOfRange, InvalidColumnType, Utf8Error};
    match error.sqlite_error_code() {
        // A retry cannot help, because the data has another type.
        None if matches!(
            error,
            FromSqlConversionFailure(..) | IntegralValueOutOfRange(..) | InvalidColumnType(..) | Utf8Error(..)
        ) =>
        {
            StoreError::damaged(&what, error)
        }
        Some(ErrorCode::NotADatabase) => StoreError::damaged(&what, "it is damaged, or no inbox at all"),
        Some(ErrorCode::DatabaseCorrupt) => StoreError::damaged(
            &what,
            "it is damaged: move it away to begin a new one, `sqlite3 FILE .recover` may save what is in it",
        ),
        Some(ErrorCode::DiskFull) => StoreError::unavailable(&what, "the disk is full"),
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
            let patience = PAUSE.saturating_mul(TRIES.unsigned_abs()).as_secs();
            StoreError::unavailable(&what, format!("another process has kept it locked for {patience} s"))
        }
        Some(ErrorCode::ReadOnly) => StoreError::unavailable(&what, "it is read-only"),
        // The write may have reached the disk.
        Some(ErrorCode::SystemIoFailure) if is_writing => StoreError::unknown(&what, error),
        _ => StoreError::unavailable(&what, error),
    }
}

pub(super) fn unreadable(error: impl std::fmt::Display) -> Fault {
    Fault::Ours(StoreError::damaged("cannot read a stored question", error.to_string()))
}

pub(super) fn unwritable(error: serde_json::Error) -> StoreError {
    StoreError::unavailable("cannot write a question", error)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rusqlite::ffi::{Error, SQLITE_IOERR};

    #[test]
    fn only_what_was_being_written_may_have_been_done() {
        let failure =
            |doing| failed(Path::new("inbox"), doing)(rusqlite::Error::SqliteFailure(Error::new(SQLITE_IOERR), None));
        assert!(matches!(failure(WRITING), StoreError::Unknown { .. }));
        assert!(matches!(failure("cannot read"), StoreError::Unavailable { .. }), "a later try may succeed");
    }
}
