//! The window of a console: title, notifications and bell. A terminal without a window gets none of these sequences.

use super::Console;
use crate::Presentation;
use crate::environment::encode;
use askuser::sanitize;

/// Pushes the title onto the terminal's title stack.
const SAVE_TITLE: &[u8] = b"\x1b[22;2t";
/// Pops the title from the stack. A terminal without a title stack is left with an empty title.
const RESTORE_TITLE: &[u8] = b"\x1b]2;\x07\x1b[23;2t";

impl Console {
    /// Rings the bell.
    pub fn bell(&mut self) {
        self.painter.raw(b"\x07");
    }

    /// Sets the window's title, if there is a window.
    pub fn set_title(&mut self, title: &str) {
        if self.options.has_window && self.options.presentation == Presentation::Screen {
            if !std::mem::replace(&mut self.is_titled, true) {
                self.painter.raw(SAVE_TITLE);
            }
            self.command("2", title);
            // While the process is suspended, the shell has its own title.
            let again = [SAVE_TITLE, &self.encoded("2", title)].concat();
            self.device.on_suspend(RESTORE_TITLE.to_vec(), again);
        }
    }

    /// Sends a desktop notification through the terminal (OSC 9), if there is a window.
    pub fn notify(&mut self, text: &str) {
        if self.options.has_window && self.options.presentation == Presentation::Screen {
            self.command("9", text);
        }
    }

    fn command(&mut self, number: &str, text: &str) {
        let bytes = self.encoded(number, text);
        self.painter.raw(&bytes);
    }

    /// Encodes an OSC sequence. Control characters are removed from the text, because the first of them would end the
    /// sequence.
    fn encoded(&self, number: &str, text: &str) -> Vec<u8> {
        let text = encode(&sanitize::line(text), self.options.theme.charset);
        [format!("\x1b]{number};").as_bytes(), &text, b"\x07"].concat()
    }

    /// Restores the title that the window had before [`Console::set_title`].
    pub(super) fn restore_title(&mut self) {
        if std::mem::take(&mut self.is_titled) {
            self.painter.raw(RESTORE_TITLE);
        }
    }
}
