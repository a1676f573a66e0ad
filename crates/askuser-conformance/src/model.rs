//! The store beside the store in memory: both give the same results for any calls in any order.

use crate::support::{Process, Stage, agent, attempt, by_agent, choice, ok, person, request_for, wait};
use crate::{Dice, MemoryStore, Place};
use askuser::store::{
    AskerPresence, Attachment, Draft, End, Filter, PERMISSION_LASTS, Principal, QuestionId, Series, StoreError,
    StoredQuestion,
};
use askuser::{Origin, Outcome, Purpose, Request, Via};
use std::collections::BTreeMap;
use std::fmt::Debug;
use std::time::Duration;

/// Every step goes through one of several processes.
const PROCESSES: usize = 3;
/// How many questions are asked by a key that is used again.
const KEYS: usize = 300;
const LASTS: u64 = PERMISSION_LASTS.as_millis() as u64;

/// A value of the store, and the same value of the store in memory.
struct Two<T>(T, T);

struct Asked {
    ids: Two<QuestionId>,
    request: Request,
    waiters: Vec<Two<Attachment>>,
}

struct Model<'a> {
    stage: &'a Stage<'a>,
    memory: MemoryStore,
    processes: Vec<Two<Process>>,
    dice: Dice,
    asked: Vec<Asked>,
    /// The number of times that each result came.
    seen: BTreeMap<String, usize>,
}

/// A hundred thousand steps, where the store does not say otherwise.
pub fn the_store_does_what_the_store_in_memory_does(place: &dyn Place) {
    let stage = Stage::new(place);
    let memory = MemoryStore::new();
    memory.set_time(stage.now());
    let reference = Stage::new(&memory);
    let processes = (0..PROCESSES).map(|_| Two(stage.open(), reference.open())).collect();
    let mut model = Model {
        stage: &stage,
        memory: memory.clone(),
        processes,
        dice: Dice::new(7),
        asked: Vec::new(),
        seen: BTreeMap::new(),
    };
    for _ in 0..place.steps() {
        model.step();
    }
    model.agrees();
    for result in [
        "put new",
        "put known",
        "series new",
        "series known",
        "answer ok",
        "answer ended",
        "answer forbidden",
        "withdraw ok",
        "withdraw ended",
        "withdraw forbidden",
        "claim Won",
        "claim Used",
        "claim Lapsed",
        "claim forbidden",
        "hold ok",
        "deliver ok",
        "draft ok",
    ] {
        assert!(model.seen.get(result).is_some_and(|times| *times > 10), "{result} did not happen: {:?}", model.seen);
    }
    let damage = stage.damage();
    assert!(damage.is_empty(), "{damage:?}");
}

/// A result that both stores give alike: without ids, and with the kind of an error only.
fn told<T: Debug>(result: &Result<T, StoreError>) -> String {
    match result {
        Ok(value) => format!("ok {value:?}"),
        Err(StoreError::Ended(ending)) => format!("ended {ending:?}"),
        Err(StoreError::Forbidden(why)) => format!("forbidden {why}"),
        Err(error) => panic!("the store failed: {}", error.chain()),
    }
}

/// The facts of a question in both stores, without its id and its place.
fn facts(question: &StoredQuestion) -> String {
    let waits = question.asker == AskerPresence::Waits && question.ending.is_none();
    let StoredQuestion { asked_ms, expires_ms, ending, delivered_ms, unsent, .. } = question;
    format!("{asked_ms} {expires_ms:?} {ending:?} {delivered_ms:?} {waits} {unsent:?}")
}

impl Model<'_> {
    fn count(&mut self, what: &str, result: &str) {
        let kind: String = result.chars().take_while(|c| c.is_alphanumeric()).collect();
        *self.seen.entry(format!("{what} {kind}")).or_default() += 1;
    }

    fn process(&mut self) -> usize {
        self.dice.below(PROCESSES)
    }

    /// Makes a call about a question to both stores, and compares the results.
    fn both<T: Debug>(
        &mut self,
        what: &str,
        at: usize,
        call: impl Fn(&Process, &QuestionId) -> Result<T, StoreError>,
    ) -> String {
        let process = self.process();
        let (Two(here, there), ids) = (&self.processes[process], &self.asked[at].ids);
        let here = told(&call(here, &ids.0));
        let there = told(&call(there, &ids.1));
        assert_eq!(here, there, "{what} differs from the store in memory");
        here
    }

    fn step(&mut self) {
        let what =
            ["put", "put", "series", "answer", "answer", "withdraw", "claim", "draft", "hold", "deliver", "leave"];
        let what = what[self.dice.below(what.len())];
        if self.dice.below(12) == 0 {
            return self.clock();
        }
        // Mostly one of the latest: the others have long ended.
        let back = if self.dice.below(2) == 0 { 12 } else { KEYS };
        let at = self.asked.len().checked_sub(1 + self.dice.below(back));
        let by = self.dice.below(4);
        let name = attempt(format!("attempt {}", self.dice.below(2)));
        match (what, at) {
            ("put", _) => self.put(),
            ("series", _) => self.put_in_series(),
            (_, None) => {}
            ("answer", Some(at)) => {
                let principal = match by {
                    0 => Principal::person("ada", Via::Policy),
                    1 => Principal::agent(self.asked[at].request.origin()),
                    by => person(&format!("person {by}")),
                };
                let outcome = match self.dice.below(4) {
                    0 => Outcome::declined(Some("no".into())),
                    1 => Outcome::discuss(None),
                    option => choice(option - 2),
                };
                let end = End::from(outcome);
                let told = self.both(what, at, |process, id| wait(process.by(principal.clone()).end(id, &end, &name)));
                self.count(what, &told);
            }
            // Rare, so that most questions live long enough.
            ("withdraw", Some(at)) if self.dice.below(6) == 0 => {
                let by = [agent("agent 0"), agent("agent 1"), person("ada"), person("bob")][by].clone();
                let told = self.both(what, at, |process, id| wait(process.by(by.clone()).withdraw(id, &name)));
                self.count(what, &told);
            }
            ("claim", Some(at)) => {
                let by = Principal::agent(self.asked[at].request.origin());
                let told = self.both(what, at, |process, id| wait(process.by(by.clone()).claim(id, &name)));
                self.count(what, told.strip_prefix("ok ").unwrap_or(&told));
            }
            ("draft", Some(at)) => self.draft(at, by),
            ("hold", Some(at)) if self.dice.below(4) == 0 => {
                let told = self.both(what, at, |process, id| wait(process.person("ada").hold(id)));
                self.count(what, &told);
            }
            ("deliver", Some(at)) => {
                let by = Principal::agent(self.asked[at].request.origin());
                let told = self.both(what, at, |process, id| wait(process.by(by.clone()).delivered(id)));
                self.count(what, &told);
            }
            ("leave", Some(at)) => {
                if let Some(Two(here, there)) = self.asked[at].waiters.pop() {
                    [here, there].into_iter().for_each(|attachment| ok(wait(attachment.detach())));
                }
            }
            _ => {}
        }
    }

    /// A request of one of two agents, one of which has a credential.
    fn request(&mut self, call: &str) -> Request {
        let purpose = if self.dice.below(3) == 0 { Purpose::Permission } else { Purpose::Question };
        // A key is one agent's, and has one purpose.
        let number = self.dice.below(3);
        let call = format!("{call} {purpose:?} {number}");
        match number {
            0 => request_for(purpose, &call).with_origin(Origin::default().with_agent("agent 2").with_credential("ci")),
            number => by_agent(request_for(purpose, &call), &format!("agent {}", number - 1)),
        }
    }

    fn put(&mut self) {
        let key = self.dice.below(KEYS).to_string();
        let request = self.request(&key);
        let deadline = (self.dice.below(4) == 0).then(|| Duration::from_millis(1 + self.dice.below(5_000) as u64));
        self.put_both("put", request.with_deadline(deadline), None);
    }

    fn put_in_series(&mut self) {
        let call = format!("series {}", self.asked.len());
        let request = self.request(&call);
        let name = format!("{:?} {:?} {}", request.origin().agent, request.key().purpose, self.dice.below(5));
        let series = Series { name, conversation: self.dice.below(3).to_string() };
        self.put_both("series", request, Some(&series));
    }

    fn put_both(&mut self, what: &str, request: Request, series: Option<&Series>) {
        let process = self.process();
        let Two(here, there) = &self.processes[process];
        let here = here.put_in(&request, series);
        let there = there.put_in(&request, series);
        assert_eq!(here.is_new, there.is_new, "{what}: whether it is new differs from the store in memory");
        assert_eq!(facts(&here.question), facts(&there.question), "{what}: the question differs");
        self.count(what, if here.is_new { "new" } else { "known" });
        let waiter = Two(here.attachment, there.attachment);
        if here.is_new {
            let ids = Two(here.question.id, there.question.id);
            return self.asked.push(Asked { ids, request, waiters: vec![waiter] });
        }
        let known = self.asked.iter_mut().rfind(|asked| asked.ids.0 == here.question.id).expect("it was asked");
        assert_eq!(known.ids.1, there.question.id, "a call attaches to another question than in memory");
        known.waiters.push(waiter);
    }

    fn draft(&mut self, at: usize, by: usize) {
        let draft = match self.dice.below(5) {
            0 => Draft::default(),
            typed => Draft { discuss: Some(typed.to_string()), ..Draft::default() },
        };
        let name = format!("person {by}");
        let other = format!("person {}", self.dice.below(4));
        let told = self.both("draft", at, |process, id| {
            wait(process.person(&name).save_draft(id, &draft.clone().into()))?;
            wait(process.person(&other).drafts(id))
        });
        self.count("draft", &told);
    }

    /// Clocks jump, backwards too.
    fn clock(&mut self) {
        let (jump, now) = (self.dice.below(3_000) as u64, self.stage.now());
        let now = match self.dice.below(60) {
            0..12 => now.saturating_sub(jump),
            12 => now + LASTS,
            _ => now + jump,
        };
        self.stage.set_time(now);
        self.memory.set_time(now);
        // What is due now ends now: the clock may be set back before the next call.
        if self.dice.below(16) > 0 {
            if let Some(at) = self.asked.len().checked_sub(1) {
                self.both("get", at, |process, id| Ok(facts(&process.get(id))));
            }
            return;
        }
        let by = ["person 1", "person 2"][self.dice.below(2)];
        let filter = match self.dice.below(4) {
            0 => Filter::ended(),
            1 => Filter::ended().reversed(),
            2 => Filter::pending(),
            _ => Filter::pending().reversed(),
        };
        let process = self.process();
        let Two(here, there) = &self.processes[process];
        let pages = [here, there].map(|process| {
            let list = |filter: Filter| ok(wait(process.person(by).list(&filter.at_most(4))));
            let first = list(filter.clone());
            let second = first.next.map(|next| list(filter.clone().after(next)).questions).unwrap_or_default();
            first.questions.iter().chain(&second).map(facts).collect::<Vec<_>>()
        });
        assert_eq!(pages[0], pages[1], "a list differs from the store in memory: {filter:?}");
    }

    /// At the end they agree about everything.
    fn agrees(&mut self) {
        let Two(here, there) = &self.processes[0];
        let both = [here, there].map(|process| {
            let reader = process.person("person 1");
            let questions = ok(wait(reader.list(&Filter::default()))).questions;
            let count = ok(wait(reader.count(&Filter::ended())));
            (questions.iter().map(facts).collect::<Vec<_>>(), count)
        });
        assert_eq!(both[0], both[1], "the stores differ at the end");
        let events = |process: &Process| ok(wait(process.person("ada").events(0, u32::MAX)));
        let expected = events(there).events.len();
        crate::until("all events are visible", || events(here).events.len() >= expected);
        let events = events(here);
        assert_eq!((events.events.len(), events.gap), (expected, false), "one event for each change, no other");
        assert!(events.events.is_sorted_by(|one, next| one.seq < next.seq));
    }
}
