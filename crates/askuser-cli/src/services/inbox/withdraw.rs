//! `askuser withdraw`: takes a question back.

use super::{ended_elsewhere, failed, only_a_person, open_existing, parse, person, question};
use askuser::store::Recorded;
use askuser_cli::failure::{Failure, exit};
use askuser_cli::result::write;
use std::ffi::OsString;

pub(crate) fn run(words: impl Iterator<Item = OsString>) -> Result<u8, Failure> {
    let (args, settings) = parse(askuser_cli::args::withdraw(), words)?;
    only_a_person("withdraw")?;
    let inbox = open_existing(&settings)?;
    let question = question(&**inbox.store(), &args)?;
    match inbox.store().withdraw(&question.id, &person()).map_err(failed)? {
        Recorded::Won(_) => {
            write(&format!("withdrew {}\n", question.id))?;
            Ok(exit::ANSWERED)
        }
        Recorded::Lost(ending) => Err(ended_elsewhere(&question, &ending)),
    }
}
