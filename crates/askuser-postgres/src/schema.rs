//! The tables.

use crate::fault::Fault;
use crate::pool::Connection;
use askuser::store::StoreError;

/// Locks of ours, told from those of others: "aSKu", and what for.
pub(crate) const MIGRATING: i64 = 0x6153_4b75_0000_0001;
pub(crate) const NUMBERING: i64 = 0x6153_4b75_0000_0002;
pub(crate) const REGISTER: i64 = 0x6153_4b75_0000_0003;

const TABLES: &str = include_str!("schema.sql");

/// The version of the tables.
pub(crate) const VERSION: i32 = 5;

/// The version of a schema; none where there is no schema.
async fn version(connection: &Connection) -> Result<Option<i32>, Fault> {
    // Not by `to_regclass`, which may remember that there was none when another process has just made it.
    let sql = "SELECT EXISTS (SELECT 1 FROM pg_tables WHERE schemaname = 'askuser' AND tablename = 'schema_version')";
    let row = connection.row(sql, &[]).await?;
    match row.try_get(0)? {
        false => Ok(None),
        true => {
            let rows = connection.query("SELECT version FROM askuser.schema_version", &[]).await?;
            rows.first().map(|row| Ok(row.try_get(0)?)).transpose()
        }
    }
}

/// Makes the tables of a new database. Refuses a schema of another version, and a database that cannot hold every text.
pub(crate) async fn prepare(connection: &Connection, shown: &str) -> Result<(), Fault> {
    let encoding: String = connection.row("SHOW server_encoding", &[]).await?.try_get(0)?;
    if encoding != "UTF8" {
        let why =
            format!("its encoding is {encoding}, must be UTF8: CREATE DATABASE … ENCODING 'UTF8' TEMPLATE template0");
        return Err(StoreError::damaged(format!("cannot use {shown}"), why).into());
    }
    // Reading first keeps what is current from being locked, and lets a user in who may change no tables.
    if is_current(version(connection).await?, shown)? {
        return Ok(());
    }
    connection
        .transaction(async || {
            connection.batch(&format!("SELECT pg_advisory_xact_lock({MIGRATING})")).await?;
            // Another process may have done it meanwhile.
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

/// Whether nothing is to be done.
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
