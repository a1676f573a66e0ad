//! Job control: stopping with Ctrl-Z, coming back to the foreground, and what arriving signals mean.

use super::Device;
use crate::decode::Decoder;
use crate::device::DeviceEvent;
use crate::device::signals::{Signals, TERMINATION, TtyState};
use crate::device::tty_lock::{LockError, TtyLock};
use rustix::io::retry_on_intr;
use rustix::process::{Signal, getpgrp, kill_current_process_group};
use rustix::termios::{QueueSelector, tcflush, tcgetpgrp};
use signal_hook::consts::{SIGCONT, SIGTSTP, SIGWINCH};
use signal_hook::low_level::emulate_default_handler;
use std::io;
use std::time::Duration;

impl Device {
    /// Stops the process and the pipeline it is part of, as Ctrl-Z does, and takes the terminal over again when it
    /// goes on. Does nothing where nobody could continue it.
    pub(crate) fn suspend(&mut self) -> io::Result<()> {
        let signals = Signals::get()?;
        signals.clear(|signal| signal == SIGTSTP);
        if self.state != TtyState::Held || !signals.can_stop() || signals.termination_requested() {
            return Ok(());
        }
        let (before, after) = self.suspend_bytes.clone();
        self.write(&before)?;
        self.restore_tty_modes()?;
        // Others may ask while this one is stopped.
        self.lock = None;
        signals.clear(|signal| signal == SIGCONT);
        // The others get the signal that they know. Ours is caught and only noted, so we stop by ourselves, in this very
        // call: whichever thread it were delivered to, we would be in raw mode again before it took effect.
        kill_current_process_group(Signal::TSTP)?;
        emulate_default_handler(SIGTSTP)?;
        signals.drain();
        signals.clear(|signal| matches!(signal, SIGTSTP | SIGCONT));
        self.resume(signals)?;
        self.write(&after)
    }

    /// Returns once this process is in the foreground and no other prompt has the terminal, while the signals still have
    /// their usual effect and before the modes are looked at: until then those are the shell's, or the other prompt's.
    pub(super) fn wait_for_foreground(&mut self) -> io::Result<()> {
        loop {
            // A process in the background is stopped here until it comes to the front.
            retry_on_intr(|| tcflush(&self.tty, QueueSelector::IFlush))?;
            if self.lock.is_none() {
                self.lock = TtyLock::acquire(&self.tty);
            }
            // Stopped with the turn it would keep all others waiting.
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

    /// The process goes on after it was stopped. In the background it stops again, as long as nobody wants it to end.
    fn resume(&mut self, signals: &Signals) -> io::Result<()> {
        self.decoder = Decoder::default();
        while self.in_background() {
            if signals.termination_requested() {
                self.state = TtyState::Lost;
                return Ok(());
            }
            kill_current_process_group(Signal::TTOU)?;
            // Not stopped and continued: the signal is ignored here, and the kernel will know what to do.
            if !signals.take(SIGCONT) {
                break;
            }
        }
        // Another prompt may have taken its turn meanwhile. Signals are only noted here, so a blocking wait would be deaf.
        while self.lock.is_none() && !signals.termination_requested() {
            match TtyLock::try_acquire(&self.tty) {
                Ok(lock) => self.lock = Some(lock),
                Err(LockError::Held) => std::thread::sleep(Duration::from_millis(100)),
                Err(LockError::Unsupported) => break,
            }
        }
        self.set_tty_modes()
    }

    /// What a signal that arrived means to the caller. The most final one first.
    pub(super) fn take_signal(&mut self, signals: &Signals) -> io::Result<Option<DeviceEvent>> {
        for signal in TERMINATION {
            if signals.take(signal) {
                self.termination_reported = true;
                if self.in_background() {
                    self.state = TtyState::Lost;
                }
                return Ok(Some(DeviceEvent::Terminated(signal)));
            }
        }
        if signals.take(SIGCONT) {
            // A request to stop from before that is over.
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
