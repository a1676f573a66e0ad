//! `askuser ask`: questions from a file, through the chain of surfaces, to a result on standard output.

mod inbox;
pub(super) mod terminal;

use crate::args;
use crate::config::Surface;
use crate::failure::{Failure, notice, outlive_file_size_limit};
use crate::surfaces::Surfaces;
use askuser::{Decision, Request};
use std::ffi::OsString;

pub(super) fn run(words: impl Iterator<Item = OsString>) -> Result<u8, Failure> {
    let (args, settings) = super::parse(args::ask(), words)?;
    outlive_file_size_limit();
    match settings.via.contains(&Surface::Inbox) {
        true => inbox::run(&args, &settings),
        false => terminal::run(&args, &settings),
    }
}

/// What the policy knows of a request. The operator is told of answers that match none of its questions.
fn decide(surfaces: &Surfaces, request: &Request) -> Result<Decision, Failure> {
    if let Some(words) = surfaces.unmatched(request) {
        notice("askuser", &words);
    }
    surfaces.decide(request)
}
