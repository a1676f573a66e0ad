//! A question as it is kept, and how it ends.

use super::{Cursor, Principal, StoreError, UnsentWords};
use crate::outcome::{Outcome, Status};
use crate::reply;
use crate::request::{Request, RequestKey};
use crate::resolution::{Reported, Resolution, Via};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

const UNREADABLE: &str = "cannot read a stored question";

/// Names a question in its store: whole, never abbreviated.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct QuestionId(String);

impl QuestionId {
    /// How long an id may be.
    const MAX: usize = 32;
    /// The shortest there is.
    const MIN: usize = 12;

    /// An id as it is written, in any case; `None` for a text that is none, an abbreviation for instance.
    pub fn parse(text: &str) -> Option<QuestionId> {
        let is_id = (Self::MIN..=Self::MAX).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        is_id.then(|| QuestionId(text.to_ascii_lowercase()))
    }

    /// As it is written.
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

/// How a question is named: by its store, or by its asker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum QuestionRef {
    /// The one with this id.
    Id(QuestionId),
    /// The one that was put with this key.
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

/// Names one attempt to end a question, or to use a permission. The same principal that repeats it with the same answer, after
/// a reply was lost, gets the same result. No two attempts have the same name, so make it random.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attempt(String);

impl Attempt {
    /// The attempt of this name.
    pub fn new(name: impl Into<String>) -> Attempt {
        Attempt(name.into())
    }

    /// Its name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// How a principal wants to end a question. The store says who that is, through what and when.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    /// With an outcome.
    Resolve {
        /// What came of asking.
        outcome: Outcome,
        /// The provenance that the principal states of it.
        reported: Option<Reported>,
    },
    /// Take it back.
    Withdraw,
}

impl End {
    /// The ending that is recorded for this principal at this time.
    pub fn stamped(&self, principal: &Principal, at_ms: u64) -> Ending {
        match self {
            End::Resolve { outcome, reported } => match principal.settles_as() {
                Some(credential) => {
                    let Reported { by, via } = reported.clone().unwrap_or_default();
                    let resolution = outcome.clone().through(via.unwrap_or(Via::FrontEnd));
                    Ending::settled(credential, Resolution { by, ..resolution }.with_time(at_ms))
                }
                None => Ending::Resolved(principal.stamp(outcome.clone(), at_ms).with_reported(reported.clone())),
            },
            End::Withdraw => {
                Ending::Withdrawn { by: principal.name().unwrap_or("a program without a name").to_owned(), at_ms }
            }
        }
    }
}

impl From<Outcome> for End {
    fn from(outcome: Outcome) -> End {
        End::Resolve { outcome, reported: None }
    }
}

/// How a question ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Ending {
    /// With a resolution.
    Resolved(Resolution),
    /// Its own asker reported an answer, from its terminal or its client's dialog. No person is known to have answered. Only
    /// [`Ending::settled`] makes one.
    #[non_exhaustive]
    Settled {
        /// The reported outcome, with the provenance that it claims. [`Resolution::reported_by`] names the asker's credential.
        reported: Resolution,
    },
    /// It was taken back.
    Withdrawn {
        /// By whom, as they say.
        by: String,
        /// When, in milliseconds since 1970.
        at_ms: u64,
    },
}

impl Ending {
    /// An outcome that the asker with the credential of this name reported.
    pub fn settled(by: impl Into<String>, reported: Resolution) -> Ending {
        Ending::Settled { reported: Resolution { reported_by: Some(by.into()), ..reported } }
    }

    /// The ending as a store keeps it.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] if it has no JSON.
    pub fn to_json(&self) -> Result<String, StoreError> {
        serde_json::to_string(self).map_err(|error| StoreError::unavailable("cannot write an ending", error))
    }

    /// Reads the ending of a request from a store. The answers must fit its questions.
    ///
    /// # Errors
    /// [`StoreError::Damaged`] if they do not.
    pub fn read(request: &Request, json: &str) -> Result<Ending, StoreError> {
        let damaged = |why: String| StoreError::damaged(UNREADABLE, why);
        let kept: StoredEnding = serde_json::from_str(json).map_err(|error| damaged(error.to_string()))?;
        let resolution =
            |value: &Value| reply::resolution(request.set(), value).map_err(|error| damaged(error.to_string()));
        Ok(match kept {
            StoredEnding::Resolved(value) => Ending::Resolved(resolution(&value)?),
            StoredEnding::Settled { reported } => Ending::Settled { reported: resolution(&reported)? },
            StoredEnding::Withdrawn { by, at_ms } => Ending::Withdrawn { by, at_ms },
        })
    }

    /// The ending of a question whose time ran out.
    pub fn timed_out(at_ms: u64) -> Ending {
        Ending::Resolved(Outcome::timed_out().through(Via::Inbox).with_time(at_ms))
    }

    /// The state it leaves.
    pub fn state(&self) -> State {
        match self {
            Ending::Withdrawn { .. } => State::Withdrawn,
            Ending::Settled { .. } => State::Settled,
            Ending::Resolved(resolution) => match resolution.outcome().status() {
                Status::Answered => State::Answered,
                Status::Cancelled | Status::Unavailable { .. } => State::Cancelled,
                Status::Declined { .. } => State::Declined,
                Status::Discuss { .. } => State::Discuss,
                Status::TimedOut => State::TimedOut,
            },
        }
    }

    /// When, in milliseconds since 1970, where that is known.
    pub fn at_ms(&self) -> Option<u64> {
        match self {
            Ending::Resolved(resolution) | Ending::Settled { reported: resolution } => resolution.at_ms(),
            Ending::Withdrawn { at_ms, .. } => Some(*at_ms),
        }
    }

    /// Who ended it, as far as that is known.
    pub fn by(&self) -> Option<&str> {
        match self {
            Ending::Resolved(resolution) => resolution.by(),
            Ending::Settled { reported } => reported.reported_by(),
            Ending::Withdrawn { by, .. } => Some(by),
        }
    }

    /// The resolution, unless the question was withdrawn or its asker reported it.
    pub fn resolution(&self) -> Option<&Resolution> {
        match self {
            Ending::Resolved(resolution) => Some(resolution),
            Ending::Withdrawn { .. } | Ending::Settled { .. } => None,
        }
    }

    /// The outcome that a store keeps: the resolution, or what the asker reported.
    pub fn recorded(&self) -> Option<&Resolution> {
        match self {
            Ending::Resolved(resolution) | Ending::Settled { reported: resolution } => Some(resolution),
            Ending::Withdrawn { .. } => None,
        }
    }
}

/// [`Ending`], before its answers were checked.
#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum StoredEnding {
    Resolved(Value),
    Settled { reported: Value },
    Withdrawn { by: String, at_ms: u64 },
}

/// Where a question stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs, reason = "they are the statuses of an outcome, and two more")]
pub enum State {
    /// Waits for its person.
    Pending,
    Answered,
    Cancelled,
    Declined,
    Discuss,
    TimedOut,
    /// Its own asker says how it ended.
    Settled,
    /// Withdrawn before it was answered.
    Withdrawn,
}

named!(State {
    Pending = "pending", Answered = "answered", Cancelled = "cancelled", Declined = "declined", Discuss = "discuss",
    TimedOut = "timed_out", Settled = "settled", Withdrawn = "withdrawn",
});

/// A question as it is kept. Times are the store's, in milliseconds since 1970.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct StoredQuestion {
    /// Names it.
    pub id: QuestionId,
    /// What is asked.
    pub request: Arc<Request>,
    /// When it was put.
    pub asked_ms: u64,
    /// When it gives up.
    pub expires_ms: Option<u64>,
    /// How it ended; `None` while it is pending.
    pub ending: Option<Ending>,
    /// When the asker got the answer.
    pub delivered_ms: Option<u64>,
    /// Whether the asker still waits for the answer.
    pub asker: AskerPresence,
    /// When this was read.
    pub read_ms: u64,
    /// Its place in a list.
    pub cursor: Cursor,
    /// The text that the reader has typed and not sent. Only lists have it.
    pub unsent: Vec<UnsentWords>,
}

impl StoredQuestion {
    /// A question that was just put.
    pub fn new(id: QuestionId, request: Arc<Request>, asked_ms: u64, cursor: Cursor) -> StoredQuestion {
        // Databases count no further.
        let latest = i64::MAX.unsigned_abs();
        let expires = |deadline| asked_ms.saturating_add(milliseconds(deadline)).min(latest);
        let expires_ms = request.deadline().map(expires);
        StoredQuestion {
            id,
            request,
            asked_ms,
            expires_ms,
            ending: None,
            delivered_ms: None,
            asker: AskerPresence::Left(asked_ms),
            read_ms: asked_ms,
            cursor,
            unsent: Vec::new(),
        }
    }

    /// Where it stands.
    pub fn state(&self) -> State {
        self.ending.as_ref().map_or(State::Pending, Ending::state)
    }

    /// How long it may still be answered; `None` for as long as it takes.
    pub fn time_left(&self) -> Option<Duration> {
        self.expires_ms.map(|at| Duration::from_millis(at.saturating_sub(self.read_ms)))
    }

    /// How long ago it was asked.
    pub fn age(&self) -> Duration {
        Duration::from_millis(self.read_ms.saturating_sub(self.asked_ms))
    }
}

/// Requests by the ids of their questions, for a database. A request never changes, and it is the larger part of a row.
#[derive(Debug, Default)]
pub struct Requests(HashMap<QuestionId, Arc<Request>>);

impl Requests {
    /// The most requests that are kept.
    const MOST: usize = 4096;

    /// Adds a request.
    pub fn keep(&mut self, id: QuestionId, request: Arc<Request>) {
        if self.0.len() >= Self::MOST {
            self.0.clear();
        }
        self.0.insert(id, request);
    }

    /// The request of a question that was read before.
    pub fn known(&self, id: &QuestionId) -> Option<&Arc<Request>> {
        self.0.get(id)
    }

    /// The request of a question, read from JSON at the first time.
    ///
    /// # Errors
    /// [`StoreError::Damaged`] if it is not readable.
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

/// Whether the asker still waits. The question is there either way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AskerPresence {
    /// A process waits for the answer.
    Waits,
    /// It stopped waiting then, in milliseconds since 1970.
    Left(u64),
    /// It died; this is when that was noticed, in milliseconds since 1970.
    Died(u64),
}

/// What became of the wish to use a permission.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "claim", rename_all = "snake_case")]
pub enum Claim {
    /// It is this attempt's, and no other's.
    Won,
    /// It has been used.
    Used {
        /// The time, in milliseconds since 1970.
        at_ms: u64,
    },
    /// It was given too long ago.
    Lapsed,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_state_is_listed_and_spelled_as_serde_spells_it() {
        for state in State::ALL {
            assert_eq!(serde_json::to_value(state).unwrap(), state.name());
            assert_eq!(State::named(state.name()), Some(state));
        }
    }

    #[test]
    fn an_ending_says_how_when_and_by_whom() {
        for (status, state) in [
            (Status::Answered, State::Answered),
            (Status::Cancelled, State::Cancelled),
            (Status::Unavailable { reason: "gone".into() }, State::Cancelled),
            (Status::Declined { reason: None }, State::Declined),
            (Status::Discuss { message: None }, State::Discuss),
            (Status::TimedOut, State::TimedOut),
        ] {
            let resolution = Outcome::of(status, Vec::new()).through(Via::Web).with_by("ada").with_time(7);
            let ending = Ending::Resolved(resolution.clone());
            assert_eq!((ending.state(), ending.at_ms(), ending.by()), (state, Some(7), Some("ada")));
            assert_eq!(ending.resolution(), Some(&resolution));
        }
        let withdrawn = Ending::Withdrawn { by: "bob".into(), at_ms: 8 };
        assert_eq!((withdrawn.state(), withdrawn.at_ms()), (State::Withdrawn, Some(8)));
        assert_eq!((withdrawn.by(), withdrawn.resolution()), (Some("bob"), None));
    }

    #[test]
    fn an_ending_is_read_as_it_was_written_and_only_if_it_fits() {
        let set = |text: &str| {
            let question = crate::input::QuestionInput::new(text, "Pick").option("A", "first").option("B", "second");
            crate::QuestionSet::new([question], &crate::Rules::strict()).unwrap()
        };
        let request = |text: &str| Request::new(RequestKey::new("session", "call"), set(text));
        let answer = set("Which?").questions()[0].answer(&[1], None, Some("a note".into())).unwrap();
        let resolution = Outcome::answered(&set("Which?"), vec![answer]).unwrap().through(Via::Web).with_by("ada");
        let resolution = resolution.with_time(7).with_reported(Some(Reported { by: None, via: Some(Via::Line) }));
        for ending in [
            Ending::Resolved(resolution.clone()),
            Ending::settled("ci", resolution),
            Ending::timed_out(8),
            Ending::Withdrawn { by: "bob".into(), at_ms: 9 },
        ] {
            let text = ending.to_json().unwrap();
            assert_eq!(Ending::read(&request("Which?"), &text).unwrap(), ending, "{text}");
            let is_for_any = ending.recorded().is_none_or(|recorded| recorded.outcome().answers().is_empty());
            assert_eq!(Ending::read(&request("Another?"), &text).is_ok(), is_for_any, "{text}");
        }
        assert!(matches!(Ending::read(&request("Which?"), "{}"), Err(StoreError::Damaged { .. })));
    }

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

    #[test]
    fn the_principal_decides_who_answered_and_not_the_answer() {
        let reported = Some(Reported { by: Some("root".into()), via: None });
        let end = End::Resolve { outcome: Outcome::cancelled(), reported: reported.clone() };
        let ada = Principal::person("ada", Via::Web).on_device("phone");
        let Ending::Resolved(resolution) = end.stamped(&ada, 7) else { panic!("an outcome") };
        assert_eq!((resolution.by(), resolution.via(), resolution.at_ms()), (Some("ada"), Some(Via::Web), Some(7)));
        assert_eq!((resolution.device(), resolution.reported()), (Some("phone"), reported.as_ref()));
        let file = Principal::person("ada", Via::AnswersFile);
        let Ending::Resolved(resolution) = end.stamped(&file, 7) else { panic!("an outcome") };
        assert_eq!(
            (resolution.by(), resolution.is_a_persons()),
            (None, false),
            "a file is no person, wherever it is named"
        );
    }
}
