//! The live list: what waits, with a preview; Enter or a digit opens the prompt.

mod list;
mod view;

pub(super) use list::{List, Row, Which, withdraw};

use super::{Notice, open};
use crate::config::Settings;
use crate::failure::{Failure, exit};
use crate::signals;
use crate::store::{self, block_on, done, words};
use crate::surfaces::terminal_options;
use askuser::prompt::{Action, KeyContext, SideText, action};
use askuser::store::{Change, Handle, QuestionId, State, StoreError, StoredQuestion, Watch, Watched};
use askuser::{Edit, Key, KeyCode};
use askuser_terminal::{Console, ConsoleEvent, Focus, Options, Role, TerminalInput, Waker};
use list::Mode;
use std::io;
use std::sync::Arc;
use std::task::{Context, Poll, Wake};
use std::time::Duration;

/// How often ages are shown anew.
const TICK: Duration = Duration::from_secs(10);

/// What a key leads to, besides another screen.
enum Next {
    Stay,
    Open(Box<StoredQuestion>),
    Leave,
}

pub(super) fn run(store: &Handle, settings: &Settings) -> Result<u8, Failure> {
    let mut list = List::new();
    let mut options = terminal_options(settings);
    let mut console = console(&options)?;
    loop {
        match browse(store, settings, &mut options, &mut list, console)? {
            None => return Ok(exit::ANSWERED),
            // The terminal is the prompt's until it is answered or put aside.
            Some(question) => list.notice = open(&question, store, settings),
        }
        console = self::console(&options)?;
        console.clear_screen();
    }
}

pub(in crate::commands) fn console(options: &Options) -> Result<Console, Failure> {
    signals::listen()?;
    Console::open(options)
        .map_err(|error| Failure::new(format!("no person can be asked: {error}")).code(exit::UNAVAILABLE))
}

pub(in crate::commands) fn broken(error: io::Error) -> Failure {
    Failure::new(format!("the terminal failed: {error}")).code(exit::UNAVAILABLE)
}

/// Shows the list until a question is opened, or the person leaves.
fn browse(
    store: &Handle,
    settings: &Settings,
    options: &mut Options,
    list: &mut List,
    mut console: Console,
) -> Result<Option<StoredQuestion>, Failure> {
    let mut news = News::watch(store, &console)?;
    let mut inputs = Vec::new();
    // A person who sees it here is not called elsewhere.
    let mut focus = done(store.show_list()).ok();
    list.is_stale = true;
    let next = loop {
        // A text that is opened has the room of the list.
        let height = if list.opened.is_some() { 1 } else { view::list_height(console.size()) };
        list.is_stale |= std::mem::replace(&mut list.height, height) != height;
        list.help_pages = view::help_pages(&options.theme, console.size());
        if std::mem::take(&mut list.is_stale)
            && let Err(error) = list.load(store)
        {
            list.notice = Some(Notice::new(Role::Danger, error.chain()));
        }
        let (lines, caret) = view::lines(list, &options.theme, console.size());
        console.set_live(&lines, caret);
        let (changed, new) = news.look(store)?;
        list.is_stale |= changed;
        if new.is_some() {
            // It may be further down than the screen shows.
            list.notice = new;
            if settings.notify {
                console.bell();
            }
        }
        if list.is_stale {
            continue;
        }
        match console.wait(Some(TICK), &mut inputs).map_err(broken)? {
            ConsoleEvent::Signal(_) | ConsoleEvent::Closed | ConsoleEvent::EndOfInput => break Next::Leave,
            _ => {}
        }
        // Known only where the settings left it to the terminal.
        if let Some(background) = console.background() {
            options.theme.background = background;
        }
        let mut next = Next::Stay;
        // A key reads the rows that are shown next by itself.
        list.is_stale = inputs.is_empty() || inputs.iter().any(|input| !matches!(input, TerminalInput::Key(_)));
        for input in inputs.drain(..) {
            match input {
                TerminalInput::Focus(Focus::Gained) if focus.is_none() => focus = done(store.show_list()).ok(),
                TerminalInput::Focus(Focus::Lost) => focus = None,
                _ => {}
            }
            next = list.take(input, store);
            if !matches!(next, Next::Stay) {
                break;
            }
        }
        if !matches!(next, Next::Stay) {
            break next;
        }
    };
    console.clear_live();
    console.close().map_err(broken)?;
    Ok(if let Next::Open(question) = next { Some(*question) } else { None })
}

/// What happens in the store while a list is shown.
pub(super) struct News {
    watch: Watch,
    waker: std::task::Waker,
}

impl News {
    /// From here on nothing is missed, and the console is woken for it.
    pub(super) fn watch(store: &Handle, console: &Console) -> Result<News, Failure> {
        let waker = Arc::new(WakeConsole(console.waker())).into();
        Ok(News { watch: done(store.watch(&Watched::All))?, waker })
    }

    /// Whether anything has changed, and what to say of the question for this person that came last.
    pub(super) fn look(&mut self, store: &Handle) -> Result<(bool, Option<Notice>), Failure> {
        let (mut changed, mut new) = (false, None);
        while let Poll::Ready(change) = self.watch.poll_next(&mut Context::from_waker(&self.waker)) {
            match change {
                Change::Event(event) if event.state == State::Pending => new = Some(event.id),
                Change::Event(_) | Change::Lagged => {}
                Change::Disconnected(why) => return Err(store::failed(why)),
            }
            changed = true;
        }
        let new = new.and_then(|id| block_on(store.get(&id)).ok());
        let new = new.filter(|new| new.ending.is_none() && store.principal().is_asked(&new.request));
        let words = |new: StoredQuestion| format!("New: {} asks: {}", words::who(&new), new.request.title());
        Ok((changed, new.map(|new| Notice::new(Role::Primary, words(new)))))
    }
}

struct WakeConsole(Waker);

impl Wake for WakeConsole {
    fn wake(self: Arc<WakeConsole>) {
        self.0.wake();
    }
}

impl List {
    fn take(&mut self, input: TerminalInput, store: &Handle) -> Next {
        let key = match input {
            TerminalInput::Key(key) => key,
            TerminalInput::Paste(text) if self.mode == Mode::Filtering => {
                self.edit_filter(Edit::Paste(text.lines().next().unwrap_or_default().to_owned()));
                return Next::Stay;
            }
            _ => return Next::Stay,
        };
        self.notice = None;
        let withdrawing = self.withdrawing.take();
        if key == Key::ctrl('c') {
            return Next::Leave;
        }
        let done = match self.mode {
            Mode::Help { page } => {
                let is_last = page + 1 >= self.help_pages || matches!(key.code, KeyCode::Esc | KeyCode::Char('q'));
                self.mode = if is_last { Mode::Browsing } else { Mode::Help { page: page + 1 } };
                Ok(Next::Stay)
            }
            Mode::Filtering => self.take_in_filter(key, store).map(|()| Next::Stay),
            Mode::Browsing => self.take_in_list(key, withdrawing, store),
        };
        // The rows under the cursor are needed for the next key already.
        done.and_then(|next| self.load(store).map(|()| next)).unwrap_or_else(|error| {
            self.notice = Some(Notice::new(Role::Danger, error.chain()));
            Next::Stay
        })
    }

    fn take_in_list(&mut self, key: Key, withdrawing: Option<QuestionId>, store: &Handle) -> Result<Next, StoreError> {
        let opened = self.opened.take();
        match key.code {
            KeyCode::Char('o') => self.opened = Some(SideText::Why).filter(|text| opened != Some(*text)),
            KeyCode::Char('v') => self.opened = Some(SideText::Input).filter(|text| opened != Some(*text)),
            KeyCode::Char('k') => self.go(1, false, store)?,
            KeyCode::Char('j') => self.go(1, true, store)?,
            KeyCode::End | KeyCode::Char('G') => self.go_to_end(store)?,
            KeyCode::Home | KeyCode::Char('g') => self.show(self.which),
            KeyCode::Char('/') => self.mode = Mode::Filtering,
            KeyCode::Char('?') => self.mode = Mode::Help { page: 0 },
            KeyCode::Char('h') | KeyCode::Tab => self.show(self.which.other()),
            KeyCode::Char('w') => self.withdraw(withdrawing, store),
            KeyCode::Char('q') => return Ok(Next::Leave),
            // One step back at a time.
            KeyCode::Esc if opened.is_some() => {}
            KeyCode::Esc if !self.filter.is_empty() => self.clear_filter(),
            KeyCode::Esc if self.which == Which::History => self.show(Which::Waiting),
            KeyCode::Esc => return Ok(Next::Leave),
            KeyCode::Enter => return Ok(self.open(self.row)),
            KeyCode::Char(c @ '1'..='9') => return Ok(self.open(c as usize - '1' as usize)),
            _ => self.go_by(key, store)?,
        }
        Ok(Next::Stay)
    }

    /// Opens the question in this row, if it still waits.
    fn open(&mut self, row: usize) -> Next {
        let Some(question) = self.rows.get(row).map(|row| row.question.clone()) else { return Next::Stay };
        self.go_to_row(row);
        if question.ending.is_none() { Next::Open(Box::new(question)) } else { Next::Stay }
    }

    /// Asks once more, then takes the question under the cursor back.
    fn withdraw(&mut self, asked: Option<QuestionId>, store: &Handle) {
        let Some(question) = self.current().map(|row| &row.question).filter(|question| question.ending.is_none())
        else {
            return;
        };
        if asked.as_ref() == Some(&question.id) {
            self.notice = Some(list::withdraw(question, store));
            return;
        }
        self.withdrawing = Some(question.id.clone());
        let words = "Withdraw it? It cannot be answered then. w again: withdraw · any other key: keep";
        self.notice = Some(Notice::new(Role::Warning, words));
    }

    fn take_in_filter(&mut self, key: Key, store: &Handle) -> Result<(), StoreError> {
        match key.code {
            KeyCode::Enter => self.mode = Mode::Browsing,
            KeyCode::Esc => self.clear_filter(),
            KeyCode::Backspace if self.filter.is_empty() => self.mode = Mode::Browsing,
            KeyCode::Up | KeyCode::Down | KeyCode::PageUp | KeyCode::PageDown => self.go_by(key, store)?,
            _ => {
                if let Some(Action::Edit(edit)) = action(key, KeyContext::Typing)
                    && edit != Edit::Newline
                {
                    self.edit_filter(edit);
                }
            }
        }
        Ok(())
    }

    fn clear_filter(&mut self) {
        self.mode = Mode::Browsing;
        let _ = self.filter.set("");
        self.show(self.which);
    }

    /// Every key filters anew.
    fn edit_filter(&mut self, edit: Edit) {
        let before = self.filter.as_str().to_owned();
        let _ = self.filter.apply(edit);
        if self.filter.as_str() != before {
            self.show(self.which);
        }
    }
}
