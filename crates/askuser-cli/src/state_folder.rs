//! The folder of this user's sessions, permissions and questions.

use crate::config::Settings;
use crate::failure::Failure;
use crate::ownership::check_writers;
use askuser_agent::regular_file::{self, Links};
use std::fs::Metadata;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// Returns the state folder: `$XDG_STATE_HOME/askuser`, or a folder below `~/.local/state`. It contains all lasting
/// data except configuration.
pub(crate) fn state_folder() -> Result<PathBuf, Failure> {
    let variable = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    variable("XDG_STATE_HOME")
        .or_else(|| variable("LOCALAPPDATA").filter(|_| cfg!(windows)))
        .or_else(|| variable("HOME").map(|home| home.join(".local/state")))
        .map(|folder| folder.join("askuser"))
        .ok_or_else(|| Failure::new("there is no state folder: neither XDG_STATE_HOME nor HOME is an absolute path"))
}

/// Returns the path of the inbox file according to the settings.
pub(crate) fn inbox_file(settings: &Settings) -> Result<PathBuf, Failure> {
    let path = match &settings.store {
        Some(path) => path.clone(),
        // The inbox has a separate folder, because waiting processes watch every change in it.
        None => state_folder()?.join("inbox").join("inbox.sqlite"),
    };
    std::path::absolute(&path).map_err(|error| Failure::new(format!("store: {}: {error}", path.display())))
}

/// Checks that only this user could have written to the state folder, or replaced it by another folder.
pub(crate) fn check_state_folder(state: &Path) -> Result<(), Failure> {
    let untrusted = |folder: &Path, error: io::Error| {
        let shown = folder.display();
        Failure::new(format!("{shown} {error}")).hint(format!(
            "`chown $(id -u) {shown}` and `chmod go-w {shown}`, or set XDG_STATE_HOME to a folder of yours"
        ))
    };
    if let Some(above) = state.parent()
        && let Ok(metadata) = above.metadata()
    {
        check_writers(&metadata).map_err(|error| untrusted(above, error))?;
    }
    for folder in [state.to_owned(), state.join("sessions"), state.join("inbox")] {
        trusted(&folder).map_err(|error| untrusted(&folder, error))?;
    }
    Ok(())
}

/// Checks that only this user could have written a file, or that the file does not exist. Such a file determines which
/// commands run without asking.
pub(crate) fn trusted(path: &Path) -> io::Result<()> {
    match path.metadata() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        metadata => check_access(&metadata?, 0o022, "writable"),
    }
}

/// Reads a secret of at most `max_bytes` from a file that no other user can read or write.
pub(crate) fn read_secret(path: &Path, links: Links, max_bytes: u64) -> io::Result<String> {
    let file = regular_file::open(path, links)?;
    check_access(&file.metadata()?, 0o077, "readable")?;
    let mut bytes = Vec::new();
    file.take(max_bytes).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(unix)]
fn check_access(metadata: &Metadata, refused: u32, what: &str) -> io::Result<()> {
    use std::os::unix::fs::MetadataExt;
    let owner = metadata.uid();
    let us = rustix::process::geteuid().as_raw();
    if owner != us {
        return Err(io::Error::other(format!("is owned by user {owner}, must be owned by you (user {us})")));
    }
    match metadata.mode() & refused {
        0 => Ok(()),
        _ => Err(io::Error::other(format!(
            "has mode {:03o}, must not be {what} by the group or by others",
            metadata.mode() & 0o777
        ))),
    }
}

#[cfg(not(unix))]
fn check_access(_: &Metadata, _: u32, _: &str) -> io::Result<()> {
    Ok(())
}

#[cfg(unix)]
#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt, chown};

    #[test]
    fn a_state_folder_whose_place_or_inbox_is_open_to_others_is_not_trusted() {
        let home = tempfile::tempdir().unwrap();
        let place = home.path().join("state");
        let state = home.path().join("state/askuser");
        assert!(check_state_folder(&state).is_ok(), "what is not there yet will be ours");
        std::fs::create_dir_all(state.join("inbox")).unwrap();
        let set_mode = |path: &Path, mode| {
            std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
        };
        for folder in [&place, &state, &state.join("inbox")] {
            set_mode(folder, 0o700);
        }
        for folder in [&place, &state, &state.join("inbox")] {
            assert!(check_state_folder(&state).is_ok());
            set_mode(folder, 0o777);
            let message = check_state_folder(&state).unwrap_err().message;
            assert!(message.starts_with(&format!("{} has mode 777", folder.display())), "{message}");
            set_mode(folder, 0o700);
            // Only root can change the owner of a folder.
            if chown(folder, Some(65534), None).is_ok() {
                let message = check_state_folder(&state).unwrap_err().message;
                assert!(message.starts_with(&format!("{} is owned by user 65534", folder.display())), "{message}");
                chown(folder, Some(0), None).unwrap();
            }
        }
    }

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
        // Only root can change the owner of a file.
        if chown(&file, Some(12345), None).is_ok() {
            assert!(trusted(&file).unwrap_err().to_string().starts_with("is owned by user 12345"));
        }
    }
}
