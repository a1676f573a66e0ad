//! Writes a consistent copy of a store that is in use.

use super::database::Database;
use askuser::store::StoreError;
use askuser_sys::random;
use rusqlite::Connection;
use std::path::{Path, PathBuf};
use std::{fs, io};

impl Database {
    /// Writes a consistent copy of the store to a new file. Returns the number of questions in the copy.
    pub(super) fn backup(&mut self, to: &Path) -> Result<u64, StoreError> {
        let what = format!("cannot write {}", to.display());
        let failed = |error: io::Error| match error.kind() {
            io::ErrorKind::AlreadyExists => StoreError::unavailable(&*what, "it exists already, must be a new file"),
            _ => StoreError::unavailable(&*what, error),
        };
        if to.symlink_metadata().is_ok() {
            return Err(failed(io::ErrorKind::AlreadyExists.into()));
        }
        // The copy gets its name at the end, so that an interrupted backup leaves no incomplete file of that name.
        let mut part = to.as_os_str().to_owned();
        part.push(format!(".{}.part", random::id().map_err(failed)?));
        let part = PathBuf::from(part);
        let file = askuser_sys::regular_file::private().create_new(true).open(&part).map_err(failed)?;
        let write = || {
            self.connection.execute("VACUUM INTO ?1", [part.to_str()]).map_err(io::Error::other)?;
            let copy = Connection::open(&part).map_err(io::Error::other)?;
            let count =
                copy.query_row("SELECT count(*) FROM question", [], |row| row.get(0)).map_err(io::Error::other)?;
            file.sync_all()?;
            fs::hard_link(&part, to)?;
            Ok(count)
        };
        let written = write().map_err(failed);
        let _ = fs::remove_file(&part);
        written
    }
}
