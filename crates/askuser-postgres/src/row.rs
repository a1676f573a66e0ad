//! Rows of the table of questions.

use crate::error::{DatabaseError, unreadable};
use askuser::store::{AskerPresence, Attempt, Cursor, Ending, QuestionId, Record, Requests, StoredQuestion};
use tokio_postgres::Row;

/// The query that reads questions. An asker waits while the lease of its process is valid. `was_waited_for` is not an
/// `EXISTS`, because that would read every waiter for a page of a few rows.
pub(crate) const SELECT: &str = "SELECT q.n, q.id, q.request, q.state, q.asked_ms, q.expires_ms, q.ending, q.ended_ms, \
     q.attempt, q.sent_ms, q.delivered_ms, q.left_ms, q.asker_died, q.conversation, q.claim, q.revision, \
     (SELECT true FROM askuser.waiter w WHERE w.question = q.n LIMIT 1) IS NOT NULL AS was_waited_for, \
     EXISTS (SELECT 1 FROM askuser.waiter w JOIN askuser.process p ON p.id = w.process \
             WHERE w.question = q.n AND p.expires > clock_timestamp()) AS is_waited_for \
     FROM askuser.question q";

/// A stored question, and whether a live process waits for it.
pub(crate) struct StoredRow {
    pub(crate) record: Record,
    pub(crate) is_waited_for: bool,
}

/// Returns an integer column as an unsigned number.
pub(crate) fn number(row: &Row, column: &str) -> Result<u64, DatabaseError> {
    Ok(row.try_get::<_, i64>(column)?.unsigned_abs())
}

pub(crate) fn optional(row: &Row, column: &str) -> Result<Option<u64>, DatabaseError> {
    Ok(row.try_get::<_, Option<i64>>(column)?.map(i64::unsigned_abs))
}

/// Converts a number to PostgreSQL's `bigint`. Larger numbers become `i64::MAX`.
pub(crate) fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

impl StoredRow {
    /// Converts a row that was read at this time.
    pub(crate) fn read(row: &Row, requests: &mut Requests, now_ms: u64) -> Result<StoredRow, DatabaseError> {
        let id = QuestionId::parse(row.try_get("id")?).ok_or_else(|| unreadable("its id"))?;
        let request = requests.read(&id, row.try_get("request")?)?;
        let ending = row.try_get::<_, Option<&str>>("ending")?;
        let ending = ending.map(|text| Ending::read(&request, text)).transpose()?;
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
        question.sent_ms = optional(row, "sent_ms")?;
        question.delivered_ms = optional(row, "delivered_ms")?;
        question.ending = ending;
        question.read_ms = now_ms;
        let state: &str = row.try_get("state")?;
        if state != question.state().name() {
            return Err(unreadable(format!("its state is {state:?}, its ending is {}", question.state().name())));
        }
        let attempt = |name: &str| Ok::<_, DatabaseError>(row.try_get::<_, Option<String>>(name)?.map(Attempt::new));
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
