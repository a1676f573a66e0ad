//! Trust in files and folders by owner. Files of the user and of root are trusted. Files that another user owns or can
//! write are not used where they would affect this user.

use askuser_agent::regular_file::{self, Links};
use std::fs::{File, Metadata};
use std::io;
use std::path::Path;

/// The markers of a repository's root.
const MARKERS: [&str; 3] = [".git", ".hg", ".jj"];

/// A repository of another user. Its files above the working folder are ignored.
#[derive(Debug)]
pub(crate) struct ForeignRepository<'a> {
    folder: &'a Path,
    root: &'a Path,
    fact: io::Error,
}

impl ForeignRepository<'_> {
    /// Returns the warning to a user who expects one of these files to be read. `None` if there is no such file above
    /// the working folder.
    pub(crate) fn left_out(&self, names: &[&str]) -> Option<String> {
        let above = self.folder.ancestors().skip(1).take_while(|folder| folder.starts_with(self.root));
        let mut files = above.flat_map(|folder| names.iter().map(|name| folder.join(name)));
        let file = files.find(|file| file.symlink_metadata().is_ok())?;
        Some(format!("{} is not read: the repository {} {}", file.display(), self.root.display(), self.fact))
    }
}

/// Returns the root of the repository that contains a folder; `None` outside a repository. A dangling link is no
/// marker.
pub(crate) fn repository(folder: &Path) -> Result<Option<&Path>, ForeignRepository<'_>> {
    let marked = |folder: &Path| MARKERS.iter().find_map(|marker| folder.join(marker).metadata().ok());
    let Some((root, marker)) = folder.ancestors().find_map(|folder| Some((folder, marked(folder)?))) else {
        return Ok(None);
    };
    let checked = check_owner(&marker).and_then(|()| check_owner(&root.metadata()?));
    match checked {
        Ok(()) => Ok(Some(root)),
        Err(fact) => Err(ForeignRepository { folder, root, fact }),
    }
}

/// Opens a discovered file. It must be a regular file of this user or root, in a folder of theirs. Links are not
/// followed, and opening never blocks.
pub(crate) fn open_found(path: &Path) -> io::Result<File> {
    let file = regular_file::open(path, Links::Refuse)?;
    check_owner(&file.metadata()?)?;
    if let Some(folder) = path.parent() {
        let in_folder = |error| io::Error::other(format!("is in a folder that {error}"));
        check_owner(&folder.metadata()?).map_err(in_folder)?;
    }
    Ok(file)
}

/// Checks that this user or root owns a file. A user who became root with sudo still counts as the same user.
#[cfg(unix)]
pub(crate) fn check_owner(metadata: &Metadata) -> io::Result<()> {
    use std::os::unix::fs::MetadataExt;
    let owner = metadata.uid();
    let us = rustix::process::geteuid().as_raw();
    let before_sudo = || std::env::var("SUDO_UID").is_ok_and(|user| user.parse() == Ok(owner));
    if owner == us || owner == 0 || us == 0 && before_sudo() {
        return Ok(());
    }
    Err(io::Error::other(format!("is owned by user {owner}, must be owned by you (user {us})")))
}

/// Checks that only this user and root could have written a file. A private group counts as the user. In a folder with
/// the sticky bit, users can replace only their own files.
#[cfg(unix)]
pub(crate) fn check_writers(metadata: &Metadata) -> io::Result<()> {
    use std::os::unix::fs::MetadataExt;
    check_owner(metadata)?;
    let user = rustix::process::geteuid().as_raw();
    let group = rustix::process::getegid().as_raw();
    let others = if user == group && metadata.gid() == group { 0o002 } else { 0o022 };
    let is_sticky = metadata.is_dir() && metadata.mode() & 0o1000 != 0;
    if metadata.mode() & others == 0 || is_sticky {
        return Ok(());
    }
    let mode = metadata.mode() & 0o777;
    Err(io::Error::other(format!("has mode {mode:03o}, must not be writable by the group or by others")))
}

#[cfg(not(unix))]
pub(crate) fn check_owner(_: &Metadata) -> io::Result<()> {
    Ok(())
}

#[cfg(not(unix))]
pub(crate) fn check_writers(_: &Metadata) -> io::Result<()> {
    Ok(())
}

#[cfg(unix)]
#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{self, Permissions};
    use std::os::unix::fs::{PermissionsExt, chown, symlink};

    const NOBODY: Option<u32> = Some(65534);

    #[test]
    fn a_link_that_leads_nowhere_marks_no_repository() {
        let folder = tempfile::tempdir().unwrap();
        symlink("/nowhere/at/all", folder.path().join(".git")).unwrap();
        assert_eq!(repository(folder.path()).unwrap(), None);
        fs::create_dir(folder.path().join(".hg")).unwrap();
        assert_eq!(repository(folder.path()).unwrap(), Some(folder.path()));
    }

    #[test]
    fn a_repository_of_another_user_is_none_and_that_is_said() {
        for foreign in ["", ".git"] {
            let outer = tempfile::tempdir().unwrap();
            let work = outer.path().join("proj");
            fs::create_dir_all(outer.path().join(".git")).unwrap();
            fs::create_dir(&work).unwrap();
            assert_eq!(repository(&work).unwrap(), Some(outer.path()));
            // Only root can change the owner of a file.
            if chown(outer.path().join(foreign), NOBODY, None).is_ok() {
                let notes = outer.path().join("AGENTS.md");
                fs::write(&notes, "").unwrap();
                let foreign = repository(&work).unwrap_err();
                assert_eq!(foreign.left_out(&["askuser.toml"]), None, "nothing is left out");
                let words = foreign.left_out(&["askuser.toml", "AGENTS.md"]).unwrap();
                assert!(words.starts_with(&format!("{} is not read", notes.display())), "{words}");
                assert!(words.contains("is owned by user 65534"), "{words}");
            }
        }
    }

    #[test]
    fn what_is_found_is_a_regular_file_of_the_users() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        fs::write(path("plain"), "x").unwrap();
        assert!(open_found(&path("plain")).is_ok());
        symlink(path("plain"), path("link")).unwrap();
        fs::create_dir(path("folder")).unwrap();
        let _socket = std::os::unix::net::UnixListener::bind(path("socket")).unwrap();
        assert!(std::process::Command::new("mkfifo").arg(path("pipe")).status().unwrap().success());
        for name in ["link", "folder", "socket", "pipe"] {
            let refused = open_found(&path(name)).unwrap_err().to_string();
            assert_eq!(refused, format!("is a {name}, must be a regular file"));
        }
        assert_eq!(open_found(&path("missing")).unwrap_err().kind(), io::ErrorKind::NotFound);
        if chown(folder.path(), NOBODY, None).is_ok() {
            let error = open_found(&path("plain")).unwrap_err().to_string();
            assert!(error.starts_with("is in a folder that is owned by user 65534"), "{error}");
            chown(folder.path(), Some(0), None).unwrap();
            chown(path("plain"), NOBODY, None).unwrap();
            assert!(open_found(&path("plain")).unwrap_err().to_string().starts_with("is owned by user 65534"));
        }
    }

    #[test]
    fn what_others_can_write_decides_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        fs::write(&file, "").unwrap();
        for (path, mode, is_trusted) in
            [(&*file, 0o644, true), (&file, 0o602, false), (&file, 0o1602, false), (folder.path(), 0o1777, true)]
        {
            fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
            assert_eq!(check_writers(&path.metadata().unwrap()).is_ok(), is_trusted, "{mode:o}");
        }
        fs::set_permissions(&file, Permissions::from_mode(0o620)).unwrap();
        if chown(&file, None, Some(65534)).is_ok() {
            assert!(check_writers(&file.metadata().unwrap()).is_err(), "the group is another one");
        }
    }
}
