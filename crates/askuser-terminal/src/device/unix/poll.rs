//! ReadState, writing and waiting, with one poll over the terminal, the signal pipe and one more wake source.

use super::Device;
use super::line_editor::LineEditor;
use super::ready::ready;
use crate::Presentation;
use crate::decode::TerminalInput;
use crate::device::signals::{Signals, TtyState};
use crate::device::{DeviceEvent, EscapeKey, WakeSource};
use rustix::event::PollFlags;
use rustix::io::{Errno, retry_on_intr};
use rustix::termios::{QueueSelector, tcflush};
use signal_hook::consts::SIGINT;
use std::io;
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

/// The time in which the rest of a key sequence may arrive. A slow link can split an arrow key.
const SEQUENCE_GAP: Duration = Duration::from_millis(150);
/// The time in which the rest of a reply may arrive. After it, a reply without an end no longer swallows keys.
const REPLY_GAP: Duration = Duration::from_secs(1);

impl Device {
    /// Reads all pending input. On a screen an unfinished key sequence is dropped. In line mode an unfinished line is
    /// read as well.
    pub(crate) fn drain_input(&mut self, inputs: &mut Vec<TerminalInput>) -> io::Result<()> {
        match self.presentation {
            Presentation::Screen => {
                inputs.append(&mut self.typed_early);
                self.read(inputs)?;
                self.forget_input();
                // A reply that is still arriving stays whole.
                if self.decoder.replies.are_due() {
                    return Ok(());
                }
                Ok(retry_on_intr(|| tcflush(&self.tty, QueueSelector::IFlush))?)
            }
            Presentation::Line => {
                self.read(inputs)?;
                self.line.hand_over(inputs);
                Ok(())
            }
        }
    }

    /// Sleeps without reading input. A signal that asks the process to end cuts the pause short. The signal is not
    /// reported, because the caller is about to finish.
    pub(crate) fn pause(&mut self, duration: Duration) -> io::Result<()> {
        let signals = Signals::get()?;
        let deadline = Instant::now() + duration;
        loop {
            if signals.termination_requested() {
                self.termination_reported = true;
                return Ok(());
            }
            let left = deadline.saturating_duration_since(Instant::now());
            match ready([(signals.pipe.as_fd(), PollFlags::IN)], Some(left))? {
                [false] => return Ok(()),
                [true] => signals.drain(),
            }
        }
    }

    /// Waits for an event and appends the input to `inputs`. Waits without limit if there is no timeout.
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
                // A terminal's driver also drops a line that Ctrl-C interrupts.
                if matches!(wake, DeviceEvent::Terminated(SIGINT)) {
                    self.line = LineEditor::default();
                }
                return Ok(wake);
            }
            if let Some(words) = crate::device::take_message() {
                return Ok(DeviceEvent::Message(words));
            }
            // Ctrl-D may follow a line that was delivered earlier.
            if std::mem::take(&mut self.line.has_ended) {
                return Ok(DeviceEvent::EndOfInput);
            }
            // The background may have arrived during another wait.
            if self.learn_background() {
                return Ok(DeviceEvent::Woken);
            }
            if !self.typed_early.is_empty() {
                inputs.append(&mut self.typed_early);
                return Ok(DeviceEvent::Input);
            }
            let until = [deadline, self.escape_until].into_iter().flatten().min();
            let left = until.map(|until| until.saturating_duration_since(Instant::now()));
            // Without a wake source the signal pipe is polled twice, which is harmless.
            let third = match &self.wake_source {
                Some(WakeSource::Close(signal)) => signal.pipe.as_fd(),
                Some(WakeSource::Waker(wake_pipe)) => wake_pipe.pipe.as_fd(),
                None => signals.pipe.as_fd(),
            };
            let fds = [self.tty.as_fd(), signals.pipe.as_fd(), third].map(|fd| (fd, PollFlags::IN));
            let (tty, third) = match ready(fds, left)? {
                [false, false, false] if self.escape_until.is_some_and(|until| until <= Instant::now()) => {
                    self.escape_until = None;
                    self.decoder.flush(inputs);
                    continue;
                }
                [false, false, false] => return Ok(DeviceEvent::TimedOut),
                [_, true, _] => {
                    signals.drain();
                    continue;
                }
                [tty, false, third] => (tty, third),
            };
            match &mut self.wake_source {
                Some(WakeSource::Close(signal)) if third => {
                    return Ok(DeviceEvent::CloseRequested(signal.why()));
                }
                // The person's input has priority over a wake-up.
                Some(WakeSource::Waker(wake_pipe)) if third && !tty => {
                    wake_pipe.drain()?;
                    return Ok(DeviceEvent::Woken);
                }
                _ => {}
            }
            let is_open = self.read(inputs)?;
            if inputs.len() > before {
                return Ok(DeviceEvent::Input);
            }
            if !is_open {
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

    /// Reads all available input, in line mode by whole lines. Returns whether the terminal is still open.
    pub(super) fn read(&mut self, inputs: &mut Vec<TerminalInput>) -> io::Result<bool> {
        if self.presentation == Presentation::Screen {
            return self.read_keys(inputs);
        }
        let mut typed = Vec::new();
        let is_open = self.read_keys(&mut typed)?;
        let echo = self.line.take(typed, inputs);
        self.write(echo.as_bytes())?;
        Ok(is_open)
    }

    /// Reads and decodes all available input, and waits briefly for the rest of an unfinished sequence. Returns whether
    /// the terminal is still open.
    fn read_keys(&mut self, inputs: &mut Vec<TerminalInput>) -> io::Result<bool> {
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
            // Earlier input of this read may change the effect of Esc, and a reply may begin with an escape byte.
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

    /// Waits until the terminal accepts output again.
    fn wait_writable(&self) -> io::Result<()> {
        let signals = Signals::get()?;
        loop {
            let fds = [(self.tty.as_fd(), PollFlags::OUT), (signals.pipe.as_fd(), PollFlags::IN)];
            if let [true, _] = ready(fds, None)? {
                return Ok(());
            }
            signals.drain();
            // The handler only recorded the signal, so no other event would end this wait.
            if self.state == TtyState::Held && signals.termination_requested() {
                return Err(io::Error::other("a signal arrived while the terminal took no output"));
            }
        }
    }
}
