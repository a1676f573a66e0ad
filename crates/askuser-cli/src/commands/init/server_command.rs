//! The command that a client starts. It is `askuser` if the PATH leads to this very program, and its full path
//! otherwise.
//!
//! The name alone survives an upgrade that moves the program. It is also valid on every machine that shares a project's
//! file. A client that is started from a desktop may lack the PATH of this shell. The user's own file therefore
//! contains the full path. Links in that path are not resolved, because package managers move the target.

use std::path::{Path, PathBuf};

const NAME: &str = "askuser";

/// Finds programs on the PATH, like a shell.
pub(super) struct Programs {
    folders: Vec<PathBuf>,
}

impl Programs {
    pub(super) fn of(path: Option<std::ffi::OsString>) -> Programs {
        let folders = path.map(|path| std::env::split_paths(&path).filter(|folder| folder.is_absolute()).collect());
        Programs { folders: folders.unwrap_or_default() }
    }

    pub(super) fn find(&self, name: &str) -> Option<PathBuf> {
        let file = format!("{name}{}", std::env::consts::EXE_SUFFIX);
        self.folders.iter().map(|folder| folder.join(&file)).find(|path| is_executable(path))
    }

    /// Returns the command to start. `this` is the running program.
    pub(super) fn command(&self, this: &Path, is_desktop: bool) -> String {
        let is_this = |found: &PathBuf| found.canonicalize().ok() == this.canonicalize().ok();
        match self.find(NAME).filter(is_this) {
            Some(found) if is_desktop => found.display().to_string(),
            Some(_) => NAME.to_owned(),
            None => this.display().to_string(),
        }
    }
}

#[cfg(unix)]
fn is_executable(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    path.metadata().is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
}

#[cfg(not(unix))]
fn is_executable(path: &Path) -> bool {
    path.is_file()
}
