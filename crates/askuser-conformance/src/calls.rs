//! Rules for calls: a call takes effect once its method has returned.

use crate::Place;
use crate::support::{TestEnv, attempt, choice, ok, request, until, wait};
use askuser::store::{AskerPresence, Attachment, Draft, Filter, QuestionId, State};

/// A call takes effect even if its future is dropped. So `drop` or a callback can make a call.
pub fn a_call_is_on_its_way_when_the_method_returns_and_dropping_its_future_takes_nothing_back(place: &dyn Place) {
    let stage = TestEnv::new(place);
    let process = stage.open();
    let other = stage.open();
    let ids: Vec<QuestionId> = (0..50).map(|i| process.ask(&request(&i.to_string()))).collect();
    for id in &ids {
        drop(process.person("ada").answer(id, choice(0), &attempt("k")));
        drop(process.agent().delivered(id));
    }
    for i in 50..100 {
        drop(process.agent().put(&request(&i.to_string()), None));
    }
    ok(wait(process.agent().flush()));
    for id in &ids {
        let question = other.get(id);
        assert_eq!(question.state(), State::Answered, "to drop the future takes nothing back");
        assert!(question.delivered_ms.is_some(), "to drop the future takes nothing back");
    }
    let pending = ok(wait(other.person("ada").list(&Filter::pending()))).questions;
    assert_eq!(pending.len(), 50, "to drop the future takes nothing back");
    // A caller that left while its question was being stored is recorded as gone, not as dead.
    until("those who left are known to have left", || {
        pending.iter().all(|question| matches!(other.get(&question.id).asker, AskerPresence::Left(_)))
    });
}

/// The calls of a process about one question take effect in their order, even if the process does not await them.
pub fn calls_of_one_process_about_one_question_take_effect_in_their_order(place: &dyn Place) {
    let stage = TestEnv::new(place);
    let process = stage.open();
    let other = stage.open();
    let ada = process.person("ada");
    for i in 0..100 {
        let id = process.ask(&request(&i.to_string()));
        let typed = |text: &str| Draft { discuss: Some(text.into()), ..Draft::default() };
        for text in ["a", "ab", "abc"] {
            drop(ada.save_draft(&id, &typed(text).into()));
        }
        let draft = ok(wait(ada.draft(&id)));
        assert_eq!(draft, typed("abc"), "in their order: the last call is the last to take effect");
        let attached: Attachment = ok(wait(process.agent().attach(&id)));
        let first = ada.answer(&id, choice(0), &attempt("1"));
        let second = ada.answer(&id, choice(1), &attempt("2"));
        drop(process.agent().delivered(&id));
        drop(attached);
        let is_answered = wait(first).is_ok_and(|ending| ending.resolution().is_some());
        assert!(is_answered, "in their order: the first call is the first to take effect");
        assert!(wait(second).is_err(), "in their order: the second call is too late");
        ok(wait(process.agent().flush()));
        assert!(other.get(&id).delivered_ms.is_some(), "in their order: what follows an answer finds it");
    }
}

/// A flush waits for all earlier calls of its process.
pub fn flushing_waits_for_every_call_that_was_made_before(place: &dyn Place) {
    let stage = TestEnv::new(place);
    let process = stage.open();
    let other = stage.open();
    for round in 1..=20 {
        for i in 0..10 {
            drop(process.agent().put(&request(&format!("{round} {i}")), None));
        }
        ok(wait(process.agent().flush()));
        assert_eq!(ok(wait(other.person("ada").count(&Filter::pending()))), round * 10, "every call is done");
    }
}
