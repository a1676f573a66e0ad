//! `QuestionSet`, `Question`, `Choice`: valid by construction.
//!
//! The only way in is [`QuestionSet::parse`] (or [`QuestionSet::new`], which it ends in), so nothing past this module
//! checks a limit or meets unsafe text again. Verbatim text is kept for machines, shown text for people.

use crate::alike::{alike, is_other, reads_like};
use crate::input::{Field, Input, OptionInput, QuestionInput, Shape};
use crate::limits::{Limits, Span};
use crate::outcome::{Answer, Note, Outcome};
use crate::repair;
use crate::rules::{Faults, Form, Rules};
use crate::sanitize;
use crate::spelling::{explain_missing, unknown_keys};
use crate::violation::{Gathered, Violations};
use serde::ser::SerializeStruct;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::{Value, json};
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// One to four questions, asked together.
///
/// It serialises as the input it was read from and the rules it was read by, and is rebuilt from them: what is read back
/// is the same set, asks the same and reports the same.
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
/// To clone it is cheap.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "Stored")]
pub struct QuestionSet(Arc<Content>);

#[derive(Debug, PartialEq, Eq)]
struct Content {
    questions: Vec<Question>,
    source: Option<String>,
    mended: Vec<String>,
    /// As it was sent.
    input: Value,
    rules: Rules,
}

/// All that a set is rebuilt from.
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

/// One question with its options. Other is not among them: its [`Form`] tells whether it is there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Question {
    question: Untrusted,
    header: Untrusted,
    options: Vec<Choice>,
    multi_select: bool,
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

/// Text from a model: verbatim for machines, safe for people.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Untrusted {
    raw: String,
    /// What a person sees, where that is not the raw text.
    shown: Option<String>,
}

impl Untrusted {
    fn new(raw: String, shown: String) -> Untrusted {
        let shown = (shown != raw).then_some(shown);
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
    /// Reads a JSON text.
    ///
    /// # Errors
    /// Everything that is wrong with it, at once.
    pub fn from_json(text: &str, rules: &Rules) -> Result<QuestionSet, Violations> {
        match serde_json::from_str(text) {
            Ok(value) => QuestionSet::parse(value, rules),
            Err(error) => {
                let mut gathered = Gathered::default();
                gathered.add("input", format!("not JSON ({error})"), "must be a JSON object");
                gathered.into_result(None)
            }
        }
    }

    /// Reads a JSON value as a model sent it.
    ///
    /// # Errors
    /// Everything that is wrong with it, at once.
    pub fn parse(input: Value, rules: &Rules) -> Result<QuestionSet, Violations> {
        let (mut value, mut mended) = (input.clone(), Vec::new());
        if rules.faults() == Faults::Repair {
            repair::unquote(&mut value, &mut mended);
        }
        let mut bad = Gathered::default();
        let Some(read) = given(Field::<Input>::read(value), "input", &mut bad) else { return bad.into_result(None) };
        let mut texts = Distinct::under(rules);
        let limits = rules.limits();
        let questions =
            list(read.questions, "questions", "questions", limits.questions(), &mut bad, |mut raw, path, bad| {
                if rules.faults() == Faults::Repair {
                    repair::drop_other(&mut raw, path, rules, &mut mended);
                }
                Question::build(raw, path, rules, &mut texts, &mut mended, bad)
            });
        let source = read.metadata.given().and_then(|metadata| metadata.source.given());
        match bad.into_result(questions) {
            Ok(questions) => Ok(QuestionSet(Arc::new(Content { questions, source, mended, input, rules: *rules }))),
            Err(violations) => {
                let unknown = unknown_keys(&input);
                Err(violations.map(|violation| explain_missing(violation, &unknown)))
            }
        }
    }

    /// Builds a set in code.
    ///
    /// # Errors
    /// Everything that is wrong with the questions, at once.
    pub fn new(questions: impl IntoIterator<Item = QuestionInput>, rules: &Rules) -> Result<QuestionSet, Violations> {
        let questions: Vec<Value> = questions.into_iter().map(QuestionInput::into_value).collect();
        QuestionSet::parse(json!({ "questions": questions }), rules)
    }

    /// The same set, unless one of its headers reads like one of these names, which already mean something where it is asked.
    ///
    /// # Errors
    /// Every header that does.
    pub fn reserving<'a>(self, names: impl IntoIterator<Item = &'a str>) -> Result<QuestionSet, Violations> {
        let names: Vec<&str> = names.into_iter().collect();
        let mut bad = Gathered::default();
        for (i, question) in self.0.questions.iter().enumerate() {
            if let Some(name) = names.iter().find(|name| reads_like(question.header(), name)) {
                let fact = format!("reads like {name:?}, which heads questions of another kind");
                bad.add(format!("questions[{i}].header"), fact, "must say what the question is about");
            }
        }
        bad.into_result(Some(self))
    }

    /// The questions, in the order they were asked.
    pub fn questions(&self) -> &[Question] {
        &self.0.questions
    }

    /// The limits the set was read under; they also bound what a person may type.
    pub fn limits(&self) -> &Limits {
        self.0.rules.limits()
    }

    /// The rules the set was read by.
    pub fn rules(&self) -> &Rules {
        &self.0.rules
    }

    /// The input as it was sent.
    pub fn input(&self) -> &Value {
        &self.0.input
    }

    /// Whether each of the answers is a legal answer to a question of this set, no question twice, everything in the order
    /// of the questions.
    pub fn admits(&self, answers: &[Answer]) -> bool {
        Outcome::cancelled().with_answers(self, answers.to_vec()).is_ok_and(|outcome| outcome.answers() == answers)
    }

    /// The questions as the model wrote them: `[{question, header, options: [{label, description}], multiSelect}]`.
    pub fn questions_json(&self) -> Value {
        json!(self.0.questions)
    }

    /// `metadata.source`, where the caller gave it.
    pub fn source(&self) -> Option<&str> {
        self.0.source.as_deref()
    }

    /// The repairs, as the model is told. Empty in strict reading.
    pub fn mended(&self) -> &[String] {
        &self.0.mended
    }
}

impl Question {
    fn build(
        raw: QuestionInput,
        path: &str,
        rules: &Rules,
        texts: &mut Distinct<'_>,
        mended: &mut Vec<String>,
        bad: &mut Gathered,
    ) -> Option<Question> {
        let limits = rules.limits();
        let question_path = format!("{path}.question");
        let question = text(raw.question, &question_path, limits.question_chars(), bad).map(|question| {
            let shown = sanitize::trim(&sanitize::block(&question)).to_owned();
            texts.add(question_path, &shown, "question texts must differ", bad);
            Untrusted::new(question, shown)
        });
        let header_path = format!("{path}.header");
        let mut short_header = None;
        let header = match raw.header {
            Field::Given(header) if rules.faults() == Faults::Repair => {
                short_header = repair::shorten(&header, limits.header_chars().max, &header_path, mended);
                let span = Span { max: usize::MAX, ..limits.header_chars() };
                text(Field::Given(header), &header_path, span, bad)
            }
            header => text(header, &header_path, limits.header_chars(), bad),
        };
        let mut names = Distinct::under(rules);
        let form = rules.form();
        let options = match form {
            Form::Input => Some(Vec::new()),
            _ => {
                list(raw.options, &format!("{path}.options"), "options", limits.options(), bad, |option, path, bad| {
                    Choice::build(option, path, rules, &mut names, bad)
                })
            }
        };
        let multi_select = given(raw.multi_select, &format!("{path}.multiSelect"), bad);
        let (question, header) = (question?, header?);
        let shown_header = short_header.unwrap_or_else(|| sanitize::trim(&sanitize::line(&header)).to_owned());
        Some(Question {
            question,
            header: Untrusted::new(header, shown_header),
            options: options?,
            multi_select: multi_select?,
            form,
        })
    }

    /// How it is answered.
    pub fn form(&self) -> Form {
        self.form
    }

    /// The question as a person reads it: safe, possibly of several lines.
    pub fn text(&self) -> &str {
        self.question.shown()
    }

    /// The question as the model wrote it.
    pub fn text_verbatim(&self) -> &str {
        &self.question.raw
    }

    /// The header as a person reads it: safe, one line.
    pub fn header(&self) -> &str {
        self.header.shown()
    }

    /// The header as the model wrote it.
    pub fn header_verbatim(&self) -> &str {
        &self.header.raw
    }

    /// The options; Other is not among them. A question that is answered by a text has none.
    pub fn options(&self) -> &[Choice] {
        &self.options
    }

    /// Whether several options may be chosen.
    pub fn is_multi_select(&self) -> bool {
        self.multi_select
    }

    /// Builds the answer to this question. `None` when it would not be one: nothing picked and nothing typed, or more
    /// than one thing for a single-select question.
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
        let (question, header) = (self.question.raw.clone(), self.header.raw.clone());
        Some(Answer { question, header, selected_options, custom_input, note, notes: Vec::new() })
    }

    /// The same with notes by their row: an option, or Other after the last of them.
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

    /// Notes beside no choice, which is no answer yet.
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

    /// The row that a note is on; `None` where there is no such option.
    pub(crate) fn row_of(&self, note: &Note) -> Option<usize> {
        match &note.option {
            Some(label) => self.options.iter().position(|option| option.label.raw == *label),
            None => Some(self.options.len()),
        }
    }

    /// The answer in its canonical form, labels in the order of the question; `None`, with every reason in `bad`, where it
    /// is no legal answer to this question: its own labels only, as many as allowed, something rather than nothing, typed
    /// text within bounds and free of control characters.
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
        // Whoever asks reads no note, and one beside a yes may be a condition.
        if self.form != Form::Tool && (answer.note.is_some() || !answer.notes.is_empty()) {
            bad.add(format!("{path}.note"), "given", "must be left out: this question takes no notes");
        }
        check_typed(answer.custom_input.as_deref(), limits.typed_chars(), &format!("{path}.customInput"), bad);
        let (note_chars, mut notes) = (self.note_chars(limits), BTreeMap::new());
        for (i, note) in answer.notes.iter().enumerate().filter(|(_, note)| !sanitize::is_blank(&note.text)) {
            let path = format!("{path}.notes[{i}]");
            check_typed(Some(&note.text), note_chars, &format!("{path}.text"), bad);
            match self.row_of(note) {
                None => not_an_option(format!("{path}.option"), note.option.as_deref().unwrap_or_default(), bad),
                Some(row) if notes.contains_key(&row) => bad.add(path, "a second note on one option", "one is enough"),
                Some(row) => _ = notes.insert(row, note.text.as_str()),
            }
        }
        // Made of the notes, where there are any.
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

    /// How long a note may be: it may be the notes of several rows, each with its label.
    fn note_chars(&self, limits: &Limits) -> usize {
        (limits.typed_chars() + limits.label_chars().max + ": \n".len()) * (self.options.len() + 1)
    }
}

/// What a person typed: within bounds, and nothing in it that acts on a terminal or cannot be seen.
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
    fn build(
        raw: OptionInput,
        path: &str,
        rules: &Rules,
        names: &mut Distinct<'_>,
        bad: &mut Gathered,
    ) -> Option<Choice> {
        let limits = rules.limits();
        let label_path = format!("{path}.label");
        let label = text(raw.label, &label_path, limits.label_chars(), bad).and_then(|label| {
            // Nobody recommends a line of a list, and one may well be called Other.
            if rules.form() != Form::Tool {
                let name = sanitize::trim(&sanitize::line(&label)).to_owned();
                names.add(label_path, &name, "labels must differ", bad);
                return Some((Untrusted::new(label, name), false));
            }
            let (name, recommended) = name_of(&label);
            if sanitize::is_blank(&name) {
                bad.add(label_path, "only \"(Recommended)\"", "must name the option");
                return None;
            }
            if is_other(&name, rules) {
                bad.add(label_path, format!("\"{name}\" written by hand"), "must be left out: Other is always offered");
                return None;
            }
            names.add(label_path, &name, "labels must differ", bad);
            Some((Untrusted::new(label, name), recommended))
        });
        let description = text(raw.description, &format!("{path}.description"), limits.description_chars(), bad);
        let preview = preview(raw.preview, &format!("{path}.preview"), rules, bad);
        let ((label, recommended), description) = (label?, description?);
        let shown = sanitize::trim(&sanitize::block(&description)).to_owned();
        Some(Choice { label, description: Untrusted::new(description, shown), preview, recommended })
    }

    /// The label as a person reads it: safe, one line, without "(Recommended)".
    pub fn name(&self) -> &str {
        self.label.shown()
    }

    /// The label as the model wrote it, and reads it back.
    pub fn label_verbatim(&self) -> &str {
        &self.label.raw
    }

    /// What choosing it means, as a person reads it.
    pub fn description(&self) -> &str {
        self.description.shown()
    }

    /// What it would look like, as a person reads it: safe, in Markdown, possibly of many lines.
    pub fn preview(&self) -> Option<&str> {
        self.preview.as_ref().map(Untrusted::shown)
    }

    /// Whether the model recommends it.
    pub fn is_recommended(&self) -> bool {
        self.recommended
    }
}

/// A label as a person reads it, and whether "(Recommended)" was left out of it.
pub(crate) fn name_of(label: &str) -> (String, bool) {
    let safe = sanitize::line(label);
    let (name, recommended) = split_recommended(&safe);
    // Cleaned once more: a joiner at the end of the name has nothing to join any more.
    (sanitize::trim(&sanitize::line(name)).to_owned(), recommended)
}

/// Splits "(Recommended)", in any case, off the end of a safe label.
fn split_recommended(label: &str) -> (&str, bool) {
    const SUFFIX: &str = "(recommended)";
    let label = sanitize::trim(label);
    match label.len().checked_sub(SUFFIX.len()).and_then(|at| label.split_at_checked(at)) {
        Some((name, suffix)) if suffix.eq_ignore_ascii_case(SUFFIX) => (name.trim_end(), true),
        _ => (label, false),
    }
}

/// The value of a field, or a violation.
fn given<T: Shape>(field: Field<T>, path: &str, bad: &mut Gathered) -> Option<T> {
    match field {
        Field::Given(value) => return Some(value),
        Field::Missing => bad.add(path, "missing", format!("must be {}", T::KIND)),
        Field::Wrong(kind) => bad.add(path, kind, format!("must be {}", T::KIND)),
    }
    None
}

/// The text of a field: there, not blank, within its length.
fn text(field: Field<String>, path: &str, span: Span, bad: &mut Gathered) -> Option<String> {
    let text = given(field, path, bad)?;
    let chars = text.chars().count();
    if chars > span.max {
        bad.add(path, format!("{chars} characters"), format!("at most {}", span.max));
    } else if chars < span.min {
        let fact = if chars == 0 { "empty".to_owned() } else { format!("{chars} characters") };
        bad.add(path, fact, format!("at least {}", span.min));
    } else if span.min > 0 && sanitize::is_blank(&text) {
        bad.add(path, "blank", "must have visible text");
    } else {
        return Some(text);
    }
    None
}

/// The preview of an option: none where it is absent, null or blank.
fn preview(field: Field<String>, path: &str, rules: &Rules, bad: &mut Gathered) -> Option<Untrusted> {
    if rules.version() < 2 || matches!(field, Field::Missing | Field::Wrong("null")) {
        return None;
    }
    let text = text(field, path, Span { min: 0, max: rules.limits().preview_chars() }, bad)?;
    // Blank lines around it go; the indent of its first line is the text's.
    let shown = sanitize::block(&text).trim_end().trim_start_matches('\n').to_owned();
    (!sanitize::is_blank(&text)).then(|| Untrusted::new(text, shown))
}

/// The items of an array: as many as allowed, each well formed.
fn list<T: Shape, U>(
    field: Field<Vec<Field<T>>>,
    path: &str,
    noun: &str,
    span: Span,
    bad: &mut Gathered,
    mut build: impl FnMut(T, &str, &mut Gathered) -> Option<U>,
) -> Option<Vec<U>> {
    let items = given(field, path, bad)?;
    let count = items.len();
    let noun = if count == 1 { &noun[..noun.len() - 1] } else { noun };
    if count < span.min {
        bad.add(path, format!("{count} {noun}"), format!("at least {}", span.min));
    } else if count > span.max {
        bad.add(path, format!("{count} {noun}"), format!("at most {}", span.max));
    }
    // Items past the limit are still read for their own faults, but a flood of them adds nothing new.
    let mut built = Vec::new();
    for (i, item) in items.into_iter().take(span.max.saturating_mul(2)).enumerate() {
        let path = format!("{path}[{i}]");
        let item = given(item, &path, bad).and_then(|item| build(item, &path, bad));
        built.push(item);
    }
    built.into_iter().collect()
}

/// Texts that have to differ, with where each stands: two that a person could not tell apart are the same.
struct Distinct<'a> {
    rules: &'a Rules,
    texts: Vec<(String, String)>,
    lines: HashMap<String, String>,
}

impl Distinct<'_> {
    fn under(rules: &Rules) -> Distinct<'_> {
        Distinct { rules, texts: Vec::new(), lines: HashMap::new() }
    }

    fn add(&mut self, path: String, shown: &str, limit: &str, bad: &mut Gathered) {
        // Lines of a list are the user's own: they may differ in case alone, as the names of files do.
        if self.rules.form() == Form::Pick {
            match self.lines.get(shown) {
                Some(first) => bad.add(path, format!("looks the same as {first}"), limit),
                None => drop(self.lines.insert(shown.to_owned(), path)),
            }
            return;
        }
        match self.texts.iter().find(|(_, earlier)| alike(earlier, shown, self.rules)) {
            Some((first, earlier)) if earlier == shown => bad.add(path, format!("repeats {first}"), limit),
            Some((first, _)) => bad.add(path, format!("repeats {first} in other letters"), limit),
            None => self.texts.push((path, shown.to_owned())),
        }
    }
}

#[cfg(test)]
#[path = "question_tests.rs"]
mod tests;
