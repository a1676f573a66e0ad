//! A prompt with its clock and its deadline, for programs that run their own event loop.
//!
//! A [`Prompt`] counts time from its first frame. The session computes that time, so that callers only pass
//! `Instant::now()`. It does no IO and reads no clock: it turns input into effects and draws into a buffer.

use crate::decode::TerminalInput;
use crate::editor::EditedText;
use crate::view::{
    Confirm, LaidOut, PromptPhase, PromptWidget, Theme, View, closing_lines, context_lines, not_run_lines,
};
use askuser::prompt::{Effect, Event, PromptOptions};
use askuser::{Context, Outcome, Prompt, Request, Status};
use ratatui_core::buffer::Buffer;
use ratatui_core::layout::{Position, Rect};
use ratatui_core::text::Line;
use std::io;
use std::time::{Duration, Instant};

/// A question inside a ratatui program. The session owns the prompt and computes its clock and its deadline.
///
/// Render the session, wait for input until [`next_wake`](PromptSession::next_wake), and handle the input. Repeat this
/// until the effect is `Finish`, `PutAside` or `Interrupt`. The clock starts with the first frame.
///
/// ```
/// use askuser::prompt::Effect;
/// use askuser::{Context, KeyCode, QuestionSet, Request, RequestKey, Rules};
/// use askuser_terminal::{Confirm, TerminalInput, PromptSession, Theme};
/// use ratatui_core::{buffer::Buffer, layout::Rect};
/// use std::time::{Duration, Instant};
///
/// let json = r#"{"questions":[{"question":"Which database?","header":"Database","multiSelect":false,
///   "options":[{"label":"PostgreSQL","description":"a server"},{"label":"SQLite","description":"a file"}]}]}"#;
/// let set = QuestionSet::from_json(json, &Rules::strict())?;
/// let request = Request::new(RequestKey::new("session", "call"), set)
///     .with_context(Context::Prose("The plan: store orders.".into()))
///     .with_deadline(Duration::from_secs(300));
/// let mut session = PromptSession::new(&request, Theme::default());
///
/// // In a program: `frame.buffer_mut()`, `Instant::now()`, and input from `from_crossterm`.
/// let (area, start) = (Rect::new(0, 0, 60, 20), Instant::now());
/// session.render(area, &mut Buffer::empty(area), start);
/// assert!(session.next_wake().is_some_and(|at| at > start));
/// let effect = session.handle(TerminalInput::Key(KeyCode::Char('2').into()), start + Duration::from_secs(1));
/// let Effect::Finish(outcome) = effect else { panic!("answered") };
/// let lines = session.closing_lines(&outcome, Confirm::Inline, 60);
/// assert_eq!(lines[0].to_string(), "✔ Database: SQLite");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct PromptSession {
    pub(crate) prompt: Prompt,
    pub(crate) context: Option<Context>,
    pub(crate) theme: Theme,
    pub(crate) phase: PromptPhase,
    pub(crate) first_frame: Option<Instant>,
    pub(crate) laid_out: LaidOut,
}

impl PromptSession {
    /// Creates a session for a request, with its questions, origin, context, known answers and deadline.
    pub fn new(request: &Request, theme: Theme) -> PromptSession {
        let prompt = Prompt::of(request, PromptOptions::default().key_delay);
        PromptSession { context: request.context().cloned(), ..PromptSession::from_prompt(prompt, theme) }
    }

    /// Creates a session for a prompt with other settings, such as another key delay. The session has no context.
    pub fn from_prompt(prompt: Prompt, theme: Theme) -> PromptSession {
        PromptSession {
            prompt,
            context: None,
            theme,
            phase: PromptPhase::Asking,
            first_frame: None,
            laid_out: LaidOut::default(),
        }
    }

    /// Returns the prompt of the session.
    pub fn prompt(&self) -> &Prompt {
        &self.prompt
    }

    /// Handles a key or a paste, and returns its effect. The effect of a key may depend on the screen, so render
    /// between two keys.
    ///
    /// On `Effect::Edit`, call [`open_editor`](crate::open_editor) and pass the result to
    /// [`finish_edit`](PromptSession::finish_edit). The outcome of `Effect::Finish` becomes a resolution with
    /// `outcome.through(Via::Terminal)`.
    pub fn handle(&mut self, input: TerminalInput, now: Instant) -> Effect {
        let event = match input {
            TerminalInput::Key(key) => Event::Key(key),
            TerminalInput::Paste(text) => Event::Paste(text),
            TerminalInput::Focus(_) => Event::Tick,
        };
        self.update(event, now)
    }

    /// Updates the clock and returns the effect. Call it at [`next_wake`](PromptSession::next_wake). Calls at other
    /// times are harmless.
    pub fn tick(&mut self, now: Instant) -> Effect {
        self.update(Event::Tick, now)
    }

    fn update(&mut self, event: Event, now: Instant) -> Effect {
        let now = self.elapsed(now);
        match self.prompt.update(event, now) {
            Effect::Finish(outcome) => {
                self.phase = match outcome.status() {
                    Status::Answered => PromptPhase::Confirmed,
                    Status::TimedOut => PromptPhase::Expired,
                    _ => self.phase,
                };
                Effect::Finish(outcome)
            }
            effect => effect,
        }
    }

    /// Returns the time of the next [`tick`](PromptSession::tick) and render: for the countdown, the deadline or the
    /// end of a flash. `None` before the first frame, or if only input can change the state.
    pub fn next_wake(&self) -> Option<Instant> {
        self.first_frame?.checked_add(self.prompt.next_change()?)
    }

    /// Returns the time since the first frame, or zero before the first frame.
    pub(crate) fn elapsed(&self, now: Instant) -> Duration {
        self.first_frame.map_or(Duration::ZERO, |first| now.saturating_duration_since(first))
    }

    /// Inserts the text from the external editor, or shows the error. A refused text stays in its file, and the prompt
    /// names the file.
    pub fn finish_edit(&mut self, edited: io::Result<EditedText>, now: Instant) {
        match edited {
            Ok(edited) => {
                self.update(Event::Edited(edited.text().to_owned()), now);
                if self.prompt.notice().is_some() {
                    let chars = edited.text().chars().count();
                    let limit = self.prompt.set().limits().typed_chars;
                    let path = edited.keep();
                    self.warn(format!("{chars} characters, at most {limit}; your text is in {}", path.display()));
                }
            }
            Err(error) => self.warn(format!("The editor failed, your text is kept: {error}")),
        }
    }

    /// Shows a message at the foot of the prompt until the next key.
    pub fn warn(&mut self, text: String) {
        self.prompt.warn(text);
    }

    /// Returns the number of rows that the prompt needs in this width. In fewer rows the prompt scrolls.
    pub fn height(&self, columns: u16) -> u16 {
        let widget = PromptWidget { theme: self.theme, phase: self.phase, context: self.context.as_ref() };
        widget.height(&self.prompt, columns)
    }

    /// Draws into the part of an area that is inside the buffer. Returns the position of the hardware cursor, so that
    /// input methods appear there. `None` while no text is typed.
    pub fn render(&mut self, area: Rect, buffer: &mut Buffer, now: Instant) -> Option<Position> {
        self.first_frame.get_or_insert(now);
        let area = area.intersection(buffer.area);
        if area.is_empty() {
            return None;
        }
        let (cursor, viewport) = self.view(area.width, area.height).draw(area, buffer);
        self.prompt.look(viewport);
        cursor
    }

    /// Returns the lines that show an outcome in the scrollback or in a conversation after the prompt.
    pub fn closing_lines(&self, outcome: &Outcome, confirm: Confirm, columns: u16) -> Vec<Line<'static>> {
        match self.prompt.condition(outcome) {
            Some(note) if !matches!(confirm, Confirm::None | Confirm::Elsewhere) => {
                not_run_lines(note, &self.theme, columns)
            }
            _ => closing_lines(self.prompt.set(), outcome, confirm, &self.theme, columns),
        }
    }

    /// Returns the lines of the complete context of the questions, for the scrollback.
    pub(crate) fn context_lines(&self, columns: u16) -> Vec<Line<'static>> {
        self.context.as_ref().map(|context| context_lines(context, &self.theme, columns)).unwrap_or_default()
    }

    /// Returns the layout in this many columns and rows. The caller passes its viewport to [`Prompt::look`].
    pub(crate) fn view(&mut self, columns: u16, rows: u16) -> View {
        let context = self.context.as_ref();
        View::after(&mut self.laid_out, &self.prompt, context, &self.theme, self.phase, (columns, rows))
    }
}

#[cfg(test)]
#[path = "session_tests.rs"]
mod tests;
