//! `askuser supervise PROGRAM …`: runs one command of the agent, and ends it with all its descendants when the agent
//! is gone, killed with SIGKILL included. Started by the agent, never typed.
//!
//! Standard input is a socket whose other end only the agent holds: its end is the agent's end. Before this process ends it
//! writes a byte there, so that the agent can tell whether it was killed. On Linux this process adopts orphans (a subreaper),
//! so a descendant that starts a session of its own stays a descendant; it is woken when the agent dies, should the command
//! have stopped it. Out of reach: what another service starts on request (systemd-run, docker, at), what runs as another
//! user, and what left the process group of a command that has killed this process, if the agent dies as well. Elsewhere
//! only the process group is ended.

use crate::failure::Failure;
use rustix::process::{Pid, Signal, WaitOptions, WaitStatus, getpgrp, getpid, kill_process, kill_process_group, wait};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::low_level::{emulate_default_handler, pipe};
use std::ffi::OsString;
use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// How long descendants in sessions of their own may go on after the command has ended.
const BACKGROUND_GRACE: Duration = Duration::from_millis(200);
/// How long a process may take to end after SIGTERM. Shorter than the agent's own patience.
const GRACE: Duration = Duration::from_millis(700);
const POLL_INTERVAL: Duration = Duration::from_millis(10);

/// Runs the command in `words`, and ends as it ends.
pub(crate) fn run(mut words: impl Iterator<Item = OsString>) -> Result<u8, Failure> {
    let failed = |error: io::Error| Failure::new(format!("cannot supervise a command: {error}"));
    let program = words.next().ok_or_else(|| Failure::new("supervise: no command, must name one"))?;
    #[cfg(target_os = "linux")]
    {
        rustix::process::set_child_subreaper(Some(getpid())).map_err(|error| failed(error.into()))?;
        // A command can stop its parent, which would not notice the agent's end then.
        rustix::process::set_parent_process_death_signal(Some(Signal::CONT)).map_err(|error| failed(error.into()))?;
    }
    let (mut signalled, handler) = UnixStream::pair().map_err(failed)?;
    for signal in [SIGTERM, SIGINT, SIGHUP] {
        pipe::register(signal, handler.try_clone().map_err(failed)?).map_err(failed)?;
    }
    let child = Command::new(program).args(words).stdin(Stdio::null()).spawn().map_err(failed)?;
    thread::spawn(|| {
        // Nothing is ever written to it.
        let _ = io::copy(&mut io::stdin().lock(), &mut io::sink());
        end(Whom::All);
        if getpgrp() == getpid() {
            let _ = kill_process_group(getpid(), Signal::KILL);
        }
        std::process::exit(1);
    });
    // The agent stops the group; what has left the group is stopped here.
    thread::spawn(move || {
        while signalled.read(&mut [0]).is_ok_and(|bytes| bytes > 0) {
            end(Whom::OutsideOfOurGroup);
        }
    });
    let status = wait_for(child.id()).map_err(failed)?;
    let deadline = Instant::now() + BACKGROUND_GRACE;
    while !descendants(Whom::OutsideOfOurGroup).is_empty() && Instant::now() < deadline {
        thread::sleep(POLL_INTERVAL);
    }
    let was_left = !descendants(Whom::OutsideOfOurGroup).is_empty();
    end(Whom::OutsideOfOurGroup);
    // The agent would have them as children that nobody takes note of.
    while matches!(wait(WaitOptions::NOHANG), Ok(Some(_))) {}
    if descendants(Whom::OutsideOfOurGroup).is_empty() {
        report_end(if was_left { b"s" } else { b"." });
    }
    if let Some(signal) = status.terminating_signal() {
        let _ = emulate_default_handler(signal);
        return Ok(128u8.saturating_add(signal as u8));
    }
    Ok(status.exit_status().and_then(|code| u8::try_from(code).ok()).unwrap_or(1))
}

/// Tells the agent that nothing is left of the command but what is in its process group, which the agent looks after.
fn report_end(how: &[u8]) {
    // Where standard input is something else, nobody waits for it.
    let lifeline = io::stdin().as_fd().try_clone_to_owned().map(UnixStream::from);
    let _ = lifeline.and_then(|mut lifeline| lifeline.write_all(how));
}

/// Waits for the command; orphans that end meanwhile are taken note of, and forgotten.
fn wait_for(child: u32) -> io::Result<WaitStatus> {
    loop {
        match wait(WaitOptions::empty()) {
            Ok(Some((pid, status))) if pid.as_raw_nonzero().get().unsigned_abs() == child => return Ok(status),
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

/// Which descendants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Whom {
    All,
    OutsideOfOurGroup,
}

/// SIGTERM, then SIGKILL, until none is left or nothing helps.
fn end(whom: Whom) {
    let start = Instant::now();
    let signal = |signal: Signal| descendants(whom).into_iter().for_each(|pid| _ = kill_process(pid, signal));
    signal(Signal::TERM);
    // A stopped process cannot handle SIGTERM.
    signal(Signal::CONT);
    while !descendants(whom).is_empty() && start.elapsed() < 3 * GRACE {
        if start.elapsed() > GRACE {
            signal(Signal::KILL);
        }
        thread::sleep(POLL_INTERVAL);
    }
}

/// A process: its id, its parent, its group.
struct Process {
    id: i32,
    parent: i32,
    group: i32,
}

/// The descendants of this process that still run.
fn descendants(whom: Whom) -> Vec<Pid> {
    let folders = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let stats = folders.filter_map(|folder| std::fs::read_to_string(folder.path().join("stat")).ok());
    let processes: Vec<Process> = stats.filter_map(|stat| parse(&stat)).collect();
    let (us, group) = (getpid().as_raw_nonzero().get(), getpgrp().as_raw_nonzero().get());
    let mut found = vec![us];
    let mut next = 0;
    while let Some(parent) = found.get(next).copied() {
        found.extend(processes.iter().filter(|process| process.parent == parent).map(|process| process.id));
        next += 1;
    }
    let is_meant = |process: &&Process| {
        process.id != us && found.contains(&process.id) && (whom == Whom::All || process.group != group)
    };
    processes.iter().filter(is_meant).filter_map(|process| Pid::from_raw(process.id)).collect()
}

/// Reads `/proc/PID/stat`: `pid (any name) state parent group …`. A process that has ended is none.
fn parse(stat: &str) -> Option<Process> {
    let (id, rest) = stat.split_once(' ')?;
    let mut fields = rest.rsplit_once(')')?.1.split_whitespace();
    let state = fields.next()?;
    let (parent, group) = (fields.next()?.parse().ok()?, fields.next()?.parse().ok()?);
    (!matches!(state, "Z" | "X")).then_some(Process { id: id.parse().ok()?, parent, group })
}
