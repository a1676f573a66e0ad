//! An agent: a model, tools, a person to ask, and the conversation so far.

use crate::event::{AgentEvent, Failure, FailureKind};
use crate::message::{Message, ToolCall};
use crate::model::Model;
use crate::permission::{PermissionMode, Permissions};
use crate::tool::{Registry, Stop, ToolResult};
use crate::transcript::{Entry, History, Next, Transcript, TranscriptError};
use crate::turn;
use askuser::{AskError, Asker, Outcome, Request, reply, report, sanitize};
use futures_util::Stream;
use serde_json::Value;
use std::future::Future;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::sync::mpsc::{self, UnboundedReceiver, UnboundedSender};
use tokio::sync::{Mutex as Floor, Notify};
use tokio_util::sync::CancellationToken;

/// A model with tools, and a conversation with it.
pub struct Agent {
    pub(crate) shared: Arc<Shared>,
    pub(crate) history: History,
}

/// What an agent, its tools and its subagents have in common.
#[derive(Clone)]
pub(crate) struct Shared {
    pub(crate) model: Arc<Mutex<Arc<dyn Model>>>,
    pub(crate) tools: Registry,
    pub(crate) asker: Option<Arc<dyn Asker>>,
    pub(crate) cwd: PathBuf,
    pub(crate) allowed: Vec<PathBuf>,
    pub(crate) protected: Vec<PathBuf>,
    pub(crate) system: String,
    pub(crate) permissions: Arc<Mutex<Permissions>>,
    pub(crate) transcript: Transcript,
    pub(crate) task: Option<Task>,
    pub(crate) retries: Retries,
    pub(crate) max_requests: Option<u32>,
    /// Whoever has it asks; the others wait, in the order they came.
    pub(crate) floor: Arc<Floor<()>>,
}

/// Which subagent it is.
#[derive(Clone, Debug)]
pub(crate) struct Task {
    /// The calls that lead to it, with slashes between them.
    pub(crate) path: String,
    pub(crate) description: String,
}

/// How often a request is made again, and how long to wait before the first time; it doubles from there.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Retries {
    pub(crate) most: u32,
    pub(crate) pause: Duration,
}

impl Agent {
    /// An agent in the current folder, without tools, without anybody to ask, and with a record that lasts as long as it
    /// does itself.
    pub fn new(model: impl Model + 'static) -> Agent {
        let shared = Shared {
            model: Arc::new(Mutex::new(Arc::new(model))),
            tools: Registry::new(),
            asker: None,
            cwd: std::env::current_dir().unwrap_or_default(),
            allowed: Vec::new(),
            protected: Vec::new(),
            system: String::new(),
            permissions: Arc::default(),
            transcript: Transcript::in_memory(),
            task: None,
            retries: Retries { most: 6, pause: Duration::from_millis(500) },
            max_requests: None,
            floor: Arc::default(),
        };
        Agent { shared: Arc::new(shared), history: History::default() }
    }

    /// With these tools.
    pub fn with_tools(self, tools: Registry) -> Agent {
        self.change(|shared| shared.tools = tools)
    }

    /// With somebody to ask. Only then are tools offered that ask.
    pub fn with_asker(self, asker: Arc<dyn Asker>) -> Agent {
        self.change(|shared| shared.asker = Some(asker))
    }

    /// Working in this folder.
    pub fn in_folder(self, cwd: impl Into<PathBuf>) -> Agent {
        self.change(|shared| shared.cwd = cwd.into())
    }

    /// Allowed to reach these folders too.
    pub fn allowing(self, folders: Vec<PathBuf>) -> Agent {
        self.change(|shared| shared.allowed = folders)
    }

    /// Asking before every change in these folders, also where edits are accepted: what decides about permissions is there.
    /// Only the mode that allows everything allows this too.
    pub fn protecting(self, folders: Vec<PathBuf>) -> Agent {
        self.change(|shared| shared.protected = folders)
    }

    /// Told this about its task.
    pub fn with_system(self, system: impl Into<String>) -> Agent {
        self.change(|shared| shared.system = system.into())
    }

    /// With these permissions. A record that is taken up in plan mode stays in it.
    pub fn with_permissions(self, permissions: Permissions) -> Agent {
        self.change(|shared| shared.permissions = Arc::new(Mutex::new(permissions))).still_planning()
    }

    /// Making at most this many requests to the model in a turn.
    pub fn with_max_requests(self, most: u32) -> Agent {
        self.change(|shared| shared.max_requests = Some(most))
    }

    /// Making a failed request again at most this often, waiting this long before the first time and longer each time.
    pub fn with_retries(self, most: u32, pause: Duration) -> Agent {
        self.change(|shared| shared.retries = Retries { most, pause })
    }

    /// Keeping this record, and going on from what stands in it.
    pub fn with_transcript(self, transcript: Transcript) -> Agent {
        let history = transcript.history(None);
        Agent { history, ..self.change(|shared| shared.transcript = transcript) }.still_planning()
    }

    /// A plan that was not approved is not approved by coming back. Other modes are for whoever comes back to say.
    fn still_planning(self) -> Agent {
        if self.shared.transcript.mode() == Some(PermissionMode::Plan) {
            self.shared.permissions().mode = PermissionMode::Plan;
        }
        self
    }

    fn change(mut self, change: impl FnOnce(&mut Shared)) -> Agent {
        change(Arc::make_mut(&mut self.shared));
        self
    }

    /// The person says something; the model goes to work.
    pub fn run(&mut self, prompt: impl Into<String>) -> Run<'_> {
        self.run_until(prompt, CancellationToken::new())
    }

    /// Goes on with what was cut off, if something was: a question without an outcome is asked again, one with an outcome
    /// is not.
    pub fn resume(&mut self) -> Option<Run<'_>> {
        self.resume_until(CancellationToken::new())
    }

    pub(crate) fn run_until(&mut self, prompt: impl Into<String>, abort: CancellationToken) -> Run<'_> {
        let text = prompt.into();
        let begin = move |agent: &mut Agent| {
            agent.record_mode()?;
            agent.keep_answers()?;
            agent.record(&Entry::User { text })
        };
        self.start(begin, abort)
    }

    pub(crate) fn resume_until(&mut self, abort: CancellationToken) -> Option<Run<'_>> {
        match self.history.next() {
            Next::User => None,
            Next::Model | Next::Calls(_) => Some(self.start(Agent::record_mode, abort)),
        }
    }

    fn start<'a>(
        &'a mut self,
        begin: impl FnOnce(&mut Agent) -> Result<(), Stop> + Send + 'a,
        abort: CancellationToken,
    ) -> Run<'a> {
        let (sender, events) = Events::channel();
        let taken = sender.taken.clone();
        let work = turn::drive(self, begin, sender, abort.clone());
        Run { work: Some(Box::pin(work)), events, taken, abort }
    }

    /// The conversation so far.
    pub fn messages(&self) -> &[Message] {
        &self.history.messages
    }

    /// Forgets the conversation. It stays in the record.
    pub fn clear(&mut self) -> Result<(), TranscriptError> {
        self.shared.transcript.append(None, &Entry::Cleared)?;
        self.history.apply(&Entry::Cleared);
        Ok(())
    }

    /// What needs permission now.
    pub fn mode(&self) -> PermissionMode {
        self.shared.permissions().mode
    }

    /// Changes what needs permission.
    pub fn set_mode(&mut self, mode: PermissionMode) -> Result<(), TranscriptError> {
        self.shared.transcript.append(None, &Entry::Mode { mode })?;
        self.shared.permissions().mode = mode;
        Ok(())
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

    pub(crate) fn record(&mut self, entry: &Entry) -> Result<(), Stop> {
        self.shared.append(entry)?;
        self.history.apply(entry);
        Ok(())
    }

    /// A mode that was set before the turn began has to be the mode after a crash.
    fn record_mode(&mut self) -> Result<(), Stop> {
        let mode = self.mode();
        if self.shared.task.is_some() || self.shared.transcript.mode().unwrap_or_default() == mode {
            return Ok(());
        }
        self.shared.append(&Entry::Mode { mode })
    }

    /// What was answered before a turn was cut off is in the conversation before anything else is said.
    pub(crate) fn keep_answers(&mut self) -> Result<(), Stop> {
        let Next::Calls(calls) = self.history.next() else { return Ok(()) };
        for ToolCall { id, name, .. } in calls {
            if let Some(outcome) = self.shared.transcript.outcome(self.shared.path(), &id) {
                let output =
                    format!("This was cut off before it had finished, but after asking. The outcome: {outcome}");
                self.record(&Entry::Result { id, name, result: ToolResult::error(output) })?;
            }
        }
        Ok(())
    }
}

impl Shared {
    pub(crate) fn model(&self) -> Arc<dyn Model> {
        self.model.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn permissions(&self) -> std::sync::MutexGuard<'_, Permissions> {
        self.permissions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn path(&self) -> Option<&str> {
        self.task.as_ref().map(|task| task.path.as_str())
    }

    /// Who asks, if it is a subagent.
    pub(crate) fn origin(&self) -> Option<String> {
        self.task.as_ref().map(|task| format!("task '{}'", sanitize::line(&task.description)))
    }

    /// A call's name among those of all agents of the session.
    pub(crate) fn public_id(&self, id: &str) -> String {
        match self.path() {
            Some(path) => format!("{path}/{id}"),
            None => id.to_owned(),
        }
    }

    /// A question's name among those of all sessions.
    pub(crate) fn key(&self, id: &str) -> String {
        format!("{}/{}", self.transcript.id(), self.public_id(id))
    }

    pub(crate) fn append(&self, entry: &Entry) -> Result<(), Stop> {
        Ok(self.transcript.append(self.path(), entry)?)
    }

    pub(crate) fn record_question(&self, id: &str, questions: &Value) -> Result<(), Stop> {
        self.append(&Entry::Asked { id: id.to_owned(), questions: questions.clone() })?;
        Ok(self.transcript.sync()?)
    }

    pub(crate) fn record_outcome(&self, id: &str, request: &Request, outcome: &Outcome) -> Result<(), Stop> {
        let mut outcome = report::json(&request.set, outcome);
        if let Some(about) = &request.context {
            outcome["about"] = fingerprint(about).into();
        }
        self.append(&Entry::Outcome { id: id.to_owned(), outcome })?;
        Ok(self.transcript.sync()?)
    }

    /// The outcome of a question that was asked before the process was cut off. One that does not fit the questions, or
    /// what they are about, is no outcome: they are asked again.
    pub(crate) fn recorded_outcome(&self, id: &str, request: &Request) -> Option<Outcome> {
        let outcome = self.transcript.outcome(self.path(), id)?;
        let about = request.context.as_deref().map(fingerprint);
        reply::read(&request.set, &outcome).ok().filter(|_| outcome["about"].as_str() == about.as_deref())
    }
}

/// Tells one text from another: a permission for one diff is none for the next.
fn fingerprint(text: &str) -> String {
    let hash = text
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
    format!("{hash:016x}")
}

impl Stop {
    /// What a broken surface means: nobody can be asked. An interrupt stops the turn.
    pub(crate) fn from_asking(error: AskError) -> Result<Outcome, Stop> {
        match error {
            AskError::Interrupted | AskError::Withdrawn => Err(Stop::Interrupted),
            AskError::Signal(signal) => {
                let message = format!("ended by signal {signal}");
                Err(Stop::Failed(Failure { kind: FailureKind::Signal, message }))
            }
            AskError::Surface { .. } => Ok(Outcome::unavailable(error.to_string(), Vec::new())),
        }
    }
}

impl From<TranscriptError> for Stop {
    fn from(error: TranscriptError) -> Stop {
        let message = format!("the transcript cannot be written, so nothing is done: {error}");
        Stop::Failed(Failure { kind: FailureKind::Transcript, message })
    }
}

/// A turn at work: a stream of what happens. It works while it is polled. Dropping it cuts the turn off as a crash would;
/// [`Run::stopper`] stops it in good order.
pub struct Run<'a> {
    work: Option<Pin<Box<dyn Future<Output = ()> + Send + 'a>>>,
    events: UnboundedReceiver<AgentEvent>,
    taken: Arc<Notify>,
    abort: CancellationToken,
}

impl Run<'_> {
    /// Stops the turn when cancelled, from anywhere.
    pub fn stopper(&self) -> CancellationToken {
        self.abort.clone()
    }
}

impl Stream for Run<'_> {
    type Item = AgentEvent;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<AgentEvent>> {
        let run = &mut *self;
        // What has happened is told before anything else happens.
        if let Ok(event) = run.events.try_recv() {
            return Poll::Ready(Some(event));
        }
        run.taken.notify_waiters();
        if let Some(work) = &mut run.work
            && work.as_mut().poll(context).is_ready()
        {
            run.work = None;
        }
        match run.work {
            Some(_) => run.events.poll_recv(context),
            // A tool may have left a sender behind somewhere; the turn is over all the same.
            None => Poll::Ready(run.events.try_recv().ok()),
        }
    }
}

/// Where a run's events go.
#[derive(Clone)]
pub(crate) struct Events {
    sender: UnboundedSender<AgentEvent>,
    taken: Arc<Notify>,
}

impl Events {
    pub(crate) fn channel() -> (Events, UnboundedReceiver<AgentEvent>) {
        let (sender, receiver) = mpsc::unbounded_channel();
        (Events { sender, taken: Arc::default() }, receiver)
    }

    pub(crate) fn send(&self, event: AgentEvent) {
        // Nobody listens: the run is being dropped.
        let _ = self.sender.send(event);
    }

    /// Returns once whoever listens has taken in what was just sent, first come, first served. There has to be something
    /// sent that they can take in: nothing else wakes them.
    pub(crate) async fn taken(&self) {
        self.taken.notified().await;
    }
}
