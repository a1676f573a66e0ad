//! Bad usage in the voice of every other message: `askuser: ` with the field, the fact and the limit, then what to do.

use crate::args;
use crate::failure::Failure;
use clap::error::{ContextKind, ErrorKind};
use std::error::Error;
use std::path::Path;

/// What a parser says about the words after `program`. Help and version are printed here, and end the process.
pub fn failure(program: &str, error: &clap::Error) -> Failure {
    let find = |kind| error.get(kind).map(ToString::to_string).unwrap_or_default();
    let (shown, value) = (find(ContextKind::InvalidArg), find(ContextKind::InvalidValue));
    let argument = name(&shown);
    let help = format!("`{program} --help` lists what it takes");
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand | ErrorKind::DisplayVersion => {
            error.exit()
        }
        ErrorKind::InvalidSubcommand | ErrorKind::MissingSubcommand => {
            unknown_command(&find(ContextKind::InvalidSubcommand))
        }
        ErrorKind::UnknownArgument if !shown.starts_with('-') => {
            Failure::new(format!("{shown:?}: one argument too many")).hint(help)
        }
        ErrorKind::UnknownArgument if program == "askuser" => Failure::new(format!("{argument}: unknown option"))
            .hint("options follow a command, as in: askuser ask -q \"Which?\" -o A -o B"),
        ErrorKind::UnknownArgument => {
            let failure = Failure::new(format!("{argument}: unknown option"));
            match find(ContextKind::SuggestedArg) {
                similar if similar.is_empty() || similar == "--help" => failure.hint(help),
                similar => failure.hint(format!("did you mean {}? {help}", name(&similar))),
            }
        }
        ErrorKind::InvalidValue => {
            let fact = if value.is_empty() { "no value".to_owned() } else { format!("{value:?}") };
            match find(ContextKind::ValidValue).replace(", ", "|") {
                valid if valid.is_empty() => {
                    let needs = shown.split_once('<').map_or("one", |(_, needs)| needs.trim_end_matches(['>', ']']));
                    Failure::new(format!("{argument}: {fact}, needs {needs}")).hint(help)
                }
                valid => Failure::new(format!("{argument}: {fact}, must be {valid}")),
            }
        }
        ErrorKind::ValueValidation => {
            let limit = error.source().map(ToString::to_string).unwrap_or_default();
            Failure::new(format!("{argument}: {value:?}, {limit}")).hint(help)
        }
        ErrorKind::ArgumentConflict => match name(&find(ContextKind::PriorArg)) {
            other if other == argument => Failure::new(format!("{argument}: given twice, at most once")),
            other => Failure::new(format!("{argument} and {other}: given together, take one of them")),
        },
        ErrorKind::MissingRequiredArgument if argument == "--question" => Failure::new("-q: missing, must be given")
            .hint("-o, -H and --multi belong to a question: askuser ask -q \"Which?\" -o A -o B"),
        ErrorKind::MissingRequiredArgument => Failure::new(format!("{argument}: missing, must be given")).hint(help),
        _ => {
            let text = error.to_string();
            let first = text.lines().next().unwrap_or_default();
            Failure::new(first.strip_prefix("error: ").unwrap_or(first)).hint(help)
        }
    }
}

/// An argument as somebody types it, without what stands for its value: `--for <SHAPE>` is `--for`.
fn name(shown: &str) -> String {
    let word = |shown: &str| -> String {
        let word = shown.split([' ', '=']).next().unwrap_or_default();
        let word = word.strip_suffix('[').unwrap_or(word);
        word.trim_matches(['[', ']', '<', '>', '.']).to_owned()
    };
    shown.split(", ").map(word).collect::<Vec<_>>().join(", ")
}

/// A word that is no command: a misspelt one, or a file that somebody wants asked.
pub fn unknown_command(word: &str) -> Failure {
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
