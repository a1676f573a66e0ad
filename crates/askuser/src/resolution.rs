//! An outcome with its provenance: through which surface it came, from whom, when.
//!
//! The receiver of an answer stamps its provenance. The provenance that the sender states is stored beside it ([`Reported`]).
//!
//! An outcome that an asker settled itself is evidence only in the process whose own surface produced it. Read back from a store,
//! [`Resolution::reported_by`] names the asker, and [`Resolution::is_a_persons`] is false.

use crate::outcome::Outcome;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// Through what an outcome came.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Via {
    /// The prompt drawn on a terminal.
    Terminal,
    /// The prompt spoken line by line.
    Line,
    /// A program that shows questions for us.
    FrontEnd,
    /// The inbox.
    Inbox,
    /// A web page.
    Web,
    /// The dialog of an MCP client.
    Elicitation,
    /// A hook of another agent.
    Hook,
    /// Answers written beforehand: no person was asked.
    AnswersFile,
    /// A stated rule: no person was asked.
    Policy,
}

named!(Via {
    Terminal = "terminal", Line = "line", FrontEnd = "front-end", Inbox = "inbox", Web = "web", Elicitation = "elicitation",
    Hook = "hook", AnswersFile = "answers-file", Policy = "policy",
});

impl Via {
    /// Whether a person was asked there.
    pub fn is_a_person(self) -> bool {
        !matches!(self, Via::AnswersFile | Via::Policy)
    }
}

/// The provenance of an answer as its sender states it. One rule reads it: an asker settles a question with an audience only if
/// [`Reported::by`] is in the audience.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Reported {
    /// The name of the person who answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// The surface.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub via: Option<Via>,
}

/// An [`Outcome`] and where it came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resolution {
    pub(crate) outcome: Outcome,
    pub(crate) via: Option<Via>,
    pub(crate) by: Option<String>,
    pub(crate) device: Option<String>,
    pub(crate) at_ms: Option<u64>,
    pub(crate) reported_by: Option<String>,
    pub(crate) reported: Option<Reported>,
}

impl Resolution {
    /// An outcome that came through a surface.
    pub fn new(outcome: Outcome, via: Via) -> Resolution {
        Resolution { via: Some(via), ..Resolution::without_surface(outcome) }
    }

    fn without_surface(outcome: Outcome) -> Resolution {
        Resolution { outcome, via: None, by: None, device: None, at_ms: None, reported_by: None, reported: None }
    }

    /// No surface asked a person, and this is why. The only resolution without a surface.
    pub fn unavailable(reason: impl Into<String>) -> Resolution {
        Resolution::without_surface(Outcome::unavailable(reason))
    }

    /// Says who answered, as far as the surface knows: a user's name.
    pub fn with_by(self, by: impl Into<String>) -> Resolution {
        Resolution { by: Some(by.into()), ..self }
    }

    /// Says when, in milliseconds since 1970.
    pub fn with_time(self, at_ms: u64) -> Resolution {
        Resolution { at_ms: Some(at_ms), ..self }
    }

    /// Stores the provenance that the sender of the answer states.
    pub fn with_reported(self, reported: Option<Reported>) -> Resolution {
        Resolution { reported, ..self }
    }

    /// The outcome.
    pub fn outcome(&self) -> &Outcome {
        &self.outcome
    }

    /// The surface; `None` if no person was asked.
    pub fn via(&self) -> Option<Via> {
        self.via
    }

    /// The name of the author, if known.
    pub fn by(&self) -> Option<&str> {
        self.by.as_deref()
    }

    /// The author's device, if known.
    pub fn device(&self) -> Option<&str> {
        self.device.as_deref()
    }

    /// The time in milliseconds since 1970, if known.
    pub fn at_ms(&self) -> Option<u64> {
        self.at_ms
    }

    /// The provenance that the sender of the answer stated, unchecked.
    pub fn reported(&self) -> Option<&Reported> {
        self.reported.as_ref()
    }

    /// The name of the credential whose asker settled this itself. `None` for evidence: the answer of a person, a file or a rule,
    /// or an outcome that a surface of this process produced.
    pub fn reported_by(&self) -> Option<&str> {
        self.reported_by.as_deref()
    }

    /// Whether a person decided this, rather than a file, a rule or the asker itself.
    pub fn is_a_persons(&self) -> bool {
        self.reported_by.is_none() && self.via.is_some_and(Via::is_a_person)
    }
}

/// `{status, answers, via, by?, device?, at_ms?, reported_by?, reported?, reason?, message?}`. Reading it back takes the questions it belongs to:
/// [`reply::resolution`](crate::reply::resolution).
impl Serialize for Resolution {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = self.outcome.fields(Some(self.via.map(Via::name).into()));
        let stamps = [
            ("by", self.by.clone().map(Value::from)),
            ("device", self.device.clone().map(Value::from)),
            ("at_ms", self.at_ms.map(Value::from)),
            ("reported_by", self.reported_by.clone().map(Value::from)),
            ("reported", self.reported.as_ref().map(|reported| json!(reported))),
        ];
        for (name, value) in stamps {
            if let Some(value) = value {
                fields.insert(name.into(), value);
            }
        }
        fields.serialize(serializer)
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
