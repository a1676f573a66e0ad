//! The thread that owns a store's connection. It runs the callers' work and notifies watchers.
//!
//! Without watchers, the thread sleeps until the next call. With watchers, it looks after every change of the file, at
//! each deadline, and once a minute. The polling is needed because a notification of a change may be lost, but an event
//! must not be.

use super::database::Database;
use crate::file_watch::{FileWatcher, SETTLE};
use askuser::store::{Feed, Operation, Principal, StoreError, Watch, Watched};
use futures_channel::oneshot;
use std::io;
use std::mem::take;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};

/// The longest pause between two looks for events while there are watchers.
const POLL_INTERVAL: Duration = Duration::from_secs(60);
/// The pause between two looks if the system reports no file changes. It is also the pause after a failed read.
const RETRY_DELAY: Duration = Duration::from_secs(1);
/// The time for which the thread stays awake after a call.
const AWAKE: Duration = Duration::from_micros(150);
/// The maximum number of events that one read returns.
const BATCH: u32 = 1000;

/// A message to the thread of a store.
pub(super) enum Message {
    /// Work to run with the database.
    Call(Box<dyn FnOnce(&mut Database) + Send>),
    /// A request to watch events as this principal.
    Watch { by: Principal, what: Watched, reply: oneshot::Sender<Result<Watch, StoreError>> },
    /// A request to watch for revocations of credentials.
    WatchRevocations { reply: oneshot::Sender<Result<Watch, StoreError>> },
    /// A notification that the file may have changed.
    Changed,
    /// The last handle of the store was dropped.
    Close,
}

pub(super) struct Thread {
    database: Database,
    messages: Receiver<Message>,
    /// The sender for the callback of the file watcher.
    sender: Sender<Message>,
    feed: Feed,
    file_watcher: Option<FileWatcher>,
    /// The time since which the store cannot be read; `None` if it can. Watchers are notified when it can be read again.
    behind: Option<Instant>,
    /// The times of further looks after a notification, because the change may not be visible yet.
    settle: [Instant; SETTLE.len()],
}

impl Thread {
    pub(super) fn new(database: Database, sender: Sender<Message>, messages: Receiver<Message>) -> Thread {
        Thread {
            database,
            messages,
            sender,
            feed: Feed::default(),
            file_watcher: None,
            behind: None,
            settle: SETTLE.map(|_| Instant::now()),
        }
    }

    pub(super) fn start(mut self) -> io::Result<()> {
        std::thread::Builder::new().name("askuser-store".into()).spawn(move || self.run()).map(drop)
    }

    fn run(&mut self) {
        let mut was_called = false;
        loop {
            let following = if was_called { self.following() } else { None };
            let message = following.map_or_else(|| self.sleep(), Ok);
            was_called = matches!(message, Ok(Message::Call(_)));
            let may_have_changed = match message {
                Ok(Message::Call(work)) => {
                    // A panic rolls its transaction back, and its caller gets an error. The connection stays usable.
                    let database = &mut self.database;
                    let _ = catch_unwind(AssertUnwindSafe(|| work(database)));
                    self.database.credential = None;
                    if take(&mut self.database.has_read_failed) {
                        self.behind.get_or_insert_with(Instant::now);
                    }
                    take(&mut self.database.has_written)
                }
                Ok(Message::Watch { by, what, reply }) => {
                    let _ = reply.send(self.watch(&by, what));
                    false
                }
                Ok(Message::WatchRevocations { reply }) => {
                    let _ = reply.send(self.watch_revocations());
                    false
                }
                Ok(Message::Changed) => {
                    self.settle = SETTLE.map(|after| Instant::now() + after);
                    if let Some(watcher) = &self.file_watcher {
                        watcher.heard();
                    }
                    true
                }
                Ok(Message::Close) | Err(RecvTimeoutError::Disconnected) => return,
                Err(RecvTimeoutError::Timeout) => {
                    self.feed.forget_closed();
                    true
                }
            };
            if self.feed.is_watched() && may_have_changed {
                self.tell();
            } else if !self.feed.is_watched() {
                self.file_watcher = None;
            }
        }
    }

    /// Waits a moment for another message and returns it. Most calls follow another call immediately. Waking a sleeping
    /// thread takes as long as a call without a sync.
    fn following(&self) -> Option<Message> {
        let called = Instant::now();
        loop {
            let message = self.messages.try_recv().ok();
            if message.is_some() || called.elapsed() > AWAKE {
                return message;
            }
            // The caller may need this very core to run.
            std::thread::yield_now();
        }
    }

    fn sleep(&mut self) -> Result<Message, RecvTimeoutError> {
        match self.patience() {
            None => self.messages.recv().map_err(|_| RecvTimeoutError::Disconnected),
            Some(patience) => self.messages.recv_timeout(patience),
        }
    }

    /// Returns the time to wait for the next message; `None` without watchers, which means any time.
    fn patience(&mut self) -> Option<Duration> {
        if !self.feed.is_watched() {
            return None;
        }
        let poll = if self.behind.is_some() || self.file_watcher.is_none() { RETRY_DELAY } else { POLL_INTERVAL };
        let due = self.database.next_due().unwrap_or(poll);
        if take(&mut self.database.has_written) {
            // A deadline has just passed, and its watchers were not notified yet.
            return Some(Duration::ZERO);
        }
        let now = Instant::now();
        let settle = self.settle.iter().filter_map(|at| at.checked_duration_since(now)).min().unwrap_or(poll);
        Some(poll.min(due).min(settle))
    }

    fn watch(&mut self, by: &Principal, what: Watched) -> Result<Watch, StoreError> {
        match &what {
            Watched::All => by.check(Operation::Follow)?,
            Watched::Question(id) => {
                self.database.credential = by.credential_id().map(str::to_owned);
                let found = self.database.get(by, &id.into());
                self.database.credential = None;
                drop(found?);
            }
        }
        // Existing watchers get earlier events before the new watcher starts.
        self.tell();
        self.watch_file();
        let last = if self.feed.is_followed() { None } else { Some(self.database.last_event()?) };
        Ok(self.feed.watch(&what, last))
    }

    fn watch_revocations(&mut self) -> Result<Watch, StoreError> {
        self.watch_file();
        Ok(self.feed.watch_revocations(self.database.revocations()?))
    }

    fn watch_file(&mut self) {
        if !self.feed.is_watched() {
            self.file_watcher = FileWatcher::of(self.database.path(), {
                let sender = self.sender.clone();
                move || drop(sender.send(Message::Changed))
            });
        }
    }

    /// Sends new events to watchers, unless the last read has just failed.
    fn tell(&mut self) {
        if !self.feed.is_watched() || self.behind.is_some_and(|since| since.elapsed() < RETRY_DELAY) {
            return;
        }
        match self.tell_all() {
            Ok(()) => self.behind = None,
            // A retry cannot repair a damaged store.
            Err(error @ StoreError::Damaged { .. }) => self.feed.disconnect(&error),
            Err(_) => self.behind = Some(Instant::now()),
        }
    }

    fn tell_all(&mut self) -> Result<(), StoreError> {
        if self.behind.is_some() {
            self.feed.fall_behind();
        }
        if self.feed.follows_revocations() {
            self.feed.tell_revocations(self.database.revocations()?);
        }
        while self.feed.is_followed() && self.feed.tell(self.database.events(self.feed.last(), BATCH)?) {}
        Ok(())
    }
}
