//! The context of questions: a command, a diff or a tool's input verbatim, and prose as Markdown. The context is shown
//! completely. Text that a person agrees to is shown through [`askuser::verbatim`].
//!
//! Every row begins with a bar, so that it cannot pass for an option, a footer or a confirmation.

use super::quoted;
use super::theme::{Role, Theme};
use super::wrap::Start;
use crate::markdown;
use askuser::{Context, verbatim};
use askuser_markdown::{DiffLine, NumberedLine};
use ratatui_core::style::Style;
use ratatui_core::text::Line;

/// Returns the rows of a context in this many columns, as the prompt shows them. Each row begins with a bar, and text
/// that a person agrees to is shown exactly.
pub fn context_lines(context: &Context, theme: &Theme, columns: u16) -> Vec<Line<'static>> {
    read_context(context, theme, columns).0
}

/// Returns the rows of a context, and the index of the first row that a diff changes. That row has to be seen, and the
/// rows above it give its position. A row without a bar separates the parts of a tool use.
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
        Context::Prose(_) => (quoted::prose(&markdown::rows(text), theme, columns, Style::new()), 0),
        Context::Diff(diff) => {
            let lines = diff_lines(diff, theme);
            let numbers: Vec<String> = lines.iter().map(|line| line.number.clone()).collect();
            let text: Vec<&str> = lines.iter().map(|line| &*line.text).collect();
            let mut at = lines.iter();
            let mut row = 0;
            let mut changed = None;
            let mut role = Role::Text;
            let rows = quoted::exactly(&text.join("\n"), &numbers, theme, columns, |_, start| {
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
        _ => (quoted::exactly(text, &[], theme, columns, |_, _| theme.style(Role::Text)), 0),
    }
}

/// A line of a diff on a surface.
#[derive(Clone, Debug)]
pub struct ShownDiffLine {
    /// The line's numbers in the old and the new file, padded to the width of every other line. Empty if the diff is
    /// incomplete.
    pub number: String,
    /// The role of the line, which depends on its kind in the diff.
    pub role: Role,
    /// The whole text of the line, escaped by [`askuser::verbatim`]. A hunk header has only the part that is not in the
    /// line numbers.
    pub text: String,
}

/// Returns the lines of a diff, with line numbers in place of the `@@` headers. An incomplete diff stays as written.
pub fn diff_lines(diff: &str, theme: &Theme) -> Vec<ShownDiffLine> {
    let diff = diff.strip_suffix('\n').unwrap_or(diff);
    let shown = verbatim::shown(diff, theme.charset);
    let Some(numbered) = askuser_markdown::numbered(diff) else {
        let plain = |line: &str| ShownDiffLine { number: String::new(), role: diff_role(line), text: line.to_owned() };
        return shown.split('\n').map(plain).collect();
    };
    // Each of the two files has a column, unless it has no lines.
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
        // The numbers of the first lines already give their position.
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

/// Returns the role of a line in a diff.
fn diff_role(line: &str) -> Role {
    role_of(DiffLine::of(line))
}

/// Returns the role of this kind of line.
pub(crate) fn role_of(line: DiffLine) -> Role {
    match line {
        DiffLine::Added => Role::Success,
        DiffLine::Removed => Role::Danger,
        DiffLine::Place => Role::Primary,
        DiffLine::File | DiffLine::Kept => Role::Muted,
    }
}
