//! Handles the events of the live list, and collects their effects. No event waits for the store.

use super::list::{List, Mode, Section};
use crate::commands::inbox::Notice;
use askuser::prompt::{Action, KeyContext, SideText, action};
use askuser::store::{Filter, Page, QuestionId, StoreError, StoredQuestion};
use askuser::{Edit, Key, KeyCode};
use askuser_terminal::{Role, TerminalInput};

/// An input to the list.
pub(super) enum Event {
    Input(TerminalInput),
    /// The screen has room for this many rows.
    Resized(usize),
    /// The store has changed. The id is that of a new question, if there is one.
    Changed(Option<QuestionId>),
    /// A requested page has arrived.
    Loaded {
        number: u64,
        page: Result<Page, StoreError>,
    },
    /// A new question was read, to be announced.
    Announced(Box<StoredQuestion>),
    /// The result of a withdrawal, as a notice.
    Withdrawn(Notice),
}

/// A task for the driver.
pub(super) enum Effect {
    Load { number: u64, filter: Box<Filter> },
    Announce(QuestionId),
    Withdraw(Box<StoredQuestion>),
    Open(Box<StoredQuestion>),
    Bell,
    Leave,
}

impl List {
    /// Handles an event. Its effects are added to [`List::effects`].
    pub(super) fn update(&mut self, event: Event) {
        match event {
            Event::Input(input) => self.take_input(input),
            Event::Resized(height) => self.resize(height),
            Event::Changed(new) => self.refresh(new),
            Event::Loaded { number, page } => {
                self.loaded(number, page);
                if !self.is_replaced {
                    std::mem::take(&mut self.deferred).into_iter().for_each(|input| self.take_input(input));
                }
            }
            Event::Announced(question) => self.announce_question(&question),
            Event::Withdrawn(notice) => self.notice = Some(notice),
        }
    }

    fn take_input(&mut self, input: TerminalInput) {
        let key = match input {
            TerminalInput::Key(key) => key,
            TerminalInput::Paste(text) if self.mode == Mode::Filtering => {
                return self.edit_filter(Edit::Paste(text.lines().next().unwrap_or_default().to_owned()));
            }
            _ => return,
        };
        if key == Key::ctrl('c') {
            return self.effects.push_back(Effect::Leave);
        }
        // A key that acts on a row waits for the rows.
        let is_about_rows = !matches!(key.code, KeyCode::Esc | KeyCode::Char('q' | '/' | '?' | 'h') | KeyCode::Tab);
        if self.mode == Mode::Browsing && self.is_replaced && (is_about_rows || !self.deferred.is_empty()) {
            return self.deferred.push(input);
        }
        self.notice = None;
        let withdrawing = self.withdrawing.take();
        match self.mode {
            Mode::Help { page } => {
                let is_last = page + 1 >= self.help_pages || matches!(key.code, KeyCode::Esc | KeyCode::Char('q'));
                self.mode = if is_last { Mode::Browsing } else { Mode::Help { page: page + 1 } };
            }
            Mode::Filtering => self.take_in_filter(key),
            Mode::Browsing => self.take_in_list(key, withdrawing),
        }
    }

    fn take_in_list(&mut self, key: Key, withdrawing: Option<QuestionId>) {
        let opened = self.opened.take();
        match key.code {
            KeyCode::Char('o') => self.opened = Some(SideText::Why).filter(|text| opened != Some(*text)),
            KeyCode::Char('v') => self.opened = Some(SideText::Input).filter(|text| opened != Some(*text)),
            KeyCode::Char('k') => self.go(1, false),
            KeyCode::Char('j') => self.go(1, true),
            KeyCode::End | KeyCode::Char('G') => self.go_to_end(),
            KeyCode::Home | KeyCode::Char('g') => self.go_to_start(),
            KeyCode::Char('/') => self.mode = Mode::Filtering,
            KeyCode::Char('?') => self.mode = Mode::Help { page: 0 },
            KeyCode::Char('h') | KeyCode::Tab => self.show(self.section.other()),
            KeyCode::Char('w') => self.withdraw(withdrawing),
            KeyCode::Char('q') => self.effects.push_back(Effect::Leave),
            // Esc takes one step back at a time.
            KeyCode::Esc if opened.is_some() => {}
            KeyCode::Esc if !self.filter.is_empty() => self.clear_filter(),
            KeyCode::Esc if self.section == Section::History => self.show(Section::Waiting),
            KeyCode::Esc => self.effects.push_back(Effect::Leave),
            KeyCode::Enter => self.open(self.row()),
            KeyCode::Char(c @ '1'..='9') => self.open(c as usize - '1' as usize),
            _ => self.go_by(key),
        }
    }

    /// Moves the cursor to this row of the screen, and opens its question if it still waits.
    fn open(&mut self, row: usize) {
        let Some(question) = self.rows().get(row).map(|row| row.question.clone()) else { return };
        self.go_to_row(row);
        if question.ending.is_none() {
            self.effects.push_back(Effect::Open(Box::new(question)));
        }
    }

    /// Withdraws the question under the cursor, after a second request.
    fn withdraw(&mut self, asked: Option<QuestionId>) {
        let current = self.current().map(|row| &row.question);
        let Some(question) = current.filter(|question| question.ending.is_none()) else { return };
        if asked.as_ref() == Some(&question.id) {
            return self.effects.push_back(Effect::Withdraw(Box::new(question.clone())));
        }
        self.withdrawing = Some(question.id.clone());
        let words = "Withdraw it? It cannot be answered then. w again: withdraw · any other key: keep";
        self.notice = Some(Notice::new(Role::Warning, words));
    }

    fn take_in_filter(&mut self, key: Key) {
        match key.code {
            KeyCode::Enter => self.mode = Mode::Browsing,
            KeyCode::Esc => self.clear_filter(),
            KeyCode::Backspace if self.filter.is_empty() => self.mode = Mode::Browsing,
            KeyCode::Up | KeyCode::Down | KeyCode::PageUp | KeyCode::PageDown => self.go_by(key),
            _ => match action(key, KeyContext::Typing) {
                Some(Action::Edit(edit)) if edit != Edit::Newline => self.edit_filter(edit),
                _ => {}
            },
        }
    }

    fn clear_filter(&mut self) {
        self.mode = Mode::Browsing;
        let _ = self.filter.set("");
        self.show(self.section);
    }

    /// Edits the filter, and requests another list if its text has changed.
    fn edit_filter(&mut self, edit: Edit) {
        let before = self.filter.as_str().to_owned();
        let _ = self.filter.apply(edit);
        if self.filter.as_str() != before {
            self.show(self.section);
        }
    }
}
