//! Which calls of a message ended without the person's answer or permission, themselves or through a subagent. Nothing else
//! of that message begins any more, and nothing of the messages above it.
//!
//! The later calls of a message know it from the transcript. Subagents that run beside each other each know only their own
//! conversation: this is where they hear of it. After a crash it is made again from the transcript.

use crate::shared::Shared;
use crate::tool::ToolResult;
use crate::transcript::{Halt, History};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The halted calls of one message. Clones are about the same message.
#[derive(Clone, Debug, Default)]
pub(crate) struct HaltedCalls(Arc<Mutex<Vec<HaltedCall>>>);

#[derive(Clone, Debug)]
struct HaltedCall {
    id: String,
    halt: Halt,
    /// What its subagent read of it.
    words: Option<String>,
}

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

    /// Whether it is the person's word, or that no person is there; what the model got wrong concerns its own message
    /// alone.
    fn concerns_messages_above(self) -> bool {
        match self {
            Halt::NotAnswered | Halt::NotAllowed => true,
            Halt::NotAsked => false,
        }
    }
}

impl HaltedCalls {
    /// As they were recorded before the last message of a conversation was cut off.
    pub(crate) fn recorded(history: &History, shared: &Shared) -> HaltedCalls {
        let halted = HaltedCalls::default();
        for call in history.messages.last().into_iter().flat_map(|message| message.calls()) {
            let tasks: Vec<String> = shared.tasks.iter().chain([&call.id]).cloned().collect();
            let below = shared.transcript.halts_in(&tasks).into_iter();
            for (halt, words) in below.filter(|(halt, _)| halt.concerns_messages_above()) {
                halted.add(&call.id, halt, words);
            }
            if let Some(halt) = history.halts.get(&call.id).copied() {
                halted.add(&call.id, halt, None);
            }
        }
        halted
    }

    fn add(&self, id: &str, halt: Halt, words: Option<String>) {
        self.calls().push(HaltedCall { id: id.to_owned(), halt, words });
    }

    /// Why nothing may run after this call, if nothing may.
    pub(crate) fn of(&self, id: &str) -> Option<Halt> {
        self.calls().iter().find(|call| call.id == id).map(|call| call.halt)
    }

    /// The same for whatever stands beside this call.
    pub(crate) fn beside(&self, id: &str) -> Option<Halt> {
        self.calls().iter().find(|call| call.id != id).map(|call| call.halt)
    }

    /// What the subagent of this call read of what the person did not answer or allow.
    pub(crate) fn words_of(&self, id: &str) -> Vec<String> {
        self.calls().iter().filter(|call| call.id == id).filter_map(|call| call.words.clone()).collect()
    }

    fn calls(&self) -> MutexGuard<'_, Vec<HaltedCall>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Shared {
    /// A call of this agent ended like this: every message above has to mind it.
    pub(crate) fn halt_above(&self, halt: Halt, tool: &str, result: &ToolResult) {
        if halt.concerns_messages_above() {
            for (message, call) in self.above.iter().zip(&self.tasks) {
                message.add(call, halt, Some(words(tool, result)));
            }
        }
    }

    /// Why this subagent does nothing more, if something beside it is the reason.
    pub(crate) fn halted_above(&self) -> Option<Halt> {
        self.above.iter().zip(&self.tasks).find_map(|(message, call)| message.beside(call))
    }
}

/// What a subagent read of a call that halted, with the tool's name.
pub(crate) fn words(tool: &str, result: &ToolResult) -> String {
    format!("{tool}: {}", result.output)
}
