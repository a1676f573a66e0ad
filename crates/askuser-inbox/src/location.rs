//! The location of a store: a file, a server or a database.

use crate::SqliteStore;
use askuser::store::{Store, StoreError};
use std::ffi::OsStr;
use std::path::PathBuf;
use std::sync::Arc;

/// The location of a store of questions.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Location {
    /// The path of a file on this machine.
    File(PathBuf),
    /// The address of a server.
    Address(String),
    /// The address of a PostgreSQL database. Only a server opens it, because its password grants every right.
    Postgres(String),
}

impl Location {
    /// Parses a setting. A text with a scheme is an address, and any other text is a path.
    pub fn parse(text: &OsStr) -> Location {
        match text.to_str().filter(|text| text.contains("://")) {
            Some(address) if address.starts_with("postgres") => Location::Postgres(address.to_owned()),
            Some(address) => Location::Address(address.to_owned()),
            None => Location::File(text.into()),
        }
    }

    /// Opens the store in a file. Creates the file if needed.
    ///
    /// # Errors
    /// If the location is not a file, or the file cannot be used.
    pub fn open(&self) -> Result<Arc<dyn Store>, StoreError> {
        match self {
            Location::File(path) => Ok(Arc::new(SqliteStore::open(path)?)),
            _ => Err(StoreError::unavailable(format!("cannot open {self}"), "it is a server, and no file")),
        }
    }

    /// Whether the store exists. A server or a database counts as existing, because only opening it would tell.
    pub fn exists(&self) -> bool {
        match self {
            Location::File(path) => path.exists(),
            _ => true,
        }
    }

    /// Returns the files of the store. A server or a database has none here.
    pub fn files(&self) -> Vec<PathBuf> {
        let Location::File(path) = self else { return Vec::new() };
        let Ok(path) = std::path::absolute(path) else { return Vec::new() };
        let beside = |suffix: &str| {
            let mut path = path.clone().into_os_string();
            path.push(suffix);
            PathBuf::from(path)
        };
        ["", "-wal", "-shm", "-bell", "-waiting"].map(beside).into()
    }
}

impl std::fmt::Display for Location {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Location::File(path) => path.display().fmt(f),
            Location::Address(address) => f.write_str(address),
            // The address may contain a password.
            Location::Postgres(_) => f.write_str("a PostgreSQL database"),
        }
    }
}
