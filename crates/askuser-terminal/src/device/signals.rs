//! Signals: recorded while a prompt has the terminal, and left to their default action otherwise.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

use rustix::io::Errno;
use rustix::process::{getpgrp, getsid};
use signal_hook::consts::{
    SIGABRT, SIGALRM, SIGCONT, SIGHUP, SIGINT, SIGPROF, SIGQUIT, SIGTERM, SIGTSTP, SIGUSR1, SIGUSR2, SIGVTALRM,
    SIGWINCH, SIGXCPU,
};
use signal_hook::low_level::emulate_default_handler;

/// The current user of the terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TtyState {
    /// This device does not use the terminal.
    Idle,
    /// This device uses the terminal, with its modes set.
    Held,
    /// A child process has borrowed the terminal.
    Lent,
    /// The shell took the terminal back when a signal asked the process to end. The terminal must not be changed any
    /// more.
    Lost,
}

/// The signals that end a process by default, in the order in which they are reported.
///
/// Signals of faults are left out. So are signals whose default action signal-hook cannot run (real-time signals,
/// SIGIO, SIGPWR, SIGSTKFLT).
pub(super) const TERMINATION: [i32; 11] =
    [SIGTERM, SIGHUP, SIGINT, SIGQUIT, SIGUSR1, SIGUSR2, SIGALRM, SIGVTALRM, SIGPROF, SIGXCPU, SIGABRT];
/// The recorded signals that do not end the process.
const OTHERS: [i32; 3] = [SIGTSTP, SIGCONT, SIGWINCH];

/// The signals that a prompt handles. Each signal sets a flag and wakes one pipe.
///
/// The first prompt of the process installs the handlers, and they stay. A flag per signal makes the handler run the
/// default action. The flag is set while no prompt is active, so that Ctrl-C interrupts and SIGTERM kills as before.
/// Ignored signals stay ignored. If the program already had a handler, that handler is still called and the default
/// action is never run. A handler that is installed *after* the first prompt is called too if it calls this one. It
/// does not prevent the default action.
pub(super) struct Signals {
    /// The reading end of a pipe that becomes readable when a signal arrives.
    pub(super) pipe: OwnedFd,
    /// The writing end of the pipe.
    waker: OwnedFd,
    watched: Vec<WatchedSignal>,
    /// Set after the device has reported a signal that ends the process. Ctrl-C does not set it, because Ctrl-C may
    /// only end a prompt.
    pub(super) is_told: AtomicBool,
}

static SIGNALS: OnceLock<Signals> = OnceLock::new();

/// Wakes the device in use.
pub(super) fn wake() {
    if let Ok(signals) = Signals::get() {
        let _ = rustix::io::write(&signals.waker, &[0]);
    }
}

pub(super) fn is_told_to_end() -> bool {
    Signals::get().is_ok_and(|signals| signals.is_told.load(Ordering::SeqCst) || signals.termination_requested())
}

struct WatchedSignal {
    signal: i32,
    arrived: AtomicBool,
    /// The switch for running the default action in the handler; `None` if it never runs.
    default: Option<AtomicBool>,
    /// The action before the handler was installed.
    before: libc::sigaction,
}

/// Handles a signal. It calls the previous handler, then runs the default action if that is switched on. Then it sets
/// the flag and wakes the pipe, in this order, so that a waiter finds the flag set.
///
/// The handler is async-signal-safe. It uses atomics, a non-blocking write, and `emulate_default_handler`, which is
/// made for handlers.
extern "C" fn handle(signal: i32, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    let Some(signals) = SIGNALS.get() else { return };
    let Some(watched) = signals.watched.iter().find(|watched| watched.signal == signal) else { return };
    let handler = watched.before.sa_sigaction;
    if Disposition::from(&watched.before) == Disposition::Caught {
        // SAFETY: the system would call this handler in the same way, according to its flags.
        #[allow(unsafe_code)]
        unsafe {
            if watched.before.sa_flags & libc::SA_SIGINFO != 0 {
                std::mem::transmute::<usize, Handler>(handler)(signal, info, context);
            } else {
                std::mem::transmute::<usize, extern "C" fn(i32)>(handler)(signal);
            }
        }
    }
    if watched.default.as_ref().is_some_and(|default| default.load(Ordering::SeqCst)) {
        let _ = emulate_default_handler(signal);
    }
    watched.arrived.store(true, Ordering::SeqCst);
    let _ = rustix::io::write(&signals.waker, &[0]);
}

impl Signals {
    /// Returns the signals of this process. The first call installs the handlers.
    pub(super) fn get() -> io::Result<&'static Signals> {
        static INSTALLING: Mutex<()> = Mutex::new(());
        if let Some(signals) = SIGNALS.get() {
            return Ok(signals);
        }
        let _guard = INSTALLING.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(signals) = SIGNALS.get() {
            return Ok(signals);
        }
        let signals = Signals::new()?;
        let signals = SIGNALS.get_or_init(|| signals);
        signals.watched.iter().try_for_each(|watched| set_action(watched.signal, Some(handle)).map(drop))?;
        Ok(signals)
    }

    fn new() -> io::Result<Signals> {
        let (pipe, waker) = io::pipe()?;
        rustix::io::ioctl_fionbio(&pipe, true)?;
        rustix::io::ioctl_fionbio(&waker, true)?;
        let mut watched = Vec::with_capacity(TERMINATION.len() + OTHERS.len());
        for signal in TERMINATION.into_iter().chain(OTHERS) {
            let before = set_action(signal, None)?;
            // The default action of SIGCONT and SIGWINCH is to ignore them.
            let default = match Disposition::from(&before) {
                Disposition::Ignored => continue,
                Disposition::Default if !matches!(signal, SIGCONT | SIGWINCH) => Some(AtomicBool::new(true)),
                Disposition::Default | Disposition::Caught => None,
            };
            watched.push(WatchedSignal { signal, arrived: AtomicBool::new(false), default, before });
        }
        Ok(Signals { pipe: pipe.into(), waker: waker.into(), watched, is_told: AtomicBool::new(false) })
    }

    pub(super) fn set_defaults(&self, state: TtyState) {
        for watched in &self.watched {
            let Some(default) = &watched.default else { continue };
            let applies = match (state, watched.signal) {
                (TtyState::Idle | TtyState::Lent, SIGTSTP) => self.can_stop(),
                (TtyState::Idle, _) => true,
                (TtyState::Lent, signal) => !matches!(signal, SIGINT | SIGQUIT),
                (TtyState::Held | TtyState::Lost, _) => false,
            };
            default.store(applies, Ordering::SeqCst);
        }
    }

    /// Returns whether Ctrl-Z stops this process.
    ///
    /// Ctrl-Z has no effect if SIGTSTP is ignored. It also has none in the session leader's process group, where no
    /// shell could continue the process. The kernel makes the same exception, but only for the real default action.
    pub(super) fn can_stop(&self) -> bool {
        self.watched.iter().any(|watched| watched.signal == SIGTSTP) && getsid(None) != Ok(getpgrp())
    }

    pub(super) fn take(&self, signal: i32) -> bool {
        self.watched.iter().any(|watched| watched.signal == signal && watched.arrived.swap(false, Ordering::SeqCst))
    }

    pub(super) fn termination_requested(&self) -> bool {
        self.watched
            .iter()
            .any(|watched| TERMINATION.contains(&watched.signal) && watched.arrived.load(Ordering::SeqCst))
    }

    pub(super) fn clear(&self, which: impl Fn(i32) -> bool) {
        for watched in self.watched.iter().filter(|watched| which(watched.signal)) {
            watched.arrived.store(false, Ordering::SeqCst);
        }
    }

    /// Runs the default action of signals that arrived but were never reported.
    pub(super) fn deliver_pending(&self) {
        for watched in &self.watched {
            let applies = watched.default.as_ref().is_some_and(|default| default.load(Ordering::SeqCst));
            if watched.arrived.swap(false, Ordering::SeqCst) && applies {
                let _ = emulate_default_handler(watched.signal);
            }
        }
    }

    pub(super) fn drain(&self) {
        let mut bytes = [0; 64];
        while matches!(rustix::io::read(&self.pipe, &mut bytes), Ok(1..) | Err(Errno::INTR)) {}
    }
}

/// The disposition of a signal before its handler was installed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Disposition {
    Default,
    Ignored,
    Caught,
}

impl Disposition {
    fn from(action: &libc::sigaction) -> Disposition {
        match action.sa_sigaction {
            libc::SIG_DFL => Disposition::Default,
            libc::SIG_IGN => Disposition::Ignored,
            _ => Disposition::Caught,
        }
    }
}

type Handler = extern "C" fn(i32, *mut libc::siginfo_t, *mut libc::c_void);

/// Installs a handler, if one is given. Returns the previous action.
fn set_action(signal: i32, handler: Option<Handler>) -> io::Result<libc::sigaction> {
    // SAFETY: an all-zero action is valid, both actions are local, and the handler is async-signal-safe. Neither rustix
    // nor signal-hook can query an action without replacing it.
    #[allow(unsafe_code)]
    unsafe {
        let (mut new, mut before): (libc::sigaction, libc::sigaction) = std::mem::zeroed();
        new.sa_flags = libc::SA_RESTART | libc::SA_SIGINFO;
        new.sa_sigaction = handler.map_or(libc::SIG_DFL, |handler| handler as usize);
        let new = if handler.is_some() { &raw const new } else { std::ptr::null() };
        if libc::sigaction(signal, new, &raw mut before) == 0 { Ok(before) } else { Err(io::Error::last_os_error()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    #[test]
    fn dispositions_are_told_apart() {
        // In a test process, SIGCONT is untouched, and Rust's runtime ignores SIGPIPE and catches SIGSEGV.
        let of = |signal| Disposition::from(&set_action(signal, None).unwrap());
        assert_eq!(of(SIGCONT), Disposition::Default);
        assert_eq!(of(libc::SIGPIPE), Disposition::Ignored);
        assert_eq!(of(libc::SIGSEGV), Disposition::Caught);
    }
    #[test]
    fn a_handler_from_before_the_prompt_is_still_called() {
        let was_called = Arc::new(AtomicBool::new(false));
        signal_hook::flag::register(SIGWINCH, was_called.clone()).unwrap();
        let signals = Signals::get().unwrap();
        signal_hook::low_level::raise(SIGWINCH).unwrap();
        assert!(was_called.load(Ordering::SeqCst) && signals.take(SIGWINCH));
    }
}
