//! `askuser wait`: waits for a question that was asked before, and prints the result.

use crate::config::duration;
use crate::failure::{Failure, exit};
use crate::result::{self, print};
use crate::signals::Signals;
use crate::store::{done, ended_elsewhere, failed, open_existing, question, runtime};
use askuser::store::{Ending, Principal};
use std::ffi::OsString;
use std::time::Duration;

pub(super) fn run(words: impl Iterator<Item = OsString>) -> Result<u8, Failure> {
    let (args, settings) = super::parse(crate::args::wait(), words)?;
    let patience = match args.get_one::<String>("for") {
        None => None,
        Some(text) => Some(
            duration(text)
                .ok_or_else(|| Failure::new(format!("--for: {text:?}, must be a duration such as 45s, 5m or 1h")))?,
        ),
    };
    let store = open_existing(&settings)?;
    let question = question(&store, &args)?;
    // Who waits for a question waits for the agent that asked it.
    let store = store.by(Principal::agent(question.request.origin()));
    let id = &question.id;
    let ending = match question.ending.clone() {
        Some(ending) => ending,
        None => runtime()?.block_on(async {
            let attachment = store.attach(id).await.map_err(failed)?;
            let mut signals = Signals::listen().map_err(|error| Failure::new(format!("cannot start: {error}")))?;
            let patience = tokio::time::sleep(patience.unwrap_or(Duration::from_secs(u64::from(u32::MAX))));
            let ended = tokio::select! {
                ended = store.wait(id) => Some(ended.map_err(failed)?),
                () = patience => None,
                _ = signals.next() => None,
            };
            attachment.detach().await.map_err(failed)?;
            ended.ok_or_else(|| Failure::new(format!("not answered yet; {id} stays in the inbox")).code(exit::DETACHED))
        })?,
    };
    match &ending {
        Ending::Withdrawn { .. } | Ending::Settled { .. } => Err(ended_elsewhere(&question, &ending)),
        Ending::Resolved(resolution) => {
            print(question.request.set(), resolution, &settings)?;
            // Lost, it is delivered once more.
            let _ = done(store.delivered(id));
            result::code(question.request.set(), resolution, &settings)
        }
    }
}
