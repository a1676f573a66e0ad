//! Measures the cost of storing questions in PostgreSQL. It prints figures and asserts none.
//!
//! `benches/postgres/run` compares it with LangGraph on the same server, whose address is in `ADDRESS`. Without
//! `ADDRESS` the benchmark starts a server.
#![allow(clippy::print_stdout, reason = "it is all it does")]

use askuser::input::QuestionInput;
use askuser::store::{Attempt, Handle, Principal, QuestionId};
use askuser::{Origin, Outcome, QuestionSet, Request, RequestKey, Rules, Via};
use askuser_conformance::{PostgresServer, wait};
use askuser_postgres::{Options, PostgresStore};
use std::io::{BufRead, BufReader, Write};
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

fn request(call: &str) -> Request {
    // The keys contain the process id, so that every run asks new questions.
    let key = RequestKey::new(format!("session {}", std::process::id()), call);
    Request::new(key, set()).with_origin(Origin::default().with_agent("claude-code"))
}

fn answer() -> Outcome {
    let set = set();
    let answer = set.questions()[0].answer(&[0], None, None).expect("an option");
    Outcome::answered(&set, vec![answer]).expect("every question")
}

/// Handles to one store: one for an agent and one for a person.
#[derive(Clone)]
struct Store {
    agent: Handle,
    person: Handle,
}

impl Store {
    fn open(address: &str) -> Store {
        let store = Arc::new(PostgresStore::open(address, Options::default()).expect("a store"));
        let agent = Handle::new(store, Principal::agent(request("").origin()));
        Store { person: agent.by(Principal::person("ada", Via::Inbox)), agent }
    }

    fn answer(&self, id: &QuestionId) {
        wait(self.person.answer(id, answer(), &Attempt::new(id.as_str()))).expect("answer");
    }
}

fn number(name: &str, default: usize) -> usize {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

/// Measures how many questions `clients` threads can ask, answer and deliver per second. Each step is committed before
/// the next.
fn cycles(address: &str, clients: usize) {
    let store = Store::open(address);
    let count = number("CYCLES", 1_000) / clients;
    let began = Instant::now();
    std::thread::scope(|scope| {
        for client in 0..clients {
            let store = store.clone();
            scope.spawn(move || {
                for i in 0..count {
                    let call = request(&format!("{clients} {client} {i}"));
                    let put = wait(store.agent.put(&call, None)).expect("put");
                    store.answer(&put.question.id);
                    wait(store.agent.delivered(&put.question.id)).expect("delivered");
                }
            });
        }
    });
    let all = (count * clients) as f64;
    println!("askuser, {clients} clients: {:.0} cycles per second", all / began.elapsed().as_secs_f64());
}

fn now() -> u128 {
    SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970").as_nanos()
}

/// Measures the time from the acknowledgement of an answer until a waiter in another process has it.
fn wake(address: &str) {
    let store = Store::open(address);
    let mut waiter = Command::new(std::env::current_exe().expect("ourselves"))
        .arg("waiter")
        .env("ADDRESS", address)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("a process");
    let mut to = waiter.stdin.take().expect("a pipe");
    let mut lines = BufReader::new(waiter.stdout.take().expect("a pipe")).lines().map_while(Result::ok);
    let mut times: Vec<Duration> = (0..number("WAKES", 300))
        .map(|i| {
            let put = wait(store.agent.put(&request(&format!("wake {i}")), None)).expect("put");
            writeln!(to, "{}", put.question.id).expect("a waiter");
            lines.next().expect("it waits");
            std::thread::sleep(Duration::from_millis(5 + i as u64 % 17));
            store.answer(&put.question.id);
            let answered = now();
            let heard: u128 = lines.next().and_then(|line| line.parse().ok()).expect("it heard");
            Duration::from_nanos(u64::try_from(heard.saturating_sub(answered)).expect("less than 500 years"))
        })
        .collect();
    drop(to);
    waiter.wait().expect("it ends");
    times.sort();
    println!(
        "askuser, from an answer to a waiter in another process: p50 {:?}, p99 {:?}, n {}",
        times[times.len() / 2],
        times[times.len() * 99 / 100],
        times.len()
    );
}

/// Waits for each question whose id arrives on standard input. Prints the time when the question has ended.
fn waiter(address: &str) {
    let store = Store::open(address);
    for id in std::io::stdin().lock().lines().map_while(Result::ok).filter_map(|id| QuestionId::parse(&id)) {
        let mut waiting = Box::pin(store.agent.wait(&id));
        let mut context = std::task::Context::from_waker(std::task::Waker::noop());
        let _ = waiting.as_mut().poll(&mut context);
        println!("waiting");
        let _ = wait(waiting);
        println!("{}", now());
    }
}

fn main() {
    let words: Vec<String> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
    let given = std::env::var("ADDRESS").ok();
    let own = if given.is_none() { PostgresServer::start(&[]) } else { None };
    let Some(address) = given.or_else(|| own.as_ref().map(PostgresServer::address)) else { return };
    match words.first().map(String::as_str) {
        Some("waiter") => waiter(&address),
        Some("cycles") => cycles(&address, number("CLIENTS", 1)),
        Some("wake") => wake(&address),
        _ => {
            [1, 8, 32].into_iter().for_each(|clients| cycles(&address, clients));
            wake(&address);
        }
    }
}
