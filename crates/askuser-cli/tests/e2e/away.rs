//! Tests commands with an unreachable server. It was killed, or stopped so that it accepts connections and never
//! replies.
//!
//! Every wait ends soon after a signal, and the terminal is restored. Each test prints the time that this took.
#![allow(clippy::print_stdout, reason = "the measured times")]

use crate::agent_app;
use crate::terminal::{Ended, RESTORED, Stage, Terminal, example, wait_until};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;
use std::io::{BufRead, BufReader};
use std::process::Child;
use std::time::{Duration, Instant};

/// The time limit on a loaded machine. On an idle machine a command ends within 200 ms.
const LIMIT: Duration = Duration::from_secs(5);
const SIGNALS: [Signal; 3] = [Signal::INT, Signal::TERM, Signal::HUP];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Away {
    Killed,
    Stopped,
}

/// A server with its store, and the test environment of its clients.
struct Place {
    home: Stage,
    server: Child,
    url: String,
    client: Stage,
}

impl Place {
    fn new(scope: &str) -> Place {
        let home = Stage::new().env("ASKUSER_POPUP", "none");
        let token = home.run(&["token", "new", "tester", scope]).stdout;
        let (server, url) = serve(&home, "127.0.0.1:0");
        let turns = json!([{"text": "I ask first.", "calls": [agent_app::question("Database")]}, {"text": "Done."}]);
        let client = agent_app::stage(turns).env("ASKUSER_POPUP", "none").env("ASKUSER_STORE", &url);
        Place { home, server, url, client: client.env("ASKUSER_TOKEN", token.trim()) }
    }

    fn leave(&mut self, how: Away) {
        if how == Away::Killed {
            self.server.kill().unwrap();
            self.server.wait().unwrap();
        } else {
            kill_process(Pid::from_child(&self.server), Signal::STOP).unwrap();
        }
    }

    /// Starts the server again at its address.
    fn come_back(&mut self) {
        let address = self.url.trim_start_matches("http://").to_owned();
        (self.server, _) = serve(&self.home, &address);
    }

    /// Stores a question that waits, and returns its id.
    fn question(&self) -> String {
        self.home.run(&["ask", &example("database"), "--via", "inbox", "--detach"]).stdout.trim().to_owned()
    }

    #[track_caller]
    fn wait_for_err(&self, text: &str) {
        wait_until(text, || self.client.read("err").contains(text));
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

fn serve(home: &Stage, listen: &str) -> (Child, String) {
    let mut server = home.spawn(&["serve", "--listen", listen]);
    let mut link = String::new();
    BufReader::new(server.stdout.as_mut().unwrap()).read_line(&mut link).unwrap();
    (server, link.split_once("/#pair=").expect("a link").0.to_owned())
}

/// Starts a command, makes the server unreachable, sends each signal, and checks the result.
fn each(command: &str, scope: &str, start: impl Fn(&Place) -> Terminal, check: impl Fn(Signal, &Ended)) {
    for how in [Away::Killed, Away::Stopped] {
        for signal in SIGNALS {
            let mut place = Place::new(scope);
            let terminal = start(&place);
            place.leave(how);
            measure(&format!("{command}, server {how:?}"), terminal, signal, &check);
        }
    }
}

/// Makes the server unreachable before the command starts, sends each signal, and checks the result.
fn each_without_a_server(command: &str, start: impl Fn(&Place) -> Terminal, check: impl Fn(Signal, &Ended)) {
    for how in [Away::Killed, Away::Stopped] {
        for signal in SIGNALS {
            let mut place = Place::new("--ask");
            place.leave(how);
            let terminal = start(&place);
            // Before the command handles signals, a signal would kill it.
            wait_until("it sends", || threads(terminal.pid()).iter().any(|name| name.starts_with("askuser-http")));
            measure(&format!("{command} from the start, server {how:?}"), terminal, signal, &check);
        }
    }
}

fn measure(what: &str, terminal: Terminal, signal: Signal, check: impl Fn(Signal, &Ended)) {
    let began = Instant::now();
    terminal.signal(signal);
    let ended = terminal.finish();
    let took = began.elapsed();
    println!("{what}, {signal:?}: {} ms", took.as_millis());
    assert!(took < LIMIT, "{what}, {signal:?}: {took:?}");
    assert_eq!(ended.modes, RESTORED, "{what}, {signal:?}");
    check(signal, &ended);
}

fn threads(pid: i32) -> Vec<String> {
    let tasks = std::fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    tasks.filter_map(|task| std::fs::read_to_string(task.path().join("comm")).ok()).collect()
}

fn stays(_: Signal, ended: &Ended) {
    assert_eq!(ended.code, Some(75), "{}", ended.stderr);
    assert!(ended.stderr.contains("the question stays in the inbox as"), "{}", ended.stderr);
}

fn ends_by_it(signal: Signal, ended: &Ended) {
    let code = 128 + signal.as_raw().cast_unsigned();
    assert!(ended.signal.is_some() || ended.code == Some(code) || ended.code == Some(143), "{ended:?}");
}

#[test]
fn ask_ends_on_a_signal_while_the_server_is_away() {
    let words = ["ask", &example("database"), "--via", "inbox"];
    let start = |place: &Place| {
        let terminal = place.client.askuser(&words, "");
        place.wait_for_err("waits in the inbox as");
        terminal
    };
    each("ask --via inbox", "--ask", start, stays);
    each_without_a_server(
        "ask --via inbox",
        |place| place.client.askuser(&words, ""),
        |_, ended| {
            let is_before = ended.signal.is_some() || ended.stderr.contains("stopped before the inbox confirmed");
            assert!(is_before, "{ended:?}");
        },
    );
}

#[test]
fn confirm_ends_on_a_signal_while_the_server_is_away() {
    let start = |place: &Place| {
        let terminal = place.client.askuser(&["confirm", "Go?", "--via", "inbox"], "");
        place.wait_for_err("waits in the inbox as");
        terminal
    };
    each("confirm --via inbox", "--ask", start, stays);
}

#[test]
fn a_prompt_ends_on_a_signal_while_the_server_is_away() {
    let start = |place: &Place| {
        let mut terminal = place.client.ask(&[&example("database"), "--via", "terminal,inbox"]);
        terminal.wait_for("? keys");
        terminal.keys("4Du");
        terminal.wait_for("Du");
        terminal
    };
    each("ask --via terminal,inbox", "--ask", start, |_, ended| {
        assert!(matches!(ended.code, Some(75 | 130)), "{ended:?}");
        assert!(ended.stderr.contains("the question stays in the inbox as"), "{}", ended.stderr);
    });
}

#[test]
fn a_sent_answer_ends_on_a_signal_while_the_server_is_away() {
    for how in [Away::Killed, Away::Stopped] {
        for signal in SIGNALS {
            let mut place = Place::new("--ask");
            let mut terminal = place.client.ask(&[&example("database"), "--via", "terminal,inbox"]);
            terminal.wait_for("? keys");
            place.leave(how);
            terminal.keys("<enter>");
            terminal.wait_for("Not stored yet: no reply from the inbox");
            measure(&format!("an answer on its way, server {how:?}"), terminal, signal, stays);
        }
    }
}

#[test]
fn wait_ends_on_a_signal_while_the_server_is_away() {
    let start = |place: &Place| {
        // The question belongs to the client's token.
        let detached = place.client.run(&["ask", &example("database"), "--via", "inbox", "--detach"]);
        let id = detached.stdout.trim().to_owned();
        let terminal = place.client.askuser(&["wait", &id], "");
        wait_until("it waits", || place.home.run(&["inbox", "--json"]).stdout.contains(r#""waits":true"#));
        terminal
    };
    each("wait", "--ask", start, |_, ended| {
        assert!(ended.code == Some(75) && ended.stderr.contains("not answered yet"), "{ended:?}");
    });
}

#[test]
fn hook_ends_on_a_signal_while_the_server_is_away() {
    let event = json!({
        "hook_event_name": "PermissionRequest", "session_id": "s", "tool_use_id": "t", "cwd": "/p",
        "tool_name": "Bash", "tool_input": {"command": "ls"},
    });
    let start = |place: &Place| {
        let client = place.client.clone().env("CLAUDE_CODE_ENTRYPOINT", "cli").file("event", event.to_string());
        let terminal = client.shell("exec askuser hook <event >out 2>err");
        wait_until("it waits", || place.home.run(&["inbox", "--json"]).stdout.contains(r#""waits":true"#));
        terminal
    };
    each("hook", "--ask", start, |_, ended| {
        assert_eq!((ended.code, ended.stdout.as_str()), (Some(0), ""), "{}", ended.stderr);
    });
}

#[test]
fn mcp_ends_on_a_signal_while_the_server_is_away() {
    let info = json!({"name": "claude-code", "version": "2.1.325"});
    let params = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": info});
    let input: serde_json::Value = serde_json::from_slice(&std::fs::read(example("database")).unwrap()).unwrap();
    let call = json!({"name": "AskUserQuestion", "arguments": input});
    let lines = [
        json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params}),
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
        json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}),
    ];
    let lines: String = lines.iter().map(|line| format!("{line}\n")).collect();
    let start = |place: &Place| {
        let client = place.client.clone().file("lines", &lines);
        // Both ends of the pipe stay open, so that standard input does not end.
        let terminal = client.shell("mkfifo in; exec 3<>in; cat lines >&3; exec askuser mcp <&3 >out 2>err");
        wait_until("it waits", || place.home.run(&["inbox", "--json"]).stdout.contains(r#""waits":true"#));
        terminal
    };
    each("mcp", "--ask", start, |_, ended| assert_eq!(ended.code, Some(0), "{}", ended.stderr));
}

#[test]
fn the_list_ends_on_a_signal_while_the_server_is_away() {
    let start = |place: &Place| {
        place.question();
        let mut terminal = place.client.shell("exec askuser inbox 2>err");
        terminal.wait_for("Which database");
        terminal.keys("/");
        terminal
    };
    each("inbox", "--answer", start, |_, ended| assert!(ended.code.is_some(), "{ended:?}"));
}

#[test]
fn the_list_ends_on_a_signal_while_it_reads() {
    for signal in SIGNALS {
        let mut place = Place::new("--answer");
        place.question();
        let mut terminal = place.client.shell("exec askuser inbox 2>err");
        terminal.wait_for("Which database");
        place.leave(Away::Stopped);
        // The list reads another section, which takes at most three seconds.
        terminal.keys("<tab>");
        measure("inbox, reading, server Stopped", terminal, signal, |_, ended| {
            assert!(ended.code.is_some(), "{ended:?}");
        });
    }
}

#[test]
fn answer_ends_on_a_signal_while_the_server_is_away() {
    let start = |place: &Place| {
        let id = place.question();
        let mut terminal = place.client.askuser(&["answer", &id, "--key-delay", "0"], "");
        terminal.wait_for("? keys");
        terminal.keys("4Du");
        terminal.wait_for("Du");
        terminal
    };
    each("answer", "--answer", start, ends_by_it);
}

#[test]
fn a_headless_agent_ends_on_a_signal_while_the_server_is_away() {
    let start = |place: &Place| {
        let words = ["agent", "--script", "script.json", "-p", "go", "--via", "inbox"];
        let terminal = place.client.askuser(&words, "");
        wait_until("it waits", || place.home.run(&["inbox", "--json"]).stdout.contains(r#""waits":true"#));
        terminal
    };
    each("agent -p", "--ask", start, |_, ended| assert!(ended.code != Some(0), "{ended:?}"));
}

#[test]
fn a_conversation_ends_on_a_signal_while_the_server_is_away() {
    for how in [Away::Killed, Away::Stopped] {
        for signal in [Signal::TERM, Signal::HUP] {
            let mut place = Place::new("--ask");
            let mut terminal = agent_app::start(&place.client, &["--via", "terminal,inbox", "go"]);
            terminal.wait_for("? keys");
            terminal.keys("3Du");
            terminal.wait_for("Du");
            place.leave(how);
            measure(&format!("agent, server {how:?}"), terminal, signal, ends_by_it);
        }
    }
}

#[test]
fn serve_ends_on_a_signal_while_clients_are_connected() {
    for signal in SIGNALS {
        let mut place = Place::new("--ask");
        let asking = place.client.askuser(&["ask", &example("database"), "--via", "inbox"], "");
        place.wait_for_err("waits in the inbox as");
        let began = Instant::now();
        kill_process(Pid::from_child(&place.server), signal).unwrap();
        assert!(place.server.wait().unwrap().success());
        println!("serve, {signal:?}: {} ms", began.elapsed().as_millis());
        assert!(began.elapsed() < LIMIT);
        drop(asking);
    }
}

#[test]
fn a_prompt_takes_keys_while_the_server_is_away() {
    let mut place = Place::new("--ask");
    let words = format!("ask '{}' --key-delay 0 --success-flash 0 --via terminal,inbox", example("database"));
    let mut terminal = place.client.shell(&format!("exec askuser {words} >out"));
    terminal.wait_for("? keys");
    place.leave(Away::Killed);
    // The message is in the frame, in place of the key hints.
    terminal.wait_until("a message in the frame", |screen| {
        screen.lines().any(|row| row.contains("cannot reach http://127.0.0.1"))
            && screen.lines().filter(|row| row.starts_with('╭') || row.starts_with('╰')).count() == 2
    });
    terminal.keys("<down>");
    terminal.wait_for("> ○ MongoDB");
    terminal.wait_gone("cannot reach");
    terminal.keys("<enter>");
    terminal.wait_for("Not stored yet: no reply from the inbox");
    place.come_back();
    let ended = terminal.finish();
    assert_eq!((ended.code, ended.modes), (Some(0), RESTORED), "{}", ended.screen);
    let log = place.home.run(&["log", "--json"]).stdout;
    assert!(log.contains("MongoDB"), "the answer that was given while the server was away: {log}");
}
