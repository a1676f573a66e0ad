//! Who still waits: a process that waits holds a lock on a file of its own, which the system releases when it dies. No clock,
//! no heartbeat, and a process id that is used again fools nobody.

use askuser::store::StoreError;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

/// A lock that says that this process is there, for one of the things it may be there for. Dropping it says that it is not.
pub struct Presence {
    name: String,
    path: PathBuf,
    _lock: File,
}

impl Presence {
    /// Says that this process is there. `folder` holds the locks of all that are there for the same thing.
    ///
    /// # Errors
    /// Where the lock cannot be made.
    pub fn of_this_process(folder: &Path) -> Result<Presence, StoreError> {
        // Several stores of one process, or a process id of another container, must not meet.
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
        let name = format!("{}-{since:x}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let path = folder.join(&name);
        let take = || {
            private_folder(folder)?;
            let lock = private_options().create_new(true).open(&path)?;
            lock.try_lock()?;
            Ok::<_, io::Error>(lock)
        };
        let lock = take().map_err(|error| StoreError::broken(format!("cannot make {}", path.display()), error))?;
        Ok(Presence { name, path, _lock: lock })
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Whether the process that has this name still lives. What one that died has left behind is removed.
    pub(crate) fn is_alive(folder: &Path, name: &str) -> bool {
        let path = folder.join(name);
        let Ok(file) = File::open(&path) else { return false };
        match file.try_lock_shared() {
            Err(TryLockError::WouldBlock) => true,
            // Where there are no locks, whoever has not said that they left is taken to be there.
            Err(TryLockError::Error(_)) => true,
            Ok(()) => {
                let _ = fs::remove_file(&path);
                false
            }
        }
    }
}

impl Presence {
    /// Whether any process is there.
    pub fn is_anybody(folder: &Path) -> bool {
        let Ok(entries) = fs::read_dir(folder) else { return false };
        entries.flatten().any(|entry| entry.file_name().to_str().is_some_and(|name| Presence::is_alive(folder, name)))
    }
}

impl std::fmt::Debug for Presence {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Presence").field("name", &self.name).finish_non_exhaustive()
    }
}

impl Drop for Presence {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

/// Where the locks are of the processes that wait for answers of a store.
pub(crate) fn waiting(store: &Path) -> PathBuf {
    let mut name = store.file_name().unwrap_or_default().to_owned();
    name.push("-waiting");
    store.with_file_name(name)
}

fn private_folder(path: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)
}

pub(crate) fn private_options() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.read(true).write(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

/// Makes the store's file, for this user alone, where it does not exist; refuses one that others own or can write. What
/// SQLite puts beside it takes over its mode.
pub(crate) fn private_file(path: &Path) -> Result<(), StoreError> {
    let failed = |error: io::Error| StoreError::broken(format!("cannot open {}", path.display()), error);
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        private_folder(folder).map_err(failed)?;
    }
    match private_options().create_new(true).open(path) {
        Ok(_) => {
            // The name must survive as the content does.
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
    // Before its mode is looked at: nobody should be told to change that of a folder.
    if !metadata.is_file() {
        return Err(io::Error::other("it is no regular file, must be one"));
    }
    let (owner, us) = (metadata.uid(), rustix::process::geteuid().as_raw());
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
