//! The store of the inbox for commands. It is opened for a person or for an agent, and questions are asked through it.

pub(crate) mod display;

use crate::config::{Settings, TokenFile};
use crate::environment;
use crate::failure::{self, Failure, OrFail, exit};
use crate::notifier;
use crate::signals;
use crate::state_folder::{check_state_folder, inbox_file, read_secret, state_folder};
use crate::surfaces::Surfaces;
use askuser::store::{
    Attempt, Credentials, Ending, Filter, Handle, Principal, QuestionId, Store, StoreError, StoredQuestion,
};
use askuser::{Asker, Origin, Via};
use askuser_agent::regular_file::Links;
use askuser_inbox::{InboxAsker, Location, SqliteStore};
use askuser_serve::people::unknown;
use askuser_serve::{HttpStore, Patience, ServerStore, is_same_server};
use clap::ArgMatches;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// Returns the location of the store according to the settings.
pub(crate) fn location(settings: &Settings) -> Result<Location, Failure> {
    match settings.store.as_ref().map(|store| Location::parse(store.as_os_str())) {
        Some(location @ (Location::Address(_) | Location::Postgres(_))) => Ok(location),
        _ => inbox_file(settings).map(Location::File),
    }
}

/// Returns the files of a store outside the state folder, and the token file of a store at an address.
pub(crate) fn files(settings: &Settings) -> Vec<PathBuf> {
    let store = settings.store.as_ref().map(|store| Location::parse(store.as_os_str()).files());
    store.into_iter().flatten().chain(settings.token_file.as_ref().map(|file| file.path.clone())).collect()
}

/// The environment variable with the token for a store at an address.
pub(crate) const TOKEN: &str = "ASKUSER_TOKEN";

/// Opens the store that the settings name. An unreachable server is waited for, with one notice.
pub(crate) fn open(settings: &Settings) -> Result<Arc<dyn Store>, Failure> {
    open_within(settings, patient(None))
}

/// Returns the patience to wait for a server for at most `limit`, with one notice.
pub(crate) fn patient(limit: Option<Duration>) -> Patience {
    Patience { limit, on_away: Some(Arc::new(failure::notice)), stop: signals::calls() }
}

pub(crate) fn open_within(settings: &Settings, patience: Patience) -> Result<Arc<dyn Store>, Failure> {
    match location(settings)? {
        Location::Address(address) => Ok(Arc::new(at_address(settings, &address, patience)?)),
        Location::Postgres(_) => {
            let why = "a PostgreSQL store is for `askuser serve` alone: its password answers for every person";
            Err(Failure::new(why).hint("give the address of an `askuser serve` that has it, and a token"))
        }
        _ => open_kept(settings).map(|store| store as Arc<dyn Store>),
    }
}

fn at_address(settings: &Settings, address: &str, patience: Patience) -> Result<HttpStore, Failure> {
    HttpStore::check(address).map_err(Failure::new)?;
    let (token, device) = tokens(settings, address)?;
    let store = HttpStore::open(address, &token, patience).map_err(Failure::new)?;
    Ok(device.into_iter().fold(store, |store, device| store.with_device(&device)))
}

/// Returns the credentials of the store that the settings name.
pub(crate) fn administration(settings: &Settings) -> Result<Arc<dyn Credentials>, Failure> {
    match location(settings)? {
        Location::Address(address) => Ok(Arc::new(at_address(settings, &address, prompt())?)),
        _ => Ok(open_kept(settings)?),
    }
}

/// Opens the store in the file or database that the settings name. Only the machine that stores the questions can do
/// this.
pub(crate) fn open_kept(settings: &Settings) -> Result<Arc<dyn ServerStore>, Failure> {
    if settings.store.is_none() {
        check_state_folder(&state_folder()?)?;
    }
    match location(settings)? {
        Location::File(path) => SqliteStore::open(&path).map(|store| Arc::new(store) as _).map_err(failed),
        #[cfg(feature = "postgres")]
        Location::Postgres(address) => postgres(&address, Duration::MAX).map(|store| Arc::new(store) as _),
        #[cfg(not(feature = "postgres"))]
        Location::Postgres(_) => {
            Err(Failure::new("this askuser was built without PostgreSQL (cargo feature `postgres`)"))
        }
        location => Err(Failure::new(format!("{location} is a server; this works on what keeps the questions"))
            .hint("run it on the machine where `askuser serve` runs, or give --store FILE")),
    }
}

#[cfg(feature = "postgres")]
pub(crate) fn postgres(address: &str, patience: Duration) -> Result<askuser_postgres::PostgresStore, Failure> {
    let mut options = askuser_postgres::Options::default();
    options.stop = signals::calls();
    options.patience = options.patience.min(patience);
    askuser_postgres::PostgresStore::open(address, options).map_err(failed)
}

/// Returns the token for a store at an address, and the device token for the person at the terminal. A token from a
/// file is sent only to the server that it belongs to.
fn tokens(settings: &Settings, address: &str) -> Result<(String, Option<String>), Failure> {
    let read = |file: &TokenFile| {
        let path = &file.path;
        if !is_of(file, address) {
            let of = file.server.as_ref().map_or("no server".into(), |server| format!("{server} alone"));
            return Err(Failure::new(format!(
                "the token in {} is for {of}, and is not sent to {address}",
                path.display()
            ))
            .hint(format!("set {TOKEN}, or name the store and its token_file in the same place")));
        }
        read_secret(path, Links::Follow, 4096)
            .map_err(|error| Failure::new(format!("{} {error}", path.display())))
            .and_then(|text| token(&text))
    };
    match (environment::variable(TOKEN), &settings.token_file) {
        (Some(text), _) => Ok((token(&text)?, device_file(settings, address).map(read).transpose()?)),
        (None, Some(file)) => Ok((read(file)?, None)),
        (None, None) => Err(Failure::new(format!("a store at an address needs a token: set {TOKEN} or token_file"))
            .hint("`askuser token new NAME --ask` makes one where `askuser serve` runs")),
    }
}

/// Returns the file with the token of this person's device, if the environment contains the asking token.
fn device_file<'a>(settings: &'a Settings, address: &str) -> Option<&'a TokenFile> {
    let file = settings.token_file.as_ref().filter(|file| file.is_in_file && is_of(file, address));
    file.filter(|_| environment::variable(TOKEN).is_some())
}

fn is_of(file: &TokenFile, address: &str) -> bool {
    file.server.as_deref().is_some_and(|server| is_same_server(server, address))
}

fn token(text: &str) -> Result<String, Failure> {
    match text.trim() {
        token if !token.is_empty() && token.bytes().all(|byte| byte.is_ascii_graphic()) => Ok(token.to_owned()),
        _ => Err(Failure::new(format!(
            "{TOKEN} or token_file: no token, must be one line as `askuser token new` prints it"
        ))),
    }
}

/// Returns the patience with an unreachable server for a person at a shell. The person sees the error soon and can
/// retry.
fn prompt() -> Patience {
    Patience { on_away: None, ..patient(Some(Duration::from_secs(3))) }
}

/// Opens the store that the settings name, for a person at a shell. A notice about an unreachable server would disturb
/// a prompt, so the calls themselves fail.
pub(crate) fn open_for_person(settings: &Settings) -> Result<Handle, Failure> {
    let store = open_existing(settings, prompt())?;
    let Location::Address(address) = location(settings)? else { return Ok(store) };
    // On a server, the token identifies the person.
    let name = done(at_address(settings, &address, prompt())?.person())?;
    let name = name.filter(|_| store.principal().is_a_person());
    Ok(name.map_or(store.clone(), |name| store.by(Principal::person(name, Via::Inbox))))
}

/// Opens a store that must exist. If it is missing, its name is misspelt or no question was asked yet.
pub(crate) fn open_existing(settings: &Settings, patience: Patience) -> Result<Handle, Failure> {
    let location = location(settings)?;
    if settings.store.is_some() && !location.exists() {
        return Err(Failure::new(format!("there is no inbox at {location}"))
            .hint("the first question creates it; leave out --store for the default"));
    }
    Ok(Handle::new(open_within(settings, patience)?, actor(Via::Inbox)))
}

/// Returns the audience of a question from the command line. An unknown name is an error. If there is a server, the
/// server checks the names.
pub(crate) fn audience(args: &ArgMatches, settings: &Settings) -> Result<Vec<String>, Failure> {
    let names: Vec<String> =
        args.get_many::<String>("for").into_iter().flatten().map(|name| name.trim().to_owned()).collect();
    if !names.is_empty() && matches!(location(settings)?, Location::File(_)) {
        let kept = open_kept(settings)?;
        if let Some(wrong) = done(unknown(&*kept, &person(), "--for", &names))?.first() {
            return Err(Failure::new(wrong).hint("`askuser people` lists them, `askuser people add NAME` adds one"));
        }
    }
    Ok(names)
}

/// Blocks this thread until the store replies, and returns the reply.
pub(crate) fn done<T>(call: impl Future<Output = Result<T, StoreError>>) -> Result<T, Failure> {
    block_on(call).map_err(failed)
}

/// Blocks this thread until the store replies, and returns its reply or its error. After a signal that ends the
/// process, every call ends within a moment.
pub(crate) fn block_on<T>(call: impl Future<Output = Result<T, StoreError>>) -> Result<T, StoreError> {
    let stopped = || StoreError::unknown("cannot reach the inbox", "no reply before the process ended");
    pollster::block_on(signals::calls().run_until_cancelled(call)).unwrap_or_else(|| Err(stopped()))
}

const PAGE: u32 = 500;

/// Reads a list of any length page by page.
pub(crate) fn for_each_page(
    store: &Handle,
    filter: Filter,
    mut show: impl FnMut(&[StoredQuestion]) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let mut filter = filter.at_most(PAGE);
    loop {
        let page = done(store.list(&filter))?;
        show(&page.questions)?;
        page.unreadable.iter().for_each(|id| failure::notice(&display::unreadable(id)));
        match page.next {
            None => return Ok(()),
            next => filter.after = next,
        }
    }
}

pub(crate) fn attempt() -> Result<Attempt, Failure> {
    askuser_inbox::new_attempt().or_fail("cannot get random numbers")
}

/// Opens the store for an agent. Returns `None` if its settings do not name the inbox.
pub(crate) fn inbox_store(settings: &Settings, surfaces: &Surfaces) -> Result<Option<Arc<dyn Store>>, Failure> {
    surfaces.uses_the_inbox().then(|| open(settings)).transpose()
}

/// Waits until the last messages are written: the deliveries, and that this process no longer waits.
pub(crate) fn flush(store: Option<Arc<dyn Store>>) -> Result<(), Failure> {
    store.map_or(Ok(()), |store| done(store.flush()))
}

/// Returns an asker through the inbox and, if `here` is given, at a surface of this process.
pub(crate) fn asker(
    settings: &Settings,
    store: Arc<dyn Store>,
    here: Option<Arc<dyn Asker>>,
) -> Result<InboxAsker, Failure> {
    let location = location(settings)?;
    let has_device = matches!(&location, Location::Address(address) if device_file(settings, address).is_some());
    let asker = InboxAsker::new(store, person()).with_device(has_device);
    let notifier = notifier::notifier(settings, &location, &asker, here.is_some());
    Ok(here.into_iter().fold(asker.on_new(notifier), InboxAsker::with_surface))
}

/// Returns the store for the person at this terminal.
pub(crate) fn at_the_terminal(store: &Arc<dyn Store>) -> Handle {
    Handle::new(store.clone(), actor(Via::Terminal))
}

/// Returns the system's name of the person at this machine.
pub(crate) fn person() -> String {
    let named = ["USER", "LOGNAME", "USERNAME"].into_iter().find_map(|name| std::env::var(name).ok());
    named
        .filter(|name| !name.trim().is_empty())
        .or_else(|| whoami::username().ok())
        .unwrap_or_else(|| "somebody".into())
}

/// Returns the origin of questions from this process.
pub(crate) fn origin(agent: &str) -> Origin {
    let origin = Origin::default().with_agent(agent);
    let folder = std::env::current_dir().map(|folder| folder.display().to_string());
    let origin = folder.into_iter().fold(origin, |origin, folder| origin.with_folder(folder));
    #[cfg(unix)]
    let origin = match rustix::system::uname().nodename().to_str() {
        Ok(host) if !host.is_empty() => origin.with_host(host),
        _ => origin,
    };
    origin
}

/// Returns the principal that acts at a surface of this process. It is the person there, or an observer if an agent
/// started this process or one of its ancestors. Every command gets its principal here.
pub(crate) fn actor(via: Via) -> Principal {
    if is_run_by_a_person() { Principal::person(person(), via) } else { Principal::observer() }
}

/// Returns whether a person runs this process, and not an agent.
pub(crate) fn is_run_by_a_person() -> bool {
    std::env::var_os(askuser_agent::tools::STARTED_BY_AGENT).is_none()
}

/// Fails if an agent has started this process, because only a person may perform this operation.
pub(crate) fn only_a_person(what: &str) -> Result<(), Failure> {
    if is_run_by_a_person() {
        return Ok(());
    }
    Err(Failure::new(format!("an agent started this command, and only a person can {what}"))
        .hint("run it in a terminal of your own"))
}

pub(crate) fn runtime() -> Result<tokio::runtime::Runtime, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.or_fail("cannot start")
}

pub(crate) fn failed(error: StoreError) -> Failure {
    if let Some(signal) = signals::received() {
        return signal.failure();
    }
    let failure = Failure::new(error.chain());
    match error {
        StoreError::NotFound(_) => failure.hint("`askuser inbox` lists what is waiting, `askuser log` what has ended"),
        _ => failure,
    }
}

/// Returns a question by its id, or by an unambiguous beginning of its id.
pub(crate) fn question(store: &Handle, args: &ArgMatches) -> Result<StoredQuestion, Failure> {
    let given = args.get_one::<String>("id").map_or("", String::as_str);
    let ids = match QuestionId::parse(given) {
        Some(id) => vec![id],
        None => done(store.resolve(given))?,
    };
    match &ids[..] {
        [] => Err(failed(StoreError::NotFound(given.to_owned()))),
        [id] => done(store.get(id)),
        several => {
            let several: Vec<&str> = several.iter().map(QuestionId::as_str).collect();
            Err(Failure::new(format!("{given} matches several questions: {}", several.join(", ")))
                .hint("give more of the id"))
        }
    }
}

/// Returns the failure for a question that has ended in another way than the person wanted.
pub(crate) fn ended_elsewhere(question: &StoredQuestion, ending: &Ending) -> Failure {
    Failure::new(format!("{} {}", question.id, display::ended(&question.request, ending))).code(exit::ENDED_ELSEWHERE)
}
