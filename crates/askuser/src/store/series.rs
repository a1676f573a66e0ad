//! The same thing asked again: when a call attaches to a question that is there, and when it asks anew.

use super::{Ending, State, StoredQuestion};
use crate::request::Purpose;
use std::time::Duration;

/// Questions that are the same to a person: what is asked, by which agent, where. A store finds the open one among them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Series {
    /// The same for all of them.
    pub name: String,
    /// Who asks now: a server process, a session of a client. Random, so that no two share a question by accident.
    pub conversation: String,
}

/// How long a permission may be used: long enough for an agent that tries again when it was told to, too short for one that
/// comes back tomorrow. What was right to run then need not be right now.
pub const PERMISSION_LASTS: Duration = Duration::from_secs(10 * 60);

/// What a store knows of an earlier question of a series, beside the question itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Earlier {
    /// It was asked, or taken over, by the very conversation that asks now.
    pub is_own: bool,
    /// A call waits for it, in this conversation or another.
    pub is_waited_for: bool,
    /// It was a permission, and has been used.
    pub is_claimed: bool,
}

impl Earlier {
    /// Whether a call attaches to this question: one of its own conversation, or one that nothing waits for any more.
    ///
    /// A pending permission is never shared. One that was answered serves a later call of its own conversation, while it
    /// lasts; [`claim`](super::Store::claim) makes that once.
    pub fn is_open(self, question: &StoredQuestion) -> bool {
        let is_free = self.is_own || !self.is_waited_for;
        let is_undelivered = question.delivered_ms.is_none();
        match (question.state(), question.request.key().purpose) {
            (State::Pending, Purpose::Permission) => !self.is_waited_for,
            (State::Pending, _) => is_free,
            // What the asker reported itself permits no later call.
            (State::TimedOut | State::Withdrawn, _) | (State::Settled, Purpose::Permission) => false,
            (_, Purpose::Permission) => {
                let is_unused = is_undelivered && !self.is_claimed && !self.is_waited_for;
                self.is_own && is_unused && lasts(question.ending.as_ref(), question.read_ms)
            }
            _ => is_undelivered && is_free,
        }
    }
}

/// Whether a permission that ended so may still be used. A clock that was set back makes nothing recent.
pub fn lasts(ending: Option<&Ending>, now_ms: u64) -> bool {
    let age = ending.and_then(Ending::at_ms).and_then(|ended| now_ms.checked_sub(ended));
    age.is_some_and(|age| Duration::from_millis(age) <= PERMISSION_LASTS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::input::QuestionInput;
    use crate::store::{Cursor, QuestionId};
    use crate::{Outcome, QuestionSet, Request, RequestKey, Resolution, Rules, Via};

    #[test]
    fn a_settled_permission_is_never_open() {
        let question = QuestionInput::new("Run it?", "Bash").option("Yes", "now").option("No", "not now");
        let set = QuestionSet::new([question], &Rules::strict()).unwrap();
        let answer = set.questions()[0].answer(&[0], None, None).unwrap();
        let yes = Resolution::new(Outcome::answered(&set, vec![answer]).unwrap(), Via::Terminal).with_time(7);
        let own = Earlier { is_own: true, is_waited_for: false, is_claimed: false };
        let is_open = |purpose, ending| {
            let request = Request::new(RequestKey::new("session", "call").for_purpose(purpose), set.clone());
            let id = QuestionId::parse("3f2a9c0d11aa").unwrap();
            let question = StoredQuestion::new(id, request.into(), 7, Cursor(1));
            own.is_open(&StoredQuestion { ending: Some(ending), ..question })
        };
        let settled = || Ending::settled("ci", yes.clone());
        assert!(is_open(Purpose::Permission, Ending::Resolved(yes.clone())), "a person gave it");
        assert!(!is_open(Purpose::Permission, settled()), "its asker reported it");
        assert!(is_open(Purpose::Question, settled()), "an answer permits nothing");
    }
}
