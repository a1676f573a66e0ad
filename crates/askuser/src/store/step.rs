//! The rules of a store, as one pure function.
//!
//! A backend reads the rows for a command ([`Found`]) and calls [`step`]. It then writes the [`Step`] in the same
//! transaction, or by compare and set on [`Record::revision`]. Only [`step`] makes decisions.

use super::series::lasts;
use super::{
    AskerPresence, Attempt, Claim, Command, Cursor, End, Ending, NewEvent, Operation, Principal, QuestionId, Reply,
    SavedDraft, Series, State, Step, StoreError, StoredQuestion, Waiters, Write,
};
use crate::request::{Purpose, Request};
use std::sync::Arc;

/// A question with all of its stored state.
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    /// The question as callers see it.
    pub question: StoredQuestion,
    /// The attempt that ended the question, if it has ended.
    pub attempt: Option<Attempt>,
    /// The attempt that used the permission, if any.
    pub claim: Option<Attempt>,
    /// The conversation that asked the question or took it over. `None` for a question without a series.
    pub conversation: Option<String>,
    /// The number of changes since the question was put. Changes of drafts and waiting processes do not count.
    pub revision: u64,
}

/// A question of a series that a request may attach to.
#[derive(Clone, Debug)]
pub struct Candidate {
    /// The record of the question.
    pub record: Record,
    /// Whether a living process waits for the answer.
    pub is_waited_for: bool,
}

/// The rows that a backend has read for a command.
#[derive(Clone, Debug, Default)]
pub struct Found {
    /// The record that [`Command::question`] names, if it exists.
    pub record: Option<Record>,
    /// The undelivered questions of the series, latest first. Only a put in a series needs them.
    pub candidates: Vec<Candidate>,
    /// The drafts of this person at this question. Only the saving of a draft needs them.
    pub drafts: Vec<SavedDraft>,
    /// Whether the credential that authenticated the principal is valid, or the principal has no credential.
    pub credential_is_live: bool,
}

/// Decides a command. It applies the rules for rights, attempts, deadlines, audience, lifetimes, series and versions of
/// drafts.
///
/// # Errors
/// Returns the reason why the command changes no state.
pub fn step(found: &Found, now_ms: u64, by: &Principal, command: &Command) -> Result<Step, StoreError> {
    if !found.credential_is_live {
        return Err(StoreError::revoked());
    }
    let record = || {
        let missing = || StoreError::NotFound(command.question().map(|which| which.to_string()).unwrap_or_default());
        Ok::<_, StoreError>(found.record.as_ref().ok_or_else(missing)?.at(now_ms))
    };
    let step = match command {
        Command::Put { request, series, id } => put(found, now_ms, by, request, series.as_ref(), id),
        Command::End { end, attempt, .. } => record()?.end(now_ms, by, end, attempt),
        Command::Claim { attempt, .. } => record()?.claim(now_ms, by, attempt),
        Command::Attach { .. } => {
            by.check(Operation::Use(&record()?.question.request))?;
            Ok(Step { waiters: Waiters::Add, ..Step::reply(Reply::Done) })
        }
        Command::Sent { .. } => record()?.send(now_ms, by),
        Command::Delivered { .. } => record()?.deliver(now_ms, by),
        Command::Hold { .. } => record()?.hold(by),
        Command::SaveDraft { save, .. } => {
            by.check(Operation::Consider(&record()?.question.request))?;
            let (drafts, beside) = save.step(&found.drafts, by, now_ms)?;
            Ok(Step { write: Write::Drafts(drafts), ..Step::reply(Reply::Drafts(beside)) })
        }
        Command::Expire { .. } => {
            let record = record()?;
            let was_pending = found.record.as_ref().is_some_and(|found| found.question.ending.is_none());
            let step = Step::reply(Reply::Done);
            let is_due = was_pending && record.question.ending.is_some();
            Ok(if is_due { Step { write: record.changed(), ..step } } else { step })
        }
        Command::Purge { before_ms } => {
            by.check(Operation::Purge)?;
            Ok(Step { write: Write::Purge(*before_ms), ..Step::reply(Reply::Done) })
        }
    }?;
    Ok(Step { event: event(&step.write, found.record.as_ref()), ..step })
}

/// Returns the event of a change if a question was put or has ended, otherwise `None`.
fn event(write: &Write, found: Option<&Record>) -> Option<NewEvent> {
    match write {
        Write::Insert(record) => Some(NewEvent { state: State::Pending, at_ms: record.question.asked_ms }),
        Write::Update(record) => {
            let ending = record.question.ending.as_ref()?;
            let was_pending = found.is_some_and(|found| found.question.ending.is_none());
            was_pending.then(|| NewEvent { state: ending.state(), at_ms: ending.at_ms().unwrap_or_default() })
        }
        _ => None,
    }
}

fn put(
    found: &Found,
    now_ms: u64,
    by: &Principal,
    request: &Arc<Request>,
    series: Option<&Series>,
    id: &QuestionId,
) -> Result<Step, StoreError> {
    by.check(Operation::Ask(request))?;
    let open = |series: &Series| {
        let is_open = |candidate: &&Candidate| candidate.is_open(by, series, request, now_ms);
        found.candidates.iter().find(is_open).map(|candidate| &candidate.record)
    };
    // A known key takes precedence over the series.
    let Some(record) = found.record.as_ref().or_else(|| open(series?)) else {
        return Ok(Record::new(id, request, series, now_ms).inserted());
    };
    let mut record = record.at(now_ms);
    by.check(Operation::Use(&record.question.request))?;
    if !record.question.request.asks_the_same(request) {
        return Err(StoreError::other_question(&record.question.request, request));
    }
    record.question.asker = AskerPresence::Waits;
    let reply = Reply::Put { is_new: record.question.id == *id, question: Box::new(record.question.clone()) };
    let step = Step { waiters: Waiters::Add, ..Step::reply(reply) };
    let taken_over = series.map(|series| &series.conversation);
    if record.conversation.is_none() || taken_over.is_none() || taken_over == record.conversation.as_ref() {
        return Ok(step);
    }
    let record = Record { conversation: taken_over.cloned(), ..record };
    Ok(Step { write: record.changed(), ..step })
}

impl Candidate {
    /// Whether a request attaches to this question. Either they share the conversation, or no process waits for the
    /// question.
    ///
    /// Two processes never wait for the same permission. An answered permission serves one later call of the same
    /// conversation, within its lifetime.
    fn is_open(&self, by: &Principal, series: &Series, request: &Request, now_ms: u64) -> bool {
        let Record { question, conversation, .. } = &self.record.at(now_ms);
        let is_own = conversation.as_ref() == Some(&series.conversation);
        let is_free = is_own || !self.is_waited_for;
        let is_undelivered = question.delivered_ms.is_none();
        let is_in_its_way = match (question.state(), question.request.key().purpose) {
            (State::Pending, Purpose::Permission) => !self.is_waited_for,
            // An outcome that the asker reported itself permits no later call.
            (State::TimedOut | State::Withdrawn, _) | (State::Settled, Purpose::Permission) => false,
            (_, Purpose::Permission) => {
                is_own && is_undelivered && !self.is_waited_for && lasts(question.ending.as_ref(), now_ms)
            }
            _ => is_undelivered && is_free,
        };
        is_in_its_way && by.sees(&question.request) && question.request.asks_the_same(request)
    }
}

impl Record {
    /// Creates the record of a new question. The store assigns its cursor.
    fn new(id: &QuestionId, request: &Arc<Request>, series: Option<&Series>, now_ms: u64) -> Record {
        let question = StoredQuestion::new(id.clone(), request.clone(), now_ms, Cursor::default());
        let conversation = series.map(|series| series.conversation.clone());
        Record { question, attempt: None, claim: None, conversation, revision: 0 }
    }

    /// Returns the record as of this time. After its deadline a question has timed out, even if that is not written
    /// yet.
    fn at(&self, now_ms: u64) -> Record {
        let mut record = self.clone();
        record.question.read_ms = now_ms;
        let is_due = record.question.expires_ms.is_some_and(|at| at <= now_ms);
        if record.question.ending.is_none() && is_due {
            record.question.ending = Some(Ending::timed_out(now_ms));
            record.question.expires_ms = None;
        }
        record
    }

    fn inserted(mut self) -> Step {
        self.question.asker = AskerPresence::Waits;
        let reply = Reply::Put { is_new: true, question: Box::new(self.question.clone()) };
        Step { write: Write::Insert(Box::new(self)), waiters: Waiters::Add, ..Step::reply(reply) }
    }

    fn changed(self) -> Write {
        Write::Update(Box::new(Record { revision: self.revision + 1, ..self }))
    }

    /// Ends the question. Only one attempt succeeds. The same attempt of the same author with the same answer gets the
    /// same ending again.
    fn end(mut self, now_ms: u64, by: &Principal, end: &End, attempt: &Attempt) -> Result<Step, StoreError> {
        by.check(Operation::End(&self.question.request, end))?;
        let end = end.clone().of(self.question.request.set()).map_err(StoreError::Misfit)?;
        match &self.question.ending {
            Some(ending) => {
                let is_same = end.stamped(by, ending.at_ms().unwrap_or_default()) == *ending;
                let is_repeated = is_same && self.attempt.as_ref() == Some(attempt);
                let ending = ending.clone();
                if is_repeated { Ok(Step::reply(Reply::Ended(ending))) } else { Err(StoreError::ended(ending)) }
            }
            None => {
                // The time of ending is never before the time of asking, even if the clock was set back.
                let ending = end.stamped(by, now_ms.max(self.question.asked_ms));
                self.question.expires_ms = None;
                self.question.ending = Some(ending.clone());
                self.attempt = Some(attempt.clone());
                Ok(Step { write: self.changed(), ..Step::reply(Reply::Ended(ending)) })
            }
        }
    }

    /// Claims a permission, which can be used once within its lifetime. An asker may claim a permission that it settled
    /// itself, so that the permission serves no other call.
    fn claim(mut self, now_ms: u64, by: &Principal, attempt: &Attempt) -> Result<Step, StoreError> {
        by.check(Operation::Use(&self.question.request))?;
        let is_permission = self.question.request.key().purpose == Purpose::Permission;
        if !is_permission || self.question.ending.as_ref().and_then(Ending::recorded).is_none() {
            return Err(StoreError::Forbidden("only a permission that was answered can be used".into()));
        }
        Ok(match self.question.delivered_ms {
            Some(_) if self.claim.as_ref() == Some(attempt) => Step::claimed(Claim::Won),
            Some(at_ms) => Step::claimed(Claim::Used { at_ms }),
            None if !lasts(self.question.ending.as_ref(), now_ms) => Step::claimed(Claim::Lapsed),
            None => {
                self.question.delivered_ms = Some(now_ms);
                self.claim = Some(attempt.clone());
                Step { write: self.changed(), waiters: Waiters::Remove, ..Step::claimed(Claim::Won) }
            }
        })
    }

    /// Records that an answer is sent. A pending question has no answer to send. The first sender learns that there was
    /// no earlier one.
    fn send(mut self, now_ms: u64, by: &Principal) -> Result<Step, StoreError> {
        by.check(Operation::Use(&self.question.request))?;
        let earlier = self.question.sent_ms.or(self.question.delivered_ms);
        let step = Step::reply(Reply::Sent(earlier));
        if earlier.is_some() || self.question.ending.is_none() {
            return Ok(step);
        }
        self.question.sent_ms = Some(now_ms);
        Ok(Step { write: self.changed(), ..step })
    }

    /// Records that an answer was delivered. A pending question has no answer to deliver. Only the first delivery
    /// counts.
    fn deliver(mut self, now_ms: u64, by: &Principal) -> Result<Step, StoreError> {
        by.check(Operation::Use(&self.question.request))?;
        let step = Step::reply(Reply::Done);
        Ok(match (&self.question.ending, self.question.delivered_ms) {
            (None, _) => step,
            (Some(_), Some(_)) => Step { waiters: Waiters::Remove, ..step },
            (Some(_), None) => {
                self.question.delivered_ms = Some(now_ms);
                Step { write: self.changed(), waiters: Waiters::Remove, ..step }
            }
        })
    }

    fn hold(mut self, by: &Principal) -> Result<Step, StoreError> {
        by.check(Operation::Consider(&self.question.request))?;
        if self.question.ending.is_some() || self.question.expires_ms.is_none() {
            return Ok(Step::reply(Reply::Done));
        }
        self.question.expires_ms = None;
        Ok(Step { write: self.changed(), ..Step::reply(Reply::Done) })
    }
}

#[cfg(test)]
#[path = "step_tests.rs"]
mod tests;
