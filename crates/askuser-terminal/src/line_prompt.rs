//! The prompt spoken linearly: one question at a time, numbered options, a line for an answer, no cursor movement.
//!
//! [`LinePrompt`] is the prompt's own state machine with words for keys; it decides nothing itself, so what can be
//! answered here and on a screen is the same. [`ask`] speaks it on the terminal device.

use crate::ask::{Store, surface};
use crate::decode::Input;
use crate::device::{Device, DeviceEvent, SIGINT};
use crate::inline_prompt::terminal_gone;
use crate::paint::Painter;
use crate::view::{closed_lines, closing_lines, context_lines, not_stored_lines};
use crate::{Charset, Options};
use askuser::prompt::{AnswerDraft, Effect, Event, InputMode, Page, PromptOptions, TextField};
use askuser::{AskError, Closed, Context, Key, KeyCode, Outcome, Prompt, QuestionSet, Resolution, Via, report};
use std::collections::VecDeque;
use std::fmt::Write;
use std::io;
use std::time::{Duration, Instant};

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

const HELP: &str = "\
Type the number of an option and press Enter; several as in 1,3 where several may be chosen.
  n 2   add a note to option 2
  y     send the answers, at the end of several questions
  b     back to the earlier question
  f     forward to the later question
  c     talk about it first
  d     decline to answer
  q     cancel
  ?     this help
Ctrl-C interrupts.
";

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

    /// What to say now; it ends where the person's line begins.
    pub fn text(&self) -> String {
        let mut out = String::new();
        if let Some(notice) = self.prompt.notice() {
            let _ = writeln!(out, "{}.", notice.text);
        }
        match (self.prompt.mode(), self.prompt.page()) {
            (InputMode::Leaving, _) => out.push_str("Cancel and lose what you answered? (y/n): "),
            (InputMode::Help, _) => out.push_str(HELP),
            (InputMode::Typing(TextField::Other), _) => out.push_str("Please specify (empty to go back): "),
            (InputMode::Typing(TextField::Note(row)), _) => {
                let _ = write!(out, "Note on {} (empty for none): ", self.name(row));
            }
            (InputMode::Typing(TextField::Discuss), _) => {
                out.push_str("What would you like to talk about first? (b to go back): ")
            }
            (InputMode::Typing(TextField::Decline), _) => {
                out.push_str("Reason for declining (empty for none, b to go back): ")
            }
            // Hearing everything again because of a slip would be tiresome.
            (InputMode::Choosing, _) if self.rejected => self.write_input_hint(&mut out),
            (InputMode::Choosing, Page::Question(i)) => self.write_question(&mut out, i),
            (InputMode::Choosing, Page::Review) => self.write_review(&mut out),
        }
        out
    }

    fn name(&self, row: usize) -> &str {
        let option = self.prompt.current().and_then(|(question, _)| question.options().get(row));
        option.map_or("Other", |option| option.name())
    }

    fn write_question(&self, out: &mut String, i: usize) {
        let questions = self.prompt.set().questions();
        let question = &questions[i];
        match questions.len() {
            1 => {}
            count => {
                let _ = write!(out, "Question {} of {count}, ", i + 1);
            }
        }
        let _ = writeln!(out, "{}:\n{}", question.header(), question.text());
        let entry = self.prompt.draft(i);
        let chosen = |row: usize| if entry.is_picked(row) { " [chosen]" } else { "" };
        for (row, option) in question.options().iter().enumerate() {
            let recommended = if option.is_recommended() { " (Recommended)" } else { "" };
            let _ = write!(out, "  {}. {}{recommended}{}", row + 1, option.name(), chosen(row));
            if !option.description().is_empty() {
                let _ = write!(out, ": {}", indented(option.description()));
            }
            out.push('\n');
            write_note(out, entry, row);
        }
        let other = entry.other_row();
        let typed = if entry.other().is_blank() { "Type something else" } else { entry.other().as_str() };
        let _ = writeln!(out, "  {}. Other{}: {}", other + 1, chosen(other), indented(typed));
        write_note(out, entry, other);
        self.write_input_hint(out);
    }

    /// What the person's line is to be.
    fn write_input_hint(&self, out: &mut String) {
        let _ = match self.prompt.current() {
            None => write!(out, "Send them? (y to send, a number to change one, ? for help): "),
            Some((question, entry)) if question.is_multi_select() => {
                write!(out, "Choose one or more, such as 1,{} (? for help): ", entry.other_row())
            }
            Some((_, entry)) => write!(out, "Choose 1 to {} (? for help): ", entry.other_row() + 1),
        };
    }

    fn write_review(&self, out: &mut String) {
        out.push_str("Your answers:\n");
        for (i, question) in self.prompt.set().questions().iter().enumerate() {
            let _ = write!(out, "  {}. {}: ", i + 1, question.header());
            match self.prompt.answer(i) {
                None => out.push_str("not answered yet\n"),
                Some(answer) => {
                    let values: Vec<String> = report::names(&answer).chain(answer.custom_input.clone()).collect();
                    let note = answer.note.map(|note| format!(" (note: {note})")).unwrap_or_default();
                    let _ = writeln!(out, "{}", indented(&(values.join(", ") + &note)));
                }
            }
        }
        self.write_input_hint(out);
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

fn write_note(out: &mut String, entry: &AnswerDraft, row: usize) {
    if let Some(note) = entry.note(row).filter(|note| !note.is_blank()) {
        let _ = writeln!(out, "     Note: {}", indented(note.as_str()));
    }
}

/// A text whose further lines stay under its first, so that none can pass for an option.
fn indented(text: &str) -> String {
    text.replace('\n', "\n     ")
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

/// Asks on a device that is in use, and leaves it so. `context` is said before the questions.
pub(crate) fn ask(
    prompt: Prompt,
    context: Option<&Context>,
    options: &Options,
    device: &mut Device,
    store: Store<'_>,
) -> Result<Resolution, AskError> {
    let failed = surface("the terminal failed");
    let mut line_prompt = LinePrompt::from_prompt(prompt);
    let mut painter = Painter::plain(options.charset);
    let columns = device.size().0.saturating_sub(1);
    if let Some(context) = context {
        painter.raw(b"\r\n");
        painter.print(&context_lines(context, &options.theme, columns));
        device.write(&painter.take()).map_err(&failed)?;
    }
    let end = run(device, &mut line_prompt, options.charset).map_err(&failed)?;
    let (lines, result) = match end {
        End::Failed(error) => return Err(error),
        End::TerminalGone => return Ok(terminal_gone(&line_prompt.prompt, Via::Line)),
        End::Outcome(outcome) => {
            let resolution = outcome.through(Via::Line);
            let (set, outcome) = (line_prompt.prompt.set(), resolution.outcome());
            let lines = match store(&resolution) {
                Ok(()) => closing_lines(set, outcome, options.confirm, &options.theme, columns),
                Err(why) => not_stored_lines(&why, &options.theme, columns),
            };
            (lines, Ok(resolution))
        }
        End::Closed(why) => {
            let lines = why.as_ref().map(|why| closed_lines(why, &options.theme, columns)).unwrap_or_default();
            let result = match why {
                Some(Closed::AnsweredElsewhere(resolution)) => Ok(resolution),
                _ => Err(AskError::Withdrawn),
            };
            (lines, result)
        }
    };
    // What came of asking stands, even if the terminal goes before it can be shown.
    painter.print(&lines);
    let _ = device.write(&painter.take());
    result
}

/// How the conversation of lines ended.
enum End {
    Outcome(Outcome),
    Failed(AskError),
    TerminalGone,
    /// It was closed from elsewhere, for a reason or because nobody waits any more.
    Closed(Option<Closed>),
}

fn run(device: &mut Device, line_prompt: &mut LinePrompt, charset: Charset) -> io::Result<End> {
    let started = Instant::now();
    let (mut inputs, mut line) = (Vec::new(), String::new());
    device.write(&charset.encode(&intro(line_prompt)))?;
    loop {
        let timeout = line_prompt.prompt.time_left().map(|left| left.saturating_sub(started.elapsed()));
        let mut effects = Vec::new();
        match device.wait(timeout, &mut inputs)? {
            DeviceEvent::Input => {
                for input in inputs.drain(..) {
                    match input {
                        Input::Key(key) if key == Key::ctrl('j') || key == Key::plain(KeyCode::Enter) => {
                            effects.push(line_prompt.submit_line(&std::mem::take(&mut line), started.elapsed()));
                        }
                        Input::Key(Key { code: KeyCode::Char(c), mods }) if !mods.ctrl => line.push(c),
                        Input::Key(Key { code: KeyCode::Tab, .. }) => line.push(' '),
                        Input::Key(_) | Input::Focus(_) => {}
                        Input::Paste(text) => line.push_str(&text),
                    }
                }
            }
            DeviceEvent::TimedOut => {
                let effect = line_prompt.tick(started.elapsed());
                if effect != Effect::Continue {
                    // The line the person might have typed is still open.
                    device.write(b"\r\n")?;
                }
                effects.push(effect);
            }
            DeviceEvent::Resized | DeviceEvent::Woken => continue,
            DeviceEvent::Resumed => effects.push(Effect::Continue),
            DeviceEvent::Suspend => {
                device.suspend()?;
                effects.push(Effect::Continue);
            }
            DeviceEvent::Terminated(SIGINT) => {
                device.write(b"\r\n")?;
                return Ok(End::Failed(AskError::Interrupted));
            }
            DeviceEvent::Terminated(signal) => {
                // Whatever becomes of the terminal, the signal is the reason to end.
                let _ = device.write(b"\r\n");
                return Ok(End::Failed(AskError::Signal(signal)));
            }
            DeviceEvent::CloseRequested => {
                device.write(b"\r\n")?;
                return Ok(End::Closed(device.close_reason()));
            }
            // Nobody has said no.
            DeviceEvent::Closed => return Ok(End::TerminalGone),
            // Ctrl-D: the person has nothing more to say.
            DeviceEvent::EndOfInput => {
                device.write(b"\r\n")?;
                let (set, so_far) = (line_prompt.prompt.set(), line_prompt.prompt.so_far());
                let cancelled = Outcome::cancelled().with_answers(set, so_far);
                return Ok(End::Outcome(cancelled.unwrap_or_else(|_| Outcome::cancelled())));
            }
        }
        for effect in effects {
            match effect {
                Effect::Finish(outcome) => return Ok(End::Outcome(outcome)),
                Effect::Interrupt => return Ok(End::Failed(AskError::Interrupted)),
                Effect::Continue | Effect::Edit(_) => {
                    device.write(&charset.encode(&line_prompt.text()))?;
                    if line_prompt.needs_no_reply() {
                        let effect = line_prompt.submit_line("", started.elapsed());
                        debug_assert_eq!(effect, Effect::Continue);
                        device.write(&charset.encode(&line_prompt.text()))?;
                    }
                }
            }
        }
    }
}

/// Whatever stands on this line stays as it is.
fn intro(line_prompt: &LinePrompt) -> String {
    let mut words = String::from("\r\n");
    if let Some(left) = line_prompt.prompt.time_left() {
        let _ = write!(words, "Time limit: {} s; any line holds it.\r\n", left.as_secs());
    }
    if let Some(origin) = line_prompt.prompt.origin() {
        let _ = write!(words, "Asked by: {origin}\r\n");
    }
    words + &line_prompt.text()
}

#[cfg(test)]
#[path = "line_prompt_tests.rs"]
mod tests;
