//! Tests that kill processes. All acknowledged writes survive. No question is answered twice or without a person, and
//! no permission is used twice.
//!
//! Only persistent stores run these tests. They need a program that calls [`work`]. Pass a function that starts the
//! program to [`nothing_acknowledged_is_lost`].

use crate::support::{AGENT, SeededRng, agent, attempt, choice, permission, person, request, wait};
use askuser::store::{Claim, Filter, Handle, QuestionId, Series, State, Store};
use askuser::{Purpose, Request};
use std::collections::{BTreeMap, BTreeSet};
use std::io::{Read, Write};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Prints a message that arrives even if this process is killed immediately afterwards.
///
/// # Panics
/// If standard output is closed.
pub fn say(words: &str) {
    let mut stdout = std::io::stdout().lock();
    writeln!(stdout, "\n@{words}").and_then(|()| stdout.flush()).expect("a process that listens");
}

/// Returns the messages that a process printed with [`say`], without the output of the test harness.
pub fn messages(output: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(output);
    text.lines().filter_map(|line| line.strip_prefix('@')).map(str::to_owned).collect()
}

/// Runs a job with a store, usually without an end. Returns `false` if the job is unknown.
///
/// | job | does |
/// |---|---|
/// | `ask NAME` | asks questions and permissions, and reports each stored one |
/// | `answer-all NAME` | answers pending questions as this person, and reports each accepted answer |
/// | `deliver-all` | follows the events and takes the answers |
/// | `claim-all NAME` | claims permissions, and reports each one won |
/// | `wait JSON` | puts this request, `{"request": …, "series": …}`, reports its id, and waits |
///
/// # Panics
/// If the store fails.
pub fn work(store: Arc<dyn Store>, job: &str) -> bool {
    let (job, argument) = job.split_once(' ').unwrap_or((job, ""));
    let agent = Handle::new(store, agent(AGENT));
    let person = agent.by(person(argument));
    match job {
        "ask" => ask(&agent, argument),
        "answer-all" => answer_all(&person, argument),
        "deliver-all" => deliver_all(&agent, &person),
        "claim-all" => claim_all(&agent, &person, argument),
        "wait" => wait_killed(&agent, argument),
        _ => return false,
    }
    true
}

fn ask(agent: &Handle, name: &str) {
    for i in 0.. {
        let call = format!("{name}-{i}");
        let request = if i % 2 == 0 { request(&call) } else { permission(&call) };
        let put = wait(agent.put(&request, None)).expect("put");
        say(&format!("kept {}", put.question.id));
        drop(put);
    }
}

fn answer_all(person: &Handle, name: &str) {
    loop {
        let page = wait(person.list(&Filter::pending().at_most(20))).expect("a list");
        for question in page.questions {
            let attempt = attempt(format!("{name} {}", question.id));
            if wait(person.answer(&question.id, choice(0), &attempt)).is_ok() {
                say(&format!("won {}", question.id));
            }
        }
    }
}

/// Follows the events forever. Calls a function for each answered question.
fn follow(reader: &Handle, mut act: impl FnMut(&QuestionId)) {
    let mut last = 0;
    loop {
        for event in wait(reader.events(last, 100)).expect("events").events {
            last = event.seq;
            if event.state == State::Answered {
                act(&event.id);
            }
        }
        std::thread::yield_now();
    }
}

fn deliver_all(agent: &Handle, reader: &Handle) {
    follow(reader, |id| {
        if wait(reader.get(id)).expect("a question").request.key().purpose == Purpose::Question {
            wait(agent.delivered(id)).expect("delivered");
            say(&format!("delivered {id}"));
        }
    });
}

fn claim_all(agent: &Handle, reader: &Handle, name: &str) {
    follow(reader, |id| {
        if wait(reader.get(id)).expect("a question").request.key().purpose != Purpose::Permission {
            return;
        }
        if wait(agent.claim(id, &attempt(format!("{name} {id}")))).expect("a claim") == Claim::Won {
            say(&format!("claimed {id}"));
        }
    });
}

fn wait_killed(agent: &Handle, json: &str) {
    let json: serde_json::Value = serde_json::from_str(json).expect("JSON");
    let request: Request = serde_json::from_value(json["request"].clone()).expect("a request");
    let text = |name: &str| json["series"][name].as_str().map(str::to_owned);
    let series = text("name").zip(text("conversation")).map(|(name, conversation)| Series { name, conversation });
    let agent = agent.by(askuser::store::Principal::agent(request.origin()));
    let put = wait(agent.put(&request, series.as_ref())).expect("put");
    say(&format!("kept {}", put.question.id));
    loop {
        std::thread::park();
    }
}

/// Starts a process that puts this request and waits, and kills it. Returns the id of the question, as
/// [`Place::die_waiting`](crate::Place::die_waiting) does.
///
/// # Panics
/// If the process reports no id.
pub fn die_waiting(start: impl Fn(&str) -> Command, request: &Request, series: Option<&Series>) -> QuestionId {
    let series = series.map(|series| serde_json::json!({"name": series.name, "conversation": series.conversation}));
    let job = format!("wait {}", serde_json::json!({"request": request, "series": series}));
    let mut child = started(start(&job));
    let mut lines = std::io::BufRead::lines(std::io::BufReader::new(child.stdout.take().expect("its output")));
    let id = lines.find_map(|line| QuestionId::parse(line.ok()?.strip_prefix("@kept ")?));
    child.kill().expect("it can be killed");
    child.wait().expect("it has ended");
    id.expect("it says what was kept")
}

/// Starts a process with captured output. Repeats a failed start, because Wine sometimes refuses one under load.
fn started(mut process: Command) -> Child {
    let mut child = None;
    crate::until("a process is started", || {
        child = process.stdout(Stdio::piped()).spawn().ok();
        child.is_some()
    });
    child.expect("a process")
}

/// Kills a process after this time. Returns the messages that it printed.
fn killed_after(process: Command, after: Duration) -> Vec<String> {
    let mut child = started(process);
    let mut stdout = child.stdout.take().expect("its output");
    let reader = std::thread::spawn(move || {
        let mut bytes = Vec::new();
        let _ = stdout.read_to_end(&mut bytes);
        bytes
    });
    std::thread::sleep(after);
    child.kill().expect("it can be killed");
    child.wait().expect("it has ended");
    messages(&reader.join().expect("its output"))
}

/// Kills processes that ask, answer, deliver and claim, at random times. Then checks the store and returns the counts
/// as text.
///
/// # Panics
/// If an acknowledged write is lost or took effect twice.
pub fn nothing_acknowledged_is_lost(
    time: Duration,
    start: impl Fn(&str) -> Command,
    reopen: impl Fn() -> Arc<dyn Store>,
) -> String {
    let mut kept = BTreeSet::new();
    let mut delivered = BTreeSet::new();
    let (mut won, mut claimed) = (BTreeMap::<String, usize>::new(), BTreeMap::<String, usize>::new());
    let began = Instant::now();
    let mut kills = 0;
    let mut rng = SeededRng::new(11);
    while began.elapsed() < time {
        let jobs = [
            format!("ask {kills}"),
            format!("answer-all a{kills}"),
            format!("answer-all b{kills}"),
            "deliver-all".into(),
            format!("claim-all a{kills}"),
            format!("claim-all b{kills}"),
        ];
        let runs: Vec<_> = jobs
            .iter()
            .map(|job| {
                let process = start(job);
                let after = Duration::from_millis(20 + rng.below(400) as u64);
                std::thread::spawn(move || killed_after(process, after))
            })
            .collect();
        for run in runs {
            kills += 1;
            for line in run.join().expect("a run") {
                let (what, id) = line.split_once(' ').expect("a word and an id");
                match what {
                    "kept" => assert!(kept.insert(id.to_owned()), "{id} was given twice"),
                    "won" => *won.entry(id.to_owned()).or_default() += 1,
                    "claimed" => *claimed.entry(id.to_owned()).or_default() += 1,
                    _ => drop(delivered.insert(id.to_owned())),
                }
            }
        }
    }
    let reader = Handle::new(reopen(), person("reader"));
    let get = |id: &str| {
        let id = QuestionId::parse(id).expect("an id");
        wait(reader.get(&id)).unwrap_or_else(|error| panic!("{id} was acknowledged and is lost: {}", error.chain()))
    };
    kept.iter().for_each(|id| drop(get(id)));
    for (id, times) in &won {
        assert_eq!(*times, 1, "{id} was answered {times} times");
        assert_eq!(get(id).state(), State::Answered, "{id} was acknowledged and is lost");
    }
    for (id, times) in &claimed {
        assert_eq!(*times, 1, "{id} was used {times} times");
        assert!(get(id).delivered_ms.is_some(), "{id} was used and is not used up");
    }
    let (mut ends, mut last) = (BTreeMap::<QuestionId, usize>::new(), 0);
    loop {
        let events = wait(reader.events(last, 1000)).expect("events").events;
        let Some(end) = events.last() else { break };
        last = end.seq;
        for event in events.into_iter().filter(|event| event.state != State::Pending) {
            let ending = get(event.id.as_str()).ending.expect("it has ended");
            assert!(ending.by().is_some_and(|by| by.starts_with(['a', 'b'])), "{} was answered by no person", event.id);
            *ends.entry(event.id).or_default() += 1;
        }
    }
    assert!(ends.values().all(|times| *times == 1), "a question has ended twice");
    let counts = [kept.len(), won.len(), delivered.len(), claimed.len()];
    assert!(kills >= 20 && counts.iter().all(|count| *count > 0), "nothing was tried: {counts:?}");
    format!(
        "{kills} kills: {} questions acknowledged, {} answers acknowledged, {} answers in the store, {} delivered, {} \
         permissions used; 0 lost, 0 answered or used twice, 0 answered by no person",
        counts[0],
        counts[1],
        ends.len(),
        counts[2],
        counts[3],
    )
}
