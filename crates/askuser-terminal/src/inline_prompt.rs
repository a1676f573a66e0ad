//! The prompt drawn inline on the terminal device: it waits, updates, lays out and paints until there is an outcome.
//!
//! One wait returns all pending input, the keys are handled in order, and one write repaints the changes. The prompt
//! does not poll.

use crate::ask::Deliver;
use crate::decode::TerminalInput;
use crate::device::{self, Device, DeviceEvent, EscapeKey, SIGINT};
use crate::finish::{ClosingOutput, End, Finish, closed, end_of, terminal_gone};
use crate::kept_question::KeptQuestion;
use crate::paint::{CLEAR_BELOW, Painter};
use crate::session::PromptSession;
use crate::view::{Background, Confirm, Role};
use crate::{Options, editor};
use askuser::prompt::{Effect, InputMode};
use askuser::{AskError, Context, Form, Key, Outcome, Prompt, Resolution, Status, Via};
use ratatui_core::text::Line;
use std::io;
use std::time::Instant;

/// Switches auto-wrap off and bracketed paste on. Without auto-wrap, a character wider than expected does not break the
/// frame.
const ENTER: &[u8] = b"\x1b[?7l\x1b[?2004h";
const LEAVE: &[u8] = b"\x1b[?2004l\x1b[?7h";
const WRAP: &[u8] = b"\x1b[?7h";
/// The bytes to write at the frame's top if the process panics. They clear the frame and reset the modes.
const RESTORE_ON_PANIC: &[u8] = b"\r\x1b[m\x1b[J\x1b[?2004l\x1b[?7h\x1b[?25h";

/// Asks on a started device, and leaves the device started. `context` is part of the prompt, and stays in the
/// scrollback afterwards.
pub(crate) fn ask(
    prompt: Prompt,
    context: Option<&Context>,
    options: &Options,
    device: &mut Device,
    type_ahead: &mut Vec<TerminalInput>,
    kept: KeptQuestion<'_>,
    deliver: Deliver<'_>,
) -> Result<Resolution, AskError> {
    let size = device.size();
    let painter = Painter::new(options.theme.charset);
    let session = PromptSession { context: context.cloned(), ..PromptSession::from_prompt(prompt, options.theme) };
    let mut screen = InlinePrompt { device, painter, session, options, size, type_ahead, kept };
    let ended = screen.run();
    screen.close(ended, deliver)
}

struct InlinePrompt<'a> {
    device: &'a mut Device,
    painter: Painter,
    /// The state of the prompt. Its theme is the theme of the options, with the background that the terminal reported.
    session: PromptSession,
    options: &'a Options,
    size: (u16, u16),
    /// The input typed before the person can have seen the prompt.
    type_ahead: &'a mut Vec<TerminalInput>,
    kept: KeptQuestion<'a>,
}

impl InlinePrompt<'_> {
    fn run(&mut self) -> io::Result<End> {
        if self.session.prompt.set().rules().form() == Form::Tool {
            // The current line stays. A blank line separates the agent's question from its earlier output.
            self.painter.raw(b"\r\n");
        } else {
            // If these blanks begin in the first column they fill the current row, otherwise they wrap to the next one.
            // The row is deleted, because tmux would take it for a full row and rewrap it.
            self.painter.raw(" ".repeat(self.size.0.into()).as_bytes());
            self.painter.raw(b"\r\x1b[M");
        }
        // A prompt that was killed may have left rows below.
        self.painter.raw(CLEAR_BELOW);
        self.painter.raw(ENTER);
        self.repaint()?;
        self.session.first_frame = Some(Instant::now());
        if self.options.asks_background() {
            self.device.ask_background()?;
        }
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
                        // The effect of the next key may depend on the rows that this key scrolled into view. A text
                        // field is an exception.
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
                    let cursor_row = if self.options.has_window { self.device.cursor_row()? } else { None };
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
                DeviceEvent::Terminated(SIGINT) => Some(Err(AskError::Interrupted)),
                DeviceEvent::Terminated(signal) => Some(Err(AskError::Signal(signal))),
                DeviceEvent::Closed | DeviceEvent::EndOfInput => Some(Ok(terminal_gone(self.session.prompt()))),
                DeviceEvent::CloseRequested(ending) => Some(Err(closed(ending))),
                DeviceEvent::Message(words) => {
                    self.session.warn(words);
                    None
                }
                DeviceEvent::Woken => None,
            };
            if let Some(end) = end {
                return Ok(end);
            }
            if let Some(why) = self.kept.look(&mut self.session.prompt, Instant::now()) {
                self.session.warn(why);
            }
            self.take_background();
            self.repaint()?;
        }
    }

    /// Uses the colours for the reported background, once the terminal has reported one.
    fn take_background(&mut self) {
        if self.session.theme.background == Background::Unknown
            && let Some(background) = self.device.background()
        {
            self.session.theme.background = background;
        }
    }

    fn take(&mut self, input: TerminalInput) -> io::Result<Option<End>> {
        let now = Instant::now();
        // The input was meant for the previous user of the keyboard.
        if self.session.prompt.is_unseen(self.session.elapsed(now)) {
            self.type_ahead.push(input.clone());
        }
        match input {
            TerminalInput::Key(key) if key == Key::ctrl('z') => self.suspend().map(|()| None),
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
        if let Effect::Edit(text) = &effect {
            self.edit(text)?;
        }
        Ok(end_of(effect, &mut self.session.prompt, &mut self.kept))
    }

    // ---- showing ----

    /// Returns the columns and rows that the frame may use.
    fn room(&self) -> (u16, u16) {
        Painter::room(self.size)
    }

    /// Tells the prompt which rows would be visible now, although the user has not seen them.
    fn update_viewport(&mut self) {
        let (columns, rows) = self.room();
        let viewport = self.session.view(columns, rows).viewport;
        self.session.prompt.set_expected_viewport(viewport);
    }

    fn repaint(&mut self) -> io::Result<()> {
        let (columns, rows) = self.room();
        let theme = self.session.theme;
        let view = self.session.view(columns, rows);
        self.painter.paint(&view.lines, view.columns, view.caret);
        if view.caret.is_none() {
            self.painter.preset([theme.style(Role::Secondary), theme.focused(Role::Text)]);
        }
        let viewport = view.viewport;
        self.session.prompt.look(viewport);
        self.flush()
    }

    fn flush(&mut self) -> io::Result<()> {
        let bytes = self.painter.take();
        self.device.write(&bytes)?;
        if self.painter.asked_rows() > 0 {
            let rows = self.device.await_cursor_rows(self.painter.asked_rows())?;
            self.painter.set_rows(rows.as_deref());
        }
        device::on_panic(self.painter.at_the_top(RESTORE_ON_PANIC));
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

    /// Begins a new screen at the cursor, since another program may have written to the screen. The next frame is
    /// painted as a whole.
    fn reset_screen(&mut self) {
        self.painter = Painter::new(self.options.theme.charset);
        self.painter.raw(b"\r");
        self.painter.raw(CLEAR_BELOW);
        self.painter.raw(ENTER);
        self.size = self.device.size();
    }

    // ---- ending ----

    fn close(mut self, ended: io::Result<End>, deliver: Deliver<'_>) -> Result<Resolution, AskError> {
        let theme = &self.session.theme;
        let columns = self.room().0;
        let finish = Finish { via: Via::Terminal, confirm: self.options.confirm, theme, columns };
        let (output, result) = finish.settle(ended, self.session.prompt(), &mut self.kept, deliver);
        // The outcome stands, even if the terminal disappears before it is shown.
        match output {
            ClosingOutput::Outcome(outcome) => _ = self.show_outcome(&outcome),
            ClosingOutput::Lines(lines) => self.show_end(&lines),
            ClosingOutput::Nothing => {}
        }
        let _ = self.restore();
        result
    }

    fn show_outcome(&mut self, outcome: &Outcome) -> io::Result<()> {
        if self.options.confirm != Confirm::None {
            match outcome.status() {
                Status::Answered if !self.options.flash.is_zero() => {
                    self.repaint()?;
                    self.device.pause(self.options.flash)?;
                }
                Status::TimedOut => {
                    // The frame stays on the screen, with the whole context above it.
                    let context = self.session.context_lines(self.room().0);
                    self.session.context = None;
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

    /// Replaces the prompt by the output that stays in the scrollback: the context and these lines.
    fn show_end(&mut self, lines: &[Line<'_>]) {
        self.painter.erase();
        // The closing lines are ordinary text that is never repainted, so auto-wrap is switched on.
        self.painter.raw(WRAP);
        // With `Confirm::Elsewhere`, the caller also shows the context.
        if self.options.confirm != Confirm::Elsewhere {
            self.painter.print(&self.session.context_lines(self.room().0));
        }
        self.painter.print(lines);
    }

    fn restore(&mut self) -> io::Result<()> {
        self.device.set_escape_key(EscapeKey::Held);
        self.painter.raw(LEAVE);
        self.flush()
    }
}
