//! The state that an agent, its tools and its subagents share. It also has the position of each agent in the session's
//! tree of tasks.

use crate::context::Windows;
use crate::model::Model;
use crate::permission::{PermissionMode, Permissions};
use crate::secrets::Secrets;
use crate::tool::{Registry, Stop};
use crate::tools::SeenFiles;
use crate::transcript::{Entry, Transcript, TranscriptError};
use askuser::{Asker, Origin, Purpose, RequestKey};
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::Mutex as AsyncMutex;

#[derive(Clone)]
pub(crate) struct Shared {
    pub(crate) model: Arc<Mutex<Arc<dyn Model>>>,
    pub(crate) tools: Registry,
    pub(crate) asker: Option<Arc<dyn Asker>>,
    pub(crate) origin: Origin,
    pub(crate) deadline: Option<Duration>,
    pub(crate) cwd: PathBuf,
    pub(crate) allowed: Vec<PathBuf>,
    pub(crate) protected: Vec<PathBuf>,
    pub(crate) secrets: Secrets,
    /// The reason why commands have no sandbox; `None` if they have one.
    pub(crate) no_sandbox: Option<String>,
    /// The program and arguments that wrap commands outside the sandbox. If it is empty, this process runs commands
    /// directly.
    pub(crate) supervisor: Vec<OsString>,
    pub(crate) system: String,
    pub(crate) permissions: Arc<Mutex<Permissions>>,
    pub(crate) transcript: Transcript,
    /// The ids of the calls that lead to this subagent, outermost first. The main agent has none.
    pub(crate) tasks: Vec<String>,
    pub(crate) retries: Retries,
    pub(crate) max_requests: Option<u32>,
    pub(crate) windows: Windows,
    /// Messages of the person that the agent has not read yet. A subagent gets no messages.
    pub(crate) said: Arc<Mutex<Vec<String>>>,
    /// The files whose content this conversation has seen. A subagent starts without any.
    pub(crate) seen_files: SeenFiles,
    /// The lock that an agent of the session holds while it asks a person or runs a tool that acts. So tools act one at
    /// a time, and never while a question is open. The lock is fair.
    pub(crate) exclusive: Arc<AsyncMutex<()>>,
}

/// The maximum number of retries and the first pause. Each pause is twice the previous one, up to [`MAX_PAUSE`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct Retries {
    pub(crate) max: u32,
    pub(crate) pause: Duration,
}

impl Retries {
    /// Returns retries with the same first pause, as many as fit into this time.
    pub(crate) fn within(self, time: Duration) -> Retries {
        let mut max = 0;
        let mut taken = Duration::ZERO;
        while max < 100_000 && taken + self.pause_before(max) <= time {
            taken += self.pause_before(max);
            max += 1;
        }
        Retries { max, ..self }
    }

    /// Returns the pause before a retry. It doubles with each attempt up to a limit.
    pub(crate) fn pause_before(self, attempt: u32) -> Duration {
        self.pause.saturating_mul(1 << attempt.min(6)).min(MAX_PAUSE)
    }
}

/// The longest pause before a retry. If the provider asks for a longer pause, the request is not retried.
pub(crate) const MAX_PAUSE: Duration = Duration::from_secs(120);

impl Shared {
    pub(crate) fn new(model: Arc<dyn Model>) -> Shared {
        Shared {
            model: Arc::new(Mutex::new(model)),
            tools: Registry::new(),
            asker: None,
            origin: Origin::default(),
            deadline: None,
            cwd: std::env::current_dir().unwrap_or_default(),
            allowed: Vec::new(),
            protected: Vec::new(),
            secrets: Secrets::none(),
            no_sandbox: Some("none was set up".into()),
            supervisor: Vec::new(),
            system: String::new(),
            permissions: Arc::default(),
            transcript: Transcript::in_memory(),
            tasks: Vec::new(),
            retries: Retries { max: 6, pause: Duration::from_millis(500) },
            max_requests: None,
            windows: Windows::default(),
            said: Arc::default(),
            seen_files: SeenFiles::default(),
            exclusive: Arc::default(),
        }
    }

    /// Returns the context of the subagent that a call starts. The subagent shares the state of its parent, but has
    /// other tools and its own task.
    pub(crate) fn for_subagent(&self, call: &str, description: &str, tools: Registry) -> Shared {
        let tasks = self.path(call);
        let origin = self.origin.clone().with_task(description);
        let (said, seen_files) = Default::default();
        Shared { tools, tasks, origin, said, seen_files, ..self.clone() }
    }

    pub(crate) fn model(&self) -> Arc<dyn Model> {
        self.model.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn permissions(&self) -> MutexGuard<'_, Permissions> {
        self.permissions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn set_mode(&self, mode: PermissionMode) -> Result<(), TranscriptError> {
        self.transcript.append(&[], &Entry::Mode { mode })?;
        self.permissions().mode = mode;
        Ok(())
    }

    pub(crate) fn said(&self) -> MutexGuard<'_, Vec<String>> {
        self.said.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn is_subagent(&self) -> bool {
        !self.tasks.is_empty()
    }

    /// Returns the key of a call's question. It is unique among all sessions.
    pub(crate) fn key(&self, call: &str, purpose: Purpose) -> RequestKey {
        RequestKey::new(self.transcript.id(), call).in_tasks(&self.tasks).for_purpose(purpose)
    }

    pub(crate) fn append(&self, entry: &Entry) -> Result<(), Stop> {
        Ok(self.transcript.append(&self.tasks, entry)?)
    }
}
