//! The descriptions of the keys in the current state, for the footer and the help page.

use super::keymap::{Action, Binding, KeyContext, TABLE};
use super::state::{InputMode, Page, Prompt, TextField, Trigger};
use std::borrow::Cow;

impl Prompt {
    /// Returns the keys of the footer with their effects, most useful first.
    pub fn hints(&self) -> impl Iterator<Item = (Cow<'static, str>, &'static str)> {
        // The editor is for text. Among options, only Other has a text.
        let typing = self.context() == KeyContext::Typing;
        let is_back = typing && self.mode != self.resting_mode();
        let shown = self.bindings(|row| row.hint.is_some());
        shown.filter(move |row| typing || row.action != Action::Editor).filter_map(move |row| {
            let (key, word) = row.hint?;
            Some(match row.action {
                Action::Enter => (key.into(), self.enter_does()),
                Action::Number(_) if self.trigger == Trigger::Popup => (format!("1-{}", self.numbers()).into(), "move"),
                // In a multi-select question, digits act like Space.
                Action::Number(_) if self.current().is_some_and(|(question, _)| question.is_multi_select()) => {
                    return None;
                }
                Action::Number(_) => (format!("1-{}", self.numbers()).into(), word),
                Action::Yes if self.trigger == Trigger::Popup => (key.into(), "move"),
                Action::Open(text) if self.opened == Some(text) => return None,
                Action::Escape if self.opened.is_some() => (key.into(), "back"),
                Action::Escape if self.is_searching() => (key.into(), "clear"),
                Action::Escape if self.trigger != Trigger::Inline && !is_back => (key.into(), "later"),
                Action::Escape if !is_back => (key.into(), "cancel"),
                _ => (key.into(), word),
            })
        })
    }

    /// Returns the number of numbered rows.
    fn numbers(&self) -> usize {
        match self.page {
            Page::Question(i) => self.drafts[i].rows(),
            Page::Review => self.drafts.len(),
        }
    }

    /// Whether a search filters the rows.
    pub(super) fn is_searching(&self) -> bool {
        self.current().is_some_and(|(_, draft)| !draft.search.is_empty())
    }

    /// Returns the current effect of Enter in one word.
    fn enter_does(&self) -> &'static str {
        match (self.mode, self.current()) {
            (InputMode::Typing(TextField::Discuss | TextField::Decline), _) => "send",
            (InputMode::Typing(TextField::Other), Some((question, _))) if !question.is_multi_select() => {
                self.leads_to()
            }
            (InputMode::Typing(_), _) => "done",
            (_, None) if self.review_row == self.drafts.len() => "send",
            (_, None) => "change",
            (_, Some((question, draft))) => match (question.is_multi_select(), draft.is_picked(draft.focus)) {
                (true, true) => self.leads_to(),
                _ if draft.focus == draft.other_row() => "type",
                (true, _) if draft.is_touched() => self.leads_to(),
                _ => "select",
            },
        }
    }

    /// Returns the page after the current question in one word.
    fn leads_to(&self) -> &'static str {
        let is_open = |&i: &usize| self.page != Page::Question(i) && self.answer(i).is_none();
        match self.drafts.len() {
            1 => "send",
            count if (0..count).any(|i| is_open(&i)) => "next",
            _ => "review",
        }
    }

    /// Returns the keys of the help page with their effects.
    pub fn help(&self) -> impl Iterator<Item = (&'static str, &'static str)> {
        let is_put_aside = self.trigger != Trigger::Inline && self.context() != KeyContext::Typing;
        self.bindings(|row| !row.spelled.is_empty()).map(move |row| match row.action {
            Action::Escape if self.opened.is_some() => (row.spelled, "close the text"),
            Action::Escape if is_put_aside => (row.spelled, "leave it for later"),
            Action::Mark if self.is_unread() => (row.spelled, "read on; options can be chosen after the last line"),
            _ => (row.spelled, row.does),
        })
    }

    /// Returns the wanted bindings that have an effect in the current state.
    fn bindings(&self, is_wanted: fn(&Binding) -> bool) -> impl Iterator<Item = &'static Binding> {
        let context = self.context();
        let several = self.drafts.len() > 1;
        let here = move |row: &&Binding| {
            row.on.contains(&context) && (several || !matches!(row.action, Action::Previous | Action::Next))
        };
        let is_needed = |row: &&Binding| match row.action {
            Action::KeepOther | Action::KeepMine => self.rival.is_some(),
            Action::Open(text) => self.side_text(text).is_some(),
            _ => self.takes(&row.action),
        };
        TABLE.iter().filter(move |row| is_wanted(row)).filter(here).filter(is_needed)
    }
}
