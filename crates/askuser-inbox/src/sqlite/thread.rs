//! The thread that owns a store's connection: it does what callers send, and tells watchers what has happened.
//!
//! Without watchers it sleeps until the next call. With watchers it looks after every change of the file, at each
//! deadline, and once a minute. A notification of a change may be lost, and a question must not be.

use super::database::Database;
use crate::changes::{FileWatcher, SETTLE};
use askuser::store::{Feed, Operation, Principal, StoreError, Watch, Watched};
use futures_channel::oneshot;
use std::io;
use std::mem::take;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};

/// The longest pause between two looks while there are watchers.
const POLL_INTERVAL: Duration = Duration::from_secs(60);
/// The same without file notifications, and the pause after a failed read of the store.
const RETRY_DELAY: Duration = Duration::from_secs(1);
/// The time that the thread stays awake after a call.
const AWAKE: Duration = Duration::from_micros(150);
/// The maximum number of events per read.
const BATCH: u32 = 1000;

/// A message to the thread.
pub(super) enum Message {
    /// Do this.
    Call(Box<dyn FnOnce(&mut Database) + Send>),
    /// Tell this principal what happens.
    Watch { by: Principal, what: Watched, reply: oneshot::Sender<Result<Watch, StoreError>> },
    /// Say when credentials may have been revoked.
    WatchRevocations { reply: oneshot::Sender<Result<Watch, StoreError>> },
    /// The file may have changed.
    Changed,
    /// No caller is left.
    Close,
}

pub(super) struct Thread {
    database: Database,
    messages: Receiver<Message>,
    /// For the watcher of the file.
    sender: Sender<Message>,
    feed: Feed,
    file_watcher: Option<FileWatcher>,
    /// Since when the store could not be read: watchers are told once it can, and not at once.
    behind: Option<Instant>,
    /// The times of further looks after a notification, in case the change was not visible yet.
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

    /// The message that follows a call at once, as most do: to fall asleep and be woken takes as long as a call without a sync.
    fn following(&self) -> Option<Message> {
        let called = Instant::now();
        loop {
            let message = self.messages.try_recv().ok();
            if message.is_some() || called.elapsed() > AWAKE {
                return message;
            }
            // The caller may have been woken on this very core.
            std::thread::yield_now();
        }
    }

    fn sleep(&mut self) -> Result<Message, RecvTimeoutError> {
        match self.patience() {
            None => self.messages.recv().map_err(|_| RecvTimeoutError::Disconnected),
            Some(patience) => self.messages.recv_timeout(patience),
        }
    }

    /// The time to wait for the next message; `None` without watchers.
    fn patience(&mut self) -> Option<Duration> {
        if !self.feed.is_watched() {
            return None;
        }
        let poll = if self.behind.is_some() || self.file_watcher.is_none() { RETRY_DELAY } else { POLL_INTERVAL };
        let due = self.database.next_due().unwrap_or(poll);
        if take(&mut self.database.has_written) {
            // A deadline passed at this very moment: the watchers have not heard of it.
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
        // Existing watchers get earlier events first.
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

    /// Tells watchers what has happened since.
    fn tell(&mut self) {
        if !self.feed.is_watched() || self.behind.is_some_and(|since| since.elapsed() < RETRY_DELAY) {
            return;
        }
        match self.tell_all() {
            Ok(()) => self.behind = None,
            // To try again is of no use.
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
