//! The terminal for the length of a session: a scrollback that is written once, and one live region under it.
//!
//! What is printed stays and is never touched again; what is live is repainted where it changed. Nothing is asked of the
//! terminal and the alternate screen is never used. Bytes are collected and go out in one write when the console waits, so
//! a frame is seen whole. Deliberately absent: what is shown, which is the caller's, and any thread.

mod window;

use crate::ask::{Asked, Keyboard, Store, ask_on, surface, tty_mode};
use crate::close_signal::CloseSignal;
use crate::decode::Input;
use crate::device::{Device, DeviceEvent, WakePipe, WakeSource, Waker};
use crate::paint::{CLEAR_BELOW, Painter};
use crate::view::width;
use crate::{Charset, EditedText, Options, Presentation, Window, open_editor};
use askuser::{AskError, Key, Request, Resolution, sanitize};
use ratatui_core::layout::Position;
use ratatui_core::text::Line;
use std::io;
use std::time::{Duration, Instant};
use window::TitleState;

/// A terminal that is ours until it is dropped. Every way out gives it back as it was: drop, signal, suspend, panic.
pub struct Console {
    device: Device,
    painter: Painter,
    waker: Waker,
    presentation: Presentation,
    charset: Charset,
    window: Window,
    reflows: bool,
    size: (u16, u16),
    title: TitleState,
    /// Whether there is something to take off the screen before anything is printed.
    live_region: LiveRegion,
    /// Where the cursor is in it.
    cursor_row: u16,
    /// The live region goes and comes back, which should be seen as one.
    synchronize: bool,
    /// When the last question was over.
    last_question: Option<Instant>,
}

/// Why waiting ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConsoleEvent {
    /// There is input.
    Input,
    /// The time given is over.
    TimedOut,
    /// The terminal has another size now, and no live region.
    Resized,
    /// The process was stopped and goes on; there is no live region.
    Resumed,
    /// A [`Waker`] was used.
    Woken,
    /// The process was asked to end, by this signal.
    Signal(i32),
    /// The terminal is gone.
    Closed,
    /// The person has nothing more to say (Ctrl-D); only in line mode, elsewhere that is a key.
    EndOfInput,
}

/// What is under the scrollback.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LiveRegion {
    Empty,
    Painted,
}

/// No wrapping in the live region, pasted text marked as such, and a cursor: who was killed here may have left none.
const ENTER: &[u8] = b"\x1b[?7l\x1b[?2004h\x1b[?25h";
const LEAVE: &[u8] = b"\x1b[?2004l\x1b[?7h\x1b[?25h";
const WRAP: &[u8] = b"\x1b[?7h";
const NO_WRAP: &[u8] = b"\x1b[?7l";
const REPORT_FOCUS: &[u8] = b"\x1b[?1004h";
const IGNORE_FOCUS: &[u8] = b"\x1b[?1004l";
/// Terminals that know these show what is between them at once; the others pay them no heed.
const BEGIN_SYNC: &[u8] = b"\x1b[?2026h";
const END_SYNC: &[u8] = b"\x1b[?2026l";
/// What is left to say if the process panics.
const RESTORE_ON_PANIC: &[u8] = b"\r\x1b[m\x1b[J\x1b[?1004l\x1b[?2004l\x1b[?7h\x1b[?25h\x1b[?2026l";

impl Console {
    /// Takes over the terminal that controls this process, whatever its standard streams are.
    pub fn open(options: &Options) -> io::Result<Console> {
        let (waker, wake_pipe) = WakePipe::new()?;
        let mut device = Device::open(tty_mode(options.presentation))?;
        device.watch(Some(WakeSource::Waker(wake_pipe)));
        device.start()?;
        let mut console = Console {
            size: device.size(),
            device,
            painter: painter(options.presentation, options.charset),
            waker,
            presentation: options.presentation,
            charset: options.charset,
            window: options.window,
            reflows: options.reflows,
            title: TitleState::Unchanged,
            live_region: LiveRegion::Empty,
            cursor_row: 0,
            synchronize: false,
            last_question: None,
        };
        if options.presentation == Presentation::Screen {
            // What stands on this line before the cursor stays as it is. What was killed here may have left its rows behind
            // the cursor and below.
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

    /// Whether it is drawn on, or spoken to line by line. There is no live region then.
    pub fn presentation(&self) -> Presentation {
        self.presentation
    }

    /// What wakes this console from other threads.
    pub fn waker(&self) -> Waker {
        self.waker.clone()
    }

    // ---- showing ----

    /// Puts lines into the scrollback, above the live region. A line longer than the terminal is wide is wrapped by the
    /// terminal, and stays one line to whoever copies it.
    pub fn print(&mut self, lines: &[Line<'_>]) {
        if lines.is_empty() {
            return;
        }
        self.clear_live();
        let columns = usize::from(self.size.0);
        let long = |line: &Line<'_>| line.spans.iter().map(|span| width(&span.content)).sum::<usize>() >= columns;
        let wraps = self.presentation == Presentation::Screen && lines.iter().any(long);
        if wraps {
            self.painter.raw(WRAP);
        }
        self.painter.print(lines);
        if wraps {
            self.painter.raw(NO_WRAP);
        }
    }

    /// Words that end where the person's line begins, in line mode.
    pub fn print_prompt(&mut self, words: &str) {
        let words = self.charset.encode(&sanitize::line(words));
        self.painter.raw(&words);
    }

    /// Replaces the live region by these lines. Of more lines than fit, the last are shown.
    pub fn set_live(&mut self, lines: &[Line<'_>], caret: Option<Position>) {
        if self.presentation == Presentation::Line {
            return;
        }
        // The last column stays free, so that no line is ever exactly full, and one row stays with what is above.
        let (columns, rows) = (self.size.0.saturating_sub(1).max(1), usize::from(self.size.1.saturating_sub(1).max(1)));
        let over = lines.len().saturating_sub(rows);
        let caret = caret.and_then(|Position { x, y }| {
            let y = y.checked_sub(over as u16)?;
            Some(Position { x: x.min(columns), y })
        });
        self.painter.paint(&lines[over..], columns, caret);
        self.live_region = LiveRegion::Painted;
        self.set_panic_restore(caret.map_or(0, |caret| caret.y));
    }

    /// If the process panics, the region goes from its first row on; the cursor is in this one.
    fn set_panic_restore(&mut self, row: u16) {
        if self.cursor_row != row {
            self.cursor_row = row;
            let up = if row > 0 { format!("\x1b[{row}A") } else { String::new() };
            self.device.on_panic([up.as_bytes(), RESTORE_ON_PANIC].concat());
        }
    }

    /// Takes the live region off the screen; the next one is painted whole.
    pub fn clear_live(&mut self) {
        if self.live_region == LiveRegion::Painted {
            self.painter.erase();
            self.live_region = LiveRegion::Empty;
            self.synchronize = true;
            self.set_panic_restore(0);
        }
    }

    /// Writes what has been collected.
    pub fn flush(&mut self) -> io::Result<()> {
        let bytes = self.painter.take();
        if std::mem::take(&mut self.synchronize) && !bytes.is_empty() {
            return self.device.write(&[BEGIN_SYNC, &bytes, END_SYNC].concat());
        }
        self.device.write(&bytes)
    }

    // ---- waiting ----

    /// Waits for something to happen, without end if no timeout is given, and appends what was typed to `inputs`. Ctrl-Z
    /// suspends the process in here and is no input.
    pub fn wait(&mut self, timeout: Option<Duration>, inputs: &mut Vec<Input>) -> io::Result<ConsoleEvent> {
        self.flush()?;
        let before = inputs.len();
        Ok(match self.device.wait(timeout, inputs)? {
            DeviceEvent::Input => {
                let is_stop = |input: &Input| *input == Input::Key(Key::ctrl('z'));
                if self.presentation == Presentation::Screen && inputs[before..].iter().any(is_stop) {
                    inputs.retain(|input| !is_stop(input));
                    self.suspend()?;
                }
                if inputs.len() > before { ConsoleEvent::Input } else { ConsoleEvent::Resumed }
            }
            DeviceEvent::TimedOut => ConsoleEvent::TimedOut,
            DeviceEvent::Resized => {
                self.size = self.device.size();
                if self.presentation == Presentation::Screen {
                    self.painter.resized(self.size.0, self.reflows);
                    self.set_panic_restore(0);
                    self.live_region = LiveRegion::Empty;
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
            // Nobody can withdraw from it what it has not been asked.
            DeviceEvent::Woken | DeviceEvent::CloseRequested => ConsoleEvent::Woken,
        })
    }

    /// Takes what was typed and not waited for yet. In line mode that is also the beginning of a line, which is not the
    /// terminal's to edit any more.
    pub fn drain_input(&mut self, inputs: &mut Vec<Input>) -> io::Result<()> {
        self.device.drain_input(inputs)
    }

    // ---- stepping aside ----

    /// Asks in the place of the live region, as [`ask`](crate::ask()) does; what was answered stays in the scrollback. What
    /// was typed before the question cannot answer it and is appended to `type_ahead`. The request's context is the caller's
    /// to show. `close` ends it from elsewhere; what comes of it is handed to `store` before success is shown.
    ///
    /// # Errors
    /// Where the person interrupts, the process is told to end, the question is withdrawn, or the terminal fails.
    pub fn ask(
        &mut self,
        request: &Request,
        options: &Options,
        close: Option<CloseSignal>,
        type_ahead: &mut Vec<Input>,
        store: Store<'_>,
    ) -> Result<Resolution, AskError> {
        let failed = surface("the terminal failed");
        self.leave().map_err(&failed)?;
        self.device.drain_input(type_ahead).map_err(&failed)?;
        // A wake during the question is noticed when the question is over.
        let wake_pipe = self.device.watch(close.map(WakeSource::Close));
        let keyboard = Keyboard::InUse(self.last_question.map(|asked| asked.elapsed()));
        let asked = Asked { request, context: None, keyboard, presentation: self.presentation };
        let result = ask_on(&mut self.device, &asked, options, type_ahead, store);
        self.last_question = Some(Instant::now());
        self.device.watch(wake_pipe);
        self.painter = painter(self.presentation, self.charset);
        self.live_region = LiveRegion::Empty;
        self.size = self.device.size();
        self.enter();
        result
    }

    /// Opens the external editor on a text, as [`open_editor`](crate::open_editor) does, and takes the terminal back
    /// afterwards.
    ///
    /// # Errors
    ///
    /// If the editor fails, or the terminal does.
    pub fn edit(&mut self, text: &str) -> io::Result<EditedText> {
        self.leave()?;
        self.device.lend()?;
        let edited = open_editor(text);
        self.device.start()?;
        self.reset_screen();
        edited
    }

    fn suspend(&mut self) -> io::Result<()> {
        self.leave()?;
        self.device.suspend()?;
        self.reset_screen();
        Ok(())
    }

    /// Takes up the modes that painting needs.
    fn enter(&mut self) {
        if self.presentation == Presentation::Screen {
            self.cursor_row = 0;
            self.device.on_panic(RESTORE_ON_PANIC.to_vec());
            self.painter.raw(ENTER);
            if self.window == Window::Titled {
                self.painter.raw(REPORT_FOCUS);
            }
        }
    }

    /// Takes the live region off and the modes back.
    fn leave(&mut self) -> io::Result<()> {
        if self.presentation == Presentation::Screen {
            self.clear_live();
            if self.window == Window::Titled {
                self.painter.raw(IGNORE_FOCUS);
            }
            self.painter.raw(LEAVE);
        }
        self.flush()
    }

    /// The screen is anybody's: paint everything anew from where the cursor is.
    fn reset_screen(&mut self) {
        self.size = self.device.size();
        if self.presentation == Presentation::Screen {
            self.painter = Painter::new(self.charset);
            self.live_region = LiveRegion::Empty;
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

    /// Gives the terminal back; what has been collected is written first.
    pub fn close(mut self) -> io::Result<()> {
        self.restore()
    }
}

fn painter(presentation: Presentation, charset: Charset) -> Painter {
    match presentation {
        Presentation::Screen => Painter::new(charset),
        Presentation::Line => Painter::plain(charset),
    }
}

impl Drop for Console {
    fn drop(&mut self) {
        // In a panic the terminal has been given back already, and the message stands where the frame was.
        if self.device.is_in_use() && !std::thread::panicking() {
            let _ = self.restore();
        }
    }
}

#[cfg(all(test, unix))]
#[path = "console_tests.rs"]
mod tests;
