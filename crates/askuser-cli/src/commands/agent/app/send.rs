//! Sends messages and slash commands to the agent. Lines that cannot be sent yet wait.

use super::agent_events::mode_words;
use super::agent_thread::{AgentCommand, SessionInfo};
use super::scrollback::Item;
use super::slash_commands::{self, SlashCommand};
use super::state::{Effect, LastPrinted, RunningTurn, State, TurnEnd, Work};
use super::{tool_calls, view};
use crate::store::display::home_relative;
use askuser_agent::{ContextUse, PermissionMode};
use askuser_terminal::{Presentation, Role};
use std::time::Duration;

/// Returns the person's own command in a line; `None` if the line does not begin with `!`.
fn own_command(line: &str) -> Option<&str> {
    line.trim().strip_prefix('!').map(str::trim)
}

/// Returns whether a line is a message for the model.
fn is_message(line: &str) -> bool {
    own_command(line).is_none() && slash_commands::read(line).is_none()
}

impl State {
    pub(super) fn submit(&mut self, now: Duration) {
        if self.composer.draft.is_blank() {
            if self.turn.end == TurnEnd::Failed && self.turn.pending_commands == 0 {
                self.command(AgentCommand::Resume);
            }
            return;
        }
        let command = match own_command(self.composer.draft.as_str()) {
            Some("") => Some(Err("Write a command after the !, as in !git status".to_owned())),
            Some(_) => None,
            None => slash_commands::read(self.composer.draft.as_str()),
        };
        if let Some(Err(message)) = command {
            self.warn(Role::Danger, message);
            // A submitted line cannot be edited any more, unlike a draft.
            if self.presentation == Presentation::Line {
                let _ = self.composer.draft.set("");
            }
            return;
        }
        let text = self.composer.draft.take();
        self.effects.push_back(Effect::SaveHistory(text.clone()));
        let at_once = matches!(
            command,
            Some(Ok(SlashCommand::Help
                | SlashCommand::Quit
                | SlashCommand::Status
                | SlashCommand::Output
                | SlashCommand::Plan
                | SlashCommand::Model(None)
                | SlashCommand::Agent(AgentCommand::Permissions(_))))
        );
        let hears = |turn: RunningTurn| !turn.is_stopping && turn.work == Work::Conversation;
        if is_message(&text) && self.turn.running.is_some_and(hears) {
            if self.presentation == Presentation::Line {
                self.note(Role::Muted, "The agent reads it before its next step.");
            }
            let text = text.trim_end().to_owned();
            self.composer.said.push_back(text.clone());
            self.session.message_count += 1;
            self.command(AgentCommand::Say(text));
        } else if self.turn.pending_commands > 0 && !at_once {
            self.composer.waiting.push_back(text.trim_end().to_owned());
            if self.presentation == Presentation::Line {
                self.note(Role::Muted, "Sent when the agent is done.");
            }
        } else {
            self.send(&text, now);
        }
    }

    /// Runs the person's own command or a slash command, or sends a message to the agent.
    pub(super) fn send(&mut self, text: &str, now: Duration) {
        if let Some(command) = own_command(text) {
            self.last_printed = LastPrinted::Other;
            self.begin_turn(Work::Conversation, now);
            return self.command(AgentCommand::RunCommand(command.to_owned()));
        }
        let command = match slash_commands::read(text) {
            Some(Ok(command)) => command,
            Some(Err(message)) => return self.warn(Role::Danger, message),
            None => {
                let text = text.trim_end().to_owned();
                // In line mode the terminal has already echoed the message.
                match self.presentation {
                    Presentation::Screen => self.print(Item::UserMessage(text.clone())),
                    Presentation::Line => self.last_printed = LastPrinted::Other,
                }
                self.session.message_count += 1;
                self.begin_turn(Work::Conversation, now);
                return self.command(AgentCommand::Send(text));
            }
        };
        match command {
            SlashCommand::Help => self.print(Item::Help(self.presentation)),
            SlashCommand::Quit => self.effects.push_back(Effect::Quit),
            SlashCommand::Compact(wish) => {
                self.begin_turn(Work::Summary, now);
                self.command(AgentCommand::Compact(wish));
            }
            SlashCommand::Status => {
                let context = self.context().map_or_else(|| "The conversation is empty.".into(), context_words);
                let about = self.session.about.as_ref().map(about_words).unwrap_or_default();
                self.note(Role::Muted, about + &context);
            }
            SlashCommand::Model(Some(name)) => self.command(AgentCommand::SetModel(name)),
            SlashCommand::Model(None) => {
                let model = self.session.about.as_ref().map(|session| session.model.clone()).unwrap_or_default();
                self.note(Role::Muted, format!("The model is {model}."));
                // The model cannot change during a turn, so there is no choice.
                if self.turn.pending_commands == 0 {
                    self.command(AgentCommand::ListModels);
                }
            }
            SlashCommand::Plan => {
                let is_planning = self.mode() == PermissionMode::Plan;
                let next = if is_planning { self.session.mode_before_plan } else { PermissionMode::Plan };
                self.set_mode(next);
                self.warn(Role::Muted, mode_words(next));
            }
            SlashCommand::Output => self.read_outputs(),
            SlashCommand::Agent(command) => self.command(command),
            SlashCommand::Resume(None) => self.effects.push_back(Effect::ChooseSession),
            SlashCommand::Resume(Some(id)) => self.resume(id),
        }
    }

    /// Switches to the next permission mode. The mode that allows all calls cannot be reached by this key.
    pub(super) fn next_mode(&mut self) {
        let has_sandbox = self.session.about.as_ref().is_some_and(|session| session.no_sandbox.is_none());
        let next = match self.mode() {
            PermissionMode::Ask => PermissionMode::AcceptEdits,
            PermissionMode::AcceptEdits if has_sandbox => PermissionMode::Sandbox,
            PermissionMode::AcceptEdits | PermissionMode::Sandbox => PermissionMode::Plan,
            PermissionMode::Plan | PermissionMode::Allow => PermissionMode::Ask,
        };
        self.set_mode(next);
    }

    /// Changes the permission mode and shows it at once. If the change fails, the agent's thread reports the old mode.
    fn set_mode(&mut self, next: PermissionMode) {
        let Some(session) = &mut self.session.about else { return };
        if session.mode != PermissionMode::Plan {
            self.session.mode_before_plan = session.mode;
        }
        session.mode = next;
        self.command(AgentCommand::SetMode(next));
    }

    pub(crate) fn resume(&mut self, id: String) {
        if self.session.about.as_ref().is_some_and(|session| session.id == id) {
            return self.note(Role::Muted, "This is that session.");
        }
        self.command(AgentCommand::OpenSession(id));
    }

    pub(super) fn begin_turn(&mut self, work: Work, now: Duration) {
        self.turn.running = Some(RunningTurn { since: self.clock(now), is_stopping: false, work });
        self.turn.usage = Default::default();
        self.turn.end = TurnEnd::Completed;
    }

    pub(super) fn command(&mut self, command: AgentCommand) {
        self.turn.pending_commands += 1;
        self.effects.push_back(Effect::Command(command));
    }
}

/// Formats the facts about a session, one per line.
fn about_words(session: &SessionInfo) -> String {
    let sandbox = match &session.no_sandbox {
        _ if session.mode == PermissionMode::Allow => "not used: commands run with your access".to_owned(),
        Some(why) => format!("none: {why}"),
        None => "commands run in it".to_owned(),
    };
    let folder = home_relative(&session.cwd.display().to_string());
    let mode = view::mode_words(session.mode);
    let SessionInfo { id, model, .. } = session;
    format!("Session: {id}\nModel: {model}\nFolder: {folder}\nMode: {mode}\nSandbox: {sandbox}\n")
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

/// Returns the used part of the model's context in percent; `None` if its size is unknown.
pub(super) fn context_percent(context: ContextUse) -> Option<u64> {
    context.window.map(|window| (context.tokens * 100).div_ceil(window.max(1)))
}
