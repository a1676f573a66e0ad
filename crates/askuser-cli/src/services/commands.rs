//! The commands that ask nobody, the help, and words that are no command.

use crate::{check, docs, doctor};
use askuser_cli::args;
use askuser_cli::config::Layers;
use askuser_cli::failure::{Failure, exit};
use askuser_cli::usage;
use clap::error::{ContextKind, ErrorKind};
use std::path::Path;

pub(crate) fn run() -> Result<u8, Failure> {
    let command = args::command().bin_name("askuser");
    let program = match std::env::args_os().nth(1).and_then(|word| word.into_string().ok()) {
        Some(word) if command.find_subcommand(&word).is_some() => format!("askuser {word}"),
        _ => "askuser".to_owned(),
    };
    let matches = command.try_get_matches().map_err(|error| match error.kind() {
        ErrorKind::InvalidSubcommand | ErrorKind::MissingSubcommand => {
            unknown_command(&error.get(ContextKind::InvalidSubcommand).map(ToString::to_string).unwrap_or_default())
        }
        _ => usage::failure(&program, &error),
    })?;
    let Some((name, args)) = matches.subcommand() else { return Ok(exit::BAD_INPUT) };
    let layers = || Layers::detect(args);
    match name {
        "check" => check::run(args, &layers()?.settings()?),
        "doctor" => doctor::run(layers()),
        "config" => docs::config(Layers::inspect(args)),
        "schema" => docs::schema(args),
        "completions" => docs::completions(args),
        "man" => docs::man(args),
        name => Err(unknown_command(name)),
    }
}

/// A word that is no command: a misspelt one, or a file that somebody wants asked.
pub(crate) fn unknown_command(word: &str) -> Failure {
    let failure = Failure::new(format!("no command {word:?}"));
    let path = Path::new(word);
    if path.extension().is_some_and(|extension| extension == "json") || path.is_file() {
        return failure.hint(format!("to ask what is in it: askuser ask {word}"));
    }
    let commands = args::command();
    let likeness = |name| (strsim::normalized_damerau_levenshtein(word, name), name);
    let closest =
        commands.get_subcommands().map(|command| likeness(command.get_name())).max_by(|a, b| a.0.total_cmp(&b.0));
    match closest {
        Some((likeness, name)) if likeness > 0.5 => {
            failure.hint(format!("did you mean {name}? `askuser --help` lists the commands"))
        }
        _ => failure.hint("`askuser --help` lists the commands"),
    }
}
