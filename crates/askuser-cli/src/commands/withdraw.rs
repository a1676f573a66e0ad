//! `askuser withdraw`: withdraws a question.

use crate::config::Settings;
use crate::failure::Failure;
use crate::result::finish;
use crate::store::{attempt, block_on, ended_elsewhere, failed, only_a_person, open_for_person, question};
use askuser::store::{Principal, StoreError};
use clap::ArgMatches;

pub(super) fn run(args: &ArgMatches, settings: &Settings) -> Result<u8, Failure> {
    only_a_person("withdraw a question")?;
    let store = open_for_person(settings)?;
    let question = question(&store, args)?;
    // Only the asker may withdraw a question for other people. A server identifies the asker by the token.
    let is_asked = store.principal().is_asked(&question.request);
    let store = if is_asked { store } else { store.by(Principal::agent(question.request.origin())) };
    match block_on(store.withdraw(&question.id, &attempt()?)) {
        Ok(_) => finish(&format!("withdrew {}\n", question.id)),
        Err(StoreError::Ended(ending)) => Err(ended_elsewhere(&question, &ending)),
        Err(error) => Err(failed(error)),
    }
}
