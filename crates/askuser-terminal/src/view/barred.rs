//! The bar before text that others wrote: they cannot draw in its column.

use super::theme::{Role, Theme};
use super::wrap::Start;
use ratatui_core::text::Span;

/// `┃ `
pub(super) fn bar(theme: &Theme) -> Span<'static> {
    bar_at(Start::Line, theme)
}

/// `┃ ` before a line, `╏ ` before the rest of one that did not fit.
pub(super) fn bar_at(start: Start, theme: &Theme) -> Span<'static> {
    let sign = match start {
        Start::Line => theme.signs.bar,
        Start::Wrapped => theme.signs.bar_wrapped,
    };
    Span::styled(format!("{sign} "), theme.style(Role::Muted))
}
