//! Line mode: one question at a time, numbered options, a line for an answer, no cursor movement.
//!
//! [`LinePrompt`] translates lines to keys of the screen's state machine and makes no decisions itself. Both therefore
//! give the same answers. [`ask`] runs a [`LinePrompt`] on the terminal device.

mod driver;
mod text;

pub(crate) use driver::ask;

use askuser::prompt::{Action, Effect, Event, InputMode, Page, PromptOptions, TextField};
use askuser::{Form, Key, KeyCode, Prompt, QuestionSet};
use std::collections::VecDeque;
use std::time::Duration;

/// A prompt in line mode. It outputs text and reads lines.
///
/// ```
/// use askuser::prompt::{Effect, PromptOptions};
/// use askuser::{QuestionSet, Rules};
/// use askuser_terminal::LinePrompt;
/// use std::time::Duration;
///
/// let json = r#"{"questions":[{"question":"Which database?","header":"Database","multiSelect":false,
///   "options":[{"label":"PostgreSQL","description":"a server"},{"label":"SQLite","description":"a file"}]}]}"#;
/// let set = QuestionSet::from_json(json, &Rules::default())?;
/// let mut prompt = LinePrompt::new(set, PromptOptions::default());
/// assert!(prompt.text().contains("  2. SQLite: a file\n"));
/// let effect = prompt.submit_line("2", Duration::from_secs(3));
/// assert!(matches!(effect, Effect::Finish(outcome) if outcome.answers()[0].selected_options == ["SQLite"]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct LinePrompt {
    prompt: Prompt,
    now: Duration,
    /// The rows whose notes the last line asked for, and that still have to be typed.
    notes: VecDeque<usize>,
    /// Whether the last line was invalid.
    rejected: bool,
    /// The index of the option whose preview the last line asked for; `None` if it asked for no preview.
    reading: Option<usize>,
    /// The number of columns of the terminal; `None` if it is unknown.
    columns: Option<usize>,
}

impl LinePrompt {
    /// Creates a prompt at its first question. The key delay does not apply, because an answer needs Enter.
    pub fn new(set: QuestionSet, settings: PromptOptions) -> LinePrompt {
        LinePrompt::from_prompt(Prompt::new(set, PromptOptions { key_delay: Duration::ZERO, ..settings }))
    }

    fn from_prompt(prompt: Prompt) -> LinePrompt {
        LinePrompt {
            prompt,
            now: Duration::ZERO,
            notes: VecDeque::new(),
            rejected: false,
            reading: None,
            columns: None,
        }
    }

    /// Wraps text at the terminal's width, with a mark before each continuation. A line wrapped by the terminal would
    /// look like two lines.
    pub fn set_columns(&mut self, columns: u16) {
        self.columns = Some(usize::from(columns));
    }

    /// Returns the state machine of the prompt.
    pub fn prompt(&self) -> &Prompt {
        &self.prompt
    }

    /// Handles a line that the person typed, and returns its effect. `now` is the time since the first text was
    /// printed.
    pub fn submit_line(&mut self, line: &str, now: Duration) -> Effect {
        self.now = now;
        self.rejected = false;
        self.reading = None;
        let word = line.trim();
        let effect = match self.prompt.mode() {
            InputMode::Leaving if is_yes(word) => self.press(KeyCode::Esc),
            InputMode::Leaving | InputMode::Help => self.press(KeyCode::Char('x')),
            InputMode::Typing(field) => self.submit_text(field, line),
            InputMode::Choosing => self.run_command(word),
        };
        // The help page closes without a further line.
        if self.prompt.mode() == InputMode::Help { effect } else { self.next_field(effect) }
    }

    /// Updates the clock and returns the effect. At the deadline the outcome is `timed_out`.
    pub fn tick(&mut self, now: Duration) -> Effect {
        self.now = now;
        self.prompt.update(Event::Tick, now)
    }

    fn run_command(&mut self, word: &str) -> Effect {
        let review = self.prompt.page() == Page::Review;
        let form = self.form();
        match word {
            "keep" if self.prompt.rival().is_some() => self.act(Action::KeepOther),
            "mine" if self.prompt.rival().is_some() => self.act(Action::KeepMine),
            "" | "y" | "yes" if review => self.press(KeyCode::Enter),
            "" if form == Form::Pick && self.prompt.answer(0).is_some() => {
                self.end_search();
                self.press(KeyCode::Enter)
            }
            "" => self.reject_line(),
            "y" if form == Form::Confirm => self.choose(&[1]),
            "n" if form == Form::Confirm => self.choose(&[2]),
            "?" | "h" | "help" => self.act(Action::Help),
            "b" | "back" => self.press(KeyCode::Left),
            "f" | "forward" => self.press(KeyCode::Right),
            "c" => self.act(Action::Discuss),
            "d" => self.act(Action::Decline),
            "q" | "quit" | "cancel" => {
                self.end_search();
                self.press(KeyCode::Esc)
            }
            _ => match (
                numbers(word),
                word.strip_prefix('n').and_then(numbers),
                word.strip_prefix('v').and_then(numbers),
            ) {
                (Some(rows), ..) if review => self.change(&rows),
                (Some(rows), ..) if rows.iter().all(|&n| self.is_printed(n)) => self.choose(&rows),
                (Some(_), ..) => self.reject("Type a number that is listed, or part of a name".into()),
                (None, Some(rows), _) if !review && form.takes_notes() => self.add_notes(&rows),
                (None, None, Some(rows)) if !review && form == Form::Tool => self.read_preview(&rows),
                (None, ..) => match self.row_named(word) {
                    Some(row) => self.choose(&[row + 1]),
                    None if form == Form::Pick => self.search(word.strip_prefix('/').unwrap_or(word)),
                    None if form == Form::Tool && !review && matches!(word, "n" | "v") => {
                        self.reject(format!("Type {word} and the number of an option, such as {word} 1"))
                    }
                    None => self.reject_line(),
                },
            },
        }
    }

    /// Returns whether the row with this number was printed. Only a long list has rows that are not printed.
    fn is_printed(&self, number: usize) -> bool {
        let (Form::Pick, Some((_, entry))) = (self.form(), self.prompt.current()) else { return true };
        entry.listed().take(text::LISTED).any(|row| row + 1 == number)
    }

    /// Returns the index of the option with this name, regardless of case. `None` if there is no such option.
    fn row_named(&self, word: &str) -> Option<usize> {
        let (question, _) = self.prompt.current()?;
        let name = word.to_lowercase();
        question.options().iter().position(|option| option.name().to_lowercase() == name)
    }

    /// Lists only the options that match these words. Their numbers stay those of the whole list.
    fn search(&mut self, words: &str) -> Effect {
        self.end_search();
        self.prompt.update(Event::Paste(words.to_owned()), self.now)
    }

    fn end_search(&mut self) {
        if self.prompt.current().is_some_and(|(_, entry)| !entry.search.is_empty()) {
            self.press(KeyCode::Esc);
        }
    }

    /// Returns the form of the question, or the default form on the review page.
    fn form(&self) -> Form {
        self.prompt.current().map_or(Form::Tool, |(question, _)| question.form())
    }

    fn change(&mut self, rows: &[usize]) -> Effect {
        match (rows, rows.first().and_then(|&n| char::from_digit(u32::try_from(n).ok()?, 10))) {
            ([_], Some(digit)) => self.press(KeyCode::Char(digit)),
            _ => self.reject_line(),
        }
    }

    /// Selects exactly these rows and confirms the question.
    fn choose(&mut self, rows: &[usize]) -> Effect {
        let Page::Question(i) = self.prompt.page() else { return Effect::Continue };
        let multi = self.prompt.set().questions()[i].is_multi_select();
        let other = self.prompt.draft(i).other_row();
        let last = self.prompt.draft(i).rows();
        if rows.iter().any(|&n| n == 0 || n > last) || (!multi && rows.len() != 1) {
            return self.reject_line();
        }
        self.end_search();
        let wanted = |row: usize| rows.contains(&(row + 1));
        if multi {
            for row in 0..last {
                // Other is selected by its text, and the prompt asks for that text next.
                let is_picked = self.prompt.draft(i).is_picked(row);
                if is_picked != (wanted(row) && row != other) {
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

    /// Makes the next text the preview of an option.
    fn read_preview(&mut self, rows: &[usize]) -> Effect {
        let has_preview = |row: usize| {
            let option = self.prompt.current().and_then(|(question, _)| question.options().get(row));
            option.is_some_and(|option| option.preview().is_some())
        };
        match rows {
            [n] if n.checked_sub(1).is_some_and(has_preview) => {
                self.stop_deadline();
                self.reading = Some(n - 1);
                Effect::Continue
            }
            [n] if self.prompt.current().is_some_and(|(_, draft)| (1..=draft.other_row()).contains(n)) => {
                self.reject(format!("Option {n} has no preview"))
            }
            _ => self.reject_line(),
        }
    }

    fn add_notes(&mut self, rows: &[usize]) -> Effect {
        let Some((_, entry)) = self.prompt.current() else { return Effect::Continue };
        if rows.is_empty() || rows.iter().any(|&n| n == 0 || n > entry.other_row() + 1) {
            return self.reject_line();
        }
        self.notes.extend(rows.iter().map(|n| n - 1));
        Effect::Continue
    }

    /// Opens the next text field that a line asked for, if there is one.
    fn next_field(&mut self, effect: Effect) -> Effect {
        if effect == Effect::Continue
            && self.prompt.mode() == InputMode::Choosing
            && let Some(row) = self.notes.pop_front()
        {
            self.focus(row);
            return self.act(Action::Note);
        }
        effect
    }

    fn submit_text(&mut self, field: TextField, line: &str) -> Effect {
        let text = line.trim();
        let is_filled_in = self.prompt.answer(0).is_some();
        let back = match field {
            TextField::Other if text.is_empty() && self.form() == Form::Input && is_filled_in => {
                return self.press(KeyCode::Enter);
            }
            TextField::Other if text.is_empty() && self.form() == Form::Input => {
                return self.reject("Type an answer; Ctrl-D cancels".into());
            }
            TextField::Other => text.is_empty(),
            TextField::Discuss | TextField::Decline => text == "b",
            TextField::Note(_) => false,
        };
        if back {
            return self.press(KeyCode::Esc);
        }
        self.stop_deadline();
        self.prompt.update(Event::Edited(text.to_owned()), self.now);
        // The text was refused because it is too long. The next text gives the reason.
        if self.prompt.notice().is_some() {
            return Effect::Continue;
        }
        let multi = self.prompt.current().is_some_and(|(question, _)| question.is_multi_select());
        let effect = self.press(KeyCode::Enter);
        // The line that selected Other has also confirmed the question.
        if field == TextField::Other && multi { self.press(KeyCode::Enter) } else { effect }
    }

    /// Moves to a row without choosing it.
    fn focus(&mut self, row: usize) {
        let here = || self.prompt.current().map_or(row, |(_, entry)| entry.focus);
        let from = here();
        let key = if here() < row { KeyCode::Down } else { KeyCode::Up };
        for _ in 0..from.abs_diff(row) {
            self.press(key);
        }
    }

    fn reject_line(&mut self) -> Effect {
        let text = match self.prompt.current() {
            None => "Press Enter to send, or type ? for help".to_owned(),
            Some((question, _)) if question.form() == Form::Confirm => "Type y or n, or ? for help".to_owned(),
            Some((question, entry)) if question.is_multi_select() => {
                format!("Type numbers from 1 to {}, such as 1,2, or ? for help", entry.rows())
            }
            Some((_, entry)) => format!("Type a number from 1 to {}, or ? for help", entry.rows()),
        };
        self.reject(text)
    }

    fn reject(&mut self, why: String) -> Effect {
        self.stop_deadline();
        self.prompt.warn(why);
        self.rejected = true;
        Effect::Continue
    }

    /// Presses a neutral key, which stops the deadline and clears the last notice.
    fn stop_deadline(&mut self) {
        self.press(KeyCode::Home);
    }

    fn act(&mut self, action: Action) -> Effect {
        self.prompt.update(Event::Act(action), self.now)
    }

    fn press(&mut self, code: KeyCode) -> Effect {
        self.prompt.update(Event::Key(Key::plain(code)), self.now)
    }
}

fn is_yes(word: &str) -> bool {
    matches!(word.to_lowercase().as_str(), "y" | "yes")
}

/// Parses numbers such as `1,3` or `1 3`. Returns `None` for any other text.
fn numbers(text: &str) -> Option<Vec<usize>> {
    let words = text.split([',', ' ']).filter(|word| !word.is_empty());
    let numbers = words.map(|word| word.parse().ok()).collect::<Option<Vec<usize>>>()?;
    (!numbers.is_empty()).then_some(numbers)
}

#[cfg(test)]
#[path = "line_prompt_tests.rs"]
mod tests;
