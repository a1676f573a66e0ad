//! Rules for attempts: a question ends once, and a repeated attempt gets the same result.

use crate::Place;
use crate::support::{TestEnv, attempt, choice, ended, ok, request, wait};
use askuser::Outcome;
use askuser::store::{End, State};

/// A repeated attempt gets the ending that it made. Every other attempt gets the ending of the first one.
pub fn a_repeated_attempt_gets_the_same_ending_and_any_other_hears_who_won(place: &dyn Place) {
    let stage = TestEnv::new(place);
    let here = stage.open();
    let there = stage.open();
    let ends: [(End, State); 5] = [
        (choice(0).into(), State::Answered),
        (Outcome::declined(Some("no".into())).into(), State::Declined),
        (Outcome::discuss(Some("first".into())).into(), State::Discuss),
        (Outcome::cancelled().into(), State::Cancelled),
        (End::Withdraw, State::Withdrawn),
    ];
    for (i, (end, state)) in ends.into_iter().enumerate() {
        let id = here.ask(&request(&i.to_string()));
        let now = stage.now();
        let first = ok(wait(here.person("ada").end(&id, &end, &attempt("first"))));
        assert_eq!((first.state(), first.by(), first.at_ms()), (state, Some("ada"), Some(now)));
        stage.advance(5_000);
        let again = ok(wait(there.person("ada").end(&id, &end, &attempt("first"))));
        assert_eq!(again, first, "the same attempt gets the same result");
        for late in [choice(1).into(), End::Withdraw] {
            let winner = ended(wait(there.person("bob").end(&id, &late, &attempt("second"))));
            assert_eq!(winner, first, "who is late is told who was first");
        }
        assert_eq!(there.get(&id).ending, Some(first), "a final state absorbs");
    }
}
