//! The rows of `askuser doctor` about clients: whether they are installed and set up, and whether their server answers.

use super::clients::{CLIENTS, Client, Home};
use super::file::{File, Owner};
use super::jsonc::{self, OF_CLAUDE};
use super::server_command::Programs;
use crate::failure::Failure;
use askuser_sys::programs;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

/// The time limit for a server's start. A working server starts in milliseconds.
const PATIENCE: Duration = Duration::from_secs(5);
const TOOL: &str = "AskUserQuestion";
const GONE: &str = "`askuser mcp --http` served: use `askuser serve` and `askuser init NAME --http`";

/// The checks of a client by name. An error is the description of the problem.
pub(in crate::commands) type Checks = Vec<(&'static str, Result<(), String>)>;

/// Returns the clients that are installed or set up, with their manual steps. Each server that they start is tried
/// once.
pub(in crate::commands) fn clients() -> Result<Vec<(&'static Client, String, Checks)>, Failure> {
    let home = super::home()?;
    let programs = Programs::of(std::env::var_os("PATH"));
    let mut tried = HashMap::new();
    let mut ask = |words: Vec<String>| tried.entry(words).or_insert_with_key(|words| asks(words)).clone();
    let state = |client: &'static Client| {
        let by_hand = client.by_hand(&home.shown(&client.user_file(&home)));
        Some((client, by_hand, state(&home, &programs, client, &mut ask)?))
    };
    Ok(CLIENTS.iter().filter_map(state).collect())
}

fn state(
    home: &Home<'_>,
    programs: &Programs,
    client: &'static Client,
    ask: &mut dyn FnMut(Vec<String>) -> Result<(), String>,
) -> Option<Checks> {
    let path = client.user_file(home);
    let read = |client: &Client| {
        File::read(&client.user_file(home), Owner::User).map(|file| file.text).map_err(|failure| failure.message)
    };
    let in_file = |why: String| format!("{} {why}", home.shown(&path));
    let server = read(client).and_then(|text| client.format.find(&text, client.servers).map_err(in_file));
    if matches!(server, Ok(None)) && !client.is_installed(home, &|program| programs.find(program).is_some()) {
        return None;
    }
    // The askuser entries in Claude Code's settings: the hooks, and the rule last.
    let settings = client.beside.filter(|_| client.name == "claude").map(|part| OF_CLAUDE.entries(&read(part)?));
    let questions = server.and_then(|server| {
        let server = server.ok_or("not set up")?;
        match server.get("url").or(server.get("httpUrl")).and_then(Value::as_str) {
            Some(url) if url.contains(":8787/mcp") => return Err(in_file(format!("names {url}, which {GONE}"))),
            Some(_) => {}
            None => ask(command(&server).ok_or_else(|| in_file("has no command".to_owned()))?)?,
        }
        let is_refused = matches!(&settings, Some(Ok(ours)) if ours.last() == Some(&None));
        if is_refused { Err("its settings do not allow the tool".to_owned()) } else { Ok(()) }
    });
    let permissions = settings.map(|ours| {
        let hooks: Option<Vec<Value>> = ours?.into_iter().rev().skip(1).collect();
        let hooks = hooks.ok_or("a hook is missing in its settings")?;
        hooks.first().and_then(jsonc::our_program).map_or(Ok(()), answers)
    });
    let checks = [("questions", Some(questions)), ("permissions", permissions)];
    Some(checks.into_iter().filter_map(|(name, outcome)| Some((name, outcome?))).collect())
}

pub(super) fn command(server: &Value) -> Option<Vec<String>> {
    let words = |value: &Value| -> Vec<String> {
        let items = value.as_array().into_iter().flatten();
        items.filter_map(|word| word.as_str().map(str::to_owned)).collect()
    };
    match server.get("command")? {
        Value::String(program) => {
            Some([vec![program.clone()], server.get("args").map(words).unwrap_or_default()].concat())
        }
        list => Some(words(list)).filter(|words| !words.is_empty()),
    }
}

/// Asks through the server as a client would. The store ends the question at once, before a surface can show it.
pub(super) fn asks(words: &[String]) -> Result<(), String> {
    let client = json!({"name": askuser_mcp::PROBE_CLIENT, "version": env!("CARGO_PKG_VERSION")});
    let hello = json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client});
    let lines = [
        json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello}),
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
        json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": TOOL, "arguments": sample("Probe", "Yes")}}),
    ];
    let reply = reply("its server", words, &lines.map(|line| format!("{line}\n")).concat(), |reply| reply["id"] == 2)?;
    let result = &reply["result"];
    match result["structuredContent"]["status"].as_str() {
        Some("timed_out") => Ok(()),
        _ => {
            let why = reply["error"]["message"]
                .as_str()
                .or(result["content"][0]["text"].as_str())
                .unwrap_or("its server gives no reason");
            Err(format!("a question does not reach the inbox: {why}"))
        }
    }
}

/// Returns the input of a sample question.
fn sample(header: &str, label: &str) -> Value {
    let options = [label, "No"].map(|label| json!({"label": label, "description": "-"}));
    json!({"questions": [{"question": "Does this reach the inbox?", "header": header, "multiSelect": false, "options": options}]})
}

/// Sends the hook a sample event. The event contains a question that imitates a permission, which the hook denies
/// without asking a person.
fn answers(program: &str) -> Result<(), String> {
    let input = sample("Permission", "Allow once");
    let event = json!({"hook_event_name": "PermissionRequest", "tool_name": TOOL, "tool_input": input});
    let words = [program.to_owned(), "hook".to_owned()];
    let reply = reply("its hook", &words, &event.to_string(), |reply| reply.get("hookSpecificOutput").is_some())?;
    let is_denied = reply["hookSpecificOutput"]["decision"]["behavior"] == "deny";
    is_denied.then_some(()).ok_or_else(|| "its hook gives another answer".to_owned())
}

/// Starts a program as a client would. Returns the first line of its output that `is_wanted` accepts.
fn reply(what: &str, words: &[String], input: &str, is_wanted: fn(&Value) -> bool) -> Result<Value, String> {
    let program = &words[0];
    let command = if Path::new(program).is_absolute() { Ok(Command::new(program)) } else { programs::command(program) };
    let started = command.and_then(|mut command| {
        command.args(&words[1..]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn()
    });
    let mut child = started.map_err(|error| format!("{program} does not start: {error}"))?;
    let mut stdin = child.stdin.take();
    if let Some(stdin) = &mut stdin {
        // The code below detects a program that has already ended.
        let _ = stdin.write_all(input.as_bytes());
    }
    // A server ends at the end of its input, so that stays open. A hook starts its work there.
    let stdin = stdin.filter(|_| words.last().is_none_or(|word| word != "hook"));
    let (found, heard) = mpsc::channel();
    if let Some(stdout) = child.stdout.take() {
        std::thread::spawn(move || {
            let replies = BufReader::new(stdout).lines().map_while(Result::ok);
            let mut replies = replies.filter_map(|line| serde_json::from_str::<Value>(&line).ok());
            let _ = found.send(replies.find(is_wanted));
        });
    }
    let reply = heard.recv_timeout(PATIENCE);
    drop(stdin);
    let _ = child.kill();
    let _ = child.wait();
    match reply {
        Ok(Some(reply)) => Ok(reply),
        Ok(None) => Err(format!("{what} ends without an answer")),
        Err(_) => Err(format!("{what} does not answer within {} seconds", PATIENCE.as_secs())),
    }
}
