//! Replaces a file atomically, also across a crash of the machine.
//!
//! The content goes to a temporary file in the same folder. The file is synced and renamed over the old file. Then the
//! folder is synced.
//!
//! A symbolic link is replaced, not followed. Other hard links keep the old content. The last of concurrent writers
//! wins. The module suits askuser's own files, whose writers hold a lock. [`shared_file`](crate::shared_file) is for
//! other files.

use cap_std::ambient_authority;
use cap_std::fs::{Dir, OpenOptions};
use std::ffi::OsStr;
use std::fs::{File, Metadata, Permissions};
use std::io::{self, Write};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

/// The maximum number of temporary names to try. Killed processes may have left temporary files behind.
const MAX_ATTEMPTS: usize = 100;

/// The permissions of the new file. On systems other than Unix, only [`LikeOld`](FilePermissions::LikeOld) has an
/// effect.
#[derive(Clone, Copy, Debug)]
pub enum FilePermissions<'a> {
    /// The default permissions of a new file.
    Default,
    /// Permissions to read and write for the owner alone.
    OwnerOnly,
    /// The permission bits of the replaced file, without set-user-id and similar bits.
    LikeOld(&'a Metadata),
}

/// Replaces the content of the file at `path`, or creates the file. Its folder must exist.
///
/// # Errors
/// If `path` has no file name, or a step fails. The old content is then unchanged.
pub fn replace(path: &Path, content: &[u8], permissions: FilePermissions<'_>) -> io::Result<()> {
    let (folder, name) = open_folder(path)?;
    let temporary = prepare(&folder, content, permissions)?;
    if let Err(error) = folder.rename(&temporary, &folder, name) {
        // The error of the rename is reported, not that of the cleanup.
        let _ = folder.remove_file(&temporary);
        return Err(error);
    }
    sync(&folder);
    Ok(())
}

/// Opens the folder of a file. Returns it with the file's name in the folder.
pub(crate) fn open_folder(path: &Path) -> io::Result<(Dir, &OsStr)> {
    let no_name = || io::Error::new(io::ErrorKind::InvalidInput, "the path has no file name");
    let name = path.file_name().ok_or_else(no_name)?;
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    Ok((Dir::open_ambient_dir(folder, ambient_authority())?, name))
}

/// Creates a synced temporary file with this content and returns its name.
pub(crate) fn prepare(folder: &Dir, content: &[u8], permissions: FilePermissions<'_>) -> io::Result<String> {
    let (temporary, file) = create_temporary(folder, permissions)?;
    match fill(file, content, permissions) {
        Ok(()) => Ok(temporary),
        Err(error) => {
            let _ = folder.remove_file(&temporary);
            Err(error)
        }
    }
}

/// Syncs a folder whose entries have changed. Errors are ignored, because the new content is already in place.
pub(crate) fn sync(folder: &Dir) {
    #[cfg(unix)]
    let _ = folder.open(".").and_then(|folder| folder.sync_all());
    #[cfg(not(unix))]
    let _ = folder;
}

pub(crate) fn create_temporary(folder: &Dir, permissions: FilePermissions<'_>) -> io::Result<(String, File)> {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    let mode = match permissions {
        FilePermissions::Default => 0o666,
        // The mode keeps other users from reading the content before the old file's permissions are set.
        FilePermissions::OwnerOnly | FilePermissions::LikeOld(_) => 0o600,
    };
    #[cfg(unix)]
    cap_std::fs::OpenOptionsExt::mode(&mut options, mode);
    #[cfg(not(unix))]
    let _: u32 = mode;
    let mut attempts = 0..MAX_ATTEMPTS;
    loop {
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!(".askuser-{}-{count}.tmp", std::process::id());
        match folder.open_with(&name, &options) {
            Ok(file) => return Ok((name, file.into_std())),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && attempts.next().is_some() => {}
            Err(error) => return Err(error),
        }
    }
}

fn fill(mut file: File, content: &[u8], permissions: FilePermissions<'_>) -> io::Result<()> {
    file.write_all(content)?;
    if let FilePermissions::LikeOld(metadata) = permissions {
        keep_owner(&file, metadata);
        file.set_permissions(plain_permissions(metadata))?;
    }
    // Without the sync, a crash after the rename could leave an empty file in place of the old one.
    file.sync_all()
}

/// Gives the file the owner of the old file. Only root can do that. Otherwise the file belongs to the current user.
fn keep_owner(file: &File, old: &Metadata) {
    #[cfg(unix)]
    {
        use std::os::unix::fs::{MetadataExt, fchown};
        let differs = |new: Metadata| (new.uid(), new.gid()) != (old.uid(), old.gid());
        if file.metadata().is_ok_and(differs) && fchown(file, Some(old.uid()), Some(old.gid())).is_err() {
            let _ = fchown(file, None, Some(old.gid()));
        }
    }
    #[cfg(not(unix))]
    let _ = (file, old);
}

/// Returns the permissions without set-user-id and similar bits, which a write clears as well.
fn plain_permissions(metadata: &Metadata) -> Permissions {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        Permissions::from_mode(metadata.permissions().mode() & 0o777)
    }
    #[cfg(not(unix))]
    metadata.permissions()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    #[cfg(unix)]
    use std::os::unix::fs::PermissionsExt;

    #[cfg(unix)]
    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o7777
    }

    fn names(folder: &Path) -> Vec<String> {
        let names = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
        names.collect()
    }

    // Windows has no file modes.
    #[cfg(unix)]
    #[test]
    fn a_private_file_stays_private_even_if_the_old_one_was_not() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        fs::write(&path, "old").unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o644)).unwrap();
        replace(&path, b"new", FilePermissions::OwnerOnly).unwrap();
        assert_eq!((fs::read_to_string(&path).unwrap().as_str(), mode(&path)), ("new", 0o600));
        assert_eq!(names(folder.path()), ["file"]);
    }

    // Windows has no file modes.
    #[cfg(unix)]
    #[test]
    fn the_old_permissions_are_kept_but_not_set_user_id() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        fs::write(&path, "old").unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o4755)).unwrap();
        let old = fs::metadata(&path).unwrap();
        replace(&path, b"new", FilePermissions::LikeOld(&old)).unwrap();
        assert_eq!(mode(&path), 0o755);
    }

    // Windows has no numeric owners.
    #[cfg(unix)]
    #[test]
    fn a_file_of_another_user_that_root_replaces_stays_theirs() {
        use std::os::unix::fs::{MetadataExt, chown};
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        fs::write(&path, "old").unwrap();
        let us = fs::metadata(&path).unwrap().uid();
        // Only root can change the owner.
        let owner = if chown(&path, Some(12345), Some(12345)).is_ok() { 12345 } else { us };
        let old = fs::metadata(&path).unwrap();
        replace(&path, b"new", FilePermissions::LikeOld(&old)).unwrap();
        let new = fs::metadata(&path).unwrap();
        assert_eq!((new.uid(), new.gid(), fs::read(&path).unwrap()), (owner, old.gid(), b"new".to_vec()));
    }

    #[test]
    fn a_replacement_that_fails_leaves_no_temporary_file() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir_all(folder.path().join("name/inner")).unwrap();
        assert!(replace(&folder.path().join("name"), b"new", FilePermissions::Default).is_err());
        assert_eq!(names(folder.path()), ["name"]);
    }

    #[test]
    fn the_temporary_files_of_a_killed_process_are_not_in_the_way() {
        let folder = tempfile::tempdir().unwrap();
        // The counter is shared by the tests of this process. 50 files ensure that the next names are taken.
        for count in 0..50 {
            fs::write(folder.path().join(format!(".askuser-{}-{count}.tmp", std::process::id())), "").unwrap();
        }
        replace(&folder.path().join("file"), b"new", FilePermissions::Default).unwrap();
        assert_eq!(fs::read(folder.path().join("file")).unwrap(), b"new");
    }

    #[test]
    fn a_path_without_a_file_name_is_an_error() {
        assert_eq!(
            replace(Path::new("/"), b"", FilePermissions::Default).unwrap_err().kind(),
            io::ErrorKind::InvalidInput
        );
    }
}
