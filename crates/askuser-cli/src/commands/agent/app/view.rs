//! The live region: the model's unfinished text, running calls, unread messages, the input box and the status line. It
//! is a pure function of state, size and time.

use super::composer::Offer;
use super::scrollback::{MAX_COLUMNS, MODEL_INDENT, call_line, call_start, join_fitting, model_text};
use super::send::context_percent;
use super::state::State;
use super::tool_calls::{RunningCall, format_count, format_duration, is_shown_by_prompt, shown_name};
use crate::config::Price;
use crate::truncate::truncate;
use askuser::sanitize;
use askuser_agent::{PermissionMode, Usage};
use askuser_terminal::text::{Line, Modifier, Position, Span};
use askuser_terminal::{Role, Signs, Theme, width, wrap_styled};
use std::time::Duration;

const SPINNER: &[&str] = &["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];
const SPINNER_ASCII: &[&str] = &["|", "/", "-", "\\"];
const PLACEHOLDER: &str = "Say what to do, or /help";
const MAX_LISTED: usize = 4;
const MENU_ROWS: usize = 14;
/// The number of lines that are shown of a running call's output.
const OUTPUT_LINES: usize = 5;

/// Lays the live region out for a terminal of this size. Returns its lines, and the position of the caret.
pub(crate) fn live(state: &State, theme: &Theme, size: (u16, u16), now: Duration) -> (Vec<Line<'static>>, Position) {
    let (columns, rows) = area(size);
    let (mut input, caret) = input_box(state, theme, columns, rows);
    let status = status(state, theme, columns);
    let mut activity = activity(state, theme, (columns, rows), now);
    // If rows are short, the input box has priority over the activity, and the activity over the status lines.
    let room = rows.saturating_sub(input.len());
    // The line about a pending question has priority over the status lines.
    let status_room = room.saturating_sub(usize::from(!state.questions.pending.is_empty()));
    let status = fitting(status, status_room.min(MENU_ROWS), state.composer.chosen, theme);
    let room = room - status.len();
    let activity: Vec<Line<'static>> =
        // The last lines are kept, because the very last one announces a pending question.
        if activity.len() + 1 > room { activity.split_off(activity.len().saturating_sub(room)) } else { activity };
    // The height is limited because a terminal that becomes narrower wraps these lines before they are erased. Lines
    // that then scroll off the top stay in the scrollback.
    let room = (room - activity.len()).saturating_sub(2).min((rows / 3).max(2));
    let mut tail = model_text(&state.turn.stream.tail(), theme, columns, columns);
    if !tail.is_empty() && state.begins_text() {
        tail.insert(0, Line::default());
    }
    let mut lines: Vec<Line<'static>> = tail.split_off(tail.len().saturating_sub(room));
    if lines.len() + activity.len() + input.len() + status.len() < rows {
        lines.push(Line::default());
    }
    lines.extend(activity);
    let top = lines.len() as u16;
    lines.append(&mut input);
    lines.extend(status);
    (lines, Position::new(caret.0 as u16, top + caret.1 as u16))
}

/// Returns the lines that fit, with the chosen line among them. The last line shows how many more there are.
fn fitting(lines: Vec<Line<'static>>, room: usize, chosen: usize, theme: &Theme) -> Vec<Line<'static>> {
    if lines.len() <= room {
        return lines;
    }
    let shown = room.saturating_sub(1);
    let words = format!("  {} {} more", theme.signs.ellipsis, lines.len() - shown);
    let more = (room > 0).then(|| Line::styled(words, theme.style(Role::Muted)));
    lines.into_iter().skip((chosen + 1).saturating_sub(shown)).take(shown).chain(more).collect()
}

/// Returns the running calls, the spinner, the unread messages, and the pending question.
fn activity(state: &State, theme: &Theme, (columns, rows): (usize, usize), now: Duration) -> Vec<Line<'static>> {
    let mut lines = Vec::new();
    let clock = state.clock(now);
    let muted = theme.style(Role::Muted);
    let frames = if theme.signs == Signs::ASCII { SPINNER_ASCII } else { SPINNER };
    let spinner = frames[state.frame(now) % frames.len()];
    if let Some(output) = state.turn.thought.and_then(|thought| state.outputs.get(thought.output)) {
        let last = output.last_lines(1).pop().unwrap_or_default();
        let words = last_words(&last, columns.saturating_sub(MODEL_INDENT), theme);
        lines.push(Line::styled(format!("{}{words}", " ".repeat(MODEL_INDENT)), muted));
    }
    let calls: Vec<&RunningCall> = state.turn.calls.iter().filter(|call| !is_shown_by_prompt(&call.name)).collect();
    let hidden = calls.len().saturating_sub(MAX_LISTED);
    for call in &calls[hidden..] {
        if let Some(ended) = &call.ended {
            lines.push(call_line(&ended.summary, theme, columns));
            continue;
        }
        let time = format_duration(whole_seconds(call.working_time(now)));
        let mut spans =
            call_start(&shown_name(&call.name), &call.about, call.task.as_deref(), theme, columns, width(&time) + 4);
        spans.push(Span::styled(format!("  {time}"), muted));
        lines.push(Line::from(spans));
        let written = call.output.and_then(|output| state.outputs.get(output));
        let last = written.map(|output| output.last_lines(OUTPUT_LINES.min(rows / 4))).unwrap_or_default();
        let row = |line: &String| format!("    {}", truncate(line, columns.saturating_sub(4), theme));
        lines.extend(last.iter().map(|line| Line::styled(row(line), muted)));
    }
    if hidden > 0 {
        lines.push(Line::styled(format!("  {} {hidden} more", theme.signs.ellipsis), muted));
    }
    if let Some(turn) = state.turn.running.filter(|_| !state.is_paused()) {
        let time = format_duration(whole_seconds(clock.saturating_sub(turn.since)));
        let words = match (turn.is_stopping, &state.turn.thought) {
            (true, _) => "Stopping",
            (false, Some(_)) => "Thinking",
            (false, None) => "Working",
        };
        let mut facts = vec![time];
        facts.extend(tokens(state, theme));
        if !turn.is_stopping {
            facts.push("Esc stops".into());
        }
        lines.push(Line::from(vec![
            Span::styled(format!("{spinner} {words} "), theme.style(Role::Primary)),
            Span::styled(join_fitting(facts, columns.saturating_sub(width(words) + 3), theme), muted),
        ]));
    }
    let said = state.composer.said.iter().map(|text| ("  sent: ", text));
    let waiting = state.composer.waiting.iter().map(|text| ("  waits: ", text)).take(MAX_LISTED);
    for (label, text) in said.chain(waiting) {
        let first = sanitize::line(text);
        let room = columns.saturating_sub(10);
        lines.push(Line::from(vec![
            Span::styled(label, muted),
            Span::styled(truncate(&first, room, theme), theme.style(Role::Secondary)),
        ]));
    }
    if state.composer.waiting.len() > MAX_LISTED {
        let more = format!("  {} {} more waiting", theme.signs.ellipsis, state.composer.waiting.len() - MAX_LISTED);
        lines.push(Line::styled(more, muted));
    }
    if let Some(waiting) = state.questions.pending.front() {
        let what = format!("A question waits: {}", waiting.set().questions()[0].header());
        let words = if state.composer.draft.is_blank() {
            format!("{what}. It opens when you stop typing.")
        } else {
            format!("{what}. Tab opens it; your text is kept.")
        };
        let short = if state.composer.draft.is_blank() {
            what
        } else {
            format!("Tab opens a question: {}", waiting.set().questions()[0].header())
        };
        let words = if width(&words) + 3 > columns { short } else { words };
        lines.push(Line::from(vec![
            Span::styled(format!("{} ", theme.signs.warning), theme.style(Role::Warning)),
            Span::styled(truncate(&words, columns.saturating_sub(3), theme), theme.message(Role::Warning)),
        ]));
    }
    lines
}

/// Rounds a duration below ten seconds down to tenths of a second.
fn whole_seconds(time: Duration) -> Duration {
    if time < Duration::from_secs(10) { Duration::from_millis((time.as_millis() / 100 * 100) as u64) } else { time }
}

/// Returns the end of a line that is too wide, starting at a word.
fn last_words(line: &str, columns: usize, theme: &Theme) -> String {
    if width(line) <= columns {
        return line.to_owned();
    }
    let ellipsis = theme.signs.ellipsis;
    let room = columns.saturating_sub(width(ellipsis));
    let starts = line.char_indices().map(|(at, _)| at).filter(|at| width(&line[*at..]) <= room);
    let words = starts.clone().find(|at| line[..*at].ends_with(' ')).or(starts.clone().next());
    format!("{ellipsis}{}", &line[words.unwrap_or(line.len())..])
}

fn tokens(state: &State, theme: &Theme) -> Option<String> {
    let usage = state.turn.usage;
    (usage.input_tokens + usage.output_tokens > 0).then(|| {
        let [input, output] = [usage.input_tokens, usage.output_tokens].map(format_count);
        let of = if state.turn.running.is_some() { "this" } else { "last" };
        format!("{of} turn {} {input} {} {output} tokens", theme.signs.up, theme.signs.down)
    })
}

/// Returns the columns of the frame on each side, which is 0 on small screens.
fn side(theme: &Theme, columns: usize, rows: usize) -> usize {
    if rows >= 6 && columns >= 16 { width(theme.signs.vertical) + 1 } else { 0 }
}

/// Returns the width of the draft. The caret may be one column after it.
fn room(theme: &Theme, columns: usize, rows: usize) -> usize {
    columns.saturating_sub(2 * side(theme, columns, rows) + width(theme.signs.cursor) + 2).max(2)
}

pub(crate) fn draft_room(theme: &Theme, size: (u16, u16)) -> usize {
    let (columns, rows) = area(size);
    room(theme, columns, rows)
}

pub(crate) fn text_room(size: (u16, u16)) -> usize {
    area(size).0 - MODEL_INDENT
}

/// Returns the columns and rows that the live region may use.
fn area((columns, rows): (u16, u16)) -> (usize, usize) {
    (usize::from(columns).saturating_sub(1).clamp(4, MAX_COLUMNS), usize::from(rows).saturating_sub(1).max(1))
}

/// Returns the input box, and the column and row of the caret in it.
fn input_box(state: &State, theme: &Theme, columns: usize, rows: usize) -> (Vec<Line<'static>>, (usize, usize)) {
    let signs = theme.signs;
    // The mode is shown if it differs from the usual one.
    let label = (state.mode() != PermissionMode::Ask).then(|| mode_words(state.mode()));
    let edge = theme.style(if label.is_some() { Role::Primary } else { Role::Muted });
    let prompt = format!("{} ", signs.cursor);
    let side = side(theme, columns, rows);
    let room = room(theme, columns, rows);
    let framed = side > 0;
    let text = state.composer.draft.as_str();
    let (ranges, caret_row) = state.composer.draft.rows(room);
    let caret = state.composer.draft.text().caret();
    let caret_column = width(&text[ranges[caret_row].start..caret]).min(room);
    let max_rows = if framed { (rows / 3).clamp(1, 12) } else { rows.saturating_sub(1).clamp(1, 4) };
    let first = (caret_row + 1).saturating_sub(max_rows).min(ranges.len().saturating_sub(max_rows));
    let mut lines = Vec::new();
    if framed {
        let label =
            label.map(|label| format!(" {label} ")).filter(|label| width(label) + 6 < columns).unwrap_or_default();
        let rule = columns.saturating_sub(width(signs.chip_left) + width(&label) + width(signs.chip_right));
        lines.push(Line::from(vec![
            Span::styled(signs.chip_left, edge),
            Span::styled(label.clone(), theme.style(Role::Primary).add_modifier(Modifier::BOLD)),
            Span::styled(format!("{}{}", signs.horizontal.repeat(rule), signs.chip_right), edge),
        ]));
    }
    for (i, range) in ranges.iter().enumerate().skip(first).take(max_rows) {
        let shown = text[range.clone()].trim_end_matches(' ');
        let mut spans = Vec::new();
        if framed {
            spans.push(Span::styled(format!("{} ", signs.vertical), edge));
        }
        let lead = match i {
            0 => prompt.clone(),
            i if i == first => format!("{:<1$}", signs.up, width(&prompt)),
            _ => " ".repeat(width(&prompt)),
        };
        spans.push(Span::styled(lead, theme.style(Role::Primary)));
        let (words, role) = if text.is_empty() {
            (truncate(PLACEHOLDER, room, theme), Role::Muted)
        } else {
            (shown.to_owned(), Role::Text)
        };
        let blank = (room + 1).saturating_sub(width(&words));
        spans.push(Span::styled(words, theme.style(role)));
        if framed {
            spans.push(Span::raw(" ".repeat(blank)));
            spans.push(Span::styled(format!(" {}", signs.vertical), edge));
        }
        lines.push(Line::from(spans));
    }
    let top = lines.len() - ranges.len().saturating_sub(first).min(max_rows);
    if framed {
        let rule = columns.saturating_sub(width(signs.box_bottom_left) + width(signs.box_bottom_right));
        let bottom = format!("{}{}{}", signs.box_bottom_left, signs.horizontal.repeat(rule), signs.box_bottom_right);
        lines.push(Line::styled(bottom, edge));
    }
    (lines, (side + width(&prompt) + caret_column, top + caret_row - first))
}

pub(crate) fn mode_words(mode: PermissionMode) -> &'static str {
    match mode {
        PermissionMode::Ask => "asks first",
        PermissionMode::Plan => "plan mode",
        PermissionMode::AcceptEdits => "accepts edits",
        PermissionMode::Sandbox => "asks outside the sandbox",
        PermissionMode::Allow => "asks no permission",
    }
}

/// Formats the maximum cost of this process's tokens; `None` if they are free. Cached tokens may be cheaper.
fn cost(price: Price, spent: Usage) -> Option<String> {
    let cost = price.of(spent.input_tokens, spent.output_tokens);
    match cost {
        cost if cost <= 0.0 => None,
        cost if cost < 0.01 => Some("<$0.01".into()),
        cost => Some(format!("${cost:.2}")),
    }
}

/// Returns the lines below the box: a notice, the completions, or the status.
fn status(state: &State, theme: &Theme, columns: usize) -> Vec<Line<'static>> {
    if let Some(notice) = &state.notice {
        let lead = [Span::raw("  ")];
        let words = sanitize::line(&notice.text).into_owned();
        return wrap_styled([(words.as_str(), theme.style(notice.role))], &lead, &lead, columns);
    }
    let offers = state.offers();
    if !offers.is_empty() {
        let chosen = state.composer.chosen;
        let names = offers.iter().map(|offer| width(&offer.name)).max().unwrap_or(0).min(columns.saturating_sub(9)) + 2;
        let line = |(i, offer): (usize, &Offer)| {
            let (lead, role) = if i == chosen { (theme.signs.cursor, Role::Primary) } else { (" ", Role::Secondary) };
            let name = truncate(&offer.name, names - 2, theme);
            // The name of a file needs no description.
            let (room, about) = match offer.about {
                "" => (width(&name) + 2, if i == chosen { "Tab" } else { "" }),
                about => (names, about),
            };
            Line::from(vec![
                Span::styled(format!("{lead} {name:room$}"), theme.style(role)),
                Span::styled(truncate(about, columns.saturating_sub(room + 2), theme), theme.style(Role::Muted)),
            ])
        };
        return offers.iter().enumerate().map(line).collect();
    }
    // The first part is dropped last.
    let mut facts = vec![format!("{} (Shift-Tab)", mode_words(state.mode()))];
    if let Some(session) = &state.session.about {
        facts.push(sanitize::line(&session.model).into_owned());
    }
    let percent = state.context().and_then(context_percent);
    facts.extend(percent.map(|percent| format!("context {percent}%")));
    facts.extend(state.session.price.and_then(|price| cost(price, state.session.spent)));
    if state.turn.running.is_none() {
        facts.extend(tokens(state, theme));
    }
    facts.push("Alt-Enter new line".into());
    facts.push("/help".into());
    let words = join_fitting(facts, columns.saturating_sub(2), theme);
    vec![Line::styled(format!("  {words}"), theme.style(Role::Muted))]
}

#[cfg(test)]
#[path = "view_tests.rs"]
mod tests;
