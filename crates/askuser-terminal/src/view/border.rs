//! The bottom border with the countdown. A footer without a border shows the countdown and the number of hidden lines.

use super::wrap::{spans_width, width};
use super::{PromptPhase, Role, Theme};
use askuser::Prompt;
use askuser::prompt::Window;
use ratatui_core::style::Style;
use ratatui_core::text::{Line, Span};
use std::time::Duration;

/// The keys that scroll to the lines above and below.
const PAGE_KEYS: (&str, &str) = (", PgUp", ", PgDn");

/// The least number of columns that a bottom border needs besides its countdown.
const ENDS: usize = 2 + 2 + 2;

/// Returns a bottom border such as `╰── 42 s left ────────╯`.
pub(super) fn bottom(columns: usize, time: Span<'static>, edge: Style, theme: &Theme) -> Line<'static> {
    let signs = theme.signs;
    let fill = columns.saturating_sub(ENDS + width(&time.content));
    let rule = |count: usize| signs.horizontal.repeat(count);
    let left = Span::styled(format!("{}{}", signs.box_bottom_left, rule(2)), edge);
    let right = Span::styled(format!("{}{}", rule(fill + 2), signs.box_bottom_right), edge);
    Line::from(vec![left, time, right])
}

/// Returns the countdown in a bottom border, in the longest form that fits.
pub(super) fn time(prompt: &Prompt, theme: &Theme, phase: PromptPhase, columns: usize) -> Span<'static> {
    let (times, style) = countdown(prompt, theme, phase);
    Span::styled(times.into_iter().find(|time| ENDS + width(time) <= columns).unwrap_or_default(), style)
}

/// Returns a status such as `↓ 12 more · 42 s left · `. It has the longest forms that fit in the first of these
/// columns, or else in the second. The countdown is dropped first.
pub(super) fn status(
    prompt: &Prompt,
    theme: &Theme,
    phase: PromptPhase,
    page: Window,
    columns: [usize; 2],
) -> Vec<Span<'static>> {
    let (times, style) = countdown(prompt, theme, phase);
    let shortest = times.last().map(|time| time.trim().to_owned());
    let more = Span::styled(String::new(), theme.style(Role::Secondary));
    let dot = Span::styled(format!(" {} ", theme.signs.dot), theme.style(Role::Detail));
    let mut forms = Vec::new();
    for time in shortest.into_iter().chain([String::new()]) {
        for words in hidden(page, theme, phase) {
            let pieces = [more.clone().content(words), Span::styled(time.clone(), style)];
            let pieces = pieces.into_iter().filter(|piece| !piece.content.is_empty());
            forms.push(pieces.flat_map(|piece| [piece, dot.clone()]).collect::<Vec<_>>());
        }
    }
    let fitting = |columns| forms.iter().find(|form| spans_width(form) <= columns).cloned();
    columns.into_iter().find_map(fitting).unwrap_or_default()
}

/// Returns the forms of the countdown, the longest first, and their style. Without a deadline there are no forms.
fn countdown(prompt: &Prompt, theme: &Theme, phase: PromptPhase) -> (Vec<String>, Style) {
    let left = prompt.time_left().filter(|_| phase == PromptPhase::Asking);
    let forms = left.map(clock).map(|left| {
        let stop = format!(" {left} left {} press any key to stop the clock ", theme.signs.dot);
        vec![stop, format!(" {left} left ")]
    });
    let is_soon = left.is_some_and(|left| left <= Duration::from_secs(10));
    let style = if is_soon { theme.message(Role::Warning) } else { theme.style(Role::Detail) };
    (forms.unwrap_or_default(), style)
}

/// Returns the forms of the number of hidden lines, the longest first, such as `↓ 12 more lines, PgDn`. The only form
/// is empty if no lines are hidden.
pub(super) fn hidden(window: Window, theme: &Theme, phase: PromptPhase) -> Vec<String> {
    let signs = theme.signs;
    let (page_up, page_down) = if phase == PromptPhase::Asking { PAGE_KEYS } else { ("", "") };
    let above = window.offset;
    let below = window.total - window.end();
    let (what, page) = match (above, below) {
        (0, 0) => return vec![String::new()],
        (0, below) => (format!("{} {below}", signs.down), page_down),
        (above, 0) => (format!("{} {above}", signs.up), page_up),
        (above, below) => (format!("{} {above}  {} {below}", signs.up, signs.down), ""),
    };
    let last = if below == 0 { above } else { below };
    let lines = if last == 1 { "line" } else { "lines" };
    vec![format!("{what} more {lines}{page}"), format!("{what} more"), what]
}

fn clock(left: Duration) -> String {
    match left.as_millis().div_ceil(1000) {
        seconds @ 0..=60 => format!("{seconds} s"),
        seconds => format!("{} min", seconds.div_ceil(60)),
    }
}
