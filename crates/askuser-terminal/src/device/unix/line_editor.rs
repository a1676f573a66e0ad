//! Edits a line in memory. A terminal's driver would keep at most 4,095 bytes of a line and silently drop the rest.

use crate::decode::TerminalInput;
use crate::view::width;
use askuser::{Key, KeyCode};

/// An editor for the line that is being typed.
#[derive(Debug, Default)]
pub(super) struct LineEditor {
    line: String,
    /// Whether Ctrl-D was pressed on an empty line.
    pub(super) has_ended: bool,
}

impl LineEditor {
    /// Edits the line with typed input and appends completed lines to `inputs`. Returns the text to echo.
    pub(super) fn take(&mut self, typed: Vec<TerminalInput>, inputs: &mut Vec<TerminalInput>) -> String {
        let mut echo = String::new();
        for input in typed {
            match input {
                TerminalInput::Key(key) => self.press(key, inputs, &mut echo),
                TerminalInput::Paste(text) => {
                    self.line.push_str(&text);
                    echo.push_str(&text);
                }
                TerminalInput::Focus(_) => {}
            }
        }
        echo
    }

    fn press(&mut self, key: Key, inputs: &mut Vec<TerminalInput>, echo: &mut String) {
        match key.code {
            KeyCode::Enter => self.end(inputs, echo),
            KeyCode::Char('j') if key.mods.ctrl => self.end(inputs, echo),
            KeyCode::Char('u') if key.mods.ctrl => self.erase_from(0, echo),
            KeyCode::Char('w') if key.mods.ctrl => {
                let words = self.line.trim_end();
                self.erase_from(words.rfind(' ').map_or(0, |blank| blank + 1), echo);
            }
            KeyCode::Char('d') if key.mods.ctrl && self.line.is_empty() => self.has_ended = true,
            KeyCode::Char('d') if key.mods.ctrl => self.hand_over(inputs),
            KeyCode::Backspace => {
                let last = self.line.char_indices().next_back().map_or(0, |(at, _)| at);
                self.erase_from(last, echo);
            }
            KeyCode::Tab => self.add(' ', echo),
            KeyCode::Char(c) if !key.mods.ctrl && !key.mods.alt => self.add(c, echo),
            _ => {}
        }
    }

    fn add(&mut self, c: char, echo: &mut String) {
        self.line.push(c);
        echo.push(c);
    }

    fn erase_from(&mut self, at: usize, echo: &mut String) {
        echo.push_str(&"\u{8} \u{8}".repeat(width(&self.line[at..])));
        self.line.truncate(at);
    }

    fn end(&mut self, inputs: &mut Vec<TerminalInput>, echo: &mut String) {
        echo.push_str("\r\n");
        self.hand_over(inputs);
        inputs.push(TerminalInput::Key(Key::ctrl('j')));
    }

    /// Appends the text of an unfinished line to `inputs` and clears the line.
    pub(super) fn hand_over(&mut self, inputs: &mut Vec<TerminalInput>) {
        let line = std::mem::take(&mut self.line);
        inputs.extend(line.chars().map(|c| TerminalInput::Key(Key::plain(KeyCode::Char(c)))));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decode::Decoder;

    /// Returns the lines that these bytes produce, each ended by `/`, and the echo.
    fn typed(bytes: &str) -> (String, String) {
        let mut keys = Vec::new();
        let mut inputs = Vec::new();
        Decoder::default().feed(bytes.as_bytes(), &mut keys);
        let echo = LineEditor::default().take(keys, &mut inputs);
        let line = |input: &TerminalInput| match input {
            TerminalInput::Key(Key { code: KeyCode::Char(c), mods }) if !mods.ctrl => *c,
            _ => '/',
        };
        (inputs.iter().map(line).collect(), echo)
    }

    #[test]
    fn a_line_of_16_000_characters_stays_whole() {
        let long = "é".repeat(16_000);
        assert_eq!(typed(&format!("{long}\n")), (format!("{long}/"), format!("{long}\r\n")));
    }

    #[test]
    fn keys_that_erase_take_away_what_they_took_on_the_screen() {
        assert_eq!(typed("ab\x7fc\n").0, "ac/");
        assert_eq!(typed("語\x7f"), (String::new(), "語\u{8} \u{8}\u{8} \u{8}".into()));
        assert_eq!(typed("one two \x17x\n").0, "one x/");
        assert_eq!(typed("one\x15x\n\x7f\n").0, "x//");
    }

    #[test]
    fn an_unfinished_line_is_kept_until_it_ends() {
        assert_eq!(typed("ab").0, "");
        assert_eq!(typed("ab\x04").0, "ab");
    }
}
