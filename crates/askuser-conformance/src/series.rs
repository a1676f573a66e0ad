//! The same thing asked again: when a call attaches to a question that is there, and when it asks anew.

use crate::Place;
use crate::support::{
    Process, Stage, asked, by_agent, choice, new_attempt, ok, permission, request, series, until, wait,
};
use askuser::store::{Claim, PERMISSION_LASTS, Put, State};
use askuser::{Context, Purpose};
use std::time::Duration;

const LASTS: u64 = PERMISSION_LASTS.as_millis() as u64;

/// Puts a request of the series, in this conversation.
fn put(process: &Process, call: &str, conversation: &str) -> Put {
    process.put_in(&request(call), Some(&series(conversation)))
}

fn put_permission(process: &Process, call: &str, conversation: &str) -> Put {
    process.put_in(&permission(call), Some(&series(conversation)))
}

/// A call that is repeated finds its question, pending or answered, also while its first call still waits.
pub fn a_call_finds_the_open_question_of_its_own_conversation(place: &dyn Place) {
    let stage = Stage::new(place);
    let (here, there) = (stage.open(), stage.open());
    let first = put(&here, "1", "mine");
    assert!(first.is_new);
    let again = put(&there, "2", "mine");
    assert!(!again.is_new && again.question.id == first.question.id, "it is open to its own conversation");
    assert_eq!(again.question.request.key(), request("1").key(), "it is the question that was put");
    here.answer(&first.question.id, 0, "ada");
    let later = put(&there, "3", "mine");
    assert!(later.question.id == first.question.id, "the answer is found");
    assert_eq!(later.question.state(), State::Answered);
}

/// Two live conversations never share a question, nor its answer.
pub fn a_call_shares_no_question_that_another_conversation_waits_for(place: &dyn Place) {
    let stage = Stage::new(place);
    let (here, there) = (stage.open(), stage.open());
    let mine = put(&here, "1", "mine");
    let yours = put(&there, "2", "yours");
    assert!(yours.is_new && yours.question.id != mine.question.id, "another conversation waits for it");
    here.answer(&mine.question.id, 0, "ada");
    let again = put(&there, "3", "yours");
    assert!(!again.is_new && again.question.id == yours.question.id, "the answer is another conversation's");
}

/// What nothing waits for any more is taken over, by one conversation alone.
pub fn a_question_that_nothing_waits_for_is_taken_over(place: &dyn Place) {
    let stage = Stage::new(place);
    let (here, there) = (stage.open(), stage.open());
    let left = put(&here, "1", "one");
    let id = left.question.id;
    ok(wait(left.attachment.detach()));
    let taken = put(&there, "2", "two");
    assert!(!taken.is_new && taken.question.id == id, "nothing waited for it any more");
    let anew = put(&here, "3", "one");
    assert!(anew.is_new, "it is another conversation's now");
    ok(wait(here.agent().withdraw(&anew.question.id, &new_attempt())));
    here.answer(&id, 0, "ada");
    ok(wait(taken.attachment.detach()));
    let answered = put(&here, "4", "three");
    assert_eq!((&answered.question.id, answered.question.state()), (&id, State::Answered), "and so is its answer");
    let dead = stage.die_waiting(&asked("Is it there?", "5"), Some(&series("four")));
    let again = asked("Is it there?", "6");
    until("the dead conversation is noticed", || {
        matches!(here.get(&dead).asker, askuser::store::AskerPresence::Died(_))
    });
    let found = here.put_in(&again, Some(&series("five")));
    assert!(!found.is_new && found.question.id == dead, "a process that died waits for nothing");
}

/// Two identical calls need two permissions: while one waits, the other asks anew, in its own conversation too.
pub fn a_pending_permission_is_never_shared(place: &dyn Place) {
    let stage = Stage::new(place);
    let (here, there) = (stage.open(), stage.open());
    let first = put_permission(&here, "1", "mine");
    let second = put_permission(&there, "2", "mine");
    assert!(second.is_new && second.question.id != first.question.id, "one permission, one act");
    let third = put_permission(&there, "3", "yours");
    assert!(third.is_new, "one permission, one act");
    let id = first.question.id;
    ok(wait(first.attachment.detach()));
    let again = put_permission(&there, "4", "mine");
    assert!(!again.is_new && again.question.id == id, "what nothing waits for is asked once");
}

/// A permission that was given while no call waited serves the next identical call of that conversation, once.
pub fn an_answered_permission_serves_its_own_conversation_once_within_ten_minutes(place: &dyn Place) {
    let stage = Stage::new(place);
    let process = stage.open();
    let given = |call: &str| {
        let put = put_permission(&process, call, "mine");
        assert!(put.is_new, "{call} is asked anew");
        let id = put.question.id;
        ok(wait(put.attachment.detach()));
        process.answer(&id, 0, "ada");
        id
    };
    let first = given("1");
    let other = put_permission(&process, "2", "yours");
    assert!(other.is_new, "it was given to another conversation");
    ok(wait(process.agent().withdraw(&other.question.id, &new_attempt())));
    stage.advance(LASTS);
    let found = put_permission(&process, "3", "mine");
    assert!(!found.is_new && found.question.id == first, "it is claimed by a later call");
    assert!(put_permission(&process, "4", "mine").is_new, "a call has it already");
    assert_eq!(ok(wait(process.agent().claim(&first, &new_attempt()))), Claim::Won);
    drop(found);
    ok(wait(process.agent().flush()));
    let after = put_permission(&process, "5", "mine");
    assert!(after.question.id != first, "it serves once");
    ok(wait(process.agent().withdraw(&after.question.id, &new_attempt())));
    let lapsed = given("6");
    stage.advance(LASTS + 1);
    let anew = put_permission(&process, "7", "mine");
    assert!(anew.is_new && anew.question.id != lapsed, "it was given too long ago");
}

/// A question that ended without an answer, or was delivered, is asked anew.
pub fn what_timed_out_or_was_taken_back_or_delivered_is_asked_anew(place: &dyn Place) {
    let stage = Stage::new(place);
    let process = stage.open();
    let late = process.put_in(&request("1").with_deadline(Duration::from_secs(1)), Some(&series("mine")));
    stage.advance(1_000);
    let withdrawn = put(&process, "2", "mine");
    assert!(withdrawn.is_new && late.question.id != withdrawn.question.id, "what timed out is asked anew");
    ok(wait(process.person("ada").withdraw(&withdrawn.question.id, &new_attempt())));
    let delivered = put(&process, "3", "mine");
    assert!(delivered.is_new, "what was taken back is asked anew");
    process.answer(&delivered.question.id, 0, "ada");
    ok(wait(process.agent().delivered(&delivered.question.id)));
    assert!(put(&process, "4", "mine").is_new, "what was delivered is asked anew");
}

/// A call that comes back by its own key gets its own question, whatever else its series has.
pub fn a_known_key_comes_before_its_series(place: &dyn Place) {
    let process = Stage::new(place).open();
    let first = put(&process, "1", "mine");
    process.answer(&first.question.id, 0, "ada");
    ok(wait(process.agent().delivered(&first.question.id)));
    let second = put(&process, "2", "mine");
    assert!(second.is_new);
    let again = put(&process, "1", "mine");
    assert_eq!(again.question.id, first.question.id, "the same key is the same question");
    assert_eq!(again.question.state(), State::Answered, "answered returns the same answer");
}

/// A series is one agent's, and one question's: what only has its name is not it.
pub fn a_series_is_not_shared_by_agents_or_by_other_questions(place: &dyn Place) {
    let process = Stage::new(place).open();
    let left = |request| {
        let put = process.put_in(&request, Some(&series("one")));
        assert!(put.is_new, "it is another question");
        ok(wait(put.attachment.detach()));
        put.question.id
    };
    let first = left(request("1"));
    left(by_agent(request("2"), "another"));
    left(asked("Something else?", "3"));
    left(request("4").with_context(Context::Command("ls".into())));
    left(crate::support::request_for(Purpose::Plan, "5").with_context(Context::Prose("a plan".into())));
    ok(wait(process.person("ada").answer(&first, choice(0), &new_attempt())));
    let found = put(&process, "6", "two");
    assert!(!found.is_new && found.question.id == first, "its own is found among them");
}
