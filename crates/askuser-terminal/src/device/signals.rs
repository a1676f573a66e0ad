//! Signals: recorded while a prompt has the terminal, with their default action otherwise.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use rustix::io::Errno;
use rustix::process::{getpgrp, getsid};
use signal_hook::consts::{
    SIGABRT, SIGALRM, SIGCONT, SIGHUP, SIGINT, SIGPROF, SIGQUIT, SIGTERM, SIGTSTP, SIGUSR1, SIGUSR2, SIGVTALRM,
    SIGWINCH, SIGXCPU,
};
use signal_hook::low_level::emulate_default_handler;

/// Who uses the terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TtyState {
    /// Not this device.
    Idle,
    /// This device, with its modes set.
    Held,
    /// A child process that it was lent to.
    Lent,
    /// The shell took it back while the process was told to end: it must not be touched any more.
    Lost,
}

/// The signals that end a process unless it says otherwise, in the order in which they are reported. Not those that it brings
/// upon itself by a fault, nor those whose default signal-hook cannot run (real-time signals, SIGIO, SIGPWR, SIGSTKFLT).
pub(super) const TERMINATION: [i32; 11] =
    [SIGTERM, SIGHUP, SIGINT, SIGQUIT, SIGUSR1, SIGUSR2, SIGALRM, SIGVTALRM, SIGPROF, SIGXCPU, SIGABRT];
/// Those that it goes on after.
const OTHERS: [i32; 3] = [SIGTSTP, SIGCONT, SIGWINCH];

/// The signals that matter to a prompt: each sets a flag and wakes one pipe.
///
/// signal-hook never restores a previous handler, and a signal whose actions were all removed is swallowed. So the handlers
/// are installed once, by the first prompt of the process, and stay. A flag per signal says whether the handler runs the
/// default action: set while no prompt is active, so that Ctrl-C interrupts and SIGTERM kills as before. Ignored signals
/// are left alone. If the program had a handler already, it is still called, and the default action is never run.
/// A handler installed *after* the first prompt is called too, but does not prevent the default action.
pub(super) struct Signals {
    /// Becomes readable when a signal has arrived.
    pub(super) pipe: OwnedFd,
    /// The other end of the pipe.
    waker: Arc<OwnedFd>,
    watched: Vec<WatchedSignal>,
    /// Set once the device has reported a signal that ends the process. Ctrl-C may mean less.
    pub(super) is_told: AtomicBool,
}

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
    arrived: Arc<AtomicBool>,
    /// Whether the handler runs the default action; `None` if it never does.
    default: Option<Arc<AtomicBool>>,
}

impl WatchedSignal {
    /// Registers one action: the default where it applies, then the flag, then the pipe, so that a waiter finds the flag set.
    fn register(&self, waker: Arc<OwnedFd>) -> io::Result<()> {
        let (signal, arrived, default) = (self.signal, self.arrived.clone(), self.default.clone());
        let action = move || {
            if default.as_ref().is_some_and(|default| default.load(Ordering::SeqCst)) {
                let _ = emulate_default_handler(signal);
            }
            arrived.store(true, Ordering::SeqCst);
            let _ = rustix::io::write(&*waker, &[0]);
        };
        // SAFETY: the action is async-signal-safe: it uses atomics, a non-blocking write, and `emulate_default_handler`, which is made
        // for handlers. The process keeps it, so it frees nothing.
        #[allow(unsafe_code)]
        let registered = unsafe { signal_hook::low_level::register(signal, action) };
        registered.map(drop)
    }
}

impl Signals {
    /// The signals of this process; the first call installs the handlers.
    pub(super) fn get() -> io::Result<&'static Signals> {
        static SIGNALS: OnceLock<Signals> = OnceLock::new();
        static INSTALLING: Mutex<()> = Mutex::new(());
        if let Some(signals) = SIGNALS.get() {
            return Ok(signals);
        }
        let _guard = INSTALLING.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(signals) = SIGNALS.get() {
            return Ok(signals);
        }
        let signals = Signals::install()?;
        Ok(SIGNALS.get_or_init(|| signals))
    }

    fn install() -> io::Result<Signals> {
        let (pipe, waker) = io::pipe()?;
        let (pipe, waker) = (OwnedFd::from(pipe), Arc::new(OwnedFd::from(waker)));
        rustix::io::ioctl_fionbio(&pipe, true)?;
        rustix::io::ioctl_fionbio(&waker, true)?;
        let mut watched = Vec::with_capacity(TERMINATION.len() + OTHERS.len());
        for signal in TERMINATION.into_iter().chain(OTHERS) {
            let before = Disposition::of(signal);
            if before == Disposition::Ignored {
                continue;
            }
            // SIGCONT and SIGWINCH do nothing by default.
            let has_default = before == Disposition::Default && !matches!(signal, SIGCONT | SIGWINCH);
            let default = has_default.then(|| Arc::new(AtomicBool::new(true)));
            let watch = WatchedSignal { signal, arrived: Arc::default(), default };
            watch.register(waker.clone())?;
            watched.push(watch);
        }
        Ok(Signals { pipe, waker, watched, is_told: AtomicBool::new(false) })
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

    /// Whether Ctrl-Z stops this process. Not if SIGTSTP is ignored, and not in the session leader's process group, as no
    /// shell could continue it there. The kernel makes the same exception, but only for the real default action.
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

/// What a signal did before its handler was installed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Disposition {
    Default,
    Ignored,
    Caught,
}

impl Disposition {
    fn of(signal: i32) -> Disposition {
        let mut action = std::mem::MaybeUninit::<libc::sigaction>::zeroed();
        // Neither rustix nor signal-hook can query a handler without replacing it. SAFETY: with no new action given, this only fills in
        // `action`, which lives long enough and is valid when zeroed.
        #[allow(unsafe_code)]
        let handler = unsafe {
            if libc::sigaction(signal, std::ptr::null(), action.as_mut_ptr()) != 0 {
                return Disposition::Default;
            }
            action.assume_init().sa_sigaction
        };
        match handler {
            libc::SIG_DFL => Disposition::Default,
            libc::SIG_IGN => Disposition::Ignored,
            _ => Disposition::Caught,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dispositions_are_told_apart() {
        // In a test process: untouched, ignored by Rust's runtime, caught by Rust's runtime.
        assert_eq!(Disposition::of(SIGCONT), Disposition::Default);
        assert_eq!(Disposition::of(signal_hook::consts::SIGPIPE), Disposition::Ignored);
        assert_eq!(Disposition::of(libc::SIGSEGV), Disposition::Caught);
    }
}
