//! One round (question to answer) of one program, and one wait of all of them.

use std::fs;
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::Result;
use crate::options::Colours;
use crate::program::{Leaves, Program};
use crate::pty::{Burst, Conditions, Ended, Session};
use crate::screen::{LABELS, shows_focus};

pub const DOWN: &[u8] = b"\x1b[B";
pub const UP: &[u8] = b"\x1b[A";
const ENTER: &[u8] = b"\r";

/// From the first frame to the wait for wake-ups; whatever a program still does to get going is over by then.
const SETTLED: Duration = Duration::from_millis(500);

pub struct Measured {
    pub program: Program,
    pub binary_bytes: u64,
    pub rounds: Vec<Round>,
    pub wakeups: Option<u64>,
}

pub struct Round {
    /// From before the fork to the last byte of the first complete list.
    pub first_frame: Duration,
    pub arrows: Vec<Arrow>,
    /// From Enter to the end of the process.
    pub leave: Duration,
    /// The kernel's `VmHWM`, read before answering.
    pub peak_rss_kib: u64,
    /// `ru_maxrss` at the end. From the kernel's approximate counters, so it may be a little below `VmHWM`, and never
    /// less than the anonymous memory that the fork inherited from this benchmark.
    pub max_rss_kib: u64,
    pub cpu: Duration,
}

/// One arrow key and the repaint that it caused.
pub struct Arrow {
    pub repaint: Duration,
    pub bytes: usize,
}

impl Measured {
    pub fn new(program: Program) -> Result<Measured> {
        let binary_bytes = fs::metadata(&program.path)?.len();
        Ok(Measured { program, binary_bytes, rounds: Vec::new(), wakeups: None })
    }
}

/// Starts the program, goes down the list and up again, and chooses the first option.
pub fn round(program: &Program, colours: Colours) -> Result<Round> {
    let mut session = Session::start(program, &Conditions::timed(colours))?;
    let first_frame = wait_for_focus(&mut session, 0)?.last_byte - session.started();

    let last = LABELS.len() - 1;
    let down = (1..=last).map(|index| (DOWN, index));
    let up = (0..last).rev().map(|index| (UP, index));
    let mut arrows = Vec::new();
    for (key, index) in down.chain(up) {
        let pressed = Instant::now();
        session.press(key)?;
        let burst = wait_for_focus(&mut session, index)?;
        arrows.push(Arrow { repaint: burst.last_byte - pressed, bytes: burst.bytes });
    }
    let peak_rss_kib = peak_rss_kib(session.pid())?;
    let (leave, ended) = answer(program, session)?;
    Ok(Round { first_frame, arrows, leave, peak_rss_kib, max_rss_kib: ended.max_rss_kib, cpu: ended.cpu })
}

/// Lets all programs wait for a key at the same time and counts how often each woke up.
pub fn idle(measured: &mut [Measured], colours: Colours, wait: Duration) -> Result<()> {
    let mut sessions = Vec::new();
    for program in measured.iter() {
        let mut session = Session::start(&program.program, &Conditions::timed(colours))?;
        wait_for_focus(&mut session, 0)?;
        sessions.push(session);
    }
    sleep(SETTLED);
    let before = sessions.iter().map(|session| wakeups(session.pid())).collect::<Result<Vec<_>>>()?;
    sleep(wait);
    for ((program, session), before) in measured.iter_mut().zip(&sessions).zip(before) {
        program.wakeups = Some(wakeups(session.pid())?.saturating_sub(before));
    }
    for (program, session) in measured.iter().zip(sessions) {
        answer(&program.program, session)?;
    }
    Ok(())
}

/// This process's anonymous memory, which a fork copies and `ru_maxrss` of the child therefore includes.
pub fn own_anonymous_kib() -> Result<u64> {
    status_field("/proc/self/status", "RssAnon:")
}

fn wait_for_focus(session: &mut Session, index: usize) -> Result<Burst> {
    session.wait_for(&format!("the list with {} focused", LABELS[index]), |screen| shows_focus(screen, index))
}

/// Presses Enter on the first option; a program that then says anything else was not measured doing its job.
pub fn answer(program: &Program, mut session: Session) -> Result<(Duration, Ended)> {
    let pressed = Instant::now();
    session.press(ENTER)?;
    if let Leaves::When(words, keys) = program.leaves {
        session.wait_for(words, |screen| screen.contents().contains(words))?;
        session.press(keys)?;
    }
    let ended = session.wait_for_end()?;
    let answered = matches!(program.leaves, Leaves::When(..)) || ended.answer.contains(LABELS[0]);
    if !ended.status.success() || !answered {
        let (name, status, answer) = (&program.name, ended.status, &ended.answer);
        return Err(format!("{name} should have answered {}: {status}, it said {answer:?}", LABELS[0]).into());
    }
    Ok((ended.at - pressed, ended))
}

fn peak_rss_kib(pid: u32) -> Result<u64> {
    status_field(&format!("/proc/{pid}/status"), "VmHWM:")
}

/// How often any thread of the process went to sleep, hence was woken.
fn wakeups(pid: u32) -> Result<u64> {
    let mut sum = 0;
    for thread in fs::read_dir(format!("/proc/{pid}/task"))? {
        sum += status_field(&format!("{}/status", thread?.path().display()), "voluntary_ctxt_switches:")?;
    }
    Ok(sum)
}

fn status_field(path: &str, field: &str) -> Result<u64> {
    let status = fs::read_to_string(path).map_err(|error| format!("cannot read {path}: {error}"))?;
    let value = status.lines().find_map(|line| line.strip_prefix(field));
    let number = value.and_then(|value| value.split_whitespace().next()).ok_or(format!("{path}: no {field}"))?;
    Ok(number.parse()?)
}
