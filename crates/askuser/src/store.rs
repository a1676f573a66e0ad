//! Where questions wait for their person: the one seam to whatever keeps them.
//!
//! A question is put before anybody sees it, and answered once. A final state absorbs: whoever comes late is told who was
//! first, through what, when and with what. Calls may block for as long as a disk takes; those that wait for a person do not
//! exist here: [`Store::watch`] says when to look again.

use crate::request::{Request, RequestKey};
use crate::resolution::Resolution;
use crate::violation::Violations;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::error::Error;
use std::fmt;
use std::sync::Arc;

/// Keeps questions until they are answered.
pub trait Store: Send + Sync {
    /// Keeps a request unless its key is known already, and says what is known of it. It is on the disk when this returns.
    ///
    /// # Errors
    /// [`StoreError::OtherQuestion`] where the key names a different question; whatever keeps the store from being written.
    fn put(&self, request: &Request) -> Result<Put, StoreError>;

    /// A question by its id, or by an abbreviation that fits one question only.
    ///
    /// # Errors
    /// [`StoreError::NoSuchQuestion`], [`StoreError::Ambiguous`].
    fn get(&self, id: &str) -> Result<StoredQuestion, StoreError>;

    /// The id of the question with this key, if there is one.
    ///
    /// # Errors
    /// Whatever keeps the store from being read.
    fn id_of(&self, key: &RequestKey) -> Result<Option<String>, StoreError>;

    /// Records a resolution if the question is pending. `answer_key` names this very attempt: the same attempt again, after a
    /// reply was lost, succeeds again.
    ///
    /// # Errors
    /// [`StoreError::Misfit`] where it is no outcome of the stored question.
    fn answer(&self, id: &str, resolution: &Resolution, answer_key: &str) -> Result<Recorded, StoreError>;

    /// Takes a pending question back.
    ///
    /// # Errors
    /// As for [`Store::answer`].
    fn withdraw(&self, id: &str, by: &str) -> Result<Recorded, StoreError>;

    /// Ends what has passed its deadline, as `timed_out`, and says when the next deadline is due, in milliseconds since 1970.
    ///
    /// # Errors
    /// Whatever keeps the store from being written.
    fn expire(&self) -> Result<Option<u64>, StoreError>;

    /// Somebody holds the clock: the question has no deadline any more.
    ///
    /// # Errors
    /// Whatever keeps the store from being written.
    fn hold(&self, id: &str) -> Result<(), StoreError>;

    /// Says that this process waits for the answer.
    ///
    /// # Errors
    /// Whatever keeps the store from being written.
    fn attach(&self, id: &str) -> Result<(), StoreError>;

    /// Says that this process has stopped waiting. The question stays.
    ///
    /// # Errors
    /// Whatever keeps the store from being written.
    fn detach(&self, id: &str) -> Result<(), StoreError>;

    /// Says that whoever asked has the answer, and has stored it.
    ///
    /// # Errors
    /// Whatever keeps the store from being written.
    fn delivered(&self, id: &str) -> Result<(), StoreError>;

    /// Keeps what was typed and not sent; `None` forgets it. Bounded, and gone with the question.
    ///
    /// # Errors
    /// Whatever keeps the store from being written.
    fn save_draft(&self, id: &str, draft: Option<&Value>) -> Result<(), StoreError>;

    /// What was typed at another surface and not sent.
    ///
    /// # Errors
    /// Whatever keeps the store from being read.
    fn draft(&self, id: &str) -> Result<Option<Value>, StoreError>;

    /// Questions, in the order they were asked unless the filter says otherwise.
    ///
    /// # Errors
    /// Whatever keeps the store from being read.
    fn list(&self, filter: &Filter) -> Result<Vec<StoredQuestion>, StoreError>;

    /// How many questions a list would have, whatever its offset and its limit.
    ///
    /// # Errors
    /// Whatever keeps the store from being read.
    fn count(&self, filter: &Filter) -> Result<u64, StoreError>;

    /// What happened after this sequence number, the earliest first, at most `limit` of it.
    ///
    /// # Errors
    /// Whatever keeps the store from being read.
    fn events(&self, after: u64, limit: u32) -> Result<Events, StoreError>;

    /// The number of the last event; 0 before the first.
    ///
    /// # Errors
    /// Whatever keeps the store from being read.
    fn last_event(&self) -> Result<u64, StoreError>;

    /// Calls `listener` whenever something may have changed, in this process or in another, until the guard is dropped. It is
    /// called on any thread and must not wait.
    ///
    /// # Errors
    /// Where changes of other processes cannot be noticed.
    fn watch(&self, listener: Listener) -> Result<Watch, StoreError>;
}

/// Told that something may have changed.
pub type Listener = Arc<dyn Fn() + Send + Sync>;

/// Keeps a listener listening; dropping it ends that.
#[must_use = "dropping it stops the listening"]
pub struct Watch(Option<Box<dyn FnOnce() + Send + Sync>>);

impl Watch {
    /// A watch that ends by calling this.
    pub fn new(end: impl FnOnce() + Send + Sync + 'static) -> Watch {
        Watch(Some(Box::new(end)))
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        if let Some(end) = self.0.take() {
            end();
        }
    }
}

impl fmt::Debug for Watch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Watch")
    }
}

/// What is known of a request that was put.
#[derive(Clone, Debug)]
pub struct Put {
    /// Whether it was not there before.
    pub is_new: bool,
    /// What is stored: pending, or ended already.
    pub question: StoredQuestion,
}

/// What became of an attempt to end a question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Recorded {
    /// This attempt ended it, now or when it was made first.
    Won(Ending),
    /// It had ended already, and this is how.
    Lost(Ending),
}

/// How a question ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ending {
    /// With a resolution.
    Resolved(Resolution),
    /// It was taken back.
    Withdrawn {
        /// By whom, as they say.
        by: String,
        /// When, in milliseconds since 1970.
        at_ms: u64,
    },
}

impl Ending {
    /// The state it leaves.
    pub fn state(&self) -> State {
        use crate::outcome::Status;
        match self {
            Ending::Withdrawn { .. } => State::Withdrawn,
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
            Ending::Resolved(resolution) => resolution.at_ms(),
            Ending::Withdrawn { at_ms, .. } => Some(*at_ms),
        }
    }

    /// Who ended it, as far as that is known.
    pub fn by(&self) -> Option<&str> {
        match self {
            Ending::Resolved(resolution) => resolution.by(),
            Ending::Withdrawn { by, .. } => Some(by),
        }
    }

    /// The resolution, unless it was taken back.
    pub fn resolution(&self) -> Option<&Resolution> {
        match self {
            Ending::Resolved(resolution) => Some(resolution),
            Ending::Withdrawn { .. } => None,
        }
    }
}

/// Where a question stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
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
    /// Taken back before anybody answered.
    Withdrawn,
}

impl State {
    /// Every state there is.
    pub const ALL: [State; 7] = [
        State::Pending,
        State::Answered,
        State::Cancelled,
        State::Declined,
        State::Discuss,
        State::TimedOut,
        State::Withdrawn,
    ];

    /// The name as JSON spells it.
    pub fn name(self) -> &'static str {
        match self {
            State::Pending => "pending",
            State::Answered => "answered",
            State::Cancelled => "cancelled",
            State::Declined => "declined",
            State::Discuss => "discuss",
            State::TimedOut => "timed_out",
            State::Withdrawn => "withdrawn",
        }
    }

    /// The state of this name.
    pub fn named(name: &str) -> Option<State> {
        State::ALL.into_iter().find(|state| state.name() == name)
    }
}

/// A question as it is kept.
#[derive(Clone, Debug)]
pub struct StoredQuestion {
    /// Names it to people: short, and unique in its store.
    pub id: String,
    /// What is asked.
    pub request: Request,
    /// When it was put, in milliseconds since 1970.
    pub asked_ms: u64,
    /// When it gives up, in milliseconds since 1970.
    pub expires_ms: Option<u64>,
    /// How it ended; `None` while it is pending.
    pub ending: Option<Ending>,
    /// When whoever asked got the answer, in milliseconds since 1970.
    pub delivered_ms: Option<u64>,
    /// Whether somebody still waits for the answer.
    pub asker: AskerPresence,
}

impl StoredQuestion {
    /// Where it stands.
    pub fn state(&self) -> State {
        self.ending.as_ref().map_or(State::Pending, Ending::state)
    }
}

/// Whether whoever asked still waits. The question is there either way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AskerPresence {
    /// A process waits for the answer.
    Waits,
    /// It stopped waiting then, in milliseconds since 1970.
    Left(u64),
    /// It died; this is when that was noticed, in milliseconds since 1970.
    Died(u64),
}

/// Which questions to list.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    /// Only those that wait, or only those that do not.
    pub pending: Option<bool>,
    /// Only those asked at this time or later, in milliseconds since 1970.
    pub since_ms: Option<u64>,
    /// Only those whose agent's name contains this, in any case.
    pub from: Option<String>,
    /// Only those that contain this text, in any case.
    pub containing: Option<String>,
    /// The latest first, instead of the earliest.
    pub latest_first: bool,
    /// So many are left out at the beginning.
    pub offset: u64,
    /// At most so many.
    pub limit: Option<u32>,
}

impl Filter {
    /// What waits.
    pub fn pending() -> Filter {
        Filter { pending: Some(true), ..Filter::default() }
    }

    /// What has ended.
    pub fn ended() -> Filter {
        Filter { pending: Some(false), ..Filter::default() }
    }
}

/// Something that happened to a question. Events are only ever added.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct StoreEvent {
    /// Grows, and never repeats in a store.
    pub seq: u64,
    /// The question's id.
    pub id: String,
    /// The state it took.
    pub state: State,
    /// When, in milliseconds since 1970.
    pub at_ms: u64,
}

/// A stretch of events.
#[derive(Clone, Debug, Default)]
pub struct Events {
    /// The earliest first.
    pub events: Vec<StoreEvent>,
    /// Whether some are missing between the number asked for and the first of these: whoever follows reads everything anew.
    pub gap: bool,
}

/// Why a store did not do what it was asked to. Nothing has changed then.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// No question has this id.
    #[error("there is no question {0}")]
    NoSuchQuestion(String),
    /// An abbreviation that fits several.
    #[error("{id} is short for several questions: {}", .candidates.join(", "))]
    Ambiguous {
        /// What was given.
        id: String,
        /// Some of what it could mean.
        candidates: Vec<String>,
    },
    /// The key is taken.
    #[error("the key {key} is that of another question\n  stored: {stored}\n  asked:  {asked}")]
    OtherQuestion {
        /// The key of both.
        key: String,
        /// The question that is stored.
        stored: String,
        /// The one that was to be put.
        asked: String,
    },
    /// Not an outcome of the question it is meant for.
    #[error("the answer does not fit: {0}")]
    Misfit(#[source] Violations),
    /// The store cannot be read or written.
    #[error("{what}")]
    Broken {
        /// What was being done, and with which file.
        what: String,
        /// What went wrong.
        source: Box<dyn Error + Send + Sync>,
    },
}

impl StoreError {
    /// The store failed while doing this.
    pub fn broken(what: impl Into<String>, source: impl Into<Box<dyn Error + Send + Sync>>) -> StoreError {
        StoreError::Broken { what: what.into(), source: source.into() }
    }

    /// The error and its causes in one line, each once.
    pub fn chain(&self) -> String {
        match self {
            StoreError::Broken { what, source } => {
                let causes = std::iter::successors(source.source(), |error| (*error).source());
                causes.fold(format!("{what}: {source}"), |line, cause| format!("{line}: {cause}"))
            }
            error => error.to_string(),
        }
    }
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
        use crate::outcome::{Outcome, Status};
        use crate::resolution::Via;
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
    fn what_waits_and_what_has_ended_are_the_two_halves_of_a_list() {
        assert_eq!((Filter::pending().pending, Filter::ended().pending), (Some(true), Some(false)));
    }

    #[test]
    fn a_watch_ends_when_it_is_dropped_and_not_before() {
        let ended = Arc::new(std::sync::atomic::AtomicBool::new(false));
        let end = ended.clone();
        let watch = Watch::new(move || end.store(true, std::sync::atomic::Ordering::SeqCst));
        assert!(!ended.load(std::sync::atomic::Ordering::SeqCst));
        drop(watch);
        assert!(ended.load(std::sync::atomic::Ordering::SeqCst));
    }

    #[test]
    fn an_error_and_its_causes_are_one_line() {
        let broken = StoreError::broken("cannot write the store", std::io::Error::other("the disk is full"));
        assert_eq!(broken.chain(), "cannot write the store: the disk is full");
        assert_eq!(StoreError::NoSuchQuestion("q7".into()).chain(), "there is no question q7");
        let ambiguous = StoreError::Ambiguous { id: "q".into(), candidates: vec!["q1".into(), "q2".into()] };
        assert_eq!(ambiguous.chain(), "q is short for several questions: q1, q2");
    }
}
