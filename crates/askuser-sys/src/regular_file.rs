//! Opens only regular files. A pipe would block the reader, and a device may never end. Both can have a name that a
//! project or another program chose.

use std::fs::{DirBuilder, File, FileType, OpenOptions};
use std::io::{self, Read};
use std::path::Path;

/// The treatment of a symbolic link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Links {
    /// Follow the link. This is safe in the user's own folders.
    Follow,
    /// Refuse the link, because in an untrusted folder it might lead to any file of the user.
    Refuse,
}

/// Opens a regular file for reading, and refuses any other file without blocking.
///
/// # Errors
/// If the file cannot be opened. The error is [`io::ErrorKind::InvalidInput`] if the file is not regular, with words
/// that follow a name: "is a pipe, must be a regular file".
pub fn open(path: &Path, links: Links) -> io::Result<File> {
    open_with(OpenOptions::new().read(true), path, links)
}

/// Opens a regular file with these options, and refuses any other file without blocking.
pub fn open_with(options: &mut OpenOptions, path: &Path, links: Links) -> io::Result<File> {
    let metadata = match links {
        Links::Follow => path.metadata(),
        Links::Refuse => path.symlink_metadata(),
    };
    match metadata {
        Ok(metadata) => regular(metadata.file_type())?,
        // The options may create the file.
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    #[cfg(unix)]
    {
        use rustix::fs::OFlags;
        use std::os::unix::fs::OpenOptionsExt;
        // A file that is swapped in late neither blocks the process nor is followed as a link.
        let flags = match links {
            Links::Follow => OFlags::NONBLOCK,
            Links::Refuse => OFlags::NONBLOCK | OFlags::NOFOLLOW,
        };
        options.custom_flags(flags.bits() as i32);
    }
    let file = options.open(path)?;
    regular(file.metadata()?.file_type())?;
    Ok(file)
}

/// Reads a regular file of at most `max_bytes`.
///
/// # Errors
/// Returns the errors of [`open`], and [`io::ErrorKind::FileTooLarge`] if the file is longer.
pub fn read(path: &Path, links: Links, max_bytes: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open(path, links)?.take(max_bytes.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > max_bytes {
        Err(io::Error::new(io::ErrorKind::FileTooLarge, format!("is longer than {max_bytes} bytes")))
    } else {
        Ok(bytes)
    }
}

/// The maximum size in bytes of a file that is read to show a change to it.
const MAX_SHOWN: u64 = 10_000_000;

/// Reads a regular file of at most 10 MB; `None` if it does not exist. Links are followed.
///
/// # Errors
/// Returns the errors of [`read`].
pub fn read_if_there(path: &Path) -> io::Result<Option<Vec<u8>>> {
    match read(path, Links::Follow, MAX_SHOWN) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Returns the options to create, read and write a file that only its owner can read.
pub fn private() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.read(true).write(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

/// Creates a folder that only its owner can read, and the folders above it.
pub fn make_private_folder(path: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)
}

fn regular(kind: FileType) -> io::Result<()> {
    if kind.is_file() {
        return Ok(());
    }
    let what = format!("is {}, must be a regular file", name(kind));
    Err(io::Error::new(io::ErrorKind::InvalidInput, what))
}

fn name(kind: FileType) -> &'static str {
    #[cfg(unix)]
    {
        use std::os::unix::fs::FileTypeExt;
        if kind.is_fifo() {
            return "a pipe";
        }
        if kind.is_socket() {
            return "a socket";
        }
    }
    match (kind.is_symlink(), kind.is_dir()) {
        (true, _) => "a link",
        (_, true) => "a folder",
        _ => "a device",
    }
}

// Windows has no such pipes, and lets only an administrator create links.
#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;

    fn refusal(path: &Path, links: Links) -> String {
        open(path, links).unwrap_err().to_string()
    }

    #[test]
    fn what_is_no_regular_file_is_called_what_it_is_and_never_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        assert!(std::process::Command::new("mkfifo").arg(at("pipe")).status().unwrap().success());
        fs::write(at("file"), "text").unwrap();
        symlink(at("file"), at("link")).unwrap();
        symlink(at("pipe"), at("link to a pipe")).unwrap();
        assert_eq!(refusal(&at("pipe"), Links::Follow), "is a pipe, must be a regular file");
        assert_eq!(refusal(&at("link to a pipe"), Links::Follow), "is a pipe, must be a regular file");
        assert_eq!(refusal(folder.path(), Links::Follow), "is a folder, must be a regular file");
        assert_eq!(refusal(Path::new("/dev/zero"), Links::Follow), "is a device, must be a regular file");
        assert_eq!(refusal(&at("link"), Links::Refuse), "is a link, must be a regular file");
        assert_eq!(read(&at("link"), Links::Follow, 4).unwrap(), b"text");
    }

    #[test]
    fn no_more_than_asked_for_is_read_of_a_file_without_end() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("sparse");
        fs::File::create(&path).unwrap().set_len(1 << 36).unwrap();
        assert_eq!(read(&path, Links::Refuse, 100).unwrap_err().to_string(), "is longer than 100 bytes");
    }
}
