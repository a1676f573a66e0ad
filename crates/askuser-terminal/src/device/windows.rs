//! The terminal device on Windows: the console of this process, read as events by crossterm.
//!
//! Windows has no signals: Ctrl-C is a key in raw mode, and there is no job control. The console takes text as UTF-16
//! in every code page. Both of its modes are restored. This device is tested under Wine only.

use std::io::{self, BufRead, IsTerminal};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crossterm::event::{self, Event, KeyCode as Code, KeyEventKind, KeyModifiers};
use crossterm::terminal;
use crossterm_winapi::{Console, ConsoleMode, Handle};

use super::{DeviceEvent, EscapeKey, WakeSource};
use crate::Presentation;
use crate::convert::from_crossterm;
use crate::decode::TerminalInput;
use crate::view::Background;
use askuser::{Key, KeyCode};

/// The console's input modes outside raw mode: processed input, lines, echo.
const COOKED_INPUT: u32 = 0x1 | 0x2 | 0x4;
/// The console's output modes that interpret control characters and escape sequences.
const OBEYED_OUTPUT: u32 = 0x1 | 0x4;
/// The polling interval of the wake source. A console and a pipe cannot share a wait.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// The console on which this process was started, even if the standard streams are redirected.
pub(crate) struct Device {
    output: Arc<Output>,
    presentation: Presentation,
    active: bool,
    /// Whether a resize that came together with input still has to be reported.
    resized: bool,
    wake_source: Option<WakeSource>,
}

/// The console to write to, and both of its modes.
struct Output {
    console: Console,
    modes: [ConsoleMode; 2],
    /// The input mode and the output mode before [`Device::start`].
    saved: [u32; 2],
}

impl Output {
    fn open() -> io::Result<Output> {
        let no_console = |_| io::Error::new(io::ErrorKind::NotFound, "this process has no console");
        let output = Handle::current_out_handle().map_err(no_console)?;
        let input = Handle::current_in_handle().map_err(no_console)?;
        let modes = [ConsoleMode::from(input), ConsoleMode::from(output.clone())];
        let saved = [modes[0].mode()?, modes[1].mode()?];
        Ok(Output { console: Console::from(output), modes, saved })
    }

    fn set_modes(&self, [input, output]: [u32; 2]) -> io::Result<()> {
        self.modes[0].set_mode(input)?;
        self.modes[1].set_mode(output)
    }

    fn restore(&self) -> io::Result<()> {
        self.set_modes(self.saved)
    }

    fn write(&self, bytes: &[u8]) -> io::Result<()> {
        // The painted output is text. A console accepts no other bytes.
        let text = String::from_utf8_lossy(bytes);
        self.console.write_char_buffer(text.as_bytes()).map(drop)
    }
}

impl Device {
    /// Opens the terminal, but leaves its modes unchanged until [`Device::start`].
    ///
    /// On a screen the device delivers single keys. In line mode it delivers whole lines, which the console's driver
    /// edits and echoes. Each line ends with Ctrl-J.
    pub(crate) fn open(presentation: Presentation) -> io::Result<Device> {
        let output = Arc::new(Output::open()?);
        Ok(Device { output, presentation, active: false, resized: false, wake_source: None })
    }

    /// Returns the number of columns and rows, which are never zero.
    pub(crate) fn size(&self) -> (u16, u16) {
        let (columns, rows) = terminal::size().unwrap_or((0, 0));
        super::size_or_fallback(columns, rows)
    }

    /// Sets the modes and, on a screen, discards earlier input.
    pub(crate) fn start(&mut self) -> io::Result<()> {
        if self.active {
            return Ok(());
        }
        let output = self.output.clone();
        super::claim(Box::new(move |bytes| {
            let _ = output.write(bytes);
            let _ = output.restore();
        }))?;
        self.active = true;
        let [input, output] = self.output.saved;
        let input = match self.presentation {
            Presentation::Screen => input & !COOKED_INPUT,
            // The previous program may have left the console raw.
            Presentation::Line => input | COOKED_INPUT,
        };
        let started = self
            .output
            .set_modes([input, output | OBEYED_OUTPUT])
            .map_err(|error| io::Error::new(error.kind(), format!("this console obeys no escape sequences: {error}")))
            .and_then(|()| self.drain_input(&mut Vec::new()));
        if started.is_err() {
            let _ = self.stop();
        }
        started
    }

    /// Returns whether the device is started.
    pub(crate) fn is_in_use(&self) -> bool {
        self.active
    }

    /// Replaces the wake source and returns the previous one.
    pub(crate) fn watch(&mut self, wake_source: Option<WakeSource>) -> Option<WakeSource> {
        std::mem::replace(&mut self.wake_source, wake_source)
    }

    /// Sends no query. A console would reply with keys, which crossterm reads as typed.
    pub(crate) fn ask_background(&mut self) -> io::Result<()> {
        Ok(())
    }

    /// Returns `None`, because the background is not queried.
    pub(crate) fn background(&self) -> Option<Background> {
        None
    }

    /// Returns `None`, because the cursor is not queried.
    pub(crate) fn cursor_row(&mut self) -> io::Result<Option<u16>> {
        Ok(None)
    }

    /// Returns `None`, because the cursor is not queried.
    pub(crate) fn await_cursor_rows(&mut self, _: usize) -> io::Result<Option<Vec<u16>>> {
        Ok(None)
    }

    /// Has no effect, because keys arrive as events and not as bytes.
    pub(crate) fn set_escape_key(&mut self, _: EscapeKey) {}

    /// Sleeps for this time.
    pub(crate) fn pause(&mut self, duration: Duration) -> io::Result<()> {
        std::thread::sleep(duration);
        Ok(())
    }

    /// Waits for an event and appends the input to `inputs`. Waits without limit if there is no timeout.
    pub(crate) fn wait(
        &mut self,
        timeout: Option<Duration>,
        inputs: &mut Vec<TerminalInput>,
    ) -> io::Result<DeviceEvent> {
        let deadline = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
        loop {
            if let Some(event) = self.woken()? {
                return Ok(event);
            }
            let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
            let pause = left.unwrap_or(POLL_INTERVAL).min(POLL_INTERVAL);
            let event = match self.presentation {
                Presentation::Screen => self.read_keys(pause, inputs)?,
                Presentation::Line => read_line(pause, inputs)?,
            };
            if let Some(event) = event {
                return Ok(event);
            }
            if left.is_some_and(|left| left <= POLL_INTERVAL) {
                return Ok(DeviceEvent::TimedOut);
            }
        }
    }

    fn woken(&mut self) -> io::Result<Option<DeviceEvent>> {
        Ok(match &mut self.wake_source {
            Some(WakeSource::Waker(pipe)) => pipe.take()?.then_some(DeviceEvent::Woken),
            Some(WakeSource::Close(close)) => close.is_closed().then(|| DeviceEvent::CloseRequested(close.why())),
            None => None,
        })
    }

    fn read_keys(&mut self, pause: Duration, inputs: &mut Vec<TerminalInput>) -> io::Result<Option<DeviceEvent>> {
        let before = inputs.len();
        if !self.resized && event::poll(pause)? {
            self.drain_input(inputs)?;
        }
        Ok(if inputs.len() > before {
            Some(DeviceEvent::Input)
        } else {
            std::mem::take(&mut self.resized).then_some(DeviceEvent::Resized)
        })
    }

    /// Writes all bytes.
    pub(crate) fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.output.write(bytes)
    }

    /// Restores the terminal if the device is started.
    pub(crate) fn stop(&mut self) -> io::Result<()> {
        if !std::mem::take(&mut self.active) {
            return Ok(());
        }
        let restored = self.output.restore();
        self.output.write(super::release().as_bytes())?;
        restored
    }

    /// Has no effect, because Windows terminals are not locked.
    pub(crate) fn lock_until_exit(&mut self) {}

    /// Has no effect, because Windows has no signals.
    pub(crate) fn outlive_signals(&mut self) {}

    /// Lends the terminal to a child process, such as an editor, until [`Device::start`].
    pub(crate) fn lend(&mut self) -> io::Result<()> {
        self.stop()
    }

    /// Has no effect, because Windows has no job control.
    pub(crate) fn on_suspend(&mut self, _before: Vec<u8>, _after: Vec<u8>) {}

    /// Has no effect, because Windows has no job control.
    pub(crate) fn suspend(&mut self) -> io::Result<()> {
        Ok(())
    }

    /// Reads all pending input.
    pub(crate) fn drain_input(&mut self, inputs: &mut Vec<TerminalInput>) -> io::Result<()> {
        let mut events = Vec::new();
        while self.presentation == Presentation::Screen && event::poll(Duration::ZERO)? {
            match event::read()? {
                Event::Resize(..) => self.resized = true,
                event => events.push(event),
            }
        }
        match pasted(&events) {
            Some(text) => inputs.push(TerminalInput::Paste(text)),
            None => inputs.extend(events.iter().filter_map(from_crossterm)),
        }
        Ok(())
    }
}

/// Returns the text of a paste; `None` if the events are keys. A console marks a paste only by its speed.
///
/// An Enter between other characters of one read was pasted and must not send an answer. A single digit with Enter
/// counts as keys, because a slow machine reads them together.
fn pasted(events: &[Event]) -> Option<String> {
    let typed = |event: &Event| match event {
        Event::Key(key) if key.kind == KeyEventKind::Release => None,
        Event::Key(key) if key.modifiers.intersects(KeyModifiers::CONTROL | KeyModifiers::ALT) => Some(None),
        Event::Key(key) => Some(match key.code {
            Code::Char(c) => Some(c),
            Code::Enter => Some('\n'),
            Code::Tab => Some('\t'),
            _ => None,
        }),
        _ => None,
    };
    let text: String = events.iter().filter_map(typed).collect::<Option<_>>()?;
    (text.chars().count() > 2 && text.contains('\n')).then_some(text)
}

/// Reads one line of the console; `None` if no line arrives within `pause`. The console edits lines only in a blocking
/// read, so a thread reads them.
fn read_line(pause: Duration, inputs: &mut Vec<TerminalInput>) -> io::Result<Option<DeviceEvent>> {
    static LINES: LazyLock<Mutex<Receiver<io::Result<String>>>> = LazyLock::new(|| {
        let (sender, lines) = mpsc::channel();
        std::thread::spawn(move || io::stdin().lock().lines().try_for_each(|line| sender.send(line)));
        Mutex::new(lines)
    });
    if !io::stdin().is_terminal() {
        let error = "lines are read from the console, which standard input is not";
        return Err(io::Error::new(io::ErrorKind::Unsupported, error));
    }
    match LINES.lock().unwrap_or_else(PoisonError::into_inner).recv_timeout(pause) {
        Ok(line) => {
            let keys = line?.trim_end_matches('\r').chars().map(|c| Key::plain(KeyCode::Char(c))).collect::<Vec<_>>();
            inputs.extend(keys.into_iter().chain([Key::ctrl('j')]).map(TerminalInput::Key));
            Ok(Some(DeviceEvent::Input))
        }
        Err(RecvTimeoutError::Timeout) => Ok(None),
        Err(RecvTimeoutError::Disconnected) => Ok(Some(DeviceEvent::EndOfInput)),
    }
}

impl Drop for Device {
    fn drop(&mut self) {
        let _ = self.stop();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crossterm::event::KeyEvent;

    fn keys(codes: &[Code]) -> Vec<Event> {
        codes.iter().map(|code| Event::Key(KeyEvent::new(*code, KeyModifiers::NONE))).collect()
    }

    #[test]
    fn an_enter_among_other_characters_is_pasted_and_sends_nothing() {
        assert_eq!(pasted(&keys(&[Code::Char('a'), Code::Enter, Code::Char('b')])).as_deref(), Some("a\nb"));
        assert_eq!(pasted(&keys(&[Code::Char('a'), Code::Char('b'), Code::Enter])).as_deref(), Some("ab\n"));
    }

    #[test]
    fn keys_are_not_taken_for_a_paste() {
        assert_eq!(pasted(&keys(&[Code::Enter])), None);
        assert_eq!(pasted(&keys(&[Code::Char('1'), Code::Enter])), None);
        assert_eq!(pasted(&keys(&[Code::Char('a'), Code::Char('b')])), None);
        assert_eq!(pasted(&keys(&[Code::Down, Code::Enter])), None);
    }
}
