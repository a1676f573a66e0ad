//! Rules for processes that wait and processes that show a list.

use crate::Place;
use crate::support::{TestEnv, choice, new_attempt, ok, request, until, wait};
use askuser::store::{AskerPresence, State};

/// Other processes see that an asker waits, has left or has died. The question stays.
pub fn whether_a_process_waits_has_left_or_has_died_is_seen(place: &dyn Place) {
    let stage = TestEnv::new(place);
    let asker = stage.open();
    let other = stage.open();
    let put = asker.put(&request("1"));
    let id = put.question.id;
    assert_eq!(other.get(&id).asker, AskerPresence::Waits);
    assert_eq!(stage.open().get(&id).asker, AskerPresence::Waits, "a process that comes later sees it too");
    stage.set_time(2_000_000);
    ok(wait(put.attachment.detach()));
    assert_eq!(other.get(&id).asker, AskerPresence::Left(2_000_000));
    let again = asker.put(&request("1"));
    assert_eq!(other.get(&id).asker, AskerPresence::Waits, "it came back by its key");
    stage.set_time(3_000_000);
    drop(again);
    ok(wait(asker.agent().flush()));
    assert_eq!(other.get(&id).asker, AskerPresence::Left(3_000_000), "to drop it is to leave");
    let attached = ok(wait(asker.agent().attach(&id)));
    assert_eq!(other.get(&id).asker, AskerPresence::Waits, "it came back by its id");
    drop(attached);
    let dead = stage.place.die_waiting(&request("2"), None);
    let died = |presence| matches!(presence, AskerPresence::Died(at) if at >= 3_000_000);
    until("the dead process is noticed", || died(other.get(&dead).asker));
    let again = asker.put(&request("2"));
    assert_eq!(other.get(&dead).asker, AskerPresence::Waits, "another process waits for it now");
    drop(again);
    assert_eq!(other.get(&dead).state(), State::Pending, "the question is there either way");
    ok(wait(other.person("ada").answer(&dead, choice(0), &new_attempt())));
    assert_eq!(other.get(&dead).delivered_ms, None);
}

/// Several calls may wait for one question, in one process or in two. A call that leaves does not detach the others.
pub fn one_of_two_waiters_that_leaves_does_not_speak_for_the_other(place: &dyn Place) {
    let stage = TestEnv::new(place);
    let here = stage.open();
    let there = stage.open();
    let first = here.put(&request("1"));
    let second = here.put(&request("1"));
    let third = there.put(&request("1"));
    let id = first.question.id;
    ok(wait(first.attachment.detach()));
    assert_eq!(here.get(&id).asker, AskerPresence::Waits, "one more waits in this process, and one in another");
    ok(wait(third.attachment.detach()));
    assert_eq!(there.get(&id).asker, AskerPresence::Waits, "one waits in the other process");
    ok(wait(second.attachment.detach()));
    assert_eq!(there.get(&id).asker, AskerPresence::Left(1_000_000));
}

/// A list counts as shown while at least one process shows it.
pub fn a_list_is_shown_as_long_as_one_process_shows_it(place: &dyn Place) {
    let stage = TestEnv::new(place);
    let here = stage.open();
    let there = stage.open();
    let reader = stage.open();
    let is_shown = || {
        let [earlier, later] = [&reader, &stage.open()].map(|process| ok(wait(process.agent().is_list_shown())));
        assert_eq!(earlier, later, "a process that comes later sees the same");
        later
    };
    assert!(!is_shown());
    let first = ok(wait(here.person("ada").show_list()));
    let second = ok(wait(there.person("bob").show_list()));
    ok(wait(first.detach()));
    assert!(is_shown(), "one of the two is still there");
    drop(second);
    ok(wait(there.agent().flush()));
    assert!(!is_shown());
    assert!(wait(here.agent().show_list()).is_err(), "an agent has no eyes");
}
