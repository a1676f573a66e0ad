//! Measures a store in a file. Prints figures and asserts none: `cargo bench -p askuser-inbox --
//! cycles|size|wake|list|dead|idle|many`. Without a name it runs all benchmarks.
//!
//! `benches/inbox/run` compares the store with LangGraph and counts the fsyncs of both.
#![allow(clippy::print_stdout, reason = "it is all it does")]

use askuser::input::QuestionInput;
use askuser::store::{Attempt, Cursor, Filter, Handle, Principal, Put, QuestionId, State, StoreError};
use askuser::{Origin, Outcome, QuestionSet, Request, RequestKey, Rules, Via};
use askuser_inbox::SqliteStore;
use pollster::block_on;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

fn set() -> QuestionSet {
    let question = QuestionInput::new("Which database should we use for this project?", "Database")
        .option("PostgreSQL (Recommended)", "Robust relational DB, great for complex queries")
        .option("MongoDB", "Document DB, flexible schema for rapid development")
        .option("SQLite", "Embedded DB, zero configuration, good for small apps");
    QuestionSet::new([question], &Rules::strict()).expect("a valid question")
}

fn request(call: usize) -> Request {
    let key = RequestKey::new("0192f5c0-7e57-7000-8000-000000000001", format!("toolu_{call:024}"));
    let origin =
        Origin::default().with_agent("claude-code").with_folder("/home/ada/projects/shop").with_host("workshop");
    Request::new(key, set()).with_origin(origin)
}

fn answer() -> Outcome {
    let set = set();
    let answer = set.questions()[0].answer(&[0], None, None).expect("an option");
    Outcome::answered(&set, vec![answer]).expect("every question")
}

/// Creates a folder on a disk. The system's temporary folder may be in memory.
fn folder() -> tempfile::TempDir {
    let target = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target");
    tempfile::tempdir_in(target).expect("a folder")
}

/// Handles to one store: one for an agent and one for a person.
struct Store {
    agent: Handle,
    person: Handle,
}

impl Store {
    fn of(opened: Result<SqliteStore, StoreError>) -> Store {
        let store = Arc::new(opened.expect("a store"));
        let agent = Handle::new(store, Principal::agent(request(0).origin()));
        Store { person: agent.by(Principal::person("ada", Via::Inbox)), agent }
    }

    fn open(path: &Path) -> Store {
        Store::of(SqliteStore::open(path))
    }

    /// Opens a store without syncs, because its data may be lost.
    fn unsynced(path: &Path) -> Store {
        let milliseconds = || u64::try_from(now() / 1_000_000).unwrap_or(u64::MAX);
        Store::of(SqliteStore::open_for_test(path, Arc::new(milliseconds), false))
    }

    fn put(&self, call: usize) -> Put {
        block_on(self.agent.put(&request(call), None)).expect("put")
    }

    fn answer(&self, id: &QuestionId) {
        block_on(self.person.answer(id, answer(), &Attempt::new(id.as_str()))).expect("answer");
    }
}

/// Returns the value below which `percent` of a sorted list lies.
fn percentile(sorted: &[Duration], percent: usize) -> Duration {
    sorted[(sorted.len() * percent / 100).min(sorted.len() - 1)]
}

fn print_latency(what: &str, mut times: Vec<Duration>) {
    times.sort();
    println!("{what}: p50 {:?}, p99 {:?}, n {}", percentile(&times, 50), percentile(&times, 99), times.len());
}

fn number(name: &str, default: usize) -> usize {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

/// Measures how many questions per second are asked, answered and delivered. Each step is on disk before the next.
fn cycles() {
    let folder = folder();
    let count = number("CYCLES", 500);
    let store = Store::open(&folder.path().join("inbox.sqlite"));
    let began = Instant::now();
    for i in 0..count {
        let put = store.put(i);
        store.answer(&put.question.id);
        block_on(store.agent.delivered(&put.question.id)).expect("delivered");
    }
    block_on(store.agent.flush()).expect("done");
    println!(
        "cycles: {:.0} per second ({count} in {:?})",
        count as f64 / began.elapsed().as_secs_f64(),
        began.elapsed()
    );
}

fn size() {
    let folder = folder();
    let count = 20_000;
    let path = folder.path().join("inbox.sqlite");
    let store = Store::unsynced(&path);
    for i in 0..count {
        store.put(i);
    }
    block_on(store.agent.flush()).expect("done");
    drop(store);
    let bytes = path.metadata().expect("a file").len();
    println!(
        "size: {} bytes per pending question, its request is {} bytes of JSON",
        bytes / count as u64,
        serde_json::to_string(&request(0)).expect("JSON").len()
    );
}

/// Measures pages at many positions of a list of pending questions, and the count of the questions from there.
fn pages(what: &str, store: &Store, all: u64) {
    let page = |after: u64, containing: Option<&str>| {
        let began = Instant::now();
        let filter = Filter { containing: containing.map(Into::into), ..Filter::pending() };
        let filter = filter.after(Cursor { rank: 0, n: after }).at_most(50);
        assert_eq!(block_on(store.person.list(&filter)).expect("a list").questions.len(), 50);
        block_on(store.person.count(&filter)).expect("a count");
        began.elapsed()
    };
    print_latency(
        &format!("{what}, a page anywhere in 100,000 pending and their count"),
        (0..500).map(|i| page(i * (all / 502), None)).collect(),
    );
    print_latency(&format!("{what}, the same filtered by a text"), (0..20).map(|_| page(0, Some("MONGODB"))).collect());
}

fn list() {
    let folder = folder();
    let count = 100_000;
    let store = Store::unsynced(&folder.path().join("inbox.sqlite"));
    let _waiting: Vec<Put> = (0..count).map(|i| store.put(i)).collect();
    pages("list", &store, count as u64);
}

/// Measures lists of questions whose askers have all died, each in a separate process.
fn dead() {
    let folder = folder();
    let count = 100_000;
    let path = folder.path().join("inbox.sqlite");
    let store = Store::unsynced(&path);
    for i in 0..count {
        std::mem::forget(store.put(i));
    }
    block_on(store.agent.flush()).expect("done");
    let connection = rusqlite::Connection::open(&path).expect("a connection");
    connection.execute("UPDATE question SET asker = lower(hex(randomblob(16)))", []).expect("askers");
    drop(connection);
    let began = Instant::now();
    let store = Store::unsynced(&path);
    let page = block_on(store.person.list(&Filter::pending().at_most(50))).expect("a list");
    println!("dead, opened and the first page of {} shown after {:?}", page.questions.len(), began.elapsed());
    pages("dead", &store, count as u64);
}

/// Measures the time from the acknowledgement of an answer until a waiter in another process has it.
fn wake() {
    let folder = folder();
    let path = folder.path().join("inbox.sqlite");
    let store = Store::open(&path);
    let mut waiter = worker("wait", &path, "");
    let mut to = waiter.stdin.take().expect("a pipe");
    let mut from = BufReader::new(waiter.stdout.take().expect("a pipe")).lines();
    let mut times = Vec::new();
    for i in 0..number("WAKES", 200) {
        let put = store.put(i);
        let id = &put.question.id;
        writeln!(to, "{id}").expect("a waiter");
        // The waiter prints a line when it waits.
        from.next();
        std::thread::sleep(Duration::from_millis(5));
        store.answer(id);
        let answered = now();
        let heard: u128 = from.next().and_then(Result::ok).and_then(|line| line.parse().ok()).expect("a time");
        times.push(Duration::from_nanos(u64::try_from(heard.saturating_sub(answered)).unwrap_or(u64::MAX)));
    }
    drop(to);
    let _ = waiter.wait();
    print_latency("wake, from the answer's acknowledgement to a waiter in another process", times);
}

/// Measures the processor time of a hundred waiting processes while no event happens.
fn idle() {
    let folder = folder();
    let path = folder.path().join("inbox.sqlite");
    let store = Store::unsynced(&path);
    let count = 100;
    let seconds = number("IDLE_SECONDS", 20) as u64;
    let mut waiters: Vec<_> = (0..count)
        .map(|i| {
            let id = store.put(i).question.id;
            let mut waiter = worker("wait", &path, "");
            let mut to = waiter.stdin.take().expect("a pipe");
            writeln!(to, "{id}").expect("a waiter");
            (waiter, to)
        })
        .collect();
    // The pause lets all processes settle.
    std::thread::sleep(Duration::from_secs(5));
    let used = || waiters.iter().map(|(waiter, _)| ticks(waiter.id())).sum::<u64>();
    let before = used();
    std::thread::sleep(Duration::from_secs(seconds));
    println!("idle: {count} waiting processes used {} ticks of 10 ms in {seconds} s", used() - before);
    for (waiter, _) in &mut waiters {
        let _ = waiter.kill();
        let _ = waiter.wait();
    }
}

/// Returns the processor time of a process, in ticks.
fn ticks(pid: u32) -> u64 {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
    fields.get(11..13).map_or(0, |times| times.iter().filter_map(|time| time.parse::<u64>().ok()).sum())
}

/// Measures ten thousand waiters in one process.
fn many() {
    let folder = folder();
    let count = 10_000;
    let store = Store::unsynced(&folder.path().join("inbox.sqlite"));
    let puts: Vec<Put> = (0..count).map(|i| store.put(i)).collect();
    let began = Instant::now();
    let mut waiting: Vec<_> = puts.iter().map(|put| Box::pin(store.agent.wait(&put.question.id))).collect();
    for waiting in &mut waiting {
        let mut context = std::task::Context::from_waker(std::task::Waker::noop());
        assert!(waiting.as_mut().poll(&mut context).is_pending());
    }
    puts.iter().for_each(|put| store.answer(&put.question.id));
    for waiting in waiting {
        assert_eq!(block_on(waiting).expect("an end").state(), State::Answered);
    }
    println!("many: {count} waiters of one process, all answered and heard of in {:?}", began.elapsed());
}

fn worker(job: &str, store: &Path, more: &str) -> std::process::Child {
    Command::new(std::env::current_exe().expect("ourselves"))
        .args(["worker", job, more])
        .env("STORE", store)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("a process")
}

fn now() -> u128 {
    SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970").as_nanos()
}

/// Waits for each question whose id arrives on standard input. Prints the time when the question has ended.
fn wait() {
    let path = PathBuf::from(std::env::var_os("STORE").expect("a store"));
    let store = Store::open(&path);
    for id in std::io::stdin().lock().lines().map_while(Result::ok).filter_map(|id| QuestionId::parse(&id)) {
        let mut waiting = Box::pin(store.agent.wait(&id));
        let mut context = std::task::Context::from_waker(std::task::Waker::noop());
        let _ = waiting.as_mut().poll(&mut context);
        println!("waiting");
        let _ = block_on(waiting);
        println!("{}", now());
    }
}

fn main() {
    let words: Vec<String> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
    if words.first().is_some_and(|word| word == "worker") {
        return wait();
    }
    let all: [(&str, fn()); 7] = [
        ("cycles", cycles),
        ("size", size),
        ("wake", wake),
        ("list", list),
        ("dead", dead),
        ("idle", idle),
        ("many", many),
    ];
    for (name, measure) in all {
        if words.is_empty() || words.iter().any(|word| word == name) {
            measure();
        }
    }
}
