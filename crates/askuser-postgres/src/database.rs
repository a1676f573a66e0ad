//! The database as the tasks of the store's thread use it: with the server's time, trying again what may succeed later.

use crate::Options;
use crate::fault::Fault;
use crate::following::Follower;
use crate::leases::Leases;
use crate::pool::{Connection, Pool};
use crate::row::{Requests, SELECT, StoredRow, number, signed};
use crate::schema;
use askuser::store::{Attempt, End, Ending, Principal, QuestionId, Scope, StoreError, Which};
use askuser::{Outcome, RequestKey, Via};
use futures_util::future::join;
use serde_json::{Map, Value};
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
        let sql = format!("SELECT 1 FROM askuser.credential WHERE id = $1 AND revoked_ms IS NULL {lock}");
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

    /// The server's time, whether a deadline has passed, and whether the schema is still ours.
    async fn moment(&self, connection: &Connection) -> Result<Moment, Fault> {
        let sql = "SELECT askuser.now_ms() AS now, (SELECT version FROM askuser.schema_version) AS version,
             EXISTS (SELECT 1 FROM askuser.question WHERE state = 'pending' AND expires_ms <= (SELECT askuser.now_ms())) AS due";
        let row = connection.row(sql, &[]).await?;
        if !schema::is_current(row.try_get("version")?, self.pool.shown())? {
            let why = "another askuser has changed it meanwhile; start again";
            return Err(StoreError::damaged(format!("cannot use {}", self.pool.shown()), why).into());
        }
        Ok(Moment { now: number(&row, "now")?, is_due: row.try_get("due")? })
    }

    /// Reads something as it is now, in one round trip; questions past their deadline are ended first.
    pub(crate) async fn read<T>(
        &self,
        connection: &Connection,
        read: impl AsyncFn() -> Result<T, Fault>,
    ) -> Result<(u64, T), Fault> {
        let mut looks = 0;
        loop {
            let (moment, found) = join(self.moment(connection), read()).await;
            let moment = moment?;
            if !moment.is_due || looks == LOOKS {
                return Ok((moment.now, found?));
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
        let timed_out = Outcome::timed_out().through(Via::Inbox).with_time(now);
        let timed_out = serde_json::to_string(&timed_out).map_err(crate::fault::unwritable)?;
        let sql = "WITH late AS (
                 SELECT n FROM askuser.question WHERE state = 'pending' AND expires_ms <= $1
                 ORDER BY expires_ms LIMIT 1000 FOR UPDATE SKIP LOCKED
             ), ended AS (
                 UPDATE askuser.question q SET state = 'timed_out', resolution = $2, ended_ms = $1, expires_ms = NULL
                 FROM late WHERE q.n = late.n RETURNING q.n
             )
             INSERT INTO askuser.event (question, state, at_ms) SELECT n, 'timed_out', $1 FROM ended ORDER BY n";
        let ended = connection.execute(sql, &[(&signed(now), Type::INT8), (&timed_out, Type::TEXT)]).await?;
        if ended > 0 {
            self.follower.has_written();
        }
        Ok(ended)
    }

    /// A question, if there is one of this name, and the time.
    pub(crate) async fn find(
        &self,
        connection: &Connection,
        by: &Principal,
        which: &Which,
    ) -> Result<(u64, Option<StoredRow>), Fault> {
        let (condition, text, key) = named(by, which);
        let sql = format!("{SELECT} WHERE {condition}");
        let values = match &key {
            Some(key) => [(key as _, Type::BYTEA)],
            None => [(&text as _, Type::TEXT)],
        };
        let (now, rows) = self.read(connection, async || connection.query(&sql, &values).await).await?;
        let row = rows.first().map(|row| StoredRow::read(row, &mut self.requests.borrow_mut(), now));
        Ok((now, row.transpose()?))
    }

    /// The same for a question that has to be there.
    pub(crate) async fn known(
        &self,
        connection: &Connection,
        by: &Principal,
        which: &Which,
    ) -> Result<(u64, StoredRow), Fault> {
        let (now, row) = self.find(connection, by, which).await?;
        Ok((now, row.ok_or_else(|| StoreError::NotFound(which.to_string()))?))
    }
}

/// How a question is looked for: a condition, and the id or the digest of a key that it is about.
fn named(by: &Principal, which: &Which) -> (&'static str, String, Option<Vec<u8>>) {
    match (which, by.scope()) {
        (Which::Id(id), _) => ("q.id = $1", id.to_string(), None),
        (Which::Key(key), Scope::OfCredential(name)) => ("q.key = $1", String::new(), Some(digest(key, Some(name)))),
        (Which::Key(key), Scope::Of(_)) => ("q.key = $1", String::new(), Some(digest(key, None))),
        // A person has no credential that asks: the key without one, or the only one of that name.
        (Which::Key(key), _) => (
            "q.bare_key = $1 AND (q.credential IS NULL OR 1 = (
                 SELECT count(*) FROM askuser.question WHERE bare_key = $1 AND credential IS NOT NULL))
             ORDER BY q.credential NULLS FIRST LIMIT 1",
            String::new(),
            Some(digest(key, None)),
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

/// Ends a question if it is pending and its time has not run out: the one update that decides which attempt was first, with
/// its event. How it ended where this one was, at the time that the server read.
pub(crate) async fn end_row(
    connection: &Connection,
    id: &QuestionId,
    by: &Principal,
    end: &End,
    attempt: &Attempt,
) -> Result<Option<Ending>, Fault> {
    let ending = end.stamped(by, 0);
    // An object that is not closed: its last field is the time.
    let untimed = |resolution| {
        let mut fields: Map<String, Value> = serde_json::from_value(serde_json::to_value(resolution)?)?;
        fields.shift_remove("at_ms");
        let mut text = serde_json::to_string(&fields)?;
        text.pop();
        Ok(text)
    };
    let resolution = ending.recorded().map(untimed).transpose().map_err(crate::fault::unwritable)?;
    // A clock that was set back ends nothing before it was asked.
    let sql =
        "WITH moment AS (SELECT askuser.now_ms() AS now FROM askuser.schema_version WHERE version = $6), ended AS (
             UPDATE askuser.question SET state = $1, ended_by = $3, ended_ms = greatest(now, asked_ms), answer_key = $4,
                    resolution = $2 || ',\"at_ms\":' || greatest(now, asked_ms) || '}', expires_ms = NULL
             FROM moment WHERE id = $5 AND state = 'pending' AND (expires_ms IS NULL OR expires_ms > now)
             RETURNING n, ended_ms
         ), event AS (
             INSERT INTO askuser.event (question, state, at_ms) SELECT n, $1, ended_ms FROM ended
         )
         SELECT ended_ms FROM ended";
    let values = [
        (&ending.state().name() as _, Type::TEXT),
        (&resolution as _, Type::TEXT),
        (&ending.by() as _, Type::TEXT),
        (&attempt.as_str() as _, Type::TEXT),
        (&id.as_str() as _, Type::TEXT),
        (&schema::VERSION as _, Type::INT4),
    ];
    let rows = connection.query(sql, &values).await?;
    rows.first().map(|row| Ok(end.stamped(by, number(row, "ended_ms")?))).transpose()
}
