//! `askuser withdraw`: withdraws a question.

use crate::failure::{Failure, exit};
use crate::result::write;
use crate::store::{attempt, ended_elsewhere, failed, only_a_person, open_for_person, question};
use askuser::store::{Principal, StoreError};
use std::ffi::OsString;

pub(super) fn run(words: impl Iterator<Item = OsString>) -> Result<u8, Failure> {
    let (args, settings) = super::parse(crate::args::withdraw(), words)?;
    only_a_person("withdraw a question")?;
    let store = open_for_person(&settings)?;
    let question = question(&store, &args)?;
    // What is for others is its asker's to take back; a server knows by the token who that is.
    let store = match store.principal().is_asked(&question.request) {
        true => store,
        false => store.by(Principal::agent(question.request.origin())),
    };
    match pollster::block_on(store.withdraw(&question.id, &attempt()?)) {
        Ok(_) => {
            write(&format!("withdrew {}\n", question.id))?;
            Ok(exit::ANSWERED)
        }
        Err(StoreError::Ended(ending)) => Err(ended_elsewhere(&question, &ending)),
        Err(error) => Err(failed(error)),
    }
}
