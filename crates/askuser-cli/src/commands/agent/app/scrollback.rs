//! Scrollback items and their rendering. Text from the model and from tools goes through `sanitize`. A diff goes
//! through `exact`, so that it looks as it did when the person agreed to it.
//!
//! Text in the first column is askuser's own: calls and their results, answers, notes. Every row of the model's text
//! and of a tool's output is indented, and cannot pass for such a line. Rows that are too wide are broken here, because
//! the terminal would continue in the first column.

use super::agent_thread::SessionInfo;
use super::recall::Closing;
use super::slash_commands;
use super::tool_calls::{CallStatus, CallSummary, counted, format_duration, without_signs};
use super::view::mode_words;
use crate::store::display::home_relative;
use crate::truncate::truncate;
use askuser::sanitize;
use askuser_terminal::markdown::{self, Row};
use askuser_terminal::text::{Line, Modifier, Span};
use askuser_terminal::{
    Confirm, Presentation, Role, ShownDiffLine, Signs, Theme, closing_lines, context_lines, diff_lines, width,
    wrap_styled,
};
use std::time::Duration;

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Item {
    Gap,
    Header(SessionInfo),
    UserMessage(String),
    ModelText(Vec<Row>),
    Call(CallSummary),
    /// The last lines of a call's output, at most `max_lines`.
    Output {
        text: String,
        role: Role,
        max_lines: usize,
    },
    /// The first lines of a diff, at most `max_lines`.
    Diff {
        text: String,
        max_lines: usize,
    },
    Note(Role, String),
    /// The result of a question from an earlier process.
    Closing(Box<Closing>),
    /// The commands, and the keys of this presentation.
    Help(Presentation),
}

/// The maximum width of text. Longer lines are hard to read.
pub(crate) const MAX_COLUMNS: usize = 100;
pub(crate) const MODEL_INDENT: usize = 2;
const MESSAGE_LINES: usize = 12;
/// The maximum number of characters in a line of a tool's output. Longer lines are truncated.
const MAX_LINE_CHARS: usize = 2_000;

/// Returns the bullet before a tool call.
pub(crate) fn dot(theme: &Theme) -> &'static str {
    if theme.signs == Signs::ASCII { theme.signs.bullet } else { theme.signs.radio_on }
}

pub(crate) fn lines(item: &Item, theme: &Theme, columns: usize) -> Vec<Line<'static>> {
    let whole = columns.saturating_sub(1).max(2);
    let columns = whole.min(MAX_COLUMNS);
    match item {
        Item::Gap => vec![Line::default()],
        Item::Header(session) => header(session, theme, columns),
        Item::UserMessage(text) => user_message(text, theme, columns),
        Item::ModelText(rows) => model_text(rows, theme, columns, whole),
        Item::Call(call) => vec![call_line(call, theme, columns)],
        Item::Output { text, role, max_lines } => output(text, *role, *max_lines, theme, whole),
        Item::Diff { text, max_lines } => diff(text, *max_lines, theme, whole),
        Item::Closing(closing) => closing_of(closing, theme, columns),
        Item::Note(role, text) => note(*role, text, theme, columns),
        Item::Help(Presentation::Screen) => help(KEYS, theme, columns),
        Item::Help(Presentation::Line) => help(&KEYS[KEYS.len() - LINE_MODE_KEYS..], theme, columns),
    }
}

/// Renders the model's text, indented. Prose takes at most `columns`, and code the whole width.
pub(crate) fn model_text(rows: &[Row], theme: &Theme, columns: usize, whole: usize) -> Vec<Line<'static>> {
    let indent = || Span::raw(" ".repeat(MODEL_INDENT));
    let mut lines = Vec::new();
    for line in markdown::render(rows, theme, columns.saturating_sub(MODEL_INDENT)) {
        if MODEL_INDENT + total_width(&line.spans) > whole {
            let words = line.spans.iter().map(|span| (span.content.as_ref(), line.style.patch(span.style)));
            lines.extend(wrap_styled(words, &[indent()], &[indent(), indent()], whole));
        } else if line.spans.iter().any(|span| !span.content.is_empty()) {
            lines.push(Line { spans: [vec![indent()], line.spans].concat(), ..line });
        } else {
            lines.push(line);
        }
    }
    lines
}

fn closing_of(closing: &Closing, theme: &Theme, columns: usize) -> Vec<Line<'static>> {
    let columns = u16::try_from(columns).unwrap_or(u16::MAX);
    let context = closing.context.iter().flat_map(|context| context_lines(context, theme, columns));
    context.chain(closing_lines(&closing.set, &closing.outcome, Confirm::Inline, theme, columns)).collect()
}

/// Formats the duration of the reasoning.
pub(crate) fn thought_words(took: Duration) -> String {
    format!("Thought for {}", format_duration(took))
}

fn header(session: &SessionInfo, theme: &Theme, columns: usize) -> Vec<Line<'static>> {
    let version = concat!("askuser ", env!("CARGO_PKG_VERSION"));
    let folder = home_relative(&session.cwd.display().to_string());
    let facts = [&*sanitize::line(&session.model), &*sanitize::line(&folder), mode_words(session.mode)]
        .map(|fact| format!(" {} {fact}", theme.signs.dot))
        .concat();
    let words = [
        (version, theme.style(Role::Primary).add_modifier(Modifier::BOLD)),
        (facts.as_str(), theme.style(Role::Muted)),
    ];
    wrap_styled(words, &[], &[Span::raw("  ")], columns)
}

fn user_message(text: &str, theme: &Theme, columns: usize) -> Vec<Line<'static>> {
    let text = sanitize::block(text);
    let lead = [Span::styled(format!("{} ", theme.signs.cursor), theme.style(Role::Primary))];
    let style = theme.style(Role::Text).add_modifier(Modifier::BOLD);
    let text = text.trim_end_matches('\n');
    let end = text.match_indices('\n').nth(MESSAGE_LINES - 1).map(|(end, _)| end);
    let shown = &text[..end.unwrap_or(text.len())];
    let mut lines = wrap_styled([(shown, style)], &lead, &[Span::raw("  ")], columns);
    if let Some(end) = end {
        let more = text[end + 1..].split('\n').count();
        let words = format!("{} {} of your message", theme.signs.ellipsis, counted(more, "more line"));
        lines.push(Line::styled(words, theme.style(Role::Muted)));
    }
    lines
}

/// Renders a call in one row. The row contains the name, and as much of the input, the status and the facts as fits.
pub(crate) fn call_line(call: &CallSummary, theme: &Theme, columns: usize) -> Line<'static> {
    let (sign, role) = match call.status {
        CallStatus::Succeeded => (theme.signs.done, Role::Success),
        CallStatus::Failed => (theme.signs.not_done, Role::Danger),
        CallStatus::Asking => ("?", Role::Warning),
        CallStatus::Running => (theme.signs.ellipsis, Role::Muted),
    };
    let took = call.took.map(format_duration);
    let facts =
        call.ending.clone().into_iter().chain(call.permission.clone()).chain(took).chain(call.facts.iter().cloned());
    let start = call_name(&call.name, call.task.as_deref(), theme, columns);
    let room = columns.saturating_sub(total_width(&start) + width(sign) + 3);
    // The failure takes precedence over the command.
    let ending = call.ending.as_deref().map_or(0, width);
    let facts_room = room.saturating_sub(width(&call.about).min(room * 2 / 3) + 1).max(ending.min(room));
    let facts = join_fitting(facts, facts_room, theme);
    let facts = if facts.is_empty() { facts } else { format!(" {facts}") };
    let mut spans = with_about(start, &call.about, theme, room.saturating_sub(width(&facts)));
    spans.push(Span::styled(format!("  {sign}"), theme.style(role)));
    let role = if call.status == CallStatus::Failed { Role::Danger } else { Role::Muted };
    spans.push(Span::styled(facts, theme.style(role)));
    Line::from(spans)
}

/// Renders a call's name and input, truncated so that `after` columns are left.
pub(crate) fn call_start(
    name: &str,
    about: &str,
    task: Option<&str>,
    theme: &Theme,
    columns: usize,
    after: usize,
) -> Vec<Span<'static>> {
    let start = call_name(name, task, theme, columns);
    let room = columns.saturating_sub(total_width(&start) + after + 1);
    with_about(start, about, theme, room)
}

/// Renders a call's task and name, truncated so that there is room for its input.
fn call_name(name: &str, task: Option<&str>, theme: &Theme, columns: usize) -> Vec<Span<'static>> {
    let mut spans = vec![Span::styled(format!("{} ", dot(theme)), theme.style(Role::Primary))];
    if let Some(task) = task {
        // The model's name of the task follows the word "Task". Both take a third of the row.
        const TASK: &str = "Task ";
        let room = (columns / 3).saturating_sub(TASK.len());
        let task = truncate(&without_signs(&sanitize::line(task)), room, theme);
        spans.push(Span::styled(format!("{TASK}{task}: "), theme.style(Role::Muted)));
    }
    let name = truncate(&sanitize::line(name), (columns / 4).max(8), theme);
    spans.push(Span::styled(name, theme.style(Role::Text).add_modifier(Modifier::BOLD)));
    spans
}

fn with_about(mut spans: Vec<Span<'static>>, about: &str, theme: &Theme, room: usize) -> Vec<Span<'static>> {
    if !about.is_empty() && room > 4 {
        let about = truncate(&without_signs(about), room, theme);
        spans.push(Span::styled(format!(" {about}"), theme.style(Role::Secondary)));
    }
    spans
}

fn total_width(spans: &[Span<'_>]) -> usize {
    spans.iter().map(|span| width(&span.content)).sum()
}

/// Joins the facts that fit into this width, in order.
pub(crate) fn join_fitting(facts: impl IntoIterator<Item = String>, columns: usize, theme: &Theme) -> String {
    let between = format!(" {} ", theme.signs.dot);
    let mut words = String::new();
    for fact in facts {
        let more = if words.is_empty() { fact } else { format!("{between}{fact}") };
        if width(&words) + width(&more) <= columns {
            words.push_str(&more);
        }
    }
    words
}

/// Renders the end of an output, because errors usually stand there.
fn output(text: &str, role: Role, max_lines: usize, theme: &Theme, columns: usize) -> Vec<Line<'static>> {
    let clean = sanitize::block(text.trim_end());
    let skipped = clean.lines().count().saturating_sub(max_lines);
    let mut lines = Vec::new();
    if skipped > 0 {
        lines.push(left_out(skipped, "earlier", theme, columns));
    }
    for line in clean.lines().skip(skipped) {
        lines.extend(indented(line, role, &[], "    ".into(), theme, columns));
    }
    lines
}

/// Renders a diff. Wrapped lines are indented past the number and the `+` or `-`.
fn diff(text: &str, max_lines: usize, theme: &Theme, columns: usize) -> Vec<Line<'static>> {
    let shown = diff_lines(text, theme);
    let rows = |line: &ShownDiffLine| {
        let number = if line.number.is_empty() { String::new() } else { format!("{} ", line.number) };
        let further = " ".repeat(5 + width(&number));
        indented(&line.text, line.role, &[Span::styled(number, theme.style(Role::Muted))], further, theme, columns)
    };
    let mut lines: Vec<Line<'static>> = shown.iter().take(max_lines).flat_map(rows).collect();
    let more = shown.len().saturating_sub(max_lines);
    if more > 0 {
        lines.push(left_out(more, "more", theme, columns));
    }
    lines
}

/// Wraps a line of untrusted text. Continuations are indented by `further`.
fn indented(
    line: &str,
    role: Role,
    lead: &[Span<'static>],
    further: String,
    theme: &Theme,
    columns: usize,
) -> Vec<Line<'static>> {
    let end = line.char_indices().nth(MAX_LINE_CHARS).map(|(end, _)| end);
    let ellipsis = if end.is_some() { theme.signs.ellipsis } else { "" };
    let style = theme.style(role);
    let words = [(&line[..end.unwrap_or(line.len())], style), (ellipsis, style)];
    wrap_styled(words, &[&[Span::raw("    ")], lead].concat(), &[Span::raw(further)], columns)
}

fn left_out(count: usize, which: &str, theme: &Theme, columns: usize) -> Line<'static> {
    let words = format!("{} {}", theme.signs.ellipsis, counted(count, &format!("{which} line")));
    let hint = format!("{words}, Ctrl-O or /output shows all");
    Line::styled(if width(&hint) < columns { hint } else { words }, theme.style(Role::Muted))
}

fn note(role: Role, text: &str, theme: &Theme, columns: usize) -> Vec<Line<'static>> {
    let sign = match role {
        Role::Danger => theme.signs.not_done,
        Role::Warning => theme.signs.warning,
        Role::Success => theme.signs.done,
        _ => theme.signs.bullet,
    };
    let lead = [Span::styled(format!("{sign} "), theme.style(role))];
    let words = sanitize::block(text);
    let style = theme.style(if role == Role::Muted { Role::Muted } else { Role::Text });
    wrap_styled([(words.as_ref(), style)], &lead, &[Span::raw("  ")], columns)
}

/// The keys in the help. The last [`LINE_MODE_KEYS`] of them also work in line mode.
const KEYS: &[(&str, &str)] = &[
    ("Enter", "send; while the agent works: it is read before the next step"),
    ("Alt-Enter, Ctrl-J", "new line"),
    ("Up, Down", "move in a menu; earlier and later messages; Up takes back one that was not read yet"),
    ("Tab", "open a question that waits; complete a command or a file"),
    ("@path", "attach a file to the message"),
    ("Shift-Tab", "ask first, accept edits, plan mode"),
    ("Esc", "stop the agent"),
    ("Ctrl-O", "read the last outputs in full, in $PAGER"),
    ("Ctrl-G", "write in $VISUAL or $EDITOR"),
    ("!command", "run a command of your own; the agent reads the output with your next message"),
    ("Ctrl-C", "stop the agent, clear the line; twice: quit"),
    ("Ctrl-D", "quit, with nothing typed"),
    ("Ctrl-Z", "suspend"),
];

const LINE_MODE_KEYS: usize = 4;

fn help(keys: &[(&str, &'static str)], theme: &Theme, columns: usize) -> Vec<Line<'static>> {
    let commands = slash_commands::TABLE.iter().map(|row| (format!("/{} {}", row.name, row.argument), row.about));
    let keys = keys.iter().map(|(keys, about)| ((*keys).to_owned(), *about));
    let rows: Vec<(String, &str)> = commands.chain(keys).collect();
    let names = rows.iter().map(|(name, _)| name.trim_end().len()).max().unwrap_or(0) + 2;
    let mut lines = Vec::new();
    for (name, about) in rows {
        let name = name.trim_end().to_owned();
        let style = theme.style(Role::Primary);
        let words = [(about, theme.style(Role::Secondary))];
        if columns < names + 20 {
            lines.push(Line::from(Span::styled(name, style)));
            lines.extend(wrap_styled(words, &[Span::raw("  ")], &[Span::raw("  ")], columns));
        } else {
            let lead = [Span::styled(format!("{name:names$}"), style)];
            lines.extend(wrap_styled(words, &lead, &[Span::raw(" ".repeat(names))], columns));
        }
    }
    lines
}

#[cfg(test)]
#[path = "scrollback_tests.rs"]
mod tests;
