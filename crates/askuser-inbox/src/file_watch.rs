//! Detects changes of a store's file by other processes.
//!
//! A commit becomes visible after the writer's last write, and the file system does not report that moment. So a writer
//! also writes a byte to a file beside the store after each commit. If a writer dies in between, the change of the
//! store's log is still noticed. A reader that looks too early looks again ([`SETTLE`]).

use notify::{Config, Event, EventKind, PollWatcher, RecommendedWatcher, RecursiveMode, Watcher};
use std::fs::File;
use std::io::{Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// The polling interval if the system reports no file changes: on a network file system, or if it has no watches left.
const POLL_INTERVAL: Duration = Duration::from_millis(250);

/// The pauses before further checks after a notification, because the change may not be visible yet.
pub(crate) const SETTLE: [Duration; 2] = [Duration::from_millis(30), Duration::from_secs(1)];

/// Notifies other processes of a commit by writing to a file.
#[derive(Default)]
pub(crate) struct Bell(Option<File>);

impl Bell {
    pub(crate) fn beside(store: &Path) -> Bell {
        let mut name = store.as_os_str().to_owned();
        name.push("-bell");
        Bell(askuser_sys::regular_file::private().create(true).truncate(false).open(name).ok())
    }

    /// Writes a byte. If that fails, other processes still notice the commit when they poll.
    pub(crate) fn ring(&mut self) {
        if let Some(bell) = &mut self.0 {
            let _ = bell.seek(SeekFrom::Start(0)).and_then(|_| bell.write_all(b"!"));
        }
    }
}

/// Calls a function when the file may have changed, until the watcher is dropped. Several changes cause one call, until
/// [`FileWatcher::heard`].
pub(crate) struct FileWatcher {
    is_told: Arc<AtomicBool>,
    _watcher: Box<dyn Watcher + Send>,
}

impl FileWatcher {
    /// Watches a store's file. Returns `None` if the system cannot watch it.
    pub(crate) fn of(store: &Path, tell: impl Fn() + Send + 'static) -> Option<FileWatcher> {
        let folder = store.parent().unwrap_or(store);
        let is_told = Arc::new(AtomicBool::new(false));
        let tell = Arc::new(std::sync::Mutex::new(tell));
        let handler = || {
            let is_told = is_told.clone();
            let tell = tell.clone();
            let name = store.as_os_str().to_owned();
            move |event: notify::Result<Event>| {
                let is_ours = match &event {
                    Ok(event) => {
                        let ours =
                            |path: &PathBuf| path.as_os_str().as_encoded_bytes().starts_with(name.as_encoded_bytes());
                        !matches!(event.kind, EventKind::Access(_))
                            && (event.need_rescan() || event.paths.iter().any(ours))
                    }
                    // An error means that a change may have been missed.
                    Err(_) => true,
                };
                if is_ours
                    && !is_told.swap(true, Ordering::AcqRel)
                    && let Ok(tell) = tell.lock()
                {
                    tell();
                }
            }
        };
        let watched = RecommendedWatcher::new(handler(), Config::default()).and_then(|mut watcher| {
            watcher.watch(folder, RecursiveMode::NonRecursive)?;
            Ok(Box::new(watcher) as Box<dyn Watcher + Send>)
        });
        let watcher = watched.or_else(|_| {
            let mut watcher = PollWatcher::new(handler(), Config::default().with_poll_interval(POLL_INTERVAL))?;
            watcher.watch(folder, RecursiveMode::NonRecursive)?;
            Ok::<_, notify::Error>(Box::new(watcher) as Box<dyn Watcher + Send>)
        });
        Some(FileWatcher { is_told, _watcher: watcher.ok()? })
    }

    /// Marks the changes so far as seen. The watcher reports later changes.
    pub(crate) fn heard(&self) {
        self.is_told.store(false, Ordering::Release);
    }
}
