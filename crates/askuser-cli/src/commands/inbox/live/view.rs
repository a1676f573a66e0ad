//! The live list as lines: a pure function of what is listed, the size of the terminal and the time.

use super::{List, Which};
use crate::store::words;
use crate::truncate::truncate;
use askuser::store::{AskerPresence, StoredQuestion};
use askuser::{Context, sanitize};
use askuser_terminal::text::{Line, Modifier, Position, Span};
use askuser_terminal::{Role, Theme, context_lines, width, wrap};

/// Title and footer.
const FRAME: usize = 2;
/// The widest that is comfortable to read.
const MAX_COLUMNS: usize = 160;

/// How many rows of the list fit.
pub(super) fn list_height((_, rows): (u16, u16)) -> usize {
    let room = usize::from(rows).saturating_sub(1 + FRAME);
    // The preview gets the larger half: it is what one decides by.
    (room * 2 / 5).max(1)
}

pub(super) fn lines(list: &List, theme: &Theme, size: (u16, u16)) -> (Vec<Line<'static>>, Option<Position>) {
    // The last column stays free: a terminal may wrap there.
    let columns = usize::from(size.0).saturating_sub(1).min(MAX_COLUMNS);
    let room = usize::from(size.1).saturating_sub(1);
    let mut lines = vec![title(list, theme, columns)];
    let rows = list.rows.iter().enumerate();
    lines.extend(rows.map(|(i, question)| row(question, i == list.row, theme, columns)));
    if list.total == 0 {
        let nothing = match (list.filter.is_empty(), list.which) {
            (false, _) => "Nothing contains that.",
            (true, Which::Waiting) => "Nothing waits. New questions appear here by themselves.",
            (true, Which::History) => "Nothing has been answered yet.",
        };
        lines.push(Line::styled(
            format!("  {}", truncate(nothing, columns.saturating_sub(2), theme)),
            theme.style(Role::Muted),
        ));
    }
    let preview_room = room.saturating_sub(lines.len() + 1);
    if let Some(question) = list.current() {
        lines.extend(preview(question, &list.unsent, theme, columns, preview_room));
    }
    let (footer, caret) = footer(list, theme, columns);
    lines.push(footer);
    let row = lines.len() as u16 - 1;
    (lines, caret.map(|column| Position::new(column, row)))
}

/// `Inbox · 3 wait` and where one is in it.
fn title(list: &List, theme: &Theme, columns: usize) -> Line<'static> {
    let what = match list.which {
        Which::Waiting => format!("{} waiting", list.total),
        Which::History => format!("history, {} ended", list.total),
    };
    let at = if list.total > list.rows.len() as u64 { format!(", at {}", list.before + 1) } else { String::new() };
    let filter =
        if list.filter.is_empty() { String::new() } else { format!(" · containing {}", sanitize::line(&list.filter)) };
    let words = truncate(&format!(" · {what}{at}{filter}"), columns.saturating_sub(5), theme);
    let name = Span::styled("Inbox", theme.style(Role::Primary).add_modifier(Modifier::BOLD));
    Line::from(vec![name, Span::styled(words, theme.style(Role::Text))])
}

fn row(question: &StoredQuestion, is_selected: bool, theme: &Theme, columns: usize) -> Line<'static> {
    let cursor = if is_selected { theme.signs.cursor } else { " " };
    let age = match &question.ending {
        None => words::duration(question.age()),
        Some(ending) => ending.at_ms().map(words::time).unwrap_or_default(),
    };
    let header = question.request.set().questions()[0].header();
    let (who, folder) = (words::who(question), words::folder(question));
    let narrow = columns < 70;
    let place = if narrow || folder.is_empty() { String::new() } else { format!("{}  ", pad(&last(&folder, 24), 14)) };
    let summary = match &question.ending {
        None => format!("{header}: {}", words::asked(question)),
        // The decision comes first: the line may be cut off.
        Some(ending) => {
            let words = words::answer_words(question.request.set(), ending);
            format!("{} ← {}", words.unwrap_or_else(|| ending.state().name().into()), words::asked(question))
        }
    };
    // In one word; the preview says since when.
    let gone = match (question.asker, &question.ending) {
        (AskerPresence::Left(_), None) if !narrow => " (left)",
        (AskerPresence::Died(_), None) if !narrow => " (gone)",
        _ => "",
    };
    let who = pad(&truncate(&who, if narrow { 12 } else { 24 }, theme), if narrow { 0 } else { 12 });
    let text = format!("{}  {who}  {place}{summary}", pad(&age, if narrow { 6 } else { 9 }));
    let room = columns.saturating_sub(2 + width(gone));
    let text = truncate(&text, room, theme);
    let style =
        if is_selected { theme.style(Role::Text).add_modifier(Modifier::BOLD) } else { theme.style(Role::Secondary) };
    Line::from(vec![
        Span::styled(format!("{cursor} "), theme.style(Role::Primary)),
        Span::styled(text, style),
        Span::styled(gone, theme.style(Role::Warning)),
    ])
}

/// What one decides by: the questions, their options, and what they are about.
fn preview(
    question: &StoredQuestion,
    unsent: &[String],
    theme: &Theme,
    columns: usize,
    room: usize,
) -> Vec<Line<'static>> {
    let mut lines = vec![Line::styled("─".repeat(columns), theme.style(Role::Muted))];
    // The bar is ours: no text of theirs can begin at the edge, and pass for a row of the list.
    let put = |lines: &mut Vec<Line<'static>>, text: &str, indent: &str, role: Role| {
        let rest = columns.saturating_sub(width(indent)).max(1);
        for line in text.split('\n') {
            for range in wrap(line, rest, rest) {
                lines.push(Line::styled(format!("{indent}{}", line[range].trim_end()), theme.style(role)));
            }
        }
    };
    let gone = words::presence(question).filter(|_| question.ending.is_none());
    let by = [Some(question.id.to_string()), Some(words::who(question)), Some(words::folder(question)), gone];
    put(
        &mut lines,
        &by.into_iter().flatten().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" · "),
        "",
        Role::Muted,
    );
    if let Some(ending) = &question.ending {
        put(&mut lines, &format!("It {}", words::ended(question.request.set(), ending)), "", Role::Success);
    }
    for unsent in unsent {
        put(&mut lines, &format!("You have typed, and not sent: {unsent}"), "", Role::Warning);
    }
    if let Some(context) = question.request.context() {
        let about = match context {
            Context::Command(_) => "would run:",
            Context::Diff(_) => "would change:",
            Context::ToolInput(_) => "would get:",
            _ => "about:",
        };
        put(&mut lines, about, "", Role::Muted);
        lines.extend(context_lines(context, theme, columns as u16));
    }
    for question in question.request.set().questions() {
        put(&mut lines, &sanitize::block(question.text()), "┃ ", Role::Text);
        for choice in question.options() {
            let description = sanitize::line(choice.description());
            let text = match description.is_empty() {
                true => sanitize::line(choice.name()).into_owned(),
                false => format!("{}: {description}", sanitize::line(choice.name())),
            };
            put(&mut lines, &text, "┃   ", Role::Secondary);
        }
    }
    if lines.len() > room {
        let hidden = lines.len() - room.saturating_sub(1);
        lines.truncate(room.saturating_sub(1));
        lines.push(Line::styled(
            truncate(&format!("{hidden} more lines, Enter shows all"), columns, theme),
            theme.style(Role::Muted),
        ));
    }
    lines
}

fn footer(list: &List, theme: &Theme, columns: usize) -> (Line<'static>, Option<u16>) {
    if let Some(notice) = &list.notice {
        let notice = truncate(&sanitize::line(notice), columns, theme);
        return (Line::styled(notice, theme.style(Role::Warning)), None);
    }
    if list.is_filtering {
        let typed = sanitize::line(&list.filter).into_owned();
        // The end of a long text is what is being typed.
        let shown = last(&typed, columns.saturating_sub(3));
        let caret = (1 + width(&shown)) as u16;
        let line = vec![Span::styled("/", theme.style(Role::Primary)), Span::styled(shown, theme.style(Role::Text))];
        return (Line::from(line), Some(caret));
    }
    let keys: &[(&str, &str)] = match list.which {
        Which::Waiting => {
            &[("Enter", "answer"), ("q", "leave"), ("↑↓", "move"), ("/", "filter"), ("w", "withdraw"), ("h", "history")]
        }
        Which::History => &[("h", "back"), ("q", "leave"), ("↑↓", "move"), ("/", "filter")],
    };
    let mut words = String::new();
    for (key, does) in keys {
        let hint = format!("{}{key} {does}", if words.is_empty() { "" } else { " • " });
        if width(&words) + width(&hint) > columns {
            break;
        }
        words.push_str(&hint);
    }
    (Line::styled(words, theme.style(Role::Muted)), None)
}

/// The end of a text, as much as fits.
fn last(text: &str, columns: usize) -> String {
    let start = text.char_indices().map(|(at, _)| at).find(|at| width(&text[*at..]) <= columns);
    text[start.unwrap_or(text.len())..].to_owned()
}

fn pad(text: &str, columns: usize) -> String {
    format!("{text}{}", " ".repeat(columns.saturating_sub(width(text))))
}
