//! `askuser inbox`: what waits, as a live list for people and as lines for scripts.

use super::answer::at_the_prompt;
use super::{failed, only_a_person, open_existing, parse, words};
use askuser::prompt::Occasion;
use askuser::store::{Filter, State, StoredQuestion};
use askuser_cli::failure::{self, Failure, exit};
use askuser_cli::json::harmless;
use askuser_cli::result::write;
use askuser_inbox::Inbox;
use clap::ArgMatches;
use std::ffi::OsString;
use std::io::IsTerminal;
use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

/// How many questions are read at once.
const PAGE: u32 = 500;
/// How long it is not looked at most, where the system could not tell of a change.
const LOOK_ANYWAY: Duration = Duration::from_secs(60);
/// A change may be heard of before it can be seen.
const SETTLE: Duration = Duration::from_millis(50);

pub(crate) fn run(arguments: impl Iterator<Item = OsString>) -> Result<u8, Failure> {
    let (args, settings) = parse(askuser_cli::args::inbox(), arguments)?;
    let inbox = open_existing(&settings)?;
    if args.get_flag("next") {
        only_a_person("answer")?;
        let next = Filter { limit: Some(1), ..Filter::pending() };
        return match inbox.store().list(&next).map_err(failed)?.first() {
            Some(question) => at_the_prompt(&inbox, question, &settings, Occasion::Opened),
            None => {
                failure::notice("askuser", "nothing waits");
                Ok(exit::ANSWERED)
            }
        };
    }
    let prints = ["json", "count", "follow"].iter().any(|flag| args.get_flag(flag));
    if prints || !std::io::stdout().is_terminal() {
        return print(&inbox, &args);
    }
    only_a_person("answer")?;
    super::live::run(&inbox, &settings)
}

/// Prints what waits, and whatever changes from then on.
fn print(inbox: &Inbox, args: &ArgMatches) -> Result<u8, Failure> {
    let (json, count) = (args.get_flag("json"), args.get_flag("count"));
    let store = inbox.store();
    let (changed, changes) = mpsc::channel();
    let watch = args.get_flag("follow").then(|| {
        store.watch(Arc::new(move || {
            let _ = changed.send(());
        }))
    });
    let _watch = watch.transpose().map_err(failed)?;
    let mut seq = store.last_event().map_err(failed)?;
    let mut last_count = None;
    if !count {
        print_all(inbox, json)?;
    }
    loop {
        if count {
            let now = store.count(&Filter::pending()).map_err(failed)?;
            if last_count.replace(now) != Some(now) {
                write(&format!("{now}\n"))?;
            }
        } else {
            seq = print_changes(inbox, json, seq)?;
        }
        if !args.get_flag("follow") {
            return Ok(exit::ANSWERED);
        }
        match changes.recv_timeout(LOOK_ANYWAY) {
            // One change is often told several times.
            Ok(()) => {
                std::thread::sleep(SETTLE);
                while changes.try_recv().is_ok() {}
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return Ok(exit::ANSWERED),
        }
        store.expire().map_err(failed)?;
    }
}

fn print_all(inbox: &Inbox, json: bool) -> Result<(), Failure> {
    let mut filter = Filter { limit: Some(PAGE), ..Filter::pending() };
    loop {
        let page = inbox.store().list(&filter).map_err(failed)?;
        let lines: String = page.iter().map(|question| line(question, json)).collect();
        write(&lines)?;
        if page.len() < PAGE as usize {
            return Ok(());
        }
        filter.offset += u64::from(PAGE);
    }
}

/// Prints what has happened since, and says up to where.
fn print_changes(inbox: &Inbox, json: bool, mut seq: u64) -> Result<u64, Failure> {
    loop {
        let stretch = inbox.store().events(seq, PAGE).map_err(failed)?;
        if stretch.gap {
            print_all(inbox, json)?;
            return inbox.store().last_event().map_err(failed);
        }
        for event in &stretch.events {
            write(&line(&inbox.store().get(&event.id).map_err(failed)?, json))?;
            seq = event.seq;
        }
        if stretch.events.len() < PAGE as usize {
            return Ok(seq);
        }
    }
}

/// `3f2a9c0d11aa  2 min  claude-code ~/shop: Which database?`
fn line(question: &StoredQuestion, json: bool) -> String {
    if json {
        return format!("{}\n", harmless(&words::json(question)));
    }
    let waits = match (&question.ending, question.state()) {
        (None, _) => words::duration(words::now_ms().saturating_sub(question.asked_ms)),
        (Some(_), state) => state.name().to_owned(),
    };
    let gone = words::presence(question).filter(|_| question.state() == State::Pending);
    let gone = gone.map(|gone| format!(" ({gone})")).unwrap_or_default();
    let (who, folder) = (words::who(question), words::folder(question));
    format!("{}  {waits}  {who} {folder}: {}{gone}\n", question.id, words::asked(question))
}
