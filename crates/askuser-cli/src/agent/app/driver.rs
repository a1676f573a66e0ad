//! The person's thread: waits at the terminal, lets the state decide, and carries out what it says.
//!
//! One wait takes all that was typed and all that was told, one write shows what has become of it. Nothing runs while
//! nothing happens.

use super::asker::{Question, SIGHUP};
use super::choice;
use super::history::Keeper;
use super::item::{self, Item};
use super::state::{Away, Effect, Event, Settled, State, Waiting};
use super::view;
use super::worker::{FromAgent, Worker};
use crate::session;
use askuser::{AskError, Key, KeyCode, Outcome, Request, Status, Via, sanitize};
use askuser_agent::Session;
use askuser_cli::failure::Failure;
use askuser_terminal::{Console, Edited, Input, Manner, Options, Role, Woken};
use std::collections::VecDeque;
use std::io::{self, PipeReader};
use std::sync::mpsc::Receiver;
use std::time::{Duration, Instant, SystemTime};

pub(super) struct Driver {
    console: Console,
    options: Options,
    state: State,
    worker: Worker,
    news: Receiver<(Instant, FromAgent)>,
    /// In the order of `State::waiting`.
    questions: VecDeque<Question>,
    keeper: Option<Keeper>,
    kept: Option<String>,
    /// Whether the person wants to be told that a question waits.
    notify: bool,
    started: Instant,
    /// What was typed right before a question opened.
    early: Vec<Input>,
    /// What has been typed of a line, in line mode.
    line: String,
    /// Whether the person has been invited to say something, in line mode.
    invited: bool,
}

/// How the conversation ended.
enum End {
    Quit,
    Signal(i32),
    /// The terminal is gone.
    Closed,
    Failed(Failure),
}

const SIGINT: i32 = 2;
/// The window's name while nothing waits.
const TITLE: &str = "askuser";

impl Driver {
    pub(super) fn new(
        console: Console,
        options: Options,
        state: State,
        worker: Worker,
        news: Receiver<(Instant, FromAgent)>,
        keeper: Option<Keeper>,
        notify: bool,
    ) -> Driver {
        let (questions, started) = (VecDeque::new(), Instant::now());
        Driver {
            console,
            options,
            state,
            worker,
            news,
            questions,
            keeper,
            kept: None,
            notify,
            started,
            early: Vec::new(),
            line: String::new(),
            invited: false,
        }
    }

    pub(super) fn run(mut self) -> Result<u8, Failure> {
        let end = self.converse().unwrap_or_else(|error| End::Failed(terminal_failed(&error)));
        // What was typed and not sent is there again after Up.
        if !self.state.draft.is_blank() {
            let draft = self.state.draft.as_str().to_owned();
            self.keep(&draft);
        }
        self.worker.end();
        if let (End::Quit, true, Some(session)) = (&end, self.state.said > 0, &self.state.session) {
            let words = format!("To go on with this session: askuser agent --resume {}", session.id);
            let columns = usize::from(self.console.size().0);
            for item in [Item::Gap, Item::Note(Role::Muted, words)] {
                self.console.print(&item::lines(&item, &self.options.theme, columns));
            }
        }
        let closed = self.console.close();
        match end {
            End::Quit => closed.map(|()| 0).map_err(|error| terminal_failed(&error)),
            End::Failed(failure) => Err(failure),
            End::Closed => Ok(128 + SIGHUP as u8),
            End::Signal(signal) => {
                // The terminal is restored; now the signal takes its usual effect.
                let _ = signal_hook::low_level::emulate_default_handler(signal);
                Ok(128u8.saturating_add(signal as u8))
            }
        }
    }

    fn converse(&mut self) -> io::Result<End> {
        let mut inputs = Vec::new();
        loop {
            if let Some(end) = self.take_early()? {
                return Ok(end);
            }
            self.show();
            let timeout = self.state.next_change(self.now()).map(|at| at.saturating_sub(self.now()));
            let woken = self.console.wait(timeout, &mut inputs)?;
            let end = match woken {
                Woken::Input => self.take_inputs(&mut inputs)?,
                Woken::TimedOut => self.happen(Event::Tick)?,
                Woken::Called => self.take_news()?,
                Woken::Resized | Woken::Resumed => None,
                Woken::Signal(SIGINT) => {
                    self.line.clear();
                    self.happen(Event::Key(Key::ctrl('c')))?
                }
                Woken::Signal(signal) => Some(End::Signal(signal)),
                Woken::Ended => Some(End::Quit),
                Woken::Closed => Some(End::Closed),
            };
            if let Some(end) = end {
                return Ok(end);
            }
        }
    }

    fn now(&self) -> Duration {
        self.started.elapsed()
    }

    fn show(&mut self) {
        match self.console.manner() {
            // Before the session is known there is nothing to say anything about.
            Manner::Screen if self.state.session.is_none() => {}
            Manner::Screen => {
                let live = view::live(&self.state, &self.options.theme, self.console.size(), self.now());
                self.console.live(&live.lines, Some(live.caret));
            }
            Manner::Line => {
                // A line that was begun goes on here, also where a question waits for its end, or the agent works.
                let begun = !self.state.waiting.is_empty() || !self.state.draft.is_blank();
                if (self.state.orders == 0 || begun) && !self.invited {
                    self.invited = true;
                    self.console.invite(&format!("> {}", self.state.draft.as_str()));
                }
            }
        }
    }

    // ---- what happens ----

    fn take_inputs(&mut self, inputs: &mut Vec<Input>) -> io::Result<Option<End>> {
        for input in inputs.drain(..) {
            let event = match (input, self.console.manner()) {
                (Input::Key(key), Manner::Screen) => Event::Key(key),
                (Input::Paste(text), Manner::Screen) => Event::Paste(text),
                (Input::Focus(focus), _) => Event::Focus(focus),
                (input @ (Input::Key(_) | Input::Paste(_)), Manner::Line) => match self.hear(input) {
                    Some(line) => Event::Line(line),
                    None => continue,
                },
            };
            if let Some(end) = self.happen(event)? {
                return Ok(Some(end));
            }
        }
        Ok(None)
    }

    /// Takes what was typed of a line, in line mode, and gives the line when it is whole.
    fn hear(&mut self, input: Input) -> Option<String> {
        match input {
            Input::Key(key) if key == Key::ctrl('j') || key == Key::plain(KeyCode::Enter) => {
                self.invited = false;
                return Some(std::mem::take(&mut self.line));
            }
            Input::Key(Key { code: KeyCode::Char(c), mods }) if !mods.ctrl => self.line.push(c),
            Input::Key(Key { code: KeyCode::Tab, .. }) => self.line.push(' '),
            Input::Paste(text) => self.line.push_str(&text),
            Input::Key(_) | Input::Focus(_) => {}
        }
        None
    }

    /// What was typed so far, where lines are read: the rest of a line that was begun for something else would be a line
    /// of its own to the question that comes.
    fn typed(&mut self) -> io::Result<Option<Event>> {
        if self.console.manner() == Manner::Screen {
            return Ok(None);
        }
        let mut inputs = std::mem::take(&mut self.early);
        self.console.typed(&mut inputs)?;
        let lines = inputs.into_iter().filter_map(|input| self.hear(input)).collect();
        Ok(Some(Event::Typed { lines, rest: std::mem::take(&mut self.line) }))
    }

    /// What was typed for the draft when a question came in between is text; what it was to do has been overtaken.
    fn take_early(&mut self) -> io::Result<Option<End>> {
        let is_text = |input: &Input| match input {
            Input::Key(Key { code: KeyCode::Char(_), mods }) => !mods.ctrl && !mods.alt,
            Input::Key(_) => false,
            Input::Paste(_) | Input::Focus(_) => true,
        };
        let mut early = std::mem::take(&mut self.early);
        if self.console.manner() == Manner::Screen {
            early.retain(is_text);
        }
        self.take_inputs(&mut early)
    }

    fn take_news(&mut self) -> io::Result<Option<End>> {
        if let Some(end) = self.drop_withdrawn()? {
            return Ok(Some(end));
        }
        while let Ok((told, news)) = self.news.try_recv() {
            let event = match news {
                FromAgent::Session(session, messages) => Event::Session(session, messages),
                FromAgent::Changed(session) => Event::Changed(session),
                FromAgent::Cleared => Event::Cleared,
                FromAgent::Failed(message) => Event::Failed(message),
                FromAgent::Begins => Event::Begins,
                FromAgent::Finished => Event::Finished,
                FromAgent::Event(event) => Event::Agent(event),
                FromAgent::Asks(question) => {
                    let waiting = Waiting {
                        header: question.request.set.questions()[0].header().to_owned(),
                        context: question.request.context.clone(),
                    };
                    if let Some(typed) = self.typed()?
                        && let Some(end) = self.happen(typed)?
                    {
                        return Ok(Some(end));
                    }
                    self.questions.push_back(question);
                    Event::Asked(waiting)
                }
                FromAgent::Gone => {
                    let failure = Failure::new("the agent failed").hint("askuser agent --continue goes on");
                    return Ok(Some(End::Failed(failure)));
                }
            };
            let at = match event {
                Event::Agent(_) => told.saturating_duration_since(self.started),
                _ => self.now(),
            };
            if let Some(end) = self.happen_at(event, at)? {
                return Ok(Some(end));
            }
        }
        Ok(None)
    }

    /// Questions that nobody waits for are gone before they are opened.
    fn drop_withdrawn(&mut self) -> io::Result<Option<End>> {
        while let Some(place) = self.questions.iter().position(Question::is_withdrawn) {
            self.questions.remove(place);
            if let Some(end) = self.happen(Event::Withdrawn(place))? {
                return Ok(Some(end));
            }
        }
        Ok(None)
    }

    fn happen(&mut self, event: Event) -> io::Result<Option<End>> {
        self.happen_at(event, self.now())
    }

    fn happen_at(&mut self, event: Event, now: Duration) -> io::Result<Option<End>> {
        self.state.columns = view::text_room(self.console.size());
        self.state.room = view::draft_room(&self.options.theme, self.console.size());
        let mut effects: VecDeque<Effect> = self.state.update(event, now).into();
        while let Some(effect) = effects.pop_front() {
            let event = match effect {
                Effect::Print(item) => {
                    self.print(&item);
                    continue;
                }
                Effect::Order(order) => {
                    self.worker.order(order);
                    continue;
                }
                Effect::Keep(text) => {
                    self.keep(&text);
                    continue;
                }
                Effect::Announce { header, away } => {
                    self.announce(&header, away);
                    continue;
                }
                Effect::Quiet => {
                    if self.notify {
                        self.console.title(TITLE);
                    }
                    continue;
                }
                Effect::Redraw => {
                    self.console.clear_live();
                    continue;
                }
                Effect::Edit(text) => Event::Edited(self.edit(&text)?),
                Effect::Ask => match self.ask()? {
                    Ok(event) => {
                        if let Some(typed) = self.typed()? {
                            effects.extend(self.state.update(typed, self.now()));
                        }
                        event
                    }
                    Err(end) => return Ok(Some(end)),
                },
                Effect::ChooseSession => {
                    let mut out = Vec::new();
                    match self.choose_session(&mut out) {
                        Ok(None) => {}
                        Ok(Some(id)) => self.state.resume(id, &mut out),
                        Err(end) => return Ok(Some(end)),
                    }
                    // What was queued behind it is for the session that was chosen, or for this one if none was.
                    let now = self.now();
                    self.state.send_queued(now, &mut out);
                    effects.extend(out);
                    continue;
                }
                Effect::Quit => return Ok(Some(End::Quit)),
            };
            effects.extend(self.state.update(event, self.now()));
        }
        Ok(None)
    }

    // ---- what is done about it ----

    fn print(&mut self, item: &Item) {
        let lines = item::lines(item, &self.options.theme, usize::from(self.console.size().0));
        self.console.print(&lines);
        self.invited = false;
    }

    fn keep(&mut self, text: &str) {
        // Without a memory one can still talk.
        if let Some(keeper) = self.keeper.as_ref().filter(|_| self.kept.as_deref() != Some(text)) {
            let _ = keeper.keep(text);
            self.kept = Some(text.to_owned());
        }
    }

    fn announce(&mut self, header: &str, away: Away) {
        if self.notify {
            let words = format!("askuser: {header}");
            self.console.title(&format!("{} {words}", item::dot(&self.options.theme)));
            if away == Away::Perhaps {
                self.console.bell();
                self.console.notify(&words);
            }
        }
    }

    fn edit(&mut self, text: &str) -> io::Result<Result<String, String>> {
        let limit = self.state.draft.text().limit();
        Ok(match self.console.edit(text, limit) {
            Ok(Edited::Text(text)) => Ok(text),
            Ok(Edited::TooLong(chars, path)) => {
                Err(format!("{chars} characters, at most {limit}; your text is in {}", path.display()))
            }
            Err(error) => Err(format!("The editor failed, your text is kept: {error}")),
        })
    }

    /// Asks the first question, and gives the answer to who waits for it.
    fn ask(&mut self) -> io::Result<Result<Event, End>> {
        let Some(Question { request, withdrawal, answer }) = self.questions.pop_front() else {
            return Ok(Ok(Event::Settled(Settled::Otherwise, Duration::ZERO)));
        };
        let began = Instant::now();
        let asked = self.put(&request, Some(withdrawal));
        let settled = match &asked {
            Ok(outcome) if is_gone(outcome) => {
                // Nobody has said no: the question stays open, to be asked again when the session is taken up.
                let _ = answer.send(Err(AskError::Signal(SIGHUP)));
                return Ok(Err(End::Closed));
            }
            Err(AskError::Signal(signal)) => {
                let signal = *signal;
                let _ = answer.send(asked);
                return Ok(Err(End::Signal(signal)));
            }
            Ok(outcome) if *outcome.status() != Status::TimedOut => Settled::Answered,
            Err(AskError::Interrupted) => Settled::Interrupted,
            Ok(_) | Err(_) => Settled::Otherwise,
        };
        // If it has been withdrawn at the last moment, nobody is there to take it.
        let _ = answer.send(asked);
        Ok(Ok(Event::Settled(settled, began.elapsed())))
    }

    /// Puts a question to the person. What they typed before it was for the draft, and is there afterwards.
    fn put(&mut self, request: &Request, withdrawal: Option<PipeReader>) -> Result<Outcome, AskError> {
        let asked = self.console.ask(request, &self.options, withdrawal, &mut self.early);
        self.invited = false;
        asked
    }

    /// Lets the person choose among the last sessions of this folder that are not open elsewhere.
    fn choose_session(&mut self, out: &mut Vec<Effect>) -> Result<Option<String>, End> {
        let Some(here) = self.state.session.clone() else { return Ok(None) };
        let sessions = session::of_folder(&here.cwd).unwrap_or_default();
        let said_something = |session: &Session| session.id != here.id && !sanitize::is_blank(&session.opening);
        let can_be_opened = |session: &Session| session::open(&session.id).is_ok();
        let sessions = sessions.into_iter().filter(said_something).filter(can_be_opened);
        let sessions: Vec<Session> = sessions.take(choice::MOST).collect();
        let Some((set, labels)) = choice::of(&sessions, SystemTime::now()) else {
            let words = "There is no other session of this folder that is not open elsewhere.";
            self.state.print(Item::Note(Role::Muted, words.into()), out);
            return Ok(None);
        };
        let began = Instant::now();
        let asked = self.put(&Request::new(set), None);
        let settled = match &asked {
            Ok(outcome) if is_gone(outcome) => return Err(End::Closed),
            Err(AskError::Signal(signal)) => return Err(End::Signal(*signal)),
            Ok(_) => Settled::Answered,
            Err(AskError::Interrupted) => Settled::Interrupted,
            Err(_) => Settled::Otherwise,
        };
        out.extend(self.state.update(Event::Settled(settled, began.elapsed()), self.now()));
        let Ok(outcome) = asked else { return Ok(None) };
        let answer = outcome.answers().first().filter(|_| *outcome.status() == Status::Answered);
        Ok(answer.and_then(|answer| {
            let picked = answer.selected_options.first();
            let place = picked.and_then(|picked| labels.iter().position(|label| label == picked));
            place.map(|place| sessions[place].id.clone()).or_else(|| answer.custom_input.clone())
        }))
    }
}

/// Whether there was no terminal left to answer on.
fn is_gone(outcome: &Outcome) -> bool {
    matches!(outcome.via(), Some(Via::Terminal | Via::Line)) && matches!(outcome.status(), Status::Unavailable { .. })
}

fn terminal_failed(error: &io::Error) -> Failure {
    Failure::new(format!("the terminal failed: {error}")).hint("askuser agent --continue goes on with the session")
}
