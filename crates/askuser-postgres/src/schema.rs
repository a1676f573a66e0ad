//! The tables.

use crate::error::DatabaseError;
use crate::pool::Connection;
use askuser::store::StoreError;

/// The advisory locks: the prefix "aSKu" and a purpose.
pub(crate) const MIGRATING: i64 = 0x6153_4b75_0000_0001;
pub(crate) const NUMBERING: i64 = 0x6153_4b75_0000_0002;
pub(crate) const REGISTER: i64 = 0x6153_4b75_0000_0003;

const TABLES: &str = include_str!("schema.sql");

/// The version of the tables.
pub(crate) const VERSION: i32 = 6;

/// The version of a schema; `None` without a schema.
async fn version(connection: &Connection) -> Result<Option<i32>, DatabaseError> {
    // `to_regclass` may cache that a table was missing when another process has just made it.
    let sql = "SELECT EXISTS (SELECT 1 FROM pg_tables WHERE schemaname = 'askuser' AND tablename = 'schema_version')";
    let row = connection.row(sql, &[]).await?;
    if row.try_get(0)? {
        let rows = connection.query("SELECT version FROM askuser.schema_version", &[]).await?;
        rows.first().map(|row| Ok(row.try_get(0)?)).transpose()
    } else {
        Ok(None)
    }
}

/// Creates the tables of a new database. Refuses a schema of another version, and a database whose encoding cannot hold
/// every text.
pub(crate) async fn prepare(connection: &Connection, shown: &str) -> Result<(), DatabaseError> {
    let encoding: String = connection.row("SHOW server_encoding", &[]).await?.try_get(0)?;
    if encoding != "UTF8" {
        let why =
            format!("its encoding is {encoding}, must be UTF8: CREATE DATABASE … ENCODING 'UTF8' TEMPLATE template0");
        return Err(StoreError::damaged(format!("cannot use {shown}"), why).into());
    }
    // A read first avoids a lock on a current schema, and admits a user without rights to change tables.
    if is_current(version(connection).await?, shown)? {
        return Ok(());
    }
    connection
        .transaction(async || {
            connection.batch(&format!("SELECT pg_advisory_xact_lock({MIGRATING})")).await?;
            // Another process may have created them meanwhile.
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

/// Returns `true` if the schema is current.
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
