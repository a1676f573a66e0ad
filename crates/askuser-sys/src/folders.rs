//! Compares folders by device and inode, so that another spelling or a link makes no difference.

use std::path::{Path, PathBuf};

/// The device and the inode of a file.
#[cfg(unix)]
pub(crate) type Identity = (u64, u64);
/// The canonical path of a file.
#[cfg(not(unix))]
pub(crate) type Identity = PathBuf;

/// Returns the identity of the file to which a path leads; `None` if the file does not exist.
pub(crate) fn identity(path: &Path) -> Option<Identity> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        path.metadata().ok().map(|metadata| (metadata.dev(), metadata.ino()))
    }
    #[cfg(not(unix))]
    path.canonicalize().ok()
}

/// Whether `path` is `folder` or is inside it. If `path` does not exist, the part that exists decides.
pub fn contains(folder: &Path, path: &Path) -> bool {
    let Some(folder) = identity(folder) else { return false };
    let real: Option<PathBuf> = path.ancestors().find_map(|above| above.canonicalize().ok());
    real.is_some_and(|real| real.ancestors().any(|above| identity(above).as_ref() == Some(&folder)))
}

// Windows lets only an administrator create links.
#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::fs::create_dir_all;

    #[test]
    fn a_folder_contains_what_a_link_to_it_contains() {
        let outer = tempfile::tempdir().unwrap();
        let at = |name: &str| outer.path().join(name);
        create_dir_all(at("folder/inner")).unwrap();
        std::os::unix::fs::symlink(at("folder"), at("link")).unwrap();
        for (folder, path) in
            [("folder", "link/inner"), ("link", "folder/inner"), ("link", "folder"), ("folder", "link/new")]
        {
            assert!(contains(&at(folder), &at(path)), "{folder} {path}");
        }
        for (folder, path) in [("folder/inner", "folder"), ("folder/inner", "link/inner2"), ("missing", "missing/x")] {
            assert!(!contains(&at(folder), &at(path)), "{folder} {path}");
        }
    }
}
