//! Commands that live in `askuser-services`, an executable of its own: HTTP, TLS and an async runtime would cost every
//! prompt a quarter of its first frame and twice its memory (CONTRIBUTING.md, "Benchmarks"). Nobody has to know: the two are
//! installed together, and a user only ever calls `askuser COMMAND`. `ask` is handed over only where the inbox takes part.

use askuser_cli::failure::Failure;
use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::path::PathBuf;
use std::process::Command;

const SERVICES: &str = "askuser-services";
/// The commands that are handed over.
const COMMANDS: [&str; 8] = ["agent", "answer", "inbox", "init", "log", "mcp", "wait", "withdraw"];

/// Becomes `askuser-services` if the first argument is one of its commands; comes back only if it is not, or if that fails.
pub(crate) fn hand_over(args: impl Iterator<Item = OsString>) -> Option<Result<u8, Failure>> {
    let mut args = args.skip(1).peekable();
    args.peek().filter(|name| COMMANDS.iter().any(|command| name == command))?;
    Some(become_services(args))
}

/// Becomes `askuser-services` with these arguments; comes back only if that fails.
pub(crate) fn become_services(args: impl Iterator<Item = OsString>) -> Result<u8, Failure> {
    start(services().args(args))
}

/// The same with another standard input.
pub(crate) fn become_services_reading(stdin: File, args: impl Iterator<Item = OsString>) -> Result<u8, Failure> {
    start(services().stdin(stdin).args(args))
}

/// The other executable, to be started.
pub(crate) fn services() -> Command {
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
    Err(Failure::new("questions with previews cannot be read from standard input here").hint("give a FILE"))
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
