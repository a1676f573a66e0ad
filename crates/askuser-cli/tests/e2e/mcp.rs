//! Tests `askuser mcp` as a real process behind two pipes. A person answers from another process.

use crate::inbox::{attended, id, pending, run};
use crate::terminal::{PATIENCE, Stage, wait_until};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

/// A client with the server it started.
pub(crate) struct Client {
    server: Child,
    pub(crate) write: Option<ChildStdin>,
    read: BufReader<ChildStdout>,
}

impl Client {
    pub(crate) fn start(stage: &Stage, args: &[&str]) -> Client {
        Client::with(stage, args, &json!({}))
    }

    pub(crate) fn with(stage: &Stage, args: &[&str], capabilities: &Value) -> Client {
        Client::of(stage, args, "claude-code", capabilities)
    }

    pub(crate) fn named(stage: &Stage, name: &str) -> Client {
        Client::of(stage, &[], name, &json!({}))
    }

    fn of(stage: &Stage, args: &[&str], name: &str, capabilities: &Value) -> Client {
        let mut server = stage.spawn_with(&[&["mcp", "--popup", "none"], args].concat(), Stdio::piped());
        let write = server.stdin.take();
        let read = BufReader::new(server.stdout.take().unwrap());
        let mut client = Client { server, write, read };
        let info = json!({"name": name, "version": "2.1.325"});
        let params = json!({"protocolVersion": "2025-11-25", "capabilities": capabilities, "clientInfo": info});
        client.send(&json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params}));
        assert_eq!(client.next()["result"]["serverInfo"]["name"], "askuser");
        client.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        client
    }

    pub(crate) fn send(&mut self, message: &Value) {
        writeln!(self.write.as_mut().unwrap(), "{message}").unwrap();
    }

    pub(crate) fn call(&mut self, id: u64, tool: &str, arguments: &Value) {
        let params = json!({"name": tool, "arguments": arguments});
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}));
    }

    pub(crate) fn ask(&mut self, id: u64) {
        let file = crate::terminal::example("database");
        let input: Value = serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
        self.call(id, "AskUserQuestion", &input);
    }

    pub(crate) fn next(&mut self) -> Value {
        let mut line = String::new();
        self.read.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line:?}"))
    }

    pub(crate) fn ended(mut self) -> Option<i32> {
        let mut status = None;
        wait_until("the end of the server", || {
            status = self.server.try_wait().unwrap();
            status.is_some()
        });
        status.unwrap().code()
    }

    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.server), signal).unwrap();
    }
}

pub(crate) fn words(reply: &Value) -> &str {
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
        let question = attended(&stage);
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
    assert!(words(&client.next()).contains("SQLite"), "answered while no process waited");
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
    assert_eq!(question["context"], json!({"kind": "tool_use", "tool": "Bash", "input": {"command": "make install"}}));
    run(&stage, &["answer", id(&question), "--select", "Bash=Allow once"]);
    let decision: Value = serde_json::from_str(words(&client.next())).unwrap();
    assert_eq!(decision, json!({"behavior": "allow", "updatedInput": {"command": "make install"}}));
}

#[test]
fn a_log_tells_what_happens_and_neither_what_was_asked_nor_what_was_said() {
    let stage = Stage::new();
    let file = stage.path("mcp.log");
    let mut client = Client::start(&stage, &["--log-file", file.to_str().unwrap()]);
    client.ask(1);
    run(&stage, &["answer", id(&pending(&stage, 1)[0]), "--select", "Database=SQLite"]);
    // Standard output contains only messages, and this is the next one.
    assert!(words(&client.next()).contains("SQLite"));
    client.write = None;
    assert_eq!(client.ended(), Some(0));
    let log = std::fs::read_to_string(&file).unwrap();
    for told in ["INFO", "AskUserQuestion", "claude-code", "2.1.325", "status=\"answered\"", "via=\"inbox\""] {
        assert!(log.contains(told), "{told}: {log}");
    }
    for kept in ["SQLite", "database", "Database"] {
        assert!(!log.contains(kept), "{kept}: {log}");
    }
    assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
}

#[test]
fn without_a_file_the_log_goes_to_standard_error_and_without_a_level_nowhere() {
    for (args, says) in [(&["--log", "debug"][..], true), (&[], false)] {
        let stage = Stage::new();
        let mut client = Client::start(&stage, args);
        let mut stderr = client.server.stderr.take().unwrap();
        client.send(&json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "none"}}));
        assert!(client.next()["error"].is_object());
        client.write = None;
        assert_eq!(client.ended(), Some(0));
        let mut log = String::new();
        stderr.read_to_string(&mut log).unwrap();
        assert_eq!(log.contains("called"), says, "{log}");
        assert!(says || log.is_empty(), "{log}");
    }
}

#[test]
fn a_log_that_cannot_be_written_is_said_at_once() {
    let refused = run(&Stage::new(), &["mcp", "--log-file", "/dev/null/log"]);
    assert_eq!(refused.code, Some(2));
    assert!(refused.stderr.contains("cannot write /dev/null/log: Not a directory"), "{}", refused.stderr);
}

/// A server over HTTP with its address.
pub(crate) struct Http {
    server: Child,
    address: String,
    token: String,
    /// The path for messages. Its query may name a project.
    pub(crate) path: &'static str,
}

impl Http {
    pub(crate) fn start(stage: &Stage, args: &[&str]) -> Http {
        let token = run(stage, &["token", "new", "over-http", "--ask"]).stdout.trim().to_owned();
        let mut server = stage.spawn(&[&["serve", "--popup", "none", "--listen", "127.0.0.1:0"], args].concat());
        let mut link = String::new();
        BufReader::new(server.stdout.take().unwrap()).read_line(&mut link).unwrap();
        let address = link.split("http://").nth(1).and_then(|rest| rest.split('/').next()).unwrap().to_owned();
        Http { server, address, token, path: "/mcp" }
    }

    /// Posts a message, and returns the stream of the response.
    pub(crate) fn post(&self, headers: &str, body: &Value) -> TcpStream {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let body = body.to_string();
        let accept = "Accept: application/json, text/event-stream\r\nContent-Type: application/json";
        let path = self.path;
        let length = body.len();
        write!(stream, "POST {path} HTTP/1.1\r\n{headers}{accept}\r\nContent-Length: {length}\r\n\r\n{body}").unwrap();
        stream
    }

    fn status(&self, headers: &str) -> String {
        let mut line = String::new();
        BufReader::new(self.post(headers, &initialize("2025-11-25", &json!({})))).read_line(&mut line).unwrap();
        line.split(' ').nth(1).unwrap_or_default().to_owned()
    }

    fn headers(&self) -> String {
        format!("Host: {}\r\nAuthorization: Bearer {}\r\n", self.address, self.token)
    }

    /// Opens a new session, and returns its headers.
    pub(crate) fn session(&self, version: &str, capabilities: &Value) -> String {
        let opened = self.post(&self.headers(), &initialize(version, capabilities));
        let session = line_with(opened, "mcp-session-id").split_off("mcp-session-id: ".len());
        let headers = format!("{}Mcp-Session-Id: {}\r\n", self.headers(), session.trim());
        drop(self.post(&headers, &json!({"jsonrpc": "2.0", "method": "notifications/initialized"})).read(&mut [0; 64]));
        headers
    }

    /// Asks for a database in a session, and returns the stream of the response.
    pub(crate) fn ask(&self, headers: &str) -> TcpStream {
        let input: Value =
            serde_json::from_str(&std::fs::read_to_string(crate::terminal::example("database")).unwrap()).unwrap();
        let params = json!({"name": "AskUserQuestion", "arguments": input});
        self.post(headers, &json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}))
    }

    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.server), signal).unwrap();
    }
}

impl Drop for Http {
    fn drop(&mut self) {
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

fn initialize(version: &str, capabilities: &Value) -> Value {
    let info = json!({"name": "over-http", "version": "1"});
    let params = json!({"protocolVersion": version, "capabilities": capabilities, "clientInfo": info});
    json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params})
}

/// Reads until a line contains this text, and returns that line.
pub(crate) fn line_with(stream: impl Read, what: &str) -> String {
    let lines = BufReader::new(stream).lines().map(Result::unwrap);
    lines.into_iter().find(|line| line.contains(what)).unwrap_or_else(|| panic!("no {what}"))
}

#[test]
fn a_key_that_others_can_read_or_behind_a_link_is_not_used() {
    let stage = Stage::new();
    let notice = || run(&stage, &["mcp", "--popup", "none"]).stderr;
    assert_eq!(notice(), "");
    let key = stage.path(".local/state/askuser/mcp-state.key");
    for mode in [0o640, 0o604, 0o620, 0o644] {
        std::fs::set_permissions(&key, std::fs::Permissions::from_mode(mode)).unwrap();
        let message = notice();
        let expected = format!("mcp-state.key has mode {mode:o}, must not be readable by the group or by others");
        assert!(message.contains(&expected), "{message}");
    }
    std::fs::set_permissions(&key, std::fs::Permissions::from_mode(0o600)).unwrap();
    std::fs::rename(&key, stage.path("elsewhere")).unwrap();
    std::os::unix::fs::symlink(stage.path("elsewhere"), &key).unwrap();
    let message = notice();
    assert!(message.contains("mcp-state.key is a link, must be a regular file"), "{message}");
    std::fs::remove_file(&key).unwrap();
    assert!(std::process::Command::new("mkfifo").arg(&key).status().unwrap().success());
    let message = notice();
    assert!(message.contains("mcp-state.key is a pipe, must be a regular file"), "{message}");
    std::fs::remove_file(&key).unwrap();
    assert_eq!(notice(), "");
    assert_eq!(key.metadata().unwrap().permissions().mode() & 0o777, 0o600);
}

#[test]
fn the_removed_http_server_names_its_two_successors() {
    let stage = Stage::new();
    for args in [&["mcp", "--http", "127.0.0.1:8787"][..], &["mcp", "--http"]] {
        let refused = run(&stage, args);
        assert_eq!((refused.code, &*refused.stdout), (Some(2), ""));
        for command in ["askuser serve", "askuser token new NAME --ask --mcp-config CLIENT"] {
            assert!(refused.stderr.contains(command), "{}", refused.stderr);
        }
    }
}

#[test]
fn a_client_over_http_shows_the_token_and_asks() {
    let stage = Stage::new();
    let http = Http::start(&stage, &[]);
    let call = http.ask(&http.session("2025-11-25", &json!({})));
    let question = pending(&stage, 1).remove(0);
    assert_eq!(question["origin"]["agent"], "over-http");
    run(&stage, &["answer", id(&question), "--select", "Database=SQLite"]);
    assert!(line_with(call, "\"id\":1").contains("Selected: SQLite"));
}

#[test]
fn agents_of_different_projects_over_http_do_not_share_an_answer() {
    let stage = Stage::new();
    let http = Http::start(&stage, &[]);
    let shop = http.ask(&http.session("2025-06-18", &json!({})));
    let in_shop = attended(&stage);
    let bank = http.ask(&http.session("2025-06-18", &json!({})));
    let in_bank = pending(&stage, 2).into_iter().find(|question| question["id"] != in_shop["id"]).unwrap();
    run(&stage, &["answer", id(&in_shop), "--select", "Database=SQLite"]);
    assert!(line_with(shop, "\"id\":1").contains("Selected: SQLite"));
    assert_eq!(pending(&stage, 1)[0]["id"], in_bank["id"], "one yes is for one of them");
    run(&stage, &["answer", id(&in_bank), "--select", "Database=MongoDB"]);
    assert!(line_with(bank, "\"id\":1").contains("Selected: MongoDB"));
}

#[test]
fn a_wrong_token_a_foreign_host_and_a_foreign_page_are_refused() {
    let stage = Stage::new();
    let http = Http::start(&stage, &[]);
    assert_eq!(http.status(&http.headers()), "200");
    assert_eq!(http.status(&format!("Host: {}\r\n", http.address)), "401");
    assert_eq!(http.status(&format!("Host: {}\r\nAuthorization: Bearer wrong\r\n", http.address)), "401");
    let foreign = format!("Host: evil.example\r\nAuthorization: Bearer {}\r\n", http.token);
    assert_eq!(http.status(&foreign), "403");
    assert_eq!(http.status(&format!("{}Origin: http://evil.example\r\n", http.headers())), "403");
}

#[test]
fn the_token_is_in_no_log_and_who_was_refused_is() {
    let stage = Stage::new();
    let file = stage.path("mcp.log");
    let http = Http::start(&stage, &["--log", "trace", "--log-file", file.to_str().unwrap()]);
    assert_eq!(http.status(&http.headers()), "200");
    assert_eq!(http.status(&format!("Host: {}\r\nAuthorization: Bearer wrong-one\r\n", http.address)), "401");
    let log = std::fs::read_to_string(&file).unwrap();
    assert!(log.contains("rmcp") && log.contains("refused status=401"), "{log}");
    assert!(!log.contains(&http.token) && !log.contains("wrong-one"), "{log}");
}

#[test]
fn the_dialog_of_a_client_that_an_agents_command_started_has_asked_no_person() {
    let stage = Stage::new().env("ASKUSER_STARTED_BY_AGENT", "1");
    let mut client = Client::with(&stage, &["--limit", "1s"], &json!({"elicitation": {}}));
    client.ask(1);
    // The reply is no form, but a notice that the question waits in the inbox.
    let reply = client.next();
    assert_eq!(reply["id"], 1, "{reply}");
    assert_eq!(reply["result"]["structuredContent"]["status"], "pending", "{reply}");
}
