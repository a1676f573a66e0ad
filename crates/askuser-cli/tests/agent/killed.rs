//! Kills the program with SIGKILL, again and again, with subagents, questions, summaries and messages. No command runs
//! twice, and no message or answer is lost. `tests/agent/run` kills it 300 times.

use crate::place::Place;
use crate::provider::Provider;
use serde_json::{Value, json};
use std::collections::{HashMap, HashSet};
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Returns the number of kills, which `ASKUSER_AGENT_KILLS` overrides.
fn kills() -> usize {
    std::env::var("ASKUSER_AGENT_KILLS").map_or(10, |kills| kills.parse().expect("a number"))
}

/// Returns the model's response: it acts on the last message, itself and through a subagent.
fn acting(request: &Value) -> Vec<Value> {
    let text = |text: &str| json!({"type": "text", "text": text});
    let call = |name: &str, input: Value| json!({"type": "tool_use", "id": "", "name": name, "input": input});
    let log = |words: &str| call("Bash", json!({"command": format!("sleep 0.05; echo {words} >> log")}));
    let ask = |words: &str| {
        let options = ["A", "B"].map(|label| json!({"label": label, "description": "x"}));
        let question =
            json!({"question": format!("What of {words}?"), "header": "Q", "multiSelect": false, "options": options});
        call("AskUserQuestion", json!({"questions": [question]}))
    };
    let last = request["messages"].as_array().and_then(|messages| messages.last()).expect("a message");
    let blocks = last["content"].as_array().cloned().unwrap_or_else(|| vec![text(last["content"].as_str().unwrap())]);
    let words = blocks.iter().rev().find_map(|block| block["text"].as_str());
    match words {
        _ if request["tools"].as_array().is_none_or(Vec::is_empty) => vec![text("Task: words.")],
        Some(words) if words.starts_with("below") => vec![ask(words), log(words)],
        Some(words) if words.starts_with("word") => {
            let task = json!({"description": "below", "prompt": format!("below {words}")});
            vec![text(&"x ".repeat(1_000)), log(words), ask(words), call("Task", task)]
        }
        _ => vec![text("ok")],
    }
}

/// A front end that answers every question with a text.
struct FrontEnd {
    child: Child,
    input: Arc<Mutex<Option<ChildStdin>>>,
    reader: JoinHandle<()>,
}

/// The questions whose end was reported to a front end.
type Ended = Arc<Mutex<HashSet<String>>>;

fn start(place: &Place, provider: &Provider, ended: &Ended) -> FrontEnd {
    let session = place.sessions().first().map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned());
    let resume = session.map(|id| ["--resume".to_owned(), id]);
    let mut command = place.askuser(&["agent", "--model", "anthropic/claude-sonnet-9", "--output", "stream-json"]);
    command
        .args(["--permissions", "allow"])
        .args(resume.iter().flatten())
        .env("ANTHROPIC_API_KEY", "sk-test-0123456789")
        .env("ANTHROPIC_BASE_URL", &provider.url)
        .env("ASKUSER_CONTEXT_WINDOW", "9000")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let input = Arc::new(Mutex::new(child.stdin.take()));
    let output = BufReader::new(child.stdout.take().unwrap());
    let ended = ended.clone();
    let answers = input.clone();
    let reader = std::thread::spawn(move || {
        // A kill may truncate a line.
        let events = output.lines().map_while(Result::ok).map_while(|line| serde_json::from_str::<Value>(&line).ok());
        for mut event in events {
            while event["type"] == "task" {
                event = event["event"].take();
            }
            match event["type"].as_str() {
                Some("ask_user") => {
                    let question = event["questions"][0]["question"].as_str().unwrap().to_owned();
                    assert!(!ended.lock().unwrap().contains(&question), "asked again: {question}");
                    let answers_given = json!([{"customInput": format!("Yes to {question}")}]);
                    send(&answers, &json!({"type": "answer", "id": event["id"], "answers": answers_given}));
                }
                Some("question_ended") if event["outcome"]["status"] == "answered" => {
                    let question = event["outcome"]["answers"][0]["question"].as_str().unwrap().to_owned();
                    ended.lock().unwrap().insert(question);
                }
                _ => {}
            }
        }
    });
    let agent = FrontEnd { child, input, reader };
    send(&agent.input, &json!({"type": "continue"}));
    agent
}

fn send(input: &Mutex<Option<ChildStdin>>, line: &Value) {
    // The process may have been killed.
    let _ = input.lock().unwrap().as_mut().map(|input| writeln!(input, "{line}"));
}

fn wait_until(place: &Place, agent: &mut Child, is_there: impl Fn(&[Value]) -> bool) {
    let began = Instant::now();
    let entries = || place.sessions().first().map(|session| Place::entries(session)).unwrap_or_default();
    while !is_there(&entries()) {
        assert_eq!(agent.try_wait().unwrap(), None, "it has ended");
        assert!(began.elapsed() < Duration::from_secs(60), "it does not go on");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Waits until a message is recorded. Before that, the agent has not read it.
fn wait_until_heard(place: &Place, agent: &mut Child, word: &str) {
    wait_until(place, agent, |entries| entries.iter().any(|entry| entry["text"] == word));
}

/// Returns whether the model has answered this message.
fn is_answered(entries: &[Value], word: &str) -> bool {
    let heard = entries.iter().position(|entry| entry["type"] == "user" && entry["text"] == word);
    heard.is_some_and(|at| entries[at..].iter().any(|entry| entry["type"] == "assistant"))
}

/// The messages that are sent in a round.
const WORDS: [&str; 2] = ["a", "b"];

#[test]
#[expect(clippy::print_stderr, reason = "a long run says what it has seen")]
fn killed_again_and_again_it_does_nothing_twice_and_loses_no_word() {
    let place = Place::new();
    let provider = Provider::answering(acting);
    let mut chance = 7_u64;
    let mut cut_off = 0;
    let ended = Ended::default();
    let mut pause = |most: u64| {
        chance = chance.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        std::thread::sleep(Duration::from_millis((chance >> 33) % most));
    };
    for n in 0..kills() {
        let mut agent = start(&place, &provider, &ended);
        pause(300);
        // A second message arrives while the agent works on the first.
        for word in WORDS.iter().take(1 + n % 2).map(|which| format!("word {n} {which}")) {
            send(&agent.input, &json!({"type": "user", "text": word}));
            wait_until_heard(&place, &mut agent.child, &word);
            pause(400);
        }
        agent.child.kill().unwrap();
        agent.child.wait().unwrap();
        agent.reader.join().expect("nothing is asked again");
        let last = Place::entries(&place.sessions()[0]).pop().unwrap();
        cut_off +=
            usize::from(last["content"] != json!([{"type": "text", "text": "ok"}]) || last.get("task").is_some());
    }
    let mut agent = start(&place, &provider, &ended);
    send(&agent.input, &json!({"type": "user", "text": "the end"}));
    wait_until(&place, &mut agent.child, |entries| is_answered(entries, "the end"));
    *agent.input.lock().unwrap() = None;
    assert_eq!(agent.child.wait().unwrap().code(), Some(0));
    agent.reader.join().expect("nothing is asked again");
    let entries = Place::entries(&place.sessions()[0]);
    let count = |texts: Vec<String>| {
        texts.into_iter().fold(HashMap::<String, usize>::new(), |mut counts, text| {
            *counts.entry(text).or_default() += 1;
            counts
        })
    };
    let own = entries.iter().filter(|entry| entry["type"] == "user" && entry.get("task").is_none());
    let heard = count(own.map(|entry| entry["text"].as_str().unwrap().to_owned()).collect());
    let words = (0..kills()).flat_map(|n| WORDS.iter().take(1 + n % 2).map(move |which| format!("word {n} {which}")));
    let words = words.chain(["the end".to_owned()]).map(|word| (word, 1));
    assert_eq!(heard, words.collect::<HashMap<_, _>>());
    // Each question has one answer, which a model has read.
    let outcomes: Vec<String> =
        entries.iter().filter(|entry| entry["type"] == "outcome").map(|entry| entry["outcome"].to_string()).collect();
    let ended = std::mem::take(&mut *ended.lock().unwrap());
    assert!(ended.len() > kills() / 4, "{} answers", ended.len());
    for question in &ended {
        let answer = format!("Yes to {question}");
        assert_eq!(outcomes.iter().filter(|outcome| outcome.contains(&answer)).count(), 1, "{answer}");
    }
    for outcome in outcomes.iter().filter(|outcome| outcome.contains("customInput")) {
        let (_, answer) = outcome.split_once("\"Yes to ").expect("an answer");
        let answer = format!("Yes to {}", answer.split('"').next().unwrap());
        let has_read =
            |entry: &Value| entry["result"]["output"].as_str().is_some_and(|output| output.contains(&answer));
        assert!(entries.iter().any(has_read), "no model has read {answer:?}");
    }
    let log = std::fs::read_to_string(place.folder().join("log")).unwrap();
    let done = count(log.lines().map(str::to_owned).collect());
    assert!(done.values().all(|times| *times == 1), "{done:?}");
    let below = done.keys().filter(|line| line.starts_with("below")).count();
    let summaries = entries.iter().filter(|entry| entry["type"] == "compacted").count();
    eprintln!(
        "{} kills, {cut_off} in a turn; {} acts, {below} of subagents; {} answers; {summaries} summaries",
        kills(),
        done.len(),
        ended.len()
    );
    assert!(done.len() > kills() / 2 && below > kills() / 4 && summaries > kills() / 20);
    // With few kills on a busy machine, all of them may fall between two turns.
    assert!(kills() < 100 || cut_off > kills() / 5);
}
