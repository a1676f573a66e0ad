//! The commands. Each is in a module with its name, and gets its arguments. A process defines only the arguments of its
//! own command, because that delays the first frame of a prompt.

mod agent;
mod answer;
mod ask;
mod check;
mod completions;
mod config;
mod confirm;
mod demo;
mod devices;
mod doctor;
mod hook;
mod inbox;
mod init;
mod input;
mod log;
mod man;
mod mcp;
mod pair;
mod people;
mod pick;
mod schema;
mod serve;
#[cfg(unix)]
mod supervise;
mod token;
mod uninstall;
mod wait;
mod watch;
mod withdraw;

use crate::args;
use crate::config::{Layers, Settings};
use crate::failure::{Failure, exit};
use crate::state_folder::state_folder;
use crate::usage;
use crate::wrapped::wrapped_for;
use askuser_sys::programs;
use clap::error::{ContextKind, ErrorKind};
use clap::{ArgMatches, Command};
use std::ffi::OsString;
use std::io::Write;
use std::mem::ManuallyDrop;
use std::path::Path;

/// The function of a command. It takes the arguments alone, or also the settings.
enum Run {
    Plain(fn(&ArgMatches) -> Result<u8, Failure>),
    Settled(fn(&ArgMatches, &Settings) -> Result<u8, Failure>),
}

/// The name, the definition and the function of a command.
type NamedCommand = (&'static str, fn() -> Command, Run);

/// The commands that are called with parsed arguments. `agent` and `hook` parse their arguments themselves.
const COMMANDS: [NamedCommand; 25] = [
    ("ask", args::ask, Run::Settled(ask::run)),
    ("confirm", args::confirm, Run::Settled(confirm::run)),
    ("input", args::input, Run::Settled(input::run)),
    ("pick", args::pick, Run::Settled(pick::run)),
    ("inbox", args::inbox, Run::Settled(inbox::run)),
    ("wait", args::wait, Run::Settled(wait::run)),
    ("watch", args::watch, Run::Settled(watch::run)),
    ("answer", args::answer, Run::Settled(answer::run)),
    ("withdraw", args::withdraw, Run::Settled(withdraw::run)),
    ("log", args::log, Run::Settled(log::run)),
    ("mcp", args::mcp, Run::Settled(mcp::run)),
    ("serve", args::serve, Run::Settled(serve::run)),
    ("token", args::token, Run::Plain(token::run)),
    ("devices", args::devices, Run::Plain(devices::run)),
    ("pair", args::pair, Run::Settled(pair::run)),
    ("people", args::people, Run::Plain(people::run)),
    ("init", args::init, Run::Settled(init::run)),
    ("uninstall", args::uninstall, Run::Settled(uninstall::run)),
    ("check", args::check, Run::Settled(check::run)),
    ("schema", args::schema, Run::Plain(schema::run)),
    ("demo", args::demo, Run::Settled(demo::run)),
    ("doctor", args::doctor, Run::Plain(doctor::run)),
    ("config", args::config, Run::Plain(config::run)),
    ("completions", args::completions, Run::Plain(completions::run)),
    ("man", args::man, Run::Plain(man::run)),
];

pub(crate) fn run(words: impl ExactSizeIterator<Item = OsString>) -> Result<u8, Failure> {
    if let Ok(state) = state_folder() {
        programs::record_in(state.join("writable-folders"));
    }
    let mut words = words.peekable();
    let Some(word) = words.peek() else {
        first_steps();
        return Ok(exit::BAD_INPUT);
    };
    let name = word.to_str().unwrap_or_default();
    if let Some((_, command, run)) = COMMANDS.iter().find(|(command, ..)| *command == name) {
        let args = arguments(command(), words)?;
        return match run {
            Run::Plain(run) => run(&args),
            Run::Settled(run) => run(&args, &Layers::detect(&args)?.settings()?),
        };
    }
    match name {
        "agent" => agent::run(words),
        #[cfg(target_os = "linux")]
        agent::api_keys::WITH_KEYS => {
            agent::api_keys::take_up(words.nth(1))?;
            agent::run_with_keys(words)
        }
        #[cfg(unix)]
        "supervise" => supervise::run(words.skip(1)),
        // Claude Code treats a failing hook as a refusal, so failures exit with success.
        "hook" => Ok(hook::run(words).unwrap_or_else(|failure| {
            failure.tell();
            exit::ANSWERED
        })),
        _ => Err(no_command(words)),
    }
}

/// Prints the help of `askuser` without arguments: first steps and the commands. It goes to standard error, because no
/// output was requested.
fn first_steps() {
    let command = args::command();
    let names: Vec<&str> = command.get_subcommands().map(Command::get_name).collect();
    let text = include_str!("../help/first-steps.txt").replace("{commands}", &names.join(", "));
    let mut stderr = std::io::stderr().lock();
    let _ = stderr.write_all(wrapped_for(&stderr, &text).as_bytes());
}

/// Parses the arguments of a command. The definition is never dropped, because the end of the process is cheaper.
fn arguments(command: Command, words: impl Iterator<Item = OsString>) -> Result<ArgMatches, Failure> {
    let name = format!("askuser {}", command.get_name());
    let command = command.name("askuser").bin_name(&name).max_term_width(args::MAX_WIDTH).styles(args::STYLES);
    let matches = ManuallyDrop::new(command).try_get_matches_from_mut(words);
    matches.map_err(|error| usage::failure(&name, &error))
}

/// Returns the help, the version, or the failure for words that are no command.
fn no_command(words: impl Iterator<Item = OsString>) -> Failure {
    let command = args::command().no_binary_name(true).bin_name("askuser");
    match command.try_get_matches_from(words) {
        Err(error) if !matches!(error.kind(), ErrorKind::InvalidSubcommand | ErrorKind::MissingSubcommand) => {
            usage::failure("askuser", &error)
        }
        Err(error) => {
            unknown_command(&error.get(ContextKind::InvalidSubcommand).map(ToString::to_string).unwrap_or_default())
        }
        // The command is defined, but has no function in the table.
        Ok(matches) => unknown_command(matches.subcommand_name().unwrap_or_default()),
    }
}

/// Returns the failure for a word that is no command, such as a misspelt one or a file with questions.
fn unknown_command(word: &str) -> Failure {
    let failure = Failure::new(format!("no command {word:?}"));
    let path = Path::new(word);
    if path.extension().is_some_and(|extension| extension == "json") || path.is_file() {
        return failure.hint(format!("to ask the questions in it: askuser ask {word}"));
    }
    let commands = args::command();
    match usage::similar(word, commands.get_subcommands().map(Command::get_name)) {
        Some(name) => failure.hint(format!("did you mean {name}? `askuser --help` lists the commands")),
        None => failure.hint("`askuser --help` lists the commands"),
    }
}
