//! Outcomes with their provenance: the surface, the author and the time.
//!
//! The receiver of an answer sets its provenance. The provenance that the sender states is stored beside it, as
//! [`Reported`].
//!
//! An outcome that an asker reported itself is evidence only in the process whose own surface produced it. Once the
//! outcome is read from a store, [`Resolution::reported_by`] names the asker, and [`Resolution::is_a_persons`] is
//! false.

use crate::outcome::Outcome;
use serde::{Deserialize, Serialize};

/// The surface or other source of an outcome.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Via {
    /// The prompt drawn on a terminal.
    Terminal,
    /// The prompt printed line by line.
    Line,
    /// A program that shows questions for askuser.
    FrontEnd,
    /// The inbox of askuser.
    Inbox,
    /// A web page.
    Web,
    /// The dialog of an MCP client.
    Elicitation,
    /// A hook of another agent.
    Hook,
    /// Answers that were written beforehand, so that no person was asked.
    AnswersFile,
    /// A stated rule, so that no person was asked.
    Policy,
}

named!(Via {
    Terminal = "terminal", Line = "line", FrontEnd = "front-end", Inbox = "inbox", Web = "web", Elicitation = "elicitation",
    Hook = "hook", AnswersFile = "answers-file", Policy = "policy",
});

impl Via {
    /// Whether this source asks a person.
    pub fn is_a_person(self) -> bool {
        !matches!(self, Via::AnswersFile | Via::Policy)
    }
}

/// The provenance of an answer as its sender states it. Only one rule uses it: an asker settles a question with an
/// audience only if [`Reported::by`] is in the audience.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Reported {
    /// The name of the person who answered, if stated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// The surface, if stated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub via: Option<Via>,
}

/// An [`Outcome`] and where it came from. Its JSON is read with the questions that it belongs to, by
/// [`reply::resolution`](crate::reply::resolution).
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Resolution {
    #[serde(flatten)]
    pub(crate) outcome: Outcome,
    /// The surface. Null if no person was asked.
    pub(crate) via: Option<Via>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) by: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) device: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) at_ms: Option<u64>,
    /// The credential of the asker that reported the outcome.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) reported_by: Option<String>,
    /// The provenance that the sender stated.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) reported: Option<Reported>,
}

impl Resolution {
    /// Creates the resolution of an outcome from this surface.
    pub fn new(outcome: Outcome, via: Via) -> Resolution {
        Resolution { via: Some(via), ..Resolution::without_surface(outcome) }
    }

    fn without_surface(outcome: Outcome) -> Resolution {
        Resolution { outcome, via: None, by: None, device: None, at_ms: None, reported_by: None, reported: None }
    }

    /// Creates the only resolution without a surface: no person could be asked, for this reason.
    pub fn unavailable(reason: impl Into<String>) -> Resolution {
        Resolution::without_surface(Outcome::unavailable(reason))
    }

    /// Sets the user name of the person who answered.
    pub fn with_by(self, by: impl Into<String>) -> Resolution {
        Resolution { by: Some(by.into()), ..self }
    }

    /// Sets the time of the answer, in milliseconds since 1970.
    pub fn with_time(self, at_ms: u64) -> Resolution {
        Resolution { at_ms: Some(at_ms), ..self }
    }

    /// Sets the provenance that the sender of the answer states.
    pub fn with_reported(self, reported: Option<Reported>) -> Resolution {
        Resolution { reported, ..self }
    }

    /// The outcome without its provenance.
    pub fn outcome(&self) -> &Outcome {
        &self.outcome
    }

    /// The surface or other source; `None` if no source answered.
    pub fn via(&self) -> Option<Via> {
        self.via
    }

    /// The name of the person who answered, if known.
    pub fn by(&self) -> Option<&str> {
        self.by.as_deref()
    }

    /// The device of the person who answered, if known.
    pub fn device(&self) -> Option<&str> {
        self.device.as_deref()
    }

    /// The time of the answer in milliseconds since 1970, if known.
    pub fn at_ms(&self) -> Option<u64> {
        self.at_ms
    }

    /// The provenance that the sender of the answer stated, unchecked; `None` without one.
    pub fn reported(&self) -> Option<&Reported> {
        self.reported.as_ref()
    }

    /// The name of the credential whose asker reported this outcome itself. `None` for the answer of a person, a file
    /// or a rule. Also `None` for an outcome from a surface of this process.
    pub fn reported_by(&self) -> Option<&str> {
        self.reported_by.as_deref()
    }

    /// Whether a person decided, rather than a file, a rule or the asker itself.
    pub fn is_a_persons(&self) -> bool {
        self.reported_by.is_none() && self.via.is_some_and(Via::is_a_person)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_way_is_listed_and_spelled_as_serde_spells_it() {
        for via in Via::ALL {
            assert_eq!(serde_json::to_value(via).unwrap(), via.name());
        }
    }

    #[test]
    fn what_was_stamped_is_told() {
        let resolution = Outcome::cancelled().through(Via::Web).with_time(7).with_by("ada");
        assert_eq!((resolution.at_ms(), resolution.by(), resolution.via()), (Some(7), Some("ada"), Some(Via::Web)));
        assert_eq!(resolution.reported(), None);
        let reported = Reported { by: Some("root".into()), via: None };
        assert_eq!(resolution.with_reported(Some(reported.clone())).reported(), Some(&reported));
    }

    #[test]
    fn only_people_answer_for_people() {
        let outcome = || Outcome::cancelled();
        assert!(outcome().through(Via::Web).is_a_persons());
        assert!(!outcome().through(Via::AnswersFile).is_a_persons() && !outcome().through(Via::Policy).is_a_persons());
        assert!(!Resolution::unavailable("no terminal").is_a_persons());
    }

    #[test]
    fn an_outcome_that_its_asker_reported_is_no_persons() {
        for via in Via::ALL {
            let reported = Resolution { reported_by: Some("ci".into()), ..Outcome::cancelled().through(via) };
            assert!(!reported.is_a_persons(), "{via:?}");
        }
    }
}
