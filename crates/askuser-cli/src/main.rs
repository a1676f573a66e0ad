//! The `askuser` command.

mod ask;
mod check;
mod delegate;
mod demo;
mod docs;
mod doctor;
mod hook;

use askuser_cli::args;
use askuser_cli::config::Layers;
use askuser_cli::failure::{self, Failure};
use askuser_cli::usage;
use clap::ArgMatches;
use std::mem::ManuallyDrop;
use std::process::ExitCode;

fn main() -> ExitCode {
    let code = failure::report("askuser", run());
    // To Claude Code a failing hook is a no; ours is none.
    match std::env::args_os().nth(1).is_some_and(|word| word == "hook") {
        true => ExitCode::SUCCESS,
        false => code,
    }
}

fn run() -> Result<u8, Failure> {
    // Before anything is parsed: what it means is the other executable's business.
    if let Some(result) = delegate::hand_over(std::env::args_os()) {
        return result;
    }
    let Some((name, args)) = called()? else { return Ok(failure::exit::BAD_INPUT) };
    let args = &args;
    let layers = || Layers::detect(args);
    let settings = || layers()?.settings();
    match name.as_str() {
        "ask" => ask::run(args, &settings()?),
        "check" => check::run(args, &settings()?),
        "demo" => demo::run(&settings()?),
        "hook" => hook::run(),
        "doctor" => doctor::run(layers()),
        "config" => docs::config(Layers::inspect(args)),
        "schema" => docs::schema(args),
        "completions" => docs::completions(args),
        "man" => docs::man(args),
        name => Err(usage::unknown_command(name)),
    }
}

/// The command that was called, and its arguments. `ask` is parsed without the other commands around it, and its definition
/// is left to the end of the process: both are on the way to the first frame.
fn called() -> Result<Option<(String, ArgMatches)>, Failure> {
    let words = || std::env::args_os().skip(1);
    let first = words().next();
    if first.as_ref().is_some_and(|word| word == "ask") {
        let mut ask = ManuallyDrop::new(args::ask().bin_name("askuser ask"));
        let args = ask.try_get_matches_from_mut(words()).map_err(|error| usage::failure("askuser ask", &error))?;
        return Ok(Some(("ask".into(), args)));
    }
    let command = args::command();
    let program = match first.as_ref().and_then(|word| word.to_str()) {
        Some(word) if command.find_subcommand(word).is_some() => format!("askuser {word}"),
        _ => "askuser".to_owned(),
    };
    let mut args = command.try_get_matches().map_err(|error| usage::failure(&program, &error))?;
    Ok(args.remove_subcommand())
}
