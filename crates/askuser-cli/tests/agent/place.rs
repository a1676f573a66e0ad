//! The folders for running an agent: a working folder, and a separate state folder. The agent sees no files of the user
//! who runs the tests.

use serde_json::{Value, json};
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Output, Stdio};
use tempfile::TempDir;

pub(crate) struct Place {
    home: TempDir,
}

impl Place {
    pub(crate) fn new() -> Place {
        let place = Place { home: tempfile::tempdir().unwrap() };
        fs::create_dir(place.folder()).unwrap();
        place
    }

    /// Returns the folder in which the agent works.
    pub(crate) fn folder(&self) -> PathBuf {
        self.home.path().join("work")
    }

    pub(crate) fn sessions(&self) -> Vec<PathBuf> {
        let folder = self.home.path().join("state/askuser/sessions");
        let entries = fs::read_dir(folder).into_iter().flatten().map(|entry| entry.unwrap().path());
        let mut files: Vec<PathBuf> =
            entries.filter(|path| path.extension().is_some_and(|end| end == "jsonl")).collect();
        files.sort();
        files
    }

    /// Returns the folder of all data that outlives a session.
    pub(crate) fn state(&self) -> PathBuf {
        self.home.path().join("state/askuser")
    }

    /// Returns the entries of a session.
    pub(crate) fn entries(path: &Path) -> Vec<Value> {
        let text = fs::read_to_string(path).unwrap();
        // A kill may truncate the last line.
        let whole = text.rfind('\n').map_or(0, |end| end + 1);
        text[..whole].lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    pub(crate) fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.home.path().join(name);
        fs::write(&path, text).unwrap();
        path
    }

    /// Returns the command `askuser agent` with a script.
    pub(crate) fn agent(&self, script: &Value, args: &[&str]) -> Command {
        let script = self.write("script.json", &script.to_string());
        let mut command = self.askuser(&["agent", "--script", script.to_str().unwrap()]);
        command.args(args);
        command
    }

    pub(crate) fn askuser(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_askuser"));
        command
            .args(args)
            .current_dir(self.folder())
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap())
            .env("HOME", self.home.path())
            .env("XDG_STATE_HOME", self.home.path().join("state"))
            .env("XDG_CONFIG_HOME", self.home.path().join("config"))
            .stdin(Stdio::null());
        command
    }
}

/// Runs a command and returns its exit code and its output.
pub(crate) fn output(command: &mut Command) -> (i32, String, String) {
    let Output { status, stdout, stderr } = command.output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (status.code().unwrap_or(-1), text(stdout), text(stderr))
}

/// A front end that reads events and writes answers.
pub(crate) struct Driver {
    child: Child,
    events: BufReader<ChildStdout>,
    input: Option<ChildStdin>,
}

impl Driver {
    pub(crate) fn start(command: &mut Command) -> Driver {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let events = BufReader::new(child.stdout.take().unwrap());
        let input = child.stdin.take();
        Driver { child, events, input }
    }

    /// Returns the next event; `None` at the end. A session that was cut off is continued.
    pub(crate) fn next(&mut self) -> Option<Value> {
        let mut line = String::new();
        self.events.read_line(&mut line).unwrap();
        // A kill may truncate a line.
        let event: Option<Value> = line.ends_with('\n').then(|| serde_json::from_str(&line).unwrap());
        if event.as_ref().is_some_and(|event| event["type"] == "cut_off") {
            self.send(&json!({"type": "continue"}));
        }
        event
    }

    /// Returns the next event of this type, and skips the events before it.
    pub(crate) fn until(&mut self, kind: &str) -> Value {
        let mut seen = Vec::new();
        while let Some(event) = self.next() {
            if event["type"] == kind {
                return event;
            }
            seen.push(event);
        }
        panic!("no {kind} after {seen:#?}");
    }

    pub(crate) fn send(&mut self, message: &Value) {
        // The process may be gone or about to end. Its exit code then shows the failure.
        let _ = writeln!(self.input.as_mut().unwrap(), "{message}");
    }

    pub(crate) fn pick(&mut self, id: &Value, label: &str) {
        self.send(&json!({"type": "answer", "id": id, "answers": [{"selectedOptions": [label]}]}));
    }

    /// Closes standard input.
    pub(crate) fn hang_up(&mut self) {
        self.input = None;
    }

    pub(crate) fn signal(&self, signal: rustix::process::Signal) {
        let pid = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(pid, signal).unwrap();
    }

    pub(crate) fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Closes standard input, reads the remaining events, and returns the exit code.
    pub(crate) fn finish(mut self) -> i32 {
        self.hang_up();
        self.exit()
    }

    /// Waits without reading until the pipe is full.
    pub(crate) fn leave_unread(&self) {
        let unread = || rustix::io::ioctl_fionread(self.events.get_ref()).unwrap();
        // A write that does not fit blocks, so the last lines leave a little room.
        while unread() < 60_000 {
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
    }

    /// Waits for the process without reading its output, and returns its exit code.
    pub(crate) fn wait_unread(mut self) -> i32 {
        self.child.wait().unwrap().code().unwrap_or(-1)
    }

    /// Reads the events until the process ends by itself, and returns its exit code.
    pub(crate) fn exit(mut self) -> i32 {
        while self.next().is_some() {}
        self.child.wait().unwrap().code().unwrap_or(-1)
    }
}

pub(crate) fn option(label: &str) -> Value {
    json!({"label": label, "description": format!("take {label}")})
}

/// Returns a call of AskUserQuestion with one question.
pub(crate) fn ask(question: &str, header: &str, labels: &[&str]) -> Value {
    let options: Vec<Value> = labels.iter().map(|label| option(label)).collect();
    let question = json!({"question": question, "header": header, "options": options, "multiSelect": false});
    json!({"name": "AskUserQuestion", "input": {"questions": [question]}})
}

/// Returns a script that asks for a database, then prints the answer.
pub(crate) fn one_question() -> Value {
    json!({"turns": [
        {"text": "I ask.", "calls": [ask("Which database?", "Database", &["PostgreSQL (Recommended)", "SQLite"])]},
        {"if": "Selected: PostgreSQL", "text": "PostgreSQL it is."},
        {"if": "Selected: SQLite", "text": "SQLite it is."},
        {"if": "Other: ", "text": "Something else it is."},
        {"text": "Nothing was decided."},
    ]})
}
