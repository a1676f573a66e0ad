//! Events of the live list, and what follows from them. No event waits for the store.

use super::list::{List, Mode, Section};
use crate::commands::inbox::Notice;
use askuser::prompt::{Action, KeyContext, SideText, action};
use askuser::store::{Filter, Page, QuestionId, StoreError, StoredQuestion};
use askuser::{Edit, Key, KeyCode};
use askuser_terminal::{Role, TerminalInput};

/// An event of the list.
pub(super) enum Event {
    Input(TerminalInput),
    /// The screen has room for so many rows.
    Resized(usize),
    /// The store has changed, perhaps by this new question.
    Changed(Option<QuestionId>),
    /// A page has arrived.
    Loaded {
        number: u64,
        page: Result<Page, StoreError>,
    },
    /// A new question has arrived.
    Announced(Box<StoredQuestion>),
    /// A question was withdrawn, or could not be.
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
    pub(super) fn update(&mut self, event: Event) -> Vec<Effect> {
        match event {
            Event::Input(input) => self.take_input(input),
            Event::Resized(height) => {
                self.resize(height);
                Vec::new()
            }
            Event::Changed(new) => self.refresh(new),
            Event::Loaded { number, page } => {
                let mut effects = self.loaded(number, page);
                if !self.is_replaced {
                    let deferred = std::mem::take(&mut self.deferred);
                    effects.extend(deferred.into_iter().flat_map(|input| self.take_input(input)));
                }
                effects
            }
            Event::Announced(question) => self.announce_question(&question),
            Event::Withdrawn(notice) => {
                self.notice = Some(notice);
                Vec::new()
            }
        }
    }

    fn take_input(&mut self, input: TerminalInput) -> Vec<Effect> {
        let key = match input {
            TerminalInput::Key(key) => key,
            TerminalInput::Paste(text) if self.mode == Mode::Filtering => {
                return self.edit_filter(Edit::Paste(text.lines().next().unwrap_or_default().to_owned()));
            }
            _ => return Vec::new(),
        };
        if key == Key::ctrl('c') {
            return vec![Effect::Leave];
        }
        // A key that is about a row waits for the rows.
        let is_about_rows = !matches!(key.code, KeyCode::Esc | KeyCode::Char('q' | '/' | '?' | 'h') | KeyCode::Tab);
        if self.mode == Mode::Browsing && self.is_replaced && (is_about_rows || !self.deferred.is_empty()) {
            self.deferred.push(input);
            return Vec::new();
        }
        self.notice = None;
        let withdrawing = self.withdrawing.take();
        match self.mode {
            Mode::Help { page } => {
                let is_last = page + 1 >= self.help_pages || matches!(key.code, KeyCode::Esc | KeyCode::Char('q'));
                self.mode = if is_last { Mode::Browsing } else { Mode::Help { page: page + 1 } };
                Vec::new()
            }
            Mode::Filtering => self.take_in_filter(key),
            Mode::Browsing => self.take_in_list(key, withdrawing),
        }
    }

    fn take_in_list(&mut self, key: Key, withdrawing: Option<QuestionId>) -> Vec<Effect> {
        let opened = self.opened.take();
        match key.code {
            KeyCode::Char('o') => self.opened = Some(SideText::Why).filter(|text| opened != Some(*text)),
            KeyCode::Char('v') => self.opened = Some(SideText::Input).filter(|text| opened != Some(*text)),
            KeyCode::Char('k') => return self.go(1, false),
            KeyCode::Char('j') => return self.go(1, true),
            KeyCode::End | KeyCode::Char('G') => return self.go_to_end(),
            KeyCode::Home | KeyCode::Char('g') => return self.go_to_start(),
            KeyCode::Char('/') => self.mode = Mode::Filtering,
            KeyCode::Char('?') => self.mode = Mode::Help { page: 0 },
            KeyCode::Char('h') | KeyCode::Tab => return self.show(self.section.other()),
            KeyCode::Char('w') => return self.withdraw(withdrawing),
            KeyCode::Char('q') => return vec![Effect::Leave],
            // One step back at a time.
            KeyCode::Esc if opened.is_some() => {}
            KeyCode::Esc if !self.filter.is_empty() => return self.clear_filter(),
            KeyCode::Esc if self.section == Section::History => return self.show(Section::Waiting),
            KeyCode::Esc => return vec![Effect::Leave],
            KeyCode::Enter => return self.open(self.row()),
            KeyCode::Char(c @ '1'..='9') => return self.open(c as usize - '1' as usize),
            _ => return self.go_by(key),
        }
        Vec::new()
    }

    /// Opens the question in this row, if it still waits.
    fn open(&mut self, row: usize) -> Vec<Effect> {
        let Some(question) = self.rows().get(row).map(|row| row.question.clone()) else { return Vec::new() };
        self.go_to_row(row);
        if question.ending.is_none() { vec![Effect::Open(Box::new(question))] } else { Vec::new() }
    }

    /// Asks once more, then withdraws the question under the cursor.
    fn withdraw(&mut self, asked: Option<QuestionId>) -> Vec<Effect> {
        let Some(question) = self.current().map(|row| &row.question).filter(|question| question.ending.is_none())
        else {
            return Vec::new();
        };
        if asked.as_ref() == Some(&question.id) {
            return vec![Effect::Withdraw(Box::new(question.clone()))];
        }
        self.withdrawing = Some(question.id.clone());
        let words = "Withdraw it? It cannot be answered then. w again: withdraw · any other key: keep";
        self.notice = Some(Notice::new(Role::Warning, words));
        Vec::new()
    }

    fn take_in_filter(&mut self, key: Key) -> Vec<Effect> {
        match key.code {
            KeyCode::Enter => self.mode = Mode::Browsing,
            KeyCode::Esc => return self.clear_filter(),
            KeyCode::Backspace if self.filter.is_empty() => self.mode = Mode::Browsing,
            KeyCode::Up | KeyCode::Down | KeyCode::PageUp | KeyCode::PageDown => return self.go_by(key),
            _ => {
                if let Some(Action::Edit(edit)) = action(key, KeyContext::Typing)
                    && edit != Edit::Newline
                {
                    return self.edit_filter(edit);
                }
            }
        }
        Vec::new()
    }

    fn clear_filter(&mut self) -> Vec<Effect> {
        self.mode = Mode::Browsing;
        let _ = self.filter.set("");
        self.show(self.section)
    }

    /// Requests another list if the text has changed.
    fn edit_filter(&mut self, edit: Edit) -> Vec<Effect> {
        let before = self.filter.as_str().to_owned();
        let _ = self.filter.apply(edit);
        if self.filter.as_str() == before { Vec::new() } else { self.show(self.section) }
    }
}
