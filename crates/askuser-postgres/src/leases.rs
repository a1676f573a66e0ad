//! The leases of processes. Each process renews its lease. An expired lease means that its process died.

use crate::database::{CallKind, Database};
use crate::error::DatabaseError;
use crate::pool::Connection;
use askuser::store::{Departure, StoreError};
use std::cell::{Cell, RefCell};
use std::collections::{HashMap, HashSet};
use std::time::Duration;
use tokio::time::Instant;
use tokio_postgres::types::Type;

/// The number of renewals within the duration of a lease.
const RENEWALS: u32 = 3;
/// The time after which the rows of an expired lease are deleted. A process without a connection may return before
/// that.
const CLEARED_AFTER: &str = "10 minutes";

/// The lease of this process and the rows that depend on it.
pub(crate) struct Leases {
    /// The random id of this process.
    pub(crate) process: String,
    lasts: Duration,
    renewed: Cell<Option<Instant>>,
    /// The waiters of this process by the number of their question.
    waiting: RefCell<HashMap<i64, Vec<String>>>,
    lists: RefCell<HashSet<String>>,
}

impl Leases {
    pub(crate) fn new(process: String, lasts: Duration) -> Leases {
        Leases { process, lasts, renewed: Cell::default(), waiting: RefCell::default(), lists: RefCell::default() }
    }

    fn every(&self) -> Duration {
        self.lasts / RENEWALS
    }

    /// Returns the time of the next renewal; `None` if no rows depend on the lease.
    pub(crate) fn due(&self) -> Option<Instant> {
        let is_held = !self.waiting.borrow().is_empty() || !self.lists.borrow().is_empty();
        is_held.then(|| self.renewed.get().map_or_else(Instant::now, |renewed| renewed + self.every()))
    }

    pub(crate) fn waits(&self, n: i64, waiter: String) {
        self.waiting.borrow_mut().entry(n).or_default().push(waiter);
    }

    /// Removes all waiters of a question from this process's list.
    pub(crate) fn forget(&self, n: i64) {
        self.waiting.borrow_mut().remove(&n);
    }

    pub(crate) fn shows(&self, list: &str) {
        self.lists.borrow_mut().insert(list.to_owned());
    }
}

impl Database {
    /// Ensures that this process has a lease. A recent lease is not renewed, because all calls would contend for its
    /// row.
    pub(crate) async fn lease(&self, connection: &Connection) -> Result<(), DatabaseError> {
        match self.leases.renewed.get() {
            Some(renewed) if renewed.elapsed() < self.leases.every() => Ok(()),
            _ => self.renew(connection).await,
        }
    }

    /// Renews the lease. If another process has deleted the lease, writes all rows that depend on it again.
    pub(crate) async fn renew(&self, connection: &Connection) -> Result<(), DatabaseError> {
        let leases = &self.leases;
        let now = Instant::now();
        let sql = "INSERT INTO askuser.process (id, expires) VALUES ($1, clock_timestamp() + $2 * interval '1 second')
             ON CONFLICT (id) DO UPDATE SET expires = EXCLUDED.expires RETURNING xmax = 0 AS is_new";
        let values = [(&leases.process as _, Type::TEXT), (&leases.lasts.as_secs_f64() as _, Type::FLOAT8)];
        let is_new: bool = connection.row(sql, &values).await?.try_get("is_new")?;
        if is_new {
            let waiting: Vec<(i64, String)> = {
                let waiting = leases.waiting.borrow();
                waiting.iter().flat_map(|(n, ids)| ids.iter().map(|id| (*n, id.clone()))).collect()
            };
            let (questions, ids): (Vec<i64>, Vec<String>) = waiting.into_iter().unzip();
            let lists: Vec<String> = leases.lists.borrow().iter().cloned().collect();
            let sql = "WITH waiter AS (
                     INSERT INTO askuser.waiter (question, id, process) SELECT question, id, $1
                     FROM unnest($2, $3) AS held (question, id)
                     WHERE EXISTS (SELECT 1 FROM askuser.question q WHERE q.n = held.question) ON CONFLICT DO NOTHING
                 )
                 INSERT INTO askuser.shown_list (id, process) SELECT id, $1 FROM unnest($4) AS held (id)
                 ON CONFLICT DO NOTHING";
            let values = [
                (&leases.process as _, Type::TEXT),
                (&questions as _, Type::INT8_ARRAY),
                (&ids as _, Type::TEXT_ARRAY),
                (&lists as _, Type::TEXT_ARRAY),
            ];
            connection.execute(sql, &values).await?;
        }
        leases.renewed.set(Some(now));
        Ok(())
    }

    /// Deletes the rows of processes whose lease expired long ago.
    pub(crate) async fn clear_dead(&self, connection: &Connection) -> Result<(), DatabaseError> {
        let sql = format!(
            "WITH dead AS (
                 DELETE FROM askuser.process WHERE expires < clock_timestamp() - interval '{CLEARED_AFTER}' RETURNING id
             ), lists AS (
                 DELETE FROM askuser.shown_list l USING dead WHERE l.process = dead.id
             ), gone AS (
                 DELETE FROM askuser.waiter w USING dead WHERE w.process = dead.id RETURNING w.question
             )
             UPDATE askuser.question SET left_ms = askuser.now_ms(), asker_died = true
             WHERE n IN (SELECT question FROM gone)"
        );
        connection.execute(&sql, &[]).await.map(drop)
    }

    /// Records that a waiter of this process has left.
    pub(crate) async fn detach(&self, n: i64, waiter: &str, how: Departure) -> Result<(), StoreError> {
        {
            let mut waiting = self.leases.waiting.borrow_mut();
            let Some(waiters) = waiting.get_mut(&n) else { return Ok(()) };
            waiters.retain(|other| other != waiter);
            if waiters.is_empty() {
                waiting.remove(&n);
            }
        }
        // The statement records a time even if other waiters remain. The time counts only after the last waiter has
        // left.
        let sql = "WITH gone AS (DELETE FROM askuser.waiter WHERE question = $1 AND id = $2 RETURNING question)
             UPDATE askuser.question SET left_ms = askuser.now_ms(), asker_died = $3
             WHERE n IN (SELECT question FROM gone)";
        let values = [(&n as _, Type::INT8), (&waiter as _, Type::TEXT), (&(how == Departure::Died) as _, Type::BOOL)];
        self.run(CallKind::Write, async |connection| connection.execute(sql, &values).await.map(drop)).await
    }

    pub(crate) async fn hide_list(&self, list: &str) -> Result<(), StoreError> {
        self.leases.lists.borrow_mut().remove(list);
        let sql = "DELETE FROM askuser.shown_list WHERE id = $1";
        let values = [(&list as _, Type::TEXT)];
        self.run(CallKind::Write, async |connection| connection.execute(sql, &values).await.map(drop)).await
    }

    /// Deletes the lease of this process when the process ends. The waiters and lists go with it.
    pub(crate) async fn leave(&self, connection: &Connection) -> Result<(), DatabaseError> {
        match self.leases.renewed.get() {
            None => Ok(()),
            Some(_) => {
                let values = [(&self.leases.process as _, Type::TEXT)];
                connection.execute("DELETE FROM askuser.process WHERE id = $1", &values).await.map(drop)
            }
        }
    }
}
