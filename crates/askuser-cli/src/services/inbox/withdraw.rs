//! `askuser withdraw`: takes a question back.

use super::{attempt, ended_elsewhere, failed, only_a_person, open_existing, parse, question};
use askuser::store::StoreError;
use askuser_cli::failure::{Failure, exit};
use askuser_cli::result::write;
use std::ffi::OsString;

pub(crate) fn run(words: impl Iterator<Item = OsString>) -> Result<u8, Failure> {
    let (args, settings) = parse(askuser_cli::args::withdraw(), words)?;
    only_a_person("withdraw")?;
    let store = open_existing(&settings)?;
    let question = question(&store, &args)?;
    match pollster::block_on(store.withdraw(&question.id, &attempt()?)) {
        Ok(_) => {
            write(&format!("withdrew {}\n", question.id))?;
            Ok(exit::ANSWERED)
        }
        Err(StoreError::Ended(ending)) => Err(ended_elsewhere(&question, &ending)),
        Err(error) => Err(failed(error)),
    }
}
