//! What `askuser doctor` says about clients: which are here, which are set up, and whether what they start answers.

use super::clients::{CLIENTS, Client, Home};
use super::file::{File, Owner};
use super::server_command::Programs;
use crate::failure::Failure;
use askuser_sys::programs;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

/// How long a server may take to start; a healthy one takes milliseconds.
const PATIENCE: Duration = Duration::from_secs(5);
const TOOL: &str = "AskUserQuestion";

/// The name of a client, and what there is to say about it, or what is wrong and what to do about it.
type ClientState = (&'static str, Result<String, Failure>);

/// The clients that are here or set up.
pub(in crate::commands) fn clients() -> Result<Vec<ClientState>, Failure> {
    let (home, programs) = (super::home()?, Programs::of(std::env::var_os("PATH")));
    let told = |client: &'static Client| Some((client.name, state(&home, &programs, client).transpose()?));
    Ok(CLIENTS.iter().filter_map(told).collect())
}

fn state(home: &Home<'_>, programs: &Programs, client: &Client) -> Result<Option<String>, Failure> {
    let path = client.user_file(home);
    let shown = path.display();
    let text = File::read(&path, Owner::User)?.text;
    let found = client.format.find(&text, client.servers);
    let server = found.map_err(|why| Failure::new(format!("{shown} {why}")))?;
    let wrong = match server.map(|server| command(&server).map(|command| starts(&command))) {
        Some(Some(Ok(()))) => {
            let by_hand = client.by_hand(&shown.to_string());
            return Ok(Some(format!("set up in {shown}; its server offers {TOOL}{by_hand}")));
        }
        Some(Some(Err(why))) => format!("set up in {shown}, but {why}"),
        Some(None) => format!("set up in {shown}, but without a command"),
        None if client.is_installed(home, &|program| programs.find(program).is_some()) => "not set up".to_owned(),
        None => return Ok(None),
    };
    Err(Failure::new(wrong).hint(format!("`askuser init {}`", client.name)))
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

/// Starts the server as a client would, and looks for the tool among those it lists.
pub(super) fn starts(words: &[String]) -> Result<(), String> {
    let program = &words[0];
    let command = if Path::new(program).is_absolute() { Ok(Command::new(program)) } else { programs::command(program) };
    let started = command.and_then(|mut command| {
        command.args(&words[1..]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn()
    });
    let mut child = started.map_err(|error| format!("{program} does not start: {error}"))?;
    let hello = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "askuser doctor", "version": env!("CARGO_PKG_VERSION")},
    }});
    let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    let list = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/list"});
    let mut stdin = child.stdin.take();
    if let Some(stdin) = &mut stdin {
        // One that ended already is found out below.
        let _ = stdin.write_all(format!("{hello}\n{ready}\n{list}\n").as_bytes());
    }
    let (listed, heard) = mpsc::channel();
    if let Some(stdout) = child.stdout.take() {
        std::thread::spawn(move || {
            let replies = BufReader::new(stdout).lines().map_while(Result::ok);
            let mut replies = replies.filter_map(|line| serde_json::from_str::<Value>(&line).ok());
            let tools = replies.find(|reply| reply["id"] == 2).map(|reply| reply["result"]["tools"].clone());
            let _ = listed.send(tools);
        });
    }
    let tools = heard.recv_timeout(PATIENCE);
    drop(stdin);
    let _ = child.kill();
    let _ = child.wait();
    let has_tool = |tools: &Value| tools.as_array().is_some_and(|tools| tools.iter().any(|tool| tool["name"] == TOOL));
    match tools {
        Ok(Some(tools)) if has_tool(&tools) => Ok(()),
        Ok(Some(_)) => Err(format!("its server does not offer {TOOL}")),
        Ok(None) => Err("its server ends without an answer".into()),
        Err(_) => Err(format!("its server does not answer within {} seconds", PATIENCE.as_secs())),
    }
}
