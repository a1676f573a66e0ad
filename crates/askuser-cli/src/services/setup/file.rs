//! A configuration file of somebody else's: read as a whole, replaced as a whole or not at all.

use askuser_agent::atomic_file::{self, FilePermissions};
use askuser_cli::failure::{Failure, reason};
use std::fs::Metadata;
use std::io;
use std::path::{Path, PathBuf};

/// A file as it was found.
pub(super) struct File {
    /// The real one, where links lead.
    pub(super) path: PathBuf,
    /// Without its byte order mark.
    pub(super) text: String,
    has_mark: bool,
    /// `None` if there is none yet.
    metadata: Option<Metadata>,
}

const MARK: &str = "\u{feff}";

impl File {
    /// Reads it; one that is not there is empty.
    ///
    /// # Errors
    /// Where it cannot be read, or is no text.
    pub(super) fn read(path: &Path) -> Result<File, Failure> {
        let failed = |error: io::Error| Failure::new(format!("cannot read {}: {}", path.display(), reason(&error)));
        let real = match path.canonicalize() {
            Ok(real) => real,
            Err(error) if error.kind() == io::ErrorKind::NotFound && path.symlink_metadata().is_ok() => {
                return Err(Failure::new(format!("{} is a link that leads nowhere", path.display())));
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Ok(File { path: path.to_owned(), text: String::new(), has_mark: false, metadata: None });
            }
            Err(error) => return Err(failed(error)),
        };
        let text = std::fs::read_to_string(&real).map_err(failed)?;
        let metadata = real.metadata().map_err(failed)?;
        let has_mark = text.starts_with(MARK);
        let text = text.strip_prefix(MARK).unwrap_or(&text).to_owned();
        Ok(File { path: real, text, has_mark, metadata: Some(metadata) })
    }

    pub(super) fn exists(&self) -> bool {
        self.metadata.is_some()
    }

    /// Replaces it, unless somebody else has changed it since it was read. Says which folders were made for it.
    ///
    /// # Errors
    /// Where it has changed or cannot be written; it is as it was then.
    pub(super) fn write(&self, text: &str) -> Result<Vec<PathBuf>, Failure> {
        self.is_unchanged()?;
        let failed =
            |error: io::Error| Failure::new(format!("cannot write {}: {}", self.path.display(), reason(&error)));
        let permissions = match &self.metadata {
            Some(metadata) if metadata.permissions().readonly() => {
                return Err(Failure::new(format!("{} is read-only", self.path.display())));
            }
            Some(metadata) => FilePermissions::LikeOld(metadata),
            None => FilePermissions::Default,
        };
        let folder = self.path.parent().unwrap_or(Path::new("."));
        let mut made: Vec<PathBuf> =
            folder.ancestors().take_while(|folder| !folder.exists()).map(Path::to_owned).collect();
        made.reverse();
        std::fs::create_dir_all(folder).map_err(failed)?;
        let content = format!("{}{text}", if self.has_mark { MARK } else { "" });
        atomic_file::replace(&self.path, content.as_bytes(), permissions).map_err(failed)?;
        Ok(made)
    }

    /// Deletes it, and the folders that were made for it where they are empty.
    ///
    /// # Errors
    /// Where it has changed or cannot be deleted.
    pub(super) fn delete(&self, folders: &[PathBuf]) -> Result<(), Failure> {
        self.is_unchanged()?;
        std::fs::remove_file(&self.path)
            .map_err(|error| Failure::new(format!("cannot delete {}: {}", self.path.display(), reason(&error))))?;
        for folder in folders.iter().rev() {
            // Somebody else may use it by now.
            let _ = std::fs::remove_dir(folder);
        }
        Ok(())
    }

    fn is_unchanged(&self) -> Result<(), Failure> {
        let now = File::read(&self.path)?;
        match now.exists() == self.exists() && now.text == self.text {
            true => Ok(()),
            false => Err(Failure::new(format!("{} has changed meanwhile, and was left as it is", self.path.display()))
                .hint("run it again to see the change as it is now")),
        }
    }
}
