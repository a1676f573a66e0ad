//! Whose turn it is on a terminal that several prompts share, such as those of an agent that asks twice at once.
//!
//! The turn is a lock on the terminal's own device file. `/dev/tty` will not do: it is the same file for every terminal.
//! Where a system does not tell which one it stands for, the lock is on a file named after the session, since processes
//! of one session have the same terminal. Where even that cannot be made, prompts go on without turns.

use std::fs::{self, File, TryLockError};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::PathBuf;

use rustix::process::{getsid, getuid};
#[cfg(target_os = "linux")]
use rustix::termios::tcgetpgrp;

/// Held while a prompt has the terminal.
pub(super) struct TtyLock {
    // Keeps the lock.
    _file: File,
    /// A file that is there for the lock alone, and goes with it.
    path: Option<PathBuf>,
}

/// Why there is no turn.
pub(super) enum LockError {
    /// Another prompt has it.
    Held,
    /// There are none to be had here.
    Unsupported,
}

impl TtyLock {
    /// Waits for this process's turn on a terminal.
    pub(super) fn acquire(tty: &File) -> Option<TtyLock> {
        TtyLock::acquire_with(tty, |file| file.lock().map_err(|_| LockError::Unsupported)).ok()
    }

    /// Takes the turn if nobody has it.
    pub(super) fn try_acquire(tty: &File) -> Result<TtyLock, LockError> {
        TtyLock::acquire_with(tty, |file| {
            file.try_lock().map_err(|error| match error {
                TryLockError::WouldBlock => LockError::Held,
                TryLockError::Error(_) => LockError::Unsupported,
            })
        })
    }

    fn acquire_with(tty: &File, lock: impl Fn(&File) -> Result<(), LockError>) -> Result<TtyLock, LockError> {
        if let Some(file) = device_file(tty) {
            return lock(&file).map(|()| TtyLock { _file: file, path: None });
        }
        let path = session_file().ok_or(LockError::Unsupported)?;
        let mut options = File::options();
        options.write(true).create(true).truncate(false).mode(0o600).custom_flags(libc::O_NOFOLLOW);
        loop {
            let file = options.open(&path).map_err(|_| LockError::Unsupported)?;
            lock(&file)?;
            // Whoever had the turn before may have removed the file meanwhile: then this lock is nobody else's.
            let there = fs::metadata(&path).map(|metadata| metadata.ino());
            if there.is_ok_and(|there| file.metadata().is_ok_and(|ours| ours.ino() == there)) {
                return Ok(TtyLock { _file: file, path: Some(path) });
            }
        }
    }
}

impl Drop for TtyLock {
    fn drop(&mut self) {
        if let Some(path) = &self.path {
            let _ = fs::remove_file(path);
        }
    }
}

/// The terminal by its own name, found by the number of its device.
#[cfg(target_os = "linux")]
fn device_file(tty: &File) -> Option<File> {
    use std::os::fd::AsRawFd;
    let mut device: u32 = 0;
    // SAFETY: this request writes one unsigned integer, to where it is told.
    #[allow(unsafe_code)]
    let failed = unsafe { libc::ioctl(tty.as_raw_fd(), libc::TIOCGDEV, &raw mut device) } != 0;
    if failed {
        return None;
    }
    let (major, minor) = ((device >> 8) & 0xfff, (device & 0xff) | ((device >> 12) & 0xf_ff00));
    let path = match major {
        136 => format!("/dev/pts/{minor}"),
        _ => format!("/dev/char/{major}:{minor}"),
    };
    let mut options = File::options();
    // A serial line would wait for its modem otherwise, and a terminal become this session's.
    options.read(true).write(true).custom_flags(libc::O_NOCTTY | libc::O_NONBLOCK);
    let file = options.open(path).ok()?;
    // In a container the name may belong to another terminal; only the controlling one tells its foreground group.
    tcgetpgrp(&file).is_ok().then_some(file)
}

#[cfg(not(target_os = "linux"))]
fn device_file(_tty: &File) -> Option<File> {
    None
}

fn session_file() -> Option<PathBuf> {
    let session = getsid(None).ok()?.as_raw_nonzero();
    let folder = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from).filter(|path| path.is_dir());
    let name = format!("askuser-{}-{session}.lock", getuid().as_raw());
    Some(folder.unwrap_or_else(std::env::temp_dir).join(name))
}
