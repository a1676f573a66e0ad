//! Where sessions are kept, and which one to take up.

use askuser_agent::{Session, Transcript, TranscriptError};
use askuser_cli::config;
use askuser_cli::failure::{self, Failure};
use std::io;
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

/// Where sessions are. What somebody else could have written there is not taken up.
fn folder() -> Result<PathBuf, Failure> {
    let state = state_folder()?;
    let sessions = state.join("sessions");
    for folder in [&state, &sessions] {
        trusted(folder).map_err(|error| {
            let shown = folder.display();
            Failure::new(format!("{shown} {error}")).hint(format!(
                "`chown $(id -u) {shown}` and `chmod go-w {shown}`, or set XDG_STATE_HOME to a folder of yours"
            ))
        })?;
    }
    Ok(sessions)
}

/// Whether nobody but this user can have written it, or it does not exist. What is in the state folder decides what runs
/// without asking.
#[cfg(unix)]
pub(crate) fn trusted(path: &Path) -> io::Result<()> {
    use std::os::unix::fs::MetadataExt;
    let metadata = match path.metadata() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        metadata => metadata?,
    };
    let (owner, us) = (metadata.uid(), rustix::process::geteuid().as_raw());
    if owner != us {
        return Err(io::Error::other(format!("is owned by user {owner}, must be owned by you (user {us})")));
    }
    match metadata.mode() & 0o022 {
        0 => Ok(()),
        _ => Err(io::Error::other(format!(
            "has mode {:03o}, must not be writable by the group or by others",
            metadata.mode() & 0o777
        ))),
    }
}

#[cfg(not(unix))]
pub(crate) fn trusted(_: &Path) -> io::Result<()> {
    Ok(())
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
        TranscriptError::Damaged { line, .. } if line > 1 => {
            Failure::new(error).hint(format!(
                "`askuser agent --resume {id} --repair-transcript` cuts it off before that line and keeps a copy of the whole"
            ))
        }
        _ => Failure::new(error),
    })
}

/// Cuts a damaged session off before its first damaged line, and says where the copy is.
pub(crate) fn repair(id: &str) -> Result<(), Failure> {
    if let Some(copy) = Transcript::repair(&folder()?, id).map_err(Failure::new)? {
        let words = format!("session {id} was damaged and is cut off there; a copy of the whole is {}", copy.display());
        failure::notice("askuser", &words);
    }
    Ok(())
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

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt, chown};

    #[test]
    fn what_others_can_write_or_own_is_not_trusted() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        assert!(trusted(&file).is_ok(), "what is not there yet will be ours");
        std::fs::write(&file, "").unwrap();
        for (mode, is_trusted) in [(0o600, true), (0o644, true), (0o620, false), (0o602, false), (0o666, false)] {
            std::fs::set_permissions(&file, std::fs::Permissions::from_mode(mode)).unwrap();
            assert_eq!(trusted(&file).is_ok(), is_trusted, "{mode:o}");
        }
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).unwrap();
        // Only root can give a file away.
        if chown(&file, Some(12345), None).is_ok() {
            assert!(trusted(&file).unwrap_err().to_string().starts_with("is owned by user 12345"));
        }
    }
}
