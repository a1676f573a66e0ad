//! Where sessions are kept, and which one to take up.

use askuser_agent::{Session, Transcript, TranscriptError};
use askuser_cli::config;
use askuser_cli::failure::Failure;
use std::path::{Path, PathBuf};

/// What outlives a session but is nobody's configuration: `$XDG_STATE_HOME/askuser`, or under `~/.local/state`.
pub(crate) fn state_folder() -> Result<PathBuf, Failure> {
    let variable = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    variable("XDG_STATE_HOME")
        .or_else(|| variable("LOCALAPPDATA").filter(|_| cfg!(windows)))
        .or_else(|| variable("HOME").map(|home| home.join(".local/state")))
        .map(|folder| folder.join("askuser"))
        .ok_or_else(|| {
            Failure::new(
                "there is no folder to keep the session in: neither XDG_STATE_HOME nor HOME is an absolute path",
            )
        })
}

/// What decides about sessions, permissions and settings: nobody but the user changes it without asking.
pub(crate) fn protected() -> Vec<PathBuf> {
    let config = config::user_folder(|name| std::env::var(name).ok());
    let real = |folder: PathBuf| folder.canonicalize().unwrap_or(folder);
    state_folder().ok().into_iter().chain(config).map(real).collect()
}

fn folder() -> Result<PathBuf, Failure> {
    Ok(state_folder()?.join("sessions"))
}

pub(crate) fn new(cwd: &Path) -> Result<Transcript, Failure> {
    Transcript::create(&folder()?, cwd).map_err(|error| Failure::new(format!("cannot keep the session: {error}")))
}

/// The sessions of a folder, the last one first.
pub(crate) fn of_folder(cwd: &Path) -> Result<Vec<Session>, Failure> {
    Ok(Transcript::list(&folder()?).into_iter().filter(|session| session.cwd == cwd).collect())
}

pub(crate) fn open(id: &str) -> Result<Transcript, Failure> {
    Transcript::open(&folder()?, id).map_err(|error| match error {
        TranscriptError::Missing { .. } => {
            Failure::new(error).hint("askuser agent --continue takes up the last one of this folder")
        }
        _ => Failure::new(error),
    })
}

/// The last session of a folder in which something was said, and which nobody else has open.
pub(crate) fn last(cwd: &Path) -> Result<Transcript, Failure> {
    let mut in_use = None;
    for session in of_folder(cwd)?.into_iter().filter(|session| !session.opening.trim().is_empty()) {
        match Transcript::open(&folder()?, &session.id) {
            Err(error @ TranscriptError::InUse { .. }) => in_use = in_use.or(Some(error)),
            opened => return opened.map_err(Failure::new),
        }
    }
    Err(match in_use {
        Some(error) => Failure::new(error).hint("it is the only one of this folder"),
        None => Failure::new(format!("there is no session of {} yet", cwd.display())),
    })
}
