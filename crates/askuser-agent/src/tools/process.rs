//! A command with all it has started, as one thing that can be ended.
//!
//! It has a session of its own, or at least a process group, and so cannot read the terminal: keys belong to whoever is
//! asked a question. However it goes out of hands, nothing of its group is left running. What leaves the group on purpose
//! (a daemon) is out of reach.

use std::io;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::time::{Duration, Instant};
use tokio::process::{Child, ChildStdout, Command};

/// How long a command may take to end in good order.
const GRACE: Duration = Duration::from_secs(1);
/// The same when nobody waits any more, and a thread is kept from other work meanwhile.
const DROP_GRACE: Duration = Duration::from_millis(200);
const PAUSE: Duration = Duration::from_millis(10);

/// A command and its descendants.
pub(crate) struct Group {
    child: Child,
    id: Option<u32>,
    over: bool,
}

/// How a command is kept off the terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Apart {
    /// It has no terminal: opening `/dev/tty` fails at once.
    Session,
    /// The terminal stops it when it reads; the timeout ends it.
    Group,
}

impl Apart {
    /// The best this system has.
    pub(crate) fn best() -> Apart {
        if cfg!(unix) && setsid().is_some() { Apart::Session } else { Apart::Group }
    }
}

/// Runs `text` in a shell; standard output and standard error come out of one pipe, in order.
pub(crate) fn shell(text: &str, cwd: &Path, apart: Apart) -> io::Result<(Group, ChildStdout)> {
    let shell = on_path("bash").unwrap_or_else(|| "sh".into());
    // It replaces itself by the shell, so the process that was started is the leader of its session.
    let mut command = match (apart, setsid()) {
        (Apart::Session, Some(setsid)) => {
            let mut command = Command::new(setsid);
            command.arg(shell);
            command
        }
        (Apart::Session, None) | (Apart::Group, _) => {
            let mut command = Command::new(shell);
            #[cfg(unix)]
            command.process_group(0);
            command
        }
    };
    let (reader, writer) = io::pipe()?;
    command
        .arg("-c")
        .arg(text)
        .current_dir(cwd)
        .stdin(Stdio::null())
        .stdout(writer.try_clone()?)
        .stderr(writer)
        // Nobody can answer these.
        .env("GIT_TERMINAL_PROMPT", "0")
        .env("PAGER", "cat")
        .env("GIT_PAGER", "cat");
    let output = receiver(reader)?;
    let child = command.spawn()?;
    // `command` holds the writing end; the pipe would never end while it lives.
    drop(command);
    Ok((Group { id: child.id(), child, over: false }, output))
}

#[cfg(unix)]
fn receiver(reader: io::PipeReader) -> io::Result<ChildStdout> {
    ChildStdout::from_std(std::os::fd::OwnedFd::from(reader).into())
}

#[cfg(windows)]
fn receiver(reader: io::PipeReader) -> io::Result<ChildStdout> {
    ChildStdout::from_std(std::os::windows::io::OwnedHandle::from(reader).into())
}

fn setsid() -> Option<&'static Path> {
    [Path::new("/usr/bin/setsid"), Path::new("/bin/setsid")].into_iter().find(|path| path.is_file())
}

fn on_path(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(name)).find(|file| file.is_absolute() && file.is_file())
}

impl Group {
    /// Waits for the shell, not for what it leaves behind.
    pub(crate) async fn wait(&mut self) -> io::Result<ExitStatus> {
        self.child.wait().await
    }

    /// Waits until nothing of it is left.
    pub(crate) async fn gone(&mut self) {
        while self.is_alive() {
            tokio::time::sleep(PAUSE).await;
        }
    }

    /// Whether anything of it is left.
    pub(crate) fn is_alive(&mut self) -> bool {
        // A shell that nobody has waited for counts as one of its group.
        let shell_runs = matches!(self.child.try_wait(), Ok(None));
        shell_runs || self.has_members()
    }

    /// Asks it to end, then makes it.
    pub(crate) async fn end(&mut self) {
        self.ask_to_end();
        if tokio::time::timeout(GRACE, self.gone()).await.is_err() {
            self.kill();
            let _ = tokio::time::timeout(GRACE, self.gone()).await;
        }
        self.over = true;
    }

    /// Nothing of it is left: its id may belong to somebody else from now on.
    pub(crate) fn let_go(&mut self) {
        self.over = true;
    }

    fn is_gone_within(&mut self, time: Duration) -> bool {
        let until = Instant::now() + time;
        while self.is_alive() {
            if Instant::now() >= until {
                return false;
            }
            std::thread::sleep(PAUSE);
        }
        true
    }
}

#[cfg(unix)]
impl Group {
    fn pid(&self) -> Option<rustix::process::Pid> {
        self.id.and_then(|id| i32::try_from(id).ok()).and_then(rustix::process::Pid::from_raw)
    }

    fn has_members(&self) -> bool {
        // Not being allowed to signal it means that there is somebody.
        let none = Err(rustix::io::Errno::SRCH);
        let Some(pid) = self.pid() else { return false };
        rustix::process::test_kill_process_group(pid) != none && !is_dead(pid.as_raw_nonzero().get())
    }

    fn signal(&self, signal: rustix::process::Signal) {
        let Some(pid) = self.pid() else { return };
        // Before the child has made its session there is no group, but there is the child.
        if rustix::process::kill_process_group(pid, signal).is_err() && self.child.id().is_some() {
            let _ = rustix::process::kill_process(pid, signal);
        }
    }

    fn ask_to_end(&mut self) {
        self.signal(rustix::process::Signal::TERM);
        // A stopped process does nothing until it goes on.
        self.signal(rustix::process::Signal::CONT);
    }

    fn kill(&mut self) {
        self.signal(rustix::process::Signal::KILL);
    }
}

/// Whether all of a group have ended and only wait for a parent to take note. Orphans may do so for ever where the first
/// process of a container is no init.
#[cfg(unix)]
fn is_dead(group: i32) -> bool {
    let Ok(processes) = std::fs::read_dir("/proc") else { return false };
    let stats = processes.flatten().filter_map(|process| std::fs::read_to_string(process.path().join("stat")).ok());
    let mut members = stats.filter_map(|stat| state_in(&stat, group)).peekable();
    // Without any member at all, this is not a /proc that tells.
    members.peek().is_some() && members.all(|state| matches!(state, 'Z' | 'X'))
}

/// The state of a process, if it is in this group: `pid (any name) state parent group …`.
#[cfg(unix)]
fn state_in(stat: &str, group: i32) -> Option<char> {
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace();
    let (state, its_group) = (fields.next()?, fields.nth(1)?);
    (its_group.parse() == Ok(group)).then(|| state.chars().next()).flatten()
}

#[cfg(not(unix))]
impl Group {
    fn has_members(&self) -> bool {
        false
    }

    fn ask_to_end(&mut self) {
        self.kill();
    }

    fn kill(&mut self) {
        let _ = self.child.start_kill();
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        if self.over {
            return;
        }
        self.ask_to_end();
        if !self.is_gone_within(DROP_GRACE) {
            self.kill();
            self.is_gone_within(DROP_GRACE);
        }
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn the_state_of_a_process_is_read_whatever_its_name() {
        assert_eq!(state_in("12 (a) b (c) Z 1 34 34 0 -1", 34), Some('Z'));
        assert_eq!(state_in("12 (sleep) S 34 56 34 0 -1", 34), None);
        assert_eq!(state_in("", 34), None);
    }
}
