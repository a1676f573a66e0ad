//! The terminal for the length of a session: a scrollback that is written once, and one live region under it.
//!
//! Printed lines are never touched again; the live region is repainted where it changed.
//! The terminal is asked for its background after the first frame, and for the cursor's position after a resize. Output is
//! buffered and written at once when the console waits, so that no partial frame is seen. Deliberately absent: the content,
//! which is the caller's, and threads.

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

/// The controlling terminal, taken over until it is dropped: printed lines go into the scrollback, a live region stays
/// below them. The terminal is restored on drop, signal, suspend and panic.
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
    /// Whether the window has a title of ours.
    is_titled: bool,
    /// Whether the terminal is still to be asked for its background.
    asks_background: bool,
    /// Whether a live region is on the screen, which has to be erased before anything is printed.
    is_live: bool,
    /// Whether the next write erases and repaints the live region, and is wrapped in a synchronized update.
    synchronize: bool,
    /// The time when the last question was closed.
    last_question: Option<Instant>,
}

/// The result of [`Console::wait`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ConsoleEvent {
    /// There is input.
    Input,
    /// The timeout has passed.
    TimedOut,
    /// The terminal was resized; the live region is gone and has to be set again.
    Resized,
    /// The process was suspended and resumed; the live region is gone and has to be set again.
    Resumed,
    /// Another thread used a [`Waker`], or the terminal has told its background.
    Woken,
    /// This signal asks the process to end.
    Signal(i32),
    /// The terminal was closed.
    Closed,
    /// Ctrl-D on an empty line, in line mode; otherwise Ctrl-D is a key.
    EndOfInput,
}

/// Auto-wrap off, bracketed paste on, cursor visible: a program that was killed may have left it hidden.
const ENTER: &[u8] = b"\x1b[?7l\x1b[?2004h\x1b[?25h";
const LEAVE: &[u8] = b"\x1b[?2004l\x1b[?7h\x1b[?25h";
const WRAP: &[u8] = b"\x1b[?7h";
const NO_WRAP: &[u8] = b"\x1b[?7l";
const REPORT_FOCUS: &[u8] = b"\x1b[?1004h";
const IGNORE_FOCUS: &[u8] = b"\x1b[?1004l";
/// Synchronized update: terminals that support it show what is in between at once; others ignore it.
const BEGIN_SYNC: &[u8] = b"\x1b[?2026h";
const END_SYNC: &[u8] = b"\x1b[?2026l";
/// Written if the process panics: clears the live region from the cursor on and resets the modes.
const RESTORE_ON_PANIC: &[u8] = b"\r\x1b[m\x1b[J\x1b[?1004l\x1b[?2004l\x1b[?7h\x1b[?25h\x1b[?2026l";

impl Console {
    /// Takes over the controlling terminal, even if the standard streams are redirected.
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
            // Keep what is on the current line before the cursor. A program that was killed may have left rows below.
            console.painter.raw(b"\x1b[K\r\n");
            console.painter.raw(CLEAR_BELOW);
        }
        console.enter();
        Ok(console)
    }

    /// Columns and rows, never zero.
    pub fn size(&self) -> (u16, u16) {
        self.size
    }

    /// The presentation. In line mode there is no live region.
    pub fn presentation(&self) -> Presentation {
        self.options.presentation
    }

    /// The terminal's background, once it has told it. It is asked after the first frame, if the theme does not know it.
    pub fn background(&self) -> Option<Background> {
        self.device.background()
    }

    /// A handle that wakes [`Console::wait`] from other threads.
    pub fn waker(&self) -> Waker {
        self.waker.clone()
    }

    // ---- showing ----

    /// Prints lines into the scrollback, above the live region. Long lines are wrapped by the terminal, so that they are
    /// copied as one line.
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

    /// Prints a prompt such as `> ` without a line end, in line mode.
    pub fn print_prompt(&mut self, words: &str) {
        let words = encode(&sanitize::line(words), self.options.theme.charset);
        self.painter.raw(&words);
    }

    /// Replaces the live region by these lines. If they do not all fit, the last ones are shown. Line mode ignores it.
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

    /// Erases the live region; the next one is painted as a whole.
    pub fn clear_live(&mut self) {
        if self.is_live {
            self.painter.erase();
            self.is_live = false;
            self.synchronize = true;
        }
    }

    /// Clears the screen, so that what another prompt has left does not stand above the live region.
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

    /// Flushes, then waits for an event, for ever if there is no timeout. Appends what was typed to `inputs`. Ctrl-Z suspends
    /// the process and is not reported as input.
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
            // A console without a question cannot be closed.
            DeviceEvent::Woken | DeviceEvent::CloseRequested(_) => ConsoleEvent::Woken,
        })
    }

    /// Takes all input typed so far without waiting. In line mode this includes an unfinished line, which the terminal then
    /// no longer edits.
    ///
    /// # Errors
    /// If the terminal cannot be read.
    pub fn drain_input(&mut self, inputs: &mut Vec<TerminalInput>) -> io::Result<()> {
        self.device.drain_input(inputs)
    }

    // ---- giving the terminal away for a while ----

    /// Asks in the place of the live region, as [`ask`](crate::ask()) does; what was answered stays in the scrollback. What
    /// was typed before the question cannot answer it and is appended to `type_ahead`. `close` ends it from elsewhere. The
    /// answer is handed to `deliver` before success is shown.
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
        // A wake during the question is noticed when the question is over.
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

    /// Sets the modes that painting needs.
    fn enter(&mut self) {
        if self.options.presentation == Presentation::Screen {
            self.painter.raw(ENTER);
            if self.options.has_window {
                self.painter.raw(REPORT_FOCUS);
            }
        }
    }

    /// Erases the live region and resets the modes.
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

    /// Another program may have written to the screen: start over from where the cursor is.
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
        // In a panic the hook has restored the terminal already, and the message is where the live region was.
        if self.device.is_in_use() && !std::thread::panicking() {
            let _ = self.restore();
        }
    }
}

// The terminal of these tests is a device of Unix.
#[cfg(all(test, unix))]
#[path = "console_tests.rs"]
mod tests;
