//! Rules for deadlines, which follow the store's clock.

use crate::Place;
use crate::support::{TestEnv, choice, ended, new_attempt, ok, request, wait};
use askuser::Via;
use askuser::store::{Ending, State};
use std::time::Duration;

/// An expired deadline ends the question without an option or a person. Later answers are refused.
pub fn time_runs_out_without_choosing_anything_and_only_where_a_deadline_was_given(place: &dyn Place) {
    let stage = TestEnv::new(place);
    let process = stage.open();
    let patient = process.ask(&request("1"));
    let hasty = process.ask(&request("2").with_deadline(Duration::from_secs(60)));
    assert_eq!(process.get(&hasty).time_left(), Some(Duration::from_secs(60)));
    stage.set_time(1_059_999);
    assert_eq!(process.get(&hasty).state(), State::Pending);
    stage.set_time(1_060_000);
    let late = ended(wait(process.person("ada").answer(&hasty, choice(0), &new_attempt())));
    assert_eq!((late.state(), late.by(), late.at_ms()), (State::TimedOut, None, Some(1_060_000)), "time has run out");
    let question = process.get(&hasty);
    assert_eq!((question.ending.as_ref(), question.expires_ms), (Some(&late), None));
    let Ending::Resolved(resolution) = late else { panic!("it has an outcome") };
    assert!(resolution.outcome().answers().is_empty() && resolution.via() == Some(Via::Inbox));
    stage.set_time(u64::MAX / 4);
    assert_eq!(process.get(&patient).state(), State::Pending, "it has no deadline");
}

/// A person who stops the clock removes the deadline for all people.
pub fn a_person_who_holds_the_clock_clears_the_deadline(place: &dyn Place) {
    let stage = TestEnv::new(place);
    let here = stage.open();
    let there = stage.open();
    let id = here.ask(&request("1").with_deadline(Duration::from_secs(1)));
    ok(wait(there.person("ada").hold(request("1").key())));
    assert_eq!(here.get(&id).expires_ms, None);
    stage.advance(1_000_000);
    assert_eq!(here.get(&id).state(), State::Pending, "its clock was stopped");
    here.answer(&id, 0, "ada");
    ok(wait(there.person("ada").hold(&id)));
    assert_eq!(here.get(&id).state(), State::Answered, "what has ended has no clock");
}

/// A waiter gets the timeout although no process makes a call.
pub fn a_deadline_is_heard_of_by_a_waiter_when_nothing_else_happens(place: &dyn Place) {
    let stage = TestEnv::new(place);
    let process = stage.open();
    let id = process.ask(&request("1").with_deadline(Duration::from_millis(300)));
    let agent = process.agent();
    let mut waiting = Box::pin(agent.wait(&id));
    // Three polls suffice to watch, read and sleep.
    for _ in 0..3 {
        let mut context = std::task::Context::from_waker(std::task::Waker::noop());
        assert!(waiting.as_mut().poll(&mut context).is_pending());
        ok(wait(agent.flush()));
    }
    stage.advance(300);
    let ending = ok(wait(waiting));
    assert_eq!((ending.state(), ending.at_ms()), (State::TimedOut, Some(1_000_300)));
}

/// A question with the longest possible deadline never expires.
pub fn the_longest_deadline_there_is_never_passes(place: &dyn Place) {
    let stage = TestEnv::new(place);
    let process = stage.open();
    let id = process.ask(&request("1").with_deadline(Duration::MAX));
    stage.advance(u64::from(u32::MAX));
    assert_eq!(process.get(&id).state(), State::Pending);
    process.answer(&id, 0, "ada");
}
