//! What a [`LinePrompt`] prints: the question or the review, and what the next line is for.

use super::LinePrompt;
use askuser::prompt::{AnswerDraft, InputMode, Page, TextField};
use askuser::report;
use std::fmt::Write;

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
    /// The text to print now. It ends with the prompt for the person's line, without a line end.
    pub fn text(&self) -> String {
        let mut out = String::new();
        if let Some(notice) = self.prompt.notice() {
            let _ = writeln!(out, "{}.", notice.text);
        }
        match (self.prompt.mode(), self.prompt.page()) {
            (InputMode::Leaving, _) => out.push_str("Discard your answers? (y/n): "),
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
            // After a typing error the whole question is not repeated.
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
        let _ = writeln!(out, "{}:\n{}", question.header(), quoted(question.text()));
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

    /// What the person may type.
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
}

fn write_note(out: &mut String, entry: &AnswerDraft, row: usize) {
    if let Some(note) = entry.note(row).filter(|note| !note.is_blank()) {
        let _ = writeln!(out, "     Note: {}", indented(note.as_str()));
    }
}

/// Indents and marks all lines but the first, so that none can pass for an option.
fn indented(text: &str) -> String {
    text.replace('\n', "\n     | ")
}

/// Marks every line of a text that has several: our own lines never begin like that, so a question cannot show a list of
/// options of its own.
fn quoted(text: &str) -> String {
    if text.contains('\n') { format!("| {}", text.replace('\n', "\n| ")) } else { text.to_owned() }
}
