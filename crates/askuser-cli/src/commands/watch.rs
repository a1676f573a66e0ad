//! `askuser watch`: prints the events of questions, one per line. A reader resumes after the number of its last event.

use crate::config::Settings;
use crate::failure::Failure;
use crate::json::escape_invisible;
use crate::result::write;
use crate::store::{self, done, open_for_person};
use askuser::store::{Change, StoreEvent, Watched};
use clap::ArgMatches;
use serde_json::json;

/// The number of events that are read at once.
const PAGE: u32 = 500;

pub(super) fn run(args: &ArgMatches, settings: &Settings) -> Result<u8, Failure> {
    let store = open_for_person(settings)?;
    let json = args.get_flag("json");
    // From here the watch reports every event.
    let mut watch = done(store.watch(&Watched::All))?;
    let mut after = match args.get_one::<u64>("after") {
        Some(after) => *after,
        None => done(store.events(0, 1))?.last,
    };
    loop {
        loop {
            let page = done(store.events(after, PAGE))?;
            if page.gap {
                write(if json { "{\"gap\":true}\n" } else { "earlier events are gone\n" })?;
            }
            write(&page.events.iter().map(|event| line(event, json)).collect::<String>())?;
            let Some(last) = page.events.last() else { break };
            after = last.seq;
        }
        if let Change::Disconnected(why) = pollster::block_on(watch.next()) {
            return Err(store::failed(why));
        }
    }
}

fn line(event: &StoreEvent, json: bool) -> String {
    if json {
        return format!("{}\n", escape_invisible(&json!(event)));
    }
    format!("{}  {}  {}\n", event.seq, event.id, event.state.name())
}
