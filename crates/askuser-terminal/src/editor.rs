//! Editing a text in the person's own editor.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Opens `$VISUAL` or `$EDITOR` on a text and returns what was saved, with the file it is in.
pub(crate) fn edit(text: &str) -> io::Result<(String, DraftFile)> {
    let file = DraftFile::create(text)?;
    let editor =
        ["VISUAL", "EDITOR"].iter().find_map(|name| std::env::var(name).ok().filter(|value| !value.trim().is_empty()));
    let status = command(editor.as_deref(), &file.0)?.status()?;
    if !status.success() {
        return Err(io::Error::other(format!("{} ended with {status}", editor.as_deref().unwrap_or(FALLBACK))));
    }
    let bytes = fs::read(&file.0)?;
    Ok((String::from_utf8_lossy(&bytes).into_owned(), file))
}

#[cfg(unix)]
const FALLBACK: &str = "vi";
#[cfg(not(unix))]
const FALLBACK: &str = "notepad";

/// The editor's variable is a command line, as for git; the terminal is its own, whatever ours are.
#[cfg(unix)]
fn command(editor: Option<&str>, file: &Path) -> io::Result<Command> {
    let terminal = || OpenOptions::new().read(true).write(true).open("/dev/tty");
    let mut command = Command::new("sh");
    command.arg("-c").arg(format!("exec {} \"$1\"", editor.unwrap_or(FALLBACK))).arg("sh").arg(file);
    command.stdin(Stdio::from(terminal()?)).stdout(Stdio::from(terminal()?)).stderr(Stdio::from(terminal()?));
    Ok(command)
}

#[cfg(not(unix))]
fn command(editor: Option<&str>, file: &Path) -> io::Result<Command> {
    let mut words = editor.unwrap_or(FALLBACK).split_whitespace();
    let mut command = Command::new(words.next().unwrap_or(FALLBACK));
    command.args(words).arg(file).stdin(Stdio::inherit());
    Ok(command)
}

/// A file nobody else can read, gone when dropped.
pub(crate) struct DraftFile(PathBuf);

impl DraftFile {
    /// Leaves the file where it is.
    pub(crate) fn keep(self) -> PathBuf {
        let mut kept = std::mem::ManuallyDrop::new(self);
        std::mem::take(&mut kept.0)
    }

    fn create(text: &str) -> io::Result<DraftFile> {
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        for attempt in 0u32.. {
            let path = std::env::temp_dir().join(format!("askuser-{}-{attempt}.md", std::process::id()));
            match options.open(&path) {
                Ok(file) => return DraftFile(path).filled(file, text),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists && attempt < 100 => {}
                Err(error) => return Err(error),
            }
        }
        unreachable!("the loop above ends by returning")
    }

    fn filled(self, mut file: File, text: &str) -> io::Result<DraftFile> {
        file.write_all(text.as_bytes())?;
        Ok(self)
    }
}

impl Drop for DraftFile {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}
