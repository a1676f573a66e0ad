//! A question ends once, and the same attempt gets the same result.

use crate::Place;
use crate::support::{Stage, asked, attempt, choice, ended, ok, person, request, set, wait};
use askuser::store::{End, Ending, Principal, State, StoreError};
use askuser::{Answer, Outcome, Via};

/// Repeated, an attempt gets the very ending it made; every other is told who was first, and the answer.
pub fn a_repeated_attempt_gets_the_same_ending_and_any_other_hears_who_won(place: &dyn Place) {
    let stage = Stage::new(place);
    let (here, there) = (stage.open(), stage.open());
    let ends: [(End, State); 5] = [
        (choice(0).into(), State::Answered),
        (Outcome::declined(Some("no".into())).into(), State::Declined),
        (Outcome::discuss(Some("first".into())).into(), State::Discuss),
        (Outcome::cancelled().into(), State::Cancelled),
        (End::Withdraw, State::Withdrawn),
    ];
    for (i, (end, state)) in ends.into_iter().enumerate() {
        let (id, now) = (here.ask(&request(&i.to_string())), stage.now());
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

/// A caller that did not hear the reply repeats the attempt, from anywhere, and learns what it would have heard.
pub fn an_attempt_whose_reply_was_lost_can_be_repeated_from_anywhere(place: &dyn Place) {
    let stage = Stage::new(place);
    let (here, there) = (stage.open(), stage.open());
    for (i, end) in [choice(0).into(), Outcome::declined(None).into(), End::Withdraw].into_iter().enumerate() {
        let id = here.ask(&request(&i.to_string()));
        drop(here.person("ada").end(&id, &end, &attempt("lost")));
        ok(wait(here.agent().flush()));
        let recorded = here.get(&id).ending.expect("the call was on its way");
        let repeated = ok(wait(there.person("ada").end(&id, &end, &attempt("lost"))));
        assert_eq!(repeated, recorded, "the same attempt gets the same result");
        let late = ended(wait(there.person("bob").end(&id, &choice(1).into(), &attempt("late"))));
        assert_eq!(late, recorded, "and any other hears of it");
    }
}

/// The name of an attempt is no proof. A repeat with another answer, person or device gets the ending that won.
pub fn an_attempt_belongs_to_its_author_and_its_answer(place: &dyn Place) {
    let process = Stage::new(place).open();
    let id = process.ask(&request("1"));
    let ada = process.by(person("ada").on_device("phone"));
    let first = ok(wait(ada.answer(&id, choice(0), &attempt("k"))));
    assert_eq!(ok(wait(ada.answer(&id, choice(0), &attempt("k")))), first);
    assert_eq!(ended(wait(ada.answer(&id, choice(1), &attempt("k")))), first, "it is another answer");
    assert_eq!(ended(wait(ada.withdraw(&id, &attempt("k")))), first, "it is no answer");
    for other in [person("bob"), person("ada").on_device("laptop"), Principal::person("ada", Via::Web)] {
        let repeated = wait(process.by(other.clone()).answer(&id, choice(0), &attempt("k")));
        assert_eq!(ended(repeated), first, "{other:?} did not answer");
    }
}

/// An attempt that is no outcome of the question is refused, with the reason, and changes nothing.
pub fn an_answer_to_another_question_is_refused_and_changes_nothing(place: &dyn Place) {
    let process = Stage::new(place).open();
    let (id, ada) = (process.ask(&request("1")), process.person("ada"));
    let wrong = set("Drop it?");
    let yes = wrong.questions()[0].answer(&[0], None, None).expect("an option");
    let other = Outcome::answered(&wrong, vec![yes]).expect("every question");
    let long = Outcome::declined(Some("x".repeat(100_000)));
    for misfit in [other, long] {
        let error = wait(ada.answer(&id, misfit, &attempt("k"))).expect_err("it does not fit");
        assert!(matches!(error, StoreError::Misfit(_)), "{error:?}");
    }
    for none in [Outcome::timed_out(), Outcome::unavailable("no terminal")] {
        let error = wait(ada.answer(&id, none, &attempt("k"))).expect_err("that is no answer");
        assert!(matches!(error, StoreError::Forbidden(_)), "{error:?}");
    }
    assert_eq!(process.get(&id).state(), State::Pending, "nothing was recorded");
    let typed =
        Answer { custom_input: Some("neither".into()), selected_options: vec![], ..choice(0).answers()[0].clone() };
    let typed = Outcome::answered(&set("Which one?"), vec![typed]).expect("typed");
    let ending = ok(wait(ada.answer(&id, typed.clone(), &attempt("k"))));
    let Ending::Resolved(resolution) = ending else { panic!("it was answered") };
    assert_eq!((resolution.outcome(), resolution.via()), (&typed, Some(Via::Inbox)), "word for word");
}

/// What was taken back takes no answer, and says by whom.
pub fn a_question_that_was_taken_back_takes_no_answer(place: &dyn Place) {
    let process = Stage::new(place).open();
    let id = process.ask(&asked("Which one?", "1"));
    ok(wait(process.agent().withdraw(&id, &attempt("w"))));
    let ending = ended(wait(process.person("bob").answer(&id, choice(0), &attempt("k"))));
    assert_eq!(ending, Ending::Withdrawn { by: "tester".into(), at_ms: 1_000_000 });
}
