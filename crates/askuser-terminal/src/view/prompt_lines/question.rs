//! A question page: the asker, the question, its options and Other.

use super::{Composer, LEGIBLE};
use crate::markdown;
use crate::view::PromptPhase;
use crate::view::frame_line::SharedLine;
use crate::view::laid_out::Block;
use crate::view::quoted::{self, bar};
use crate::view::theme::{PromptStyle, Role};
use crate::view::wrap::{width, wrap, wrap_exactly, wrap_styled};
use askuser::prompt::{AnswerDraft, InputMode, TextField, TextMode};
use askuser::{Choice, Form, Question};
use ratatui_core::style::Style;
use ratatui_core::text::{Line, Span};
use std::ops::Range;
use std::sync::Arc;

const SEARCH: &str = "Search: ";
const BADGE: &str = " (Recommended)";

/// The largest number of lines below a label: below any label, and below one that is shown.
#[derive(Default)]
struct Tallest {
    any: usize,
    shown: usize,
}

impl Block {
    fn row(entry: &AnswerDraft, row: usize, is_described: bool) -> Block {
        Block::Row { row, is_focused: row == entry.focus, is_picked: entry.is_picked(row), is_described }
    }
}

impl Composer<'_, '_> {
    /// Adds the request's origin, such as a subagent. The origin is untrusted, so all its rows but the first have a
    /// bar.
    fn origin(&mut self) {
        if let Some(origin) = self.prompt.origin().filter(|_| !self.is_origin_shown) {
            let text = format!("Asked by: {origin}");
            let further = [bar(self.theme)];
            for row in wrap_styled([(text.as_str(), self.style(Role::Detail))], &[], &further, self.room(self.indent()))
            {
                self.row(self.indent(), row.spans);
            }
        }
    }

    pub(super) fn question(&mut self, question: &Question, entry: &AnswerDraft) {
        let anything =
            if self.theme.signs.ellipsis == "…" { "Type something else…" } else { "Type something else..." };
        if self.parts.block(Block::Question).is_none() {
            let is_numbered = matches!(question.form(), Form::Tool | Form::Options);
            self.parts.number_column = if is_numbered && self.numbers_fit(question) { width("1 ") } else { 0 };
            self.parts.beside =
                if question.form() == Form::Tool { self.column_beside(question, anything) } else { None };
            // No character has more columns than bytes.
            let room = self.room(self.label_column());
            self.parts.names_fit = question.options().iter().all(|option| option.name().len() <= room);
        }
        self.origin();
        self.gap();
        self.block(Block::Question, |own| {
            own.question_text(question.text());
            if question.is_multi_select() {
                own.append(own.indent(), " (Select multiple with Space)", Role::Detail);
            }
            0
        });
        match question.form() {
            Form::Input => return self.answer_field(question, entry),
            Form::Pick => self.search_field(question, entry),
            _ => self.gap(),
        }
        if question.form() != Form::Tool {
            let room = self.room(self.label_column());
            let start = self.lines.body.len();
            let mut end = start;
            let lines = |row: usize| {
                let before = end;
                end += wrap(question.options()[row].name(), room, room).len();
                before..end
            };
            self.lines.rows = if self.parts.names_fit {
                (start..start + entry.listed().len()).map(|line| line..line + 1).collect()
            } else {
                entry.listed().map(lines).collect()
            };
            self.lines.list = start..self.lines.rows.last().map_or(start, |row| row.end);
            return;
        }
        let mut tallest = Tallest::default();
        for (row, option) in question.options().iter().enumerate() {
            let start = self.lines.body.len();
            let badge = option.is_recommended();
            self.option(question, entry, row, (option.name(), badge), Some(option.description()), &mut tallest);
            self.end_row(entry, row, start);
        }
        let row = entry.other_row();
        let start = self.lines.body.len();
        let typing = self.prompt.mode() == InputMode::Typing(TextField::Other);
        let is_field = typing || !entry.other.is_empty();
        self.option(question, entry, row, ("Other", false), Some(anything).filter(|_| !is_field), &mut tallest);
        if is_field {
            self.field(self.label_column(), "Please specify: ", &entry.other, typing);
        }
        self.end_row(entry, row, start);
        self.lines.longer = tallest.any - tallest.shown;
    }

    /// Returns the visible lines of the list.
    pub(in crate::view) fn list_lines(&mut self, rows: &[Range<usize>], shown: Range<usize>) -> Vec<SharedLine> {
        let Some((question, entry)) = self.prompt.current() else { return Vec::new() };
        let first = rows.partition_point(|lines| lines.end <= shown.start);
        let mut above = 0;
        for (row, lines) in
            entry.listed_from(first).zip(&rows[first..]).take_while(|(_, lines)| lines.start < shown.end)
        {
            above += shown.start.saturating_sub(lines.start);
            self.block(Block::row(entry, row, false), |own| {
                own.label(question, entry, row, question.options()[row].name())
            });
        }
        self.lines.body.drain(..).skip(above).take(shown.len()).collect()
    }

    /// Adds the field for an answer that is a text.
    fn answer_field(&mut self, question: &Question, entry: &AnswerDraft) {
        self.gap();
        let start = self.lines.body.len();
        let typing = self.prompt.mode() == InputMode::Typing(TextField::Other);
        self.field(self.indent(), "> ", &entry.other, typing);
        if let Some(words) = question.placeholder().filter(|_| entry.other.is_empty()) {
            self.append(self.indent(), words, Role::Detail);
        }
        self.lines.rows.push(start..self.lines.body.len());
    }

    /// Adds the search field of a long list, with the number of matching options. It stays above the list, together
    /// with a short question.
    fn search_field(&mut self, question: &Question, entry: &AnswerDraft) {
        const SHORT: usize = 4;
        if self.lines.body.len() <= SHORT {
            let is_blank = |line: &SharedLine| line.spans.len() == 1;
            self.lines.head.extend(self.lines.body.drain(..).filter(|line| !is_blank(line)));
        }
        let listed = entry.listed().len();
        let all = question.options().len();
        let picked = || (0..all).filter(|&row| entry.is_picked(row)).count();
        let ticked = if question.is_multi_select() { format!(", {} ticked", picked()) } else { String::new() };
        let counts = [format!("  {listed} of {all}{ticked}"), format!("  {listed} of {all}"), String::new()];
        let fits = |count: &String| width(SEARCH) + LEGIBLE + width(count) <= self.room(self.indent());
        let count = counts.into_iter().find(fits).unwrap_or_default();
        let room = self.room(self.indent()).saturating_sub(width(SEARCH) + width(&count) + 1);
        // The end of the search text is shown, because the caret is there.
        let search = entry.search.as_str();
        let start = search.char_indices().map(|(at, _)| at).find(|&at| width(&search[at..]) <= room);
        let shown = &search[start.unwrap_or(search.len())..];
        let column = 1 + self.indent() + width(SEARCH) + width(shown);
        let is_open = self.prompt.mode() == InputMode::Choosing && self.phase == PromptPhase::Asking;
        self.lines.head_caret = is_open.then_some((self.lines.head.len(), column));
        let spans = vec![
            Span::styled(SEARCH, self.style(Role::Primary)),
            Span::styled(shown.to_owned(), self.style(Role::Text)),
            Span::styled(count, self.style(Role::Detail)),
        ];
        let line = self.bordered(self.indent(), spans);
        self.lines.head.push(line);
        self.gap();
    }

    /// Adds the lines of a block. They are composed only if no earlier frame has composed them. Returns the number of
    /// lines before a description.
    fn block(&mut self, block: Block, compose: impl FnOnce(&mut Self) -> usize) -> usize {
        if let Some((lines, label)) = self.parts.block(block) {
            self.lines.body.extend_from_slice(lines);
            return label;
        }
        let start = self.lines.body.len();
        let label = compose(self);
        self.parts.keep(block, &self.lines.body[start..], label);
        label
    }

    /// Adds a label with the lines below it. When rows are short, only the focused label has lines below it. The others
    /// are measured, so that the frame can keep its height.
    fn option(
        &mut self,
        question: &Question,
        entry: &AnswerDraft,
        row: usize,
        (name, is_recommended): (&str, bool),
        description: Option<&str>,
        tallest: &mut Tallest,
    ) {
        let start = self.lines.body.len();
        let label = self.block(Block::row(entry, row, description.is_some()), |own| {
            own.label(question, entry, row, name);
            if is_recommended {
                own.append(own.label_column(), BADGE, Role::Success);
            }
            let label = own.lines.body.len() - start;
            own.description(description.unwrap_or_default());
            label
        });
        let added = start + label..self.lines.body.len();
        tallest.any = tallest.any.max(added.len());
        if row == entry.focus {
            tallest.shown = added.len();
        } else if description.is_some() {
            self.lines.descriptions.push(added);
        }
    }

    /// Returns whether every label takes the same number of rows with and without a number before it.
    fn numbers_fit(&self, question: &Question) -> bool {
        let badge = |is_recommended| if is_recommended { BADGE } else { "" };
        let room = self.room(self.label_column());
        let narrow = room.saturating_sub(width("1 "));
        let rows = |label: &str, room: usize| wrap(label, room, room).len();
        question.options().iter().map(|option| (option.name(), badge(option.is_recommended()))).all(|(name, badge)| {
            let label = || format!("{name}{badge}");
            width(name) + width(badge) <= narrow || rows(&label(), room) == rows(&label(), narrow)
        })
    }

    /// Adds the text of a question. If the text takes several rows, each row has a bar. A row without a bar could pass
    /// for one of the prompt's own.
    fn question_text(&mut self, text: &str) {
        let room = self.room(self.indent());
        if self.prompt.wording() == TextMode::Prose {
            return self.prose(self.indent(), text, self.strong(Role::Text), |_, rows| rows > 1);
        }
        if wrap_exactly(text, room).len() == 1 {
            return self.paragraph(self.indent(), text, self.strong(Role::Text));
        }
        for row in quoted::exactly(text, &[], self.theme, room, |_, _| self.strong(Role::Text)) {
            self.row(self.indent(), row.spans);
        }
    }

    /// Adds the description of an option, beside its label or below it. Below the label, each line has a bar if the
    /// text has several lines.
    fn description(&mut self, text: &str) {
        let style = self.style(Role::Detail);
        if text.is_empty() {
            return;
        }
        let Some(column) = self.parts.beside else {
            return self.prose(self.label_column(), text, style, |text, _| text.contains('\n'));
        };
        let row = self.prose_rows(self.room(column), text, style, |_, _| false).into_iter().next();
        if let (Some(row), Some(line)) = (row, self.lines.body.last_mut()) {
            let gap = Span::raw(" ".repeat((1 + column).saturating_sub(line.columns())));
            Arc::make_mut(line).extend([gap].into_iter().chain(row.spans));
        }
    }

    /// Returns the column of the descriptions beside the labels. `None` in the proposal's style, or if a description
    /// does not fit into the rest of its label's row.
    fn column_beside(&self, question: &Question, anything: &str) -> Option<usize> {
        const GAP: usize = 3;
        let label = |option: &Choice| width(option.name()) + if option.is_recommended() { width(BADGE) } else { 0 };
        let longest = question.options().iter().map(label).fold(width("Other"), usize::max);
        let column = self.label_column() + longest + GAP;
        let room = self.room(column);
        let fits = |text: &str| !text.contains('\n') && width(text) <= room && !markdown::has_blocks(text);
        let all = question.options().iter().all(|option| fits(option.description())) && fits(anything);
        (self.theme.prompt_style == PromptStyle::Compact && all).then_some(column)
    }

    /// Adds text as Markdown, unless the user agrees to its exact words. `needs_bars` receives the text and its number
    /// of rows, and returns whether each row has a bar.
    fn prose(&mut self, indent: usize, text: &str, style: Style, needs_bars: fn(&str, usize) -> bool) {
        for row in self.prose_rows(self.room(indent), text, style, needs_bars) {
            self.row(indent, row.spans);
        }
    }

    fn prose_rows(
        &self,
        room: usize,
        text: &str,
        style: Style,
        needs_bars: fn(&str, usize) -> bool,
    ) -> Vec<Line<'static>> {
        let is_read = self.prompt.wording() == TextMode::Prose;
        if let Some(blocks) = markdown::blocks(text).filter(|_| is_read) {
            return quoted::prose(&blocks, self.theme, room, style);
        }
        let words = match markdown::inline(text).filter(|_| is_read) {
            Some(pieces) => markdown::words(&pieces, style, self.theme),
            None => {
                let rows = wrap(text, room, room);
                if !needs_bars(text, rows.len()) {
                    let row = |range: Range<usize>| {
                        Line::from(Span::styled(text[range].trim_end_matches(' ').to_owned(), style))
                    };
                    return rows.into_iter().map(row).collect();
                }
                vec![(text.to_owned(), style)]
            }
        };
        let rows = wrap_styled(words.clone(), &[], &[], room);
        if needs_bars(text, rows.len()) {
            let bar = [bar(self.theme)];
            return wrap_styled(words, &bar, &bar, room);
        }
        rows
    }

    /// Returns the column of labels and descriptions.
    fn label_column(&self) -> usize {
        self.indent() + self.parts.number_column + 2 + width(self.theme.signs.radio) + 1
    }

    /// Adds a label such as `1 > ● label`. Returns the number of lines.
    fn label(&mut self, question: &Question, entry: &AnswerDraft, row: usize, name: &str) -> usize {
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
        let mark = if picked { self.strong(mark) } else { self.style(mark) };
        const NUMBERS: &str = "1 2 3 4 5 6 7 8 9 ";
        let number = match self.parts.number_column {
            0 => "",
            _ => NUMBERS.get(2 * row..2 * row + 2).unwrap_or("  "),
        };
        let column = self.label_column();
        let room = self.room(column);
        let rows = wrap(name, room, room);
        let count = rows.len();
        for (i, range) in rows.into_iter().enumerate() {
            let label = Span::styled(name[range].trim_end_matches(' ').to_owned(), style);
            if i == 0 {
                let number = Span::styled(number, self.style(Role::Detail));
                let cursor = self.cursor(focused);
                let mut lead = [number, cursor, Span::raw(" ")];
                if self.theme.prompt_style == PromptStyle::Compact {
                    lead.rotate_left(1);
                }
                let mark = Span::styled(sign, mark);
                let [first, second, third] = lead;
                self.row(self.indent(), [first, second, third, mark, Span::raw(" "), label]);
            } else {
                self.row(column, [label]);
            }
        }
        count
    }

    /// Ends a row with its note and a blank line.
    fn end_row(&mut self, entry: &AnswerDraft, row: usize, start: usize) {
        let typing = self.prompt.mode() == InputMode::Typing(TextField::Note(row));
        if let Some(note) = entry.note(row)
            && (typing || !note.is_empty())
        {
            self.field(self.label_column(), "Note: ", note, typing);
            if let Some(hint) = self.prompt.note_hint(row) {
                self.paragraph(self.label_column(), hint, self.style(Role::Detail));
            }
        }
        self.lines.rows.push(start..self.lines.body.len());
        if row < entry.other_row() {
            self.gap();
        }
    }
}
