//! Converts events from the agent thread to scrollback items and state changes.

use super::outputs::{Heading, OutputKind};
use super::scrollback::Item;
use super::state::{Effect, Event, LastPrinted, State, Thought, TurnEnd, Work};
use super::tool_calls::{
    self, CallStatus, CallSummary, EndedCall, RunningCall, details, diff, failure_output, is_shown_by_prompt,
};
use askuser::{Fit, Purpose, Request, report, sanitize};
use askuser_agent::{
    AgentEvent, ContextUse, Failure, FailureKind, PermissionMode, QuestionOutcome, ToolResult, USER_COMMAND, as_written,
};
use askuser_terminal::markdown::Row;
use askuser_terminal::{Presentation, Role, wrap};
use serde_json::Value;
use std::time::Duration;

const FAILURE_LINES: usize = 5;
/// The maximum number of lines in an output of the person's own command, or in a diff of its changes.
const OWN_LINES: usize = 400;
const DIFF_LINES: usize = 40;

impl State {
    pub(super) fn agent_update(&mut self, event: Event, now: Duration) {
        match event {
            Event::SessionOpened(session, events) => {
                self.session.about = Some(session.clone());
                self.turn.end = TurnEnd::Completed;
                if session.mode != PermissionMode::Plan {
                    self.session.mode_before_plan = session.mode;
                }
                self.print(Item::Header(session));
                self.recall(events);
            }
            Event::SessionChanged(session) => {
                let before = self.session.about.replace(session.clone());
                if before.as_ref().is_none_or(|before| before.model != session.model) {
                    self.note(Role::Muted, format!("The model is {} now.", session.model));
                }
                if before.is_none_or(|before| before.mode != session.mode) {
                    self.warn(Role::Muted, mode_words(session.mode));
                }
            }
            Event::Cleared => {
                self.set_context(None);
                self.turn.end = TurnEnd::Completed;
                self.note(Role::Muted, "A new conversation begins.");
            }
            Event::Note(role, words) => self.note(role, words),
            Event::Diff(text) => {
                let name = "/diff".to_owned();
                let about = "what the agent's edits have changed".to_owned();
                let heading = CallSummary { name, about, ..CallSummary::default() };
                self.outputs.add(Heading::Call(heading), OutputKind::Diff, &text);
                self.print(Item::Diff { text, max_lines: OWN_LINES });
                let others =
                    "What other programs changed in these files is in it; what commands changed in others is not.";
                self.note(Role::Muted, others);
            }
            // The list of models must not interrupt a person who is writing.
            Event::ModelsListed(offered) if self.composer.draft.is_blank() => {
                self.effects.push_back(Effect::ChooseModel(offered));
            }
            Event::TurnStarted if self.turn.running.is_none() => self.begin_turn(Work::Conversation, now),
            Event::TakenBack(texts) => {
                self.composer.said.retain(|said| !texts.contains(said));
                let text = texts.join("\n");
                let is_stopping = self.turn.running.is_some_and(|turn| turn.is_stopping);
                if is_stopping && !texts.is_empty() {
                    self.composer.waiting.push_front(text);
                } else if !texts.is_empty() && self.composer.draft.put_back(&text) == Fit::Refused {
                    self.warn(Role::Warning, "What you took back is in the history: Up.");
                }
            }
            Event::CommandDone => self.command_done(now),
            Event::Agent(event) => self.agent_event(event, None, now),
            _ => {}
        }
    }

    /// Handles the end of a command. The waiting lines are sent, or return to the draft if the turn was stopped or
    /// failed.
    fn command_done(&mut self, now: Duration) {
        self.turn.pending_commands = self.turn.pending_commands.saturating_sub(1);
        if self.turn.pending_commands > 0 {
            return;
        }
        self.end_thought(now);
        let turn = self.turn.running.take();
        for call in std::mem::take(&mut self.turn.calls) {
            if call.ended.is_some() {
                self.show_ended(call);
            } else if let Some(output) = call.output {
                let ending = Some("stopped".to_owned());
                let summary = CallSummary { status: CallStatus::Failed, ending, ..call.running() };
                self.outputs.end(output, Heading::Call(summary), "");
            }
        }
        match self.turn.end {
            TurnEnd::Stopped | TurnEnd::Failed if turn.is_some() => {
                let waiting: Vec<String> = self.composer.waiting.drain(..).collect();
                // If the lines do not fit together with the draft, they are still in the history.
                if !waiting.is_empty() && self.composer.draft.put_back(&waiting.join("\n")) == Fit::Refused {
                    self.warn(Role::Warning, "What you had typed is in the history: Up.");
                }
            }
            TurnEnd::Completed | TurnEnd::Stopped | TurnEnd::Failed => {
                self.send_waiting(now);
            }
        }
    }

    /// Sends the waiting lines up to the first one that starts a command. Stops at /resume, too, because the rest is
    /// for the chosen session.
    pub(crate) fn send_waiting(&mut self, now: Duration) {
        while self.turn.pending_commands == 0
            && !self.effects.contains(&Effect::ChooseSession)
            && let Some(text) = self.composer.waiting.pop_front()
        {
            // The line was typed some time ago, so it is shown again.
            if self.presentation == Presentation::Line {
                self.print(Item::UserMessage(text.clone()));
            }
            self.send(&text, now);
        }
    }

    pub(super) fn agent_event(&mut self, event: AgentEvent, task: Option<&str>, now: Duration) {
        if task.is_none() && !matches!(event, AgentEvent::ThoughtDelta { .. }) {
            self.end_thought(now);
        }
        match event {
            // A subagent's thoughts are not shown.
            AgentEvent::ThoughtDelta { text } if task.is_none() => self.think(&text, now),
            AgentEvent::TextDelta { text } if task.is_none() => {
                self.turn.is_streamed = true;
                let mut rows = self.turn.stream.push(&text);
                // A long paragraph is printed before its end has come.
                let columns = self.turn.text_columns;
                rows.extend(self.turn.stream.take_stable_rows(columns, |text| wrap(text, columns, columns)));
                self.print_text(rows);
            }
            AgentEvent::TextEnd if task.is_none() => {
                self.close_text();
                self.turn.streamed += 1;
            }
            AgentEvent::Text { .. } if task.is_none() && self.turn.streamed > 0 => self.turn.streamed -= 1,
            AgentEvent::Text { text } if task.is_none() => {
                let rows = self.turn.stream.push(&text);
                self.print_text(rows);
                self.close_text();
            }
            AgentEvent::User { text } if task.is_none() => {
                self.close_text();
                let text = as_written(&text);
                self.composer.said.retain(|said| said != text);
                self.print(Item::UserMessage(text.to_owned()));
            }
            AgentEvent::ToolStart { id, name, input } => {
                self.close_text();
                let tasks = self.turn.tasks.clone();
                self.turn.calls.push(RunningCall { tasks, ..RunningCall::new(id, name, &input, task, now) });
            }
            AgentEvent::ToolResult { id, name, result } => self.tool_result(&id, name, result, task),
            AgentEvent::ToolOutput { id, text } => self.tool_output(&id, &text),
            AgentEvent::Usage { usage } => {
                self.turn.usage += usage;
                self.session.spent += usage;
            }
            AgentEvent::Context { tokens, window } if task.is_none() => {
                self.set_context(Some(ContextUse { tokens, window }));
            }
            AgentEvent::Compacting if task.is_none() => {
                self.close_text();
                self.warn(Role::Muted, "Summarising the conversation…");
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
                self.note(Role::Muted, words);
            }
            AgentEvent::Retry { error, after_ms } => self.retried(&error, after_ms, task),
            AgentEvent::Notice { message } => {
                self.close_text();
                self.note(Role::Warning, message);
            }
            AgentEvent::Mode { mode } => {
                if let Some(session) = &mut self.session.about {
                    session.mode = mode;
                }
                self.warn(Role::Muted, mode_words(mode));
            }
            AgentEvent::QuestionEnded { key, outcome, .. } if key.purpose == Purpose::Permission => {
                if let Some(call) = self.turn.call(&key.call, &key.tasks) {
                    call.permission = permission_words(&outcome);
                }
            }
            AgentEvent::Task { id, description, event } => {
                self.turn.tasks.push(id);
                self.agent_event(*event, Some(&description), now);
                self.turn.tasks.pop();
            }
            AgentEvent::Done { .. } if task.is_none() => {
                self.close_text();
                self.turn.end = TurnEnd::Completed;
            }
            AgentEvent::Error { error } if task.is_none() => self.turn_failed(&error),
            // A question arrives through the queue. The text of a subagent is for the agent that started it. The result
            // of the call contains the final text.
            _ => {}
        }
    }

    fn set_context(&mut self, context: Option<ContextUse>) {
        if let Some(session) = &mut self.session.about {
            session.context = context;
        }
    }

    fn think(&mut self, text: &str, now: Duration) {
        let begin = || Thought { since: now, output: self.outputs.begin(Heading::Thoughts(Duration::ZERO)) };
        let thought = *self.turn.thought.get_or_insert_with(begin);
        self.outputs.append(thought.output, text);
    }

    /// Ends a thought of the model, which Ctrl-O then shows.
    fn end_thought(&mut self, now: Duration) {
        if let Some(Thought { since, output }) = self.turn.thought.take() {
            let took = now.saturating_sub(since);
            self.outputs.end(output, Heading::Thoughts(took), "");
        }
    }

    fn print_text(&mut self, rows: Vec<Row>) {
        if !rows.is_empty() {
            self.print(Item::ModelText(rows));
        }
    }

    /// Ends a text of the model and prints the rest of it.
    fn close_text(&mut self) {
        let rows = self.turn.stream.finish();
        self.print_text(rows);
        self.turn.is_streamed = false;
        if self.last_printed == LastPrinted::Text {
            self.last_printed = LastPrinted::Other;
        }
    }

    fn tool_result(&mut self, id: &str, name: String, result: ToolResult, task: Option<&str>) {
        let tasks = self.turn.tasks.clone();
        match self.turn.call(id, &tasks) {
            Some(call) => {
                let summary = call.finish(&result);
                call.ended = Some(Box::new(EndedCall { summary, result }));
            }
            None => {
                let call = RunningCall::new(id.to_owned(), name, &Value::Null, task, Duration::ZERO);
                let summary = call.finish(&result);
                self.show_result(&call, EndedCall { summary, result });
            }
        }
        // Parallel calls are shown in the order in which they were made.
        while let Some(first) = self.turn.calls.iter().position(|call| call.tasks == tasks)
            && self.turn.calls[first].ended.is_some()
        {
            let call = self.turn.calls.remove(first);
            self.show_ended(call);
        }
    }

    pub(super) fn show_ended(&mut self, mut call: RunningCall) {
        if let Some(ended) = call.ended.take() {
            self.show_result(&call, *ended);
        }
    }

    fn show_result(&mut self, call: &RunningCall, ended: EndedCall) {
        let EndedCall { summary, result } = ended;
        if is_shown_by_prompt(&call.name) && result.success {
            // The prompt has left its answer on the screen, unless an earlier process showed it.
            return if self.turn.is_recalled {
                self.recall_answer(call, &result)
            };
        }
        let written = call.output;
        self.print(Item::Call(summary.clone()));
        if let Some(command) = call.input["command"].as_str().filter(|command| command.trim().contains('\n'))
            && summary.permission.is_some()
        {
            // The person agreed to the whole command.
            let text = command.trim().to_owned();
            self.print(Item::Output { text, role: Role::Muted, max_lines: usize::MAX });
        }
        let changed = diff(&result);
        let output: &str = match summary.status {
            CallStatus::Failed => &failure_output(&result, summary.ending.as_deref()),
            _ => result.output.trim_end(),
        };
        match changed {
            Some(text) => self.print(Item::Diff { text: text.to_owned(), max_lines: DIFF_LINES }),
            // A person who runs a command wants to see its output.
            None if call.name == USER_COMMAND && !sanitize::is_blank(output) => {
                let role = if summary.status == CallStatus::Failed { Role::Danger } else { Role::Secondary };
                self.print(Item::Output { text: output.to_owned(), role, max_lines: OWN_LINES });
            }
            None if summary.status == CallStatus::Failed && !sanitize::is_blank(output) => {
                let text = output.to_owned();
                self.print(Item::Output { text, role: Role::Danger, max_lines: FAILURE_LINES });
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
        let file = details(&result)["output_file"].as_str();
        if let (Some(file), Some(id)) = (file, written.or(self.outputs.last())) {
            self.outputs.kept_in(id, file.into());
        }
    }

    fn tool_output(&mut self, id: &str, text: &str) {
        let tasks = self.turn.tasks.clone();
        if let Some(call) = self.turn.call(id, &tasks) {
            let output = call.output.unwrap_or_else(|| self.outputs.begin(Heading::Call(call.running())));
            call.output = Some(output);
            self.outputs.append(output, text);
        }
    }

    /// Marks the call that asks. Above a subagent's question, prints a line that names the subagent.
    pub(super) fn ask_user(&mut self, request: &Request, now: Duration) {
        let task = request.origin().task.as_deref();
        let Some(call) = self.turn.call(&request.key().call, &request.key().tasks) else { return };
        call.waits_since = Some(now);
        // A permission is announced with its call. The agent's own question follows its text.
        if task.is_some() && request.key().purpose != Purpose::Permission {
            let item = call.asking(request.set());
            self.print(Item::Call(item));
        }
    }

    fn retried(&mut self, error: &Failure, after_ms: u64, task: Option<&str>) {
        let after = tool_calls::format_duration(Duration::from_millis(after_ms));
        let again = format!("{}; trying again in {after}", error.message);
        let has_begun = self.turn.is_streamed || self.turn.streamed > 0;
        let words = match (task, has_begun) {
            (Some(task), _) => format!("{task}: {again}."),
            (None, false) => format!("{again}."),
            (None, true) => format!("{again}. The unfinished answer above does not count."),
        };
        if task.is_none() {
            self.close_text();
            self.turn.streamed = 0;
        }
        self.note(Role::Warning, words);
    }

    fn turn_failed(&mut self, error: &Failure) {
        let is_summary = self.turn.running.is_some_and(|turn| turn.work == Work::Summary);
        if is_summary && error.kind != FailureKind::Interrupted {
            return self.note(Role::Danger, error.message.clone());
        }
        self.close_text();
        // Ended calls are printed before the turn's end.
        let (ended, open): (Vec<_>, Vec<_>) = self.turn.calls.drain(..).partition(|call| call.ended.is_some());
        self.turn.calls = open;
        ended.into_iter().for_each(|call| self.show_ended(call));
        if error.kind == FailureKind::Interrupted {
            self.turn.end = TurnEnd::Stopped;
            return self.note(Role::Muted, "Stopped.");
        }
        self.turn.end = TurnEnd::Failed;
        let message = error.message.trim_end_matches('.');
        // A second attempt would fail again.
        if matches!(error.kind, FailureKind::ContextTooLong | FailureKind::Key | FailureKind::UnknownModel) {
            return self.note(Role::Danger, format!("{message}."));
        }
        self.note(Role::Danger, format!("{message}. Press Enter to try again."));
    }
}

/// Returns the person's choice about a call's permission; `None` if the person was not asked.
fn permission_words(outcome: &QuestionOutcome) -> Option<String> {
    let chosen = outcome.answers.iter().flat_map(|answer| report::names(answer).chain(answer.custom_input.clone()));
    let words = chosen.collect::<Vec<_>>().join(", ");
    Some(sanitize::line(&words).into_owned()).filter(|words| !words.is_empty())
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
