//! The draft, the files that it may name, and the lines that cannot be sent yet.

use super::composed_text::ComposedText;
use super::mentions;
use super::scrollback::MAX_COLUMNS;
use super::slash_commands;
use askuser::{Edit, sanitize};
use std::collections::VecDeque;
use std::ops::Range;
use std::time::Duration;

#[derive(Debug)]
pub(crate) struct Composer {
    pub(crate) draft: ComposedText,
    /// The width of the draft in columns, for moving between its rows.
    pub(crate) columns: usize,
    /// The files that a message may name. The list is from the time when the last file name was begun.
    pub(crate) files: Vec<String>,
    is_naming: bool,
    /// The index of the marked row in the menu.
    pub(super) chosen: usize,
    /// The lines that cannot be sent yet: commands during a turn, and messages while the turn is being stopped.
    pub(crate) waiting: VecDeque<String>,
    /// The messages that the model reads before its next request.
    pub(crate) said: VecDeque<String>,
    /// The time until which Enter and Esc are ignored. They may have been meant for a question that has just closed.
    /// `None` without such a question.
    pub(super) stray_until: Option<Duration>,
}

/// A command or a file that completes the typed text.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Offer {
    pub(crate) name: String,
    pub(crate) about: &'static str,
    /// The range in the draft that `text` replaces.
    place: Range<usize>,
    text: String,
}

impl Composer {
    pub(super) fn new(history: Vec<String>) -> Composer {
        Composer {
            draft: ComposedText::new(history),
            columns: MAX_COLUMNS,
            files: Vec::new(),
            is_naming: false,
            chosen: 0,
            waiting: VecDeque::new(),
            said: VecDeque::new(),
            stray_until: None,
        }
    }

    /// Returns whether a key may have been meant for the question that has just closed.
    pub(super) fn is_stray(&self, now: Duration) -> bool {
        self.stray_until.is_some_and(|until| now < until)
    }

    /// Returns the completions of the current text, best first. The list is empty while the person browses the history.
    pub(super) fn offers(&self) -> Vec<Offer> {
        if self.draft.is_older() {
            return Vec::new();
        }
        let (text, caret) = (self.draft.as_str(), self.draft.text().caret());
        let command = |row: &slash_commands::Row| {
            let name = row.name;
            let end = if row.argument.is_empty() { "" } else { " " };
            let shown = format!("/{name} {}", row.argument).trim_end().to_owned();
            Offer { name: shown, about: row.about, place: 0..text.len(), text: format!("/{name}{end}") }
        };
        let commands: Vec<Offer> = slash_commands::matching(text).map(command).collect();
        let Some((place, typed)) = mentions::being_typed(text, caret).filter(|_| commands.is_empty()) else {
            return commands;
        };
        let file = |path: &str| {
            let name = format!("@{}", sanitize::line(path));
            let text = format!("{} ", mentions::spelled(path));
            Offer { name, about: "", place: place.clone(), text }
        };
        mentions::matching(&self.files, typed).into_iter().map(file).collect()
    }

    /// Returns whether the last key has begun the path of a file.
    pub(super) fn begins_path(&mut self) -> bool {
        let typed = mentions::being_typed(self.draft.as_str(), self.draft.text().caret());
        let was_naming = std::mem::replace(&mut self.is_naming, typed.is_some());
        self.is_naming && !was_naming
    }

    /// Returns whether the draft already contains the offered text.
    pub(super) fn has_typed(&self, offer: &Offer) -> bool {
        self.draft.as_str()[offer.place.clone()].trim_end() == offer.text.trim_end()
    }

    /// Replaces the typed text by the offered text.
    pub(super) fn accept(&mut self, offer: &Offer) {
        while self.draft.text().caret() < offer.place.end {
            let _ = self.draft.edit(Edit::Right);
        }
        while self.draft.text().caret() > offer.place.start {
            let _ = self.draft.edit(Edit::Backspace);
        }
        let _ = self.draft.edit(Edit::Paste(offer.text.clone()));
    }

    /// Moves the caret up, or from the first row back in the history. The history begins with the last waiting line.
    pub(super) fn up(&mut self) {
        if self.draft.up(self.columns) {
            return;
        }
        let waiting = if self.draft.is_blank() { self.waiting.pop_back() } else { None };
        if let Some(text) = waiting {
            let _ = self.draft.set(&text);
        } else if !self.draft.older() {
            let _ = self.draft.edit(Edit::Start);
        }
    }

    /// Moves the caret down, or from the last row forward in the history.
    pub(super) fn down(&mut self) {
        if !self.draft.down(self.columns) && !self.draft.newer() {
            let _ = self.draft.edit(Edit::Finish);
        }
    }
}
