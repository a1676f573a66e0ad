//! The inbox: questions that wait for their person, whoever asks them and wherever they are answered.

pub(crate) mod answer;
pub(crate) mod ask;
pub(crate) mod list;
mod live;
pub(crate) mod log;
mod reach;
pub(crate) mod wait;
pub(crate) mod withdraw;
pub(crate) mod words;

use crate::agent::announce::announced;

use askuser::store::{Ending, Store, StoreError, StoredQuestion};
use askuser::{Asker, Origin};
use askuser_cli::config::{Layers, Settings};
use askuser_cli::failure::{Failure, exit};
use askuser_cli::state_folder::{check_state_folder, inbox_file, state_folder};
use askuser_cli::surfaces::Surfaces;
use askuser_cli::usage;
use askuser_inbox::{Inbox, InboxAsker, SqliteStore};
use askuser_terminal::OnHold;
use clap::{ArgMatches, Command};
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;

/// The arguments of a command, and the settings that apply to it.
pub(crate) fn parse(
    command: Command,
    words: impl Iterator<Item = OsString>,
) -> Result<(ArgMatches, Settings), Failure> {
    let name = format!("askuser {}", command.get_name());
    let command = command.name("askuser").bin_name(&name);
    let args = command.try_get_matches_from(words).map_err(|error| usage::failure(&name, &error))?;
    let settings = Layers::detect(&args)?.settings()?;
    Ok((args, settings))
}

/// The files of a store that is not in the state folder.
pub(crate) fn files(settings: &Settings) -> Vec<PathBuf> {
    let Some(path) = settings.store.as_ref().and_then(|path| std::path::absolute(path).ok()) else { return Vec::new() };
    let beside = |suffix: &str| {
        let mut path = path.clone().into_os_string();
        path.push(suffix);
        PathBuf::from(path)
    };
    ["", "-wal", "-shm", "-bell", "-waiting"].map(beside).into()
}

/// The store that the settings name.
pub(crate) fn open(settings: &Settings) -> Result<Inbox, Failure> {
    if settings.store.is_none() {
        check_state_folder(&state_folder()?)?;
    }
    let store = SqliteStore::open(&inbox_file(settings)?).map_err(failed)?;
    Ok(Inbox::new(Arc::new(store)))
}

/// The store that the settings name, for whoever does not ask. One that was named and is not there was misspelt, or nothing has
/// been asked yet.
fn open_existing(settings: &Settings) -> Result<Inbox, Failure> {
    match &settings.store {
        Some(path) if !path.exists() => Err(Failure::new(format!("there is no inbox at {}", path.display()))
            .hint("the first question makes it; leave out --store for the usual one")),
        _ => {
            let inbox = open(settings)?;
            // Nobody may have looked since a deadline passed.
            inbox.store().expire().map_err(failed)?;
            Ok(inbox)
        }
    }
}

/// Asks through the inbox, and at a surface beside it.
pub(crate) fn asker(settings: &Settings, inbox: Inbox, beside: Option<Arc<dyn Asker>>) -> Result<InboxAsker, Failure> {
    let reaching = reach::reaching(settings, &inbox_file(settings)?, &inbox, beside.is_some());
    let asker = InboxAsker::new(inbox).answered_by(person()).reaching(reaching);
    Ok(match beside {
        Some(surface) => asker.beside(surface),
        None => asker,
    })
}

/// Who is asked by an agent: whoever is at hand here, and whoever opens the inbox if the settings name it.
pub(crate) fn beside(
    settings: &Settings,
    surfaces: &Surfaces,
    here: Option<Arc<dyn Asker>>,
    tell: impl Fn(&str) + Send + Sync + 'static,
) -> Result<Option<Arc<dyn Asker>>, Failure> {
    if !surfaces.uses_the_inbox() {
        return Ok(announced(settings.on_question.as_deref(), here));
    }
    let here = here.filter(|_| surfaces.asks_at_the_terminal());
    let is_alone = here.is_none();
    let asker = asker(settings, open(settings)?, here)?.telling(move |question| {
        if is_alone {
            tell(&words::how_to_answer(question));
        }
    });
    Ok(Some(Arc::new(asker)))
}

/// Whoever stops the clock at a prompt stops it in the store too.
pub(crate) fn holding(inbox: &Inbox) -> OnHold {
    let store = inbox.store().clone();
    OnHold::new(move |key| {
        if let Ok(Some(id)) = store.id_of(key) {
            // It times out all the same then, and the prompt says so.
            let _ = store.hold(&id);
        }
    })
}

/// Who sits here, as far as the system knows.
fn person() -> String {
    let named = ["USER", "LOGNAME", "USERNAME"].into_iter().find_map(|name| std::env::var(name).ok());
    named.filter(|name| !name.trim().is_empty()).or_else(account).unwrap_or_else(|| "somebody".into())
}

/// The name of this user's account.
fn account() -> Option<String> {
    #[cfg(unix)]
    {
        let us = rustix::process::getuid().as_raw().to_string();
        let accounts = std::fs::read_to_string("/etc/passwd").unwrap_or_default();
        let name = accounts.lines().find_map(|line| {
            let mut fields = line.split(':');
            let name = fields.next()?;
            (fields.nth(1)? == us).then(|| name.to_owned())
        });
        Some(name.unwrap_or_else(|| format!("user {us}")))
    }
    #[cfg(not(unix))]
    None
}

/// Where this process runs.
pub(crate) fn origin(agent: &str) -> Origin {
    let origin = Origin::default().with_agent(agent);
    let origin = match std::env::current_dir() {
        Ok(folder) => origin.with_folder(folder.display().to_string()),
        Err(_) => origin,
    };
    #[cfg(unix)]
    let origin = match rustix::system::uname().nodename().to_str() {
        Ok(host) if !host.is_empty() => origin.with_host(host),
        _ => origin,
    };
    origin
}

/// Refuses to act for a person where an agent has started this process.
fn only_a_person(what: &str) -> Result<(), Failure> {
    match std::env::var_os(askuser_agent::tools::STARTED_BY_AGENT) {
        None => Ok(()),
        Some(_) => Err(Failure::new(format!("an agent started this command, and only a person can {what} a question"))
            .hint("run it in a terminal of your own")),
    }
}

pub(crate) fn runtime() -> Result<tokio::runtime::Runtime, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.map_err(|error| Failure::new(format!("cannot start: {error}")))
}

fn failed(error: StoreError) -> Failure {
    let failure = Failure::new(error.chain());
    match error {
        StoreError::NoSuchQuestion(_) => {
            failure.hint("`askuser inbox --json` lists what waits, `askuser log` what has ended")
        }
        StoreError::Ambiguous { .. } => failure.hint("give more of the id"),
        _ => failure,
    }
}

/// A question by what was given of its id.
fn question(store: &dyn Store, args: &ArgMatches) -> Result<StoredQuestion, Failure> {
    let id = args.get_one::<String>("id").map_or("", String::as_str);
    store.get(id).map_err(failed)
}

/// A question that ended otherwise than whoever is here wanted.
fn ended_elsewhere(question: &StoredQuestion, ending: &Ending) -> Failure {
    Failure::new(format!("{} {}", question.id, words::ended(question.request.set(), ending)))
        .code(exit::ENDED_ELSEWHERE)
}
