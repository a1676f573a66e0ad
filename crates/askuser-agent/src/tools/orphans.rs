//! What is left of a command whose supervisor was killed. The processes it had adopted then become children of this process, if
//! that adopts orphans (a subreaper, on Linux); they are told from other children by a variable that commands have.
//!
//! Out of reach: a process that has cleared its environment, and all of them where this process adopts nobody.

#[cfg(target_os = "linux")]
use super::process::{STARTED_BY_AGENT, Stat};
use std::collections::BTreeSet;
use std::io;
use std::sync::{Mutex, PoisonError};

/// The children that are commands or their supervisors, which end in their own way.
static COMMANDS: Mutex<BTreeSet<u32>> = Mutex::new(BTreeSet::new());

/// Starts a command, so that nobody takes it for an orphan meanwhile.
pub(crate) fn knowing_the_child<T>(spawn: impl FnOnce() -> io::Result<(Option<u32>, T)>) -> io::Result<T> {
    let mut commands = COMMANDS.lock().unwrap_or_else(PoisonError::into_inner);
    let (id, child) = spawn()?;
    commands.extend(id);
    Ok(child)
}

/// It has ended.
pub(crate) fn forget_child(id: Option<u32>) {
    let mut commands = COMMANDS.lock().unwrap_or_else(PoisonError::into_inner);
    id.map(|id| commands.remove(&id));
}

/// Ends them: SIGTERM, then SIGKILL, until none is found.
#[cfg(target_os = "linux")]
pub(crate) fn end() {
    use rustix::process::{Signal, WaitOptions, kill_process, waitpid};
    use std::collections::HashSet;
    use std::time::{Duration, Instant};
    const GRACE: Duration = Duration::from_millis(200);
    const POLL_INTERVAL: Duration = Duration::from_millis(10);
    let (start, mut signalled) = (Instant::now(), HashSet::new());
    loop {
        let found = found();
        if found.is_empty() || start.elapsed() > 5 * GRACE {
            // Nobody else takes note of their end.
            signalled.into_iter().for_each(|orphan| _ = waitpid(Some(orphan), WaitOptions::NOHANG));
            return;
        }
        let signal = if start.elapsed() < GRACE { Signal::TERM } else { Signal::KILL };
        for orphan in found {
            let _ = kill_process(orphan, signal);
            // A stopped process cannot handle SIGTERM.
            let _ = kill_process(orphan, Signal::CONT);
            signalled.insert(orphan);
        }
        std::thread::sleep(POLL_INTERVAL);
    }
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn end() {}

/// Children of this process that a command has started, and that still run.
#[cfg(target_os = "linux")]
fn found() -> Vec<rustix::process::Pid> {
    let commands = COMMANDS.lock().unwrap_or_else(PoisonError::into_inner);
    let mark = format!("{STARTED_BY_AGENT}=");
    let is_orphan = |id: i32| {
        let folder = format!("/proc/{id}");
        let is_ours = std::fs::read_to_string(format!("{folder}/stat"))
            .is_ok_and(|stat| Stat::parse(&stat).is_some_and(|stat| stat.parent == std::process::id()));
        let is_marked = || {
            let variables = std::fs::read(format!("{folder}/environ")).unwrap_or_default();
            variables.split(|byte| *byte == 0).any(|variable| variable.starts_with(mark.as_bytes()))
        };
        is_ours && !commands.contains(&id.unsigned_abs()) && is_marked()
    };
    let names = std::fs::read_dir("/proc").into_iter().flatten().flatten().map(|entry| entry.file_name());
    let ids = names.filter_map(|name| name.to_str().and_then(|name| name.parse::<i32>().ok()));
    ids.filter(|id| is_orphan(*id)).filter_map(rustix::process::Pid::from_raw).collect()
}
