//! The output of a [`LinePrompt`]: the question or the review, and a hint for the next line.

use super::LinePrompt;
use crate::markdown;
use crate::view::{Signs, Start, wrap, wrap_exactly};
use askuser::prompt::{AnswerDraft, InputMode, Page, TextField, TextMode};
use askuser::{Form, report};
use std::borrow::Cow;
use std::fmt::Write;
use std::ops::Range;

const HELP: &str = include_str!("help/question.txt");
/// The line about notes in the help, for questions that accept notes.
const HELP_NOTE: &str = "  n 2   add a note to option 2\n";
const HELP_CONFIRM: &str = include_str!("help/confirm.txt");
const HELP_PICK: &str = include_str!("help/pick.txt");

/// The number of rows of a long list that are printed.
pub(super) const LISTED: usize = 20;

impl LinePrompt {
    /// Returns the text to print now. It ends with the prompt for the person's line, without a line end.
    pub fn text(&self) -> String {
        let mut out = String::new();
        if let Some(notice) = self.prompt.notice() {
            let _ = writeln!(out, "{}.", notice.text);
        }
        if let (Some(rival), InputMode::Choosing) = (self.prompt.rival(), self.prompt.mode()) {
            self.write_marked(&mut out, "", &format!("{}. Type keep to keep it, mine to use yours.", rival.summary));
        }
        match (self.prompt.mode(), self.prompt.page()) {
            (InputMode::Leaving, _) => out.push_str("Discard your answers? (y/n): "),
            (InputMode::Help, _) => match self.form() {
                Form::Confirm => out.push_str(HELP_CONFIRM),
                Form::Pick => out.push_str(HELP_PICK),
                form => out.push_str(&HELP.replace("{note}", if form.takes_notes() { HELP_NOTE } else { "" })),
            },
            (InputMode::Typing(TextField::Other), Page::Question(i)) if self.form() == Form::Input => {
                if !self.rejected {
                    self.write_heading(&mut out, i);
                }
                let entry = self.prompt.draft(i);
                let _ = match (entry.other.as_str(), self.prompt.set().questions()[i].placeholder()) {
                    ("", None) => write!(out, "Your answer (Ctrl-D cancels): "),
                    ("", Some(words)) => write!(out, "Your answer ({words}; Ctrl-D cancels): "),
                    (text, _) => write!(out, "Your answer (Enter for {text:?}, Ctrl-D cancels): "),
                };
            }
            (InputMode::Typing(TextField::Other), _) => out.push_str("Please specify (empty to go back): "),
            (InputMode::Typing(TextField::Note(row)), _) => {
                if let Some(hint) = self.prompt.note_hint(row) {
                    let _ = writeln!(out, "{hint}.");
                }
                let _ = write!(out, "Note on {} (empty for none): ", self.name(row));
            }
            (InputMode::Typing(TextField::Discuss), _) => {
                out.push_str("What should we clarify first? (b to go back): ")
            }
            (InputMode::Typing(TextField::Decline), _) => {
                out.push_str("Reason for declining (empty for none, b to go back): ")
            }
            // After an invalid line, only the hint is printed and not the whole question.
            (InputMode::Choosing, _) if self.rejected => self.write_input_hint(&mut out),
            (InputMode::Choosing, Page::Question(i)) if self.reading.is_some() => self.write_preview(&mut out, i),
            (InputMode::Choosing, Page::Question(i)) => self.write_question(&mut out, i),
            (InputMode::Choosing, Page::Review) => self.write_review(&mut out),
        }
        out
    }

    fn name(&self, row: usize) -> &str {
        let option = self.prompt.current().and_then(|(question, _)| question.options().get(row));
        option.map_or("Other", |option| option.name())
    }

    /// Writes the header and the text of a question.
    fn write_heading(&self, out: &mut String, i: usize) {
        let questions = self.prompt.set().questions();
        let question = &questions[i];
        let _ = match (questions.len(), question.chip()) {
            (1, None) => Ok(()),
            (1, Some(header)) => writeln!(out, "{header}:"),
            (count, _) => writeln!(out, "Question {} of {count}, {}:", i + 1, question.header()),
        };
        self.write_quoted(out, &self.plain(question.text()));
    }

    fn write_question(&self, out: &mut String, i: usize) {
        self.write_heading(out, i);
        if self.form() == Form::Confirm {
            return self.write_input_hint(out);
        }
        let question = &self.prompt.set().questions()[i];
        let entry = self.prompt.draft(i);
        let chosen = |row: usize| if entry.is_picked(row) { " [chosen]" } else { "" };
        for (row, option) in entry.listed().take(LISTED).filter_map(|row| Some((row, question.options().get(row)?))) {
            let recommended = if option.is_recommended() { " (Recommended)" } else { "" };
            let preview =
                if option.preview().is_some() { format!(" (v {} reads its preview)", row + 1) } else { String::new() };
            let mut lead = format!("  {}. {}{recommended}{}{preview}", row + 1, option.name(), chosen(row));
            if !option.description().is_empty() {
                lead.push_str(": ");
            }
            self.write_marked(out, &lead, &self.plain(option.description()));
            self.write_note(out, entry, row);
        }
        match entry.listed().len() {
            0 => out.push_str("Nothing matches; type another part of a name.\n"),
            count if count > LISTED => {
                let more = count - LISTED;
                let _ = writeln!(out, "{more} more; type part of a name to list what contains it.");
            }
            _ => {}
        }
        if !question.form().takes_text() {
            return self.write_input_hint(out);
        }
        let other = entry.other_row();
        let typed = if entry.other.is_blank() { "Type something else" } else { entry.other.as_str() };
        self.write_marked(out, &format!("  {}. Other{}: ", other + 1, chosen(other)), typed);
        self.write_note(out, entry, other);
        self.write_input_hint(out);
    }

    /// Returns a text for reading aloud: without marks, unless the user agrees to its exact words.
    fn plain<'a>(&self, text: &'a str) -> Cow<'a, str> {
        match self.prompt.wording() {
            TextMode::Prose => markdown::unstyled(text),
            TextMode::Exact => text.into(),
        }
    }

    fn write_preview(&self, out: &mut String, i: usize) {
        let options = self.prompt.set().questions()[i].options();
        if let Some((row, option)) = self.reading.and_then(|row| Some((row, options.get(row)?))) {
            let _ = writeln!(out, "Preview of {}:", row + 1);
            let text = option.preview().unwrap_or_default();
            for (range, start) in wrap_exactly(text, self.columns.unwrap_or(usize::MAX).saturating_sub(2)) {
                let _ = writeln!(out, "{} {}", mark(start), &text[range]);
            }
        }
        self.write_input_hint(out);
    }

    /// Writes a hint about the input that the person may type.
    fn write_input_hint(&self, out: &mut String) {
        let _ = match self.prompt.current() {
            None => write!(out, "Send them? (Enter to send, a number to change one, ? for help): "),
            Some((question, _)) if question.form() == Form::Confirm => write!(out, "Yes or no (y/n, ? for help): "),
            Some((question, _)) if question.form() == Form::Pick && self.prompt.answer(0).is_some() => {
                write!(out, "Choose one or more, or press Enter for what is chosen (? for help): ")
            }
            Some((question, entry)) if question.is_multi_select() => {
                write!(out, "Choose one or more, such as 1,{} (? for help): ", entry.other_row())
            }
            Some((_, entry)) => write!(out, "Choose 1 to {} (? for help): ", entry.rows()),
        };
    }

    fn write_review(&self, out: &mut String) {
        out.push_str("Your answers:\n");
        for (i, question) in self.prompt.set().questions().iter().enumerate() {
            let answer = self.prompt.answer(i);
            let given = answer.map_or("not answered yet".to_owned(), |answer| report::chosen_with_note(&answer));
            self.write_marked(out, &format!("  {}. {}: ", i + 1, question.header()), &given);
        }
        self.write_input_hint(out);
    }

    fn write_note(&self, out: &mut String, entry: &AnswerDraft, row: usize) {
        if let Some(note) = entry.note(row).filter(|note| !note.is_blank()) {
            self.write_marked(out, "     Note: ", note.as_str());
        }
    }

    /// Writes `lead`, then untrusted text. Each continuation is indented and marked, so that it cannot pass for an
    /// option.
    pub(super) fn write_marked(&self, out: &mut String, lead: &str, text: &str) {
        const MARK: &str = "     | ";
        let whole = format!("{lead}{text}");
        let columns = self.columns.unwrap_or(usize::MAX);
        for (i, range) in wrap(&whole, columns, columns.saturating_sub(MARK.len())).into_iter().enumerate() {
            let mark = if i == 0 { "" } else { MARK };
            let _ = writeln!(out, "{mark}{}", whole[range].trim_end_matches(' '));
        }
    }

    /// Writes the text of a question. If it has several rows, each row gets a mark that the prompt's own lines lack. A
    /// question therefore cannot imitate a list of options.
    fn write_quoted(&self, out: &mut String, text: &str) {
        let columns = self.columns.unwrap_or(usize::MAX);
        let inside = columns.saturating_sub(2);
        if wrap_exactly(text, columns).len() == 1 {
            let _ = writeln!(out, "{text}");
            return;
        }
        let rows: Vec<_> = match self.prompt.wording() {
            TextMode::Prose => {
                let trimmed = |range: Range<usize>| range.start..range.start + text[range].trim_end_matches(' ').len();
                wrap(text, inside, inside).into_iter().map(|range| (trimmed(range), Start::Line)).collect()
            }
            TextMode::Exact => wrap_exactly(text, inside),
        };
        for (range, start) in rows {
            let _ = writeln!(out, "{} {}", mark(start), &text[range]);
        }
    }
}

/// Returns the mark before a row of untrusted text.
fn mark(start: Start) -> &'static str {
    if start == Start::Line { Signs::ASCII.bar } else { Signs::ASCII.bar_wrapped }
}
