//! What an agent, its tools and its subagents have in common, and where each of them stands among the tasks of the session.

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
    /// Why commands have no sandbox, if they have none.
    pub(crate) no_sandbox: Option<String>,
    /// The program that runs commands outside of it, with its arguments; empty if they are run by this process.
    pub(crate) supervisor: Vec<OsString>,
    pub(crate) system: String,
    pub(crate) permissions: Arc<Mutex<Permissions>>,
    pub(crate) transcript: Transcript,
    /// The calls that lead to this subagent, the outermost first; none for the agent the person talks to.
    pub(crate) tasks: Vec<String>,
    pub(crate) retries: Retries,
    pub(crate) max_requests: Option<u32>,
    pub(crate) windows: Windows,
    /// What the person has said while the agent works, and it has not heard yet; a subagent's is never filled.
    pub(crate) said: Arc<Mutex<Vec<String>>>,
    /// What this conversation knows of files; a subagent's knows nothing yet.
    pub(crate) seen_files: SeenFiles,
    /// Held while a person is asked and while a tool acts, by any agent of the session: nothing acts while a question is
    /// open, and no two tools act at once. First come, first served.
    pub(crate) exclusive: Arc<AsyncMutex<()>>,
}

/// How often a request is made again, and how long to wait before the first time; it doubles from there.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Retries {
    pub(crate) max: u32,
    pub(crate) pause: Duration,
}

impl Retries {
    /// As many as fit into this time, at this pace.
    pub(crate) fn within(self, time: Duration) -> Retries {
        let (mut max, mut taken) = (0, Duration::ZERO);
        while max < 100_000 && taken + self.pause_before(max) <= time {
            taken += self.pause_before(max);
            max += 1;
        }
        Retries { max, ..self }
    }

    /// It doubles up to a limit.
    pub(crate) fn pause_before(self, attempt: u32) -> Duration {
        self.pause.saturating_mul(1 << attempt.min(6)).min(MAX_PAUSE)
    }
}

/// A wait for a provider that is longer than this is reported.
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

    /// What the subagent that a call starts has: everything but some tools, and a task of its own.
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

    /// Names what is asked for a call among the questions of all sessions.
    pub(crate) fn key(&self, call: &str, purpose: Purpose) -> RequestKey {
        RequestKey::new(self.transcript.id(), call).in_tasks(&self.tasks).for_purpose(purpose)
    }

    pub(crate) fn append(&self, entry: &Entry) -> Result<(), Stop> {
        Ok(self.transcript.append(&self.tasks, entry)?)
    }
}
