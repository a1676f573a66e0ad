//! What questions are about: a command, a diff, a tool's input, exactly as it is; prose as Markdown. Nothing is left out: all
//! of it passes the gate for what a person agrees to ([`askuser::exact`]).
//!
//! Every row begins with a bar, so that nothing in it can pass for an option, a footer or a confirmation.

use super::barred::{bar, bar_at};
use super::theme::{Role, Theme};
use super::wrap::{Start, width, wrap_exactly};
use crate::markdown::{self, Fences};
use askuser::Context;
use ratatui_core::style::Style;
use ratatui_core::text::{Line, Span};
use std::ops::Range;

/// The rows of a context in so many columns, as the prompt shows them: a bar before each, what is agreed to exactly as it is.
pub fn context_lines(context: &Context, theme: &Theme, columns: u16) -> Vec<Line<'static>> {
    read_context(context, theme, columns).0
}

/// The rows of a context, and the one that has to be seen: the first that a diff changes. What stands above it says where.
pub(super) fn read_context(context: &Context, theme: &Theme, columns: u16) -> (Vec<Line<'static>>, usize) {
    let columns = usize::from(columns);
    let text = &*context.shown(theme.charset);
    match context {
        Context::Prose(_) => {
            let bar = bar(theme);
            let room = columns.saturating_sub(width(&bar.content));
            let lines = markdown::render_as(&markdown::rows(text), theme, room, Fences::Boxed, Style::new());
            (lines.into_iter().map(|line| Line::from_iter([bar.clone()].into_iter().chain(line.spans))).collect(), 0)
        }
        Context::Diff(_) => exactly(text, diff_role, theme, columns),
        _ => exactly(text, |_| Role::Text, theme, columns),
    }
}

/// Every line of a text as it is, in the role that `role_of` gives it, and the first row that is added or removed.
fn exactly(text: &str, role_of: fn(&str) -> Role, theme: &Theme, columns: usize) -> (Vec<Line<'static>>, usize) {
    let (mut role, mut changed) = (Role::Text, None);
    let rows = wrap_exactly(text, columns.saturating_sub(width(theme.signs.bar) + 1));
    let row = |(i, (range, start)): (usize, (Range<usize>, Start))| {
        let words = &text[range];
        if start == Start::Line {
            role = role_of(words);
        }
        if matches!(role, Role::Success | Role::Danger) {
            changed.get_or_insert(i);
        }
        Line::from(vec![bar_at(start, theme), Span::styled(words.to_owned(), theme.style(role))])
    };
    (rows.into_iter().enumerate().map(row).collect(), changed.unwrap_or(0))
}

/// The role of a line of a diff.
pub fn diff_role(line: &str) -> Role {
    match line.as_bytes() {
        [b'+', b'+', b'+', ..] | [b'-', b'-', b'-', ..] => Role::Muted,
        [b'+', ..] => Role::Success,
        [b'-', ..] => Role::Danger,
        [b'@', b'@', ..] => Role::Primary,
        _ => Role::Muted,
    }
}
