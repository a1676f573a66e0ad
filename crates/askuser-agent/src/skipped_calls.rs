//! Skips calls after one that ended without the person's answer or permission, also in a subagent. The later calls of
//! its message and of the messages above it do not start.
//!
//! The later calls of a message see the reason in their conversation. Concurrent subagents know only their own
//! conversation, so they read it from the transcript, also after a crash.

use crate::agent_context::Shared;
use crate::transcript::Halt;

impl Halt {
    /// The result of a skipped call, as the model reads it.
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

    /// The result of a subagent's call that was skipped because of an event outside its conversation.
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
    /// The result of a call that was skipped because of a call beside it, or beside its task.
    pub(crate) fn halted_beside(&self, call: &str) -> Option<&'static str> {
        let path = self.path(call);
        self.transcript.halts().into_iter().find_map(|(other, halt, _)| {
            let parting = path.iter().zip(&other).position(|(own, other)| own != other)?;
            Some(if parting < self.tasks.len() { halt.words_in_a_task() } else { halt.words() })
        })
    }

    /// The halts in the subagent that a call started, with their results.
    pub(crate) fn halts_below(&self, call: &str) -> impl Iterator<Item = (Halt, Option<String>)> {
        let path = self.path(call);
        let halts = self.transcript.halts().into_iter();
        halts.filter(move |(other, ..)| other.starts_with(&path)).map(|(_, halt, words)| (halt, words))
    }

    /// The questions and answers of a subagent that did not finish. Only the subagent has read them.
    pub(crate) fn answers_below(&self, call: &str) -> String {
        let outcomes = self.transcript.outcomes_below(&self.path(call));
        outcomes.iter().map(|words| format!("\n\nAsked in this task:\n{words}")).collect()
    }

    /// A call with the tasks that contain it.
    pub(crate) fn path(&self, call: &str) -> Vec<String> {
        self.tasks.iter().cloned().chain([call.to_owned()]).collect()
    }
}
