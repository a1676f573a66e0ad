//! The live list: what waits, with a preview; Enter opens the prompt. Only the rows on the screen are read, so a hundred
//! thousand questions are as smooth as ten.

mod view;

use crate::commands::answer::at_the_prompt;
use crate::config::Settings;
use crate::failure::{Failure, exit};
use crate::store::{self, attempt, done, words};
use crate::surfaces::terminal_options;
use askuser::prompt::Trigger;
use askuser::store::{Change, Cursor, Filter, Handle, QuestionId, State, StoreError, StoredQuestion, Watched};
use askuser::{Key, KeyCode, sanitize};
use askuser_terminal::{Console, ConsoleEvent, Focus, TerminalInput, Waker};
use std::io;
use std::sync::Arc;
use std::task::{Context, Poll, Wake};
use std::time::Duration;

/// How often ages are shown anew.
const TICK: Duration = Duration::from_secs(10);
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
    /// How many there are, and how many are before the one that the cursor is on.
    total: u64,
    before: u64,
    /// Those on the screen, the row of the cursor, and its place in the list: that stays when rows come and go.
    rows: Vec<StoredQuestion>,
    row: usize,
    place: Option<Cursor>,
    /// This person's unsent text for the question under the cursor.
    unsent: Vec<String>,
    /// How many fit.
    height: usize,
    /// Something has happened since it was read.
    is_stale: bool,
    /// Said once, until the next key.
    notice: Option<String>,
    /// The question that the next `w` withdraws.
    withdrawing: Option<QuestionId>,
}

impl List {
    fn new() -> List {
        List {
            which: Which::Waiting,
            filter: String::new(),
            is_filtering: false,
            total: 0,
            before: 0,
            rows: Vec::new(),
            row: 0,
            place: None,
            unsent: Vec::new(),
            height: 1,
            is_stale: false,
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
        self.rows.get(self.row)
    }

    /// Reads what is on the screen. The cursor stays on its question, wherever that has moved; where that is gone, on the next.
    fn load(&mut self, store: &Handle) -> Result<(), StoreError> {
        pollster::block_on(async {
            let (filter, height) = (self.filter(), self.height as u32);
            // As many rows before the cursor as may be on the screen, then those from there on.
            let above = match self.place {
                Some(place) => store.list(&filter.clone().reversed().after(place).at_most(height)).await?.questions,
                None => Vec::new(),
            };
            let start = above.get(self.height - 1).map(|first| first.cursor);
            let near = Filter { after: start, ..filter.clone() }.at_most(2 * height + 1);
            let near = store.list(&near).await?.questions;
            let is_before = |question: &StoredQuestion| match (self.place, filter.latest_first) {
                (None, _) => false,
                (Some(place), false) => question.cursor < place,
                (Some(place), true) => question.cursor > place,
            };
            let at = near.partition_point(is_before).min(near.len().saturating_sub(1));
            let top = at
                .saturating_sub(self.row)
                .min(near.len().saturating_sub(self.height))
                .max((at + 1).saturating_sub(self.height));
            self.rows = near.into_iter().skip(top).take(self.height).collect();
            self.row = at - top;
            self.place = self.current().map(|question| question.cursor);
            self.unsent = match self.current() {
                Some(question) => store.draft(&question.id).await?.words(),
                None => Vec::new(),
            };
            self.total = store.count(&filter).await?;
            self.before = match self.place {
                Some(place) => store.count(&filter.reversed().after(place)).await?,
                None => 0,
            };
            Ok(())
        })
    }

    /// Moves the cursor by so many rows, or to the end.
    fn go(&mut self, rows: usize, down: bool, store: &Handle) -> Result<(), StoreError> {
        let Some(place) = self.place else { return Ok(()) };
        let filter = if down { self.filter() } else { self.filter().reversed() };
        let passed = pollster::block_on(store.list(&filter.after(place).at_most(rows as u32)))?.questions;
        if let Some(last) = passed.last() {
            self.place = Some(last.cursor);
            self.row = match down {
                true => (self.row + passed.len()).min(self.height - 1),
                false => self.row.saturating_sub(passed.len()),
            };
        }
        Ok(())
    }

    /// Moves the cursor to the last question.
    fn go_to_end(&mut self, store: &Handle) -> Result<(), StoreError> {
        let last = pollster::block_on(store.list(&self.filter().reversed().at_most(1)))?.questions;
        self.place = last.first().map(|question| question.cursor);
        self.row = self.height - 1;
        Ok(())
    }

    fn show(&mut self, which: Which) {
        self.which = which;
        (self.row, self.place, self.rows) = (0, None, Vec::new());
    }
}

/// What a key leads to, besides another screen.
enum Next {
    Stay,
    Open(Box<StoredQuestion>),
    Leave,
}

pub(super) fn run(store: &Handle, settings: &Settings) -> Result<u8, Failure> {
    let mut list = List::new();
    loop {
        match browse(store, settings, &mut list)? {
            None => return Ok(exit::ANSWERED),
            // The terminal is the prompt's until it is answered or put aside.
            Some(question) => match at_the_prompt(store, &question, settings, Trigger::Opened) {
                Ok(_) => {}
                Err(failure) if failure.code == exit::INTERRUPTED => {}
                Err(failure) => list.notice = Some(failure.message),
            },
        }
    }
}

/// Shows the list until a question is opened, or the person leaves.
fn browse(store: &Handle, settings: &Settings, list: &mut List) -> Result<Option<StoredQuestion>, Failure> {
    let broken = |error: io::Error| Failure::new(format!("the terminal failed: {error}")).code(exit::UNAVAILABLE);
    let options = terminal_options(settings);
    let mut console = Console::open(&options)
        .map_err(|error| Failure::new(format!("no person can be asked: {error}")).code(exit::UNAVAILABLE))?;
    let waker = Arc::new(WakeConsole(console.waker())).into();
    let mut watch = done(store.watch(&Watched::All))?;
    let mut inputs = Vec::new();
    // A person who sees it here is not called elsewhere.
    let mut focus = done(store.show_list()).ok();
    let next = loop {
        list.height = view::list_height(console.size());
        if let Err(error) = list.load(store) {
            list.notice = Some(error.chain());
        }
        let (lines, caret) = view::lines(list, &options.theme, console.size());
        console.set_live(&lines, caret);
        let mut new = None;
        while let Poll::Ready(change) = watch.poll_next(&mut Context::from_waker(&waker)) {
            match change {
                Change::Event(event) if event.state == State::Pending => new = Some(event.id),
                Change::Event(_) | Change::Lagged => {}
                Change::Disconnected(why) => return Err(store::failed(why)),
            }
            list.is_stale = true;
        }
        if let Some(new) = new.and_then(|id| pollster::block_on(store.get(&id)).ok()).filter(|new| new.ending.is_none())
        {
            // It may be further down than the screen shows.
            list.notice = Some(format!("New: {} asks: {}", words::who(&new), words::asked(&new)));
            if settings.notify {
                console.bell();
            }
        }
        if std::mem::take(&mut list.is_stale) {
            continue;
        }
        match console.wait(Some(TICK), &mut inputs).map_err(broken)? {
            ConsoleEvent::Signal(_) | ConsoleEvent::Closed | ConsoleEvent::EndOfInput => break Next::Leave,
            _ => {}
        }
        let mut next = Next::Stay;
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
    Ok(match next {
        Next::Open(question) => Some(*question),
        _ => None,
    })
}

/// Wakes the console when the store has something to tell.
struct WakeConsole(Waker);

impl Wake for WakeConsole {
    fn wake(self: Arc<WakeConsole>) {
        self.0.wake();
    }
}

impl List {
    fn take(&mut self, input: TerminalInput, store: &Handle) -> Next {
        self.notice = None;
        let withdrawing = self.withdrawing.take();
        let key = match input {
            TerminalInput::Key(key) => key,
            TerminalInput::Paste(text) if self.is_filtering => {
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
        let moved = match key.code {
            KeyCode::Up | KeyCode::Char('k') => self.go(1, false, store),
            KeyCode::Down | KeyCode::Char('j') => self.go(1, true, store),
            KeyCode::PageUp => self.go(page, false, store),
            KeyCode::PageDown => self.go(page, true, store),
            KeyCode::End | KeyCode::Char('G') => self.go_to_end(store),
            _ => Ok(()),
        };
        match key.code {
            KeyCode::Home | KeyCode::Char('g') => self.show(self.which),
            KeyCode::Char('/') => self.is_filtering = true,
            KeyCode::Esc if !self.filter.is_empty() => {
                self.filter.clear();
                self.show(self.which);
            }
            KeyCode::Char('h') | KeyCode::Tab => self.show(match self.which {
                Which::Waiting => Which::History,
                Which::History => Which::Waiting,
            }),
            KeyCode::Char('w') => self.withdraw(withdrawing, store),
            KeyCode::Char('q') => return Next::Leave,
            KeyCode::Enter => match self.current() {
                Some(question) if question.ending.is_none() => return Next::Open(Box::new(question.clone())),
                _ => {}
            },
            _ => {}
        }
        // The rows under the cursor are needed for the next key already.
        if let Err(error) = moved.and_then(|()| self.load(store)) {
            self.notice = Some(error.chain());
        }
        Next::Stay
    }

    /// Asks once more, then takes the question under the cursor back.
    fn withdraw(&mut self, asked: Option<QuestionId>, store: &Handle) {
        let Some(question) = self.current().filter(|question| question.ending.is_none()).cloned() else { return };
        if asked.as_ref() != Some(&question.id) {
            self.notice =
                Some("Withdraw it? It cannot be answered then. w again: withdraw · any other key: keep".into());
            self.withdrawing = Some(question.id);
            return;
        }
        let withdrawn = attempt().map(|attempt| pollster::block_on(store.withdraw(&question.id, &attempt)));
        self.notice = Some(match withdrawn {
            Ok(Ok(_)) => format!("{} is withdrawn", question.id),
            Ok(Err(StoreError::Ended(ending))) => {
                format!("{} {}", question.id, words::ended(question.request.set(), &ending))
            }
            Ok(Err(error)) => error.chain(),
            Err(failure) => failure.message,
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
