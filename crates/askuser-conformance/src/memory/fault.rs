//! Faults that a store can have, put into this one on purpose, to show that the rules notice them.

/// A mistake that a store might make.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "they say what they are")]
pub enum Fault {
    /// A later answer replaces an earlier one, and both are told that they won.
    TwoWinners,
    /// The late attempt is told that its own ending was recorded first.
    LoserIsNotToldTheWinner,
    /// A repeated attempt counts as another one.
    AttemptIsForgotten,
    /// The name of an attempt is enough to get its ending, with any answer.
    AttemptIsAnybodys,
    ClaimWinsTwice,
    ClaimIsForgotten,
    PermissionNeverLapses,
    /// Events have their numbers before they are visible, and become visible in another order.
    NumbersBeforeCommit,
    /// Every tenth event is not told to watchers.
    WatchersMissEvents,
    GapIsNotTold,
    /// Dropping the future of a call takes it back.
    DroppedCallIsTakenBack,
    /// Calls of one process overtake each other.
    CallsOvertake,
    PrincipalIsNotChecked,
    /// Who answered is what the answer says.
    AnswerSaysWhoAnswered,
    /// A question that another conversation waits for is open to a call.
    SeriesIsShared,
    /// A question of its series is never found.
    SeriesIsNotFound,
    /// A call attaches to the open question of its series although its own key is known.
    SeriesComesBeforeTheKey,
    KeyIsNotCompared,
    MisfitIsRecorded,
    DeadlineIsIgnored,
    /// A passed deadline ends a question only when that very question is looked at.
    DeadlineIsNotTold,
    HeldClockRunsOn,
    DraftIsEverybodys,
    DraftIsGoneWithItsQuestion,
    /// A save removes drafts that its writer has not seen.
    DraftReplacesUnseenText,
    /// An earlier save of a writer that arrives late replaces the later one.
    OvertakenDraftWins,
    AudienceIsIgnored,
    /// A place in a list is counted from its beginning.
    CursorIsAnOffset,
    /// The text of a filter is searched in the question's JSON.
    JsonIsSearched,
    CaseMatters,
    /// To detach one waiter detaches all of the question.
    DetachingDetachesAll,
    DeadWaitersLive,
    DeliveredBeforeTheEnd,
    PurgeTakesWhatWaits,
    /// A reader is not told that events were removed by a purge.
    PurgedEventsAreNotMissed,
    /// A request authenticated before a revocation still acts after it.
    RevocationIsIgnored,
}

impl Fault {
    /// Every mistake there is.
    pub const ALL: [Fault; 36] = [
        Fault::TwoWinners,
        Fault::LoserIsNotToldTheWinner,
        Fault::AttemptIsForgotten,
        Fault::AttemptIsAnybodys,
        Fault::ClaimWinsTwice,
        Fault::ClaimIsForgotten,
        Fault::PermissionNeverLapses,
        Fault::NumbersBeforeCommit,
        Fault::WatchersMissEvents,
        Fault::GapIsNotTold,
        Fault::DroppedCallIsTakenBack,
        Fault::CallsOvertake,
        Fault::PrincipalIsNotChecked,
        Fault::AnswerSaysWhoAnswered,
        Fault::SeriesIsShared,
        Fault::SeriesIsNotFound,
        Fault::SeriesComesBeforeTheKey,
        Fault::KeyIsNotCompared,
        Fault::MisfitIsRecorded,
        Fault::DeadlineIsIgnored,
        Fault::DeadlineIsNotTold,
        Fault::HeldClockRunsOn,
        Fault::DraftIsEverybodys,
        Fault::DraftIsGoneWithItsQuestion,
        Fault::DraftReplacesUnseenText,
        Fault::OvertakenDraftWins,
        Fault::AudienceIsIgnored,
        Fault::CursorIsAnOffset,
        Fault::JsonIsSearched,
        Fault::CaseMatters,
        Fault::DetachingDetachesAll,
        Fault::DeadWaitersLive,
        Fault::DeliveredBeforeTheEnd,
        Fault::PurgeTakesWhatWaits,
        Fault::PurgedEventsAreNotMissed,
        Fault::RevocationIsIgnored,
    ];
}
