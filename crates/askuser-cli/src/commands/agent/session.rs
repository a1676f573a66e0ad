//! The folder of sessions, and the choice of one to resume.

use crate::config;
use crate::failure::{Failure, OrFail};
use crate::notifier::popup::shell_quoted;
use crate::state_folder::{check_state_folder, state_folder};
use askuser_agent::{AgentEvent, Session, Transcript, TranscriptError};
use clap::ArgMatches;
use std::path::{Path, PathBuf};

/// The options that have to be repeated to resume a session. The session does not record the source of its model's
/// answers.
#[derive(Clone, Debug, Default)]
pub(crate) struct Again(Vec<String>);

impl Again {
    pub(crate) fn of(args: &ArgMatches) -> Again {
        let given = |(id, name): (&str, &str)| {
            let value = args.get_one::<String>(id)?;
            let is_plain = value.chars().all(|c| c.is_ascii_alphanumeric() || "/._-:".contains(c));
            Some([format!("--{name}"), if is_plain { value.clone() } else { shell_quoted(value) }])
        };
        Again([("script", "script"), ("base_url", "base-url")].into_iter().filter_map(given).flatten().collect())
    }

    /// Returns the command that resumes a session.
    pub(crate) fn command(&self, id: &str) -> String {
        let words = ["askuser", "agent", "--resume", id].into_iter().map(str::to_owned);
        words.chain(self.0.iter().cloned()).collect::<Vec<_>>().join(" ")
    }
}

/// Returns the files that control sessions, permissions and settings. Only the user may change them without a
/// permission.
pub(crate) fn protected() -> Vec<PathBuf> {
    let config = config::user_folder(|name| std::env::var(name).ok());
    let real = |folder: PathBuf| folder.canonicalize().unwrap_or(folder);
    state_folder().ok().into_iter().chain(config).map(real).collect()
}

/// Returns the folder of sessions. Fails if another user could write to the folder, because such sessions are not
/// resumed.
pub(crate) fn folder() -> Result<PathBuf, Failure> {
    let state = state_folder()?;
    check_state_folder(&state)?;
    Ok(state.join("sessions"))
}

pub(crate) fn new(cwd: &Path) -> Result<Transcript, Failure> {
    Transcript::create(&folder()?, cwd).or_fail("cannot keep the session")
}

pub(crate) fn events(id: &str) -> Result<Vec<AgentEvent>, Failure> {
    Transcript::events(&folder()?, id).map_err(|error| Failure::new(error).hint("`askuser agent sessions` lists them"))
}

/// Returns the sessions of a folder, the latest first.
pub(crate) fn of_folder(cwd: &Path) -> Result<Vec<Session>, Failure> {
    Ok(Transcript::list(&folder()?).into_iter().filter(|session| session.cwd == cwd).collect())
}

pub(crate) fn open(id: &str) -> Result<Transcript, Failure> {
    Transcript::open(&folder()?, id).map_err(|error| match error {
        TranscriptError::Missing { .. } => {
            Failure::new(error).hint("askuser agent --continue resumes the last one of this folder")
        }
        TranscriptError::Damaged { .. } => Failure::new(error)
            .hint("fix the line by hand, or begin a new session; `askuser agent sessions` lists the others"),
        TranscriptError::InUse { .. } => {
            Failure::new(error).hint("`askuser agent sessions` lists the others, --resume ID resumes one")
        }
        _ => Failure::new(error),
    })
}

/// Opens the latest session of a folder that contains a message. If another process has that session open, this is an
/// error and no other session is opened.
pub(crate) fn last(cwd: &Path) -> Result<Transcript, Failure> {
    let last = of_folder(cwd)?.into_iter().find(|session| !session.opening.trim().is_empty());
    let Some(last) = last else { return Err(Failure::new(format!("there is no session of {} yet", cwd.display()))) };
    open(&last.id)
}
