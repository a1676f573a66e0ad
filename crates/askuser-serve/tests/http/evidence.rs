//! Tests by random sequences of calls by several principals, that only evidence grants a permission.

use crate::support::Place;
use askuser::permission::{MayPermit, Permission, Verdict, verdict};
use askuser::policy::{Answers, Policy};
use askuser::store::{Attempt, End, Handle, Principal, Store};
use askuser::{
    Asker, Asking, Decision, Delivery, Origin, Outcome, Purpose, Reported, Request, RequestKey, Resolution, ToolUse,
    Via,
};
use askuser_conformance::{Place as _, SeededRng, wait};
use askuser_inbox::{InboxAsker, new_attempt};
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

const RUNS: u64 = 24;
const STEPS: usize = 200;
const QUESTIONS: usize = 16;
const ASKERS: [&str; 2] = ["ci", "cd"];
const PEOPLE: [&str; 2] = ["ada", "bob"];
/// The credentials of the askers, then those of the people.
const CREDENTIALS: [&str; 4] = ["ci", "cd", "a device of ada", "a device of bob"];

/// A surface of the waiting process that answers with this outcome.
struct Says(Outcome);

impl Asker for Says {
    fn ask<'a>(&'a self, _: &'a Request) -> Asking<'a> {
        Box::pin(std::future::ready(Ok(Delivery::from(self.0.clone().through(Via::Terminal)))))
    }
}

/// A run, with the facts that the test knows without the store.
struct Run<'a> {
    place: &'a Place,
    store: Arc<dyn Store>,
    dice: SeededRng,
    /// The questions whose plain yes by a person the store has acknowledged.
    allowed: BTreeSet<usize>,
    /// The credentials that were revoked and not renewed.
    revoked: BTreeSet<&'static str>,
    /// The questions that the store granted. A permission is granted once.
    granted: BTreeSet<usize>,
    seen: &'a mut BTreeMap<&'static str, usize>,
}

fn origin(asker: &str) -> Origin {
    Origin::default().with_agent("agent").with_credential(asker)
}

/// Returns a question, which belongs to one of the askers. Every fourth question approves a plan.
fn request(number: usize) -> Request {
    let purpose = if number.is_multiple_of(4) { Purpose::Plan } else { Purpose::Permission };
    let key = RequestKey::new("session", number.to_string()).for_purpose(purpose);
    let set = Permission::to_use(&ToolUse::new("Bash", Default::default())).question_set().unwrap();
    Request::new(key, set).with_origin(origin(ASKERS[number % 2]))
}

fn answer(request: &Request, option: usize, note: Option<&str>) -> Outcome {
    let answer = request.set().questions()[0].answer(&[option], None, note.map(str::to_owned)).unwrap();
    Outcome::answered(request.set(), vec![answer]).unwrap()
}

impl Run<'_> {
    fn count(&mut self, what: &'static str) {
        *self.seen.entry(what).or_default() += 1;
    }

    fn by(&self, principal: Principal) -> Handle {
        Handle::new(self.store.clone(), principal)
    }

    fn has_ended(&self, request: &Request) -> Option<bool> {
        let asker = Principal::agent(request.origin());
        wait(self.by(asker).get(request.key())).ok().map(|question| question.ending.is_some())
    }

    /// Handles a resolution from the store as the asking process does. `is_own_yes` tells whether the process's own
    /// surface produced a yes.
    fn takes(&mut self, number: usize, resolution: &Resolution, is_own_yes: bool) {
        let request = request(number);
        if resolution.reported_by().is_some() {
            self.count("only reported");
        }
        if !matches!(verdict(request.set(), resolution, MayPermit::PersonOrAnswers), Verdict::Agreed(_)) {
            return;
        }
        let is_persons = self.allowed.contains(&number);
        assert!(is_persons || is_own_yes, "question {number} was granted by nobody: {resolution:?}");
        self.count(if is_persons { "a person" } else { "its own surface" });
        let is_first = self.granted.insert(number);
        assert!(is_first || request.key().purpose == Purpose::Plan, "permission {number} serves twice");
    }

    fn step(&mut self) {
        let number = self.dice.below(QUESTIONS);
        let option = self.dice.below(2);
        let request = request(number);
        let key = request.key();
        let note = (self.dice.below(4) == 0).then_some("in a branch");
        let outcome = answer(&request, option, note);
        let is_yes = option == 0 && note.is_none();
        let inbox = InboxAsker::new(self.store.clone(), "ada");
        match self.dice.below(13) {
            0 | 8 | 11 => drop(wait(self.by(Principal::agent(request.origin())).put(&request, None))),
            1 | 2 => {
                let by = Principal::agent(&origin(ASKERS[self.dice.below(2)]));
                let reported = Some(Reported { by: Some("ada".into()), via: Some(Via::Terminal) });
                let end = End::Resolve { outcome, reported };
                if wait(self.by(by.clone()).end(key, &end, &new_attempt().unwrap())).is_ok() {
                    let name = by.name().unwrap();
                    assert!(name == ASKERS[number % 2] && !self.revoked.contains(name), "{name} settles its own");
                    self.count("settled");
                }
            }
            3 | 9 | 10 => {
                let who = self.dice.below(2);
                let person = self.by(Principal::person(PEOPLE[who], Via::Web));
                if wait(person.answer(key, outcome, &new_attempt().unwrap())).is_ok() {
                    assert!(!self.revoked.contains(CREDENTIALS[2 + who]), "a revoked device answers nothing");
                    self.allowed.extend(is_yes.then_some(number));
                }
            }
            4 => {
                // The store accepts no answer of a file or a rule.
                let via = [Via::AnswersFile, Via::Policy][self.dice.below(2)];
                let policy = self.by(Principal::person("ada", via));
                assert!(wait(policy.answer(key, outcome, &Attempt::new("file"))).is_err());
            }
            5 => {
                let name = CREDENTIALS[self.dice.below(4)];
                if self.revoked.remove(name) {
                    self.place.renew(name);
                } else if self.place.revoke(name) {
                    self.revoked.insert(name);
                    self.count("revoked");
                }
            }
            6 => {
                let was_open = self.has_ended(&request) != Some(true);
                let asker = inbox.with_surface(Arc::new(Says(outcome)));
                if let Ok(delivery) = wait(asker.ask(&request)) {
                    self.takes(number, &delivery.stored(), was_open && is_yes);
                }
            }
            7 => {
                if self.has_ended(&request) == Some(true)
                    && let Ok(delivery) = wait(inbox.ask(&request))
                {
                    self.takes(number, &delivery.stored(), false);
                }
            }
            _ => {
                let is_on_command_line = self.dice.below(2) == 0;
                let answers = Answers::parse(&json!({"Bash": "Allow once"})).unwrap();
                let answers = if is_on_command_line { answers.permitting() } else { answers };
                let policy = Policy { answers: Some(answers), headless: None };
                let is_granted = match policy.apply_to(&request).unwrap() {
                    Decision::Settled(given) => {
                        verdict(request.set(), &given, MayPermit::PersonOrAnswers) == Verdict::Agreed(0)
                    }
                    Decision::Ask(known) => request.with_known(known).unwrap().known().len() == 1,
                };
                assert_eq!(is_granted, is_on_command_line);
                self.count("its command line");
            }
        }
    }
}

#[test]
fn only_evidence_grants_a_permission() {
    let mut seen = BTreeMap::new();
    for seed in 0..RUNS {
        let place = Place::new();
        let mut run = Run {
            place: &place,
            store: place.open(),
            dice: SeededRng::new(seed),
            allowed: BTreeSet::new(),
            revoked: BTreeSet::new(),
            granted: BTreeSet::new(),
            seen: &mut seen,
        };
        (0..STEPS).for_each(|_| run.step());
    }
    for what in ["a person", "its own surface", "its command line", "only reported", "settled", "revoked"] {
        assert!(seen.get(what).is_some_and(|times| *times > 4), "{what} did not happen: {seen:?}");
    }
}
