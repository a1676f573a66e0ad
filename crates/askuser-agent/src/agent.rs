//! An agent: a model, tools, a person to ask, and the conversation so far.

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

/// A model with tools, and a conversation with it.
///
/// ```
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
/// let asker = Policy { answers: Some(answers), headless: None };
/// let mut agent = Agent::new(model).with_tools(tools::talking()).with_asker(Arc::new(asker));
/// let events: Vec<AgentEvent> = agent.run("Set up storage").collect().await;
/// assert_eq!(events.last(), Some(&AgentEvent::Done { text: "SQLite it is.".into() }));
/// # Ok(())
/// # }
/// ```
pub struct Agent {
    pub(crate) shared: Arc<Shared>,
    pub(crate) history: History,
    /// The files that [`Agent::undo`] has said to be changed since, until the next turn.
    pub(crate) left_alone: Vec<ConfinedPath>,
    /// How many tokens there were when a summary failed: the next is tried once there are notably more.
    pub(crate) failed_summary: Option<u64>,
    /// The calls that were under way when the turn was stopped.
    pub(crate) interrupted: Vec<ToolCall>,
    /// Calls that were cut off do not begin once this is cancelled: the person's message comes first.
    pub(crate) user_returned: CancellationToken,
    /// Stops its turns from above, if it is a subagent.
    pub(crate) abort: CancellationToken,
}

impl Agent {
    /// An agent in the current folder, without tools, without anybody to ask, and with a record that lasts as long as it
    /// does itself.
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

    /// With these tools.
    pub fn with_tools(self, tools: Registry) -> Agent {
        self.change(|shared| shared.tools = tools)
    }

    /// With a person to ask. Only then are tools offered that ask.
    pub fn with_asker(self, asker: Arc<dyn Asker>) -> Agent {
        self.change(|shared| shared.asker = Some(asker))
    }

    /// Saying this with every question about who asks; a subagent's task is added to it.
    pub fn with_origin(self, origin: Origin) -> Agent {
        self.change(|shared| shared.origin = origin)
    }

    /// Giving up on a question after this long.
    pub fn with_deadline(self, deadline: Option<Duration>) -> Agent {
        self.change(|shared| shared.deadline = deadline)
    }

    /// Working in this folder.
    pub fn with_folder(self, cwd: impl Into<PathBuf>) -> Agent {
        self.change(|shared| shared.cwd = cwd.into())
    }

    /// Allowed to reach these folders too.
    pub fn with_allowed_folders(self, folders: Vec<PathBuf>) -> Agent {
        self.change(|shared| shared.allowed = folders)
    }

    /// Asking before every change in these folders, whatever the mode: what decides about permissions is there.
    pub fn with_protected_paths(self, folders: Vec<PathBuf>) -> Agent {
        self.change(|shared| shared.protected = folders)
    }

    /// Keeping these keys from its tools.
    pub fn with_secrets(self, secrets: Secrets) -> Agent {
        self.change(|shared| shared.secrets = secrets)
    }

    /// With this wall around its commands, or without one for this reason. To be called after [`Agent::with_tools`].
    pub fn with_sandbox(self, sandbox: Result<Sandbox, String>) -> Agent {
        self.change(|shared| {
            shared.no_sandbox = sandbox.as_ref().err().cloned();
            shared.tools = std::mem::take(&mut shared.tools).with(Bash::with_sandbox(sandbox));
        })
    }

    /// Why its commands have no sandbox, if they have none.
    pub fn no_sandbox(&self) -> Option<&str> {
        self.shared.no_sandbox.as_deref()
    }

    /// Running commands that have no sandbox through this program, which gets the words of the command after its own. Its standard
    /// input is a socket that ends with this process: it has to end its process group then. It ends as the command ends.
    /// Without such a program, commands outlive a process that is killed with SIGKILL. Unix only.
    pub fn with_supervisor(self, words: Vec<OsString>) -> Agent {
        self.change(|shared| shared.supervisor = words)
    }

    /// Told this about its task.
    pub fn with_system(self, system: impl Into<String>) -> Agent {
        self.change(|shared| shared.system = system.into())
    }

    /// With these permissions. A record that is taken up in plan mode stays in it.
    pub fn with_permissions(self, permissions: Permissions) -> Agent {
        let agent = self.change(|shared| shared.permissions = Arc::new(Mutex::new(permissions)));
        agent.keep_planning();
        agent
    }

    /// Making at most this many requests to the model in a turn.
    pub fn with_max_requests(self, max: u32) -> Agent {
        self.change(|shared| shared.max_requests = Some(max))
    }

    /// Taking the model's context to have this many tokens, whatever is known about the model.
    pub fn with_context_window(self, tokens: Option<u64>) -> Agent {
        self.change(|shared| shared.windows.set = tokens)
    }

    /// Making a failed request again at most this often, waiting this long before the first time and longer each time.
    pub fn with_retries(self, max: u32, pause: Duration) -> Agent {
        self.change(|shared| shared.retries = Retries { max, pause })
    }

    /// Making a failed request again for about this long; `None` is half a minute.
    pub fn with_retries_for(self, time: Option<Duration>) -> Agent {
        self.change(|shared| shared.retries = time.map_or(shared.retries, |time| shared.retries.within(time)))
    }

    /// Keeping this record, and going on from what stands in it.
    pub fn with_transcript(mut self, transcript: Transcript) -> Agent {
        self.set_transcript(transcript);
        self
    }

    /// Goes on with another record.
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

    /// A plan that was not approved is not approved by coming back. Other modes are for the user who comes back to choose.
    fn keep_planning(&self) {
        if self.shared.transcript.mode() == Some(PermissionMode::Plan) {
            self.shared.permissions().mode = PermissionMode::Plan;
        }
    }

    fn change(mut self, change: impl FnOnce(&mut Shared)) -> Agent {
        change(Arc::make_mut(&mut self.shared));
        self
    }

    /// The person says something; the model goes to work.
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

    /// Goes on with what was cut off, if something was: a question without an outcome is asked again, one with an outcome
    /// is not.
    pub fn resume(&mut self) -> Option<Run<'_>> {
        self.resume_until_user_returned(CancellationToken::new())
    }

    /// The same for a person who has something to say. Once `user_returned` is cancelled, no call of the message that was cut off
    /// begins any more, and the model is not asked before they have said it with [`Agent::run`]. A question that they have
    /// seen is still asked again.
    pub fn resume_until_user_returned(&mut self, user_returned: CancellationToken) -> Option<Run<'_>> {
        self.user_returned = user_returned;
        self.is_cut_off().then(|| self.begin_run(Agent::record_mode_and_model))
    }

    /// Whether a turn was cut off, so that there is something to resume.
    pub fn is_cut_off(&self) -> bool {
        !matches!(self.history.next(), Next::User) || !self.shared.said().is_empty()
    }

    /// Runs a shell command of the person's own, without asking. The model reads what came of it with their next words.
    pub fn run_command(&mut self, command: impl Into<String>) -> Run<'_> {
        let (abort, command) = (self.abort.child_token(), command.into());
        Run::new(abort.clone(), |events| user_command::drive(self, command, events, abort))
    }

    fn begin_run<'a>(&'a mut self, begin: impl FnOnce(&mut Agent) -> Result<(), Stop> + Send + 'a) -> Run<'a> {
        let abort = self.abort.child_token();
        Run::new(abort.clone(), |events| turn::drive(self, begin, events, abort))
    }

    /// Lets the model summarise the conversation, and continues from the summary. `wish` is what it should mind.
    pub fn compact(&mut self, wish: Option<String>) -> Run<'_> {
        let abort = self.abort.child_token();
        Run::new(abort.clone(), |events| turn::compact(self, wish, events, abort))
    }

    /// The conversation so far, as the model reads it: where it was summarised, it begins with the summary.
    pub fn messages(&self) -> &[Message] {
        &self.history.messages
    }

    /// Forgets the conversation. It stays in the transcript.
    ///
    /// # Errors
    /// Where the transcript cannot be written; nothing has changed then.
    pub fn clear(&mut self) -> Result<(), TranscriptError> {
        self.shared.transcript.append(&[], &Entry::Cleared)?;
        self.history.apply(&Entry::Cleared);
        Arc::make_mut(&mut self.shared).seen_files = SeenFiles::default();
        Ok(())
    }

    /// Takes back the last edit of this session that has not been, also one from before a resume. The model is told with
    /// the person's next words. A file that has changed since is said to be, and passed over the next time.
    ///
    /// # Errors
    /// Where there is none, or the file has changed since; nothing has changed then.
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

    /// What the edits of this session have changed, file by file. What commands changed is not in it.
    pub fn changes(&self) -> Result<Vec<FileDiff>, UndoError> {
        UndoLog::beside(&self.shared.transcript).ok_or(UndoError::NotKept)?.diffs()
    }

    /// Keeps something for the model to read with the person's next words.
    pub(crate) fn record_user_action(&mut self, entry: Entry) -> Result<(), TranscriptError> {
        self.shared.transcript.append(&[], &entry)?;
        self.history.apply(&entry);
        self.shared.transcript.sync()
    }

    /// What needs permission now.
    pub fn mode(&self) -> PermissionMode {
        self.shared.permissions().mode
    }

    /// Changes what needs permission.
    ///
    /// # Errors
    /// Where the transcript cannot be written; nothing has changed then.
    pub fn set_mode(&mut self, mode: PermissionMode) -> Result<(), TranscriptError> {
        self.shared.set_mode(mode)
    }

    /// What has been allowed without asking, to look at and to change, also while a turn runs.
    pub fn permission_rules(&self) -> PermissionRules {
        PermissionRules(self.shared.permissions.clone())
    }

    /// Which model answers.
    pub fn model(&self) -> String {
        self.shared.model().name()
    }

    /// Lets another model answer from now on.
    pub fn set_model(&mut self, model: Arc<dyn Model>) {
        *self.shared.model.lock().unwrap_or_else(PoisonError::into_inner) = model;
    }

    /// Its record.
    pub fn transcript(&self) -> &Transcript {
        &self.shared.transcript
    }

    /// The model reads what the person has said meanwhile; `false` if that is nothing.
    pub(crate) fn hear(&mut self, events: &EventSender) -> Result<bool, Stop> {
        let mut said = std::mem::take(&mut *self.shared.said());
        said.splice(..0, std::mem::take(&mut self.history.left_unread));
        for text in &said {
            self.record(&Entry::User { text: text.clone() })?;
            events.send(AgentEvent::User { text: text.clone() });
            self.left_alone.clear();
            // The work that was cut off has made room for it.
            self.user_returned = CancellationToken::new();
        }
        Ok(!said.is_empty())
    }

    pub(crate) fn record(&mut self, entry: &Entry) -> Result<(), Stop> {
        // These give up every open call, and the model reads which of them had begun.
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

    /// Settings made before the turn must hold after a crash. Subagents have both from the main agent.
    fn record_mode_and_model(&mut self) -> Result<(), Stop> {
        if self.shared.is_subagent() {
            return Ok(());
        }
        let (mode, transcript) = (self.mode(), &self.shared.transcript);
        if transcript.mode().unwrap_or_default() != mode {
            self.shared.append(&Entry::Mode { mode })?;
        }
        match self.shared.model().recorded() {
            Some(model) if transcript.model().as_ref() != Some(&model) => self.shared.append(&Entry::Model(model)),
            _ => Ok(()),
        }
    }

    /// Answers from before a turn was cut off are in the conversation before any new message.
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
