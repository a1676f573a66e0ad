//! The rules of parsing: the limits, the treatment of cosmetic faults, and the form of an answer.
//!
//! Rules are stored with every request. A stored request is rebuilt by the rules under which it was asked.

use crate::limits::{Limits, LimitsError};
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};

/// The rules for parsing an input. See [`Limits`] for an example.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rules {
    #[serde(deserialize_with = "checked_limits")]
    limits: Limits,
    faults: Faults,
    #[serde(default, skip_serializing_if = "Form::is_tool")]
    form: Form,
}

/// The form of an answer. The program chooses the form; an input cannot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Form {
    /// Options with descriptions, or the person's own text under Other. Models ask in this form.
    #[default]
    Tool,
    /// Options only. Programs without a text field ask in this form.
    Options,
    /// Yes or no.
    Confirm,
    /// A text that the person types.
    Input,
    /// The lines of a list, which may be long and is searched.
    Pick,
}

impl Form {
    fn is_tool(&self) -> bool {
        *self == Form::Tool
    }

    /// The header of askuser's own questions if none is given. It carries no information, so
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
    /// Reject cosmetic faults like any other violation.
    #[default]
    Reject,
    /// Repair cosmetic faults and report the repairs to the model.
    Repair,
}

impl Default for Rules {
    fn default() -> Rules {
        Rules::strict()
    }
}

impl Rules {
    /// The rules with the default limits. Cosmetic faults are rejected.
    pub const fn strict() -> Rules {
        Rules { limits: Limits::DEFAULT, faults: Faults::Reject, form: Form::Tool }
    }

    /// Changes the form to options only.
    pub const fn options_only(self) -> Rules {
        Rules { form: Form::Options, ..self }
    }

    /// The rules for askuser's own yes-or-no questions.
    pub const fn confirm() -> Rules {
        Rules { limits: Limits::CONFIRM, form: Form::Confirm, ..Rules::strict() }
    }

    /// The rules for askuser's own questions for a text. Such questions have no options.
    pub const fn input() -> Rules {
        Rules { limits: Limits::CONFIRM, form: Form::Input, ..Rules::strict() }
    }

    /// The rules for askuser's own questions with the lines of a list as options.
    pub const fn pick() -> Rules {
        Rules { limits: Limits::PICK, form: Form::Pick, ..Rules::strict() }
    }

    /// The rules with the default limits. Cosmetic faults are repaired and reported.
    pub const fn repair() -> Rules {
        Rules { faults: Faults::Repair, ..Rules::strict() }
    }

    /// Sets the limits.
    ///
    /// # Errors
    /// If the limits leave no room for a question.
    pub fn with_limits(self, limits: Limits) -> Result<Rules, LimitsError> {
        Ok(Rules { limits: limits.checked()?, ..self })
    }

    /// The limits for questions and answers.
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

/// Reads limits and checks them, so that stored rules are checked like new ones.
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
