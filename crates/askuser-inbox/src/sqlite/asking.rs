//! What an agent does: asks, waits, takes the answer, uses a permission.

use super::database::{Attached, Database, event, find, is_any_alive};
use super::fault::{Fault, unwritable};
use super::row::{Requests, SELECT, StoredRow};
use askuser::store::{
    Act, AskerPresence, Attempt, Claim, Cursor, Earlier, Ending, Principal, QuestionId, Series, State, StoreError,
    StoredQuestion, lasts, words,
};
use askuser::{Purpose, Request};
use rusqlite::{Transaction, params};
use std::path::Path;
use std::sync::Arc;

impl Database {
    pub(super) fn put(
        &mut self,
        by: &Principal,
        request: Request,
        series: Option<&Series>,
    ) -> Result<(bool, StoredQuestion, String), StoreError> {
        by.check(Act::Ask(&request))?;
        let (process, waiter) = (self.lock()?, self.random_id()?);
        let (now, locks, request) = (self.now(), self.locks.clone(), Arc::new(request));
        let body = serde_json::to_string(&*request).map_err(unwritable)?;
        let audience = (!request.audience().is_empty()).then(|| serde_json::json!(request.audience()).to_string());
        let (is_new, n, mut question) = self.write(|tx, requests| {
            let known = known_one(tx, requests, &request, now)?;
            let found = match (known, series) {
                (None, Some(series)) => open_one(tx, requests, &locks, by, series, &request, now)?,
                (known, _) => known,
            };
            if let Some(row) = found {
                by.check(Act::Use(&row.question.request))?;
                if !row.question.request.asks_the_same(&request) {
                    return Err(StoreError::other_question(&row.question.request, &request).into());
                }
                if let Some(series) = series {
                    tx.prepare_cached("UPDATE question SET conversation = ?1 WHERE n = ?2")?
                        .execute(params![series.conversation, row.n])?;
                }
                attach(tx, &waiter, row.n, &process)?;
                return Ok((false, row.n, row.question));
            }
            let mut question = StoredQuestion::new(new_id(tx)?, request.clone(), now, Cursor(0));
            tx.prepare_cached(
                "INSERT INTO question (id, key, request, agent, state, asked_ms, expires_ms, words, audience, series,
                 conversation) VALUES (?1, ?2, ?3, ?4, 'pending', ?5, ?6, ?7, ?8, ?9, ?10)",
            )?
            .execute(params![
                question.id.as_str(),
                request.key().to_string(),
                body,
                request.origin().agent,
                now,
                question.expires_ms,
                words(&request),
                audience,
                series.map(|series| &series.name),
                series.map(|series| &series.conversation),
            ])?;
            let n = tx.last_insert_rowid();
            question.cursor = Cursor(n.unsigned_abs());
            event(tx, n, State::Pending, now)?;
            attach(tx, &waiter, n, &process)?;
            Ok((true, n, question))
        })?;
        question.asker = AskerPresence::Waits;
        self.requests.keep(question.id.clone(), question.request.clone());
        self.attached.insert(waiter.clone(), Attached::Waiting(n));
        Ok((is_new, question, waiter))
    }

    pub(super) fn claim(&mut self, by: &Principal, id: &QuestionId, attempt: &Attempt) -> Result<Claim, StoreError> {
        let now = self.now();
        let (claim, n) = self.write(|tx, requests| {
            let row = find(tx, requests, &id.into(), now)?;
            by.check(Act::Use(&row.question.request))?;
            let is_permission = row.question.request.key().purpose() == Purpose::Permission;
            if !is_permission || row.question.ending.as_ref().and_then(Ending::resolution).is_none() {
                return Err(StoreError::Forbidden("only a permission that was answered can be used".into()).into());
            }
            if let Some(at) = row.question.delivered_ms {
                let is_same = row.claim.as_deref() == Some(attempt.as_str());
                return Ok((if is_same { Claim::Won } else { Claim::Used(at) }, row.n));
            }
            if !lasts(row.question.ending.as_ref(), now) {
                return Ok((Claim::Lapsed, row.n));
            }
            tx.prepare_cached(
                "UPDATE question SET claim = ?1, delivered_ms = ?2 WHERE n = ?3 AND claim IS NULL AND delivered_ms IS NULL",
            )?
            .execute(params![attempt.as_str(), now, row.n])?;
            tx.prepare_cached("DELETE FROM waiter WHERE question = ?1")?.execute([row.n])?;
            Ok((Claim::Won, row.n))
        })?;
        self.attached.retain(|_, attached| *attached != Attached::Waiting(n));
        Ok(claim)
    }

    pub(super) fn attach(&mut self, by: &Principal, id: &QuestionId) -> Result<String, StoreError> {
        let (process, waiter, now) = (self.lock()?, self.random_id()?, self.now());
        let n = self.write_unsynced(|tx, requests| {
            let row = find(tx, requests, &id.into(), now)?;
            by.check(Act::Use(&row.question.request))?;
            attach(tx, &waiter, row.n, &process)?;
            Ok(row.n)
        })?;
        self.attached.insert(waiter.clone(), Attached::Waiting(n));
        Ok(waiter)
    }

    /// Says that this process is not there any more for what it was.
    pub(super) fn detach(&mut self, name: &str) -> Result<(), StoreError> {
        let Some(attached) = self.attached.remove(name) else { return Ok(()) };
        let now = self.now();
        self.write_unsynced(|tx, _| {
            match attached {
                Attached::List => drop(tx.prepare_cached("DELETE FROM shown_list WHERE id = ?1")?.execute([name])?),
                Attached::Waiting(n) => {
                    tx.prepare_cached("DELETE FROM waiter WHERE id = ?1")?.execute([name])?;
                    tx.prepare_cached(
                        "UPDATE question SET left_ms = ?1, asker_died = 0
                         WHERE n = ?2 AND NOT EXISTS (SELECT 1 FROM waiter WHERE question = ?2)",
                    )?
                    .execute(params![now, n])?;
                }
            }
            Ok(())
        })
    }

    pub(super) fn delivered(&mut self, by: &Principal, id: &QuestionId) -> Result<(), StoreError> {
        let now = self.now();
        let delivered = self.write_unsynced(|tx, requests| {
            let row = find(tx, requests, &id.into(), now)?;
            by.check(Act::Use(&row.question.request))?;
            if row.question.ending.is_none() {
                return Ok(None);
            }
            tx.prepare_cached("UPDATE question SET delivered_ms = ?1 WHERE n = ?2 AND delivered_ms IS NULL")?
                .execute(params![now, row.n])?;
            tx.prepare_cached("DELETE FROM waiter WHERE question = ?1")?.execute([row.n])?;
            Ok(Some(row.n))
        })?;
        self.attached.retain(|_, attached| Some(*attached) != delivered.map(Attached::Waiting));
        Ok(())
    }
}

/// An id that no question has.
fn new_id(tx: &Transaction<'_>) -> Result<QuestionId, Fault> {
    let id: String = tx.prepare_cached("SELECT lower(hex(randomblob(6)))")?.query_row([], |row| row.get(0))?;
    QuestionId::parse(&id).ok_or_else(|| StoreError::damaged("cannot name a question", id).into())
}

/// The question that was put with the same key.
fn known_one(
    tx: &Transaction<'_>,
    requests: &mut Requests,
    request: &Request,
    now: u64,
) -> Result<Option<StoredRow>, Fault> {
    match find(tx, requests, &request.key().into(), now) {
        Ok(row) => Ok(Some(row)),
        Err(Fault::Ours(StoreError::NotFound(_))) => Ok(None),
        Err(fault) => Err(fault),
    }
}

/// The question of a series that is open to a request, if there is one: the latest.
fn open_one(
    tx: &Transaction<'_>,
    requests: &mut Requests,
    locks: &Path,
    by: &Principal,
    series: &Series,
    request: &Request,
    now: u64,
) -> Result<Option<StoredRow>, Fault> {
    let sql = format!(
        "{SELECT} WHERE series = ?1 AND delivered_ms IS NULL AND state NOT IN ('timed_out', 'withdrawn') ORDER BY n DESC"
    );
    let mut statement = tx.prepare_cached(&sql)?;
    let mut rows = statement.query([&series.name])?;
    while let Some(row) = rows.next()? {
        // One that cannot be read does not keep others from being asked.
        let Ok(row) = StoredRow::read(row, requests, now) else { continue };
        let stored = &row.question.request;
        if !by.sees(stored) || !stored.asks_the_same(request) {
            continue;
        }
        let earlier = Earlier {
            is_own: row.conversation.as_deref() == Some(&series.conversation),
            is_waited_for: is_any_alive(locks, &row.waiters),
            is_claimed: row.claim.is_some(),
        };
        if earlier.is_open(&row.question) {
            return Ok(Some(row));
        }
    }
    Ok(None)
}

fn attach(tx: &Transaction<'_>, waiter: &str, n: i64, process: &str) -> Result<(), Fault> {
    tx.prepare_cached("INSERT INTO waiter (id, question, process) VALUES (?1, ?2, ?3)")?
        .execute(params![waiter, n, process])?;
    Ok(())
}
