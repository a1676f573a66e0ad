//! The live list: what waits, with a preview; Enter opens the prompt. Only the rows on the screen are read, so a hundred
//! thousand questions are as smooth as ten.

mod view;

use super::answer::at_the_prompt;
use super::reach::focused_lists;
use super::{failed, person, words};
use askuser::prompt::Occasion;
use askuser::store::{Filter, Recorded, StoreError, StoredQuestion};
use askuser::{Key, KeyCode, sanitize};
use askuser_cli::config::Settings;
use askuser_cli::failure::{Failure, exit};
use askuser_cli::state_folder::inbox_file;
use askuser_cli::surfaces::terminal_options;
use askuser_inbox::{Inbox, Presence};
use askuser_terminal::{Console, ConsoleEvent, Focus, Input};
use std::io;
use std::sync::Arc;
use std::time::Duration;

/// How often ages are shown anew.
const TICK: Duration = Duration::from_secs(10);
/// A change may be heard of before it can be seen.
const SETTLE: Duration = Duration::from_millis(50);
/// The longest text to filter by.
const MAX_FILTER: usize = 200;

/// Which questions are listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Which {
    Waiting,
    History,
}

/// What is on the screen.
struct List {
    which: Which,
    filter: String,
    is_filtering: bool,
    /// How many there are, which of them are loaded, and which one the cursor is on.
    total: u64,
    offset: u64,
    rows: Vec<StoredQuestion>,
    selected: u64,
    /// How many fit.
    height: u64,
    /// Said once, until the next key.
    notice: Option<String>,
    /// The question that the next `w` withdraws.
    withdrawing: Option<String>,
}

impl List {
    fn new() -> List {
        List {
            which: Which::Waiting,
            filter: String::new(),
            is_filtering: false,
            total: 0,
            offset: 0,
            rows: Vec::new(),
            selected: 0,
            height: 1,
            notice: None,
            withdrawing: None,
        }
    }

    fn filter(&self) -> Filter {
        let filter = match self.which {
            Which::Waiting => Filter::pending(),
            Which::History => Filter { latest_first: true, ..Filter::ended() },
        };
        Filter { containing: (!self.filter.is_empty()).then(|| self.filter.clone()), ..filter }
    }

    fn current(&self) -> Option<&StoredQuestion> {
        self.rows.get(usize::try_from(self.selected.checked_sub(self.offset)?).ok()?)
    }

    /// Reads what is on the screen. The cursor stays on its question, wherever that has moved.
    fn load(&mut self, inbox: &Inbox) -> Result<(), StoreError> {
        let store = inbox.store();
        store.expire()?;
        self.total = store.count(&self.filter())?;
        let cursor = self.current().map(|question| question.id.clone());
        let filter = self.filter();
        let page = |offset: u64, limit: u64| {
            store.list(&Filter { offset, limit: Some(limit.min(1000) as u32), ..filter.clone() })
        };
        // What is gone above it moves it up, by about as much as fits on a screen.
        if let Some(cursor) = cursor {
            let start = self.selected.saturating_sub(self.height);
            let near = page(start, 2 * self.height + 1)?;
            if let Some(at) = near.iter().position(|question| question.id == cursor) {
                self.selected = start + at as u64;
            }
        }
        self.selected = self.selected.min(self.total.saturating_sub(1));
        self.offset = self.offset.clamp((self.selected + 1).saturating_sub(self.height), self.selected);
        self.rows = page(self.offset, self.height)?;
        Ok(())
    }

    fn show(&mut self, which: Which) {
        self.which = which;
        (self.selected, self.offset, self.rows) = (0, 0, Vec::new());
    }
}

/// What a key leads to, besides another screen.
enum Next {
    Stay,
    Open(Box<StoredQuestion>),
    Leave,
}

pub(super) fn run(inbox: &Inbox, settings: &Settings) -> Result<u8, Failure> {
    let mut list = List::new();
    loop {
        match browse(inbox, settings, &mut list)? {
            None => return Ok(exit::ANSWERED),
            // The terminal is the prompt's until it is answered or put aside.
            Some(question) => match at_the_prompt(inbox, &question, settings, Occasion::Opened) {
                Ok(_) => {}
                Err(failure) if failure.code == exit::INTERRUPTED => {}
                Err(failure) => list.notice = Some(failure.message),
            },
        }
    }
}

/// Shows the list until a question is opened, or the person leaves.
fn browse(inbox: &Inbox, settings: &Settings, list: &mut List) -> Result<Option<StoredQuestion>, Failure> {
    let broken = |error: io::Error| Failure::new(format!("the terminal failed: {error}")).code(exit::NOBODY_THERE);
    let options = terminal_options(settings);
    let mut console = Console::open(&options)
        .map_err(|error| Failure::new(format!("nobody can be asked: {error}")).code(exit::NOBODY_THERE))?;
    let waker = console.waker();
    let _watch = inbox.store().watch(Arc::new(move || waker.wake())).map_err(failed)?;
    let mut seq = inbox.store().last_event().map_err(failed)?;
    let (mut inputs, mut settle) = (Vec::new(), false);
    // Whoever sees it here is not called elsewhere.
    let focused = focused_lists(&inbox_file(settings)?);
    let mut focus = Presence::of_this_process(&focused).ok();
    let next = loop {
        list.height = view::list_height(console.size());
        if let Err(error) = list.load(inbox) {
            list.notice = Some(error.chain());
        }
        let (lines, caret) = view::lines(list, &options.theme, console.size(), words::now_ms());
        console.set_live(&lines, caret);
        let timeout = if std::mem::take(&mut settle) { SETTLE } else { TICK };
        match console.wait(Some(timeout), &mut inputs).map_err(broken)? {
            ConsoleEvent::Woken => {
                settle = true;
                if let Some(new) = new_question(inbox, &mut seq) {
                    // It may be further down than the screen shows.
                    list.notice = Some(format!("New: {} asks: {}", words::who(&new), words::asked(&new)));
                    if settings.notify {
                        console.bell();
                    }
                }
            }
            ConsoleEvent::Signal(_) | ConsoleEvent::Closed | ConsoleEvent::EndOfInput => break Next::Leave,
            _ => {}
        }
        let mut next = Next::Stay;
        for input in inputs.drain(..) {
            match input {
                Input::Focus(Focus::Gained) if focus.is_none() => focus = Presence::of_this_process(&focused).ok(),
                Input::Focus(Focus::Lost) => focus = None,
                _ => {}
            }
            next = list.take(input, inbox);
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
    Ok(match next {
        Next::Open(question) => Some(*question),
        _ => None,
    })
}

/// The last question that has come since.
fn new_question(inbox: &Inbox, seq: &mut u64) -> Option<StoredQuestion> {
    let stretch = inbox.store().events(*seq, 1000).ok()?;
    *seq = stretch.events.last().map_or(*seq, |event| event.seq);
    let new = stretch.events.iter().rfind(|event| event.state == askuser::store::State::Pending)?;
    inbox.store().get(&new.id).ok().filter(|question| question.ending.is_none())
}

impl List {
    fn take(&mut self, input: Input, inbox: &Inbox) -> Next {
        self.notice = None;
        let withdrawing = self.withdrawing.take();
        let key = match input {
            Input::Key(key) => key,
            Input::Paste(text) if self.is_filtering => {
                self.type_filter(&sanitize::line(&text));
                return Next::Stay;
            }
            _ => return Next::Stay,
        };
        if key == Key::ctrl('c') {
            return Next::Leave;
        }
        if self.is_filtering {
            self.edit_filter(key);
            return Next::Stay;
        }
        let page = self.height.max(2) - 1;
        match key.code {
            KeyCode::Up | KeyCode::Char('k') => self.selected = self.selected.saturating_sub(1),
            KeyCode::Down | KeyCode::Char('j') => self.selected = (self.selected + 1).min(self.total.saturating_sub(1)),
            KeyCode::PageUp => self.selected = self.selected.saturating_sub(page),
            KeyCode::PageDown => self.selected = (self.selected + page).min(self.total.saturating_sub(1)),
            KeyCode::Home | KeyCode::Char('g') => self.selected = 0,
            KeyCode::End | KeyCode::Char('G') => self.selected = self.total.saturating_sub(1),
            KeyCode::Char('/') => self.is_filtering = true,
            KeyCode::Esc if !self.filter.is_empty() => {
                self.filter.clear();
                self.show(self.which);
            }
            KeyCode::Char('h') | KeyCode::Tab => self.show(match self.which {
                Which::Waiting => Which::History,
                Which::History => Which::Waiting,
            }),
            KeyCode::Char('w') => self.withdraw(withdrawing, inbox),
            KeyCode::Char('q') => return Next::Leave,
            KeyCode::Enter => match self.current() {
                Some(question) if question.ending.is_none() => return Next::Open(Box::new(question.clone())),
                _ => {}
            },
            _ => {}
        }
        // The rows under the cursor are needed for the next key already.
        if let Err(error) = self.load(inbox) {
            self.notice = Some(error.chain());
        }
        Next::Stay
    }

    /// Asks once more, then takes the question under the cursor back.
    fn withdraw(&mut self, asked: Option<String>, inbox: &Inbox) {
        let Some(question) = self.current().filter(|question| question.ending.is_none()).cloned() else { return };
        if asked.as_ref() != Some(&question.id) {
            self.notice =
                Some("Withdraw it? Nobody can answer it then. w again: withdraw · any other key: keep".into());
            self.withdrawing = Some(question.id);
            return;
        }
        self.notice = Some(match inbox.store().withdraw(&question.id, &person()) {
            Ok(Recorded::Won(_)) => format!("{} is withdrawn", question.id),
            Ok(Recorded::Lost(ending)) => {
                format!("{} {}", question.id, words::ended(question.request.set(), &ending))
            }
            Err(error) => error.chain(),
        });
    }

    fn edit_filter(&mut self, key: Key) {
        match key.code {
            KeyCode::Enter => self.is_filtering = false,
            KeyCode::Esc => {
                self.is_filtering = false;
                self.filter.clear();
                self.show(self.which);
            }
            KeyCode::Backspace => {
                self.filter.pop();
                self.show(self.which);
            }
            KeyCode::Char(c) if key == Key::plain(KeyCode::Char(c)) => self.type_filter(&c.to_string()),
            _ => {}
        }
    }

    fn type_filter(&mut self, text: &str) {
        let room = MAX_FILTER.saturating_sub(self.filter.chars().count());
        self.filter.extend(text.chars().filter(|c| !c.is_control()).take(room));
        self.show(self.which);
    }
}
