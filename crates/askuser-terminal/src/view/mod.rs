//! What a prompt looks like: pure functions from a [`Prompt`] and an area to cells.

mod closing;
mod sheet;
mod theme;
mod widget;
mod wrap;

pub use closing::Confirm;
pub(crate) use closing::closing;
pub use theme::{Background, Depth, Role, Signs, Theme};
pub use widget::PromptWidget;

use askuser::Prompt;
use askuser::prompt::{Scroll, Viewport};
use ratatui_core::buffer::Buffer;
use ratatui_core::layout::{Position, Rect};
use ratatui_core::text::{Line, Span};
use sheet::{Sheet, compose};
use std::time::Duration;
use wrap::width;

/// Lines longer than this are hard to read.
const WIDEST: u16 = 100;

/// What the prompt is showing besides its state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mood {
    /// Waiting for the person.
    #[default]
    Asking,
    /// Just answered: a flash of success.
    Confirmed,
    /// The time is up: dimmed, with a warning.
    Expired,
}

/// How generous the lines are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Spacing {
    Airy,
    Dense,
}

/// A prompt laid out for a screen: which lines are seen, and where the caret is.
pub(crate) struct View<'a> {
    lines: Vec<Line<'a>>,
    viewport: Viewport,
    caret: Option<Position>,
    columns: u16,
}

impl<'a> View<'a> {
    /// Lays a prompt out in at most `columns` × `rows`.
    pub(crate) fn new(prompt: &'a Prompt, theme: &Theme, mood: Mood, columns: u16, rows: u16) -> View<'a> {
        let columns = columns.min(WIDEST);
        let theme = Theme { dimmed: theme.dimmed || mood == Mood::Expired, ..*theme };
        let rows = usize::from(rows.max(1));
        let mut sheet = compose(prompt, &theme, mood, Spacing::Airy, usize::from(columns));
        // One line more than the sheet has: the bottom border.
        if sheet.head.len() + sheet.body.len() + 1 + sheet.foot.len() > rows {
            sheet = compose(prompt, &theme, mood, Spacing::Dense, usize::from(columns));
        }
        View::fit(sheet, prompt, &theme, columns, rows)
    }

    fn fit(mut sheet: Sheet<'a>, prompt: &Prompt, theme: &Theme, columns: u16, rows: usize) -> View<'a> {
        // On a screen of a few rows the frame gives way to what is asked.
        let mut border = 1;
        while sheet.head.len() + border + sheet.foot.len() + 2 > rows {
            if sheet.foot.pop().is_some() {
            } else if border == 1 {
                border = 0;
            } else if sheet.head.pop().is_none() {
                break;
            }
        }
        let total = sheet.body.len();
        let height = (rows - sheet.head.len() - border - sheet.foot.len()).min(total);
        let offset = offset(prompt, &sheet, height);
        let shown = offset..offset + height;
        let seen =
            sheet.rows.iter().map(|row| shown.contains(&row.start) && (row.end <= shown.end || row.len() > height));
        let viewport = Viewport { offset, height, total, seen: seen.collect() };
        let caret = sheet.caret.filter(|(line, _)| shown.contains(line)).map(|(line, column)| {
            let column = (column as u16).min(columns.saturating_sub(1));
            Position::new(column, (sheet.head.len() + line - offset) as u16)
        });
        let mut lines = sheet.head;
        lines.extend(sheet.body.into_iter().skip(offset).take(height));
        if border == 1 {
            lines.push(bottom(prompt, theme, &viewport, usize::from(columns), &lines));
        }
        lines.extend(sheet.foot);
        View { lines, viewport, caret, columns }
    }

    /// What is seen, for [`Prompt::look`].
    pub(crate) fn viewport(&self) -> &Viewport {
        &self.viewport
    }

    /// Where the caret is, if there is one.
    pub(crate) fn caret(&self) -> Option<Position> {
        self.caret
    }

    /// The cells the prompt takes.
    pub(crate) fn size(&self) -> (u16, u16) {
        (self.columns, self.lines.len() as u16)
    }

    /// Draws into the top left of `area`.
    pub(crate) fn render(&self, area: Rect, buffer: &mut Buffer) {
        for (line, y) in self.lines.iter().zip(area.top()..area.bottom()) {
            buffer.set_line(area.x, y, line, self.columns.min(area.width));
        }
    }
}

/// The first line of the body that is seen.
fn offset(prompt: &Prompt, sheet: &Sheet, height: usize) -> usize {
    let end = sheet.body.len() - height;
    let from = match prompt.scroll() {
        Scroll::At(line) => return line.min(end),
        Scroll::Reveal(line) => line,
    };
    let target = match (sheet.caret, prompt.current()) {
        (Some((line, _)), _) => line..line + 1,
        (None, Some((_, entry))) => sheet.rows.get(entry.focus()).cloned().unwrap_or(0..0),
        (None, None) => 0..0,
    };
    let lowest = if target.len() > height { target.start } else { target.end.saturating_sub(height) };
    from.max(lowest).min(target.start).min(end)
}

/// `╰── 42 s left ──────── ↓ 12 more lines ──╯`
fn bottom<'a>(prompt: &Prompt, theme: &Theme, viewport: &Viewport, columns: usize, lines: &[Line<'a>]) -> Line<'a> {
    let signs = theme.signs;
    let muted = theme.style(Role::Muted);
    // The border has the colour of the frame, whatever that is just now.
    let edge = lines.last().and_then(|line| line.spans.first()).map_or(muted, |span| span.style);
    let time = prompt.time_left().map(|left| format!(" {} left, any key holds ", clock(left)));
    let below = viewport.total - viewport.offset - viewport.height;
    let more = match (viewport.offset, below) {
        (0, 0) => None,
        (0, below) => Some(format!(" {} {below} more lines, PgDn ", signs.down)),
        (above, 0) => Some(format!(" {} {above} more lines, PgUp ", signs.up)),
        (above, below) => Some(format!(" {} {above}  {} {below} more lines ", signs.up, signs.down)),
    };
    let rule = |count: usize| signs.horizontal.repeat(count);
    let used: usize = [&time, &more].into_iter().flatten().map(|text| width(text)).sum();
    let fill = columns.saturating_sub(2 + 2 + 2 + used);
    let soon = prompt.time_left().is_some_and(|left| left <= Duration::from_secs(10));
    let time_style = if soon { theme.style(Role::Warning) } else { muted };
    let mut spans = vec![Span::styled(format!("{}{}", signs.box_bottom_left, rule(2)), edge)];
    spans.extend(time.map(|text| Span::styled(text, time_style)));
    spans.push(Span::styled(rule(fill), edge));
    spans.extend(more.map(|text| Span::styled(text, theme.style(Role::Secondary))));
    spans.push(Span::styled(format!("{}{}", rule(2), signs.box_bottom_right), edge));
    Line::from(spans)
}

fn clock(left: Duration) -> String {
    match left.as_millis().div_ceil(1000) {
        seconds @ 0..=60 => format!("{seconds} s"),
        seconds => format!("{} min", seconds.div_ceil(60)),
    }
}

#[cfg(test)]
mod tests;
