//! A prompt as lines: the head, a body that may be longer than the screen, and the footer.
//!
//! The lines depend on the width but not on the height. [`View`](super::View) decides which part of the body is
//! visible.

mod keys;
mod lines;
mod question;
mod review;
mod text_field;

pub use keys::key_hints;
pub(super) use keys::{Hint, footer, footer_hints};
pub(super) use lines::{FooterKind, PromptLines};

use super::frame_line::SharedLine;
use super::laid_out::{LaidOut, LastLine, PageOf, PageParts};
use super::theme::{PromptStyle, Role, Theme};
use super::wrap::{spans_width, width, wrap};
use super::{PromptPhase, border};
use askuser::prompt::{InputMode, NoticeKind, Page, Prompt, TextField};
use ratatui_core::style::{Modifier, Style};
use ratatui_core::text::{Line, Span};
use std::sync::Arc;

/// The message after the deadline has passed.
pub(super) const TIMED_OUT: &str = "Timed out, no answer sent";
/// The number of columns of the border, with the widest blanks after it.
pub(super) const EDGE: u16 = 3;
/// The least number of blanks before the asker in a title.
pub(crate) const ORIGIN_GAP: usize = 3;
/// The blanks before a footer without a border.
const MARGIN: &str = "  ";
/// The least number of columns in which text is readable.
const LEGIBLE: usize = 10;

/// Composes the lines of a prompt.
pub(super) struct Composer<'a, 'b> {
    prompt: &'a Prompt,
    theme: &'b Theme,
    phase: PromptPhase,
    columns: usize,
    /// The number of columns of the question and the options, with the border.
    text_columns: usize,
    is_origin_shown: bool,
    border: Role,
    /// The parts that earlier frames composed.
    parts: &'b mut PageParts,
    lines: PromptLines,
}

impl<'a, 'b> Composer<'a, 'b> {
    /// Creates a composer for a prompt of this many columns. The question and the options take `text_columns` of the
    /// prompt's columns.
    pub(super) fn new(
        prompt: &'a Prompt,
        theme: &'b Theme,
        phase: PromptPhase,
        columns: usize,
        text_columns: usize,
        laid_out: &'b mut LaidOut,
    ) -> Composer<'a, 'b> {
        let border = match phase {
            PromptPhase::Expired => Role::Warning,
            PromptPhase::Asking if prompt.is_flashing() => Role::Danger,
            PromptPhase::Asking if prompt.is_answer_fresh() => Role::Success,
            PromptPhase::Asking | PromptPhase::Confirmed => Role::Muted,
        };
        let of = PageOf {
            set: prompt.set().clone(),
            origin: prompt.origin().map(str::to_owned),
            page: prompt.page(),
            wording: prompt.wording(),
            theme: *theme,
            phase,
            border,
            columns,
            text_columns,
        };
        let is_origin_shown = false;
        let lines = PromptLines::default();
        let parts = laid_out.parts(of);
        Composer { prompt, theme, phase, columns, text_columns, is_origin_shown, border, parts, lines }
    }

    /// Composes the lines. The labels of a list stay blank until [`Composer::fill_list`]. The footer names the key for
    /// the model's reason, unless the whole reason is on the screen.
    pub(super) fn compose(mut self, is_why_whole: bool) -> PromptLines {
        let prompt = self.prompt;
        self.lines.is_why_whole = is_why_whole;
        self.lines.blank = self.bordered(0, []);
        let has_tabs = prompt.set().questions().len() > 1;
        match self.parts.head.clone().filter(|_| prompt.mode() != InputMode::Help && !has_tabs) {
            Some((head, is_origin_shown)) => {
                self.lines.head = head;
                self.is_origin_shown = is_origin_shown;
            }
            None => {
                self.head();
                let head = || (self.lines.head.clone(), self.is_origin_shown);
                self.parts.head = (prompt.mode() != InputMode::Help).then(head);
            }
        }
        match (prompt.mode(), prompt.page()) {
            (InputMode::Help, _) => self.help(),
            (_, Page::Question(i)) => self.question(&prompt.set().questions()[i], prompt.draft(i)),
            (_, Page::Review) => self.review(),
        }
        match prompt.mode() {
            InputMode::Typing(TextField::Discuss) => self.closing_field("What should we clarify first?", "Message: "),
            InputMode::Typing(TextField::Decline) => {
                let all = prompt.set().questions().len() > 1;
                let words = if all { "Decline all of these questions?" } else { "Decline this question?" };
                self.closing_field(words, "Reason (optional): ")
            }
            InputMode::Typing(_) | InputMode::Choosing | InputMode::Leaving | InputMode::Help => {}
        }
        self.gap();
        self.footer();
        self.lines
    }
}

impl Composer<'_, '_> {
    fn head(&mut self) {
        let signs = self.theme.signs;
        let questions = self.prompt.set().questions();
        let several = questions.len() > 1;
        let (title, progress) = match (self.prompt.mode(), self.prompt.page()) {
            (InputMode::Help, _) => (Some("Keys"), Vec::new()),
            (_, Page::Question(i)) if several => {
                let number = i + 1;
                let count = questions.len();
                (
                    Some(questions[i].header()),
                    vec![format!("  Question {number} of {count}"), format!("  {number} of {count}")],
                )
            }
            (_, Page::Question(i)) => (questions[i].chip(), Vec::new()),
            (_, Page::Review) => {
                let long = "  Check your answers before they are sent".to_owned();
                (Some("Review"), vec![long, "  Check your answers".to_owned()])
            }
        };
        let has_tabs = several && self.prompt.mode() != InputMode::Help;
        if self.theme.prompt_style == PromptStyle::Compact {
            return self.compact_title(title, progress, has_tabs);
        }
        let chip = match (self.phase, self.border) {
            (PromptPhase::Confirmed, _) => Role::Success,
            (_, Role::Muted) => Role::Primary,
            (_, border) => border,
        };
        let edge = self.strong(chip);
        let mut line = vec![Span::styled(signs.chip_left, edge)];
        line.extend(title.map(|title| self.chip(title)));
        line.extend(title.map(|_| Span::styled(signs.chip_right, edge)));
        let room = self.columns.saturating_sub(spans_width(&line));
        let progress = progress.into_iter().find(|text| width(text) <= room);
        line.extend(progress.map(|text| Span::styled(text, self.style(Role::Detail))));
        self.lines.head.push(shared(line));
        let tabs = if has_tabs { self.tabs("") } else { Vec::new() };
        // If the tabs do not fit, the head shows only "Question 1 of 2".
        if has_tabs && spans_width(&tabs) + self.indent() < self.columns {
            let line = self.bordered(self.indent(), tabs);
            self.lines.head.push(line);
        }
    }

    /// Adds a title such as `╭ ✔ Auth Method   Providers   Review            Claude Code · shop`.
    fn compact_title(&mut self, title: Option<&str>, progress: Vec<String>, has_tabs: bool) {
        let Some(title) = title else { return };
        let tabs = if has_tabs { self.tabs(" ") } else { Vec::new() };
        let is_room = spans_width(&tabs) < self.columns;
        let mut spans = if has_tabs && is_room { tabs } else { vec![self.chip(title)] };
        let room = self.columns.saturating_sub(1 + spans_width(&spans));
        if !(has_tabs && is_room)
            && let Some(progress) = progress.into_iter().find(|text| width(text) <= room)
        {
            spans.push(Span::styled(progress, self.style(Role::Detail)));
        }
        let room = self.columns.saturating_sub(1 + spans_width(&spans));
        let origin = self.prompt.origin().filter(|_| matches!(self.prompt.page(), Page::Question(_)));
        if let Some(origin) = origin
            && let Some(gap) = room.checked_sub(width(origin)).filter(|gap| *gap >= ORIGIN_GAP)
        {
            spans.push(Span::raw(" ".repeat(gap)));
            spans.push(Span::styled(origin.to_owned(), self.style(Role::Detail)));
            self.is_origin_shown = true;
        }
        let line = self.bordered(0, spans);
        self.lines.head.push(line);
    }

    /// Returns the cursor before a row, or a blank.
    fn cursor(&self, is_here: bool) -> Span<'static> {
        if is_here { Span::styled(self.theme.signs.cursor, self.strong(Role::Text)) } else { Span::raw(" ") }
    }

    fn chip(&self, title: &str) -> Span<'static> {
        Span::styled(format!(" {title} "), self.style(Role::Chip))
    }

    /// Returns the pages, such as `✔ Auth Method  Review`, each with `pad` on both sides. Only a title includes the
    /// current page.
    fn tabs(&self, pad: &'static str) -> Vec<Span<'static>> {
        let questions = self.prompt.set().questions();
        let pages = (0..questions.len()).map(Page::Question).chain([Page::Review]);
        let is_title = self.theme.prompt_style == PromptStyle::Compact;
        let mut spans = Vec::new();
        for page in pages.filter(|page| is_title || *page != self.prompt.page()) {
            let (name, is_answered) = match page {
                Page::Question(i) => (questions[i].header(), self.prompt.answer(i).is_some()),
                Page::Review => ("Review", false),
            };
            let done = if is_answered { format!("{} ", self.theme.signs.done) } else { String::new() };
            if page == self.prompt.page() {
                spans.push(self.chip(&format!("{done}{name}")));
            } else {
                spans.push(Span::styled(format!("{pad}{done}"), self.style(Role::Success)));
                spans.push(Span::styled(format!("{name}{pad}"), self.style(Role::Secondary)));
            }
            spans.push(Span::raw(if is_title { " " } else { "  " }));
        }
        spans.pop();
        spans
    }

    fn footer(&mut self) {
        let notice = match (self.phase, self.prompt.mode(), self.prompt.notice()) {
            (PromptPhase::Expired, ..) => Some((format!("{} {TIMED_OUT}", self.theme.signs.warning), Role::Warning)),
            (_, InputMode::Leaving, _) => Some(("Discard your answers?".to_owned(), Role::Warning)),
            (_, _, Some(notice)) => {
                let role = if notice.kind == NoticeKind::Rejected { Role::Danger } else { Role::Text };
                Some((notice.text.clone(), role))
            }
            _ => None,
        };
        let rival = self.prompt.rival();
        // The hints describe the current effect of the keys.
        let is_plain = notice.is_none() || self.prompt.mode() == InputMode::Leaving;
        if let Some(rival) = rival {
            self.message(&rival.summary, Role::Warning);
        }
        if let Some((text, role)) = notice {
            self.message(&text, role);
        }
        // The keys let the person choose between two drafts.
        if is_plain || rival.is_some() {
            // If the footer has only hints, the view writes them, because they depend on the visible part.
            let hints = match self.lines.footer_kind {
                FooterKind::Hints => Line::default(),
                FooterKind::Notice => {
                    let hints = footer_hints(None, self.prompt, self.lines.is_why_whole);
                    footer(None, hints, self.theme, self.columns)
                }
            };
            self.lines.footer.push(shared(hints));
        }
    }

    /// Adds rows to the footer that stay when rows are short.
    fn message(&mut self, text: &str, role: Role) {
        let room = self.columns.saturating_sub(MARGIN.len());
        // The message is not dimmed, even if the prompt is.
        let style = Theme { dimmed: false, ..*self.theme }.message(role);
        if self.prompt.mode() != InputMode::Help {
            self.lines.footer_kind = FooterKind::Notice;
        }
        let dot = format!(" {}", self.theme.signs.dot);
        for range in wrap(text, room, room) {
            let words = text[range].trim_end_matches(' ');
            // A dot between two items is dropped at the end of a row.
            let words = Span::styled(words.strip_suffix(&dot).unwrap_or(words).to_owned(), style);
            self.lines.footer.push(shared(vec![Span::raw(MARGIN), words]));
        }
    }

    /// Returns a line below a page: the bottom border or the key hints.
    pub(super) fn last_line(&mut self, of: LastLine) -> SharedLine {
        let theme = self.theme;
        let columns = self.columns;
        let edge = self.style(self.border);
        self.parts.last_line(of, |of| match of {
            LastLine::Border { columns, time } => border::bottom(columns, time, edge, theme),
            LastLine::Hints { read_on, hints, mut status } => {
                let mut line = footer(read_on, hints, theme, columns.saturating_sub(spans_width(&status)));
                if line.spans.len() == 1 {
                    status.pop();
                }
                line.spans.splice(1..1, status);
                if theme.prompt_style == PromptStyle::Compact {
                    line.spans[0] = Span::styled(format!("{} ", theme.signs.box_bottom_left), edge);
                }
                line
            }
        })
    }

    /// Returns the bottom border. It is as long as the widest of these lines, but no longer than the prompt.
    pub(super) fn border(&mut self, lines: &[SharedLine]) -> SharedLine {
        let time = border::time(self.prompt, self.theme, self.phase, self.columns);
        let widest = lines.iter().map(|line| line.columns()).max().unwrap_or(0);
        self.last_line(LastLine::Border { columns: widest.min(self.columns), time })
    }

    // ---- lines ----

    /// Adds a blank line, unless the prompt is compact.
    fn gap(&mut self) {
        if self.theme.prompt_style == PromptStyle::Proposal {
            self.lines.body.push(self.lines.blank.clone());
        }
    }

    /// Returns the number of blanks between the border and the text.
    fn indent(&self) -> usize {
        self.theme.prompt_style.indent()
    }

    fn paragraph(&mut self, indent: usize, text: &str, style: Style) {
        let room = self.room(indent);
        for range in wrap(text, room, room) {
            self.row(indent, [Span::styled(text[range].trim_end_matches(' ').to_owned(), style)]);
        }
    }

    /// Adds text to the last line, or below that line if the text does not fit.
    fn append(&mut self, indent: usize, text: &str, role: Role) {
        let words = Span::styled(text.to_owned(), self.style(role));
        match self.lines.body.last_mut() {
            Some(line) if line.columns() + width(text) <= self.text_columns => Arc::make_mut(line).extend([words]),
            _ => self.paragraph(indent, text.trim_start(), self.style(role)),
        }
    }

    /// Adds a line to the body.
    fn row(&mut self, indent: usize, spans: impl IntoIterator<Item = Span<'static>>) {
        let line = self.bordered(indent, spans);
        self.lines.body.push(line);
    }

    fn bordered(&self, indent: usize, spans: impl IntoIterator<Item = Span<'static>>) -> SharedLine {
        const BLANKS: &str = "                ";
        let spans = spans.into_iter();
        let mut line = Vec::with_capacity(2 + spans.size_hint().0);
        line.push(Span::styled(self.theme.signs.vertical, self.style(self.border)));
        if indent > 0 {
            line.push(Span::raw(&BLANKS[..indent.min(BLANKS.len())]));
        }
        line.extend(spans);
        shared(line)
    }

    /// Returns the columns left for text at an indent, after the border.
    fn room(&self, indent: usize) -> usize {
        self.text_columns.saturating_sub(indent + 1)
    }

    fn style(&self, role: Role) -> Style {
        self.parts.styles[role as usize]
    }

    fn strong(&self, role: Role) -> Style {
        self.style(role).add_modifier(Modifier::BOLD)
    }
}

/// Wraps a line so that several frames can share it.
pub(super) fn shared(line: impl Into<Line<'static>>) -> SharedLine {
    SharedLine::new(line.into().into())
}
