//! An agent runs a conversation between a model, tools and a person.

use crate::agent_context::{Retries, Shared};
use crate::event::AgentEvent;
use crate::event_channel::{EventSender, Run};
use crate::message::{Message, ToolCall};
use crate::model::Model;
use crate::permission::{PermissionMode, Permissions};
use crate::permission_rules::PermissionRules;
use crate::sandbox::Sandbox;
use crate::secrets::Secrets;
use crate::tool::{Registry, Stop, ToolResult};
use crate::tools::{Bash, ConfinedPath, SeenFiles};
use crate::transcript::{Entry, History, Next, Transcript, TranscriptError};
use crate::turn;
use crate::undo::{FileDiff, UndoError, UndoLog, Undone};
use crate::user_command;
use askuser::{Asker, Origin};
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// Runs a model with tools and keeps the conversation.
///
/// ```
/// use askuser::Chain;
/// use askuser::policy::{Answers, Policy};
/// use askuser_agent::{Agent, AgentEvent, Script, tools};
/// use futures_util::StreamExt;
/// use std::sync::Arc;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// // A model that follows a script; `provider::connect("anthropic/NAME", …)` gives a real one.
/// let model = Script::parse(r#"{"turns": [
///     {"calls": [{"name": "AskUserQuestion", "input": {"questions": [{
///         "question": "Which database?", "header": "Database", "multiSelect": false, "options": [
///             {"label": "PostgreSQL", "description": "A server"}, {"label": "SQLite", "description": "A file"}]}]}}]},
///     {"if": "Selected: SQLite", "text": "SQLite it is."}
/// ]}"#)?;
/// // Answers written beforehand; `askuser_terminal::TerminalAsker` asks a person.
/// let answers = Answers::parse(&serde_json::json!({"Database": "SQLite"}))?;
/// let asker = Chain::alone(Policy { answers: Some(answers), headless: None });
/// let mut agent = Agent::new(model).with_tools(tools::talking()).with_asker(Arc::new(asker));
/// let events: Vec<AgentEvent> = agent.run("Set up storage").collect().await;
/// assert_eq!(events.last(), Some(&AgentEvent::Done { text: "SQLite it is.".into() }));
/// # Ok(())
/// # }
/// ```
pub struct Agent {
    pub(crate) shared: Arc<Shared>,
    pub(crate) history: History,
    /// The files that [`Agent::undo`] has reported as changed since their edit. The next `undo` skips them. The next
    /// turn clears the list.
    pub(crate) left_alone: Vec<ConfinedPath>,
    /// The number of tokens when the last summary failed; `None` if no summary failed. The next attempt needs notably
    /// more tokens.
    pub(crate) failed_summary: Option<u64>,
    /// The calls that ran when the turn was stopped.
    pub(crate) interrupted: Vec<ToolCall>,
    /// A token that is cancelled when the person sends a message. Calls of an interrupted turn do not start after that.
    pub(crate) user_returned: CancellationToken,
    /// A token that stops the turns of this agent. The token of a subagent is cancelled with its parent's turn.
    pub(crate) abort: CancellationToken,
}

impl Agent {
    /// Creates an agent that works in the current folder. It has no tools and no asker, and its transcript is in
    /// memory.
    pub fn new(model: impl Model + 'static) -> Agent {
        Agent::of(Shared::new(Arc::new(model)), History::default())
    }

    pub(crate) fn of(shared: Shared, history: History) -> Agent {
        Agent {
            shared: Arc::new(shared),
            history,
            left_alone: Vec::new(),
            failed_summary: None,
            interrupted: Vec::new(),
            user_returned: CancellationToken::new(),
            abort: CancellationToken::new(),
        }
    }

    /// Sets the tools that the model may call.
    pub fn with_tools(self, tools: Registry) -> Agent {
        self.change(|shared| shared.tools = tools)
    }

    /// Sets the asker. Tools that ask are offered only if the agent has an asker.
    pub fn with_asker(self, asker: Arc<dyn Asker>) -> Agent {
        self.change(|shared| shared.asker = Some(asker))
    }

    /// Sets the origin, which every question carries to say who asks. A subagent adds its task.
    pub fn with_origin(self, origin: Origin) -> Agent {
        self.change(|shared| shared.origin = origin)
    }

    /// Sets the time limit of each question. `None` means no limit.
    pub fn with_deadline(self, deadline: Option<Duration>) -> Agent {
        self.change(|shared| shared.deadline = deadline)
    }

    /// Sets the working folder of the agent's tools.
    pub fn with_folder(self, cwd: impl Into<PathBuf>) -> Agent {
        self.change(|shared| shared.cwd = cwd.into())
    }

    /// Adds folders that tools may access.
    pub fn with_allowed_folders(self, folders: Vec<PathBuf>) -> Agent {
        self.change(|shared| shared.allowed = folders)
    }

    /// Adds folders in which every change needs permission in every mode, because they hold the permissions.
    pub fn with_protected_paths(self, folders: Vec<PathBuf>) -> Agent {
        self.change(|shared| shared.protected = folders)
    }

    /// Sets the keys that are hidden from the agent's tools.
    pub fn with_secrets(self, secrets: Secrets) -> Agent {
        self.change(|shared| shared.secrets = secrets)
    }

    /// Sets the sandbox of the agent's commands, or the reason why it is missing. Call this after
    /// [`Agent::with_tools`].
    pub fn with_sandbox(self, sandbox: Result<Sandbox, String>) -> Agent {
        self.change(|shared| {
            shared.no_sandbox = sandbox.as_ref().err().cloned();
            shared.tools = std::mem::take(&mut shared.tools).with(Bash::with_sandbox(sandbox));
        })
    }

    /// Returns the reason why commands have no sandbox; `None` if they have one.
    pub fn no_sandbox(&self) -> Option<&str> {
        self.shared.no_sandbox.as_deref()
    }

    /// Sets the program that runs the commands that have no sandbox. The program gets the command's words after its
    /// own. Without a supervisor, commands survive if this process is killed with SIGKILL. It has an effect only on
    /// Unix.
    ///
    /// The program's standard input is a socket that closes with this process. The program must then end its process
    /// group. The program ends when the command ends.
    pub fn with_supervisor(self, words: Vec<OsString>) -> Agent {
        self.change(|shared| shared.supervisor = words)
    }

    /// Sets the description of the agent's task in the system prompt.
    pub fn with_system(self, system: impl Into<String>) -> Agent {
        self.change(|shared| shared.system = system.into())
    }

    /// Sets the permissions. A transcript in plan mode stays in plan mode.
    pub fn with_permissions(self, permissions: Permissions) -> Agent {
        let agent = self.change(|shared| shared.permissions = Arc::new(Mutex::new(permissions)));
        agent.keep_planning();
        agent
    }

    /// Sets the maximum number of model requests per turn.
    pub fn with_max_requests(self, max: u32) -> Agent {
        self.change(|shared| shared.max_requests = Some(max))
    }

    /// Sets the size of the model's context in tokens, which overrides the known size. `None` keeps the known size.
    pub fn with_context_window(self, tokens: Option<u64>) -> Agent {
        self.change(|shared| shared.windows.set = tokens)
    }

    /// Sets the maximum number of retries of a failed request, and the first pause. Later pauses are longer.
    pub fn with_retries(self, max: u32, pause: Duration) -> Agent {
        self.change(|shared| shared.retries = Retries { max, pause })
    }

    /// Sets the maximum time spent on retries. `None` keeps the current limit, by default half a minute.
    pub fn with_retries_for(self, time: Option<Duration>) -> Agent {
        self.change(|shared| shared.retries = time.map_or(shared.retries, |time| shared.retries.within(time)))
    }

    /// Sets the transcript and continues its conversation.
    pub fn with_transcript(mut self, transcript: Transcript) -> Agent {
        self.set_transcript(transcript);
        self
    }

    /// Replaces the transcript and continues its conversation.
    pub fn set_transcript(&mut self, transcript: Transcript) {
        self.history = transcript.history(&[]);
        self.left_alone.clear();
        self.failed_summary = None;
        let shared = Arc::make_mut(&mut self.shared);
        shared.seen_files = transcript.seen_files(&[]);
        shared.transcript = transcript;
        shared.said = Arc::new(Mutex::new(self.history.said.clone()));
        self.keep_planning();
    }

    /// Restores plan mode after a resume, because a resume approves no plan. The returning user sets other modes again.
    fn keep_planning(&self) {
        if self.shared.transcript.mode() == Some(PermissionMode::Plan) {
            self.shared.permissions().mode = PermissionMode::Plan;
        }
    }

    fn change(mut self, change: impl FnOnce(&mut Shared)) -> Agent {
        change(Arc::make_mut(&mut self.shared));
        self
    }

    /// Sends a message from the person and starts a turn.
    pub fn run(&mut self, prompt: impl Into<String>) -> Run<'_> {
        let text = prompt.into();
        self.left_alone.clear();
        self.user_returned = CancellationToken::new();
        self.begin_run(move |agent: &mut Agent| {
            agent.record_mode_and_model()?;
            agent.keep_answers()?;
            agent.record(&Entry::User { text })
        })
    }

    /// Continues an interrupted turn. Returns `None` if there is none. A question without an outcome is asked again.
    pub fn resume(&mut self) -> Option<Run<'_>> {
        self.resume_until_user_returned(CancellationToken::new())
    }

    /// Continues an interrupted turn for a person who is about to send a message. Returns `None` if there is no such
    /// turn.
    ///
    /// Once `user_returned` is cancelled, no further call of the interrupted turn starts. The model gets no request
    /// before [`Agent::run`]. A question that the person has seen is still asked again.
    pub fn resume_until_user_returned(&mut self, user_returned: CancellationToken) -> Option<Run<'_>> {
        self.user_returned = user_returned;
        self.is_cut_off().then(|| self.begin_run(Agent::record_mode_and_model))
    }

    /// Whether an interrupted turn can be resumed.
    pub fn is_cut_off(&self) -> bool {
        !matches!(self.history.next(), Next::User) || !self.shared.said().is_empty()
    }

    /// Runs a shell command of the person without asking for permission. The model reads the output with the person's
    /// next message.
    pub fn run_command(&mut self, command: impl Into<String>) -> Run<'_> {
        let abort = self.abort.child_token();
        let command = command.into();
        Run::new(abort.clone(), |events| user_command::drive(self, command, events, abort))
    }

    fn begin_run<'a>(&'a mut self, begin: impl FnOnce(&mut Agent) -> Result<(), Stop> + Send + 'a) -> Run<'a> {
        let abort = self.abort.child_token();
        Run::new(abort.clone(), |events| turn::drive(self, begin, events, abort))
    }

    /// Replaces the conversation by the model's summary and continues from the summary. `wish` tells the model what to
    /// keep.
    pub fn compact(&mut self, wish: Option<String>) -> Run<'_> {
        let abort = self.abort.child_token();
        Run::new(abort.clone(), |events| turn::compact(self, wish, events, abort))
    }

    /// Returns the conversation as the model reads it. After a summary, the conversation begins with the summary.
    pub fn messages(&self) -> &[Message] {
        &self.history.messages
    }

    /// Starts a new conversation. The old one stays in the transcript.
    ///
    /// # Errors
    /// If the transcript cannot be written. The conversation is then unchanged.
    pub fn clear(&mut self) -> Result<(), TranscriptError> {
        self.shared.transcript.append(&[], &Entry::Cleared)?;
        self.history.apply(&Entry::Cleared);
        Arc::make_mut(&mut self.shared).seen_files = SeenFiles::default();
        Ok(())
    }

    /// Reverts the last edit of this session that is still in place. Edits from before a resume count, too.
    ///
    /// The model learns of the undo with the person's next message. The next call skips a file that has changed since
    /// its edit.
    ///
    /// # Errors
    /// If there is no such edit, or the file has changed since. The file is then unchanged.
    pub fn undo(&mut self) -> Result<Undone, UndoError> {
        let undone =
            UndoLog::beside(&self.shared.transcript).ok_or(UndoError::NotKept)?.undo_last(&mut self.left_alone)?;
        if let Some(text) = undone.for_the_model() {
            let path = undone.path.clone();
            let recorded = self.record_user_action(Entry::Undone { text, shown: undone.to_string() });
            recorded.map_err(|source| UndoError::NotRecorded { path, source })?;
        }
        Ok(undone)
    }

    /// Returns the changes of this session's edits by file. Changes by commands are not included.
    pub fn changes(&self) -> Result<Vec<FileDiff>, UndoError> {
        UndoLog::beside(&self.shared.transcript).ok_or(UndoError::NotKept)?.diffs()
    }

    /// Records a text that the model reads with the person's next message.
    pub(crate) fn record_user_action(&mut self, entry: Entry) -> Result<(), TranscriptError> {
        self.shared.transcript.append(&[], &entry)?;
        self.history.apply(&entry);
        self.shared.transcript.sync()
    }

    /// Returns the current permission mode.
    pub fn mode(&self) -> PermissionMode {
        self.shared.permissions().mode
    }

    /// Changes the permission mode.
    ///
    /// # Errors
    /// If the transcript cannot be written. The mode is then unchanged.
    pub fn set_mode(&mut self, mode: PermissionMode) -> Result<(), TranscriptError> {
        self.shared.set_mode(mode)
    }

    /// Returns a handle to the rules that allow calls without asking. The handle can change them during a turn.
    pub fn permission_rules(&self) -> PermissionRules {
        PermissionRules(self.shared.permissions.clone())
    }

    /// Returns the name of the current model.
    pub fn model(&self) -> String {
        self.shared.model().name()
    }

    /// Switches to another model.
    pub fn set_model(&mut self, model: Arc<dyn Model>) {
        *self.shared.model.lock().unwrap_or_else(PoisonError::into_inner) = model;
    }

    /// Returns the agent's transcript.
    pub fn transcript(&self) -> &Transcript {
        &self.shared.transcript
    }

    /// Moves the person's queued messages to the conversation. Returns `false` if the queue is empty.
    pub(crate) fn hear(&mut self, events: &EventSender) -> Result<bool, Stop> {
        let mut said = std::mem::take(&mut *self.shared.said());
        said.splice(..0, std::mem::take(&mut self.history.left_unread));
        for text in &said {
            self.record(&Entry::User { text: text.clone() })?;
            events.send(AgentEvent::User { text: text.clone() });
            self.left_alone.clear();
            // The message has ended the interrupted work, so new calls may start.
            self.user_returned = CancellationToken::new();
        }
        Ok(!said.is_empty())
    }

    pub(crate) fn record(&mut self, entry: &Entry) -> Result<(), Stop> {
        // `User` and `Interrupted` end every open call. The history notes which of the calls had started, so that the
        // model knows.
        if let (Entry::User { .. } | Entry::Interrupted, Next::Calls(calls)) = (entry, self.history.next()) {
            for call in calls {
                if self.shared.transcript.has_begun(&self.shared.tasks, &call.id) {
                    self.history.has_begun(&call.id);
                }
            }
        }
        self.shared.append(entry)?;
        self.history.apply(entry);
        Ok(())
    }

    /// Records the mode and the model, so that a resume after a crash restores them. A subagent has both from the main
    /// agent.
    fn record_mode_and_model(&mut self) -> Result<(), Stop> {
        if self.shared.is_subagent() {
            return Ok(());
        }
        let mode = self.mode();
        let transcript = &self.shared.transcript;
        if transcript.mode().unwrap_or_default() != mode {
            self.shared.append(&Entry::Mode { mode })?;
        }
        match self.shared.model().recorded() {
            Some(model) if transcript.model().as_ref() != Some(&model) => self.shared.append(&Entry::Model(model)),
            _ => Ok(()),
        }
    }

    /// Adds the answers of an interrupted turn to the conversation. This must happen before any new message.
    pub(crate) fn keep_answers(&mut self) -> Result<(), Stop> {
        let Next::Calls(calls) = self.history.next() else { return Ok(()) };
        for ToolCall { id, name, .. } in calls {
            let answers = self.shared.answers_below(&id);
            let output = match self.shared.recorded_answer(&id) {
                Some(resolution) => {
                    let outcome = serde_json::json!(resolution);
                    format!("This was cut off before it had finished, but after asking. The outcome: {outcome}")
                }
                None if answers.is_empty() => continue,
                None => format!("This was cut off before it had finished.{answers}"),
            };
            let result = ToolResult::without_end("cut off", output);
            self.record(&Entry::Result { id, name, result, halt: None })?;
        }
        Ok(())
    }
}
