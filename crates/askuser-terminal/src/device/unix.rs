//! The terminal device on Unix: a file descriptor on the controlling terminal, and a self-pipe for signals.
//!
//! Waiting is a single poll over both. The descriptor is opened separately, so that non-blocking mode affects no other
//! process. The device starts no threads. Its only globals are the signal handlers, which signal-hook cannot remove
//! (see [`Signals`]).

mod job_control;
mod line_editor;
mod poll;
mod queries;
mod ready;

use std::fs::File;
use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use rustix::io::{Errno, retry_on_intr};
use rustix::termios::{
    InputModes, LocalModes, OptionalActions, OutputModes, SpecialCodeIndex, Termios, tcgetattr, tcgetwinsize, tcsetattr,
};
use signal_hook::consts::{SIGCONT, SIGINT, SIGQUIT, SIGTSTP};

use super::signals::{Signals, TtyState};
use super::tty_lock::TtyLock;
use super::{EscapeKey, WakeSource};
use crate::Presentation;
use crate::decode::{Decoder, TerminalInput};
use line_editor::LineEditor;
use queries::Queries;

const READ_SIZE: usize = 4096;

/// The device of the controlling terminal, which is used even if the standard streams are redirected.
pub(crate) struct Device {
    tty: Arc<File>,
    presentation: Presentation,
    state: TtyState,
    /// The terminal modes before [`Device::start`]; `None` until then.
    saved: Option<Termios>,
    decoder: Decoder,
    buffer: Box<[u8]>,
    /// The input that was typed while a terminal's reply was expected.
    typed_early: Vec<TerminalInput>,
    /// The editor of the line that is being typed in line mode.
    line: LineEditor,
    queries: Queries,
    escape_key: EscapeKey,
    /// The end of the time in which further bytes continue an Esc that was taken at once. `None` after that time.
    escape_until: Option<Instant>,
    /// Whether the device has reported a signal that ends the process.
    termination_reported: bool,
    /// Whether signals can no longer end the process.
    outlives_signals: bool,
    /// The lock that keeps other prompts off the terminal; `None` while it is not held.
    lock: Option<TtyLock>,
    /// A further source that ends a wait, besides input and signals. `None` if there is none.
    wake_source: Option<WakeSource>,
    /// The bytes to write before the process is suspended, and after it is resumed.
    suspend_bytes: (Vec<u8>, Vec<u8>),
}

impl Device {
    /// Opens the terminal, but leaves its modes unchanged until [`Device::start`].
    ///
    /// On a screen the device delivers single keys. In line mode it delivers whole lines, which it edits and echoes.
    /// Each line ends with Ctrl-J.
    pub(crate) fn open(presentation: Presentation) -> io::Result<Device> {
        let tty = open_terminal()?;
        rustix::io::ioctl_fionbio(&tty, true)?;
        Ok(Device {
            tty: Arc::new(tty),
            presentation,
            state: TtyState::Idle,
            saved: None,
            decoder: Decoder::default(),
            buffer: vec![0; READ_SIZE].into_boxed_slice(),
            typed_early: Vec::new(),
            line: LineEditor::default(),
            queries: Queries::default(),
            escape_key: EscapeKey::Held,
            escape_until: None,
            termination_reported: false,
            outlives_signals: false,
            lock: None,
            wake_source: None,
            suspend_bytes: Default::default(),
        })
    }

    /// Returns the number of columns and rows, which are never zero.
    pub(crate) fn size(&self) -> (u16, u16) {
        let (columns, rows) = tcgetwinsize(&self.tty).map_or((0, 0), |size| (size.ws_col, size.ws_row));
        super::size_or_fallback(columns, rows)
    }

    /// Claims the terminal and the signals, sets the modes, and discards earlier input.
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
            signals.is_told.store(false, Ordering::SeqCst);
        } else {
            // Ctrl-C and similar signals were meant for the child process that had the terminal.
            signals.clear(|signal| matches!(signal, SIGINT | SIGQUIT | SIGTSTP | SIGCONT));
        }
        self.set_state(TtyState::Held, signals);
        let entered = self.set_tty_modes();
        if entered.is_err() {
            let _ = self.stop();
        }
        entered
    }

    /// Returns whether the device is started.
    pub(crate) fn is_in_use(&self) -> bool {
        self.state != TtyState::Idle
    }

    /// Sets the bytes that are written before the process is suspended and after it is resumed.
    pub(crate) fn on_suspend(&mut self, before: Vec<u8>, after: Vec<u8>) {
        self.suspend_bytes = (before, after);
    }

    /// Replaces the wake source and returns the previous one.
    pub(crate) fn watch(&mut self, wake_source: Option<WakeSource>) -> Option<WakeSource> {
        std::mem::replace(&mut self.wake_source, wake_source)
    }

    /// Sets the treatment of a lone escape byte.
    pub(crate) fn set_escape_key(&mut self, escape_key: EscapeKey) {
        self.escape_key = escape_key;
    }

    /// Restores the terminal and the signals if the device is in use. Unread input stays for the next reader. A signal
    /// that was not reported now takes its default action.
    pub(crate) fn stop(&mut self) -> io::Result<()> {
        if self.state == TtyState::Idle {
            return Ok(());
        }
        let _ = self.drain_replies();
        let restored = self.restore_tty_modes();
        let signals = Signals::get()?;
        self.state = TtyState::Idle;
        // A process that outlives signals keeps recording them.
        if !self.outlives_signals {
            signals.set_defaults(self.state);
        }
        self.forget_input();
        self.lock = None;
        let _ = self.write(super::release().as_bytes());
        if !self.termination_reported {
            signals.deliver_pending();
        }
        restored
    }

    /// Locks the terminal against other prompts until this process exits.
    pub(crate) fn lock_until_exit(&mut self) {
        std::mem::forget(self.lock.take());
    }

    /// Prevents signals from ending or stopping this process. The process is about to end by itself, after it has
    /// delivered the answer.
    pub(crate) fn outlive_signals(&mut self) {
        self.outlives_signals = true;
    }

    /// Lends the terminal to a child process, such as an editor, until [`Device::start`]. Ctrl-C and Ctrl-\ then affect
    /// only the child, unlike after [`Device::stop`]. Ctrl-Z stops both processes.
    pub(crate) fn lend(&mut self) -> io::Result<()> {
        if self.state != TtyState::Held {
            return Ok(());
        }
        let _ = self.drain_replies();
        let restored = self.restore_tty_modes();
        self.forget_input();
        self.set_state(TtyState::Lent, Signals::get()?);
        restored
    }

    /// Drops unfinished sequences, the unfinished line, and the input typed while a reply was expected.
    fn forget_input(&mut self) {
        self.decoder.restart();
        self.escape_until = None;
        self.typed_early.clear();
        self.line = LineEditor::default();
    }

    fn claim(&self, saved: Termios) -> io::Result<()> {
        let tty = self.tty.clone();
        super::claim(Box::new(move |bytes| {
            // A panic must not block, so each call is tried once.
            let _ = rustix::io::write(&tty, bytes);
            let _ = tcsetattr(&tty, OptionalActions::Now, &saved);
        }))
    }

    fn set_state(&mut self, state: TtyState, signals: &Signals) {
        self.state = state;
        super::IS_LENT.store(state == TtyState::Lent, Ordering::SeqCst);
        signals.set_defaults(state);
    }

    fn set_tty_modes(&self) -> io::Result<()> {
        let Some(mut modes) = self.saved.clone() else { return Ok(()) };
        match self.presentation {
            Presentation::Screen => modes.make_raw(),
            // The previous program may have left the terminal raw.
            Presentation::Line => {
                modes.local_modes &= !(LocalModes::ICANON | LocalModes::ECHO | LocalModes::IEXTEN);
                modes.local_modes |= LocalModes::ISIG;
                // Some systems store VEOF and VEOL in the same slots.
                modes.special_codes[SpecialCodeIndex::VMIN] = 1;
                modes.special_codes[SpecialCodeIndex::VTIME] = 0;
                modes.input_modes |= InputModes::ICRNL;
                modes.output_modes |= OutputModes::OPOST | OutputModes::ONLCR;
            }
        }
        // The same call flushes the input, so that an earlier key is not read as an answer.
        Ok(retry_on_intr(|| tcsetattr(&self.tty, OptionalActions::Flush, &modes))?)
    }

    /// Restores the terminal modes, without draining the output. Draining could hang on a stopped terminal, and output
    /// is processed when it is written.
    ///
    /// In the background the modes are the shell's, and setting them would stop the process.
    fn restore_tty_modes(&self) -> io::Result<()> {
        match &self.saved {
            Some(saved) if self.state == TtyState::Held && !self.in_background() => {
                Ok(retry_on_intr(|| tcsetattr(&self.tty, OptionalActions::Now, saved))?)
            }
            _ => Ok(()),
        }
    }
}

impl Drop for Device {
    fn drop(&mut self) {
        let _ = self.stop();
    }
}

fn open_terminal() -> io::Result<File> {
    File::options().read(true).write(true).open("/dev/tty").map_err(|error| match Errno::from_io_error(&error) {
        Some(Errno::NXIO | Errno::NOENT | Errno::NOTTY) => {
            io::Error::new(io::ErrorKind::NotFound, "this process has no controlling terminal")
        }
        _ => io::Error::new(error.kind(), format!("/dev/tty: {error}")),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::in_a_terminal::{is_inside, modes, run};
    use std::time::{Duration, Instant};

    #[test]
    fn a_panic_gives_the_terminal_back() {
        if is_inside() {
            let mut device = Device::open(Presentation::Screen).expect("a terminal");
            device.start().expect("raw mode");
            crate::device::on_panic(b"ABANDONED\r\n".to_vec());
            panic!("on purpose");
        }
        let output = run("device::unix::tests::a_panic_gives_the_terminal_back", &[]);
        let (before, after) = modes(&output);
        assert_eq!(before, after, "{output}");
        // The terminal comes before the message. Otherwise the message would be drawn in steps.
        let places = ["ABANDONED", "on purpose"].map(|words| output.find(words).expect(words));
        assert!(places[0] < places[1], "{output}");
    }

    #[test]
    fn a_prompt_that_has_waited_does_not_draw_over_what_the_first_one_still_prints() {
        if is_inside() {
            for (until_exit, is_free) in [(false, true), (true, false)] {
                let mut device = Device::open(Presentation::Screen).expect("a terminal");
                device.start().expect("raw mode");
                if until_exit {
                    device.lock_until_exit();
                }
                device.stop().expect("the modes back");
                assert_eq!(TtyLock::try_acquire(&device.tty).is_ok(), is_free);
            }
            println_for_test("FINISHED");
            return;
        }
        let name = "device::unix::tests::a_prompt_that_has_waited_does_not_draw_over_what_the_first_one_still_prints";
        let output = run(name, &[]);
        assert!(output.contains("FINISHED"), "{output}");
    }

    #[test]
    fn a_pause_ends_when_the_process_is_asked_to_end_and_what_is_being_finished_is_finished() {
        if is_inside() {
            let mut device = Device::open(Presentation::Screen).expect("a terminal");
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

    #[test]
    fn the_next_reader_gets_no_reply_of_the_terminal_but_what_was_typed_behind_it() {
        if is_inside() {
            let mut device = Device::open(Presentation::Screen).expect("a terminal");
            device.start().expect("raw mode");
            device.ask_background().expect("a question");
            assert!(device.poll_input(Instant::now() + Duration::from_secs(10)).expect("a terminal"), "no reply");
            device.stop().expect("the modes back");
            let mut line = String::new();
            std::io::stdin().read_line(&mut line).expect("a line");
            println_for_test(&format!("NEXT {line:?}"));
            return;
        }
        let name = "device::unix::tests::the_next_reader_gets_no_reply_of_the_terminal_but_what_was_typed_behind_it";
        let output = run(name, &[("\x1b[c", "\x1b]11;rgb:0/0/0\x1b\\\x1b[?62cls\n")]);
        assert!(output.contains(r#"NEXT "ls\n""#), "{output}");
    }

    #[allow(clippy::print_stdout, reason = "how the process in the terminal speaks to the one outside")]
    fn println_for_test(words: &str) {
        println!("{words}");
    }
}
