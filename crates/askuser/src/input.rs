//! The JSON input of a model: its keys, and a builder for questions in code. [`schema`](crate::tool::schema) describes
//! it to models.

use serde_json::{Value, json};

/// The keys of a call. Other keys are ignored. `metadata` is for programs and not advertised to models. The key
/// `answers` of the proposals is absent on purpose: a model must never fill in the user's answers.
pub(crate) const CALL_KEYS: &[&str] = &["questions", "metadata"];
/// The keys of one question.
pub(crate) const QUESTION_KEYS: &[&str] = &["question", "header", "options", "multiSelect"];
/// The keys of one option.
pub(crate) const OPTION_KEYS: &[&str] = &["label", "description", "preview"];

/// A question built in code. [`QuestionSet::new`](crate::QuestionSet::new) checks it like a model's question.
#[derive(Clone, Debug)]
pub struct QuestionInput {
    question: String,
    header: String,
    options: Vec<Value>,
    multi_select: bool,
    placeholder: Option<String>,
}

impl QuestionInput {
    /// Creates a single-select question without options.
    pub fn new(question: impl Into<String>, header: impl Into<String>) -> QuestionInput {
        QuestionInput {
            question: question.into(),
            header: header.into(),
            options: Vec::new(),
            multi_select: false,
            placeholder: None,
        }
    }

    /// Adds an option.
    pub fn option(mut self, label: impl Into<String>, description: impl Into<String>) -> QuestionInput {
        self.options.push(json!({"label": label.into(), "description": description.into()}));
        self
    }

    /// Adds an option with a preview in Markdown, such as code, a mock-up or a diff.
    pub fn option_with_preview(
        self,
        label: impl Into<String>,
        description: impl Into<String>,
        preview: impl Into<String>,
    ) -> QuestionInput {
        let mut question = self.option(label, description);
        if let Some(option) = question.options.last_mut() {
            option["preview"] = preview.into().into();
        }
        question
    }

    /// Allows several options to be chosen.
    pub fn multi_select(self) -> QuestionInput {
        QuestionInput { multi_select: true, ..self }
    }

    /// Sets the placeholder of a question with a text answer.
    pub fn placeholder(self, text: impl Into<Option<String>>) -> QuestionInput {
        QuestionInput { placeholder: text.into(), ..self }
    }

    pub(crate) fn into_value(self) -> Value {
        let mut value = json!({
            "question": self.question,
            "header": self.header,
            "options": self.options,
            "multiSelect": self.multi_select,
        });
        if let Some(text) = self.placeholder {
            value["placeholder"] = text.into();
        }
        value
    }
}
