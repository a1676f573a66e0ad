//! `askuser supervise PROGRAM …`: runs one command of the agent without a sandbox, and ends its process group when the
//! agent is gone. This works even if the agent was killed with SIGKILL. The agent starts this command; people do not
//! type it.
//!
//! Standard input is a socket whose other end only the agent holds, so it ends with the agent. A process that leaves
//! the group on purpose survives. In a bubblewrap sandbox it would be killed.

use crate::failure::{Failure, OrFail};
use rustix::process::{Signal, getpgrp, getpid, kill_process_group};
use signal_hook::low_level::emulate_default_handler;
use std::ffi::OsString;
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Stdio};
use std::thread;

/// Runs the command in `words`, and exits with its exit code.
pub(crate) fn run(mut words: impl Iterator<Item = OsString>) -> Result<u8, Failure> {
    const FAILED: &str = "cannot supervise a command";
    let program = words.next().ok_or_else(|| Failure::new("supervise: no command, must name one"))?;
    let mut child = Command::new(program).args(words).stdin(Stdio::null()).spawn().or_fail(FAILED)?;
    thread::spawn(|| {
        // The socket carries no data.
        let _ = io::copy(&mut io::stdin().lock(), &mut io::sink());
        if getpgrp() == getpid() {
            let _ = kill_process_group(getpid(), Signal::KILL);
        }
        std::process::exit(1);
    });
    let status = child.wait().or_fail(FAILED)?;
    if let Some(signal) = status.signal() {
        let _ = emulate_default_handler(signal);
        return Ok(128u8.saturating_add(signal as u8));
    }
    Ok(status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(1))
}
