//! The `askuser` command. Errors are printed and exit codes chosen here and nowhere else.

mod args;
mod ask;
mod check;
mod config;
mod demo;
mod docs;
mod doctor;
mod failure;
mod settings;
mod source;

use askuser::sanitize;
use clap::ArgMatches;
use config::{Layers, Settings, Sources};
use failure::Failure;
use std::io::Write;
use std::process::ExitCode;

fn main() -> ExitCode {
    match run() {
        Ok(code) => ExitCode::from(code),
        Err(failure) => {
            let mut stderr = std::io::stderr().lock();
            // Messages quote what others wrote: input, answers, a project's settings.
            let _ = writeln!(stderr, "askuser: {}", sanitize::block(&failure.message));
            if let Some(hint) = failure.hint {
                let _ = writeln!(stderr, "hint: {}", sanitize::block(&hint));
            }
            ExitCode::from(failure.code)
        }
    }
}

fn run() -> Result<u8, Failure> {
    let matches = args::command().get_matches();
    let Some((name, args)) = matches.subcommand() else { return Ok(failure::exit::BAD_INPUT) };
    match name {
        "ask" => ask::run(args, &settings(args)?),
        "check" => check::run(args, &settings(args)?),
        "demo" => demo::run(&settings(args)?),
        "doctor" => doctor::run(layers(args)),
        "config" => docs::config(&layers(args)?),
        "schema" => docs::schema(args),
        "completions" => docs::completions(args),
        "man" => docs::man(args),
        _ => Err(Failure::new(format!("no command {name}"))),
    }
}

fn settings(args: &ArgMatches) -> Result<Settings, Failure> {
    layers(args)?.settings()
}

fn layers(args: &ArgMatches) -> Result<Layers, Failure> {
    let environment = |name: &str| std::env::var(name).ok();
    Layers::lay(&Sources {
        user: config::user_file(environment),
        project: std::env::current_dir().ok().and_then(|folder| config::project_file(&folder)),
        environment: &environment,
        flag: &|name| args.try_get_one::<String>(name).ok().flatten().cloned(),
    })
}
