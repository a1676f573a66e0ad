//! Whose turn it is on a terminal that several prompts share, such as those of an agent that asks twice at once.
//!
//! Processes of one session have the same controlling terminal, so the turn is a lock on a file named after the session.
//! Where no such file can be made, prompts go on without turns.

use std::fs::{self, File, TryLockError};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::PathBuf;

use rustix::process::{getsid, getuid};

/// Held while a prompt has the terminal.
pub(super) struct Turn {
    // Keeps the lock.
    _file: File,
    path: PathBuf,
}

/// Why there is no turn.
pub(super) enum Taken {
    /// Another prompt has it.
    ByAnother,
    /// There are none to be had here.
    NoTurns,
}

impl Turn {
    /// Waits for this process's turn.
    pub(super) fn take() -> Option<Turn> {
        Turn::by(|file| file.lock().map_err(|_| Taken::NoTurns)).ok()
    }

    /// Takes the turn if nobody has it.
    pub(super) fn try_take() -> Result<Turn, Taken> {
        Turn::by(|file| {
            file.try_lock().map_err(|error| match error {
                TryLockError::WouldBlock => Taken::ByAnother,
                TryLockError::Error(_) => Taken::NoTurns,
            })
        })
    }

    fn by(lock: impl Fn(&File) -> Result<(), Taken>) -> Result<Turn, Taken> {
        let path = path().ok_or(Taken::NoTurns)?;
        let mut options = File::options();
        options.write(true).create(true).truncate(false).mode(0o600).custom_flags(libc::O_NOFOLLOW);
        loop {
            let file = options.open(&path).map_err(|_| Taken::NoTurns)?;
            lock(&file)?;
            // Whoever had the turn before may have removed the file meanwhile: then this lock is nobody else's.
            let there = fs::metadata(&path).map(|metadata| metadata.ino());
            if there.is_ok_and(|there| file.metadata().is_ok_and(|ours| ours.ino() == there)) {
                return Ok(Turn { _file: file, path });
            }
        }
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

fn path() -> Option<PathBuf> {
    let session = getsid(None).ok()?.as_raw_nonzero();
    let folder = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from).filter(|path| path.is_dir());
    let name = format!("askuser-{}-{session}.lock", getuid().as_raw());
    Some(folder.unwrap_or_else(std::env::temp_dir).join(name))
}
