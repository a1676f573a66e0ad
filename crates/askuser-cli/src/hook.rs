//! `askuser hook`: Claude Code asks before much of what it does, and nearly always there is nothing to say. That is decided
//! here, at the cost of a process; only what has to be asked starts the other executable.

use crate::delegate;
use askuser_cli::config::Layers;
use askuser_cli::failure::{Failure, exit, reason};
use askuser_cli::hook_event::{ENTRYPOINT, HookEvent};
use askuser_cli::source;
use askuser_cli::state_folder::{inbox_file, waiting_folder};
use serde_json::Value;
use std::fs::{File, OpenOptions};
use std::io::{self, Seek, Write};

pub(crate) fn run() -> Result<u8, Failure> {
    let mut stdin = io::stdin().lock();
    let read = source::read("standard input", &mut stdin);
    // Whoever writes must not fail because we have read enough.
    let _ = io::copy(&mut stdin, &mut io::sink());
    let text = read?;
    let event: Value = serde_json::from_str(&text).map_err(|error| Failure::new(format!("not an event: {error}")))?;
    match HookEvent::of(&event, std::env::var(ENTRYPOINT).ok().as_deref()) {
        None => return Ok(exit::ANSWERED),
        // Tools run all the time, and hardly ever is somebody asked about one.
        Some(HookEvent::ToolRan) if !somebody_waits()? => return Ok(exit::ANSWERED),
        Some(_) => {}
    }
    let again = once_more(&text).map_err(|error| Failure::new(format!("cannot hand it over: {}", reason(&error))))?;
    delegate::become_services_reading(again, ["hook".into()].into_iter())
}

/// Whether any process may be waiting for an answer from the inbox.
fn somebody_waits() -> Result<bool, Failure> {
    let args = askuser_cli::args::hook().no_binary_name(true).try_get_matches_from([""; 0]).map_err(Failure::new)?;
    let folder = waiting_folder(&inbox_file(&Layers::detect(&args)?.settings()?)?);
    Ok(std::fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_some()))
}

/// What was read from standard input, to be read again by whom we become: a file that nobody else sees.
fn once_more(text: &str) -> io::Result<File> {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).map_or(0, |since| since.as_nanos());
    let path = std::env::temp_dir().join(format!(".askuser-hook-{}-{now:x}", std::process::id()));
    let mut options = OpenOptions::new();
    options.read(true).write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(&path)?;
    #[cfg(unix)]
    std::fs::remove_file(&path)?;
    file.write_all(text.as_bytes())?;
    file.rewind()?;
    Ok(file)
}
