//! What went wrong, for the operator: a message, what to do about it, and the exit code.

use askuser::sanitize;
use std::fmt::Display;
use std::io::Write;
use std::process::ExitCode;

/// Exit codes, as the README documents them.
pub mod exit {
    pub const ANSWERED: u8 = 0;
    pub const NOT_ANSWERED: u8 = 1;
    pub const BAD_INPUT: u8 = 2;
    pub const NOBODY_THERE: u8 = 3;
    pub const INTERRUPTED: u8 = 130;
}

/// An error on its way to `main`, which prints it.
#[derive(Clone, Debug)]
pub struct Failure {
    /// Lower case, no full stop; further lines are details.
    pub message: String,
    pub hint: Option<String>,
    pub code: u8,
}

impl Failure {
    /// Bad input, bad usage, or the world did not play along.
    pub fn new(message: impl Display) -> Failure {
        Failure { message: message.to_string(), hint: None, code: exit::BAD_INPUT }
    }

    pub fn hint(self, hint: impl Display) -> Failure {
        Failure { hint: Some(hint.to_string()), ..self }
    }

    pub fn code(self, code: u8) -> Failure {
        Failure { code, ..self }
    }
}

/// What the system says, without its number.
pub fn reason(error: &std::io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error").next().unwrap_or(&text).to_owned()
}

/// A limit on the size of files is an error of the write that hits it, which can be told; by default it would end the process.
pub fn outlive_file_size_limit() {
    #[cfg(unix)]
    let _ = signal_hook::flag::register(signal_hook::consts::SIGXFSZ, std::sync::Arc::default());
}

/// Tells the operator something on the way; nothing has gone wrong for good.
pub fn notice(program: &str, words: &str) {
    let _ = writeln!(std::io::stderr().lock(), "{program}: {}", sanitize::block(words));
}

/// Prints what went wrong, if something did, and chooses the exit code. Nothing else does either.
pub fn report(program: &str, result: Result<u8, Failure>) -> ExitCode {
    match result {
        Ok(code) => ExitCode::from(code),
        Err(failure) => {
            let mut stderr = std::io::stderr().lock();
            // Messages quote what others wrote: input, answers, a project's settings.
            let _ = writeln!(stderr, "{program}: {}", sanitize::block(&failure.message));
            if let Some(hint) = failure.hint {
                let _ = writeln!(stderr, "hint: {}", sanitize::block(&hint));
            }
            ExitCode::from(failure.code)
        }
    }
}
