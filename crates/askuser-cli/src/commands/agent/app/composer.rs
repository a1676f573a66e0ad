//! What the person writes: the draft, the files it may name, and the messages that wait for the turn to end.

use super::composed_text::{ComposedText, Moved};
use super::mentions;
use super::scrollback::MAX_COLUMNS;
use askuser::Edit;
use std::collections::VecDeque;
use std::time::Duration;

#[derive(Debug)]
pub(crate) struct Composer {
    pub(crate) draft: ComposedText,
    /// The width of the draft, for moving between its rows.
    pub(crate) columns: usize,
    /// The files that a message may name, as of when the last one was begun.
    pub(crate) files: Vec<String>,
    naming: Naming,
    /// Messages to send when the turn is over, first in first out.
    pub(crate) queue: VecDeque<String>,
    /// Messages that the model reads before its next request, and has not read yet.
    pub(crate) said: VecDeque<String>,
    /// Until when Enter and Esc are ignored after a question, as they may have been meant for it.
    pub(super) stray_until: Option<Duration>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Naming {
    Nothing,
    File,
}

impl Composer {
    pub(super) fn new(history: Vec<String>) -> Composer {
        Composer {
            draft: ComposedText::new(history),
            columns: MAX_COLUMNS,
            files: Vec::new(),
            naming: Naming::Nothing,
            queue: VecDeque::new(),
            said: VecDeque::new(),
            stray_until: None,
        }
    }

    /// Whether a key may have been meant for the question that just closed.
    pub(super) fn is_stray(&self, now: Duration) -> bool {
        self.stray_until.is_some_and(|until| now < until)
    }

    /// The files that may be meant by what is being typed, the likeliest first.
    pub(super) fn offered_files(&self) -> Vec<&str> {
        let typed = mentions::being_typed(self.draft.as_str(), self.draft.text().caret());
        typed.map(|(_, typed)| mentions::matching(&self.files, typed)).unwrap_or_default()
    }

    /// Whether the last key has begun the path of a file.
    pub(super) fn begins_path(&mut self) -> bool {
        let typed = mentions::being_typed(self.draft.as_str(), self.draft.text().caret());
        let naming = if typed.is_some() { Naming::File } else { Naming::Nothing };
        let before = std::mem::replace(&mut self.naming, naming);
        (before, naming) == (Naming::Nothing, Naming::File)
    }

    /// Completes the path that is being typed to the likeliest file.
    pub(super) fn complete_path(&mut self) {
        let caret = self.draft.text().caret();
        let typed = mentions::being_typed(self.draft.as_str(), caret).map(|(range, _)| range);
        let path = self.offered_files().first().map(|path| mentions::spelled(path));
        if let (Some(range), Some(path)) = (typed, path) {
            while self.draft.text().caret() > range.start {
                let _ = self.draft.edit(Edit::Backspace);
            }
            let _ = self.draft.edit(Edit::Paste(format!("{path} ")));
        }
    }

    /// In the first row, goes back in the history; the last queued message comes before it, and is returned.
    pub(super) fn up(&mut self) -> Option<String> {
        if self.draft.up(self.columns) == Moved::Yes {
            return None;
        }
        let taken = if self.draft.is_blank() { self.queue.pop_back() } else { None };
        if let Some(text) = &taken {
            let _ = self.draft.set(text);
        } else if self.draft.older() == Moved::No {
            let _ = self.draft.edit(Edit::Start);
        }
        taken
    }

    /// In the last row, goes forward in the history.
    pub(super) fn down(&mut self) {
        if self.draft.down(self.columns) == Moved::No && self.draft.newer() == Moved::No {
            let _ = self.draft.edit(Edit::Finish);
        }
    }
}
