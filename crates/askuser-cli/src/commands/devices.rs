//! `askuser devices`: lists and manages browsers and machines that may answer.

use super::token;
use crate::failure::Failure;
use clap::ArgMatches;

pub(super) fn run(args: &ArgMatches) -> Result<u8, Failure> {
    match args.subcommand() {
        Some(("revoke", args)) => token::revoke(args, true),
        _ => token::list(args, true),
    }
}
