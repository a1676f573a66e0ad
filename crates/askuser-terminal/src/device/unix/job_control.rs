//! Job control: stopping with Ctrl-Z, coming back to the foreground, and what arriving signals mean.

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
    /// Stops this process and its pipeline, as Ctrl-Z does, and takes over the terminal again when continued. Without a
    /// shell to continue it, it does not stop.
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
        // The rest of the pipeline gets SIGTSTP. This process only records it, so it stops itself here, synchronously:
        // delivered to another thread, it would take effect after raw mode was set again.
        kill_current_process_group(Signal::TSTP)?;
        emulate_default_handler(SIGTSTP)?;
        signals.drain();
        signals.clear(|signal| matches!(signal, SIGTSTP | SIGCONT));
        self.resume(signals)?;
        self.write(&after)
    }

    /// Waits until this process is in the foreground and holds the lock. Comes before signals are caught and before modes
    /// are read: until then the modes are those of the shell, or of another prompt.
    pub(super) fn wait_for_foreground(&mut self) -> io::Result<()> {
        loop {
            // Stops a background process here (SIGTTOU) until it is in the foreground.
            retry_on_intr(|| tcflush(&self.tty, QueueSelector::IFlush))?;
            if self.lock.is_none() {
                self.lock = TtyLock::acquire(&self.tty);
            }
            // Sent to the background while waiting: must not be stopped with the lock held.
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

    /// Takes over the terminal after the process was continued. In the background it stops again, unless it is to end.
    fn resume(&mut self, signals: &Signals) -> io::Result<()> {
        self.forget_input();
        while self.in_background() {
            if signals.termination_requested() {
                self.state = TtyState::Lost;
                return Ok(());
            }
            kill_current_process_group(Signal::TTOU)?;
            // Was not stopped, so SIGTTOU is ignored: go on as the kernel would.
            if !signals.take(SIGCONT) {
                break;
            }
        }
        // Another prompt may hold the lock. Signals are only recorded here, so a blocking wait would miss them.
        while self.lock.is_none() && !signals.termination_requested() {
            match TtyLock::try_acquire(&self.tty) {
                Ok(lock) => self.lock = Some(lock),
                Err(TryLockError::WouldBlock) => std::thread::sleep(Duration::from_millis(100)),
                Err(TryLockError::Error(_)) => break,
            }
        }
        self.set_tty_modes()
    }

    /// Takes one signal that has arrived, those that end the process first.
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
            // An earlier SIGTSTP is obsolete once continued.
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
