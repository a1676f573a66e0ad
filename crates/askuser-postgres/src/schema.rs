//! The tables of a store in PostgreSQL, and their version.

use crate::error::DatabaseError;
use crate::pool::Connection;
use askuser::store::StoreError;

/// The keys of the advisory locks. Each starts with "aSKu", so that other programs do not use the same key.
pub(crate) const MIGRATING: i64 = 0x6153_4b75_0000_0001;
pub(crate) const NUMBERING: i64 = 0x6153_4b75_0000_0002;
pub(crate) const REGISTER: i64 = 0x6153_4b75_0000_0003;

const TABLES: &str = include_str!("schema.sql");

/// The version of the tables that this program uses.
pub(crate) const VERSION: i32 = 6;

/// Returns the version of the schema; `None` if the database has none.
async fn version(connection: &Connection) -> Result<Option<i32>, DatabaseError> {
    // `to_regclass` may return a cached result after another process has created the table.
    let sql = "SELECT EXISTS (SELECT 1 FROM pg_tables WHERE schemaname = 'askuser' AND tablename = 'schema_version')";
    let row = connection.row(sql, &[]).await?;
    if row.try_get(0)? {
        let rows = connection.query("SELECT version FROM askuser.schema_version", &[]).await?;
        rows.first().map(|row| Ok(row.try_get(0)?)).transpose()
    } else {
        Ok(None)
    }
}

/// Creates the tables of a new database.
///
/// # Errors
/// If the schema has another version, or the encoding of the database cannot hold every text.
pub(crate) async fn prepare(connection: &Connection, shown: &str) -> Result<(), DatabaseError> {
    let encoding: String = connection.row("SHOW server_encoding", &[]).await?.try_get(0)?;
    if encoding != "UTF8" {
        let why =
            format!("its encoding is {encoding}, must be UTF8: CREATE DATABASE … ENCODING 'UTF8' TEMPLATE template0");
        return Err(StoreError::damaged(format!("cannot use {shown}"), why).into());
    }
    // The first check runs without a lock. So a user without the right to change tables can use a current schema.
    if is_current(version(connection).await?, shown)? {
        return Ok(());
    }
    connection
        .transaction(async || {
            connection.batch(&format!("SELECT pg_advisory_xact_lock({MIGRATING})")).await?;
            // Another process may have created the tables before this one got the lock.
            if is_current(version(connection).await?, shown)? {
                return Ok(());
            }
            let begin = format!(
                "CREATE SCHEMA IF NOT EXISTS askuser; CREATE TABLE askuser.schema_version (version integer NOT NULL);
                 INSERT INTO askuser.schema_version VALUES ({VERSION})"
            );
            connection.batch(&begin).await?;
            connection.batch(TABLES).await
        })
        .await
}

/// Returns `true` if the schema is current, and `false` if the database has no schema.
///
/// # Errors
/// If the schema has another version.
pub(crate) fn is_current(version: Option<i32>, shown: &str) -> Result<bool, StoreError> {
    match version {
        Some(version) if version > VERSION => {
            let why = format!("it has version {version}, this program knows {VERSION}: use a newer askuser");
            Err(StoreError::damaged(format!("cannot use {shown}"), why))
        }
        Some(version) if version < VERSION => {
            let why = format!(
                "it has version {version}, this program knows {VERSION}: move it aside with \
                 `ALTER SCHEMA askuser RENAME TO askuser_old`, and a new one is made"
            );
            Err(StoreError::damaged(format!("cannot use {shown}"), why))
        }
        version => Ok(version == Some(VERSION)),
    }
}
