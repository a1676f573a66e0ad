//! The terminal for the length of a session: a scrollback that is written once, and one live region under it.
//!
//! What is printed stays and is never touched again; what is live is repainted where it changed. Nothing is asked of the
//! terminal and the alternate screen is never used. Bytes are collected and go out in one write when the console waits, so
//! a frame is seen whole. Deliberately absent: what is shown, which is the caller's, and any thread.

use crate::ask::{Keyboard, ask_on, keys, surface};
use crate::decode::Input;
use crate::device::{Calls, Device, Wake, Waker, Watched};
use crate::paint::{Painter, WIPE};
use crate::view::width;
use crate::{Charset, Manner, Options, Window, editor};
use askuser::{AskError, Key, Outcome, Request, sanitize};
use ratatui_core::layout::Position;
use ratatui_core::text::Line;
use std::io::{self, PipeReader};
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// A terminal that is ours until it is dropped. Every way out gives it back as it was: drop, signal, suspend, panic.
pub struct Console {
    device: Device,
    painter: Painter,
    waker: Waker,
    manner: Manner,
    charset: Charset,
    window: Window,
    reflows: bool,
    size: (u16, u16),
    title: Title,
    /// Whether there is something to take off the screen before anything is printed.
    region: Region,
    /// Where the cursor is in it.
    cursor_row: u16,
    /// The live region goes and comes back, which should be seen as one.
    held: bool,
    /// When the last question was over.
    asked: Option<Instant>,
}

/// Why waiting ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Woken {
    /// There is input.
    Input,
    /// The time given is over.
    TimedOut,
    /// The terminal has another size now, and no live region.
    Resized,
    /// The process was stopped and goes on; there is no live region.
    Resumed,
    /// A [`Waker`] was used.
    Called,
    /// The process was asked to end, by this signal.
    Signal(i32),
    /// The terminal is gone.
    Closed,
    /// The person has nothing more to say (Ctrl-D); only in line mode, elsewhere that is a key.
    Ended,
}

/// What came of editing a text elsewhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Edited {
    /// The new text.
    Text(String),
    /// It has so many characters, which are too many; it is kept in this file.
    TooLong(usize, PathBuf),
}

/// What is under the scrollback.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Region {
    Empty,
    Painted,
}

/// Whose the window's title is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Title {
    Theirs,
    Ours,
}

/// No wrapping in the live region, pasted text marked as such, and a cursor: who was killed here may have left none.
const ENTER: &[u8] = b"\x1b[?7l\x1b[?2004h\x1b[?25h";
const LEAVE: &[u8] = b"\x1b[?2004l\x1b[?7h\x1b[?25h";
const WRAP: &[u8] = b"\x1b[?7h";
const NO_WRAP: &[u8] = b"\x1b[?7l";
const TELL_FOCUS: &[u8] = b"\x1b[?1004h";
const HIDE_FOCUS: &[u8] = b"\x1b[?1004l";
/// Terminals that know these show what is between them at once; the others pay them no heed.
const BEGIN: &[u8] = b"\x1b[?2026h";
const END: &[u8] = b"\x1b[?2026l";
/// The title is put aside and taken up again, where the terminal can do that; elsewhere it ends up empty.
const KEEP_TITLE: &[u8] = b"\x1b[22;2t";
const RESTORE_TITLE: &[u8] = b"\x1b]2;\x07\x1b[23;2t";
/// What is left to say if the process panics.
const ABANDON: &[u8] = b"\r\x1b[m\x1b[J\x1b[?1004l\x1b[?2004l\x1b[?7h\x1b[?25h\x1b[?2026l";

impl Console {
    /// Takes over the terminal that controls this process, whatever its standard streams are.
    pub fn open(options: &Options) -> io::Result<Console> {
        let (waker, calls) = Calls::new()?;
        let mut device = Device::open(keys(options.manner))?;
        device.watch(Some(Watched::Calls(calls)));
        device.start()?;
        let mut console = Console {
            size: device.size(),
            device,
            painter: painter(options.manner, options.charset),
            waker,
            manner: options.manner,
            charset: options.charset,
            window: options.window,
            reflows: options.reflows,
            title: Title::Theirs,
            region: Region::Empty,
            cursor_row: 0,
            held: false,
            asked: None,
        };
        if options.manner == Manner::Screen {
            // What stands on this line before the cursor stays as it is. What was killed here may have left its rows behind
            // the cursor and below.
            console.painter.raw(b"\x1b[K\r\n");
            console.painter.raw(WIPE);
        }
        console.enter();
        Ok(console)
    }

    /// Columns and rows, never zero.
    pub fn size(&self) -> (u16, u16) {
        self.size
    }

    /// Whether it is drawn on, or spoken to line by line. There is no live region then.
    pub fn manner(&self) -> Manner {
        self.manner
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
        let wraps = self.manner == Manner::Screen && lines.iter().any(long);
        if wraps {
            self.painter.raw(WRAP);
        }
        self.painter.print(lines);
        if wraps {
            self.painter.raw(NO_WRAP);
        }
    }

    /// Words that end where the person's line begins, in line mode.
    pub fn invite(&mut self, words: &str) {
        let words = self.charset.encode(&sanitize::line(words));
        self.painter.raw(&words);
    }

    /// Replaces the live region by these lines. Of more lines than fit, the last are shown.
    pub fn live(&mut self, lines: &[Line<'_>], caret: Option<Position>) {
        if self.manner == Manner::Line {
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
        self.region = Region::Painted;
        self.abandon_from(caret.map_or(0, |caret| caret.y));
    }

    /// If the process panics, the region goes from its first row on; the cursor is in this one.
    fn abandon_from(&mut self, row: u16) {
        if self.cursor_row != row {
            self.cursor_row = row;
            let up = if row > 0 { format!("\x1b[{row}A") } else { String::new() };
            self.device.on_abandon([up.as_bytes(), ABANDON].concat());
        }
    }

    /// Takes the live region off the screen; the next one is painted whole.
    pub fn clear_live(&mut self) {
        if self.region == Region::Painted {
            self.painter.erase();
            self.region = Region::Empty;
            self.held = true;
            self.abandon_from(0);
        }
    }

    /// Rings the bell.
    pub fn bell(&mut self) {
        self.painter.raw(b"\x07");
    }

    /// Names the window, where there is one.
    pub fn title(&mut self, title: &str) {
        if self.window == Window::Titled && self.manner == Manner::Screen {
            if self.title == Title::Theirs {
                self.painter.raw(KEEP_TITLE);
                self.title = Title::Ours;
            }
            self.command("2", title);
            // A shell has a title of its own.
            let again = [KEEP_TITLE, &self.encoded("2", title)].concat();
            self.device.on_suspend(RESTORE_TITLE.to_vec(), again);
        }
    }

    /// Passes a notification on, where the terminal does that.
    pub fn notify(&mut self, text: &str) {
        if self.window == Window::Titled && self.manner == Manner::Screen {
            self.command("9", text);
        }
    }

    fn command(&mut self, number: &str, text: &str) {
        let bytes = self.encoded(number, text);
        self.painter.raw(&bytes);
    }

    /// A command of the operating system's kind. It ends at the first control character, so none may be in the text.
    fn encoded(&self, number: &str, text: &str) -> Vec<u8> {
        let text = self.charset.encode(&sanitize::line(text));
        [format!("\x1b]{number};").as_bytes(), &text, b"\x07"].concat()
    }

    /// Writes what has been collected.
    pub fn flush(&mut self) -> io::Result<()> {
        let bytes = self.painter.take();
        if std::mem::take(&mut self.held) && !bytes.is_empty() {
            return self.device.write(&[BEGIN, &bytes, END].concat());
        }
        self.device.write(&bytes)
    }

    // ---- waiting ----

    /// Waits for something to happen, without end if no timeout is given, and appends what was typed to `inputs`. Ctrl-Z
    /// suspends the process in here and is no input.
    pub fn wait(&mut self, timeout: Option<Duration>, inputs: &mut Vec<Input>) -> io::Result<Woken> {
        self.flush()?;
        let before = inputs.len();
        Ok(match self.device.wait(timeout, inputs)? {
            Wake::Input => {
                let is_stop = |input: &Input| *input == Input::Key(Key::ctrl('z'));
                if self.manner == Manner::Screen && inputs[before..].iter().any(is_stop) {
                    inputs.retain(|input| !is_stop(input));
                    self.suspend()?;
                }
                if inputs.len() > before { Woken::Input } else { Woken::Resumed }
            }
            Wake::TimedOut => Woken::TimedOut,
            Wake::Resized => {
                self.size = self.device.size();
                if self.manner == Manner::Screen {
                    self.painter.resized(self.size.0, self.reflows);
                    self.abandon_from(0);
                    self.region = Region::Empty;
                    self.held = true;
                }
                Woken::Resized
            }
            Wake::Resumed => {
                self.start_over();
                Woken::Resumed
            }
            Wake::Suspend => {
                self.suspend()?;
                Woken::Resumed
            }
            Wake::Terminated(signal) => Woken::Signal(signal),
            Wake::Closed => Woken::Closed,
            Wake::Ended => Woken::Ended,
            // Nobody can withdraw from it what it has not been asked.
            Wake::Called | Wake::Withdrawn => Woken::Called,
        })
    }

    /// Takes what was typed and not waited for yet. In line mode that is also the beginning of a line, which is not the
    /// terminal's to edit any more.
    pub fn typed(&mut self, inputs: &mut Vec<Input>) -> io::Result<()> {
        self.device.typed(inputs)
    }

    // ---- stepping aside ----

    /// Asks in the place of the live region, as [`ask`](crate::ask()) does; what was answered stays in the scrollback. What
    /// was typed before the question cannot answer it and is appended to `before`. The request's context is the caller's
    /// to show. The end of `withdrawal` takes the question off the screen.
    pub fn ask(
        &mut self,
        request: &Request,
        options: &Options,
        withdrawal: Option<PipeReader>,
        before: &mut Vec<Input>,
    ) -> Result<Outcome, AskError> {
        let failed = surface("the terminal failed");
        self.leave().map_err(&failed)?;
        self.device.typed(before).map_err(&failed)?;
        // Calls wait: what they announce is looked at when the question is over.
        let calls = self.device.watch(withdrawal.map(Watched::Withdrawal));
        let keyboard = Keyboard::InUse(self.asked.map(|asked| asked.elapsed()));
        let result = ask_on(&mut self.device, request, None, keyboard, self.manner, options, before);
        self.asked = Some(Instant::now());
        self.device.watch(calls);
        self.painter = painter(self.manner, self.charset);
        self.region = Region::Empty;
        self.size = self.device.size();
        self.enter();
        result
    }

    /// Opens the person's editor on a text.
    pub fn edit(&mut self, text: &str, limit: usize) -> io::Result<Edited> {
        self.leave()?;
        self.device.lend()?;
        let edited = editor::edit(text);
        self.device.start()?;
        self.start_over();
        let (text, file) = edited?;
        let text = text.trim_end_matches(['\r', '\n']);
        let chars = text.chars().count();
        // Refused, but typed: it must not be lost with the file.
        Ok(if chars > limit { Edited::TooLong(chars, file.keep()) } else { Edited::Text(text.to_owned()) })
    }

    fn suspend(&mut self) -> io::Result<()> {
        self.leave()?;
        self.device.suspend()?;
        self.start_over();
        Ok(())
    }

    /// Takes up the modes that painting needs.
    fn enter(&mut self) {
        if self.manner == Manner::Screen {
            self.cursor_row = 0;
            self.device.on_abandon(ABANDON.to_vec());
            self.painter.raw(ENTER);
            if self.window == Window::Titled {
                self.painter.raw(TELL_FOCUS);
            }
        }
    }

    /// Takes the live region off and the modes back.
    fn leave(&mut self) -> io::Result<()> {
        if self.manner == Manner::Screen {
            self.clear_live();
            if self.window == Window::Titled {
                self.painter.raw(HIDE_FOCUS);
            }
            self.painter.raw(LEAVE);
        }
        self.flush()
    }

    /// The screen is anybody's: paint everything anew from where the cursor is.
    fn start_over(&mut self) {
        self.size = self.device.size();
        if self.manner == Manner::Screen {
            self.painter = Painter::new(self.charset);
            self.region = Region::Empty;
            self.painter.raw(b"\r");
            self.painter.raw(WIPE);
            self.enter();
        }
    }

    fn give_back(&mut self) -> io::Result<()> {
        if self.title == Title::Ours {
            self.title = Title::Theirs;
            self.painter.raw(RESTORE_TITLE);
        }
        let left = self.leave();
        left.and(self.device.stop())
    }

    /// Gives the terminal back; what has been collected is written first.
    pub fn close(mut self) -> io::Result<()> {
        self.give_back()
    }
}

fn painter(manner: Manner, charset: Charset) -> Painter {
    match manner {
        Manner::Screen => Painter::new(charset),
        Manner::Line => Painter::plain(charset),
    }
}

impl Drop for Console {
    fn drop(&mut self) {
        // In a panic the terminal has been given back already, and the message stands where the frame was.
        if self.device.is_in_use() && !std::thread::panicking() {
            let _ = self.give_back();
        }
    }
}

#[cfg(all(test, unix))]
#[path = "console_tests.rs"]
mod tests;
