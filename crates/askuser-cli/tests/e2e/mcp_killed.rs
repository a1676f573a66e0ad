//! Kills the server, the client and the answering process with SIGKILL, while they ask, answer and deliver. No answer
//! is lost, no question is asked twice, and no answer has two effects.

use crate::inbox::{attended, id, pending, run, until};
use crate::mcp::{Client, Http, line_with, words};
use crate::terminal::{Stage, example};
use rustix::process::Signal;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::os::fd::OwnedFd;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// Returns every question that was asked, with its state.
fn asked(stage: &Stage) -> Vec<Value> {
    run(stage, &["log", "--json"]).stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Answers a question while its server is stopped and cannot deliver, and kills the server.
fn answered_and_killed(stage: &Stage, client: Client, answer: &str) {
    let question = pending(stage, 1).remove(0);
    client.signal(Signal::STOP);
    assert_eq!(run(stage, &["answer", id(&question), "--select", answer]).code, Some(0));
    client.signal(Signal::KILL);
    client.ended();
    assert!(asked(stage)[0]["delivered_ms"].is_null());
}

#[test]
fn an_answer_that_a_killed_server_did_not_deliver_goes_to_the_next_call_and_to_no_later_one() {
    let stage = Stage::new();
    let mut client = Client::start(&stage, &[]);
    client.ask(1);
    answered_and_killed(&stage, client, "Database=SQLite");
    let mut client = Client::start(&stage, &[]);
    client.ask(1);
    assert!(words(&client.next()).contains("SQLite"));
    assert_eq!(asked(&stage).len(), 1, "nothing was asked twice");
    client.ask(2);
    pending(&stage, 1);
    assert_eq!(asked(&stage).len(), 2, "an answer that was delivered is none to what is asked later");
}

#[test]
fn a_permission_that_a_killed_server_did_not_deliver_is_asked_for_again() {
    let stage = Stage::new();
    let call = json!({"tool_name": "Bash", "input": {"command": "make install"}, "tool_use_id": "t"});
    let mut client = Client::start(&stage, &["--approve"]);
    client.call(1, "approve", &call);
    answered_and_killed(&stage, client, "Bash=Allow once");
    let mut client = Client::start(&stage, &["--approve"]);
    client.call(1, "approve", &call);
    pending(&stage, 1);
    assert_eq!(asked(&stage).len(), 2, "it was given to a conversation that is over");
}

/// A client in separate processes, one for writing and one for reading.
struct OtherProcess {
    mouth: Child,
    server: Child,
    ear: Child,
}

impl OtherProcess {
    fn start(stage: &Stage) -> OtherProcess {
        let cat = |input: Stdio| Command::new("cat").stdin(input).stdout(Stdio::piped()).spawn().unwrap();
        let mut mouth = cat(Stdio::piped());
        let mut server = stage.spawn_with(&["mcp", "--popup", "none"], mouth.stdout.take().unwrap().into());
        let ear = cat(server.stdout.take().unwrap().into());
        OtherProcess { mouth, server, ear }
    }

    fn says(&mut self, message: &Value) {
        writeln!(self.mouth.stdin.as_mut().unwrap(), "{message}").unwrap();
    }

    fn hears(&mut self) -> Value {
        let mut line = String::new();
        BufReader::new(self.ear.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap()
    }

    /// Kills the client, and returns the exit code of its server.
    fn killed(mut self) -> Option<i32> {
        for process in [&mut self.mouth, &mut self.ear] {
            process.kill().unwrap();
            process.wait().unwrap();
        }
        self.server.wait().unwrap().code()
    }
}

#[test]
fn a_killed_client_leaves_its_question_and_the_next_one_gets_the_answer() {
    let stage = Stage::new();
    let mut client = OtherProcess::start(&stage);
    let info = json!({"name": "claude-code", "version": "2.1.325"});
    let params = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": info});
    client.says(&json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params}));
    assert_eq!(client.hears()["id"], 0);
    let input: Value = serde_json::from_str(&std::fs::read_to_string(example("database")).unwrap()).unwrap();
    let params = json!({"name": "AskUserQuestion", "arguments": input});
    client.says(&json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}));
    let question = pending(&stage, 1).remove(0);
    assert_eq!(client.killed(), Some(0), "the server ends by itself");
    let left = pending(&stage, 1).remove(0);
    assert_eq!((&left["id"], &left["asker"]["waits"]), (&question["id"], &json!(false)));
    assert_eq!(run(&stage, &["answer", id(&question), "--select", "Database=SQLite"]).code, Some(0));
    let mut client = Client::start(&stage, &[]);
    client.ask(1);
    assert!(words(&client.next()).contains("SQLite"));
    assert_eq!(asked(&stage).len(), 1);
}

/// Starts a process that holds the other end of a call over HTTP.
fn caller(http: &Http, session: &str) -> Child {
    let connection: OwnedFd = http.ask(session).into();
    Command::new("cat").stdin(connection).stdout(Stdio::piped()).spawn().unwrap()
}

fn kill(mut process: Child) {
    process.kill().unwrap();
    process.wait().unwrap();
}

/// Starts a server over HTTP whose address names a project. Also returns a function that waits until the server notices
/// a lost client.
fn observed(stage: &Stage) -> (Http, impl Fn()) {
    let file = stage.path("mcp.log");
    let mut http = Http::start(stage, &["--log", "info", "--log-file", file.to_str().unwrap()]);
    http.path = "/mcp?project=shop";
    let has_noticed = move || std::fs::read_to_string(&file).unwrap().contains("the client is gone");
    (http, move || until("word that the client is gone", || has_noticed().then_some(())))
}

/// A protocol version whose streams cannot be resumed, and one whose streams can.
const VERSIONS: [&str; 2] = ["2025-06-18", "2025-11-25"];

#[test]
fn a_client_that_is_killed_over_http_waits_no_longer_and_the_next_one_gets_the_answer() {
    for version in VERSIONS {
        let stage = Stage::new();
        let (http, client_is_gone) = observed(&stage);
        let client = caller(&http, &http.session(version, &json!({})));
        let question = attended(&stage);
        kill(client);
        client_is_gone();
        until("the call to end", || (pending(&stage, 1)[0]["asker"]["waits"] == false).then_some(()));
        assert_eq!(run(&stage, &["answer", id(&question), "--select", "Database=SQLite"]).code, Some(0));
        let reply = line_with(http.ask(&http.session(version, &json!({}))), "\"id\":1");
        assert!(reply.contains("Selected: SQLite"), "{version}: {reply}");
        assert_eq!(asked(&stage).len(), 1, "{version}: nothing was asked twice");
    }
}

#[test]
fn an_answer_that_a_killed_client_over_http_did_not_read_does_not_count_as_delivered() {
    for version in VERSIONS {
        let stage = Stage::new();
        let (http, client_is_gone) = observed(&stage);
        let client = caller(&http, &http.session(version, &json!({})));
        let question = attended(&stage);
        // The server notices both events at the same time.
        http.signal(Signal::STOP);
        kill(client);
        assert_eq!(run(&stage, &["answer", id(&question), "--select", "Database=SQLite"]).code, Some(0));
        http.signal(Signal::CONT);
        client_is_gone();
        assert!(asked(&stage)[0]["delivered_ms"].is_null(), "{version}");
        let reply = line_with(http.ask(&http.session(version, &json!({}))), "\"id\":1");
        assert!(reply.contains("Selected: SQLite"), "{version}: {reply}");
        assert_eq!(asked(&stage).len(), 1, "{version}: nothing was asked twice");
        until("delivery", || asked(&stage)[0]["delivered_ms"].as_u64());
    }
}

#[test]
fn an_answerer_that_is_killed_at_any_moment_has_answered_or_has_not() {
    let stage = Stage::new();
    let mut client = Client::start(&stage, &[]);
    for round in 1..=12 {
        client.ask(round);
        let question = pending(&stage, 1).remove(0);
        let mut answerer = stage.spawn(&["answer", id(&question), "--select", "Database=SQLite"]);
        // The kill comes at any moment from before the answer until after it. There is no event to wait for.
        std::thread::sleep(Duration::from_millis(3 * round));
        answerer.kill().unwrap();
        answerer.wait().unwrap();
        let again = run(&stage, &["answer", id(&question), "--select", "Database=MongoDB"]);
        let expected = match again.code {
            Some(0) => "MongoDB",
            Some(4) => "SQLite",
            code => panic!("{code:?}: {}", again.stderr),
        };
        let reply = client.next();
        assert!(reply["id"] == round && words(&reply).contains(&format!("Selected: {expected}")), "{reply}");
        assert_eq!(asked(&stage).len() as u64, round, "each was asked once");
    }
}
