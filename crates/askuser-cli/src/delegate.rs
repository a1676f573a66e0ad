//! Commands that live in `askuser-services`, an executable of its own: HTTP, TLS and an async runtime would cost every
//! prompt a quarter of its first frame and twice its memory (CONTRIBUTING.md, "Benchmarks"). Nobody has to know: the two are
//! installed together, and a user only ever calls `askuser COMMAND`. `ask` is handed over only where the inbox takes part, or
//! where there is Markdown to read.

use askuser_cli::failure::Failure;
use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::path::PathBuf;
use std::process::Command;

const SERVICES: &str = "askuser-services";

/// Becomes `askuser-services` with these arguments; comes back only if that fails.
pub(crate) fn become_services(args: impl Iterator<Item = OsString>) -> Result<u8, Failure> {
    start(services().args(args))
}

/// The same with another standard input.
pub(crate) fn become_services_reading(stdin: File, args: impl Iterator<Item = OsString>) -> Result<u8, Failure> {
    start(services().stdin(stdin).args(args))
}

/// The other executable, to be started.
fn services() -> Command {
    Command::new(beside_us().unwrap_or_else(|| SERVICES.into()))
}

fn start(command: &mut Command) -> Result<u8, Failure> {
    become_one(command).map_err(|error| {
        let failure = Failure::new(format!("cannot start {SERVICES}: {error}"));
        match error.kind() {
            io::ErrorKind::NotFound => failure.hint(
                "it belongs beside askuser: `cargo install --path crates/askuser-cli` installs both, `cargo build` builds \
                 both, but `cargo run` builds only the first",
            ),
            _ => failure,
        }
    })
}

/// Holds the terminal open until the executable that we become has opened it. While no process has it open, as where every
/// standard stream is a file, whoever is on the other side of a pseudo-terminal takes it for closed.
#[cfg(unix)]
pub(crate) fn keep_terminal_open() {
    if let Ok(terminal) = File::options().read(true).write(true).open("/dev/tty")
        && rustix::io::fcntl_setfd(&terminal, rustix::io::FdFlags::empty()).is_ok()
    {
        std::mem::forget(terminal);
    }
}

#[cfg(not(unix))]
pub(crate) fn keep_terminal_open() {}

/// Puts what was read from standard input back, for the executable that we become.
#[cfg(unix)]
pub(crate) fn give_back_stdin(text: &str) -> Result<(), Failure> {
    use std::io::{Seek, Write};
    let put_back = || {
        let path = std::env::temp_dir().join(format!("askuser-{}-{:p}", std::process::id(), text));
        let mut options = std::fs::OpenOptions::new();
        options.read(true).write(true).create_new(true);
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let mut file = options.open(&path)?;
        std::fs::remove_file(&path)?;
        file.write_all(text.as_bytes())?;
        file.rewind()?;
        rustix::stdio::dup2_stdin(&file)?;
        Ok::<(), io::Error>(())
    };
    put_back().map_err(|error| Failure::new(format!("cannot hand over the questions: {error}")))
}

#[cfg(not(unix))]
pub(crate) fn give_back_stdin(_: &str) -> Result<(), Failure> {
    Err(Failure::new("questions with Markdown cannot be read from standard input here").hint("give a FILE"))
}

fn beside_us() -> Option<PathBuf> {
    let path = std::env::current_exe().ok()?.with_file_name(format!("{SERVICES}{}", std::env::consts::EXE_SUFFIX));
    path.is_file().then_some(path)
}

#[cfg(unix)]
fn become_one(command: &mut Command) -> io::Result<u8> {
    Err(std::os::unix::process::CommandExt::exec(command))
}

#[cfg(not(unix))]
fn become_one(command: &mut Command) -> io::Result<u8> {
    let status = command.status()?;
    Ok(status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(askuser_cli::failure::exit::BAD_INPUT))
}
