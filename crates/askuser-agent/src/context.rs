//! The fill level of the model's context. It is the provider's last count plus an estimate of later messages.

use crate::agent_context::Shared;
use crate::message::{Block, Message};
use crate::model::Model;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// The fill level of the model's context.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ContextUse {
    /// The approximate number of tokens in the next request.
    pub tokens: u64,
    /// The maximum number of tokens; `None` if it is unknown.
    pub window: Option<u64>,
}

impl ContextUse {
    /// Whether the conversation should be summarised soon. The rest of the window is left for the answer and for an
    /// estimate that was too low.
    pub(crate) fn is_nearly_full(self) -> bool {
        self.window.is_some_and(|window| self.tokens > window / 5 * 4)
    }
}

/// Returns the approximate number of tokens of a text of this many bytes. The estimate is high for English, which has
/// more bytes per token than other scripts and code.
pub(crate) fn estimate(bytes: usize) -> u64 {
    bytes.div_ceil(3) as u64
}

/// Returns the number of bytes of a message that the model reads.
pub(crate) fn bytes(message: &Message) -> usize {
    let data = match message {
        Message::Assistant { content } => content.as_slice(),
        Message::User { .. } | Message::Results { .. } => &[],
    };
    let data = data.iter().map(|block| match block {
        Block::Call(call) => call.name.len() + call.input.to_string().len(),
        Block::Opaque { value, .. } => value.to_string().len(),
        Block::Text { .. } => 0,
    });
    data.chain(message.texts().iter().map(|text| text.len())).sum()
}

/// The learned context sizes by model name. Some models state the size only in an error. Clones share the learned
/// sizes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Windows {
    /// The size that the user has set, which takes precedence; `None` if the user has set none.
    pub(crate) set: Option<u64>,
    learned: Arc<Mutex<HashMap<String, u64>>>,
}

impl Windows {
    pub(crate) fn of(&self, model: &dyn Model) -> Option<u64> {
        let learned = self.learned.lock().unwrap_or_else(PoisonError::into_inner);
        // A learned window precedes the model's own value, which proved too large.
        self.set.or_else(|| learned.get(&model.name()).copied()).or_else(|| model.context_window())
    }

    /// Records that a request of about `tokens` tokens was too long. `reported` is the limit in the error, if it states
    /// one.
    pub(crate) fn learn(&self, model: &dyn Model, reported: Option<u64>, tokens: u64) {
        let window = reported.unwrap_or(tokens).min(tokens).max(1);
        self.learned.lock().unwrap_or_else(PoisonError::into_inner).insert(model.name(), window);
    }
}

impl Shared {
    /// Returns the approximate number of tokens of the system prompt and the tools.
    pub(crate) fn overhead(&self) -> u64 {
        let tools = self.tools.offered(self.permissions().mode, self.asker.is_some());
        let tools = tools.iter().map(|tool| tool.name.len() + tool.description.len() + tool.schema.to_string().len());
        estimate(self.system_now().len() + tools.sum::<usize>())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::script::Script;

    #[test]
    fn a_window_is_nearly_full_at_four_fifths_and_an_unknown_one_never() {
        let full = |tokens, window| ContextUse { tokens, window }.is_nearly_full();
        assert!(!full(800, Some(1000)) && full(801, Some(1000)) && !full(u64::MAX, None));
    }

    #[test]
    fn what_the_user_says_of_a_window_counts_first_then_what_was_learned() {
        let model = Script::default();
        let mut windows = Windows::default();
        assert_eq!(windows.of(&model), None);
        windows.learn(&model, None, 5_000);
        assert_eq!(windows.of(&model), Some(5_000), "a provider that does not say it");
        windows.learn(&model, Some(4_000), 5_000);
        assert_eq!(windows.of(&model), Some(4_000));
        windows.learn(&model, Some(9_000), 3_000);
        assert_eq!(windows.of(&model), Some(3_000), "our estimate was too low, so the window is taken to be smaller");
        windows.set = Some(10_000);
        assert_eq!(windows.of(&model), Some(10_000));
    }
}
