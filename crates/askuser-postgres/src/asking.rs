//! What an agent does: asks, waits, takes the answer, uses a permission.

use crate::database::{Database, Doing, digest};
use crate::fault::{Fault, unwritable};
use crate::pool::Connection;
use crate::row::{SELECT, StoredRow, number, signed};
use crate::schema::VERSION;
use crate::store::random_id;
use askuser::store::{
    Act, AskerPresence, Attempt, Claim, Cursor, Earlier, Ending, Principal, QuestionId, Series, StoreError,
    StoredQuestion, lasts, words,
};
use askuser::{Purpose, Request};
use sha2::{Digest as _, Sha256};
use std::sync::Arc;
use tokio_postgres::types::Type;

/// How often to look again where another process was quicker.
const TRIES: u32 = 20;

/// A request that is being put, as every try writes it.
struct Asked<'a> {
    by: &'a Principal,
    request: &'a Arc<Request>,
    series: Option<&'a Series>,
    /// Names the call, and the waiter that it makes.
    waiter: &'a str,
    body: String,
}

/// What became of it: whether it is new, the row's number, and the question.
type Kept = (bool, i64, StoredQuestion);

impl Database {
    /// The last is the waiter's number and name.
    pub(crate) async fn put(
        &self,
        by: &Principal,
        request: Request,
        series: Option<&Series>,
    ) -> Result<(bool, StoredQuestion, i64, String), StoreError> {
        by.check(Act::Ask(&request))?;
        let (request, waiter) = (Arc::new(request), random_id()?);
        let body = serde_json::to_string(&*request).map_err(unwritable)?;
        let asked = Asked { by, request: &request, series, waiter: &waiter, body };
        let put = async |connection: &Connection| {
            self.lease(connection).await?;
            self.put_once(connection, &asked).await
        };
        let (is_new, n, mut question) = self.run_by(by, Doing::Telling, put).await?;
        question.asker = AskerPresence::Waits;
        self.requests.borrow_mut().keep(question.id.clone(), question.request.clone());
        self.leases.waits(n, waiter.clone());
        self.follower.lease_taken();
        Ok((is_new, question, n, waiter))
    }

    async fn put_once(&self, connection: &Connection, asked: &Asked<'_>) -> Result<Kept, Fault> {
        for _ in 0..TRIES {
            // Nearly always it is new.
            if asked.series.is_none()
                && let Some(kept) = self.insert(connection, asked).await?
            {
                return Ok(kept);
            }
            let (now, known) = self.find(connection, asked.by, &asked.request.key().into()).await?;
            let kept = match (known, asked.series) {
                (Some(row), _) => Some(self.attach_to(connection, asked, row).await?),
                // There was a question of this very id.
                (None, None) => None,
                (None, Some(series)) => {
                    let in_turn = async || self.put_in_series(connection, asked, series, now).await;
                    connection.transaction(in_turn).await?
                }
            };
            if let Some(kept) = kept {
                return Ok(kept);
            }
        }
        Err(StoreError::unavailable("cannot keep a question", "other processes were quicker every time").into())
    }

    /// Of several that ask the same, one after the other looks for the open question.
    async fn put_in_series(
        &self,
        connection: &Connection,
        asked: &Asked<'_>,
        series: &Series,
        now: u64,
    ) -> Result<Option<Kept>, Fault> {
        let name = series_digest(&series.name);
        let lock = i64::from_be_bytes(name[..8].try_into().unwrap_or_default());
        connection.execute("SELECT pg_advisory_xact_lock($1)", &[(&lock, Type::INT8)]).await?;
        let sql = format!(
            "{SELECT} WHERE q.series = $1 AND q.delivered_ms IS NULL AND q.state NOT IN ('timed_out', 'withdrawn')
             ORDER BY q.n DESC"
        );
        let rows = connection.query(&sql, &[(&name, Type::BYTEA)]).await?;
        for row in &rows {
            // One that cannot be read does not keep others from being asked.
            let Ok(row) = StoredRow::read(row, &mut self.requests.borrow_mut(), now) else { continue };
            let stored = &row.question.request;
            if !asked.by.sees(stored) || !stored.asks_the_same(asked.request) {
                continue;
            }
            let earlier = Earlier {
                is_own: row.conversation.as_deref() == Some(&series.conversation),
                is_waited_for: row.is_waited_for,
                is_claimed: row.claim.is_some(),
            };
            if earlier.is_open(&row.question) {
                return self.attach_to(connection, asked, row).await.map(Some);
            }
        }
        self.insert(connection, asked).await
    }

    /// One more waits for a question that is there.
    async fn attach_to(&self, connection: &Connection, asked: &Asked<'_>, row: StoredRow) -> Result<Kept, Fault> {
        let stored = &row.question.request;
        asked.by.check(Act::Use(stored))?;
        if !stored.asks_the_same(asked.request) {
            return Err(StoreError::other_question(stored, asked.request).into());
        }
        // The reply to an earlier try was lost.
        if row.put_by == asked.waiter {
            return Ok((true, row.n, row.question));
        }
        let sql = "WITH taken_over AS (
                 UPDATE askuser.question SET conversation = $4 WHERE n = $1 AND $4 IS NOT NULL
             )
             INSERT INTO askuser.waiter (question, id, process) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING";
        let conversation = asked.series.map(|series| series.conversation.as_str());
        let values = [
            (&row.n as _, Type::INT8),
            (&asked.waiter as _, Type::TEXT),
            (&self.leases.process as _, Type::TEXT),
            (&conversation as _, Type::TEXT),
        ];
        connection.execute(sql, &values).await?;
        Ok((false, row.n, row.question))
    }

    /// Keeps a question, its event and its waiter; nothing where it is there already.
    async fn insert(&self, connection: &Connection, asked: &Asked<'_>) -> Result<Option<Kept>, Fault> {
        let (request, origin) = (asked.request, asked.request.origin());
        let id = random_id()?;
        let id = QuestionId::parse(&id[..12]).ok_or_else(|| StoreError::damaged("cannot name a question", id))?;
        let lasts_ms = StoredQuestion::new(id.clone(), request.clone(), 0, Cursor(0)).expires_ms;
        let sql = "WITH moment AS (SELECT askuser.now_ms() AS now FROM askuser.schema_version WHERE version = $10), new AS (
                 INSERT INTO askuser.question (id, key, bare_key, request, agent, agent_words, words, audience, credential,
                     state, asked_ms, expires_ms, series, conversation, put_by, series_name)
                 SELECT $1, $2, $3, $4, $5, $6, $7, $8, $9, 'pending', now,
                     CASE WHEN $11 > 9223372036854775807 - now THEN 9223372036854775807 ELSE now + $11 END, $12, $13, $14, $16
                 FROM moment ON CONFLICT DO NOTHING RETURNING n, asked_ms
             ), event AS (
                 INSERT INTO askuser.event (question, state, at_ms) SELECT n, 'pending', asked_ms FROM new
             ), waiter AS (
                 INSERT INTO askuser.waiter (question, id, process) SELECT n, $14, $15 FROM new
             )
             SELECT n, asked_ms FROM new";
        let agent = origin.agent.as_deref().map(without_nul);
        let audience = (!request.audience().is_empty()).then(|| request.audience().to_vec());
        let rows = connection
            .query(
                sql,
                &[
                    (&id.as_str(), Type::TEXT),
                    (&digest(request.key(), origin.credential.as_deref()), Type::BYTEA),
                    (&digest(request.key(), None), Type::BYTEA),
                    (&asked.body, Type::TEXT),
                    (&agent, Type::TEXT),
                    (&agent.as_deref().map(str::to_lowercase), Type::TEXT),
                    (&without_nul(&words(request)), Type::TEXT),
                    (&audience, Type::TEXT_ARRAY),
                    (&origin.credential, Type::TEXT),
                    (&VERSION, Type::INT4),
                    (&lasts_ms.map(signed), Type::INT8),
                    (&asked.series.map(|series| series_digest(&series.name)), Type::BYTEA),
                    (&asked.series.map(|series| &series.conversation), Type::TEXT),
                    (&asked.waiter, Type::TEXT),
                    (&self.leases.process, Type::TEXT),
                    (&asked.series.map(|series| without_nul(&series.name)), Type::TEXT),
                ],
            )
            .await?;
        let Some(row) = rows.first() else { return Ok(None) };
        let n: i64 = row.try_get("n")?;
        let cursor = Cursor(n.unsigned_abs());
        Ok(Some((true, n, StoredQuestion::new(id, request.clone(), number(row, "asked_ms")?, cursor))))
    }

    pub(crate) async fn claim(&self, by: &Principal, id: &QuestionId, attempt: &Attempt) -> Result<Claim, StoreError> {
        let claim = async |connection: &Connection| {
            loop {
                let (now, row) = self.known(connection, by, &id.into()).await?;
                by.check(Act::Use(&row.question.request))?;
                let is_permission = row.question.request.key().purpose == Purpose::Permission;
                if !is_permission || row.question.ending.as_ref().and_then(Ending::recorded).is_none() {
                    let why = "only a permission that was answered can be used";
                    return Err(StoreError::Forbidden(why.into()).into());
                }
                if let Some(at) = row.question.delivered_ms {
                    let is_same = row.claim.as_deref() == Some(attempt.as_str());
                    return Ok((if is_same { Claim::Won } else { Claim::Used(at) }, row.n));
                }
                if !lasts(row.question.ending.as_ref(), now) {
                    return Ok((Claim::Lapsed, row.n));
                }
                let sql = "WITH claimed AS (
                         UPDATE askuser.question SET claim = $1, delivered_ms = $2
                         WHERE n = $3 AND claim IS NULL AND delivered_ms IS NULL RETURNING n
                     ), waiters AS (
                         DELETE FROM askuser.waiter WHERE question IN (SELECT n FROM claimed)
                     )
                     SELECT n FROM claimed";
                let values =
                    [(&attempt.as_str() as _, Type::TEXT), (&signed(now) as _, Type::INT8), (&row.n as _, Type::INT8)];
                if connection.query(sql, &values).await?.len() == 1 {
                    return Ok((Claim::Won, row.n));
                }
                // Another one was quicker: what it left says so.
            }
        };
        let (claim, n) = self.run_by(by, Doing::Writing, claim).await?;
        self.leases.forget(n);
        Ok(claim)
    }

    /// The waiter's number and name.
    pub(crate) async fn attach(&self, by: &Principal, id: &QuestionId) -> Result<(i64, String), StoreError> {
        let waiter = random_id()?;
        let attach = async |connection: &Connection| {
            self.lease(connection).await?;
            let (_, row) = self.known(connection, by, &id.into()).await?;
            by.check(Act::Use(&row.question.request))?;
            let sql = "INSERT INTO askuser.waiter (question, id, process) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING";
            let values =
                [(&row.n as _, Type::INT8), (&waiter as _, Type::TEXT), (&self.leases.process as _, Type::TEXT)];
            connection.execute(sql, &values).await?;
            Ok(row.n)
        };
        let n = self.run_by(by, Doing::Writing, attach).await?;
        self.leases.waits(n, waiter.clone());
        self.follower.lease_taken();
        Ok((n, waiter))
    }

    pub(crate) async fn delivered(&self, by: &Principal, id: &QuestionId) -> Result<(), StoreError> {
        let sql = "WITH delivered AS (
                 UPDATE askuser.question SET delivered_ms = coalesce(delivered_ms, askuser.now_ms())
                 WHERE id = $1 AND state <> 'pending' AND EXISTS (SELECT 1 FROM askuser.schema_version WHERE version = $2)
                 RETURNING n
             ), waiters AS (
                 DELETE FROM askuser.waiter WHERE question IN (SELECT n FROM delivered)
             )
             SELECT n FROM delivered";
        let deliver = async |connection: &Connection| {
            let mut known = self.requests.borrow().known(id).cloned();
            loop {
                if let Some(request) = known {
                    by.check(Act::Use(&request))?;
                    let rows = connection.query(sql, &[(&id.as_str(), Type::TEXT), (&VERSION, Type::INT4)]).await?;
                    if let Some(row) = rows.first() {
                        return Ok(Some(row.try_get("n")?));
                    }
                }
                // It may be past its deadline.
                let (_, row) = self.known(connection, by, &id.into()).await?;
                by.check(Act::Use(&row.question.request))?;
                if row.question.ending.is_none() {
                    return Ok(None);
                }
                known = Some(row.question.request);
            }
        };
        if let Some(n) = self.run_by(by, Doing::Writing, deliver).await? {
            self.leases.forget(n);
        }
        Ok(())
    }
}

/// However long its name is, an index holds this.
pub(crate) fn series_digest(name: &str) -> Vec<u8> {
    Sha256::digest(name.as_bytes()).to_vec()
}

/// PostgreSQL keeps every character but one. Only what is searched by is written so; a request has it escaped.
pub(crate) fn without_nul(text: &str) -> String {
    text.replace('\0', "\u{fffd}")
}
