//! Reports invalid arguments like every other error: `askuser: ` with the field, the fact and the limit, then the
//! remedy.

use crate::failure::Failure;
use clap::error::{ContextKind, ErrorKind};
use std::error::Error;

/// Converts a parser's error about the arguments of `program`. Help and version are printed here and end the process.
pub(crate) fn failure(program: &str, error: &clap::Error) -> Failure {
    let find = |kind| error.get(kind).map(ToString::to_string).unwrap_or_default();
    let shown = find(ContextKind::InvalidArg);
    let value = find(ContextKind::InvalidValue);
    let argument = name(&shown);
    let help = format!("`{program} --help` lists what it takes");
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand | ErrorKind::DisplayVersion => {
            error.exit()
        }
        ErrorKind::UnknownArgument if !shown.starts_with('-') => {
            Failure::new(format!("{shown:?}: one argument too many")).hint(help)
        }
        ErrorKind::UnknownArgument if program == "askuser" && argument == "-v" => {
            Failure::new("-v: unknown option").hint("did you mean -V, which prints the version?")
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
            other => Failure::new(format!("{argument} and {other}: cannot be used together")),
        },
        ErrorKind::MissingRequiredArgument if argument == "--question" => Failure::new("-q is missing")
            .hint("-o, -H and --multi belong to a question: askuser ask -q \"Which?\" -o A -o B"),
        ErrorKind::MissingRequiredArgument => {
            let are = if argument.contains(", ") { "are" } else { "is" };
            Failure::new(format!("{argument} {are} missing")).hint(help)
        }
        _ => {
            let text = error.to_string();
            let first = text.lines().next().unwrap_or_default();
            Failure::new(first.strip_prefix("error: ").unwrap_or(first)).hint(help)
        }
    }
}

/// Returns an argument as the user types it, without the placeholder of its value. `--for <SHAPE>` becomes `--for`.
fn name(shown: &str) -> String {
    let word = |shown: &str| -> String {
        let word = shown.split([' ', '=']).next().unwrap_or_default();
        let word = word.strip_suffix('[').unwrap_or(word);
        word.trim_matches(['[', ']', '<', '>', '.']).to_owned()
    };
    shown.split(", ").map(word).collect::<Vec<_>>().join(", ")
}

pub(crate) fn similar<'a>(word: &str, names: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let likeness = |name| (strsim::normalized_damerau_levenshtein(word, name), name);
    let (likeness, name) = names.map(likeness).max_by(|a, b| a.0.total_cmp(&b.0))?;
    (likeness > 0.5).then_some(name)
}
