//! The programs compared, and building the peers among them.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::Result;
use crate::options::{Agent, Options};

pub struct Program {
    pub name: String,
    pub path: PathBuf,
    pub arguments: &'static [&'static str],
    pub leaves: Leaves,
    pub answers: Answers,
}

/// Where a program writes its answer; on the other one of the two it paints.
#[derive(Clone, Copy, PartialEq)]
pub enum Answers {
    Stdout,
    Stderr,
    /// It paints on both.
    OnTheTerminal,
}

/// How a program ends once it has its answer.
pub enum Leaves {
    /// By itself; the answer is on standard output.
    WithTheAnswer,
    /// When these keys are pressed, once the screen shows these words.
    When(&'static str, &'static [u8]),
}

/// The program that the others are given as a ratio to.
pub const BASELINE: &str = "dialoguer";

const PEERS: [(&str, &str); 3] =
    [(BASELINE, "peer-dialoguer"), ("inquire", "peer-inquire"), ("minimal", "peer-minimal")];

/// What `peers/install` installs: name, executable, arguments and where it answers.
const INSTALLED: [(&str, &str, &[&str], Answers); 3] = [
    ("whiptail", "/usr/bin/whiptail", WHIPTAIL_ARGUMENTS, Answers::Stderr),
    ("Bubble Tea", concat!(env!("CARGO_MANIFEST_DIR"), "/target/peers/bubbletea"), &[], Answers::Stdout),
    ("Inquirer", "/usr/bin/node", &[INQUIRER], Answers::Stdout),
];

const INQUIRER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/target/peers/inquirer.mjs");

const WHIPTAIL_ARGUMENTS: &[&str] = &[
    "--menu",
    "Which database should we use for this project?",
    "12",
    "60",
    "4",
    "PostgreSQL",
    "",
    "MongoDB",
    "",
    "SQLite",
    "",
    "Other",
    "",
];

/// Without the two delays that are there for people: before keys count, and to show that the answer was taken.
const ASKUSER_ARGUMENTS: &[&str] = &["ask", "--key-delay", "0", "--success-flash", "0", "--json", QUESTION];

/// The same question, asked by an agent that follows a script.
const AGENT_ARGUMENTS: &[&str] =
    &["agent", "--key-delay", "0", "--success-flash", "0", "--script", concat!(env!("CARGO_MANIFEST_DIR"), "/agent-script.json")];

pub const QUESTION: &str = r#"{"questions":[{
    "question":"Which database should we use for this project?","header":"Database","multiSelect":false,"options":[
    {"label":"PostgreSQL (Recommended)","description":"Robust relational DB, great for complex queries"},
    {"label":"MongoDB","description":"Document DB, flexible schema for rapid development"},
    {"label":"SQLite","description":"Embedded DB, zero configuration, good for small apps"}]}]}"#;

pub fn all(options: &Options) -> Result<Vec<Program>> {
    let mut programs = Vec::new();
    for (index, path) in options.askuser.iter().enumerate() {
        let name = build_name(index);
        let (path, leaves) = (binary(path)?, Leaves::WithTheAnswer);
        let agent = format!("{name} agent");
        programs.push(Program {
            name,
            path: path.clone(),
            arguments: ASKUSER_ARGUMENTS,
            leaves,
            answers: Answers::Stdout,
        });
        if options.agent == Agent::Measured {
            let leaves = Leaves::When("PostgreSQL then.", b"\x04");
            programs.push(Program { name: agent, path, arguments: AGENT_ARGUMENTS, leaves, answers: Answers::Stdout });
        }
    }
    let built = build_peers()?;
    for (name, target) in PEERS {
        let path = built.iter().find(|path| path.file_stem().is_some_and(|stem| stem == target));
        let path = path.ok_or(format!("{target}: cargo built it but did not say where"))?.clone();
        let (arguments, leaves, answers) = (&[] as &[_], Leaves::WithTheAnswer, Answers::Stdout);
        programs.push(Program { name: name.into(), path, arguments, leaves, answers });
    }
    for (name, path, arguments, answers) in INSTALLED {
        if !Path::new(path).exists() || (name == "Inquirer" && !Path::new(INQUIRER).exists()) {
            eprintln!("{name} is not installed: see benches/process/peers/install");
            continue;
        }
        programs.push(Program {
            name: name.into(),
            path: path.into(),
            arguments,
            leaves: Leaves::WithTheAnswer,
            answers,
        });
    }
    Ok(programs)
}

/// What the build of askuser with this index is called: its place on the command line, from the second on.
pub fn build_name(index: usize) -> String {
    match index {
        0 => "askuser".into(),
        _ => format!("askuser {}", index + 1),
    }
}

/// The absolute path, since the programs are started in another directory.
fn binary(path: &Path) -> Result<PathBuf> {
    match path.canonicalize() {
        Ok(path) if path.is_file() => Ok(path),
        _ => Err(format!(
            "askuser: no such binary: {}\nhint: cargo build --release, or --askuser PATH, or --only peers",
            path.display()
        )
        .into()),
    }
}

/// Builds the peers without compiler flags from the environment, as askuser is, and returns where they are.
fn build_peers() -> Result<Vec<PathBuf>> {
    let cargo = std::env::var_os("CARGO").unwrap_or("cargo".into());
    let built = Command::new(cargo)
        .env("RUSTFLAGS", "")
        .args(["build", "--release", "--locked", "--quiet", "--message-format=json-render-diagnostics"])
        .args(["--manifest-path", concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml")])
        .args(PEERS.iter().flat_map(|(_, target)| ["--bin", target]))
        .stderr(Stdio::inherit())
        .output()
        .map_err(|error| format!("cannot run cargo to build the peers: {error}"))?;
    if !built.status.success() {
        return Err(format!("cannot build the peers: cargo ended with {}", built.status).into());
    }
    let messages = String::from_utf8(built.stdout)?;
    let executable = |line| serde_json::from_str::<Value>(line).ok()?["executable"].as_str().map(PathBuf::from);
    Ok(messages.lines().filter_map(executable).collect())
}
