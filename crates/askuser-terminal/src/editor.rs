//! The external editor and pager. A private file holds the text, and the editor may change it.

use askuser_sys::programs;
use std::fs::{self, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Opens an editor on a text, and waits until the editor is closed. The editor is `$VISUAL`, `$EDITOR`, or
/// [`FALLBACK_EDITOR`].
///
/// The editor runs on the controlling terminal, even if the standard streams are redirected. Before the call, leave raw
/// mode and the alternate screen (`ratatui::restore()`). Set them up again afterwards.
///
/// ```no_run
/// use askuser_terminal::open_editor;
///
/// let edited = open_editor("a draft")?;
/// if edited.text().chars().count() > 16_000 {
///     let path = edited.keep();
///     return Err(std::io::Error::other(format!("too long; it is kept in {}", path.display())));
/// }
/// # Ok::<(), std::io::Error>(())
/// ```
///
/// # Errors
/// If the file cannot be written or read, the editor cannot be started, or the editor reports failure. A text that the
/// editor has saved stays in its file, and the error contains the path.
pub fn open_editor(text: &str) -> io::Result<EditedText> {
    let file = DraftFile::create(text)?;
    let editor = chosen(&["VISUAL", "EDITOR"]).unwrap_or_else(|| FALLBACK_EDITOR.to_owned());
    let status = command(&editor, &file.0)?.status()?;
    let saved = read_saved(&file.0);
    let failure = match &saved {
        _ if !status.success() => format!("{editor} ended with {status}"),
        Err(error) => format!("{}: {error}", file.0.display()),
        Ok(saved) => return Ok(EditedText { text: String::from_utf8_lossy(saved).into_owned(), file }),
    };
    let is_new = match &saved {
        Ok(saved) => saved != text.as_bytes() && !saved.trim_ascii().is_empty(),
        Err(error) => error.kind() != io::ErrorKind::NotFound,
    };
    Err(io::Error::other(if is_new {
        format!("what it saved is in {} ({failure})", file.keep().display())
    } else {
        failure
    }))
}

/// Opens a pager on a text, and waits until the pager is closed. The pager is `$PAGER`, `less`, or `more`.
pub(crate) fn open_pager(text: &str) -> io::Result<()> {
    let file = DraftFile::create(text)?;
    let pager = chosen(&["PAGER"]);
    let status = command(pager.as_deref().unwrap_or(FALLBACK_PAGER), &file.0)?.status()?;
    // 127 is the shell's exit code for a program that it does not find.
    match status.code() {
        Some(127) => Err(io::Error::other(format!("PAGER: cannot start {}", pager.unwrap_or_default()))),
        _ => Ok(()),
    }
}

/// The pager without `$PAGER`. On Unix it is `less` if that is installed.
const FALLBACK_PAGER: &str = if cfg!(windows) { "more" } else { "$(command -v less || echo more)" };

/// Returns the value of the first of these variables that is set and not blank; `None` if there is none.
fn chosen(variables: &[&str]) -> Option<String> {
    variables.iter().find_map(|name| std::env::var(name).ok().filter(|value| !value.trim().is_empty()))
}

/// The size limit for a saved file, in bytes. It is far above the limit of any text field.
const MAX_SAVED: u64 = 1 << 20;

/// Reads the file's current content. An editor may have replaced the file. Links are not followed.
fn read_saved(path: &Path) -> io::Result<Vec<u8>> {
    let mut options = OpenOptions::new();
    options.read(true);
    // Opening a pipe must not block.
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, libc::O_NOFOLLOW | libc::O_NONBLOCK);
    if fs::symlink_metadata(path)?.is_symlink() {
        return Err(io::Error::other("it is a link by now"));
    }
    let file = options.open(path)?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("it is no file any more"));
    }
    let mut saved = Vec::new();
    match file.take(MAX_SAVED + 1).read_to_end(&mut saved)? as u64 {
        0..=MAX_SAVED => Ok(saved),
        _ => Err(io::Error::other(format!("it has more than {MAX_SAVED} bytes"))),
    }
}

/// A text that was edited in an external editor. Dropping it removes the file.
#[derive(Debug)]
pub struct EditedText {
    text: String,
    file: DraftFile,
}

impl EditedText {
    /// Returns the text without the line ends that editors add at the end of a file.
    pub fn text(&self) -> &str {
        self.text.trim_end_matches(['\r', '\n'])
    }

    /// Keeps the file and returns its path, so that a text that cannot be used is not lost.
    pub fn keep(self) -> PathBuf {
        self.file.keep()
    }
}

/// The editor that is used if neither `VISUAL` nor `EDITOR` is set.
pub const FALLBACK_EDITOR: &str = if cfg!(windows) { "notepad" } else { "vi" };

/// Builds the command that runs the program on the file. The program is a shell command line, as in git. It gets the
/// terminal, even if the standard streams are redirected.
#[cfg(unix)]
fn command(program: &str, file: &Path) -> io::Result<Command> {
    let terminal = || OpenOptions::new().read(true).write(true).open("/dev/tty");
    let mut command = programs::command("sh")?;
    command.arg("-c").arg(format!("exec {program} \"$1\"")).arg("sh").arg(file);
    command.stdin(Stdio::from(terminal()?)).stdout(Stdio::from(terminal()?)).stderr(Stdio::from(terminal()?));
    Ok(command)
}

/// Builds the command that runs the program on the file. `cmd` also finds scripts (`code --wait`), and passes the text
/// between the outermost quotes unchanged.
#[cfg(windows)]
fn command(program: &str, file: &Path) -> io::Result<Command> {
    let mut command = programs::command("cmd")?;
    let text = format!("/D /S /C \"{program} \"{}\"\"", file.display());
    std::os::windows::process::CommandExt::raw_arg(&mut command, text).stdin(Stdio::inherit());
    Ok(command)
}

/// A file that only this user can read. Dropping it removes the file.
#[derive(Debug)]
struct DraftFile(PathBuf);

impl DraftFile {
    fn keep(self) -> PathBuf {
        let mut kept = std::mem::ManuallyDrop::new(self);
        std::mem::take(&mut kept.0)
    }

    fn create(text: &str) -> io::Result<DraftFile> {
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let mut attempt = 0;
        loop {
            let path = std::env::temp_dir().join(format!("askuser-{}-{attempt}.md", std::process::id()));
            match options.open(&path) {
                Ok(mut file) => {
                    let draft = DraftFile(path);
                    return file.write_all(text.as_bytes()).map(|()| draft);
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists && attempt < 100 => attempt += 1,
                Err(error) => return Err(error),
            }
        }
    }
}

impl Drop for DraftFile {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}
