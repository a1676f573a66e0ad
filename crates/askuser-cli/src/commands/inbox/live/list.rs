//! The rows of the live list, and the cursor position. The list holds the loaded rows, so no key has to wait for the
//! store.

use super::super::Notice;
use super::update::Effect;
use crate::store::display;
use askuser::prompt::SideText;
use askuser::store::{Filter, Page, Principal, QuestionId, StoreError, StoredQuestion};
use askuser::{Key, KeyCode, Text};
use askuser_terminal::{Role, TerminalInput};
use std::collections::VecDeque;

const MAX_FILTER: usize = 200;
/// The number of rows that are loaded at once.
const PAGE: u32 = 200;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum Section {
    Waiting,
    History,
}

impl Section {
    pub(in super::super) fn other(self) -> Section {
        match self {
            Section::Waiting => Section::History,
            Section::History => Section::Waiting,
        }
    }

    /// Returns the filter for the questions of this section that contain the text.
    pub(in super::super) fn filter(self, text: &str) -> Filter {
        let filter = match self {
            Section::Waiting => Filter::pending(),
            Section::History => Filter { latest_first: true, ..Filter::ended() },
        };
        Filter { containing: (!text.is_empty()).then(|| text.to_owned()), ..filter }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    Browsing,
    Filtering,
    Help { page: usize },
}

/// A question in the list, with this person's unsent text.
pub(in super::super) struct Row {
    pub(in super::super) question: StoredQuestion,
    pub(in super::super) unsent: Vec<String>,
}

impl From<StoredQuestion> for Row {
    fn from(question: StoredQuestion) -> Row {
        Row { unsent: display::unsent(&question.unsent), question }
    }
}

/// The kind of rows that a request loads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Load {
    /// The first page of another list.
    Other,
    /// The loaded rows in their current state.
    Again,
    /// One further page.
    More,
}

pub(super) struct List {
    pub(super) reader: Principal,
    pub(super) section: Section,
    pub(super) mode: Mode,
    pub(super) filter: Text,
    /// The rows from the beginning of the list on, or after `G` those up to its end.
    loaded: Vec<Row>,
    is_from_end: bool,
    /// Whether the list has more rows than are loaded.
    has_more: bool,
    /// The indexes of the cursor's row and of the top row on the screen.
    at: usize,
    top: usize,
    pub(super) height: usize,
    pub(super) help_pages: usize,
    /// The unreadable questions near the cursor.
    pub(super) unreadable: Vec<QuestionId>,
    /// The request under way, if there is one, and the number of the last request.
    loading: Option<Load>,
    number: u64,
    /// Whether the store has changed since the last request.
    is_stale: bool,
    /// Whether the rows still belong to another list than the requested one. Keys that act on rows are then deferred.
    pub(super) is_replaced: bool,
    pub(super) deferred: Vec<TerminalInput>,
    /// The new question to announce, if there is one.
    new: Option<QuestionId>,
    /// The notice that is shown until the next key, if there is one.
    pub(super) notice: Option<Notice>,
    /// The text that the preview shows in full, if one is opened.
    pub(super) opened: Option<SideText>,
    /// The question that the next `w` withdraws; `None` if `w` was not the last key.
    pub(super) withdrawing: Option<QuestionId>,
    /// The next tasks for the driver, in order.
    pub(super) effects: VecDeque<Effect>,
}

impl List {
    pub(super) fn new(reader: Principal) -> List {
        List {
            reader,
            section: Section::Waiting,
            mode: Mode::Browsing,
            filter: Text::new(MAX_FILTER),
            loaded: Vec::new(),
            is_from_end: false,
            has_more: false,
            at: 0,
            top: 0,
            height: 1,
            help_pages: 1,
            unreadable: Vec::new(),
            loading: None,
            number: 0,
            is_stale: false,
            is_replaced: true,
            deferred: Vec::new(),
            new: None,
            notice: None,
            opened: None,
            withdrawing: None,
            effects: VecDeque::new(),
        }
    }

    /// Returns the rows on the screen.
    pub(super) fn rows(&self) -> &[Row] {
        let end = (self.top + self.height).min(self.loaded.len());
        &self.loaded[self.top.min(end)..end]
    }

    /// Returns the index of the cursor's row on the screen.
    pub(super) fn row(&self) -> usize {
        self.at.saturating_sub(self.top)
    }

    pub(super) fn current(&self) -> Option<&Row> {
        self.loaded.get(self.at)
    }

    /// Returns the number of questions in the list, with a `+` if more than the loaded ones exist.
    pub(super) fn total(&self) -> String {
        let count = self.loaded.len() + self.unreadable.len();
        if self.has_more { format!("{count}+") } else { count.to_string() }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.loaded.is_empty() && self.unreadable.is_empty()
    }

    /// Returns the number of the cursor's question in a list that is longer than the screen; `None` if the list is
    /// shorter or the number unknown.
    pub(super) fn position(&self) -> Option<usize> {
        let is_known = !(self.is_from_end && self.has_more);
        (is_known && self.loaded.len() > self.height).then_some(self.at + 1)
    }

    fn wanted(&self) -> Filter {
        self.section.filter(self.filter.as_str())
    }

    /// Requests rows, unless a request is under way.
    fn load(&mut self, load: Load) {
        if self.loading.is_some() {
            return;
        }
        let filter = if self.is_from_end { self.wanted().reversed() } else { self.wanted() };
        let outermost = if self.is_from_end { self.loaded.first() } else { self.loaded.last() };
        let after = outermost.filter(|_| load == Load::More).map(|row| row.question.cursor);
        let limit = if load == Load::Again { (self.loaded.len() as u32).max(PAGE) } else { PAGE };
        self.number += 1;
        self.loading = Some(load);
        self.is_stale = false;
        let filter = Box::new(Filter { after, limit: Some(limit), ..filter });
        self.effects.push_back(Effect::Load { number: self.number, filter });
    }

    /// Requests another list, from its beginning or from its end.
    fn replace(&mut self, is_from_end: bool) {
        self.loading = None;
        self.is_replaced = true;
        self.is_from_end = is_from_end;
        self.load(Load::Other);
    }

    /// Requests the rows again after the store has changed.
    pub(super) fn refresh(&mut self, new: Option<QuestionId>) {
        self.new = new.or(self.new.take());
        self.is_stale = true;
        self.load(Load::Again);
    }

    /// Requests the rows again before the list is shown, because its questions may have been answered. Keys on rows
    /// wait for the result.
    pub(super) fn show_again(&mut self) {
        self.loading = None;
        self.is_replaced = true;
        self.load(Load::Again);
    }

    /// Takes a requested page. Pages of earlier requests are ignored.
    pub(super) fn loaded(&mut self, number: u64, page: Result<Page, StoreError>) {
        if number != self.number {
            return;
        }
        let Some(load) = self.loading.take() else { return };
        self.is_replaced = false;
        match page {
            Ok(page) => self.take(load, page),
            Err(error) => return self.notice = Some(Notice::new(Role::Danger, error.chain())),
        }
        self.announce();
        if self.is_stale { self.load(Load::Again) } else { self.load_near() }
    }

    fn take(&mut self, load: Load, page: Page) {
        let place = self.current().map(|row| row.question.cursor);
        let row = self.row();
        let mut rows: Vec<Row> =
            page.questions.into_iter().filter(|question| !display::is_probe(question)).map(Row::from).collect();
        if self.is_from_end {
            rows.reverse();
        }
        self.has_more = page.next.is_some();
        if load == Load::More && !self.is_from_end {
            self.loaded.append(&mut rows);
        } else {
            rows.extend(self.loaded.drain(..).filter(|_| load == Load::More));
            self.loaded = rows;
        }
        if self.unreadable != page.unreadable {
            let words = page.unreadable.iter().map(display::unreadable).collect::<Vec<_>>().join("; ");
            self.notice = (!words.is_empty()).then(|| Notice::new(Role::Danger, words));
            self.unreadable = page.unreadable;
        }
        // The cursor stays on its question, even if that has moved. If the question is gone, the cursor is on the next
        // one.
        let is_latest_first = self.wanted().latest_first;
        let is_before = |row: &Row| match place {
            Some(place) if is_latest_first => row.question.cursor > place,
            Some(place) => row.question.cursor < place,
            None => false,
        };
        match load {
            Load::Other if self.is_from_end => self.go_to(usize::MAX, self.height - 1),
            Load::Other => self.go_to(0, 0),
            _ => self.go_to(self.loaded.partition_point(is_before), row),
        }
    }

    /// Moves the cursor to a row of the list. If possible, that row is shown at this position of the screen.
    fn go_to(&mut self, at: usize, row: usize) {
        self.at = at.min(self.loaded.len().saturating_sub(1));
        let lowest = self.loaded.len().saturating_sub(self.height);
        self.top = self.at.saturating_sub(row).min(lowest).max((self.at + 1).saturating_sub(self.height));
    }

    /// Requests one more page if the cursor is near the end of the loaded rows.
    fn load_near(&mut self) {
        let rows_left = if self.is_from_end { self.at } else { self.loaded.len() - self.at };
        if self.has_more && rows_left <= 2 * self.height {
            self.load(Load::More);
        }
    }

    /// Announces the new question if it is for the reader. A question that is not loaded is read separately.
    fn announce(&mut self) {
        let Some(id) = self.new.take() else { return };
        match self.loaded.iter().map(|row| &row.question).find(|question| question.id == id) {
            Some(question) => self.announce_question(&question.clone()),
            None => self.effects.push_back(Effect::Announce(id)),
        }
    }

    pub(super) fn announce_question(&mut self, new: &StoredQuestion) {
        if new.ending.is_none() && self.reader.is_asked(&new.request) {
            self.notice = Some(Notice::new(Role::Primary, display::new_question(new)));
            self.effects.push_back(Effect::Bell);
        }
    }

    pub(super) fn resize(&mut self, height: usize) {
        self.height = height;
        self.go_to(self.at, self.row());
    }

    /// Moves the cursor if the key asks for that.
    pub(super) fn go_by(&mut self, key: Key) {
        let page = self.height.max(2) - 1;
        match key.code {
            KeyCode::Up => self.go(1, false),
            KeyCode::Down => self.go(1, true),
            KeyCode::PageUp => self.go(page, false),
            KeyCode::PageDown => self.go(page, true),
            _ => {}
        }
    }

    pub(super) fn go(&mut self, rows: usize, down: bool) {
        let at = if down { self.at.saturating_add(rows) } else { self.at.saturating_sub(rows) };
        let at = at.min(self.loaded.len().saturating_sub(1));
        let row = if down { self.row() + (at - self.at) } else { self.row().saturating_sub(self.at - at) };
        self.go_to(at, row.min(self.height - 1));
        self.load_near();
    }

    pub(super) fn go_to_row(&mut self, row: usize) {
        self.go_to(self.top + row, row);
    }

    pub(super) fn go_to_start(&mut self) {
        if self.is_from_end && self.has_more { self.replace(false) } else { self.go_to(0, 0) }
    }

    pub(super) fn go_to_end(&mut self) {
        let is_at_start = !self.is_from_end && self.has_more;
        if is_at_start { self.replace(true) } else { self.go_to(usize::MAX, self.height - 1) }
    }

    /// Lists this section from its first question on.
    pub(super) fn show(&mut self, section: Section) {
        self.section = section;
        self.replace(false);
    }
}
