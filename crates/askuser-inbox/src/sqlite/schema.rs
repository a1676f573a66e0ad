//! The tables, and how an older file becomes a current one.

use askuser::store::StoreError;
use rusqlite::Connection;
use std::path::Path;

/// Marks a file as ours: "aSKu".
const APPLICATION_ID: i32 = 0x61_53_4b_75;

/// What makes a file of version n into one of version n + 1. Only ever added to.
const MIGRATIONS: &[&str] = &[
    "
CREATE TABLE question (
    n            INTEGER PRIMARY KEY,        -- the order of asking
    id           TEXT NOT NULL UNIQUE,       -- what people call it
    key          TEXT NOT NULL UNIQUE,       -- the request's key: the same key is the same question
    request      TEXT NOT NULL,              -- the whole request, as it serialises
    agent        TEXT,                       -- who asks, to search by
    state        TEXT NOT NULL,
    asked_ms     INTEGER NOT NULL,
    expires_ms   INTEGER,
    resolution   TEXT,                       -- the resolution, as it serialises; none for a withdrawal
    ended_by     TEXT,
    ended_ms     INTEGER,
    answer_key   TEXT,                       -- the attempt that ended it
    delivered_ms INTEGER,
    asker        TEXT,                       -- the process that waits: the name of its lock
    left_ms      INTEGER,                    -- when it stopped waiting
    asker_died   INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX question_pending ON question (n) WHERE state = 'pending';
CREATE INDEX question_expiring ON question (expires_ms) WHERE state = 'pending' AND expires_ms IS NOT NULL;
-- AUTOINCREMENT: a sequence number is never given twice.
CREATE TABLE event (
    seq      INTEGER PRIMARY KEY AUTOINCREMENT,
    question INTEGER NOT NULL REFERENCES question (n),
    state    TEXT NOT NULL,
    at_ms    INTEGER NOT NULL
);
CREATE TABLE draft (
    question INTEGER PRIMARY KEY REFERENCES question (n),
    answers  TEXT NOT NULL
);
",
    // Only added to, so that a program of version 1 that still waits goes on: `draft` is its table.
    "
ALTER TABLE question ADD COLUMN words TEXT;         -- what a person reads of it, in lower case, to search by
UPDATE question SET words = words_of(request);
ALTER TABLE question ADD COLUMN audience TEXT;      -- for whom it is, as a JSON array; none for everybody
ALTER TABLE question ADD COLUMN series TEXT;        -- the same for questions that are the same to a person
ALTER TABLE question ADD COLUMN conversation TEXT;  -- which conversation asked it, or took it over
ALTER TABLE question ADD COLUMN claim TEXT;         -- the attempt that used its permission
-- To count what waits for a person, or to look whose asker has died, reads the index alone.
DROP INDEX question_pending;
CREATE INDEX question_waiting ON question (n, audience, asker) WHERE state = 'pending';
CREATE INDEX question_series ON question (series) WHERE series IS NOT NULL;
-- Who waits besides the process that asked.
CREATE TABLE waiter (
    question INTEGER NOT NULL REFERENCES question (n),
    id       TEXT NOT NULL,
    process  TEXT NOT NULL,                         -- the name of its lock
    PRIMARY KEY (question, id)
) WITHOUT ROWID;
CREATE TABLE shown_list (
    id      TEXT PRIMARY KEY,
    process TEXT NOT NULL
) WITHOUT ROWID;
CREATE TABLE person_draft (
    question INTEGER NOT NULL REFERENCES question (n),
    person   TEXT NOT NULL,
    answers  TEXT NOT NULL,
    PRIMARY KEY (question, person)
) WITHOUT ROWID;
CREATE TABLE notifier_failure (
    one   INTEGER PRIMARY KEY CHECK (one = 1),
    at_ms INTEGER NOT NULL,
    what  TEXT NOT NULL,
    why   TEXT NOT NULL
);
",
    "
ALTER TABLE question ADD COLUMN credential TEXT;    -- the name of the credential that asked; none in this file's own processes
CREATE INDEX question_credential ON question (credential, n) WHERE credential IS NOT NULL;
CREATE TABLE credential (
    id         TEXT PRIMARY KEY,                    -- the part of a token that is no secret
    name       TEXT NOT NULL,
    scope      TEXT NOT NULL,
    is_device  INTEGER NOT NULL,
    person     TEXT NOT NULL,
    digest     BLOB NOT NULL,                       -- SHA-256 of the secret part
    made_ms    INTEGER NOT NULL,
    seen_ms    INTEGER,
    address    TEXT,
    revoked_ms INTEGER
);
CREATE TABLE pairing (
    id          TEXT PRIMARY KEY,
    is_link     INTEGER NOT NULL,
    digest      BLOB NOT NULL,
    address     TEXT,
    browser     TEXT,
    expires_ms  INTEGER NOT NULL,
    tries       INTEGER NOT NULL DEFAULT 0,
    is_approved INTEGER NOT NULL DEFAULT 0
);
CREATE TABLE failed_credential (
    one     INTEGER PRIMARY KEY CHECK (one = 1),
    count   INTEGER NOT NULL,
    last_ms INTEGER NOT NULL,
    address TEXT NOT NULL
);
",
    "
CREATE TABLE person (
    name     TEXT PRIMARY KEY,
    added_ms INTEGER NOT NULL
) WITHOUT ROWID;
-- A credential without a person acts under its own name; those of before that ask or administer act for nobody.
INSERT INTO person SELECT person, min(made_ms) FROM credential WHERE revoked_ms IS NULL AND scope = 'answer' GROUP BY 1;
UPDATE credential SET person = '' WHERE scope <> 'answer';
ALTER TABLE pairing ADD COLUMN person TEXT;         -- whose device it becomes
CREATE INDEX question_for_some ON question (n) WHERE state = 'pending' AND audience IS NOT NULL;
",
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
