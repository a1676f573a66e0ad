//! Sending: messages to the agent, slash commands, and the queue while a turn runs.

use super::agent_events::mode_words;
use super::agent_thread::AgentCommand;
use super::outputs::Heading;
use super::pager::Pager;
use super::scrollback::{self, Item};
use super::slash_commands::{self, SlashCommand};
use super::state::{Effect, LastPrinted, RunningTurn, State, Stopping, TurnEnd, Work};
use super::tool_calls;
use askuser_agent::{ContextUse, PermissionMode};
use askuser_terminal::{Presentation, Role};
use std::time::Duration;

/// The command of the person's own that a line is, if it begins with `!`.
fn own_command(line: &str) -> Option<&str> {
    line.trim().strip_prefix('!').map(str::trim)
}

/// Whether a line is for the model.
fn is_message(line: &str) -> bool {
    own_command(line).is_none() && slash_commands::read(line).is_none()
}

impl State {
    /// Keeps a message, or a command, for after the turn; a message also in the record, until it is said.
    pub(super) fn enqueue(&mut self, text: &str, out: &mut Vec<Effect>) {
        let text = text.trim_end().to_owned();
        out.extend(is_message(&text).then(|| Effect::Command(AgentCommand::Keep(text.clone()))));
        self.composer.queue.push_back(text);
    }

    pub(super) fn submit(&mut self, now: Duration, out: &mut Vec<Effect>) {
        if self.composer.draft.is_blank() {
            if self.turn.end == TurnEnd::Failed && self.turn.pending_commands == 0 {
                self.command(AgentCommand::Resume, out);
            }
            return;
        }
        let command = match own_command(self.composer.draft.as_str()) {
            Some("") => Some(Err("Write a command after the !, as in !git status".to_owned())),
            Some(_) => None,
            None => slash_commands::read(self.composer.draft.as_str()),
        };
        if let Some(Err(message)) = command {
            self.warn(Role::Danger, message, out);
            // A submitted line cannot be edited any more; a draft can.
            if self.presentation == Presentation::Line {
                let _ = self.composer.draft.set("");
            }
            return;
        }
        let text = self.composer.draft.take();
        out.push(Effect::SaveHistory(text.clone()));
        let at_once = matches!(
            command,
            Some(Ok(SlashCommand::Help
                | SlashCommand::Quit
                | SlashCommand::Context
                | SlashCommand::Output
                | SlashCommand::Plan
                | SlashCommand::Model(None)
                | SlashCommand::Permissions(_)))
        );
        let hears = |turn: RunningTurn| turn.stopping == Stopping::No && turn.work == Work::Conversation;
        if is_message(&text) && self.turn.running.is_some_and(hears) {
            if self.presentation == Presentation::Line {
                self.print(Item::Note(Role::Muted, "The agent reads it before its next step.".into()), out);
            }
            let text = text.trim_end().to_owned();
            self.composer.said.push_back(text.clone());
            self.session.message_count += 1;
            self.command(AgentCommand::SayNow(text), out);
        } else if self.turn.pending_commands > 0 && !at_once {
            self.enqueue(&text, out);
            if self.presentation == Presentation::Line {
                self.print(Item::Note(Role::Muted, "Sent when the agent is done.".into()), out);
            }
        } else {
            self.send(&text, now, out);
        }
    }

    /// Runs a slash command, or sends a message to the agent.
    pub(super) fn send(&mut self, text: &str, now: Duration, out: &mut Vec<Effect>) {
        if let Some(command) = own_command(text) {
            self.last_printed = LastPrinted::Other;
            self.begin_turn(Work::Conversation, now);
            return self.command(AgentCommand::RunCommand(command.to_owned()), out);
        }
        let command = match slash_commands::read(text) {
            Some(Ok(command)) => command,
            Some(Err(message)) => return self.warn(Role::Danger, message, out),
            None => {
                let text = text.trim_end().to_owned();
                // In line mode the terminal has echoed it.
                match self.presentation {
                    Presentation::Screen => self.print(Item::UserMessage(text.clone()), out),
                    Presentation::Line => self.last_printed = LastPrinted::Other,
                }
                self.session.message_count += 1;
                self.begin_turn(Work::Conversation, now);
                return self.command(AgentCommand::Send(text), out);
            }
        };
        match command {
            SlashCommand::Help if self.presentation == Presentation::Line => self.print(Item::Help, out),
            SlashCommand::Help => {
                let help = self.outputs.begin(Heading::Help);
                self.outputs.append(help, &scrollback::help_page(self.turn.text_columns));
                self.pager = Some(Pager::open(help).at_top());
            }
            SlashCommand::Quit => out.push(Effect::Quit),
            SlashCommand::Clear => self.command(AgentCommand::Clear, out),
            SlashCommand::Compact(wish) => {
                self.begin_turn(Work::Summary, now);
                self.command(AgentCommand::Compact(wish), out);
            }
            SlashCommand::Context => {
                let words = self.session.context.map_or_else(|| "The conversation is empty.".into(), context_words);
                self.print(Item::Note(Role::Muted, words), out);
            }
            SlashCommand::Model(Some(name)) => self.set_model(name, out),
            SlashCommand::Model(None) => {
                let model = self.session.about.as_ref().map(|session| session.model.clone()).unwrap_or_default();
                self.print(Item::Note(Role::Muted, format!("The model is {model}.")), out);
                // While a turn runs it cannot be changed, so there is nothing to choose.
                if self.turn.pending_commands == 0 {
                    self.command(AgentCommand::ListModels, out);
                }
            }
            SlashCommand::Plan => {
                let is_planning = self.mode() == PermissionMode::Plan;
                let next = if is_planning { self.session.mode_before_plan } else { PermissionMode::Plan };
                self.set_mode(next, out);
                self.print(Item::Note(Role::Muted, mode_words(next).into()), out);
            }
            SlashCommand::Output => self.read_outputs(out),
            SlashCommand::Undo => self.command(AgentCommand::Undo, out),
            SlashCommand::Diff => self.command(AgentCommand::Diff, out),
            SlashCommand::Permissions(words) => self.command(AgentCommand::Permissions(words), out),
            SlashCommand::Resume(None) => out.push(Effect::ChooseSession),
            SlashCommand::Resume(Some(id)) => self.resume(id, out),
        }
    }

    /// Changes what needs permission to the next mode; to allow everything takes more than a key.
    pub(super) fn next_mode(&mut self, out: &mut Vec<Effect>) {
        let next = match self.mode() {
            PermissionMode::Ask => PermissionMode::AcceptEdits,
            PermissionMode::AcceptEdits if self.has_sandbox() => PermissionMode::Sandbox,
            PermissionMode::AcceptEdits | PermissionMode::Sandbox => PermissionMode::Plan,
            PermissionMode::Plan | PermissionMode::Allow => PermissionMode::Ask,
        };
        self.set_mode(next, out);
    }

    fn has_sandbox(&self) -> bool {
        self.session.about.as_ref().is_some_and(|session| session.no_sandbox.is_none())
    }

    /// Changes what needs permission, and shows it at once. If it fails, the agent's thread tells the mode that it still is.
    fn set_mode(&mut self, next: PermissionMode, out: &mut Vec<Effect>) {
        let Some(session) = &mut self.session.about else { return };
        if session.mode != PermissionMode::Plan {
            self.session.mode_before_plan = session.mode;
        }
        session.mode = next;
        self.command(AgentCommand::SetMode(next), out);
    }

    pub(crate) fn set_model(&mut self, name: String, out: &mut Vec<Effect>) {
        self.command(AgentCommand::SetModel(name), out);
    }

    pub(crate) fn resume(&mut self, id: String, out: &mut Vec<Effect>) {
        if self.session.about.as_ref().is_some_and(|session| session.id == id) {
            return self.print(Item::Note(Role::Muted, "This is that session.".into()), out);
        }
        let waiting = self.composer.queue.iter().filter(|text| is_message(text)).cloned().collect();
        self.command(AgentCommand::OpenSession(id, waiting), out);
    }

    pub(super) fn begin_turn(&mut self, work: Work, now: Duration) {
        self.turn.running = Some(RunningTurn { since: self.clock(now), stopping: Stopping::No, work });
        self.turn.usage = Default::default();
        self.turn.end = TurnEnd::Completed;
    }

    fn command(&mut self, command: AgentCommand, out: &mut Vec<Effect>) {
        self.turn.pending_commands += 1;
        out.push(Effect::Command(command));
    }
}

fn context_words(context: ContextUse) -> String {
    let ContextUse { tokens, window } = context;
    let tokens = tool_calls::format_count(tokens);
    match window {
        Some(window) => format!(
            "The context has about {tokens} of {} tokens ({}%). It is summarised at 80%; /compact does it now.",
            tool_calls::format_count(window),
            context_percent(context).unwrap_or_default()
        ),
        None => format!(
            "The context has about {tokens} tokens. How many the model takes is unknown until a request is too long; the \
             setting context_window says it."
        ),
    }
}

/// How much of the model's context is used, where its size is known.
pub(super) fn context_percent(context: ContextUse) -> Option<u64> {
    context.window.map(|window| (context.tokens * 100).div_ceil(window.max(1)))
}
