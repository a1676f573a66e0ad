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
use std::process::ExitCode;

fn main() -> ExitCode {
    failure::report("askuser", run())
}

fn run() -> Result<u8, Failure> {
    // Before anything is parsed: what it means is the other executable's business.
    if let Some(result) = delegate::agent(std::env::args_os()) {
        return result;
    }
    let matches = args::command().get_matches();
    let Some((name, args)) = matches.subcommand() else { return Ok(failure::exit::BAD_INPUT) };
    let layers = || Layers::detect(args);
    let settings = || layers()?.settings();
    match name {
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
