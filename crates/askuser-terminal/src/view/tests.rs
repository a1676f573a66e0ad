//! The look of a prompt: pictures of every screen, and properties of all screens.

mod closings;
mod contexts;
mod forged;
mod marks;
mod previews;
mod properties;
mod screens;
mod side_texts;

use super::*;
use crate::fixtures;
use askuser::prompt::{Effect, Event};
use std::time::Duration;
use wrap::width;

/// The columns and rows of a terminal.
type Size = (u16, u16);

/// Returns the view that the terminal driver shows on a terminal of this size. A column and a row are left free.
fn view(prompt: &Prompt, theme: &Theme, phase: PromptPhase, (columns, rows): Size) -> View {
    View::new(prompt, None, theme, phase, columns.saturating_sub(1).max(1), rows.saturating_sub(1).max(1))
}

fn drawn(view: &View) -> Buffer {
    let columns = view.columns;
    let rows = view.lines.len() as u16;
    let area = Rect::new(0, 0, columns, rows);
    let mut buffer = Buffer::empty(area);
    view.render(area, &mut buffer);
    buffer
}

/// Handles an event like the driver, and returns its effect. It updates the prompt, lays it out, and reports the
/// visible part.
fn press(prompt: &mut Prompt, event: Event, now: Duration, size: Size) -> Effect {
    let effect = prompt.update(event, now);
    look(prompt, size);
    effect
}

fn look(prompt: &mut Prompt, size: Size) {
    let viewport = view(prompt, &Theme::default(), PromptPhase::Asking, size).viewport.clone();
    prompt.look(viewport);
}

/// Returns the symbols of each row, without the cells that a wide symbol covers.
fn rows(buffer: &Buffer) -> Vec<String> {
    let columns = usize::from(buffer.area.width).max(1);
    let row = |cells: &[ratatui_core::buffer::Cell]| {
        let mut text = String::new();
        let mut x = 0;
        while let Some(cell) = cells.get(x) {
            text.push_str(cell.symbol());
            x += width(cell.symbol()).max(1);
        }
        text.trim_end().to_owned()
    };
    buffer.content.chunks(columns).map(row).collect()
}
