//! What keeping questions costs. Prints figures, asserts nothing: `cargo bench -p askuser-inbox -- cycles|size|wake|list|idle|many`
//! (all of them without a name). `benches/inbox/run` puts it beside LangGraph, and counts the fsyncs of both.
#![allow(clippy::print_stdout, reason = "it is all it does")]

use askuser::input::QuestionInput;
use askuser::store::{Filter, State, Store};
use askuser::{Origin, Outcome, QuestionSet, Request, RequestKey, Resolution, Rules, Via};
use askuser_inbox::{Inbox, SqliteStore};
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

fn answer() -> Resolution {
    let set = set();
    let answer = set.questions()[0].answer(&[0], None, None).expect("an option");
    Outcome::answered(&set, vec![answer]).expect("every question").through(Via::Inbox).with_by("ada")
}

/// On a disk, not in memory: the system's temporary folder may be either.
fn folder() -> tempfile::TempDir {
    let target = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target");
    tempfile::tempdir_in(target).expect("a folder")
}

fn open(path: &Path) -> SqliteStore {
    SqliteStore::open(path).expect("a store")
}

/// So much of a sorted list lies below this.
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

/// A question is asked, answered and delivered, each step on the disk before the next.
fn cycles() {
    let (folder, count) = (folder(), number("CYCLES", 500));
    let store = open(&folder.path().join("inbox.sqlite"));
    let began = Instant::now();
    for i in 0..count {
        let id = store.put(&request(i)).expect("put").question.id;
        store.answer(&id, &answer(), &id).expect("answer");
        store.delivered(&id).expect("delivered");
    }
    println!(
        "cycles: {:.0} per second ({count} in {:?})",
        count as f64 / began.elapsed().as_secs_f64(),
        began.elapsed()
    );
}

fn size() {
    let (folder, count) = (folder(), 20_000);
    let path = folder.path().join("inbox.sqlite");
    let store = open(&path).without_sync().expect("a store");
    for i in 0..count {
        store.put(&request(i)).expect("put");
    }
    drop(store);
    let bytes = path.metadata().expect("a file").len();
    println!(
        "size: {} bytes per pending question, its request is {} bytes of JSON",
        bytes / count as u64,
        serde_json::to_string(&request(0)).expect("JSON").len()
    );
}

fn list() {
    let (folder, count) = (folder(), 100_000);
    let store = open(&folder.path().join("inbox.sqlite")).without_sync().expect("a store");
    for i in 0..count {
        store.put(&request(i)).expect("put");
    }
    let page = |offset: u64, containing: Option<&str>| {
        let began = Instant::now();
        let filter = Filter { offset, limit: Some(50), containing: containing.map(Into::into), ..Filter::pending() };
        assert_eq!(store.list(&filter).expect("a list").len(), 50);
        store.count(&filter).expect("a count");
        began.elapsed()
    };
    print_latency(
        "list, a page anywhere in 100,000 pending and their count",
        (0..500).map(|i| page(i * 199, None)).collect(),
    );
    print_latency("list, the same filtered by a text", (0..20).map(|_| page(0, Some("MONGODB"))).collect());
}

/// Another process waits; how long until it knows?
fn wake() {
    let folder = folder();
    let path = folder.path().join("inbox.sqlite");
    let store = open(&path);
    let mut waiter = worker("wait", &path, "");
    let mut to = waiter.stdin.take().expect("a pipe");
    let mut from = BufReader::new(waiter.stdout.take().expect("a pipe")).lines();
    let mut times = Vec::new();
    for i in 0..number("WAKES", 200) {
        let id = store.put(&request(i)).expect("put").question.id;
        writeln!(to, "{id}").expect("a waiter");
        // It says when it waits.
        from.next();
        std::thread::sleep(Duration::from_millis(5));
        store.answer(&id, &answer(), &id).expect("answer");
        let answered = now();
        let heard: u128 = from.next().and_then(Result::ok).and_then(|line| line.parse().ok()).expect("a time");
        times.push(Duration::from_nanos(u64::try_from(heard.saturating_sub(answered)).unwrap_or(u64::MAX)));
    }
    drop(to);
    let _ = waiter.wait();
    print_latency("wake, from the answer's acknowledgement to a waiter in another process", times);
}

/// A hundred processes wait, and nothing happens.
fn idle() {
    let folder = folder();
    let path = folder.path().join("inbox.sqlite");
    let store = open(&path).without_sync().expect("a store");
    let (count, seconds) = (100, number("IDLE_SECONDS", 20) as u64);
    let mut waiters: Vec<_> = (0..count)
        .map(|i| {
            let id = store.put(&request(i)).expect("put").question.id;
            let mut waiter = worker("wait", &path, "");
            let mut to = waiter.stdin.take().expect("a pipe");
            writeln!(to, "{id}").expect("a waiter");
            (waiter, to)
        })
        .collect();
    // Until all have settled.
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

/// The processor time of a process, in ticks.
fn ticks(pid: u32) -> u64 {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
    fields.get(11..13).map_or(0, |times| times.iter().filter_map(|time| time.parse::<u64>().ok()).sum())
}

/// Ten thousand wait in one process.
fn many() {
    let (folder, count) = (folder(), 10_000);
    let store: Arc<dyn Store> = Arc::new(open(&folder.path().join("inbox.sqlite")).without_sync().expect("a store"));
    let inbox = Inbox::new(store.clone());
    let ids: Vec<String> = (0..count).map(|i| store.put(&request(i)).expect("put").question.id).collect();
    let began = Instant::now();
    let waiting: Vec<_> = ids.iter().map(|id| inbox.wait(id)).collect();
    for id in &ids {
        store.answer(id, &answer(), id).expect("answer");
    }
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

/// Waits for each question it reads the id of, and says when it heard.
fn wait() {
    let path = PathBuf::from(std::env::var_os("STORE").expect("a store"));
    let inbox = Inbox::new(Arc::new(open(&path)));
    for id in std::io::stdin().lock().lines().map_while(Result::ok) {
        let waiting = inbox.wait(&id);
        println!("waiting");
        let _ = block_on(waiting);
        println!("{}", now());
    }
}

fn block_on<F: Future>(future: F) -> F::Output {
    struct Unpark(std::thread::Thread);
    impl std::task::Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let waker = Arc::new(Unpark(std::thread::current())).into();
    let mut future = std::pin::pin!(future);
    loop {
        match future.as_mut().poll(&mut std::task::Context::from_waker(&waker)) {
            std::task::Poll::Ready(output) => return output,
            std::task::Poll::Pending => std::thread::park(),
        }
    }
}

fn main() {
    let words: Vec<String> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
    if words.first().is_some_and(|word| word == "worker") {
        return wait();
    }
    let all: [(&str, fn()); 6] =
        [("cycles", cycles), ("size", size), ("wake", wake), ("list", list), ("idle", idle), ("many", many)];
    for (name, measure) in all {
        if words.is_empty() || words.iter().any(|word| word == name) {
            measure();
        }
    }
}
