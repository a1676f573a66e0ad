//! `PostgresStore` passes each call to the thread that owns the connections, in the lane of the call's subject.

use crate::commands::{Waiter, new_id};
use crate::database::Database;
use crate::per_question_queue::Lane;
use crate::pool::Shared;
use crate::thread::{self, Message};
use crate::{Report, address};
use askuser::store::{
    Attachment, Call, Command, Departure, Events, Filter, NotifierFailure, Page, Principal, Purged, Put, QuestionId,
    QuestionRef, Reply, SavedDraft, Series, Store, StoreError, StoredQuestion, Watch, Watched,
};
use askuser::{Request, store_commands};
use futures_channel::oneshot;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

/// The options of a store.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Options {
    /// The maximum time for which a call retries while the database restarts or fails over.
    pub patience: Duration,
    /// The time limit of one statement. When it passes, the connection is closed.
    pub reply_within: Duration,
    /// The duration of a lease. A process that died still counts as waiting for this long.
    pub lease: Duration,
    /// The maximum number of concurrent statements.
    pub connections: usize,
    /// A token whose cancellation ends every call at once.
    pub stop: CancellationToken,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            patience: Duration::from_secs(20),
            reply_within: Duration::from_secs(10),
            lease: Duration::from_secs(30),
            connections: 16,
            stop: CancellationToken::new(),
        }
    }
}

/// A store of questions in a PostgreSQL database. Any number of processes on any number of machines may share the
/// database, each through a [`Handle`](askuser::store::Handle) with its principal.
#[derive(Clone)]
pub struct PostgresStore(Arc<Inner>);

struct Inner {
    /// The address without the password.
    address: String,
    thread: mpsc::UnboundedSender<Message>,
}

impl Drop for Inner {
    fn drop(&mut self) {
        // The thread completes the queued calls and ends.
        let _ = self.thread.send(Message::Close);
    }
}

impl PostgresStore {
    /// Opens a store and creates its schema if needed. `PGPASSWORD` supplies a missing password.
    ///
    /// # Errors
    /// If the database cannot be reached, has an encoding other than UTF-8, or has a schema of another version.
    pub fn open(address: &str, options: Options) -> Result<PostgresStore, StoreError> {
        let password = std::env::var("PGPASSWORD").ok().filter(|password| !password.is_empty());
        let address = address::Address::parse(address, password)?;
        let shown = address.shown.clone();
        let thread = thread::start(address, options)?;
        Ok(PostgresStore(Arc::new(Inner { address: shown, thread })))
    }

    /// Returns the address of the database without the password.
    pub fn address(&self) -> &str {
        &self.0.address
    }

    /// Reports the configuration and the condition of the database.
    pub fn report(&self) -> Call<Report> {
        self.call(Lane::Free, async |database: Shared<Database>| database.report().await)
    }

    /// Sends work to the thread before it returns. The work runs even if the returned future is dropped.
    pub(crate) fn call<T: Send + 'static>(
        &self,
        lane: Lane,
        work: impl AsyncFnOnce(Shared<Database>) -> Result<T, StoreError> + Send + 'static,
    ) -> Call<T> {
        let (reply, replied) = oneshot::channel();
        let work = Box::new(move |database: Shared<Database>| {
            Box::pin(async move {
                let _ = reply.send(database.clone().until_stopped(work(database.clone())).await);
            }) as _
        });
        let _ = self.0.thread.send(Message::Call(lane, work));
        self.replied(replied)
    }

    fn replied<T: Send + 'static>(&self, replied: oneshot::Receiver<Result<T, StoreError>>) -> Call<T> {
        let store = self.clone();
        Box::pin(async move {
            let lost = || format!("cannot use {}", store.address());
            replied.await.unwrap_or_else(|_| Err(StoreError::unknown(lost(), "the thread of the store has failed")))
        })
    }

    /// Returns a guard. Dropping the guard records that a waiter of this process has left.
    fn attachment(&self, id: QuestionId, waiter: Option<Waiter>) -> Attachment {
        let store = self.clone();
        Attachment::new(move |how: Departure| {
            store.call(Lane::Question(id), async move |database: Shared<Database>| match waiter {
                Some((n, waiter)) => database.detach(n, &waiter, how).await,
                None => Ok(()),
            })
        })
    }

    fn apply(&self, by: &Principal, command: Command) -> Call<Reply> {
        let by = by.clone();
        self.call(Lane::of_command(&by, &command), async move |database: Shared<Database>| {
            Ok(database.apply(&by, &command).await?.0)
        })
    }
}

/// Implements calls that the thread runs without changes, each in the lane of its subject.
macro_rules! forward {
    ($($name:ident($($argument:ident: $kind:ty),*) -> $output:ty, $lane:expr;)*) => {$(
        fn $name(&self, by: &Principal, $($argument: $kind),*) -> Call<$output> {
            #[allow(clippy::redundant_closure_call, reason = "the lane depends on the arguments")]
            let lane = ($lane)(by $(, $argument)*);
            let (by, $($argument),*) = (by.clone(), $($argument.to_owned()),*);
            self.call(lane, async move |database: Shared<Database>| database.$name(&by, $(&$argument),*).await)
        }
    )*};
}

impl Store for PostgresStore {
    fn put(&self, by: &Principal, request: &Request, series: Option<&Series>) -> Call<Put> {
        let by = by.clone();
        let request = Arc::new(request.clone());
        let series = series.cloned();
        let store = self.clone();
        let command = match new_id() {
            Ok(id) => Command::Put { request, series, id },
            Err(error) => return Box::pin(std::future::ready(Err(error))),
        };
        self.call(Lane::of_command(&by, &command), async move |database: Shared<Database>| {
            let (reply, waiter) = database.apply(&by, &command).await?;
            let Reply::Put { is_new, question } = reply else { unreachable!("a put replies with its question") };
            let attachment = store.attachment(question.id.clone(), waiter);
            Ok(Put { is_new, question: *question, attachment })
        })
    }

    store_commands!();

    forward! {
        get(which: &QuestionRef) -> StoredQuestion, Lane::of;
        resolve(abbreviation: &str) -> Vec<QuestionId>, |_, _| Lane::Free;
        drafts(which: &QuestionRef) -> Vec<SavedDraft>, Lane::of;
        list(filter: &Filter) -> Page, |_, _| Lane::Free;
        count(filter: &Filter) -> u64, |_, _| Lane::Free;
        purge(before_ms: u64) -> Purged, |_, _| Lane::Free;
        is_list_shown() -> bool, |_| Lane::Free;
        last_failure() -> Option<NotifierFailure>, |_| Lane::Key(NOTICES.to_vec());
    }

    // The thread creates the attachment, so that a caller that has left meanwhile is recorded as gone.

    fn attach(&self, by: &Principal, id: &QuestionId) -> Call<Attachment> {
        let by = by.clone();
        let id = id.clone();
        let store = self.clone();
        self.call(Lane::Question(id.clone()), async move |database: Shared<Database>| {
            let (_, waiter) = database.apply(&by, &Command::Attach { id: id.clone() }).await?;
            Ok(store.attachment(id, waiter))
        })
    }

    fn show_list(&self, by: &Principal) -> Call<Attachment> {
        let by = by.clone();
        let store = self.clone();
        self.call(Lane::Free, async move |database: Shared<Database>| {
            let list = database.show_list(&by).await?;
            Ok(Attachment::new(move |_| {
                store.call(Lane::Free, async move |database: Shared<Database>| database.hide_list(&list).await)
            }))
        })
    }

    fn events(&self, by: &Principal, after: u64, limit: u32) -> Call<Events> {
        let by = by.clone();
        self.call(Lane::Free, async move |database: Shared<Database>| database.events_for(&by, after, limit).await)
    }

    fn watch(&self, by: &Principal, what: &Watched) -> Call<Watch> {
        let by = by.clone();
        let what = what.clone();
        let lane = match &what {
            Watched::All => Lane::Free,
            Watched::Question(id) => Lane::Question(id.clone()),
        };
        self.call(lane, async move |database: Shared<Database>| database.watch(&by, &what).await)
    }

    fn note_failure(&self, by: &Principal, failure: Option<&NotifierFailure>) -> Call<()> {
        let by = by.clone();
        let failure = failure.cloned();
        self.call(Lane::Key(NOTICES.to_vec()), async move |database: Shared<Database>| {
            database.note_failure(&by, failure.as_ref()).await
        })
    }

    fn flush(&self) -> Call<()> {
        let (reply, replied) = oneshot::channel();
        let _ = self.0.thread.send(Message::Flush(reply));
        self.replied(replied)
    }
}

/// The lane of notifier failures, so that they are stored and read in order.
const NOTICES: &[u8] = b"notices";

impl std::fmt::Debug for PostgresStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PostgresStore").field("address", &self.0.address).finish_non_exhaustive()
    }
}

/// Returns 128 random bits in hexadecimal. They name a process, a waiter or a call.
pub(crate) fn random_id() -> Result<String, StoreError> {
    askuser_sys::random::id().map_err(|error| StoreError::unavailable("cannot get random numbers", error))
}
