//! Each fault of a store is detected by a rule: the store in memory has the fault, and the rule panics.

use askuser_conformance::*;

macro_rules! noticed {
    ($($fault:ident: $module:ident::$rule:ident, $words:literal;)+) => {
        mod noticed {$(
            #[test]
            #[should_panic(expected = $words)]
            #[allow(non_snake_case, reason = "the name of the mistake")]
            fn $fault() {
                super::give_up_after(std::time::Duration::from_secs(2));
                askuser_conformance::$module::$rule(&super::MemoryStore::faulty(super::Fault::$fault));
            }
        )+}

        /// The match fails to compile if a fault has no test.
        const _: fn(Fault) = |fault| match fault {
            $(Fault::$fault => {})+
        };
    };
}

noticed! {
    TwoWinners: attempts::a_repeated_attempt_gets_the_same_ending_and_any_other_hears_who_won, "the same result";
    LoserIsNotToldTheWinner: races::every_question_has_one_winner_whom_all_losers_name, "every loser is told the winner";
    AttemptIsForgotten: attempts::a_repeated_attempt_gets_the_same_ending_and_any_other_hears_who_won, "the store failed";
    AttemptIsAnybodys: model::the_store_does_what_the_store_in_memory_does, "differ";
    ClaimWinsTwice: races::of_many_claims_one_wins, "one permission, one act";
    ClaimIsForgotten: claims::a_permission_is_used_once_and_the_same_attempt_has_used_it, "the same attempt gets the same result";
    PermissionNeverLapses: model::the_store_does_what_the_store_in_memory_does, "differ";
    NumbersBeforeCommit: events::concurrent_writers_never_make_a_smaller_number_visible_later, "a scoped thread panicked";
    WatchersMissEvents: events::a_watcher_hears_of_every_change_or_that_it_lagged, "not so after";
    GapIsNotTold: events::a_reader_resumes_where_it_was_and_can_tell_a_gap, "a number of another store";
    DroppedCallIsTakenBack: calls::a_call_is_on_its_way_when_the_method_returns_and_dropping_its_future_takes_nothing_back, "takes nothing back";
    CallsOvertake: calls::calls_of_one_process_about_one_question_take_effect_in_their_order, "in their order";
    PrincipalIsNotChecked: principals::what_no_principal_may_do_leaves_no_trace, "may they";
    AnswerSaysWhoAnswered: principals::the_store_says_who_answered_through_what_and_when, "the store says who answered";
    SeriesIsShared: series::a_call_shares_no_question_that_another_conversation_waits_for, "another conversation waits for it";
    SeriesIsNotFound: model::the_store_does_what_the_store_in_memory_does, "differ";
    SeriesComesBeforeTheKey: model::the_store_does_what_the_store_in_memory_does, "differ";
    KeyIsNotCompared: model::the_store_does_what_the_store_in_memory_does, "differ";
    MisfitIsRecorded: model::the_store_does_what_the_store_in_memory_does, "differ";
    DeadlineIsIgnored: deadlines::time_runs_out_without_choosing_anything_and_only_where_a_deadline_was_given, "it is told how it ended before";
    DeadlineIsNotTold: deadlines::a_deadline_is_heard_of_by_a_waiter_when_nothing_else_happens, "still waiting after";
    HeldClockRunsOn: deadlines::a_person_who_holds_the_clock_clears_the_deadline, "its clock was stopped";
    DraftIsEverybodys: drafts::a_draft_is_kept_for_its_person_at_every_surface, "a draft is its person's own";
    DraftIsGoneWithItsQuestion: drafts::a_draft_is_bounded_and_stays_when_its_question_ends, "it stays when its question ends";
    DraftReplacesUnseenText: drafts::a_save_replaces_only_drafts_that_its_writer_has_seen, "nobody has seen it there";
    OvertakenDraftWins: model::the_store_does_what_the_store_in_memory_does, "differ";
    AudienceIsIgnored: lists::a_list_holds_what_its_reader_sees, "what ";
    CursorIsAnOffset: lists::pages_leave_nothing_out_and_repeat_nothing_while_questions_come_and_go, "from the place on";
    JsonIsSearched: lists::words_are_those_that_a_person_reads_in_any_case, "is searched in what a person reads";
    CaseMatters: lists::words_are_those_that_a_person_reads_in_any_case, "is searched in what a person reads";
    DetachingDetachesAll: attachments::one_of_two_waiters_that_leaves_does_not_speak_for_the_other, "one more waits";
    DeadWaitersLive: attachments::whether_a_process_waits_has_left_or_has_died_is_seen, "the dead process is noticed";
    DeliveredBeforeTheEnd: model::the_store_does_what_the_store_in_memory_does, "differ";
    PurgeTakesWhatWaits: purges::a_purge_removes_what_ended_before_with_its_drafts_and_events_and_nothing_else, "it ended before, and not at";
    RevocationIsIgnored: revocations::a_revoked_credential_does_nothing_any_more, "its credential was revoked";
    PurgedEventsAreNotMissed: purges::a_reader_of_events_is_told_what_was_purged_before_it_came, "some are missing";
}

/// The suite runs all rules that exist.
#[test]
fn every_rule_is_in_the_suite() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let list = std::fs::read_to_string(folder.join("lib.rs")).unwrap();
    let mut rules = 0;
    for entry in std::fs::read_dir(&folder).unwrap() {
        let text = std::fs::read_to_string(entry.unwrap().path()).unwrap_or_default();
        let named = text.lines().filter(|line| line.ends_with("(place: &dyn Place) {"));
        for name in named.filter_map(|line| line.strip_prefix("pub fn ")?.split('(').next()) {
            rules += 1;
            assert!(list.contains(&format!("                {name}")), "{name} is not run");
        }
    }
    assert!(rules > 40, "the rules were not found: {rules}");
}
