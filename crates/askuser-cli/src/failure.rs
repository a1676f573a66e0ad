//! An error for the operator: the message, the remedy and the exit code.

use crate::wrapped::wrapped_for;
use askuser::{Violations, sanitize};
use std::fmt::Display;
use std::io::{IsTerminal, Write};

/// The exit codes that the README documents.
pub(crate) mod exit {
    pub(crate) const ANSWERED: u8 = 0;
    pub(crate) const NOT_ANSWERED: u8 = 1;
    pub(crate) const BAD_INPUT: u8 = 2;
    pub(crate) const UNAVAILABLE: u8 = 3;
    /// The exit code for a question that was withdrawn, or that another user has answered.
    pub(crate) const ENDED_ELSEWHERE: u8 = 4;
    /// The exit code for a question that is not answered yet and stays (EX_TEMPFAIL).
    pub(crate) const DETACHED: u8 = 75;
    pub(crate) const INTERRUPTED: u8 = 130;
}

/// An error that `main` prints.
#[derive(Clone, Debug)]
pub(crate) struct Failure {
    /// The message, in lower case and without a full stop. Further lines are details.
    pub(crate) message: String,
    pub(crate) hint: Option<String>,
    pub(crate) code: u8,
}

impl Failure {
    /// Creates the failure of an invalid input, an invalid use, or a failed operation.
    pub(crate) fn new(message: impl Display) -> Failure {
        Failure { message: message.to_string(), hint: None, code: exit::BAD_INPUT }
    }

    /// Creates the failure of an invalid input, answer or file, with one line for each violation.
    pub(crate) fn of(what: &str, violations: &Violations) -> Failure {
        let lines: String = violations.iter().map(|violation| format!("\n  {violation}")).collect();
        Failure::new(format!("{what}{lines}"))
    }

    pub(crate) fn hint(self, hint: impl Display) -> Failure {
        Failure { hint: Some(hint.to_string()), ..self }
    }

    pub(crate) fn code(self, code: u8) -> Failure {
        Failure { code, ..self }
    }

    /// Prints the failure and returns its exit code.
    pub(crate) fn tell(&self) -> u8 {
        notice(&self.message);
        if let Some(hint) = &self.hint {
            say(&format!("hint: {hint}"));
        }
        self.code
    }
}

/// Converts an error to a failure, with the failed operation before the reason.
pub(crate) trait OrFail<T> {
    fn or_fail(self, what: impl Display) -> Result<T, Failure>;
}

impl<T, E: Display> OrFail<T> for Result<T, E> {
    fn or_fail(self, what: impl Display) -> Result<T, Failure> {
        self.map_err(|error| Failure::new(format!("{what}: {}", reason(&error))))
    }
}

/// Returns the system's message without its number.
pub(crate) fn reason(error: &impl Display) -> String {
    let text = error.to_string();
    text.split(" (os error").next().unwrap_or(&text).to_owned()
}

/// Turns the signal of a file size limit into a write error, which can be reported. By default the signal would end the
/// process.
pub(crate) fn outlive_file_size_limit() {
    #[cfg(unix)]
    let _ = signal_hook::flag::register(signal_hook::consts::SIGXFSZ, std::sync::Arc::default());
}

/// Shows a message to the operator while the command runs. If a prompt of this process uses the terminal, the prompt
/// shows the message.
pub(crate) fn notice(words: &str) {
    if !(std::io::stderr().is_terminal() && askuser_terminal::notify(words)) {
        say(&format!("askuser: {words}"));
    }
}

/// Writes a text to standard error. On a terminal the first line is wrapped at words. Further lines stay unchanged,
/// because they are details to be copied, such as an answer that could not be written.
fn say(text: &str) {
    // Messages may quote untrusted text: input, answers, or a project's settings.
    let text = sanitize::block(text);
    let mut stderr = std::io::stderr().lock();
    let (first, details) = text.split_once('\n').unwrap_or((&text, ""));
    let _ = writeln!(stderr, "{}", wrapped_for(&stderr, first));
    if !details.is_empty() {
        let _ = writeln!(stderr, "{details}");
    }
}
