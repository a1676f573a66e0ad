//! The database as the tasks of the store's thread use it: with the server's time, trying again what may succeed later.

use crate::Options;
use crate::fault::Fault;
use crate::following::Follower;
use crate::leases::Leases;
use crate::pool::{Connection, Pool, Value};
use crate::row::{SELECT, StoredRow, number, signed};
use crate::schema;
use askuser::RequestKey;
use askuser::store::{Ending, Principal, QuestionRef, Requests, Scope, StoreError};
use futures_util::future::join;
use sha2::{Digest as _, Sha256};
use std::cell::RefCell;
use std::time::Duration;
use tokio::time::{Instant, sleep};
use tokio_postgres::types::Type;

/// How long to wait before the first repetition, and the longest pause between two.
const FIRST_PAUSE: Duration = Duration::from_millis(5);
const LONGEST_PAUSE: Duration = Duration::from_millis(500);
/// How often to look again at rows that another process is ending.
const LOOKS: u32 = 100;

pub(crate) struct Database {
    pub(crate) pool: Pool,
    pub(crate) options: Options,
    pub(crate) requests: RefCell<Requests>,
    pub(crate) leases: Leases,
    pub(crate) follower: Follower,
}

/// Whether a call changes anything: without a reply it is then unknown whether it did.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Doing {
    Reading,
    Writing,
    /// What others hear of: it is to be numbered.
    Telling,
}

/// How things stand at a moment of the server's time.
pub(crate) struct Moment {
    pub(crate) now: u64,
    is_due: bool,
    /// Whether the credential that was asked about is valid.
    pub(crate) credential_is_live: bool,
}

impl Database {
    pub(crate) fn new(pool: Pool, options: Options, leases: Leases) -> Database {
        Database { pool, options, requests: RefCell::default(), leases, follower: Follower::default() }
    }

    /// Does something, and tries again while that may be of use. It must be such that doing it twice is doing it once.
    pub(crate) async fn run<T>(
        &self,
        doing: Doing,
        work: impl AsyncFn(&Connection) -> Result<T, Fault>,
    ) -> Result<T, StoreError> {
        let (give_up, mut pause, mut may_be_done) = (Instant::now() + self.options.patience, FIRST_PAUSE, false);
        loop {
            let fault = match self.once(&work).await {
                Ok(value) => {
                    if doing == Doing::Telling {
                        self.follower.has_written();
                    }
                    return Ok(value);
                }
                Err(fault) => fault,
            };
            may_be_done |= doing != Doing::Reading && fault.may_be_done();
            if may_be_done && doing == Doing::Telling {
                // Somebody has to number what may have been written.
                self.follower.has_written();
            }
            if !fault.is_passing() || Instant::now() + pause > give_up {
                return Err(fault.of(self.pool.shown(), may_be_done));
            }
            sleep(pause).await;
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }

    /// Runs work for a principal, in a transaction that first checks its credential.
    pub(crate) async fn run_by<T>(
        &self,
        by: &Principal,
        doing: Doing,
        work: impl AsyncFn(&Connection) -> Result<T, Fault>,
    ) -> Result<T, StoreError> {
        let Some(id) = by.credential_id() else { return self.run(doing, work).await };
        // A revocation waits for writes that use the credential.
        let lock = if doing == Doing::Reading { "" } else { "FOR SHARE" };
        let sql = format!(
            "SELECT 1 FROM askuser.register WHERE kind = 'credential' AND id = $1 AND revoked_by IS NULL {lock}"
        );
        let checked = async |connection: &Connection| {
            if connection.query(&sql, &[(&id, Type::TEXT)]).await?.is_empty() {
                return Err(StoreError::revoked().into());
            }
            work(connection).await
        };
        match doing {
            Doing::Reading => self.run(doing, checked).await,
            _ => {
                self.run(doing, async |connection| connection.transaction(async || checked(connection).await).await)
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

    /// Does something once.
    pub(crate) async fn once<T>(&self, work: impl AsyncFnOnce(&Connection) -> Result<T, Fault>) -> Result<T, Fault> {
        let connection = self.pool.take().await?;
        let result = work(&connection).await;
        match &result {
            Err(fault) if fault.breaks() => {
                if matches!(fault, Fault::Silent(_)) {
                    self.pool.pass_over();
                }
                self.pool.discard(connection);
            }
            _ => self.pool.give(connection),
        }
        result
    }

    /// The server's time, whether a deadline has passed, whether a credential is valid, and whether the schema is still ours.
    async fn moment(&self, connection: &Connection, credential: Option<&str>) -> Result<Moment, Fault> {
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

    /// Reads something as it is now, in one round trip; questions past their deadline are ended first.
    pub(crate) async fn read<T>(
        &self,
        connection: &Connection,
        credential: Option<&str>,
        read: impl AsyncFn() -> Result<T, Fault>,
    ) -> Result<(Moment, T), Fault> {
        let mut looks = 0;
        loop {
            let (moment, found) = join(self.moment(connection, credential), read()).await;
            let moment = moment?;
            if !moment.is_due || looks == LOOKS {
                return Ok((moment, found?));
            }
            // What another process is ending at this very moment is passed over, and has ended a moment later.
            if self.expire(connection, moment.now).await? == 0 {
                sleep(Duration::from_millis(2)).await;
            }
            looks += 1;
        }
    }

    /// Ends what has passed its deadline; how many there were that nobody else is ending.
    pub(crate) async fn expire(&self, connection: &Connection, now: u64) -> Result<u64, Fault> {
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
            self.follower.has_written();
        }
        Ok(ended)
    }

    /// A question.
    pub(crate) async fn known(
        &self,
        connection: &Connection,
        by: &Principal,
        which: &QuestionRef,
    ) -> Result<StoredRow, Fault> {
        let (condition, name) = named(by, which);
        let sql = format!("{SELECT} WHERE {condition}");
        let (moment, rows) =
            self.read(connection, None, async || connection.query(&sql, &[name.value()]).await).await?;
        let row = rows.first().ok_or_else(|| StoreError::NotFound(which.to_string()))?;
        StoredRow::read(row, &mut self.requests.borrow_mut(), moment.now)
    }
}

/// The name of a question in a condition: its id, or the digest of its key.
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

/// The condition that finds a question.
pub(crate) fn named(by: &Principal, which: &QuestionRef) -> (&'static str, Name) {
    match (which, by.scope()) {
        (QuestionRef::Id(id), _) => ("q.id = $1", Name::Id(id.to_string())),
        (QuestionRef::Key(key), Scope::OfCredential(name)) => ("q.key = $1", Name::Key(digest(key, Some(name)))),
        (QuestionRef::Key(key), Scope::Of(_)) => ("q.key = $1", Name::Key(digest(key, None))),
        // A person has no credential that asks: the key without one, or the only one of that name.
        (QuestionRef::Key(key), _) => (
            "q.bare_key = $1 AND (q.credential IS NULL OR 1 = (
                 SELECT count(*) FROM askuser.question WHERE bare_key = $1 AND credential IS NOT NULL))
             ORDER BY q.credential NULLS FIRST LIMIT 1",
            Name::Key(digest(key, None)),
        ),
    }
}

/// What tells a question from every other: each credential has keys of its own. However long they are, an index holds this.
pub(crate) fn digest(key: &RequestKey, credential: Option<&str>) -> Vec<u8> {
    let text = match credential {
        None => key.to_string(),
        Some(credential) => serde_json::json!([key.to_string(), credential]).to_string(),
    };
    Sha256::digest(text.as_bytes()).to_vec()
}
