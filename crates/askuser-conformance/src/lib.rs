//! The contract of stores as tests that any store can run, and a store in memory.
//!
//! A store's tests create a [`Place`] and get one test per rule:
//!
//! ```
//! # mod store { // as in the tests of a crate
//! use askuser_conformance::{MemoryStore, conformance};
//!
//! conformance!(MemoryStore::new());
//! # }
//! ```
//!
//! A rule is a function that gets a fresh place and panics if the store breaks it. Persistent stores also run
//! [`kills`], which needs a program to kill.

pub mod asking;
pub mod attachments;
pub mod attempts;
pub mod calls;
pub mod claims;
pub mod credentials;
pub mod deadlines;
pub mod drafts;
pub mod events;
pub mod kills;
pub mod lists;
mod memory;
pub mod model;
#[cfg(unix)]
mod postgres;
pub mod principals;
pub mod purges;
pub mod races;
pub mod revocations;
pub mod series;
mod support;
pub mod waiting;

pub use memory::{Fault, MemoryStore};
#[cfg(unix)]
pub use postgres::PostgresServer;
pub use support::{SeededRng, give_up_after, left_out_without, until, wait};

use askuser::Request;
use askuser::store::{Principal, QuestionId, Series, Store};
use std::sync::Arc;

/// A new, empty store for one test. Its clock moves only when it is set.
pub trait Place: Send + Sync {
    /// Opens the store as another process.
    fn open(&self) -> Arc<dyn Store>;

    /// Sets the store's clock, in milliseconds since 1970.
    fn set_time(&self, ms: u64);

    /// Adds a new, valid credential to the store. Returns the principal with that credential.
    fn with_credential(&self, by: &Principal) -> Principal;

    /// Revokes the credential of this principal.
    fn revoke(&self, by: &Principal);

    /// Starts a process that puts this request, waits for an answer, and dies without leaving. Returns the id of the
    /// question.
    fn die_waiting(&self, request: &Request, series: Option<&Series>) -> QuestionId;

    /// Returns the number of steps of the random model. Another test runs a tenth as many waiters in one process.
    fn steps(&self) -> usize {
        100_000
    }

    /// Returns the problems that the store's own check finds. A consistent store has none.
    fn damage(&self) -> Vec<String> {
        Vec::new()
    }
}

/// Declares one test per rule about tokens and devices. The expression creates a new
/// [`CredentialsPlace`](credentials::CredentialsPlace).
#[macro_export]
macro_rules! credentials_conformance {
    ($place:expr) => {
        $crate::conformance! { @ $place;
            credentials:
                a_credential_is_kept_until_it_is_revoked_and_every_process_hears_of_that,
                a_pairing_is_redeemed_once_in_time_and_a_code_only_after_somebody_let_it_in,
                of_tokens_of_one_name_that_are_made_at_once_the_last_is_left,
                a_person_who_is_removed_takes_all_that_is_theirs_along;
        }
    };
}

/// Declares one test per rule, in separate modules. The expression creates a new [`Place`].
#[macro_export]
macro_rules! conformance {
    ($place:expr) => {
        $crate::conformance! { @ $place;
            asking:
                the_same_key_is_the_same_question_and_asking_again_changes_nothing,
                a_question_is_found_by_its_id_in_any_case_and_by_its_key,
                an_abbreviation_names_some_of_the_questions_that_begin_so;
            attempts:
                a_repeated_attempt_gets_the_same_ending_and_any_other_hears_who_won;
            attachments:
                whether_a_process_waits_has_left_or_has_died_is_seen,
                one_of_two_waiters_that_leaves_does_not_speak_for_the_other,
                a_list_is_shown_as_long_as_one_process_shows_it;
            calls:
                a_call_is_on_its_way_when_the_method_returns_and_dropping_its_future_takes_nothing_back,
                calls_of_one_process_about_one_question_take_effect_in_their_order,
                flushing_waits_for_every_call_that_was_made_before;
            claims:
                a_permission_is_used_once_and_the_same_attempt_has_used_it,
                a_settled_permission_is_used_once_by_its_asker;
            deadlines:
                time_runs_out_without_choosing_anything_and_only_where_a_deadline_was_given,
                a_person_who_holds_the_clock_clears_the_deadline,
                a_deadline_is_heard_of_by_a_waiter_when_nothing_else_happens,
                the_longest_deadline_there_is_never_passes;
            drafts:
                a_draft_is_kept_for_its_person_at_every_surface,
                a_draft_is_bounded_and_stays_when_its_question_ends,
                a_save_replaces_only_drafts_that_its_writer_has_seen;
            events:
                concurrent_writers_never_make_a_smaller_number_visible_later,
                a_reader_resumes_where_it_was_and_can_tell_a_gap,
                a_watcher_hears_of_every_change_or_that_it_lagged,
                a_watcher_hears_of_another_process_and_of_its_own_question_only,
                what_a_watcher_hears_of_can_be_read;
            lists:
                pages_leave_nothing_out_and_repeat_nothing_while_questions_come_and_go,
                words_are_those_that_a_person_reads_in_any_case,
                a_list_holds_what_its_reader_sees,
                what_an_agent_waits_for_is_listed_first,
                what_has_ended_is_listed_by_the_time_of_its_ending,
                a_list_has_the_unsent_words_of_its_reader;
            model:
                the_store_does_what_the_store_in_memory_does;
            principals:
                the_store_says_who_answered_through_what_and_when,
                an_agent_with_a_credential_settles_its_own_questions_and_is_never_a_person,
                each_credential_has_keys_of_its_own,
                what_no_principal_may_do_leaves_no_trace,
                a_failed_notice_is_remembered_with_the_stores_time;
            revocations:
                a_revoked_credential_does_nothing_any_more,
                nothing_is_put_after_its_credential_was_revoked;
            purges:
                a_purge_removes_what_ended_before_with_its_drafts_and_events_and_nothing_else,
                a_reader_of_events_is_told_what_was_purged_before_it_came,
                what_comes_after_a_purge_takes_no_place_or_number_of_what_is_gone;
            races:
                every_question_has_one_winner_whom_all_losers_name,
                of_many_claims_one_wins,
                of_many_that_ask_the_same_one_is_new;
            series:
                a_call_shares_no_question_that_another_conversation_waits_for,
                a_question_that_nothing_waits_for_is_taken_over;
            waiting:
                many_wait_in_one_process_and_each_hears_of_its_own_question;
        }
    };
    (@ $place:expr; $($module:ident: $($rule:ident),+;)+) => {$(
        mod $module {
            #[allow(unused_imports, reason = "what the expression needs")]
            use super::*;

            $(
                #[test]
                fn $rule() {
                    $crate::$module::$rule(&$place);
                }
            )+
        }
    )+};
}
