//! Stored questions, their ids and their askers.

use super::{Cursor, Ending, State, StoreError, UnsentWords};
use crate::request::{Request, RequestKey};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

pub(super) const UNREADABLE: &str = "cannot read a stored question";

/// The id of a question in its store, never abbreviated.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct QuestionId(String);

impl QuestionId {
    /// The maximum length of an id.
    const MAX: usize = 32;
    /// The minimum length of an id.
    const MIN: usize = 12;

    /// Parses an id in any case; `None` if the text is not a whole id.
    pub fn parse(text: &str) -> Option<QuestionId> {
        let is_id = (Self::MIN..=Self::MAX).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        is_id.then(|| QuestionId(text.to_ascii_lowercase()))
    }

    /// The text of the id.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl<'de> Deserialize<'de> for QuestionId {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<QuestionId, D::Error> {
        let text = String::deserialize(deserializer)?;
        QuestionId::parse(&text).ok_or_else(|| serde::de::Error::custom(format!("{text:?} is no id")))
    }
}

impl fmt::Display for QuestionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

/// A reference to a question: its id in the store, or the key from its asker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum QuestionRef {
    /// The id of the question in the store.
    Id(QuestionId),
    /// The key with which the question was put.
    Key(RequestKey),
}

impl From<&QuestionId> for QuestionRef {
    fn from(id: &QuestionId) -> QuestionRef {
        QuestionRef::Id(id.clone())
    }
}

impl From<&RequestKey> for QuestionRef {
    fn from(key: &RequestKey) -> QuestionRef {
        QuestionRef::Key(key.clone())
    }
}

impl fmt::Display for QuestionRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            QuestionRef::Id(id) => id.fmt(f),
            QuestionRef::Key(key) => key.fmt(f),
        }
    }
}

/// The name of one attempt to end a question or to use a permission. After a lost reply, the same principal repeats the
/// attempt with the same answer and gets the same result. Two attempts never share a name, so a name must be random.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attempt(String);

impl Attempt {
    /// Creates the attempt with this name.
    pub fn new(name: impl Into<String>) -> Attempt {
        Attempt(name.into())
    }

    /// The name of the attempt.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// A question as a store keeps it. Times are the store's, in milliseconds since 1970.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct StoredQuestion {
    /// The id of the question.
    pub id: QuestionId,
    /// The request that asks the question.
    pub request: Arc<Request>,
    /// The time when the question was asked.
    pub asked_ms: u64,
    /// The time of the deadline; `None` without one.
    pub expires_ms: Option<u64>,
    /// The ending; `None` while the question is pending.
    pub ending: Option<Ending>,
    /// The time when the asker was first told of the answer; `None` before.
    pub sent_ms: Option<u64>,
    /// The time when the asker received the answer; `None` before.
    pub delivered_ms: Option<u64>,
    /// The presence of the asker.
    pub asker: AskerPresence,
    /// The time when the question was read.
    pub read_ms: u64,
    /// The position of the question in a list.
    pub cursor: Cursor,
    /// The text that the reader has typed and not sent. Only lists contain it.
    pub unsent: Vec<UnsentWords>,
}

impl StoredQuestion {
    /// Creates a question that was just asked.
    pub fn new(id: QuestionId, request: Arc<Request>, asked_ms: u64, cursor: Cursor) -> StoredQuestion {
        // Databases store signed 64-bit numbers.
        let latest = i64::MAX.unsigned_abs();
        let expires = |deadline| asked_ms.saturating_add(milliseconds(deadline)).min(latest);
        let expires_ms = request.deadline().map(expires);
        StoredQuestion {
            id,
            request,
            asked_ms,
            expires_ms,
            ending: None,
            sent_ms: None,
            delivered_ms: None,
            asker: AskerPresence::Left(asked_ms),
            read_ms: asked_ms,
            cursor,
            unsent: Vec::new(),
        }
    }

    /// The state of the question.
    pub fn state(&self) -> State {
        self.ending.as_ref().map_or(State::Pending, Ending::state)
    }

    /// The time left for an answer; `None` without a deadline.
    pub fn time_left(&self) -> Option<Duration> {
        self.expires_ms.map(|at| Duration::from_millis(at.saturating_sub(self.read_ms)))
    }

    /// The time since the question was asked.
    pub fn age(&self) -> Duration {
        Duration::from_millis(self.read_ms.saturating_sub(self.asked_ms))
    }
}

/// A cache of requests by the ids of their questions, for a database. A request never changes, and it is the larger
/// part of a row.
#[derive(Debug, Default)]
pub struct Requests(HashMap<QuestionId, Arc<Request>>);

impl Requests {
    /// The maximum number of cached requests.
    const MOST: usize = 4096;

    /// Adds a request. A full cache is cleared first.
    pub fn keep(&mut self, id: QuestionId, request: Arc<Request>) {
        if self.0.len() >= Self::MOST {
            self.0.clear();
        }
        self.0.insert(id, request);
    }

    /// Returns the request of a question; `None` if it is not cached.
    pub fn known(&self, id: &QuestionId) -> Option<&Arc<Request>> {
        self.0.get(id)
    }

    /// Returns the request of a question. The first time, the request is parsed from JSON.
    ///
    /// # Errors
    /// Returns [`StoreError::Damaged`] if the JSON is not a request.
    pub fn read(&mut self, id: &QuestionId, json: &str) -> Result<Arc<Request>, StoreError> {
        if let Some(request) = self.known(id) {
            return Ok(request.clone());
        }
        let read = serde_json::from_str(json).map_err(|error| StoreError::damaged(UNREADABLE, error))?;
        let request: Arc<Request> = Arc::new(read);
        self.keep(id.clone(), request.clone());
        Ok(request)
    }
}

pub(super) fn milliseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

/// The presence of an asker. A question stays stored without its asker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AskerPresence {
    /// A process waits for the answer.
    Waits,
    /// The asker stopped waiting at this time, in milliseconds since 1970.
    Left(u64),
    /// The asker died. Its death was noticed at this time, in milliseconds since 1970.
    Died(u64),
}

/// The result of claiming a permission.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "claim", rename_all = "snake_case")]
pub enum Claim {
    /// The permission belongs to this attempt, and to no other.
    Won,
    /// The permission has been used already.
    Used {
        /// The time of the use, in milliseconds since 1970.
        at_ms: u64,
    },
    /// The permission was given too long ago.
    Lapsed,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_read_once() {
        let id = QuestionId::parse("0123456789ab").unwrap();
        let mut requests = Requests::default();
        assert!(matches!(requests.read(&id, "{}"), Err(StoreError::Damaged { .. })) && requests.known(&id).is_none());
        let question = crate::input::QuestionInput::new("Which?", "Pick").option("A", "first").option("B", "second");
        let set = crate::QuestionSet::new([question], &crate::Rules::strict()).unwrap();
        let request = Request::new(RequestKey::new("session", "call"), set);
        let json = serde_json::to_string(&request).unwrap();
        assert_eq!(*requests.read(&id, &json).unwrap(), request);
        assert_eq!(**requests.known(&id).unwrap(), request);
        assert_eq!(*requests.read(&id, "{}").unwrap(), request, "from memory");
    }

    #[test]
    fn an_id_is_whole_and_hexadecimal() {
        assert_eq!(QuestionId::parse("3F2A9C0D11AA").unwrap().as_str(), "3f2a9c0d11aa");
        for none in ["", "3f2a9c0d11a", "3f2a9c0d11ag", "3f2a9c0d11aa ", "../../x/y/z/a", &"a".repeat(33)] {
            assert_eq!(QuestionId::parse(none), None, "{none:?}");
        }
    }
}
