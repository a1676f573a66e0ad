//! A row of the table of questions.

use super::fault::{Fault, unreadable};
use askuser::store::{AskerPresence, Attempt, Cursor, Ending, QuestionId, Record, State, StoredQuestion};
use askuser::{Request, reply};
use rusqlite::Row;
use std::collections::HashMap;
use std::sync::Arc;

/// The columns of a row, which are read by their place.
pub(super) const SELECT: &str = "SELECT n, id, request, state, asked_ms, expires_ms, resolution, ended_by, ended_ms, \
     attempt, delivered_ms, asker, left_ms, asker_died, conversation, claim, revision, \
     (SELECT group_concat(process, ' ') FROM waiter WHERE waiter.question = n) AS waiters FROM question";

/// A row, with the processes that wait as far as it names them.
pub(super) struct StoredRow {
    pub(super) n: i64,
    pub(super) waiters: Vec<String>,
    pub(super) record: Record,
}

/// Requests never change, and to rebuild one is the larger part of reading a row: each is rebuilt once. By its id, which is
/// never given again, unlike the number of a row.
#[derive(Default)]
pub(super) struct Requests(HashMap<QuestionId, Arc<Request>>);

impl Requests {
    /// How many are kept.
    const MOST: usize = 1024;

    pub(super) fn keep(&mut self, id: QuestionId, request: Arc<Request>) {
        if self.0.len() >= Self::MOST {
            self.0.clear();
        }
        self.0.insert(id, request);
    }

    fn of(&mut self, id: &QuestionId, row: &Row<'_>) -> Result<Arc<Request>, Fault> {
        if let Some(request) = self.0.get(id) {
            return Ok(request.clone());
        }
        let text = row.get_ref(2)?.as_str().map_err(unreadable)?;
        let request: Arc<Request> = Arc::new(serde_json::from_str(text).map_err(unreadable)?);
        self.keep(id.clone(), request.clone());
        Ok(request)
    }
}

impl StoredRow {
    /// Reads a row; whether a process waits is not known yet.
    pub(super) fn read(row: &Row<'_>, requests: &mut Requests, now_ms: u64) -> Result<StoredRow, Fault> {
        let id = row.get_ref(1)?.as_str().ok().and_then(QuestionId::parse).ok_or_else(|| unreadable("its id"))?;
        let request = requests.of(&id, row)?;
        let state = row.get_ref(3)?.as_str().unwrap_or_default();
        let state = State::named(state).ok_or_else(|| unreadable(format!("unknown state {state:?}")))?;
        let n: i64 = row.get(0)?;
        let ending = match (state, row.get::<_, Option<String>>(6)?) {
            (State::Pending, _) => None,
            (State::Withdrawn, _) => Some(Ending::Withdrawn {
                by: row.get::<_, Option<String>>(7)?.unwrap_or_default(),
                at_ms: row.get::<_, Option<u64>>(8)?.unwrap_or_default(),
            }),
            (_, Some(text)) => {
                let value = serde_json::from_str(&text).map_err(unreadable)?;
                let resolution = reply::resolution(request.set(), &value).map_err(unreadable)?;
                Some(match state {
                    State::Settled => {
                        let by = row.get::<_, Option<String>>(7)?.unwrap_or_default();
                        Ending::settled(by, resolution)
                    }
                    _ => Ending::Resolved(resolution),
                })
            }
            (state, None) => return Err(unreadable(format!("{} without a resolution", state.name()))),
        };
        let mut question = StoredQuestion::new(id, request, row.get(4)?, Cursor { rank: 0, n: n.unsigned_abs() });
        let left = row.get::<_, Option<u64>>(12)?.unwrap_or(question.asked_ms);
        question.asker = match row.get(13)? {
            true => AskerPresence::Died(left),
            false => AskerPresence::Left(left),
        };
        question.expires_ms = row.get(5)?;
        question.delivered_ms = row.get(10)?;
        question.ending = ending;
        question.read_ms = now_ms;
        let waiters = [row.get::<_, Option<String>>(17)?, row.get(11)?];
        let waiters = waiters.iter().flatten().flat_map(|names| names.split(' ')).map(str::to_owned).collect();
        let attempt = |place: usize| Ok::<_, Fault>(row.get::<_, Option<String>>(place)?.map(Attempt::new));
        let record = Record {
            question,
            attempt: attempt(9)?,
            claim: attempt(15)?,
            conversation: row.get(14)?,
            revision: row.get(16)?,
        };
        Ok(StoredRow { n, waiters, record })
    }
}
