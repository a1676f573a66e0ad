//! `askuser ask`: questions from a file, through the chain of surfaces, to a result on standard output.

use crate::docs::write;
use askuser::{AskError, Decision, QuestionSet, Request, RequestKey, Resolution, Status, Violations, report};
use askuser_cli::config::{Format, Settings};
use askuser_cli::failure::{Failure, exit, notice, outlive_file_size_limit, reason};
use askuser_cli::json::harmless;
use askuser_cli::source;
use askuser_cli::surfaces::{Surfaces, terminal_options};
use clap::ArgMatches;
use serde_json::json;
use std::io::{IsTerminal, Write};
use std::time::{SystemTime, UNIX_EPOCH};

pub(crate) fn run(args: &ArgMatches, settings: &Settings) -> Result<u8, Failure> {
    outlive_file_size_limit();
    let set = match source::question_set(args, settings)? {
        Ok(set) => set,
        Err(violations) => {
            print_rejection(&violations, settings)?;
            return Err(source::invalid(violations));
        }
    };
    let request = request(set, settings);
    // A file or a program takes the result over before the prompt shows success. On a terminal it stands under the prompt.
    let (mut printed, piped) = (None, !std::io::stdout().is_terminal());
    let mut store = |resolution: &Resolution| {
        if piped {
            let result = print(request.set(), resolution, settings);
            let failed = result.as_ref().err().map(first_line);
            printed = Some(result);
            return failed.map_or(Ok(()), Err);
        }
        Ok(())
    };
    let resolution = ask(&request, settings, &mut store)?;
    printed.unwrap_or_else(|| print(request.set(), &resolution, settings))?;
    if let Status::Unavailable { reason } = resolution.outcome().status() {
        let hint = match settings.headless {
            Some(_) => "leave out --headless to ask a person, or say the rest with --answers FILE",
            None => "run it in a terminal, or say how to answer with --answers FILE or --headless recommended",
        };
        return Err(Failure::new(format!("nobody can be asked: {reason}")).hint(hint).code(exit::NOBODY_THERE));
    }
    let code = code(&resolution);
    if code != exit::ANSWERED && matches!(settings.format, Some(Format::Record | Format::Value)) {
        return Err(Failure::new(format!("no answer: {}", resolution.outcome().status_name())).code(code));
    }
    Ok(code)
}

/// Questions as a request of this very process.
pub(crate) fn request(set: QuestionSet, settings: &Settings) -> Request {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos());
    let session = format!("ask-{}-{now:x}", std::process::id());
    Request::new(RequestKey::new(session, "ask"), set).with_deadline(settings.timeout)
}

/// The exit code of a resolution.
pub(crate) fn code(resolution: &Resolution) -> u8 {
    match resolution.outcome().status() {
        Status::Answered => exit::ANSWERED,
        Status::Cancelled | Status::Declined { .. } | Status::Discuss { .. } | Status::TimedOut => exit::NOT_ANSWERED,
        Status::Unavailable { .. } => exit::NOBODY_THERE,
    }
}

/// Asks along the chain: what the policy settles is settled, the rest is asked at the terminal.
pub(crate) fn ask(
    request: &Request,
    settings: &Settings,
    store: askuser_terminal::Store<'_>,
) -> Result<Resolution, Failure> {
    let surfaces = Surfaces::of(settings)?;
    if let Some(words) = surfaces.unmatched(request) {
        notice("askuser", &words);
    }
    let known = match surfaces.decide(request)? {
        Decision::Settled(resolution) => return Ok(resolution),
        Decision::Ask(known) => known,
    };
    let request = request.clone().with_known(known).map_err(Failure::new)?;
    match askuser_terminal::ask_request(&request, &terminal_options(settings), store) {
        Ok(resolution) => Ok(resolution),
        Err(AskError::Interrupted) => Err(Failure::new("interrupted").code(exit::INTERRUPTED)),
        Err(AskError::Signal(signal)) => {
            // The terminal is restored; now the signal takes its usual effect.
            let _ = signal_hook::low_level::emulate_default_handler(signal);
            Err(Failure::new(format!("ended by signal {signal}")).code(128u8.saturating_add(signal as u8)))
        }
        Err(error) => Err(Failure::new(error.chain()).code(exit::NOBODY_THERE)),
    }
}

/// Prints the result.
fn print(set: &QuestionSet, resolution: &Resolution, settings: &Settings) -> Result<(), Failure> {
    let mut stdout = std::io::stdout();
    let format = settings.format.unwrap_or(if stdout.is_terminal() { Format::Text } else { Format::Json });
    let text = match format {
        Format::Text => report::prose(set, resolution),
        Format::Json => harmless(&report::json(set, resolution)),
        // A script reads an answer or nothing; the exit code and standard error say why.
        Format::Record | Format::Value if *resolution.outcome().status() != Status::Answered => return Ok(()),
        Format::Record => harmless(&report::record(set, resolution)),
        Format::Value => {
            let answers = resolution.outcome().answers().iter();
            answers
                .flat_map(|answer| report::names(answer).chain(answer.custom_input.clone()))
                .collect::<Vec<_>>()
                .join("\n")
        }
    };
    writeln!(stdout, "{text}")
        .and_then(|()| stdout.flush())
        // Somebody took the trouble to answer: it must not be lost with the stream it was meant for.
        .map_err(|error| Failure::new(format!("cannot write the result: {}\n{text}", reason(&error))))
}

/// Whoever asked for a format reads why nothing was asked where they would read the answer: a model can correct itself by it.
fn print_rejection(violations: &Violations, settings: &Settings) -> Result<(), Failure> {
    let text = match settings.format {
        Some(Format::Text) => report::rejection(violations),
        Some(Format::Json) => harmless(&json!({"status": "invalid", "violations": violations})),
        Some(Format::Record | Format::Value) | None => return Ok(()),
    };
    write(&format!("{text}\n"))
}

fn first_line(failure: &Failure) -> String {
    failure.message.lines().next().unwrap_or_default().to_owned()
}
