//! The review page: all answers before they are sent.

use super::{Composer, INDENT};
use crate::view::theme::Role;
use crate::view::wrap::{width, wrap};
use askuser::report;
use ratatui_core::text::Span;

impl Composer<'_, '_> {
    pub(super) fn review(&mut self) {
        self.gap();
        for (i, question) in self.prompt.set().questions().iter().enumerate() {
            self.paragraph(INDENT, question.text(), Role::Secondary);
            let signs = self.theme.signs;
            match self.prompt.answer(i) {
                Some(answer) => {
                    for text in report::names(&answer).chain(answer.custom_input.clone()) {
                        self.marked(signs.done, Role::Success, &text);
                    }
                    if let Some(note) = answer.note {
                        self.marked(" ", Role::Muted, &format!("Note: {note}"));
                    }
                    if self.prompt.is_prefilled(i) {
                        self.marked(" ", Role::Muted, "(known beforehand, not from you)");
                    }
                }
                None => self.marked(signs.not_done, Role::Warning, "not answered yet"),
            }
            let entry = self.prompt.draft(i);
            if !entry.is_picked(entry.other_row()) && !entry.other().is_blank() {
                self.marked(" ", Role::Muted, &format!("(typed, but not chosen: {})", entry.other().as_str()));
            }
            if i + 1 < self.prompt.set().questions().len() {
                self.gap();
            }
        }
    }

    /// `✔ text`, wrapped under itself.
    fn marked(&mut self, sign: &'static str, role: Role, text: &str) {
        let column = INDENT + 2 + width(sign) + 1;
        let room = self.room(column);
        for (i, range) in wrap(text, room, room).into_iter().enumerate() {
            let words = Span::styled(text[range].to_owned(), self.style(Role::Text));
            let line = if i == 0 {
                self.bordered(INDENT + 2, vec![Span::styled(sign, self.style(role)), Span::raw(" "), words])
            } else {
                self.bordered(column, vec![words])
            };
            self.lines.body.push(line);
        }
    }
}
