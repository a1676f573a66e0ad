//! `askuser ask`: the policy first, then the terminal, then nobody; the result on standard output.

use askuser::policy::Decision;
use askuser::{AskError, Ending, Outcome, QuestionSet, Via, report};
use askuser_cli::answering::{misfit, options, policy};
use askuser_cli::config::{Format, Settings};
use askuser_cli::failure::{Failure, exit};
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
    if let Ending::Unavailable { reason } = outcome.ending() {
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
    match outcome.ending() {
        Ending::Answered => exit::ANSWERED,
        Ending::Cancelled | Ending::Declined { .. } | Ending::Discuss { .. } | Ending::TimedOut => exit::NOT_ANSWERED,
        Ending::Unavailable { .. } => exit::NOBODY_THERE,
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

/// JSON that does nothing to a terminal it ends up on: what a model wrote and nobody can see is spelled out. To whoever
/// parses it, it is the same.
fn harmless(json: &serde_json::Value) -> String {
    let text = json.to_string();
    let acts = |c: char| {
        c.is_control()
            || matches!(c, '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{feff}')
            || matches!(c, '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{e0000}'..='\u{e0fff}')
    };
    if !text.contains(acts) {
        return text;
    }
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if acts(c) {
            c.encode_utf16(&mut [0; 2]).iter().for_each(|unit| out.push_str(&format!("\\u{unit:04x}")));
        } else {
            out.push(c);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn json_on_a_terminal_has_nothing_invisible_and_means_the_same() {
        let value = json!({"a\u{9b}2J": ["\u{7f}\u{202e}é数", "\u{e0041}👨\u{200d}👩 \\ \" \n"]});
        let text = harmless(&value);
        let expected = "{\"a\\u009b2J\":[\"\\u007f\\u202eé数\",\"\\udb40\\udc41👨\u{200d}👩 \\\\ \\\" \\n\"]}";
        assert_eq!(text, expected);
        assert_eq!(serde_json::from_str::<serde_json::Value>(&text).unwrap(), value);
    }
}
