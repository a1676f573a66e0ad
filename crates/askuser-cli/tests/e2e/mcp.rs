//! `askuser mcp`: the real process at the other end of two pipes, and a person who answers from another one.

use crate::inbox::{id, pending, run};
use crate::terminal::{PATIENCE, Stage};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::time::{Duration, Instant};

/// A client, and the server it started.
struct Client {
    server: Child,
    write: Option<ChildStdin>,
    read: BufReader<ChildStdout>,
}

impl Client {
    fn start(stage: &Stage, args: &[&str]) -> Client {
        let mut server = stage.spawn_with(&[&["mcp", "--popup", "none"], args].concat(), Stdio::piped());
        let (write, read) = (server.stdin.take(), BufReader::new(server.stdout.take().unwrap()));
        let mut client = Client { server, write, read };
        let info = json!({"name": "claude-code", "version": "2"});
        let params = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": info});
        client.send(&json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params}));
        assert_eq!(client.next()["result"]["serverInfo"]["name"], "askuser");
        client.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        client
    }

    fn send(&mut self, message: &Value) {
        writeln!(self.write.as_mut().unwrap(), "{message}").unwrap();
    }

    fn call(&mut self, id: u64, tool: &str, arguments: &Value) {
        let params = json!({"name": tool, "arguments": arguments});
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}));
    }

    fn ask(&mut self, id: u64) {
        let file = crate::terminal::example("database");
        let input: Value = serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
        self.call(id, "AskUserQuestion", &input);
    }

    fn next(&mut self) -> Value {
        let mut line = String::new();
        self.read.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line:?}"))
    }

    fn ended(mut self) -> Option<i32> {
        let deadline = Instant::now() + PATIENCE;
        while Instant::now() < deadline {
            if let Some(status) = self.server.try_wait().unwrap() {
                return status.code();
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        let _ = self.server.kill();
        panic!("the server has not ended");
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.server), signal).unwrap();
    }
}

fn words(reply: &Value) -> &str {
    reply["result"]["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{reply}"))
}

#[test]
fn an_agent_asks_through_mcp_and_a_person_answers_from_the_inbox() {
    let stage = Stage::new();
    let mut client = Client::start(&stage, &[]);
    client.send(&json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}));
    let tools = client.next()["result"]["tools"].clone();
    assert_eq!(
        (tools[0]["name"].as_str(), tools[1]["name"].as_str()),
        (Some("AskUserQuestion"), Some("AskUserQuestionResult"))
    );
    client.ask(2);
    let waiting = pending(&stage, 1);
    assert_eq!((&waiting[0]["origin"]["agent"], &waiting[0]["asker"]["waits"]), (&json!("claude-code"), &json!(true)));
    run(&stage, &["answer", id(&waiting[0]), "--select", "Database=SQLite"]);
    let reply = client.next();
    assert!(words(&reply).contains("Selected: SQLite"), "{reply}");
    client.write = None;
    assert_eq!(client.ended(), Some(0));
    let log: Value = serde_json::from_str(run(&stage, &["log", "--json"]).stdout.trim()).unwrap();
    assert!(log["delivered_ms"].is_number(), "{log}");
}

#[test]
fn a_server_ends_cleanly_however_it_is_told_to_and_its_question_stays() {
    let stage = Stage::new();
    for signal in [None, Some(Signal::INT), Some(Signal::TERM)] {
        let mut client = Client::start(&stage, &[]);
        client.ask(1);
        let question = pending(&stage, 1).remove(0);
        match signal {
            Some(signal) => client.signal(signal),
            None => client.write = None,
        }
        assert_eq!(client.ended(), Some(0), "{signal:?}");
        let left = pending(&stage, 1).remove(0);
        assert_eq!((&left["id"], &left["asker"]["waits"]), (&question["id"], &json!(false)), "{signal:?}");
        assert!(left["asker"]["left_ms"].is_number(), "it said so itself: {left}");
    }
}

#[test]
fn a_killed_server_loses_neither_its_question_nor_the_answer() {
    let stage = Stage::new();
    let mut client = Client::start(&stage, &[]);
    client.ask(1);
    let question = pending(&stage, 1).remove(0);
    client.signal(Signal::KILL);
    client.ended();
    run(&stage, &["answer", id(&question), "--select", "Database=SQLite"]);
    let mut client = Client::start(&stage, &[]);
    client.ask(1);
    assert!(words(&client.next()).contains("SQLite"), "answered while nobody waited");
    pending(&stage, 0);
}

#[test]
fn a_ticket_outlives_the_server_that_gave_it() {
    let stage = Stage::new();
    let mut client = Client::start(&stage, &["--limit", "100ms"]);
    client.ask(1);
    let reply = client.next();
    let ticket = reply["result"]["structuredContent"]["ticket"].as_str().unwrap().to_owned();
    assert!(words(&reply).contains("not answered yet"), "{reply}");
    client.signal(Signal::KILL);
    client.ended();
    run(&stage, &["answer", &ticket, "--other", "Database=DuckDB"]);
    let mut client = Client::start(&stage, &["--limit", "100ms"]);
    client.call(1, "AskUserQuestionResult", &json!({"ticket": ticket}));
    assert!(words(&client.next()).contains("Other: DuckDB"));
}

#[test]
fn permissions_are_asked_only_where_that_was_asked_for() {
    let stage = Stage::new();
    let mut client = Client::start(&stage, &["--approve"]);
    client.call(1, "approve", &json!({"tool_name": "Bash", "input": {"command": "make install"}, "tool_use_id": "t"}));
    let question = pending(&stage, 1).remove(0);
    assert_eq!(question["context"], json!({"kind": "command", "text": "make install"}));
    run(&stage, &["answer", id(&question), "--select", "Permission=Allow"]);
    let decision: Value = serde_json::from_str(words(&client.next())).unwrap();
    assert_eq!(decision, json!({"behavior": "allow", "updatedInput": {"command": "make install"}}));
}
