//! Calls that are carried out late, and those of several processes in any order: a network, or a database with many
//! connections. Calls of one process keep their order.

use super::fault::Fault;
use super::{Shared, lock};
use crate::Dice;
use std::collections::BTreeMap;
use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, Weak};

/// Something to do, for a process.
pub(super) type Job = Box<dyn FnOnce(&Shared) + Send>;

pub(super) struct Late {
    jobs: Mutex<Jobs>,
    more: Condvar,
}

struct Jobs {
    /// By process, so that each keeps its order.
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

/// Carries out what is added, until it is closed.
pub(super) fn start(late: &Arc<Late>, shared: Weak<Shared>) {
    let late = late.clone();
    std::thread::spawn(move || {
        let mut dice = Dice::new(23);
        while let Some(shared) = next(&late, &shared, &mut dice) {
            drop(shared);
        }
    });
}

/// Does one thing, and keeps the store until it is done; `None` when there is none any more.
fn next(late: &Late, shared: &Weak<Shared>, dice: &mut Dice) -> Option<Arc<Shared>> {
    // What has happened is told later than it happened, in another order, and with a number of its own.
    if let Some(shared) = shared.upgrade()
        && dice.below(2) == 0
        && lock(&shared.data).publish_one(dice)
    {
        return Some(shared);
    }
    let mut jobs = lock(&late.jobs);
    loop {
        if jobs.is_closed {
            return None;
        }
        if !jobs.lanes.is_empty() {
            break;
        }
        drop(jobs);
        let shared = shared.upgrade()?;
        if lock(&shared.data).publish_one(dice) {
            return Some(shared);
        }
        drop(shared);
        jobs = lock(&late.jobs);
        if jobs.lanes.is_empty() && !jobs.is_closed {
            jobs = late.more.wait(jobs).unwrap_or_else(std::sync::PoisonError::into_inner);
        }
    }
    let shared = shared.upgrade()?;
    let lane = *jobs.lanes.keys().nth(dice.below(jobs.lanes.len()))?;
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
