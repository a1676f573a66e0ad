//! The end that a principal gives a question, and the ending that is stored.

use super::question::UNREADABLE;
use super::{Principal, StoreError};
use crate::outcome::{Outcome, Status};
use crate::question::QuestionSet;
use crate::request::Request;
use crate::resolution::{Reported, Resolution, Via};
use crate::violation::Violations;
use crate::{reply, report, sanitize};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The end that a principal gives a question. The store adds the author, the surface and the time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    /// The question ends with an outcome.
    Resolve {
        /// The outcome without the principal's provenance.
        outcome: Outcome,
        /// The provenance that the principal states, if any.
        reported: Option<Reported>,
    },
    /// The question is withdrawn.
    Withdraw,
}

impl End {
    /// Returns the same end after a check of its outcome against these questions.
    pub(super) fn of(self, set: &QuestionSet) -> Result<End, Violations> {
        Ok(match self {
            End::Resolve { outcome, reported } => End::Resolve { outcome: outcome.made_for(set)?, reported },
            End::Withdraw => End::Withdraw,
        })
    }

    /// Returns the ending that a store records for this principal at this time.
    pub fn stamped(&self, principal: &Principal, at_ms: u64) -> Ending {
        match self {
            End::Resolve { outcome, reported } => match principal.settles_as() {
                Some(credential) => {
                    let Reported { by, via } = reported.clone().unwrap_or_default();
                    let resolution = outcome.clone().through(via.unwrap_or(Via::FrontEnd));
                    Ending::settled(credential, Resolution { by, ..resolution }.with_time(at_ms))
                }
                None => Ending::Resolved(principal.stamp(outcome.clone(), at_ms).with_reported(reported.clone())),
            },
            End::Withdraw => {
                Ending::Withdrawn { by: principal.name().unwrap_or("a program without a name").to_owned(), at_ms }
            }
        }
    }
}

impl From<Outcome> for End {
    fn from(outcome: Outcome) -> End {
        End::Resolve { outcome, reported: None }
    }
}

/// The stored ending of a question.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Ending {
    /// The question was resolved.
    Resolved(Resolution),
    /// The question's own asker reported an answer, from its terminal or its client's dialog. No person is known to
    /// have answered. Only [`Ending::settled`] creates this ending.
    #[non_exhaustive]
    Settled {
        /// The reported outcome, with the provenance that the asker states. [`Resolution::reported_by`] names the
        /// asker's credential.
        reported: Resolution,
    },
    /// The question was withdrawn.
    Withdrawn {
        /// The name that the withdrawing principal states.
        by: String,
        /// The time of the withdrawal, in milliseconds since 1970.
        at_ms: u64,
    },
}

impl Ending {
    /// Creates the ending for an outcome that the asker with the credential of this name reported.
    pub fn settled(by: impl Into<String>, reported: Resolution) -> Ending {
        Ending::Settled { reported: Resolution { reported_by: Some(by.into()), ..reported } }
    }

    /// Returns the ending in its stored form.
    ///
    /// # Errors
    /// Returns [`StoreError::Unavailable`] if the ending cannot be written as JSON.
    pub fn to_json(&self) -> Result<String, StoreError> {
        serde_json::to_string(self).map_err(|error| StoreError::unavailable("cannot write an ending", error))
    }

    /// Reads the stored ending of a request. The answers must fit the questions.
    ///
    /// # Errors
    /// Returns [`StoreError::Damaged`] if the JSON is invalid or the answers do not fit.
    pub fn read(request: &Request, json: &str) -> Result<Ending, StoreError> {
        let damaged = |why: String| StoreError::damaged(UNREADABLE, why);
        let kept: StoredEnding = serde_json::from_str(json).map_err(|error| damaged(error.to_string()))?;
        let resolution =
            |value: &Value| reply::resolution(request.set(), value).map_err(|error| damaged(error.to_string()));
        Ok(match kept {
            StoredEnding::Resolved(value) => Ending::Resolved(resolution(&value)?),
            StoredEnding::Settled { reported } => Ending::Settled { reported: resolution(&reported)? },
            StoredEnding::Withdrawn { by, at_ms } => Ending::Withdrawn { by, at_ms },
        })
    }

    /// Creates the ending of a question whose deadline has passed.
    pub fn timed_out(at_ms: u64) -> Ending {
        Ending::Resolved(Outcome::timed_out().through(Via::Inbox).with_time(at_ms))
    }

    /// The state of a question with this ending.
    pub fn state(&self) -> State {
        match self {
            Ending::Withdrawn { .. } => State::Withdrawn,
            Ending::Settled { .. } => State::Settled,
            Ending::Resolved(resolution) => match resolution.outcome().status() {
                Status::Answered => State::Answered,
                Status::Cancelled | Status::Unavailable { .. } => State::Cancelled,
                Status::Declined { .. } => State::Declined,
                Status::Discuss { .. } => State::Discuss,
                Status::TimedOut => State::TimedOut,
            },
        }
    }

    /// The time of the ending, in milliseconds since 1970, if known.
    pub fn at_ms(&self) -> Option<u64> {
        match self {
            Ending::Resolved(resolution) | Ending::Settled { reported: resolution } => resolution.at_ms(),
            Ending::Withdrawn { at_ms, .. } => Some(*at_ms),
        }
    }

    /// The name of the author, if known.
    pub fn by(&self) -> Option<&str> {
        match self {
            Ending::Resolved(resolution) => resolution.by(),
            Ending::Settled { reported } => reported.reported_by(),
            Ending::Withdrawn { by, .. } => Some(by),
        }
    }

    /// The resolution; `None` if the question was withdrawn or its asker reported the outcome.
    pub fn resolution(&self) -> Option<&Resolution> {
        match self {
            Ending::Resolved(resolution) => Some(resolution),
            Ending::Withdrawn { .. } | Ending::Settled { .. } => None,
        }
    }

    /// The stored outcome: the resolution, or the outcome that the asker reported. `None` if the question was
    /// withdrawn.
    pub fn recorded(&self) -> Option<&Resolution> {
        match self {
            Ending::Resolved(resolution) | Ending::Settled { reported: resolution } => Some(resolution),
            Ending::Withdrawn { .. } => None,
        }
    }

    /// Describes the ending for a surface that still shows the question.
    pub fn words(&self) -> String {
        let resolution = match self {
            Ending::Withdrawn { .. } => return "Withdrawn, no answer needed".into(),
            Ending::Settled { .. } => {
                return format!("Settled by the asker ({})", sanitize::line(self.by().unwrap_or_default()));
            }
            Ending::Resolved(resolution) => resolution,
        };
        let verb = match resolution.outcome().status() {
            Status::TimedOut => return "Timed out, no answer sent".into(),
            Status::Declined { .. } => "Declined",
            Status::Discuss { .. } => "To be talked about",
            Status::Cancelled => "Cancelled",
            Status::Answered | Status::Unavailable { .. } => "Answered",
        };
        let by = resolution.by().map(|by| format!(" by {by}")).unwrap_or_default();
        let via = resolution.via().map(|via| format!(" from {}", via.name())).unwrap_or_default();
        let words = report::decided(resolution.outcome()).map(|words| format!(" ({words})"));
        format!("{verb}{by}{via}{}", words.unwrap_or_default())
    }
}

/// The stored form of an [`Ending`], before its answers are checked.
#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum StoredEnding {
    Resolved(Value),
    Settled { reported: Value },
    Withdrawn { by: String, at_ms: u64 },
}

/// The state of a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs, reason = "they are the statuses of an outcome, and two more")]
pub enum State {
    /// The question waits for its person.
    Pending,
    Answered,
    Cancelled,
    Declined,
    Discuss,
    TimedOut,
    /// The question's own asker reported the outcome.
    Settled,
    /// The question was withdrawn before it was answered.
    Withdrawn,
}

named!(State {
    Pending = "pending", Answered = "answered", Cancelled = "cancelled", Declined = "declined", Discuss = "discuss",
    TimedOut = "timed_out", Settled = "settled", Withdrawn = "withdrawn",
});

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::RequestKey;

    #[test]
    fn every_state_is_listed_and_spelled_as_serde_spells_it() {
        for state in State::ALL {
            assert_eq!(serde_json::to_value(state).unwrap(), state.name());
            assert_eq!(State::named(state.name()), Some(state));
        }
    }

    #[test]
    fn an_ending_says_how_when_and_by_whom() {
        let question = crate::input::QuestionInput::new("Which?", "Pick").option("A", "first").option("B", "second");
        let set = QuestionSet::new([question], &crate::Rules::strict()).unwrap();
        let answer = set.questions()[0].answer(&[1], None, None).unwrap();
        for (status, state) in [
            (Status::Answered, State::Answered),
            (Status::Cancelled, State::Cancelled),
            (Status::Unavailable { reason: "gone".into() }, State::Cancelled),
            (Status::Declined { reason: None }, State::Declined),
            (Status::Discuss { message: None }, State::Discuss),
            (Status::TimedOut, State::TimedOut),
        ] {
            let outcome = Outcome::new(&set, status, vec![answer.clone()]).unwrap();
            let resolution = outcome.through(Via::Web).with_by("ada").with_time(7);
            let ending = Ending::Resolved(resolution.clone());
            assert_eq!((ending.state(), ending.at_ms(), ending.by()), (state, Some(7), Some("ada")));
            assert_eq!(ending.resolution(), Some(&resolution));
        }
        let withdrawn = Ending::Withdrawn { by: "bob".into(), at_ms: 8 };
        assert_eq!((withdrawn.state(), withdrawn.at_ms()), (State::Withdrawn, Some(8)));
        assert_eq!((withdrawn.by(), withdrawn.resolution()), (Some("bob"), None));
    }

    #[test]
    fn an_ending_is_read_as_it_was_written_and_only_if_it_fits() {
        let set = |text: &str| {
            let question = crate::input::QuestionInput::new(text, "Pick").option("A", "first").option("B", "second");
            crate::QuestionSet::new([question], &crate::Rules::strict()).unwrap()
        };
        let request = |text: &str| Request::new(RequestKey::new("session", "call"), set(text));
        let answer = set("Which?").questions()[0].answer(&[1], None, Some("a note".into())).unwrap();
        let resolution = Outcome::answered(&set("Which?"), vec![answer]).unwrap().through(Via::Web).with_by("ada");
        let resolution = resolution.with_time(7).with_reported(Some(Reported { by: None, via: Some(Via::Line) }));
        for ending in [
            Ending::Resolved(resolution.clone()),
            Ending::settled("ci", resolution),
            Ending::timed_out(8),
            Ending::Withdrawn { by: "bob".into(), at_ms: 9 },
        ] {
            let text = ending.to_json().unwrap();
            assert_eq!(Ending::read(&request("Which?"), &text).unwrap(), ending, "{text}");
            let is_for_any = ending.recorded().is_none_or(|recorded| recorded.outcome().answers().is_empty());
            assert_eq!(Ending::read(&request("Another?"), &text).is_ok(), is_for_any, "{text}");
        }
        assert!(matches!(Ending::read(&request("Which?"), "{}"), Err(StoreError::Damaged { .. })));
    }

    #[test]
    fn the_principal_decides_who_answered_and_not_the_answer() {
        let reported = Some(Reported { by: Some("root".into()), via: None });
        let end = End::Resolve { outcome: Outcome::cancelled(), reported: reported.clone() };
        let ada = Principal::person("ada", Via::Web).on_device("phone");
        let Ending::Resolved(resolution) = end.stamped(&ada, 7) else { panic!("an outcome") };
        assert_eq!((resolution.by(), resolution.via(), resolution.at_ms()), (Some("ada"), Some(Via::Web), Some(7)));
        assert_eq!((resolution.device(), resolution.reported()), (Some("phone"), reported.as_ref()));
        let file = Principal::person("ada", Via::AnswersFile);
        let Ending::Resolved(resolution) = end.stamped(&file, 7) else { panic!("an outcome") };
        assert_eq!(
            (resolution.by(), resolution.is_a_persons()),
            (None, false),
            "a file is no person, wherever it is named"
        );
    }
}
