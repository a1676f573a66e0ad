//! `kill -9` of the program, again and again, with subagents, summaries and words: nothing is done twice,
//! nothing typed is lost. `tests/agent/run` does it 200 times.

use crate::place::Place;
use crate::provider::Provider;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::io::Write;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

/// How often it is killed; `ASKUSER_AGENT_KILLS` says otherwise.
fn kills() -> usize {
    std::env::var("ASKUSER_AGENT_KILLS").map_or(10, |kills| kills.parse().expect("a number"))
}

/// Acts on the last words, itself and through a subagent.
fn acting(request: &Value) -> Vec<Value> {
    let text = |text: &str| json!({"type": "text", "text": text});
    let call = |name: &str, input: Value| json!({"type": "tool_use", "id": "", "name": name, "input": input});
    let log = |words: &str| call("Bash", json!({"command": format!("sleep 0.05; echo {words} >> log")}));
    let last = request["messages"].as_array().and_then(|messages| messages.last()).expect("a message");
    let blocks = last["content"].as_array().cloned().unwrap_or_else(|| vec![text(last["content"].as_str().unwrap())]);
    let words = blocks.iter().rev().find_map(|block| block["text"].as_str());
    match words {
        _ if request["tools"].as_array().is_none_or(Vec::is_empty) => vec![text("Task: words.")],
        Some(words) if words.starts_with("below") => vec![log(words)],
        Some(words) if words.starts_with("word") => {
            let task = json!({"description": "below", "prompt": format!("below {words}")});
            vec![text(&"x ".repeat(1_000)), log(words), call("Task", task)]
        }
        _ => vec![text("ok")],
    }
}

fn start(place: &Place, provider: &Provider) -> Child {
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
        .stdout(Stdio::null());
    command.spawn().unwrap()
}

fn send(agent: &mut Child, line: &Value) {
    writeln!(agent.stdin.as_mut().unwrap(), "{line}").unwrap();
}

/// Waits until a word is in the record; until then it has not been heard.
fn wait_until_heard(place: &Place, agent: &mut Child, word: &str) {
    let began = Instant::now();
    let is_there = || {
        let entries = place.sessions().first().map(|session| Place::entries(session)).unwrap_or_default();
        entries.iter().any(|entry| entry["text"] == word)
    };
    while !is_there() {
        assert_eq!(agent.try_wait().unwrap(), None, "it has ended, and {word:?} is not heard");
        assert!(began.elapsed() < Duration::from_secs(60), "{word:?} is not heard");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
#[expect(clippy::print_stderr, reason = "a long run says what it has seen")]
fn killed_again_and_again_it_does_nothing_twice_and_loses_no_word() {
    let (place, provider) = (Place::new(), Provider::answering(acting));
    let (mut chance, mut cut_off) = (7_u64, 0);
    for n in 0..kills() {
        let mut agent = start(&place, &provider);
        send(&mut agent, &json!({"type": "continue"}));
        for word in ["a", "b"].map(|which| format!("word {n} {which}")) {
            send(&mut agent, &json!({"type": "user", "text": word}));
            wait_until_heard(&place, &mut agent, &word);
        }
        chance = chance.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        std::thread::sleep(Duration::from_millis((chance >> 33) % 300));
        agent.kill().unwrap();
        agent.wait().unwrap();
        let last = Place::entries(&place.sessions()[0]).pop().unwrap();
        cut_off +=
            usize::from(last["content"] != json!([{"type": "text", "text": "ok"}]) || last.get("task").is_some());
    }
    let mut agent = start(&place, &provider);
    send(&mut agent, &json!({"type": "continue"}));
    drop(agent.stdin.take());
    assert_eq!(agent.wait().unwrap().code(), Some(0));
    let entries = Place::entries(&place.sessions()[0]);
    let count = |texts: Vec<String>| {
        texts.into_iter().fold(HashMap::<String, usize>::new(), |mut counts, text| {
            *counts.entry(text).or_default() += 1;
            counts
        })
    };
    let own = entries.iter().filter(|entry| entry["type"] == "user" && entry.get("task").is_none());
    let heard = count(own.map(|entry| entry["text"].as_str().unwrap().to_owned()).collect());
    let words = (0..kills()).flat_map(|n| ["a", "b"].map(|which| (format!("word {n} {which}"), 1)));
    assert_eq!(heard, words.collect::<HashMap<_, _>>());
    let log = std::fs::read_to_string(place.folder().join("log")).unwrap();
    let done = count(log.lines().map(str::to_owned).collect());
    assert!(done.values().all(|times| *times == 1), "{done:?}");
    let below = done.keys().filter(|line| line.starts_with("below")).count();
    let summaries = entries.iter().filter(|entry| entry["type"] == "compacted").count();
    eprintln!(
        "{} kills, {cut_off} in a turn; {} acts, {below} of subagents; {summaries} summaries",
        kills(),
        done.len()
    );
    assert!(cut_off > kills() / 3 && done.len() > kills() / 2 && below > kills() / 4 && summaries > kills() / 20);
}
