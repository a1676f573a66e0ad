//! Runs commands: looks up the question and stores the decision of [`step`].

use super::data::{Data, Kept, Waiter};
use super::fault::{Fault, decide};
use askuser::store::{
    Candidate, Command, Cursor, DraftStep, Found, Operation, Principal, QuestionId, QuestionRef, Record, Reply,
    SavedDraft, StoreError, StoredQuestion, Waiters, Write, words,
};
use std::collections::HashMap;

impl Data {
    /// Returns a new id for a question.
    pub(super) fn new_id(&mut self) -> QuestionId {
        let digits = format!("{:012x}", self.ids.number() & 0xffff_ffff_ffff);
        QuestionId::parse(&digits).expect("twelve digits")
    }

    /// Runs a command. Returns the reply, and the caller's waiter if the command makes the caller wait.
    pub(super) fn apply(
        &mut self,
        process: u64,
        by: &Principal,
        command: &Command,
    ) -> Result<(Reply, Option<Waiter>), StoreError> {
        let found = self.look_up(by, command);
        let step = decide(self.fault, &found, self.now_ms, by, command)?;
        let mut reply = step.reply;
        let n = match (step.write, &reply) {
            (Write::Insert(record), _) => {
                let place = self.insert(*record, command);
                if let Reply::Put { question, .. } = &mut reply {
                    question.cursor = self.kept[place].record.question.cursor;
                }
                Some(place)
            }
            (Write::Update(record), _) => Some(self.update(*record)),
            (write, Reply::Put { question, .. }) => {
                debug_assert_eq!(write, Write::Nothing);
                self.by_id.get(&question.id).copied()
            }
            (write, _) => {
                let n = command.question().map(|which| self.find(by, &which)).transpose()?;
                if let (Write::Drafts(drafts), Some(n)) = (write, n) {
                    self.write_drafts(n, by, drafts);
                }
                n
            }
        };
        if let (Some(n), Some(event)) = (n, step.event) {
            self.event(n, event);
        }
        let waiter = match (n, step.waiters) {
            (Some(n), Waiters::Add) => Some(self.wait_for(n, process)),
            (Some(n), Waiters::Remove) => {
                self.kept[n].waiters.clear();
                None
            }
            _ => None,
        };
        Ok((reply, waiter))
    }

    fn look_up(&self, by: &Principal, command: &Command) -> Found {
        let n = command.question().and_then(|which| self.find(by, &which).ok());
        let series = match command {
            Command::Put { series: Some(series), .. } => self.by_series.get(&series.name),
            _ => None,
        };
        let candidate = |n: &usize| Candidate {
            record: self.kept[*n].record.clone(),
            is_waited_for: !self.kept[*n].waiters.is_empty(),
        };
        Found {
            record: n.map(|n| self.kept[n].record.clone()),
            candidates: series.into_iter().flatten().rev().map(candidate).collect(),
            drafts: n.map(|n| self.drafts_of(n, by)).unwrap_or_default(),
            credential_is_live: self.is_live(by),
        }
    }

    fn insert(&mut self, mut record: Record, command: &Command) -> usize {
        let n = self.kept.len();
        record.question.cursor = Cursor { rank: 0, n: n as u64 + 1 };
        let id = record.question.id.clone();
        let request = record.question.request.clone();
        self.expiring.extend(record.question.expires_ms.map(|due| (due, n)));
        self.by_id.insert(id, n);
        self.by_key.entry(request.key().clone()).or_default().insert(request.origin().credential.clone(), n);
        if let Command::Put { series: Some(series), .. } = command {
            self.by_series.entry(series.name.clone()).or_default().push(n);
        }
        let words = words(&request);
        self.kept.push(Kept { record, words, drafts: HashMap::new(), waiters: HashMap::new(), is_purged: false });
        n
    }

    fn update(&mut self, record: Record) -> usize {
        let n = self.by_id[&record.question.id];
        let (forgets_drafts, runs_on) =
            (self.errs(Fault::DraftIsGoneWithItsQuestion), self.errs(Fault::HeldClockRunsOn));
        let kept = &mut self.kept[n];
        if let Some(due) = kept.record.question.expires_ms.filter(|_| !runs_on) {
            self.expiring.remove(&(due, n));
        }
        if forgets_drafts && record.question.ending.is_some() {
            kept.drafts.clear();
        }
        kept.record = record;
        n
    }

    fn drafter(&self, by: &Principal) -> String {
        if self.errs(Fault::DraftIsEverybodys) { String::new() } else { by.name().unwrap_or_default().to_owned() }
    }

    pub(super) fn drafts_of(&self, n: usize, by: &Principal) -> Vec<SavedDraft> {
        SavedDraft::newest_first(self.kept[n].drafts.get(&self.drafter(by)).cloned().unwrap_or_default())
    }

    fn write_drafts(&mut self, n: usize, by: &Principal, step: DraftStep) {
        let person = self.drafter(by);
        let drafts = self.kept[n].drafts.entry(person).or_default();
        let own = step.written.as_ref().map(|written| written.version.writer.clone());
        drafts.retain(|stored| !step.removed.contains(&stored.version) && own.as_ref() != Some(&stored.version.writer));
        drafts.extend(step.written);
    }

    pub(super) fn drafts(&self, by: &Principal, which: &QuestionRef) -> Result<Vec<SavedDraft>, StoreError> {
        let n = self.find(by, which)?;
        self.check(by, Operation::Consider(&self.kept[n].record.question.request))?;
        Ok(self.drafts_of(n, by))
    }

    pub(super) fn get(&self, by: &Principal, which: &QuestionRef) -> Result<StoredQuestion, StoreError> {
        let n = self.find(by, which)?;
        self.check(by, Operation::See(&self.kept[n].record.question.request))?;
        Ok(self.read(n))
    }
}
