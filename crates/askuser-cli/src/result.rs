//! The output and exit code of `ask` and `wait`.

use crate::config::{Format, Settings, Surface};
use crate::failure::{Failure, OrFail, exit, notice, reason};
use crate::json::escape_invisible;
use crate::source::Rejected;
use crate::surfaces::terminal_options;
use crate::wrapped::{columns, wrapped_for};
use askuser::{Answer, AskError, Form, QuestionSet, Resolution, Status, Via, Violations, report, sanitize};
use askuser_terminal::{Confirm, closing_lines};
use serde_json::json;
use std::io::{self, IsTerminal, Write};

/// Prints a message on standard error if needed, and returns the exit code of a printed resolution.
pub(crate) fn code(set: &QuestionSet, resolution: &Resolution, settings: &Settings) -> Result<u8, Failure> {
    let status = resolution.outcome().status();
    if let Status::Unavailable { reason } = status {
        let hint = match settings.headless {
            Some(_) => "leave out --headless to ask a person, or say the rest with --answers FILE",
            None if !settings.via.contains(&Surface::Terminal) => {
                "add terminal to --via to ask a person, or say the rest with --answers FILE"
            }
            // Other forms have no recommended options.
            None if set.rules().form() == Form::Tool => {
                "run it in a terminal, leave the question in the inbox with --via inbox, or answer with --answers FILE or --headless recommended"
            }
            None => "run it in a terminal, or leave the question in the inbox with --via inbox",
        };
        return Err(Failure::new(format!("no person can be asked: {reason}")).hint(hint).code(exit::UNAVAILABLE));
    }
    let code = exit_code(set, resolution);
    if let Some(by) = resolution.reported_by() {
        let reported = AskError::Reported(sanitize::line(by).into_owned());
        if set.rules().form() == Form::Confirm {
            return Err(Failure::new(reported.to_string()).code(code));
        }
        notice(&reported.to_string());
    }
    if *status != Status::Answered && code != exit::ANSWERED && settings.format.is_some_and(is_for_scripts) {
        let words = resolution.outcome().status().name().replace('_', " ");
        return Err(Failure::new(format!("no answer: {words}")).code(code));
    }
    // A note may be a condition, so it must stay visible even if a script ignores it.
    if matches!(settings.format, Some(Format::Record | Format::Value)) {
        for (answer, note) in
            resolution.outcome().answers().iter().filter_map(|answer| Some((answer, answer.note.as_ref()?)))
        {
            notice(&format!("note on {}: {}", answer.header, sanitize::line(note)));
        }
    }
    Ok(code)
}

/// Returns whether a format contains only answers.
fn is_for_scripts(format: Format) -> bool {
    matches!(format, Format::Record | Format::Value | Format::Claude | Format::Nothing)
}

/// Returns the exit code of a resolution. For a yes-or-no question, only a yes is a success.
pub(crate) fn exit_code(set: &QuestionSet, resolution: &Resolution) -> u8 {
    match resolution.outcome().status() {
        Status::Answered if set.rules().form() == Form::Confirm && !is_yes(set, resolution) => exit::NOT_ANSWERED,
        Status::Answered => exit::ANSWERED,
        Status::Cancelled | Status::Declined { .. } | Status::Discuss { .. } | Status::TimedOut => exit::NOT_ANSWERED,
        Status::Unavailable { .. } => exit::UNAVAILABLE,
    }
}

fn is_yes(set: &QuestionSet, resolution: &Resolution) -> bool {
    let yes = set.questions().first().and_then(|question| question.options().first());
    let answers = resolution.outcome().answers();
    let is_chosen = yes.is_some_and(|yes| answers.len() == 1 && answers[0].selected_options == [yes.label_verbatim()]);
    is_chosen && resolution.reported_by().is_none()
}

pub(crate) fn print(set: &QuestionSet, resolution: &Resolution, settings: &Settings) -> Result<(), Failure> {
    let is_for_a_person = settings.format.is_none() && io::stdout().is_terminal();
    let text = match settings.format.unwrap_or(Format::Json) {
        _ if is_for_a_person => confirmation(set, resolution, settings),
        Format::Text => wrapped_for(io::stdout(), &report::prose(set, resolution)).into_owned(),
        Format::Json => escape_invisible(&report::json(set, resolution)),
        // A script reads an answer or an empty output. The exit code and standard error give the reason.
        format if is_for_scripts(format) && *resolution.outcome().status() != Status::Answered => return Ok(()),
        Format::Record => escape_invisible(&report::record(set, resolution)),
        Format::Claude => escape_invisible(&report::claude_input(set, resolution)),
        Format::Nothing => return Ok(()),
        Format::Value => {
            let names = |answer: &Answer| match set.rules().form() {
                // A picked item is a line of the input, so it is printed unchanged.
                Form::Pick => answer.selected_options.clone(),
                _ => report::names(answer).collect(),
            };
            let answers = resolution.outcome().answers().iter();
            let values = answers.flat_map(|answer| names(answer).into_iter().chain(answer.custom_input.clone()));
            values.collect::<Vec<_>>().join("\n")
        }
    };
    write_all(&format!("{text}\n"))
        // The error contains the answer, so that it is not lost with the output stream.
        .map_err(|error| Failure::new(format!("cannot write the result: {}\n{text}", reason(&error))))
}

/// Returns the confirmation that a prompt would leave on the screen. Text for a model would be prose.
fn confirmation(set: &QuestionSet, resolution: &Resolution, settings: &Settings) -> String {
    let confirm = if settings.confirm == Confirm::None { Confirm::Inline } else { settings.confirm };
    let columns = columns(io::stdout()).map_or(80, |columns| columns.saturating_sub(1) as u16);
    let theme = terminal_options(settings).theme;
    let lines = closing_lines(set, resolution.outcome(), confirm, &theme, columns);
    let from = match resolution.via() {
        _ if resolution.reported_by().is_some() => Some("  reported by the asker: no person is known to have answered"),
        Some(Via::AnswersFile) => Some("  from the answers file: no person was asked"),
        Some(Via::Policy) => Some("  by the policy: no person was asked"),
        _ => None,
    };
    lines.iter().map(ToString::to_string).chain(from.map(str::to_owned)).collect::<Vec<_>>().join("\n")
}

/// Returns the error of a rejected input. A caller that chose a format gets the reason in the output, so that a model
/// can correct its input.
pub(crate) fn rejected(rejected: Rejected, settings: &Settings) -> Failure {
    let printed = rejected.violations.map_or(Ok(()), |violations| print_rejection(&violations, settings));
    printed.err().unwrap_or(rejected.failure)
}

fn print_rejection(violations: &Violations, settings: &Settings) -> Result<(), Failure> {
    let text = match settings.format {
        Some(Format::Text) => report::rejection(violations),
        Some(Format::Json) => escape_invisible(&json!({"status": "invalid", "violations": violations})),
        Some(Format::Record | Format::Value | Format::Claude | Format::Nothing) | None => return Ok(()),
    };
    write(&format!("{text}\n"))
}

/// Writes the whole output of a command, and returns its exit code.
pub(crate) fn finish(text: &str) -> Result<u8, Failure> {
    write(text).map(|()| exit::ANSWERED)
}

pub(crate) fn write(text: &str) -> Result<(), Failure> {
    match write_all(text) {
        // The reader has closed the pipe, and needs no more output.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        result => result.or_fail("cannot write to standard output"),
    }
}

/// Returns standard output itself, line by line. If standard output was opened for reading only, the standard library
/// reports every write to it as a success.
#[cfg(unix)]
pub(crate) fn stdout() -> io::Result<impl Write + Send + 'static> {
    use std::os::fd::AsFd;
    io::stdout().as_fd().try_clone_to_owned().map(|stdout| io::LineWriter::new(std::fs::File::from(stdout)))
}

#[cfg(not(unix))]
pub(crate) fn stdout() -> io::Result<impl Write + Send + 'static> {
    Ok(io::stdout())
}

pub(crate) fn write_all(text: &str) -> io::Result<()> {
    let mut stdout = stdout()?;
    stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush())
}
