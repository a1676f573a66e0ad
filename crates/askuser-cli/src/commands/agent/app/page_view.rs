//! The page on which an output is read: what it is of, its rows, and the keys. A pure function of state and size.

use super::outputs::Heading;
use super::pager::{Pager, Search, VisibleRow};
use super::scrollback::{call_line, join_fitting, thought_words};
use super::state::State;
use crate::truncate::truncate;
use askuser_terminal::text::{Line, Modifier, Span, Style};
use askuser_terminal::{Role, Theme, width};

/// What is not the output's: the heading and a rule above it, the keys below it.
const FRAME_ROWS: usize = 3;
/// Text of others is indented, here as in the scrollback.
const INDENT: &str = "  ";

/// The columns and rows for the text of an output on a terminal of this size.
pub(crate) fn text_area((columns, rows): (u16, u16)) -> (usize, usize) {
    let columns = usize::from(columns).saturating_sub(width(INDENT) + 1).max(2);
    (columns, usize::from(rows).saturating_sub(FRAME_ROWS).max(1))
}

pub(crate) fn page(state: &State, pager: &Pager, theme: &Theme, (columns, rows): (u16, u16)) -> Vec<Line<'static>> {
    let columns = usize::from(columns).saturating_sub(1).max(2);
    let muted = theme.style(Role::Muted);
    let (_, height) = text_area((columns as u16 + 1, rows));
    let mut lines = vec![heading(state, pager, theme, columns), Line::styled(rule(theme, columns), muted)];
    lines.extend(pager.visible().map(|row| text_row(&row, theme)));
    lines.resize_with(height + FRAME_ROWS - 1, Line::default);
    lines.push(footer(state, pager, theme, columns));
    // On a very small screen the text comes first.
    let over = lines.len().saturating_sub(usize::from(rows));
    lines.split_off(over)
}

fn rule(theme: &Theme, columns: usize) -> String {
    theme.signs.horizontal.repeat(columns)
}

fn heading(state: &State, pager: &Pager, theme: &Theme, columns: usize) -> Line<'static> {
    let place = state.outputs.position(pager.shown).filter(|(_, count)| *count > 1);
    let place = place.map_or_else(String::new, |(at, count)| format!("  {at} of {count}"));
    let room = columns.saturating_sub(width(&place));
    let mut line = match state.outputs.get(pager.shown).map(|output| &output.heading) {
        Some(Heading::Call(call)) => call_line(call, theme, room),
        Some(Heading::Thoughts(took)) => Line::styled(thought_words(*took), theme.style(Role::Text)),
        Some(Heading::Help) => Line::styled("Commands and keys", theme.style(Role::Text)),
        None => Line::default(),
    };
    line.spans.push(Span::styled(place, theme.style(Role::Muted)));
    line
}

fn text_row(row: &VisibleRow<'_>, theme: &Theme) -> Line<'static> {
    let style = theme.style(row.role);
    let mut spans = vec![Span::raw(INDENT)];
    let mut at = 0;
    for found in &row.found {
        spans.push(Span::styled(row.text[at..found.start].to_owned(), style));
        spans.push(Span::styled(row.text[found.clone()].to_owned(), style.add_modifier(Modifier::REVERSED)));
        at = found.end;
    }
    spans.push(Span::styled(row.text[at..].to_owned(), style));
    Line::from(spans)
}

fn footer(state: &State, pager: &Pager, theme: &Theme, columns: usize) -> Line<'static> {
    let room = columns.saturating_sub(width(INDENT));
    if let Search::Typing(text) = &pager.search {
        let field = format!("/{}", text.as_str());
        let cursor = Span::styled(" ", Style::new().add_modifier(Modifier::REVERSED));
        return Line::from(vec![Span::styled(field, theme.style(Role::Primary)), cursor]);
    }
    if let Some(waiting) = state.questions.pending.front() {
        let words = format!("A question waits: {}. q goes back to it.", waiting.set().questions()[0].header());
        let warning = theme.message(Role::Warning);
        return Line::styled(truncate(&format!("{} {words}", theme.signs.warning), columns, theme), warning);
    }
    if let Search::NotFound(pattern) = &pager.search {
        let words = format!("{INDENT}Not found: {pattern}");
        return Line::styled(truncate(&words, columns, theme), theme.message(Role::Warning));
    }
    let mut facts = vec![format!("{}%", pager.percent()), "q back".to_owned()];
    facts.push(format!("{} PgUp PgDn g G move", [theme.signs.up, theme.signs.down].concat()));
    facts.push("/ search".into());
    if matches!(pager.search, Search::For(_)) {
        facts.push("n N next".into());
    }
    if state.outputs.position(pager.shown).is_some_and(|(_, count)| count > 1) {
        facts.push("Left Right other outputs".into());
    }
    Line::styled(format!("{INDENT}{}", join_fitting(facts, room, theme)), theme.style(Role::Muted))
}
