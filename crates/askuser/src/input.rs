//! The JSON as a model sends it.
//!
//! Nothing here is checked but shape: each value is a [`Field`] that remembers being missing or of the wrong kind, so
//! that one fault never hides the next and every violation can be reported at once. [`schema`](crate::tool::schema) is
//! what models are told of it.

use serde_json::{Value, json};

/// One call of the tool.
#[derive(Clone, Debug, Default)]
pub struct Input {
    /// The questions to ask.
    pub questions: Field<Vec<Field<QuestionInput>>>,
    /// What the call is for, when the caller says. Not advertised: it is for programs, not for models.
    pub metadata: Field<Metadata>,
    // `answers` of the proposals is deliberately absent: it is an unknown field like any other. A model that fills in
    // the user's answers must never be believed.
}

/// One question.
#[derive(Clone, Debug, Default)]
pub struct QuestionInput {
    /// The complete question.
    pub question: Field<String>,
    /// A short label, shown as a chip.
    pub header: Field<String>,
    /// What can be chosen.
    pub options: Field<Vec<Field<OptionInput>>>,
    /// Whether several options may be chosen.
    pub multi_select: Field<bool>,
}

/// One option.
#[derive(Clone, Debug, Default)]
pub struct OptionInput {
    /// What is shown and returned.
    pub label: Field<String>,
    /// What choosing it means.
    pub description: Field<String>,
    /// What it would look like, in Markdown. Advertised only on request.
    pub preview: Field<String>,
}

/// Facts about the call.
#[derive(Clone, Debug, Default)]
pub struct Metadata {
    /// Where the call comes from, such as `remember`.
    pub source: Field<String>,
}

impl QuestionInput {
    /// A single-select question without options yet.
    pub fn new(question: impl Into<String>, header: impl Into<String>) -> QuestionInput {
        QuestionInput {
            question: Field::Given(question.into()),
            header: Field::Given(header.into()),
            options: Field::Given(Vec::new()),
            multi_select: Field::Given(false),
        }
    }

    /// Adds an option.
    pub fn option(self, label: impl Into<String>, description: impl Into<String>) -> QuestionInput {
        let (label, description) = (Field::Given(label.into()), Field::Given(description.into()));
        self.with_option(OptionInput { label, description, preview: Field::Missing })
    }

    /// Adds an option with a preview: Markdown, such as code, a mock-up or a diff.
    pub fn option_with_preview(
        self,
        label: impl Into<String>,
        description: impl Into<String>,
        preview: impl Into<String>,
    ) -> QuestionInput {
        let (label, description) = (Field::Given(label.into()), Field::Given(description.into()));
        self.with_option(OptionInput { label, description, preview: Field::Given(preview.into()) })
    }

    fn with_option(mut self, option: OptionInput) -> QuestionInput {
        let mut options = self.options.given().unwrap_or_default();
        options.push(Field::Given(option));
        self.options = Field::Given(options);
        self
    }

    /// Lets several options be chosen.
    pub fn multi_select(self) -> QuestionInput {
        QuestionInput { multi_select: Field::Given(true), ..self }
    }

    pub(crate) fn into_value(self) -> Value {
        let option = |option: Field<OptionInput>| {
            let OptionInput { label, description, preview } = option.given().unwrap_or_default();
            let mut option = json!({"label": label.given(), "description": description.given()});
            if let Some(preview) = preview.given() {
                option["preview"] = preview.into();
            }
            option
        };
        let options: Option<Vec<Value>> = self.options.given().map(|options| options.into_iter().map(option).collect());
        json!({
            "question": self.question.given(),
            "header": self.header.given(),
            "options": options,
            "multiSelect": self.multi_select.given(),
        })
    }
}

/// A value as it was found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Field<T> {
    /// The key is absent.
    #[default]
    Missing,
    /// The value is of another kind, which is named: `a number`.
    Wrong(&'static str),
    /// The value is of the right kind.
    Given(T),
}

/// What a [`Field`] holds, and how it is read.
pub trait Shape: Sized {
    /// The kind of JSON value it takes, as an error names it: `a string`.
    const KIND: &'static str;

    /// The keys of an object; what else it holds is ignored.
    const KEYS: &'static [&'static str] = &[];

    /// Reads a value; `None` where it is of another kind.
    fn read(value: Value) -> Option<Self>;
}

impl Shape for String {
    const KIND: &'static str = "a string";

    fn read(value: Value) -> Option<String> {
        if let Value::String(text) = value { Some(text) } else { None }
    }
}

impl Shape for bool {
    const KIND: &'static str = "true or false";

    fn read(value: Value) -> Option<bool> {
        value.as_bool()
    }
}

impl<T: Shape> Shape for Vec<Field<T>> {
    const KIND: &'static str = "an array";

    fn read(value: Value) -> Option<Self> {
        if let Value::Array(items) = value { Some(items.into_iter().map(Field::read).collect()) } else { None }
    }
}

/// Reads an object field by field; what else it holds is ignored.
macro_rules! object {
    ($type:ident { $($field:ident: $key:literal),* }) => {
        impl Shape for $type {
            const KIND: &'static str = "an object";
            const KEYS: &'static [&'static str] = &[$($key),*];

            fn read(value: Value) -> Option<$type> {
                let Value::Object(mut object) = value else { return None };
                Some($type { $($field: object.swap_remove($key).map_or(Field::Missing, Field::read)),* })
            }
        }
    };
}

object!(Input { questions: "questions", metadata: "metadata" });
object!(QuestionInput { question: "question", header: "header", options: "options", multi_select: "multiSelect" });
object!(OptionInput { label: "label", description: "description", preview: "preview" });
object!(Metadata { source: "source" });

impl<T> Field<T> {
    /// The value, where it is there and of the right kind.
    pub fn given(self) -> Option<T> {
        match self {
            Field::Given(value) => Some(value),
            Field::Missing | Field::Wrong(_) => None,
        }
    }
}

impl<T: Shape> Field<T> {
    /// Reads a value, noting rather than failing when it is of the wrong kind.
    pub fn read(value: Value) -> Field<T> {
        let kind = kind_of(&value);
        T::read(value).map_or(Field::Wrong(kind), Field::Given)
    }
}

fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => bool::KIND,
        Value::Number(_) => "a number",
        Value::String(_) => String::KIND,
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}
