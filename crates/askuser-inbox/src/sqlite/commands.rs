//! Runs commands. A command looks up its question, asks [`step`] for the decision, and writes the decision, all in one
//! transaction.

use super::database::{Database, find, is_any_alive, is_live, key_of};
use super::error::{Fault, WRITING, failed, unwritable};
use super::filter::signed;
use super::row::{SELECT, StoredRow};
use super::waiters::{self, Waiter};
use askuser::store::{
    Candidate, Command, DraftStep, DraftVersion, Ending, Found, Operation, Principal, Purged, QuestionId, QuestionRef,
    Record, Reply, Requests, SavedDraft, Step, StoreError, Waiters, Write, step, words,
};
use rusqlite::{Transaction, params};
use std::path::Path;

impl Database {
    /// Runs a command. Returns the reply, and the caller's waiter if the command makes the caller wait.
    pub(super) fn apply(&mut self, by: &Principal, command: &Command) -> Result<(Reply, Option<Waiter>), StoreError> {
        let process = if command.attaches() { self.lock()? } else { String::new() };
        let now = self.now();
        let locks = self.locks.clone();
        let work = |tx: &Transaction<'_>, requests: &mut Requests| {
            let mut found = look_up(tx, requests, &locks, by, command)?;
            found.credential_is_live = by.credential_id().map_or(Ok(true), |id| is_live(tx, id))?;
            let mut step = step(&found, now, by, command)?;
            let n = write(tx, &found, &mut step, by, command, &process)?;
            let waiter = match (step.waiters, &step.write) {
                (Waiters::Keep, _) => None,
                (Waiters::Add, Write::Insert(_)) => Some(Waiter { n, id: None }),
                (Waiters::Add, _) => Some(Waiter::insert(tx, n, &process)?),
                (Waiters::Remove, _) => {
                    waiters::forget(tx, n)?;
                    None
                }
            };
            Ok((n, step, waiter))
        };
        let done = if command.must_be_synced() { self.transact_synced(work) } else { self.transact_unsynced(work) };
        let (n, Step { write, waiters, reply, .. }, waiter) = done?;
        if let Write::Insert(record) = write {
            self.requests.keep(record.question.id.clone(), record.question.request.clone());
        }
        if let Some(waiter) = &waiter {
            self.waiting.entry(n).or_default().push(waiter.clone());
        } else if waiters == Waiters::Remove {
            self.waiting.remove(&n);
            self.unlock();
        }
        Ok((reply, waiter))
    }

    /// Ends the questions that have passed their deadline. The write is synced.
    pub(super) fn expire(&mut self, now: u64) -> Result<(), StoreError> {
        self.write_at_once(|tx, requests| {
            let sql = format!("{SELECT} WHERE state = 'pending' AND expires_ms <= ?1 ORDER BY n");
            let mut statement = tx.prepare_cached(&sql)?;
            let mut rows = statement.query([signed(now)])?;
            while let Some(row) = rows.next()? {
                let Ok(StoredRow { record, .. }) = StoredRow::read(row, requests, now) else {
                    expire_unreadable(tx, row.get(0)?, now)?;
                    continue;
                };
                let command = Command::Expire { id: record.question.id.clone() };
                let found = Found { record: Some(record), credential_is_live: true, ..Found::default() };
                let by = Principal::observer();
                let mut step = step(&found, now, &by, &command)?;
                write(tx, &found, &mut step, &by, &command, "")?;
            }
            Ok(())
        })
    }

    pub(super) fn drafts(&mut self, by: &Principal, which: &QuestionRef) -> Result<Vec<SavedDraft>, StoreError> {
        let now = self.now();
        self.read(|tx, requests| {
            let row = find(tx, requests, by, which, now)?;
            by.check(Operation::Consider(&row.record.question.request))?;
            drafts_of(tx, row.n, by)
        })
    }

    pub(super) fn purge(&mut self, by: &Principal, &before_ms: &u64) -> Result<Purged, StoreError> {
        let path = self.path().to_owned();
        let now = self.now();
        let by = by.clone();
        let command = Command::Purge { before_ms };
        let pragmas = |connection: &rusqlite::Connection, are_usual: bool| {
            let set = |name, is_on| connection.pragma_update(None, name, is_on).map_err(failed(&path, WRITING));
            set("foreign_keys", are_usual).and_then(|()| set("secure_delete", !are_usual))
        };
        // With foreign keys, SQLite would search every event for each deleted row. Secure deletion overwrites deleted
        // text in the file.
        pragmas(&self.connection, false)?;
        let purged = self.transact_synced(|tx, _| {
            let credential_is_live = by.credential_id().map_or(Ok(true), |id| is_live(tx, id))?;
            let found = Found { credential_is_live, ..Found::default() };
            step(&found, now, &by, &command)?;
            let over = "state <> 'pending' AND ended_ms < ?1";
            for table in ["event", "waiter", "draft"] {
                let sql = format!("DELETE FROM {table} WHERE question IN (SELECT n FROM question WHERE {over})");
                tx.execute(&sql, [signed(before_ms)])?;
            }
            Ok(tx.execute(&format!("DELETE FROM question WHERE {over}"), [signed(before_ms)])? as u64)
        });
        let count = pragmas(&self.connection, true).and(purged)?;
        Ok(Purged { count, remains: self.rewrite().err().map(|error| error.chain()) })
    }
}

fn look_up(
    tx: &Transaction<'_>,
    requests: &mut Requests,
    locks: &Path,
    by: &Principal,
    command: &Command,
) -> Result<Found, Fault> {
    let mut found = Found::default();
    if let Some(which) = command.question() {
        found.record = match find(tx, requests, by, &which, 0) {
            Ok(row) => Some(row.record),
            Err(Fault::Ours(StoreError::NotFound(_))) => None,
            Err(fault) => return Err(fault),
        };
    }
    match (command, &found.record) {
        (Command::Put { series: Some(series), .. }, None) => {
            let sql = format!("{SELECT} WHERE series = ?1 AND delivered_ms IS NULL ORDER BY n DESC");
            let mut statement = tx.prepare_cached(&sql)?;
            let mut rows = statement.query([&series.name])?;
            while let Some(row) = rows.next()? {
                // A question that cannot be read must not keep other questions from being asked.
                let Ok(StoredRow { record, waiters, .. }) = StoredRow::read(row, requests, 0) else { continue };
                found.candidates.push(Candidate { record, is_waited_for: is_any_alive(locks, &waiters) });
            }
        }
        (Command::SaveDraft { .. }, Some(record)) => found.drafts = drafts_of(tx, number_of(record), by)?,
        _ => {}
    }
    Ok(found)
}

/// Writes a step and its event. Returns the number of its question.
fn write(
    tx: &Transaction<'_>,
    found: &Found,
    step: &mut Step,
    by: &Principal,
    command: &Command,
    process: &str,
) -> Result<i64, Fault> {
    let n = match (&mut step.write, &mut step.reply) {
        (Write::Insert(record), reply) => {
            let n = insert(tx, record, command, process)?;
            if let Reply::Put { question, .. } = reply {
                question.cursor.n = n.unsigned_abs();
            }
            n
        }
        (Write::Update(record), _) => update(tx, record)?,
        (Write::Drafts(drafts), _) => {
            let n = found.record.as_ref().map(number_of).unwrap_or_default();
            write_drafts(tx, n, by, drafts)?;
            n
        }
        (_, Reply::Put { question, .. }) => signed(question.cursor.n),
        _ => found.record.as_ref().map(number_of).unwrap_or_default(),
    };
    if let Some(event) = step.event {
        let insert = "INSERT INTO event (question, state, at_ms) VALUES (?1, ?2, ?3)";
        tx.prepare_cached(insert)?.execute(params![n, event.state.name(), signed(event.at_ms)])?;
    }
    Ok(n)
}

/// Ends a question that this version cannot read. Its deadline is a column, so it is known.
fn expire_unreadable(tx: &Transaction<'_>, n: i64, now: u64) -> Result<(), Fault> {
    let ending = Ending::timed_out(now);
    let state = ending.state().name();
    let sql = "UPDATE question SET state = ?1, ending = ?2, ended_ms = ?3, expires_ms = NULL, revision = revision + 1
               WHERE n = ?4";
    tx.execute(sql, params![state, ending.to_json()?, signed(now), n])?;
    tx.execute("INSERT INTO event (question, state, at_ms) VALUES (?1, ?2, ?3)", params![n, state, signed(now)])?;
    Ok(())
}

fn number_of(record: &Record) -> i64 {
    signed(record.question.cursor.n)
}

fn insert(tx: &Transaction<'_>, record: &Record, command: &Command, process: &str) -> Result<i64, Fault> {
    let question = &record.question;
    let request = &question.request;
    let origin = question.request.origin();
    let audience = (!request.audience().is_empty()).then(|| serde_json::json!(request.audience()).to_string());
    let series = match command {
        Command::Put { series, .. } => series.as_ref().map(|series| &series.name),
        _ => None,
    };
    tx.prepare_cached(
        // Every question has an event. So this number was never used before, even if questions were purged.
        "INSERT INTO question (n, id, key, request, agent, agent_words, words, audience, background, credential, series, conversation,
         state, asked_ms, expires_ms, asker) VALUES (1 + max((SELECT coalesce(max(n), 0) FROM question),
         coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'event'), 0)),
         ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, 'pending', ?12, ?13, ?14)",
    )?
    .execute(params![
        question.id.as_str(),
        key_of(request.key(), origin.credential.as_deref()),
        serde_json::to_string(&**request).map_err(unwritable)?,
        origin.agent,
        origin.agent.as_ref().map(|agent| agent.to_lowercase()),
        words(request),
        audience,
        request.is_in_background(),
        origin.credential,
        series,
        record.conversation,
        signed(question.asked_ms),
        question.expires_ms.map(signed),
        process,
    ])?;
    Ok(tx.last_insert_rowid())
}

fn update(tx: &Transaction<'_>, record: &Record) -> Result<i64, Fault> {
    let question = &record.question;
    let n = number_of(record);
    let ending = question.ending.as_ref();
    tx.prepare_cached(
        "UPDATE question SET state = ?1, ending = ?2, ended_ms = ?3, attempt = ?4, expires_ms = ?5, delivered_ms = ?6,
         claim = ?7, conversation = ?8, revision = ?9, sent_ms = ?10 WHERE n = ?11",
    )?
    .execute(params![
        question.state().name(),
        ending.map(Ending::to_json).transpose()?,
        ending.and_then(Ending::at_ms).map(signed),
        record.attempt.as_ref().map(|attempt| attempt.as_str()),
        question.expires_ms.map(signed),
        question.delivered_ms.map(signed),
        record.claim.as_ref().map(|claim| claim.as_str()),
        record.conversation,
        signed(record.revision),
        question.sent_ms.map(signed),
        n,
    ])?;
    Ok(n)
}

fn person(by: &Principal) -> &str {
    by.name().unwrap_or_default()
}

fn write_drafts(tx: &Transaction<'_>, n: i64, by: &Principal, step: &DraftStep) -> Result<(), Fault> {
    for version in &step.removed {
        let sql = "DELETE FROM draft WHERE question = ?1 AND person = ?2 AND writer = ?3 AND edit = ?4";
        tx.execute(sql, params![n, person(by), version.writer, version.edit])?;
    }
    if let Some(saved) = &step.written {
        let sql = "INSERT OR REPLACE INTO draft (question, person, writer, edit, draft, unsent)
                   VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
        let DraftVersion { writer, edit } = &saved.version;
        let (draft, unsent) = saved.to_json()?;
        tx.execute(sql, params![n, person(by), writer, edit, draft, unsent])?;
    }
    Ok(())
}

fn drafts_of(tx: &Transaction<'_>, n: i64, by: &Principal) -> Result<Vec<SavedDraft>, Fault> {
    Ok(SavedDraft::read(&draft_texts(tx, "draft", n, by)?))
}

/// Returns a column of a person's drafts for a question.
pub(super) fn draft_texts(tx: &Transaction<'_>, column: &str, n: i64, by: &Principal) -> rusqlite::Result<Vec<String>> {
    let sql = format!("SELECT {column} FROM draft WHERE question = ?1 AND person = ?2");
    let mut statement = tx.prepare_cached(&sql)?;
    statement.query_map(params![n, person(by)], |row| row.get(0))?.collect()
}

/// Returns a new random id for a question.
pub(super) fn new_id() -> Result<QuestionId, StoreError> {
    let failed = |error: std::io::Error| StoreError::unavailable("cannot name a question", error);
    let id = askuser_sys::random::id().map_err(failed)?;
    QuestionId::parse(&id[..12]).ok_or_else(|| StoreError::damaged("cannot name a question", id))
}
