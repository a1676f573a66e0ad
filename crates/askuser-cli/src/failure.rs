//! What went wrong, for the operator: a message, what to do about it, and the exit code.

use std::fmt::Display;

/// Exit codes, as the README documents them.
pub(crate) mod exit {
    pub(crate) const ANSWERED: u8 = 0;
    pub(crate) const NOT_ANSWERED: u8 = 1;
    pub(crate) const BAD_INPUT: u8 = 2;
    pub(crate) const NOBODY_THERE: u8 = 3;
    pub(crate) const INTERRUPTED: u8 = 130;
}

/// An error on its way to `main`, which prints it.
#[derive(Debug)]
pub(crate) struct Failure {
    /// Lower case, no full stop; further lines are details.
    pub(crate) message: String,
    pub(crate) hint: Option<String>,
    pub(crate) code: u8,
}

impl Failure {
    /// Bad input, bad usage, or the world did not play along.
    pub(crate) fn new(message: impl Display) -> Failure {
        Failure { message: message.to_string(), hint: None, code: exit::BAD_INPUT }
    }

    pub(crate) fn hint(self, hint: impl Display) -> Failure {
        Failure { hint: Some(hint.to_string()), ..self }
    }

    pub(crate) fn code(self, code: u8) -> Failure {
        Failure { code, ..self }
    }
}
