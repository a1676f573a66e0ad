//! What agents and people do.

use super::data::{Data, Kept};
use super::fault::Fault;
use askuser::store::{
    Act, Attempt, Claim, Cursor, DraftSave, Earlier, End, Ending, Principal, QuestionId, SavedDraft, Series, State,
    StoreError, StoredQuestion, Which, lasts, words,
};
use askuser::{Purpose, Request, Resolution};
use std::collections::HashMap;
use std::sync::Arc;

impl Data {
    pub(super) fn put(
        &mut self,
        process: u64,
        by: &Principal,
        request: Request,
        series: Option<&Series>,
    ) -> Result<(bool, StoredQuestion, u64), StoreError> {
        self.check(by, Act::Ask(&request))?;
        let known = self.find(by, &request.key().into()).ok();
        let open = series.and_then(|series| self.open_one(by, series, &request));
        let found = match self.errs(Fault::SeriesComesBeforeTheKey) {
            true => open.or(known),
            false => known.or(open),
        };
        let (is_new, n) = match found {
            Some(n) => {
                let stored = &self.kept[n].question.request;
                self.check(by, Act::Use(stored))?;
                if !stored.asks_the_same(&request) && !self.errs(Fault::KeyIsNotCompared) {
                    return Err(StoreError::other_question(stored, &request));
                }
                (false, n)
            }
            None => (true, self.keep(request, series)),
        };
        if let Some(series) = series {
            self.kept[n].conversation = Some(series.conversation.clone());
        }
        let waiter = self.wait_for(n, process);
        Ok((is_new, self.read(n), waiter))
    }

    fn keep(&mut self, request: Request, series: Option<&Series>) -> usize {
        let (n, request) = (self.kept.len(), Arc::new(request));
        let id = loop {
            let digits = format!("{:012x}", self.ids.number() & 0xffff_ffff_ffff);
            match QuestionId::parse(&digits).filter(|id| !self.by_id.contains_key(id)) {
                Some(id) => break id,
                None => continue,
            }
        };
        let question = StoredQuestion::new(id.clone(), request.clone(), self.now_ms, Cursor(n as u64 + 1));
        self.expiring.extend(question.expires_ms.map(|due| (due, n)));
        self.by_id.insert(id, n);
        self.by_key.entry(request.key().clone()).or_default().insert(request.origin().credential.clone(), n);
        if let Some(series) = series {
            self.by_series.entry(series.name.clone()).or_default().push(n);
        }
        self.kept.push(Kept {
            question,
            words: words(&request),
            attempt: None,
            claim: None,
            conversation: series.map(|series| series.conversation.clone()),
            drafts: HashMap::new(),
            waiters: HashMap::new(),
            is_purged: false,
        });
        self.event(n, State::Pending, self.now_ms);
        n
    }

    /// The latest question of a series that is open to a request.
    fn open_one(&self, by: &Principal, series: &Series, request: &Request) -> Option<usize> {
        let all = self.by_series.get(&series.name).filter(|_| !self.errs(Fault::SeriesIsNotFound))?;
        all.iter().rev().copied().find(|n| {
            let kept = &self.kept[*n];
            let earlier = Earlier {
                is_own: kept.conversation.as_ref() == Some(&series.conversation),
                is_waited_for: !kept.waiters.is_empty() && !self.errs(Fault::SeriesIsShared),
                is_claimed: kept.claim.is_some(),
            };
            by.sees(&kept.question.request)
                && kept.question.request.asks_the_same(request)
                && earlier.is_open(&self.read(*n))
        })
    }

    pub(super) fn end(
        &mut self,
        by: &Principal,
        which: &Which,
        end: &End,
        attempt: Attempt,
    ) -> Result<Ending, StoreError> {
        let n = self.find(by, which)?;
        let kept = &self.kept[n];
        self.check(by, Act::End(&kept.question.request, end))?;
        if let End::Resolve { outcome, .. } = end
            && !self.errs(Fault::MisfitIsRecorded)
        {
            outcome.check(kept.question.request.set()).map_err(StoreError::Misfit)?;
        }
        let ending = self.stamped(by, end, self.now_ms.max(kept.question.asked_ms));
        match &kept.question.ending {
            Some(_) if self.errs(Fault::TwoWinners) => self.kept[n].question.ending = Some(ending.clone()),
            Some(earlier) if self.is_repeated(earlier, kept.attempt.as_ref(), &attempt, by, end) => {
                return Ok(earlier.clone());
            }
            Some(_) if self.errs(Fault::LoserIsNotToldTheWinner) => return Err(StoreError::ended(ending)),
            Some(earlier) => return Err(StoreError::ended(earlier.clone())),
            None => self.finish(n, ending.clone(), Some(attempt)),
        }
        Ok(ending)
    }

    fn is_repeated(
        &self,
        earlier: &Ending,
        recorded: Option<&Attempt>,
        attempt: &Attempt,
        by: &Principal,
        end: &End,
    ) -> bool {
        if self.errs(Fault::AttemptIsForgotten) {
            return false;
        }
        if self.errs(Fault::AttemptIsAnybodys) {
            recorded == Some(attempt)
        } else {
            earlier.is_of(attempt, recorded.map(Attempt::as_str), by, end)
        }
    }

    fn stamped(&self, by: &Principal, end: &End, at_ms: u64) -> Ending {
        let believed = match end {
            End::Resolve { outcome, self_reported } if self.errs(Fault::AnswerSaysWhoAnswered) => {
                self_reported.get("by").and_then(|by| by.as_str()).map(|by| (outcome.clone(), by.to_owned()))
            }
            _ => None,
        };
        match (believed, end.stamped(by, at_ms)) {
            (Some((outcome, by)), Ending::Resolved(resolution)) => {
                let via = resolution.via().unwrap_or(askuser::Via::Inbox);
                Ending::Resolved(Resolution::new(outcome, via).with_by(by).with_time(at_ms))
            }
            (_, ending) => ending,
        }
    }

    pub(super) fn claim(&mut self, by: &Principal, id: &QuestionId, attempt: Attempt) -> Result<Claim, StoreError> {
        let n = self.find(by, &id.into())?;
        let kept = &self.kept[n];
        self.check(by, Act::Use(&kept.question.request))?;
        let is_permission = kept.question.request.key().purpose == Purpose::Permission;
        if !is_permission || kept.question.ending.as_ref().and_then(Ending::recorded).is_none() {
            return Err(StoreError::Forbidden("only a permission that was answered can be used".into()));
        }
        if let Some(at) = kept.question.delivered_ms
            && !self.errs(Fault::ClaimWinsTwice)
        {
            let is_same = kept.claim.as_ref() == Some(&attempt) && !self.errs(Fault::ClaimIsForgotten);
            return Ok(if is_same { Claim::Won } else { Claim::Used(at) });
        }
        if !lasts(kept.question.ending.as_ref(), self.now_ms) && !self.errs(Fault::PermissionNeverLapses) {
            return Ok(Claim::Lapsed);
        }
        self.kept[n].claim = Some(attempt);
        self.delivered_now(n);
        Ok(Claim::Won)
    }

    pub(super) fn attach(&mut self, process: u64, by: &Principal, id: &QuestionId) -> Result<u64, StoreError> {
        let n = self.find(by, &id.into())?;
        self.check(by, Act::Use(&self.kept[n].question.request))?;
        Ok(self.wait_for(n, process))
    }

    pub(super) fn delivered(&mut self, by: &Principal, id: &QuestionId) -> Result<(), StoreError> {
        let n = self.find(by, &id.into())?;
        self.check(by, Act::Use(&self.kept[n].question.request))?;
        if self.kept[n].question.ending.is_some() || self.errs(Fault::DeliveredBeforeTheEnd) {
            self.delivered_now(n);
        }
        Ok(())
    }

    pub(super) fn hold(&mut self, by: &Principal, which: &Which) -> Result<(), StoreError> {
        let n = self.find(by, which)?;
        self.check(by, Act::Consider(&self.kept[n].question.request))?;
        let due = self.kept[n].question.expires_ms.take();
        if let Some(due) = due.filter(|_| !self.errs(Fault::HeldClockRunsOn)) {
            self.expiring.remove(&(due, n));
        }
        Ok(())
    }

    fn drafter(&self, by: &Principal) -> String {
        if self.errs(Fault::DraftIsEverybodys) { String::new() } else { by.name().unwrap_or_default().to_owned() }
    }

    pub(super) fn save_draft(
        &mut self,
        by: &Principal,
        which: &Which,
        mut save: DraftSave,
    ) -> Result<Vec<SavedDraft>, StoreError> {
        let mut drafts = self.drafts(by, which)?;
        if self.errs(Fault::DraftReplacesUnseenText) {
            save.replaces = drafts.iter().map(|stored| stored.version.clone()).collect();
        }
        if self.errs(Fault::OvertakenDraftWins) {
            drafts.iter_mut().for_each(|stored| stored.version.edit = 0);
        }
        let step = save.step(drafts, by, self.now_ms)?;
        let n = self.find(by, which)?;
        let person = self.drafter(by);
        let drafts = self.kept[n].drafts.entry(person).or_default();
        let own = step.written.iter().map(|written| &written.version.writer);
        drafts.retain(|stored| {
            !step.removed.contains(&stored.version) && !own.clone().any(|own| *own == stored.version.writer)
        });
        drafts.extend(step.written);
        Ok(step.beside)
    }

    pub(super) fn drafts(&self, by: &Principal, which: &Which) -> Result<Vec<SavedDraft>, StoreError> {
        let kept = &self.kept[self.find(by, which)?];
        self.check(by, Act::Consider(&kept.question.request))?;
        Ok(SavedDraft::newest_first(kept.drafts.get(&self.drafter(by)).cloned().unwrap_or_default()))
    }
}
