//! A row of the table of questions.

use crate::fault::{Fault, unreadable};
use askuser::store::{AskerPresence, Attempt, Cursor, Ending, QuestionId, Record, State, StoredQuestion};
use askuser::{Request, reply};
use std::collections::HashMap;
use std::sync::Arc;
use tokio_postgres::Row;

/// Whether an asker waits is known by the lease of its process, which runs by the real time. Not by `EXISTS`, for which a page of a
/// few rows would read every waiter there is.
pub(crate) const SELECT: &str = "SELECT q.n, q.id, q.request, q.state, q.asked_ms, q.expires_ms, q.resolution, q.ended_by, \
     q.ended_ms, q.attempt, q.delivered_ms, q.left_ms, q.asker_died, q.conversation, q.claim, q.revision, \
     (SELECT true FROM askuser.waiter w WHERE w.question = q.n LIMIT 1) IS NOT NULL AS was_waited_for, \
     EXISTS (SELECT 1 FROM askuser.waiter w JOIN askuser.process p ON p.id = w.process \
             WHERE w.question = q.n AND p.expires > clock_timestamp()) AS is_waited_for \
     FROM askuser.question q";

/// A row, and whether a living process waits for its question.
pub(crate) struct StoredRow {
    pub(crate) record: Record,
    pub(crate) is_waited_for: bool,
}

/// Requests never change, and to rebuild one is the larger part of reading a row: each is rebuilt once.
#[derive(Default)]
pub(crate) struct Requests(HashMap<QuestionId, Arc<Request>>);

impl Requests {
    /// How many are kept.
    const MOST: usize = 4096;

    pub(crate) fn keep(&mut self, id: QuestionId, request: Arc<Request>) {
        if self.0.len() >= Self::MOST {
            self.0.clear();
        }
        self.0.insert(id, request);
    }

    /// The request of a question that was read before.
    pub(crate) fn known(&self, id: &QuestionId) -> Option<&Arc<Request>> {
        self.0.get(id)
    }

    fn of(&mut self, id: &QuestionId, row: &Row) -> Result<Arc<Request>, Fault> {
        if let Some(request) = self.0.get(id) {
            return Ok(request.clone());
        }
        let request: Arc<Request> = Arc::new(serde_json::from_str(row.try_get("request")?).map_err(unreadable)?);
        self.keep(id.clone(), request.clone());
        Ok(request)
    }
}

/// A time, or a number of any other kind: as we count, which is from nought.
pub(crate) fn number(row: &Row, column: &str) -> Result<u64, Fault> {
    Ok(row.try_get::<_, i64>(column)?.unsigned_abs())
}

pub(crate) fn optional(row: &Row, column: &str) -> Result<Option<u64>, Fault> {
    Ok(row.try_get::<_, Option<i64>>(column)?.map(i64::unsigned_abs))
}

/// As PostgreSQL counts, which is no further than this.
pub(crate) fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

impl StoredRow {
    /// Reads a row as it was at this time.
    pub(crate) fn read(row: &Row, requests: &mut Requests, now_ms: u64) -> Result<StoredRow, Fault> {
        let id = QuestionId::parse(row.try_get("id")?).ok_or_else(|| unreadable("its id"))?;
        let request = requests.of(&id, row)?;
        let state: &str = row.try_get("state")?;
        let state = State::named(state).ok_or_else(|| unreadable(format!("unknown state {state:?}")))?;
        let ended_by = || Ok::<_, Fault>(row.try_get::<_, Option<String>>("ended_by")?.unwrap_or_default());
        let ending = match (state, row.try_get::<_, Option<&str>>("resolution")?) {
            (State::Pending, _) => None,
            (State::Withdrawn, _) => {
                Some(Ending::Withdrawn { by: ended_by()?, at_ms: optional(row, "ended_ms")?.unwrap_or_default() })
            }
            (_, Some(text)) => {
                let value = serde_json::from_str(text).map_err(unreadable)?;
                let resolution = reply::resolution(request.set(), &value).map_err(unreadable)?;
                Some(match state {
                    State::Settled => Ending::settled(ended_by()?, resolution),
                    _ => Ending::Resolved(resolution),
                })
            }
            (state, None) => return Err(unreadable(format!("{} without a resolution", state.name()))),
        };
        let n: i64 = row.try_get("n")?;
        let is_waited_for = row.try_get("is_waited_for")?;
        let mut question =
            StoredQuestion::new(id, request, number(row, "asked_ms")?, Cursor { rank: 0, n: n.unsigned_abs() });
        let left = optional(row, "left_ms")?.unwrap_or(question.asked_ms);
        question.asker = match (row.try_get("was_waited_for")?, row.try_get("asker_died")?) {
            (true, _) if ending.is_none() && is_waited_for => AskerPresence::Waits,
            (true, _) if ending.is_none() => AskerPresence::Died(now_ms),
            (_, true) => AskerPresence::Died(left),
            (_, false) => AskerPresence::Left(left),
        };
        question.expires_ms = optional(row, "expires_ms")?;
        question.delivered_ms = optional(row, "delivered_ms")?;
        question.ending = ending;
        question.read_ms = now_ms;
        let attempt = |name: &str| Ok::<_, Fault>(row.try_get::<_, Option<String>>(name)?.map(Attempt::new));
        let record = Record {
            question,
            attempt: attempt("attempt")?,
            claim: attempt("claim")?,
            conversation: row.try_get("conversation")?,
            revision: number(row, "revision")?,
        };
        Ok(StoredRow { record, is_waited_for })
    }
}
