//! Changes a file that other programs may write at the same moment, so that nothing they save is lost.
//!
//! The new content is written to a temporary file in the same folder and synced. Then the two files exchange their names in
//! one step, and what came out is looked at: the change counts only if that is what the change was made from. Otherwise
//! another program has saved meanwhile, and the names are exchanged back until the last save is in its place.
//!
//! A program that saves by renaming, as most editors do, never loses a save. One that writes into the file itself loses what
//! it writes after the look, since the file that it has open is removed then; what it has written before is noticed. Where a
//! save cannot be put back, or this process is killed before it is, the save stays in the temporary file.
//!
//! Linux and macOS can exchange two files; where the file system cannot (NFS is one), no file is replaced. Windows has no such
//! call: there the file is moved aside, looked at, and the new one put into the free place, so that for a moment there is none.
//! macOS is not tested.

use crate::atomic_file::{FilePermissions, create_temporary, open_folder, prepare, sync};
use cap_fs_ext::{FollowSymlinks, OpenOptionsFollowExt, OpenOptionsSyncExt};
use cap_std::fs::{Dir, OpenOptions};
use std::ffi::OsStr;
use std::fs::Metadata;
use std::io::{self, Read};
use std::path::Path;

/// A file as it was read.
#[derive(Clone, Debug)]
pub struct Original {
    /// Its content.
    pub bytes: Vec<u8>,
    /// Whose it is, and what may be done with it.
    pub metadata: Metadata,
}

/// What shall become of a file.
#[derive(Clone, Copy, Debug)]
pub enum Update<'a> {
    /// There is none, and it shall have this content.
    Create(&'a [u8]),
    /// It shall have this content, and keep its owner and permission bits.
    Replace(&'a Original, &'a [u8]),
    /// It shall be gone.
    Remove(&'a Original),
}

/// Why a file was not changed.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs)]
#[non_exhaustive]
pub enum UpdateError {
    /// It is not what the change was made from: it was saved, removed or made meanwhile. That stays as it is.
    #[error("it was changed by another program meanwhile")]
    ChangedMeanwhile,
    /// The change would be a risk here.
    #[error("this file system cannot exchange two files, so a save of another program could be lost")]
    CannotExchange,
    /// It was saved meanwhile, and that save is not in its place, but in the file `kept` beside it.
    #[error(
        "it was saved by another program meanwhile, and that cannot be put back; it is beside it as {kept}: {source}"
    )]
    LeftAside { kept: String, source: io::Error },
    /// A step failed; the file is as it was.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// Changes the file at `path`, all of it or nothing. Its folder must exist; a symbolic link is replaced, not followed.
///
/// # Errors
/// Where it is not what the change was made from any more, or a step fails.
pub fn update(path: &Path, update: Update<'_>) -> Result<(), UpdateError> {
    let (folder, name) = open_folder(path)?;
    update_in(&folder, name, update)
}

pub(crate) fn update_in(folder: &Dir, name: &OsStr, update: Update<'_>) -> Result<(), UpdateError> {
    let temporary = match update {
        Update::Create(content) => prepare(folder, content, FilePermissions::Default)?,
        Update::Replace(original, content) => prepare(folder, content, FilePermissions::LikeOld(&original.metadata))?,
        // Only its name is used.
        Update::Remove(_) => create_temporary(folder, FilePermissions::OwnerOnly)?.0,
    };
    let pair = Pair { folder, name, temporary };
    let done = match update {
        Update::Create(_) => pair.place().map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => UpdateError::ChangedMeanwhile,
            _ => error.into(),
        }),
        // Nearly always a change is noticed here, before other programs could see anything of ours.
        Update::Replace(original, _) | Update::Remove(original) if !pair.is(name, original) => {
            Err(UpdateError::ChangedMeanwhile)
        }
        Update::Replace(original, _) => pair.replace(original),
        Update::Remove(original) => pair.take_away(original),
    };
    pair.settle(done)
}

/// The place of a file, and a temporary file beside it.
struct Pair<'a> {
    folder: &'a Dir,
    name: &'a OsStr,
    temporary: String,
}

/// Which file it is, and which state of it, as far as that can be told without reading it.
#[cfg(any(target_os = "linux", target_os = "android", target_vendor = "apple"))]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Identity {
    device: u64,
    inode: u64,
    length: u64,
    modified: Option<std::time::SystemTime>,
}

impl Pair<'_> {
    /// Moves the temporary file to the place, if nothing is there.
    fn place(&self) -> io::Result<()> {
        match self.move_to_free_place() {
            // Linking does not replace anything either; not every file system can do that.
            Err(error) if cannot(&error) => self.link_to_free_place(),
            moved => moved,
        }
    }

    fn link_to_free_place(&self) -> io::Result<()> {
        self.folder.hard_link(&self.temporary, self.folder, self.name)?;
        self.folder.remove_file(&self.temporary)
    }

    /// Removes the temporary file, unless it is the only place of what another program has saved.
    fn settle(&self, done: Result<(), UpdateError>) -> Result<(), UpdateError> {
        if !matches!(done, Err(UpdateError::LeftAside { .. })) {
            let _ = self.folder.remove_file(&self.temporary);
        }
        if done.is_ok() {
            sync(self.folder);
        }
        done
    }

    /// Moves the file out of its place and looks at it; the temporary file is then what was there.
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

    /// Replaces the file where two cannot be exchanged, in two steps as `ReplaceFileW` with a backup does, but in this folder
    /// whatever its path leads to meanwhile. The file is aside while the new one takes its place: killed in between, the process
    /// leaves it there.
    #[cfg(any(test, not(any(target_os = "linux", target_os = "android", target_vendor = "apple"))))]
    fn replace_by_moving(&self, original: &Original) -> Result<(), UpdateError> {
        let (aside, _) = create_temporary(self.folder, FilePermissions::OwnerOnly)?;
        let aside = Pair { temporary: aside, ..*self };
        let done = aside.take_away(original).and_then(|()| match self.place() {
            // What was saved in between is newer.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(UpdateError::ChangedMeanwhile),
            Err(error) => aside.place().map_err(|error| aside.left_aside(error)).and(Err(error.into())),
            Ok(()) => Ok(()),
        });
        aside.settle(done)
    }

    /// Whether a file is what was read; what cannot be read is not.
    fn is(&self, name: &OsStr, original: &Original) -> bool {
        let read = || -> io::Result<Vec<u8>> {
            let mut options = OpenOptions::new();
            // Nothing but a regular file is what was read: no link is followed, no pipe waited for.
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
        // What came out is newer than what was placed, and goes back. What comes out then should be what was placed before:
        // whatever else it is, is newer still.
        loop {
            let newest = self.identity().map_err(|error| self.left_aside(error))?;
            match exchange() {
                // The file was removed after it was placed: there is nothing to exchange with.
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

    /// Of the temporary file.
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

/// Whether the file system or the system does not know the call.
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
