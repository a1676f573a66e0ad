//! Instructions and system calls: counted by valgrind and strace, so a busy machine does not change them.
//!
//! A prompt and a list run twice, without arrow keys and with some: the difference is the cost of the keys. The terminal
//! answers the queries for its background and for the cursor, as most terminals do.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::Result;
use crate::measure::{self, DOWN, Measured, UP};
use crate::options::Options;
use crate::program::{Answers, Leaves, Program, QUESTION};
use crate::pty::{Conditions, Replies, Session};
use crate::screen::{LABELS, shows_focus, shows_row};

/// Programs that bring a compiler or a scheduler: valgrind counts that, too.
const LEFT_OUT: [&str; 2] = ["Bubble Tea", "Inquirer"];

/// The lengths of the list, and how many arrow keys it gets.
const LISTS: [usize; 2] = [10, 1_000];
const LIST_KEYS: usize = 4;

/// An event of Claude Code that is none of askuser's business.
const EVENT: &str = r#"{"hook_event_name":"PreToolUse","tool_name":"Read","tool_input":{"file_path":"/tmp/a"}}"#;

/// The first messages of a client, up to the first reply it needs.
const FIRST_CALLS: [&str; 3] = [
    r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"bench","version":"1"}}}"#,
    r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
    r#"{"jsonrpc":"2.0","id":2,"method":"tools/list"}"#,
];

/// The cost of a program.
pub struct Count {
    pub name: String,
    /// Instructions from its start to its end.
    pub instructions: u64,
    /// Instructions of one arrow key, where it takes any.
    pub per_key: Option<u64>,
    /// System calls from its start to its end; `None` without strace.
    pub calls: Option<u64>,
}

/// Counts all programs, and the other commands of askuser.
pub fn run(measured: &[Measured], options: &Options) -> Result<Vec<Count>> {
    let folder = Folder::new()?;
    let mut counts = Vec::new();
    for program in measured.iter().map(|measured| &measured.program) {
        if LEFT_OUT.contains(&program.name.as_str()) || matches!(program.leaves, Leaves::When(..)) {
            continue;
        }
        let is_ours = program.arguments.first() == Some(&"ask");
        let silent = is_ours.then_some(Replies::None);
        for replies in [Replies::Sent].into_iter().chain(silent) {
            let name = match replies {
                Replies::Sent => program.name.clone(),
                Replies::None => format!("{}, no replies", program.name),
            };
            let prompt = |tool: Tool, keys| prompt(program, options, &folder.0, replies, tool, keys);
            counts.push(count(name, Some(2 * (LABELS.len() - 1)), prompt)?);
        }
        if is_ours {
            let path = &program.path;
            counts.push(count(format!("{} hook", program.name), None, |tool, _| {
                piped(path, &["hook"], &folder.0, tool, hook)
            })?);
            for rows in LISTS {
                let home = folder.with_questions(path, rows)?;
                let list = |tool: Tool, keys| list(program, options, &home, tool, keys);
                counts.push(count(format!("{} inbox, {rows} rows", program.name), Some(LIST_KEYS), list)?);
            }
            counts.push(count(format!("{} mcp", program.name), None, |tool, _| {
                piped(path, &["mcp"], &folder.0, tool, mcp)
            })?);
        }
    }
    Ok(counts)
}

/// Runs a program under each tool, also with so many keys.
fn count(name: String, keys: Option<usize>, run: impl Fn(Tool, usize) -> Result<u64>) -> Result<Count> {
    eprintln!("counting {name}");
    let instructions = run(Tool::Valgrind, 0)?;
    let with_keys =
        keys.map(|keys| Ok::<_, Box<dyn std::error::Error>>((run(Tool::Valgrind, keys)?, keys))).transpose()?;
    let per_key = with_keys.map(|(with, keys)| with.saturating_sub(instructions) / keys as u64);
    let calls = Tool::Strace.is_installed().then(|| run(Tool::Strace, 0)).transpose()?;
    Ok(Count { name, instructions, per_key, calls })
}

/// The counted events.
#[derive(Clone, Copy)]
enum Tool {
    Valgrind,
    Strace,
}

impl Tool {
    fn is_installed(self) -> bool {
        Path::new(self.path()).exists()
    }

    fn path(self) -> &'static str {
        match self {
            Tool::Valgrind => "/usr/bin/valgrind",
            Tool::Strace => "/usr/bin/strace",
        }
    }

    /// The command line before a program's own; the tool writes into a file.
    fn wrapper(self, into: &Path) -> Vec<String> {
        let into = into.display();
        let words = match self {
            Tool::Valgrind => vec!["--quiet".into(), "--tool=callgrind".into(), format!("--callgrind-out-file={into}")],
            Tool::Strace => vec!["-f".into(), "-qq".into(), "-o".into(), into.to_string()],
        };
        [self.path().to_owned()].into_iter().chain(words).collect()
    }

    /// The count in the file.
    fn read(self, file: &Path) -> Result<u64> {
        let text = fs::read_to_string(file).map_err(|error| format!("cannot read {}: {error}", file.display()))?;
        match self {
            Tool::Valgrind => {
                let total = text.lines().find_map(|line| line.strip_prefix("summary: "));
                Ok(total.ok_or("callgrind wrote no summary")?.trim().parse()?)
            }
            // A call that another thread interrupts has two lines.
            Tool::Strace => {
                Ok(text.lines().filter(|line| line.contains('(') && !line.contains(" resumed>")).count() as u64)
            }
        }
    }
}

/// The question of the timed rounds: down the list, up again, and Enter.
fn prompt(program: &Program, options: &Options, home: &Path, replies: Replies, tool: Tool, keys: usize) -> Result<u64> {
    let into = home.join("counted");
    let mut session = Session::start(program, &conditions(options, home, replies, tool.wrapper(&into)))?;
    session.wait_for("the list", |screen| shows_focus(screen, 0))?;
    let last = LABELS.len() - 1;
    let down = (1..=last).map(|index| (DOWN, index));
    for (key, index) in down.chain((0..last).rev().map(|index| (UP, index))).take(keys) {
        session.press(key)?;
        session.wait_for(LABELS[index], |screen| shows_focus(screen, index))?;
    }
    measure::answer(program, session)?;
    tool.read(&into)
}

/// The live list: down so many rows, and out.
fn list(program: &Program, options: &Options, home: &Path, tool: Tool, keys: usize) -> Result<u64> {
    let into = home.join("counted");
    let program = Program {
        name: "the list".into(),
        path: program.path.clone(),
        arguments: &["inbox"],
        leaves: Leaves::WithTheAnswer,
        answers: Answers::OnTheTerminal,
    };
    let mut session = Session::start(&program, &conditions(options, home, Replies::Sent, tool.wrapper(&into)))?;
    session.wait_for("its first row", |screen| shows_row(screen, 0))?;
    for row in 1..=keys {
        session.press(DOWN)?;
        session.wait_for("its next row", |screen| shows_row(screen, row))?;
    }
    session.press(b"q")?;
    session.wait_for_end()?;
    tool.read(&into)
}

fn conditions(options: &Options, home: &Path, replies: Replies, wrapper: Vec<String>) -> Conditions {
    Conditions {
        colours: options.colours,
        wrapper,
        home: home.to_owned(),
        replies,
        // A program runs some fifty times slower.
        quiet: Duration::from_millis(300),
        patience: Duration::from_secs(60),
    }
}

/// The pipes to and from a program without a terminal.
type Pipes = (std::process::ChildStdin, BufReader<std::process::ChildStdout>);

/// A program without a terminal.
fn piped(path: &Path, arguments: &[&str], home: &Path, tool: Tool, talk: fn(Pipes) -> Result<()>) -> Result<u64> {
    let into = home.join("counted");
    let wrapper = tool.wrapper(&into);
    let mut command = Command::new(&wrapper[0]);
    command.args(&wrapper[1..]).arg(path).args(arguments);
    let mut child = in_home(&mut command, home).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
    let pipes = (child.stdin.take().ok_or("no pipe")?, BufReader::new(child.stdout.take().ok_or("no pipe")?));
    talk(pipes)?;
    match child.wait()? {
        status if status.success() => tool.read(&into),
        status => Err(format!("{arguments:?} ended with {status}").into()),
    }
}

fn hook((mut input, _): Pipes) -> Result<()> {
    Ok(input.write_all(EVENT.as_bytes())?)
}

fn mcp((mut input, mut output): Pipes) -> Result<()> {
    let mut reply = String::new();
    for call in FIRST_CALLS {
        writeln!(input, "{call}")?;
        if call.contains("\"id\"") {
            reply.clear();
            output.read_line(&mut reply)?;
        }
    }
    if reply.contains("AskUserQuestion") { Ok(()) } else { Err(format!("askuser mcp lists no tool: {reply:?}").into()) }
}

fn in_home<'a>(command: &'a mut Command, home: &Path) -> &'a mut Command {
    command.env_clear().envs([("LANG", "C.UTF-8"), ("PATH", "/usr/bin:/bin")]).env("HOME", home).current_dir(home)
}

/// A folder for one run of the benchmark.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Result<Folder> {
        let folder = std::env::temp_dir().join(format!("askuser-bench-{}", std::process::id()));
        fs::create_dir_all(&folder)?;
        Ok(Folder(folder))
    }

    /// A home whose inbox holds so many questions.
    fn with_questions(&self, askuser: &Path, rows: usize) -> Result<PathBuf> {
        let home = self.0.join(rows.to_string());
        let _ = fs::remove_dir_all(&home);
        fs::create_dir_all(&home)?;
        for _ in 0..rows {
            let mut command = Command::new(askuser);
            command.args(["ask", "--via", "inbox", "--detach", "--json", QUESTION]);
            if in_home(&mut command, &home).output()?.stdout.is_empty() {
                return Err("askuser ask --detach printed no id".into());
            }
        }
        Ok(home)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
