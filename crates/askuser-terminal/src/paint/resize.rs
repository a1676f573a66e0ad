//! Finds the frame again after a resize.
//!
//! A smaller terminal pushes the rows above the cursor into its history, where they cannot be erased. A larger terminal
//! brings them back. The frame's rows in the history are therefore remembered (*stranded*) and erased on their return.
//! The terminal reports the cursor's position. It may be resized again at any moment, also between that reply and the
//! next write. The position is therefore queried twice more: right before the old frame is erased, and in the last row
//! of the new frame. Rows that have left the screen meanwhile are stranded, too.

use super::pen::PLAIN;
use super::{CLEAR_BELOW, Painter};
use crate::decode::replies::ASK_CURSOR;
use std::io::Write;

/// The rows that were erased on the assumption that the cursor was at its reported position.
#[derive(Debug)]
pub(super) struct Erased {
    /// The number of screen rows above the cursor.
    up: u16,
    /// The rows of the frame in these screen rows, from the top. Each has a width, and a height in screen rows.
    rows: Vec<(u16, u16)>,
    /// The number of cursor queries since the rows were erased.
    asked: usize,
}

impl Painter {
    /// Erases the rows of this frame and of earlier frames that are on the screen after a resize. With `reflow`, the
    /// terminal has wrapped rows that no longer fit. `cursor_row` is the screen row of the cursor, if it is known.
    pub(crate) fn resized(&mut self, columns: u16, reflow: bool, cursor_row: Option<u16>) {
        let columns = columns.max(1);
        let height = |width: u16| if reflow { width.max(1).div_ceil(columns) } else { 1 };
        let sized = |width: u16| (width, height(width));
        let above = self.shown.iter().take(usize::from(self.row));
        let mut rows: Vec<(u16, u16)> = above.map(|drawn| sized(drawn.length())).collect();
        let mut up = rows.iter().map(|(_, height)| height).sum::<u16>();
        if reflow {
            up += self.column.unwrap_or(0) / columns;
        }
        if let Some(cursor_row) = cursor_row {
            let hidden = take_top(&mut rows, up.saturating_sub(cursor_row));
            up = up.min(cursor_row);
            self.stranded.extend(hidden);
            while let Some(&width) = self.stranded.last()
                && up + height(width) <= cursor_row
            {
                self.stranded.pop();
                up += height(width);
                rows.insert(0, sized(width));
            }
            self.raw(ASK_CURSOR);
        }
        if up > 0 {
            let _ = write!(self.out, "\x1b[{up}A");
        }
        self.set_pen(PLAIN);
        self.raw(b"\r");
        self.raw(CLEAR_BELOW);
        self.reset();
        self.erased = cursor_row.map(|_| Erased { up, rows, asked: 1 });
    }

    /// Queries the row of the last of these lines, if the frame is the first one after a resize.
    pub(super) fn ask_bottom_row(&mut self, lines: usize) {
        if let Some(last) = lines.checked_sub(1)
            && self.erased.as_ref().is_some_and(|erased| erased.asked == 1)
        {
            self.move_to(last as u16, 0);
            self.raw(ASK_CURSOR);
            self.erased.iter_mut().for_each(|erased| erased.asked += 1);
        }
    }

    /// Returns the number of cursor replies expected for the last output of [`Painter::take`].
    pub(crate) fn asked_rows(&self) -> usize {
        self.erased.as_ref().map_or(0, |erased| erased.asked)
    }

    /// Corrects the stranded rows by the terminal's replies. `None` means that the replies did not arrive.
    pub(crate) fn set_rows(&mut self, told: Option<&[u16]>) {
        let (Some(Erased { up, mut rows, .. }), Some(told)) = (self.erased.take(), told) else { return };
        if let Some(&cursor_row) = told.first() {
            self.stranded.extend(take_top(&mut rows, up.saturating_sub(cursor_row)));
        }
        if let Some(&bottom_row) = told.get(1) {
            let hidden = self.shown.len().saturating_sub(usize::from(bottom_row) + 1);
            self.stranded.extend(self.shown.drain(..hidden).map(|drawn| drawn.length()));
            self.row = self.row.saturating_sub(hidden as u16);
        }
    }
}

/// Removes the rows that begin in the first `hidden` screen rows, and returns their widths.
fn take_top(rows: &mut Vec<(u16, u16)>, mut hidden: u16) -> Vec<u16> {
    let mut taken = Vec::new();
    while hidden > 0 && !rows.is_empty() {
        let (width, height) = rows.remove(0);
        hidden = hidden.saturating_sub(height);
        taken.push(width);
    }
    taken
}
