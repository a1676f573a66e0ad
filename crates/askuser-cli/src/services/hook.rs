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
        .env("ASKUSER_HEADER", as_argument(question.header()))
        .env("ASKUSER_QUESTION", as_argument(question.text()))
        .env("ASKUSER_FROM", as_argument(&request.asked_from().unwrap_or_default()))
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

/// A text that the command may hand on as an argument. Many programs take `@path` and `<path` for the content of a file, and `-x`
/// for an option: the model would decide what they send.
fn as_argument(text: &str) -> String {
    match text.starts_with(['@', '-', '<']) {
        true => format!(" {text}"),
        false => text.to_owned(),
    }
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

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use askuser::{QuestionSet, RequestKey, Rules};
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    fn request(question: &str) -> Request {
        let option = |label: &str| json!({"label": label, "description": "x"});
        let question = json!({"question": question, "header": "@/etc", "multiSelect": false, "options": [option("a"), option("b")]});
        let set = QuestionSet::parse(json!({"questions": [question]}), &Rules::strict()).unwrap();
        Request::new(RequestKey::new("session", "call"), set)
    }

    /// The commands that docs/inbox.md recommends.
    fn documented() -> Vec<&'static str> {
        let lines = include_str!("../../../../docs/inbox.md").lines();
        let settings = lines.filter_map(|line| line.trim_start_matches([' ', '#']).strip_prefix("on_question = '"));
        settings.map(|command| command.strip_suffix('\'').unwrap()).collect()
    }

    #[test]
    fn a_documented_notifier_does_not_upload_a_file_that_the_model_names_nor_take_its_text_for_an_option() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["curl", "notify-send"] {
            let program = folder.path().join(name);
            fs::write(&program, "#!/bin/sh\nprintf '%s\\n' \"$@\" > \"$0.words\"\n").unwrap();
            fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        }
        assert_eq!(documented().len(), 2);
        for question in ["@/etc/passwd", "--icon=/etc/passwd", "</etc/passwd", "-x"] {
            for command in documented() {
                let command = format!("PATH={}:$PATH; {command}", folder.path().display());
                run(&command, &request(question), None).unwrap().wait().unwrap();
            }
            let words = |name: &str| fs::read_to_string(folder.path().join(name)).unwrap();
            let (curl, notify) = (words("curl.words"), words("notify-send.words"));
            assert!(curl.contains(&format!("\n--data-raw\n {question}\n")), "{curl}");
            assert!(notify.starts_with("--\n") && notify.ends_with(&format!("\n {question}\n")), "{notify}");
        }
    }

    #[test]
    fn a_text_that_programs_could_take_for_a_file_or_an_option_begins_with_a_space() {
        assert_eq!(["@a", "-a", "<a", "a@", ""].map(as_argument), [" @a", " -a", " <a", "a@", ""]);
        let folder = tempfile::tempdir().unwrap();
        let command =
            format!("printf '%s|' \"$ASKUSER_QUESTION\" \"$ASKUSER_HEADER\" > {}/out", folder.path().display());
        run(&command, &request("@b"), None).unwrap().wait().unwrap();
        assert_eq!(fs::read_to_string(folder.path().join("out")).unwrap(), " @b| @/etc|");
    }
}
