//! The thread that runs the agent: takes commands, runs one turn at a time, and sends updates to the UI thread.
//!
//! Commands sent during a turn are queued until the turn is over, except `Stop`, `SetMode` and `Quit`. `Quit` cuts the turn off as a
//! crash would, so that it can be resumed later; `Stop` ends it for good.

use super::asker::UiSender;
use super::attachments::{self, Attached};
use crate::commands::agent::models::{Models, Offered};
use crate::commands::agent::{permissions_command, session};
use crate::failure::Failure;
use askuser::{Request, RequestKey};
use askuser_agent::{
    Agent, AgentEvent, ContextUse, FailureKind, FileDiff, ModeSwitch, PermissionMode, PermissionRules, Run, Transcript,
    UndoError, Undone, UndoneState,
};
use futures_util::StreamExt;
use std::collections::VecDeque;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio_util::sync::CancellationToken;

/// From the UI thread to the agent thread.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum AgentCommand {
    Send(String),
    /// Resume a turn that was cut off.
    Resume,
    SetMode(PermissionMode),
    SetModel(String),
    /// List or change what is not asked for, also during a turn; with the words after `/permissions`.
    Permissions(String),
    /// Run a command of the person's own.
    RunCommand(String),
    /// Take back the last edit.
    Undo,
    /// Show what the edits of the session have changed.
    Diff,
    /// Find out which models there are.
    ListModels,
    /// Start a new conversation.
    Clear,
    /// Summarise the conversation, minding this.
    Compact(Option<String>),
    /// Switch to another session of the same folder.
    OpenSession(String),
    /// Stop the turn.
    Stop,
    Quit,
}

/// From the agent thread to the UI thread.
#[derive(Debug)]
pub(crate) enum AgentUpdate {
    /// A session was started or resumed; with what has happened in it so far.
    SessionOpened(Session, Vec<AgentEvent>),
    Event(AgentEvent),
    /// The files that a message may name.
    Files(Vec<String>),
    /// What was attached to a message, and why something was not.
    Attached {
        files: Vec<(String, usize)>,
        refused: Vec<String>,
    },
    Question(Arc<Request>),
    /// A question does not wait any more.
    QuestionGone(RequestKey),
    /// `SetModel` or `SetMode` has taken effect.
    SessionChanged(Session),
    /// The models to choose from.
    ModelsListed(Offered),
    /// A new conversation was started.
    Cleared,
    /// What a command has to say.
    Told(String),
    /// What the edits of the session have changed, and in which of these files somebody else has changed something too.
    Diff {
        text: String,
        also_changed: Vec<String>,
    },
    /// A command failed.
    CommandFailed(String),
    /// A turn has started.
    TurnStarted,
    /// A command is finished, failed or not. Also sent once after start-up, when a turn that was cut off is over.
    CommandDone,
    /// The agent thread panicked.
    ThreadDied,
}

/// What the UI shows of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Session {
    pub(crate) id: String,
    pub(crate) model: String,
    pub(crate) mode: PermissionMode,
    pub(crate) cwd: PathBuf,
    /// How full the model's context is, where anything has been said yet.
    pub(crate) context: Option<ContextUse>,
}

/// Handle to the agent thread.
pub(crate) struct AgentThread {
    commands: UnboundedSender<AgentCommand>,
    ended: mpsc::Receiver<()>,
}

/// How long quitting waits for a tool that does not react to cancellation.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(2);

impl AgentThread {
    pub(crate) fn start(agent: Agent, models: Models, ui: UiSender, opening: Opening) -> io::Result<AgentThread> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let (commands, receiver) = unbounded_channel();
        let (done, ended) = mpsc::channel();
        thread::Builder::new().name("agent".into()).spawn(move || {
            let mut report_death = ReportDeath(Some(ui.clone()));
            let rules = agent.permission_rules();
            let work = AgentLoop { commands: receiver, queue: VecDeque::new(), models, rules, ui };
            runtime.block_on(work.run(agent, opening));
            // Blocking tasks, such as a file search, are not waited for.
            runtime.shutdown_background();
            report_death.0 = None;
            let _ = done.send(());
        })?;
        Ok(AgentThread { commands, ended })
    }

    pub(crate) fn send(&self, command: AgentCommand) {
        // If the thread is gone it has sent `ThreadDied`.
        let _ = self.commands.send(command);
    }

    /// Ends the thread and the tools it runs.
    pub(crate) fn end(self) {
        self.send(AgentCommand::Quit);
        let _ = self.ended.recv_timeout(SHUTDOWN_TIMEOUT);
    }
}

/// Sends `ThreadDied` when dropped by a panic.
struct ReportDeath(Option<UiSender>);

impl Drop for ReportDeath {
    fn drop(&mut self) {
        if let Some(ui) = self.0.take() {
            ui.send(AgentUpdate::ThreadDied);
        }
    }
}

struct AgentLoop {
    commands: UnboundedReceiver<AgentCommand>,
    queue: VecDeque<AgentCommand>,
    models: Models,
    rules: PermissionRules,
    ui: UiSender,
}

/// Whether the person came with something to say: then nothing begins before it that had not when the session was cut off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Opening {
    None,
    Waits,
}

/// What the loop does after a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Next {
    Command,
    End,
}

impl AgentLoop {
    async fn run(mut self, mut agent: Agent, opening: Opening) {
        self.send_session(&agent);
        if self.resume(&mut agent, opening).await == Next::End {
            return;
        }
        self.ui.send(AgentUpdate::CommandDone);
        loop {
            let command = match self.queue.pop_front() {
                Some(command) => command,
                None => match self.commands.recv().await {
                    Some(command) => command,
                    None => return,
                },
            };
            let next = match command {
                AgentCommand::Send(text) => {
                    self.ui.send(AgentUpdate::TurnStarted);
                    let Attached { message: text, files, refused } = attachments::attach(&agent, text).await;
                    if !files.is_empty() || !refused.is_empty() {
                        self.ui.send(AgentUpdate::Attached { files, refused });
                    }
                    let mode = agent.mode_switch();
                    self.run_turn(agent.run(text), mode, AgentUpdate::Event).await
                }
                AgentCommand::Resume => self.resume(&mut agent, Opening::None).await,
                AgentCommand::OpenSession(id) => match open(&id, &agent) {
                    Ok(transcript) => {
                        agent = agent.with_transcript(transcript);
                        self.send_session(&agent);
                        self.resume(&mut agent, Opening::None).await
                    }
                    Err(failure) => {
                        self.ui.send(AgentUpdate::CommandFailed(failure.message));
                        Next::Command
                    }
                },
                AgentCommand::SetMode(mode) => {
                    if let Err(error) = agent.set_mode(mode) {
                        self.ui.send(AgentUpdate::CommandFailed(error.to_string()));
                    }
                    // Also where it failed: the UI may show another one.
                    self.ui.send(AgentUpdate::SessionChanged(about(&agent)));
                    Next::Command
                }
                AgentCommand::SetModel(name) => {
                    let model = self.models.connect(&name).await.map(|model| agent.set_model(model));
                    self.report(model.map_err(|failure| failure.message), &agent);
                    Next::Command
                }
                AgentCommand::Compact(wish) => {
                    let mode = agent.mode_switch();
                    self.run_turn(agent.compact(wish), mode, of_compaction).await
                }
                AgentCommand::Permissions(words) => {
                    self.permissions(&words);
                    Next::Command
                }
                AgentCommand::RunCommand(command) => {
                    self.ui.send(AgentUpdate::TurnStarted);
                    let mode = agent.mode_switch();
                    self.run_turn(agent.run_command(command), mode, AgentUpdate::Event).await
                }
                AgentCommand::Undo => {
                    self.ui.send(match agent.undo() {
                        Ok(undone) => AgentUpdate::Told(undone_words(&undone)),
                        Err(error) => AgentUpdate::CommandFailed(sentence(&error)),
                    });
                    Next::Command
                }
                AgentCommand::Diff => {
                    self.ui.send(match agent.changes() {
                        Ok(changes) => changes_update(&changes),
                        Err(error) => AgentUpdate::CommandFailed(sentence(&error)),
                    });
                    Next::Command
                }
                AgentCommand::ListModels => {
                    self.ui.send(match self.models.offered(&agent.model()).await {
                        Ok(offered) => AgentUpdate::ModelsListed(offered),
                        Err(failure) => AgentUpdate::CommandFailed(failure.message),
                    });
                    Next::Command
                }
                AgentCommand::Clear => {
                    self.ui.send(match agent.clear() {
                        Ok(()) => AgentUpdate::Cleared,
                        Err(error) => AgentUpdate::CommandFailed(error.to_string()),
                    });
                    Next::Command
                }
                // The turn has ended meanwhile.
                AgentCommand::Stop => continue,
                AgentCommand::Quit => Next::End,
            };
            if next == Next::End {
                return;
            }
            self.ui.send(AgentUpdate::CommandDone);
        }
    }

    fn send_session(&self, agent: &Agent) {
        self.ui.send(AgentUpdate::SessionOpened(about(agent), agent.transcript().replay()));
    }

    fn permissions(&self, words: &str) {
        self.ui.send(match permissions_command::run(&self.rules, words) {
            Ok(words) => AgentUpdate::Told(words),
            Err(message) => AgentUpdate::CommandFailed(message),
        });
    }

    fn report(&self, done: Result<(), String>, agent: &Agent) {
        self.ui.send(match done {
            Ok(()) => AgentUpdate::SessionChanged(about(agent)),
            Err(message) => AgentUpdate::CommandFailed(message),
        });
    }

    /// Changes the mode in the middle of a turn. The UI shows the new one already.
    fn switch_mode(&self, switch: &ModeSwitch, mode: PermissionMode) {
        if let Err(error) = switch.set(mode) {
            self.ui.send(AgentUpdate::CommandFailed(error.to_string()));
            self.ui.send(AgentUpdate::Event(AgentEvent::Mode { mode: switch.mode() }));
        }
        self.ui.send(AgentUpdate::CommandDone);
    }

    async fn resume(&mut self, agent: &mut Agent, opening: Opening) -> Next {
        let mode = agent.mode_switch();
        let said = CancellationToken::new();
        if opening == Opening::Waits {
            said.cancel();
        }
        match agent.resume_until_said(said) {
            Some(run) => {
                self.ui.send(AgentUpdate::TurnStarted);
                self.run_turn(run, mode, AgentUpdate::Event).await
            }
            None => Next::Command,
        }
    }

    /// Forwards the events of a turn until it ends.
    async fn run_turn(
        &mut self,
        mut run: Run<'_>,
        mode_switch: ModeSwitch,
        update: fn(AgentEvent) -> AgentUpdate,
    ) -> Next {
        let stopper = run.stopper();
        loop {
            tokio::select! {
                biased;
                command = self.commands.recv() => match command {
                    Some(AgentCommand::Stop) => stopper.cancel(),
                    // What is taken back now is asked for in this turn already.
                    Some(AgentCommand::Permissions(words)) => {
                        self.permissions(&words);
                        self.ui.send(AgentUpdate::CommandDone);
                    }
                    // Already stopping: let it write its last records.
                    Some(AgentCommand::Quit) | None if stopper.is_cancelled() => {
                        while run.next().await.is_some() {}
                        return Next::End;
                    }
                    Some(AgentCommand::Quit) | None => return Next::End,
                    // What a person takes back, or allows, counts from now on.
                    Some(AgentCommand::SetMode(mode)) => self.switch_mode(&mode_switch, mode),
                    Some(command) => self.queue.push_back(command),
                },
                event = run.next() => match event {
                    Some(event) => self.ui.send(update(event)),
                    None => return Next::Command,
                },
            }
        }
    }
}

/// A summary that failed leaves nothing behind that could be resumed.
fn of_compaction(event: AgentEvent) -> AgentUpdate {
    match event {
        AgentEvent::Error { error } if error.kind != FailureKind::Interrupted => {
            AgentUpdate::CommandFailed(error.message)
        }
        event => AgentUpdate::Event(event),
    }
}

fn undone_words(undone: &Undone) -> String {
    let Undone { path, state, left } = undone;
    let done = match state {
        UndoneState::Restored => format!("{path} is as it was before its last edit."),
        UndoneState::Removed => format!("{path} is gone, as before the agent made it."),
        UndoneState::Unchanged => format!("{path} was already as before its last edit."),
    };
    match left {
        0 => done,
        1 => format!("{done} One more edit can be taken back."),
        left => format!("{done} {left} more edits can be taken back."),
    }
}

fn changes_update(changes: &[FileDiff]) -> AgentUpdate {
    let text: String = changes.iter().map(|change| change.text.as_str()).collect();
    let others = changes.iter().filter(|change| change.changed_by_others && !change.text.is_empty());
    let also_changed: Vec<String> = others.map(|change| change.path.clone()).collect();
    match text.is_empty() {
        true => {
            AgentUpdate::Told("The agent's edits have changed nothing. What commands changed is not looked at.".into())
        }
        false => AgentUpdate::Diff { text, also_changed },
    }
}

/// An error as a sentence. A file's name stays as it is.
fn sentence(error: &UndoError) -> String {
    let words = error.to_string();
    let mut chars = words.chars();
    let first = chars.next().map(|first| first.to_uppercase().collect::<String>()).unwrap_or_default();
    format!("{first}{}.", chars.as_str().trim_end_matches('.'))
}

/// Opens another session; only one of the same folder.
fn open(id: &str, agent: &Agent) -> Result<Transcript, Failure> {
    let own = agent.transcript();
    if own.id() == id {
        return Err(Failure::new("this is that session"));
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

fn about(agent: &Agent) -> Session {
    let transcript = agent.transcript();
    let context = (!agent.messages().is_empty()).then(|| agent.context());
    Session { id: transcript.id(), model: agent.model(), mode: agent.mode(), cwd: transcript.cwd(), context }
}
