//! The unsent answer to one question of a prompt: cursor, choice, text and search.

use crate::draft::Unsent;
use crate::outcome::Answer;
use crate::question::Question;
use crate::rules::Form;
use crate::text::Text;

/// The person's unsent work on one question. A surface may read it, but only the prompt changes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AnswerDraft {
    form: Form,
    /// The row of the cursor: an option, or Other after the last option.
    pub focus: usize,
    /// The search text of a list.
    pub search: Text,
    /// The matching rows; `None` without a search.
    matching: Option<Vec<usize>>,
    /// A flag for each row, whether it is picked: the options, then Other. Other without a text is no choice, so
    /// [`Self::is_picked`] checks the text, too.
    pub(super) picked: Vec<bool>,
    /// The text in the Other field, even if Other is not picked.
    pub other: Text,
    pub(super) notes: Vec<Text>,
}

impl AnswerDraft {
    pub(super) fn new(question: &Question, limit: usize) -> AnswerDraft {
        let options = question.options().len();
        AnswerDraft {
            form: question.form(),
            search: Text::new(limit),
            matching: None,
            focus: question.options().iter().position(|option| option.is_recommended()).unwrap_or(0),
            picked: vec![false; options + 1],
            other: Text::new(limit),
            notes: if question.form().takes_notes() { vec![Text::new(limit); options + 1] } else { Vec::new() },
        }
    }

    pub(super) fn fill(&mut self, question: &Question, answer: &Answer) {
        for (i, option) in question.options().iter().enumerate() {
            self.picked[i] = answer.selected_options.iter().any(|label| label == option.label_verbatim());
        }
        if let Some(text) = &answer.custom_input {
            let _ = self.other.set(text);
            self.picked[question.options().len()] = !self.other.is_blank();
        }
        self.focus = (0..=self.other_row()).find(|&row| self.is_picked(row)).unwrap_or(self.focus);
        let on_the_choice = answer.note.as_deref().filter(|_| answer.notes.is_empty()).map(|note| (self.focus, note));
        let on_rows = answer.notes.iter().filter_map(|note| Some((question.row_of(note)?, note.text.as_str())));
        for (row, note) in on_rows.chain(on_the_choice) {
            // Earlier versions stored the notes on several rows as one note, which may exceed the limit.
            let limit = self.other.limit();
            self.notes.resize((row + 1).max(self.notes.len()), Text::new(limit));
            self.notes[row] = Text::new(limit.max(note.chars().count()));
            let _ = self.notes[row].set(note);
        }
    }

    pub(super) fn resume(&mut self, question: &Question, unsent: &Unsent) {
        let Unsent { mut answer, mut typed } = unsent.clone();
        // Any program may write a draft, so unknown options and surplus choices are dropped.
        let is_option = |label: &String| question.options().iter().any(|option| option.label_verbatim() == label);
        answer.selected_options.retain(is_option);
        if !question.is_multi_select() {
            answer.selected_options.truncate(1);
            if !answer.selected_options.is_empty() {
                typed = answer.custom_input.take().or(typed);
            }
        }
        *self = AnswerDraft::new(question, self.other.limit());
        self.fill(question, &answer);
        if let (Some(typed), false) = (typed, self.is_picked(self.other_row())) {
            let _ = self.other.set(&typed);
            if !self.is_touched() {
                self.focus = self.other_row();
            }
        }
    }

    pub(super) fn unsent(&self, question: &Question) -> Option<Unsent> {
        let notes = self.written_notes();
        let is_chosen = self.is_picked(self.other_row());
        let typed = self.other.written().filter(|_| !is_chosen);
        let has_text = typed.is_some() || !notes.is_empty();
        let answer = self.answer(question).or_else(|| has_text.then(|| question.without_choice(&notes)))?;
        Some(Unsent { answer, typed })
    }

    /// The row of Other. [`rows`](Self::rows) does not count it if the question takes no text.
    pub fn other_row(&self) -> usize {
        self.picked.len() - 1
    }

    /// The number of rows: the options, and Other if there is one.
    pub fn rows(&self) -> usize {
        self.other_row() + usize::from(self.form.takes_text())
    }

    /// The listed rows, in order. A search lists only the rows that match.
    pub fn listed(&self) -> impl ExactSizeIterator<Item = usize> {
        self.listed_from(0)
    }

    /// The listed rows from this position in the list.
    pub fn listed_from(&self, place: usize) -> impl ExactSizeIterator<Item = usize> {
        let count = self.matching.as_ref().map_or(self.rows(), Vec::len);
        (place.min(count)..count).map(|place| self.matching.as_ref().map_or(place, |rows| rows[place]))
    }

    /// The position of a row in the list.
    pub(super) fn place_of(&self, row: usize) -> usize {
        self.matching.as_ref().map_or(row, |rows| rows.partition_point(|&other| other < row))
    }

    pub(super) fn is_listed(&self, row: usize) -> bool {
        self.matching.as_ref().is_none_or(|rows| rows.binary_search(&row).is_ok())
    }

    /// Lists the options whose names contain every word of the search, in any case. If the cursor's row is no longer
    /// listed, the cursor moves to the first match.
    pub(super) fn list_matches(&mut self, question: &Question) {
        let search = self.search.as_str().to_lowercase();
        let words: Vec<&str> = search.split_whitespace().collect();
        let matches = |name: &str| {
            let name = name.to_lowercase();
            words.iter().all(|word| name.contains(word))
        };
        let rows = question.options().iter().enumerate().filter(|(_, option)| matches(option.name()));
        self.matching = (!words.is_empty()).then(|| rows.map(|(row, _)| row).collect());
        if let Some(&first) = self.matching.as_ref().and_then(|rows| rows.first())
            && !self.is_listed(self.focus)
        {
            self.focus = first;
        }
    }

    /// Whether a row is picked.
    pub fn is_picked(&self, row: usize) -> bool {
        self.picked.get(row) == Some(&true) && (row < self.other_row() || !self.other.is_blank())
    }

    /// Whether any row is picked.
    pub(super) fn is_touched(&self) -> bool {
        self.picked[..self.other_row()].contains(&true) || self.is_picked(self.other_row())
    }

    /// Whether the draft has no choice, no text and no note.
    pub(super) fn is_empty(&self) -> bool {
        !self.is_touched() && self.other.is_blank() && self.notes.iter().all(Text::is_blank)
    }

    /// The note on a row; `None` if the row has no note and takes none.
    pub fn note(&self, row: usize) -> Option<&Text> {
        self.notes.get(row)
    }

    pub(super) fn answer(&self, question: &Question) -> Option<Answer> {
        let rows: Vec<usize> = (0..=self.other_row()).filter(|&row| self.is_picked(row)).collect();
        let other = self.is_picked(self.other_row()).then(|| self.other.as_str().to_owned());
        question.answer_with_notes(&rows, other, &self.written_notes())
    }

    /// The notes that are not blank, with their rows.
    pub(super) fn written_notes(&self) -> Vec<(usize, &str)> {
        let rows = self.notes.iter().map(Text::as_str).enumerate();
        rows.filter(|(row, _)| !self.notes[*row].is_blank()).collect()
    }

    /// Picks this row and unpicks all others.
    pub(super) fn pick_only(&mut self, row: usize) {
        self.picked.fill(false);
        self.picked[row] = true;
        self.focus = row;
    }
}
