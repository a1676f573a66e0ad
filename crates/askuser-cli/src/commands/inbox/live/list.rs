//! What is listed, and the place in it. Only the rows on the screen are read, so a hundred thousand questions are as smooth as
//! ten.

use super::Notice;
use crate::store::{attempt, block_on, words};
use askuser::prompt::SideText;
use askuser::store::{Cursor, Filter, Handle, Page, QuestionId, StoreError, StoredQuestion};
use askuser::{Key, KeyCode, Text};
use askuser_terminal::Role;

const MAX_FILTER: usize = 200;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum Which {
    Waiting,
    History,
}

impl Which {
    pub(in super::super) fn other(self) -> Which {
        match self {
            Which::Waiting => Which::History,
            Which::History => Which::Waiting,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    Browsing,
    Filtering,
    Help { page: usize },
}

/// A question on the screen, and what this person has typed there and not sent.
pub(in super::super) struct Row {
    pub(in super::super) question: StoredQuestion,
    pub(in super::super) unsent: Vec<String>,
}

impl From<StoredQuestion> for Row {
    fn from(question: StoredQuestion) -> Row {
        Row { unsent: words::unsent(&question.unsent), question }
    }
}

pub(in super::super) struct List {
    pub(in super::super) which: Which,
    pub(super) mode: Mode,
    pub(in super::super) filter: Text,
    /// How many there are, and how many are before the one that the cursor is on.
    pub(in super::super) total: u64,
    pub(super) before: u64,
    /// Those on the screen, the row of the cursor, and its place in the list: that stays when rows come and go.
    pub(in super::super) rows: Vec<Row>,
    pub(super) row: usize,
    place: Option<Cursor>,
    pub(in super::super) height: usize,
    pub(super) help_pages: usize,
    /// The questions near the cursor that cannot be read.
    pub(in super::super) unreadable: Vec<QuestionId>,
    /// Something has happened since it was read.
    pub(super) is_stale: bool,
    /// Said once, until the next key.
    pub(super) notice: Option<Notice>,
    /// The text that the preview shows whole.
    pub(super) opened: Option<SideText>,
    /// The question that the next `w` withdraws.
    pub(super) withdrawing: Option<QuestionId>,
}

impl List {
    pub(in super::super) fn new() -> List {
        List {
            which: Which::Waiting,
            mode: Mode::Browsing,
            filter: Text::new(MAX_FILTER),
            total: 0,
            before: 0,
            rows: Vec::new(),
            row: 0,
            place: None,
            height: 1,
            help_pages: 1,
            unreadable: Vec::new(),
            is_stale: false,
            notice: None,
            opened: None,
            withdrawing: None,
        }
    }

    fn filter(&self) -> Filter {
        let filter = match self.which {
            Which::Waiting => Filter::pending(),
            Which::History => Filter { latest_first: true, ..Filter::ended() },
        };
        Filter { containing: (!self.filter.is_empty()).then(|| self.filter.as_str().to_owned()), ..filter }
    }

    pub(super) fn current(&self) -> Option<&Row> {
        self.rows.get(self.row)
    }

    /// Reads what is on the screen. The cursor stays on its question, wherever that has moved; where that is gone, on the next.
    pub(in super::super) fn load(&mut self, store: &Handle) -> Result<(), StoreError> {
        block_on(async {
            let (filter, height) = (self.filter(), self.height as u32);
            // As many rows before the cursor as may be on the screen, then those from there on.
            let above = match self.place {
                Some(place) => store.list(&filter.clone().reversed().after(place).at_most(height)).await?.questions,
                None => Vec::new(),
            };
            let start = above.get(self.height - 1).map(|first| first.cursor);
            let near = Filter { after: start, ..filter.clone() }.at_most(2 * height + 1);
            let Page { questions: near, unreadable, .. } = store.list(&near).await?;
            if self.unreadable != unreadable {
                let words = unreadable.iter().map(words::unreadable).collect::<Vec<_>>().join("; ");
                self.notice = (!words.is_empty()).then(|| Notice::new(Role::Danger, words));
                self.unreadable = unreadable;
            }
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
            self.rows = near.into_iter().skip(top).take(self.height).map(Row::from).collect();
            self.row = at - top;
            self.place = self.current().map(|row| row.question.cursor);
            self.total = store.count(&filter).await?;
            self.before = match self.place {
                Some(place) => store.count(&filter.reversed().after(place)).await?,
                None => 0,
            };
            Ok(())
        })
    }

    /// Does what the key asks for, if it moves the cursor.
    pub(super) fn go_by(&mut self, key: Key, store: &Handle) -> Result<(), StoreError> {
        let page = self.height.max(2) - 1;
        match key.code {
            KeyCode::Up => self.go(1, false, store),
            KeyCode::Down => self.go(1, true, store),
            KeyCode::PageUp => self.go(page, false, store),
            KeyCode::PageDown => self.go(page, true, store),
            _ => Ok(()),
        }
    }

    /// Reads the rows that follow, if there are any.
    pub(in super::super) fn next_page(&mut self, store: &Handle) -> Result<bool, StoreError> {
        let Some(last) = self.rows.last().map(|row| row.question.cursor) else { return Ok(false) };
        block_on(async {
            let next = store.list(&self.filter().after(last).at_most(self.height as u32)).await?.questions;
            let has_more = !next.is_empty();
            if has_more {
                self.rows = next.into_iter().map(Row::from).collect();
            }
            Ok(has_more)
        })
    }

    pub(super) fn go(&mut self, rows: usize, down: bool, store: &Handle) -> Result<(), StoreError> {
        let Some(place) = self.place else { return Ok(()) };
        let filter = if down { self.filter() } else { self.filter().reversed() };
        let passed = block_on(store.list(&filter.after(place).at_most(rows as u32)))?.questions;
        if let Some(last) = passed.last() {
            self.place = Some(last.cursor);
            self.row = match down {
                true => (self.row + passed.len()).min(self.height - 1),
                false => self.row.saturating_sub(passed.len()),
            };
        }
        Ok(())
    }

    pub(super) fn go_to_row(&mut self, row: usize) {
        self.row = row;
        self.place = self.current().map(|row| row.question.cursor);
    }

    pub(super) fn go_to_end(&mut self, store: &Handle) -> Result<(), StoreError> {
        let last = block_on(store.list(&self.filter().reversed().at_most(1)))?.questions;
        self.place = last.first().map(|question| question.cursor);
        self.row = self.height - 1;
        Ok(())
    }

    /// Lists these, from the first one on.
    pub(in super::super) fn show(&mut self, which: Which) {
        self.which = which;
        (self.row, self.place) = (0, None);
        self.rows.clear();
    }
}

/// Takes a question back, and says what came of it.
pub(in super::super) fn withdraw(question: &StoredQuestion, store: &Handle) -> Notice {
    let withdrawn = attempt().map(|attempt| block_on(store.withdraw(&question.id, &attempt)));
    match withdrawn {
        Ok(Ok(_)) => Notice::new(Role::Success, format!("Withdrawn: {}", words::name(question))),
        Ok(Err(StoreError::Ended(ending))) => {
            let ended = words::ended(&question.request, &ending);
            Notice::new(Role::Warning, format!("It {ended}"))
        }
        Ok(Err(error)) => Notice::new(Role::Danger, error.chain()),
        Err(failure) => Notice::new(Role::Danger, failure.message),
    }
}
