//! An open folder with operations to open, list and replace its files. All paths are relative to the open handle, and
//! no symbolic link is followed. So a link that replaces a folder later cannot lead elsewhere.
//!
//! cap-std alone would follow links that stay inside a root. Such a link could lead to a file that the user was not
//! asked about, such as one in `.git`. So names are opened one at a time without following links.

use crate::shared_file::{self, Update, UpdateError};
use cap_fs_ext::{DirExt, FollowSymlinks, OpenOptionsFollowExt, OpenOptionsSyncExt};
use cap_std::ambient_authority;
use cap_std::fs::{Dir, OpenOptions};
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::{File, Metadata};
use std::io;
use std::path::Path;

#[derive(Debug)]
pub(crate) enum Opened {
    File(File, Metadata),
    Folder(Folder),
    /// A pipe, device, socket or symbolic link. Opening it could block, have effects, or lead elsewhere.
    Other,
    Missing,
}

#[derive(Debug)]
pub(crate) struct Folder(Dir);

impl Folder {
    /// Opens the folder at a trusted path.
    pub(crate) fn open_root(path: &Path) -> io::Result<Folder> {
        Dir::open_ambient_dir(path, ambient_authority()).map(Folder)
    }

    pub(crate) fn open_folder(&self, name: &OsStr) -> io::Result<Folder> {
        self.0.open_dir_nofollow(name).map(Folder)
    }

    /// Opens a folder in this folder. Creates it if it does not exist.
    pub(crate) fn create_folder(&self, name: &OsStr) -> io::Result<Folder> {
        match self.0.create_dir(name) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
            _ => self.open_folder(name),
        }
    }

    pub(crate) fn open(&self, name: &OsStr) -> io::Result<Opened> {
        let metadata = match self.0.symlink_metadata(name) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Opened::Missing),
            metadata => metadata?,
        };
        if metadata.is_dir() {
            return self.open_folder(name).map(Opened::Folder);
        }
        if !metadata.is_file() {
            return Ok(Opened::Other);
        }
        let mut options = OpenOptions::new();
        // The open is non-blocking, so that a pipe that replaced the file does not block.
        options.read(true).follow(FollowSymlinks::No).nonblock(true);
        let file = self.0.open_with(name, &options)?.into_std();
        let metadata = file.metadata()?;
        Ok(if metadata.is_file() { Opened::File(file, metadata) } else { Opened::Other })
    }

    /// Returns the first `max` entries by name, each with whether it is a folder. Also returns the number of all
    /// entries.
    pub(crate) fn entries(&self, max: usize) -> io::Result<(BTreeMap<String, bool>, usize)> {
        let mut entries = BTreeMap::new();
        let mut count = 0;
        for entry in self.0.entries()? {
            let entry = entry?;
            count += 1;
            let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
            entries.insert(entry.file_name().to_string_lossy().into_owned(), is_folder);
            if entries.len() > max {
                entries.pop_last();
            }
        }
        Ok((entries, count))
    }

    /// Changes the file `name` atomically, unless another program has changed it meanwhile.
    pub(crate) fn update(&self, name: &OsStr, update: Update<'_>) -> Result<(), UpdateError> {
        shared_file::update_in(&self.0, name, update)
    }
}
