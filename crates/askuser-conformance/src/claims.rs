//! Rules for permissions: the winning attempt uses a permission once and within its lifetime.

use crate::Place;
use crate::support::{TestEnv, attempt, choice, is_forbidden, new_attempt, ok, permission, wait};
use askuser::Origin;
use askuser::store::{Claim, PERMISSION_LASTS, Principal};

const LASTS: u64 = PERMISSION_LASTS.as_millis() as u64;

/// One attempt uses a permission, and wins again if it is repeated. Every other attempt gets the time of use.
pub fn a_permission_is_used_once_and_the_same_attempt_has_used_it(place: &dyn Place) {
    let stage = TestEnv::new(place);
    let here = stage.open();
    let there = stage.open();
    let id = here.ask(&permission("1"));
    here.answer(&id, 0, "ada");
    stage.advance(1_000);
    assert_eq!(ok(wait(here.agent().claim(&id, &attempt("a")))), Claim::Won);
    stage.advance(1_000);
    assert_eq!(ok(wait(there.agent().claim(&id, &attempt("a")))), Claim::Won, "the same attempt gets the same result");
    assert_eq!(ok(wait(there.agent().claim(&id, &attempt("b")))), Claim::Used { at_ms: 1_001_000 }, "it serves once");
    stage.advance(LASTS * 2);
    let repeated = ok(wait(there.agent().claim(&id, &attempt("a"))));
    assert_eq!(repeated, Claim::Won, "a reply that was lost can be asked for again, also later");
}

/// A permission that its asker settled is also used only once. Another principal cannot use it.
pub fn a_settled_permission_is_used_once_by_its_asker(place: &dyn Place) {
    let process = TestEnv::new(place).open();
    let origin = |name: &str| Origin::default().with_agent("tester").with_credential(name);
    let id = process.ask(&permission("1").with_origin(origin("ci")));
    let [asker, other] = ["ci", "cd"].map(|name| process.by(Principal::agent(&origin(name))));
    let ending = ok(wait(asker.answer(&id, choice(0), &new_attempt())));
    assert_eq!(ending.recorded().and_then(|reported| reported.reported_by()), Some("ci"), "a report, and no answer");
    assert!(is_forbidden(wait(other.claim(&id, &new_attempt()))), "it is another's");
    assert_eq!(ok(wait(asker.claim(&id, &attempt("a")))), Claim::Won);
    assert!(matches!(ok(wait(asker.claim(&id, &attempt("b")))), Claim::Used { .. }), "it serves once");
}
