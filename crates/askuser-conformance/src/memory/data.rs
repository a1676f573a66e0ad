//! The stored questions, events and attachments of the store in memory.

use super::fault::{Fault, decide};
use crate::SeededRng;
use askuser::RequestKey;
use askuser::store::{
    AskerPresence, Command, Departure, Events, Found, NewEvent, NotifierFailure, Operation, Principal, Purged,
    QuestionId, QuestionRef, Record, SavedDraft, Scope, StoreError, StoreEvent, StoredQuestion, Watch, Watched,
    Watchers,
};
use std::collections::{BTreeMap, BTreeSet, HashMap};

#[derive(Default)]
pub(super) struct Data {
    pub(super) now_ms: u64,
    pub(super) fault: Option<Fault>,
    pub(super) watchers: Watchers,
    pub(super) failure: Option<NotifierFailure>,
    /// The questions in the order in which they were asked.
    pub(super) kept: Vec<Kept>,
    pub(super) by_id: BTreeMap<QuestionId, usize>,
    /// The indexes of questions by key and credential. Each credential has separate keys.
    pub(super) by_key: HashMap<RequestKey, BTreeMap<Option<String>, usize>>,
    pub(super) by_series: HashMap<String, Vec<usize>>,
    /// The deadlines of pending questions, with the index of the question.
    pub(super) expiring: BTreeSet<(u64, usize)>,
    /// The processes that show a list, by the number of their attachment.
    pub(super) lists: HashMap<u64, u64>,
    pub(super) attachments: u64,
    /// The ids of the valid credentials.
    pub(super) credentials: BTreeSet<String>,
    pub(super) ids: SeededRng,
    /// The visible events in the order of their numbers.
    log: Vec<StoreEvent>,
    /// The committed events that are not visible yet; `None` if events are visible immediately.
    unseen: Option<Vec<StoreEvent>>,
    last_number: u64,
    /// The number of the last event that is visible, or was visible before a purge.
    last_visible: u64,
}

/// A question with the data that callers do not get.
pub(super) struct Kept {
    pub(super) record: Record,
    pub(super) words: String,
    pub(super) drafts: HashMap<String, Vec<SavedDraft>>,
    /// The processes that wait for the question, by the number of their attachment.
    pub(super) waiters: HashMap<u64, u64>,
    /// Whether the question was removed. Its index stays reserved.
    pub(super) is_purged: bool,
}

/// The index of a question that a caller waits for, and the number of the caller's attachment.
pub(super) type Waiter = (usize, u64);

impl Data {
    pub(super) fn new(fault: Option<Fault>, is_late: bool) -> Data {
        Data { fault, ids: SeededRng::new(5), unseen: is_late.then(Vec::new), ..Data::default() }
    }

    /// Whether the store has this fault.
    pub(super) fn errs(&self, fault: Fault) -> bool {
        self.fault == Some(fault)
    }

    /// Starts a call at this time. Ends the questions past their deadline first.
    pub(super) fn begin(&mut self, now_ms: u64) {
        self.now_ms = now_ms;
        if self.errs(Fault::DeadlineIsIgnored) {
            return;
        }
        while self.expiring.first().is_some_and(|(due, _)| *due <= now_ms)
            && let Some((_, n)) = self.expiring.pop_first()
        {
            let command = Command::Expire { id: self.kept[n].record.question.id.clone() };
            // The store itself runs this command.
            drop(self.apply(0, &Principal::observer(), &command));
        }
    }

    /// Whether the credential of a principal is valid.
    pub(super) fn is_live(&self, by: &Principal) -> bool {
        by.credential_id().is_none_or(|id| self.credentials.contains(id)) || self.errs(Fault::RevocationIsIgnored)
    }

    pub(super) fn new_credential(&mut self) -> String {
        let id = format!("{:012x}", self.ids.number());
        self.credentials.insert(id.clone());
        id
    }

    /// Returns the index of a question.
    ///
    /// # Errors
    /// If no question of this id or key exists.
    pub(super) fn find(&self, by: &Principal, which: &QuestionRef) -> Result<usize, StoreError> {
        let found = match which {
            QuestionRef::Id(id) => self.by_id.get(id),
            QuestionRef::Key(key) => self.by_key.get(key).and_then(|named| match by.scope() {
                Scope::Of(_) => named.get(&None),
                Scope::OfCredential(credential) => named.get(&Some(credential.to_owned())),
                _ => named.get(&None).or(named.values().next().filter(|_| named.len() == 1)),
            }),
        };
        found.copied().ok_or_else(|| StoreError::NotFound(which.to_string()))
    }

    pub(super) fn check(&self, by: &Principal, act: Operation<'_>) -> Result<(), StoreError> {
        if self.errs(Fault::PrincipalIsNotChecked) { Ok(()) } else { by.check(act) }
    }

    /// Returns a question as callers get it now.
    pub(super) fn read(&self, n: usize) -> StoredQuestion {
        let kept = &self.kept[n];
        let mut question = kept.record.question.clone();
        if question.ending.is_none() && !kept.waiters.is_empty() {
            question.asker = AskerPresence::Waits;
        }
        question.read_ms = self.now_ms;
        question
    }

    /// Records an event of a question.
    pub(super) fn event(&mut self, n: usize, event: NewEvent) {
        let id = self.kept[n].record.question.id.clone();
        let event = StoreEvent { seq: 0, id, state: event.state, at_ms: event.at_ms };
        let is_numbered = self.errs(Fault::NumbersBeforeCommit);
        match &mut self.unseen {
            Some(unseen) if is_numbered => {
                self.last_number += 1;
                unseen.push(StoreEvent { seq: self.last_number, ..event });
            }
            Some(unseen) => unseen.push(event),
            None => self.publish(event),
        }
    }

    /// Returns the number of committed events that are not visible yet.
    pub(super) fn unseen(&self) -> usize {
        self.unseen.as_ref().map_or(0, Vec::len)
    }

    /// Makes one committed event visible, if there is one.
    pub(super) fn publish_one(&mut self, dice: &mut SeededRng) {
        let Some(unseen) = self.unseen.as_mut().filter(|unseen| !unseen.is_empty()) else { return };
        // The choice is random, but the events of one question stay in order.
        let any = &unseen[dice.below(unseen.len())];
        let earliest = unseen.iter().position(|event| event.id == any.id).unwrap_or_default();
        let event = unseen.remove(earliest);
        self.publish(event);
    }

    fn publish(&mut self, mut event: StoreEvent) {
        if event.seq == 0 {
            self.last_number += 1;
            event.seq = self.last_number;
        }
        if !(self.errs(Fault::WatchersMissEvents) && event.seq.is_multiple_of(10)) {
            self.watchers.tell(&event);
        }
        self.last_visible = self.last_visible.max(event.seq);
        let place = self.log.partition_point(|earlier| earlier.seq < event.seq);
        self.log.insert(place, event);
    }

    pub(super) fn events(&self, by: &Principal, after: u64, limit: u32) -> Result<Events, StoreError> {
        self.check(by, Operation::Follow)?;
        let last = self.last_visible;
        let from = self.log.partition_point(|event| event.seq <= after);
        let tells = !self.errs(Fault::PurgedEventsAreNotMissed) && !self.errs(Fault::NumbersBeforeCommit);
        // A missing number was purged. The events after it belong to the next call.
        let whole = self.log[from..].windows(2).take_while(|two| !tells || two[1].seq == two[0].seq + 1).count() + 1;
        let events = self.log[from..].iter().take(whole.min(limit as usize)).cloned().collect();
        let is_purged = self.log.get(from).map_or(after != last, |event| event.seq != after + 1);
        let gap = limit > 0 && (after > last || tells && is_purged) && !self.errs(Fault::GapIsNotTold);
        Ok(Events { events, gap, last })
    }

    pub(super) fn watch(&mut self, by: &Principal, what: &Watched) -> Result<Watch, StoreError> {
        match what {
            Watched::All => by.check(Operation::Follow)?,
            Watched::Question(id) => drop(self.get(by, &id.into())?),
        }
        Ok(self.watchers.add(what))
    }

    pub(super) fn is_list_shown(&mut self, _: &Principal) -> Result<bool, StoreError> {
        Ok(!self.lists.is_empty())
    }

    pub(super) fn last_failure(&mut self, _: &Principal) -> Result<Option<NotifierFailure>, StoreError> {
        Ok(self.failure.clone())
    }

    pub(super) fn purge(&mut self, by: &Principal, before_ms: &u64) -> Result<Purged, StoreError> {
        let found = Found { credential_is_live: self.is_live(by), ..Found::default() };
        decide(self.fault, &found, self.now_ms, by, &Command::Purge { before_ms: *before_ms })?;
        let takes_all = self.errs(Fault::PurgeTakesWhatWaits);
        let is_over = |kept: &Kept| match &kept.record.question.ending {
            Some(ending) => ending.at_ms().is_some_and(|at| at < *before_ms),
            None => takes_all,
        };
        let all = 0..self.kept.len();
        let gone: Vec<usize> = all.filter(|n| !self.kept[*n].is_purged && is_over(&self.kept[*n])).collect();
        for n in &gone {
            let kept = &mut self.kept[*n];
            (kept.is_purged, kept.drafts) = (true, HashMap::new());
            let id = kept.record.question.id.clone();
            let request = kept.record.question.request.clone();
            self.by_id.remove(&id);
            if let Some(named) = self.by_key.get_mut(request.key()) {
                named.retain(|_, known| known != n);
            }
            self.by_series.values_mut().for_each(|all| all.retain(|known| known != n));
            self.log.retain(|event| event.id != id);
            self.unseen.iter_mut().for_each(|unseen| unseen.retain(|event| event.id != id));
        }
        Ok(Purged { count: gone.len() as u64, remains: None })
    }

    /// Adds a waiter of a process to a question.
    pub(super) fn wait_for(&mut self, n: usize, process: u64) -> Waiter {
        self.attachments += 1;
        self.kept[n].waiters.insert(self.attachments, process);
        (n, self.attachments)
    }

    pub(super) fn show_list(&mut self, process: u64) -> u64 {
        self.attachments += 1;
        self.lists.insert(self.attachments, process);
        self.attachments
    }

    pub(super) fn detach(&mut self, (n, attachment): Waiter, how: Departure) {
        let detaches_all = self.errs(Fault::DetachingDetachesAll);
        let waiters = &mut self.kept[n].waiters;
        if waiters.remove(&attachment).is_some() {
            waiters.retain(|_, _| !detaches_all);
            self.note_departure(n, how);
        }
    }

    /// Records when and how the last waiter of a question left, if none remains.
    fn note_departure(&mut self, n: usize, how: Departure) {
        let now = self.now_ms;
        let kept = &mut self.kept[n];
        if kept.waiters.is_empty() {
            kept.record.question.asker = match how {
                Departure::Left => AskerPresence::Left(now),
                Departure::Died => AskerPresence::Died(now),
            };
        }
    }

    /// Removes the waiters and lists of a dead process.
    pub(super) fn bury(&mut self, process: u64) {
        if self.errs(Fault::DeadWaitersLive) {
            return;
        }
        self.lists.retain(|_, shows| *shows != process);
        for n in 0..self.kept.len() {
            let waiters = &mut self.kept[n].waiters;
            let before = waiters.len();
            waiters.retain(|_, waiter| *waiter != process);
            if waiters.len() < before {
                self.note_departure(n, Departure::Died);
            }
        }
    }
}
