//! The prompt drawn inline on the terminal device: wait, update, lay out, paint, until there is an outcome.
//!
//! One wait takes all pending input, keys are handled in order, and one write repaints what changed. There is no polling.

use crate::ask::{StoreAnswer, surface};
use crate::decode::TerminalInput;
use crate::device::{Device, DeviceEvent, EscapeKey, SIGINT};
use crate::kept_question::KeptQuestion;
use crate::paint::{CLEAR_BELOW, Painter};
use crate::session::PromptSession;
use crate::view::{Background, Confirm, Role, Theme, closed_lines, failed_lines, unsent_lines};
use crate::{Options, WindowKind, editor};
use askuser::prompt::{Effect, InputMode};
use askuser::{AskError, Closed, Context, Key, Outcome, Prompt, Resolution, Status, Via};
use ratatui_core::text::Line;
use std::io;
use std::time::Instant;

/// Auto-wrap off, so that a character wider than expected does not break the frame, and bracketed paste on.
const ENTER: &[u8] = b"\x1b[?7l\x1b[?2004h";
const LEAVE: &[u8] = b"\x1b[?2004l\x1b[?7h";
const WRAP: &[u8] = b"\x1b[?7h";
/// Written at the frame's top if the process panics: clears it and resets the modes.
const RESTORE_ON_PANIC: &[u8] = b"\r\x1b[m\x1b[J\x1b[?2004l\x1b[?7h\x1b[?25h";

/// Asks on a device that was started, and leaves it started. `context` is part of the prompt, and stays in the scrollback when
/// it is over.
pub(crate) fn ask(
    prompt: Prompt,
    context: Option<&Context>,
    options: &Options,
    device: &mut Device,
    type_ahead: &mut Vec<TerminalInput>,
    kept: KeptQuestion<'_>,
    store: StoreAnswer<'_>,
) -> Result<Resolution, AskError> {
    device.on_panic(RESTORE_ON_PANIC.to_vec());
    let size = device.size();
    let painter = Painter::new(options.theme.charset);
    let session = PromptSession::from_prompt(prompt, options.theme).about(context.cloned());
    let (theme, cursor_row) = (options.theme, 0);
    let mut screen = InlinePrompt { device, painter, session, options, theme, size, type_ahead, kept, cursor_row };
    let ended = screen.run();
    screen.close(ended, store)
}

struct InlinePrompt<'a> {
    device: &'a mut Device,
    painter: Painter,
    session: PromptSession,
    options: &'a Options,
    /// The theme of the options, with the background that the terminal told.
    theme: Theme,
    size: (u16, u16),
    /// What was typed before the person can have seen the prompt.
    type_ahead: &'a mut Vec<TerminalInput>,
    kept: KeptQuestion<'a>,
    /// The row of the frame that the cursor is in.
    cursor_row: u16,
}

/// How the loop ended.
enum End {
    Outcome(Outcome),
    /// The question stays as it is.
    Left(AskError),
    /// The terminal is gone.
    TerminalGone,
    /// The prompt was closed from elsewhere.
    Closed(Closed),
}

impl InlinePrompt<'_> {
    fn run(&mut self) -> io::Result<End> {
        // Keep what is on the current line.
        self.painter.raw(b"\r\n");
        // A prompt that was killed may have left rows below.
        self.painter.raw(CLEAR_BELOW);
        self.painter.raw(ENTER);
        self.repaint()?;
        self.session.first_frame_shown(Instant::now());
        self.ask_background()?;
        let mut inputs = Vec::new();
        loop {
            let harmless = self.session.prompt().is_esc_harmless();
            self.device.set_escape_key(if harmless { EscapeKey::AtOnce } else { EscapeKey::Held });
            let now = Instant::now();
            let next = self.session.next_wake().into_iter().chain(self.kept.next_look(now)).min();
            let timeout = next.map(|at| at.saturating_duration_since(now));
            let end = match self.device.wait(timeout, &mut inputs)? {
                DeviceEvent::Input => {
                    let mut end = None;
                    let mut keys = inputs.drain(..).peekable();
                    while end.is_none()
                        && let Some(input) = keys.next()
                    {
                        end = self.take(input)?;
                        // What the next key does may depend on what this one has scrolled into view; in a text it does not.
                        let is_typing = matches!(self.session.prompt().mode(), InputMode::Typing(_));
                        if keys.peek().is_some() && !is_typing {
                            self.update_viewport();
                        }
                    }
                    end
                }
                DeviceEvent::TimedOut => {
                    let effect = self.session.tick(Instant::now());
                    self.perform(effect)?
                }
                DeviceEvent::Resized => {
                    self.size = self.device.size();
                    let cursor_row = self.cursor_row()?;
                    self.painter.resized(self.size.0, self.options.reflows, cursor_row);
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
                DeviceEvent::Terminated(SIGINT) => Some(End::Left(AskError::Interrupted)),
                DeviceEvent::Terminated(signal) => Some(End::Left(AskError::Signal(signal))),
                DeviceEvent::Closed | DeviceEvent::EndOfInput => Some(End::TerminalGone),
                DeviceEvent::CloseRequested => {
                    Some(self.device.close_reason().map_or(End::Left(AskError::Withdrawn), End::Closed))
                }
                DeviceEvent::Woken => None,
            };
            if let Some(end) = end {
                return Ok(end);
            }
            if let Some(why) = self.kept.look(self.session.prompt(), Instant::now()) {
                self.session.warn(why);
            }
            self.take_background();
            self.repaint()?;
        }
    }

    /// Asks for the background where nothing is known about it and it would change a colour.
    fn ask_background(&mut self) -> io::Result<()> {
        if self.options.asks_background() {
            self.device.ask_background()?;
        }
        Ok(())
    }

    /// Takes over the colours for the background, once the terminal has told it.
    fn take_background(&mut self) {
        if self.theme.background == Background::Unknown
            && let Some(background) = self.device.background()
        {
            self.theme.background = background;
            self.session.set_theme(self.theme);
        }
    }

    /// The row the cursor is in after a resize, where the terminal tells it.
    fn cursor_row(&mut self) -> io::Result<Option<u16>> {
        match self.options.window {
            WindowKind::Titled => self.device.cursor_row(),
            WindowKind::Bare => Ok(None),
        }
    }

    fn take(&mut self, input: TerminalInput) -> io::Result<Option<End>> {
        let now = Instant::now();
        if self.session.is_type_ahead(now) {
            self.type_ahead.push(input.clone());
        }
        match input {
            TerminalInput::Key(key) if key == Key::ctrl('z') => {
                self.suspend()?;
                Ok(None)
            }
            TerminalInput::Key(key) if key == Key::ctrl('l') => {
                self.painter.erase();
                Ok(None)
            }
            input => {
                let effect = self.session.handle(input, now);
                self.perform(effect)
            }
        }
    }

    fn perform(&mut self, effect: Effect) -> io::Result<Option<End>> {
        Ok(match effect {
            Effect::Continue => None,
            Effect::Edit(text) => {
                self.edit(&text)?;
                None
            }
            Effect::Finish(outcome) => Some(End::Outcome(outcome)),
            Effect::PutAside(draft) => self.leave(AskError::PutAside(draft)),
            Effect::Interrupt => self.leave(AskError::Interrupted),
        })
    }

    /// Ends, unless what was typed would be lost.
    fn leave(&mut self, left: AskError) -> Option<End> {
        match self.kept.leave(self.session.prompt()) {
            Ok(()) => Some(End::Left(left)),
            Err(why) => {
                self.session.warn(why);
                None
            }
        }
    }

    // ---- showing ----

    /// The columns and rows for the frame. The last column stays free, so that no line is exactly full, and one row of the
    /// conversation stays visible.
    fn room(&self) -> (u16, u16) {
        (self.size.0.saturating_sub(1).max(1), self.size.1.saturating_sub(1).max(1))
    }

    /// Tells the prompt what would be visible now, though nobody has seen it.
    fn update_viewport(&mut self) {
        let (columns, rows) = self.room();
        let viewport = self.session.view(columns, rows).viewport().clone();
        self.session.foresee_viewport(viewport);
    }

    fn repaint(&mut self) -> io::Result<()> {
        let (columns, rows) = self.room();
        let view = self.session.view(columns, rows);
        self.painter.paint(view.lines(), view.size().0, view.caret());
        if view.caret().is_none() {
            self.painter.preset_foreground([Role::Secondary, Role::Text].map(|role| self.theme.colour(role)));
        }
        let viewport = view.viewport().clone();
        self.session.set_viewport(viewport);
        self.flush()
    }

    fn flush(&mut self) -> io::Result<()> {
        let bytes = self.painter.take();
        self.device.write(&bytes)?;
        let row = self.painter.cursor_row();
        if std::mem::replace(&mut self.cursor_row, row) != row {
            self.device.on_panic(Painter::from_the_top(row, RESTORE_ON_PANIC));
        }
        if self.painter.asked_rows() > 0 {
            let rows = self.device.await_cursor_rows(self.painter.asked_rows())?;
            self.painter.set_rows(rows.as_deref());
        }
        Ok(())
    }

    // ---- giving the terminal away for a while ----

    fn suspend(&mut self) -> io::Result<()> {
        let _ = self.kept.save_now(self.session.prompt());
        self.leave_screen()?;
        self.device.suspend()?;
        self.reset_screen();
        Ok(())
    }

    fn edit(&mut self, text: &str) -> io::Result<()> {
        let _ = self.kept.save_now(self.session.prompt());
        self.leave_screen()?;
        self.device.lend()?;
        let edited = editor::open_editor(text);
        self.device.start()?;
        self.reset_screen();
        self.session.finish_edit(edited, Instant::now());
        Ok(())
    }

    fn leave_screen(&mut self) -> io::Result<()> {
        self.painter.erase();
        self.painter.raw(LEAVE);
        self.flush()
    }

    /// Another program may have written to the screen: paint everything anew from where the cursor is.
    fn reset_screen(&mut self) {
        self.painter = Painter::new(self.options.theme.charset);
        self.painter.raw(b"\r");
        self.painter.raw(CLEAR_BELOW);
        self.painter.raw(ENTER);
        self.size = self.device.size();
    }

    // ---- ending ----

    fn close(mut self, ended: io::Result<End>, store: StoreAnswer<'_>) -> Result<Resolution, AskError> {
        let failed = surface("the terminal failed");
        let end = match ended {
            Ok(end) => end,
            Err(error) => {
                let _ = (self.kept.save_now(self.session.prompt()), self.restore());
                return Err(failed(error));
            }
        };
        match end {
            End::Outcome(outcome) => {
                let resolution = outcome.through(Via::Terminal);
                // Success is shown once the answer is stored. An answer counts even if the terminal goes away before that.
                match store(&resolution) {
                    Ok(()) => {
                        self.kept.sent(resolution.outcome());
                        let _ = self.show_outcome(resolution.outcome());
                    }
                    Err(why) => {
                        let why = format!("Your answer was not stored: {why}");
                        let mut lines = failed_lines(&why, &self.theme, self.room().0);
                        lines.extend(self.unsent_lines());
                        self.show_end(&lines);
                    }
                }
                let _ = self.restore();
                Ok(resolution)
            }
            // The program that has opened it says so.
            End::Left(error) => {
                self.show_left();
                let _ = self.restore();
                Err(error)
            }
            End::TerminalGone => {
                let _ = self.kept.save_now(self.session.prompt());
                Ok(terminal_gone(self.session.prompt(), Via::Terminal))
            }
            End::Closed(why) => {
                let mut lines = match self.options.confirm {
                    Confirm::None => Vec::new(),
                    _ => closed_lines(&why, &self.theme, self.room().0),
                };
                lines.extend(self.unsent_lines());
                self.show_end(&lines);
                self.restore().map_err(failed)?;
                match why {
                    Closed::AnsweredElsewhere(resolution) => Ok(resolution),
                    _ => Err(AskError::Withdrawn),
                }
            }
        }
    }

    /// The question waits on, with what was typed here; where that cannot be saved it stays here, to be copied.
    fn show_left(&mut self) {
        let mut lines = Vec::new();
        if let Err(why) = self.kept.save_now(self.session.prompt()) {
            lines = failed_lines(&why, &self.theme, self.room().0);
            lines.extend(self.unsent_lines());
        }
        self.show_end(&lines);
    }

    /// What was typed here and is not what the question ended with.
    fn unsent_lines(&mut self) -> Vec<Line<'static>> {
        let columns = self.room().0;
        let unsent = self.kept.end(self.session.prompt());
        unsent.map(|draft| unsent_lines(draft, &self.theme, columns)).unwrap_or_default()
    }

    fn show_outcome(&mut self, outcome: &Outcome) -> io::Result<()> {
        if self.options.confirm != Confirm::None {
            match outcome.status() {
                Status::Answered if !self.options.flash.is_zero() => {
                    self.repaint()?;
                    self.device.pause(self.options.flash)?;
                }
                Status::TimedOut => {
                    // The frame stays; what it is about stands above it, all of it.
                    let context = self.session.take_context_lines(self.room().0);
                    if !context.is_empty() {
                        self.painter.erase();
                        self.painter.print(&context);
                    }
                    self.repaint()?;
                    self.painter.leave();
                    return Ok(());
                }
                _ => {}
            }
        }
        let lines = self.session.closing_lines(outcome, self.options.confirm, self.room().0);
        self.show_end(&lines);
        Ok(())
    }

    /// Replaces the prompt by what stays in the scrollback: what it was about, and these lines.
    fn show_end(&mut self, lines: &[Line<'_>]) {
        self.painter.erase();
        // Auto-wrap on: the closing lines are ordinary text, never repainted.
        self.painter.raw(WRAP);
        self.painter.print(&self.session.context_lines(self.room().0));
        self.painter.print(lines);
    }

    fn restore(&mut self) -> io::Result<()> {
        self.device.set_escape_key(EscapeKey::Held);
        self.painter.raw(LEAVE);
        self.flush()
    }
}

/// The terminal went away. Nobody has said no, and what they had answered is kept.
pub(crate) fn terminal_gone(prompt: &Prompt, via: Via) -> Resolution {
    let gone = Outcome::unavailable("the terminal was closed");
    gone.clone().with_answers(prompt.set(), prompt.so_far()).unwrap_or(gone).through(via)
}
