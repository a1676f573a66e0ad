//! The UI thread's loop. It waits for input and events, passes them to the state, and carries out the effects.
//!
//! One wait returns all pending input and events, and one write shows the result. The loop does not poll.

mod questions;

use super::Surface;
use super::agent_thread::{AgentCommand, AgentThread};
use super::history::HistoryFile;
use super::open_questions::{Questions, SIGHUP, UiSender};
use super::scrollback::{self, Item};
use super::state::{Effect, Event, State};
use super::view;
use crate::commands::agent::session::Again;
use crate::failure::Failure;
use crate::signals;
use askuser::{Key, KeyCode};
use askuser_agent::CancellationToken;
use askuser_terminal::{Console, ConsoleEvent, Options, Presentation, Role, TerminalInput};
use std::io;
use std::path::Path;
use std::sync::mpsc::Receiver;
use std::thread;
use std::time::{Duration, Instant};

pub(super) struct Driver {
    console: Console,
    options: Options,
    state: State,
    agent_thread: AgentThread,
    ui: UiSender,
    events: Receiver<(Instant, Event)>,
    questions: Questions,
    history_file: Option<HistoryFile>,
    /// Whether to set the window title and notify when a question arrives.
    notify: bool,
    started: Instant,
    /// The input from before a question was visible. It is added to the draft afterwards.
    type_ahead: Vec<TerminalInput>,
    /// The unfinished line in line mode.
    line: String,
    /// Whether the `> ` of the current input line has been printed, in line mode.
    input_prompt_shown: bool,
}

/// The reason why the conversation ended.
enum End {
    Quit,
    Signal(i32),
    /// The terminal was closed.
    Closed,
    Failed(Failure),
}

impl From<io::Error> for End {
    fn from(error: io::Error) -> End {
        End::Failed(terminal_failed(&error))
    }
}

const SIGINT: i32 = 2;
/// The maximum time that quitting waits for a tool that ignores cancellation.
const SHUTDOWN: Duration = Duration::from_secs(2);
/// The maximum number of files offered for `@`.
const MAX_FILES: usize = 50_000;
const TITLE: &str = "askuser";

impl Driver {
    pub(super) fn new(
        surface: Surface,
        state: State,
        agent_thread: AgentThread,
        history_file: Option<HistoryFile>,
        notify: bool,
    ) -> Driver {
        let Surface { console, options, questions, events, ui } = surface;
        Driver {
            console,
            options,
            state,
            agent_thread,
            ui,
            events,
            questions,
            history_file,
            notify,
            started: Instant::now(),
            type_ahead: Vec::new(),
            line: String::new(),
            input_prompt_shown: false,
        }
    }

    pub(super) fn run(mut self, again: &Again) -> Result<u8, Failure> {
        let end = self.event_loop();
        // An unsent draft is added to the history, so that Up restores it in the next session.
        if !self.state.composer.draft.is_blank() {
            let draft = self.state.composer.draft.expanded();
            self.save_history(&draft);
        }
        let is_told = matches!(end, End::Signal(_) | End::Closed);
        self.agent_thread.end(if is_told { signals::GRACE } else { SHUTDOWN });
        if let (End::Quit, true, Some(session)) =
            (&end, self.state.session.message_count > 0, &self.state.session.about)
        {
            let columns = usize::from(self.console.size().0);
            // A command that is too long for the row begins on a new one, to be copied.
            let command = again.command(&session.id);
            let words = match format!("To resume this session: {command}") {
                line if line.len() + 3 > columns => format!("To resume this session:\n{command}"),
                line => line,
            };
            for item in [Item::Gap, Item::Note(Role::Muted, words)] {
                self.console.print(&scrollback::lines(&item, &self.options.theme, columns));
            }
        }
        let closed = self.console.close();
        match end {
            End::Quit => closed.map(|()| 0).map_err(|error| terminal_failed(&error)),
            End::Failed(failure) => Err(failure),
            End::Closed => Ok(128 + SIGHUP as u8),
            End::Signal(signal) => {
                // The terminal is restored, so the signal now takes its default action.
                let _ = signal_hook::low_level::emulate_default_handler(signal);
                Ok(128u8.saturating_add(signal as u8))
            }
        }
    }

    fn event_loop(&mut self) -> End {
        let mut inputs = Vec::new();
        loop {
            if let Err(end) = self.next(&mut inputs) {
                return end;
            }
        }
    }

    /// Waits for the next input or event and handles it.
    fn next(&mut self, inputs: &mut Vec<TerminalInput>) -> Result<(), End> {
        self.replay_type_ahead()?;
        self.render();
        let timeout = self.state.next_change(self.now()).map(|at| at.saturating_sub(self.now()));
        let woken = self.console.wait(timeout, inputs)?;
        // The background is known only if the settings leave it to the terminal.
        if let Some(background) = self.console.background() {
            self.options.theme.background = background;
        }
        match woken {
            ConsoleEvent::Input => self.take_inputs(inputs),
            ConsoleEvent::TimedOut => self.handle(Event::Tick),
            ConsoleEvent::Woken => self.take_events(),
            ConsoleEvent::Signal(SIGINT) => {
                self.line.clear();
                self.handle(Event::Key(Key::ctrl('c')))
            }
            ConsoleEvent::Signal(signal) => Err(End::Signal(signal)),
            ConsoleEvent::EndOfInput => Err(End::Quit),
            ConsoleEvent::Closed => Err(End::Closed),
            _ => Ok(()),
        }
    }

    fn now(&self) -> Duration {
        self.started.elapsed()
    }

    fn render(&mut self) {
        match self.console.presentation() {
            // The screen stays empty until the session is known.
            Presentation::Screen if self.state.session.about.is_none() => {}
            Presentation::Screen => {
                let (lines, caret) = view::live(&self.state, &self.options.theme, self.console.size(), self.now());
                self.console.set_live(&lines, Some(caret));
            }
            Presentation::Line => {
                // An unfinished line is shown again, even while the agent works or a question is pending.
                let begun = !self.state.questions.pending.is_empty() || !self.state.composer.draft.is_blank();
                if (self.state.turn.pending_commands == 0 || begun) && !self.input_prompt_shown {
                    self.input_prompt_shown = true;
                    self.console.print_prompt(&format!("> {}", self.state.composer.draft.as_str()));
                }
            }
        }
    }

    // ---- events ----

    fn take_inputs(&mut self, inputs: &mut Vec<TerminalInput>) -> Result<(), End> {
        for input in inputs.drain(..) {
            let event = match (input, self.console.presentation()) {
                (TerminalInput::Key(key), Presentation::Screen) => Event::Key(key),
                (TerminalInput::Paste(text), Presentation::Screen) => Event::Paste(text),
                (TerminalInput::Focus(focus), _) => Event::Focus(focus),
                (input @ (TerminalInput::Key(_) | TerminalInput::Paste(_)), Presentation::Line) => {
                    match self.push_line_input(input) {
                        Some(line) => Event::Line(line),
                        None => continue,
                    }
                }
            };
            self.handle(event)?;
        }
        Ok(())
    }

    /// Adds input to the unfinished line, in line mode. Returns the line on Enter, otherwise `None`.
    fn push_line_input(&mut self, input: TerminalInput) -> Option<String> {
        match input {
            TerminalInput::Key(key) if key == Key::ctrl('j') || key == Key::plain(KeyCode::Enter) => {
                self.input_prompt_shown = false;
                return Some(std::mem::take(&mut self.line));
            }
            TerminalInput::Key(Key { code: KeyCode::Char(c), mods }) if !mods.ctrl => self.line.push(c),
            TerminalInput::Key(Key { code: KeyCode::Tab, .. }) => self.line.push(' '),
            TerminalInput::Paste(text) => self.line.push_str(&text),
            TerminalInput::Key(_) | TerminalInput::Focus(_) => {}
        }
        None
    }

    /// Takes the typed text out of the terminal's line buffer, with an unfinished line, in line mode. Otherwise the
    /// rest of the line, typed after the question is shown, would be read as an answer. Returns `None` on a screen.
    fn drain_typed_lines(&mut self) -> io::Result<Option<Event>> {
        if self.console.presentation() == Presentation::Screen {
            return Ok(None);
        }
        let mut inputs = std::mem::take(&mut self.type_ahead);
        self.console.drain_input(&mut inputs)?;
        let lines = inputs.into_iter().filter_map(|input| self.push_line_input(input)).collect();
        Ok(Some(Event::TypeAhead { lines, rest: std::mem::take(&mut self.line) }))
    }

    /// Adds type-ahead to the draft. On a screen only text is added, because keys such as Enter were meant for an
    /// earlier state.
    fn replay_type_ahead(&mut self) -> Result<(), End> {
        let is_text = |input: &TerminalInput| match input {
            TerminalInput::Key(Key { code: KeyCode::Char(_), mods }) => !mods.ctrl && !mods.alt,
            TerminalInput::Key(_) => false,
            TerminalInput::Paste(_) | TerminalInput::Focus(_) => true,
        };
        let mut type_ahead = std::mem::take(&mut self.type_ahead);
        if self.console.presentation() == Presentation::Screen {
            type_ahead.retain(is_text);
        }
        self.take_inputs(&mut type_ahead)
    }

    fn take_events(&mut self) -> Result<(), End> {
        while let Ok((sent_at, event)) = self.events.try_recv() {
            match event {
                Event::AgentDied => {
                    let failure = Failure::new("the agent failed").hint("askuser agent --continue resumes the session");
                    return Err(End::Failed(failure));
                }
                Event::QuestionArrived(_) => {
                    if let Some(typed) = self.drain_typed_lines()? {
                        self.handle(typed)?;
                    }
                    self.handle(event)?;
                }
                Event::Agent(_) => self.handle_at(event, sent_at.saturating_duration_since(self.started))?,
                event => self.handle(event)?,
            }
        }
        Ok(())
    }

    fn handle(&mut self, event: Event) -> Result<(), End> {
        self.handle_at(event, self.now())
    }

    fn handle_at(&mut self, event: Event, now: Duration) -> Result<(), End> {
        self.state.turn.text_columns = view::text_room(self.console.size());
        self.state.composer.columns = view::draft_room(&self.options.theme, self.console.size());
        self.state.update(event, now);
        while let Some(effect) = self.state.effects.pop_front() {
            match effect {
                Effect::Print(item) => self.print(&item),
                Effect::Command(command) => self.agent_thread.send(command),
                Effect::SaveHistory(text) => self.save_history(&text),
                Effect::Announce { header, may_be_away } => self.announce(&header, may_be_away),
                Effect::ClearAnnouncement if self.notify => self.console.set_title(TITLE),
                Effect::ClearAnnouncement => {}
                Effect::Redraw => self.console.clear_live(),
                Effect::ListFiles => self.list_files(),
                Effect::Edit(text) => {
                    let edited = self.edit(&text);
                    self.state.update(Event::Edited(edited), self.now());
                }
                Effect::ReadOutputs => {
                    let read = |file: &Path| Some(String::from_utf8_lossy(&std::fs::read(file).ok()?).into_owned());
                    let text = self.state.outputs.text(&self.options.theme, read);
                    if let Err(error) = self.console.read(&text) {
                        self.state.warn(Role::Danger, format!("The pager failed: {error}."));
                    }
                }
                Effect::Ask(request) => {
                    let closed = self.ask(&request)?;
                    let typed = self.drain_typed_lines()?;
                    for event in typed.into_iter().chain([closed]) {
                        self.state.update(event, self.now());
                    }
                }
                Effect::ChooseSession => {
                    if let Some(id) = self.choose_session()? {
                        self.state.resume(id);
                    }
                    // Text typed after /resume goes to the chosen session. If none is chosen, the text stays in this
                    // session.
                    self.state.send_waiting(self.now());
                }
                Effect::ChooseModel(offered) => {
                    if let Some(name) = self.choose_model(&offered)? {
                        self.state.command(AgentCommand::SetModel(name));
                    }
                }
                Effect::Quit => return Err(End::Quit),
            }
        }
        Ok(())
    }

    // ---- effects ----

    fn print(&mut self, item: &Item) {
        let lines = scrollback::lines(item, &self.options.theme, usize::from(self.console.size().0));
        self.console.print(&lines);
        self.input_prompt_shown = false;
    }

    fn save_history(&mut self, text: &str) {
        // A failed write to the history must not stop the conversation.
        if let Some(history_file) = &mut self.history_file {
            let _ = history_file.append(text);
        }
    }

    /// Lists the files in a separate thread, because a folder may have many.
    fn list_files(&self) {
        let Some(session) = &self.state.session.about else { return };
        let folder = session.cwd.clone();
        let ui = self.ui.clone();
        let look = move || {
            let files = askuser_agent::files_below(&folder, MAX_FILES, &CancellationToken::new());
            ui.send(Event::Files(files));
        };
        // Without a thread no files are offered, but the person can still name files.
        let _ = thread::Builder::new().name("files".into()).spawn(look);
    }

    fn edit(&mut self, text: &str) -> Result<String, String> {
        let limit = self.state.composer.draft.text().limit();
        let edited =
            self.console.edit(text).map_err(|error| format!("The editor failed, your text is kept: {error}"))?;
        match edited.text().chars().count() {
            chars if chars > limit => {
                let path = edited.keep();
                Err(format!("{chars} characters, at most {limit}; your text is in {}", path.display()))
            }
            _ => Ok(edited.text().to_owned()),
        }
    }
}

fn terminal_failed(error: &io::Error) -> Failure {
    Failure::new(format!("the terminal failed: {error}")).hint("askuser agent --continue resumes the session")
}
