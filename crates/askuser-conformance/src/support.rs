//! Helpers of the rules for questions, people and waiting.

use crate::Place;
use askuser::input::QuestionInput;
use askuser::store::{Attempt, Ending, Handle, Principal, Put, QuestionId, Series, Store, StoreError, StoredQuestion};
use askuser::{Origin, Outcome, Purpose, QuestionSet, Request, RequestKey, Rules, Via};
use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, Wake};
use std::thread::Thread;
use std::time::{Duration, Instant};

/// The time limit of a wait, in milliseconds.
static PATIENCE: AtomicU64 = AtomicU64::new(45_000);

/// Lowers the time limit for all threads, for tests that expect a timeout.
pub fn give_up_after(patience: Duration) {
    PATIENCE.store(u64::try_from(patience.as_millis()).unwrap_or(u64::MAX), Ordering::Relaxed);
}

fn patience() -> Duration {
    Duration::from_millis(PATIENCE.load(Ordering::Relaxed))
}

/// Reports that a test is skipped because this machine lacks a requirement. `./check` collects these reports.
///
/// # Panics
/// If `CI` is set and not empty, because CI skips no test.
#[allow(clippy::print_stderr, reason = "a test that is left out says so")]
pub fn left_out_without(what: &str) {
    let is_ci = std::env::var_os("CI").is_some_and(|value| !value.is_empty());
    assert!(!is_ci, "this test needs {what}");
    let test = std::thread::current().name().unwrap_or("a test").to_owned();
    let line = format!("left out: {test} needs {what}\n");
    eprint!("{line}");
    // The output of a test that passes is hidden. So `./check` collects these lines in a file.
    if let Some(list) = std::env::var_os("ASKUSER_LEFT_OUT") {
        let list = std::fs::OpenOptions::new().create(true).append(true).open(list);
        list.and_then(|mut list| list.write_all(line.as_bytes())).expect("the list of left-out tests is writable");
    }
}

/// Blocks this thread until a future completes. Returns its output.
///
/// # Panics
/// If the wait exceeds the time limit.
pub fn wait<F: Future>(future: F) -> F::Output {
    struct Unpark(Thread);
    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let waker = Arc::new(Unpark(std::thread::current())).into();
    let began = Instant::now();
    let mut future = std::pin::pin!(future);
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut Context::from_waker(&waker)) {
            return output;
        }
        let left = patience().checked_sub(began.elapsed());
        let left = left.unwrap_or_else(|| panic!("still waiting after {:?}", patience()));
        std::thread::park_timeout(left);
    }
}

/// Waits until a condition holds. `what` describes the condition.
///
/// # Panics
/// If the wait exceeds the time limit.
pub fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let began = Instant::now();
    while !is_so() {
        assert!(began.elapsed() < patience(), "not so after {:?}: {what}", patience());
        // Most conditions hold soon, and some only briefly, so this polls without a pause at first.
        if began.elapsed() < Duration::from_millis(500) {
            std::thread::yield_now()
        } else {
            std::thread::park_timeout(Duration::from_millis(1))
        }
    }
}

/// A deterministic random number generator.
#[derive(Debug, Default)]
pub struct SeededRng(u64);

impl SeededRng {
    /// Creates a generator with this seed.
    pub fn new(seed: u64) -> SeededRng {
        SeededRng(seed)
    }

    /// Returns the next random number.
    pub fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut x = self.0;
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ (x >> 31)
    }

    /// Returns the next random number below `bound`.
    pub fn below(&mut self, bound: usize) -> usize {
        (self.number() % bound as u64) as usize
    }
}

/// Returns a set with one question that has two options.
pub(crate) fn set(text: &str) -> QuestionSet {
    let question = QuestionInput::new(text, "Pick").option("A", "The first").option("B", "The second");
    QuestionSet::new([question], &Rules::strict()).expect("a valid question")
}

/// Returns a request for "Which one?" by the agent of these tests.
pub(crate) fn request(call: &str) -> Request {
    asked("Which one?", call)
}

pub(crate) fn asked(text: &str, call: &str) -> Request {
    let origin = Origin::default().with_agent(AGENT).with_folder("/project");
    Request::new(RequestKey::new("session", call), set(text)).with_origin(origin)
}

/// Returns a request for "Which one?" with this purpose.
pub(crate) fn request_for(purpose: Purpose, call: &str) -> Request {
    let origin = Origin::default().with_agent(AGENT).with_folder("/project");
    Request::new(RequestKey::new("session", call).for_purpose(purpose), set("Which one?")).with_origin(origin)
}

pub(crate) fn permission(call: &str) -> Request {
    request_for(Purpose::Permission, call)
}

/// Returns the same request with this agent as its origin.
pub(crate) fn by_agent(request: Request, agent: &str) -> Request {
    request.with_origin(Origin::default().with_agent(agent))
}

/// Returns an answer to "Which one?" that chooses this option.
pub(crate) fn choice(option: usize) -> Outcome {
    let set = set("Which one?");
    let answer = set.questions()[0].answer(&[option], None, None).expect("an option");
    Outcome::answered(&set, vec![answer]).expect("every question")
}

pub(crate) fn attempt(name: impl Into<String>) -> Attempt {
    Attempt::new(name)
}

/// Returns an attempt with a unique name.
pub(crate) fn new_attempt() -> Attempt {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    Attempt::new(format!("attempt {}", COUNT.fetch_add(1, Ordering::Relaxed)))
}

pub(crate) fn series(conversation: &str) -> Series {
    Series { name: "the same".into(), conversation: conversation.into() }
}

/// The name of the agent in these tests.
pub(crate) const AGENT: &str = "tester";

pub(crate) fn person(name: &str) -> Principal {
    Principal::person(name, Via::Inbox)
}

pub(crate) fn agent(name: &str) -> Principal {
    Principal::agent(&Origin::default().with_agent(name))
}

/// The initial time of the clock, in milliseconds since 1970.
pub(crate) const START: u64 = 1_000_000;

/// A place with its clock.
pub(crate) struct TestEnv<'a> {
    pub(crate) place: &'a dyn Place,
    now: AtomicU64,
}

impl<'a> TestEnv<'a> {
    pub(crate) fn new(place: &'a dyn Place) -> TestEnv<'a> {
        let stage = TestEnv { place, now: AtomicU64::new(0) };
        stage.set_time(START);
        stage
    }

    pub(crate) fn open(&self) -> Process {
        Process(self.place.open())
    }

    pub(crate) fn now(&self) -> u64 {
        self.now.load(Ordering::Relaxed)
    }

    pub(crate) fn set_time(&self, ms: u64) {
        self.now.store(ms, Ordering::Relaxed);
        self.place.set_time(ms);
    }

    pub(crate) fn advance(&self, ms: u64) {
        self.set_time(self.now() + ms);
    }
}

/// A store as one process uses it.
#[derive(Clone)]
pub(crate) struct Process(Arc<dyn Store>);

impl Process {
    pub(crate) fn by(&self, principal: Principal) -> Handle {
        Handle::new(self.0.clone(), principal)
    }

    pub(crate) fn agent(&self) -> Handle {
        self.by(agent(AGENT))
    }

    pub(crate) fn person(&self, name: &str) -> Handle {
        self.by(person(name))
    }

    /// Puts a request as the agent that makes it.
    pub(crate) fn put(&self, request: &Request) -> Put {
        self.put_in(request, None)
    }

    pub(crate) fn put_in(&self, request: &Request, series: Option<&Series>) -> Put {
        ok(wait(self.by(Principal::agent(request.origin())).put(request, series)))
    }

    /// Puts a request without waiting. Returns the id of the question.
    pub(crate) fn ask(&self, request: &Request) -> QuestionId {
        let Put { question, attachment, .. } = self.put(request);
        ok(wait(attachment.detach()));
        question.id
    }

    /// Returns a question as any reader gets it.
    pub(crate) fn get(&self, id: &QuestionId) -> StoredQuestion {
        ok(wait(self.by(Principal::person("", Via::Policy)).get(id)))
    }

    pub(crate) fn answer(&self, id: &QuestionId, option: usize, by: &str) -> Ending {
        ok(wait(self.person(by).answer(id, choice(option), &new_attempt())))
    }
}

/// Returns the value of a call that must succeed.
pub(crate) fn ok<T>(result: Result<T, StoreError>) -> T {
    result.unwrap_or_else(|error| panic!("the store failed: {}", error.chain()))
}

/// Returns the earlier ending, with which a late call must fail.
pub(crate) fn ended(result: Result<Ending, StoreError>) -> Ending {
    match result {
        Err(StoreError::Ended(ending)) => *ending,
        other => panic!("it is told how it ended before, not {other:?}"),
    }
}

pub(crate) fn is_forbidden<T>(result: Result<T, StoreError>) -> bool {
    matches!(result, Err(StoreError::Forbidden(_)))
}
