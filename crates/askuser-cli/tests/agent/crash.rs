//! Kills the agent with SIGKILL at every step, then resumes it. No answered question is asked again, no command runs
//! twice, and no answer is lost.

use crate::place::{Driver, Place, ask};
use serde_json::{Value, json};
use std::collections::BTreeSet;

const STREAM: [&str; 4] = ["--output", "stream-json", "--permissions", "accept-edits"];

fn script() -> Value {
    let bash = json!({"name": "Bash", "input": {"command": "echo ran >> log"}});
    let task = json!({"name": "Task", "input": {"description": "audit deps", "prompt": "Look."}});
    let write = json!({"name": "Write", "input": {"path": "end.txt", "content": "the end\n"}});
    json!({
        "turns": [
            {"text": "First a command, then a question.", "calls": [bash, ask("Which?", "One", &["A", "B"])]},
            {"text": "Then a task.", "calls": [task]},
            {"text": "Then a file.", "calls": [write]},
            {"text": "All done."},
        ],
        "tasks": {"audit deps": [{"text": "Hm.", "calls": [ask("Drop it?", "Drop", &["Yes", "No"])]}, {"text": "Kept."}]},
    })
}

/// Runs until the turn is done, or for at most `most` events. Returns the questions asked, the final text, and the
/// number of events.
fn follow(driver: &mut Driver, most: usize) -> (Vec<String>, Option<String>, usize) {
    let mut asked = Vec::new();
    let mut text = None;
    let mut count = 0;
    while count < most
        && let Some(event) = driver.next()
    {
        count += usize::from(event["type"] != "replay");
        let inner = if event["type"] == "task" { &event["event"] } else { &event };
        if inner["type"] == "ask_user" {
            let key = &inner["request"]["key"];
            asked.push(name(&key["tasks"], &key["call"], &key["purpose"]));
            let label = if inner["request"]["key"]["purpose"] == "permission" {
                "Allow once"
            } else {
                inner["questions"][0]["options"][0]["label"].as_str().unwrap()
            };
            driver.pick(&inner["id"], label);
        }
        if event["type"] == "done" {
            text = event["text"].as_str().map(str::to_owned);
            break;
        }
    }
    (asked, text, count)
}

/// Returns the ids of the questions whose outcome was recorded.
fn settled(entries: &[Value]) -> BTreeSet<String> {
    let outcomes = entries.iter().filter(|entry| entry["type"] == "outcome");
    outcomes.map(|entry| name(&entry["task"], &entry["id"], &entry["purpose"])).collect()
}

/// Returns whether the last message of the script was recorded.
fn is_over(entries: &[Value]) -> bool {
    entries.iter().any(|entry| entry["type"] == "assistant" && entry["content"][0]["text"] == "All done.")
}

/// Returns this test's name for a question: `TASK/CALL:purpose`.
fn name(tasks: &Value, call: &Value, purpose: &Value) -> String {
    let tasks: String =
        tasks.as_array().into_iter().flatten().map(|task| format!("{}/", task.as_str().unwrap())).collect();
    match purpose.as_str() {
        None | Some("question") => format!("{tasks}{}", call.as_str().unwrap()),
        Some(purpose) => format!("{tasks}{}:{purpose}", call.as_str().unwrap()),
    }
}

#[test]
fn killed_at_any_step_it_goes_on_without_asking_again_what_was_answered() {
    let whole = {
        let place = Place::new();
        let mut driver = Driver::start(place.agent(&script(), &["-p", "go"]).args(STREAM));
        let (asked, text, count) = follow(&mut driver, usize::MAX);
        assert_eq!(asked, ["call_1_1:permission", "call_1_2", "call_2_1/call_1_1"]);
        assert_eq!(text.as_deref(), Some("All done."));
        assert_eq!(driver.finish(), 0);
        count
    };
    assert!(whole > 25, "{whole} events");
    for step in 1..whole {
        let place = Place::new();
        let mut driver = Driver::start(place.agent(&script(), &["-p", "go"]).args(STREAM));
        follow(&mut driver, step);
        driver.kill();
        let session = place.sessions().remove(0);
        let before = Place::entries(&session);
        let answered = settled(&before);
        let started = |id: &str| before.iter().any(|entry| entry["type"] == "started" && entry["id"] == id);
        let was_prompted = before.iter().any(|entry| entry["type"] == "user");
        // A session without a message cannot be continued.
        let args: &[&str] = if was_prompted { &["--continue"] } else { &["-p", "go"] };
        let mut driver = Driver::start(place.agent(&script(), args).args(STREAM));
        let over = is_over(&before);
        let (asked, text, _) = follow(&mut driver, if over { 1 } else { usize::MAX });
        assert_eq!(driver.finish(), 0, "killed after {step} events");
        let again: Vec<&String> = asked.iter().filter(|id| answered.contains(*id)).collect();
        assert_eq!(again, Vec::<&String>::new(), "asked again after {step} events");
        assert_eq!(asked.iter().collect::<BTreeSet<_>>().len(), asked.len(), "asked twice after {step} events");
        assert_eq!(text.as_deref(), (!over).then_some("All done."), "killed after {step} events");
        // If the kill came between the start and its record, the result is unknown. The command is never run again.
        for (id, name, whole) in [("call_1_1", "log", "ran\n"), ("call_3_1", "end.txt", "the end\n")] {
            let text = std::fs::read_to_string(place.folder().join(name)).unwrap_or_default();
            assert!(text == whole || (started(id) && text.is_empty()), "killed after {step} events: {name}: {text:?}");
        }
        let all = settled(&Place::entries(place.sessions().last().unwrap()));
        assert_eq!(all.len(), 3, "killed after {step} events: {all:?}");
    }
}

/// Returns a script whose turns each run a command with much output, and ask in every third turn. The output exceeds a
/// small context.
fn long_script(turns: usize) -> Value {
    let turn = |i: usize| {
        let command = format!("echo ran {i} >> log; seq {i}000 {i}999");
        let mut calls = vec![json!({"name": "Bash", "input": {"command": command}})];
        if i.is_multiple_of(3) {
            calls.push(ask(&format!("Which of {i}?"), "Pick", &[&format!("First of {i}"), "Second"]));
        }
        json!({"text": format!("Turn {i}."), "calls": calls})
    };
    let turns: Vec<Value> = (1..=turns).map(turn).chain([json!({"text": "All done."})]).collect();
    json!({ "turns": turns })
}

#[test]
fn killed_again_and_again_while_the_conversation_is_summarised_it_comes_to_its_end() {
    const TURNS: usize = 15;
    let mut summaries = 0;
    for lifetime in [6, 8, 13, 27] {
        let place = Place::new();
        let mut lives = 0;
        let mut entries = Vec::new();
        while !is_over(&entries) {
            lives += 1;
            let args: &[&str] = if entries.is_empty() { &["-p", "go"] } else { &["--continue"] };
            let mut command = place.agent(&long_script(TURNS), args);
            let mut driver = Driver::start(command.args(STREAM).env("ASKUSER_CONTEXT_WINDOW", "6000"));
            let (asked, _, _) = follow(&mut driver, lifetime);
            driver.kill();
            let answered = settled(&entries);
            let again: Vec<&String> = asked.iter().filter(|id| answered.contains(*id)).collect();
            assert_eq!(again, Vec::<&String>::new(), "asked again in life {lives} of {lifetime} events");
            assert!(lives < 200, "no progress in lives of {lifetime} events");
            entries = Place::entries(&place.sessions().remove(0));
        }
        let count = |kind: &str| entries.iter().filter(|entry| entry["type"] == kind).count();
        assert!(lives > 3, "{lives} lives");
        // A killed command has no output to summarise, so a test with many kills has few summaries.
        summaries += count("compacted");
        assert_eq!(settled(&entries).len(), TURNS + TURNS / 3, "what was asked is settled");
        // If the kill came between the start and its record, the result is unknown. No command is run twice.
        let log = std::fs::read_to_string(place.folder().join("log")).unwrap();
        let ran: Vec<&str> = log.lines().collect();
        assert_eq!(ran.iter().collect::<BTreeSet<_>>().len(), ran.len(), "run twice: {ran:?}");
        assert_eq!(count("started"), TURNS, "{ran:?}");
    }
    assert!(summaries > 4, "{summaries} summaries");
}

/// The loop treats a tool that panics as a failed tool. A build profile with `panic = "abort"` would end the agent
/// instead.
#[test]
fn what_people_install_survives_a_tool_that_panics() {
    let manifest = concat!(env!("CARGO_MANIFEST_DIR"), "/../../Cargo.toml");
    let manifest = std::fs::read_to_string(manifest).unwrap();
    let (_, profiles) = manifest.split_once("[profile.release]").expect("a profile");
    assert!(!profiles.lines().any(|line| line.trim_start().starts_with("panic")), "release builds have to unwind");
}
