//! `askuser devices`: browsers and machines that may answer.

use super::token;
use crate::failure::Failure;
use std::ffi::OsString;

pub(super) fn run(words: impl Iterator<Item = OsString>) -> Result<u8, Failure> {
    let args = super::arguments(crate::args::devices(), words)?;
    match args.subcommand() {
        Some(("revoke", args)) => token::revoke(args, true),
        _ => token::list(&args, true),
    }
}
