//! The terminal device on top of crossterm, for systems without POSIX terminals. Untested on Windows so far.
//!
//! There are no signals: Ctrl-C is a key in raw mode, and there is no job control.

use std::fs::File;
use std::io::{self, Write};
use std::sync::Arc;
use std::time::{Duration, Instant};

use crossterm::event::{self, Event};
use crossterm::terminal;

use super::{DeviceEvent, EscapeKey, WakeSource};
use crate::Presentation;
use crate::convert::from_crossterm;
use crate::decode::TerminalInput;
use crate::view::Background;
use askuser::{Key, KeyCode};

/// The terminal this process was started on.
pub(crate) struct Device {
    output: Arc<Output>,
    presentation: Presentation,
    active: bool,
    /// A resize that came together with input; reported after it.
    resized: bool,
    wake_source: Option<WakeSource>,
}

/// How often the waker's flag is polled.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// Where to write: the console device, or standard error if there is none by name.
enum Output {
    Console(File),
    Stderr,
}

impl Output {
    #[cfg(windows)]
    fn open() -> io::Result<Output> {
        let console = File::options().read(true).write(true).open("CONOUT$")?;
        if !crossterm::ansi_support::supports_ansi() {
            return Err(io::Error::new(
                io::ErrorKind::Unsupported,
                "this console does not understand escape sequences",
            ));
        }
        Ok(Output::Console(console))
    }

    #[cfg(not(windows))]
    fn open() -> io::Result<Output> {
        use std::io::IsTerminal;
        if !io::stderr().is_terminal() {
            return Err(io::Error::new(io::ErrorKind::NotFound, "standard error is not a terminal"));
        }
        Ok(Output::Stderr)
    }

    fn write(&self, bytes: &[u8]) -> io::Result<()> {
        match self {
            Output::Console(console) => {
                let mut console = console;
                console.write_all(bytes)
            }
            Output::Stderr => {
                let mut stderr = io::stderr().lock();
                stderr.write_all(bytes)?;
                stderr.flush()
            }
        }
    }
}

impl Device {
    /// Opens the terminal. Nothing about it changes before [`Device::start`]. On a screen it delivers each key as it is pressed, in
    /// line mode whole lines, which its driver edits and echoes; each ends with Ctrl-J.
    pub(crate) fn open(presentation: Presentation) -> io::Result<Device> {
        let output = Arc::new(Output::open()?);
        Ok(Device { output, presentation, active: false, resized: false, wake_source: None })
    }

    /// Columns and rows, never zero.
    pub(crate) fn size(&self) -> (u16, u16) {
        let (columns, rows) = terminal::size().unwrap_or((0, 0));
        super::size_or_fallback(columns, rows)
    }

    /// Enters raw mode and discards what was typed before.
    pub(crate) fn start(&mut self) -> io::Result<()> {
        if self.active {
            return Ok(());
        }
        let output = self.output.clone();
        super::claim(Box::new(move |bytes| {
            let _ = output.write(bytes);
            let _ = terminal::disable_raw_mode();
        }))?;
        self.active = true;
        if self.presentation == Presentation::Line {
            return Ok(());
        }
        if let Err(error) = terminal::enable_raw_mode() {
            self.active = false;
            super::release();
            return Err(error);
        }
        self.drain_input(&mut Vec::new())
    }

    /// Whether the device is started.
    pub(crate) fn is_in_use(&self) -> bool {
        self.active
    }

    /// Replaces the wake source and returns the previous one. The waker is polled here; a withdrawal is not noticed.
    pub(crate) fn watch(&mut self, wake_source: Option<WakeSource>) -> Option<WakeSource> {
        std::mem::replace(&mut self.wake_source, wake_source)
    }

    /// Does nothing: the system's console is not asked.
    pub(crate) fn ask_background(&mut self) -> io::Result<()> {
        Ok(())
    }

    /// Never known: it is not asked for.
    pub(crate) fn background(&self) -> Option<Background> {
        None
    }

    /// Never known: it is not asked for.
    pub(crate) fn cursor_row(&mut self) -> io::Result<Option<u16>> {
        Ok(None)
    }

    /// Never known: it is not asked for.
    pub(crate) fn await_cursor_rows(&mut self, _: usize) -> io::Result<Option<Vec<u16>>> {
        Ok(None)
    }

    /// Does nothing: keys come as events, not as bytes.
    pub(crate) fn set_escape_key(&mut self, _: EscapeKey) {}

    /// Does nothing for a while.
    pub(crate) fn pause(&mut self, duration: Duration) -> io::Result<()> {
        std::thread::sleep(duration);
        Ok(())
    }

    /// Waits for an event, for ever if there is no timeout, and appends what was typed to `inputs`.
    pub(crate) fn wait(
        &mut self,
        timeout: Option<Duration>,
        inputs: &mut Vec<TerminalInput>,
    ) -> io::Result<DeviceEvent> {
        if self.presentation == Presentation::Line {
            return read_line(inputs);
        }
        if std::mem::take(&mut self.resized) {
            return Ok(DeviceEvent::Resized);
        }
        let deadline = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
        let before = inputs.len();
        loop {
            let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
            if let Some(WakeSource::Waker(wake_pipe)) = &mut self.wake_source {
                if wake_pipe.take()? {
                    return Ok(DeviceEvent::Woken);
                }
                if !event::poll(left.unwrap_or(POLL_INTERVAL).min(POLL_INTERVAL))? {
                    match left {
                        Some(left) if left <= POLL_INTERVAL => return Ok(DeviceEvent::TimedOut),
                        _ => continue,
                    }
                }
            } else if let Some(left) = left
                && !event::poll(left)?
            {
                return Ok(DeviceEvent::TimedOut);
            }
            // Blocks if there was no timeout; then take what else is there.
            self.take(event::read()?, inputs);
            while event::poll(Duration::ZERO)? {
                self.take(event::read()?, inputs);
            }
            if inputs.len() > before {
                return Ok(DeviceEvent::Input);
            }
            if std::mem::take(&mut self.resized) {
                return Ok(DeviceEvent::Resized);
            }
        }
    }

    /// Writes all of it.
    pub(crate) fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.output.write(bytes)
    }

    /// Restores the terminal. Does nothing if the device is not started.
    pub(crate) fn stop(&mut self) -> io::Result<()> {
        if !std::mem::take(&mut self.active) {
            return Ok(());
        }
        let restored = if self.presentation == Presentation::Screen { terminal::disable_raw_mode() } else { Ok(()) };
        super::release();
        restored
    }

    /// There is no lock here.
    pub(crate) fn lock_until_exit(&mut self) {}

    /// There are no signals.
    pub(crate) fn outlive_signals(&mut self) {}

    /// Lends the terminal to a child process, such as an editor, until [`Device::start`].
    pub(crate) fn lend(&mut self) -> io::Result<()> {
        self.stop()
    }

    /// Does nothing: there is no job control.
    pub(crate) fn on_suspend(&mut self, _before: Vec<u8>, _after: Vec<u8>) {}

    /// Does nothing: there is no job control.
    pub(crate) fn suspend(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn take(&mut self, event: Event, inputs: &mut Vec<TerminalInput>) {
        match event {
            Event::Resize(..) => self.resized = true,
            event => inputs.extend(from_crossterm(&event)),
        }
    }

    /// Takes all input typed so far.
    pub(crate) fn drain_input(&mut self, inputs: &mut Vec<TerminalInput>) -> io::Result<()> {
        while self.presentation == Presentation::Screen && event::poll(Duration::ZERO)? {
            self.take(event::read()?, inputs);
        }
        Ok(())
    }
}

/// The console edits lines only in a blocking read, so a deadline has no effect here.
fn read_line(inputs: &mut Vec<TerminalInput>) -> io::Result<DeviceEvent> {
    let mut line = String::new();
    if io::stdin().read_line(&mut line)? == 0 {
        return Ok(DeviceEvent::EndOfInput);
    }
    let keys = line.trim_end_matches(['\r', '\n']).chars().map(|c| Key::plain(KeyCode::Char(c)));
    inputs.extend(keys.chain([Key::ctrl('j')]).map(TerminalInput::Key));
    Ok(DeviceEvent::Input)
}

impl Drop for Device {
    fn drop(&mut self) {
        let _ = self.stop();
    }
}
