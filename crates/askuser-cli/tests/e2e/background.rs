//! Tests background questions from end to end: the server, the hooks that report an answer, and kills of all of them.

use crate::desktop::with_program;
use crate::inbox::{pending, run, until};
use crate::mcp::Client;
use crate::terminal::{Ended, Stage, example};
use rustix::process::Signal;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Stdio};

fn quiet() -> Stage {
    Stage::new().env("CLAUDE_CODE_ENTRYPOINT", "cli").env("ASKUSER_POPUP", "none")
}

fn input(text: &str) -> Value {
    let mut input: Value = serde_json::from_str(&std::fs::read_to_string(example("database")).unwrap()).unwrap();
    input["questions"][0]["question"] = text.into();
    input["background"] = true.into();
    input
}

/// Asks in the background, and returns the structured content of the result.
fn ask(client: &mut Client, id: u64, text: &str) -> Value {
    client.call(id, "AskUserQuestion", &input(text));
    client.next()["result"]["structuredContent"].take()
}

fn ticket(result: &Value) -> &str {
    result["ticket"].as_str().unwrap_or_else(|| panic!("{result}"))
}

fn answer(stage: &Stage, ticket: &str) {
    assert_eq!(run(stage, &["answer", ticket, "--select", "Database=SQLite"]).code, Some(0));
}

fn asked(stage: &Stage) -> Vec<Value> {
    run(stage, &["log", "--json"]).stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Starts the hook after a call, as Claude Code 2.1.328 does. The result is the structured content as text.
fn wake(stage: &Stage, result: &Value) -> Child {
    let event = json!({
        "hook_event_name": "PostToolUse", "session_id": "s", "tool_name": "mcp__askuser__AskUserQuestion",
        "tool_response": result.to_string(),
    });
    let mut hook = stage.spawn_with(&["hook", "--answers"], Stdio::piped());
    hook.stdin.take().unwrap().write_all(event.to_string().as_bytes()).unwrap();
    hook
}

/// Returns the exit code of a waiting hook, and its error output.
fn woken(hook: Child) -> (Option<i32>, String) {
    let ended = hook.wait_with_output().unwrap();
    (ended.status.code(), String::from_utf8(ended.stderr).unwrap())
}

fn notice(ticket: &str) -> String {
    format!("Question {ticket} was answered. Call AskUserQuestionResult with this ticket now.")
}

/// Returns a line of a Claude Code transcript with the result of a tool.
fn told(result: &Value) -> String {
    let block = json!({"type": "tool_result", "tool_use_id": "t", "content": result.to_string()});
    format!("{}\n", json!({"type": "user", "message": {"role": "user", "content": [block]}}))
}

/// Runs the hook at the end of a turn, or when a session continues. Returns its result.
fn event(stage: &Stage, flags: &[&str], name: &str, transcript: &str) -> Ended {
    let stage = stage.clone().file("t.jsonl", transcript);
    let path = stage.path("t.jsonl").display().to_string();
    let event = json!({"hook_event_name": name, "source": "resume", "session_id": "s", "transcript_path": path});
    stage.run_with(&[&["hook"], flags].concat(), event.to_string().as_bytes())
}

#[test]
fn an_answer_wakes_the_session_and_the_model_fetches_it() {
    let stage = quiet();
    let mut client = Client::start(&stage, &[]);
    let result = ask(&mut client, 1, "Which database?");
    let ticket = ticket(&result).to_owned();
    let hook = wake(&stage, &result);
    let listed = run(&stage, &["inbox"]).stdout;
    assert!(listed.contains("(not waiting: the agent works on)") && !listed.contains("gone"), "{listed}");
    answer(&stage, &ticket);
    assert_eq!(woken(hook), (Some(2), notice(&ticket) + "\n"));
    let log = run(&stage, &["log"]).stdout;
    assert!(log.contains("answered 0 s ago; Claude Code was told and has not fetched it"), "{log}");
    // A second hook of the same call reports nothing.
    assert_eq!(woken(wake(&stage, &result)), (Some(0), String::new()));
    client.call(2, "AskUserQuestionResult", &json!({"ticket": ticket}));
    assert!(client.next().to_string().contains("SQLite"));
    until("delivery", || asked(&stage)[0]["delivered_ms"].as_u64());
    assert!(!run(&stage, &["log"]).stdout.contains("fetched"));
    // After a successful delivery by hook, the result promises one.
    assert!(
        ask(&mut client, 3, "Which other database?")["message"].as_str().unwrap().ends_with("be delivered to you.")
    );
}

#[test]
fn without_a_screen_the_hook_holds_up_no_turn() {
    let stage = quiet().env("CLAUDE_CODE_ENTRYPOINT", "sdk-cli");
    let mut client = Client::start(&stage, &[]);
    let result = ask(&mut client, 1, "Which database?");
    assert_eq!(woken(wake(&stage, &result)), (Some(0), String::new()));
    pending(&stage, 1);
}

#[test]
fn dismissing_a_question_does_not_wake_the_agent() {
    let stage = quiet();
    let mut client = Client::start(&stage, &[]);
    let result = ask(&mut client, 1, "Which database?");
    let hook = wake(&stage, &result);
    assert_eq!(run(&stage, &["withdraw", ticket(&result)]).code, Some(0));
    assert_eq!(woken(hook), (Some(0), String::new()));
    assert_eq!(event(&stage, &[], "Stop", &told(&result)).stdout, "");
}

#[test]
fn a_turn_reminds_once_and_a_resumed_session_says_again() {
    let stage = quiet();
    let mut client = Client::start(&stage, &[]);
    let result = ask(&mut client, 1, "Which database?");
    let ticket = ticket(&result).to_owned();
    let transcript = told(&result);
    assert_eq!(event(&stage, &[], "Stop", &transcript).stdout, "", "it is not answered");
    answer(&stage, &ticket);
    let reminded: Value = serde_json::from_str(&event(&stage, &[], "Stop", &transcript).stdout).unwrap();
    assert_eq!(reminded, json!({"decision": "block", "reason": notice(&ticket)}));
    assert_eq!(event(&stage, &[], "Stop", &transcript).stdout, "", "once");
    let resumed: Value = serde_json::from_str(&event(&stage, &[], "SessionStart", &transcript).stdout).unwrap();
    let again = &resumed["hookSpecificOutput"]["additionalContext"];
    assert_eq!(again, &json!(notice(&ticket).replacen("Question", "Again: question", 1)), "{resumed}");
    // The transcript contains the answer, so the next hook records its delivery.
    let fetched = json!({"status": "answered", "ticket": ticket, "answers": []});
    assert!(asked(&stage)[0]["delivered_ms"].is_null());
    assert_eq!(event(&stage, &[], "Stop", &format!("{transcript}{}", told(&fetched))).stdout, "");
    assert!(asked(&stage)[0]["delivered_ms"].is_u64());
}

#[test]
fn a_transcript_without_tickets_opens_no_store() {
    let stage = quiet();
    let store = stage.path("store");
    let stage = stage.env("ASKUSER_STORE", &store.display().to_string());
    for name in ["Stop", "SessionStart"] {
        let ended = event(&stage, &["--codex"], name, "{\"type\":\"user\"}\n");
        assert_eq!((ended.stdout.as_str(), ended.code), ("", Some(0)), "{}", ended.stderr);
    }
    assert!(!store.exists());
}

#[test]
fn watch_prints_every_event_once_and_resumes_behind_a_number() {
    let stage = quiet();
    let mut client = Client::start(&stage, &[]);
    let first = ask(&mut client, 1, "Which database?");
    let mut watch = stage.spawn(&["watch", "--json", "--after", "0"]);
    let mut lines = BufReader::new(watch.stdout.take().unwrap()).lines();
    let mut next = || serde_json::from_str::<Value>(&lines.next().unwrap().unwrap()).unwrap();
    let begun = next();
    assert_eq!((&begun["id"], &begun["state"]), (&first["ticket"], &json!("pending")));
    answer(&stage, ticket(&first));
    let ended = next();
    assert_eq!((&ended["id"], &ended["state"]), (&first["ticket"], &json!("answered")));
    watch.kill().unwrap();
    watch.wait().unwrap();
    let mut resumed = stage.spawn(&["watch", "--json", "--after", &begun["seq"].to_string()]);
    let mut line = String::new();
    BufReader::new(resumed.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert_eq!(serde_json::from_str::<Value>(&line).unwrap(), ended);
    resumed.kill().unwrap();
    resumed.wait().unwrap();
}

/// A line of a transcript of Codex 0.169 with the result of a tool.
fn told_by_codex(result: &Value) -> String {
    let item =
        json!({"type": "McpToolCall", "server": "askuser", "result": {"content": [], "structuredContent": result}});
    format!("{}\n", json!({"type": "event_msg", "payload": {"type": "item_completed", "item": item}}))
}

#[test]
fn an_answer_is_queued_once_in_the_session_of_codex() {
    let stage = with_program("codex").env("ASKUSER_POPUP", "none");
    let mut client = Client::named(&stage, "codex-mcp-client");
    let result = ask(&mut client, 1, "Which database?");
    let ticket = ticket(&result).to_owned();
    let transcript = told_by_codex(&result);
    for _ in 0..3 {
        let ended = event(&stage, &["--codex"], "Stop", &transcript);
        assert_eq!((ended.stdout.as_str(), ended.code), ("", Some(0)), "{}", ended.stderr);
    }
    answer(&stage, &ticket);
    until("a message in the queue", || (stage.read("told").matches('|').count() == 5).then_some(()));
    assert_eq!(stage.read("told"), format!("queue|--thread|s|--message|{}|", notice(&ticket)));
    assert_eq!(event(&stage, &["--codex"], "Stop", &transcript).stdout, "", "it was told");
    let locks = stage.path(".local/state/askuser/codex");
    until("the end of the process that waits", || (locks.read_dir().unwrap().count() == 0).then_some(()));
    assert_eq!(stage.read("told").matches("queue").count(), 1, "once");
}

/// Servers, hooks and answerers are killed at any moment, in any order. Each answer that was acknowledged reaches the model, and says what
/// the person said. `ASKUSER_KILLS` sets the number of kills.
#[test]
#[allow(clippy::print_stdout, reason = "the counts of a long run")]
fn kills_of_server_hook_and_answerer_lose_and_invent_no_answer() {
    let kills: u64 = std::env::var("ASKUSER_KILLS").map_or(24, |kills| kills.parse().unwrap());
    let stage = quiet();
    let mut rng = 0x2545_f491_4f6c_dd1d_u64;
    let mut repeats = 0;
    let mut killed = 0;
    let mut round = 0;
    let mut below = |most: u64| {
        rng ^= rng << 13;
        rng ^= rng >> 7;
        rng ^= rng << 17;
        rng % most
    };
    while killed < kills {
        round += 1;
        let mut client = Client::start(&stage, &[]);
        let result = ask(&mut client, 1, &format!("Which database in round {round}?"));
        let ticket = ticket(&result).to_owned();
        let mut hook = wake(&stage, &result);
        let mut answerer = stage.spawn(&["answer", &ticket, "--select", "Database=SQLite"]);
        for victim in 0..3 {
            std::thread::sleep(std::time::Duration::from_millis(below(12)));
            match (victim + round) % 3 {
                0 if below(2) == 0 => drop(hook.kill()),
                1 if below(2) == 0 => drop(answerer.kill()),
                2 if below(2) == 0 => client.signal(Signal::KILL),
                _ => continue,
            }
            killed += 1;
        }
        answerer.wait().unwrap();
        let again = run(&stage, &["answer", &ticket, "--select", "Database=MongoDB"]);
        let expected = if again.code == Some(0) { "MongoDB" } else { "SQLite" };
        let (_, said) = woken(hook);
        assert!(said.is_empty() || said == notice(&ticket) + "\n", "{said}");
        drop(client);
        // A resumed session gets the notice and fetches the answer.
        let resumed = event(&stage, &[], "SessionStart", &told(&result)).stdout;
        assert!(resumed.contains(&ticket), "round {round}: lost: {resumed:?}");
        repeats += u64::from(resumed.contains("Again"));
        let mut client = Client::start(&stage, &[]);
        client.call(1, "AskUserQuestionResult", &json!({"ticket": ticket}));
        let fetched = client.next()["result"]["structuredContent"].take();
        assert_eq!(fetched["answers"][0]["selectedOptions"], json!([expected]), "round {round}: {fetched}");
        until("delivery", || asked(&stage)[0]["delivered_ms"].as_u64());
    }
    assert_eq!(asked(&stage).len() as u64, round, "nothing was asked twice");
    println!("{killed} kills in {round} rounds: 0 lost, 0 fabricated, {repeats} said again");
}
