//! Watches of a store's events.

use super::{QuestionId, State, StoreError};
use serde::{Deserialize, Serialize};
use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::future::poll_fn;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::task::{Context, Poll, Waker};

/// An event of a question. Events are append-only.
///
/// Events become visible in the order of their numbers. A reader that has seen an event never finds a smaller number
/// later.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StoreEvent {
    /// The number of the event. Numbers grow and are never reused in a store.
    pub seq: u64,
    /// The id of the question.
    pub id: QuestionId,
    /// The new state of the question.
    pub state: State,
    /// The time of the event, in milliseconds since 1970.
    pub at_ms: u64,
}

/// A page of events.
#[derive(Clone, Debug, Default)]
pub struct Events {
    /// The events, earliest first.
    pub events: Vec<StoreEvent>,
    /// Whether events are missing before the first one. A follower must then read all questions again.
    pub gap: bool,
    /// The number of the store's latest event, which may be after this page.
    pub last: u64,
}

/// The subject of a watch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Watched {
    /// The events of all questions.
    All,
    /// The events of one question.
    Question(QuestionId),
}

/// A message to a watcher.
#[derive(Debug)]
pub enum Change {
    /// An event of a watched question.
    Event(StoreEvent),
    /// The watcher was too slow, or the store was unreadable for a while. The watcher must read all questions again.
    Lagged,
    /// The store is closed. This is the last message.
    Disconnected(StoreError),
}

/// A stream of changes from the time of its creation. Dropping the stream ends the watch.
pub struct Watch {
    queue: Arc<Mutex<Queue>>,
}

struct Queue {
    changes: VecDeque<Change>,
    waker: Option<Waker>,
}

/// The maximum number of changes queued for a watcher.
const CAPACITY: usize = 1024;

impl Watch {
    /// Creates a watch and its sender.
    pub fn new() -> (WatchSender, Watch) {
        let queue = Arc::new(Mutex::new(Queue { changes: VecDeque::new(), waker: None }));
        (WatchSender(Arc::downgrade(&queue)), Watch { queue })
    }

    /// Returns the next change.
    pub async fn next(&mut self) -> Change {
        poll_fn(|context| self.poll_next(context)).await
    }

    /// Returns the next change if there is one. Otherwise the task is woken when the next change arrives.
    pub fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Change> {
        let mut queue = lock(&self.queue);
        match queue.changes.pop_front() {
            Some(change) => Poll::Ready(change),
            None => {
                queue.waker = Some(context.waker().clone());
                Poll::Pending
            }
        }
    }
}

impl fmt::Debug for Watch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Watch")
    }
}

/// The sending end of a [`Watch`].
#[derive(Clone, Debug)]
pub struct WatchSender(Weak<Mutex<Queue>>);

impl WatchSender {
    /// Sends a change. Returns `false` if the watch was dropped. It never blocks: a full queue is replaced by a lag.
    pub fn send(&self, change: Change) -> bool {
        let Some(queue) = self.0.upgrade() else { return false };
        let waker = {
            let mut queue = lock(&queue);
            if queue.changes.len() >= CAPACITY {
                queue.changes.clear();
                queue.changes.push_back(Change::Lagged);
            }
            queue.changes.push_back(change);
            queue.waker.take()
        };
        if let Some(waker) = waker {
            waker.wake();
        }
        true
    }

    /// Whether the watch was dropped.
    pub fn is_closed(&self) -> bool {
        self.0.strong_count() == 0
    }
}

/// The watchers of a store, by the subject of their watch.
#[derive(Debug, Default)]
pub struct Watchers {
    all: Vec<WatchSender>,
    /// Most watchers wait for one question, so an event finds its watchers by the question's id.
    of_one: HashMap<QuestionId, Vec<WatchSender>>,
    /// The number of watchers added since dropped ones were removed, and the number left then.
    added: usize,
    left: usize,
}

impl Watchers {
    /// Whether there are no watchers. A dropped watcher still counts until its next message.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty() && self.of_one.is_empty()
    }

    /// Adds a watcher of this subject, and returns its watch.
    pub fn add(&mut self, what: &Watched) -> Watch {
        self.added += 1;
        if self.added > CAPACITY + self.left {
            self.forget_closed();
        }
        let (sender, watch) = Watch::new();
        match what {
            Watched::All => self.all.push(sender),
            Watched::Question(id) => self.of_one.entry(id.clone()).or_default().push(sender),
        }
        watch
    }

    /// Sends an event to the watchers of its question and to those of all events.
    pub fn tell(&mut self, event: &StoreEvent) {
        self.all.retain(|watcher| watcher.send(Change::Event(event.clone())));
        if let Some(watchers) = self.of_one.get_mut(&event.id) {
            watchers.retain(|watcher| watcher.send(Change::Event(event.clone())));
            if watchers.is_empty() {
                self.of_one.remove(&event.id);
            }
        }
    }

    /// Sends a lag to all watchers.
    pub fn tell_lagged(&mut self) {
        self.keep(|watcher| watcher.send(Change::Lagged));
    }

    /// Tells all watchers that the store is closed, with the reason.
    pub fn disconnect(&mut self, why: &StoreError) {
        let why = why.chain();
        self.keep(|watcher| {
            let why = StoreError::damaged("cannot wait for the answer", why.clone());
            watcher.send(Change::Disconnected(why))
        });
        *self = Watchers::default();
    }

    /// Removes dropped watchers.
    pub fn forget_closed(&mut self) {
        self.added = 0;
        self.keep(|watcher| !watcher.is_closed());
        self.left = self.all.len() + self.of_one.values().map(Vec::len).sum::<usize>();
    }

    fn keep(&mut self, keep: impl Fn(&WatchSender) -> bool) {
        self.all.retain(&keep);
        self.of_one.retain(|_, watchers| {
            watchers.retain(&keep);
            !watchers.is_empty()
        });
    }
}

/// The watchers of a store with several processes, and the last event sent to them.
#[derive(Debug, Default)]
pub struct Feed {
    watchers: Watchers,
    /// The watchers of revocations, and the number of revocations last sent to them.
    of_revocations: Watchers,
    revoked: u64,
    last: u64,
    is_behind: bool,
}

impl Feed {
    /// Whether there are watchers.
    pub fn is_watched(&self) -> bool {
        !self.watchers.is_empty() || !self.of_revocations.is_empty()
    }

    /// Whether there are watchers of events.
    pub fn is_followed(&self) -> bool {
        !self.watchers.is_empty()
    }

    /// Whether there are watchers of revocations.
    pub fn follows_revocations(&self) -> bool {
        !self.of_revocations.is_empty()
    }

    /// Adds a watcher. `last` is the number of the latest event, given if there is no watcher yet.
    pub fn watch(&mut self, what: &Watched, last: Option<u64>) -> Watch {
        self.last = last.unwrap_or(self.last);
        self.watchers.add(what)
    }

    /// Adds a watcher of revocations. `revoked` is the current number of revocations.
    pub fn watch_revocations(&mut self, revoked: u64) -> Watch {
        self.revoked = revoked;
        self.of_revocations.add(&Watched::All)
    }

    /// Removes watchers that were dropped.
    pub fn forget_closed(&mut self) {
        self.watchers.forget_closed();
        self.of_revocations.forget_closed();
    }

    /// Records that the store could not be read. [`Change::Lagged`] precedes the next events.
    pub fn fall_behind(&mut self) {
        self.is_behind = true;
    }

    /// Tells the event watchers that the store is closed.
    pub fn disconnect(&mut self, why: &StoreError) {
        self.watchers.disconnect(why);
    }

    /// The number of the last event sent to the watchers.
    pub fn last(&self) -> u64 {
        self.last
    }

    /// Tells the watchers of revocations about a new number of revocations.
    pub fn tell_revocations(&mut self, revoked: u64) {
        if revoked != std::mem::replace(&mut self.revoked, revoked) || self.is_behind {
            self.of_revocations.tell_lagged();
        }
        self.is_behind &= self.is_followed();
    }

    /// Sends the events after [`Feed::last`]. Returns whether there may be more.
    pub fn tell(&mut self, stretch: Events) -> bool {
        if stretch.gap || std::mem::take(&mut self.is_behind) {
            (self.last, self.is_behind) = (stretch.last, false);
            self.watchers.tell_lagged();
            return false;
        }
        let is_empty = stretch.events.is_empty();
        for event in stretch.events {
            self.last = event.seq;
            self.watchers.tell(&event);
        }
        let has_more = !is_empty && self.last < stretch.last;
        // An unreadable event is skipped.
        self.last = if has_more { self.last } else { self.last.max(stretch.last) };
        has_more
    }
}

fn lock(queue: &Mutex<Queue>) -> MutexGuard<'_, Queue> {
    queue.lock().unwrap_or_else(PoisonError::into_inner)
}

impl fmt::Debug for Queue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Queue").field("changes", &self.changes.len()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn next(watch: &mut Watch) -> Option<Change> {
        match watch.poll_next(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(change) => Some(change),
            Poll::Pending => None,
        }
    }

    #[test]
    fn a_watcher_that_does_not_look_is_told_that_it_lagged_and_hears_the_latest() {
        let (sender, mut watch) = Watch::new();
        let event =
            |seq| StoreEvent { seq, id: QuestionId::parse("0123456789ab").unwrap(), state: State::Pending, at_ms: 0 };
        for seq in 1..=CAPACITY as u64 {
            assert!(sender.send(Change::Event(event(seq))));
        }
        assert!(matches!(next(&mut watch), Some(Change::Event(event)) if event.seq == 1), "nothing is missing yet");
        for seq in 0..2 {
            sender.send(Change::Event(event(CAPACITY as u64 + 1 + seq)));
        }
        assert!(matches!(next(&mut watch), Some(Change::Lagged)));
        assert!(matches!(next(&mut watch), Some(Change::Event(event)) if event.seq == CAPACITY as u64 + 2));
        assert!(next(&mut watch).is_none());
        drop(watch);
        assert!(sender.is_closed() && !sender.send(Change::Lagged));
    }

    fn stretch(seqs: std::ops::RangeInclusive<u64>, last: u64) -> Events {
        let id = QuestionId::parse("0123456789ab").unwrap();
        let event = |seq| StoreEvent { seq, id: id.clone(), state: State::Pending, at_ms: 0 };
        Events { events: seqs.map(event).collect(), gap: false, last }
    }

    #[test]
    fn a_feed_tells_each_event_once_and_a_gap_as_a_lag() {
        let mut feed = Feed::default();
        assert!(!feed.is_watched());
        let mut watch = feed.watch(&Watched::All, Some(3));
        assert!(feed.is_followed() && feed.is_watched() && !feed.follows_revocations());
        assert!(feed.tell(stretch(4..=5, 7)), "there are more");
        assert_eq!(feed.last(), 5);
        for seq in 4..=5 {
            assert!(matches!(next(&mut watch), Some(Change::Event(event)) if event.seq == seq));
        }
        assert!(!feed.tell(Events { last: 7, ..Events::default() }), "the rest cannot be read");
        assert_eq!((feed.last(), next(&mut watch).is_none()), (7, true));
        assert!(!feed.tell(Events { gap: true, ..stretch(9..=9, 9) }));
        assert!(matches!(next(&mut watch), Some(Change::Lagged)) && next(&mut watch).is_none());
        feed.fall_behind();
        assert!(!feed.tell(stretch(10..=10, 12)));
        assert_eq!(feed.last(), 12);
        assert!(matches!(next(&mut watch), Some(Change::Lagged)) && next(&mut watch).is_none());
        assert!(!feed.tell(stretch(13..=13, 13)), "it has caught up");
        assert!(matches!(next(&mut watch), Some(Change::Event(event)) if event.seq == 13));
        let mut late = feed.watch(&Watched::All, None);
        assert_eq!((feed.last(), next(&mut late).is_none()), (13, true));
        drop((watch, late));
        feed.forget_closed();
        assert!(!feed.is_watched());
    }

    #[test]
    fn a_feed_tells_of_new_revocations_and_after_a_lag() {
        let mut feed = Feed::default();
        let mut watch = feed.watch_revocations(2);
        assert!(feed.follows_revocations() && feed.is_watched() && !feed.is_followed());
        feed.tell_revocations(2);
        assert!(next(&mut watch).is_none());
        feed.tell_revocations(3);
        assert!(matches!(next(&mut watch), Some(Change::Lagged)));
        feed.fall_behind();
        for is_told in [true, false] {
            feed.tell_revocations(3);
            assert_eq!(next(&mut watch).is_some(), is_told);
        }
        let mut events = feed.watch(&Watched::All, Some(0));
        feed.disconnect(&StoreError::NotFound("it".into()));
        assert!(matches!(next(&mut events), Some(Change::Disconnected(_))) && !feed.is_followed());
    }

    #[test]
    fn watchers_that_were_dropped_are_forgotten_though_nothing_happens_to_their_question() {
        let mut watchers = Watchers::default();
        let id = QuestionId::parse("0123456789ab").unwrap();
        let mut kept = watchers.add(&Watched::Question(id.clone()));
        for _ in 0..100_000 {
            drop(watchers.add(&Watched::Question(id.clone())));
            drop(watchers.add(&Watched::All));
        }
        assert!(watchers.all.len() + watchers.of_one[&id].len() < 3 * CAPACITY);
        watchers.tell(&StoreEvent { seq: 1, id, state: State::Withdrawn, at_ms: 0 });
        assert!(matches!(next(&mut kept), Some(Change::Event(_))));
        drop(kept);
        watchers.forget_closed();
        assert!(watchers.is_empty());
    }
}
