//! What a console does outside its screen: the window title, notifications, the bell. Only where there is a window.

use super::Console;
use crate::{Presentation, Window};
use askuser::sanitize;

/// Whose the window's title is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TitleState {
    Unchanged,
    Replaced,
}

/// The title is put aside and taken up again, where the terminal can do that; elsewhere it ends up empty.
const SAVE_TITLE: &[u8] = b"\x1b[22;2t";

const RESTORE_TITLE: &[u8] = b"\x1b]2;\x07\x1b[23;2t";

impl Console {
    /// Rings the bell.
    pub fn bell(&mut self) {
        self.painter.raw(b"\x07");
    }

    /// Names the window, where there is one.
    pub fn set_title(&mut self, title: &str) {
        if self.window == Window::Titled && self.presentation == Presentation::Screen {
            if self.title == TitleState::Unchanged {
                self.painter.raw(SAVE_TITLE);
                self.title = TitleState::Replaced;
            }
            self.command("2", title);
            // A shell has a title of its own.
            let again = [SAVE_TITLE, &self.encoded("2", title)].concat();
            self.device.on_suspend(RESTORE_TITLE.to_vec(), again);
        }
    }

    /// Passes a notification on, where the terminal does that.
    pub fn notify(&mut self, text: &str) {
        if self.window == Window::Titled && self.presentation == Presentation::Screen {
            self.command("9", text);
        }
    }

    fn command(&mut self, number: &str, text: &str) {
        let bytes = self.encoded(number, text);
        self.painter.raw(&bytes);
    }

    /// A command of the operating system's kind. It ends at the first control character, so none may be in the text.
    fn encoded(&self, number: &str, text: &str) -> Vec<u8> {
        let text = self.charset.encode(&sanitize::line(text));
        [format!("\x1b]{number};").as_bytes(), &text, b"\x07"].concat()
    }

    /// Restores the title that the window had before [`Console::set_title`].
    pub(super) fn restore_title(&mut self) {
        if self.title == TitleState::Replaced {
            self.title = TitleState::Unchanged;
            self.painter.raw(RESTORE_TITLE);
        }
    }
}
