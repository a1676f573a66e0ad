//! The `askuser` command: it asks, and answers hooks that have nothing to say. For everything else it becomes the other
//! executable.

mod ask;
mod delegate;
mod demo;
mod hook;

use askuser_cli::args;
use askuser_cli::config::Layers;
use askuser_cli::failure::{self, Failure};
use askuser_cli::usage;
use clap::{ArgMatches, Command};
use std::ffi::OsString;
use std::mem::ManuallyDrop;
use std::process::ExitCode;

fn main() -> ExitCode {
    let code = failure::report("askuser", run());
    // To Claude Code a failing hook is a no; ours is none.
    match words().next().is_some_and(|word| word == "hook") {
        true => ExitCode::SUCCESS,
        false => code,
    }
}

fn run() -> Result<u8, Failure> {
    match words().next().as_ref().and_then(|word| word.to_str()) {
        Some("ask") => {
            let args = parse(args::ask(), "askuser ask")?;
            ask::run(&args, &Layers::detect(&args)?.settings()?)
        }
        Some("demo") => demo::run(&Layers::detect(&parse(args::demo(), "askuser demo")?)?.settings()?),
        Some("hook") if words().nth(1).is_none() => hook::run(),
        _ => delegate::become_services(words()),
    }
}

fn words() -> impl Iterator<Item = OsString> {
    std::env::args_os().skip(1)
}

/// The arguments of a command. Its definition is left to the end of the process: that is on the way to the first frame.
fn parse(command: Command, name: &str) -> Result<ArgMatches, Failure> {
    let mut command = ManuallyDrop::new(command.bin_name(name));
    command.try_get_matches_from_mut(words()).map_err(|error| usage::failure(name, &error))
}
