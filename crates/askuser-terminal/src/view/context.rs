//! What questions are about: a command, a diff, a tool's input, exactly as it is; prose as Markdown. Nothing is left out: all
//! of it passes the gate for what a person agrees to ([`askuser::exact`]).
//!
//! Every row begins with a bar, so that nothing in it can pass for an option, a footer or a confirmation.

use super::barred;
use super::theme::{Role, Theme};
use super::wrap::Start;
use crate::markdown;
use askuser::Context;
use askuser_markdown::DiffLine;
use ratatui_core::style::Style;
use ratatui_core::text::Line;

/// The rows of a context in so many columns, as the prompt shows them: a bar before each, what is agreed to exactly as it is.
pub fn context_lines(context: &Context, theme: &Theme, columns: u16) -> Vec<Line<'static>> {
    read_context(context, theme, columns).0
}

/// The rows of a context, and the one that has to be seen: the first that a diff changes. What stands above it says where.
pub(super) fn read_context(context: &Context, theme: &Theme, columns: u16) -> (Vec<Line<'static>>, usize) {
    let columns = usize::from(columns);
    let text = &*context.shown(theme.charset);
    let role_of = match context {
        Context::Prose(_) => return (barred::prose(&markdown::rows(text), theme, columns, Style::new()), 0),
        Context::Diff(_) => diff_role,
        _ => |_: &str| Role::Text,
    };
    let (mut role, mut row, mut changed) = (Role::Text, 0, None);
    let lines = barred::exactly(text, theme, columns, |words, start| {
        if start == Start::Line {
            role = role_of(words);
        }
        if matches!(role, Role::Success | Role::Danger) {
            changed.get_or_insert(row);
        }
        row += 1;
        theme.style(role)
    });
    (lines, changed.unwrap_or(0))
}

/// The role of a line of a diff.
pub fn diff_role(line: &str) -> Role {
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
