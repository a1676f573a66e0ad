//! Where this user's sessions, permissions and questions are kept.

use askuser_cli::failure::Failure;
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
            Failure::new("there is no folder to keep anything in: neither XDG_STATE_HOME nor HOME is an absolute path")
        })
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
