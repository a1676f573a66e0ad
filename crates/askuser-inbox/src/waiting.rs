//! Waiting for answers: one thread looks into the store whenever it has changed, however many wait.

use crate::changes::SETTLE;
use askuser::RequestKey;
use askuser::store::{Ending, State as QuestionState, Store, StoreError};
use std::collections::HashMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// How long the store is left alone at most: a notice of a change can be lost, a question must not be.
const LOOK_ANYWAY: Duration = Duration::from_secs(60);
/// How soon to look again when the store could not be read.
const LOOK_AGAIN: Duration = Duration::from_secs(1);
/// How long the thread stays when nobody waits any more: the next question is often near.
const LINGER: Duration = Duration::from_secs(1);
/// How many events are read at once.
const MANY: u32 = 1000;

/// A store, and waiting for what happens in it. Clones share the waiting.
#[derive(Clone)]
pub struct Inbox(Arc<Inner>);

struct Inner {
    store: Arc<dyn Store>,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    waiting: HashMap<String, Vec<Arc<Mutex<Slot>>>>,
    /// How many ask the same question here, by its key.
    asking: HashMap<String, usize>,
    /// Those that have not been looked up yet.
    fresh: Vec<String>,
    is_running: bool,
    is_changed: bool,
}

#[derive(Default)]
struct Slot {
    ended: Option<Result<Ending, StoreError>>,
    waker: Option<Waker>,
}

impl Inbox {
    /// Waits in this store.
    pub fn new(store: Arc<dyn Store>) -> Inbox {
        Inbox(Arc::new(Inner { store, state: Mutex::default(), changed: Condvar::new() }))
    }

    /// The store.
    pub fn store(&self) -> &Arc<dyn Store> {
        &self.0.store
    }

    /// Somebody asks the question of this key here.
    pub(crate) fn begins_asking(&self, key: &RequestKey) {
        *self.0.state().asking.entry(key.to_string()).or_default() += 1;
    }

    /// They have stopped; whether they were the last.
    pub(crate) fn stops_asking(&self, key: &RequestKey) -> bool {
        let (mut state, key) = (self.0.state(), key.to_string());
        let Some(count) = state.asking.get_mut(&key) else { return true };
        *count -= 1;
        let is_last = *count == 0;
        if is_last {
            state.asking.remove(&key);
        }
        is_last
    }

    /// Completes when the question has ended. Dropping it stops the waiting, and nothing else.
    pub fn wait(&self, id: &str) -> Waiting {
        let slot = Arc::new(Mutex::new(Slot::default()));
        let mut state = self.0.state();
        state.waiting.entry(id.to_owned()).or_default().push(slot.clone());
        state.fresh.push(id.to_owned());
        let start = !std::mem::replace(&mut state.is_running, true);
        drop(state);
        self.0.changed.notify_all();
        if start {
            let inner = Arc::downgrade(&self.0);
            let started = std::thread::Builder::new().name("askuser-inbox".into()).spawn(move || run(&inner));
            if let Err(error) = started {
                let mut state = self.0.state();
                state.is_running = false;
                let broken = || StoreError::broken("cannot wait for the answer", error.to_string());
                state.waiting.drain().flat_map(|(_, slots)| slots).for_each(|slot| finish(&slot, Err(broken())));
            }
        }
        Waiting { id: id.to_owned(), slot, inner: Arc::downgrade(&self.0) }
    }
}

impl Inner {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Tells whoever waits for a question how it ended, if it has.
    fn look_up(&self, id: &str) {
        let ended = match self.store.get(id) {
            Ok(question) => question.ending.map(Ok),
            Err(error @ (StoreError::NoSuchQuestion(_) | StoreError::Ambiguous { .. })) => Some(Err(error)),
            // It cannot be read now: look again later.
            Err(_) => {
                self.state().fresh.push(id.to_owned());
                return;
            }
        };
        let Some(ended) = ended else { return };
        let slots = self.state().waiting.remove(id).unwrap_or_default();
        for slot in slots {
            let ended = match &ended {
                Ok(ending) => Ok(ending.clone()),
                Err(error) => Err(StoreError::broken("cannot wait for the answer", error.to_string())),
            };
            finish(&slot, ended);
        }
    }

    /// Reads what has happened since, and says when to look again.
    fn look(&self, seq: &mut Option<u64>) -> Duration {
        let due = self.store.expire();
        let started_at = match *seq {
            Some(seq) => Ok(seq),
            // From here on nothing is missed; what was before is looked up below.
            None => self.store.last_event(),
        };
        let Ok(mut at) = started_at else { return LOOK_AGAIN };
        let fresh = std::mem::take(&mut self.state().fresh);
        fresh.iter().for_each(|id| self.look_up(id));
        loop {
            let Ok(stretch) = self.store.events(at, MANY) else { return LOOK_AGAIN };
            if stretch.gap {
                let all: Vec<String> = self.state().waiting.keys().cloned().collect();
                all.iter().for_each(|id| self.look_up(id));
                let Ok(last) = self.store.last_event() else { return LOOK_AGAIN };
                at = last;
                break;
            }
            for event in stretch.events.iter().filter(|event| event.state != QuestionState::Pending) {
                let is_awaited = self.state().waiting.contains_key(&event.id);
                if is_awaited {
                    self.look_up(&event.id);
                }
            }
            at = stretch.events.last().map_or(at, |event| event.seq);
            if stretch.events.len() < MANY as usize {
                break;
            }
        }
        *seq = Some(at);
        if !self.state().fresh.is_empty() {
            return LOOK_AGAIN;
        }
        match due {
            Ok(None) => LOOK_ANYWAY,
            Ok(Some(due)) => {
                let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis() as u64;
                Duration::from_millis(due.saturating_sub(now).max(1)).min(LOOK_ANYWAY)
            }
            Err(_) => LOOK_AGAIN,
        }
    }
}

/// Looks whenever something has changed, until nobody waits.
fn run(inner: &Weak<Inner>) {
    let Some(strong) = inner.upgrade() else { return };
    let (weak, store) = (inner.clone(), strong.store.clone());
    let watch = store.watch(Arc::new(move || {
        if let Some(inner) = weak.upgrade() {
            inner.state().is_changed = true;
            inner.changed.notify_all();
        }
    }));
    drop(strong);
    // Without notices it is looked at now and then.
    let anyway = if watch.is_ok() { LOOK_ANYWAY } else { LOOK_AGAIN };
    let (mut seq, mut settle) = (None, [].iter());
    loop {
        let Some(inner) = inner.upgrade() else { return };
        if std::mem::take(&mut inner.state().is_changed) {
            settle = SETTLE.iter();
        }
        let again = inner.look(&mut seq).min(anyway);
        let state = inner.state();
        let is_idle = state.waiting.is_empty();
        let again = settle.next().map_or(again, |settled| again.min(*settled));
        let patience = if is_idle { LINGER } else { again };
        let calm = |state: &mut State| !state.is_changed && state.fresh.is_empty();
        let waited = inner.changed.wait_timeout_while(state, patience, calm);
        let (mut state, timed_out) = waited.unwrap_or_else(PoisonError::into_inner);
        if is_idle && timed_out.timed_out() && state.waiting.is_empty() {
            state.is_running = false;
            return;
        }
    }
}

fn finish(slot: &Mutex<Slot>, ended: Result<Ending, StoreError>) {
    let mut slot = slot.lock().unwrap_or_else(PoisonError::into_inner);
    slot.ended = Some(ended);
    if let Some(waker) = slot.waker.take() {
        waker.wake();
    }
}

/// Waits for a question to end.
#[must_use = "nothing is waited for unless it is awaited"]
pub struct Waiting {
    id: String,
    slot: Arc<Mutex<Slot>>,
    inner: Weak<Inner>,
}

impl Future for Waiting {
    type Output = Result<Ending, StoreError>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let mut slot = self.slot.lock().unwrap_or_else(PoisonError::into_inner);
        match slot.ended.take() {
            Some(ended) => Poll::Ready(ended),
            None => {
                slot.waker = Some(context.waker().clone());
                Poll::Pending
            }
        }
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        let Some(inner) = self.inner.upgrade() else { return };
        let mut state = inner.state();
        if let Some(slots) = state.waiting.get_mut(&self.id) {
            slots.retain(|slot| !Arc::ptr_eq(slot, &self.slot));
            if slots.is_empty() {
                state.waiting.remove(&self.id);
            }
        }
    }
}

impl std::fmt::Debug for Inbox {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Inbox").field("waiting", &self.0.state().waiting.len()).finish_non_exhaustive()
    }
}
