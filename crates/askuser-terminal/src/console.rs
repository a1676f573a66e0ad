//! The terminal for the duration of a session: a scrollback that is written once, and one live region below it.
//!
//! Printed lines are never changed again. The live region is repainted where it changed. The terminal is queried for
//! its background after the first frame, and for the cursor's position after a resize. Output is buffered and written
//! when the console waits, so that no partial frame is visible. The content is the caller's. The console starts no
//! threads.

mod window;

use crate::ask::{Deliver, Keyboard, ask_on, surface};
use crate::close_signal::CloseSignal;
use crate::decode::TerminalInput;
use crate::device::{self, Device, DeviceEvent, WakePipe, WakeSource, Waker};
use crate::editor::open_pager;
use crate::environment::encode;
use crate::paint::{CLEAR_BELOW, Painter};
use crate::view::{Background, spans_width};
use crate::{EditedText, Options, Presentation, open_editor};
use askuser::{AskError, Key, Request, Resolution, sanitize};
use ratatui_core::layout::Position;
use ratatui_core::text::Line;
use std::io;
use std::time::{Duration, Instant};

/// The controlling terminal, in use until the console is dropped. Printed lines go into the scrollback, and a live
/// region stays below them. The terminal is restored on drop, signal, suspend and panic.
///
/// ```no_run
/// use askuser_terminal::text::Line;
/// use askuser_terminal::{Console, ConsoleEvent, Options};
///
/// let mut console = Console::open(&Options::detect())?;
/// console.print(&[Line::raw("stays in the scrollback")]);
/// console.set_live(&[Line::raw("press a key")], None);
/// let mut inputs = Vec::new();
/// while console.wait(None, &mut inputs)? != ConsoleEvent::Input {
///     console.set_live(&[Line::raw("press a key")], None);
/// }
/// console.close()?;
/// # Ok::<(), std::io::Error>(())
/// ```
pub struct Console {
    device: Device,
    painter: Painter,
    waker: Waker,
    options: Options,
    size: (u16, u16),
    /// Whether the console has set the window's title.
    is_titled: bool,
    /// Whether the terminal's background still has to be queried.
    asks_background: bool,
    /// Whether a live region is on the screen. It has to be erased before lines are printed.
    is_live: bool,
    /// Whether the next write erases and repaints the live region. Such a write is wrapped in a synchronized update.
    synchronize: bool,
    /// The time when the last question was closed; `None` without an earlier question.
    last_question: Option<Instant>,
}

/// The result of [`Console::wait`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ConsoleEvent {
    /// Input was read.
    Input,
    /// The timeout has passed.
    TimedOut,
    /// The terminal was resized. The live region is erased and has to be set again.
    Resized,
    /// The process was suspended and resumed. The live region is erased and has to be set again.
    Resumed,
    /// Another thread used a [`Waker`], or the terminal has reported its background.
    Woken,
    /// The process received this signal, which asks it to end.
    Signal(i32),
    /// The terminal was closed.
    Closed,
    /// The person pressed Ctrl-D on an empty line in line mode. Outside of line mode, Ctrl-D is a key.
    EndOfInput,
}

/// Switches auto-wrap off, bracketed paste on, and the cursor on. A program that was killed may have left the cursor
/// hidden.
const ENTER: &[u8] = b"\x1b[?7l\x1b[?2004h\x1b[?25h";
const LEAVE: &[u8] = b"\x1b[?2004l\x1b[?7h\x1b[?25h";
const WRAP: &[u8] = b"\x1b[?7h";
const NO_WRAP: &[u8] = b"\x1b[?7l";
const REPORT_FOCUS: &[u8] = b"\x1b[?1004h";
const IGNORE_FOCUS: &[u8] = b"\x1b[?1004l";
/// Begins a synchronized update. Supporting terminals show all output up to its end at once. Other terminals ignore it.
const BEGIN_SYNC: &[u8] = b"\x1b[?2026h";
const END_SYNC: &[u8] = b"\x1b[?2026l";
/// The bytes to write if the process panics. They clear the screen from the live region on and reset the modes.
const RESTORE_ON_PANIC: &[u8] = b"\r\x1b[m\x1b[J\x1b[?1004l\x1b[?2004l\x1b[?7h\x1b[?25h\x1b[?2026l";

impl Console {
    /// Opens the controlling terminal, even if the standard streams are redirected.
    ///
    /// # Errors
    /// If there is no terminal, or another prompt of this process uses it.
    pub fn open(options: &Options) -> io::Result<Console> {
        let (waker, wake_pipe) = WakePipe::new()?;
        let mut device = Device::open(options.presentation)?;
        device.watch(Some(WakeSource::Waker(wake_pipe)));
        device.start()?;
        let mut console = Console {
            size: device.size(),
            device,
            painter: painter(options),
            waker,
            options: options.clone(),
            is_titled: false,
            asks_background: options.asks_background(),
            is_live: false,
            synchronize: false,
            last_question: None,
        };
        if options.presentation == Presentation::Screen {
            // The text before the cursor on the current line stays. A program that was killed may have left rows below.
            console.painter.raw(b"\x1b[K\r\n");
            console.painter.raw(CLEAR_BELOW);
        }
        console.enter();
        Ok(console)
    }

    /// Returns the number of columns and rows, which are never zero.
    pub fn size(&self) -> (u16, u16) {
        self.size
    }

    /// Returns the presentation. Line mode has no live region.
    pub fn presentation(&self) -> Presentation {
        self.options.presentation
    }

    /// Returns the terminal's background; `None` until the terminal has reported it. The terminal is queried after the
    /// first frame if the theme does not set the background.
    pub fn background(&self) -> Option<Background> {
        self.device.background()
    }

    /// Returns a handle that wakes [`Console::wait`] from other threads.
    pub fn waker(&self) -> Waker {
        self.waker.clone()
    }

    // ---- showing ----

    /// Prints lines into the scrollback, above the live region. The terminal wraps long lines, so that a person copies
    /// them as one line.
    pub fn print(&mut self, lines: &[Line<'_>]) {
        if lines.is_empty() {
            return;
        }
        self.clear_live();
        let columns = usize::from(self.size.0);
        let long = |line: &Line<'_>| spans_width(&line.spans) >= columns;
        let wraps = self.options.presentation == Presentation::Screen && lines.iter().any(long);
        if wraps {
            self.painter.raw(WRAP);
        }
        self.painter.print(lines);
        if wraps {
            self.painter.raw(NO_WRAP);
        }
    }

    /// Prints a prompt such as `> ` without a line end, for line mode.
    pub fn print_prompt(&mut self, words: &str) {
        let words = encode(&sanitize::line(words), self.options.theme.charset);
        self.painter.raw(&words);
    }

    /// Replaces the live region by these lines. If not all lines fit, the last ones are shown. In line mode this has no
    /// effect.
    pub fn set_live(&mut self, lines: &[Line<'_>], caret: Option<Position>) {
        if self.options.presentation == Presentation::Line {
            return;
        }
        let (columns, rows) = Painter::room(self.size);
        let over = lines.len().saturating_sub(usize::from(rows));
        let caret = caret.and_then(|Position { x, y }| {
            let y = y.checked_sub(over as u16)?;
            Some(Position { x: x.min(columns), y })
        });
        self.painter.paint(&lines[over..], columns, caret);
        self.is_live = true;
    }

    /// Erases the live region. The next live region is painted as a whole.
    pub fn clear_live(&mut self) {
        if self.is_live {
            self.painter.erase();
            self.is_live = false;
            self.synchronize = true;
        }
    }

    /// Clears the screen, so that the output of another prompt does not stand above the live region.
    pub fn clear_screen(&mut self) {
        if self.options.presentation == Presentation::Screen {
            self.clear_live();
            self.painter.raw(b"\x1b[H\x1b[2J");
        }
    }

    /// Writes the buffered output.
    ///
    /// # Errors
    /// If the terminal cannot be written to.
    pub fn flush(&mut self) -> io::Result<()> {
        let bytes = self.painter.take();
        if std::mem::take(&mut self.synchronize) && !bytes.is_empty() {
            self.device.write(&[BEGIN_SYNC, &bytes, END_SYNC].concat())?;
        } else {
            self.device.write(&bytes)?;
        }
        if self.painter.asked_rows() > 0 {
            let rows = self.device.await_cursor_rows(self.painter.asked_rows())?;
            self.painter.set_rows(rows.as_deref());
        }
        if self.options.presentation == Presentation::Screen {
            device::on_panic(self.painter.at_the_top(RESTORE_ON_PANIC));
        }
        Ok(())
    }

    // ---- waiting ----

    /// Flushes the output, then waits for an event. Waits without limit if there is no timeout. Appends the input to
    /// `inputs`. Ctrl-Z suspends the process and is not reported as input.
    ///
    /// # Errors
    /// If the terminal cannot be read or written.
    pub fn wait(&mut self, timeout: Option<Duration>, inputs: &mut Vec<TerminalInput>) -> io::Result<ConsoleEvent> {
        self.flush()?;
        if self.asks_background && self.is_live {
            self.asks_background = false;
            self.device.ask_background()?;
        }
        let before = inputs.len();
        Ok(match self.device.wait(timeout, inputs)? {
            DeviceEvent::Input => {
                let is_stop = |input: &TerminalInput| *input == TerminalInput::Key(Key::ctrl('z'));
                if self.options.presentation == Presentation::Screen && inputs[before..].iter().any(is_stop) {
                    inputs.retain(|input| !is_stop(input));
                    self.suspend()?;
                }
                if inputs.len() > before { ConsoleEvent::Input } else { ConsoleEvent::Resumed }
            }
            DeviceEvent::TimedOut => ConsoleEvent::TimedOut,
            DeviceEvent::Resized => {
                self.size = self.device.size();
                if self.options.presentation == Presentation::Screen {
                    let cursor_row = if self.options.has_window { self.device.cursor_row()? } else { None };
                    self.painter.resized(self.size.0, self.options.reflows, cursor_row);
                    self.is_live = false;
                    self.synchronize = true;
                }
                ConsoleEvent::Resized
            }
            DeviceEvent::Resumed => {
                self.reset_screen();
                ConsoleEvent::Resumed
            }
            DeviceEvent::Suspend => {
                self.suspend()?;
                ConsoleEvent::Resumed
            }
            DeviceEvent::Terminated(signal) => ConsoleEvent::Signal(signal),
            DeviceEvent::Closed => ConsoleEvent::Closed,
            DeviceEvent::EndOfInput => ConsoleEvent::EndOfInput,
            DeviceEvent::Message(words) => {
                self.print(&[Line::raw(words)]);
                ConsoleEvent::Woken
            }
            // A console without a question has no prompt to close.
            DeviceEvent::Woken | DeviceEvent::CloseRequested(_) => ConsoleEvent::Woken,
        })
    }

    /// Reads all pending input without waiting. In line mode this includes an unfinished line, which the terminal then
    /// no longer edits.
    ///
    /// # Errors
    /// If the terminal cannot be read.
    pub fn drain_input(&mut self, inputs: &mut Vec<TerminalInput>) -> io::Result<()> {
        self.device.drain_input(inputs)
    }

    // ---- giving the terminal away for a while ----

    /// Asks in place of the live region, as [`ask`](crate::ask()) does. The answers stay in the scrollback. Input typed
    /// before the question cannot answer it and is appended to `type_ahead`. `close` closes the prompt from elsewhere.
    /// `deliver` receives the answer before the prompt shows success.
    ///
    /// # Errors
    /// If the person interrupts, a signal ends the prompt, the question is withdrawn, or the terminal fails.
    pub fn ask(
        &mut self,
        request: &Request,
        options: &Options,
        close: Option<CloseSignal>,
        type_ahead: &mut Vec<TerminalInput>,
        deliver: Deliver<'_>,
    ) -> Result<Resolution, AskError> {
        let failed = surface("the terminal failed");
        self.leave().map_err(&failed)?;
        self.device.drain_input(type_ahead).map_err(&failed)?;
        // A wake during the question is reported when the question is over.
        let wake_pipe = self.device.watch(close.map(WakeSource::Close));
        let keyboard = Keyboard::InUse(self.last_question.map(|asked| asked.elapsed()));
        let options = Options { presentation: self.options.presentation, ..options.clone() };
        let result = ask_on(&mut self.device, request, keyboard, &options, type_ahead, deliver);
        self.last_question = Some(Instant::now());
        self.device.watch(wake_pipe);
        self.painter = painter(&self.options);
        self.is_live = false;
        self.size = self.device.size();
        self.enter();
        result
    }

    /// Opens the external editor on a text, as [`open_editor`](crate::open_editor) does, and takes the terminal back
    /// afterwards.
    ///
    /// # Errors
    /// If the editor fails, or the terminal does.
    pub fn edit(&mut self, text: &str) -> io::Result<EditedText> {
        self.lend(|| open_editor(text))
    }

    /// Shows a text in `$PAGER`, and takes the terminal back afterwards.
    ///
    /// # Errors
    /// If the pager fails, or the terminal does.
    pub fn read(&mut self, text: &str) -> io::Result<()> {
        self.lend(|| open_pager(text))
    }

    fn lend<T>(&mut self, program: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
        self.leave()?;
        self.device.lend()?;
        let done = program();
        self.device.start()?;
        self.reset_screen();
        done
    }

    fn suspend(&mut self) -> io::Result<()> {
        self.leave()?;
        self.device.suspend()?;
        self.reset_screen();
        Ok(())
    }

    /// Sets the terminal modes that painting needs.
    fn enter(&mut self) {
        if self.options.presentation == Presentation::Screen {
            self.painter.raw(ENTER);
            if self.options.has_window {
                self.painter.raw(REPORT_FOCUS);
            }
        }
    }

    /// Erases the live region and resets the terminal modes.
    fn leave(&mut self) -> io::Result<()> {
        if self.options.presentation == Presentation::Screen {
            self.clear_live();
            if self.options.has_window {
                self.painter.raw(IGNORE_FOCUS);
            }
            self.painter.raw(LEAVE);
        }
        self.flush()
    }

    /// Begins a new screen at the cursor. Another program may have written to the screen.
    fn reset_screen(&mut self) {
        self.size = self.device.size();
        if self.options.presentation == Presentation::Screen {
            self.painter = Painter::new(self.options.theme.charset);
            self.is_live = false;
            self.painter.raw(b"\r");
            self.painter.raw(CLEAR_BELOW);
            self.enter();
        }
    }

    fn restore(&mut self) -> io::Result<()> {
        self.restore_title();
        let left = self.leave();
        left.and(self.device.stop())
    }

    /// Writes the buffered output and restores the terminal.
    ///
    /// # Errors
    /// If the terminal cannot be written to or restored.
    pub fn close(mut self) -> io::Result<()> {
        self.restore()
    }
}

fn painter(options: &Options) -> Painter {
    match options.presentation {
        Presentation::Screen => Painter::new(options.theme.charset),
        Presentation::Line => Painter::plain(options.theme.charset),
    }
}

impl Drop for Console {
    fn drop(&mut self) {
        // After a panic, the hook has already restored the terminal, and the message stands where the live region was.
        if self.device.is_in_use() && !std::thread::panicking() {
            let _ = self.restore();
        }
    }
}

// The tests use a device that exists only on Unix.
#[cfg(all(test, unix))]
#[path = "console_tests.rs"]
mod tests;
