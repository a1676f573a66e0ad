//! Noticing that a store's file has changed: at once inside this process, through the file system from others.

use askuser::store::{Listener, StoreError, Watch};
use notify::{Config, Event, EventKind, PollWatcher, RecommendedWatcher, RecursiveMode, Watcher};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How often the file is looked at where the system cannot tell of changes: a network file system, no watches left.
const LOOK: Duration = Duration::from_millis(250);

/// Who is told of changes to a file.
pub(crate) struct Changes {
    path: PathBuf,
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
        Changes { path, state: Mutex::default() }
    }

    /// Tells everybody in this process.
    pub(crate) fn tell(&self) {
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
                    let ours = |path: &PathBuf| {
                        path.as_os_str().as_encoded_bytes().starts_with(name.as_encoded_bytes())
                    };
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
