//! Reading, writing and waiting: one poll over the terminal, the signal pipe and one more wake source.

use super::Device;
use crate::Presentation;
use crate::decode::TerminalInput;
use crate::device::signals::{Signals, TtyState};
use crate::device::{DeviceEvent, EscapeKey, WakeSource};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::{Errno, retry_on_intr};
use rustix::termios::{LocalModes, OptionalActions, QueueSelector, SpecialCodeIndex, tcflush, tcgetattr, tcsetattr};
use std::io;
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

/// How long the rest of a key sequence may take to arrive: a slow link can split an arrow key.
const SEQUENCE_GAP: Duration = Duration::from_millis(150);
/// The same for a reply. A lost end must not swallow keys for ever.
const REPLY_GAP: Duration = Duration::from_secs(1);

impl Device {
    /// Takes all input typed so far. On a screen an unfinished key sequence is dropped; in line mode an unfinished line
    /// is taken as well.
    pub(crate) fn drain_input(&mut self, inputs: &mut Vec<TerminalInput>) -> io::Result<()> {
        match self.presentation {
            Presentation::Screen => {
                inputs.append(&mut self.typed_early);
                self.read(inputs)?;
                self.forget_input();
                // A reply that is being sent stays whole.
                if self.decoder.replies.are_due() {
                    return Ok(());
                }
                Ok(retry_on_intr(|| tcflush(&self.tty, QueueSelector::IFlush))?)
            }
            Presentation::Line => {
                self.read(inputs)?;
                let lines = retry_on_intr(|| tcgetattr(&self.tty))?;
                let mut keys = lines.clone();
                keys.local_modes &= !LocalModes::ICANON;
                // Some systems store VEOF and VEOL in the same slots.
                keys.special_codes[SpecialCodeIndex::VMIN] = 1;
                keys.special_codes[SpecialCodeIndex::VTIME] = 0;
                retry_on_intr(|| tcsetattr(&self.tty, OptionalActions::Now, &keys))?;
                let read = self.read(inputs);
                retry_on_intr(|| tcsetattr(&self.tty, OptionalActions::Now, &lines))?;
                // Read again: input typed while the modes changed back counts as part of the unfinished line.
                read.and_then(|_| self.read(inputs)).map(|_| ())
            }
        }
    }

    /// Sleeps without reading input. A signal that asks the process to end cuts the pause short and is not reported: the
    /// caller is about to finish anyway.
    pub(crate) fn pause(&mut self, duration: Duration) -> io::Result<()> {
        let signals = Signals::get()?;
        let deadline = Instant::now() + duration;
        loop {
            if signals.termination_requested() {
                self.termination_reported = true;
                return Ok(());
            }
            let left = timespec(deadline.saturating_duration_since(Instant::now()));
            match poll(&mut [PollFd::new(signals.pipe(), PollFlags::IN)], Some(&left)) {
                Ok(0) => return Ok(()),
                Ok(_) => signals.drain(),
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Waits for an event, for ever if there is no timeout, and appends what was typed to `inputs`.
    pub(crate) fn wait(
        &mut self,
        timeout: Option<Duration>,
        inputs: &mut Vec<TerminalInput>,
    ) -> io::Result<DeviceEvent> {
        let signals = Signals::get()?;
        let deadline = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
        let before = inputs.len();
        loop {
            if let Some(wake) = self.take_signal(signals)? {
                return Ok(wake);
            }
            // It may have come while something else was awaited.
            if self.learn_background() {
                return Ok(DeviceEvent::Woken);
            }
            if !self.typed_early.is_empty() {
                inputs.append(&mut self.typed_early);
                return Ok(DeviceEvent::Input);
            }
            let until = [deadline, self.escape_until].into_iter().flatten().min();
            let left = until.map(|until| until.saturating_duration_since(Instant::now()));
            let input = |fd| PollFd::from_borrowed_fd(fd, PollFlags::IN);
            // Without a wake source the signal pipe is polled twice, which does no harm.
            let third = match &self.wake_source {
                Some(WakeSource::Close(signal)) => signal.pipe.as_fd(),
                Some(WakeSource::Waker(wake_pipe)) => wake_pipe.pipe.as_fd(),
                None => signals.pipe().as_fd(),
            };
            let mut fds = [input(self.tty.as_fd()), input(signals.pipe().as_fd()), input(third)];
            match poll(&mut fds, left.map(timespec).as_ref()) {
                Ok(0) if self.escape_until.is_some_and(|until| until <= Instant::now()) => {
                    self.escape_until = None;
                    self.decoder.flush(inputs);
                    continue;
                }
                Ok(0) => return Ok(DeviceEvent::TimedOut),
                Ok(_) => {}
                Err(Errno::INTR) => continue,
                Err(error) => return Err(error.into()),
            }
            let [tty, pipe, third] = fds.map(|fd| fd.revents());
            if !pipe.is_empty() {
                signals.drain();
                continue;
            }
            match &mut self.wake_source {
                Some(WakeSource::Close(signal)) if !third.is_empty() => {
                    return Ok(DeviceEvent::CloseRequested(signal.why()));
                }
                // The person comes first: what they typed is told before anything else.
                Some(WakeSource::Waker(wake_pipe)) if !third.is_empty() && tty.is_empty() => {
                    wake_pipe.drain()?;
                    return Ok(DeviceEvent::Woken);
                }
                _ => {}
            }
            if tty.contains(PollFlags::NVAL) {
                return Err(io::Error::new(io::ErrorKind::Unsupported, "this system cannot wait for its terminal"));
            }
            let is_open = self.read(inputs)?;
            if inputs.len() > before {
                return Ok(DeviceEvent::Input);
            }
            if !is_open {
                // Ctrl-D on an empty line reads like a closed terminal.
                if self.presentation == Presentation::Line && !self.is_gone() {
                    return Ok(DeviceEvent::EndOfInput);
                }
                self.termination_reported = true;
                return Ok(DeviceEvent::Closed);
            }
        }
    }

    /// Writes all bytes. Fails if the terminal blocks and a signal asks the process to end.
    pub(crate) fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        let mut rest = if self.state == TtyState::Lost { &[] } else { bytes };
        while !rest.is_empty() {
            match rustix::io::write(&self.tty, rest) {
                Ok(written) => rest = &rest[written..],
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => self.wait_writable()?,
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    /// Reads and decodes all available input, and waits briefly for the rest of an unfinished sequence. Says whether the
    /// terminal is still open.
    pub(super) fn read(&mut self, inputs: &mut Vec<TerminalInput>) -> io::Result<bool> {
        let before = inputs.len();
        self.escape_until = None;
        self.give_up_replies();
        loop {
            match rustix::io::read(&self.tty, &mut *self.buffer) {
                Ok(0) | Err(Errno::IO) => return Ok(false),
                Ok(count) => {
                    self.decoder.feed(&self.buffer[..count], inputs);
                    if count == self.buffer.len() {
                        continue;
                    }
                }
                Err(Errno::INTR) => continue,
                Err(Errno::AGAIN) => {}
                Err(error) => return Err(error.into()),
            }
            if !self.decoder.is_waiting() {
                self.escape_until = self.decoder.is_in_reply().then(|| Instant::now() + REPLY_GAP);
                return Ok(true);
            }
            // What came before it in this read may change what Esc does, and a reply may begin with it.
            let alone = inputs.len() == before && !self.decoder.replies.are_due();
            if self.escape_key == EscapeKey::AtOnce && alone {
                self.decoder.take_escape(inputs);
                if inputs.len() > before {
                    self.escape_until = Some(Instant::now() + SEQUENCE_GAP);
                    return Ok(true);
                }
            }
            if !self.poll_input(Instant::now() + SEQUENCE_GAP)? {
                self.decoder.flush(inputs);
                return Ok(true);
            }
        }
    }

    fn is_gone(&self) -> bool {
        let mut fds = [PollFd::new(&*self.tty, PollFlags::IN)];
        let polled = retry_on_intr(|| poll(&mut fds, Some(&timespec(Duration::ZERO))));
        polled.is_err() || fds[0].revents().intersects(PollFlags::HUP | PollFlags::ERR)
    }

    /// Waits until the terminal accepts output again.
    fn wait_writable(&self) -> io::Result<()> {
        let signals = Signals::get()?;
        loop {
            let mut fds = [PollFd::new(&*self.tty, PollFlags::OUT), PollFd::new(signals.pipe(), PollFlags::IN)];
            match poll(&mut fds, None) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
            if !fds[0].revents().is_empty() {
                return Ok(());
            }
            signals.drain();
            // The handler only recorded it, so nothing else would end this wait.
            if self.state == TtyState::Held && signals.termination_requested() {
                return Err(io::Error::other("a signal arrived while the terminal took no output"));
            }
        }
    }
}

pub(super) fn timespec(duration: Duration) -> Timespec {
    // A duration that does not fit is as good as for ever.
    Timespec::try_from(duration).unwrap_or(Timespec { tv_sec: i32::MAX.into(), tv_nsec: 0 })
}
