//! `askuser input`: a question for a text.

use super::confirm::{put, question};
use crate::args;
use crate::config::Format;
use crate::failure::Failure;
use askuser::Rules;
use std::ffi::OsString;

pub(super) fn run(words: impl Iterator<Item = OsString>) -> Result<u8, Failure> {
    let (args, settings) = super::parse(args::input(), words)?;
    put(question(&args, "Input"), &Rules::input(), Format::Value, &args, settings)
}
