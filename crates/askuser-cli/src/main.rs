//! The `askuser` command.

mod ask;
mod check;
mod delegate;
mod demo;
mod docs;
mod doctor;

use askuser_cli::args;
use askuser_cli::config::Layers;
use askuser_cli::failure::{self, Failure};
use clap::ArgMatches;
use std::mem::ManuallyDrop;
use std::process::ExitCode;

fn main() -> ExitCode {
    failure::report("askuser", run())
}

fn run() -> Result<u8, Failure> {
    // Before anything is parsed: what it means is the other executable's business.
    if let Some(result) = delegate::hand_over(std::env::args_os()) {
        return result;
    }
    let Some((name, args)) = called() else { return Ok(failure::exit::BAD_INPUT) };
    let args = &args;
    let layers = || Layers::detect(args);
    let settings = || layers()?.settings();
    match name.as_str() {
        "ask" => ask::run(args, &settings()?),
        "check" => check::run(args, &settings()?),
        "demo" => demo::run(&settings()?),
        "doctor" => doctor::run(layers()),
        "config" => docs::config(&layers()?),
        "schema" => docs::schema(args),
        "completions" => docs::completions(args),
        "man" => docs::man(args),
        _ => Err(Failure::new(format!("no command {name}"))),
    }
}

/// The command that was called, and its arguments. `ask` is parsed without the other commands around it, and its definition
/// is left to the end of the process: both are on the way to the first frame.
fn called() -> Option<(String, ArgMatches)> {
    let words = || std::env::args_os().skip(1);
    if words().next().is_some_and(|word| word == "ask") {
        let mut ask = ManuallyDrop::new(args::ask().bin_name("askuser ask"));
        let args = ask.try_get_matches_from_mut(words()).unwrap_or_else(|error| error.exit());
        return Some(("ask".into(), args));
    }
    args::command().get_matches().remove_subcommand()
}
