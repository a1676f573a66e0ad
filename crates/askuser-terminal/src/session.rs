//! A prompt with its clock and its deadline, for programs that run their own event loop.
//!
//! A [`Prompt`] counts time from its first frame. The session does that arithmetic, so that callers only pass
//! `Instant::now()`. It has no IO and no clock: it turns input into effects and draws into a buffer.

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

/// A question inside a ratatui program: owns the prompt, its clock and its deadline.
///
/// Draw it, wait for input until [`next_wake`](PromptSession::next_wake), feed it, and repeat until the effect is
/// `Finish`, `PutAside` or `Interrupt`. The clock starts with the first frame.
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
    /// A session for a request: its questions, its origin, its context, its known answers and its deadline.
    pub fn new(request: &Request, theme: Theme) -> PromptSession {
        let prompt = Prompt::of(request, PromptOptions::default().key_delay);
        PromptSession { context: request.context().cloned(), ..PromptSession::from_prompt(prompt, theme) }
    }

    /// A session for a prompt that was set up by hand, such as one with another key delay. It has no context.
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

    /// The prompt behind the session.
    pub fn prompt(&self) -> &Prompt {
        &self.prompt
    }

    /// Feeds a key or a paste. What a key does may depend on what is on the screen, so render between two of them.
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

    /// Tells that time has passed. Due at [`next_wake`](PromptSession::next_wake); harmless at any time.
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

    /// The time of the next [`tick`](PromptSession::tick) and render: the countdown, the deadline, the end of a flash.
    /// `None` before the first frame, or if only input can change the state.
    pub fn next_wake(&self) -> Option<Instant> {
        self.first_frame?.checked_add(self.prompt.next_change()?)
    }

    /// Time since the first frame.
    pub(crate) fn elapsed(&self, now: Instant) -> Duration {
        self.first_frame.map_or(Duration::ZERO, |first| now.saturating_duration_since(first))
    }

    /// Takes the text from the external editor, or shows the error. A refused text stays in its file, and the prompt
    /// names the file.
    pub fn finish_edit(&mut self, edited: io::Result<EditedText>, now: Instant) {
        match edited {
            Ok(edited) => {
                self.update(Event::Edited(edited.text().to_owned()), now);
                if self.prompt.notice().is_some() {
                    let (chars, limit) = (edited.text().chars().count(), self.prompt.set().limits().typed_chars);
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

    /// The rows the prompt needs in a width; in fewer rows it scrolls.
    pub fn height(&self, columns: u16) -> u16 {
        let widget = PromptWidget { theme: self.theme, phase: self.phase, context: self.context.as_ref() };
        widget.height(&self.prompt, columns)
    }

    /// Draws into an area, as far as it is inside the buffer. Returns where the hardware cursor belongs while text is
    /// typed, so that input methods show up in the right place.
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

    /// The lines that show an outcome in the scrollback or in a conversation once the prompt is gone.
    pub fn closing_lines(&self, outcome: &Outcome, confirm: Confirm, columns: u16) -> Vec<Line<'static>> {
        match self.prompt.condition(outcome) {
            Some(note) if !matches!(confirm, Confirm::None | Confirm::Elsewhere) => {
                not_run_lines(note, &self.theme, columns)
            }
            _ => closing_lines(self.prompt.set(), outcome, confirm, &self.theme, columns),
        }
    }

    /// The complete context of the questions, for the scrollback.
    pub(crate) fn context_lines(&self, columns: u16) -> Vec<Line<'static>> {
        self.context.as_ref().map(|context| context_lines(context, &self.theme, columns)).unwrap_or_default()
    }

    /// The layout in so many columns and rows. Its viewport goes to [`Prompt::look`].
    pub(crate) fn view(&mut self, columns: u16, rows: u16) -> View {
        let context = self.context.as_ref();
        View::after(&mut self.laid_out, &self.prompt, context, &self.theme, self.phase, (columns, rows))
    }
}

#[cfg(test)]
#[path = "session_tests.rs"]
mod tests;
