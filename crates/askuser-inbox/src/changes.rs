//! Noticing that a store's file has changed: at once inside this process, through the file system from others.
//!
//! A writer's commit is seen by others only after its last write to the file, and nothing in the file system tells of that
//! moment. So whoever has committed rings: a byte written to a file beside the store. One that dies in between has still
//! changed the store's log, which is why that is watched too, and why whoever looks too early looks again ([`SETTLE`]).

use crate::presence::private_options;
use askuser::store::{Listener, StoreError, Watch};
use notify::{Config, Event, EventKind, PollWatcher, RecommendedWatcher, RecursiveMode, Watcher};
use std::fs::File;
use std::io::{Seek, SeekFrom, Write};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

/// How often the file is looked at where the system cannot tell of changes: a network file system, no watches left.
const LOOK: Duration = Duration::from_millis(250);

/// When to look again after a change, in case it was not to be seen yet.
pub(crate) const SETTLE: [Duration; 2] = [Duration::from_millis(30), Duration::from_secs(1)];

/// Who is told of changes to a file.
pub(crate) struct Changes {
    path: PathBuf,
    bell: OnceLock<Option<File>>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    listeners: Vec<(u64, Listener)>,
    next: u64,
    /// Lives as long as somebody listens: without listeners there is no thread and no wake-up.
    watcher: Option<Box<dyn Watcher + Send>>,
}

impl Changes {
    pub(crate) fn of(path: PathBuf) -> Changes {
        Changes { path, bell: OnceLock::new(), state: Mutex::default() }
    }

    /// Tells everybody, in this process and in others, that something was committed.
    pub(crate) fn announce(&self) {
        let bell = self.bell.get_or_init(|| {
            let mut name = self.path.as_os_str().to_owned();
            name.push("-bell");
            private_options().create(true).truncate(false).open(name).ok()
        });
        if let Some(mut bell) = bell.as_ref() {
            // Others look after a while all the same.
            let _ = bell.seek(SeekFrom::Start(0)).and_then(|_| bell.write_all(b"!"));
        }
        self.tell();
    }

    /// Tells everybody in this process.
    fn tell(&self) {
        let listeners: Vec<Listener> = self.state().listeners.iter().map(|(_, listener)| listener.clone()).collect();
        listeners.iter().for_each(|listener| listener());
    }

    pub(crate) fn listen(self: &Arc<Changes>, listener: Listener) -> Result<Watch, StoreError> {
        let mut state = self.state();
        if state.watcher.is_none() {
            state.watcher = Some(self.watcher()?);
        }
        let number = state.next;
        state.next += 1;
        state.listeners.push((number, listener));
        let changes = self.clone();
        Ok(Watch::new(move || {
            let mut state = changes.state();
            state.listeners.retain(|(other, _)| *other != number);
            let watcher = if state.listeners.is_empty() { state.watcher.take() } else { None };
            // Its thread may be waiting to tell us something.
            drop(state);
            drop(watcher);
        }))
    }

    fn watcher(self: &Arc<Changes>) -> Result<Box<dyn Watcher + Send>, StoreError> {
        let failed = |error: notify::Error| StoreError::broken(format!("cannot watch {}", self.path.display()), error);
        let folder = self.path.parent().unwrap_or(&self.path);
        let watched = RecommendedWatcher::new(self.handler(), Config::default()).and_then(|mut watcher| {
            watcher.watch(folder, RecursiveMode::NonRecursive)?;
            Ok(Box::new(watcher) as Box<dyn Watcher + Send>)
        });
        watched.or_else(|_| {
            let config = Config::default().with_poll_interval(LOOK);
            let mut watcher = PollWatcher::new(self.handler(), config).map_err(failed)?;
            watcher.watch(folder, RecursiveMode::NonRecursive).map_err(failed)?;
            Ok(Box::new(watcher) as Box<dyn Watcher + Send>)
        })
    }

    /// Changes to the file, or to the log beside it, are told; whoever only opens them is not.
    fn handler(self: &Arc<Changes>) -> impl Fn(notify::Result<Event>) + Send + 'static {
        let changes = Arc::downgrade(self);
        let name = self.path.as_os_str().to_owned();
        move |event| {
            let is_ours = match &event {
                Ok(event) => {
                    let is_change = !matches!(event.kind, EventKind::Access(_));
                    let ours =
                        |path: &PathBuf| path.as_os_str().as_encoded_bytes().starts_with(name.as_encoded_bytes());
                    is_change && (event.need_rescan() || event.paths.iter().any(ours))
                }
                // Something was missed.
                Err(_) => true,
            };
            if let (true, Some(changes)) = (is_ours, changes.upgrade()) {
                changes.tell();
            }
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
