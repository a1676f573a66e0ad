//! The commands, each in a module of its name, which is called with its name and its arguments. None builds more of the command
//! line than its own definition: that is on the way to the first frame of a prompt.

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
mod withdraw;

use crate::args;
use crate::config::{Layers, Settings};
use crate::failure::{self, Failure, exit};
use crate::usage;
use crate::wrapped::wrapped_for;
use clap::error::{ContextKind, ErrorKind};
use clap::{ArgMatches, Command};
use std::ffi::OsString;
use std::io::Write;
use std::mem::ManuallyDrop;
use std::path::Path;

/// Runs the command that these words name.
pub(crate) fn run(words: impl ExactSizeIterator<Item = OsString>) -> Result<u8, Failure> {
    let mut words = words.peekable();
    match words.peek().and_then(|word| word.to_str()) {
        Some("ask") => ask::run(words),
        Some("confirm") => confirm::run(words),
        Some("input") => input::run(words),
        Some("pick") => pick::run(words),
        Some("inbox") => inbox::run(words),
        Some("wait") => wait::run(words),
        Some("answer") => answer::run(words),
        Some("withdraw") => withdraw::run(words),
        Some("log") => log::run(words),
        Some("mcp") => mcp::run(words),
        Some("serve") => serve::run(words),
        Some("token") => token::run(words),
        Some("devices") => devices::run(words),
        Some("pair") => pair::run(words),
        Some("people") => people::run(words),
        Some("agent") => agent::run(words),
        Some(agent::api_keys::WITH_KEYS) => {
            agent::api_keys::take_up(words.nth(1))?;
            agent::run_with_keys(words)
        }
        #[cfg(unix)]
        Some("supervise") => supervise::run(words.skip(1)),
        Some("init") => init::run(words),
        Some("uninstall") => uninstall::run(words),
        // To Claude Code a failing hook is a no; ours is none.
        Some("hook") => Ok(hook::run(words).unwrap_or_else(|failure| {
            failure::tell("askuser", &failure);
            exit::ANSWERED
        })),
        Some("check") => check::run(words),
        Some("schema") => schema::run(words),
        Some("demo") => demo::run(words),
        Some("doctor") => doctor::run(words),
        Some("config") => config::run(words),
        Some("completions") => completions::run(words),
        Some("man") => man::run(words),
        None => {
            first_steps();
            Ok(exit::BAD_INPUT)
        }
        _ => Err(no_command(words)),
    }
}

/// What `askuser` alone says: what to try, and which commands there are. On standard error, as no output was asked for.
fn first_steps() {
    let command = args::command();
    let names: Vec<&str> = command.get_subcommands().map(Command::get_name).collect();
    let text = include_str!("../help/first-steps.txt").replace("{commands}", &names.join(", "));
    let mut stderr = std::io::stderr().lock();
    let _ = stderr.write_all(wrapped_for(&stderr, &text).as_bytes());
}

/// The arguments of a command. Its definition is left to the end of the process, which is cheaper than taking it apart.
fn arguments(command: Command, words: impl Iterator<Item = OsString>) -> Result<ArgMatches, Failure> {
    let name = format!("askuser {}", command.get_name());
    let command = command.name("askuser").bin_name(&name).max_term_width(args::MAX_WIDTH);
    let matches = ManuallyDrop::new(command).try_get_matches_from_mut(words);
    matches.map_err(|error| usage::failure(&name, &error))
}

/// The arguments of a command, and the settings that apply to it.
fn parse(command: Command, words: impl Iterator<Item = OsString>) -> Result<(ArgMatches, Settings), Failure> {
    let args = arguments(command, words)?;
    let settings = Layers::detect(&args)?.settings()?;
    Ok((args, settings))
}

/// Help, the version, and words that are no command.
fn no_command(words: impl Iterator<Item = OsString>) -> Failure {
    let command = args::command().no_binary_name(true).bin_name("askuser");
    match command.try_get_matches_from(words) {
        Err(error) if !matches!(error.kind(), ErrorKind::InvalidSubcommand | ErrorKind::MissingSubcommand) => {
            usage::failure("askuser", &error)
        }
        Err(error) => {
            unknown_command(&error.get(ContextKind::InvalidSubcommand).map(ToString::to_string).unwrap_or_default())
        }
        // It is in the table, and not above.
        Ok(matches) => unknown_command(matches.subcommand_name().unwrap_or_default()),
    }
}

/// A word that is no command: a misspelt one, or a file with questions.
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
