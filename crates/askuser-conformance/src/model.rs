//! The random model: random calls must give the same results as in the store in memory.

use crate::support::{Process, TestEnv, attempt, by_agent, choice, ok, person, request_for, set, wait};
use crate::{MemoryStore, Place, SeededRng};
use askuser::store::{
    AskerPresence, Attachment, Draft, DraftSave, DraftVersion, End, Ending, Filter, PERMISSION_LASTS, Principal,
    QuestionId, Series, StoreError, StoredQuestion,
};
use askuser::{Context, Origin, Outcome, Purpose, Reported, Request, Resolution, Via};
use serde_json::json;
use std::collections::BTreeMap;
use std::fmt::Debug;
use std::time::Duration;

/// The number of processes. Every step uses one of them.
const PROCESSES: usize = 3;
/// The number of different keys, which are reused.
const KEYS: usize = 300;
const LASTS: u64 = PERMISSION_LASTS.as_millis() as u64;
/// The results that must be frequent, so that the test is meaningful.
const RESULTS: &str = "put new,put known,put other,series new,series known,answer ok,answer ended,answer forbidden,\
     answer misfit,withdraw ok,withdraw ended,withdraw forbidden,claim Won,claim Used,claim Lapsed,claim forbidden,hold ok,\
     deliver ok,draft ok,draft forbidden";

/// A value of the tested store and its counterpart in the store in memory.
struct Two<T>(T, T);

struct Asked {
    ids: Two<QuestionId>,
    request: Request,
    waiters: Vec<Two<Attachment>>,
}

struct Model<'a> {
    stage: &'a TestEnv<'a>,
    memory: MemoryStore,
    processes: Vec<Two<Process>>,
    rng: SeededRng,
    asked: Vec<Asked>,
    /// The number of times that each result has occurred.
    seen: BTreeMap<String, usize>,
}

/// The store gives the same results as the store in memory for random calls. A place may set the number of steps.
pub fn the_store_does_what_the_store_in_memory_does(place: &dyn Place) {
    let stage = TestEnv::new(place);
    let memory = MemoryStore::new();
    memory.set_time(stage.now());
    let reference = TestEnv::new(&memory);
    let processes = (0..PROCESSES).map(|_| Two(stage.open(), reference.open())).collect();
    let rng = SeededRng::new(7);
    let memory = memory.clone();
    let mut model = Model { stage: &stage, memory, processes, rng, asked: Vec::new(), seen: BTreeMap::new() };
    // An audience must consist of people that the store knows, so this person makes a call first.
    ok(wait(model.processes[0].0.person("person 2").count(&Filter::default())));
    for _ in 0..place.steps() {
        model.step();
    }
    model.agrees();
    for result in RESULTS.split(',') {
        assert!(model.seen.get(result).is_some_and(|times| *times > 10), "{result} did not happen: {:?}", model.seen);
    }
    let damage = stage.place.damage();
    assert!(damage.is_empty(), "{damage:?}");
}

/// Returns a result as both stores must give it: without ids, and with only the kind of an error.
fn told<T: Debug>(result: &Result<T, StoreError>) -> String {
    match result {
        Ok(value) => format!("ok {value:?}"),
        Err(StoreError::Ended(ending)) => format!("ended {}", ended(ending)),
        Err(StoreError::Forbidden(_)) => "forbidden".to_owned(),
        Err(StoreError::Misfit(_)) => "misfit".to_owned(),
        Err(StoreError::OtherQuestion { .. }) => "other".to_owned(),
        Err(error) => panic!("the store failed: {}", error.chain()),
    }
}

/// Returns the facts of an ending. The device is left out, because behind a server every person has one.
fn ended(ending: &Ending) -> String {
    let facts = |reported: &Resolution| {
        format!("{} {:?} {:?} {:?}", json!(reported.outcome()), reported.via(), reported.by(), reported.reported())
    };
    format!("{:?} {:?} {:?} {:?}", ending.state(), ending.by(), ending.at_ms(), ending.recorded().map(facts))
}

/// Returns the facts of a question without its id and cursor.
fn facts(question: &StoredQuestion) -> String {
    let waits = question.asker == AskerPresence::Waits && question.ending.is_none();
    let StoredQuestion { asked_ms, expires_ms, ending, sent_ms, delivered_ms, unsent, .. } = question;
    let ending = ending.as_ref().map(ended);
    let unsent: Vec<_> = unsent.iter().map(|draft| (&draft.words, draft.saved_ms)).collect();
    format!("{asked_ms} {expires_ms:?} {ending:?} {sent_ms:?} {delivered_ms:?} {waits} {unsent:?}")
}

fn misfit() -> Outcome {
    let other = set("Something else?");
    let answer = other.questions()[0].answer(&[0], None, None).expect("an option");
    Outcome::answered(&other, vec![answer]).expect("every question")
}

impl Model<'_> {
    fn count(&mut self, what: &str, result: &str) {
        let kind: String = result.chars().take_while(|c| c.is_alphanumeric()).collect();
        *self.seen.entry(format!("{what} {kind}")).or_default() += 1;
    }

    fn is_rare(&mut self, one_in: usize) -> bool {
        self.rng.below(one_in) == 0
    }

    /// Makes a call about a question in both stores and compares the results. Returns the result.
    fn both<T: Debug>(
        &mut self,
        what: &str,
        at: usize,
        call: impl Fn(&Process, &QuestionId) -> Result<T, StoreError>,
    ) -> String {
        let process = self.rng.below(PROCESSES);
        let (Two(here, there), ids) = (&self.processes[process], &self.asked[at].ids);
        let here = told(&call(here, &ids.0));
        let there = told(&call(there, &ids.1));
        assert_eq!(here, there, "{what} differs from the store in memory");
        self.count(what, here.strip_prefix("ok ").filter(|_| what == "claim").unwrap_or(&here));
        here
    }

    fn step(&mut self) {
        let what = [
            "put", "put", "series", "answer", "answer", "withdraw", "claim", "draft", "hold", "send", "deliver",
            "leave",
        ];
        let what = what[self.rng.below(what.len())];
        if self.is_rare(12) {
            return self.clock();
        }
        // The question is mostly a recent one, because older ones have ended.
        let back = if self.is_rare(2) { 12 } else { KEYS };
        let at = self.asked.len().checked_sub(1 + self.rng.below(back));
        let name = attempt(format!("attempt {}", self.rng.below(2)));
        match (what, at) {
            ("put", _) => self.put(),
            ("series", _) => self.put_in_series(),
            ("answer", Some(at)) => {
                let end = self.end();
                // A server parses an answer before it checks the caller's rights.
                let is_misfit = matches!(&end, End::Resolve { outcome, .. } if *outcome == misfit());
                let by = if is_misfit { person("person 2") } else { self.answerer(at) };
                self.both(what, at, |process, id| Ok(ended(&wait(process.by(by.clone()).end(id, &end, &name))?)));
            }
            // Withdrawals are rare, so that most questions stay open long enough.
            ("withdraw", Some(at)) if self.is_rare(6) => {
                let by = self.reader(at);
                self.both(what, at, |process, id| Ok(ended(&wait(process.by(by.clone()).withdraw(id, &name))?)));
            }
            ("claim", Some(at)) => {
                let by = self.asker(at);
                self.both(what, at, |process, id| wait(process.by(by.clone()).claim(id, &name)));
            }
            ("draft", Some(at)) => self.draft(at),
            ("hold", Some(at)) if self.is_rare(4) => {
                let by = self.reader(at);
                self.both(what, at, |process, id| wait(process.by(by.clone()).hold(id)));
            }
            ("send", Some(at)) => {
                let by = self.asker(at);
                self.both(what, at, |process, id| wait(process.by(by.clone()).sent(id)));
            }
            ("deliver", Some(at)) => {
                let by = self.asker(at);
                self.both(what, at, |process, id| wait(process.by(by.clone()).delivered(id)));
            }
            ("leave", Some(at)) => {
                if let Some(Two(here, there)) = self.asked[at].waiters.pop() {
                    [here, there].into_iter().for_each(|attachment| ok(wait(attachment.detach())));
                }
            }
            _ => {}
        }
    }

    fn end(&mut self) -> End {
        let outcome = match self.rng.below(6) {
            0 => Outcome::declined(Some("no".into())),
            1 => Outcome::discuss(None),
            2 => misfit(),
            option => choice(option % 2),
        };
        let by = ["person 2", "root", ""][self.rng.below(3)];
        let reported = Reported { by: Some(by.to_owned()), via: Some(Via::Terminal) };
        End::Resolve { outcome, reported: Some(reported).filter(|_| !by.is_empty()) }
    }

    /// Returns the agent that asked, or rarely another principal.
    fn asker(&mut self, at: usize) -> Principal {
        if self.is_rare(8) { self.reader(at) } else { Principal::agent(self.asked[at].request.origin()) }
    }

    fn answerer(&mut self, at: usize) -> Principal {
        match self.rng.below(5) {
            0 => Principal::person("ada", Via::Policy),
            1 => Principal::agent(self.asked[at].request.origin()),
            2 => person("person 2").on_device("phone"),
            by => person(&format!("person {by}")),
        }
    }

    fn reader(&mut self, at: usize) -> Principal {
        match self.rng.below(5) {
            0 => Principal::agent(self.asked[at].request.origin()),
            1 => Principal::agent(&Origin::default().with_agent("agent 0")),
            2 => Principal::person("ada", Via::Policy),
            by => person(&format!("person {}", by - 1)),
        }
    }

    /// Returns a request of one of three agents, of which the last one has a credential.
    fn request(&mut self, call: &str, is_for_one: bool) -> Request {
        let purpose = if self.is_rare(3) { Purpose::Permission } else { Purpose::Question };
        // The key contains the agent and the purpose, because a key must not be reused with others.
        let agent = self.rng.below(3);
        let request = by_agent(request_for(purpose, &format!("{call} {purpose:?} {agent}")), &format!("agent {agent}"));
        let origin = request.origin().clone();
        let request = if agent == 2 { request.with_origin(origin.with_credential("ci")) } else { request };
        let request = if is_for_one { request.with_audience(["person 2"]) } else { request };
        if self.is_rare(10) { request.with_context(Context::Command("ls".into())) } else { request }
    }

    fn series(&mut self, request: &Request) -> Series {
        let name = format!("{:?} {:?} {}", request.origin().agent, request.key().purpose, self.rng.below(5));
        Series { name, conversation: self.rng.below(3).to_string() }
    }

    fn put(&mut self) {
        let key = self.rng.below(KEYS);
        let request = self.request(&key.to_string(), key.is_multiple_of(4));
        let deadline = self.is_rare(4).then(|| Duration::from_millis(1 + self.rng.below(5_000) as u64));
        let series = self.is_rare(4).then(|| self.series(&request));
        self.put_both("put", request.with_deadline(deadline), series.as_ref());
    }

    fn put_in_series(&mut self) {
        let number = self.asked.len();
        let request = self.request(&format!("series {number}"), number.is_multiple_of(9));
        let series = self.series(&request);
        self.put_both("series", request, Some(&series));
    }

    fn put_both(&mut self, what: &str, request: Request, series: Option<&Series>) {
        let Two(here, there) = &self.processes[self.rng.below(PROCESSES)];
        let [here, there] =
            [here, there].map(|process| wait(process.by(Principal::agent(request.origin())).put(&request, series)));
        let (here, there) = match (here, there) {
            (Ok(here), Ok(there)) => (here, there),
            (here, there) => {
                let told = [told(&here), told(&there)];
                assert_eq!(told[0], told[1], "{what} differs from the store in memory");
                return self.count(what, &told[0]);
            }
        };
        assert_eq!(here.is_new, there.is_new, "{what}: the novelty differs from the store in memory");
        assert_eq!(facts(&here.question), facts(&there.question), "{what} differs from the store in memory");
        self.count(what, if here.is_new { "new" } else { "known" });
        let waiter = Two(here.attachment, there.attachment);
        if here.is_new {
            let ids = Two(here.question.id, there.question.id);
            return self.asked.push(Asked { ids, request, waiters: vec![waiter] });
        }
        let known = self.asked.iter_mut().rfind(|asked| asked.ids.0 == here.question.id).expect("it was asked");
        assert_eq!(known.ids.1, there.question.id, "the question differs from the store in memory");
        known.waiters.push(waiter);
    }

    fn draft(&mut self, at: usize) {
        let mut version = || DraftVersion { writer: self.rng.below(3).to_string(), edit: self.rng.below(4) as u32 };
        let replaces = vec![version(), version()];
        let version = version();
        let draft = match self.rng.below(5) {
            0 => Draft::default(),
            typed => Draft { discuss: Some(typed.to_string()), ..Draft::default() },
        };
        let save = DraftSave { draft, version, replaces };
        let [writer, reader] = [(); 2].map(|()| self.reader(at));
        self.both("draft", at, |process, id| {
            wait(process.by(writer.clone()).save_draft(id, &save))?;
            let drafts = wait(process.by(reader.clone()).drafts(id))?;
            Ok(drafts.into_iter().map(|saved| (saved.draft, saved.version, saved.saved_ms)).collect::<Vec<_>>())
        });
    }

    /// Moves the clock, sometimes backwards. Questions past their deadline end first.
    fn clock(&mut self) {
        let jump = self.rng.below(3_000) as u64;
        let now = self.stage.now();
        let now = match self.rng.below(60) {
            0..12 => now.saturating_sub(jump),
            12 => now + LASTS,
            _ => now + jump,
        };
        self.stage.set_time(now);
        self.memory.set_time(now);
        if self.is_rare(16) {
            return self.lists(now);
        }
        if let Some(at) = self.asked.len().checked_sub(1 + self.rng.below(12)) {
            let reader = self.reader(at);
            self.both("get", at, |process, id| Ok(facts(&wait(process.by(reader.clone()).get(id))?)));
        }
    }

    /// Compares two pages of a list and the count of the questions after the first page.
    fn lists(&mut self, now: u64) {
        let filter = Filter {
            pending: [None, Some(true), Some(false)][self.rng.below(3)],
            since_ms: self.is_rare(4).then(|| now.saturating_sub(20_000)),
            from: self.is_rare(4).then(|| "GENT 1".to_owned()),
            containing: self.is_rare(4).then(|| ["WHICH", "ls", "limits"][self.rng.below(3)].to_owned()),
            mine: self.is_rare(4),
            latest_first: self.is_rare(2),
            ..Filter::default()
        };
        let by = ["person 1", "person 2"][self.rng.below(2)];
        let Two(here, there) = &self.processes[self.rng.below(PROCESSES)];
        let [here, there] = [here, there].map(|process| {
            let list = |filter: &Filter| ok(wait(process.person(by).list(&filter.clone().at_most(4))));
            let first = list(&filter);
            let rest = Filter { after: first.next, ..filter.clone() };
            let questions = first.questions.iter().chain(&list(&rest).questions).map(facts).collect::<Vec<_>>();
            (questions, ok(wait(process.person(by).count(&rest))))
        });
        assert_eq!(here, there, "a list differs from the store in memory: {filter:?}");
    }

    /// Asserts that both stores have the same questions and the same number of events at the end.
    fn agrees(&mut self) {
        let Two(here, there) = &self.processes[0];
        let both = [here, there].map(|process| {
            let questions = ok(wait(process.person("person 1").list(&Filter::default()))).questions;
            questions.iter().map(facts).collect::<Vec<_>>()
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
