//! The command line of bubblewrap, with the file descriptors that it names.

use super::Mount;
use std::ffi::{OsStr, OsString};
use std::io;
use std::path::Path;
#[cfg(target_os = "linux")]
use {
    super::Access,
    std::os::fd::{AsRawFd, OwnedFd},
    std::sync::{Mutex, PoisonError},
};

/// The lock that is held while a child process can inherit the descriptors. Otherwise a command in another sandbox
/// would inherit them and could use them to escape.
#[cfg(target_os = "linux")]
static INHERITABLE: Mutex<()> = Mutex::new(());

/// The words of bubblewrap's command line before the command.
#[derive(Debug)]
pub(crate) struct Wall {
    words: Vec<OsString>,
    #[cfg(target_os = "linux")]
    descriptors: Vec<OwnedFd>,
}

impl Wall {
    pub(super) fn new(bwrap: &Path) -> Wall {
        Wall {
            words: vec![bwrap.into()],
            #[cfg(target_os = "linux")]
            descriptors: Vec::new(),
        }
    }

    pub(super) fn add(&mut self, words: &[&dyn AsRef<OsStr>]) {
        self.words.extend(words.iter().map(|word| word.as_ref().to_owned()));
    }
}

#[cfg(target_os = "linux")]
impl Wall {
    pub(super) fn add_mount(&mut self, mount: &Mount) -> Result<(), String> {
        match mount {
            Mount::Bind { source, at, access } => {
                let option = if *access == Access::Write { "--bind-fd" } else { "--ro-bind-fd" };
                let opened =
                    open(source).map_err(|error| format!("{} cannot be mounted: {error}", source.display()))?;
                self.add_descriptor(option, opened, Some(at));
                Ok(())
            }
            Mount::EmptyFolder(at) => {
                self.add(&[&"--tmpfs", at]);
                Ok(())
            }
            Mount::EmptyFile(at) => self.add_data("--ro-bind-data", b"", Some(at)),
        }
    }

    /// Adds an option with a descriptor from which bubblewrap reads these bytes.
    pub(super) fn add_data(&mut self, option: &str, bytes: &[u8], at: Option<&Path>) -> Result<(), String> {
        let piped = || {
            let (reader, mut writer) = io::pipe()?;
            // The write does not block, because the bytes fit into the buffer of the pipe.
            io::Write::write_all(&mut writer, bytes)?;
            Ok(reader)
        };
        let reader = piped().map_err(|error: io::Error| format!("{option}: {error}"))?;
        self.add_descriptor(option, reader.into(), at);
        Ok(())
    }

    fn add_descriptor(&mut self, option: &str, descriptor: OwnedFd, at: Option<&Path>) {
        self.add(&[&option, &descriptor.as_raw_fd().to_string()]);
        self.words.extend(at.map(OsString::from));
        self.descriptors.push(descriptor);
    }

    /// Starts a process with this command line through `start`. The process inherits the descriptors.
    pub(crate) fn spawn<T>(self, start: impl FnOnce(Vec<OsString>) -> io::Result<T>) -> io::Result<T> {
        let _lock = INHERITABLE.lock().unwrap_or_else(PoisonError::into_inner);
        let Wall { words, descriptors } = self;
        descriptors.iter().try_for_each(|it| rustix::io::fcntl_setfd(it, rustix::io::FdFlags::empty()))?;
        let started = start(words);
        // The descriptors are closed before the lock is released.
        drop(descriptors);
        started
    }
}

/// Opens a path without following any link.
#[cfg(target_os = "linux")]
fn open(path: &Path) -> io::Result<OwnedFd> {
    use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, openat2};
    Ok(openat2(CWD, path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty(), ResolveFlags::NO_SYMLINKS)?)
}

/// The replacement on systems other than Linux, which have no sandbox.
#[cfg(not(target_os = "linux"))]
impl Wall {
    pub(super) fn add_mount(&mut self, _: &Mount) -> Result<(), String> {
        Err("only Linux has a sandbox".into())
    }

    pub(super) fn add_data(&mut self, _: &str, _: &[u8], _: Option<&Path>) -> Result<(), String> {
        Err("only Linux has a sandbox".into())
    }

    pub(crate) fn spawn<T>(self, start: impl FnOnce(Vec<OsString>) -> io::Result<T>) -> io::Result<T> {
        start(self.words)
    }
}
