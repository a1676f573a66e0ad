//! Runs the user's command when a question waits.

use askuser::Request;
use askuser_sys::programs;
use serde_json::json;
use std::io::{self, Read, Write};
use std::process::{Child, ChildStderr, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// The capacity of a pipe in bytes.
const PIPE: usize = if cfg!(target_os = "linux") { 64 << 10 } else { 16 << 10 };
/// The maximum length of the stored error output, in bytes.
const MAX_COMPLAINT: usize = 2_000;
/// The time limit for a notifier. A notifier that waits for the answer has to do so in the background.
const LIMIT: Duration = Duration::from_secs(5 * 60);
/// The time that a notifier gets to end after SIGTERM.
#[cfg(unix)]
const GRACE: Duration = Duration::from_secs(1);
/// The first interval for polling a notifier, which is short because most notifiers end at once.
const FIRST_LOOK: Duration = Duration::from_millis(5);
const LAST_LOOK: Duration = Duration::from_millis(500);

/// Returns a shell that runs the command. `cmd` passes the text between the outermost quotes unchanged, because it does
/// not know other programs' quoting.
#[cfg(windows)]
fn shell(command: &str) -> io::Result<Command> {
    let mut shell = programs::command("cmd")?;
    std::os::windows::process::CommandExt::raw_arg(&mut shell, format!("/D /S /C \"{command}\""));
    Ok(shell)
}

/// Returns a shell that runs the command without access to the terminal. The terminal's keys belong to the person who
/// answers the question.
#[cfg(unix)]
fn shell(command: &str) -> io::Result<Command> {
    let mut shell = programs::command("sh")?;
    if let Ok(mut setsid) = programs::command("setsid") {
        setsid.arg(shell.get_program());
        shell = setsid;
    } else {
        // In its own process group, the shell is stopped when it reads from the terminal.
        std::os::unix::process::CommandExt::process_group(&mut shell, 0);
    }
    shell.args(["-c", command]);
    Ok(shell)
}

/// A concurrent command. Its time limit applies even if the process does not wait for it.
pub(crate) struct Running(JoinHandle<Result<(), String>>);

/// Runs the notifier concurrently, and returns a handle. The notifier gets the question as JSON on standard input, and
/// the first header and text in the environment. It also gets the inbox id, which is needed to answer. After the time
/// limit its process group is ended. Processes of a notifier that has ended in time may stay in the background.
pub(crate) fn run(command: &str, request: &Request, inbox_id: Option<&str>) -> Result<Running, String> {
    let child = start(command, request, inbox_id)?;
    let looked_after = std::thread::Builder::new().spawn(move || end_of(child, LIMIT));
    looked_after.map(Running).map_err(|error| error.to_string())
}

fn start(command: &str, request: &Request, inbox_id: Option<&str>) -> Result<Child, String> {
    let question = &request.set().questions()[0];
    let mut child = shell(command)
        .map_err(|error| error.to_string())?
        .env("ASKUSER_HEADER", as_argument(question.header()))
        .env("ASKUSER_QUESTION", as_argument(&request.title()))
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
        // The content of a pipe stays after its writer is closed. The notifier may read the rest slowly, or never.
        let (now, later) = input.as_bytes().split_at(input.len().min(PIPE));
        let written = stdin.write_all(now);
        if written.is_ok() && !later.is_empty() {
            let later = later.to_vec();
            std::thread::spawn(move || drop(stdin.write_all(&later)));
        }
    }
    Ok(child)
}

/// Returns a text that the command can pass on as an argument. Many programs read `@path` and `<path` as the content of
/// a file, and `-x` as an option. A model could otherwise choose the data that they send.
fn as_argument(text: &str) -> String {
    if text.starts_with(['@', '-', '<']) { format!(" {text}") } else { text.to_owned() }
}

impl Running {
    pub(crate) fn wait(self) -> Result<(), String> {
        self.0.join().unwrap_or_else(|_| Err("it was lost sight of".into()))
    }
}

/// Waits until a command ends, and ends it after the time limit. Returns its failure as an error.
fn end_of(mut child: Child, limit: Duration) -> Result<(), String> {
    let complaint = Complaint::of(child.stderr.take());
    let deadline = Instant::now() + limit;
    let mut pause = FIRST_LOOK;
    let status = loop {
        match child.try_wait().map_err(|error| error.to_string())? {
            Some(status) => break status,
            None if Instant::now() >= deadline => {
                end(child);
                return Err(format!("ended, since it took longer than {} seconds", limit.as_secs()));
            }
            None => std::thread::sleep(pause.min(deadline.saturating_duration_since(Instant::now()))),
        }
        pause = (2 * pause).min(LAST_LOOK);
    };
    if status.success() { Ok(()) } else { Err(format!("{status}: {}", complaint.text().trim())) }
}

/// Ends a command and its process group. The command was not reaped yet, so the id of its group is still its own.
fn end(mut child: Child) {
    #[cfg(unix)]
    if let Some(group) = i32::try_from(child.id()).ok().and_then(rustix::process::Pid::from_raw) {
        use rustix::process::{Signal, kill_process_group};
        let _ = kill_process_group(group, Signal::TERM);
        std::thread::sleep(GRACE);
        let _ = kill_process_group(group, Signal::KILL);
    }
    let _ = child.kill();
    let _ = child.wait();
}

/// The error output of a command. Its beginning is stored. The rest is read and dropped, so that the command does not
/// block.
struct Complaint {
    kept: Arc<Mutex<Vec<u8>>>,
    reader: Option<JoinHandle<()>>,
}

impl Complaint {
    fn of(stderr: Option<ChildStderr>) -> Complaint {
        let kept = Arc::new(Mutex::new(Vec::new()));
        let keeping = kept.clone();
        let reader = stderr.map(|mut stderr| {
            std::thread::spawn(move || {
                let mut bytes = [0; 4096];
                while let Ok(count @ 1..) = stderr.read(&mut bytes) {
                    let mut kept = keeping.lock().unwrap_or_else(PoisonError::into_inner);
                    let room = MAX_COMPLAINT - kept.len();
                    kept.extend_from_slice(&bytes[..count.min(room)]);
                }
            })
        });
        Complaint { kept, reader }
    }

    /// Returns the stored output after the command has ended. A process in the background may keep the stream open, so
    /// the wait is limited.
    fn text(&self) -> String {
        let deadline = Instant::now() + LAST_LOOK;
        while self.reader.as_ref().is_some_and(|reader| !reader.is_finished()) && Instant::now() < deadline {
            std::thread::sleep(FIRST_LOOK);
        }
        String::from_utf8_lossy(&self.kept.lock().unwrap_or_else(PoisonError::into_inner)).into_owned()
    }
}

#[cfg(unix)]
#[cfg(test)]
mod tests {
    use super::*;
    use askuser::{QuestionSet, RequestKey, Rules};
    use std::fs;
    use std::os::unix::fs::PermissionsExt;
    use std::path::Path;

    fn request(question: &str) -> Request {
        let option = |label: &str| json!({"label": label, "description": "x"});
        let question = json!({"question": question, "header": "@/etc", "multiSelect": false, "options": [option("a"), option("b")]});
        let set = QuestionSet::parse(json!({"questions": [question]}), &Rules::strict()).unwrap();
        Request::new(RequestKey::new("session", "call"), set)
    }

    /// Returns the commands that docs/inbox.md recommends.
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
            let curl = words("curl.words");
            let notify = words("notify-send.words");
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

    /// Returns whether the processes are running whose ids a command has written to this file.
    fn are_running(file: &Path) -> Vec<bool> {
        let ids = fs::read_to_string(file).unwrap();
        let is_running = |id: &str| {
            let stat = fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
            // A process that adopts an orphan may not reap it, so a zombie counts as ended.
            stat.rsplit_once(") ").is_some_and(|(_, state)| !state.starts_with(['Z', 'X']))
        };
        ids.split_whitespace().map(is_running).collect()
    }

    #[test]
    fn a_command_that_hangs_is_ended_with_its_whole_group_and_that_is_its_failure() {
        let folder = tempfile::tempdir().unwrap();
        let ids = folder.path().join("ids");
        let path = ids.display();
        // The command starts a background process that ignores SIGTERM. The shell itself handles the signal.
        let ignoring = format!("(trap '' TERM; sleep 1000 & echo $! >> {path}; wait) &");
        let command = format!("{ignoring} trap 'echo told > {path}.term; exit' TERM; echo $$ >> {path}; wait");
        let child = start(&command, &request("a"), None).unwrap();
        let deadline = Instant::now() + Duration::from_secs(10);
        while fs::read_to_string(&ids).unwrap_or_default().lines().count() < 2 {
            assert!(Instant::now() < deadline, "it was never run");
            std::thread::sleep(FIRST_LOOK);
        }
        assert_eq!(are_running(&ids), [true, true]);
        let failure = end_of(child, Duration::ZERO).unwrap_err();
        assert_eq!(failure, "ended, since it took longer than 0 seconds");
        assert_eq!(fs::read_to_string(folder.path().join("ids.term")).unwrap(), "told\n", "it could not tidy up");
        while are_running(&ids) != [false, false] {
            assert!(Instant::now() < deadline, "it goes on");
            std::thread::sleep(FIRST_LOOK);
        }
    }

    #[test]
    fn what_a_command_puts_into_the_background_is_neither_waited_for_nor_ended() {
        let folder = tempfile::tempdir().unwrap();
        let ids = folder.path().join("ids");
        let command = format!("sleep 1000 & echo $! > {}; echo failed >&2; exit 3", ids.display());
        let failure = run(&command, &request("a"), None).unwrap().wait().unwrap_err();
        assert_eq!((failure.as_str(), are_running(&ids)), ("exit status: 3: failed", vec![true]));
        let id = fs::read_to_string(&ids).unwrap().trim().parse().ok().and_then(rustix::process::Pid::from_raw);
        rustix::process::kill_process(id.unwrap(), rustix::process::Signal::KILL).unwrap();
    }

    #[test]
    fn a_command_that_complains_without_end_is_not_blocked_by_it() {
        let failure = run("yes | head -c 200000 >&2; exit 1", &request("a"), None);
        let failure = failure.unwrap().wait().unwrap_err();
        assert!(failure.starts_with("exit status: 1: y\ny") && failure.len() < 2_100, "{}", failure.len());
    }
}
