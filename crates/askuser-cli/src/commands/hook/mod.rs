//! `askuser hook`: Claude Code calls it before most of its actions, and nearly always there is nothing to do. That is decided
//! first, at the cost of a process: no settings are read and no store is opened for it.

mod asking;
mod decision;
mod elicitation;
mod event;
mod transcript;

#[cfg(test)]
mod tests;

use crate::args;
use crate::config::{Layers, Settings};
use crate::failure::{Failure, OrFail, exit};
use crate::source;
use crate::state_folder::inbox_file;
use event::{ENTRYPOINT, HookEvent};
use serde_json::Value;
use std::ffi::OsString;
use std::io;

pub(super) fn run(words: impl ExactSizeIterator<Item = OsString>) -> Result<u8, Failure> {
    // It takes no arguments except for its help.
    if words.len() > 1 {
        super::arguments(args::hook(), words)?;
        return Ok(exit::ANSWERED);
    }
    let mut stdin = io::stdin().lock();
    let read = source::read("standard input", &mut stdin);
    // The writer must not fail because we have read enough.
    let _ = io::copy(&mut stdin, &mut io::sink());
    let event: Value = serde_json::from_str(&read?).or_fail("not an event")?;
    let Some(kind) = HookEvent::of(&event, std::env::var(ENTRYPOINT).ok().as_deref()) else {
        return Ok(exit::ANSWERED);
    };
    let settings = Layers::detect(&super::arguments(args::hook(), words)?)?.settings()?;
    // Tools run all the time; a person is rarely asked about one.
    if !kind.ends_questions() || a_question_waits(&settings)? {
        asking::run(kind, &event, &settings)?;
    }
    Ok(exit::ANSWERED)
}

/// Whether any process may be waiting for an answer from the inbox.
fn a_question_waits(settings: &Settings) -> Result<bool, Failure> {
    let folder = askuser_inbox::waiting_folder(&inbox_file(settings)?);
    Ok(std::fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_some()))
}
