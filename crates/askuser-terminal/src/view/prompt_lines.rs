//! A prompt as lines: the head, a body that may be longer than the screen, and the footer.
//!
//! Depends on the width but not on the height; [`View`](super::View) decides which part of the body is visible.

mod keys;
mod review;
mod text_field;

pub(super) use keys::read_on;

use super::PromptPhase;
use super::barred::bar_at;
use super::theme::{Role, Theme};
use super::wrap::{Start, width, wrap, wrap_exactly, wrap_styled};
use crate::markdown;
use askuser::Question;
use askuser::prompt::{AnswerDraft, InputMode, NoticeKind, Page, Prompt, TextField, Wording};
use ratatui_core::style::{Modifier, Style};
use ratatui_core::text::{Line, Span};
use std::ops::Range;

/// What is said when the deadline has passed.
pub(super) const TIMED_OUT: &str = "Timed out, no answer sent";
/// The columns between the border and the text.
const INDENT: usize = 2;
/// The columns of the border and the indent.
pub(super) const EDGE: u16 = 1 + INDENT as u16;
/// The fewest columns in which text is still readable.
const LEGIBLE: usize = 10;

pub(super) struct PromptLines<'a> {
    pub(super) head: Vec<Line<'a>>,
    pub(super) body: Vec<Line<'a>>,
    /// The lines under the bottom border. The border is drawn by the view, which knows how many lines are hidden.
    pub(super) footer: Vec<Line<'a>>,
    pub(super) footer_kind: FooterKind,
    /// The lines of the body that each row (option, then Other) takes.
    pub(super) rows: Vec<Range<usize>>,
    /// The line of the body and the column of the caret.
    pub(super) caret: Option<(usize, usize)>,
    /// The lines of the body that are blank.
    gaps: Vec<usize>,
    /// The lines of the body that stand under options without the focus.
    descriptions: Vec<Range<usize>>,
    /// How many more lines than under the focused option stand under another.
    longer: usize,
    /// How many more lines the body would take with the cursor on another row.
    pub(super) spare: usize,
    /// A blank line with its border.
    pub(super) blank: Line<'a>,
}

impl PromptLines<'_> {
    /// Leaves out blank lines, and the tabs: "Question 1 of 2" has to do.
    pub(super) fn leave_out_gaps(&mut self) {
        self.head.truncate(1);
        let gaps = std::mem::take(&mut self.gaps);
        self.leave_out(gaps.into_iter().map(|line| line..line + 1).collect());
    }

    /// Leaves out the descriptions of options without the focus.
    pub(super) fn leave_out_descriptions(&mut self) {
        let descriptions = std::mem::take(&mut self.descriptions);
        self.leave_out(descriptions);
        self.spare = self.longer;
    }

    /// Leaves out these lines of the body, which are in order.
    fn leave_out(&mut self, ranges: Vec<Range<usize>>) {
        let before = self.body.len();
        let mut ranges = ranges.into_iter().peekable();
        // Where each line is afterwards.
        let mut places = Vec::with_capacity(before + 1);
        let mut at = 0;
        self.body.retain(|_| {
            let line = places.len();
            while ranges.next_if(|range| range.end <= line).is_some() {}
            let kept = ranges.peek().is_none_or(|range| !range.contains(&line));
            places.push(at);
            at += usize::from(kept);
            kept
        });
        places.push(at);
        for range in self.rows.iter_mut().chain(&mut self.descriptions) {
            *range = places[range.start]..places[range.end];
        }
        self.caret = self.caret.map(|(line, column)| (places[line], column));
    }
}

/// What the footer shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FooterKind {
    /// Key hints, which may be dropped.
    Hints,
    /// A notice about the last key, which must be seen.
    Notice,
}

/// The lines of a prompt of so many columns, whose question and options have `text_columns` of them.
pub(super) fn compose<'a>(
    prompt: &'a Prompt,
    theme: &Theme,
    phase: PromptPhase,
    columns: usize,
    text_columns: usize,
) -> PromptLines<'a> {
    let border = match phase {
        PromptPhase::Expired => Role::Warning,
        PromptPhase::Asking if prompt.is_flashing() => Role::Danger,
        PromptPhase::Asking if prompt.is_answer_fresh() => Role::Success,
        PromptPhase::Asking | PromptPhase::Confirmed => Role::Muted,
    };
    let lines = PromptLines {
        head: Vec::new(),
        body: Vec::new(),
        footer: Vec::new(),
        footer_kind: FooterKind::Hints,
        rows: Vec::new(),
        caret: None,
        gaps: Vec::new(),
        descriptions: Vec::new(),
        longer: 0,
        spare: 0,
        blank: Line::from(Span::styled(theme.signs.vertical, theme.style(border))),
    };
    let mut composer = Composer { prompt, theme, phase, columns, text_columns, border, lines };
    composer.head();
    match (prompt.mode(), prompt.page()) {
        (InputMode::Help, _) => composer.help(),
        (_, Page::Question(i)) => composer.question(&prompt.set().questions()[i], prompt.draft(i)),
        (_, Page::Review) => composer.review(),
    }
    match prompt.mode() {
        InputMode::Typing(TextField::Discuss) => {
            composer.closing_field("What would you like to talk about first?", "Say: ")
        }
        InputMode::Typing(TextField::Decline) => {
            composer.closing_field("Decline this question?", "Reason (optional): ")
        }
        InputMode::Typing(_) | InputMode::Choosing | InputMode::Leaving | InputMode::Help => {}
    }
    composer.gap();
    composer.footer();
    composer.lines
}

/// The most lines that stand under a label: under any of them, and under the focused one.
#[derive(Default)]
struct Tallest {
    any: usize,
    shown: usize,
}

struct Composer<'a, 'b> {
    prompt: &'a Prompt,
    theme: &'b Theme,
    phase: PromptPhase,
    columns: usize,
    /// The columns of question and options, the border included.
    text_columns: usize,
    border: Role,
    lines: PromptLines<'a>,
}

impl<'a> Composer<'a, '_> {
    fn head(&mut self) {
        let signs = self.theme.signs;
        let questions = self.prompt.set().questions();
        let several = questions.len() > 1;
        let (title, progress) = match (self.prompt.mode(), self.prompt.page()) {
            (InputMode::Help, _) => ("Keys", Vec::new()),
            (_, Page::Question(i)) if several => {
                let (number, count) = (i + 1, questions.len());
                (
                    questions[i].header(),
                    vec![format!("  Question {number} of {count}"), format!("  {number} of {count}")],
                )
            }
            (_, Page::Question(i)) => (questions[i].header(), Vec::new()),
            (_, Page::Review) => {
                let long = "  Check your answers before they are sent".to_owned();
                ("Review", vec![long, "  Check your answers".to_owned()])
            }
        };
        let chip = match (self.phase, self.border) {
            (PromptPhase::Confirmed, _) => Role::Success,
            (_, Role::Muted) => Role::Primary,
            (_, border) => border,
        };
        let edge = self.style(chip).add_modifier(Modifier::BOLD);
        let mut line = vec![
            Span::styled(signs.chip_left, edge),
            Span::styled(format!(" {title} "), self.style(Role::Chip)),
            Span::styled(signs.chip_right, edge),
        ];
        let room = self.columns.saturating_sub(line.iter().map(|span| width(&span.content)).sum());
        let progress = progress.into_iter().find(|text| width(text) <= room);
        line.extend(progress.map(|text| Span::styled(text, self.style(Role::Muted))));
        self.lines.head.push(Line::from(line));
        if several && self.prompt.mode() != InputMode::Help {
            self.tabs();
        }
    }

    /// `✔ Auth Method  [Providers]  Review`
    fn tabs(&mut self) {
        let mut spans = Vec::new();
        let mut columns = 0;
        let questions = self.prompt.set().questions();
        let pages = (0..questions.len()).map(Page::Question).chain([Page::Review]);
        for page in pages {
            let (name, answered) = match page {
                Page::Question(i) => (questions[i].header(), self.prompt.answer(i).is_some()),
                Page::Review => ("Review", false),
            };
            if answered {
                let done = format!("{} ", self.theme.signs.done);
                columns += width(&done);
                spans.push(Span::styled(done, self.style(Role::Success)));
            }
            let (text, role) = if page == self.prompt.page() {
                (format!("[{name}]  "), Role::Primary)
            } else {
                (format!("{name}  "), Role::Secondary)
            };
            columns += width(&text);
            spans.push(Span::styled(text, self.style(role)));
        }
        // If they do not fit, the head's "Question 1 of 2" has to do.
        if columns + INDENT < self.columns {
            let line = self.bordered(INDENT, spans);
            self.lines.head.push(line);
        }
    }

    /// The request's origin, such as a subagent. Others wrote it: only its first row begins like one of ours.
    fn origin(&mut self) {
        if let Some(origin) = self.prompt.origin() {
            let text = format!("Asked by: {origin}");
            let further = [bar_at(Start::Line, self.theme)];
            for row in wrap_styled([(text.as_str(), self.style(Role::Muted))], &[], &further, self.room(INDENT)) {
                let line = self.bordered(INDENT, row.spans);
                self.lines.body.push(line);
            }
        }
    }

    fn question(&mut self, question: &'a Question, entry: &'a AnswerDraft) {
        self.origin();
        self.gap();
        self.question_text(question.text());
        if question.is_multi_select() {
            self.append(INDENT, " (Select multiple with Space)", Role::Muted);
        }
        self.gap();
        let mut tallest = Tallest::default();
        for (row, option) in question.options().iter().enumerate() {
            let start = self.lines.body.len();
            self.label(question, entry, row, option.name());
            if option.is_recommended() {
                self.append(self.label_column(), " (Recommended)", Role::Success);
            }
            self.describe(row == entry.focus(), &mut tallest, |own| own.description(option.description()));
            self.end_row(entry, row, start);
        }
        let (row, start) = (entry.other_row(), self.lines.body.len());
        self.label(question, entry, row, "Other");
        let typing = self.prompt.mode() == InputMode::Typing(TextField::Other);
        if typing || !entry.other().is_empty() {
            self.field(self.label_column(), "Please specify: ", entry.other(), typing);
        } else {
            let text =
                if self.theme.signs.ellipsis == "…" { "Type something else…" } else { "Type something else..." };
            self.describe(row == entry.focus(), &mut tallest, |own| {
                own.paragraph(own.label_column(), text, Role::Muted);
            });
        }
        self.end_row(entry, row, start);
        self.lines.longer = tallest.any - tallest.shown;
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

    /// The text of a question. A row without a bar is ours, so one that takes several rows has a bar before each.
    fn question_text(&mut self, text: &'a str) {
        let room = self.room(INDENT);
        if self.prompt.wording() == Wording::Prose {
            return self.prose(INDENT, text, Role::Text, |_, rows| rows > 1);
        }
        if wrap_exactly(text, room).len() == 1 {
            return self.paragraph(INDENT, text, Role::Text);
        }
        for (range, start) in wrap_exactly(text, room.saturating_sub(width(self.theme.signs.bar) + 1)) {
            let words = Span::styled(&text[range], self.style(Role::Text));
            let line = self.bordered(INDENT, vec![bar_at(start, self.theme), words]);
            self.lines.body.push(line);
        }
    }

    /// What choosing an option means. It stands to the right of the marks; lines of its own have bars.
    fn description(&mut self, text: &'a str) {
        if !text.is_empty() {
            self.prose(self.label_column(), text, Role::Muted, |text, _| text.contains('\n'));
        }
    }

    /// Text with bold and code in it; `needs_bars` tells by the text and its rows whether each has a bar.
    fn prose(&mut self, indent: usize, text: &'a str, role: Role, needs_bars: fn(&str, usize) -> bool) {
        let (room, style) = (self.room(indent), self.style(role));
        let words = match markdown::inline(text) {
            Some(pieces) => markdown::words(&pieces, style, self.theme),
            None if !needs_bars(text, wrap(text, room, room).len()) => return self.paragraph(indent, text, role),
            None => vec![(text.to_owned(), style)],
        };
        let words = || words.iter().map(|(text, style)| (text.as_str(), *style));
        let mut rows = wrap_styled(words(), &[], &[], room);
        if needs_bars(text, rows.len()) {
            let bar = [bar_at(Start::Line, self.theme)];
            rows = wrap_styled(words(), &bar, &bar, room);
        }
        for row in rows {
            let line = self.bordered(indent, row.spans);
            self.lines.body.push(line);
        }
    }

    /// The column of labels and descriptions.
    fn label_column(&self) -> usize {
        INDENT + 2 + width(self.theme.signs.radio) + 1
    }

    /// `> ● label`
    fn label(&mut self, question: &Question, entry: &AnswerDraft, row: usize, name: &'a str) {
        let signs = self.theme.signs;
        let focused = entry.focus() == row;
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
        let style = if focused { self.theme.focused(text) } else { self.style(text) };
        let mark = if picked { self.style(mark).add_modifier(Modifier::BOLD) } else { self.style(mark) };
        let column = self.label_column();
        let room = self.room(column);
        for (i, range) in wrap(name, room, room).into_iter().enumerate() {
            let label = Span::styled(name[range].trim_end_matches(' '), style);
            let line = if i == 0 {
                let cursor = if focused { Span::styled(signs.cursor, self.style(Role::Text)) } else { Span::raw(" ") };
                let mark = Span::styled(sign, mark);
                self.bordered(INDENT, vec![cursor, Span::raw(" "), mark, Span::raw(" "), label])
            } else {
                self.bordered(column, vec![label])
            };
            self.lines.body.push(line);
        }
    }

    /// Ends a row: its note, and a blank line.
    fn end_row(&mut self, entry: &'a AnswerDraft, row: usize, start: usize) {
        let typing = self.prompt.mode() == InputMode::Typing(TextField::Note(row));
        if let Some(note) = entry.note(row)
            && (typing || !note.is_empty())
        {
            self.field(self.label_column(), "Note: ", note, typing);
        }
        self.lines.rows.push(start..self.lines.body.len());
        if row < entry.other_row() {
            self.gap();
        }
    }

    fn footer(&mut self) {
        let notice = match (self.phase, self.prompt.mode(), self.prompt.notice()) {
            (PromptPhase::Expired, ..) => Some((format!("{} {TIMED_OUT}", self.theme.signs.warning), Role::Warning)),
            (_, InputMode::Leaving, _) => {
                let words = ["Discard your answers? Esc again: discard", "any other key: keep"];
                Some((words.join(&format!(" {} ", self.theme.signs.dot)), Role::Warning))
            }
            (_, InputMode::Help, _) => Some(("any key closes".to_owned(), Role::Muted)),
            (_, _, Some(notice)) => {
                let role = if notice.kind == NoticeKind::Rejected { Role::Danger } else { Role::Text };
                Some((notice.text.clone(), role))
            }
            _ => None,
        };
        match notice {
            Some((text, role)) => {
                let room = self.columns.saturating_sub(INDENT);
                // The notice is not dimmed, even if the prompt is.
                let style = Theme { dimmed: false, ..*self.theme }.style(role);
                if self.prompt.mode() != InputMode::Help {
                    self.lines.footer_kind = FooterKind::Notice;
                }
                let dot = format!(" {}", self.theme.signs.dot);
                for range in wrap(&text, room, room) {
                    let words = text[range].trim_end_matches(' ');
                    // A dot between two things separates nothing at the end of a row.
                    let words = Span::styled(words.strip_suffix(&dot).unwrap_or(words).to_owned(), style);
                    self.lines.footer.push(Line::from(vec![Span::raw("  "), words]));
                }
            }
            None => {
                let hints = self.hints();
                self.lines.footer.push(hints);
            }
        }
    }

    // ---- lines ----

    /// A blank line, which is left out when rows are short.
    fn gap(&mut self) {
        let line = self.bordered(0, Vec::new());
        self.lines.gaps.push(self.lines.body.len());
        self.lines.body.push(line);
    }

    fn paragraph(&mut self, indent: usize, text: &'a str, role: Role) {
        let room = self.room(indent);
        for range in wrap(text, room, room) {
            let words = Span::styled(text[range].trim_end_matches(' '), self.style(role));
            let line = self.bordered(indent, vec![words]);
            self.lines.body.push(line);
        }
    }

    /// Adds text to the last line, or below it if it does not fit.
    fn append(&mut self, indent: usize, text: &'static str, role: Role) {
        let taken = |line: &Line<'_>| line.spans.iter().map(|span| width(&span.content)).sum::<usize>();
        let fits = self.lines.body.last().is_some_and(|line| taken(line) + width(text) <= self.text_columns);
        match self.lines.body.last_mut() {
            Some(line) if fits => line.spans.push(Span::styled(text, self.theme.style(role))),
            _ => self.paragraph(indent, text.trim_start(), role),
        }
    }

    fn bordered(&self, indent: usize, spans: Vec<Span<'a>>) -> Line<'a> {
        const BLANKS: &str = "                ";
        let mut line = vec![Span::styled(self.theme.signs.vertical, self.style(self.border))];
        if indent > 0 {
            line.push(Span::raw(&BLANKS[..indent.min(BLANKS.len())]));
        }
        line.extend(spans);
        Line::from(line)
    }

    /// The columns left for text at an indent, after the border.
    fn room(&self, indent: usize) -> usize {
        self.text_columns.saturating_sub(indent + 1)
    }

    fn style(&self, role: Role) -> Style {
        self.theme.style(role)
    }
}
