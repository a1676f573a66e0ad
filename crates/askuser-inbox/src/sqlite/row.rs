//! Rows of the table of questions.

use super::error::{Fault, unreadable};
use askuser::store::{AskerPresence, Attempt, Cursor, Ending, QuestionId, Record, Requests, StoredQuestion};
use rusqlite::Row;

/// The query that reads questions. [`StoredRow::read`] uses the positions of its columns.
pub(super) const SELECT: &str = "SELECT n, id, request, asked_ms, expires_ms, ending, ended_ms, \
     attempt, delivered_ms, asker, left_ms, asker_died, conversation, claim, revision, \
     (SELECT group_concat(process, ' ') FROM waiter WHERE waiter.question = n), state, sent_ms FROM question";

/// A stored question, with the names of the processes that wait for it.
pub(super) struct StoredRow {
    pub(super) n: i64,
    pub(super) waiters: Vec<String>,
    pub(super) record: Record,
}

impl StoredRow {
    /// Converts a row that was read at this time. It does not check whether the waiting processes are alive.
    pub(super) fn read(row: &Row<'_>, requests: &mut Requests, now_ms: u64) -> Result<StoredRow, Fault> {
        let id = row.get_ref(1)?.as_str().ok().and_then(QuestionId::parse).ok_or_else(|| unreadable("its id"))?;
        let request = requests.read(&id, row.get_ref(2)?.as_str().map_err(unreadable)?)?;
        let n: i64 = row.get(0)?;
        let ending = row.get_ref(5)?.as_str_or_null().map_err(unreadable)?;
        let ending = ending.map(|text| Ending::read(&request, text)).transpose()?;
        let mut question = StoredQuestion::new(id, request, row.get(3)?, Cursor { rank: 0, n: n.unsigned_abs() });
        let left = row.get::<_, Option<u64>>(10)?.unwrap_or(question.asked_ms);
        question.asker = if row.get(11)? { AskerPresence::Died(left) } else { AskerPresence::Left(left) };
        question.expires_ms = row.get(4)?;
        question.sent_ms = row.get(17)?;
        question.delivered_ms = row.get(8)?;
        question.ending = ending;
        question.read_ms = now_ms;
        let state = row.get_ref(16)?.as_str().unwrap_or_default();
        if state != question.state().name() {
            return Err(unreadable(format!("its state is {state:?}, its ending is {}", question.state().name())));
        }
        let waiters = [row.get::<_, Option<String>>(15)?, row.get(9)?];
        let waiters = waiters.iter().flatten().flat_map(|names| names.split(' ')).map(str::to_owned).collect();
        let attempt = |place: usize| Ok::<_, Fault>(row.get::<_, Option<String>>(place)?.map(Attempt::new));
        let record = Record {
            question,
            attempt: attempt(7)?,
            claim: attempt(13)?,
            conversation: row.get(12)?,
            revision: row.get(14)?,
        };
        Ok(StoredRow { n, waiters, record })
    }
}
