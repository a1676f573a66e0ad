//! A shell command and all processes that it starts, as one process group that can be stopped.
//!
//! The group has its own session, so it cannot read the terminal, whose keys belong to the prompt. Dropping the
//! [`ProcessGroup`] ends the whole group. With bubblewrap, the kernel ends all processes of the command when the
//! command or the agent ends. Without bubblewrap, a daemon that leaves the group survives.
//!
//! process-wrap starts the session, or the job object on Windows. Its own stop waits only for direct children, cannot
//! see live orphans of the group, and kills only the shell on drop. So this module stops groups itself.

use crate::sandbox::Wall;
use crate::tool::ToolContext;
use askuser_sys::programs;
use process_wrap::tokio::{ChildWrapper, CommandWrap};
use std::ffi::OsString;
use std::io;
#[cfg(windows)]
use std::path::Path;
use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::time::{Duration, Instant};
use tokio::process::ChildStdout;

/// The environment variable that is set for every command of the agent. `askuser answer` and `askuser withdraw` refuse
/// to run with it, because the words of a command are not a person's.
pub const STARTED_BY_AGENT: &str = "ASKUSER_STARTED_BY_AGENT";

/// The time for which a command may continue after SIGTERM.
const GRACE: Duration = Duration::from_secs(1);
/// The time for which a command may continue after SIGTERM when its group is dropped. It is short, because the drop
/// blocks the thread.
const DROP_GRACE: Duration = Duration::from_millis(200);
const POLL_INTERVAL: Duration = Duration::from_millis(10);

#[cfg_attr(windows, allow(dead_code, reason = "a job needs neither an id nor a supervisor"))]
pub(crate) struct ProcessGroup {
    child: Box<dyn ChildWrapper>,
    id: Option<u32>,
    finished: bool,
    /// Whether bubblewrap is the leader. The whole group ends with it.
    is_walled: bool,
    /// The connection to the supervisor; `None` if there is no supervisor. Closing the connection makes the supervisor
    /// end the group. Inside bubblewrap, the supervisor reports leftover processes through it.
    lifeline: Option<Lifeline>,
}

/// The script that supervises a command inside bubblewrap, where the only other process is bubblewrap's own.
///
/// After the command ends, the script waits a moment for background processes. It reports whether any are left, and all
/// of them end with it. Signals to stop go to the command.
const WATCHED: &str = r#"
trap : TERM
"$@" </dev/null
status=$? turns=0
left() { set -- /proc/[0-9]*; [ $# -gt 2 ]; }
while left && [ $turns -lt 20 ]; do sleep 0.01; turns=$((turns + 1)); done
if left; then printf s >&0; fi
exit $status
"#;

#[cfg(unix)]
type Lifeline = std::os::unix::net::UnixStream;
/// The replacement on systems without a supervisor.
#[cfg(not(unix))]
type Lifeline = std::convert::Infallible;

/// Runs `text` in a shell without the variables that hold keys. Standard output and standard error share a pipe.
pub(crate) fn spawn_shell(
    text: &str,
    wall: Option<Wall>,
    context: &ToolContext,
) -> io::Result<(ProcessGroup, ChildStdout)> {
    let shell = shell()?;
    let (reader, writer) = io::pipe()?;
    let stdout = writer.try_clone()?;
    let stderr = writer;
    let is_walled = wall.is_some();
    let supervisor = &context.shared.supervisor;
    let (stdin, lifeline) = if is_walled || !supervisor.is_empty() { lifeline()? } else { (Stdio::null(), None) };
    let spawn = |words: Vec<OsString>| {
        let mut command = command(&words, text, context);
        command.command_mut().stdin(stdin).stdout(stdout).stderr(stderr);
        // `command` holds the writing end of the pipe until it is dropped here. Then the pipe ends with the processes.
        command.spawn()
    };
    let child = match wall {
        Some(wall) => wall.spawn(|words| {
            let watched = ["/bin/sh", "-c", WATCHED, "sh"].map(OsString::from);
            spawn(words.into_iter().chain(watched).chain(shell).collect())
        })?,
        None => spawn(supervisor.iter().cloned().chain(shell).collect())?,
    };
    let output = receiver(reader)?;
    Ok((ProcessGroup { id: child.id(), child, finished: false, is_walled, lifeline }, output))
}

/// Returns a command with `words` and then `text` as arguments. It runs in a new session.
fn command(words: &[OsString], text: &str, context: &ToolContext) -> CommandWrap {
    let mut command = CommandWrap::with_new(&words[0], |command| {
        command.args(&words[1..]);
        add_text(command, text);
        command
            .current_dir(&context.cwd)
            // No person could answer a prompt of git, or leave a pager.
            .env(STARTED_BY_AGENT, "1")
            .env("GIT_TERMINAL_PROMPT", "0")
            .env("PAGER", "cat")
            .env("GIT_PAGER", "cat");
        context.shared.secrets.withheld().iter().for_each(|variable| _ = command.env_remove(variable));
        command.envs(context.shared.secrets.passed().iter().map(|(name, value)| (name, value)));
    });
    #[cfg(unix)]
    command.wrap(process_wrap::tokio::ProcessSession);
    // The job ends when its handle is closed. The system closes the handle if this process is killed.
    #[cfg(windows)]
    command.wrap(process_wrap::tokio::KillOnDrop).wrap(process_wrap::tokio::JobObject);
    command
}

/// Returns the standard input for a supervisor, and the other end of its connection.
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

/// Returns the shell that runs commands, with the options before the text of a command.
fn shell() -> io::Result<Vec<OsString>> {
    let (other, options) = if cfg!(windows) { ("cmd", &["/D", "/S", "/C"][..]) } else { ("sh", &["-c"][..]) };
    let (shell, options) = match bash() {
        Some(bash) => (bash, &["-c"][..]),
        None => (programs::find(other).ok_or(io::ErrorKind::NotFound)?, options),
    };
    Ok(std::iter::once(shell.into()).chain(options.iter().map(OsString::from)).collect())
}

#[cfg(unix)]
fn add_text(command: &mut tokio::process::Command, text: &str) {
    command.arg(text);
}

/// Adds the text of a command. `cmd` takes the text between the outermost quotes unchanged, so other quoting rules do
/// not apply.
#[cfg(windows)]
fn add_text(command: &mut tokio::process::Command, text: &str) {
    let program = Path::new(command.as_std().get_program()).file_stem().map(|name| name.to_ascii_lowercase());
    if program.is_some_and(|name| name == "cmd") {
        command.raw_arg(format!("\"{text}\""));
    } else {
        command.arg(text);
    }
}

#[cfg(unix)]
fn bash() -> Option<PathBuf> {
    programs::find("bash")
}

/// Returns the Bash of Git, which is often missing from `PATH`; `None` if there is none. The system's `bash` runs
/// commands in WSL, where they do not end with their job.
#[cfg(windows)]
fn bash() -> Option<PathBuf> {
    let lower = |path: &std::ffi::OsStr| PathBuf::from(path.to_ascii_lowercase());
    let system = std::env::var_os("SystemRoot").map(|system| lower(&system));
    let is_own = |bash: &PathBuf| system.as_ref().is_none_or(|system| !lower(bash.as_os_str()).starts_with(system));
    let of_git = programs::find_all("git").into_iter();
    let of_git = of_git.filter_map(|git| Some(git.parent()?.parent()?.join("bin").join("bash.exe")));
    programs::find_all("bash").into_iter().filter(is_own).chain(of_git).find(|bash| bash.is_file())
}

impl ProcessGroup {
    /// Waits until the shell has exited. Background processes may continue.
    pub(crate) async fn wait(&mut self) -> io::Result<ExitStatus> {
        self.leader().wait().await
    }

    /// Returns the process that was started. process-wrap would also wait for other processes: adopted children of the
    /// group on Unix, and the job on Windows.
    fn leader(&mut self) -> &mut dyn ChildWrapper {
        self.child.inner_mut()
    }

    pub(crate) async fn wait_all(&mut self) {
        while self.is_alive() {
            tokio::time::sleep(POLL_INTERVAL).await;
        }
    }

    pub(crate) fn is_alive(&mut self) -> bool {
        // The shell stays a member of the group until it is waited for.
        let leader_runs = matches!(self.leader().try_wait(), Ok(None));
        leader_runs || (!self.is_walled && self.has_members())
    }

    pub(crate) async fn stop(&mut self) {
        self.terminate();
        if tokio::time::timeout(GRACE, self.wait_all()).await.is_err() {
            self.kill();
            let _ = tokio::time::timeout(GRACE, self.wait_all()).await;
        }
        self.mark_finished();
    }

    /// Whether the supervisor has reported background processes after the command. They have ended with the supervisor.
    pub(crate) fn has_left_processes(&mut self) -> bool {
        #[cfg(unix)]
        return self.lifeline.as_mut().is_some_and(|lifeline| matches!(io::Read::read(lifeline, &mut [0]), Ok(1)));
        #[cfg(not(unix))]
        return false;
    }

    /// Records that the group has no processes. Its id may be reused, so it must not be signalled again.
    pub(crate) fn mark_finished(&mut self) {
        self.finished = true;
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
        // The error EPERM means that a process exists.
        let no_process = Err(rustix::io::Errno::SRCH);
        let Some(pid) = self.pid() else { return false };
        // Adopted children would stay zombies. The status of the leader was read before.
        while let Ok(Some(_)) = rustix::process::waitpgid(pid, rustix::process::WaitOptions::NOHANG) {}
        rustix::process::test_kill_process_group(pid) != no_process && !has_only_zombies(pid.as_raw_nonzero().get())
    }

    /// Sends a signal to the group. In a sandbox the leader gets no signal, because its end would kill the other
    /// processes immediately.
    fn signal(&self, signal: rustix::process::Signal) {
        let Some(pid) = self.pid() else { return };
        if !self.is_walled {
            let _ = rustix::process::kill_process_group(pid, signal);
            return;
        }
        let members = members(pid.as_raw_nonzero().get()).filter_map(|(id, _)| rustix::process::Pid::from_raw(id));
        members.filter(|member| *member != pid).for_each(|member| _ = rustix::process::kill_process(member, signal));
    }

    fn terminate(&mut self) {
        self.signal(rustix::process::Signal::TERM);
        // A stopped process cannot handle SIGTERM.
        self.signal(rustix::process::Signal::CONT);
    }

    fn kill(&mut self) {
        let Some(pid) = self.pid() else { return };
        let _ = rustix::process::kill_process_group(pid, rustix::process::Signal::KILL);
    }
}

/// Whether all processes of a group are zombies. Orphans may stay zombies in a container without an init process.
#[cfg(unix)]
fn has_only_zombies(group: i32) -> bool {
    let mut members = members(group).peekable();
    // An empty list means that /proc hides these processes.
    members.peek().is_some() && members.all(|(_, state)| matches!(state, 'Z' | 'X'))
}

/// Returns the ids of the processes of a group, with their states.
#[cfg(unix)]
fn members(group: i32) -> impl Iterator<Item = (i32, char)> {
    let processes = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let stats = processes.filter_map(|process| std::fs::read_to_string(process.path().join("stat")).ok());
    stats.filter_map(move |stat| member(&stat, group))
}

/// Parses a line of `/proc/PID/stat`. Returns the id and the state of the process; `None` if it is not in this group.
/// The line has the format `pid (any name) state parent group …`.
#[cfg(unix)]
fn member(stat: &str, group: i32) -> Option<(i32, char)> {
    let id = stat.split_once(' ')?.0.parse().ok()?;
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace();
    let state = fields.next()?;
    let its_group = fields.nth(1)?;
    (its_group.parse() == Ok(group)).then(|| Some((id, state.chars().next()?))).flatten()
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
        self.mark_finished();
    }
}

// Windows has no list of processes in `/proc`.
#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn the_state_of_a_process_is_read_whatever_its_name() {
        assert_eq!(member("12 (a) b (c) Z 1 34 34 0 -1", 34), Some((12, 'Z')));
        assert_eq!(member("12 (sleep) S 34 56 34 0 -1", 34), None);
        assert_eq!(member("", 34), None);
    }
}
