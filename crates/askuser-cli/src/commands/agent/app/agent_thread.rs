//! The thread of the agent. The UI thread sends commands to its [`AgentHandle`] and receives its events.

use super::attachments;
use super::open_questions::UiSender;
use super::state::Event;
use crate::commands::agent::models::Models;
use crate::commands::agent::{permissions_command, session};
use crate::failure::Failure;
use askuser_agent::{
    Agent, AgentEvent, AgentEvents, AgentHandle, ContextUse, FileDiff, PermissionMode, PermissionRules, Transcript,
    UndoError, as_written,
};
use futures_util::StreamExt;
use futures_util::future::ready;
use std::io;
use std::path::PathBuf;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;
use tokio::runtime;
use tokio_util::sync::CancellationToken;

/// A command from the UI thread to the agent. `Stop`, `SetMode`, `Permissions`, `Say` and `TakeBack` take effect at
/// once. All other commands wait until the turn is over.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum AgentCommand {
    Send(String),
    /// Sends a message to the running turn.
    Say(String),
    /// Withdraws up to this many unread messages, beginning with the latest.
    TakeBack(usize),
    Resume,
    SetMode(PermissionMode),
    SetModel(String),
    /// Lists or changes the permission rules. The text holds the words after `/permissions`.
    Permissions(String),
    RunCommand(String),
    Undo,
    /// Shows the changes by the edits of the session.
    Diff,
    ListModels,
    Clear,
    /// Summarises the conversation. The text, if there is one, tells the model what to preserve.
    Compact(Option<String>),
    /// Switches to another session of the same folder, with this id.
    OpenSession(String),
    /// Stops the turn and its open questions.
    Stop,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SessionInfo {
    pub(crate) id: String,
    pub(crate) model: String,
    pub(crate) mode: PermissionMode,
    pub(crate) cwd: PathBuf,
    /// The reason why commands have no sandbox; `None` if they have one.
    pub(crate) no_sandbox: Option<String>,
    /// The fill level of the model's context; `None` before the conversation has begun.
    pub(crate) context: Option<ContextUse>,
}

pub(crate) struct AgentThread {
    handle: AgentHandle,
    rules: PermissionRules,
    models: Models,
    ui: UiSender,
    runtime: runtime::Handle,
    quit: CancellationToken,
    ended: mpsc::Receiver<()>,
}

impl AgentThread {
    /// Starts the thread. If the person begins with a message, no further call of the interrupted turn starts before
    /// that message.
    pub(crate) fn start(agent: Agent, models: Models, ui: UiSender, has_opening: bool) -> io::Result<AgentThread> {
        let runtime = runtime::Builder::new_current_thread().enable_all().build()?;
        show_session(&agent, &ui);
        let rules = agent.permission_rules();
        let (handle, events) = agent.start();
        if has_opening {
            handle.yield_to_user();
        }
        let (quit, (done, ended)) = (CancellationToken::new(), mpsc::channel());
        let agent_thread = AgentThread {
            handle: handle.clone(),
            rules,
            models,
            ui: ui.clone(),
            runtime: runtime.handle().clone(),
            quit: quit.clone(),
            ended,
        };
        agent_thread.report_done();
        thread::Builder::new().name("agent".into()).spawn(move || {
            let mut report_death = ReportDeath(Some(ui.clone()));
            runtime.block_on(forward(events, &handle, &ui, &quit));
            // The shutdown does not wait for blocking tasks, such as a file search.
            runtime.shutdown_background();
            report_death.0 = None;
            let _ = done.send(());
        })?;
        Ok(agent_thread)
    }

    /// Passes a command on. `CommandDone` reports its end. If the thread is gone, it has sent `AgentDied`.
    pub(crate) fn send(&self, command: AgentCommand) {
        let ui = self.ui.clone();
        match command {
            AgentCommand::Stop => return self.handle.stop(),
            AgentCommand::SetMode(mode) => {
                if let Err(error) = self.handle.set_mode(mode) {
                    ui.send(Event::failed(error));
                    ui.send(Event::Agent(AgentEvent::Mode { mode: self.handle.mode() }));
                }
                return ui.send(Event::CommandDone);
            }
            AgentCommand::Permissions(words) => {
                let rules = self.rules.clone();
                self.runtime.spawn(async move {
                    ui.send(permissions_command::run(&rules, &words).map_or_else(Event::failed, Event::told));
                    ui.send(Event::CommandDone);
                });
                return;
            }
            AgentCommand::Say(text) => {
                let message = self.runtime.block_on(attachments::attach(&self.handle, text, &ui));
                if let Err(error) = self.handle.say(message) {
                    ui.send(Event::failed(error));
                }
            }
            AgentCommand::TakeBack(most) => {
                let taken = std::iter::from_fn(|| self.handle.take_back()).take(most);
                let mut texts: Vec<String> = taken.map(|text| as_written(&text).to_owned()).collect();
                texts.reverse();
                return ui.send(Event::TakenBack(texts));
            }
            AgentCommand::Send(text) => {
                let handle = self.handle.clone();
                self.handle.queue(move |agent| {
                    Box::pin(async move { Some(agent.run(attachments::attach(&handle, text, &ui).await)) })
                });
            }
            AgentCommand::Resume => self.handle.queue(move |agent| {
                show_cut_off_turn(agent, &ui);
                Box::pin(ready(agent.resume()))
            }),
            AgentCommand::OpenSession(id) => self.handle.queue(move |agent| {
                Box::pin(ready(match open(&id, agent) {
                    Ok(transcript) => {
                        agent.set_transcript(transcript);
                        show_session(agent, &ui);
                        agent.resume()
                    }
                    Err(failure) => {
                        ui.send(Event::failed(failure.message));
                        None
                    }
                }))
            }),
            AgentCommand::Compact(wish) => self.handle.queue(|agent| Box::pin(ready(Some(agent.compact(wish))))),
            AgentCommand::RunCommand(command) => {
                self.handle.queue(|agent| Box::pin(ready(Some(agent.run_command(command)))));
            }
            AgentCommand::SetModel(name) => {
                let models = self.models.clone();
                self.handle.queue(move |agent| {
                    Box::pin(async move {
                        match models.connect(&name).await {
                            Ok(model) => {
                                agent.set_model(model);
                                ui.send(Event::SessionChanged(about(agent)));
                            }
                            Err(failure) => ui.send(Event::failed(failure.message)),
                        }
                        None
                    })
                });
            }
            AgentCommand::ListModels => {
                let models = self.models.clone();
                self.handle.queue(move |agent| {
                    Box::pin(async move {
                        let offered = models.offered(&agent.model()).await;
                        ui.send(offered.map_or_else(|failure| Event::failed(failure.message), Event::ModelsListed));
                        None
                    })
                });
            }
            AgentCommand::Undo => {
                self.tell(|agent| Ok(Event::told(agent.undo().map_err(|error| sentence(&error))?.to_string())));
            }
            AgentCommand::Diff => {
                self.tell(|agent| Ok(changes_event(&agent.changes().map_err(|error| sentence(&error))?)));
            }
            AgentCommand::Clear => {
                self.tell(|agent| agent.clear().map(|()| Event::Cleared).map_err(|error| error.to_string()));
            }
        }
        self.report_done();
    }

    /// Sends `CommandDone` to the UI when all earlier commands are finished.
    fn report_done(&self) {
        self.tell(|_| Ok(Event::CommandDone));
    }

    /// Runs a command on the agent. Sends the UI its result, or the reason for its failure.
    fn tell(&self, command: impl FnOnce(&mut Agent) -> Result<Event, String> + Send + 'static) {
        let ui = self.ui.clone();
        self.handle.queue(move |agent| {
            ui.send(command(agent).unwrap_or_else(Event::failed));
            Box::pin(ready(None))
        });
    }

    /// Ends the thread and the tools it runs, and waits at most `limit`. The turn is cut off as by a crash, so that it
    /// can be resumed later.
    pub(crate) fn end(self, limit: Duration) {
        self.quit.cancel();
        let _ = self.ended.recv_timeout(limit);
    }
}

/// A guard that sends `AgentDied` if a panic drops it.
struct ReportDeath(Option<UiSender>);

impl Drop for ReportDeath {
    fn drop(&mut self) {
        if let Some(ui) = self.0.take() {
            ui.send(Event::AgentDied);
        }
    }
}

/// Forwards events to the UI until the person quits.
async fn forward(mut events: AgentEvents, handle: &AgentHandle, ui: &UiSender, quit: &CancellationToken) {
    while let Some(Some(event)) = quit.run_until_cancelled(events.next()).await {
        ui.send(Event::Agent(event));
    }
    // A stopped turn still writes its last records.
    while handle.is_stopping() && events.next().await.is_some() {}
}

fn show_session(agent: &Agent, ui: &UiSender) {
    ui.send(Event::SessionOpened(about(agent), agent.transcript().replay()));
    show_cut_off_turn(agent, ui);
}

/// Shows a cut-off turn, which then continues.
fn show_cut_off_turn(agent: &Agent, ui: &UiSender) {
    if agent.is_cut_off() {
        ui.send(Event::TurnStarted);
    }
}

fn changes_event(changes: &[FileDiff]) -> Event {
    let text: String = changes.iter().map(|change| change.text.as_str()).collect();
    if text.is_empty() {
        return Event::told("The agent's edits have changed nothing. What commands changed is not looked at.");
    }
    Event::Diff(text)
}

/// Formats an error as a sentence. The name of a file keeps its case.
fn sentence(error: &UndoError) -> String {
    let words = error.to_string();
    let mut chars = words.chars();
    let first = chars.next().map(|first| first.to_uppercase().collect::<String>()).unwrap_or_default();
    format!("{first}{}.", chars.as_str().trim_end_matches('.'))
}

/// Opens another session of the same folder.
fn open(id: &str, agent: &Agent) -> Result<Transcript, Failure> {
    let own = agent.transcript();
    if own.id() == id {
        return Err(Failure::new("this session is already open"));
    }
    let transcript = session::open(id)?;
    if transcript.cwd() != own.cwd() {
        let folder = transcript.cwd().display().to_string();
        return Err(Failure::new(format!(
            "session {id} works in {folder}; leave, and run: askuser agent --resume {id}"
        )));
    }
    Ok(transcript)
}

fn about(agent: &Agent) -> SessionInfo {
    let transcript = agent.transcript();
    let context = (!agent.messages().is_empty()).then(|| agent.context());
    let no_sandbox = agent.no_sandbox().map(str::to_owned);
    let id = transcript.id();
    let model = agent.model();
    let mode = agent.mode();
    let cwd = transcript.cwd();
    SessionInfo { id, model, mode, cwd, no_sandbox, context }
}
