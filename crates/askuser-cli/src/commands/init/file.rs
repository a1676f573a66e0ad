//! A configuration file of another program. It is read and replaced as a whole, but never over that program's
//! concurrent save.

use crate::failure::{Failure, reason};
use askuser_agent::regular_file::{self, Links};
use askuser_agent::shared_file::{self, Original, Update, UpdateError};
use std::io;
use std::path::{Path, PathBuf};

/// The size limit for such a file, which no client's settings reach.
const MAX_BYTES: u64 = 64 << 20;

#[derive(Clone, Copy, Debug)]
pub(in crate::commands) enum Owner<'a> {
    /// The file belongs to the user, so links are followed.
    User,
    /// The file belongs to the project in this folder, which other people wrote. A link in it could lead to any file of
    /// the user, so links are refused.
    Project(&'a Path),
}

pub(in crate::commands) struct File {
    /// The real path, with links resolved.
    pub(in crate::commands) path: PathBuf,
    /// The content without its byte order mark.
    pub(in crate::commands) text: String,
    has_mark: bool,
    /// The file as it was read; `None` if the file does not exist yet.
    original: Option<Original>,
}

const MARK: &str = "\u{feff}";

impl File {
    /// Reads a file. A missing file counts as empty.
    pub(in crate::commands) fn read(path: &Path, owner: Owner<'_>) -> Result<File, Failure> {
        let failed = |error: io::Error| match error.kind() {
            io::ErrorKind::InvalidInput | io::ErrorKind::FileTooLarge => {
                Failure::new(format!("{} {error}", path.display()))
            }
            _ => Failure::new(format!("cannot read {}: {}", path.display(), reason(&error))),
        };
        let links = match owner {
            Owner::User => Links::Follow,
            Owner::Project(root) => {
                check_folders(root, path)?;
                Links::Refuse
            }
        };
        let real = match owner {
            Owner::User if path.symlink_metadata().is_ok() => {
                // On Windows the path keeps its usual form, in which the path of a missing file was also recorded.
                dunce::canonicalize(path).map_err(|error| match error.kind() {
                    io::ErrorKind::NotFound => Failure::new(format!("{} is a link that leads nowhere", path.display())),
                    _ => failed(error),
                })?
            }
            _ => path.to_owned(),
        };
        let original = match regular_file::read(&real, links, MAX_BYTES) {
            Ok(bytes) => Some(Original { bytes, metadata: real.symlink_metadata().map_err(failed)? }),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(failed(error)),
        };
        let bytes = original.as_ref().map(|original| original.bytes.as_slice()).unwrap_or_default();
        let text = std::str::from_utf8(bytes)
            .map_err(|_| Failure::new(format!("cannot read {}: it is not UTF-8 text", path.display())))?;
        let (text, has_mark) = (text.strip_prefix(MARK).unwrap_or(text).to_owned(), text.starts_with(MARK));
        Ok(File { path: real, text, has_mark, original })
    }

    pub(super) fn exists(&self) -> bool {
        self.original.is_some()
    }

    /// Returns the folders that have to be created for the file, the outermost first.
    pub(super) fn missing_folders(&self) -> Vec<PathBuf> {
        let folders = self.path.parent().into_iter().flat_map(Path::ancestors);
        let mut missing: Vec<PathBuf> = folders.take_while(|folder| !folder.exists()).map(Path::to_owned).collect();
        missing.reverse();
        missing
    }

    /// Replaces the file, unless another program has changed it since it was read.
    pub(in crate::commands) fn write(&self, text: &str) -> Result<(), Failure> {
        let failed = |error: UpdateError| self.failed("write", &error);
        if self.original.as_ref().is_some_and(|original| original.metadata.permissions().readonly()) {
            return Err(Failure::new(format!("{} is read-only", self.path.display())));
        }
        let made = self.missing_folders();
        if let Some(folder) = self.path.parent() {
            std::fs::create_dir_all(folder).map_err(|error| failed(error.into()))?;
        }
        let content = format!("{}{text}", if self.has_mark { MARK } else { "" });
        let update = match &self.original {
            Some(original) => Update::Replace(original, content.as_bytes()),
            None => Update::Create(content.as_bytes()),
        };
        shared_file::update(&self.path, update).map_err(|error| {
            remove_empty(&made);
            failed(error)
        })
    }

    /// Deletes the file, and the folders that were created for it if they are empty.
    pub(super) fn delete(&self, folders: &[PathBuf]) -> Result<(), Failure> {
        let Some(original) = &self.original else { return Ok(()) };
        shared_file::update(&self.path, Update::Remove(original)).map_err(|error| self.failed("delete", &error))?;
        remove_empty(folders);
        Ok(())
    }

    /// Returns the failure if the file is no longer the one that was shown.
    pub(super) fn changed_meanwhile(&self) -> Failure {
        Failure::new(format!("{} changed in the meantime and was left as it is", self.path.display()))
            .hint("run it again to see the change as it is now")
    }

    fn failed(&self, verb: &str, error: &UpdateError) -> Failure {
        let path = self.path.display();
        match error {
            UpdateError::ChangedMeanwhile => self.changed_meanwhile(),
            UpdateError::Io(error) => Failure::new(format!("cannot {verb} {path}: {}", reason(error))),
            error => Failure::new(format!("cannot {verb} {path}: {error}")),
        }
    }
}

/// Removes empty folders, the innermost first. Another program may use a folder meanwhile.
fn remove_empty(folders: &[PathBuf]) {
    for folder in folders.iter().rev() {
        let _ = std::fs::remove_dir(folder);
    }
}

/// Checks that the path from a project's folder to its file is free of links.
fn check_folders(root: &Path, file: &Path) -> Result<(), Failure> {
    let inside = file.ancestors().skip(1).take_while(|folder| *folder != root);
    match inside.into_iter().find(|folder| folder.is_symlink()) {
        Some(link) => Err(Failure::new(format!("{} is a link, must be a folder", link.display()))),
        None => Ok(()),
    }
}
