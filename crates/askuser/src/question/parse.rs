//! Parses questions from JSON. It checks the shape, the lengths and that texts differ, and reports all violations.

use super::{Choice, Content, Question, QuestionSet, Untrusted};
use crate::limits::{Limits, Span};
use crate::lookalikes::{alike, is_other};
use crate::repair;
use crate::rules::{Faults, Form, Rules};
use crate::sanitize;
use crate::unknown_keys::{explain_missing, unknown_keys};
use crate::violation::{Gathered, Violation, Violations};
use serde_json::{Map, Value};
use std::collections::HashMap;
use std::sync::Arc;

type Object = Map<String, Value>;

impl QuestionSet {
    /// Parses a set from JSON text.
    ///
    /// # Errors
    /// Returns all errors, not only the first.
    pub fn from_json(text: &str, rules: &Rules) -> Result<QuestionSet, Violations> {
        serde_json::from_str(text)
            .map_err(|error| {
                let path = "input".into();
                let limit = "must be a JSON object".into();
                Violation { path, fact: format!("not JSON ({error})"), limit }.into()
            })
            .and_then(|value| QuestionSet::parse(value, rules))
    }

    /// Parses a set from a JSON value.
    ///
    /// # Errors
    /// Returns all errors, not only the first.
    pub fn parse(input: Value, rules: &Rules) -> Result<QuestionSet, Violations> {
        let mut reader = Reader { rules, mended: Vec::new(), bad: Gathered::default() };
        let mut value = input.clone();
        if reader.repairs() {
            repair::unquote(&mut value, &mut reader.mended);
        }
        let source = value.get("metadata").and_then(|metadata| metadata.get("source")).and_then(Value::as_str);
        let source = source.map(str::to_owned);
        let mut texts = Distinct::under(rules);
        let questions = reader.given(Some(value), "input", object).and_then(|mut call| {
            let questions = call.remove("questions");
            reader.list(questions, "questions", rules.limits().questions, |reader, question, path| {
                reader.question(question, path, &mut texts)
            })
        });
        let Reader { mended, bad, .. } = reader;
        match bad.into_result(questions) {
            Ok(questions) => Ok(QuestionSet(Arc::new(Content { questions, source, mended, input, rules: *rules }))),
            Err(violations) => {
                let unknown = unknown_keys(&input);
                Err(violations.map(|violation| explain_missing(violation, &unknown)))
            }
        }
    }
}

/// The state of parsing: the rules, the repairs and the violations.
struct Reader<'a> {
    rules: &'a Rules,
    mended: Vec<String>,
    bad: Gathered,
}

impl Reader<'_> {
    fn repairs(&self) -> bool {
        self.rules.faults() == Faults::Repair
    }

    fn question(&mut self, mut raw: Object, path: &str, texts: &mut Distinct<'_>) -> Option<Question> {
        let limits = *self.rules.limits();
        let form = self.rules.form();
        if self.repairs() {
            repair::drop_other(&mut raw, path, &mut self.mended);
        }
        let question_path = format!("{path}.question");
        let question = self.text(raw.remove("question"), &question_path, limits.question_chars).map(|question| {
            let shown = shown_block(&question);
            texts.add(question_path, &shown, "question texts must differ", &mut self.bad);
            Untrusted::new(question, &shown)
        });
        let header_path = format!("{path}.header");
        let mut header_chars = limits.header_chars;
        let mut short_header = None;
        if let (true, Some(Value::String(header))) = (self.repairs(), raw.get("header")) {
            short_header = repair::shorten(header, header_chars.max, &header_path, &mut self.mended);
            header_chars.max = usize::MAX;
        }
        let header = self.text(raw.remove("header"), &header_path, header_chars);
        let mut names = Distinct::under(self.rules);
        let options = match form {
            Form::Input => Some(Vec::new()),
            _ => {
                let options = raw.remove("options");
                self.list(options, &format!("{path}.options"), limits.options, |reader, option, path| {
                    reader.option(option, path, &mut names)
                })
            }
        };
        let multi_select = self.given(raw.remove("multiSelect"), &format!("{path}.multiSelect"), boolean);
        let placeholder = raw.remove("placeholder").filter(|_| form == Form::Input);
        let placeholder = placeholder.and_then(|text| {
            let text = self.text(Some(text), &format!("{path}.placeholder"), Limits::DEFAULT.description_chars)?;
            Some(Untrusted::new(text.clone(), &shown_line(&text)))
        });
        let question = question?;
        let header = header?;
        let shown_header = short_header.unwrap_or_else(|| shown_line(&header));
        let header = Untrusted::new(header, &shown_header);
        Some(Question { question, header, options: options?, multi_select: multi_select?, placeholder, form })
    }

    fn option(&mut self, mut raw: Object, path: &str, names: &mut Distinct<'_>) -> Option<Choice> {
        let limits = *self.rules.limits();
        let label_path = format!("{path}.label");
        let label = self.text(raw.remove("label"), &label_path, limits.label_chars);
        let label = label.and_then(|label| self.label(label, label_path, names));
        let description =
            self.text(raw.remove("description"), &format!("{path}.description"), limits.description_chars);
        let preview = self.preview(raw.remove("preview"), &format!("{path}.preview"));
        let ((label, recommended), description) = (label?, description?);
        let shown = shown_block(&description);
        Some(Choice { label, description: Untrusted::new(description, &shown), preview, recommended })
    }

    /// Returns the label, and whether the model recommends the option. Returns `None` if the label is invalid, with the
    /// reason in `bad`.
    fn label(&mut self, label: String, path: String, names: &mut Distinct<'_>) -> Option<(Untrusted, bool)> {
        // A line of a list is never recommended, and may be called Other.
        let is_tool = self.rules.form() == Form::Tool;
        let is_line = self.rules.form() == Form::Pick;
        let (name, recommended) = if is_line { (shown_line(&label), false) } else { name_of(&label) };
        if is_tool && sanitize::is_blank(&name) {
            self.bad.add(path, "only \"(Recommended)\"", "must name the option");
            return None;
        }
        if is_tool && is_other(&name) {
            self.bad.add(path, format!("\"{name}\" written by hand"), "must be left out: Other is always offered");
            return None;
        }
        names.add(path, &name, "labels must differ", &mut self.bad);
        Some((Untrusted::new(label, &name), recommended))
    }

    /// Returns the preview of an option; `None` if the preview is missing, null, blank or invalid.
    fn preview(&mut self, value: Option<Value>, path: &str) -> Option<Untrusted> {
        let value = value.filter(|value| !value.is_null())?;
        let text = self.text(Some(value), path, Span { min: 0, max: self.rules.limits().preview_chars })?;
        // Blank lines around the preview are removed. The indentation of its first line stays.
        let shown = sanitize::block(&text).trim_end().trim_start_matches('\n').to_owned();
        (!sanitize::is_blank(&text)).then(|| Untrusted::new(text, &shown))
    }

    /// Returns the value of a field. If the value is missing or of another type, adds a violation.
    fn given<T: Default + Into<Value>>(
        &mut self,
        value: Option<Value>,
        path: &str,
        read: fn(Value) -> Option<T>,
    ) -> Option<T> {
        let found = value.as_ref().map_or("missing", kind_of);
        let read = value.and_then(read);
        if read.is_none() {
            self.bad.add(path, found, format!("must be {}", kind_of(&T::default().into())));
        }
        read
    }

    /// Returns the text of a required field. If the text is blank or its length is not allowed, adds a violation and
    /// returns `None`.
    fn text(&mut self, value: Option<Value>, path: &str, span: Span) -> Option<String> {
        let text = self.given(value, path, string)?;
        let chars = text.chars().count();
        if chars > span.max {
            self.bad.add(path, format!("{chars} characters"), format!("at most {}", span.max));
        } else if chars < span.min {
            let fact = if chars == 0 { "empty".to_owned() } else { format!("{chars} characters") };
            self.bad.add(path, fact, format!("at least {}", span.min));
        } else if span.min > 0 && sanitize::is_blank(&text) {
            self.bad.add(path, "blank", "must have visible text");
        } else {
            return Some(text);
        }
        None
    }

    /// Returns the items of an array. If the number of items is not allowed or an item is invalid, adds a violation.
    fn list<T>(
        &mut self,
        value: Option<Value>,
        path: &str,
        span: Span,
        mut build: impl FnMut(&mut Self, Object, &str) -> Option<T>,
    ) -> Option<Vec<T>> {
        let items = self.given(value, path, array)?;
        let count = items.len();
        let nouns = path.rsplit('.').next().unwrap_or(path);
        let noun = if count == 1 { nouns.trim_end_matches('s') } else { nouns };
        if count < span.min {
            self.bad.add(path, format!("{count} {noun}"), format!("at least {}", span.min));
        } else if count > span.max {
            self.bad.add(path, format!("{count} {noun}"), format!("at most {}", span.max));
        }
        // Items beyond the limit are checked up to twice the limit. More of them would show no new kind of error.
        let items = items.into_iter().take(span.max.saturating_mul(2)).enumerate();
        let read = |(i, item)| {
            let path = format!("{path}[{i}]");
            self.given(Some(item), &path, object).and_then(|item| build(self, item, &path))
        };
        items.map(read).collect::<Vec<_>>().into_iter().collect()
    }
}

/// Defines functions that each extract the value of one JSON type.
macro_rules! kinds {
    ($($name:ident: $kind:ident($type:ty))*) => {
        $(fn $name(value: Value) -> Option<$type> {
            if let Value::$kind(value) = value { Some(value) } else { None }
        })*
    };
}
kinds! { boolean: Bool(bool) string: String(String) array: Array(Vec<Value>) object: Object(Object) }

fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

fn shown_line(text: &str) -> String {
    sanitize::trim(&sanitize::line(text)).to_owned()
}

fn shown_block(text: &str) -> String {
    sanitize::trim(&sanitize::block(text)).to_owned()
}

/// Returns a label for people without "(Recommended)", and whether the label ended with that word in any case.
pub(crate) fn name_of(label: &str) -> (String, bool) {
    const SUFFIX: &str = "(recommended)";
    let safe = sanitize::line(label);
    let safe = sanitize::trim(&safe);
    let (name, recommended) = match safe.len().checked_sub(SUFFIX.len()).and_then(|at| safe.split_at_checked(at)) {
        Some((name, suffix)) if suffix.eq_ignore_ascii_case(SUFFIX) => (name.trim_end(), true),
        _ => (safe, false),
    };
    // The label is cleaned again, because a joiner at its new end has lost its partner.
    (shown_line(name), recommended)
}

/// The texts that must differ, with their paths. Two texts that look alike count as the same.
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
        // Lines of a list come from the user and may differ in case alone, as file names do.
        if self.rules.form() == Form::Pick {
            match self.lines.get(shown) {
                Some(first) => bad.add(path, format!("looks the same as {first}"), limit),
                None => drop(self.lines.insert(shown.to_owned(), path)),
            }
            return;
        }
        match self.texts.iter().find(|(_, earlier)| alike(earlier, shown)) {
            Some((first, earlier)) if earlier == shown => bad.add(path, format!("repeats {first}"), limit),
            Some((first, _)) => bad.add(path, format!("repeats {first} in other letters"), limit),
            None => self.texts.push((path, shown.to_owned())),
        }
    }
}
