//! The report of `askuser doctor`: a verdict, and a row for each check.

use super::LIMIT;
use crate::failure::Failure;
use askuser::sanitize;
use askuser_terminal::text::{Line, Span, Style};
use askuser_terminal::{Role, Theme, wrap};

/// The result of a check: its facts, and a fix if there is a problem.
pub(super) struct Row {
    name: String,
    /// The judgement: `Some(true)` is good, `Some(false)` is a problem, and `None` is a fact without a judgement.
    pub(super) is_well: Option<bool>,
    facts: Vec<String>,
    fix: Option<String>,
}

impl Row {
    pub(super) fn plain(name: &str, fact: impl Into<String>) -> Row {
        Row { name: name.to_owned(), is_well: None, facts: vec![fact.into()], fix: None }
    }

    pub(super) fn good(name: &str, fact: impl Into<String>) -> Row {
        Row { is_well: Some(true), ..Row::plain(name, fact) }
    }

    pub(super) fn bad(name: &str, fact: impl Into<String>, fix: impl Into<String>) -> Row {
        Row { is_well: Some(false), fix: Some(fix.into()), ..Row::plain(name, fact) }
    }

    pub(super) fn failed(name: &str, what: &str, failure: &Failure) -> Row {
        let fact = format!("{what}{}", failure.message);
        Row { is_well: Some(false), fix: failure.hint.clone(), ..Row::plain(name, fact) }
    }

    /// Returns the row of a check that has no result in time.
    pub(super) fn late(name: &str) -> Row {
        let fact = format!("not checked: no result within {} s", LIMIT.as_secs());
        Row { is_well: Some(false), ..Row::plain(name, fact) }
    }

    pub(super) fn and(mut self, fact: impl Into<String>) -> Row {
        self.facts.push(fact.into());
        self
    }
}

/// Returns the verdict, then a row for each check, wrapped at words.
pub(super) fn lines(verdict: &Row, rows: &[Row], theme: &Theme, columns: Option<usize>) -> Vec<Line<'static>> {
    const NAME: usize = 14;
    let mark = |row: &Row| match row.is_well {
        None => Span::raw(" "),
        Some(true) => Span::styled(theme.signs.done, theme.style(Role::Success)),
        Some(false) => Span::styled(theme.signs.not_done, theme.style(Role::Danger)),
    };
    let mut lines = row_lines(vec![mark(verdict), Span::raw(" ")], 2, verdict, theme, columns);
    lines.push(Line::default());
    for row in rows {
        let name = Span::styled(format!(" {:<NAME$}", row.name), theme.strong(Role::Text));
        lines.extend(row_lines(vec![mark(row), name], 1 + 1 + NAME, row, theme, columns));
    }
    lines
}

/// Returns the lines with the facts and the fix of a row, starting in this column. The first line begins with `lead`.
fn row_lines(
    lead: Vec<Span<'static>>,
    column: usize,
    row: &Row,
    theme: &Theme,
    columns: Option<usize>,
) -> Vec<Line<'static>> {
    let room = columns.unwrap_or(usize::MAX).saturating_sub(column).max(20);
    let facts = row.facts.iter().map(|fact| (fact.clone(), Style::default()));
    let fix = row.fix.iter().map(|fix| (format!("fix: {fix}"), theme.style(Role::Warning)));
    let mut lead = Some(lead);
    let mut lines = Vec::new();
    for (words, style) in facts.chain(fix) {
        let words = sanitize::line(&words);
        for range in wrap(&words, room, room) {
            let mut spans = lead.take().unwrap_or_else(|| vec![Span::raw(" ".repeat(column))]);
            spans.push(Span::styled(words[range].trim_end().to_owned(), style));
            lines.push(Line::from(spans));
        }
    }
    lines
}
