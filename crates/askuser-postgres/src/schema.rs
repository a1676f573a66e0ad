//! The tables, and how an older schema becomes a current one.

use crate::fault::Fault;
use crate::pool::Connection;
use askuser::store::StoreError;

/// Locks of ours, told from those of others: "aSKu", and what for.
pub(crate) const MIGRATING: i64 = 0x6153_4b75_0000_0001;
pub(crate) const NUMBERING: i64 = 0x6153_4b75_0000_0002;

/// What makes a schema of version n into one of version n + 1. Only ever added to.
const MIGRATIONS: &[&str] = &[
    "
-- The time of every record is this server's.
CREATE FUNCTION askuser.now_ms() RETURNS bigint LANGUAGE sql VOLATILE
    AS 'SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint';
CREATE TABLE askuser.question (
    n            bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, -- the order of asking
    id           text COLLATE \"C\" NOT NULL UNIQUE,  -- what people call it
    key          bytea NOT NULL UNIQUE,             -- SHA-256 of the request's key and its credential: the same is the same question
    bare_key     bytea NOT NULL,                    -- the same without the credential
    request      text NOT NULL,                     -- the whole request, as it serialises
    agent        text,                              -- who asks, to search by, and in lower case
    agent_words  text,
    words        text NOT NULL,                     -- what a person reads of it, in lower case, to search by
    audience     text[],                            -- for whom it is; none for everybody
    credential   text,                              -- the name of the credential that asked
    state        text NOT NULL,
    asked_ms     bigint NOT NULL,
    expires_ms   bigint,
    resolution   text,                              -- as it serialises; none for a withdrawal
    ended_by     text,
    ended_ms     bigint,
    answer_key   text,                              -- the attempt that ended it
    delivered_ms bigint,
    series       bytea,                             -- SHA-256: the same for questions that are the same to a person
    conversation text,                              -- which conversation asked it, or took it over
    claim        text,                              -- the attempt that used its permission
    put_by       text NOT NULL,                     -- the call that asked it: a repeated one knows its own
    left_ms      bigint,                            -- when the last waiter left
    asker_died   boolean NOT NULL DEFAULT false
) WITH (fillfactor = 80);
CREATE INDEX question_bare_key ON askuser.question (bare_key);
CREATE INDEX question_pending ON askuser.question (n) WHERE state = 'pending';
CREATE INDEX question_ended ON askuser.question (n) WHERE state <> 'pending';
CREATE INDEX question_expiring ON askuser.question (expires_ms) WHERE state = 'pending' AND expires_ms IS NOT NULL;
CREATE INDEX question_series ON askuser.question (series, n) WHERE series IS NOT NULL AND delivered_ms IS NULL;
CREATE INDEX question_credential ON askuser.question (credential, n) WHERE credential IS NOT NULL;
-- An event has no number before it is committed: numbers become visible in their order, without holes.
CREATE TABLE askuser.event (
    n        bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    seq      bigint UNIQUE,
    question bigint NOT NULL REFERENCES askuser.question (n) ON DELETE CASCADE,
    state    text NOT NULL,
    at_ms    bigint NOT NULL
) WITH (fillfactor = 80);
CREATE INDEX event_unnumbered ON askuser.event (n) WHERE seq IS NULL;
CREATE INDEX event_question ON askuser.event (question);
CREATE TABLE askuser.numbering (
    one  boolean PRIMARY KEY DEFAULT true CHECK (one),
    last bigint NOT NULL
);
INSERT INTO askuser.numbering (last) VALUES (0);
-- Who waits, and who shows a list: as long as their process renews its lease, by this server's real time.
CREATE TABLE askuser.process (
    id      text PRIMARY KEY,
    expires timestamptz NOT NULL
);
CREATE TABLE askuser.waiter (
    question bigint NOT NULL REFERENCES askuser.question (n) ON DELETE CASCADE,
    id       text NOT NULL,
    process  text NOT NULL,
    PRIMARY KEY (question, id)
);
CREATE INDEX waiter_process ON askuser.waiter (process);
CREATE TABLE askuser.shown_list (
    id      text PRIMARY KEY,
    process text NOT NULL
);
CREATE TABLE askuser.draft (
    question bigint NOT NULL REFERENCES askuser.question (n) ON DELETE CASCADE,
    person   text NOT NULL,
    answers  text NOT NULL,
    PRIMARY KEY (question, person)
);
CREATE TABLE askuser.notifier_failure (
    one   boolean PRIMARY KEY DEFAULT true CHECK (one),
    at_ms bigint NOT NULL,
    what  text NOT NULL,
    why   text NOT NULL
);
CREATE TABLE askuser.credential (
    n          bigint GENERATED ALWAYS AS IDENTITY,
    id         text PRIMARY KEY,                    -- the part of a token that is no secret
    name       text NOT NULL,
    scope      text NOT NULL,
    is_device  boolean NOT NULL,
    person     text NOT NULL,
    digest     bytea NOT NULL,                      -- SHA-256 of the secret part
    made_ms    bigint NOT NULL,
    seen_ms    bigint,
    address    text,
    revoked_ms bigint,
    revoked_by text                                 -- the call that revoked it
);
CREATE TABLE askuser.pairing (
    id          text PRIMARY KEY,
    is_link     boolean NOT NULL,
    digest      bytea NOT NULL,
    address     text,
    browser     text,
    expires_ms  bigint NOT NULL,
    tries       integer NOT NULL DEFAULT 0,
    is_approved boolean NOT NULL DEFAULT false
);
CREATE TABLE askuser.failed_credential (
    one     boolean PRIMARY KEY DEFAULT true CHECK (one),
    count   bigint NOT NULL,
    last_ms bigint NOT NULL,
    address text NOT NULL
);
",
    "
CREATE TABLE askuser.person (
    name     text PRIMARY KEY,
    added_ms bigint NOT NULL
);
-- A credential without a person acts under its own name; those of before that ask or administer act for nobody.
INSERT INTO askuser.person SELECT person, min(made_ms) FROM askuser.credential
    WHERE revoked_ms IS NULL AND scope = 'answer' GROUP BY 1;
UPDATE askuser.credential SET person = '' WHERE scope <> 'answer';
ALTER TABLE askuser.pairing ADD COLUMN person text; -- whose device it becomes
-- To copy it into a store that finds it by its name.
ALTER TABLE askuser.question ADD COLUMN series_name text;
CREATE INDEX question_for_some ON askuser.question (n) WHERE state = 'pending' AND audience IS NOT NULL;
",
    "
-- A person has a draft for each opening of a question at a surface (its writer).
ALTER TABLE askuser.draft
    ADD COLUMN writer   text NOT NULL DEFAULT '',
    ADD COLUMN edit     bigint NOT NULL DEFAULT 0,      -- the number of the writer's save
    ADD COLUMN place    text NOT NULL DEFAULT '',       -- the device or surface
    ADD COLUMN saved_ms bigint NOT NULL DEFAULT 0,
    DROP CONSTRAINT draft_pkey,
    ADD PRIMARY KEY (question, person, writer);
UPDATE askuser.draft SET writer = 'version 1' WHERE person = '';
UPDATE askuser.draft SET answers = '{\"answers\":' || answers || '}' WHERE answers LIKE '[%';
",
];

/// The version this program writes.
pub(crate) const VERSION: i32 = MIGRATIONS.len() as i32;

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

/// Brings a schema up to date, or refuses one that is newer than this program, and a database that cannot hold every text.
pub(crate) async fn migrate(connection: &Connection, shown: &str) -> Result<(), Fault> {
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
            let version = version(connection).await?;
            if is_current(version, shown)? {
                return Ok(());
            }
            if version.is_none() {
                let begin = "CREATE SCHEMA IF NOT EXISTS askuser; CREATE TABLE askuser.schema_version (version integer NOT NULL); \
                             INSERT INTO askuser.schema_version VALUES (0)";
                connection.batch(begin).await?;
            }
            for migration in &MIGRATIONS[usize::try_from(version.unwrap_or(0)).unwrap_or_default()..] {
                connection.batch(migration).await?;
            }
            connection.batch(&format!("UPDATE askuser.schema_version SET version = {VERSION}")).await
        })
        .await
}

/// Whether nothing is to be done.
pub(crate) fn is_current(version: Option<i32>, shown: &str) -> Result<bool, StoreError> {
    match version {
        Some(version) if version > VERSION => {
            let why = format!("it has version {version}, this program knows 1 to {VERSION}: use a newer askuser");
            Err(StoreError::damaged(format!("cannot use {shown}"), why))
        }
        version => Ok(version == Some(VERSION)),
    }
}
