//! `askuser hook`: handles an event of Claude Code. Claude Code runs the hook before most of its actions, and most
//! events need no reply. Such events are filtered out first, before settings are read or a store is opened.

mod asking;
mod background;
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
use background::Agent;
use event::{ENTRYPOINT, HookEvent};
use serde_json::Value;
use std::ffi::OsString;
use std::io;

pub(super) fn run(words: impl ExactSizeIterator<Item = OsString>) -> Result<u8, Failure> {
    let words: Vec<OsString> = words.collect();
    let arguments = || super::arguments(args::hook(), words.iter().cloned());
    let settings = || Layers::detect(&arguments()?)?.settings();
    let flags = if words.len() > 1 { Some(arguments()?) } else { None };
    let has = |flag: &str| flags.as_ref().is_some_and(|flags| flags.get_flag(flag));
    let mut stdin = io::stdin().lock();
    let read = source::read("standard input", &mut stdin);
    // The rest is read too, so that the writer does not fail.
    let _ = io::copy(&mut stdin, &mut io::sink());
    let event: Value = serde_json::from_str(&read?).or_fail("not an event")?;
    let entrypoint = std::env::var(ENTRYPOINT).ok();
    match (has("codex"), has("answers")) {
        (true, true) => return background::queue(&event, &settings()?).map(|()| exit::ANSWERED),
        (true, false) => {
            return background::remind(Agent::Codex, &event, &settings()?).map(|()| exit::ANSWERED);
        }
        (false, true) if HookEvent::may_wake(entrypoint.as_deref()) => return background::wake(&event, &settings()?),
        (false, true) => return Ok(exit::ANSWERED),
        (false, false) => {}
    }
    let Some(kind) = HookEvent::of(&event, entrypoint.as_deref()) else {
        return Ok(exit::ANSWERED);
    };
    let settings = settings()?;
    // Tools run all the time, but few of them need a question. The store is opened only if a question waits.
    let is_asked = !kind.ends_questions() && kind != HookEvent::SessionWentOn;
    if is_asked || kind.ends_questions() && a_question_waits(&settings)? {
        asking::run(kind, &event, &settings)?;
    }
    if matches!(kind, HookEvent::TurnEnded | HookEvent::SessionWentOn) {
        background::remind(Agent::Claude, &event, &settings)?;
    }
    Ok(exit::ANSWERED)
}

/// Returns whether a process may be waiting for an answer from the inbox.
fn a_question_waits(settings: &Settings) -> Result<bool, Failure> {
    let folder = askuser_inbox::waiting_folder(&inbox_file(settings)?);
    Ok(std::fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_some()))
}
