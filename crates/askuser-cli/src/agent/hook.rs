//! The command that a user wants to be run when a question waits.

use askuser::Request;
use serde_json::json;
use std::io::Write;
use std::process::{Command, Stdio};

/// Runs it beside us; what it says or does changes nothing here. It gets the question as JSON on standard input, and its
/// first header and text in the environment.
pub(crate) fn run(command: &str, request: &Request) {
    let question = &request.set.questions()[0];
    let shell = if cfg!(windows) { ["cmd", "/C"] } else { ["sh", "-c"] };
    let started = Command::new(shell[0])
        .args([shell[1], command])
        .env("ASKUSER_HEADER", question.header())
        .env("ASKUSER_QUESTION", question.text())
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    let Ok(mut child) = started else { return };
    let mut input = json!(request.set);
    input["key"] = json!(request.key);
    input["origin"] = json!(request.origin);
    // It may read slowly, or not at all, and has to be waited for in the end.
    std::thread::spawn(move || {
        if let Some(mut stdin) = child.stdin.take() {
            let _ = writeln!(stdin, "{input}");
        }
        let _ = child.wait();
    });
}
