//! The location of a store.

use crate::SqliteStore;
use askuser::store::{Store, StoreError};
use std::ffi::OsStr;
use std::path::PathBuf;
use std::sync::Arc;

/// The location of the questions.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Location {
    /// In a file of this machine.
    File(PathBuf),
    /// At a server.
    Address(String),
    /// In a PostgreSQL database. Only a server opens it, because its password grants every right.
    Postgres(String),
}

impl Location {
    /// Parses a setting: an address has a scheme, and any other text is a path.
    pub fn parse(text: &OsStr) -> Location {
        match text.to_str().filter(|text| text.contains("://")) {
            Some(address) if address.starts_with("postgres") => Location::Postgres(address.to_owned()),
            Some(address) => Location::Address(address.to_owned()),
            None => Location::File(text.into()),
        }
    }

    /// Opens the store, or makes it.
    ///
    /// # Errors
    /// Where it cannot be used.
    pub fn open(&self) -> Result<Arc<dyn Store>, StoreError> {
        match self {
            Location::File(path) => Ok(Arc::new(SqliteStore::open(path)?)),
            _ => Err(StoreError::unavailable(format!("cannot open {self}"), "it is a server, and no file")),
        }
    }

    /// Whether there is a store, as far as that can be told without opening it.
    pub fn exists(&self) -> bool {
        match self {
            Location::File(path) => path.exists(),
            _ => true,
        }
    }

    /// The files it consists of.
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
            // Its address may hold a password.
            Location::Postgres(_) => f.write_str("a PostgreSQL database"),
        }
    }
}
