//! A conversation that is built from entries, and its next step.

use super::{Entry, Halt, Verbatim};
use crate::attachment::as_written;
use crate::compaction;
use crate::context;
use crate::event::Usage;
use crate::message::{Block, CallResult, Message, ToolCall};
use crate::tool::ToolResult;
use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};

/// A conversation with the state of its open calls.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct History {
    pub(crate) messages: Vec<Message>,
    /// The results of the last message's calls, until every call has one.
    results: HashMap<String, ToolResult>,
    /// The reasons to skip later calls of the last message, by the id of the call that is the reason.
    halts: HashMap<String, Halt>,
    /// The ids of the last message's calls that have asked or started.
    begun: HashSet<String>,
    /// The ids of all calls in the session, including those before a clearing. A reused id would get the recorded
    /// answer of the earlier call.
    ids: HashSet<String>,
    /// The person's messages that the model has not read yet.
    pub(crate) said: Vec<String>,
    /// The messages that a stopped turn left unread. The next turn reads them.
    pub(crate) left_unread: Vec<String>,
    /// The number of times that a call had the same result since the person's last message. The key is a hash of call
    /// and result.
    ended: HashMap<u64, u32>,
    /// The hashes of calls and results in the last message.
    ended_here: HashSet<u64>,
    /// The person's actions since their last message, such as commands, as texts for the model.
    user_actions: Vec<String>,
    /// Whether the person stopped the turn. Only a new message of the person continues it.
    pub(crate) stopped: bool,
    /// The summary in the first message; `None` if there is none.
    pub(crate) summary: Option<String>,
    /// The texts that the model still reads although a summary has replaced their messages.
    pub(crate) verbatim: Vec<Verbatim>,
    /// The maximum size in bytes of `verbatim`, as the model reads it.
    pub(crate) budget: usize,
    /// The ids of the calls that the person refused.
    pub(crate) refused: HashSet<String>,
    /// The provider's token count at the last response; `None` if the provider does not count.
    counted: Option<u64>,
    /// The size in bytes of the messages after the provider's count.
    uncounted: usize,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Next {
    /// The person sends the next message.
    User,
    /// The model makes the next response.
    Model,
    /// The calls that have no result yet.
    Calls(Vec<ToolCall>),
}

/// The two results for a call that another event has ended: one for a call that had begun, and one for any other.
struct GivenUp {
    begun: &'static str,
    /// The result for a call that had not begun or only read.
    no_effect: &'static str,
}

const INTERRUPTED: GivenUp = GivenUp {
    begun: "The user interrupted this before it had finished.",
    no_effect: "The user interrupted before this had any effect: nothing was changed by it.",
};

/// The text that is added to the third identical result of a call.
const AGAIN: &str =
    "\n\n(The same call had the same result three times by now. Do something else, or ask the user what to do.)";

fn ending(call: &ToolCall, result: &ToolResult) -> u64 {
    let mut hasher = DefaultHasher::new();
    let output = result.output.strip_suffix(AGAIN).unwrap_or(&result.output);
    (&call.name, call.input.to_string(), output).hash(&mut hasher);
    hasher.finish()
}

/// Returns the result of a call that the person stopped.
pub(crate) fn interrupted(has_begun: bool) -> ToolResult {
    ToolResult::without_end("interrupted", if has_begun { INTERRUPTED.begun } else { INTERRUPTED.no_effect })
}

/// The results for calls that were interrupted and not resumed.
const CUT_OFF: GivenUp = GivenUp {
    begun: "This was cut off before it had finished.",
    no_effect: "This was cut off before it had any effect: nothing was changed by it.",
};

impl History {
    /// Applies an entry to the conversation.
    pub(crate) fn apply(&mut self, entry: &Entry) {
        match entry {
            Entry::Said { text } => self.said.push(text.clone()),
            Entry::TakenBack { text } => self.forget_unread(text),
            Entry::User { text } => {
                self.forget_unread(text);
                self.give_up_open_calls(&CUT_OFF);
                self.stopped = false;
                self.ended.clear();
                for action in std::mem::take(&mut self.user_actions) {
                    self.push(Message::User { text: action });
                }
                self.push(Message::User { text: text.clone() });
            }
            Entry::Hint { text } => self.push(Message::User { text: text.clone() }),
            Entry::Undone { text, .. } => self.user_actions.push(text.clone()),
            Entry::UserCommand { command, result } => {
                let output = &result.output;
                self.user_actions
                    .push(format!("[The user ran a command of their own: {}]\n\n{output}", command.trim()));
            }
            Entry::Assistant { content, usage } => {
                self.give_up_open_calls(&CUT_OFF);
                self.results.clear();
                self.halts.clear();
                self.begun.clear();
                self.ended_here.clear();
                let message = Message::Assistant { content: content.clone() };
                self.ids.extend(message.calls().map(|call| call.id.clone()));
                self.push(message);
                let Usage { input_tokens, output_tokens } = usage;
                // Some providers do not count tokens.
                if *input_tokens > 0 {
                    self.counted = Some(input_tokens + output_tokens);
                    self.uncounted = 0;
                }
            }
            Entry::Result { id, result, halt, .. } => {
                self.halts.extend(halt.map(|halt| (id.clone(), halt)));
                self.refused.extend((*halt == Some(Halt::NotAllowed)).then(|| id.clone()));
                self.count_ended(id, result);
                self.results.insert(id.clone(), result.clone());
                self.close_calls();
            }
            Entry::Interrupted => {
                self.give_up_open_calls(&INTERRUPTED);
                self.left_unread.append(&mut self.said);
                self.stopped = true;
            }
            Entry::Cleared => {
                *self = History { ids: std::mem::take(&mut self.ids), ..History::default() };
            }
            Entry::Compacted { summary, verbatim, kept, budget, after_tokens, .. } => {
                self.verbatim.extend(verbatim.iter().cloned());
                let dropped = self.messages.len().saturating_sub(*kept);
                self.messages.splice(..dropped, [compaction::message(summary, &self.verbatim, *budget)]);
                self.summary = Some(summary.clone());
                self.budget = *budget;
                self.counted = Some(*after_tokens);
                self.uncounted = 0;
            }
            Entry::Asked { id, .. } | Entry::Started { id } if entry.begins_call() => self.has_begun(id),
            Entry::Asked { .. } | Entry::Started { .. } => {}
            Entry::Session { .. } | Entry::Outcome { .. } | Entry::Mode { .. } | Entry::Model(_) => {}
        }
    }

    fn count_ended(&mut self, id: &str, result: &ToolResult) {
        let Some(call) = self.messages.last().and_then(|message| message.calls().find(|call| call.id == id)) else {
            return;
        };
        let ending = ending(call, result);
        // Identical calls of one message count once, because the model had not yet read the first result.
        if self.ended_here.insert(ending) {
            *self.ended.entry(ending).or_default() += 1;
        }
    }

    /// Adds a warning to a result that the same call is about to return for the third time.
    pub(crate) fn mark_repetition(&self, call: &ToolCall, result: &mut ToolResult) {
        if self.ended.get(&ending(call, result)) == Some(&2) {
            result.output.push_str(AGAIN);
        }
    }

    /// Removes one queued message with this text, because it was read or withdrawn.
    fn forget_unread(&mut self, text: &str) {
        let is_it = |unread: &String| as_written(text) == unread || text == unread;
        for unread in [&mut self.left_unread, &mut self.said] {
            if let Some(at) = unread.iter().position(is_it) {
                unread.remove(at);
                return;
            }
        }
    }

    /// Records that a call or its subagent has asked or started.
    pub(crate) fn has_begun(&mut self, call: &str) {
        self.begun.insert(call.to_owned());
    }

    pub(crate) fn next(&self) -> Next {
        if self.stopped {
            return Next::User;
        }
        match self.messages.last() {
            None => Next::User,
            Some(Message::User { .. } | Message::Results { .. }) => Next::Model,
            Some(message @ Message::Assistant { .. }) => {
                let open: Vec<ToolCall> = self.open(message).cloned().collect();
                if open.is_empty() { Next::User } else { Next::Calls(open) }
            }
        }
    }

    /// Returns the reason to skip a call of the last message; `None` if it may run. An earlier call of the message has
    /// given the reason.
    pub(crate) fn halted(&self, call: &str) -> Option<Halt> {
        let earlier = self.messages.last()?.calls().take_while(|other| other.id != call);
        earlier.filter_map(|other| self.halts.get(&other.id)).next().copied()
    }

    /// Returns the approximate number of tokens of the next request. `overhead` is the part before the messages.
    pub(crate) fn tokens(&self, overhead: impl FnOnce() -> u64) -> u64 {
        self.counted.unwrap_or_else(overhead) + context::estimate(self.uncounted)
    }

    /// Returns the approximate number of tokens of the next request, without the provider's count.
    pub(crate) fn estimate(&self, overhead: u64) -> u64 {
        overhead + context::estimate(self.messages.iter().map(context::bytes).sum())
    }

    /// Returns a unique id for a call, similar to `wanted`. Some providers omit ids or repeat them.
    pub(crate) fn free_id(&self, wanted: &str, taken: &[Block]) -> String {
        let is_taken = |id: &str| {
            let mut now = taken.iter().filter_map(Block::as_call);
            self.ids.contains(id) || now.any(|call| call.id == id)
        };
        let wanted = if wanted.is_empty() { "call" } else { wanted };
        let numbered = (2u32..).map(|n| format!("{wanted}-{n}"));
        std::iter::once(wanted.to_owned()).chain(numbered).find(|id| !is_taken(id)).unwrap_or_default()
    }

    fn open<'a>(&'a self, message: &'a Message) -> impl Iterator<Item = &'a ToolCall> {
        message.calls().filter(|call| !self.results.contains_key(&call.id))
    }

    fn close_calls(&mut self) {
        let Some(message @ Message::Assistant { .. }) = self.messages.last() else { return };
        if message.calls().next().is_none() || self.open(message).next().is_some() {
            return;
        }
        let result = |call: &ToolCall| {
            let result = &self.results[&call.id];
            let id = call.id.clone();
            let name = call.name.clone();
            CallResult { id, name, output: result.output.clone(), is_error: !result.success }
        };
        let results = message.calls().map(result).collect();
        self.push(Message::Results { results });
    }

    fn push(&mut self, message: Message) {
        self.uncounted += context::bytes(&message);
        self.messages.push(message);
    }

    fn give_up_open_calls(&mut self, why: &GivenUp) {
        let Some(message) = self.messages.last() else { return };
        let open: Vec<String> = self.open(message).map(|call| call.id.clone()).collect();
        for id in open {
            let words = if self.begun.contains(&id) { why.begun } else { why.no_effect };
            self.results.insert(id, ToolResult::error(words));
        }
        self.close_calls();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_conversation_is_as_long_as_the_provider_counted_and_what_was_added_since() {
        let size = |messages: &[Message]| context::estimate(messages.iter().map(context::bytes).sum());
        let user = Entry::User { text: "word ".repeat(100) };
        let assistant = |input_tokens| {
            let content = vec![Block::Text { text: "word ".repeat(10) }];
            Entry::Assistant { content, usage: Usage { input_tokens, output_tokens: 10 } }
        };
        let mut history = History::default();
        history.apply(&user);
        let messages = size(&history.messages);
        assert_eq!((history.tokens(|| 50), history.estimate(50)), (50 + messages, 50 + messages));
        history.apply(&assistant(1000));
        assert_eq!((history.tokens(|| 50), history.estimate(50)), (1010, 50 + size(&history.messages)));
        history.apply(&user);
        assert_eq!(history.tokens(|| 50), 1010 + messages);
        // Some providers do not report a count with each response.
        history.apply(&assistant(0));
        assert_eq!(history.tokens(|| 50), 1010 + size(&history.messages[2..]));
    }
}
