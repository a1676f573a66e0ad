//! Shows a resumed conversation as it was. Its events are replayed, with answers as the prompt left them.

use super::attachments::attached_note;
use super::scrollback::Item;
use super::state::{State, TurnEnd};
use super::tool_calls::{RunningCall, counted, details};
use askuser::{Context, Outcome, QuestionSet, Rules, reply, sanitize};
use askuser_agent::tools::plan_question;
use askuser_agent::{AgentEvent, ToolResult, as_written};
use askuser_terminal::Role;
use serde_json::Value;
use std::time::Duration;

/// The maximum number of events shown. The first event begins a turn, if a turn fits.
const RECALLED_EVENTS: usize = 400;

/// The result of a question, as its prompt has left it in the scrollback.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Closing {
    pub(crate) context: Option<Context>,
    pub(crate) set: QuestionSet,
    pub(crate) outcome: Outcome,
}

impl State {
    /// Prints the last events of a resumed conversation.
    pub(super) fn recall(&mut self, events: Vec<AgentEvent>) {
        let users: Vec<usize> = (0..events.len()).filter(|i| matches!(events[*i], AgentEvent::User { .. })).collect();
        self.session.message_count = users.len();
        let fits = events.len().saturating_sub(RECALLED_EVENTS);
        let start = users.iter().copied().find(|user| *user >= fits && fits > 0).unwrap_or(fits);
        let earlier = users.iter().filter(|user| **user < start).count();
        if earlier > 0 {
            let words = format!("{} of yours", counted(earlier, "earlier message"));
            self.note(Role::Muted, words);
        }
        self.turn.is_recalled = true;
        for event in events.into_iter().skip(start) {
            self.recall_event(event);
        }
        self.turn.is_recalled = false;
        // Unfinished questions are asked again.
        self.turn.calls.clear();
        self.turn.end = TurnEnd::Completed;
    }

    fn recall_event(&mut self, event: AgentEvent) {
        match event {
            AgentEvent::User { text } => {
                self.print(Item::UserMessage(as_written(&text).to_owned()));
                attached_note(&text).into_iter().for_each(|words| self.note(Role::Muted, words));
            }
            // Notices about the person's actions outside the conversation.
            AgentEvent::Notice { message } => self.note(Role::Muted, message),
            // Past costs and modes no longer matter.
            AgentEvent::Usage { .. } | AgentEvent::Mode { .. } | AgentEvent::Context { .. } => {}
            event => self.agent_event(event, None, Duration::ZERO),
        }
    }

    /// Prints the closing lines of a prompt in an earlier process.
    pub(super) fn recall_answer(&mut self, call: &RunningCall, result: &ToolResult) {
        let Some(closing) = closing(&call.input, result) else {
            let text = sanitize::block(&result.output).into_owned();
            return self.print(Item::Output { text, role: Role::Muted, max_lines: usize::MAX });
        };
        if call.task.is_some() {
            self.print(Item::Call(call.asking(&closing.set)));
        }
        self.print(Item::Closing(Box::new(closing)));
    }
}

/// Parses the outcome of a question or a plan from the result of its call. Returns `None` if that fails.
fn closing(input: &Value, result: &ToolResult) -> Option<Closing> {
    let plan = input["plan"].as_str();
    let set = match plan {
        Some(_) => plan_question().ok()?,
        None => QuestionSet::parse(input.clone(), &Rules::repair()).ok()?,
    };
    let outcome = reply::outcome(&set, details(result)).ok()?;
    let context = plan.map(|plan| Context::Prose(plan.into()));
    Some(Closing { context, set, outcome })
}
