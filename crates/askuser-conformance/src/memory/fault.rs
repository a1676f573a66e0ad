//! Faults that a test can put into the store in memory, to show that the rules detect them.
//!
//! A fault corrupts the looked-up question, the [`Step`], or the way in which the step is stored.

use askuser::store::{Command, End, Ending, Found, Principal, Reply, Step, StoreError, Waiters, Write, step};
use askuser::{Resolution, Via};

/// A fault that a store could have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "they say what they are")]
pub enum Fault {
    /// A later answer replaces an earlier one, and both callers get a success.
    TwoWinners,
    /// A late attempt gets its own ending, as if that were the recorded one.
    LoserIsNotToldTheWinner,
    /// A repeated attempt counts as a different attempt.
    AttemptIsForgotten,
    /// An attempt of the same name gets the ending, even with another answer.
    AttemptIsAnybodys,
    ClaimWinsTwice,
    ClaimIsForgotten,
    PermissionNeverLapses,
    /// Events get their numbers before they become visible, and become visible in another order.
    NumbersBeforeCommit,
    /// Watchers miss every tenth event.
    WatchersMissEvents,
    GapIsNotTold,
    /// A call whose future is dropped has no effect.
    DroppedCallIsTakenBack,
    /// Calls of one process overtake each other.
    CallsOvertake,
    /// Reads do not check the rights of the principal.
    PrincipalIsNotChecked,
    /// The recorded author is the one that the answer states.
    AnswerSaysWhoAnswered,
    /// A call gets a question for which another conversation waits.
    SeriesIsShared,
    /// A call never finds the open question of its series.
    SeriesIsNotFound,
    /// A call attaches to the open question of its series, although a question with its own key exists.
    SeriesComesBeforeTheKey,
    KeyIsNotCompared,
    MisfitIsRecorded,
    DeadlineIsIgnored,
    /// An expired question ends only when a process reads it.
    DeadlineIsNotTold,
    HeldClockRunsOn,
    DraftIsEverybodys,
    DraftIsGoneWithItsQuestion,
    /// A save deletes drafts that its writer has not seen.
    DraftReplacesUnseenText,
    /// An earlier save that arrives late replaces a newer save of the same writer.
    OvertakenDraftWins,
    AudienceIsIgnored,
    /// A cursor is an offset from the beginning of a list.
    CursorIsAnOffset,
    /// A search covers the stored JSON of a question.
    JsonIsSearched,
    CaseMatters,
    /// A waiter that leaves detaches all waiters of its question.
    DetachingDetachesAll,
    DeadWaitersLive,
    DeliveredBeforeTheEnd,
    PurgeTakesWhatWaits,
    /// A reader gets no gap for events that a purge has removed.
    PurgedEventsAreNotMissed,
    /// A request that was authenticated before a revocation still takes effect after it.
    RevocationIsIgnored,
}

/// Decides a command. The fault may corrupt the look-up or the decision.
pub(super) fn decide(
    fault: Option<Fault>,
    found: &Found,
    now_ms: u64,
    by: &Principal,
    command: &Command,
) -> Result<Step, StoreError> {
    let Some(fault) = fault else { return step(found, now_ms, by, command) };
    let mut found = found.clone();
    let mut command = command.clone();
    let mut now = now_ms;
    fault.corrupt_lookup(&mut found, &mut command, &mut now);
    if fault == Fault::SeriesComesBeforeTheKey {
        let open = step(&Found { record: None, ..found.clone() }, now, by, &command);
        if matches!(&open, Ok(Step { reply: Reply::Put { is_new: false, .. }, .. })) {
            return open;
        }
    }
    fault.corrupt_step(step(&found, now, by, &command), &found, now_ms, by, &command)
}

impl Fault {
    /// Corrupts the looked-up question before the decision.
    fn corrupt_lookup(self, found: &mut Found, command: &mut Command, now_ms: &mut u64) {
        match (self, &*command, &mut found.record) {
            (Fault::TwoWinners, Command::End { .. }, Some(record)) => record.question.ending = None,
            (Fault::AttemptIsForgotten, _, Some(record)) => record.attempt = None,
            (Fault::ClaimWinsTwice, Command::Claim { .. }, Some(record)) => record.question.delivered_ms = None,
            (Fault::ClaimIsForgotten, Command::Claim { .. }, Some(record)) => record.claim = None,
            (Fault::PermissionNeverLapses, Command::Claim { .. }, Some(record)) => {
                *now_ms = record.question.ending.as_ref().and_then(Ending::at_ms).unwrap_or(*now_ms);
            }
            (Fault::DeadlineIsIgnored, _, Some(record)) => record.question.expires_ms = None,
            (Fault::HeldClockRunsOn, Command::Expire { .. }, Some(record)) => {
                record.question.expires_ms = Some(*now_ms);
            }
            _ => {}
        }
        match (self, command) {
            (Fault::SeriesIsShared, _) => found.candidates.iter_mut().for_each(|one| one.is_waited_for = false),
            (Fault::SeriesIsNotFound, _) => found.candidates.clear(),
            (Fault::OvertakenDraftWins, _) => found.drafts.iter_mut().for_each(|draft| draft.version.edit = 0),
            (Fault::DraftReplacesUnseenText, Command::SaveDraft { save, .. }) => {
                save.replaces = found.drafts.iter().map(|draft| draft.version.clone()).collect();
            }
            _ => {}
        }
    }

    /// Corrupts the decision.
    fn corrupt_step(
        self,
        decided: Result<Step, StoreError>,
        found: &Found,
        now_ms: u64,
        by: &Principal,
        command: &Command,
    ) -> Result<Step, StoreError> {
        let record = found.record.clone();
        match (self, decided, command, record) {
            (Fault::LoserIsNotToldTheWinner, Err(StoreError::Ended(_)), Command::End { end, .. }, _) => {
                Err(StoreError::ended(end.stamped(by, now_ms)))
            }
            (Fault::AttemptIsAnybodys, Err(StoreError::Ended(first)), Command::End { attempt, .. }, Some(record))
                if record.attempt.as_ref() == Some(attempt) =>
            {
                Ok(replying(Reply::Ended(*first)))
            }
            (Fault::MisfitIsRecorded, Err(StoreError::Misfit(_)), Command::End { end, .. }, Some(mut record)) => {
                let ending = end.stamped(by, now_ms);
                record.question.ending = Some(ending.clone());
                Ok(Step { write: Write::Update(Box::new(record)), ..replying(Reply::Ended(ending)) })
            }
            (Fault::KeyIsNotCompared, Err(StoreError::OtherQuestion { .. }), _, Some(record)) => {
                let reply = Reply::Put { is_new: false, question: Box::new(record.question) };
                Ok(Step { waiters: Waiters::Add, ..replying(reply) })
            }
            (Fault::AnswerSaysWhoAnswered, Ok(step), Command::End { end, .. }, _) => Ok(believed(step, end)),
            (Fault::DeliveredBeforeTheEnd, Ok(step), Command::Delivered { .. }, Some(mut record)) => {
                record.question.delivered_ms.get_or_insert(now_ms);
                Ok(Step { write: Write::Update(Box::new(record)), waiters: Waiters::Remove, ..step })
            }
            (_, decided, ..) => decided,
        }
    }
}

fn replying(reply: Reply) -> Step {
    Step { write: Write::Nothing, event: None, waiters: Waiters::Keep, reply }
}

/// Returns the step with the author that the answer states.
fn believed(mut step: Step, end: &End) -> Step {
    let End::Resolve { outcome, reported: Some(reported) } = end else { return step };
    let (Write::Update(record), Some(by)) = (&mut step.write, &reported.by) else { return step };
    let Some(Ending::Resolved(stamped)) = &record.question.ending else { return step };
    let via = stamped.via().unwrap_or(Via::Inbox);
    let resolution = Resolution::new(outcome.clone(), via).with_by(by.clone());
    let ending = Ending::Resolved(resolution.with_time(stamped.at_ms().unwrap_or_default()));
    record.question.ending = Some(ending.clone());
    Step { reply: Reply::Ended(ending), ..step }
}
