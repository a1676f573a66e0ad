//! What an agent does: asks, waits, takes the answer, uses a permission.

use super::database::{Database, event, find, find_known, is_any_alive, key_of};
use super::fault::{Fault, unwritable};
use super::row::{Requests, SELECT, StoredRow};
use crate::random::random_id;
use askuser::store::{
    Act, AskerPresence, Attempt, Claim, Cursor, Departure, Earlier, Ending, Principal, QuestionId, Series, State,
    StoreError, StoredQuestion, lasts, words,
};
use askuser::{Purpose, Request};
use rusqlite::{Transaction, params};
use std::collections::hash_map::Entry;
use std::path::Path;
use std::sync::Arc;

/// What says in the store that this process waits for a question: the question's own row for the first waiter, which
/// costs no page of its own, a row of its own for any other.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Waiter {
    pub(super) n: i64,
    pub(super) id: Option<String>,
}

impl Waiter {
    /// One more waits for a question.
    fn insert(tx: &Transaction<'_>, n: i64, process: &str) -> Result<Waiter, Fault> {
        let id = random_id().map_err(|error| StoreError::unavailable("cannot name a waiter", error))?;
        tx.prepare_cached("INSERT INTO waiter (question, id, process) VALUES (?1, ?2, ?3)")?
            .execute(params![n, id, process])?;
        Ok(Waiter { n, id: Some(id) })
    }

    /// It has left, or died; where it was the last, the question says when. The question's own row may be another process's
    /// by now: a program of version 1 that waits takes it over.
    pub(super) fn remove(&self, tx: &Transaction<'_>, process: &str, now: u64, has_died: bool) -> Result<(), Fault> {
        match &self.id {
            None => tx
                .prepare_cached("UPDATE question SET asker = NULL WHERE n = ?1 AND asker = ?2")?
                .execute(params![self.n, process])?,
            Some(id) => {
                tx.prepare_cached("DELETE FROM waiter WHERE question = ?1 AND id = ?2")?.execute(params![self.n, id])?
            }
        };
        tx.prepare_cached(
            "UPDATE question SET left_ms = ?1, asker_died = ?2
             WHERE n = ?3 AND asker IS NULL AND NOT EXISTS (SELECT 1 FROM waiter WHERE question = ?3)",
        )?
        .execute(params![now, has_died, self.n])?;
        Ok(())
    }
}

impl Database {
    pub(super) fn put(
        &mut self,
        by: &Principal,
        request: Request,
        series: Option<&Series>,
    ) -> Result<(bool, StoredQuestion, Waiter), StoreError> {
        by.check(Act::Ask(&request))?;
        let process = self.lock()?;
        let (now, locks, request) = (self.now(), self.locks.clone(), Arc::new(request));
        let body = serde_json::to_string(&*request).map_err(unwritable)?;
        let audience = (!request.audience().is_empty()).then(|| serde_json::json!(request.audience()).to_string());
        let (is_new, waiter, mut question) = self.write(|tx, requests| {
            let known = known_one(tx, requests, by, &request, now)?;
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
                return Ok((false, Waiter::insert(tx, row.n, &process)?, row.question));
            }
            let mut question = StoredQuestion::new(new_id(tx)?, request.clone(), now, Cursor(0));
            tx.prepare_cached(
                // Every question has an event: behind the last number is a place that none had, though some were purged.
                "INSERT INTO question (n, id, key, request, agent, state, asked_ms, expires_ms, words, audience, series,
                 conversation, asker, credential) VALUES (1 + max((SELECT coalesce(max(n), 0) FROM question),
                 coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'event'), 0)),
                 ?1, ?2, ?3, ?4, 'pending', ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)",
            )?
            .execute(params![
                question.id.as_str(),
                key_of(request.key(), request.origin().credential.as_deref()),
                body,
                request.origin().agent,
                now,
                question.expires_ms,
                words(&request),
                audience,
                series.map(|series| &series.name),
                series.map(|series| &series.conversation),
                process,
                request.origin().credential,
            ])?;
            let n = tx.last_insert_rowid();
            question.cursor = Cursor(n.unsigned_abs());
            event(tx, n, State::Pending, now)?;
            Ok((true, Waiter { n, id: None }, question))
        })?;
        question.asker = AskerPresence::Waits;
        self.requests.keep(question.id.clone(), question.request.clone());
        self.waiting.entry(waiter.n).or_default().push(waiter.clone());
        Ok((is_new, question, waiter))
    }

    pub(super) fn claim(&mut self, by: &Principal, id: &QuestionId, attempt: &Attempt) -> Result<Claim, StoreError> {
        let now = self.now();
        let (claim, n) = self.write(|tx, requests| {
            let row = find(tx, requests, by, &id.into(), now)?;
            by.check(Act::Use(&row.question.request))?;
            let is_permission = row.question.request.key().purpose == Purpose::Permission;
            if !is_permission || row.question.ending.as_ref().and_then(Ending::recorded).is_none() {
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
                "UPDATE question SET claim = ?1, delivered_ms = ?2, asker = NULL
                 WHERE n = ?3 AND claim IS NULL AND delivered_ms IS NULL",
            )?
            .execute(params![attempt.as_str(), now, row.n])?;
            forget_waiters(tx, row.n)?;
            Ok((Claim::Won, row.n))
        })?;
        self.waiting.remove(&n);
        self.unlock();
        Ok(claim)
    }

    pub(super) fn attach(&mut self, by: &Principal, id: &QuestionId) -> Result<Waiter, StoreError> {
        let process = self.lock()?;
        let waiter = self.write_unsynced(|tx, requests| {
            let known = find_known(tx, requests, by, &id.into())?;
            by.check(Act::Use(&known.request))?;
            Waiter::insert(tx, known.n, &process)
        })?;
        self.waiting.entry(waiter.n).or_default().push(waiter.clone());
        Ok(waiter)
    }

    /// Says that a waiter of this process has left.
    pub(super) fn detach(&mut self, waiter: &Waiter, how: Departure) -> Result<(), StoreError> {
        let Entry::Occupied(mut waiting) = self.waiting.entry(waiter.n) else { return Ok(()) };
        waiting.get_mut().retain(|other| other != waiter);
        if waiting.get().is_empty() {
            waiting.remove();
        }
        let (process, now) = (self.lock()?, self.now());
        let left = self.write_unsynced(|tx, _| waiter.remove(tx, &process, now, how == Departure::Died));
        self.unlock();
        left
    }

    pub(super) fn delivered(&mut self, by: &Principal, id: &QuestionId) -> Result<(), StoreError> {
        let now = self.now();
        let delivered = self.write_unsynced(|tx, requests| {
            let known = find_known(tx, requests, by, &id.into())?;
            by.check(Act::Use(&known.request))?;
            if known.state == State::Pending {
                return Ok(None);
            }
            tx.prepare_cached(
                "UPDATE question SET delivered_ms = coalesce(delivered_ms, ?1), asker = NULL WHERE n = ?2",
            )?
            .execute(params![now, known.n])?;
            forget_waiters(tx, known.n)?;
            Ok(Some(known.n))
        })?;
        if let Some(n) = delivered {
            self.waiting.remove(&n);
            self.unlock();
        }
        Ok(())
    }
}

fn forget_waiters(tx: &Transaction<'_>, n: i64) -> Result<(), Fault> {
    tx.prepare_cached("DELETE FROM waiter WHERE question = ?1")?.execute([n])?;
    Ok(())
}

fn new_id(tx: &Transaction<'_>) -> Result<QuestionId, Fault> {
    let id: String = tx.prepare_cached("SELECT lower(hex(randomblob(6)))")?.query_row([], |row| row.get(0))?;
    QuestionId::parse(&id).ok_or_else(|| StoreError::damaged("cannot name a question", id).into())
}

/// The question that was put with the same key.
fn known_one(
    tx: &Transaction<'_>,
    requests: &mut Requests,
    by: &Principal,
    request: &Request,
    now: u64,
) -> Result<Option<StoredRow>, Fault> {
    match find(tx, requests, by, &request.key().into(), now) {
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
