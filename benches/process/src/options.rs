//! What the command line asks for.

use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::Result;

pub const HELP: &str = "\
Times askuser, dialoguer, inquire, a minimal program and what peers/install has installed, each asking one
question in a real terminal

Usage: cargo run --release --manifest-path benches/process/Cargo.toml -- [OPTIONS]

  --askuser PATH  the binary to measure [default: target/release/askuser]; repeat it to compare builds in one run
  --only peers    leave askuser out
  --agent         measure `askuser agent --script` too, from its start to the same question
  --rounds N      rounds in which each program answers once [default: 50]
  --truecolor     set COLORTERM=truecolor, otherwise unset
  --no-idle       skip the 10 s wait that counts wake-ups
  --count         count instructions and system calls instead of timing (valgrind, strace), also of `askuser hook`,
                  `inbox` with 10 and with 1,000 rows, and `mcp`
  --json          print JSON instead of a table
  --help          print this
";

pub enum Invocation {
    Run(Options),
    Help,
}

pub struct Options {
    /// The builds of askuser to measure; none when only the peers are measured.
    pub askuser: Vec<PathBuf>,
    pub agent: Agent,
    pub rounds: usize,
    pub colours: Colours,
    /// How long to wait while counting wake-ups, if at all.
    pub idle: Option<Duration>,
    pub format: Format,
    pub measures: Measures,
}

#[derive(Clone, Copy, PartialEq)]
pub enum Measures {
    Times,
    Counts,
}

/// Whether the agent is measured too.
#[derive(Clone, Copy, PartialEq)]
pub enum Agent {
    LeftOut,
    Measured,
}

/// How many colours the terminal says it has.
#[derive(Clone, Copy, PartialEq)]
pub enum Colours {
    Indexed256,
    True,
}

pub enum Format {
    Text,
    Json,
}

pub fn parse(mut arguments: impl Iterator<Item = String>) -> Result<Invocation> {
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap_or(Path::new("."));
    let mut builds = Vec::new();
    let mut options = Options {
        askuser: vec![repository.join("target/release/askuser")],
        agent: Agent::LeftOut,
        rounds: 50,
        colours: Colours::Indexed256,
        idle: Some(Duration::from_secs(10)),
        format: Format::Text,
        measures: Measures::Times,
    };
    while let Some(argument) = arguments.next() {
        let mut value = |what| arguments.next().ok_or(format!("{argument}: {what} missing"));
        match argument.as_str() {
            "--askuser" => builds.push(value("path")?.into()),
            "--only" => match value("`peers`")?.as_str() {
                "peers" => options.askuser.clear(),
                other => return Err(format!("--only {other}: only `peers` is known").into()),
            },
            "--agent" => options.agent = Agent::Measured,
            "--rounds" => options.rounds = rounds(&value("number")?)?,
            "--truecolor" => options.colours = Colours::True,
            "--no-idle" => options.idle = None,
            "--count" => options.measures = Measures::Counts,
            "--json" => options.format = Format::Json,
            "--help" | "-h" => return Ok(Invocation::Help),
            other => return Err(format!("{other}: no such option\nhint: --help lists them").into()),
        }
    }
    if !builds.is_empty() {
        options.askuser = builds;
    }
    Ok(Invocation::Run(options))
}

fn rounds(text: &str) -> Result<usize> {
    match text.parse() {
        Ok(rounds) if rounds > 0 => Ok(rounds),
        _ => Err(format!("--rounds {text}: a whole number from 1 up is needed").into()),
    }
}
