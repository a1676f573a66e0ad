//! The prompt drawn inline on the terminal device: wait, update, lay out, paint, until there is an outcome.
//!
//! One wait takes all that was typed, every key counts in order, one write repaints what changed. Nothing runs while
//! nothing happens.

use crate::ask::{Store, surface};
use crate::decode::Input;
use crate::device::{Device, DeviceEvent, SIGINT};
use crate::paint::{CLEAR_BELOW, Painter};
use crate::view::{Confirm, PromptPhase, Role, View, closed_lines, closing_lines, context_lines, not_stored_lines};
use crate::{Options, editor};
use askuser::prompt::{Effect, Event};
use askuser::{AskError, Closed, Context, Key, Outcome, Prompt, Resolution, Status, Via};
use ratatui_core::text::Line;
use std::io;
use std::time::{Duration, Instant};

/// No wrapping (a character wider than we think must not push the frame about), and pasted text marked as such.
const ENTER: &[u8] = b"\x1b[?7l\x1b[?2004h";
const LEAVE: &[u8] = b"\x1b[?2004l\x1b[?7h";
const WRAP: &[u8] = b"\x1b[?7h";
/// What is left to say if the process panics: the cursor is in the frame's first row, or at the caret.
const RESTORE_ON_PANIC: &[u8] = b"\r\x1b[m\x1b[J\x1b[?2004l\x1b[?7h\x1b[?25h";

/// Asks on a device that is in use, and leaves it so. `context` stays in the scrollback, above the prompt.
pub(crate) fn ask(
    prompt: Prompt,
    context: Option<&Context>,
    options: &Options,
    device: &mut Device,
    type_ahead: &mut Vec<Input>,
    store: Store<'_>,
) -> Result<Resolution, AskError> {
    device.on_panic(RESTORE_ON_PANIC.to_vec());
    let size = device.size();
    let painter = Painter::new(options.charset);
    let mut screen = InlinePrompt { device, painter, prompt, options, size, type_ahead, first_frame: None };
    let ended = screen.run(context);
    screen.close(ended, store)
}

struct InlinePrompt<'a> {
    device: &'a mut Device,
    painter: Painter,
    prompt: Prompt,
    options: &'a Options,
    size: (u16, u16),
    /// What was typed before the prompt can have been seen, and was meant for whoever had the keyboard before.
    type_ahead: &'a mut Vec<Input>,
    first_frame: Option<Instant>,
}

/// How the loop ended.
enum End {
    Outcome(Outcome),
    Interrupted,
    Signal(i32),
    /// The terminal is gone.
    TerminalGone,
    /// The prompt was closed from elsewhere, for a reason or because nobody waits any more.
    Closed(Option<Closed>),
}

impl InlinePrompt<'_> {
    fn run(&mut self, context: Option<&Context>) -> io::Result<End> {
        // Whatever stands on this line stays as it is.
        self.painter.raw(b"\r\n");
        // A prompt that was killed may have left its rows below.
        self.painter.raw(CLEAR_BELOW);
        if let Some(context) = context {
            self.painter.print(&context_lines(context, &self.options.theme, self.room().0));
            self.painter.raw(b"\r\n");
        }
        self.painter.raw(ENTER);
        self.repaint(PromptPhase::Asking)?;
        self.first_frame = Some(Instant::now());
        let mut inputs = Vec::new();
        loop {
            let timeout = self.prompt.next_change().map(|at| at.saturating_sub(self.now()));
            let end = match self.device.wait(timeout, &mut inputs)? {
                DeviceEvent::Input => {
                    let mut end = None;
                    let mut keys = inputs.drain(..).peekable();
                    while end.is_none()
                        && let Some(input) = keys.next()
                    {
                        end = self.take(input)?;
                        // The next key may depend on what this one has brought onto the screen.
                        if keys.peek().is_some() {
                            self.update_viewport();
                        }
                    }
                    end
                }
                DeviceEvent::TimedOut => self.update(Event::Tick)?,
                DeviceEvent::Resized => {
                    self.size = self.device.size();
                    self.painter.resized(self.size.0, self.options.reflows);
                    None
                }
                DeviceEvent::Resumed => {
                    self.reset_screen();
                    None
                }
                DeviceEvent::Suspend => {
                    self.suspend()?;
                    None
                }
                DeviceEvent::Terminated(SIGINT) => Some(End::Interrupted),
                DeviceEvent::Terminated(signal) => Some(End::Signal(signal)),
                DeviceEvent::Closed | DeviceEvent::EndOfInput => Some(End::TerminalGone),
                DeviceEvent::CloseRequested => Some(End::Closed(self.device.close_reason())),
                DeviceEvent::Woken => None,
            };
            if let Some(end) = end {
                return Ok(end);
            }
            self.repaint(PromptPhase::Asking)?;
        }
    }

    fn now(&self) -> Duration {
        self.first_frame.map_or(Duration::ZERO, |first| first.elapsed())
    }

    fn take(&mut self, input: Input) -> io::Result<Option<End>> {
        if self.prompt.is_unseen(self.now()) {
            self.type_ahead.push(input.clone());
        }
        match input {
            Input::Key(key) if key == Key::ctrl('z') => {
                self.suspend()?;
                Ok(None)
            }
            Input::Key(key) if key == Key::ctrl('l') => {
                self.painter.erase();
                Ok(None)
            }
            Input::Key(key) => self.update(Event::Key(key)),
            Input::Paste(text) => self.update(Event::Paste(text)),
            Input::Focus(_) => Ok(None),
        }
    }

    fn update(&mut self, event: Event) -> io::Result<Option<End>> {
        let now = self.now();
        Ok(match self.prompt.update(event, now) {
            Effect::Continue => None,
            Effect::Edit(text) => {
                self.edit(&text)?;
                None
            }
            Effect::Finish(outcome) => Some(End::Outcome(outcome)),
            Effect::Interrupt => Some(End::Interrupted),
        })
    }

    // ---- showing ----

    /// The cells there are for the frame: the last column stays free, so that no line is ever exactly full, and one row
    /// stays with the conversation above.
    fn room(&self) -> (u16, u16) {
        (self.size.0.saturating_sub(1).max(1), self.size.1.saturating_sub(1).max(1))
    }

    /// Tells the prompt what is seen now.
    fn update_viewport(&mut self) {
        let (columns, rows) = self.room();
        let view = View::new(&self.prompt, &self.options.theme, PromptPhase::Asking, columns, rows);
        let viewport = view.viewport().clone();
        self.prompt.look(viewport);
    }

    fn repaint(&mut self, phase: PromptPhase) -> io::Result<()> {
        let (columns, rows) = self.room();
        let view = View::new(&self.prompt, &self.options.theme, phase, columns, rows);
        self.painter.paint(view.lines(), view.size().0, view.caret());
        if view.caret().is_none() {
            self.painter.preset_foreground([Role::Secondary, Role::Text].map(|role| self.options.theme.colour(role)));
        }
        let viewport = view.viewport().clone();
        self.prompt.look(viewport);
        self.flush()
    }

    fn flush(&mut self) -> io::Result<()> {
        let bytes = self.painter.take();
        self.device.write(&bytes)
    }

    // ---- stepping aside ----

    fn suspend(&mut self) -> io::Result<()> {
        self.leave_screen()?;
        self.device.suspend()?;
        self.reset_screen();
        Ok(())
    }

    fn edit(&mut self, text: &str) -> io::Result<()> {
        self.leave_screen()?;
        self.device.lend()?;
        let edited = editor::edit(text);
        self.device.start()?;
        self.reset_screen();
        let now = self.now();
        match edited {
            Ok((text, file)) => {
                let chars = text.chars().count();
                self.prompt.update(Event::Edited(text), now);
                // Refused, but typed: it must not be lost with the file.
                if self.prompt.notice().is_some() {
                    let limit = self.prompt.set().limits().typed_chars();
                    let path = file.keep();
                    self.prompt
                        .warn(format!("{chars} characters, at most {limit}; your text is in {}", path.display()));
                }
            }
            Err(error) => self.prompt.warn(format!("The editor failed, your text is kept: {error}")),
        }
        Ok(())
    }

    fn leave_screen(&mut self) -> io::Result<()> {
        self.painter.erase();
        self.painter.raw(LEAVE);
        self.flush()
    }

    /// The screen is anybody's: paint everything anew from where the cursor is.
    fn reset_screen(&mut self) {
        self.painter = Painter::new(self.options.charset);
        self.painter.raw(b"\r");
        self.painter.raw(CLEAR_BELOW);
        self.painter.raw(ENTER);
        self.size = self.device.size();
    }

    // ---- ending ----

    fn close(mut self, ended: io::Result<End>, store: Store<'_>) -> Result<Resolution, AskError> {
        let failed = surface("the terminal failed");
        let end = match ended {
            Ok(end) => end,
            Err(error) => {
                let _ = self.restore();
                return Err(failed(error));
            }
        };
        match end {
            End::Outcome(outcome) => {
                let resolution = outcome.through(Via::Terminal);
                // Success is shown of what is stored. Answered is answered, even if the terminal goes before it can be shown.
                let _ = match store(&resolution) {
                    Ok(()) => self.show_outcome(resolution.outcome()),
                    Err(why) => self.show_end(&not_stored_lines(&why, &self.options.theme, self.room().0)),
                };
                let _ = self.restore();
                Ok(resolution)
            }
            End::Interrupted => {
                self.painter.erase();
                self.restore().map_err(failed)?;
                Err(AskError::Interrupted)
            }
            End::Signal(signal) => {
                self.painter.erase();
                let _ = self.restore();
                Err(AskError::Signal(signal))
            }
            End::TerminalGone => Ok(terminal_gone(&self.prompt, Via::Terminal)),
            End::Closed(why) => {
                let lines = match &why {
                    Some(why) if self.options.confirm != Confirm::None => {
                        closed_lines(why, &self.options.theme, self.room().0)
                    }
                    _ => Vec::new(),
                };
                self.show_end(&lines).and_then(|()| self.restore()).map_err(failed)?;
                match why {
                    Some(Closed::AnsweredElsewhere(resolution)) => Ok(resolution),
                    _ => Err(AskError::Withdrawn),
                }
            }
        }
    }

    fn show_outcome(&mut self, outcome: &Outcome) -> io::Result<()> {
        if self.options.confirm != Confirm::None {
            match outcome.status() {
                Status::Answered if !self.options.flash.is_zero() => {
                    self.repaint(PromptPhase::Confirmed)?;
                    self.device.pause(self.options.flash)?;
                }
                Status::TimedOut => {
                    self.repaint(PromptPhase::Expired)?;
                    self.painter.leave();
                    return Ok(());
                }
                _ => {}
            }
        }
        let lines = closing_lines(self.prompt.set(), outcome, self.options.confirm, &self.options.theme, self.room().0);
        self.show_end(&lines)
    }

    /// Replaces the prompt by what stays in the scrollback.
    fn show_end(&mut self, lines: &[Line<'_>]) -> io::Result<()> {
        self.painter.erase();
        // What stays is not ours to repaint: a long answer wraps like any other text.
        self.painter.raw(WRAP);
        self.painter.print(lines);
        Ok(())
    }

    fn restore(&mut self) -> io::Result<()> {
        self.painter.raw(LEAVE);
        self.flush()
    }
}

/// The terminal went away. Nobody has said no, and what they had answered is kept.
pub(crate) fn terminal_gone(prompt: &Prompt, via: Via) -> Resolution {
    let gone = Outcome::unavailable("the terminal was closed");
    gone.clone().with_answers(prompt.set(), prompt.so_far()).unwrap_or(gone).through(via)
}
