//! The rules of parsing: limits, and the treatment of cosmetic faults.
//!
//! Rules are stored with every request. A stored request is rebuilt by the rules it was asked under.

use crate::limits::{Limits, LimitsError};
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};

/// The rules for parsing an input. [`Limits`] has an example.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rules {
    #[serde(deserialize_with = "checked_limits")]
    limits: Limits,
    faults: Faults,
    #[serde(default, skip_serializing_if = "Form::is_tool")]
    form: Form,
}

/// The form of an answer. The program decides it; an input cannot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Form {
    /// Options with descriptions, or the person's own text under Other: the form of models.
    #[default]
    Tool,
    /// Options only: the form of programs without a text field.
    Options,
    /// Yes or no.
    Confirm,
    /// A text.
    Input,
    /// Lines of a list, which may be long and is searched.
    Pick,
}

impl Form {
    fn is_tool(&self) -> bool {
        *self == Form::Tool
    }

    /// The header of our own questions without one. It carries no information, so
    /// [`Question::chip`](crate::Question::chip) omits it.
    pub fn default_header(self) -> &'static str {
        match self {
            Form::Tool | Form::Options => "Question",
            Form::Confirm => "Confirm",
            Form::Input => "Input",
            Form::Pick => "Pick",
        }
    }

    /// Whether an option may have a note.
    pub fn takes_notes(self) -> bool {
        self == Form::Tool
    }

    /// Whether the person may answer in their own words.
    pub fn takes_text(self) -> bool {
        matches!(self, Form::Tool | Form::Input)
    }
}

/// The treatment of cosmetic faults.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Faults {
    /// Report them like any other.
    #[default]
    Reject,
    /// Repair them and report that to the model.
    Repair,
}

impl Default for Rules {
    fn default() -> Rules {
        Rules::strict()
    }
}

impl Rules {
    /// The default limits; cosmetic faults are rejected.
    pub const fn strict() -> Rules {
        Rules { limits: Limits::DEFAULT, faults: Faults::Reject, form: Form::Tool }
    }

    /// The rules for a question with options only.
    pub const fn options_only(self) -> Rules {
        Rules { form: Form::Options, ..self }
    }

    /// The rules for our yes-or-no questions.
    pub const fn confirm() -> Rules {
        Rules { limits: Limits::CONFIRM, form: Form::Confirm, ..Rules::strict() }
    }

    /// The rules for our questions for a text; they have no options.
    pub const fn input() -> Rules {
        Rules { limits: Limits::CONFIRM, form: Form::Input, ..Rules::strict() }
    }

    /// The rules for our questions with lines of a list as options.
    pub const fn pick() -> Rules {
        Rules { limits: Limits::PICK, form: Form::Pick, ..Rules::strict() }
    }

    /// The default limits; cosmetic faults are repaired and reported.
    pub const fn repair() -> Rules {
        Rules { faults: Faults::Repair, ..Rules::strict() }
    }

    /// Sets other limits.
    ///
    /// # Errors
    /// If they leave no room for a question.
    pub fn with_limits(self, limits: Limits) -> Result<Rules, LimitsError> {
        Ok(Rules { limits: limits.checked()?, ..self })
    }

    /// The limits.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// The treatment of cosmetic faults.
    pub fn faults(&self) -> Faults {
        self.faults
    }

    /// The form of an answer.
    pub fn form(&self) -> Form {
        self.form
    }
}

/// Stored rules are checked like new ones.
fn checked_limits<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Limits, D::Error> {
    Limits::deserialize(deserializer)?.checked().map_err(D::Error::custom)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_are_read_back_as_they_were_stored() {
        for rules in [
            Rules::strict(),
            Rules::repair(),
            Rules::strict().options_only(),
            Rules::confirm(),
            Rules::input(),
            Rules::pick(),
        ] {
            let stored = serde_json::to_value(rules).unwrap();
            assert_eq!(serde_json::from_value::<Rules>(stored).unwrap(), rules);
        }
    }

    #[test]
    fn the_form_of_a_models_questions_is_not_written() {
        assert!(serde_json::to_value(Rules::strict()).unwrap().get("form").is_none());
    }
}
