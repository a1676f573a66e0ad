//! The terminal device on unix: one file descriptor of our own on the controlling terminal, one self-pipe for signals.
//!
//! Waiting is a single poll over the two; without a timeout nothing wakes it but the person or a signal. The descriptor
//! is opened anew, so making it non-blocking concerns nobody else. There is no thread and no global but the signal
//! actions, which signal-hook cannot take back once installed (see [`Signals`]).

use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::{Errno, retry_on_intr};
use rustix::process::{Signal, getpgrp, kill_current_process_group};
use rustix::termios::{
    InputModes, LocalModes, OptionalActions, OutputModes, QueueSelector, SpecialCodeIndex, Termios, tcflush, tcgetattr,
    tcgetpgrp, tcgetwinsize, tcsetattr,
};
use signal_hook::consts::{SIGCONT, SIGINT, SIGQUIT, SIGTSTP, SIGWINCH};
use signal_hook::low_level::emulate_default_handler;

use super::signals::{Signals, TERMINATION, TtyState};
use super::tty_lock::{LockError, TtyLock};
use super::{DeviceEvent, TtyMode, WakeSource};
use crate::decode::{Decoder, Input};
use askuser::Closed;

/// How long the rest of a key sequence may take to arrive.
const SEQUENCE_GAP: Duration = Duration::from_millis(30);
/// What a terminal hands over at once, at most; more takes another turn of the loop.
const READ_SIZE: usize = 4096;

/// The terminal that controls this process, whatever its standard streams are.
pub(crate) struct Device {
    tty: Arc<File>,
    tty_mode: TtyMode,
    state: TtyState,
    /// How the terminal was before [`Device::start`].
    saved: Option<Termios>,
    /// Bytes to write if the process panics.
    panic_bytes: Arc<Mutex<Vec<u8>>>,
    decoder: Decoder,
    buffer: Box<[u8]>,
    /// The caller knows that the process is to end.
    termination_reported: bool,
    /// That no other prompt has the terminal.
    lock: Option<TtyLock>,
    /// What else wakes it.
    wake_source: Option<WakeSource>,
    /// Bytes to write before the process stops, and when it goes on.
    suspend_bytes: (Vec<u8>, Vec<u8>),
}

impl Device {
    /// Opens the terminal. Nothing about it changes before [`Device::start`].
    pub(crate) fn open(tty_mode: TtyMode) -> io::Result<Device> {
        let tty = open_terminal()?;
        rustix::io::ioctl_fionbio(&tty, true)?;
        Ok(Device {
            tty: Arc::new(tty),
            tty_mode,
            state: TtyState::Idle,
            saved: None,
            panic_bytes: Arc::default(),
            decoder: Decoder::default(),
            buffer: vec![0; READ_SIZE].into_boxed_slice(),
            termination_reported: false,
            lock: None,
            wake_source: None,
            suspend_bytes: Default::default(),
        })
    }

    /// Columns and rows, never zero.
    pub(crate) fn size(&self) -> (u16, u16) {
        let (columns, rows) = tcgetwinsize(&self.tty).map_or((0, 0), |size| (size.ws_col, size.ws_row));
        super::size_or_fallback(columns, rows)
    }

    /// Takes over the terminal and the signals: raw mode if keys are wanted, with what was typed before discarded.
    pub(crate) fn start(&mut self) -> io::Result<()> {
        if matches!(self.state, TtyState::Held | TtyState::Lost) {
            return Ok(());
        }
        self.wait_for_foreground()?;
        let saved = retry_on_intr(|| tcgetattr(&self.tty))?;
        let signals = Signals::get()?;
        if self.state == TtyState::Idle {
            self.claim(saved.clone())?;
            self.saved = Some(saved);
            self.termination_reported = false;
            signals.clear(|_| true);
        } else {
            // What the keyboard sent to the borrower as well was meant for it.
            signals.clear(|signal| matches!(signal, SIGINT | SIGQUIT | SIGTSTP | SIGCONT));
        }
        self.set_state(TtyState::Held, signals);
        let entered = self.set_tty_modes();
        if entered.is_err() {
            let _ = self.stop();
        }
        entered
    }

    /// Whether it is this device that has the terminal.
    pub(crate) fn is_in_use(&self) -> bool {
        self.state != TtyState::Idle
    }

    /// What to write to the terminal if the process panics while the device is in use.
    pub(crate) fn on_panic(&mut self, bytes: Vec<u8>) {
        *self.panic_bytes.lock().unwrap_or_else(PoisonError::into_inner) = bytes;
    }

    /// What to write before the process is stopped from here, and when it goes on.
    pub(crate) fn on_suspend(&mut self, before: Vec<u8>, after: Vec<u8>) {
        self.suspend_bytes = (before, after);
    }

    /// Wakes also because of this, and no longer because of what it returns.
    pub(crate) fn watch(&mut self, wake_source: Option<WakeSource>) -> Option<WakeSource> {
        std::mem::replace(&mut self.wake_source, wake_source)
    }

    /// Why the prompt is to close, where somebody said.
    pub(crate) fn close_reason(&self) -> Option<Closed> {
        self.wake_source.as_ref().and_then(WakeSource::close_reason)
    }

    /// Takes what was typed and not read yet. Of keys, it forgets what is no input so far, an unfinished sequence; an
    /// unfinished line is taken as far as it goes.
    pub(crate) fn drain_input(&mut self, inputs: &mut Vec<Input>) -> io::Result<()> {
        match self.tty_mode {
            TtyMode::Raw => {
                self.read(inputs)?;
                self.decoder = Decoder::default();
                Ok(retry_on_intr(|| tcflush(&self.tty, QueueSelector::IFlush))?)
            }
            TtyMode::Canonical => {
                self.read(inputs)?;
                let lines = retry_on_intr(|| tcgetattr(&self.tty))?;
                let mut keys = lines.clone();
                keys.local_modes &= !LocalModes::ICANON;
                // Where these two stand, some systems keep the keys that end a line.
                keys.special_codes[SpecialCodeIndex::VMIN] = 1;
                keys.special_codes[SpecialCodeIndex::VTIME] = 0;
                retry_on_intr(|| tcsetattr(&self.tty, OptionalActions::Now, &keys))?;
                let read = self.read(inputs);
                retry_on_intr(|| tcsetattr(&self.tty, OptionalActions::Now, &lines))?;
                // What was typed in between counts as a line without an end.
                read.and_then(|_| self.read(inputs)).map(|_| ())
            }
        }
    }

    /// Does nothing for a while, and leaves what is typed to whoever reads next. A signal that asks the process to end
    /// ends the pause, and is left at that: what is being finished may be finished.
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

    /// Waits for something to happen, without end if no timeout is given, and appends what was typed to `inputs`.
    pub(crate) fn wait(&mut self, timeout: Option<Duration>, inputs: &mut Vec<Input>) -> io::Result<DeviceEvent> {
        let signals = Signals::get()?;
        let deadline = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
        let before = inputs.len();
        loop {
            if let Some(wake) = self.take_signal(signals)? {
                return Ok(wake);
            }
            let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
            let input = |fd| PollFd::from_borrowed_fd(fd, PollFlags::IN);
            // Without a third descriptor the second stands in its place: polling it twice does no harm.
            let third = match &self.wake_source {
                Some(WakeSource::Close(signal)) => signal.pipe.as_fd(),
                Some(WakeSource::Waker(wake_pipe)) => wake_pipe.pipe.as_fd(),
                None => signals.pipe().as_fd(),
            };
            let mut fds = [input(self.tty.as_fd()), input(signals.pipe().as_fd()), input(third)];
            match poll(&mut fds, left.map(timespec).as_ref()) {
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
                Some(WakeSource::Close(_)) if !third.is_empty() => return Ok(DeviceEvent::CloseRequested),
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
            let open = self.read(inputs)?;
            if inputs.len() > before {
                return Ok(DeviceEvent::Input);
            }
            if open == Reading::AtEnd {
                // A line that is ended before it begins reads the same as a terminal that is gone.
                if self.tty_mode == TtyMode::Canonical && !self.is_gone() {
                    return Ok(DeviceEvent::EndOfInput);
                }
                self.termination_reported = true;
                return Ok(DeviceEvent::Closed);
            }
        }
    }

    /// Writes all of it. Fails if the terminal takes no more and a signal asks the process to end.
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

    /// Gives the terminal and the signals back as they were. Does nothing if the device is not in use. What was typed
    /// meanwhile stays for whoever reads next. A signal that came too late to be told takes its usual effect now.
    pub(crate) fn stop(&mut self) -> io::Result<()> {
        if self.state == TtyState::Idle {
            return Ok(());
        }
        let restored = self.restore_tty_modes();
        let signals = Signals::get()?;
        self.set_state(TtyState::Idle, signals);
        self.decoder = Decoder::default();
        self.lock = None;
        super::release();
        if !self.termination_reported {
            signals.deliver_pending();
        }
        restored
    }

    /// Gives the terminal to a program started from here, such as an editor, until [`Device::start`]. Unlike after
    /// [`Device::stop`], Ctrl-C and Ctrl-\ concern only that program; Ctrl-Z stops both.
    pub(crate) fn lend(&mut self) -> io::Result<()> {
        if self.state != TtyState::Held {
            return Ok(());
        }
        let restored = self.restore_tty_modes();
        self.decoder = Decoder::default();
        self.set_state(TtyState::Lent, Signals::get()?);
        restored
    }

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
    fn wait_for_foreground(&mut self) -> io::Result<()> {
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

    fn claim(&self, saved: Termios) -> io::Result<()> {
        let (tty, panic_bytes) = (self.tty.clone(), self.panic_bytes.clone());
        super::claim(Box::new(move || {
            // In a panic, nothing may block or fail: one attempt each.
            if let Ok(bytes) = panic_bytes.try_lock() {
                let _ = rustix::io::write(&tty, &bytes);
            }
            let _ = tcsetattr(&tty, OptionalActions::Now, &saved);
        }))
    }

    fn set_state(&mut self, state: TtyState, signals: &Signals) {
        self.state = state;
        signals.set_defaults(state);
    }

    fn set_tty_modes(&self) -> io::Result<()> {
        let Some(mut modes) = self.saved.clone() else { return Ok(()) };
        match self.tty_mode {
            TtyMode::Raw => modes.make_raw(),
            // Whoever had the terminal before may have left it raw.
            TtyMode::Canonical => {
                modes.local_modes |= LocalModes::ICANON | LocalModes::ECHO | LocalModes::ISIG;
                modes.input_modes |= InputModes::ICRNL;
                modes.output_modes |= OutputModes::OPOST | OutputModes::ONLCR;
            }
        }
        // Flushing in the same call leaves no moment at which a key could slip in before raw mode.
        Ok(retry_on_intr(|| tcsetattr(&self.tty, OptionalActions::Flush, &modes))?)
    }

    /// Output is processed when it is written, not when it is sent, so there is no need to drain it first; that could
    /// hang on a terminal that has been stopped. In the background the modes are the shell's, and setting them would
    /// stop the process.
    fn restore_tty_modes(&self) -> io::Result<()> {
        match &self.saved {
            Some(saved) if self.state == TtyState::Held && !self.in_background() => {
                Ok(retry_on_intr(|| tcsetattr(&self.tty, OptionalActions::Now, saved))?)
            }
            _ => Ok(()),
        }
    }

    fn in_background(&self) -> bool {
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
    fn take_signal(&mut self, signals: &Signals) -> io::Result<Option<DeviceEvent>> {
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

    /// Reads and decodes all that is there, and what follows at once if it ends inside a sequence.
    fn read(&mut self, inputs: &mut Vec<Input>) -> io::Result<Reading> {
        loop {
            match rustix::io::read(&self.tty, &mut *self.buffer) {
                Ok(0) | Err(Errno::IO) => return Ok(Reading::AtEnd),
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
                return Ok(Reading::Open);
            }
            let mut fds = [PollFd::new(&*self.tty, PollFlags::IN)];
            if retry_on_intr(|| poll(&mut fds, Some(&timespec(SEQUENCE_GAP))))? == 0 {
                self.decoder.flush(inputs);
                return Ok(Reading::Open);
            }
        }
    }

    fn is_gone(&self) -> bool {
        let mut fds = [PollFd::new(&*self.tty, PollFlags::IN)];
        let polled = retry_on_intr(|| poll(&mut fds, Some(&timespec(Duration::ZERO))));
        polled.is_err() || fds[0].revents().intersects(PollFlags::HUP | PollFlags::ERR)
    }

    /// Waits until the terminal takes output again.
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
            // Only noted so far: waiting on would make the process deaf to it.
            if self.state == TtyState::Held && signals.termination_requested() {
                return Err(io::Error::other("a signal arrived while the terminal took no output"));
            }
        }
    }
}

impl Drop for Device {
    fn drop(&mut self) {
        let _ = self.stop();
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reading {
    Open,
    AtEnd,
}

#[cfg(not(target_vendor = "apple"))]
fn open_terminal() -> io::Result<File> {
    open_path("/dev/tty")
}

/// On macOS `/dev/tty` cannot be polled, but the same terminal by its own name can.
#[cfg(target_vendor = "apple")]
fn open_terminal() -> io::Result<File> {
    use std::os::fd::AsFd;
    let (stdin, stdout, stderr) = (io::stdin(), io::stdout(), io::stderr());
    for stream in [stdin.as_fd(), stderr.as_fd(), stdout.as_fd()] {
        // Only the controlling terminal tells its foreground process group.
        let own = tcgetpgrp(stream).and_then(|_| rustix::termios::ttyname(stream, Vec::new()));
        if let Some(tty) = own.ok().and_then(|name| open_path(name.to_str().ok()?).ok()) {
            return Ok(tty);
        }
    }
    open_path("/dev/tty")
}

fn open_path(path: &str) -> io::Result<File> {
    File::options().read(true).write(true).open(path).map_err(|error| match Errno::from_io_error(&error) {
        Some(Errno::NXIO | Errno::NOENT | Errno::NOTTY) => {
            io::Error::new(io::ErrorKind::NotFound, "this process has no controlling terminal")
        }
        _ => io::Error::new(error.kind(), format!("{path}: {error}")),
    })
}

fn timespec(duration: Duration) -> Timespec {
    // Too long for the clock is as good as for ever.
    Timespec::try_from(duration).unwrap_or(Timespec { tv_sec: i32::MAX.into(), tv_nsec: 0 })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::in_a_terminal::{is_inside, modes, run};

    #[test]
    fn a_panic_gives_the_terminal_back() {
        if is_inside() {
            let mut device = Device::open(TtyMode::Raw).expect("a terminal");
            device.on_panic(b"ABANDONED\r\n".to_vec());
            device.start().expect("raw mode");
            panic!("on purpose");
        }
        let output = run("device::unix::tests::a_panic_gives_the_terminal_back", &[]);
        let (before, after) = modes(&output);
        assert_eq!(before, after, "{output}");
        // First the terminal, then the message: it would be drawn in steps otherwise.
        let places = ["ABANDONED", "on purpose"].map(|words| output.find(words).expect(words));
        assert!(places[0] < places[1], "{output}");
    }

    #[test]
    fn a_pause_ends_when_the_process_is_asked_to_end_and_what_is_being_finished_is_finished() {
        if is_inside() {
            let mut device = Device::open(TtyMode::Raw).expect("a terminal");
            device.start().expect("raw mode");
            signal_hook::low_level::raise(signal_hook::consts::SIGTERM).expect("a signal");
            let started = Instant::now();
            device.pause(Duration::from_secs(30)).expect("a pause");
            device.stop().expect("the modes back");
            assert!(started.elapsed() < Duration::from_secs(10));
            println_for_test("FINISHED");
            return;
        }
        let name =
            "device::unix::tests::a_pause_ends_when_the_process_is_asked_to_end_and_what_is_being_finished_is_finished";
        let output = run(name, &[]);
        assert!(output.contains("FINISHED"), "{output}");
        let (before, after) = modes(&output);
        assert_eq!(before, after, "{output}");
    }

    #[allow(clippy::print_stdout, reason = "how the process in the terminal speaks to the one outside")]
    fn println_for_test(words: &str) {
        println!("{words}");
    }
}
