//! Drafts: the unsent work of a person at a prompt.

use crate::outcome::Answer;
use crate::{report, sanitize};
use serde::{Deserialize, Serialize};

/// The unsent answers and texts of a prompt. A prompt at any surface can restore them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Draft {
    /// The unsent answers, one for each question that the person has worked on.
    pub answers: Vec<Unsent>,
    /// The unsent message of "discuss first", if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub discuss: Option<String>,
    /// The unsent reason of a refusal, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decline: Option<String>,
}

/// The unsent answer to one question.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Unsent {
    /// The chosen options, the typed text and the notes. An unsent answer may lack a choice.
    #[serde(flatten)]
    pub answer: Answer,
    /// The text in the Other field while Other is not chosen. If Other is chosen, its text is in `answer` and this is
    /// `None`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub typed: Option<String>,
}

impl From<Vec<Answer>> for Draft {
    fn from(answers: Vec<Answer>) -> Draft {
        let answers = answers.into_iter().map(|answer| Unsent { answer, typed: None }).collect();
        Draft { answers, ..Draft::default() }
    }
}

impl Draft {
    /// Whether the draft is empty.
    pub fn is_empty(&self) -> bool {
        *self == Draft::default()
    }

    /// Returns the answers that have a choice or a text, so that they could be sent.
    pub fn chosen(&self) -> Vec<Answer> {
        let is_choice = |answer: &&Answer| !answer.selected_options.is_empty() || answer.custom_input.is_some();
        self.answers.iter().map(|unsent| &unsent.answer).filter(is_choice).cloned().collect()
    }

    /// Describes the draft in texts, one for each question and field: `Database: SQLite (note: for now)`.
    pub fn words(&self) -> Vec<String> {
        let of_question = |Unsent { answer, typed }: &Unsent| {
            let words = report::names(answer).chain(answer.custom_input.clone()).chain(typed.clone());
            let words = words.collect::<Vec<_>>().join(", ");
            let notes = answer
                .notes
                .iter()
                .map(|note| &note.text)
                .chain(answer.note.iter().filter(|_| answer.notes.is_empty()));
            let notes: String = notes.map(|note| format!(" (note: {note})")).collect();
            format!("{}: {words}{notes}", sanitize::line(&answer.header))
        };
        let field = |name: &str, text: &Option<String>| text.as_ref().map(|text| format!("{name}: {text}"));
        let answers = self.answers.iter().map(of_question);
        let fields = [field("To talk about", &self.discuss), field("To decline", &self.decline)];
        answers.chain(fields.into_iter().flatten()).map(|words| sanitize::typed(&words)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::Limits;
    use crate::store::MAX_DRAFT;
    use serde_json::json;

    fn unsent() -> serde_json::Value {
        json!({"question": "Which?", "header": "Pick", "selectedOptions": ["A"]})
    }

    #[test]
    fn everything_in_a_draft_comes_back() {
        let mut answer = unsent();
        answer["typed"] = "my own".into();
        answer["notes"] = json!([{"option": "A", "text": "why"}]);
        let written = json!({"answers": [answer], "discuss": "LDAP?", "decline": "no"});
        let draft: Draft = serde_json::from_value(written.clone()).unwrap();
        assert_eq!(json!(draft), written);
        assert_eq!(draft.words(), ["Pick: A, my own (note: why)", "To talk about: LDAP?", "To decline: no"]);
    }

    #[test]
    fn a_draft_whose_every_field_is_full_is_not_too_long_for_a_store() {
        let limits = Limits::DEFAULT;
        let rows = limits.options.max + 1;
        let typed = limits.typed_chars;
        let full = |chars| "𝄞".repeat(chars);
        let note = json!({"option": full(limits.label_chars.max), "text": full(typed)});
        let answer = json!({
            "question": full(limits.question_chars.max),
            "header": full(limits.header_chars.max),
            "selectedOptions": [],
            "typed": full(typed),
            "note": full(rows * typed),
            "notes": vec![note; rows],
        });
        let answers = vec![answer; limits.questions.max];
        let written = json!({"answers": answers, "discuss": full(typed), "decline": full(typed)});
        let draft: Draft = serde_json::from_value(written.clone()).unwrap();
        assert_eq!(json!(draft), written);
        assert!(written.to_string().len() < MAX_DRAFT);
    }
}
