//! The tables, and how an older file becomes a current one.

use askuser::store::StoreError;
use rusqlite::Connection;
use std::path::Path;

/// Marks a file as ours: "aSKu".
const APPLICATION_ID: i32 = 0x61_53_4b_75;

/// What makes a file of version n into one of version n + 1. Only ever added to.
const MIGRATIONS: &[&str] = &[
    include_str!("schema/1.sql"),
    include_str!("schema/2.sql"),
    include_str!("schema/3.sql"),
    include_str!("schema/4.sql"),
    include_str!("schema/5.sql"),
];

/// The version this program writes.
pub(crate) const VERSION: usize = MIGRATIONS.len();

/// The version of a file that is open: another process may have changed it.
pub(super) fn version(connection: &Connection) -> rusqlite::Result<i64> {
    connection.prepare_cached("PRAGMA user_version")?.query_row([], |row| row.get(0))
}

/// Brings a file up to date, or refuses one that is not ours or is newer than this program. Whether it was changed.
pub(super) fn migrate(connection: &mut Connection, path: &Path) -> Result<bool, StoreError> {
    let shown = path.display();
    let failed = super::fault::failed(path, "cannot prepare");
    let pragma = |connection: &Connection, name| connection.pragma_query_value(None, name, |row| row.get::<_, i32>(0));
    // No other process may be migrating it meanwhile. Reading first keeps what is current from being locked.
    let state = |connection: &Connection| {
        Ok::<_, rusqlite::Error>((pragma(connection, "application_id")?, pragma(connection, "user_version")?))
    };
    let is_current = (APPLICATION_ID, VERSION as i32);
    if state(connection).map_err(&failed)? == is_current {
        return Ok(false);
    }
    let tx = connection.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate).map_err(&failed)?;
    let (application, version) = state(&tx).map_err(&failed)?;
    let tables: i64 = tx.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0)).map_err(&failed)?;
    if application != APPLICATION_ID && (application != 0 || tables > 0) {
        return Err(StoreError::damaged(format!("{shown} is no inbox"), "it is the database of another program"));
    }
    let version = usize::try_from(version).unwrap_or(usize::MAX);
    if version > VERSION {
        let why = format!("it has version {version}, this program knows 1 to {VERSION}: use a newer askuser");
        return Err(StoreError::damaged(format!("cannot use {shown}"), why));
    }
    for migration in &MIGRATIONS[version..] {
        tx.execute_batch(migration).map_err(&failed)?;
    }
    tx.pragma_update(None, "application_id", APPLICATION_ID).map_err(&failed)?;
    tx.pragma_update(None, "user_version", VERSION as i32).map_err(&failed)?;
    tx.commit().map_err(&failed)?;
    Ok(true)
}
