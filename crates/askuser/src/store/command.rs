//! The argument and the result of [`step`](super::step).

use super::{
    Attempt, Call, Claim, DraftSave, DraftStep, End, Ending, QuestionId, QuestionRef, Record, SavedDraft, Series,
    State, StoreError, StoredQuestion,
};
use crate::request::Request;
use std::sync::Arc;

/// A call that may change a store.
#[derive(Clone, Debug)]
pub enum Command {
    /// Store a request, or attach to the question that it repeats.
    Put {
        /// The request.
        request: Arc<Request>,
        /// Its series.
        series: Option<Series>,
        /// The id of the question if it is new. A repeated call has the same id.
        id: QuestionId,
    },
    /// End a question, or withdraw it.
    End {
        /// The question.
        which: QuestionRef,
        /// The ending.
        end: End,
        /// The name of this attempt.
        attempt: Attempt,
    },
    /// Use a permission up.
    Claim {
        /// The question.
        id: QuestionId,
        /// The name of this attempt.
        attempt: Attempt,
    },
    /// Wait for an answer.
    Attach {
        /// The question.
        id: QuestionId,
    },
    /// Note that the asker is being told of an answer.
    Sent {
        /// The question.
        id: QuestionId,
    },
    /// Acknowledge an answer.
    Delivered {
        /// The question.
        id: QuestionId,
    },
    /// Clear a deadline.
    Hold {
        /// The question.
        which: QuestionRef,
    },
    /// Save a draft.
    SaveDraft {
        /// The question.
        which: QuestionRef,
        /// The draft.
        save: DraftSave,
    },
    /// End a question whose time has run out. The store itself does this.
    Expire {
        /// The question.
        id: QuestionId,
    },
    /// Remove what ended before a time.
    Purge {
        /// The time, in milliseconds since 1970.
        before_ms: u64,
    },
}

impl Command {
    /// The question that the command names.
    pub fn question(&self) -> Option<QuestionRef> {
        match self {
            Command::Put { request, .. } => Some(request.key().into()),
            Command::End { which, .. } | Command::Hold { which } | Command::SaveDraft { which, .. } => {
                Some(which.clone())
            }
            Command::Claim { id, .. }
            | Command::Attach { id }
            | Command::Sent { id }
            | Command::Delivered { id }
            | Command::Expire { id } => Some(id.into()),
            Command::Purge { .. } => None,
        }
    }

    /// Whether the caller waits for the question afterwards.
    pub fn attaches(&self) -> bool {
        matches!(self, Command::Put { .. } | Command::Attach { .. })
    }

    /// Whether the change must survive a crash of the machine. Losing any other change costs a repetition at most.
    pub fn must_be_synced(&self) -> bool {
        use Command::{Attach, Delivered, SaveDraft, Sent};
        !matches!(self, Attach { .. } | Sent { .. } | Delivered { .. } | SaveDraft { .. })
    }
}

/// The decision about a command: a change, an event and a reply.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// The change.
    pub write: Write,
    /// The event to append.
    pub event: Option<NewEvent>,
    /// The change of who waits.
    pub waiters: Waiters,
    /// The reply.
    pub reply: Reply,
}

/// A change of what is stored.
#[derive(Clone, Debug, PartialEq)]
pub enum Write {
    /// No change.
    Nothing,
    /// Insert a record. The store gives it its place.
    Insert(Box<Record>),
    /// Write the next revision of a record.
    Update(Box<Record>),
    /// Write and remove drafts.
    Drafts(DraftStep),
    /// Remove every question that ended before this time, in milliseconds since 1970, with its drafts and events.
    Purge(u64),
}

/// An event without its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NewEvent {
    /// The state that the question took.
    pub state: State,
    /// The time, in milliseconds since 1970.
    pub at_ms: u64,
}

/// A change of who waits for a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waiters {
    /// No change.
    Keep,
    /// The caller waits too.
    Add,
    /// The answer has arrived, and no process waits any more.
    Remove,
}

/// The reply to a command.
#[derive(Clone, Debug, PartialEq)]
pub enum Reply {
    /// For [`Command::Put`].
    Put {
        /// Whether the question was not there before.
        is_new: bool,
        /// The question.
        question: Box<StoredQuestion>,
    },
    /// For [`Command::End`].
    Ended(Ending),
    /// For [`Command::Claim`].
    Claimed(Claim),
    /// For [`Command::Sent`]: the time of an earlier sending, in milliseconds since 1970.
    Sent(Option<u64>),
    /// For [`Command::SaveDraft`]: the drafts of other writers that stay.
    Drafts(Vec<SavedDraft>),
    /// For any other command.
    Done,
}

impl Step {
    pub(super) fn reply(reply: Reply) -> Step {
        Step { write: Write::Nothing, event: None, waiters: Waiters::Keep, reply }
    }

    pub(super) fn claimed(claim: Claim) -> Step {
        Step::reply(Reply::Claimed(claim))
    }
}

/// Reads the reply to a command of another kind as `T`.
#[doc(hidden)]
pub fn replied<R: 'static, T: Send + 'static>(call: Call<R>, read: fn(R) -> Option<T>) -> Call<T> {
    let other = || StoreError::damaged("cannot use the store", "it replied to another command");
    Box::pin(async move { read(call.await?).ok_or_else(other) })
}

/// Implements the methods of [`Store`](crate::store::Store) that are one command each, by the type's own
/// `fn apply(&self, by: &Principal, command: Command) -> Call<Reply>`.
#[macro_export]
macro_rules! store_commands {
    () => {
        $crate::store_commands! {
            end(which: &QuestionRef, end: &End, attempt: &Attempt) -> $crate::store::Ending, End, Reply::Ended(ending) => ending;
            claim(id: &QuestionId, attempt: &Attempt) -> $crate::store::Claim, Claim, Reply::Claimed(claim) => claim;
            sent(id: &QuestionId) -> Option<u64>, Sent, Reply::Sent(earlier) => earlier;
            delivered(id: &QuestionId) -> (), Delivered, Reply::Done => ();
            hold(which: &QuestionRef) -> (), Hold, Reply::Done => ();
            save_draft(which: &QuestionRef, save: &DraftSave) -> Vec<$crate::store::SavedDraft>, SaveDraft, Reply::Drafts(beside) => beside;
        }
    };
    ($($name:ident($($argument:ident: &$kind:ident),*) -> $output:ty, $command:ident, $reply:pat => $value:expr;)*) => {$(
        fn $name(
            &self,
            by: &$crate::store::Principal,
            $($argument: &$crate::store::$kind),*
        ) -> $crate::store::Call<$output> {
            use $crate::store::*;
            let call = self.apply(by, Command::$command { $($argument: $argument.clone()),* });
            replied(call, |reply| if let $reply = reply { Some($value) } else { None })
        }
    )*};
}
