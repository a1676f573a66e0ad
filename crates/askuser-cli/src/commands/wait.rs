//! `askuser wait`: waits for a question that was asked before, and prints the result.

use crate::config::{Settings, duration};
use crate::failure::{Failure, exit};
use crate::result::{self, print};
use crate::signals::{self, until_signal};
use crate::store::{attempt, display, done, ended_elsewhere, failed, open_existing, patient, question, runtime};
use askuser::Purpose;
use askuser::store::{Claim, Ending, Principal};
use clap::ArgMatches;
use std::time::Duration;

pub(super) fn run(args: &ArgMatches, settings: &Settings) -> Result<u8, Failure> {
    let patience = args.get_one::<String>("for").map(|text| {
        duration(text).ok_or_else(|| Failure::new(format!("--for: {text:?}, must be a duration such as 45s, 5m or 1h")))
    });
    let patience = patience.transpose()?.unwrap_or(Duration::from_secs(u64::from(u32::MAX)));
    let store = open_existing(settings, patient(None))?;
    let question = question(&store, args)?;
    // A caller of `wait` acts as the agent that asked the question.
    let store = store.by(Principal::agent(question.request.origin()));
    let id = &question.id;
    // Signals are handled before the store records that this process waits. A signal then also records that the process
    // leaves.
    signals::listen()?;
    let ending = match question.ending.clone() {
        Some(ending) => ending,
        None => runtime()?.block_on(async {
            let attachment = store.attach(id).await.map_err(failed)?;
            let ended = until_signal(tokio::time::timeout(patience, store.wait(id))).await?.and_then(Result::ok);
            let ended = ended.transpose().map_err(failed)?;
            // If this call fails, the store detects the end of the process by itself.
            let _ = attachment.detach().await;
            ended.ok_or_else(|| Failure::new(format!("not answered yet; {id} stays in the inbox")).code(exit::DETACHED))
        })?,
    };
    match &ending {
        Ending::Withdrawn { .. } | Ending::Settled { .. } => Err(ended_elsewhere(&question, &ending)),
        Ending::Resolved(resolution) => {
            // A permission is valid for one use, and printing it is that use.
            if question.request.key().purpose == Purpose::Permission {
                let unused = match done(store.claim(id, &attempt()?))? {
                    Claim::Won => None,
                    Claim::Used { at_ms } => Some(format!("{id} was used at {}", display::time(at_ms))),
                    Claim::Lapsed => Some(format!("{id} lapsed: it was answered more than ten minutes ago")),
                };
                if let Some(unused) = unused {
                    return Err(Failure::new(unused).code(exit::ENDED_ELSEWHERE));
                }
            }
            print(question.request.set(), resolution, settings)?;
            // If this call fails, the answer is delivered once more.
            let _ = done(store.delivered(id));
            result::code(question.request.set(), resolution, settings)
        }
    }
}
