//! The command that a user wants to be run when a question waits.

use askuser::Request;
use serde_json::json;
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// What a pipe holds.
const PIPE: usize = if cfg!(target_os = "linux") { 64 << 10 } else { 16 << 10 };
/// The longest complaint that is kept.
const MAX_COMPLAINT: u64 = 2_000;

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

/// A command that runs beside us.
pub(crate) struct Running(Child);

/// Runs it beside us; what it says or does changes nothing here. It gets the question as JSON on standard input, and its
/// first header and text in the environment; from the inbox its id too, to answer it by.
///
/// # Errors
/// Why it could not be started.
pub(crate) fn run(command: &str, request: &Request, inbox_id: Option<&str>) -> Result<Running, String> {
    let question = &request.set().questions()[0];
    let mut child = shell()
        .arg(command)
        .env("ASKUSER_HEADER", question.header())
        .env("ASKUSER_QUESTION", question.text())
        .env("ASKUSER_FROM", request.asked_from().unwrap_or_default())
        .env("ASKUSER_ID", inbox_id.unwrap_or_default())
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| error.to_string())?;
    let input = json!({
        "questions": request.set().questions_json(),
        "id": inbox_id.map_or_else(|| request.key().id_in_session(), str::to_owned),
        "origin": if inbox_id.is_some() { request.asked_from() } else { request.asked_by() },
        "request": request,
    });
    if let Some(mut stdin) = child.stdin.take() {
        let input = format!("{input}\n");
        // What a pipe holds is there even if we end now. It may read the rest slowly, or not at all.
        let (now, later) = input.as_bytes().split_at(input.len().min(PIPE));
        let written = stdin.write_all(now);
        if written.is_ok() && !later.is_empty() {
            let later = later.to_vec();
            std::thread::spawn(move || drop(stdin.write_all(&later)));
        }
    }
    Ok(Running(child))
}

impl Running {
    /// Waits for its end.
    ///
    /// # Errors
    /// How it failed, in its own words.
    pub(crate) fn wait(mut self) -> Result<(), String> {
        let mut complaint = Vec::new();
        if let Some(stderr) = self.0.stderr.take() {
            let mut stderr = stderr.take(MAX_COMPLAINT);
            let _ = stderr.read_to_end(&mut complaint);
            // The rest is nobody's, and must not block it.
            let _ = std::io::copy(stderr.get_mut(), &mut std::io::sink());
        }
        match self.0.wait() {
            Ok(status) if status.success() => Ok(()),
            Ok(status) => Err(format!("{status}: {}", String::from_utf8_lossy(&complaint).trim())),
            Err(error) => Err(error.to_string()),
        }
    }
}
