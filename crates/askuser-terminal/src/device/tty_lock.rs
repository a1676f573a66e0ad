//! A lock between processes, so that only one prompt at a time uses a terminal.
//!
//! The lock is a file lock on the terminal's own device file. `/dev/tty` cannot be used, because it is the same file
//! for every terminal. If the device file is not found, the lock is on a file named after the session. The processes of
//! a session share their terminal. If that file cannot be created either, prompts run without a lock.

use std::fs::{self, File, TryLockError};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::PathBuf;

use rustix::process::{getsid, getuid};
#[cfg(target_os = "linux")]
use rustix::termios::tcgetpgrp;

/// The lock on a terminal while a prompt uses it. Dropping it releases the lock.
pub(super) struct TtyLock {
    // Closing the file releases the lock.
    _file: File,
    /// The path of the session's lock file, which is removed together with the lock. `None` if the lock is on a device
    /// file.
    path: Option<PathBuf>,
}

impl TtyLock {
    /// Waits for the lock. Returns `None` if no file can be locked.
    pub(super) fn acquire(tty: &File) -> Option<TtyLock> {
        TtyLock::acquire_with(tty, |file| file.lock().map_err(TryLockError::Error)).ok()
    }

    /// Acquires the lock if it is free.
    ///
    /// # Errors
    /// Returns `WouldBlock` if another prompt holds the lock, and any other error if no file can be locked.
    pub(super) fn try_acquire(tty: &File) -> Result<TtyLock, TryLockError> {
        TtyLock::acquire_with(tty, File::try_lock)
    }

    fn acquire_with(tty: &File, lock: impl Fn(&File) -> Result<(), TryLockError>) -> Result<TtyLock, TryLockError> {
        if let Some(file) = device_file(tty) {
            return lock(&file).map(|()| TtyLock { _file: file, path: None });
        }
        let path = session_file().map_err(TryLockError::Error)?;
        let mut options = File::options();
        options.write(true).create(true).truncate(false).mode(0o600).custom_flags(libc::O_NOFOLLOW);
        loop {
            let file = options.open(&path).map_err(TryLockError::Error)?;
            lock(&file)?;
            // The previous holder may have removed the file meanwhile. A lock on a removed file excludes no other
            // prompt.
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

/// Opens the terminal by its own name, which is found by its device number. `None` if the name is not found or belongs
/// to another terminal.
#[cfg(target_os = "linux")]
fn device_file(tty: &File) -> Option<File> {
    use std::os::fd::AsRawFd;
    let mut device: u32 = 0;
    // SAFETY: TIOCGDEV writes one unsigned integer to the given address.
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
    // Opening the file must neither make it the controlling terminal, nor wait for the carrier of a serial line.
    options.read(true).write(true).custom_flags(libc::O_NOCTTY | libc::O_NONBLOCK);
    let file = options.open(path).ok()?;
    // In a container the name may belong to another terminal. Only the controlling terminal reports its foreground
    // group.
    tcgetpgrp(&file).is_ok().then_some(file)
}

#[cfg(not(target_os = "linux"))]
fn device_file(_tty: &File) -> Option<File> {
    None
}

fn session_file() -> io::Result<PathBuf> {
    let session = getsid(None)?.as_raw_nonzero();
    let folder = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from).filter(|path| path.is_dir());
    let name = format!("askuser-{}-{session}.lock", getuid().as_raw());
    Ok(folder.unwrap_or_else(std::env::temp_dir).join(name))
}
