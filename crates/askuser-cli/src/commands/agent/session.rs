//! Where sessions are kept, and which one to resume.

use crate::config;
use crate::failure::{self, Failure, OrFail};
use crate::state_folder::{check_state_folder, state_folder};
use askuser_agent::{AgentEvent, Session, Transcript, TranscriptError};
use std::path::{Path, PathBuf};

/// What decides about sessions, permissions and settings: only the user changes it without asking.
pub(crate) fn protected() -> Vec<PathBuf> {
    let config = config::user_folder(|name| std::env::var(name).ok());
    let real = |folder: PathBuf| folder.canonicalize().unwrap_or(folder);
    state_folder().ok().into_iter().chain(config).map(real).collect()
}

/// Where sessions are. Sessions that another user could have written there are not resumed.
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

/// The sessions of a folder, the last one first.
pub(crate) fn of_folder(cwd: &Path) -> Result<Vec<Session>, Failure> {
    Ok(Transcript::list(&folder()?).into_iter().filter(|session| session.cwd == cwd).collect())
}

pub(crate) fn open(id: &str) -> Result<Transcript, Failure> {
    Transcript::open(&folder()?, id).map_err(|error| match error {
        TranscriptError::Missing { .. } => {
            Failure::new(error).hint("askuser agent --continue resumes the last one of this folder")
        }
        TranscriptError::Damaged { line, .. } if line > 1 => {
            Failure::new(error).hint(format!(
                "`askuser agent --resume {id} --repair-transcript` cuts it off before that line and keeps a copy of the whole"
            ))
        }
        TranscriptError::Damaged { .. } => unusable(error),
        TranscriptError::InUse { .. } => {
            Failure::new(error).hint("`askuser agent sessions` lists the others, --resume ID resumes one")
        }
        _ => Failure::new(error),
    })
}

/// A session whose first line is damaged: nothing before it could be kept.
fn unusable(error: TranscriptError) -> Failure {
    Failure::new(error).hint(
        "the first line says which session it is, so nothing can be kept without it: fix the line by hand, or remove the \
         file; `askuser agent sessions` lists the others",
    )
}

/// Cuts a damaged session off before its first damaged line, and says where the copy is.
pub(crate) fn repair(id: &str) -> Result<(), Failure> {
    let repaired = Transcript::repair(&folder()?, id).map_err(|error| match error {
        TranscriptError::Damaged { .. } => unusable(error),
        _ => Failure::new(error),
    });
    if let Some(copy) = repaired? {
        let words = format!("session {id} was damaged and is cut off there; a copy of the whole is {}", copy.display());
        failure::notice(&words);
    }
    Ok(())
}

/// The last session of a folder with a prompt in it. If another process has it open, no other one is taken.
pub(crate) fn last(cwd: &Path, repairs: bool) -> Result<Transcript, Failure> {
    let last = of_folder(cwd)?.into_iter().find(|session| !session.opening.trim().is_empty());
    let Some(last) = last else { return Err(Failure::new(format!("there is no session of {} yet", cwd.display()))) };
    if repairs {
        repair(&last.id)?;
    }
    open(&last.id)
}
