//! Rules for series: a call finds the open question of its series, or asks a new one.

use crate::Place;
use crate::support::{Process, TestEnv, asked, new_attempt, ok, request, series, until, wait};
use askuser::store::{Put, State};

/// Puts a request of the series in this conversation.
fn put(process: &Process, call: &str, conversation: &str) -> Put {
    process.put_in(&request(call), Some(&series(conversation)))
}

/// Two waiting conversations never share a question or its answer.
pub fn a_call_shares_no_question_that_another_conversation_waits_for(place: &dyn Place) {
    let stage = TestEnv::new(place);
    let here = stage.open();
    let there = stage.open();
    let mine = put(&here, "1", "mine");
    let yours = put(&there, "2", "yours");
    assert!(yours.is_new && yours.question.id != mine.question.id, "another conversation waits for it");
    here.answer(&mine.question.id, 0, "ada");
    let again = put(&there, "3", "yours");
    assert!(!again.is_new && again.question.id == yours.question.id, "the answer is another conversation's");
}

/// One conversation takes over a question for which no process waits.
pub fn a_question_that_nothing_waits_for_is_taken_over(place: &dyn Place) {
    let stage = TestEnv::new(place);
    let here = stage.open();
    let there = stage.open();
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
    let dead = stage.place.die_waiting(&asked("Is it there?", "5"), Some(&series("four")));
    let again = asked("Is it there?", "6");
    until("the dead conversation is noticed", || {
        matches!(here.get(&dead).asker, askuser::store::AskerPresence::Died(_))
    });
    let found = here.put_in(&again, Some(&series("five")));
    assert!(!found.is_new && found.question.id == dead, "a process that died waits for nothing");
}
