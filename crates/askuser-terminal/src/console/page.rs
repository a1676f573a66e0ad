//! A page over the whole screen, for a text that is longer than the live region. It is drawn on the alternate screen: when it
//! closes, the conversation is where it was, and nothing of the page is in the scrollback.

use super::{Console, painter};
use crate::Presentation;
use crate::paint::CLEAR_BELOW;
use ratatui_core::text::Line;

/// To the alternate screen, cleared.
const ENTER_PAGE: &[u8] = b"\x1b[?1049h\x1b[2J\x1b[H";
pub(super) const LEAVE_PAGE: &[u8] = b"\x1b[m\x1b[?1049l\x1b[?25h";

impl Console {
    /// Replaces the whole screen by these lines, until [`Console::close_page`]. Does nothing in line mode.
    pub fn set_page(&mut self, lines: &[Line<'_>]) {
        if self.options.presentation == Presentation::Line {
            return;
        }
        if self.page.is_none() {
            self.clear_live();
            self.open_page();
        }
        let (columns, rows) = (self.size.0, usize::from(self.size.1));
        if let Some(page) = &mut self.page {
            page.paint(&lines[..lines.len().min(rows)], columns, None);
        }
    }

    /// Shows the screen again that was there before the page.
    pub fn close_page(&mut self) {
        if self.page.is_some() {
            self.leave_page();
            self.page = None;
            // The terminal may have been resized meanwhile.
            self.painter.raw(b"\r");
            self.painter.raw(CLEAR_BELOW);
            self.synchronize = true;
        }
    }

    /// The page is to be painted as a whole: it was just opened, or the screen is another one.
    pub(super) fn open_page(&mut self) {
        let mut page = painter(&self.options);
        page.raw(ENTER_PAGE);
        self.page = Some(page);
    }

    /// Gives the screen back; the page itself stays open.
    pub(super) fn leave_page(&mut self) {
        if let Some(page) = &mut self.page {
            page.take();
            self.painter.raw(LEAVE_PAGE);
        }
    }
}
