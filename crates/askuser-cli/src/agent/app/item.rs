//! What goes into the scrollback, and how it looks there. Whatever others wrote goes through `sanitize`.

use super::calls::{Ended, Went, span};
use super::commands;
use super::markdown::{self, Row, wrapped};
use super::worker::Session;
use askuser::sanitize;
use askuser_terminal::text::{Line, Modifier, Span};
use askuser_terminal::{Manner, Role, Signs, Theme, width};

/// Something that stays in the scrollback.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Item {
    /// Nothing, between two things.
    Gap,
    Header(Session),
    /// What the person said.
    Said(String),
    /// What the model said.
    Rows(Vec<Row>),
    Call(Ended),
    /// What a tool gave back, so many lines of it at most.
    Output {
        text: String,
        role: Role,
        most: usize,
    },
    /// What changed, so many lines of it at most.
    Diff {
        text: String,
        most: usize,
    },
    Note(Role, String),
    Help(Manner),
}

/// Longer lines are hard to read.
pub(crate) const WIDEST: usize = 100;
/// The longest line of a tool's output that is shown whole, in characters.
const LONGEST_LINE: usize = 2_000;

/// The sign before what the agent does.
pub(crate) fn dot(theme: &Theme) -> &'static str {
    if theme.signs == Signs::ASCII { theme.signs.bullet } else { theme.signs.radio_on }
}

/// An item as lines for a terminal of so many columns.
pub(crate) fn lines(item: &Item, theme: &Theme, columns: usize) -> Vec<Line<'static>> {
    let columns = columns.saturating_sub(1).clamp(2, WIDEST);
    match item {
        Item::Gap => vec![Line::default()],
        Item::Header(session) => header(session, theme, columns),
        Item::Said(text) => said(text, theme, columns),
        Item::Rows(rows) => markdown::render(rows, theme, columns),
        Item::Call(ended) => vec![call(ended, theme, columns)],
        Item::Output { text, role, most } => output(text, *role, *most, theme),
        Item::Diff { text, most } => diff(text, *most, theme),
        Item::Note(role, text) => note(*role, text, theme, columns),
        Item::Help(manner) => help(*manner, theme, columns),
    }
}

fn header(session: &Session, theme: &Theme, columns: usize) -> Vec<Line<'static>> {
    let version = concat!("askuser ", env!("CARGO_PKG_VERSION"));
    let folder = home_relative(&session.cwd.display().to_string(), std::env::var("HOME").ok().as_deref());
    let facts = [&*sanitize::line(&session.model), &*sanitize::line(&folder), &format!("session {}", session.id)]
        .map(|fact| format!(" {} {fact}", separator(theme)))
        .concat();
    let words = [
        (version, theme.style(Role::Primary).add_modifier(Modifier::BOLD)),
        (facts.as_str(), theme.style(Role::Muted)),
    ];
    wrapped(words.into_iter(), &[], &[Span::raw("  ")], columns)
}

/// A folder as people write it.
fn home_relative(folder: &str, home: Option<&str>) -> String {
    match home.filter(|home| !home.is_empty()).and_then(|home| folder.strip_prefix(home)) {
        Some(rest) if rest.is_empty() || rest.starts_with('/') => format!("~{rest}"),
        _ => folder.to_owned(),
    }
}

/// What stands between facts.
pub(crate) fn separator(theme: &Theme) -> &'static str {
    if theme.signs == Signs::ASCII { "-" } else { "·" }
}

fn said(text: &str, theme: &Theme, columns: usize) -> Vec<Line<'static>> {
    let text = sanitize::block(text);
    let lead = [Span::styled(format!("{} ", theme.signs.cursor), theme.style(Role::Primary))];
    let style = theme.style(Role::Text).add_modifier(Modifier::BOLD);
    wrapped([(text.trim_end_matches('\n'), style)].into_iter(), &lead, &[Span::raw("  ")], columns)
}

fn call(ended: &Ended, theme: &Theme, columns: usize) -> Line<'static> {
    let (sign, role) = match ended.went {
        Went::Well => (theme.signs.done, Role::Success),
        Went::Wrong => (theme.signs.not_done, Role::Danger),
    };
    let between = format!(" {} ", separator(theme));
    let facts: Vec<String> = ended
        .took
        .filter(|took| took.as_millis() >= 50)
        .map(span)
        .into_iter()
        .chain(ended.facts.iter().cloned())
        .collect();
    let facts = facts.join(&between);
    let after = width(sign) + width(&facts) + 3;
    let mut spans = call_start(&ended.name, &ended.about, ended.task.as_deref(), theme, columns, after);
    spans.push(Span::styled(format!("  {sign}"), theme.style(role)));
    let facts = if facts.is_empty() { facts } else { format!(" {facts}") };
    spans.push(Span::styled(facts, theme.style(if ended.went == Went::Well { Role::Muted } else { Role::Danger })));
    Line::from(spans)
}

/// A call's name and what it is about, cut so that so many columns are left behind it.
pub(crate) fn call_start(
    name: &str,
    about: &str,
    task: Option<&str>,
    theme: &Theme,
    columns: usize,
    after: usize,
) -> Vec<Span<'static>> {
    let mut spans = Vec::new();
    if task.is_some() {
        spans.push(Span::raw("  "));
    }
    spans.push(Span::styled(format!("{} ", dot(theme)), theme.style(Role::Primary)));
    if let Some(task) = task {
        spans.push(Span::styled(format!("{}: ", sanitize::line(task)), theme.style(Role::Muted)));
    }
    spans.push(Span::styled(sanitize::line(name).into_owned(), theme.style(Role::Text).add_modifier(Modifier::BOLD)));
    let taken: usize = spans.iter().map(|span| width(&span.content)).sum();
    let room = columns.saturating_sub(taken + after + 1);
    if !about.is_empty() && room > 4 {
        spans.push(Span::styled(format!(" {}", cut(about, room, theme)), theme.style(Role::Secondary)));
    }
    spans
}

/// A line of at most so many columns.
pub(crate) fn cut(text: &str, columns: usize, theme: &Theme) -> String {
    if width(text) <= columns {
        return text.to_owned();
    }
    let ellipsis = theme.signs.ellipsis;
    let room = columns.saturating_sub(width(ellipsis));
    let ends = text.char_indices().map(|(at, c)| at + c.len_utf8());
    // A wide character may not fit where a narrow one would; what follows it does not either.
    let end = ends.take_while(|end| width(&text[..*end]) <= room).last().unwrap_or(0);
    format!("{}{ellipsis}", text[..end].trim_end())
}

/// As many of these facts as fit into so many columns, the first ones first.
pub(crate) fn fitting(facts: impl IntoIterator<Item = String>, columns: usize, theme: &Theme) -> String {
    let between = format!(" {} ", separator(theme));
    let mut words = String::new();
    for fact in facts {
        let more = if words.is_empty() { fact } else { format!("{between}{fact}") };
        if width(&words) + width(&more) <= columns {
            words.push_str(&more);
        }
    }
    words
}

fn output(text: &str, role: Role, most: usize, theme: &Theme) -> Vec<Line<'static>> {
    let style = theme.style(role);
    bounded(text, most, theme, |line| Line::styled(format!("    {line}"), style))
}

fn diff(text: &str, most: usize, theme: &Theme) -> Vec<Line<'static>> {
    bounded(text, most, theme, |line| {
        let role = match line.as_bytes() {
            [b'+', b'+', b'+', ..] | [b'-', b'-', b'-', ..] => Role::Muted,
            [b'+', ..] => Role::Success,
            [b'-', ..] => Role::Danger,
            [b'@', b'@', ..] => Role::Primary,
            _ => Role::Muted,
        };
        Line::styled(format!("    {line}"), theme.style(role))
    })
}

fn bounded(text: &str, most: usize, theme: &Theme, line: impl Fn(&str) -> Line<'static>) -> Vec<Line<'static>> {
    let clean = sanitize::block(text.trim_end());
    let total = clean.lines().count();
    let shorten = |text: &str| match text.char_indices().nth(LONGEST_LINE) {
        Some((end, _)) => format!("{}{}", &text[..end], theme.signs.ellipsis),
        None => text.to_owned(),
    };
    let mut lines: Vec<Line<'static>> = clean.lines().take(most).map(|text| line(&shorten(text))).collect();
    if total > most {
        let more = format!("    {} {} more lines", theme.signs.ellipsis, total - most);
        lines.push(Line::styled(more, theme.style(Role::Muted)));
    }
    lines
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
    wrapped([(words.as_ref(), style)].into_iter(), &lead, &[Span::raw("  ")], columns)
}

/// What the keys do, beside what every editor does; the last ones do it in line mode too.
const KEYS: &[(&str, &str)] = &[
    ("Enter", "send; while the agent works: send when it is done"),
    ("Alt-Enter, Ctrl-J", "new line"),
    ("Up, Down", "earlier and later messages; Up takes a waiting one back"),
    ("Esc", "stop the agent"),
    ("Ctrl-O", "show results in full, or short again"),
    ("Ctrl-G", "write in $VISUAL or $EDITOR"),
    ("Ctrl-C", "stop the agent, clear the line; twice: quit"),
    ("Ctrl-D", "quit, with nothing typed"),
    ("Ctrl-Z", "suspend"),
];

const KEYS_OF_LINES: usize = 3;

fn help(manner: Manner, theme: &Theme, columns: usize) -> Vec<Line<'static>> {
    let commands = commands::TABLE.iter().map(|row| (format!("/{} {}", row.name, row.argument), row.about));
    let skipped = match manner {
        Manner::Screen => 0,
        Manner::Line => KEYS.len() - KEYS_OF_LINES,
    };
    let keys = KEYS[skipped..].iter().map(|(keys, about)| ((*keys).to_owned(), *about));
    let rows: Vec<(String, &str)> = commands.chain(keys).collect();
    let names = rows.iter().map(|(name, _)| name.trim_end().len()).max().unwrap_or(0) + 2;
    let mut lines = Vec::new();
    for (name, about) in rows {
        let name = name.trim_end().to_owned();
        let style = theme.style(Role::Primary);
        let words = [(about, theme.style(Role::Secondary))];
        if columns < names + 20 {
            lines.push(Line::from(Span::styled(name, style)));
            lines.extend(wrapped(words.into_iter(), &[Span::raw("  ")], &[Span::raw("  ")], columns));
        } else {
            let lead = [Span::styled(format!("{name:names$}"), style)];
            lines.extend(wrapped(words.into_iter(), &lead, &[Span::raw(" ".repeat(names))], columns));
        }
    }
    lines
}
