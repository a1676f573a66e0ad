//! Job control: stopping with Ctrl-Z, returning to the foreground, and handling the signals that arrive.

use super::Device;
use crate::device::DeviceEvent;
use crate::device::signals::{Signals, TERMINATION, TtyState};
use crate::device::tty_lock::TtyLock;
use rustix::io::retry_on_intr;
use rustix::process::{Signal, getpgrp, kill_current_process_group};
use rustix::termios::{QueueSelector, tcflush, tcgetpgrp};
use signal_hook::consts::{SIGCONT, SIGINT, SIGTSTP, SIGWINCH};
use signal_hook::low_level::emulate_default_handler;
use std::fs::TryLockError;
use std::io;
use std::sync::atomic::Ordering;
use std::time::Duration;

impl Device {
    /// Stops this process and its pipeline, as Ctrl-Z does, and takes the terminal again when the process is continued.
    /// Does not stop if no shell could continue the process.
    pub(crate) fn suspend(&mut self) -> io::Result<()> {
        let signals = Signals::get()?;
        signals.clear(|signal| signal == SIGTSTP);
        if self.state != TtyState::Held || !signals.can_stop() || signals.termination_requested() {
            return Ok(());
        }
        let (before, after) = self.suspend_bytes.clone();
        self.write(&before)?;
        self.drain_replies()?;
        self.restore_tty_modes()?;
        // Other prompts may use the terminal while this one is stopped.
        self.lock = None;
        signals.clear(|signal| signal == SIGCONT);
        // The rest of the pipeline gets SIGTSTP. This process only records SIGTSTP, so it stops itself here,
        // synchronously. A signal that is delivered to another thread would take effect after raw mode was set again.
        kill_current_process_group(Signal::TSTP)?;
        emulate_default_handler(SIGTSTP)?;
        signals.drain();
        signals.clear(|signal| matches!(signal, SIGTSTP | SIGCONT));
        self.resume(signals)?;
        self.write(&after)
    }

    /// Waits until this process is in the foreground and holds the lock.
    ///
    /// The wait comes before signals are caught and modes are read. Until then the modes are those of the shell, or of
    /// another prompt.
    pub(super) fn wait_for_foreground(&mut self) -> io::Result<()> {
        loop {
            // This call stops a background process (SIGTTOU) until it is in the foreground.
            retry_on_intr(|| tcflush(&self.tty, QueueSelector::IFlush))?;
            if self.lock.is_none() {
                self.lock = TtyLock::acquire(&self.tty);
            }
            // The process went to the background while it waited. It must not be stopped while it holds the lock.
            if self.in_background() {
                self.lock = None;
            } else {
                return Ok(());
            }
        }
    }

    pub(super) fn in_background(&self) -> bool {
        tcgetpgrp(&self.tty).is_ok_and(|front| front != getpgrp())
    }

    /// Takes the terminal again after the process was continued. A background process stops again, unless a signal asks
    /// it to end.
    fn resume(&mut self, signals: &Signals) -> io::Result<()> {
        self.forget_input();
        while self.in_background() {
            if signals.termination_requested() {
                self.state = TtyState::Lost;
                return Ok(());
            }
            kill_current_process_group(Signal::TTOU)?;
            // The process was not stopped, so SIGTTOU is ignored. The kernel would let it continue, too.
            if !signals.take(SIGCONT) {
                break;
            }
        }
        // Another prompt may hold the lock. The handlers only record signals, so a blocking wait would miss them.
        while self.lock.is_none() && !signals.termination_requested() {
            match TtyLock::try_acquire(&self.tty) {
                Ok(lock) => self.lock = Some(lock),
                Err(TryLockError::WouldBlock) => std::thread::sleep(Duration::from_millis(100)),
                Err(TryLockError::Error(_)) => break,
            }
        }
        self.set_tty_modes()
    }

    /// Handles one signal that has arrived; returns `None` if there is none. Signals that end the process come first.
    pub(super) fn take_signal(&mut self, signals: &Signals) -> io::Result<Option<DeviceEvent>> {
        for signal in TERMINATION {
            if signals.take(signal) {
                self.termination_reported = true;
                signals.is_told.fetch_or(signal != SIGINT, Ordering::SeqCst);
                if self.in_background() {
                    self.state = TtyState::Lost;
                }
                return Ok(Some(DeviceEvent::Terminated(signal)));
            }
        }
        if signals.take(SIGCONT) {
            // An earlier SIGTSTP is obsolete once the process was continued.
            signals.take(SIGTSTP);
            self.resume(signals)?;
            return Ok(Some(DeviceEvent::Resumed));
        }
        if signals.take(SIGTSTP) {
            return Ok(Some(DeviceEvent::Suspend));
        }
        Ok(signals.take(SIGWINCH).then_some(DeviceEvent::Resized))
    }
}
