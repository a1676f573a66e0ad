//! `askuser agent`: a conversation in a terminal, or one turn without one.

mod allowed;
#[cfg(target_os = "linux")]
pub(crate) mod api_keys;
mod app;
mod export;
mod git_state;
mod headless;
mod models;
mod permissions_command;
mod protocol;
pub(crate) mod sandbox;
mod scripts;
mod session;
mod sessions;
mod system;

use crate::args;
use crate::config::Layers;
use crate::environment;
use crate::failure::{self, Failure, OrFail, reason};
use crate::source;
use crate::store;
use crate::surfaces::Surfaces;
use askuser_agent::tools::AskUserQuestion;
use askuser_agent::{
    Agent, Model, PermissionMode, Permissions, RecordedModel, Sandbox, Secrets, Transcript, provider, tools,
};
use clap::ArgMatches;
use models::Models;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;

/// Runs `askuser agent`. `words` are the command and its arguments.
pub(crate) fn run(words: impl Iterator<Item = OsString>) -> Result<u8, Failure> {
    let words: Vec<OsString> = words.collect();
    #[cfg(target_os = "linux")]
    api_keys::take_out_of_environment(&secrets(&[], &[]), &words)?;
    run_with_keys(words.into_iter())
}

/// Runs `askuser agent` after the keys were taken out of the environment.
pub(crate) fn run_with_keys(words: impl Iterator<Item = OsString>) -> Result<u8, Failure> {
    let args = super::arguments(args::agent().version(env!("CARGO_PKG_VERSION")), words)?;
    match args.subcommand() {
        Some(("sessions", args)) => return sessions::run(args),
        Some(("models", args)) => return models::run(args),
        Some(("export", args)) => return export::run(args),
        _ => {}
    }
    if let Some(word) = args.get_one::<String>("message") {
        check_is_message(word)?;
    }
    let settings = Layers::detect(&args)?.settings()?;
    keep_memory_private();
    failure::outlive_file_size_limit();
    // All errors are found before a session begins.
    let resumed = resumed(&args)?;
    let chosen = args.contains_id("model") || args.contains_id("script");
    let before = resumed.as_ref().and_then(Transcript::model).filter(|_| !chosen);
    let (settings, is_usual) = match &before {
        Some(RecordedModel { name, .. }) => (settings.clone().with_model(name), settings.model.as_ref() == Some(name)),
        None => (settings, true),
    };
    let script = args.get_one::<String>("script").map(|name| scripts::read(name)).transpose()?;
    let model: Arc<dyn Model> = match (&script, &before) {
        (Some(script), _) => Arc::new(script.clone()),
        (None, Some(before)) => Models::new(&settings).again(before)?,
        (None, None) => Models::new(&settings).first()?,
    };
    if !is_usual {
        failure::notice(&format!("the model is {}, as before; --model chooses another", model.name()));
    }
    let opening = args.get_one::<String>("message").cloned().or(script.and_then(|script| script.prompt));
    let wanted = headless::wanted(&args, opening.as_deref())?;
    let folders = folders(&args)?;
    let surfaces = Surfaces::of(&settings)?;
    allowed::warning().into_iter().for_each(|words| failure::notice(&words));
    let surface = if wanted.is_none() { Some(app::Surface::open(&settings)?) } else { None };
    let transcript = resumed.map_or_else(|| session::new(&current_folder()?), Ok)?;
    let cwd = transcript.cwd();
    sandbox::check_given(&settings, &cwd, &folders)?;
    let sandbox = sandbox::here(&settings, &cwd, &folders);
    let mode = if args.get_flag("plan") { PermissionMode::Plan } else { settings.permissions };
    if let (PermissionMode::Sandbox, Err(why)) = (mode, &sandbox) {
        return Err(Failure::new(format!("permissions: sandbox cannot be, there is none here: {why}")));
    }
    if mode == PermissionMode::Allow {
        failure::notice("permissions are allow: commands run with your access, and reach askuser's own files");
    }
    sandbox.iter().filter_map(Sandbox::warning).for_each(failure::notice);
    let permissions = allowed::here(&cwd).into_iter().fold(Permissions::new(mode), Permissions::with_allowed);
    let mut agent = Agent::new(model)
        .with_tools(tools::all().with(AskUserQuestion { rules: source::rules(&settings) }))
        .with_system(system::prompt(&cwd))
        .with_permissions(permissions)
        .with_allowed_folders(folders)
        .with_protected_paths(sandbox::protected(&settings))
        .with_sandbox(sandbox)
        .with_secrets(secrets(&settings.pass_env, &environment::names().collect::<Vec<_>>()))
        .with_supervisor(supervisor())
        .with_deadline(settings.timeout)
        .with_context_window(settings.context_window)
        .with_origin(store::origin("askuser agent").with_folder(cwd.display().to_string()))
        .with_folder(cwd)
        .with_transcript(transcript);
    if let Some(max) = args.get_one::<u32>("max-requests") {
        agent = agent.with_max_requests(*max);
    }
    let again = session::Again::of(&args);
    match (wanted, surface) {
        (Some(wanted), _) => {
            headless::run(agent.with_retries_for(settings.retry_for), wanted, &settings, surfaces, &again)
        }
        (None, Some(surface)) => {
            let store = store::inbox_store(&settings, &surfaces)?;
            let surface = surface.kept_in(store.as_ref().map(store::at_the_terminal));
            let here = Some(surface.asker());
            if let Some(chain) = surfaces.chain(&settings, store.clone(), here, surface.teller())? {
                agent = agent.with_asker(Arc::new(chain));
            }
            // A user who resumes a session has already sent the script's opening.
            let resumes = args.get_flag("continue") || args.contains_id("resume");
            let opening = opening.filter(|_| !resumes || args.contains_id("message"));
            let ended = app::run(agent, surface, opening, &settings, again);
            store::flush(store)?;
            ended
        }
        (None, None) => Ok(failure::exit::BAD_INPUT),
    }
}

/// Returns the command of the supervisor, which ends unsandboxed commands when this process is gone. The supervisor is
/// this program with another command. The list is empty if the program's path is unknown.
fn supervisor() -> Vec<OsString> {
    match std::env::current_exe() {
        Ok(program) if cfg!(unix) && program.is_file() => vec![program.into(), "supervise".into()],
        _ => Vec::new(),
    }
}

/// Returns the keys of all providers, and the passwords in their addresses and in `others`.
pub(super) fn secrets(passed: &[String], others: &[String]) -> Secrets {
    let mut addresses: Vec<&str> = provider::address_variables().chain(["ASKUSER_BASE_URL"]).collect();
    addresses.extend(others.iter().map(String::as_str));
    // The token of a remote store could ask in this agent's name, so commands do not receive it.
    let keys: Vec<&str> = provider::key_variables().chain([store::TOKEN, "PGPASSWORD"]).collect();
    Secrets::in_variables(keys, addresses, environment::variable, passed)
}

/// Makes this process's memory unreadable for commands, which run as the same user and could read the keys there.
fn keep_memory_private() {
    #[cfg(target_os = "linux")]
    {
        use rustix::process::{DumpableBehavior, set_dumpable_behavior};
        // If the kernel refuses, the variables are still withheld and the values redacted.
        let _ = set_dumpable_behavior(DumpableBehavior::NotDumpable);
    }
}

fn folders(args: &ArgMatches) -> Result<Vec<PathBuf>, Failure> {
    let folder = |path: &String| {
        std::fs::canonicalize(path)
            .and_then(|folder| if folder.is_dir() { Ok(folder) } else { Err(std::io::ErrorKind::NotADirectory.into()) })
            .map_err(|error| {
                Failure::new(format!("--add-dir: cannot open {path}: {}, must be a folder", reason(&error)))
            })
    };
    args.get_many::<String>("add-dir").unwrap_or_default().map(folder).collect()
}

/// Opens the session to resume, in its own folder. Returns `None` if no session is to be resumed.
fn resumed(args: &ArgMatches) -> Result<Option<Transcript>, Failure> {
    let transcript = match args.get_one::<String>("resume") {
        Some(id) => session::open(id)?,
        None if args.get_flag("continue") => session::last(&current_folder()?)?,
        None => return Ok(None),
    };
    let cwd = transcript.cwd();
    if cwd.is_dir() {
        return Ok(Some(transcript));
    }
    Err(Failure::new(format!("session {} worked in {}, which is no longer a folder", transcript.id(), cwd.display())))
}

/// Rejects a single word that resembles a command. As a message it would be sent to a provider.
fn check_is_message(word: &str) -> Result<(), Failure> {
    let is_like = |name: &&str| (0.7..1.0).contains(&strsim::normalized_damerau_levenshtein(word, name));
    match ["sessions", "models", "export"].into_iter().find(is_like) {
        Some(name) => Err(Failure::new(format!("no command {word:?}"))
            .hint(format!("did you mean askuser agent {name}? As a message: askuser agent -p {word}"))),
        None => Ok(()),
    }
}

fn current_folder() -> Result<PathBuf, Failure> {
    std::env::current_dir().or_fail("cannot tell the current folder")
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    #[test]
    fn a_command_cannot_read_the_agents_memory() {
        use rustix::process::{DumpableBehavior, dumpable_behavior};
        super::keep_memory_private();
        assert_eq!(dumpable_behavior().unwrap(), DumpableBehavior::NotDumpable);
    }
}
