//! A question page: who asks, the question, its options and Other.

use super::{Composer, INDENT, LEGIBLE};
use crate::markdown;
use crate::view::PromptPhase;
use crate::view::barred::{self, bar};
use crate::view::theme::Role;
use crate::view::wrap::{width, wrap, wrap_exactly, wrap_styled};
use askuser::prompt::{AnswerDraft, InputMode, TextField, Wording};
use askuser::{Form, Question};
use ratatui_core::style::Style;
use ratatui_core::text::Span;

const SEARCH: &str = "Search: ";

/// The most lines that stand under a label: under any of them, and under the focused one.
#[derive(Default)]
struct Tallest {
    any: usize,
    shown: usize,
}

impl<'a> Composer<'a, '_> {
    /// The request's origin, such as a subagent. Others wrote it: only its first row begins like one of ours.
    fn origin(&mut self) {
        if let Some(origin) = self.prompt.origin() {
            let text = format!("Asked by: {origin}");
            let further = [bar(self.theme)];
            for row in wrap_styled([(text.as_str(), self.style(Role::Muted))], &[], &further, self.room(INDENT)) {
                self.row(INDENT, row.spans);
            }
        }
    }

    pub(super) fn question(&mut self, question: &'a Question, entry: &'a AnswerDraft) {
        let is_numbered = matches!(question.form(), Form::Tool | Form::Options);
        self.number_column = if is_numbered && self.numbers_fit(question) { width("1 ") } else { 0 };
        self.origin();
        self.gap();
        self.question_text(question.text());
        if question.is_multi_select() {
            self.append(INDENT, " (Select multiple with Space)", Role::Muted);
        }
        match question.form() {
            Form::Input => return self.answer_field(question, entry),
            Form::Pick => self.search_field(question, entry),
            _ => self.gap(),
        }
        if question.form() != Form::Tool {
            for &row in entry.listed().iter() {
                let start = self.lines.body.len();
                self.label(question, entry, row, question.options()[row].name());
                self.lines.rows.push(start..self.lines.body.len());
            }
            return;
        }
        let mut tallest = Tallest::default();
        for (row, option) in question.options().iter().enumerate() {
            let start = self.lines.body.len();
            self.label(question, entry, row, option.name());
            if option.is_recommended() {
                self.append(self.label_column(), " (Recommended)", Role::Success);
            }
            self.describe(row == entry.focus, &mut tallest, |own| own.description(option.description()));
            self.end_row(entry, row, start);
        }
        let (row, start) = (entry.other_row(), self.lines.body.len());
        self.label(question, entry, row, "Other");
        let typing = self.prompt.mode() == InputMode::Typing(TextField::Other);
        if typing || !entry.other.is_empty() {
            self.field(self.label_column(), "Please specify: ", &entry.other, typing);
        } else {
            let text =
                if self.theme.signs.ellipsis == "…" { "Type something else…" } else { "Type something else..." };
            self.describe(row == entry.focus, &mut tallest, |own| {
                own.paragraph(own.label_column(), text, own.style(Role::Muted));
            });
        }
        self.end_row(entry, row, start);
        self.lines.longer = tallest.any - tallest.shown;
    }

    /// The field for an answer that is a text.
    fn answer_field(&mut self, question: &'a Question, entry: &'a AnswerDraft) {
        self.gap();
        let start = self.lines.body.len();
        let typing = self.prompt.mode() == InputMode::Typing(TextField::Other);
        self.field(INDENT, "> ", &entry.other, typing);
        if let Some(words) = question.placeholder().filter(|_| entry.other.is_empty()) {
            self.append(INDENT, words, Role::Muted);
        }
        self.lines.rows.push(start..self.lines.body.len());
    }

    /// What a long list is searched for, and how much of it matches. It stays above the list, as does a short question.
    fn search_field(&mut self, question: &Question, entry: &'a AnswerDraft) {
        const SHORT: usize = 4;
        if self.lines.body.len() <= SHORT {
            let gaps = std::mem::take(&mut self.lines.gaps);
            let question = self.lines.body.drain(..).enumerate().filter(|(line, _)| !gaps.contains(line));
            self.lines.head.extend(question.map(|(_, line)| line));
        }
        let (listed, all) = (entry.listed().len(), question.options().len());
        let picked = (0..all).filter(|&row| entry.is_picked(row)).count();
        let ticked = if question.is_multi_select() { format!(", {picked} ticked") } else { String::new() };
        let counts = [format!("  {listed} of {all}{ticked}"), format!("  {listed} of {all}"), String::new()];
        let fits = |count: &String| width(SEARCH) + LEGIBLE + width(count) <= self.room(INDENT);
        let count = counts.into_iter().find(fits).unwrap_or_default();
        let room = self.room(INDENT).saturating_sub(width(SEARCH) + width(&count) + 1);
        // The end of it is where the caret is.
        let search = entry.search.as_str();
        let start = search.char_indices().map(|(at, _)| at).find(|&at| width(&search[at..]) <= room);
        let shown = &search[start.unwrap_or(search.len())..];
        let column = 1 + INDENT + width(SEARCH) + width(shown);
        let is_open = self.prompt.mode() == InputMode::Choosing && self.phase == PromptPhase::Asking;
        self.lines.head_caret = is_open.then_some((self.lines.head.len(), column));
        let spans = vec![
            Span::styled(SEARCH, self.style(Role::Primary)),
            Span::styled(shown, self.style(Role::Text)),
            Span::styled(count, self.style(Role::Muted)),
        ];
        let line = self.bordered(INDENT, spans);
        self.lines.head.push(line);
        self.gap();
    }

    /// Adds what stands under a label. When rows are short it stands under the focused one alone; the others are measured, so
    /// that the frame can keep its height.
    fn describe(&mut self, focused: bool, tallest: &mut Tallest, add: impl FnOnce(&mut Self)) {
        let before = self.lines.body.len();
        add(self);
        let added = before..self.lines.body.len();
        tallest.any = tallest.any.max(added.len());
        if focused {
            tallest.shown = added.len();
        } else {
            self.lines.descriptions.push(added);
        }
    }

    /// Whether every label takes as many rows with a number before it as without.
    fn numbers_fit(&self, question: &Question) -> bool {
        let badge = |is_recommended| if is_recommended { " (Recommended)" } else { "" };
        let labels =
            question.options().iter().map(|option| format!("{}{}", option.name(), badge(option.is_recommended())));
        let room = self.room(self.label_column());
        let rows = |label: &str, room: usize| wrap(label, room, room).len();
        labels.into_iter().all(|label| rows(&label, room) == rows(&label, room.saturating_sub(width("1 "))))
    }

    /// The text of a question. A row without a bar is ours, so one that takes several rows has a bar before each.
    fn question_text(&mut self, text: &'a str) {
        let room = self.room(INDENT);
        if self.prompt.wording() == Wording::Prose {
            return self.prose(INDENT, text, self.theme.strong(Role::Text), |_, rows| rows > 1);
        }
        if wrap_exactly(text, room).len() == 1 {
            return self.paragraph(INDENT, text, self.theme.strong(Role::Text));
        }
        for row in barred::exactly(text, &[], self.theme, room, |_, _| self.theme.strong(Role::Text)) {
            self.row(INDENT, row.spans);
        }
    }

    /// What choosing an option means. It stands to the right of the marks; lines of its own have bars.
    fn description(&mut self, text: &'a str) {
        if !text.is_empty() {
            self.prose(self.label_column(), text, self.style(Role::Muted), |text, _| text.contains('\n'));
        }
    }

    /// Text with Markdown in it, unless the user agrees to its words; `needs_bars` tells by the text and its rows whether
    /// each has a bar.
    fn prose(&mut self, indent: usize, text: &'a str, style: Style, needs_bars: fn(&str, usize) -> bool) {
        let room = self.room(indent);
        let is_read = self.prompt.wording() == Wording::Prose;
        if let Some(blocks) = markdown::blocks(text).filter(|_| is_read) {
            let rows = barred::prose(&blocks, self.theme, room, style);
            return rows.into_iter().for_each(|row| self.row(indent, row.spans));
        }
        let words = match markdown::inline(text).filter(|_| is_read) {
            Some(pieces) => markdown::words(&pieces, style, self.theme),
            None if !needs_bars(text, wrap(text, room, room).len()) => return self.paragraph(indent, text, style),
            None => vec![(text.to_owned(), style)],
        };
        let mut rows = wrap_styled(words.clone(), &[], &[], room);
        if needs_bars(text, rows.len()) {
            let bar = [bar(self.theme)];
            rows = wrap_styled(words, &bar, &bar, room);
        }
        rows.into_iter().for_each(|row| self.row(indent, row.spans));
    }

    /// The column of labels and descriptions.
    fn label_column(&self) -> usize {
        INDENT + self.number_column + 2 + width(self.theme.signs.radio) + 1
    }

    /// `1 > ● label`
    fn label(&mut self, question: &Question, entry: &AnswerDraft, row: usize, name: &'a str) {
        let signs = self.theme.signs;
        let focused = entry.focus == row;
        let sign = match (question.is_multi_select(), entry.is_picked(row)) {
            (false, false) => signs.radio,
            (false, true) => signs.radio_on,
            (true, false) => signs.checkbox,
            (true, true) => signs.checkbox_on,
        };
        let confirmed = self.phase == PromptPhase::Confirmed && entry.is_picked(row);
        let picked = entry.is_picked(row);
        let (text, mark) = match (confirmed, focused || picked) {
            (true, _) => (Role::Success, Role::Success),
            (false, true) => (Role::Text, Role::Primary),
            (false, false) => (Role::Secondary, Role::Primary),
        };
        let style = match (focused, text) {
            (true, _) => self.theme.focused(text),
            (false, Role::Text) => self.theme.ticked(),
            (false, _) => self.style(text),
        };
        let mark = if picked { self.theme.strong(mark) } else { self.style(mark) };
        let number = match (self.number_column, row + 1) {
            (0, _) => String::new(),
            (_, number @ 1..=9) => format!("{number} "),
            _ => "  ".to_owned(),
        };
        let column = self.label_column();
        let room = self.room(column);
        for (i, range) in wrap(name, room, room).into_iter().enumerate() {
            let label = Span::styled(name[range].trim_end_matches(' '), style);
            if i == 0 {
                let number = Span::styled(number.clone(), self.style(Role::Muted));
                let cursor = if focused { Span::styled(signs.cursor, self.theme.cursor()) } else { Span::raw(" ") };
                let mark = Span::styled(sign, mark);
                self.row(INDENT, vec![number, cursor, Span::raw(" "), mark, Span::raw(" "), label]);
            } else {
                self.row(column, vec![label]);
            }
        }
    }

    /// Ends a row: its note, and a blank line.
    fn end_row(&mut self, entry: &'a AnswerDraft, row: usize, start: usize) {
        let typing = self.prompt.mode() == InputMode::Typing(TextField::Note(row));
        if let Some(note) = entry.note(row)
            && (typing || !note.is_empty())
        {
            self.field(self.label_column(), "Note: ", note, typing);
            if let Some(hint) = self.prompt.note_hint(row) {
                self.paragraph(self.label_column(), hint, self.style(Role::Muted));
            }
        }
        self.lines.rows.push(start..self.lines.body.len());
        if row < entry.other_row() {
            self.gap();
        }
    }
}
