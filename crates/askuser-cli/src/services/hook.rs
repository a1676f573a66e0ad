//! The command that a user wants to be run when a question waits.

use askuser::Request;
use serde_json::json;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

/// Away from our terminal: its keys belong to whoever answers the question.
fn shell() -> Command {
    if cfg!(windows) {
        let mut shell = Command::new("cmd");
        shell.arg("/C");
        return shell;
    }
    let mut shell = match Path::new("/usr/bin/setsid") {
        setsid if setsid.is_file() => {
            let mut command = Command::new(setsid);
            command.arg("sh");
            command
        }
        _ => Command::new("sh"),
    };
    #[cfg(unix)]
    if shell.get_program() == "sh" {
        // It is stopped when it reads from the terminal.
        std::os::unix::process::CommandExt::process_group(&mut shell, 0);
    }
    shell.arg("-c");
    shell
}

/// Runs it beside us; what it says or does changes nothing here. It gets the question as JSON on standard input, and its
/// first header and text in the environment.
pub(crate) fn run(command: &str, request: &Request) {
    let question = &request.set().questions()[0];
    let started = shell()
        .arg(command)
        .env("ASKUSER_HEADER", question.header())
        .env("ASKUSER_QUESTION", question.text())
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    let Ok(mut child) = started else { return };
    let input = json!({
        "questions": request.set().questions_json(),
        "id": request.key().id_in_session(),
        "origin": request.asked_by(),
        "request": request,
    });
    // It may read slowly, or not at all, and has to be waited for in the end.
    std::thread::spawn(move || {
        if let Some(mut stdin) = child.stdin.take() {
            let _ = writeln!(stdin, "{input}");
        }
        let _ = child.wait();
    });
}
