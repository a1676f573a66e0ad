//! Question sets that are valid by construction.
//!
//! [`QuestionSet::parse`] and [`QuestionSet::new`] are the only constructors. So other code checks no limits and shows
//! no unsafe text. Programs read the verbatim text, and people see the safe text.

mod parse;

pub(crate) use parse::name_of;

use crate::input::QuestionInput;
use crate::limits::Limits;
use crate::outcome::{Answer, Note, Outcome, Status};
use crate::rules::{Form, Rules};
use crate::sanitize;
use crate::violation::{Gathered, Violations};
use serde::ser::SerializeStruct;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::{Value, json};
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// Questions that are asked together, by default one to four.
///
/// A set serialises as its input and its rules. Deserialising them rebuilds an identical set.
///
/// ```
/// use askuser::input::QuestionInput;
/// use askuser::{QuestionSet, Rules};
///
/// let question = QuestionInput::new("Which database should we use?", "Database")
///     .option("PostgreSQL (Recommended)", "A server with rich features")
///     .option("SQLite", "A file, no server");
/// let set = QuestionSet::new([question], &Rules::strict())?;
/// assert_eq!(set.questions()[0].options()[0].name(), "PostgreSQL");
///
/// let stored = serde_json::to_string(&set)?;
/// assert_eq!(serde_json::from_str::<QuestionSet>(&stored)?, set);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// Cloning is cheap.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "Stored")]
pub struct QuestionSet(Arc<Content>);

#[derive(Debug, PartialEq, Eq)]
struct Content {
    questions: Vec<Question>,
    source: Option<String>,
    mended: Vec<String>,
    /// The input as the model sent it.
    input: Value,
    rules: Rules,
}

/// The serialised form of a set, from which the set is rebuilt.
#[derive(Deserialize)]
struct Stored {
    input: Value,
    rules: Rules,
}

impl Serialize for QuestionSet {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut stored = serializer.serialize_struct("Stored", 2)?;
        stored.serialize_field("input", &self.0.input)?;
        stored.serialize_field("rules", &self.0.rules)?;
        stored.end()
    }
}

impl TryFrom<Stored> for QuestionSet {
    type Error = Violations;

    fn try_from(Stored { input, rules }: Stored) -> Result<QuestionSet, Violations> {
        QuestionSet::parse(input, &rules)
    }
}

/// One question with its options, without Other. [`Form::takes_text`] tells whether the person may use their own words.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Question {
    question: Untrusted,
    header: Untrusted,
    options: Vec<Choice>,
    multi_select: bool,
    #[serde(skip)]
    placeholder: Option<Untrusted>,
    #[serde(skip)]
    form: Form,
}

/// One option of a question.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Choice {
    label: Untrusted,
    description: Untrusted,
    #[serde(skip_serializing_if = "Option::is_none")]
    preview: Option<Untrusted>,
    #[serde(skip)]
    recommended: bool,
}

/// A text from a model, verbatim for programs and safe for people.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Untrusted {
    raw: String,
    /// The safe text; `None` if it equals the raw text.
    shown: Option<String>,
}

impl Untrusted {
    fn new(raw: String, shown: &str) -> Untrusted {
        let shown = (shown != raw).then(|| shown.to_owned());
        Untrusted { raw, shown }
    }

    fn shown(&self) -> &str {
        self.shown.as_deref().unwrap_or(&self.raw)
    }
}

impl Serialize for Untrusted {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.raw)
    }
}

impl QuestionSet {
    /// Creates a set from questions that were built in code.
    ///
    /// # Errors
    /// Returns all errors of the questions, not only the first.
    pub fn new(questions: impl IntoIterator<Item = QuestionInput>, rules: &Rules) -> Result<QuestionSet, Violations> {
        let questions: Vec<Value> = questions.into_iter().map(QuestionInput::into_value).collect();
        QuestionSet::parse(json!({ "questions": questions }), rules)
    }

    /// The questions in the order of the input.
    pub fn questions(&self) -> &[Question] {
        &self.0.questions
    }

    /// The limits of the set, which also apply to typed text.
    pub fn limits(&self) -> &Limits {
        self.0.rules.limits()
    }

    /// The rules by which the set was parsed.
    pub fn rules(&self) -> &Rules {
        &self.0.rules
    }

    /// The input as the model sent it.
    pub fn input(&self) -> &Value {
        &self.0.input
    }

    /// Whether these answers are valid and in canonical form, in the order of the questions.
    pub fn admits(&self, answers: &[Answer]) -> bool {
        Outcome::new(self, Status::Cancelled, answers.to_vec()).is_ok_and(|outcome| outcome.answers() == answers)
    }

    /// Returns the questions as the model wrote them: `[{question, header, options: [{label, description}],
    /// multiSelect}]`.
    pub fn questions_json(&self) -> Value {
        json!(self.0.questions)
    }

    /// The value of `metadata.source`, if given.
    pub fn source(&self) -> Option<&str> {
        self.0.source.as_deref()
    }

    /// The repairs of the input, as they are reported to the model. In strict mode there are none.
    pub fn mended(&self) -> &[String] {
        &self.0.mended
    }
}

impl Question {
    /// The form of the answer.
    pub fn form(&self) -> Form {
        self.form
    }

    /// The text of the question for people. It is safe and may have several lines.
    pub fn text(&self) -> &str {
        self.question.shown()
    }

    /// The text of the question as the model wrote it.
    pub fn text_verbatim(&self) -> &str {
        &self.question.raw
    }

    /// The header for people, in one safe line.
    pub fn header(&self) -> &str {
        self.header.shown()
    }

    /// The header as the model wrote it.
    pub fn header_verbatim(&self) -> &str {
        &self.header.raw
    }

    /// The header; `None` if it is the default of the question's form.
    pub fn chip(&self) -> Option<&str> {
        Some(self.header()).filter(|header| *header != self.form.default_header())
    }

    /// The placeholder of a question with a text answer, if given.
    pub fn placeholder(&self) -> Option<&str> {
        self.placeholder.as_ref().map(Untrusted::shown)
    }

    /// The options without Other. A question with a text answer has none.
    pub fn options(&self) -> &[Choice] {
        &self.options
    }

    /// Whether several options may be chosen.
    pub fn is_multi_select(&self) -> bool {
        self.multi_select
    }

    /// Builds an answer to this question. Returns `None` if the answer is invalid: neither a choice nor a text, several
    /// choices in a single-select question, or a text where only options are allowed.
    pub fn answer(&self, picks: &[usize], custom_input: Option<String>, note: Option<String>) -> Option<Answer> {
        let mut is_picked = vec![false; self.options.len()];
        for &pick in picks.iter().filter(|&&pick| pick < self.options.len()) {
            is_picked[pick] = true;
        }
        let picked = self.options.iter().zip(is_picked).filter(|(_, is_picked)| *is_picked);
        let selected_options: Vec<String> = picked.map(|(option, _)| option.label.raw.clone()).collect();
        let custom_input = custom_input.filter(|text| !sanitize::is_blank(text));
        let parts = selected_options.len() + usize::from(custom_input.is_some());
        let is_refused = custom_input.is_some() && !self.form.takes_text();
        if parts == 0 || (parts > 1 && !self.multi_select) || is_refused {
            return None;
        }
        let note = note.filter(|text| !sanitize::is_blank(text));
        let question = self.question.raw.clone();
        let header = self.header.raw.clone();
        Some(Answer { question, header, selected_options, custom_input, note, notes: Vec::new() })
    }

    /// Builds an answer with notes by row. A row is an option, or Other after the last option. Returns `None` if the
    /// answer is invalid.
    pub(crate) fn answer_with_notes(
        &self,
        picks: &[usize],
        custom_input: Option<String>,
        notes: &[(usize, &str)],
    ) -> Option<Answer> {
        let answer = self.answer(picks, custom_input, None)?;
        if notes.is_empty() {
            return Some(answer);
        }
        let other = answer.custom_input.is_some().then_some(self.options.len());
        let chosen: Vec<usize> = (0..self.options.len()).filter(|row| picks.contains(row)).chain(other).collect();
        Some(match notes {
            [(row, text)] if chosen == [*row] => Answer { note: Some((*text).to_owned()), ..answer },
            _ => {
                let name = |row: usize| self.options.get(row).map_or("Other", Choice::name);
                let lines: Vec<String> = notes.iter().map(|(row, text)| format!("{}: {text}", name(*row))).collect();
                let note = Some(sanitize::typed(&lines.join("\n")));
                Answer { note, notes: self.notes_on(notes), ..answer }
            }
        })
    }

    /// Builds an incomplete answer, which has notes but no choice.
    pub(crate) fn without_choice(&self, notes: &[(usize, &str)]) -> Answer {
        Answer {
            question: self.question.raw.clone(),
            header: self.header.raw.clone(),
            selected_options: Vec::new(),
            custom_input: None,
            note: None,
            notes: self.notes_on(notes),
        }
    }

    fn notes_on(&self, notes: &[(usize, &str)]) -> Vec<Note> {
        let label = |row: usize| self.options.get(row).map(|option| option.label.raw.clone());
        notes.iter().map(|&(row, text)| Note { option: label(row), text: text.to_owned() }).collect()
    }

    /// Returns the row of a note; `None` if the note names an unknown option.
    pub(crate) fn row_of(&self, note: &Note) -> Option<usize> {
        match &note.option {
            Some(label) => self.options.iter().position(|option| option.label.raw == *label),
            None => Some(self.options.len()),
        }
    }

    /// Returns the answer in its canonical form, with labels in the order of the question. Returns `None` if the answer
    /// is invalid, with every reason in `bad`. A valid answer has only labels of this question, as many as allowed. It
    /// has at least a choice or a text. Its typed text is within the limits and free of control characters.
    pub(crate) fn check(&self, answer: &Answer, limits: &Limits, path: &str, bad: &mut Gathered) -> Option<Answer> {
        let before = bad.len();
        if answer.header != self.header.raw {
            let fact = format!("{:?} is not the header of its question", answer.header);
            bad.add(format!("{path}.header"), fact, format!("must be {:?}", self.header.raw));
        }
        let not_an_option = |path: String, label: &str, bad: &mut Gathered| {
            const NAMED: usize = 10;
            let names = self.options.iter().take(NAMED).map(|option| format!("{:?}", option.name()));
            let more = if self.options.len() > NAMED { ", …" } else { "" };
            let names = names.collect::<Vec<_>>().join(", ");
            bad.add(path, format!("{label:?} is not an option"), format!("must be one of {names}{more}"));
        };
        let rows: HashMap<&str, usize> =
            self.options.iter().enumerate().map(|(row, option)| (option.label.raw.as_str(), row)).collect();
        let mut picks = Vec::new();
        for (i, label) in answer.selected_options.iter().enumerate() {
            match rows.get(label.as_str()) {
                Some(&pick) => picks.push(pick),
                None => not_an_option(format!("{path}.selectedOptions[{i}]"), label, bad),
            }
        }
        if answer.custom_input.is_some() && !self.form.takes_text() {
            bad.add(format!("{path}.customInput"), "given", "must be left out: only the options answer this question");
        }
        // The asker would not read a note, and a note beside a yes may be a condition.
        if !self.form.takes_notes() && (answer.note.is_some() || !answer.notes.is_empty()) {
            bad.add(format!("{path}.note"), "given", "must be left out: this question takes no notes");
        }
        check_typed(answer.custom_input.as_deref(), limits.typed_chars, &format!("{path}.customInput"), bad);
        let note_chars = self.note_chars(limits);
        let mut notes = BTreeMap::new();
        for (i, note) in answer.notes.iter().enumerate().filter(|(_, note)| !sanitize::is_blank(&note.text)) {
            let path = format!("{path}.notes[{i}]");
            check_typed(Some(&note.text), note_chars, &format!("{path}.text"), bad);
            match self.row_of(note) {
                None => not_an_option(format!("{path}.option"), note.option.as_deref().unwrap_or_default(), bad),
                Some(row) if notes.contains_key(&row) => bad.add(path, "a second note on one option", "one is enough"),
                Some(row) => _ = notes.insert(row, note.text.as_str()),
            }
        }
        // The combined note is built again if there are single notes.
        let note = answer.note.clone().filter(|_| notes.is_empty());
        check_typed(note.as_deref(), note_chars, &format!("{path}.note"), bad);
        if bad.len() > before {
            return None;
        }
        let custom_input = answer.custom_input.clone();
        let checked = match note {
            Some(_) => self.answer(&picks, custom_input, note),
            None => self.answer_with_notes(&picks, custom_input, &Vec::from_iter(notes)),
        };
        if checked.is_none() && picks.len() + usize::from(answer.custom_input.is_some()) > 1 {
            bad.add(path, "several choices", "this question takes one");
        } else if checked.is_none() {
            bad.add(path, "no choice", "needs one of selectedOptions or customInput");
        }
        checked
    }

    /// The maximum length of a note, which may join the notes of several rows with their labels.
    fn note_chars(&self, limits: &Limits) -> usize {
        (limits.typed_chars + limits.label_chars.max + ": \n".len()) * (self.options.len() + 1)
    }
}

/// Checks a typed text for its length and for control or invisible characters. Adds the violations to `bad`.
pub(crate) fn check_typed(text: Option<&str>, max: usize, path: &str, bad: &mut Gathered) {
    let Some(text) = text else { return };
    let chars = text.chars().count();
    if chars > max {
        bad.add(path, format!("{chars} characters"), format!("at most {max}"));
    } else if sanitize::typed(text) != text {
        bad.add(path, "has control characters", "must be plain text with newlines at most");
    }
}

impl Choice {
    /// The label for people, in one safe line without "(Recommended)".
    pub fn name(&self) -> &str {
        self.label.shown()
    }

    /// The label as the model wrote it.
    pub fn label_verbatim(&self) -> &str {
        &self.label.raw
    }

    /// The description for people. It is safe and may have several lines.
    pub fn description(&self) -> &str {
        self.description.shown()
    }

    /// The preview for people, if given. It is safe Markdown and may have many lines.
    pub fn preview(&self) -> Option<&str> {
        self.preview.as_ref().map(Untrusted::shown)
    }

    /// Whether the model recommends the option.
    pub fn is_recommended(&self) -> bool {
        self.recommended
    }
}

#[cfg(test)]
#[path = "question_tests.rs"]
mod tests;
