//! The bottom border with the countdown and the number of hidden lines.

use super::wrap::width;
use super::{PromptPhase, Role, Signs, Theme};
use askuser::Prompt;
use askuser::prompt::{Viewport, Window};
use ratatui_core::text::{Line, Span};
use std::time::Duration;

/// The keys for the lines above and below.
const PAGE_KEYS: (&str, &str) = (", PgUp", ", PgDn");

/// `╰── 42 s left ──────── ↓ 12 more lines ──╯`
pub(super) fn bottom<'a>(
    prompt: &Prompt,
    theme: &Theme,
    phase: PromptPhase,
    viewport: &Viewport,
    columns: usize,
    lines: &[Line<'a>],
) -> Line<'a> {
    let signs = theme.signs;
    let muted = theme.style(Role::Muted);
    // The same colour as the rest of the frame.
    let edge = lines.last().and_then(|line| line.spans.first()).map_or(muted, |span| span.style);
    let left = prompt.time_left().filter(|_| phase == PromptPhase::Asking);
    let mores = hidden(viewport.page, theme, phase)
        .into_iter()
        .map(|more| if more.is_empty() { more } else { format!(" {more} ") });
    let (time, more) = marks(left, &mores.collect::<Vec<_>>(), &signs, columns.saturating_sub(2 + 2 + 2));
    let rule = |count: usize| signs.horizontal.repeat(count);
    let fill = columns.saturating_sub(2 + 2 + 2 + width(&time) + width(&more));
    let soon = left.is_some_and(|left| left <= Duration::from_secs(10));
    let time_style = if soon { theme.message(Role::Warning) } else { muted };
    Line::from(vec![
        Span::styled(format!("{}{}", signs.box_bottom_left, rule(2)), edge),
        Span::styled(time, time_style),
        Span::styled(rule(fill), edge),
        Span::styled(more, theme.style(Role::Secondary)),
        Span::styled(format!("{}{}", rule(2), signs.box_bottom_right), edge),
    ])
}

/// How many lines are hidden: `↓ 12 more lines, PgDn`, the longest form first; one that is empty if none are.
pub(super) fn hidden(window: Window, theme: &Theme, phase: PromptPhase) -> Vec<String> {
    let signs = theme.signs;
    let (page_up, page_down) = if phase == PromptPhase::Asking { PAGE_KEYS } else { ("", "") };
    let (above, below) = (window.offset, window.total - window.end());
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

/// The countdown and the number of hidden lines, in the longest forms that fit; the number of lines is dropped last.
fn marks(left: Option<Duration>, mores: &[String], signs: &Signs, room: usize) -> (String, String) {
    let times = match left.map(clock) {
        Some(left) => {
            let stop = format!(" {left} left {} press any key to stop the clock ", signs.dot);
            vec![stop, format!(" {left} left "), String::new()]
        }
        None => vec![String::new()],
    };
    for time in &times {
        for more in mores {
            // At least one column of border between them.
            let between = usize::from(!time.is_empty() && !more.is_empty());
            if width(time) + between + width(more) <= room {
                return (time.clone(), more.clone());
            }
        }
    }
    (String::new(), String::new())
}

fn clock(left: Duration) -> String {
    match left.as_millis().div_ceil(1000) {
        seconds @ 0..=60 => format!("{seconds} s"),
        seconds => format!("{} min", seconds.div_ceil(60)),
    }
}
