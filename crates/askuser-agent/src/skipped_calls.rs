//! A call that ended without the person's answer or permission, itself or through a subagent: nothing else of its message
//! begins any more, and nothing of the messages above it.
//!
//! The later calls of a message know it from their conversation. Subagents that run beside each other each know only their own:
//! they hear of it from the transcript, after a crash as before it.

use crate::agent_context::Shared;
use crate::transcript::Halt;

impl Halt {
    /// What the model reads of a call that did not run.
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

    /// What a subagent reads of a call that did not run because of something outside of its own conversation.
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
    /// What the model reads of a call that does not run because of another call beside it, or beside the task that it is in.
    pub(crate) fn halted_beside(&self, call: &str) -> Option<&'static str> {
        let path = self.path(call);
        self.transcript.halts().into_iter().find_map(|(other, halt, _)| {
            let parting = path.iter().zip(&other).position(|(own, other)| own != other)?;
            Some(if parting < self.tasks.len() { halt.words_in_a_task() } else { halt.words() })
        })
    }

    /// How calls of the subagent that a call started halted, and what it read of them.
    pub(crate) fn halts_below(&self, call: &str) -> impl Iterator<Item = (Halt, Option<String>)> {
        let path = self.path(call);
        let halts = self.transcript.halts().into_iter();
        halts.filter(move |(other, ..)| other.starts_with(&path)).map(|(_, halt, words)| (halt, words))
    }

    /// The questions and answers of a subagent that did not end by itself. Only the subagent has read them.
    pub(crate) fn answers_below(&self, call: &str) -> String {
        let outcomes = self.transcript.outcomes_below(&self.path(call));
        outcomes.iter().map(|words| format!("\n\nAsked in this task:\n{words}")).collect()
    }

    /// A call with the tasks that it is in.
    pub(crate) fn path(&self, call: &str) -> Vec<String> {
        self.tasks.iter().cloned().chain([call.to_owned()]).collect()
    }
}
