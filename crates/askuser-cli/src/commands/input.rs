//! `askuser input`: asks for a text.

use super::confirm::{put, question};
use crate::config::{Format, Settings};
use crate::failure::Failure;
use askuser::{Form, Rules};
use clap::ArgMatches;

pub(super) fn run(args: &ArgMatches, settings: &Settings) -> Result<u8, Failure> {
    let question = question(args, Form::Input).placeholder(args.get_one("placeholder").cloned());
    put(question, &Rules::input(), Format::Value, args, settings)
}
