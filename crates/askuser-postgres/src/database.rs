//! The database as the tasks of the store use it: calls get the server's time, and transient errors are retried.

use crate::Options;
use crate::error::DatabaseError;
use crate::event_feed::EventFeed;
use crate::leases::Leases;
use crate::pool::{Connection, Pool, Value};
use crate::row::{SELECT, StoredRow, number, signed};
use crate::schema;
use askuser::RequestKey;
use askuser::store::{Ending, Principal, QuestionRef, Requests, Scope, StoreError};
use askuser_sys::random::jittered;
use futures_util::future::join;
use sha2::{Digest as _, Sha256};
use std::cell::RefCell;
use std::time::Duration;
use tokio::time::{Instant, sleep};
use tokio_postgres::types::Type;

/// The first pause between retries, and the longest pause. Each pause is twice the previous one.
const FIRST_PAUSE: Duration = Duration::from_millis(5);
const LONGEST_PAUSE: Duration = Duration::from_millis(500);
/// The maximum number of times that a read is repeated while another process is ending expired rows.
const LOOKS: u32 = 100;

pub(crate) struct Database {
    pub(crate) pool: Pool,
    pub(crate) options: Options,
    pub(crate) requests: RefCell<Requests>,
    pub(crate) leases: Leases,
    pub(crate) event_feed: EventFeed,
}

/// The kind of a call. It decides what a lost reply means: a write may have taken effect.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum CallKind {
    Read,
    Write,
    /// A write that records an event. The event needs a number afterwards.
    WriteWithEvent,
}

/// The state of the store at one time of the server's clock.
pub(crate) struct Moment {
    pub(crate) now: u64,
    is_due: bool,
    /// Whether the credential of the caller is valid. It is `true` if the caller has no credential.
    pub(crate) credential_is_live: bool,
}

impl Database {
    pub(crate) fn new(pool: Pool, options: Options, leases: Leases) -> Database {
        Database { pool, options, requests: RefCell::default(), leases, event_feed: EventFeed::default() }
    }

    /// Runs work and retries it after transient errors. The work must be idempotent.
    pub(crate) async fn run<T>(
        &self,
        kind: CallKind,
        work: impl AsyncFn(&Connection) -> Result<T, DatabaseError>,
    ) -> Result<T, StoreError> {
        let give_up = Instant::now() + self.options.patience;
        let mut pause = FIRST_PAUSE;
        let mut may_be_done = false;
        loop {
            let error = match self.once(&work).await {
                Ok(value) => {
                    if kind == CallKind::WriteWithEvent {
                        self.event_feed.has_written();
                    }
                    return Ok(value);
                }
                Err(error) => error,
            };
            may_be_done |= kind != CallKind::Read && error.may_be_done();
            if may_be_done && kind == CallKind::WriteWithEvent {
                // The call may have written an event, which the feed has to number.
                self.event_feed.has_written();
            }
            if !error.is_passing() || Instant::now() + pause > give_up {
                return Err(error.into_store_error(self.pool.shown(), may_be_done));
            }
            sleep(jittered(pause)).await;
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }

    /// Runs work for a principal after a check of the principal's credential. A write runs in one transaction with the
    /// check.
    pub(crate) async fn run_by<T>(
        &self,
        by: &Principal,
        kind: CallKind,
        work: impl AsyncFn(&Connection) -> Result<T, DatabaseError>,
    ) -> Result<T, StoreError> {
        let Some(id) = by.credential_id() else { return self.run(kind, work).await };
        // The lock makes a revocation wait for the writes that use the credential.
        let lock = if kind == CallKind::Read { "" } else { "FOR SHARE" };
        let sql = format!(
            "SELECT 1 FROM askuser.register WHERE kind = 'credential' AND id = $1 AND revoked_by IS NULL {lock}"
        );
        let checked = async |connection: &Connection| {
            if connection.query(&sql, &[(&id, Type::TEXT)]).await?.is_empty() {
                return Err(StoreError::revoked().into());
            }
            work(connection).await
        };
        match kind {
            CallKind::Read => self.run(kind, checked).await,
            _ => {
                self.run(kind, async |connection| connection.transaction(async || checked(connection).await).await)
                    .await
            }
        }
    }

    /// Runs work until it completes or the store is stopped.
    pub(crate) async fn until_stopped<T>(
        &self,
        work: impl Future<Output = Result<T, StoreError>>,
    ) -> Result<T, StoreError> {
        let stopped =
            || StoreError::unknown(format!("cannot reach {}", self.pool.shown()), "no reply before the process ended");
        self.options.stop.run_until_cancelled(work).await.unwrap_or_else(|| Err(stopped()))
    }

    /// Runs work once, on a connection from the pool.
    pub(crate) async fn once<T>(
        &self,
        work: impl AsyncFnOnce(&Connection) -> Result<T, DatabaseError>,
    ) -> Result<T, DatabaseError> {
        let connection = self.pool.take().await?;
        let result = work(&connection).await;
        match &result {
            Err(error) if error.breaks() => {
                if matches!(error, DatabaseError::Silent(_)) {
                    self.pool.pass_over();
                }
                self.pool.discard(connection);
            }
            _ => self.pool.give(connection),
        }
        result
    }

    /// Reads the server's time, whether a deadline has passed, and whether the credential is valid.
    ///
    /// # Errors
    /// If the version of the schema is not the current one.
    async fn moment(&self, connection: &Connection, credential: Option<&str>) -> Result<Moment, DatabaseError> {
        let sql = "SELECT askuser.now_ms() AS now, (SELECT version FROM askuser.schema_version) AS version,
             EXISTS (SELECT 1 FROM askuser.question WHERE state = 'pending' AND expires_ms <= (SELECT askuser.now_ms())) AS due,
             ($1::text IS NULL OR EXISTS (
                 SELECT 1 FROM askuser.register WHERE kind = 'credential' AND id = $1 AND revoked_by IS NULL)) AS live";
        let row = connection.row(sql, &[(&credential, Type::TEXT)]).await?;
        if !schema::is_current(row.try_get("version")?, self.pool.shown())? {
            let why = "another askuser has changed it meanwhile; start again";
            return Err(StoreError::damaged(format!("cannot use {}", self.pool.shown()), why).into());
        }
        let is_due = row.try_get("due")?;
        let credential_is_live = row.try_get("live")?;
        Ok(Moment { now: number(&row, "now")?, is_due, credential_is_live })
    }

    /// Reads the store's state and the caller's rows in one round trip. Ends the questions past their deadline first.
    pub(crate) async fn read<T>(
        &self,
        connection: &Connection,
        credential: Option<&str>,
        read: impl AsyncFn() -> Result<T, DatabaseError>,
    ) -> Result<(Moment, T), DatabaseError> {
        let mut looks = 0;
        loop {
            let (moment, found) = join(self.moment(connection, credential), read()).await;
            let moment = moment?;
            if !moment.is_due || looks == LOOKS {
                return Ok((moment, found?));
            }
            // Rows that another process is ending are skipped. That process ends them a moment later.
            if self.expire(connection, moment.now).await? == 0 {
                sleep(Duration::from_millis(2)).await;
            }
            looks += 1;
        }
    }

    /// Ends questions past their deadline, except those that another process is ending. Returns the number of ended
    /// questions.
    pub(crate) async fn expire(&self, connection: &Connection, now: u64) -> Result<u64, DatabaseError> {
        let timed_out = Ending::timed_out(now).to_json()?;
        let sql = "WITH late AS (
                 SELECT n FROM askuser.question WHERE state = 'pending' AND expires_ms <= $1
                 ORDER BY expires_ms LIMIT 1000 FOR UPDATE SKIP LOCKED
             ), ended AS (
                 UPDATE askuser.question q SET state = 'timed_out', ending = $2, ended_ms = $1, expires_ms = NULL,
                     revision = revision + 1
                 FROM late WHERE q.n = late.n RETURNING q.n
             )
             INSERT INTO askuser.event (question, state, at_ms) SELECT n, 'timed_out', $1 FROM ended ORDER BY n";
        let ended = connection.execute(sql, &[(&signed(now), Type::INT8), (&timed_out, Type::TEXT)]).await?;
        if ended > 0 {
            self.event_feed.has_written();
        }
        Ok(ended)
    }

    /// Returns a question.
    ///
    /// # Errors
    /// If no question of this id or key exists.
    pub(crate) async fn known(
        &self,
        connection: &Connection,
        by: &Principal,
        which: &QuestionRef,
    ) -> Result<StoredRow, DatabaseError> {
        let (condition, name) = named(by, which);
        let sql = format!("{SELECT} WHERE {condition}");
        let (moment, rows) =
            self.read(connection, None, async || connection.query(&sql, &[name.value()]).await).await?;
        let row = rows.first().ok_or_else(|| StoreError::NotFound(which.to_string()))?;
        StoredRow::read(row, &mut self.requests.borrow_mut(), moment.now)
    }
}

/// The value of a condition that selects a question: its id, or the digest of its key.
pub(crate) enum Name {
    Id(String),
    Key(Vec<u8>),
}

impl Name {
    pub(crate) fn value(&self) -> Value<'_> {
        match self {
            Name::Id(id) => (id, Type::TEXT),
            Name::Key(key) => (key, Type::BYTEA),
        }
    }
}

/// Returns the condition that selects a question, and the value of its parameter.
pub(crate) fn named(by: &Principal, which: &QuestionRef) -> (&'static str, Name) {
    match (which, by.scope()) {
        (QuestionRef::Id(id), _) => ("q.id = $1", Name::Id(id.to_string())),
        (QuestionRef::Key(key), Scope::OfCredential(name)) => ("q.key = $1", Name::Key(digest(key, Some(name)))),
        (QuestionRef::Key(key), Scope::Of(_)) => ("q.key = $1", Name::Key(digest(key, None))),
        // A person has no credential that asks. The key without a credential comes first, then the only key of that
        // name.
        (QuestionRef::Key(key), _) => (
            "q.bare_key = $1 AND (q.credential IS NULL OR 1 = (
                 SELECT count(*) FROM askuser.question WHERE bare_key = $1 AND credential IS NOT NULL))
             ORDER BY q.credential NULLS FIRST LIMIT 1",
            Name::Key(digest(key, None)),
        ),
    }
}

/// Returns the digest of a question's key within its credential. An index has a size limit, which a key may exceed.
pub(crate) fn digest(key: &RequestKey, credential: Option<&str>) -> Vec<u8> {
    let text = match credential {
        None => key.to_string(),
        Some(credential) => serde_json::json!([key.to_string(), credential]).to_string(),
    };
    Sha256::digest(text.as_bytes()).to_vec()
}
