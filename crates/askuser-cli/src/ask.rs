//! `askuser ask`: the policy first, then the terminal, then nobody; the result on standard output.

use askuser::policy::Decision;
use askuser::{AskError, Outcome, QuestionSet, Status, Via, report};
use askuser_cli::answering::{misfit, options, policy};
use askuser_cli::config::{Format, Settings};
use askuser_cli::failure::{Failure, exit};
use askuser_cli::json::harmless;
use askuser_cli::source;
use clap::ArgMatches;
use std::io::{IsTerminal, Write};

pub(crate) fn run(args: &ArgMatches, settings: &Settings) -> Result<u8, Failure> {
    let set = source::question_set(args, settings)?;
    if stdout_is_closed() {
        return Err(Failure::new("standard output is closed, so nobody would read the answer")
            .hint("redirect it to a file, or to /dev/null if only the exit code matters"));
    }
    let outcome = ask(&set, settings)?;
    print(&set, &outcome, settings)?;
    if let Status::Unavailable { reason } = outcome.status() {
        let hint = match settings.headless {
            Some(_) => "leave out --headless to ask a person, or say the rest with --answers FILE",
            None => "run it in a terminal, or say how to answer with --answers FILE or --headless recommended",
        };
        return Err(Failure::new(format!("nobody can be asked: {reason}")).hint(hint).code(exit::NOBODY_THERE));
    }
    Ok(code(&outcome))
}

/// The exit code of an outcome.
pub(crate) fn code(outcome: &Outcome) -> u8 {
    match outcome.status() {
        Status::Answered => exit::ANSWERED,
        Status::Cancelled | Status::Declined { .. } | Status::Discuss { .. } | Status::TimedOut => exit::NOT_ANSWERED,
        Status::Unavailable { .. } => exit::NOBODY_THERE,
    }
}

/// Asks by the first way there is.
pub(crate) fn ask(set: &QuestionSet, settings: &Settings) -> Result<Outcome, Failure> {
    let known = match policy(settings)?.decide(set) {
        Ok(Decision::Settled(outcome)) => return Ok(outcome),
        Ok(Decision::Ask(known)) => known,
        Err(violations) => return Err(misfit(settings, &violations)),
    };
    match askuser_terminal::ask(set, &options(settings, known)) {
        // Nobody was asked: what is known is from the file, and must not read as the user's.
        Ok(outcome) if outcome.via().is_none() && !outcome.answers().is_empty() => {
            Ok(outcome.with_via(Via::AnswersFile))
        }
        Ok(outcome) => Ok(outcome),
        Err(AskError::Interrupted) => Err(Failure::new("interrupted").code(exit::INTERRUPTED)),
        Err(AskError::Signal(signal)) => {
            // The terminal is restored; now the signal takes its usual effect.
            let _ = signal_hook::low_level::emulate_default_handler(signal);
            Err(Failure::new(format!("ended by signal {signal}")).code(128u8.saturating_add(signal as u8)))
        }
        Err(error @ (AskError::Withdrawn | AskError::Surface { .. })) => {
            Err(Failure::new(error).code(exit::NOBODY_THERE))
        }
    }
}

/// Prints the result.
pub(crate) fn print(set: &QuestionSet, outcome: &Outcome, settings: &Settings) -> Result<(), Failure> {
    let mut stdout = std::io::stdout();
    let format = settings.format.unwrap_or(if stdout.is_terminal() { Format::Text } else { Format::Json });
    let text = match format {
        Format::Text => report::prose(set, outcome),
        Format::Json => harmless(&report::json(set, outcome)),
        Format::Record => harmless(&report::record(set, outcome)),
    };
    writeln!(stdout, "{text}")
        .and_then(|()| stdout.flush())
        // Somebody took the trouble to answer: it must not be lost with the stream it was meant for.
        .map_err(|error| Failure::new(format!("cannot write the result: {error}\n{text}")))
}

/// Whether this process was started without a standard output. The runtime puts /dev/null in its place, open for reading
/// too, which no shell does.
#[cfg(unix)]
fn stdout_is_closed() -> bool {
    use rustix::fs::OFlags;
    let flags = rustix::fs::fcntl_getfl(std::io::stdout()).unwrap_or(OFlags::WRONLY);
    let device = |stat: rustix::fs::Stat| stat.st_rdev;
    flags.contains(OFlags::RDWR)
        && rustix::fs::fstat(std::io::stdout()).ok().map(device) == rustix::fs::stat("/dev/null").ok().map(device)
}

#[cfg(not(unix))]
fn stdout_is_closed() -> bool {
    false
}
