//! Tests of the reports between a surface and a caller.

use super::*;
use crate::Chain;
use crate::input::QuestionInput;
use crate::outcome::Outcome;
use crate::policy::{Answers, Policy};
use crate::question::QuestionSet;
use crate::resolution::Via;
use crate::rules::Rules;
use serde_json::json;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};

fn request(text: &str) -> Request {
    let question = QuestionInput::new(text, "Database").option("PostgreSQL (Recommended)", "p").option("SQLite", "s");
    let set = QuestionSet::new([question.multi_select()], &Rules::strict()).unwrap();
    Request::new(RequestKey::new("s", "c"), set)
}

fn answered(request: &Request) -> Resolution {
    let answer = request.set().questions()[0].answer(&[0], Some("two\nlines".into()), None).unwrap();
    Outcome::answered(request.set(), vec![answer]).unwrap().through(Via::Web)
}

fn withdrawn() -> Ending {
    Ending::Withdrawn { by: "ada".into(), at_ms: 7 }
}

#[test]
fn a_person_who_sees_a_question_that_ended_elsewhere_reads_how() {
    let elsewhere = |resolution: Resolution| Ending::Resolved(resolution).words();
    assert_eq!(withdrawn().words(), "Withdrawn, no answer needed");
    assert_eq!(elsewhere(Outcome::timed_out().through(Via::Inbox)), "Timed out, no answer sent");
    assert_eq!(elsewhere(Outcome::declined(None).through(Via::Web).with_by("ada")), "Declined by ada from web");
    assert_eq!(elsewhere(Outcome::discuss(None).through(Via::Inbox)), "To be talked about from inbox");
    assert_eq!(elsewhere(Outcome::cancelled().through(Via::Terminal)), "Cancelled from terminal");
    let answer = elsewhere(answered(&request("Which?")).with_by("ada"));
    assert_eq!(answer, "Answered by ada from web (Database: PostgreSQL, two lines)");
    let request = request("Which?");
    let noted = request.set().questions()[0].answer(&[0], None, Some("for now".into())).unwrap();
    let noted = Outcome::answered(request.set(), vec![noted]).unwrap().through(Via::Web);
    assert_eq!(elsewhere(noted), "Answered from web (Database: PostgreSQL (note: for now))");
    let refused = Outcome::declined(Some("too early".into())).through(Via::Web);
    assert_eq!(elsewhere(refused), "Declined from web (too early)");
}

/// The reports to a surface about its delivery.
type Told = Arc<Mutex<Vec<Result<(), String>>>>;

fn delivery(resolution: Resolution) -> (Delivery, Told) {
    let told = Told::default();
    let tell = Arc::clone(&told);
    (Delivery::new(resolution, move |stored| tell.lock().unwrap().push(stored)), told)
}

#[test]
fn a_surface_is_told_once_what_became_of_its_answer() {
    let resolution = answered(&request("Which?"));
    let (stored, told) = delivery(resolution.clone());
    assert_eq!(stored.resolution(), &resolution);
    assert_eq!(stored.stored(), resolution);
    assert_eq!(*told.lock().unwrap(), [Ok(())]);
    let (lost, told) = delivery(resolution.clone());
    assert_eq!(lost.not_stored("the disk is full"), resolution);
    assert_eq!(*told.lock().unwrap(), [Err("the disk is full".to_owned())]);
    let (dropped, told) = delivery(resolution);
    drop(dropped);
    assert_eq!(*told.lock().unwrap(), [Err("the caller did not take the answer".to_owned())]);
}

#[test]
fn an_answer_to_another_question_is_no_answer_and_its_surface_is_told() {
    let asked = request("Run Wipe?");
    let other = request("Run Ls?");
    let (right, told) = delivery(answered(&asked));
    let _ = right.check(&asked).expect("an answer to what was asked").stored();
    assert_eq!(*told.lock().unwrap(), [Ok(())]);
    let (wrong, told) = delivery(answered(&other));
    let error = wrong.check(&asked).unwrap_err();
    assert!(error.chain().starts_with("the answer does not belong to the question that was asked: answers"), "{error}");
    let told = told.lock().unwrap();
    assert!(matches!(&told[..], [Err(why)] if why.contains("\"Run Ls?\" was not asked")), "{told:?}");
}

#[test]
fn an_error_and_its_causes_are_one_line() {
    let error = AskError::surface("cannot open the terminal", std::io::Error::other("it is gone"));
    assert_eq!(error.chain(), "cannot open the terminal: it is gone");
    assert_eq!(AskError::Interrupted.chain(), "interrupted");
}

/// An asker that knows no answers beforehand, answers, and records the closed questions.
#[derive(Clone, Default)]
struct Person {
    closed: Arc<Mutex<Vec<(RequestKey, Ending)>>>,
}

impl Asker for Person {
    fn ask<'a>(&'a self, request: &'a Request) -> Asking<'a> {
        Box::pin(std::future::ready(Ok(answered(request).into())))
    }

    fn close(&self, key: &RequestKey, ending: &Ending) {
        self.closed.lock().unwrap().push((key.clone(), ending.clone()));
    }
}

/// Returns the output of a future that must be ready.
fn ready<T>(mut future: Pin<Box<dyn Future<Output = T> + Send + '_>>) -> T {
    match future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => value,
        Poll::Pending => panic!("nothing is there yet"),
    }
}

#[test]
fn an_asker_before_a_person_hands_everything_on() {
    let policy =
        |answers: serde_json::Value| Policy { answers: Some(Answers::parse(&answers).unwrap()), headless: None };
    let person = Person::default();
    let request = request("Which?");
    let before = |policy| Chain::new(policy).with_person(Arc::new(person.clone()));
    let elsewhere = before(policy(json!({"Colour": "red"})));
    // Answers that do not fit a question are ignored, so the person is asked.
    let misfit = before(policy(json!({"Database": "Oracle"})));
    let askers: [Box<dyn Asker>; 6] = [
        Box::new(person.clone()),
        Box::new(Arc::new(person.clone())),
        Box::new(Box::new(person.clone())),
        Box::new(Box::leak(Box::new(person.clone())) as &Person),
        Box::new(elsewhere),
        Box::new(misfit),
    ];
    for (i, asker) in askers.iter().enumerate() {
        assert_eq!(asker.decide(&request), Decision::Ask(vec![]), "{i}");
        assert_eq!(ready(asker.ask(&request)).unwrap().stored(), answered(&request), "{i}");
        asker.close(request.key(), &withdrawn());
        assert_eq!(*person.closed.lock().unwrap(), vec![(request.key().clone(), withdrawn()); i + 1]);
    }
}

#[test]
fn what_is_known_beforehand_is_known_through_whatever_holds_it() {
    let answers = Some(Answers::parse(&json!({"Database": "SQLite"})).unwrap());
    let policy = Policy { answers, headless: None };
    let request = request("Which?");
    let first = Chain::new(policy.clone()).with_person(Arc::new(Person::default()));
    let askers: [Box<dyn Asker>; 3] =
        [Box::new(Arc::new(Chain::alone(policy))), Box::new(Box::new(first.clone())), Box::new(Arc::new(first))];
    for asker in askers {
        let Decision::Settled(resolution) = asker.decide(&request) else { panic!("a person is asked") };
        assert_eq!(resolution.via(), Some(Via::AnswersFile));
    }
}

#[test]
fn where_a_person_agrees_to_something_no_surface_hands_over_the_word_of_a_file() {
    use crate::request::Purpose;
    let asked = |purpose| {
        let request = request("Which?");
        Request::new(request.key().clone().for_purpose(purpose), request.set().clone())
    };
    for purpose in [Purpose::Permission, Purpose::Plan, Purpose::Question] {
        let request = asked(purpose);
        let may = purpose == Purpose::Question;
        for via in [Via::AnswersFile, Via::Policy] {
            let (forged, told) = delivery(Resolution::new(answered(&request).outcome().clone(), via));
            let checked = forged.check(&request);
            assert_eq!(checked.is_ok(), may, "{purpose:?} {via:?}");
            let refused = told.lock().unwrap().first().is_some_and(Result::is_err);
            assert_eq!(refused, !may, "{purpose:?} {via:?}");
        }
        assert!(delivery(answered(&request)).0.check(&request).is_ok(), "{purpose:?}");
        assert!(Delivery::from(Resolution::unavailable("no terminal")).check(&request).is_ok(), "{purpose:?}");
    }
}

#[test]
fn a_reported_yes_is_refused_where_a_person_must_agree() {
    use crate::request::Purpose;
    let reported = |resolution| Resolution { reported_by: Some("ci".into()), ..resolution };
    for purpose in [Purpose::Permission, Purpose::Plan, Purpose::Question] {
        let request = request("Which?");
        let request = Request::new(request.key().clone().for_purpose(purpose), request.set().clone());
        for resolution in [answered(&request), Resolution::unavailable("no terminal")] {
            let (delivered, told) = delivery(reported(resolution));
            let checked = delivered.check(&request).map(Delivery::stored);
            if purpose == Purpose::Question {
                assert_eq!(checked.unwrap().reported_by(), Some("ci"));
                assert_eq!(*told.lock().unwrap(), [Ok(())]);
            } else {
                assert!(matches!(checked, Err(AskError::Reported(by)) if by == "ci"), "{purpose:?}");
                assert!(matches!(&told.lock().unwrap()[..], [Err(_)]), "{purpose:?}");
            }
        }
    }
}

#[test]
fn a_chain_asks_its_policy_once_and_its_person_after_that() {
    let answers = Some(Answers::parse(&json!({"Database": "Oracle"})).unwrap());
    let policy = Policy { answers, headless: None };
    let calls = Arc::new(Mutex::new(Vec::new()));
    let misfits = calls.clone();
    let asked = calls.clone();
    let chain = Chain::new(policy.clone())
        .with_person(Arc::new(Person::default()))
        .on_misfit(move |_| misfits.lock().unwrap().push("misfit"))
        .on_ask(move |_| asked.lock().unwrap().push("ask"));
    let request = request("Which?");
    assert_eq!(chain.decide(&request), Decision::Ask(vec![]));
    ready(chain.ask(&request)).unwrap().stored();
    assert_eq!(*calls.lock().unwrap(), ["misfit", "ask"]);
    let nobody = ready(Chain::new(Policy::default()).ask(&request)).unwrap().stored();
    assert_eq!(nobody, Resolution::unavailable("there is no person to ask"));
    for policy in [policy, Policy::default()] {
        let Decision::Settled(resolution) = Chain::alone(policy).decide(&request) else { panic!("a person is asked") };
        assert!(matches!(resolution.outcome().status(), Status::Unavailable { .. }), "{resolution:?}");
    }
}
