//! The store that needs nothing but a file: SQLite, built in.
//!
//! One thread owns the connection ([`thread`]); callers send it what to do and wait for the reply without blocking. What
//! must not be lost (a question, its end, the use of a permission) is synced before a call completes. What may be lost with
//! the machine, because it only makes life easier (which process waits, what was delivered, drafts), is written without a
//! sync of its own: an answer may then be delivered twice, never not at all.

mod answering;
mod asking;
mod database;
mod fault;
mod filter;
mod reading;
mod row;
mod schema;
mod thread;
mod words;

use self::database::Database;
use self::thread::{Message, Thread};
use askuser::Request;
use askuser::store::{
    Attachment, Attempt, Call, Claim, Draft, End, Ending, Events, Filter, NotifierFailure, Page, Principal, Put,
    QuestionId, Series, Store, StoreError, StoredQuestion, Watch, Watched, Which,
};
use futures_channel::oneshot;
use std::path::{Path, PathBuf};
use std::sync::{Arc, mpsc};

/// Tells the time, in milliseconds since 1970.
pub type Clock = Arc<dyn Fn() -> u64 + Send + Sync>;

/// Questions in a file. Any number of processes of one machine may use it at once.
#[derive(Clone)]
pub struct SqliteStore(Arc<Inner>);

struct Inner {
    path: PathBuf,
    thread: mpsc::Sender<Message>,
}

impl Drop for Inner {
    fn drop(&mut self) {
        // The thread does what it was told before, and ends.
        let _ = self.thread.send(Message::Close);
    }
}

impl SqliteStore {
    /// Opens a store, or makes it, readable by this user alone.
    ///
    /// # Errors
    /// Where the file cannot be used: not ours, damaged, newer than this program, or another user can write it.
    pub fn open(path: &Path) -> Result<SqliteStore, StoreError> {
        SqliteStore::start(Database::open(path)?)
    }

    /// Telling the time by another clock, and writing without syncing where anything may be lost with the machine. For tests.
    ///
    /// # Errors
    /// As for [`SqliteStore::open`].
    pub fn open_for_test(path: &Path, clock: Clock, is_synced: bool) -> Result<SqliteStore, StoreError> {
        SqliteStore::start(Database::open(path)?.for_test(clock, is_synced))
    }

    fn start(database: Database) -> Result<SqliteStore, StoreError> {
        let path = database.path().to_owned();
        let (thread, messages) = mpsc::channel();
        Thread::new(database, thread.clone(), messages)
            .start()
            .map_err(|error| StoreError::unavailable(format!("cannot open {}", path.display()), error))?;
        Ok(SqliteStore(Arc::new(Inner { path, thread })))
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.0.path
    }

    /// What SQLite's own check finds wrong; nothing, if all is well.
    pub fn integrity(&self) -> Call<Vec<String>> {
        self.call(|database| database.integrity())
    }

    /// Has the thread do something: it is on its way when this returns.
    fn call<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Database) -> Result<T, StoreError> + Send + 'static,
    ) -> Call<T> {
        self.send(|reply| {
            Message::Call(Box::new(move |database| {
                let _ = reply.send(work(database));
            }))
        })
    }

    fn send<T: Send + 'static>(
        &self,
        message: impl FnOnce(oneshot::Sender<Result<T, StoreError>>) -> Message,
    ) -> Call<T> {
        let (reply, replied) = oneshot::channel();
        let _ = self.0.thread.send(message(reply));
        let what = format!("cannot use {}", self.0.path.display());
        Box::pin(async move {
            replied.await.unwrap_or_else(|_| Err(StoreError::unavailable(what, "the thread of the store has failed")))
        })
    }

    /// Says that a row of this process's is gone, once it is dropped.
    fn attachment(&self, name: String) -> Attachment {
        let store = self.clone();
        Attachment::new(move || store.call(move |database| database.detach(&name)))
    }

    /// A call that begins an attachment.
    fn attaching(
        &self,
        work: impl FnOnce(&mut Database) -> Result<String, StoreError> + Send + 'static,
    ) -> Call<Attachment> {
        let store = self.clone();
        // Made by the thread, so that a caller that has left meanwhile is known to have left.
        self.call(move |database| work(database).map(|name| store.attachment(name)))
    }
}

impl Store for SqliteStore {
    fn put(&self, by: &Principal, request: &Request, series: Option<&Series>) -> Call<Put> {
        let (by, request, series, store) = (by.clone(), request.clone(), series.cloned(), self.clone());
        self.call(move |database| {
            let (is_new, question, attached) = database.put(&by, request, series.as_ref())?;
            Ok(Put { is_new, question, attachment: store.attachment(attached) })
        })
    }

    fn get(&self, by: &Principal, which: &Which) -> Call<StoredQuestion> {
        let (by, which) = (by.clone(), which.clone());
        self.call(move |database| database.get(&by, &which))
    }

    fn resolve(&self, by: &Principal, abbreviation: &str) -> Call<Vec<QuestionId>> {
        let (by, abbreviation) = (by.clone(), abbreviation.to_owned());
        self.call(move |database| database.resolve(&by, &abbreviation))
    }

    fn end(&self, by: &Principal, which: &Which, end: &End, attempt: &Attempt) -> Call<Ending> {
        let (by, which, end, attempt) = (by.clone(), which.clone(), end.clone(), attempt.clone());
        self.call(move |database| database.end(&by, &which, &end, &attempt))
    }

    fn claim(&self, by: &Principal, id: &QuestionId, attempt: &Attempt) -> Call<Claim> {
        let (by, id, attempt) = (by.clone(), id.clone(), attempt.clone());
        self.call(move |database| database.claim(&by, &id, &attempt))
    }

    fn attach(&self, by: &Principal, id: &QuestionId) -> Call<Attachment> {
        let (by, id) = (by.clone(), id.clone());
        self.attaching(move |database| database.attach(&by, &id))
    }

    fn delivered(&self, by: &Principal, id: &QuestionId) -> Call<()> {
        let (by, id) = (by.clone(), id.clone());
        self.call(move |database| database.delivered(&by, &id))
    }

    fn hold(&self, by: &Principal, which: &Which) -> Call<()> {
        let (by, which) = (by.clone(), which.clone());
        self.call(move |database| database.hold(&by, &which))
    }

    fn save_draft(&self, by: &Principal, id: &QuestionId, draft: &Draft) -> Call<()> {
        let (by, id, draft) = (by.clone(), id.clone(), draft.clone());
        self.call(move |database| database.save_draft(&by, &id, &draft))
    }

    fn draft(&self, by: &Principal, id: &QuestionId) -> Call<Draft> {
        let (by, id) = (by.clone(), id.clone());
        self.call(move |database| database.draft(&by, &id))
    }

    fn list(&self, by: &Principal, filter: &Filter) -> Call<Page> {
        let (by, filter) = (by.clone(), filter.clone());
        self.call(move |database| database.list(&by, &filter))
    }

    fn count(&self, by: &Principal, filter: &Filter) -> Call<u64> {
        let (by, filter) = (by.clone(), filter.clone());
        self.call(move |database| database.count(&by, &filter))
    }

    fn events(&self, by: &Principal, after: u64, limit: u32) -> Call<Events> {
        let by = by.clone();
        self.call(move |database| database.events_for(&by, after, limit))
    }

    fn watch(&self, by: &Principal, what: &Watched) -> Call<Watch> {
        let (by, what) = (by.clone(), what.clone());
        self.send(|reply| Message::Watch { by, what, reply })
    }

    fn show_list(&self, by: &Principal) -> Call<Attachment> {
        let by = by.clone();
        self.attaching(move |database| database.show_list(&by))
    }

    fn is_list_shown(&self, _: &Principal) -> Call<bool> {
        self.call(|database| database.is_list_shown())
    }

    fn note_failure(&self, _: &Principal, failure: Option<&NotifierFailure>) -> Call<()> {
        let failure = failure.cloned();
        self.call(move |database| database.note_failure(failure.as_ref()))
    }

    fn last_failure(&self, _: &Principal) -> Call<Option<NotifierFailure>> {
        self.call(|database| database.last_failure())
    }

    fn flush(&self) -> Call<()> {
        self.call(|_| Ok(()))
    }
}

impl std::fmt::Debug for SqliteStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SqliteStore").field("path", &self.0.path).finish_non_exhaustive()
    }
}
