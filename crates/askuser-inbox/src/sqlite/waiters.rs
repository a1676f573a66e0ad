//! The waiters of an answer, as the store's file records them.

use super::database::Database;
use super::error::Fault;
use askuser::store::{Departure, StoreError};
use askuser_sys::random;
use rusqlite::{Transaction, params};
use std::collections::hash_map::Entry;

/// A waiter of this process. The row of a question contains its first waiter. Any other waiter has a separate row and
/// therefore an `id`.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Waiter {
    pub(super) n: i64,
    pub(super) id: Option<String>,
}

impl Waiter {
    /// Adds a further waiter to a question.
    pub(super) fn insert(tx: &Transaction<'_>, n: i64, process: &str) -> Result<Waiter, Fault> {
        let id = random::id().map_err(|error| StoreError::unavailable("cannot name a waiter", error))?;
        tx.prepare_cached("INSERT INTO waiter (question, id, process) VALUES (?1, ?2, ?3)")?
            .execute(params![n, id, process])?;
        Ok(Waiter { n, id: Some(id) })
    }

    /// Removes a waiter that has left or died. If it was the last one, the question records the time.
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

/// Removes every waiter of a question.
pub(super) fn forget(tx: &Transaction<'_>, n: i64) -> Result<(), Fault> {
    tx.prepare_cached("UPDATE question SET asker = NULL WHERE n = ?1 AND asker IS NOT NULL")?.execute([n])?;
    tx.prepare_cached("DELETE FROM waiter WHERE question = ?1")?.execute([n])?;
    Ok(())
}

impl Database {
    /// Removes a waiter of this process, and records how it left.
    pub(super) fn detach(&mut self, waiter: &Waiter, how: Departure) -> Result<(), StoreError> {
        let Entry::Occupied(mut waiting) = self.waiting.entry(waiter.n) else { return Ok(()) };
        waiting.get_mut().retain(|other| other != waiter);
        if waiting.get().is_empty() {
            waiting.remove();
        }
        let process = self.lock()?;
        let now = self.now();
        let left = self.write_unsynced(|tx, _| waiter.remove(tx, &process, now, how == Departure::Died));
        self.unlock();
        left
    }
}
