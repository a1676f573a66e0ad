//! A shell command and all processes it starts, as one process group that can be stopped.
//!
//! It runs in its own session, so it cannot read from the terminal: keys belong to the prompt. When the [`ProcessGroup`]
//! is dropped, nothing of the group is left running. A process that leaves the group on purpose (a daemon) is ended by the
//! supervisor, if the agent has one, and as far as possible by the agent if the command has killed its supervisor.
//!
//! process-wrap starts the session, or the job object on Windows. Stopping is ours: it waits for direct children only,
//! cannot tell whether orphans of the group are alive, and kills only the shell when dropped.

use super::orphans;
use crate::tool::ToolContext;
use process_wrap::tokio::{ChildWrapper, CommandWrap};
use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::time::{Duration, Instant};
use tokio::process::ChildStdout;

/// Set for every command: what it says is not what a person says. `askuser answer` and `withdraw` refuse under it.
pub const STARTED_BY_AGENT: &str = "ASKUSER_STARTED_BY_AGENT";

/// How long a command may take to end after SIGTERM.
const GRACE: Duration = Duration::from_secs(1);
/// The same on drop, which blocks the thread.
const DROP_GRACE: Duration = Duration::from_millis(200);
const POLL_INTERVAL: Duration = Duration::from_millis(10);

pub(crate) struct ProcessGroup {
    child: Box<dyn ChildWrapper>,
    id: Option<u32>,
    finished: bool,
    /// Whether the supervisor has stopped processes that had left the group.
    others_stopped: bool,
    /// Its supervisor ends everything once this is closed, and writes to it when it has ended everything itself.
    lifeline: Option<Lifeline>,
}

#[cfg(unix)]
type Lifeline = std::os::unix::net::UnixStream;
/// There are no supervisors.
#[cfg(not(unix))]
type Lifeline = std::convert::Infallible;

/// Runs `text` in a shell, with standard output and standard error in one pipe, and without some variables.
pub(crate) fn spawn_shell(text: &str, context: &ToolContext) -> io::Result<(ProcessGroup, ChildStdout)> {
    let shell = on_path("bash").unwrap_or_else(|| "sh".into());
    let (reader, writer) = io::pipe()?;
    let (stdout, stderr) = (writer.try_clone()?, writer);
    let words: Vec<OsString> =
        context.shared.supervisor.iter().cloned().chain([shell.into(), "-c".into(), text.into()]).collect();
    let (stdin, lifeline) = match context.shared.supervisor.is_empty() {
        true => (Stdio::null(), None),
        false => lifeline()?,
    };
    let mut command = CommandWrap::with_new(&words[0], |command| {
        command
            .args(&words[1..])
            .current_dir(&context.cwd)
            .stdin(stdin)
            .stdout(stdout)
            .stderr(stderr)
            // No person could answer a prompt or leave a pager.
            .env(STARTED_BY_AGENT, "1")
            .env("GIT_TERMINAL_PROMPT", "0")
            .env("PAGER", "cat")
            .env("GIT_PAGER", "cat");
        context.shared.secrets.withheld().iter().for_each(|variable| _ = command.env_remove(variable));
        command.envs(context.shared.secrets.passed().iter().map(|(name, value)| (name, value)));
    });
    #[cfg(unix)]
    command.wrap(process_wrap::tokio::ProcessSession);
    #[cfg(windows)]
    command.wrap(process_wrap::tokio::JobObject);
    let output = receiver(reader)?;
    let child = orphans::knowing_the_child(|| command.spawn().map(|child| (child.id(), child)))?;
    // `command` holds the writing end, and the pipe does not end before it is dropped.
    drop(command);
    Ok((ProcessGroup { id: child.id(), child, finished: false, others_stopped: false, lifeline }, output))
}

/// What a supervisor has as its standard input, and its other end.
#[cfg(unix)]
fn lifeline() -> io::Result<(Stdio, Option<Lifeline>)> {
    let (ours, its) = Lifeline::pair()?;
    ours.set_nonblocking(true)?;
    Ok((std::os::fd::OwnedFd::from(its).into(), Some(ours)))
}

#[cfg(not(unix))]
fn lifeline() -> io::Result<(Stdio, Option<Lifeline>)> {
    Ok((Stdio::null(), None))
}

#[cfg(unix)]
fn receiver(reader: io::PipeReader) -> io::Result<ChildStdout> {
    ChildStdout::from_std(std::os::fd::OwnedFd::from(reader).into())
}

#[cfg(windows)]
fn receiver(reader: io::PipeReader) -> io::Result<ChildStdout> {
    ChildStdout::from_std(std::os::windows::io::OwnedHandle::from(reader).into())
}

fn on_path(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(name)).find(|file| file.is_absolute() && file.is_file())
}

impl ProcessGroup {
    /// Waits for the shell, not for background processes.
    pub(crate) async fn wait(&mut self) -> io::Result<ExitStatus> {
        self.leader().wait().await
    }

    /// The process that was started. On Unix process-wrap would wait for the others of the group as well, if they have become
    /// children of this process.
    fn leader(&mut self) -> &mut dyn ChildWrapper {
        if cfg!(unix) { self.child.inner_mut() } else { &mut *self.child }
    }

    pub(crate) async fn wait_all(&mut self) {
        while self.is_alive() {
            tokio::time::sleep(POLL_INTERVAL).await;
        }
    }

    pub(crate) fn is_alive(&mut self) -> bool {
        // Until it is waited for, the shell itself is a member of the group.
        let shell_runs = matches!(self.leader().try_wait(), Ok(None));
        shell_runs || self.has_members()
    }

    pub(crate) async fn stop(&mut self) {
        self.terminate();
        if tokio::time::timeout(GRACE, self.wait_all()).await.is_err() {
            self.kill();
            let _ = tokio::time::timeout(GRACE, self.wait_all()).await;
        }
        if self.has_lost_supervisor() {
            orphans::end();
        }
        self.mark_finished();
    }

    /// Whether there was a supervisor which ended before it had ended what it was to end: it was killed. To be called once it
    /// has ended.
    pub(crate) fn has_lost_supervisor(&mut self) -> bool {
        #[cfg(unix)]
        if let Some(lifeline) = &mut self.lifeline {
            let mut how = [0];
            if matches!(io::Read::read(lifeline, &mut how), Ok(1)) {
                self.lifeline = None;
                self.others_stopped = how == *b"s";
            }
        }
        self.lifeline.is_some()
    }

    /// Whether processes were stopped that had left the group, as far as the supervisor has said.
    pub(crate) fn others_stopped(&self) -> bool {
        self.others_stopped
    }

    /// No process is left, so the group id may be reused and must not be signalled any more.
    pub(crate) fn mark_finished(&mut self) {
        self.finished = true;
        orphans::forget_child(self.id);
    }

    fn ends_within(&mut self, time: Duration) -> bool {
        let deadline = Instant::now() + time;
        while self.is_alive() {
            if Instant::now() >= deadline {
                return false;
            }
            std::thread::sleep(POLL_INTERVAL);
        }
        true
    }
}

#[cfg(unix)]
impl ProcessGroup {
    fn pid(&self) -> Option<rustix::process::Pid> {
        self.id.and_then(|id| i32::try_from(id).ok()).and_then(rustix::process::Pid::from_raw)
    }

    fn has_members(&self) -> bool {
        // EPERM means that there is a process.
        let no_process = Err(rustix::io::Errno::SRCH);
        let Some(pid) = self.pid() else { return false };
        // Those that have become children of this process would stay zombies. The leader has been taken note of before.
        while let Ok(Some(_)) = rustix::process::waitpgid(pid, rustix::process::WaitOptions::NOHANG) {}
        rustix::process::test_kill_process_group(pid) != no_process && !has_only_zombies(pid.as_raw_nonzero().get())
    }

    fn signal(&self, signal: rustix::process::Signal) {
        let Some(pid) = self.pid() else { return };
        let _ = rustix::process::kill_process_group(pid, signal);
    }

    fn terminate(&mut self) {
        self.signal(rustix::process::Signal::TERM);
        // A stopped process cannot handle SIGTERM.
        self.signal(rustix::process::Signal::CONT);
    }

    fn kill(&mut self) {
        self.signal(rustix::process::Signal::KILL);
    }
}

/// Whether all processes of a group are zombies. Orphans may stay zombies for ever in a container whose first process is
/// not an init.
#[cfg(unix)]
fn has_only_zombies(group: i32) -> bool {
    let Ok(processes) = std::fs::read_dir("/proc") else { return false };
    let stats = processes.flatten().filter_map(|process| std::fs::read_to_string(process.path().join("stat")).ok());
    let mut members = stats.filter_map(|stat| Stat::parse(&stat)).filter(|stat| stat.group == group).peekable();
    // No member at all: /proc does not show these processes.
    members.peek().is_some() && members.all(|stat| matches!(stat.state, 'Z' | 'X'))
}

/// What `/proc/PID/stat` says of a process.
#[cfg(unix)]
#[derive(Debug, PartialEq)]
pub(super) struct Stat {
    state: char,
    pub(super) parent: u32,
    group: i32,
}

#[cfg(unix)]
impl Stat {
    /// Reads `pid (any name) state parent group …`.
    pub(super) fn parse(stat: &str) -> Option<Stat> {
        let mut fields = stat.rsplit_once(')')?.1.split_whitespace();
        let state = fields.next()?.chars().next()?;
        Some(Stat { state, parent: fields.next()?.parse().ok()?, group: fields.next()?.parse().ok()? })
    }
}

#[cfg(not(unix))]
impl ProcessGroup {
    fn has_members(&self) -> bool {
        false
    }

    fn terminate(&mut self) {
        self.kill();
    }

    fn kill(&mut self) {
        let _ = self.child.start_kill();
    }
}

impl Drop for ProcessGroup {
    fn drop(&mut self) {
        if self.finished {
            return;
        }
        self.terminate();
        if !self.ends_within(DROP_GRACE) {
            self.kill();
            self.ends_within(DROP_GRACE);
        }
        if self.has_lost_supervisor() {
            orphans::end();
        }
        self.mark_finished();
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn the_state_of_a_process_is_read_whatever_its_name() {
        assert_eq!(Stat::parse("12 (a) b (c) Z 1 34 35 0 -1"), Some(Stat { state: 'Z', parent: 1, group: 34 }));
        assert_eq!(Stat::parse(""), None);
    }
}
