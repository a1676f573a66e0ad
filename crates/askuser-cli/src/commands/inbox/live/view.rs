//! The live list as lines. They are a pure function of the list, the size of the terminal and the time.

use super::list::{List, Mode, Row, Section};
use crate::commands::inbox::Notice;
use crate::store::display;
use crate::truncate::truncate;
use askuser::prompt::SideText;
use askuser::store::{AskerPresence, State, StoredQuestion};
use askuser::{Context, Request, sanitize};
use askuser_terminal::text::{Line, Position, Span};
use askuser_terminal::{Role, Theme, context_lines, first_rows, key_hints, side_text_lines, width, wrap};

/// The number of rows of the title, the heads and the footer together.
const FRAME: usize = 3;
/// The maximum width of the list in columns. Wider rows are hard to read.
const MAX_COLUMNS: usize = 160;
/// The maximum number of rows of the model's reason, until the reason is opened.
const MOST_OF_WHY: usize = 2;
/// The number of columns before a row, such as `1 > `: the digit that opens the row, and the cursor.
const MARGIN: usize = 4;
/// The number of blanks between two columns.
const GAP: usize = 2;

pub(super) fn list_height((_, rows): (u16, u16)) -> usize {
    let room = usize::from(rows).saturating_sub(1 + FRAME);
    // The preview gets the larger part, because the decision depends on it.
    (room * 2 / 5).max(1)
}

/// Returns the width of the list. A terminal's last column stays free, because a terminal may wrap there.
fn list_columns((columns, _): (u16, u16)) -> usize {
    usize::from(columns).saturating_sub(1).min(MAX_COLUMNS)
}

pub(super) fn lines(list: &List, theme: &Theme, size: (u16, u16)) -> (Vec<Line<'static>>, Option<Position>) {
    let columns = list_columns(size);
    let room = usize::from(size.1).saturating_sub(1);
    let mut lines = vec![title(list, theme, columns)];
    if let Mode::Help { page } = list.mode {
        let rows = help(theme, columns);
        lines.extend(rows.chunks(help_rows(size)).nth(page).unwrap_or_default().iter().cloned());
        let does = if page + 1 < help_pages(theme, size) { "any key: more keys, esc closes" } else { "any key closes" };
        lines.push(Line::styled(format!("  {does}"), theme.style(Role::Detail)));
        return (lines, None);
    }
    let (footer, caret) = footer(list, theme, columns);
    if !list.is_empty() {
        lines.extend(table(list, theme, columns));
    } else if !list.is_replaced {
        let nothing = match (list.filter.is_empty(), list.section) {
            (false, _) => "Nothing contains that.",
            (true, Section::Waiting) => "Nothing is waiting. New questions appear here by themselves.",
            (true, Section::History) => "Nothing has been answered yet.",
        };
        let rows = wrapped(nothing, columns.saturating_sub(2));
        lines.extend(rows.map(|row| Line::styled(format!("  {row}"), theme.style(Role::Secondary))));
    }
    let preview_room = room.saturating_sub(lines.len() + footer.len());
    if let Some(row) = list.current() {
        lines.extend(preview(row, list.opened, theme, columns, preview_room));
    }
    if lines.len() + footer.len() < room {
        lines.push(Line::default());
    }
    let row = lines.len() as u16;
    lines.extend(footer);
    (lines, caret.map(|column| Position::new(column, row)))
}

/// Returns a title such as `╭─ Inbox ─╮  3 waiting`. If the list is longer than the screen, the title contains the
/// position of the cursor.
fn title(list: &List, theme: &Theme, columns: usize) -> Line<'static> {
    let (name, what) = match (list.mode, list.section) {
        (Mode::Help { .. }, _) => ("Keys", String::new()),
        (_, Section::Waiting) => ("Inbox", format!("{} waiting", list.total())),
        (_, Section::History) => ("History", format!("{} ended", list.total())),
    };
    let position = list.position().filter(|_| !matches!(list.mode, Mode::Help { .. }));
    let at = position.map(|position| format!("{position} of ")).unwrap_or_default();
    let filter = if list.filter.is_empty() || list.mode != Mode::Browsing {
        String::new()
    } else {
        format!(" {} filter: {}", theme.signs.dot, sanitize::line(list.filter.as_str()))
    };
    let edge = theme.strong(Role::Primary);
    let chip = format!(" {name} ");
    let rest = columns.saturating_sub(width(theme.signs.chip_left) + width(&chip) + width(theme.signs.chip_right));
    let words = truncate(&format!("  {at}{what}{filter}"), rest, theme);
    Line::from(vec![
        Span::styled(theme.signs.chip_left, edge),
        Span::styled(chip, theme.style(Role::Chip)),
        Span::styled(theme.signs.chip_right, edge),
        Span::styled(words, theme.style(Role::Secondary)),
    ])
}

/// The indexes of the list's columns, from left to right.
const AGENT: usize = 0;
const PROJECT: usize = 1;
const QUESTION: usize = 2;
const AGE: usize = 3;
const STATE: usize = 4;
/// The order in which columns are dropped if the question would become illegible.
const GIVE_WAY: [usize; 4] = [PROJECT, AGE, STATE, AGENT];
const LEGIBLE: usize = 20;

fn table(list: &List, theme: &Theme, columns: usize) -> Vec<Line<'static>> {
    let heads = match list.section {
        Section::Waiting => ["AGENT", "PROJECT", "QUESTION", "AGE", "STATE"],
        Section::History => ["AGENT", "PROJECT", "DECISION", "ENDED", "STATE"],
    };
    let cells: Vec<[String; 5]> = list.rows().iter().map(cells).collect();
    let mut widths = [0; 5];
    // Names are untrusted text, and must not leave too little room for the question.
    let longest_name = (columns / 6).clamp(11, 24);
    for i in GIVE_WAY {
        let widest = cells.iter().map(|cells| width(&cells[i])).max().unwrap_or(0);
        let cap = if i == AGE { usize::MAX } else { longest_name };
        // An empty column is dropped.
        widths[i] = if widest > 0 { widest.max(width(heads[i])).min(cap) + GAP } else { 0 };
    }
    let left = |widths: &[usize; 5]| columns.saturating_sub(MARGIN + widths.iter().sum::<usize>());
    for gives_way in GIVE_WAY {
        if left(&widths) < LEGIBLE {
            widths[gives_way] = 0;
        }
    }
    // The column is no wider than its content, so that age and state stand close to it.
    let longest = cells.iter().map(|cells| width(&cells[QUESTION])).max().unwrap_or(0).max(LEGIBLE);
    widths[QUESTION] = left(&widths).min(longest + GAP);
    // A cell, and the blanks that fill its column.
    let fit = |cells: &[String; 5], i: usize| {
        let text = truncate(&cells[i], widths[i].saturating_sub(if i == STATE { 0 } else { GAP }), theme);
        let pad = " ".repeat(widths[i].saturating_sub(width(&text)));
        [text, pad]
    };
    let shown = || (0..5).filter(|column| widths[*column] > 0);
    let head: String = shown().flat_map(|column| fit(&heads.map(str::to_owned), column)).collect();
    let mut lines = vec![Line::styled(format!("{:MARGIN$}{}", "", head.trim_end()), theme.style(Role::Detail))];
    for (i, (row, cells)) in list.rows().iter().zip(&cells).enumerate() {
        let is_selected = i == list.row();
        let digit = if i < 9 && row.question.ending.is_none() { (i + 1).to_string() } else { " ".into() };
        let cursor = if is_selected { theme.signs.cursor } else { " " };
        let mut spans = vec![
            Span::styled(format!("{digit} "), theme.style(Role::Detail)),
            Span::styled(format!("{cursor} "), theme.strong(Role::Text)),
        ];
        for column in shown() {
            let style = match (column, is_selected) {
                (STATE, _) => theme.message(state_role(row)),
                (QUESTION, true) => theme.focused(Role::Text),
                (_, true) => theme.strong(Role::Text),
                (PROJECT | AGE, false) => theme.style(Role::Detail),
                (_, false) => theme.style(Role::Secondary),
            };
            let [text, pad] = fit(cells, column);
            spans.extend([Span::styled(text, style), Span::raw(pad)]);
        }
        lines.push(Line::from(spans));
    }
    lines
}

fn cells(row: &Row) -> [String; 5] {
    let question = &row.question;
    let (summary, age) = match &question.ending {
        None => (display::titled(question), display::duration(question.age())),
        // The decision comes first, because the line may be truncated.
        Some(ending) => {
            let decided = display::decided(&question.request, ending);
            let asked = question.request.title();
            let summary = decided.map_or_else(|| asked.clone(), |decided| format!("{decided} ← {asked}"));
            (summary, ending.at_ms().map(display::time).unwrap_or_default())
        }
    };
    [display::who(question), display::project(question), summary, age, state(row)]
}

/// Returns the state in one or two words. The preview has more details, such as the time.
fn state(row: &Row) -> String {
    if let Some(ending) = &row.question.ending {
        let is_not_run = display::not_run(&row.question.request, ending).is_some();
        return if is_not_run { "not run".into() } else { ending.state().name().replace('_', " ") };
    }
    match (row.unsent.is_empty(), is_gone(&row.question), row.question.request.audience_words()) {
        (false, ..) => "draft".into(),
        (true, _, Some(names)) => format!("for {names}"),
        (true, true, None) if is_not_waiting(&row.question) => "not waiting".into(),
        (true, true, None) => "agent gone".into(),
        (true, false, None) => "waiting".into(),
    }
}

fn is_gone(question: &StoredQuestion) -> bool {
    question.ending.is_none() && question.asker != AskerPresence::Waits
}

/// Returns whether the agent continues without waiting, or has left the question to be fetched later.
fn is_not_waiting(question: &StoredQuestion) -> bool {
    question.request.is_in_background() || matches!(question.asker, AskerPresence::Left(_))
}

fn state_role(row: &Row) -> Role {
    match row.question.state() {
        State::Pending if !row.unsent.is_empty() => Role::Primary,
        State::Pending if is_gone(&row.question) && !is_not_waiting(&row.question) => Role::Warning,
        State::Answered => Role::Success,
        _ => Role::Detail,
    }
}

/// Returns the preview of a question, with its options and its context.
fn preview(
    Row { question, unsent }: &Row,
    opened: Option<SideText>,
    theme: &Theme,
    columns: usize,
    room: usize,
) -> Vec<Line<'static>> {
    let mut lines = vec![Line::styled(theme.signs.horizontal.repeat(columns), theme.style(Role::Muted))];
    // An agent's text never begins in the first column, where it could pass for a row of the list. Only questions have
    // the bar.
    let bar = format!("{} ", theme.signs.bar);
    let put = |lines: &mut Vec<Line<'static>>, text: &str, indent: &str, role: Role| {
        for line in text.split('\n') {
            let rows = wrapped(line, columns.saturating_sub(width(indent)));
            lines.extend(rows.map(|row| Line::styled(format!("{indent}{row}"), theme.style(role))));
        }
    };
    let dot = format!(" {} ", theme.signs.dot);
    let asked = format!("asked {}", display::time(question.asked_ms));
    let gone = display::presence(question).filter(|_| question.ending.is_none());
    let names = question.request.audience_words().map(|names| format!("for {names}"));
    let by = [Some(format!("From {}", display::who(question))), display::folder(question), names, Some(asked), gone];
    put(&mut lines, &by.into_iter().flatten().collect::<Vec<_>>().join(&dot), "  ", Role::Detail);
    if let Some(ending) = &question.ending {
        let ended = display::ended(&question.request, ending);
        put(&mut lines, &format!("It {ended}"), "  ", Role::Success);
        if let Some(words) = display::not_fetched(question) {
            put(&mut lines, &words, "  ", Role::Detail);
        }
    }
    for unsent in unsent {
        let what = if question.ending.is_none() { "Your draft" } else { "You had not sent" };
        put(&mut lines, &format!("{what}: {unsent}"), "  ", Role::Primary);
    }
    let why = question.request.why();
    let input = question.request.context().and_then(Context::raw_input).filter(|_| opened == Some(SideText::Input));
    match why {
        Some(why) if opened == Some(SideText::Why) => {
            lines.extend(side_text_lines(SideText::Why, why, theme, columns));
        }
        Some(why) => lines.extend(first_rows(why, theme, columns, MOST_OF_WHY).0),
        None => {}
    }
    if let Some(input) = input {
        lines.extend(side_text_lines(SideText::Input, &input, theme, columns));
    } else if let Some(context) = question.request.context() {
        let about = match context.parts().first().map(|part| &**part) {
            Some(Context::Command(_)) => "would run:",
            Some(Context::Diff(_)) => "would change:",
            Some(Context::ToolInput(_)) => "would get:",
            _ => "about:",
        };
        put(&mut lines, about, "  ", Role::Detail);
        lines.extend(context_lines(context, theme, columns as u16));
    }
    for question in question.request.set().questions() {
        put(&mut lines, &sanitize::block(question.text()), &bar, Role::Text);
        for choice in question.options() {
            let description = sanitize::line(choice.description());
            let text = if description.is_empty() {
                sanitize::line(choice.name()).into_owned()
            } else {
                format!("{}: {description}", sanitize::line(choice.name()))
            };
            put(&mut lines, &text, &format!("{bar}  "), Role::Secondary);
        }
    }
    if lines.len() > room {
        let hidden = lines.len() - room.saturating_sub(1);
        lines.truncate(room.saturating_sub(1));
        let all = if question.ending.is_none() { ", enter shows all" } else { "" };
        let more = format!("{} {hidden} more lines{all}", theme.signs.ellipsis);
        lines.push(Line::styled(truncate(&more, columns, theme), theme.style(Role::Detail)));
    }
    lines
}

fn wrapped(line: &str, columns: usize) -> impl Iterator<Item = &str> {
    let columns = columns.max(1);
    wrap(line, columns, columns).into_iter().map(|range| line[range].trim_end())
}

fn help(theme: &Theme, columns: usize) -> Vec<Line<'static>> {
    const KEYS: [(&str, &str); 9] = [
        ("enter", "answer the question under the cursor; esc there saves a draft"),
        ("1-9", "answer the question in that row"),
        ("up down  j k", "move; PgUp and PgDn by a page, g and G to the first and last"),
        ("/", "filter by agent, project and question; enter keeps it, esc clears it"),
        ("o  v", "open what the agent said before it asked, or the input of a tool as JSON"),
        ("w", "withdraw the question: it cannot be answered then"),
        ("h  tab", "switch between what is waiting and what has ended"),
        ("?", "show these keys"),
        ("esc  q", "go back; at the list, leave. The questions stay"),
    ];
    let column = KEYS.iter().map(|(key, _)| width(key)).max().unwrap_or(0) + GAP;
    let mut lines = Vec::new();
    for (key, does) in KEYS {
        let mut key = key;
        for row in wrapped(does, columns.saturating_sub(2 + column)) {
            let key = std::mem::take(&mut key);
            let pad = " ".repeat(column - width(key));
            let key = Span::styled(format!("  {key}{pad}"), theme.style(Role::Primary));
            lines.push(Line::from(vec![key, Span::styled(row.to_owned(), theme.style(Role::Secondary))]));
        }
    }
    lines
}

/// Returns the number of help rows that fit between the title and the footer.
fn help_rows((_, rows): (u16, u16)) -> usize {
    usize::from(rows).saturating_sub(3).max(1)
}

pub(super) fn help_pages(theme: &Theme, size: (u16, u16)) -> usize {
    help(theme, list_columns(size)).len().div_ceil(help_rows(size))
}

/// Returns the last rows: the keys, the filter, or a notice of several rows. Also returns the column of the caret in
/// the filter.
fn footer(list: &List, theme: &Theme, columns: usize) -> (Vec<Line<'static>>, Option<u16>) {
    const MOST_OF_A_NOTICE: usize = 3;
    if let Some(Notice { role, text }) = &list.notice {
        let text = sanitize::line(text);
        let rows = wrapped(&text, columns).take(MOST_OF_A_NOTICE);
        return (rows.map(|row| Line::styled(row.to_owned(), theme.message(*role))).collect(), None);
    }
    if list.mode == Mode::Filtering {
        let typed = list.filter.as_str();
        // The text before the caret is shown up to its end, because the person types there.
        let before = last(&typed[..list.filter.caret()], columns.saturating_sub(2));
        let caret = (1 + width(before)) as u16;
        let after = truncate(&typed[list.filter.caret()..], columns.saturating_sub(usize::from(caret)), theme);
        let text = Span::styled(format!("{before}{after}"), theme.style(Role::Text));
        let keys = [("enter", "keep"), ("esc", "clear"), ("↑↓", "navigate")].map(|(key, does)| (key.into(), does));
        let keys = key_hints(keys.into(), theme, columns, |(key, _)| key == "enter");
        return (vec![Line::from(vec![Span::styled("/", theme.style(Role::Primary)), text]), keys], Some(caret));
    }
    let (back, other) = match list.section {
        Section::Waiting => ("leave", "history"),
        Section::History => ("back", "waiting"),
    };
    let back = match list.opened {
        Some(_) => "close the text",
        None if list.filter.is_empty() => back,
        None => "clear filter",
    };
    let mut hints = vec![("/", "filter"), ("h", other), ("w", "withdraw"), ("?", "keys"), ("esc", back)];
    let digits = format!("1-{}", list.rows().len().min(9));
    if list.current().is_some_and(|row| row.question.ending.is_none()) {
        if list.rows().len() > 1 {
            hints.insert(0, (&digits, "open"));
        }
        hints.insert(0, ("enter", "answer"));
    } else {
        hints.retain(|(key, _)| *key != "w");
    }
    if let Some(Row { question, .. }) = list.current() {
        for hint in hidden_texts(&question.request, list.opened, theme, columns) {
            hints.push(hint);
        }
    }
    // If room is short, the least important hints are dropped first.
    let essential = ["w", &digits, "h", "v", "o", "/", "esc", "?", "enter"];
    let hints = hints.into_iter().map(|(key, does)| (key.to_owned().into(), does)).collect();
    (vec![key_hints(hints, theme, columns, |(key, _)| essential.iter().position(|name| key == name))], None)
}

/// Returns the keys of the texts that the preview does not show in full.
fn hidden_texts(
    request: &Request,
    opened: Option<SideText>,
    theme: &Theme,
    columns: usize,
) -> impl Iterator<Item = (&'static str, &'static str)> {
    let is_hidden = |why: &str| !first_rows(why, theme, columns, MOST_OF_WHY).1 && opened != Some(SideText::Why);
    let has_input = request.context().and_then(Context::raw_input).is_some() && opened != Some(SideText::Input);
    let why = request.why().is_some_and(is_hidden).then_some(("o", "why"));
    why.into_iter().chain(has_input.then_some(("v", "input")))
}

/// Returns the end of a text that fits in this width.
fn last(text: &str, columns: usize) -> &str {
    let start = text.char_indices().map(|(at, _)| at).find(|at| width(&text[*at..]) <= columns);
    &text[start.unwrap_or(text.len())..]
}

#[cfg(test)]
mod tests {
    use super::*;
    use askuser::store::{Cursor, Ending, QuestionId};
    use askuser::{Outcome, QuestionSet, Request, RequestKey, Rules, Via};
    use serde_json::json;

    #[test]
    fn a_reason_is_short_until_it_is_opened() {
        let set = askuser::permission::Permission::to_use(&askuser::ToolUse::new("Bash", Default::default()));
        let call = askuser::ToolUse::new("Bash", json!({"command": "make"}).as_object().unwrap().clone());
        let request = Request::new(RequestKey::new("s", "c"), set.question_set().unwrap())
            .with_context(Context::ToolUse(call))
            .with_why("I build it first. ".repeat(30) + "Then I test it.");
        let id = QuestionId::parse("0123456789ab").unwrap();
        let row = Row { question: StoredQuestion::new(id, request.into(), 1, Cursor::default()), unsent: Vec::new() };
        let shown = |opened| {
            let lines = preview(&row, opened, &Theme::default(), 80, 40);
            lines.iter().map(|line| format!("{line}\n")).collect::<String>()
        };
        let keys = |opened| -> Vec<_> {
            hidden_texts(&row.question.request, opened, &Theme::default(), 80).map(|(key, _)| key).collect()
        };
        assert!(!shown(None).contains("Then I test it."));
        assert!(shown(Some(SideText::Why)).contains("Then I test it."));
        assert!(shown(Some(SideText::Input)).contains("┃   \"command\": \"make\""));
        assert_eq!((keys(None), keys(Some(SideText::Why))), (vec!["o", "v"], vec!["v"]));
    }

    #[test]
    fn a_command_of_several_lines_has_its_line_breaks_also_ended() {
        let option = |label: &str| json!({"label": label, "description": "x"});
        let asked =
            json!({"question": "Run?", "header": "Bash", "multiSelect": false, "options": [option("a"), option("b")]});
        let set = QuestionSet::parse(json!({"questions": [asked]}), &Rules::strict()).unwrap();
        let request =
            Request::new(RequestKey::new("s", "c"), set).with_context(Context::Command("cd x\nrm -rf y\nmake".into()));
        let id = QuestionId::parse("0123456789ab").unwrap();
        let mut question = StoredQuestion::new(id, request.into(), 1, Cursor::default());
        for ending in [None, Some(Ending::Resolved(Outcome::cancelled().through(Via::Inbox)))] {
            question.ending = ending;
            let row = Row { question: question.clone(), unsent: Vec::new() };
            let lines = preview(&row, None, &Theme::default(), 80, 40);
            let text: Vec<String> = lines.iter().map(|line| line.to_string().trim_end().to_owned()).collect();
            let at = text.iter().position(|line| line.ends_with(" cd x")).unwrap_or_else(|| panic!("{text:#?}"));
            assert!(text[at + 1].ends_with(" rm -rf y") && text[at + 2].ends_with(" make"), "{text:#?}");
        }
    }
}
