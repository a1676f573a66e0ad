//! From what the agent tells to what the person sees of it.

use super::calls::{self, Asks, Call, Went, about, diff, shows_itself};
use super::item::{ALL, Item};
use super::markdown;
use super::state::{Above, Detail, Effect, Ended, Event, Heard, State};
use super::update::FULL;
use askuser::{Fit, sanitize};
use askuser_agent::{AgentEvent, Block, Failure, FailureKind, Message, PermissionMode, ToolCall, ToolResult};
use askuser_terminal::{Manner, Role};
use serde_json::Value;
use std::time::Duration;

/// How much is shown of a failure, unless in full.
const GLIMPSE: usize = 5;
/// How much is shown of a change, unless in full.
const CHANGES: usize = 40;
/// How many messages of an earlier conversation are shown again.
const RECALLED: usize = 6;

impl State {
    pub(super) fn told(&mut self, event: Event, now: Duration, out: &mut Vec<Effect>) {
        match event {
            Event::Session(session, messages) => {
                self.session = Some(session.clone());
                self.ended = Ended::Well;
                if session.mode != PermissionMode::Plan {
                    self.before_plan = session.mode;
                }
                self.print(Item::Header(session), out);
                self.recall(&messages, out);
            }
            Event::Changed(session) => {
                let before = self.session.replace(session.clone());
                if before.as_ref().is_none_or(|before| before.model != session.model) {
                    self.print(Item::Note(Role::Muted, format!("The model is {} now.", session.model)), out);
                }
                if before.is_none_or(|before| before.mode != session.mode) {
                    self.print(Item::Note(Role::Muted, mode_words(session.mode).into()), out);
                }
            }
            Event::Cleared => {
                self.ended = Ended::Well;
                self.print(Item::Note(Role::Muted, "A new conversation begins.".into()), out);
            }
            Event::Failed(message) => self.print(Item::Note(Role::Danger, message), out),
            Event::Begins if self.turn.is_none() => self.begin_turn(now),
            Event::Finished => self.finished(now, out),
            Event::Agent(event) => self.happened(event, None, now, out),
            _ => {}
        }
    }

    /// An order has been carried out: what waits is next, unless the last turn did not end as it should.
    fn finished(&mut self, now: Duration, out: &mut Vec<Effect>) {
        self.orders = self.orders.saturating_sub(1);
        if self.orders > 0 {
            return;
        }
        let turn = self.turn.take();
        self.calls.clear();
        match self.ended {
            Ended::Stopped | Ended::Broken if turn.is_some() => {
                let waiting: Vec<String> = self.queue.drain(..).collect();
                // What does not fit beside the draft is in the history.
                if !waiting.is_empty() && self.draft.put_back(&waiting.join("\n")) == Fit::Refused {
                    self.warn(Role::Warning, "What you had queued is in the history: Up.", out);
                }
            }
            Ended::Well | Ended::Stopped | Ended::Broken => {
                self.send_queued(now, out);
            }
        }
    }

    /// A command may be carried out on the spot; then the next one follows at once, unless the person has to choose first
    /// which session it is for.
    pub(crate) fn send_queued(&mut self, now: Duration, out: &mut Vec<Effect>) {
        while self.orders == 0
            && !out.contains(&Effect::ChooseSession)
            && let Some(text) = self.queue.pop_front()
        {
            // Where it was typed is far above by now.
            if self.manner == Manner::Line {
                self.print(Item::Said(text.clone()), out);
            }
            self.send(&text, now, out);
        }
    }

    fn happened(&mut self, event: AgentEvent, task: Option<&str>, now: Duration, out: &mut Vec<Effect>) {
        match event {
            AgentEvent::TextDelta { text } if task.is_none() => {
                self.heard = Heard::Parts;
                let mut rows = self.stream.push(&text);
                // A paragraph that goes on and on does not wait for its end.
                rows.extend(self.stream.overflow(self.columns));
                if !rows.is_empty() {
                    self.print(Item::Rows(rows), out);
                }
            }
            AgentEvent::Text { text } => match task {
                None => {
                    if self.heard == Heard::Nothing {
                        let rows = self.stream.push(&text);
                        if !rows.is_empty() {
                            self.print(Item::Rows(rows), out);
                        }
                    }
                    self.close_text(out);
                }
                // What a subagent says is for the agent that started it.
                Some(_) if self.detail == Detail::Full => {
                    self.print(Item::Output { text, role: Role::Muted, most: FULL }, out);
                }
                Some(_) => {}
            },
            AgentEvent::ToolStart { id, name, input } => {
                self.close_text(out);
                self.calls.push(Call::new(id, name, &input, task, now));
            }
            AgentEvent::ToolResult { id, name, result } => self.returned(&id, name, result, task, now, out),
            AgentEvent::Usage { usage } => self.usage += usage,
            AgentEvent::Retry { error, after_ms } => self.retried(&error, after_ms, task, out),
            AgentEvent::Notice { message } => {
                self.close_text(out);
                self.print(Item::Note(Role::Warning, message), out);
            }
            AgentEvent::Mode { mode } => {
                if let Some(session) = &mut self.session {
                    session.mode = mode;
                }
                self.print(Item::Note(Role::Muted, mode_words(mode).into()), out);
            }
            AgentEvent::Task { description, event, .. } => self.happened(*event, Some(&description), now, out),
            AgentEvent::Done { .. } if task.is_none() => {
                self.close_text(out);
                self.ended = Ended::Well;
            }
            AgentEvent::Error { error } if task.is_none() => self.broke_off(&error, out),
            AgentEvent::AskUser { id, questions } => self.asks(&id, &questions, task, now, out),
            // A subagent's end is its call's result.
            AgentEvent::TextDelta { .. } | AgentEvent::Done { .. } | AgentEvent::Error { .. } => {}
        }
    }

    /// The text is whole: what comes next is something else.
    fn close_text(&mut self, out: &mut Vec<Effect>) {
        let rows = self.stream.finish();
        if !rows.is_empty() {
            self.print(Item::Rows(rows), out);
        }
        self.heard = Heard::Nothing;
        if self.above == Above::Text {
            self.above = Above::Other;
        }
    }

    fn returned(
        &mut self,
        id: &str,
        name: String,
        result: ToolResult,
        task: Option<&str>,
        now: Duration,
        out: &mut Vec<Effect>,
    ) {
        let same = |call: &Call| call.id == id && call.task.as_deref() == task;
        let call = match self.calls.iter().position(same) {
            Some(at) => self.calls.remove(at),
            None => Call::new(id.to_owned(), name.clone(), &Value::Null, task, now),
        };
        if shows_itself(&name) && result.success {
            return;
        }
        let asked_first = call.waited > Duration::ZERO;
        let ended = call.ended(&result, now);
        let went = ended.went;
        self.print(Item::Call(ended.clone()), out);
        let (full, output) = (self.detail == Detail::Full, result.output.trim_end());
        let changed = diff(&result);
        let is_known = changed.is_some() && changed == self.shown_diff.as_deref();
        if is_known || asked_first {
            self.shown_diff = None;
        }
        // What is left to be seen of it.
        let mut rest = None;
        match changed {
            Some(_) if is_known => {}
            Some(text) => {
                let most = if full { FULL } else { CHANGES };
                rest = (text.lines().count() > most).then_some(text);
                self.print(Item::Diff { text: text.to_owned(), most }, out);
            }
            None if went == Went::Wrong => {
                let most = if full { FULL } else { GLIMPSE };
                rest = (output.lines().count() > most).then_some(output);
                self.print(Item::Output { text: output.to_owned(), role: Role::Danger, most }, out);
            }
            None if sanitize::is_blank(output) => {}
            None if full => {
                self.print(Item::Output { text: output.to_owned(), role: Role::Secondary, most: FULL }, out);
            }
            None => rest = Some(output),
        }
        // What has been seen whole is not what somebody wants to see more of.
        match rest {
            Some(text) if !full => self.last_output = Some((ended, text.to_owned())),
            None if !full => {}
            Some(_) | None => self.last_output = None,
        }
    }

    /// A question is about to come, which may have to wait for the person: this says whose it is and what about.
    fn asks(&mut self, id: &str, questions: &Value, task: Option<&str>, now: Duration, out: &mut Vec<Effect>) {
        let (call_id, asks) = match id.strip_suffix(":permission") {
            Some(call) => (call, Asks::Permission(now)),
            None => (id, Asks::Question(now)),
        };
        let is_its = |call: &&mut Call| call.task.as_deref() == task && names(call_id, call);
        let Some(call) = self.calls.iter_mut().find(is_its) else { return };
        call.asks = asks;
        let words = || questions[0]["question"].as_str().map(|text| sanitize::line(text).into_owned());
        let item = match (asks, task) {
            (Asks::Permission(_), _) => call.asking(None),
            (_, Some(_)) => call.asking(words()),
            // What the agent itself asks stands under its own words.
            (_, None) => return,
        };
        self.print(Item::Call(item), out);
    }

    fn retried(&mut self, error: &Failure, after_ms: u64, task: Option<&str>, out: &mut Vec<Effect>) {
        let again = format!("{}; trying again in {}", error.message, calls::span(Duration::from_millis(after_ms)));
        let words = match (task, self.heard) {
            (Some(task), _) => format!("{task}: {again}."),
            (None, Heard::Nothing) => format!("{again}."),
            (None, Heard::Parts) => format!("{again}. The unfinished answer above does not count."),
        };
        if task.is_none() {
            self.close_text(out);
        }
        self.print(Item::Note(Role::Warning, words), out);
    }

    fn broke_off(&mut self, error: &Failure, out: &mut Vec<Effect>) {
        self.close_text(out);
        if error.kind == FailureKind::Interrupted {
            self.ended = Ended::Stopped;
            return self.print(Item::Note(Role::Muted, "Stopped.".into()), out);
        }
        self.ended = Ended::Broken;
        let message = error.message.trim_end_matches('.');
        self.print(Item::Note(Role::Danger, format!("{message}. Press Enter to try again.")), out);
    }

    /// What a question is about: words of the model's, where it asks itself; what is to be agreed to, as it is.
    pub(super) fn show_context(&mut self, context: String, out: &mut Vec<Effect>) {
        if self.calls.iter().any(|call| matches!(call.asks, Asks::Question(_))) {
            self.print(Item::Rows(markdown::rows(&context)), out);
        } else {
            self.shown_diff = Some(context.clone());
            self.print(Item::Diff { text: context, most: ALL }, out);
        }
        self.above = Above::Other;
    }

    /// The end of an earlier conversation, so that the person knows where they are.
    fn recall(&mut self, messages: &[Message], out: &mut Vec<Effect>) {
        self.said = messages.len();
        let start = messages.len().saturating_sub(RECALLED);
        if start > 0 {
            let words = format!("{start} earlier message{}", if start == 1 { "" } else { "s" });
            self.print(Item::Note(Role::Muted, words), out);
        }
        for (i, message) in messages.iter().enumerate().skip(start) {
            match message {
                Message::User { text } => self.print(Item::Said(text.clone()), out),
                Message::Results { .. } => {}
                Message::Assistant { content } => {
                    for block in content {
                        match block {
                            Block::Text { text } => {
                                self.print(Item::Rows(markdown::rows(text)), out);
                                self.above = Above::Other;
                            }
                            Block::Call(call) => self.recall_call(call, messages.get(i + 1), out),
                            Block::Opaque { .. } => {}
                        }
                    }
                }
            }
        }
    }

    fn recall_call(&mut self, call: &ToolCall, next: Option<&Message>, out: &mut Vec<Effect>) {
        let result = match next {
            Some(Message::Results { results }) => results.iter().find(|result| result.id == call.id),
            _ => None,
        };
        // One without a result is about to run again.
        let Some(result) = result else { return };
        if shows_itself(&call.name) {
            let words = sanitize::block(&result.output).into_owned();
            return self.print(Item::Output { text: words, role: Role::Muted, most: FULL }, out);
        }
        let went = if result.is_error { Went::Wrong } else { Went::Well };
        let (name, about) = (call.name.clone(), about(&call.input));
        let ended = calls::Ended { name, about, task: None, went, took: None, facts: Vec::new() };
        self.print(Item::Call(ended), out);
    }
}

/// Whether a question's id means this call. A subagent's calls are told by their own ids, its questions by whole paths.
fn names(id: &str, call: &Call) -> bool {
    id.strip_suffix(call.id.as_str()).is_some_and(|path| match call.task {
        Some(_) => path.ends_with('/'),
        None => path.is_empty(),
    })
}

fn mode_words(mode: PermissionMode) -> &'static str {
    match mode {
        PermissionMode::Plan => "Plan mode: the agent looks and asks, and changes nothing until you approve its plan.",
        PermissionMode::Ask => "Whatever changes something asks first.",
        PermissionMode::AcceptEdits => "Edits in this folder do not ask; everything else that changes something does.",
        PermissionMode::Allow => "Tools run without asking. Questions are always asked.",
    }
}

#[cfg(test)]
#[path = "telling_tests.rs"]
mod tests;
