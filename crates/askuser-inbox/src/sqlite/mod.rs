//! The store in one SQLite file. SQLite is compiled in.
//!
//! One thread owns the connection ([`thread`]). Callers send it work and await the reply without blocking. Writes that
//! must survive (questions, endings, claims) are synced before a call completes. Conveniences (waiters, deliveries,
//! drafts) are written without a sync. So after a crash of the machine an answer may be delivered twice, but it is
//! never lost.

mod backup;
mod commands;
mod credentials;
mod database;
mod error;
mod filter;
mod reading;
mod row;
mod schema;
mod thread;
mod waiters;

use self::commands::new_id;
use self::database::Database;
use self::thread::{Message, Thread};
use self::waiters::Waiter;
use askuser::store::{
    Attachment, Call, Command, Events, Filter, NotifierFailure, Page, Principal, Purged, Put, QuestionId, QuestionRef,
    Reply, SavedDraft, Series, Store, StoreError, StoredQuestion, Watch, Watched,
};
use askuser::{Request, store_commands};
use futures_channel::oneshot;
use std::path::{Path, PathBuf};
use std::sync::{Arc, mpsc};
use std::time::{SystemTime, UNIX_EPOCH};

/// A clock that returns the time in milliseconds since 1970.
pub type Clock = Arc<dyn Fn() -> u64 + Send + Sync>;

/// A store of questions in a file. Any number of processes of one machine may share the file, each through a
/// [`Handle`](askuser::store::Handle) with its principal.
///
/// ```
/// use askuser::input::QuestionInput;
/// use askuser::store::{Attempt, Handle, Principal};
/// use askuser::{Origin, Outcome, QuestionSet, Request, RequestKey, Rules, Via};
/// use askuser_inbox::SqliteStore;
/// use std::sync::Arc;
///
/// # pollster::block_on(async {
/// # let folder = tempfile::tempdir()?;
/// let store = Arc::new(SqliteStore::open(&folder.path().join("inbox.sqlite"))?);
/// let question = QuestionInput::new("Deploy?", "Deploy").option("Yes", "Now").option("No", "Not today");
/// let request = Request::new(RequestKey::new("release", "1"), QuestionSet::new([question], &Rules::strict())?);
///
/// let agent = Handle::new(store, Principal::agent(&Origin::default()));
/// let asked = agent.put(&request, None).await?;
///
/// let ada = agent.by(Principal::person("ada", Via::Inbox));
/// let yes = request.set().questions()[0].answer(&[0], None, None).expect("an option");
/// let answer = Outcome::answered(request.set(), vec![yes])?;
/// ada.answer(&asked.question.id, answer, &Attempt::new("1")).await?;
///
/// let ending = agent.wait(&asked.question.id).await?;
/// assert_eq!(ending.by(), Some("ada"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # }).unwrap();
/// ```
#[derive(Clone)]
pub struct SqliteStore(Arc<Inner>);

struct Inner {
    path: PathBuf,
    thread: mpsc::Sender<Message>,
}

impl Drop for Inner {
    fn drop(&mut self) {
        // The thread completes the queued calls and ends.
        let _ = self.thread.send(Message::Close);
    }
}

impl SqliteStore {
    /// Opens a store that only this user can access. Creates the file if needed.
    ///
    /// # Errors
    /// If the file belongs to another user, is damaged, is newer than this program, or is accessible to other users.
    pub fn open(path: &Path) -> Result<SqliteStore, StoreError> {
        SqliteStore::open_for_test(path, Arc::new(now_ms), true)
    }

    /// Opens a store for a test, with another clock. If `is_synced` is `false`, writes may be lost in a crash of the
    /// machine.
    ///
    /// # Errors
    /// Returns the errors of [`SqliteStore::open`].
    pub fn open_for_test(path: &Path, clock: Clock, is_synced: bool) -> Result<SqliteStore, StoreError> {
        SqliteStore::start(Database::open(path, clock, is_synced)?)
    }

    fn start(database: Database) -> Result<SqliteStore, StoreError> {
        let path = database.path().to_owned();
        let (thread, messages) = mpsc::channel();
        Thread::new(database, thread.clone(), messages)
            .start()
            .map_err(|error| StoreError::unavailable(format!("cannot open {}", path.display()), error))?;
        Ok(SqliteStore(Arc::new(Inner { path, thread })))
    }

    /// Returns the path of the file.
    pub fn path(&self) -> &Path {
        &self.0.path
    }

    /// Returns the problems that SQLite's own check finds. A consistent store has none.
    pub fn integrity(&self) -> Call<Vec<String>> {
        self.call(|database| database.integrity())
    }

    /// Writes a consistent copy to a new file that only this user can read. Other processes may write meanwhile.
    /// Returns the number of questions in the copy.
    pub fn backup(&self, to: &Path) -> Call<u64> {
        let to = to.to_owned();
        self.call(move |database| database.backup(&to))
    }

    /// Sends work to the thread before it returns. The work runs even if the returned future is dropped.
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

    /// Sends work for a principal to the thread. The work fails if the principal's credential was revoked.
    fn call_by<T: Send + 'static>(
        &self,
        by: &Principal,
        work: impl FnOnce(&mut Database, &Principal) -> Result<T, StoreError> + Send + 'static,
    ) -> Call<T> {
        let by = by.clone();
        self.call(move |database| {
            database.credential = by.credential_id().map(str::to_owned);
            work(database, &by)
        })
    }

    fn send<T: Send + 'static>(
        &self,
        message: impl FnOnce(oneshot::Sender<Result<T, StoreError>>) -> Message,
    ) -> Call<T> {
        let (reply, replied) = oneshot::channel();
        let _ = self.0.thread.send(message(reply));
        let store = self.clone();
        Box::pin(async move {
            let lost = || format!("cannot use {}", store.path().display());
            replied.await.unwrap_or_else(|_| Err(StoreError::unknown(lost(), "the thread of the store has failed")))
        })
    }

    /// Returns a guard. Dropping the guard records that a waiter of this process has left.
    fn attachment(&self, waiter: Option<Waiter>) -> Attachment {
        let store = self.clone();
        Attachment::new(move |how| {
            store.call(move |database| waiter.map_or(Ok(()), |waiter| database.detach(&waiter, how)))
        })
    }

    fn apply(&self, by: &Principal, command: Command) -> Call<Reply> {
        self.call_by(by, move |database, by| Ok(database.apply(by, &command)?.0))
    }
}

/// Implements calls that the thread runs without changes.
macro_rules! forward {
    ($($name:ident($($argument:ident: $kind:ty),*) -> $output:ty;)*) => {$(
        fn $name(&self, by: &Principal, $($argument: $kind),*) -> Call<$output> {
            $(let $argument = $argument.to_owned();)*
            self.call_by(by, move |database, by| database.$name(by, $(&$argument),*))
        }
    )*};
}

impl Store for SqliteStore {
    fn put(&self, by: &Principal, request: &Request, series: Option<&Series>) -> Call<Put> {
        let request = Arc::new(request.clone());
        let series = series.cloned();
        let store = self.clone();
        self.call_by(by, move |database, by| {
            let (reply, waiter) = database.apply(by, &Command::Put { request, series, id: new_id()? })?;
            let Reply::Put { is_new, question } = reply else { unreachable!("a put replies with its question") };
            Ok(Put { is_new, question: *question, attachment: store.attachment(waiter) })
        })
    }

    store_commands!();

    forward! {
        get(which: &QuestionRef) -> StoredQuestion;
        resolve(abbreviation: &str) -> Vec<QuestionId>;
        drafts(which: &QuestionRef) -> Vec<SavedDraft>;
        list(filter: &Filter) -> Page;
        count(filter: &Filter) -> u64;
        is_list_shown() -> bool;
        last_failure() -> Option<NotifierFailure>;
        purge(before_ms: u64) -> Purged;
    }

    // The thread creates the attachment, so that a caller that has left meanwhile is recorded as gone.

    fn attach(&self, by: &Principal, id: &QuestionId) -> Call<Attachment> {
        let command = Command::Attach { id: id.clone() };
        let store = self.clone();
        self.call_by(by, move |database, by| Ok(store.attachment(database.apply(by, &command)?.1)))
    }

    fn show_list(&self, by: &Principal) -> Call<Attachment> {
        let store = self.clone();
        self.call_by(by, move |database, by| {
            let name = database.show_list(by)?;
            Ok(Attachment::new(move |_| store.call(move |database| database.hide_list(&name))))
        })
    }

    fn events(&self, by: &Principal, after: u64, limit: u32) -> Call<Events> {
        self.call_by(by, move |database, by| database.events_for(by, after, limit))
    }

    fn watch(&self, by: &Principal, what: &Watched) -> Call<Watch> {
        let by = by.clone();
        let what = what.clone();
        self.send(|reply| Message::Watch { by, what, reply })
    }

    fn note_failure(&self, by: &Principal, failure: Option<&NotifierFailure>) -> Call<()> {
        let failure = failure.cloned();
        self.call_by(by, move |database, _| database.note_failure(failure.as_ref()))
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

fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}
