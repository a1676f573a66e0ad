//! Skips calls after a call that ended without the person's answer or permission. That call may belong to a subagent.
//! The later calls of its message do not start, nor do those of the messages above.
//!
//! The later calls of a message find the reason in their conversation. Concurrent subagents know only their own
//! conversation, so they read the reason from the transcript. That also works after a crash.

use crate::agent_context::Shared;
use crate::transcript::Halt;

impl Halt {
    /// Returns the result of a skipped call, as the model reads it.
    pub(crate) fn words(self) -> &'static str {
        match self {
            Halt::NotAnswered => {
                "Not run: a question before it in the same message was not answered. Read what came of the question, then \
                 decide anew."
            }
            Halt::NotAsked => {
                "Not run: a question before it in the same message could not be asked. Read why, then decide anew."
            }
            Halt::NotAllowed => {
                "Not run: a call before it in the same message was not allowed. Read why, then decide anew."
            }
        }
    }

    /// Returns the result of a subagent's call that was skipped because of a call outside the subagent.
    pub(crate) fn words_in_a_task(self) -> &'static str {
        match self {
            Halt::NotAnswered | Halt::NotAsked => {
                "Not run: a question asked beside this task was not answered. Do nothing more, and report what is done and \
                 what is not."
            }
            Halt::NotAllowed => {
                "Not run: a call beside this task was not allowed. Do nothing more, and report what is done and what is not."
            }
        }
    }
}

impl Shared {
    /// Returns the result of a call that must be skipped; `None` if it may run. The reason is an earlier call of its
    /// message, or of a message above.
    pub(crate) fn halted_beside(&self, call: &str) -> Option<&'static str> {
        let path = self.path(call);
        self.transcript.halts().into_iter().find_map(|(other, halt, _)| {
            let parting = path.iter().zip(&other).position(|(own, other)| own != other)?;
            Some(if parting < self.tasks.len() { halt.words_in_a_task() } else { halt.words() })
        })
    }

    /// Returns the halts in the subagent that a call started, each with the result of its call.
    pub(crate) fn halts_below(&self, call: &str) -> impl Iterator<Item = (Halt, Option<String>)> {
        let path = self.path(call);
        let halts = self.transcript.halts().into_iter();
        halts.filter(move |(other, ..)| other.starts_with(&path)).map(|(_, halt, words)| (halt, words))
    }

    /// Returns the questions and answers of an unfinished subagent as text. Only the subagent has read them so far.
    pub(crate) fn answers_below(&self, call: &str) -> String {
        let outcomes = self.transcript.outcomes_below(&self.path(call));
        outcomes.iter().map(|words| format!("\n\nAsked in this task:\n{words}")).collect()
    }

    /// Returns the id of a call, preceded by the ids of the calls whose subagents contain it.
    pub(crate) fn path(&self, call: &str) -> Vec<String> {
        self.tasks.iter().cloned().chain([call.to_owned()]).collect()
    }
}
