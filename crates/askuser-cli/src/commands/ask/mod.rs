//! `askuser ask`: questions from a file, through the chain of surfaces, to a result on standard output.

mod inbox;
pub(super) mod terminal;

use crate::config::{Format, Settings, Surface};
use crate::failure::{Failure, notice, outlive_file_size_limit};
use crate::surfaces::{Surfaces, terminal_options};
use crate::{result, source};
use askuser::{Decision, QuestionSet, Request, Violation};
use askuser_terminal::{Confirm, Options};
use clap::ArgMatches;
use std::io::IsTerminal;

pub(super) fn run(args: &ArgMatches, settings: &Settings) -> Result<u8, Failure> {
    let set = source::question_set(args, settings).map_err(|rejected| result::rejected(rejected, settings))?;
    put(set, args, settings)
}

pub(super) fn put(set: QuestionSet, args: &ArgMatches, settings: &Settings) -> Result<u8, Failure> {
    outlive_file_size_limit();
    let is_kept = settings.via.contains(&Surface::Inbox);
    if is_kept { inbox::run(set, args, settings) } else { terminal::run(set, args, settings) }
}

/// How the prompt is shown. A question of the command line without a header is confirmed with its own words.
fn prompt_options(args: &ArgMatches, settings: &Settings) -> Options {
    let mut options = terminal_options(settings);
    let is_nameless = args.contains_id("question") && !args.contains_id("header");
    if is_nameless && options.confirm == Confirm::Inline {
        options.confirm = Confirm::Asked;
    }
    // The value itself follows on this terminal.
    if settings.format == Some(Format::Value) && std::io::stdout().is_terminal() {
        options.confirm = Confirm::None;
    }
    options
}

/// Fills in the text of `input --value`.
fn filled_in(request: Request, args: &ArgMatches) -> Result<Request, Failure> {
    let Ok(Some(text)) = args.try_get_one::<String>("value") else { return Ok(request) };
    let answer = request.set().questions()[0].answer(&[], Some(text.clone()), None);
    let in_flags = |bad: Violation| Violation { path: "--value".to_owned(), ..bad };
    request.with_known(answer.into_iter().collect()).map_err(|bad| source::invalid(bad.map(in_flags)))
}

/// Whether the confirmation that a prompt leaves on this terminal is all that has to be printed.
fn confirmation_suffices(settings: &Settings) -> bool {
    settings.format.is_none() && settings.confirm != Confirm::None && std::io::stdout().is_terminal()
}

/// What the policy knows of a request. The operator is told of answers that match none of its questions.
fn decide(surfaces: &Surfaces, request: &Request) -> Result<Decision, Failure> {
    if let Some(words) = surfaces.unmatched(request) {
        notice(&words);
    }
    Ok(match surfaces.decide(request)? {
        Decision::Ask(known) if known.is_empty() => Decision::Ask(request.known().to_vec()),
        decision => decision,
    })
}
