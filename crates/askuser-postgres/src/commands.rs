//! Runs commands.
//!
//! A command looks up the question and asks [`step`] for the decision. One conditional statement writes the decision.
//!
//! A write succeeds only if the question still has the revision that was read and the credential is still valid.
//! Otherwise the command starts again. So a statement may be repeated after its reply was lost. Only a put in a series
//! needs a transaction.

use crate::database::{CallKind, Database, digest, named};
use crate::error::{DatabaseError, unwritable};
use crate::pool::{Connection, Value};
use crate::row::{SELECT, StoredRow, signed};
use crate::schema::VERSION;
use crate::store::random_id;
use askuser::Request;
use askuser::store::{
    Candidate, Command, DraftStep, Ending, Found, Operation, Principal, Purged, QuestionId, QuestionRef, Record, Reply,
    SavedDraft, Step, StoreError, Waiters, Write, step, words,
};
use futures_util::future::join;
use sha2::{Digest as _, Sha256};
use tokio_postgres::types::Type;

/// The maximum number of attempts at a command. An attempt fails if another process writes the question first.
const TRIES: u32 = 20;

/// Locks the row of the credential `$1` while the statement runs, so that a revocation happens before or after the
/// statement.
const LIVE: &str = "live AS (
     SELECT 1 FROM askuser.register WHERE kind = 'credential' AND id = $1 AND revoked_by IS NULL FOR SHARE)";
const IS_LIVE: &str = "($1::text IS NULL OR EXISTS (SELECT 1 FROM live))";

/// The number of the question that a caller waits for, and the id of the caller's waiter.
pub(crate) type Waiter = (i64, String);

impl Database {
    /// Runs a command. Returns the reply, and the caller's waiter if the command makes the caller wait.
    pub(crate) async fn apply(&self, by: &Principal, command: &Command) -> Result<(Reply, Option<Waiter>), StoreError> {
        let waiter = random_id()?;
        let work = async |connection: &Connection| {
            if command.attaches() {
                self.lease(connection).await?;
            }
            for _ in 0..TRIES {
                let once = async || self.try_once(connection, by, command, &waiter).await;
                let done = match series_of(command) {
                    Some(series) => {
                        // Calls of one series run one after the other, so that each finds the question of the previous
                        // call.
                        let lock = i64::from_be_bytes(series[..8].try_into().unwrap_or_default());
                        let in_turn = async || {
                            connection.execute("SELECT pg_advisory_xact_lock($1)", &[(&lock, Type::INT8)]).await?;
                            once().await
                        };
                        connection.transaction(in_turn).await?
                    }
                    None => once().await?,
                };
                if let Some(done) = done {
                    return Ok(done);
                }
            }
            let why = "other processes were quicker every time";
            Err(StoreError::unavailable("cannot write a question", why).into())
        };
        let kind = match command {
            Command::Put { .. } | Command::End { .. } => CallKind::WriteWithEvent,
            _ => CallKind::Write,
        };
        let (n, Step { write, waiters, reply, .. }) = self.run(kind, work).await?;
        if let Write::Insert(record) = write {
            self.requests.borrow_mut().keep(record.question.id.clone(), record.question.request.clone());
        }
        match waiters {
            Waiters::Keep => {}
            Waiters::Remove => self.leases.forget(n),
            Waiters::Add => {
                self.leases.waits(n, waiter.clone());
                self.event_feed.lease_taken();
                return Ok((reply, Some((n, waiter))));
            }
        }
        Ok((reply, None))
    }

    /// Makes one attempt to decide a command and write the decision. Returns `None` if another process wrote first.
    async fn try_once(
        &self,
        connection: &Connection,
        by: &Principal,
        command: &Command,
        waiter: &str,
    ) -> Result<Option<(i64, Step)>, DatabaseError> {
        let (now, found) = self.look_up(connection, by, command).await?;
        let mut step = step(&found, now, by, command)?;
        let credential = by.credential_id();
        let known = found.record.as_ref().map(number_of).unwrap_or_default();
        let n = match (&step.write, &mut step.reply) {
            (Write::Insert(record), reply) => {
                let n = self.insert(connection, credential, record, command, waiter).await?;
                if let (Reply::Put { question, .. }, Some(n)) = (reply, n) {
                    question.cursor.n = n.unsigned_abs();
                }
                return Ok(n.map(|n| (n, step)));
            }
            (Write::Update(record), _) => {
                update(connection, credential, record, &step).await?.then(|| number_of(record))
            }
            (Write::Drafts(drafts), _) => write_drafts(connection, by, known, drafts).await?.then_some(known),
            (_, Reply::Put { question, .. }) => Some(signed(question.cursor.n)),
            _ => Some(known),
        };
        let Some(n) = n else { return Ok(None) };
        match (step.waiters, &step.write) {
            (Waiters::Add, _) if !self.add_waiter(connection, credential, n, waiter).await? => return Ok(None),
            (Waiters::Remove, Write::Nothing) => {
                connection.execute("DELETE FROM askuser.waiter WHERE question = $1", &[(&n, Type::INT8)]).await?;
            }
            _ => {}
        }
        Ok(Some((n, step)))
    }

    async fn look_up(
        &self,
        connection: &Connection,
        by: &Principal,
        command: &Command,
    ) -> Result<(u64, Found), DatabaseError> {
        let no_question = || StoreError::damaged("cannot write a question", "the command names none");
        let which = command.question().ok_or_else(no_question)?;
        let (condition, name) = named(by, &which);
        let sql = format!("{SELECT} WHERE {condition}");
        let series = series_of(command);
        let candidates = format!("{SELECT} WHERE q.series = $1 AND q.delivered_ms IS NULL ORDER BY q.n DESC");
        let look = async || {
            let of_series = async || match &series {
                Some(series) => connection.query(&candidates, &[(series, Type::BYTEA)]).await,
                None => Ok(Vec::new()),
            };
            let (rows, of_series) = join(connection.query(&sql, &[name.value()]), of_series()).await;
            Ok((rows?, of_series?))
        };
        let (moment, (rows, of_series)) = self.read(connection, by.credential_id(), look).await?;
        let read = |row| StoredRow::read(row, &mut self.requests.borrow_mut(), moment.now);
        let record = rows.first().map(read).transpose()?.map(|row| row.record);
        // An unreadable row must not block new questions.
        let candidates = of_series
            .iter()
            .filter_map(|row| read(row).ok())
            .map(|row| Candidate { record: row.record, is_waited_for: row.is_waited_for });
        let candidates = candidates.collect();
        let drafts = match (command, &record) {
            (Command::SaveDraft { .. }, Some(record)) => drafts_of(connection, number_of(record), by).await?,
            _ => Vec::new(),
        };
        Ok((moment.now, Found { record, candidates, drafts, credential_is_live: moment.credential_is_live }))
    }

    /// Stores a question with its event and its waiter. Returns `None` if the question already exists, or if the
    /// credential was revoked.
    async fn insert(
        &self,
        connection: &Connection,
        credential: Option<&str>,
        record: &Record,
        command: &Command,
        waiter: &str,
    ) -> Result<Option<i64>, DatabaseError> {
        let question = &record.question;
        let request = &question.request;
        let origin = question.request.origin();
        let sql = format!(
            "WITH {LIVE}, new AS (
                 INSERT INTO askuser.question (id, key, bare_key, request, agent, agent_words, words, audience, credential,
                     state, asked_ms, expires_ms, series, conversation, background)
                 SELECT $2, $3, $4, $5, $6, $7, $8, $9, $10, 'pending', $11, $12, $13, $14, $18
                 WHERE {IS_LIVE} AND EXISTS (SELECT 1 FROM askuser.schema_version WHERE version = $15)
                 ON CONFLICT DO NOTHING RETURNING n
             ), event AS (
                 INSERT INTO askuser.event (question, state, at_ms) SELECT n, 'pending', $11 FROM new
             ), waiter AS (
                 INSERT INTO askuser.waiter (question, id, process) SELECT n, $16, $17 FROM new
             )
             SELECT n FROM new"
        );
        let agent = origin.agent.as_deref().map(without_nul);
        let audience = (!request.audience().is_empty()).then(|| request.audience().to_vec());
        let values: [Value<'_>; 18] = [
            (&credential, Type::TEXT),
            (&question.id.as_str(), Type::TEXT),
            (&digest(request.key(), origin.credential.as_deref()), Type::BYTEA),
            (&digest(request.key(), None), Type::BYTEA),
            (&serde_json::to_string(&**request as &Request).map_err(unwritable)?, Type::TEXT),
            (&agent, Type::TEXT),
            (&agent.as_deref().map(str::to_lowercase), Type::TEXT),
            (&without_nul(&words(request)), Type::TEXT),
            (&audience, Type::TEXT_ARRAY),
            (&origin.credential, Type::TEXT),
            (&signed(question.asked_ms), Type::INT8),
            (&question.expires_ms.map(signed), Type::INT8),
            (&series_of(command), Type::BYTEA),
            (&record.conversation, Type::TEXT),
            (&VERSION, Type::INT4),
            (&waiter, Type::TEXT),
            (&self.leases.process, Type::TEXT),
            (&request.is_in_background(), Type::BOOL),
        ];
        let rows = connection.query(&sql, &values).await?;
        Ok(rows.first().map(|row| row.try_get("n")).transpose()?)
    }

    /// Adds a waiter. Returns `false` if the credential was revoked.
    async fn add_waiter(
        &self,
        connection: &Connection,
        credential: Option<&str>,
        n: i64,
        waiter: &str,
    ) -> Result<bool, DatabaseError> {
        let sql = format!(
            "WITH {LIVE}, added AS (
                 INSERT INTO askuser.waiter (question, id, process) SELECT $2, $3, $4 WHERE {IS_LIVE} ON CONFLICT DO NOTHING
             )
             SELECT {IS_LIVE}"
        );
        let values: [Value<'_>; 4] =
            [(&credential, Type::TEXT), (&n, Type::INT8), (&waiter, Type::TEXT), (&self.leases.process, Type::TEXT)];
        Ok(connection.row(&sql, &values).await?.try_get(0)?)
    }

    /// Deletes questions that ended before a time, in batches, so that a purge does not delay other calls.
    pub(crate) async fn purge(&self, by: &Principal, &before_ms: &u64) -> Result<Purged, StoreError> {
        const AT_ONCE: u64 = 5_000;
        let found = Found { credential_is_live: true, ..Found::default() };
        step(&found, 0, by, &Command::Purge { before_ms })?;
        let sql = format!(
            "DELETE FROM askuser.question WHERE n IN (
                 SELECT n FROM askuser.question WHERE state <> 'pending' AND ended_ms < $1
                 ORDER BY ended_ms, n LIMIT {AT_ONCE} FOR UPDATE SKIP LOCKED)"
        );
        let before = signed(before_ms);
        let mut count = 0;
        loop {
            let some = async |connection: &Connection| connection.execute(&sql, &[(&before, Type::INT8)]).await;
            let gone = self.run_by(by, CallKind::Write, some).await?;
            count += gone;
            if gone < AT_ONCE {
                return Ok(Purged { count, remains: None });
            }
        }
    }

    pub(crate) async fn drafts(&self, by: &Principal, which: &QuestionRef) -> Result<Vec<SavedDraft>, StoreError> {
        let read = async |connection: &Connection| {
            let row = self.known(connection, by, which).await?;
            by.check(Operation::Consider(&row.record.question.request))?;
            drafts_of(connection, number_of(&row.record), by).await
        };
        self.run_by(by, CallKind::Read, read).await
    }
}

/// Writes the next revision of a question with its event. Returns `false` if another process was faster, or if the
/// credential was revoked.
async fn update(
    connection: &Connection,
    credential: Option<&str>,
    record: &Record,
    step: &Step,
) -> Result<bool, DatabaseError> {
    let question = &record.question;
    let ending = question.ending.as_ref();
    let sql = format!(
        "WITH {LIVE}, changed AS (
             UPDATE askuser.question SET state = $4, ending = $5, ended_ms = $6, attempt = $7, expires_ms = $8,
                 delivered_ms = $9, claim = $10, conversation = $11, sent_ms = $16, revision = $3 + 1
             WHERE n = $2 AND revision = $3 AND {IS_LIVE}
                 AND EXISTS (SELECT 1 FROM askuser.schema_version WHERE version = $12)
             RETURNING n
         ), event AS (
             INSERT INTO askuser.event (question, state, at_ms) SELECT n, $13, $14 FROM changed WHERE $13 IS NOT NULL
         ), waiters AS (
             DELETE FROM askuser.waiter WHERE $15 AND question IN (SELECT n FROM changed)
         )
         SELECT n FROM changed"
    );
    let values: [Value<'_>; 16] = [
        (&credential, Type::TEXT),
        (&number_of(record), Type::INT8),
        (&signed(record.revision.saturating_sub(1)), Type::INT8),
        (&question.state().name(), Type::TEXT),
        (&ending.map(Ending::to_json).transpose()?, Type::TEXT),
        (&ending.and_then(Ending::at_ms).map(signed), Type::INT8),
        (&record.attempt.as_ref().map(|attempt| attempt.as_str()), Type::TEXT),
        (&question.expires_ms.map(signed), Type::INT8),
        (&question.delivered_ms.map(signed), Type::INT8),
        (&record.claim.as_ref().map(|claim| claim.as_str()), Type::TEXT),
        (&record.conversation, Type::TEXT),
        (&VERSION, Type::INT4),
        (&step.event.map(|event| event.state.name()), Type::TEXT),
        (&step.event.map(|event| signed(event.at_ms)), Type::INT8),
        (&(step.waiters == Waiters::Remove), Type::BOOL),
        (&question.sent_ms.map(signed), Type::INT8),
    ];
    Ok(connection.query(&sql, &values).await?.len() == 1)
}

/// Writes drafts. Two concurrent saves keep both drafts, but each may return without the other's draft. Returns `false`
/// if the credential was revoked.
async fn write_drafts(
    connection: &Connection,
    by: &Principal,
    n: i64,
    step: &DraftStep,
) -> Result<bool, DatabaseError> {
    let person = by.name().unwrap_or_default();
    let writers: Vec<&str> = step.removed.iter().map(|removed| removed.writer.as_str()).collect();
    let edits: Vec<i64> = step.removed.iter().map(|removed| removed.edit.into()).collect();
    let written = step.written.as_ref();
    let version = written.map(|saved| saved.version.clone()).unwrap_or_default();
    let (draft, unsent) = written.map(SavedDraft::to_json).transpose()?.unzip();
    let sql = format!(
        "WITH {LIVE}, written AS (
             INSERT INTO askuser.draft AS d (question, person, writer, edit, draft, unsent)
             SELECT $2, $3, $4, $5, $6, $7 WHERE $6 IS NOT NULL AND {IS_LIVE}
             ON CONFLICT (question, person, writer) DO UPDATE
                 SET edit = EXCLUDED.edit, draft = EXCLUDED.draft, unsent = EXCLUDED.unsent
             WHERE d.edit <= EXCLUDED.edit
         ), removed AS (
             DELETE FROM askuser.draft WHERE question = $2 AND person = $3 AND {IS_LIVE}
                 AND (writer, edit) IN (SELECT * FROM unnest($8::text[], $9::bigint[]))
         )
         SELECT {IS_LIVE}"
    );
    let values: [Value<'_>; 9] = [
        (&by.credential_id(), Type::TEXT),
        (&n, Type::INT8),
        (&person, Type::TEXT),
        (&version.writer, Type::TEXT),
        (&i64::from(version.edit), Type::INT8),
        (&draft, Type::TEXT),
        (&unsent, Type::TEXT),
        (&writers, Type::TEXT_ARRAY),
        (&edits, Type::INT8_ARRAY),
    ];
    Ok(connection.row(&sql, &values).await?.try_get(0)?)
}

async fn drafts_of(connection: &Connection, n: i64, by: &Principal) -> Result<Vec<SavedDraft>, DatabaseError> {
    let sql = "SELECT draft FROM askuser.draft WHERE question = $1 AND person = $2";
    let person = by.name().unwrap_or_default();
    let rows = connection.query(sql, &[(&n, Type::INT8), (&person, Type::TEXT)]).await?;
    let drafts: Vec<String> = rows.iter().map(|row| row.try_get(0)).collect::<Result<_, _>>()?;
    Ok(SavedDraft::read(&drafts))
}

pub(crate) fn number_of(record: &Record) -> i64 {
    signed(record.question.cursor.n)
}

/// Returns a new random id for a question.
pub(crate) fn new_id() -> Result<QuestionId, StoreError> {
    let id = random_id()?;
    QuestionId::parse(&id[..12]).ok_or_else(|| StoreError::damaged("cannot name a question", id))
}

/// Returns the digest of the series name if the command is a put in a series. An index has a size limit, which a name
/// may exceed.
fn series_of(command: &Command) -> Option<Vec<u8>> {
    match command {
        Command::Put { series: Some(series), .. } => Some(Sha256::digest(series.name.as_bytes()).to_vec()),
        _ => None,
    }
}

/// Replaces NUL characters, which PostgreSQL cannot store. Only search columns need this, because the JSON of a request
/// escapes NUL.
pub(crate) fn without_nul(text: &str) -> String {
    text.replace('\0', "\u{fffd}")
}
