//! An open folder, and what can be done in it: open, list, replace. On Unix everything is relative to the handle and no
//! symbolic link is followed, so one that is swapped in later cannot lead elsewhere. Other systems use plain paths.

use std::ffi::OsStr;
use std::fs::{File, Metadata};
use std::io::{self, Write};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

/// What is at a name in a folder, opened.
#[derive(Debug)]
pub(crate) enum Opened {
    File(File, Metadata),
    Folder(Folder),
    /// A pipe, device, socket, or symbolic link. It is not opened: that might hang, have effects, or lead elsewhere.
    Other,
    Missing,
}

/// An entry of a listing.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Entry {
    pub(crate) name: String,
    pub(crate) is_folder: bool,
}

pub(crate) use system::Folder;

impl Folder {
    /// Replaces the content of `name`, all of it or nothing. A file that was there keeps its mode bits; its other
    /// hard links keep the old content.
    pub(crate) fn replace(&self, name: &OsStr, content: &[u8], before: Option<&Metadata>) -> io::Result<()> {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let temporary = format!(".askuser-{}-{count}.tmp", std::process::id());
        let temporary = OsStr::new(&temporary);
        let file = self.create_new(temporary, before.is_some())?;
        let written = fill(file, content, before).and_then(|()| self.rename(temporary, name));
        if written.is_err() {
            // The first error is the one to report.
            let _ = self.remove(temporary);
        }
        written
    }
}

fn fill(mut file: File, content: &[u8], before: Option<&Metadata>) -> io::Result<()> {
    file.write_all(content)?;
    if let Some(before) = before {
        file.set_permissions(plain_permissions(before))?;
    }
    // Without it, a crash after the rename could leave an empty file in place of the old one.
    file.sync_all()
}

/// The permissions without set-user-id and the like, which writing to a file clears as well.
fn plain_permissions(metadata: &Metadata) -> std::fs::Permissions {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        std::fs::Permissions::from_mode(metadata.permissions().mode() & 0o777)
    }
    #[cfg(not(unix))]
    metadata.permissions()
}

#[cfg(unix)]
mod system {
    use super::{Entry, File, Opened, OsStr, Path, io};
    use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags, mkdirat, openat, renameat, statat, unlinkat};
    use rustix::io::Errno;
    use std::os::fd::OwnedFd;

    /// An open folder.
    #[derive(Debug)]
    pub(crate) struct Folder(OwnedFd);

    const DIRECTORY: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

    impl Folder {
        /// Opens a folder by a trusted path.
        pub(crate) fn open_root(path: &Path) -> io::Result<Folder> {
            Ok(Folder(openat(CWD, path, DIRECTORY, Mode::empty())?))
        }

        /// Opens a folder in it.
        pub(crate) fn open_folder(&self, name: &OsStr) -> io::Result<Folder> {
            Ok(Folder(openat(&self.0, name, DIRECTORY | OFlags::NOFOLLOW, Mode::empty())?))
        }

        /// Opens a folder in it, and creates it if it does not exist.
        pub(crate) fn create_folder(&self, name: &OsStr) -> io::Result<Folder> {
            match mkdirat(&self.0, name, Mode::from_raw_mode(0o777)) {
                Ok(()) | Err(Errno::EXIST) => self.open_folder(name),
                Err(error) => Err(error.into()),
            }
        }

        /// Opens what is at `name`.
        pub(crate) fn open(&self, name: &OsStr) -> io::Result<Opened> {
            let stat = match statat(&self.0, name, AtFlags::SYMLINK_NOFOLLOW) {
                Err(Errno::NOENT) => return Ok(Opened::Missing),
                stat => stat?,
            };
            match FileType::from_raw_mode(stat.st_mode) {
                FileType::Directory => return self.open_folder(name).map(Opened::Folder),
                FileType::RegularFile => {}
                _ => return Ok(Opened::Other),
            }
            // NONBLOCK: if a pipe has replaced it meanwhile, opening does not hang.
            let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
            let file = match openat(&self.0, name, flags, Mode::empty()) {
                Err(Errno::LOOP) => return Ok(Opened::Other),
                file => File::from(file?),
            };
            let metadata = file.metadata()?;
            Ok(if metadata.is_file() { Opened::File(file, metadata) } else { Opened::Other })
        }

        /// The first `max` entries by name, and how many there are.
        pub(crate) fn entries(&self, max: usize) -> io::Result<(Vec<Entry>, usize)> {
            let mut entries = std::collections::BTreeSet::new();
            let mut count = 0;
            for entry in Dir::read_from(&self.0)? {
                let entry = entry?;
                let name = entry.file_name().to_string_lossy().into_owned();
                if name == "." || name == ".." {
                    continue;
                }
                count += 1;
                entries.insert(Entry { name, is_folder: entry.file_type() == FileType::Directory });
                if entries.len() > max {
                    entries.pop_last();
                }
            }
            Ok((entries.into_iter().collect(), count))
        }

        /// `private` until its permissions are known.
        pub(super) fn create_new(&self, name: &OsStr, private: bool) -> io::Result<File> {
            let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            let mode = Mode::from_raw_mode(if private { 0o600 } else { 0o666 });
            Ok(File::from(openat(&self.0, name, flags, mode)?))
        }

        pub(super) fn rename(&self, from: &OsStr, to: &OsStr) -> io::Result<()> {
            Ok(renameat(&self.0, from, &self.0, to)?)
        }

        pub(super) fn remove(&self, name: &OsStr) -> io::Result<()> {
            Ok(unlinkat(&self.0, name, AtFlags::empty())?)
        }
    }
}

#[cfg(not(unix))]
mod system {
    use super::{Entry, File, Opened, OsStr, Path, io};
    use std::fs;
    use std::path::PathBuf;

    /// A folder.
    #[derive(Debug)]
    pub(crate) struct Folder(PathBuf);

    impl Folder {
        pub(crate) fn open_root(path: &Path) -> io::Result<Folder> {
            if path.metadata()?.is_dir() { Ok(Folder(path.into())) } else { Err(io::ErrorKind::NotADirectory.into()) }
        }

        pub(crate) fn open_folder(&self, name: &OsStr) -> io::Result<Folder> {
            Folder::open_root(&self.0.join(name))
        }

        pub(crate) fn create_folder(&self, name: &OsStr) -> io::Result<Folder> {
            match fs::create_dir(self.0.join(name)) {
                Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
                _ => self.open_folder(name),
            }
        }

        pub(crate) fn open(&self, name: &OsStr) -> io::Result<Opened> {
            let path = self.0.join(name);
            let metadata = match path.symlink_metadata() {
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Opened::Missing),
                metadata => metadata?,
            };
            match metadata {
                metadata if metadata.is_dir() => Ok(Opened::Folder(Folder(path))),
                metadata if metadata.is_file() => Ok(Opened::File(File::open(path)?, metadata)),
                _ => Ok(Opened::Other),
            }
        }

        pub(crate) fn entries(&self, max: usize) -> io::Result<(Vec<Entry>, usize)> {
            let mut entries = std::collections::BTreeSet::new();
            let mut count = 0;
            for entry in fs::read_dir(&self.0)? {
                let entry = entry?;
                count += 1;
                let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
                entries.insert(Entry { name: entry.file_name().to_string_lossy().into_owned(), is_folder });
                if entries.len() > max {
                    entries.pop_last();
                }
            }
            Ok((entries.into_iter().collect(), count))
        }

        pub(super) fn create_new(&self, name: &OsStr, _private: bool) -> io::Result<File> {
            File::create_new(self.0.join(name))
        }

        pub(super) fn rename(&self, from: &OsStr, to: &OsStr) -> io::Result<()> {
            fs::rename(self.0.join(from), self.0.join(to))
        }

        pub(super) fn remove(&self, name: &OsStr) -> io::Result<()> {
            fs::remove_file(self.0.join(name))
        }
    }
}
