//! A program in a terminal of its own, and what it wrote there, when.
//!
//! Times are taken right after `read` returns and before the bytes are interpreted, so the emulator's work is in none
//! of them. The child has the terminal as stdin, stderr and controlling terminal; its stdout is a pipe, as for a caller
//! that captures the answer, or the other way round.

use std::ffi::OsStr;
use std::io::Read;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::pty::{OpenptFlags, grantpt, ioctl_tiocgptpeer, openpt, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

use crate::Result;
use crate::options::Colours;
use crate::program::{Answers, Program};
use crate::screen::{COLUMNS, ROWS};

pub const TERM: &str = "xterm-256color";

/// A burst of output is over when nothing has come for this long.
const QUIET: Duration = Duration::from_millis(3);
/// A program that does not get to where it should within this time has failed.
const PATIENCE: Duration = Duration::from_secs(5);

/// The conditions that a program runs under.
pub struct Conditions {
    pub colours: Colours,
    /// The command line before the program's own, such as valgrind's.
    pub wrapper: Vec<String>,
    pub home: PathBuf,
    pub replies: Replies,
    /// The pause in the output that ends a burst.
    pub quiet: Duration,
    /// The time limit for a program to show what is expected.
    pub patience: Duration,
}

impl Conditions {
    pub fn timed(colours: Colours) -> Conditions {
        let home = std::env::temp_dir();
        Conditions { colours, wrapper: Vec::new(), home, replies: Replies::None, quiet: QUIET, patience: PATIENCE }
    }
}

/// Whether the terminal answers queries.
#[derive(Clone, Copy, PartialEq)]
pub enum Replies {
    None,
    Sent,
}

/// The queries of a program, and the replies of a terminal with a dark background.
const QUERIES: [(&[u8], &[u8]); 3] = [
    (b"\x1b]11;?\x1b\\", b"\x1b]11;rgb:1e1e/1e1e/1e1e\x1b\\"),
    (b"\x1b[c", b"\x1b[?62;22c"),
    (b"\x1b[6n", b"\x1b[1;1R"),
];

pub struct Session {
    name: String,
    child: Child,
    started: Instant,
    state: ChildState,
    terminal: OwnedFd,
    emulator: vt100::Parser,
    replies: Replies,
    /// The last bytes of the output, which may be the beginning of a query.
    unread: Vec<u8>,
    quiet: Duration,
    patience: Duration,
}

#[derive(PartialEq)]
enum ChildState {
    Running,
    Reaped,
}

/// What was written between two silences.
pub struct Burst {
    pub bytes: usize,
    pub last_byte: Instant,
}

pub struct Ended {
    pub at: Instant,
    pub status: ExitStatus,
    pub answer: String,
    pub cpu: Duration,
    pub max_rss_kib: u64,
}

/// What came of waiting for output.
enum Output {
    Bytes(usize),
    Silence,
    Closed,
}

impl Session {
    pub fn start(program: &Program, conditions: &Conditions) -> Result<Session> {
        let (terminal, child_side) =
            open_terminal().map_err(|error| format!("cannot open a pseudo-terminal: {error}"))?;
        let words = conditions.wrapper.iter().map(OsStr::new).chain([program.path.as_os_str()]);
        let words: Vec<_> = words.chain(program.arguments.iter().map(OsStr::new)).collect();
        let mut command = Command::new(words[0]);
        command
            .args(&words[1..])
            .env_clear()
            .envs([("TERM", TERM), ("LANG", "C.UTF-8"), ("PATH", "/usr/bin:/bin")])
            .env("HOME", &conditions.home)
            .current_dir(&conditions.home)
            .stdin(child_side.try_clone()?);
        match program.answers {
            Answers::Stdout => command.stdout(Stdio::piped()).stderr(child_side),
            Answers::Stderr => command.stdout(child_side).stderr(Stdio::piped()),
            Answers::OnTheTerminal => command.stdout(child_side.try_clone()?).stderr(child_side),
        };
        if conditions.colours == Colours::True {
            command.env("COLORTERM", "truecolor");
        }
        start_in_own_session(&mut command);
        let started = Instant::now();
        let child = command.spawn().map_err(|error| format!("cannot start {}: {error}", program.path.display()))?;
        let emulator = vt100::Parser::new(ROWS, COLUMNS, 0);
        Ok(Session {
            name: program.name.clone(),
            child,
            started,
            state: ChildState::Running,
            terminal,
            emulator,
            replies: conditions.replies,
            unread: Vec::new(),
            quiet: conditions.quiet,
            patience: conditions.patience,
        })
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Just before the fork.
    pub fn started(&self) -> Instant {
        self.started
    }

    pub fn press(&mut self, key: &[u8]) -> Result<()> {
        match rustix::io::write(&self.terminal, key)? {
            written if written == key.len() => Ok(()),
            written => Err(format!("{}: the terminal took {written} of {} bytes", self.name, key.len()).into()),
        }
    }

    /// Reads until the screen is as `shown` wants it and nothing more comes.
    pub fn wait_for(&mut self, what: &str, shown: impl Fn(&vt100::Screen) -> bool) -> Result<Burst> {
        let deadline = Instant::now() + self.patience;
        let mut burst = Burst { bytes: 0, last_byte: Instant::now() };
        let mut written = Vec::with_capacity(16 * 1024);
        let mut buffer = [0; 16 * 1024];
        loop {
            let patience =
                if written.is_empty() { deadline.saturating_duration_since(Instant::now()) } else { self.quiet };
            match self.read(&mut buffer, patience)? {
                Output::Bytes(count) => {
                    burst.last_byte = Instant::now();
                    burst.bytes += count;
                    written.extend_from_slice(&buffer[..count]);
                    self.reply(&buffer[..count])?;
                }
                Output::Silence if written.is_empty() => return Err(self.failure("did not get to", what)),
                Output::Silence => {
                    self.emulator.process(&written);
                    written.clear();
                    if shown(self.emulator.screen()) {
                        return Ok(burst);
                    }
                }
                Output::Closed => {
                    self.emulator.process(&written);
                    return Err(self.failure("ended before", what));
                }
            }
        }
    }

    /// Answers the queries in the output, in their order.
    fn reply(&mut self, output: &[u8]) -> Result<()> {
        if self.replies == Replies::None {
            return Ok(());
        }
        self.unread.extend_from_slice(output);
        let asked = |unread: &[u8]| {
            let at = |query: &[u8]| unread.windows(query.len()).position(|bytes| bytes == query);
            QUERIES.iter().filter_map(|(query, reply)| Some((at(query)? + query.len(), *reply))).min()
        };
        while let Some((end, reply)) = asked(&self.unread) {
            self.press(reply)?;
            self.unread.drain(..end);
        }
        // No query is longer.
        let old = self.unread.len().saturating_sub(8);
        self.unread.drain(..old);
        Ok(())
    }

    /// Reads until the program closes the terminal, then takes its exit status, its answer and what it used.
    pub fn wait_for_end(mut self) -> Result<Ended> {
        let deadline = Instant::now() + self.patience;
        let mut buffer = [0; 16 * 1024];
        loop {
            match self.read(&mut buffer, deadline.saturating_duration_since(Instant::now()))? {
                Output::Bytes(count) => self.emulator.process(&buffer[..count]),
                Output::Silence => return Err(self.failure("did not get to", "its end")),
                Output::Closed => break,
            }
        }
        let (status, usage) = wait4(&self.child)?;
        let at = Instant::now();
        self.state = ChildState::Reaped;
        let mut answer = String::new();
        match (self.child.stdout.take(), self.child.stderr.take()) {
            (Some(mut pipe), _) => pipe.read_to_string(&mut answer)?,
            (None, Some(mut pipe)) => pipe.read_to_string(&mut answer)?,
            (None, None) => 0,
        };
        let max_rss_kib = usage.ru_maxrss.try_into()?;
        Ok(Ended { at, status, answer, cpu: duration(usage.ru_utime)? + duration(usage.ru_stime)?, max_rss_kib })
    }

    fn read(&mut self, buffer: &mut [u8], patience: Duration) -> Result<Output> {
        let timeout = Timespec { tv_sec: patience.as_secs().try_into()?, tv_nsec: patience.subsec_nanos().into() };
        if poll(&mut [PollFd::new(&self.terminal, PollFlags::IN)], Some(&timeout))? == 0 {
            return Ok(Output::Silence);
        }
        match rustix::io::read(&self.terminal, buffer) {
            // Linux reports a terminal without a program behind it as an IO error.
            Ok(0) | Err(Errno::IO) => Ok(Output::Closed),
            Ok(count) => Ok(Output::Bytes(count)),
            Err(error) => Err(format!("{}: cannot read the terminal: {error}", self.name).into()),
        }
    }

    fn failure(&self, how: &str, what: &str) -> Box<dyn std::error::Error> {
        let screen = self.emulator.screen().contents();
        format!("{} {how} {what}; its screen:\n{screen}", self.name).into()
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        if self.state == ChildState::Running {
            // Only after a failure, which is what gets reported.
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}

/// Our side and the child's side of a new terminal, neither of them inherited by accident.
fn open_terminal() -> rustix::io::Result<(OwnedFd, OwnedFd)> {
    let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
    let ours = openpt(flags)?;
    grantpt(&ours)?;
    unlockpt(&ours)?;
    tcsetwinsize(&ours, Winsize { ws_row: ROWS.get(), ws_col: COLUMNS.get(), ws_xpixel: 0, ws_ypixel: 0 })?;
    let childs = ioctl_tiocgptpeer(&ours, flags)?;
    Ok((ours, childs))
}

/// Makes the child's stdin its controlling terminal, so that `/dev/tty` opens.
#[allow(unsafe_code)]
fn start_in_own_session(command: &mut Command) {
    // SAFETY: runs between fork and exec, where only async-signal-safe calls are allowed; these are two system calls
    // that neither allocate nor lock, and stdin is in place by then.
    unsafe {
        command.pre_exec(|| {
            rustix::process::setsid()?;
            rustix::process::ioctl_tiocsctty(rustix::stdio::stdin())?;
            Ok(())
        });
    }
}

/// Reaps the child; unlike `Child::wait` it says what the child used. Reap a child once: its pid is free afterwards.
#[allow(unsafe_code)]
fn wait4(child: &Child) -> Result<(ExitStatus, libc::rusage)> {
    let mut status = 0;
    let mut usage = MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: both pointers are to live locals of the right type, and an all-zero rusage is a valid one.
    let (pid, usage) = unsafe {
        let pid = libc::wait4(child.id().try_into()?, &mut status, 0, usage.as_mut_ptr());
        (pid, usage.assume_init())
    };
    if pid < 0 {
        return Err(format!("cannot wait for a program: {}", std::io::Error::last_os_error()).into());
    }
    Ok((ExitStatus::from_raw(status), usage))
}

fn duration(time: libc::timeval) -> Result<Duration> {
    Ok(Duration::from_secs(time.tv_sec.try_into()?) + Duration::from_micros(time.tv_usec.try_into()?))
}
