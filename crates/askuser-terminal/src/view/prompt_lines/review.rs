//! The review page, with all answers before they are sent.

use super::Composer;
use crate::markdown;
use crate::view::quoted::bar;
use crate::view::theme::Role;
use crate::view::wrap::{width, wrap_styled};
use askuser::prompt::{Prefilled, TextMode};
use askuser::report;
use ratatui_core::text::{Line, Span};

impl Composer<'_, '_> {
    pub(super) fn review(&mut self) {
        self.gap();
        for (i, question) in self.prompt.set().questions().iter().enumerate() {
            let start = self.lines.body.len();
            self.review_row(i, &format!("{}. ", i + 1), question.text());
            let signs = self.theme.signs;
            match self.prompt.answer(i) {
                Some(answer) => {
                    for text in report::names(&answer).chain(answer.custom_input.clone()) {
                        self.marked(signs.done, Role::Success, &text);
                    }
                    if let Some(note) = answer.note {
                        self.marked(" ", Role::Detail, &format!("Note: {note}"));
                    }
                    if let Some(by) = self.prompt.prefilled_by(i) {
                        let words = match by {
                            Prefilled::Person => "(you filled this in before)",
                            Prefilled::Asker => "(filled in by the asker, not by you)",
                        };
                        self.marked(" ", Role::Detail, words);
                    }
                }
                None => self.marked(signs.not_done, Role::Warning, "not answered yet"),
            }
            let entry = self.prompt.draft(i);
            if !entry.is_picked(entry.other_row()) && !entry.other.is_blank() {
                self.marked(" ", Role::Detail, &format!("(typed, but not chosen: {})", entry.other.as_str()));
            }
            self.lines.rows.push(start..self.lines.body.len());
            self.gap();
        }
        let row = self.prompt.set().questions().len();
        let start = self.lines.body.len();
        self.review_row(row, "", "Send these answers");
        self.lines.rows.push(start..self.lines.body.len());
    }

    /// Adds a row such as `> 1. question`, or the row that sends the answers.
    fn review_row(&mut self, row: usize, number: &str, text: &str) {
        let focused = self.prompt.focus() == row;
        let style = if focused { self.theme.focused(Role::Text) } else { self.style(Role::Secondary) };
        let lead = [self.cursor(focused), Span::raw(" ")];
        // A continuation of a question cannot pass for another question.
        let further = [Span::raw("  "), bar(self.theme)];
        let is_read = self.prompt.wording() == TextMode::Prose;
        let rows = if let Some(blocks) = markdown::blocks(text).filter(|_| is_read) {
            let taken = 2 + width(number).max(width(&further[1].content));
            let room = self.room(self.indent()).saturating_sub(taken);
            let rows = markdown::render_wrapped(&blocks, self.theme, room, style).into_iter().enumerate();
            let number = Span::styled(number.to_owned(), style);
            let row = |(i, row): (usize, Line<'static>)| match i {
                0 => Line::from_iter(lead.iter().cloned().chain([number.clone()]).chain(row.spans)),
                _ => Line::from_iter(further.iter().cloned().chain(row.spans)),
            };
            rows.map(row).collect()
        } else {
            let words = match markdown::inline(text).filter(|_| is_read) {
                Some(pieces) => markdown::words(&pieces, style, self.theme),
                None => vec![(text.to_owned(), style)],
            };
            wrap_styled(
                [(number.to_owned(), style)].into_iter().chain(words),
                &lead,
                &further,
                self.room(self.indent()),
            )
        };
        for row in rows {
            self.row(self.indent(), row.spans);
        }
    }

    /// Adds a line such as `✔ text`. Continuations are indented to the text.
    fn marked(&mut self, sign: &'static str, role: Role, text: &str) {
        let lead = [Span::styled(sign, self.style(role)), Span::raw(" ")];
        let further = [Span::raw(" ".repeat(width(sign) + 1))];
        for row in wrap_styled([(text, self.style(Role::Text))], &lead, &further, self.room(self.indent() + 4)) {
            self.row(self.indent() + 4, row.spans);
        }
    }
}
