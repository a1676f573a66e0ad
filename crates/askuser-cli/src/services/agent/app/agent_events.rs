//! Events from the agent thread, turned into scrollback items and state changes.

use super::model_choice;
use super::scrollback::Item;
use super::state::{Detail, Effect, Event, LastPrinted, State, Streamed, TurnEnd};
use super::tool_calls::{self, CallStatus, RunningCall, WaitingFor, about, diff, is_shown_by_prompt};
use super::update::FULL_LINES;
use askuser::{Fit, Purpose, Request, sanitize};
use askuser_agent::{
    AgentEvent, Block, ContextUse, Failure, FailureKind, Message, OWN_COMMAND, PermissionMode, ToolCall, ToolResult,
};
use askuser_terminal::{Presentation, Role, markdown};
use serde_json::Value;
use std::time::Duration;

/// Lines shown of a failed call's output, unless in full.
const FAILURE_LINES: usize = 5;
/// Lines shown of a diff, unless in full.
const DIFF_LINES: usize = 40;
/// How many messages of a resumed conversation are shown.
const RECALLED_MESSAGES: usize = 6;

impl State {
    pub(super) fn agent_update(&mut self, event: Event, now: Duration, out: &mut Vec<Effect>) {
        match event {
            Event::SessionOpened(session, messages) => {
                self.session = Some(session.clone());
                self.context = session.context;
                self.turn_end = TurnEnd::Completed;
                if session.mode != PermissionMode::Plan {
                    self.mode_before_plan = session.mode;
                }
                self.print(Item::Header(session), out);
                self.recall(&messages, out);
            }
            Event::SessionChanged(session) => {
                let before = self.session.replace(session.clone());
                self.context = session.context;
                if before.as_ref().is_none_or(|before| before.model != session.model) {
                    self.print(Item::Note(Role::Muted, format!("The model is {} now.", session.model)), out);
                }
                if before.is_none_or(|before| before.mode != session.mode) {
                    self.print(Item::Note(Role::Muted, mode_words(session.mode).into()), out);
                }
            }
            Event::Cleared => {
                self.context = None;
                self.turn_end = TurnEnd::Completed;
                self.print(Item::Note(Role::Muted, "A new conversation begins.".into()), out);
            }
            Event::ModelsListed(offered) => {
                self.print(Item::Note(Role::Muted, model_choice::listed(&offered)), out);
                // Whoever has gone on writing is not interrupted.
                if self.draft.is_blank() {
                    out.push(Effect::ChooseModel(offered));
                }
            }
            Event::Told(words) => self.print(Item::Note(Role::Muted, words), out),
            Event::Diff(text) => {
                self.print(Item::Diff { text, max_lines: FULL_LINES }, out);
                self.print(Item::Note(Role::Muted, "What commands changed is not in it.".into()), out);
            }
            Event::CommandFailed(message) => self.print(Item::Note(Role::Danger, message), out),
            Event::TurnStarted if self.turn.is_none() => self.begin_turn(now),
            Event::CommandDone => self.command_done(now, out),
            Event::Agent(event) => self.agent_event(event, None, now, out),
            _ => {}
        }
    }

    /// A command is finished: queued messages are sent, or go back to the draft if the turn was stopped or failed.
    fn command_done(&mut self, now: Duration, out: &mut Vec<Effect>) {
        self.pending_commands = self.pending_commands.saturating_sub(1);
        if self.pending_commands > 0 {
            return;
        }
        let turn = self.turn.take();
        self.calls.clear();
        match self.turn_end {
            TurnEnd::Stopped | TurnEnd::Failed if turn.is_some() => {
                let waiting: Vec<String> = self.queue.drain(..).collect();
                // If they do not fit together with the draft, they are still in the history.
                if !waiting.is_empty() && self.draft.put_back(&waiting.join("\n")) == Fit::Refused {
                    self.warn(Role::Warning, "What you had queued is in the history: Up.", out);
                }
            }
            TurnEnd::Completed | TurnEnd::Stopped | TurnEnd::Failed => {
                self.send_queued(now, out);
            }
        }
    }

    /// Sends queued messages until one starts a command. /resume stops here too: the rest is for the session to be chosen.
    pub(crate) fn send_queued(&mut self, now: Duration, out: &mut Vec<Effect>) {
        while self.pending_commands == 0
            && !out.contains(&Effect::ChooseSession)
            && let Some(text) = self.queue.pop_front()
        {
            // It was typed some time ago, so it is shown again.
            if self.presentation == Presentation::Line {
                self.print(Item::UserMessage(text.clone()), out);
            }
            self.send(&text, now, out);
        }
    }

    fn agent_event(&mut self, event: AgentEvent, task: Option<&str>, now: Duration, out: &mut Vec<Effect>) {
        match event {
            AgentEvent::TextDelta { text } if task.is_none() => {
                self.streamed = Streamed::Parts;
                let mut rows = self.stream.push(&text);
                // A long paragraph is printed before its end has come.
                rows.extend(self.stream.take_stable_rows(self.text_columns));
                if !rows.is_empty() {
                    self.print(Item::ModelText(rows), out);
                }
            }
            AgentEvent::Text { text } => match task {
                None => {
                    if self.streamed == Streamed::Nothing {
                        let rows = self.stream.push(&text);
                        if !rows.is_empty() {
                            self.print(Item::ModelText(rows), out);
                        }
                    }
                    self.close_text(out);
                }
                // A subagent's text is for the agent that started it.
                Some(_) if self.detail == Detail::Full => {
                    self.print(Item::Output { text, role: Role::Muted, max_lines: FULL_LINES }, out);
                }
                Some(_) => {}
            },
            AgentEvent::ToolStart { id, name, input } => {
                self.close_text(out);
                self.calls.push(RunningCall::new(id, name, &input, task, now));
            }
            AgentEvent::ToolResult { id, name, result } => self.tool_result(&id, name, result, task, now, out),
            AgentEvent::Usage { usage } => self.usage += usage,
            AgentEvent::Context { tokens, window } if task.is_none() => {
                self.context = Some(ContextUse { tokens, window });
            }
            AgentEvent::Compacting if task.is_none() => {
                self.close_text(out);
                self.print(Item::Note(Role::Muted, "Summarising the conversation…".into()), out);
            }
            AgentEvent::Compacted { before_tokens, after_tokens } if task.is_none() => {
                let [before, after] = [before_tokens, after_tokens].map(tool_calls::format_count);
                let words = format!(
                    "The conversation was summarised: about {before} tokens before, {after} now. What you said and answered \
                     is kept word for word."
                );
                self.print(Item::Note(Role::Muted, words), out);
            }
            // A subagent's context is its own.
            AgentEvent::Context { .. } | AgentEvent::Compacting | AgentEvent::Compacted { .. } => {}
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
            AgentEvent::Task { description, event, .. } => self.agent_event(*event, Some(&description), now, out),
            AgentEvent::Done { .. } if task.is_none() => {
                self.close_text(out);
                self.turn_end = TurnEnd::Completed;
            }
            AgentEvent::Error { error } if task.is_none() => self.turn_failed(&error, out),
            // A question arrives through the queue; a subagent's end is reported by its call's result.
            AgentEvent::AskUser { .. }
            | AgentEvent::TextDelta { .. }
            | AgentEvent::User { .. }
            | AgentEvent::ThoughtDelta { .. }
            | AgentEvent::ToolOutput { .. }
            | AgentEvent::Done { .. }
            | AgentEvent::Error { .. } => {}
        }
    }

    /// The model's text is complete: prints what is left of it.
    fn close_text(&mut self, out: &mut Vec<Effect>) {
        let rows = self.stream.finish();
        if !rows.is_empty() {
            self.print(Item::ModelText(rows), out);
        }
        self.streamed = Streamed::Nothing;
        if self.last_printed == LastPrinted::Text {
            self.last_printed = LastPrinted::Other;
        }
    }

    fn tool_result(
        &mut self,
        id: &str,
        name: String,
        result: ToolResult,
        task: Option<&str>,
        now: Duration,
        out: &mut Vec<Effect>,
    ) {
        let same = |call: &RunningCall| call.id == id && call.task.as_deref() == task;
        let call = match self.calls.iter().position(same) {
            Some(at) => self.calls.remove(at),
            None => RunningCall::new(id.to_owned(), name.clone(), &Value::Null, task, now),
        };
        if is_shown_by_prompt(&name) && result.success {
            return;
        }
        let asked_first = call.waited > Duration::ZERO;
        let summary = call.finish(&result, now);
        let status = summary.status;
        self.print(Item::Call(summary.clone()), out);
        let (full, output) = (self.detail == Detail::Full, result.output.trim_end());
        let changed = diff(&result);
        let is_known = changed.is_some() && changed == self.shown_diff.as_deref();
        if is_known || asked_first {
            self.shown_diff = None;
        }
        // The text of which not all was shown.
        let mut rest = None;
        match changed {
            Some(_) if is_known => {}
            Some(text) => {
                let max_lines = if full { FULL_LINES } else { DIFF_LINES };
                rest = (text.lines().count() > max_lines).then_some(text);
                self.print(Item::Diff { text: text.to_owned(), max_lines }, out);
            }
            // Whoever runs a command wants to see what it says.
            None if name == OWN_COMMAND => {
                let role = if status == CallStatus::Failed { Role::Danger } else { Role::Secondary };
                self.print(Item::Output { text: output.to_owned(), role, max_lines: FULL_LINES }, out);
            }
            None if status == CallStatus::Failed => {
                let max_lines = if full { FULL_LINES } else { FAILURE_LINES };
                rest = (output.lines().count() > max_lines).then_some(output);
                self.print(Item::Output { text: output.to_owned(), role: Role::Danger, max_lines }, out);
            }
            None if sanitize::is_blank(output) => {}
            None if full => {
                self.print(Item::Output { text: output.to_owned(), role: Role::Secondary, max_lines: FULL_LINES }, out);
            }
            None => rest = Some(output),
        }
        // Ctrl-O shows the last output that was cut; one that was shown in full does not replace it.
        match rest {
            Some(text) if !full => self.last_output = Some((summary, text.to_owned())),
            None if !full => {}
            Some(_) | None => self.last_output = None,
        }
    }

    /// Marks the call that asks, and prints a line above its question that says whose it is.
    pub(super) fn ask_user(&mut self, request: &Request, now: Duration, out: &mut Vec<Effect>) {
        let task = request.origin().task.as_deref();
        let asks = match request.key().purpose() {
            Purpose::Permission => WaitingFor::Permission(now),
            _ => WaitingFor::Question(now),
        };
        let is_its = |call: &&mut RunningCall| call.task.as_deref() == task && call.id == request.key().call();
        let Some(call) = self.calls.iter_mut().find(is_its) else { return };
        call.waiting_for = asks;
        let words = || Some(sanitize::line(request.set().questions()[0].text()).into_owned());
        let item = match (asks, task) {
            (WaitingFor::Permission(_), _) => call.asking(None),
            (_, Some(_)) => call.asking(words()),
            // The agent's own question follows its text directly.
            (_, None) => return,
        };
        self.print(Item::Call(item), out);
    }

    fn retried(&mut self, error: &Failure, after_ms: u64, task: Option<&str>, out: &mut Vec<Effect>) {
        let again = format!(
            "{}; trying again in {}",
            error.message,
            tool_calls::format_duration(Duration::from_millis(after_ms))
        );
        let words = match (task, self.streamed) {
            (Some(task), _) => format!("{task}: {again}."),
            (None, Streamed::Nothing) => format!("{again}."),
            (None, Streamed::Parts) => format!("{again}. The unfinished answer above does not count."),
        };
        if task.is_none() {
            self.close_text(out);
        }
        self.print(Item::Note(Role::Warning, words), out);
    }

    fn turn_failed(&mut self, error: &Failure, out: &mut Vec<Effect>) {
        self.close_text(out);
        if error.kind == FailureKind::Interrupted {
            self.turn_end = TurnEnd::Stopped;
            return self.print(Item::Note(Role::Muted, "Stopped.".into()), out);
        }
        self.turn_end = TurnEnd::Failed;
        let message = error.message.trim_end_matches('.');
        self.print(Item::Note(Role::Danger, format!("{message}. Press Enter to try again.")), out);
    }

    /// Prints the last messages of a resumed conversation.
    fn recall(&mut self, messages: &[Message], out: &mut Vec<Effect>) {
        self.message_count = messages.len();
        let start = messages.len().saturating_sub(RECALLED_MESSAGES);
        if start > 0 {
            let words = format!("{start} earlier message{}", if start == 1 { "" } else { "s" });
            self.print(Item::Note(Role::Muted, words), out);
        }
        for (i, message) in messages.iter().enumerate().skip(start) {
            match message {
                Message::User { text } if message.is_aside() => {
                    let first = text.lines().next().unwrap_or_default();
                    let words = first.trim_start_matches('[').trim_end_matches(']').to_owned();
                    self.print(Item::Note(Role::Muted, words), out);
                }
                Message::User { text } => self.print(Item::UserMessage(text.clone()), out),
                Message::Results { .. } => {}
                Message::Assistant { content } => {
                    for block in content {
                        match block {
                            Block::Text { text } => {
                                self.print(Item::ModelText(markdown::rows(text)), out);
                                self.last_printed = LastPrinted::Other;
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
        // A call without a result is about to run again.
        let Some(result) = result else { return };
        if is_shown_by_prompt(&call.name) {
            let words = sanitize::block(&result.output).into_owned();
            return self.print(Item::Output { text: words, role: Role::Muted, max_lines: FULL_LINES }, out);
        }
        let status = if result.is_error { CallStatus::Failed } else { CallStatus::Succeeded };
        let (name, about) = (call.name.clone(), about(&call.input));
        let summary = tool_calls::CallSummary { name, about, task: None, status, took: None, facts: Vec::new() };
        self.print(Item::Call(summary), out);
    }
}

fn mode_words(mode: PermissionMode) -> &'static str {
    match mode {
        PermissionMode::Plan => "Plan mode: the agent looks and asks, and changes nothing until you approve its plan.",
        PermissionMode::Ask => "Tools that change something ask first.",
        PermissionMode::AcceptEdits => "Edits in this folder do not ask; everything else that changes something does.",
        PermissionMode::Allow => "Tools run without asking. Questions are always asked.",
    }
}

#[cfg(test)]
#[path = "agent_events_tests.rs"]
mod tests;
