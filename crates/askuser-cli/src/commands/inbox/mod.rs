//! `askuser inbox`: the waiting questions, as a live list for people and as lines for scripts.

mod backup;
mod lines;
mod live;

pub(super) use live::{broken, console};

use crate::commands::answer::{self, at_the_prompt};
use crate::config::Settings;
use crate::failure::{self, Failure, exit};
use crate::json::escape_invisible;
use crate::result::write;
use crate::store::{self, block_on, display, done, for_each_page, only_a_person, open_for_person};
use crate::surfaces::terminal_options;
use askuser::prompt::Trigger;
use askuser::store::{Change, Filter, Handle, QuestionJson, State, StoreError, StoredQuestion, Watched};
use askuser_terminal::{Presentation, Role};
use clap::ArgMatches;
use std::io::IsTerminal;

pub(super) fn run(args: &ArgMatches, settings: &Settings) -> Result<u8, Failure> {
    if let Some((_, args)) = args.subcommand() {
        return backup::run(args);
    }
    let store = open_for_person(settings)?;
    if args.get_flag("next") {
        only_a_person("answer a question")?;
        return match done(store.list(&Filter::mine().at_most(1)))?.questions.first() {
            Some(question) => at_the_prompt(&store, question, settings, Trigger::Opened),
            None => {
                failure::notice("nothing is waiting");
                Ok(exit::ANSWERED)
            }
        };
    }
    let prints = ["json", "count", "follow"].iter().any(|flag| args.get_flag(flag));
    if prints || !std::io::stdout().is_terminal() {
        return print(&store, args);
    }
    only_a_person("answer a question")?;
    // An unreachable server is reported before a screen opens that would wait for it.
    done(store.count(&Filter::pending()))?;
    match terminal_options(settings).presentation {
        Presentation::Screen => live::run(&store, settings),
        Presentation::Line => lines::run(&store, settings),
    }
}

struct Notice {
    role: Role,
    text: String,
}

impl Notice {
    fn new(role: Role, text: impl Into<String>) -> Notice {
        Notice { role, text: text.into() }
    }
}

/// Opens a question of a list. Returns a notice about the result; `None` if the person needs none.
fn open(question: &StoredQuestion, store: &Handle, settings: &Settings) -> Option<Notice> {
    match answer::open(store, question, settings, Trigger::Opened) {
        Ok(Err(draft)) if draft.is_empty() => None,
        Ok(Err(_)) => Some(Notice::new(Role::Success, format!("Saved as draft: {}", display::name(question)))),
        Ok(Ok(ending)) if ending.state() == State::TimedOut => None,
        // The screen is cleared, and the prompt's confirmation with it.
        Ok(Ok(_)) => Some(Notice::new(Role::Success, format!("Answered: {}", display::name(question)))),
        Err(failure) if failure.code == exit::INTERRUPTED => None,
        Err(failure) => {
            let message = failure.message.replacen(question.id.as_str(), "It", 1);
            Some(Notice::new(Role::Warning, message))
        }
    }
}

/// Prints the waiting questions. With `--follow`, also prints all later changes.
fn print(store: &Handle, args: &ArgMatches) -> Result<u8, Failure> {
    let json = args.get_flag("json");
    let count = args.get_flag("count");
    // The watch starts before the first read, so it misses no event.
    let mut watch = args.get_flag("follow").then(|| done(store.watch(&Watched::All))).transpose()?;
    let mut last_count = None;
    let mut print_count = || {
        let now = done(store.count(&Filter::mine()))?;
        if last_count.replace(now) == Some(now) { Ok(()) } else { write(&format!("{now}\n")) }
    };
    if count { print_count() } else { print_all(store, json) }?;
    let Some(watch) = &mut watch else { return Ok(exit::ANSWERED) };
    loop {
        match pollster::block_on(watch.next()) {
            Change::Disconnected(why) => return Err(store::failed(why)),
            _ if count => print_count()?,
            Change::Event(event) => match block_on(store.get(&event.id)) {
                Ok(question) => write(&line(&question, json))?,
                Err(StoreError::Damaged { .. }) => failure::notice(&display::unreadable(&event.id)),
                Err(error) => return Err(store::failed(error)),
            },
            Change::Lagged => print_all(store, json)?,
        }
    }
}

fn print_all(store: &Handle, json: bool) -> Result<(), Failure> {
    for_each_page(store, Filter::pending(), |questions| {
        write(&questions.iter().map(|question| line(question, json)).collect::<String>())
    })
}

/// Formats a question as `3f2a9c0d11aa  2 min  Claude Code ~/shop: Which database?`, or as JSON.
fn line(question: &StoredQuestion, json: bool) -> String {
    if json {
        return format!("{}\n", escape_invisible(&serde_json::json!(QuestionJson::from(question))));
    }
    let is_pending = question.state() == State::Pending;
    let waits = if is_pending { display::duration(question.age()) } else { question.state().name().to_owned() };
    let gone = display::presence(question).filter(|_| is_pending);
    let gone = gone.map(|gone| format!(" ({gone})")).unwrap_or_default();
    let who = display::who(question);
    let names = display::for_whom(question);
    let folder = display::folder(question).unwrap_or_default();
    format!("{}  {waits}  {who} {folder}: {}{names}{gone}\n", question.id, question.request.title())
}
