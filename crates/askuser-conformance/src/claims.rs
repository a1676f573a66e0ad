//! A permission is used up: once, by the attempt that wins, while it lasts.

use crate::Place;
use crate::support::{
    Stage, agent, attempt, by_agent, choice, is_forbidden, new_attempt, ok, permission, request, wait,
};
use askuser::store::{Claim, PERMISSION_LASTS, Principal};
use askuser::{Origin, Outcome};

const LASTS: u64 = PERMISSION_LASTS.as_millis() as u64;

/// One attempt wins, and wins again when it is repeated; every other hears when it was used.
pub fn a_permission_is_used_once_and_the_same_attempt_has_used_it(place: &dyn Place) {
    let stage = Stage::new(place);
    let (here, there) = (stage.open(), stage.open());
    let id = here.ask(&permission("1"));
    here.answer(&id, 0, "ada");
    stage.advance(1_000);
    assert_eq!(ok(wait(here.agent().claim(&id, &attempt("a")))), Claim::Won);
    stage.advance(1_000);
    assert_eq!(ok(wait(there.agent().claim(&id, &attempt("a")))), Claim::Won, "the same attempt gets the same result");
    assert_eq!(ok(wait(there.agent().claim(&id, &attempt("b")))), Claim::Used(1_001_000), "it serves once");
    let lost = here.ask(&permission("2"));
    here.answer(&lost, 0, "ada");
    drop(here.agent().claim(&lost, &attempt("lost")));
    ok(wait(here.agent().flush()));
    assert_eq!(ok(wait(there.agent().claim(&lost, &attempt("other")))), Claim::Used(1_002_000), "it was on its way");
    stage.advance(LASTS * 2);
    let repeated = ok(wait(there.agent().claim(&lost, &attempt("lost"))));
    assert_eq!(repeated, Claim::Won, "a reply that was lost can be asked for again, also later");
}

/// A permission that was given too long ago, or in the future, is none.
pub fn a_permission_lapses_after_ten_minutes_and_a_clock_that_was_set_back_makes_none_recent(place: &dyn Place) {
    let stage = Stage::new(place);
    let process = stage.open();
    let given = |call: &str| {
        let id = process.ask(&permission(call));
        process.answer(&id, 0, "ada");
        id
    };
    let (in_time, late, back) = (given("1"), given("2"), given("3"));
    let claim = |id| ok(wait(process.agent().claim(id, &new_attempt())));
    stage.advance(LASTS);
    assert_eq!(claim(&in_time), Claim::Won);
    stage.advance(1);
    assert_eq!(claim(&late), Claim::Lapsed, "it was given too long ago");
    assert_eq!(process.get(&late).delivered_ms, None, "and nothing has used it");
    stage.set_time(1_000);
    assert_eq!(claim(&back), Claim::Lapsed, "a clock that was set back makes nothing recent");
    assert!(matches!(claim(&in_time), Claim::Used(_)), "what was used stays used");
}

/// A permission that its asker settled is used up like any other. A claim of another principal fails.
pub fn a_settled_permission_is_used_once_by_its_asker(place: &dyn Place) {
    let process = Stage::new(place).open();
    let origin = |name: &str| Origin::default().with_agent("tester").with_credential(name);
    let id = process.ask(&permission("1").with_origin(origin("ci")));
    let [asker, other] = ["ci", "cd"].map(|name| process.by(Principal::agent(&origin(name))));
    let ending = ok(wait(asker.answer(&id, choice(0), &new_attempt())));
    assert_eq!(ending.recorded().and_then(|reported| reported.reported_by()), Some("ci"), "a report, and no answer");
    assert!(is_forbidden(wait(other.claim(&id, &new_attempt()))), "it is another's");
    assert_eq!(ok(wait(asker.claim(&id, &attempt("a")))), Claim::Won);
    assert!(matches!(ok(wait(asker.claim(&id, &attempt("b")))), Claim::Used(_)), "it serves once");
}

/// No other question, no pending one, none that was taken back, and none of another agent.
pub fn only_an_answered_permission_of_its_own_agent_is_used(place: &dyn Place) {
    let process = Stage::new(place).open();
    let claim = |id: &_| wait(process.agent().claim(id, &new_attempt()));
    let question = process.ask(&request("1"));
    process.answer(&question, 0, "ada");
    assert!(is_forbidden(claim(&question)), "a plain question is no permission");
    let pending = process.ask(&permission("2"));
    assert!(is_forbidden(claim(&pending)), "it was not given yet");
    let withdrawn = process.ask(&permission("3"));
    ok(wait(process.agent().withdraw(&withdrawn, &new_attempt())));
    assert!(is_forbidden(claim(&withdrawn)), "it was never given");
    let others = process.ask(&by_agent(permission("4"), "another"));
    process.answer(&others, 0, "ada");
    assert!(is_forbidden(claim(&others)), "it is another agent's");
    assert!(is_forbidden(wait(process.person("ada").claim(&others, &new_attempt()))), "people use none");
    assert_eq!(ok(wait(process.by(agent("another")).claim(&others, &new_attempt()))), Claim::Won);
    // That it was refused is heard once, too.
    let refused = process.ask(&permission("5"));
    ok(wait(process.person("ada").answer(&refused, Outcome::declined(None), &new_attempt())));
    assert_eq!(ok(claim(&refused)), Claim::Won);
    assert!(matches!(ok(claim(&refused)), Claim::Used(_)));
}

/// Claiming a permission delivers it; one that was delivered otherwise cannot be claimed.
pub fn a_claim_counts_as_delivered_and_what_was_delivered_cannot_be_claimed(place: &dyn Place) {
    let stage = Stage::new(place);
    let process = stage.open();
    let claimed = process.ask(&permission("1"));
    process.answer(&claimed, 0, "ada");
    stage.advance(10);
    assert_eq!(ok(wait(process.agent().claim(&claimed, &attempt("a")))), Claim::Won);
    assert_eq!(process.get(&claimed).delivered_ms, Some(1_000_010));
    let delivered = process.ask(&permission("2"));
    ok(wait(process.agent().delivered(&delivered)));
    assert_eq!(process.get(&delivered).delivered_ms, None, "what has not ended cannot be delivered");
    ok(wait(process.person("ada").answer(&delivered, choice(0), &new_attempt())));
    ok(wait(process.agent().delivered(&delivered)));
    stage.advance(10);
    ok(wait(process.agent().delivered(&delivered)));
    assert_eq!(process.get(&delivered).delivered_ms, Some(1_000_010), "the first time counts");
    assert_eq!(ok(wait(process.agent().claim(&delivered, &attempt("b")))), Claim::Used(1_000_010));
}
