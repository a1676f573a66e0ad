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
        /// The request to store.
        request: Arc<Request>,
        /// The series of the request, if it has one.
        series: Option<Series>,
        /// The id of the question if the question is new. A repeated call has the same id.
        id: QuestionId,
    },
    /// End a question by an outcome or a withdrawal.
    End {
        /// The reference to the question.
        which: QuestionRef,
        /// The end that the principal gives the question.
        end: End,
        /// The name of this attempt.
        attempt: Attempt,
    },
    /// Claim a permission.
    Claim {
        /// The id of the question.
        id: QuestionId,
        /// The name of this attempt.
        attempt: Attempt,
    },
    /// Attach the caller, which waits for an answer.
    Attach {
        /// The id of the question.
        id: QuestionId,
    },
    /// Record that the asker is being told of an answer.
    Sent {
        /// The id of the question.
        id: QuestionId,
    },
    /// Record that the asker has an answer.
    Delivered {
        /// The id of the question.
        id: QuestionId,
    },
    /// Remove a deadline.
    Hold {
        /// The reference to the question.
        which: QuestionRef,
    },
    /// Save a draft.
    SaveDraft {
        /// The reference to the question.
        which: QuestionRef,
        /// The draft with its version.
        save: DraftSave,
    },
    /// End a question whose deadline has passed. Only the store itself issues this command.
    Expire {
        /// The id of the question.
        id: QuestionId,
    },
    /// Remove the questions that ended before a time.
    Purge {
        /// The time before which the questions ended, in milliseconds since 1970.
        before_ms: u64,
    },
}

impl Command {
    /// Returns the question that the command names; `None` for a purge.
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

    /// Whether the change must survive a crash of the machine. The loss of any other change costs at most a repetition.
    pub fn must_be_synced(&self) -> bool {
        use Command::{Attach, Delivered, SaveDraft, Sent};
        !matches!(self, Attach { .. } | Sent { .. } | Delivered { .. } | SaveDraft { .. })
    }
}

/// The decision about a command: a change, an event, the waiting processes and a reply.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// The change of the stored data.
    pub write: Write,
    /// The event to append, if there is one.
    pub event: Option<NewEvent>,
    /// The change of the processes that wait for the question.
    pub waiters: Waiters,
    /// The reply to the caller.
    pub reply: Reply,
}

/// A change of the stored data.
#[derive(Clone, Debug, PartialEq)]
pub enum Write {
    /// No change of the stored data.
    Nothing,
    /// Insert a record. The store assigns its cursor.
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
    /// The time of the event, in milliseconds since 1970.
    pub at_ms: u64,
}

/// A change of the processes that wait for a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waiters {
    /// No change of the waiting processes.
    Keep,
    /// The caller waits, too.
    Add,
    /// The answer was delivered, so no process waits from then on.
    Remove,
}

/// The reply to a command.
#[derive(Clone, Debug, PartialEq)]
pub enum Reply {
    /// The reply to [`Command::Put`].
    Put {
        /// Whether the question is new.
        is_new: bool,
        /// The stored question.
        question: Box<StoredQuestion>,
    },
    /// The reply to [`Command::End`].
    Ended(Ending),
    /// The reply to [`Command::Claim`].
    Claimed(Claim),
    /// The reply to [`Command::Sent`]: the time of an earlier sending, in milliseconds since 1970, if any.
    Sent(Option<u64>),
    /// The reply to [`Command::SaveDraft`]: the drafts of other writers that stay.
    Drafts(Vec<SavedDraft>),
    /// The reply to any other command.
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

/// Extracts the expected result from a reply. Fails if the reply belongs to another kind of command.
#[doc(hidden)]
pub fn replied<R: 'static, T: Send + 'static>(call: Call<R>, read: fn(R) -> Option<T>) -> Call<T> {
    let other = || StoreError::damaged("cannot use the store", "it replied to another command");
    Box::pin(async move { read(call.await?).ok_or_else(other) })
}

/// Implements the methods of [`Store`](crate::store::Store) that are one command each. The type has its own `fn
/// apply(&self, by: &Principal, command: Command) -> Call<Reply>`.
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
