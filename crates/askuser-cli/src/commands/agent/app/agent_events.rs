//! Events from the agent thread, turned into scrollback items and state changes.

use super::agent_thread::AgentCommand;
use super::outputs::{Heading, OutputKind};
use super::scrollback::Item;
use super::state::{Effect, Event, LastPrinted, State, Stopping, Streamed, Thought, TurnEnd, Work};
use super::tool_calls::{
    self, CallStatus, CallSummary, EndedCall, RunningCall, WaitingFor, diff, failure_output, is_shown_by_prompt,
};
use askuser::{Fit, Purpose, Request, sanitize};
use askuser_agent::{
    AgentEvent, ContextUse, Failure, FailureKind, OWN_COMMAND, PermissionMode, ToolResult, as_written,
};
use askuser_terminal::{Presentation, Role, wrap};
use serde_json::Value;
use std::time::Duration;

const FAILURE_LINES: usize = 5;
/// Lines shown of what the person asked for: the output of a command of their own, what has changed.
const OWN_LINES: usize = 400;
const DIFF_LINES: usize = 40;

impl State {
    pub(super) fn agent_update(&mut self, event: Event, now: Duration, out: &mut Vec<Effect>) {
        match event {
            Event::SessionOpened(session, events, waiting) => {
                waiting.into_iter().rev().for_each(|text| self.composer.queue.push_front(text));
                self.session.about = Some(session.clone());
                self.session.context = session.context;
                self.turn.end = TurnEnd::Completed;
                if session.mode != PermissionMode::Plan {
                    self.session.mode_before_plan = session.mode;
                }
                self.print(Item::Header(session), out);
                self.recall(events, out);
            }
            Event::SessionChanged(session) => {
                let before = self.session.about.replace(session.clone());
                self.session.context = session.context;
                if before.as_ref().is_none_or(|before| before.model != session.model) {
                    self.print(Item::Note(Role::Muted, format!("The model is {} now.", session.model)), out);
                }
                if before.is_none_or(|before| before.mode != session.mode) {
                    self.print(Item::Note(Role::Muted, mode_words(session.mode).into()), out);
                }
            }
            Event::Cleared => {
                self.session.context = None;
                self.turn.end = TurnEnd::Completed;
                self.print(Item::Note(Role::Muted, "A new conversation begins.".into()), out);
            }
            Event::Attached { files, refused } => {
                let file = |(path, lines): &(String, String)| format!("{path} ({lines})");
                if !files.is_empty() {
                    let words = format!("Attached: {}", files.iter().map(file).collect::<Vec<_>>().join(", "));
                    self.print(Item::Note(Role::Muted, words), out);
                }
                for why in refused {
                    self.print(Item::Note(Role::Warning, format!("Not attached: {why}")), out);
                }
            }
            Event::Told(words) => self.print(Item::Note(Role::Muted, words), out),
            Event::Diff { text, also_changed } => {
                let about = "what the agent's edits have changed".to_owned();
                let heading = CallSummary { about, ..CallSummary::named("/diff") };
                self.outputs.add(Heading::Call(heading), OutputKind::Diff, &text);
                self.print(Item::Diff { text, max_lines: OWN_LINES }, out);
                if !also_changed.is_empty() {
                    let words =
                        format!("Not only the agent has changed {}; that is in it too.", also_changed.join(", "));
                    self.print(Item::Note(Role::Warning, words), out);
                }
                let others = "What commands changed in other files is not in it.";
                self.print(Item::Note(Role::Muted, others.into()), out);
            }
            // A person who is writing or reading is not interrupted.
            Event::ModelsListed(offered) if self.composer.draft.is_blank() && self.pager.is_none() => {
                out.push(Effect::ChooseModel(offered));
            }
            Event::CommandFailed(message) => self.print(Item::Note(Role::Danger, message), out),
            Event::TurnStarted if self.turn.running.is_none() => self.begin_turn(Work::Conversation, now),
            Event::TakenBack(texts) => {
                self.composer.said.retain(|said| !texts.contains(said));
                let text = texts.join("\n");
                let is_stopping = self.turn.running.is_some_and(|turn| turn.stopping == Stopping::Yes);
                if is_stopping && !texts.is_empty() {
                    self.composer.queue.push_front(text);
                } else if !texts.is_empty() && self.composer.draft.put_back(&text) == Fit::Refused {
                    self.warn(Role::Warning, "What you took back is in the history: Up.", out);
                }
            }
            Event::CommandDone => self.command_done(now, out),
            Event::Agent(event) => self.agent_event(event, None, now, out),
            _ => {}
        }
    }

    /// A command is finished: queued messages are sent, or go back to the draft if the turn was stopped or failed.
    fn command_done(&mut self, now: Duration, out: &mut Vec<Effect>) {
        self.turn.pending_commands = self.turn.pending_commands.saturating_sub(1);
        if self.turn.pending_commands > 0 {
            return;
        }
        self.end_thought(now, out);
        let turn = self.turn.running.take();
        for call in std::mem::take(&mut self.turn.calls) {
            if call.ended.is_some() {
                self.show_ended(call, out);
            } else if let Some(output) = call.output {
                let ending = Some("stopped".to_owned());
                let summary = CallSummary { status: CallStatus::Failed, ending, ..call.running() };
                self.outputs.end(output, Heading::Call(summary), "");
            }
        }
        match self.turn.end {
            TurnEnd::Stopped | TurnEnd::Failed if turn.is_some() => {
                let waiting: Vec<String> = self.composer.queue.drain(..).collect();
                out.extend(waiting.iter().map(|text| Effect::Command(AgentCommand::Forget(text.clone()))));
                // If they do not fit together with the draft, they are still in the history.
                if !waiting.is_empty() && self.composer.draft.put_back(&waiting.join("\n")) == Fit::Refused {
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
        while self.turn.pending_commands == 0
            && !out.contains(&Effect::ChooseSession)
            && let Some(text) = self.composer.queue.pop_front()
        {
            // It was typed some time ago, so it is shown again.
            if self.presentation == Presentation::Line {
                self.print(Item::UserMessage(text.clone()), out);
            }
            self.send(&text, now, out);
        }
    }

    pub(super) fn agent_event(&mut self, event: AgentEvent, task: Option<&str>, now: Duration, out: &mut Vec<Effect>) {
        if task.is_none() && !matches!(event, AgentEvent::ThoughtDelta { .. }) {
            self.end_thought(now, out);
        }
        match event {
            // A subagent's thoughts are not shown.
            AgentEvent::ThoughtDelta { text } if task.is_none() => self.think(&text, now),
            AgentEvent::TextDelta { text } if task.is_none() => {
                self.turn.streamed = Streamed::Parts;
                let mut rows = self.turn.stream.push(&text);
                // A long paragraph is printed before its end has come.
                let columns = self.turn.text_columns;
                rows.extend(self.turn.stream.take_stable_rows(columns, |text| wrap(text, columns, columns)));
                if !rows.is_empty() {
                    self.print(Item::ModelText(rows), out);
                }
            }
            AgentEvent::Text { text } if task.is_none() => {
                if self.turn.streamed == Streamed::Nothing {
                    let rows = self.turn.stream.push(&text);
                    if !rows.is_empty() {
                        self.print(Item::ModelText(rows), out);
                    }
                }
                self.close_text(out);
            }
            AgentEvent::User { text } if task.is_none() => {
                self.close_text(out);
                let text = as_written(&text);
                self.composer.said.retain(|said| said != text);
                self.print(Item::UserMessage(text.to_owned()), out);
            }
            AgentEvent::ToolStart { id, name, input } => {
                self.close_text(out);
                self.turn.calls.push(RunningCall::new(id, name, &input, task, now));
            }
            AgentEvent::ToolResult { id, name, result } => self.tool_result(&id, name, result, task, now, out),
            AgentEvent::ToolOutput { id, text } => self.tool_output(&id, &text, task),
            AgentEvent::Usage { usage } => {
                self.turn.usage += usage;
                self.session.spent += usage;
            }
            AgentEvent::Context { tokens, window } if task.is_none() => {
                self.session.context = Some(ContextUse { tokens, window });
            }
            AgentEvent::Compacting if task.is_none() => {
                self.close_text(out);
                self.print(Item::Note(Role::Muted, "Summarising the conversation…".into()), out);
            }
            AgentEvent::Compacted { before_tokens, after_tokens, left_out } if task.is_none() => {
                let [before, after] = [before_tokens, after_tokens].map(tool_calls::format_count);
                let kept = match left_out {
                    0 => "Your messages and answers are kept word for word.".to_owned(),
                    n => {
                        format!("{n} of your messages and answers are too long to be repeated; the record has them.")
                    }
                };
                let words =
                    format!("The conversation was summarised: about {before} tokens before, {after} now. {kept}");
                self.print(Item::Note(Role::Muted, words), out);
            }
            AgentEvent::Retry { error, after_ms } => self.retried(&error, after_ms, task, out),
            AgentEvent::Notice { message } => {
                self.close_text(out);
                self.print(Item::Note(Role::Warning, message), out);
            }
            AgentEvent::Mode { mode } => {
                if let Some(session) = &mut self.session.about {
                    session.mode = mode;
                }
                self.print(Item::Note(Role::Muted, mode_words(mode).into()), out);
            }
            AgentEvent::Task { description, event, .. } => self.agent_event(*event, Some(&description), now, out),
            AgentEvent::Done { .. } if task.is_none() => {
                self.close_text(out);
                self.turn.end = TurnEnd::Completed;
            }
            AgentEvent::Error { error } if task.is_none() => self.turn_failed(&error, out),
            // A question arrives through the queue. What a subagent says is for the agent that started it, and its end is
            // reported by its call's result.
            _ => {}
        }
    }

    fn think(&mut self, text: &str, now: Duration) {
        let begin = || Thought { since: now, output: self.outputs.begin(Heading::Thoughts(Duration::ZERO)) };
        let thought = *self.turn.thought.get_or_insert_with(begin);
        self.outputs.append(thought.output, text);
    }

    /// The model has thought; how long stays in the conversation, and Ctrl-O shows what.
    fn end_thought(&mut self, now: Duration, out: &mut Vec<Effect>) {
        if let Some(Thought { since, output }) = self.turn.thought.take() {
            let took = now.saturating_sub(since);
            self.outputs.end(output, Heading::Thoughts(took), "");
            self.print(Item::Thought(took), out);
        }
    }

    /// The model's text is complete: prints what is left of it.
    fn close_text(&mut self, out: &mut Vec<Effect>) {
        let rows = self.turn.stream.finish();
        if !rows.is_empty() {
            self.print(Item::ModelText(rows), out);
        }
        self.turn.streamed = Streamed::Nothing;
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
        let same = |call: &&mut RunningCall| call.id == id && call.task.as_deref() == task;
        match self.turn.calls.iter_mut().find(same) {
            Some(call) => {
                let summary = call.finish(&result, now);
                call.ended = Some(Box::new(EndedCall { summary, result }));
            }
            None => {
                let call = RunningCall::new(id.to_owned(), name, &Value::Null, task, now);
                let summary = call.finish(&result, now);
                self.show_result(&call, EndedCall { summary, result }, out);
            }
        }
        // Calls that run beside each other are shown in the order in which they were made.
        while let Some(first) = self.turn.calls.iter().position(|call| call.task.as_deref() == task)
            && self.turn.calls[first].ended.is_some()
        {
            let call = self.turn.calls.remove(first);
            self.show_ended(call, out);
        }
    }

    pub(super) fn show_ended(&mut self, mut call: RunningCall, out: &mut Vec<Effect>) {
        if let Some(ended) = call.ended.take() {
            self.show_result(&call, *ended, out);
        }
    }

    fn show_result(&mut self, call: &RunningCall, ended: EndedCall, out: &mut Vec<Effect>) {
        let EndedCall { summary, result } = ended;
        if is_shown_by_prompt(&call.name) && result.success {
            return;
        }
        let (asked_first, written) = (call.waited > Duration::ZERO, call.output);
        self.print(Item::Call(summary.clone()), out);
        let changed = diff(&result);
        let is_known = changed.is_some() && changed == self.turn.shown_diff.as_deref();
        if is_known || asked_first {
            self.turn.shown_diff = None;
        }
        let output: &str = match summary.status {
            CallStatus::Failed => &failure_output(&result, summary.ending.as_deref()),
            _ => result.output.trim_end(),
        };
        match changed {
            Some(_) if is_known => {}
            Some(text) => self.print(Item::Diff { text: text.to_owned(), max_lines: DIFF_LINES }, out),
            // A person who runs a command wants to see its output.
            None if call.name == OWN_COMMAND && !sanitize::is_blank(output) => {
                let role = if summary.status == CallStatus::Failed { Role::Danger } else { Role::Secondary };
                self.print(Item::Output { text: output.to_owned(), role, max_lines: OWN_LINES }, out);
            }
            None if summary.status == CallStatus::Failed && !sanitize::is_blank(output) => {
                let text = output.to_owned();
                self.print(Item::Output { text, role: Role::Danger, max_lines: FAILURE_LINES }, out);
            }
            None => {}
        }
        let heading = Heading::Call(summary);
        match (written, changed) {
            (Some(written), _) => self.outputs.end(written, heading, output),
            (None, Some(diff)) => self.outputs.add(heading, OutputKind::Diff, diff),
            (None, None) if sanitize::is_blank(output) => {}
            (None, None) => self.outputs.add(heading, OutputKind::Text, output),
        }
        let details = result.metadata.as_ref().and_then(|metadata| metadata.details.as_ref());
        let file = details.and_then(|details| details["output_file"].as_str());
        if let (Some(file), Some(id)) = (file, written.or(self.outputs.last())) {
            self.outputs.kept_in(id, file.into());
        }
    }

    fn tool_output(&mut self, id: &str, text: &str, task: Option<&str>) {
        let its = |call: &&mut RunningCall| call.id == id && call.task.as_deref() == task;
        if let Some(call) = self.turn.calls.iter_mut().find(its) {
            let heading = || Heading::Call(call.running());
            let output = call.output.unwrap_or_else(|| self.outputs.begin(heading()));
            call.output = Some(output);
            self.outputs.append(output, text);
        }
    }

    /// Marks the call that asks, and prints a line above a subagent's question that says whose it is.
    pub(super) fn ask_user(&mut self, request: &Request, now: Duration, out: &mut Vec<Effect>) {
        let task = request.origin().task.as_deref();
        let asks = match request.key().purpose() {
            Purpose::Permission => WaitingFor::Permission(now),
            _ => WaitingFor::Question(now),
        };
        let is_its = |call: &&mut RunningCall| call.task.as_deref() == task && call.id == request.key().call();
        let Some(call) = self.turn.calls.iter_mut().find(is_its) else { return };
        call.waiting_for = asks;
        let words = || Some(sanitize::line(request.set().questions()[0].text()).into_owned());
        // A permission is told with its call; the agent's own question follows its text directly.
        if let (WaitingFor::Question(_), Some(_)) = (asks, task) {
            let item = call.asking(words());
            self.print(Item::Call(item), out);
        }
    }

    /// The person has said whether a call may run.
    pub(super) fn permission_answered(&mut self, request: &Request, words: String) {
        let task = request.origin().task.as_deref();
        let its = |call: &&mut RunningCall| call.task.as_deref() == task && call.id == request.key().call();
        if let Some(call) = self.turn.calls.iter_mut().find(its) {
            call.permission = Some(words);
        }
    }

    fn retried(&mut self, error: &Failure, after_ms: u64, task: Option<&str>, out: &mut Vec<Effect>) {
        let again = format!(
            "{}; trying again in {}",
            error.message,
            tool_calls::format_duration(Duration::from_millis(after_ms))
        );
        let words = match (task, self.turn.streamed) {
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
        let is_summary = self.turn.running.is_some_and(|turn| turn.work == Work::Summary);
        if is_summary && error.kind != FailureKind::Interrupted {
            return self.print(Item::Note(Role::Danger, error.message.clone()), out);
        }
        self.close_text(out);
        // Ended calls are told before the turn's end.
        let (ended, open): (Vec<_>, Vec<_>) = self.turn.calls.drain(..).partition(|call| call.ended.is_some());
        self.turn.calls = open;
        ended.into_iter().for_each(|call| self.show_ended(call, out));
        if error.kind == FailureKind::Interrupted {
            self.turn.end = TurnEnd::Stopped;
            return self.print(Item::Note(Role::Muted, "Stopped.".into()), out);
        }
        self.turn.end = TurnEnd::Failed;
        let message = error.message.trim_end_matches('.');
        // To try the same again would fail again.
        if error.kind == FailureKind::ContextTooLong {
            return self.print(Item::Note(Role::Danger, format!("{message}.")), out);
        }
        self.print(Item::Note(Role::Danger, format!("{message}. Press Enter to try again.")), out);
    }
}

pub(super) fn mode_words(mode: PermissionMode) -> &'static str {
    match mode {
        PermissionMode::Plan => "Plan mode: the agent looks and asks, and changes nothing until you approve its plan.",
        PermissionMode::Ask => "Tools that change something ask first.",
        PermissionMode::AcceptEdits => "Edits in this folder do not ask; everything else that changes something does.",
        PermissionMode::Sandbox => "Edits in this folder and commands in the sandbox do not ask; what leaves it does.",
        PermissionMode::Allow => "Tools run without asking. Questions are always asked.",
    }
}

#[cfg(test)]
#[path = "agent_events_tests.rs"]
mod tests;
