//! The file as it is copied and backed up. SQLite makes the JSON of a row, and takes it apart again.

use super::SqliteStore;
use super::database::{Database, key_of};
use super::fault::unreadable;
use super::filter::signed;
use crate::process_lock::private_options;
use crate::random::random_id;
use askuser::Request;
use askuser::store::{Archive, Call, StoreError, Table, words};
use rusqlite::{Connection, params};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::{fs, io};

/// What reads or keeps the rows of a table.
fn statements(doing: &str, of: Table) -> impl Iterator<Item = &'static str> {
    let all = include_str!("archive.sql").split_once(&format!("-- {doing} {}\n", of.name()));
    let these = all.and_then(|(_, these)| these.split("\n-- ").next());
    these.unwrap_or_default().split(";\n")
}

impl Database {
    /// Writes a consistent copy of the store to a new file. Returns the number of its questions.
    pub(super) fn backup(&mut self, to: &Path) -> Result<u64, StoreError> {
        let what = format!("cannot write {}", to.display());
        let failed = |error: io::Error| match error.kind() {
            io::ErrorKind::AlreadyExists => StoreError::unavailable(&*what, "it exists already, must be a new file"),
            _ => StoreError::unavailable(&*what, error),
        };
        if to.symlink_metadata().is_ok() {
            return Err(failed(io::ErrorKind::AlreadyExists.into()));
        }
        // A backup that is interrupted leaves no file of that name.
        let mut part = to.as_os_str().to_owned();
        part.push(format!(".{}.part", random_id().map_err(failed)?));
        let part = PathBuf::from(part);
        let file = private_options().create_new(true).open(&part).map_err(failed)?;
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

impl Archive for SqliteStore {
    fn rows(&self, of: Table, after: u64, limit: u32) -> Call<Vec<Value>> {
        self.call(move |database| {
            database.read(|tx, _| {
                let mut statement = tx.prepare_cached(statements("read", of).next().unwrap_or_default())?;
                let (mut rows, mut found) = (statement.query(params![signed(after), limit])?, Vec::new());
                while let Some(row) = rows.next()? {
                    found
                        .push(serde_json::from_str(row.get_ref(0)?.as_str().map_err(unreadable)?).map_err(unreadable)?);
                }
                Ok(found)
            })
        })
    }

    fn keep(&self, of: Table, rows: &[Value]) -> Call<()> {
        let rows = rows.to_vec();
        self.call(move |database| {
            database.write(|tx, _| {
                for row in &rows {
                    let (text, mut derived) = (row.to_string(), Vec::new());
                    if of == Table::Questions {
                        let request = row["request"].as_str().unwrap_or_default();
                        let request: Request = serde_json::from_str(request).map_err(unreadable)?;
                        let (origin, audience) = (request.origin(), request.audience());
                        derived = vec![
                            Some(key_of(request.key(), origin.credential.as_deref())),
                            origin.agent.clone(),
                            Some(words(&request)),
                            (!audience.is_empty()).then(|| serde_json::json!(audience).to_string()),
                            origin.credential.clone(),
                        ];
                    }
                    for sql in statements("keep", of) {
                        let mut statement = tx.prepare_cached(sql)?;
                        let values = std::iter::once(Some(&text)).chain(derived.iter().map(Option::as_ref));
                        for (i, value) in (1..=statement.parameter_count()).zip(values) {
                            statement.raw_bind_parameter(i, value)?;
                        }
                        statement.raw_execute()?;
                    }
                }
                Ok(())
            })
        })
    }
}
