//! Commands that live in an executable of their own, because of what they bring along.

use askuser_cli::failure::Failure;
use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::process::Command;

const AGENT: &str = "askuser-agent";

/// Becomes `askuser-agent` if the first argument is `agent`; comes back only if it is not, or if that fails.
pub(crate) fn agent(mut args: impl Iterator<Item = OsString>) -> Option<Result<u8, Failure>> {
    args.nth(1).filter(|name| name == "agent")?;
    Some(become_one(Command::new(beside_us().unwrap_or_else(|| AGENT.into())).args(args)).map_err(|error| {
        let failure = Failure::new(format!("cannot start {AGENT}: {error}"));
        match error.kind() {
            io::ErrorKind::NotFound => failure.hint(format!(
                "it is installed beside askuser by `cargo install --path crates/askuser-cli`, and built by `cargo build \
                 --release`, but not by `cargo run`: there, `cargo run --release --bin {AGENT}`"
            )),
            _ => failure,
        }
    }))
}

fn beside_us() -> Option<PathBuf> {
    let path = std::env::current_exe().ok()?.with_file_name(format!("{AGENT}{}", std::env::consts::EXE_SUFFIX));
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
