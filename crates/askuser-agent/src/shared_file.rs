//! Changes a file that other programs may write concurrently, without losing their changes.
//!
//! The new content is written to a temporary file in the same folder and synced. Then the two files exchange names
//! atomically. If the old file is not the one that was read, another program has saved meanwhile. The names are then
//! exchanged back until the last save is in place.
//!
//! A program that saves by renaming, as most editors do, never loses a save. A program that writes into the file loses
//! only writes after the check, because its open file is removed then. If a save cannot be put back, it stays in the
//! temporary file. That also holds if this process is killed before.
//!
//! Linux and macOS can exchange two files. On file systems that cannot, such as NFS, the file is not replaced. Windows
//! cannot exchange files: there the file is moved aside and checked, and the new file takes its place. For a moment no
//! file exists at the path. macOS is not tested.

use crate::atomic_file::{FilePermissions, create_temporary, open_folder, prepare, sync};
use cap_fs_ext::{FollowSymlinks, OpenOptionsFollowExt, OpenOptionsSyncExt};
use cap_std::fs::{Dir, OpenOptions};
use std::ffi::OsStr;
use std::fs::Metadata;
use std::io::{self, Read};
use std::path::Path;

/// The content and the metadata of a file when it was read.
#[derive(Clone, Debug)]
pub struct Original {
    /// The content of the file.
    pub bytes: Vec<u8>,
    /// The owner and the permissions of the file.
    pub metadata: Metadata,
}

/// The intended change of a file.
#[derive(Clone, Copy, Debug)]
pub enum Update<'a> {
    /// Creates a file with this content. The file must not exist.
    Create(&'a [u8]),
    /// Replaces the content, and keeps the owner and the permissions.
    Replace(&'a Original, &'a [u8]),
    /// Removes the file.
    Remove(&'a Original),
}

/// The reason why a file was not changed.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs)]
#[non_exhaustive]
pub enum UpdateError {
    /// Another program saved, removed or created the file meanwhile. The file of that program stays.
    #[error("it was changed by another program meanwhile")]
    ChangedMeanwhile,
    /// The file system cannot exchange two files, so the change could lose another program's save.
    #[error("this file system cannot exchange two files, so a save of another program could be lost")]
    CannotExchange,
    /// Another program saved the file meanwhile. That save is not in place, but in the file `kept` in the same folder.
    #[error(
        "it was saved by another program meanwhile, and that cannot be put back; it is beside it as {kept}: {source}"
    )]
    LeftAside { kept: String, source: io::Error },
    /// A step failed. The file is unchanged.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// Changes the file at `path` atomically. Its folder must exist. A symbolic link is replaced, not followed.
///
/// # Errors
/// If the file differs from the one that was read, or a step fails.
pub fn update(path: &Path, update: Update<'_>) -> Result<(), UpdateError> {
    let (folder, name) = open_folder(path)?;
    update_in(&folder, name, update)
}

pub(crate) fn update_in(folder: &Dir, name: &OsStr, update: Update<'_>) -> Result<(), UpdateError> {
    let temporary = match update {
        Update::Create(content) => prepare(folder, content, FilePermissions::Default)?,
        Update::Replace(original, content) => prepare(folder, content, FilePermissions::LikeOld(&original.metadata))?,
        // The removal needs only the name of the temporary file.
        Update::Remove(_) => create_temporary(folder, FilePermissions::OwnerOnly)?.0,
    };
    let pair = Pair { folder, name, temporary };
    let done = match update {
        Update::Create(_) => pair.place().map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => UpdateError::ChangedMeanwhile,
            _ => error.into(),
        }),
        // The first check finds most concurrent changes before other programs could see the new file.
        Update::Replace(original, _) | Update::Remove(original) if !pair.is(name, original) => {
            Err(UpdateError::ChangedMeanwhile)
        }
        Update::Replace(original, _) => pair.replace(original),
        Update::Remove(original) => pair.take_away(original),
    };
    pair.settle(done)
}

/// The name of a file in a folder, and a temporary file in the same folder.
struct Pair<'a> {
    folder: &'a Dir,
    name: &'a OsStr,
    temporary: String,
}

/// The identity and the state of a file, as far as its metadata shows them.
#[cfg(any(target_os = "linux", target_os = "android", target_vendor = "apple"))]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Identity {
    device: u64,
    inode: u64,
    length: u64,
    modified: Option<std::time::SystemTime>,
}

impl Pair<'_> {
    /// Moves the temporary file to the name if no file has that name.
    fn place(&self) -> io::Result<()> {
        match self.move_to_free_place() {
            // A hard link does not replace a file either. Some file systems have no hard links.
            Err(error) if cannot(&error) => self.link_to_free_place(),
            moved => moved,
        }
    }

    fn link_to_free_place(&self) -> io::Result<()> {
        self.folder.hard_link(&self.temporary, self.folder, self.name)?;
        self.folder.remove_file(&self.temporary)
    }

    /// Removes the temporary file, unless it is the only copy of another program's save. Returns `done`.
    fn settle(&self, done: Result<(), UpdateError>) -> Result<(), UpdateError> {
        if !matches!(done, Err(UpdateError::LeftAside { .. })) {
            let _ = self.folder.remove_file(&self.temporary);
        }
        if done.is_ok() {
            sync(self.folder);
        }
        done
    }

    /// Moves the file to the temporary name and checks it. If another program changed it meanwhile, moves it back.
    fn take_away(&self, original: &Original) -> Result<(), UpdateError> {
        self.folder.rename(self.name, self.folder, &self.temporary).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => UpdateError::ChangedMeanwhile,
            _ => error.into(),
        })?;
        if self.is(OsStr::new(&self.temporary), original) {
            return Ok(());
        }
        self.place().map_err(|error| self.left_aside(error))?;
        Err(UpdateError::ChangedMeanwhile)
    }

    /// Replaces the file in two steps on systems that cannot exchange names, as `ReplaceFileW` with a backup does.
    ///
    /// Both steps use this open folder, even if the path leads elsewhere meanwhile. The old file has a temporary name
    /// while the new file takes its place. A process killed in between leaves the old file there.
    #[cfg(any(test, not(any(target_os = "linux", target_os = "android", target_vendor = "apple"))))]
    fn replace_by_moving(&self, original: &Original) -> Result<(), UpdateError> {
        let (aside, _) = create_temporary(self.folder, FilePermissions::OwnerOnly)?;
        let aside = Pair { temporary: aside, ..*self };
        let done = aside.take_away(original).and_then(|()| match self.place() {
            // Another program has saved in between. Its save is newer, so it stays.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(UpdateError::ChangedMeanwhile),
            Err(error) => aside.place().map_err(|error| aside.left_aside(error)).and(Err(error.into())),
            Ok(()) => Ok(()),
        });
        aside.settle(done)
    }

    /// Whether a file has the content and the permissions that were read before. An unreadable file counts as changed.
    fn is(&self, name: &OsStr, original: &Original) -> bool {
        let read = || -> io::Result<Vec<u8>> {
            let mut options = OpenOptions::new();
            // Only a regular file can match. Links are not followed, and a pipe does not block.
            options.read(true).follow(FollowSymlinks::No).nonblock(true);
            let file = self.folder.open_with(name, &options)?.into_std();
            let metadata = file.metadata()?;
            if !metadata.is_file() || !has_same_permissions(&metadata, &original.metadata) {
                return Err(io::ErrorKind::InvalidInput.into());
            }
            let mut bytes = Vec::with_capacity(original.bytes.len() + 1);
            file.take(original.bytes.len() as u64 + 1).read_to_end(&mut bytes)?;
            Ok(bytes)
        };
        read().is_ok_and(|bytes| bytes == original.bytes)
    }

    fn left_aside(&self, source: io::Error) -> UpdateError {
        UpdateError::LeftAside { kept: self.temporary.clone(), source }
    }
}

#[cfg(any(target_os = "linux", target_os = "android", target_vendor = "apple"))]
impl Pair<'_> {
    fn replace(&self, original: &Original) -> Result<(), UpdateError> {
        self.exchange_until_nothing_is_lost(original, &mut || self.exchange())
    }

    fn exchange_until_nothing_is_lost(
        &self,
        original: &Original,
        exchange: &mut dyn FnMut() -> io::Result<()>,
    ) -> Result<(), UpdateError> {
        let mut placed = self.identity()?;
        exchange().map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => UpdateError::ChangedMeanwhile,
            _ if cannot(&error) => UpdateError::CannotExchange,
            _ => error.into(),
        })?;
        if self.is(OsStr::new(&self.temporary), original) {
            return Ok(());
        }
        // The old file is newer than the placed file, so the names are exchanged back. If the exchange returns another
        // file than the placed one, that file is newer still.
        loop {
            let newest = self.identity().map_err(|error| self.left_aside(error))?;
            match exchange() {
                // The placed file was removed meanwhile, so the old file moves to the free name.
                Err(error) if error.kind() == io::ErrorKind::NotFound => match self.place() {
                    Err(error) => return Err(self.left_aside(error)),
                    Ok(()) => return Err(UpdateError::ChangedMeanwhile),
                },
                exchanged => exchanged.map_err(|error| self.left_aside(error))?,
            }
            if self.identity().map_err(|error| self.left_aside(error))? == placed {
                return Err(UpdateError::ChangedMeanwhile);
            }
            placed = newest;
        }
    }

    fn exchange(&self) -> io::Result<()> {
        self.rename_with(rustix::fs::RenameFlags::EXCHANGE)
    }

    fn move_to_free_place(&self) -> io::Result<()> {
        self.rename_with(rustix::fs::RenameFlags::NOREPLACE)
    }

    fn rename_with(&self, flags: rustix::fs::RenameFlags) -> io::Result<()> {
        rustix::fs::renameat_with(self.folder, &self.temporary, self.folder, self.name, flags).map_err(io::Error::from)
    }

    /// Returns the identity of the temporary file.
    fn identity(&self) -> io::Result<Identity> {
        use cap_fs_ext::MetadataExt;
        let metadata = self.folder.symlink_metadata(&self.temporary)?;
        let modified = metadata.modified().ok().map(cap_std::time::SystemTime::into_std);
        Ok(Identity { device: metadata.dev(), inode: metadata.ino(), length: metadata.len(), modified })
    }
}

#[cfg(not(any(target_os = "linux", target_os = "android", target_vendor = "apple")))]
impl Pair<'_> {
    fn replace(&self, original: &Original) -> Result<(), UpdateError> {
        self.replace_by_moving(original)
    }

    fn move_to_free_place(&self) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }
}

/// Whether an error means that the system or the file system lacks the operation.
fn cannot(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::InvalidInput | io::ErrorKind::Unsupported)
}

#[cfg(unix)]
fn has_same_permissions(now: &Metadata, then: &Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    (now.mode(), now.uid(), now.gid()) == (then.mode(), then.uid(), then.gid())
}

#[cfg(not(unix))]
fn has_same_permissions(now: &Metadata, then: &Metadata) -> bool {
    now.permissions() == then.permissions()
}

#[cfg(test)]
#[path = "shared_file_tests.rs"]
mod tests;
