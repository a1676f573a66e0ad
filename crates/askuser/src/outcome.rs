//! The outcomes of questions. Only [`Status::Answered`] means that the questions were answered.
//!
//! Only constructors that take the questions create an outcome with answers. JSON, forms, front ends, prompts and
//! policies use them. [`step`](crate::store::step) checks the outcome of every command in this way, and
//! [`Delivery::check`](crate::Delivery::check) that of every asker without a store. The
//! [`Resolution`](crate::Resolution) states who answered, and through which surface.

use crate::question::{QuestionSet, check_typed};
use crate::resolution::{Resolution, Via};
use crate::violation::{Gathered, Violations};
use serde::{Deserialize, Serialize};

/// The answer to one question. Labels are verbatim. Typed text and notes have separate fields.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Answer {
    /// The question's text, verbatim.
    pub question: String,
    /// The question's header, verbatim.
    pub header: String,
    /// The labels of the chosen options, verbatim, in the order of the question.
    pub selected_options: Vec<String>,
    /// The answer in the person's own words; `None` if they only chose options.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub custom_input: Option<String>,
    /// The person's notes as one text: the note on their only choice, or every note with the name of its option. `None`
    /// without a note.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// The notes that `note` joins. Empty if the only note is on the only choice.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<Note>,
}

/// The person's note on one row of a question.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Note {
    /// The option's label, verbatim; `None` for Other.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub option: Option<String>,
    /// The note, as the person typed it.
    pub text: String,
}

/// The status of an outcome, with the person's words.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "status", rename_all = "snake_case")]
pub enum Status {
    /// Every question was answered.
    Answered,
    /// The person dismissed the questions.
    Cancelled,
    /// The person declined to answer.
    Declined {
        /// The person's reason, if given.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// The person wants to talk first.
    Discuss {
        /// The person's message, if given.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        message: Option<String>,
    },
    /// The person did not answer before the deadline.
    TimedOut,
    /// No person could be asked.
    Unavailable {
        /// The reason why no person could be asked.
        #[serde(default)]
        reason: String,
    },
}

impl Status {
    /// Returns the name of the status, as in JSON.
    pub fn name(&self) -> &'static str {
        match self {
            Status::Answered => "answered",
            Status::Cancelled => "cancelled",
            Status::Declined { .. } => "declined",
            Status::Discuss { .. } => "discuss",
            Status::TimedOut => "timed_out",
            Status::Unavailable { .. } => "unavailable",
        }
    }
}

/// The outcome of a [`QuestionSet`]: its status, and the answers that were given.
///
/// ```
/// # use askuser::input::QuestionInput;
/// use askuser::{Outcome, QuestionSet, Rules, Via};
///
/// # let question = QuestionInput::new("Which?", "Pick").option("A", "a").option("B", "b");
/// # let set = QuestionSet::new([question], &Rules::strict())?;
/// let answer = set.questions()[0].answer(&[1], None, None).unwrap();
/// let outcome = Outcome::answered(&set, vec![answer])?;
/// assert_eq!(outcome.through(Via::Web).outcome().answers()[0].selected_options, ["B"]);
///
/// let refused = Outcome::answered(&set, vec![]).unwrap_err();
/// assert_eq!(refused.to_string(), "answers: none to \"Pick\", every question needs one");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// It serialises as `{status, answers, reason?, message?}`. ReadState it back takes the questions it belongs to:
/// [`reply::outcome`](crate::reply::outcome).
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Outcome {
    #[serde(flatten)]
    status: Status,
    answers: Vec<Answer>,
}

impl Outcome {
    /// Creates the outcome of a set whose questions are all answered. The answers may come in any order.
    ///
    /// # Errors
    /// Returns every reason: a question without an answer, or an answer that is invalid for its question.
    pub fn answered(set: &QuestionSet, answers: Vec<Answer>) -> Result<Outcome, Violations> {
        Outcome::new(set, Status::Answered, answers)
    }

    /// Creates the outcome of a person who dismissed the questions.
    pub fn cancelled() -> Outcome {
        Outcome::without_answers(Status::Cancelled)
    }

    /// Creates the outcome of a person who declined to answer.
    pub fn declined(reason: Option<String>) -> Outcome {
        Outcome::without_answers(Status::Declined { reason })
    }

    /// Creates the outcome of a person who wants to talk first.
    pub fn discuss(message: Option<String>) -> Outcome {
        Outcome::without_answers(Status::Discuss { message })
    }

    /// Creates the outcome of a person who did not answer before the deadline.
    pub fn timed_out() -> Outcome {
        Outcome::without_answers(Status::TimedOut)
    }

    /// Creates the outcome of questions for which no person could be asked.
    pub fn unavailable(reason: impl Into<String>) -> Outcome {
        Outcome::without_answers(Status::Unavailable { reason: reason.into() })
    }

    /// Adds the answers that were given before the questions ended.
    ///
    /// # Errors
    /// If an answer is invalid for its question, or if a question has two answers.
    pub fn with_answers(self, set: &QuestionSet, partial_answers: Vec<Answer>) -> Result<Outcome, Violations> {
        Outcome::new(set, self.status, partial_answers)
    }

    fn without_answers(status: Status) -> Outcome {
        Outcome { status, answers: Vec::new() }
    }

    /// Creates an outcome of these questions. Its answers get their canonical form.
    ///
    /// # Errors
    /// Returns every reason: an invalid answer, two answers to a question, a missing answer in an answered set, or a
    /// text over the limit.
    pub(crate) fn new(set: &QuestionSet, status: Status, answers: Vec<Answer>) -> Result<Outcome, Violations> {
        let mut bad = Gathered::default();
        let answers = check_answers(set, &answers, &mut bad);
        if status == Status::Answered {
            for (i, question) in set.questions().iter().enumerate() {
                if !answers.iter().any(|(index, _)| *index == i) {
                    bad.add("answers", format!("none to {:?}", question.header()), "every question needs one");
                }
            }
        }
        let (path, words) = match &status {
            Status::Declined { reason } => ("reason", reason.as_deref()),
            Status::Discuss { message } => ("message", message.as_deref()),
            Status::Answered | Status::Cancelled | Status::TimedOut | Status::Unavailable { .. } => ("", None),
        };
        check_typed(words, set.limits().typed_chars, path, &mut bad);
        let answers = answers.into_iter().filter_map(|(_, answer)| answer).collect();
        bad.into_result(Some(Outcome { status, answers }))
    }

    /// Checks the outcome against these questions, because it may have been created for others.
    ///
    /// # Errors
    /// Returns every reason why the outcome does not fit.
    pub(crate) fn made_for(self, set: &QuestionSet) -> Result<Outcome, Violations> {
        Outcome::new(set, self.status, self.answers)
    }

    /// The status of the outcome.
    pub fn status(&self) -> &Status {
        &self.status
    }

    /// The answers to all questions if the status is answered, otherwise the answers given before the end.
    pub fn answers(&self) -> &[Answer] {
        &self.answers
    }

    /// Returns the outcome as the resolution of this surface.
    pub fn through(self, via: Via) -> Resolution {
        Resolution::new(self, via)
    }
}

/// Returns each answer with the index of its question, in the order of the questions. An invalid answer is `None`, with
/// its violations in `bad`.
fn check_answers(set: &QuestionSet, answers: &[Answer], bad: &mut Gathered) -> Vec<(usize, Option<Answer>)> {
    let mut checked: Vec<(usize, Option<Answer>)> = Vec::new();
    for (i, answer) in answers.iter().enumerate() {
        let path = format!("answers[{i}]");
        let index = set.questions().iter().position(|question| question.text_verbatim() == answer.question);
        let Some(index) = index else {
            let fact = format!("{:?} was not asked", answer.question);
            bad.add(format!("{path}.question"), fact, "must be a question's text");
            continue;
        };
        let question = &set.questions()[index];
        if checked.iter().any(|(earlier, _)| *earlier == index) {
            bad.add(path, format!("a second answer to {:?}", question.header()), "one is enough");
            continue;
        }
        checked.push((index, question.check(answer, set.limits(), &path, bad)));
    }
    checked.sort_by_key(|(index, _)| *index);
    checked
}
