//! Rules for waiting until a question ends.

use crate::Place;
use crate::support::{TestEnv, choice, new_attempt, ok, request, wait};
use askuser::store::{QuestionId, State};

/// Any number of waiters in one process each get the ending of their question. Any process may end it.
pub fn many_wait_in_one_process_and_each_hears_of_its_own_question(place: &dyn Place) {
    let waiters = place.steps() / 10;
    let stage = TestEnv::new(place);
    let here = stage.open();
    let there = stage.open();
    let agent = here.agent();
    let puts: Vec<_> = (0..waiters).map(|i| agent.put(&request(&i.to_string()), None)).collect();
    let ids: Vec<QuestionId> = puts.into_iter().map(|put| ok(wait(put)).question.id).collect();
    let mut waiting: Vec<_> = ids.iter().map(|id| Box::pin(agent.wait(id))).collect();
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    for waiting in &mut waiting {
        assert!(waiting.as_mut().poll(&mut context).is_pending(), "it has not ended");
    }
    for (i, id) in ids.iter().enumerate() {
        let answering = there.person(&format!("person {i}")).answer(id, choice(i % 2), &new_attempt());
        if i % 100 == 0 {
            ok(wait(answering));
        }
    }
    for (i, waiting) in waiting.into_iter().enumerate() {
        let ending = ok(wait(waiting));
        assert_eq!((ending.state(), ending.by()), (State::Answered, Some(&*format!("person {i}"))));
    }
}
