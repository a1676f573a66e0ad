//! Detects live processes. Each process that uses a store locks its own file. The system releases the lock when the
//! process dies. So no clock and no heartbeat is needed, and reused process ids do no harm.

use askuser::store::StoreError;
use askuser_sys::random;
use askuser_sys::regular_file::{make_private_folder, private};
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

/// The lock of this process, which shows other processes that it is alive. Dropping the lock shows that it has left.
pub(crate) struct ProcessLock {
    name: String,
    path: PathBuf,
    _lock: File,
}

impl ProcessLock {
    /// Creates and locks the file of this process. `folder` has the locks of all processes that use the same store.
    pub(crate) fn take(folder: &Path) -> Result<ProcessLock, StoreError> {
        let failed = |error: io::Error| StoreError::unavailable(format!("cannot lock in {}", folder.display()), error);
        loop {
            let name = random::id().map_err(failed)?;
            let path = folder.join(&name);
            let take = || {
                make_private_folder(folder)?;
                let lock = private().create_new(true).open(&path)?;
                lock.try_lock()?;
                Ok::<_, io::Error>(lock)
            };
            match take() {
                Ok(lock) if path.exists() => return Ok(ProcessLock { _lock: lock, name, path }),
                Err(error) if error.kind() != io::ErrorKind::WouldBlock => return Err(failed(error)),
                // Another process has removed the file as that of a dead process before it was locked. So this tries
                // again.
                _ => {}
            }
        }
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }
}

impl Drop for ProcessLock {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

/// Whether the process with this name is alive. The name comes from the store, so it is not trusted. A name that no
/// lock can have belongs to no process.
pub(crate) fn is_alive(folder: &Path, name: &str) -> bool {
    let Some(path) = path_of(folder, name) else { return false };
    match File::open(&path) {
        // On a file system without locks, a process that has not reported leaving counts as alive.
        Ok(file) => file.try_lock_shared().is_err(),
        // A lock that cannot be opened counts as held, because this process may have too many open files.
        Err(error) => !matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::InvalidFilename),
    }
}

/// Removes the locks of processes that have died.
pub(crate) fn forget_dead(folder: &Path) {
    let names = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.file_name());
    for path in names.filter_map(|name| path_of(folder, name.to_str()?)) {
        // The file is locked while it is removed. So a process that has just created it notices and creates another.
        if let Ok(lock) = File::open(&path)
            && lock.try_lock().is_ok()
        {
            let _ = fs::remove_file(&path);
        }
    }
}

/// Returns the path of a lock; `None` if the name does not consist of hexadecimal digits.
fn path_of(folder: &Path, name: &str) -> Option<PathBuf> {
    (!name.is_empty() && name.bytes().all(|byte| byte.is_ascii_hexdigit())).then(|| folder.join(name))
}

/// Returns the folder with the locks of the processes that use a store.
pub fn waiting_folder(store: &Path) -> PathBuf {
    let mut name = store.file_name().unwrap_or_default().to_owned();
    name.push("-waiting");
    store.with_file_name(name)
}

/// Creates the file of a store for this user alone, if it does not exist. The files that SQLite adds get the same mode.
///
/// # Errors
/// If the file cannot be created, or other users own it or can access it.
pub(crate) fn private_file(path: &Path) -> Result<(), StoreError> {
    let failed = |error: io::Error| StoreError::unavailable(format!("cannot open {}", path.display()), error);
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        make_private_folder(folder).map_err(failed)?;
    }
    match private().create_new(true).open(path) {
        Ok(_) => {
            // The file's name must survive a crash, like its content.
            #[cfg(unix)]
            if let Some(folder) = path.parent() {
                let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
                File::open(folder).and_then(|folder| folder.sync_all()).map_err(failed)?;
            }
            Ok(())
        }
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => trusted(path).map_err(failed),
        Err(error) => Err(failed(error)),
    }
}

#[cfg(unix)]
fn trusted(path: &Path) -> io::Result<()> {
    use std::os::unix::fs::MetadataExt;
    let metadata = path.metadata()?;
    // This check comes before that of the mode. Otherwise the error could tell the user to change the mode of a folder.
    if !metadata.is_file() {
        return Err(io::Error::other("it is no regular file, must be one"));
    }
    let owner = metadata.uid();
    let us = rustix::process::geteuid().as_raw();
    if owner != us {
        return Err(io::Error::other(format!("it is owned by user {owner}, must be owned by you (user {us})")));
    }
    if metadata.mode() & 0o077 != 0 {
        let mode = metadata.mode() & 0o777;
        return Err(io::Error::other(format!("it has mode {mode:03o}, must be yours alone: `chmod 600` it")));
    }
    Ok(())
}

#[cfg(not(unix))]
fn trusted(_: &Path) -> io::Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_that_is_being_made_is_not_a_dead_ones() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        std::thread::scope(|scope| {
            let taking = scope.spawn(|| {
                for _ in 0..500 {
                    let lock = ProcessLock::take(folder).unwrap();
                    assert!(is_alive(folder, lock.name()));
                }
            });
            while !taking.is_finished() {
                forget_dead(folder);
            }
        });
    }
}
