//! `askuser input`: a question for a text.

use super::confirm::{put, question};
use crate::config::{Format, Settings};
use crate::failure::Failure;
use askuser::Rules;
use clap::ArgMatches;

pub(super) fn run(args: &ArgMatches, settings: &Settings) -> Result<u8, Failure> {
    put(question(args, "Input"), &Rules::input(), Format::Value, args, settings)
}
