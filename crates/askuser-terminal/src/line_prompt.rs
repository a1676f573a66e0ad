//! The prompt spoken linearly: one question at a time, numbered options, a line for an answer, no cursor movement.
//!
//! [`LinePrompt`] is the prompt's own state machine with words for keys; it decides nothing itself, so what can be
//! answered here and on a screen is the same. [`ask`] speaks it on the terminal device.

mod driver;
mod text;

pub(crate) use driver::ask;

use askuser::prompt::{Effect, Event, InputMode, Page, PromptOptions, TextField};
use askuser::{Key, KeyCode, Prompt, QuestionSet};
use std::collections::VecDeque;
use std::time::Duration;

/// A prompt as a conversation of lines.
#[derive(Clone, Debug)]
pub struct LinePrompt {
    prompt: Prompt,
    now: Duration,
    /// What a line asked for that still needs a text: notes and Other.
    fields: VecDeque<TextField>,
    /// The last line was not understood.
    rejected: bool,
}

impl LinePrompt {
    /// A conversation about a prompt. A line takes an Enter of its own, so no arming delay applies.
    pub fn new(set: QuestionSet, settings: PromptOptions) -> LinePrompt {
        LinePrompt::from_prompt(Prompt::new(set, PromptOptions { key_delay: Duration::ZERO, ..settings }))
    }

    fn from_prompt(prompt: Prompt) -> LinePrompt {
        LinePrompt { prompt, now: Duration::ZERO, fields: VecDeque::new(), rejected: false }
    }

    /// The prompt behind the conversation.
    pub fn prompt(&self) -> &Prompt {
        &self.prompt
    }

    /// Takes a line the person typed; `now` is the time since the first word.
    pub fn submit_line(&mut self, line: &str, now: Duration) -> Effect {
        self.now = now;
        self.rejected = false;
        let word = line.trim();
        let effect = match self.prompt.mode() {
            InputMode::Leaving if is_yes(word) => self.press(KeyCode::Esc),
            InputMode::Leaving | InputMode::Help => self.press(KeyCode::Char('x')),
            InputMode::Typing(field) => self.submit_text(field, line),
            InputMode::Choosing => self.run_command(word),
        };
        // The help page needs no line to be closed.
        if self.prompt.mode() == InputMode::Help { effect } else { self.next_field(effect) }
    }

    /// Takes the passing of time.
    pub fn tick(&mut self, now: Duration) -> Effect {
        self.now = now;
        self.prompt.update(Event::Tick, now)
    }

    /// Whether what was just said wants no line before going on.
    fn needs_no_reply(&self) -> bool {
        self.prompt.mode() == InputMode::Help
    }

    fn run_command(&mut self, word: &str) -> Effect {
        let review = self.prompt.page() == Page::Review;
        match word {
            "" => self.reject_line(),
            "y" | "yes" if review => self.press(KeyCode::Enter),
            "?" | "h" | "help" => self.press(KeyCode::Char('?')),
            "b" | "back" => self.press(KeyCode::Left),
            "f" | "forward" => self.press(KeyCode::Right),
            "c" => self.press(KeyCode::Char('c')),
            "d" => self.press(KeyCode::Char('d')),
            "q" | "quit" | "cancel" => self.press(KeyCode::Esc),
            _ => match (numbers(word), word.strip_prefix('n').and_then(numbers)) {
                (Some(rows), _) if review => self.change(&rows),
                (Some(rows), _) => self.choose(&rows),
                (None, Some(rows)) if !review => self.add_notes(&rows),
                (None, _) => self.reject_line(),
            },
        }
    }

    fn change(&mut self, rows: &[usize]) -> Effect {
        match (rows, rows.first().and_then(|&n| char::from_digit(u32::try_from(n).ok()?, 10))) {
            ([_], Some(digit)) => self.press(KeyCode::Char(digit)),
            _ => self.reject_line(),
        }
    }

    /// Makes exactly these rows the choice, and goes on.
    fn choose(&mut self, rows: &[usize]) -> Effect {
        let Page::Question(i) = self.prompt.page() else { return Effect::Continue };
        let multi = self.prompt.set().questions()[i].is_multi_select();
        let other = self.prompt.draft(i).other_row();
        if rows.iter().any(|&n| n == 0 || n > other + 1) || (!multi && rows.len() != 1) {
            return self.reject_line();
        }
        let wanted = |row: usize| rows.contains(&(row + 1));
        if multi {
            for row in 0..=other {
                // Other is decided by its text, which is asked for next.
                let is_picked = self.prompt.draft(i).is_picked(row);
                if if row == other { is_picked && !wanted(row) } else { is_picked != wanted(row) } {
                    self.focus(row);
                    self.press(KeyCode::Char(' '));
                }
            }
        }
        match rows.iter().find(|&&n| n != other + 1) {
            _ if wanted(other) => self.focus(other),
            Some(n) => self.focus(n - 1),
            None => {}
        }
        self.press(KeyCode::Enter)
    }

    fn add_notes(&mut self, rows: &[usize]) -> Effect {
        let Some((_, entry)) = self.prompt.current() else { return Effect::Continue };
        if rows.is_empty() || rows.iter().any(|&n| n == 0 || n > entry.other_row() + 1) {
            return self.reject_line();
        }
        self.fields.extend(rows.iter().map(|n| TextField::Note(n - 1)));
        Effect::Continue
    }

    /// Opens the next field a line asked for.
    fn next_field(&mut self, effect: Effect) -> Effect {
        if effect == Effect::Continue
            && self.prompt.mode() == InputMode::Choosing
            && let Some(TextField::Note(row)) = self.fields.pop_front()
        {
            self.focus(row);
            return self.press(KeyCode::Char('n'));
        }
        effect
    }

    fn submit_text(&mut self, field: TextField, line: &str) -> Effect {
        let text = line.trim();
        let back = match field {
            TextField::Other => text.is_empty(),
            TextField::Discuss | TextField::Decline => text == "b",
            TextField::Note(_) => false,
        };
        if back {
            return self.press(KeyCode::Esc);
        }
        self.stop_deadline();
        self.prompt.update(Event::Edited(text.to_owned()), self.now);
        // Too long: it was refused, and the reason will be said.
        if self.prompt.notice().is_some() { Effect::Continue } else { self.press(KeyCode::Enter) }
    }

    /// Moves to a row without choosing it.
    fn focus(&mut self, row: usize) {
        let here = || self.prompt.current().map_or(row, |(_, entry)| entry.focus());
        let (from, key) = (here(), if here() < row { KeyCode::Down } else { KeyCode::Up });
        for _ in 0..from.abs_diff(row) {
            self.press(key);
        }
    }

    fn reject_line(&mut self) -> Effect {
        let text = match self.prompt.current() {
            None => "Type y to send, or ? for help".to_owned(),
            Some((question, entry)) if question.is_multi_select() => {
                format!("Type numbers from 1 to {}, such as 1,2, or ? for help", entry.other_row() + 1)
            }
            Some((_, entry)) => format!("Type a number from 1 to {}, or ? for help", entry.other_row() + 1),
        };
        self.stop_deadline();
        self.prompt.warn(text);
        self.rejected = true;
        Effect::Continue
    }

    /// Somebody is there, and what was said about an earlier line is over: a key that changes nothing says so.
    fn stop_deadline(&mut self) {
        self.press(KeyCode::Home);
    }

    fn press(&mut self, code: KeyCode) -> Effect {
        self.prompt.update(Event::Key(Key::plain(code)), self.now)
    }
}

fn is_yes(word: &str) -> bool {
    matches!(word.to_lowercase().as_str(), "y" | "yes")
}

/// `1,3` or `1 3`.
fn numbers(text: &str) -> Option<Vec<usize>> {
    let words = text.split([',', ' ']).filter(|word| !word.is_empty());
    let numbers = words.map(|word| word.parse().ok()).collect::<Option<Vec<usize>>>()?;
    (!numbers.is_empty()).then_some(numbers)
}

#[cfg(test)]
#[path = "line_prompt_tests.rs"]
mod tests;
