//! The context of questions: a command, a diff or a tool's input verbatim, prose as Markdown. It is complete and passes
//! the gate for text to agree to ([`askuser::exact`]).
//!
//! Every row begins with a bar, so that it cannot pass for an option, a footer or a confirmation.

use super::barred;
use super::theme::{Role, Theme};
use super::wrap::Start;
use crate::markdown;
use askuser::{Context, exact};
use askuser_markdown::{DiffLine, NumberedLine};
use ratatui_core::style::Style;
use ratatui_core::text::Line;

/// The rows of a context in so many columns, as the prompt shows them: a bar before each, what is agreed to exactly as it is.
pub fn context_lines(context: &Context, theme: &Theme, columns: u16) -> Vec<Line<'static>> {
    read_context(context, theme, columns).0
}

/// The rows of a context, and the one that has to be seen: the first that a diff changes. What stands above it says where. A row
/// without a bar separates the parts of a tool use.
pub(super) fn read_context(context: &Context, theme: &Theme, columns: u16) -> (Vec<Line<'static>>, usize) {
    let parts = context.parts();
    let mut parts = parts.iter().map(|part| read_part(part, theme, usize::from(columns)));
    let (mut rows, first_change) = parts.next().unwrap_or_default();
    for (part, _) in parts {
        rows.push(Line::default());
        rows.extend(part);
    }
    (rows, first_change)
}

fn read_part(part: &Context, theme: &Theme, columns: usize) -> (Vec<Line<'static>>, usize) {
    let text = &*part.shown(theme.charset);
    match part {
        Context::Prose(_) => (barred::prose(&markdown::rows(text), theme, columns, Style::new()), 0),
        Context::Diff(diff) => {
            let lines = diff_lines(diff, theme);
            let numbers: Vec<String> = lines.iter().map(|line| line.number.clone()).collect();
            let text: Vec<&str> = lines.iter().map(|line| &*line.text).collect();
            let (mut at, mut row, mut changed) = (lines.iter(), 0, None);
            let mut role = Role::Text;
            let rows = barred::exactly(&text.join("\n"), &numbers, theme, columns, |_, start| {
                if start == Start::Line {
                    role = at.next().map_or(Role::Text, |line| line.role);
                }
                if matches!(role, Role::Success | Role::Danger) {
                    changed.get_or_insert(row);
                }
                row += 1;
                theme.style(role)
            });
            (rows, changed.unwrap_or(0))
        }
        _ => (barred::exactly(text, &[], theme, columns, |_, _| theme.style(Role::Text)), 0),
    }
}

/// A line of a diff as it is shown.
#[derive(Clone, Debug)]
pub struct ShownDiffLine {
    /// Its numbers in the old and the new file, as wide as those of every other line. Empty if the diff is not whole.
    pub number: String,
    /// The role of the line: its kind in the diff.
    pub role: Role,
    /// All of it, past the gate for what is agreed to; of a line that says where others stand what is not in their numbers.
    pub text: String,
}

/// A diff with line numbers in the place of `@@`, if it is whole, else as it is.
pub fn diff_lines(diff: &str, theme: &Theme) -> Vec<ShownDiffLine> {
    let diff = diff.strip_suffix('\n').unwrap_or(diff);
    let shown = exact::shown(diff, theme.charset);
    let Some(numbered) = askuser_markdown::numbered(diff) else {
        let plain = |line: &str| ShownDiffLine { number: String::new(), role: diff_role(line), text: line.to_owned() };
        return shown.split('\n').map(plain).collect();
    };
    // A column for each of the two files, unless it has no lines.
    let width = |number: fn(&NumberedLine) -> Option<usize>| {
        numbered.iter().filter_map(number).max().map_or(0, |last| last.to_string().len())
    };
    let old_width = width(|line| line.old);
    let new_width = width(|line| line.new);
    let gap = if old_width > 0 && new_width > 0 { " " } else { "" };
    let whole_width = old_width + gap.len() + new_width;
    let digits = |number: Option<usize>| number.map(|number| number.to_string()).unwrap_or_default();
    let mut is_first = true;
    let mut lines = Vec::new();
    for (line, text) in numbered.iter().zip(shown.split('\n')) {
        let (number, text) = match line.says {
            DiffLine::Place => (theme.signs.ellipsis.to_owned(), text.splitn(3, "@@").nth(2).unwrap_or_default()),
            _ => (format!("{:>old_width$}{gap}{:>new_width$}", digits(line.old), digits(line.new)), text),
        };
        // The numbers of the first lines say where they stand.
        let says_nothing = line.says == DiffLine::Place && text.is_empty() && is_first;
        is_first = line.says == DiffLine::File || (is_first && line.says != DiffLine::Place);
        if !says_nothing {
            lines.push(ShownDiffLine {
                number: format!("{number:>whole_width$}"),
                role: role_of(line.says),
                text: text.to_owned(),
            });
        }
    }
    lines
}

/// The role of a line of a diff.
fn diff_role(line: &str) -> Role {
    role_of(DiffLine::of(line))
}

/// The role of what a line of a diff says.
pub(crate) fn role_of(line: DiffLine) -> Role {
    match line {
        DiffLine::Added => Role::Success,
        DiffLine::Removed => Role::Danger,
        DiffLine::Place => Role::Primary,
        DiffLine::File | DiffLine::Kept => Role::Muted,
    }
}
