//! A store in memory, for tests of surfaces and of the rules themselves.
//!
//! The store has a clock that a test sets. [`MemoryStore::late`] runs calls late and in a random order among processes.
//! It publishes events even later, like a slow server.

mod asking;
mod data;
mod fault;
mod late;
mod listing;

pub use fault::Fault;

use crate::Place;
use askuser::store::{
    Attachment, Call, Command, Events, Filter, NotifierFailure, Operation, Page, Principal, Purged, Put, QuestionId,
    QuestionRef, Reply, SavedDraft, Series, Store, StoreError, StoredQuestion, Watch, Watched,
};
use askuser::{Request, store_commands};
use data::{Data, Waiter};
use futures_channel::oneshot;
use late::Late;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// A store in memory as one process uses it. [`MemoryStore::other`] is another process with the same questions.
#[derive(Clone)]
pub struct MemoryStore {
    shared: Arc<Shared>,
    process: Arc<Process>,
}

struct Process {
    number: u64,
    is_dead: AtomicBool,
    loses_a_reply: AtomicBool,
}

struct Shared {
    data: Mutex<Data>,
    now_ms: AtomicU64,
    processes: AtomicU64,
    fault: Option<Fault>,
    late: Option<Arc<Late>>,
}

impl Drop for Shared {
    fn drop(&mut self) {
        if let Some(late) = &self.late {
            late.close();
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns the error of a call whose reply was lost.
fn lost() -> StoreError {
    StoreError::unknown("cannot use the store in memory", "the reply was lost")
}

impl Default for MemoryStore {
    fn default() -> MemoryStore {
        MemoryStore::new()
    }
}

impl MemoryStore {
    /// Creates an empty store.
    pub fn new() -> MemoryStore {
        MemoryStore::made(None, false)
    }

    /// Creates an empty store that runs calls late and in a random order among processes. Its events become visible
    /// even later.
    pub fn late() -> MemoryStore {
        MemoryStore::made(None, true)
    }

    /// Creates an empty store with this fault. The store is a late one if the fault needs that.
    pub fn faulty(fault: Fault) -> MemoryStore {
        let is_late = matches!(
            fault,
            Fault::NumbersBeforeCommit | Fault::CallsOvertake | Fault::DroppedCallIsTakenBack | Fault::ClaimWinsTwice
        );
        MemoryStore::made(Some(fault), is_late)
    }

    fn made(fault: Option<Fault>, is_late: bool) -> MemoryStore {
        let late = is_late.then(|| Arc::new(Late::new()));
        let shared = Arc::new(Shared {
            data: Mutex::new(Data::new(fault, is_late)),
            now_ms: AtomicU64::new(1_000_000),
            processes: AtomicU64::new(0),
            fault,
            late,
        });
        if let Some(late) = &shared.late {
            late::start(late, Arc::downgrade(&shared));
        }
        MemoryStore::of(shared)
    }

    fn of(shared: Arc<Shared>) -> MemoryStore {
        let number = shared.processes.fetch_add(1, Ordering::Relaxed);
        let process = Process { number, is_dead: false.into(), loses_a_reply: false.into() };
        MemoryStore { shared, process: Arc::new(process) }
    }

    /// Returns the same store as another process uses it.
    #[must_use]
    pub fn other(&self) -> MemoryStore {
        MemoryStore::of(self.shared.clone())
    }

    /// Returns the time of the store's clock, in milliseconds since 1970.
    pub fn now_ms(&self) -> u64 {
        self.shared.now_ms.load(Ordering::Relaxed)
    }

    /// Sets the clock, in milliseconds since 1970. Questions past their deadline end, and watchers are notified.
    pub fn set_time(&self, ms: u64) {
        self.shared.now_ms.store(ms, Ordering::Relaxed);
        if self.shared.fault != Some(Fault::DeadlineIsNotTold) {
            drop(self.call(|_| Ok(())));
        }
    }

    /// Advances the clock by this time.
    pub fn advance(&self, time: Duration) {
        self.set_time(self.now_ms() + u64::try_from(time.as_millis()).unwrap_or(u64::MAX));
    }

    /// Loses the reply to the next put, ending or claim of this process. The call still takes effect.
    pub fn lose_the_next_reply(&self) {
        self.process.loses_a_reply.store(true, Ordering::Relaxed);
    }

    /// Kills this process: its later calls have no effect, and its waiters are removed.
    pub fn die(&self) {
        let number = self.process.number;
        crate::wait(self.call(move |data| {
            data.bury(number);
            Ok(())
        }))
        .unwrap_or_default();
        self.process.is_dead.store(true, Ordering::Relaxed);
    }

    /// Queues work before it returns. The work runs even if the returned future is dropped.
    fn call<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Data) -> Result<T, StoreError> + Send + 'static,
    ) -> Call<T> {
        let process = &self.process;
        if process.is_dead.load(Ordering::Relaxed) {
            let dead = StoreError::unavailable("cannot use the store in memory", "this process has died");
            return Box::pin(std::future::ready(Err(dead)));
        }
        let work = move |shared: &Shared| {
            let now = shared.now_ms.load(Ordering::Relaxed);
            let mut data = lock(&shared.data);
            data.begin(now);
            work(&mut data)
        };
        let Some(late) = &self.shared.late else {
            return Box::pin(std::future::ready(work(&self.shared)));
        };
        let (reply, replied) = oneshot::channel();
        late.add(
            process.number,
            Box::new(move |shared| {
                if shared.fault == Some(Fault::DroppedCallIsTakenBack) && reply.is_canceled() {
                    return;
                }
                let done = work(shared);
                drop(reply.send(done));
            }),
        );
        Box::pin(async move { replied.await.unwrap_or_else(|_| Err(lost())) })
    }

    /// Queues work for a principal. The work fails if the principal's credential was revoked.
    fn call_by<T: Send + 'static>(
        &self,
        by: &Principal,
        work: impl FnOnce(&mut Data, &Principal) -> Result<T, StoreError> + Send + 'static,
    ) -> Call<T> {
        let by = by.clone();
        self.call(move |data| {
            if !data.is_live(&by) {
                return Err(StoreError::revoked());
            }
            work(data, &by)
        })
    }

    /// Returns a call whose reply is lost if a test has asked for that.
    fn losable<T: Send + 'static>(&self, call: Call<T>) -> Call<T> {
        if self.process.loses_a_reply.swap(false, Ordering::Relaxed) {
            Box::pin(async move { call.await.and_then(|_| Err(lost())) })
        } else {
            call
        }
    }

    fn attachment(&self, waiter: Option<Waiter>) -> Attachment {
        let store = self.clone();
        Attachment::new(move |how| {
            store.call(move |data| {
                waiter.into_iter().for_each(|waiter| data.detach(waiter, how));
                Ok(())
            })
        })
    }

    /// Runs a command. The reply to an ending or a claim can be lost.
    fn apply(&self, by: &Principal, command: Command) -> Call<Reply> {
        let process = self.process.number;
        let is_losable = matches!(command, Command::End { .. } | Command::Claim { .. });
        let call = self.call_by(by, move |data, by| Ok(data.apply(process, by, &command)?.0));
        if is_losable { self.losable(call) } else { call }
    }
}

impl Place for MemoryStore {
    fn open(&self) -> Arc<dyn Store> {
        Arc::new(self.other())
    }

    fn set_time(&self, ms: u64) {
        MemoryStore::set_time(self, ms);
    }

    fn with_credential(&self, by: &Principal) -> Principal {
        let id = crate::wait(self.call(|data| Ok(data.new_credential()))).unwrap_or_default();
        by.clone().with_credential_id(id)
    }

    fn revoke(&self, by: &Principal) {
        let id = by.credential_id().unwrap_or_default().to_owned();
        crate::wait(self.call(move |data| {
            data.credentials.remove(&id);
            Ok(())
        }))
        .unwrap_or_default();
    }

    fn die_waiting(&self, request: &Request, series: Option<&Series>) -> QuestionId {
        let process = self.other();
        let put = crate::wait(process.put(&Principal::agent(request.origin()), request, series));
        let put = put.unwrap_or_else(|error| panic!("cannot put: {}", error.chain()));
        process.die();
        put.question.id
    }
}

/// Implements calls that [`Data`] runs without changes.
macro_rules! forward {
    ($($name:ident($($argument:ident: $kind:ty),*) -> $output:ty;)*) => {$(
        fn $name(&self, by: &Principal, $($argument: $kind),*) -> Call<$output> {
            $(let $argument = $argument.to_owned();)*
            self.call_by(by, move |data, by| data.$name(by, $(&$argument),*))
        }
    )*};
}

impl Store for MemoryStore {
    fn put(&self, by: &Principal, request: &Request, series: Option<&Series>) -> Call<Put> {
        let request = Arc::new(request.clone());
        let series = series.cloned();
        let store = self.clone();
        self.losable(self.call_by(by, move |data, by| {
            let command = Command::Put { request, series, id: data.new_id() };
            match data.apply(store.process.number, by, &command)? {
                (Reply::Put { is_new, question }, waiter) => {
                    Ok(Put { is_new, question: *question, attachment: store.attachment(waiter) })
                }
                (other, _) => panic!("a put replies {other:?}"),
            }
        }))
    }

    store_commands!();

    forward! {
        get(which: &QuestionRef) -> StoredQuestion;
        resolve(abbreviation: &str) -> Vec<QuestionId>;
        drafts(which: &QuestionRef) -> Vec<SavedDraft>;
        list(filter: &Filter) -> Page;
        count(filter: &Filter) -> u64;
        watch(what: &Watched) -> Watch;
        is_list_shown() -> bool;
        last_failure() -> Option<NotifierFailure>;
        purge(before_ms: u64) -> Purged;
    }

    fn attach(&self, by: &Principal, id: &QuestionId) -> Call<Attachment> {
        let store = self.clone();
        let command = Command::Attach { id: id.clone() };
        self.call_by(by, move |data, by| Ok(store.attachment(data.apply(store.process.number, by, &command)?.1)))
    }

    fn events(&self, by: &Principal, after: u64, limit: u32) -> Call<Events> {
        self.call_by(by, move |data, by| data.events(by, after, limit))
    }

    fn show_list(&self, by: &Principal) -> Call<Attachment> {
        let store = self.clone();
        self.call_by(by, move |data, by| {
            by.check(Operation::Follow)?;
            let list = data.show_list(store.process.number);
            let hide = move |data: &mut Data| {
                data.lists.remove(&list);
                Ok(())
            };
            Ok(Attachment::new(move |_| store.call(hide)))
        })
    }

    fn note_failure(&self, by: &Principal, failure: Option<&NotifierFailure>) -> Call<()> {
        let failure = failure.cloned();
        self.call_by(by, move |data, _| {
            data.failure = failure.map(|failure| NotifierFailure { at_ms: data.now_ms, ..failure });
            Ok(())
        })
    }

    fn flush(&self) -> Call<()> {
        self.call(|_| Ok(()))
    }
}

impl std::fmt::Debug for MemoryStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("MemoryStore").field("process", &self.process.number).finish_non_exhaustive()
    }
}
