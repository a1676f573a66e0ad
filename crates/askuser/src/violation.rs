//! The errors of an input, in words that let a model correct all of them in one call.

use serde::{Deserialize, Serialize};
use std::fmt;

/// One error of an input.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Violation {
    /// The path of the field, such as `questions[1].header`.
    pub path: String,
    /// The fact, such as `17 characters`.
    pub fact: String,
    /// The limit, such as `at most 12`.
    pub limit: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}, {}", self.path, self.fact, self.limit)
    }
}

/// All errors of an input; never empty.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct Violations(Vec<Violation>);

impl Violations {
    /// Returns the violations of a list; `None` if the list is empty.
    pub fn of(violations: Vec<Violation>) -> Option<Violations> {
        (!violations.is_empty()).then_some(Violations(violations))
    }

    /// The violations in the order of the input.
    pub fn iter(&self) -> impl Iterator<Item = &Violation> {
        self.0.iter()
    }

    /// Rewords the violations, for example for a user who did not write JSON.
    pub fn map(self, words: impl FnMut(Violation) -> Violation) -> Violations {
        Violations(self.0.into_iter().map(words).collect())
    }
}

impl From<Violation> for Violations {
    fn from(violation: Violation) -> Violations {
        Violations(vec![violation])
    }
}

/// Writes one line for each violation.
impl fmt::Display for Violations {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, violation) in self.0.iter().enumerate() {
            if i > 0 {
                f.write_str("\n")?;
            }
            violation.fmt(f)?;
        }
        Ok(())
    }
}

impl std::error::Error for Violations {}

/// Collects violations while an input is read.
#[derive(Default)]
pub(crate) struct Gathered(Vec<Violation>);

impl Gathered {
    pub(crate) fn add(&mut self, path: impl Into<String>, fact: impl Into<String>, limit: impl Into<String>) {
        self.0.push(Violation { path: path.into(), fact: fact.into(), limit: limit.into() });
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn into_result<T>(self, value: Option<T>) -> Result<T, Violations> {
        match value {
            Some(value) if self.0.is_empty() => Ok(value),
            _ => Err(Violations(self.0)),
        }
    }
}
