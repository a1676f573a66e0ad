//! The tables of a store in SQLite, and their version.

use askuser::store::StoreError;
use rusqlite::Connection;
use std::path::Path;

/// The application id "aSKu", which marks a file as a store of askuser.
const APPLICATION_ID: i32 = 0x61_53_4b_75;

/// The version of the tables that this program uses.
pub(crate) const VERSION: i32 = 8;

const TABLES: &str = include_str!("schema.sql");

/// Returns the version of an open file, because another process may have changed it.
pub(super) fn version(connection: &Connection) -> rusqlite::Result<i32> {
    connection.prepare_cached("PRAGMA user_version")?.query_row([], |row| row.get(0))
}

/// Creates the tables of a new file.
///
/// # Errors
/// If the file belongs to another program or has another version.
pub(super) fn prepare(connection: &mut Connection, path: &Path) -> Result<(), StoreError> {
    let shown = path.display();
    let failed = super::error::failed(path, "cannot prepare");
    let pragma = |connection: &Connection, name| connection.pragma_query_value(None, name, |row| row.get::<_, i32>(0));
    let state = |connection: &Connection| {
        Ok::<_, rusqlite::Error>((pragma(connection, "application_id")?, pragma(connection, "user_version")?))
    };
    // A read first avoids a lock on a file with the current tables.
    if state(connection).map_err(&failed)? == (APPLICATION_ID, VERSION) {
        return Ok(());
    }
    // The write lock keeps other processes from creating the tables at the same time.
    let tx = connection.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate).map_err(&failed)?;
    let (application, version) = state(&tx).map_err(&failed)?;
    let tables: i64 = tx.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0)).map_err(&failed)?;
    let unusable = |why: String| Err(StoreError::damaged(format!("cannot use {shown}"), why));
    match (application, version) {
        (APPLICATION_ID, VERSION) => return Ok(()),
        (APPLICATION_ID, newer) if newer > VERSION => {
            return unusable(format!("it has version {newer}, this program knows {VERSION}: use a newer askuser"));
        }
        (APPLICATION_ID, older) => {
            return unusable(format!(
                "it has version {older}, this program knows {VERSION}: move it aside with `mv {shown} {shown}.old`, \
                 and a new one is made"
            ));
        }
        (0, _) if tables == 0 => {}
        _ => return Err(StoreError::damaged(format!("{shown} is no inbox"), "it is the database of another program")),
    }
    tx.execute_batch(TABLES).map_err(&failed)?;
    tx.pragma_update(None, "application_id", APPLICATION_ID).map_err(&failed)?;
    tx.pragma_update(None, "user_version", VERSION).map_err(&failed)?;
    tx.commit().map_err(&failed)
}
