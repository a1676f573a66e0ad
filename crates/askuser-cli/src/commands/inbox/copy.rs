//! `askuser inbox copy`: one store made of another, in a file or in PostgreSQL.

use crate::failure::{Failure, exit};
use crate::result::write;
use crate::store::{at_the_terminal, done, only_a_person, open_at};
use askuser::store::{Filter, Store};
use askuser_inbox::Location;
use clap::ArgMatches;
use std::ffi::OsString;
use std::sync::Arc;

pub(super) fn run(args: &ArgMatches) -> Result<u8, Failure> {
    only_a_person("copy an inbox")?;
    let [from, to] =
        ["from", "to"].map(|name| Location::parse(args.get_one::<OsString>(name).map_or("".as_ref(), |given| given)));
    if !from.exists() {
        return Err(Failure::new(format!("there is no inbox at {from}")));
    }
    let (from, to) = (open_at(from)?, open_at(to)?);
    let waiting = done(at_the_terminal(&(from.clone() as Arc<dyn Store>)).count(&Filter::pending()))?;
    if waiting > 0 && !args.get_flag("with-waiting") {
        return Err(Failure::new(format!(
            "{waiting} questions are waiting: their askers would not hear of answers there"
        ))
        .hint("answer or withdraw them first, or give --with-waiting"));
    }
    let copied = done(askuser_serve::copy(&*from, &*to))?;
    let askuser_serve::Copied { questions, events, credentials, people, written } = copied;
    write(&format!(
        "{questions} questions, {events} events, {credentials} tokens and devices, {people} people; {written} rows were not there before\n"
    ))?;
    Ok(exit::ANSWERED)
}
