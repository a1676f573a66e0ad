//! Runs calls late, and those of several processes in a random order. A network, or a database with many connections,
//! does the same. The calls of one process keep their order.

use super::fault::Fault;
use super::{Shared, lock};
use crate::SeededRng;
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Condvar, Mutex, PoisonError, Weak};
use std::time::Duration;

/// The maximum number of events that are held back.
const MOST_UNSEEN: usize = 32;
const PAUSE: Duration = Duration::from_micros(100);

/// A call of a process, ready to run.
pub(super) type Job = Box<dyn FnOnce(&Shared) + Send>;

pub(super) struct Late {
    jobs: Mutex<Jobs>,
    more: Condvar,
}

struct Jobs {
    /// The calls by process, so that the calls of each process keep their order.
    lanes: BTreeMap<u64, VecDeque<Job>>,
    is_closed: bool,
}

impl Late {
    pub(super) fn new() -> Late {
        Late { jobs: Mutex::new(Jobs { lanes: BTreeMap::new(), is_closed: false }), more: Condvar::new() }
    }

    pub(super) fn add(&self, process: u64, job: Job) {
        lock(&self.jobs).lanes.entry(process).or_default().push_back(job);
        self.more.notify_one();
    }

    pub(super) fn close(&self) {
        lock(&self.jobs).is_closed = true;
        self.more.notify_one();
    }
}

/// Starts the thread that runs queued calls until the queue is closed.
pub(super) fn start(late: &Arc<Late>, shared: Weak<Shared>) {
    let late = late.clone();
    std::thread::spawn(move || {
        let mut dice = SeededRng::new(23);
        while let Some(shared) = next(&late, &shared, &mut dice) {
            drop(shared);
        }
    });
}

/// Runs one call. Returns the store, so that it is dropped without a lock; `None` once the store is gone.
fn next(late: &Late, shared: &Weak<Shared>, dice: &mut SeededRng) -> Option<Arc<Shared>> {
    // Events become visible late and in another order. They get their numbers only then.
    let is_time = dice.below(8) == 0;
    let unseen = {
        let shared = shared.upgrade()?;
        let mut data = lock(&shared.data);
        let unseen = data.unseen();
        if unseen > MOST_UNSEEN || is_time {
            data.publish_one(dice);
        }
        unseen
    };
    let mut jobs = lock(&late.jobs);
    while jobs.lanes.is_empty() && !jobs.is_closed {
        if unseen > 0 {
            let (guard, _) = late.more.wait_timeout(jobs, PAUSE).unwrap_or_else(PoisonError::into_inner);
            jobs = guard;
            break;
        }
        jobs = late.more.wait(jobs).unwrap_or_else(PoisonError::into_inner);
    }
    if jobs.is_closed {
        return None;
    }
    let shared = shared.upgrade()?;
    let Some(lane) = jobs.lanes.keys().nth(dice.below(jobs.lanes.len().max(1))).copied() else {
        drop(jobs);
        lock(&shared.data).publish_one(dice);
        return Some(shared);
    };
    let queue = jobs.lanes.get_mut(&lane)?;
    let job = match shared.fault {
        Some(Fault::CallsOvertake) => queue.pop_back(),
        _ => queue.pop_front(),
    }?;
    if queue.is_empty() {
        jobs.lanes.remove(&lane);
    }
    drop(jobs);
    job(&shared);
    Some(shared)
}
