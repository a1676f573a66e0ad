//! The rules by which an input is read: limits, and the treatment of cosmetic faults.
//!
//! Rules are stored with every request. A stored request is rebuilt by the rules it was asked under.

use crate::limits::{Limits, LimitsError};
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};

/// How to read an input. [`Limits`] has an example.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rules {
    #[serde(deserialize_with = "checked_limits")]
    limits: Limits,
    faults: Faults,
    #[serde(default, skip_serializing_if = "Form::is_tool")]
    form: Form,
}

/// How a question is answered. No input can name a form: the program that reads it decides.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Form {
    /// By options with descriptions, or in the person's own words under Other: what a model asks.
    #[default]
    Tool,
    /// By options alone: the form of another program that has no field for words.
    Options,
    /// By yes or no.
    Confirm,
    /// By a text.
    Input,
    /// By lines of a list, which may be long and is searched.
    Pick,
}

impl Form {
    fn is_tool(&self) -> bool {
        *self == Form::Tool
    }

    /// The header of a question of ours that was given none. It says nothing, so [`Question::chip`](crate::Question::chip)
    /// leaves it out.
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

/// What to do about cosmetic faults of an input.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Faults {
    /// Report them like any other.
    #[default]
    Reject,
    /// Repair them, and tell the model.
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

    /// The same rules for a question that is answered by its options alone.
    pub const fn options_only(self) -> Rules {
        Rules { form: Form::Options, ..self }
    }

    /// For a question of ours that is answered by yes or no.
    pub const fn confirm() -> Rules {
        Rules { limits: Limits::CONFIRM, form: Form::Confirm, ..Rules::strict() }
    }

    /// For a question of ours that is answered by a text; it has no options.
    pub const fn input() -> Rules {
        Rules { limits: Limits::CONFIRM, form: Form::Input, ..Rules::strict() }
    }

    /// For a question of ours whose options are lines of a list.
    pub const fn pick() -> Rules {
        Rules { limits: Limits::PICK, form: Form::Pick, ..Rules::strict() }
    }

    /// The default limits; cosmetic faults are repaired, and the model is told.
    pub const fn repair() -> Rules {
        Rules { faults: Faults::Repair, ..Rules::strict() }
    }

    /// The same rules with other limits.
    ///
    /// # Errors
    /// Where nothing could be asked under them.
    pub fn with_limits(self, limits: Limits) -> Result<Rules, LimitsError> {
        Ok(Rules { limits: limits.checked()?, ..self })
    }

    /// What may be asked.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// What to do about cosmetic faults.
    pub fn faults(&self) -> Faults {
        self.faults
    }

    /// How a question is answered.
    pub fn form(&self) -> Form {
        self.form
    }
}

/// What was stored is checked as what is built is.
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
