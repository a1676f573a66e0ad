//! Outcomes of questions: a closed set, in which only one member says that the person answered.
//!
//! Only a constructor that has the questions makes an outcome with answers. JSON, forms, front ends, prompts and policies call it.
//! [`step`](crate::store::step) calls it for every command, and [`Delivery::check`](crate::Delivery::check) for every asker of a
//! host. Who answered, and through what, is the [`Resolution`](crate::Resolution)'s to say.

use crate::question::{QuestionSet, check_typed};
use crate::resolution::{Resolution, Via};
use crate::violation::{Gathered, Violations};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

/// The answer to one question. Labels are verbatim; typed text and notes are kept apart from them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Answer {
    /// The question's text, verbatim.
    pub question: String,
    /// The question's header, verbatim.
    pub header: String,
    /// The labels picked, verbatim, in the order of the question.
    pub selected_options: Vec<String>,
    /// The text under Other.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub custom_input: Option<String>,
    /// The person's notes as one text: the note on their only choice, or every note with the name of its option.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// The notes that `note` joins, unless it is just the note on the only choice.
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
    /// The text of the note.
    pub text: String,
}

/// The status of an outcome.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "status", rename_all = "snake_case")]
pub enum Status {
    /// Every question was answered.
    Answered,
    /// The person dismissed the questions.
    Cancelled,
    /// The person said no.
    Declined {
        /// The reason, if given.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// The person wants to talk first.
    Discuss {
        /// The message, if given.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        message: Option<String>,
    },
    /// The person did not answer before the deadline.
    TimedOut,
    /// No person could be asked.
    Unavailable {
        /// The reason.
        #[serde(default)]
        reason: String,
    },
}

impl Status {
    /// The status as JSON spells it.
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

/// The outcome of a [`QuestionSet`]: its status, and the answers given until then.
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
/// It serialises as `{status, answers, reason?, message?}`. Reading it back takes the questions it belongs to:
/// [`reply::outcome`](crate::reply::outcome).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    status: Status,
    answers: Vec<Answer>,
}

impl Outcome {
    /// Every question answered; the answers may come in any order.
    ///
    /// # Errors
    /// Where a question has no answer, or an answer is not a legal one to its question: every reason.
    pub fn answered(set: &QuestionSet, answers: Vec<Answer>) -> Result<Outcome, Violations> {
        Outcome::new(set, Status::Answered, answers)
    }

    /// The person dismissed the questions.
    pub fn cancelled() -> Outcome {
        Outcome::without_answers(Status::Cancelled)
    }

    /// The person said no.
    pub fn declined(reason: Option<String>) -> Outcome {
        Outcome::without_answers(Status::Declined { reason })
    }

    /// The person wants to talk first.
    pub fn discuss(message: Option<String>) -> Outcome {
        Outcome::without_answers(Status::Discuss { message })
    }

    /// The person did not answer before the deadline.
    pub fn timed_out() -> Outcome {
        Outcome::without_answers(Status::TimedOut)
    }

    /// No person could be asked.
    pub fn unavailable(reason: impl Into<String>) -> Outcome {
        Outcome::without_answers(Status::Unavailable { reason: reason.into() })
    }

    /// The same outcome with the answers given until then.
    ///
    /// # Errors
    /// Where one of them is not a legal answer to its question, or answers a question twice.
    pub fn with_answers(self, set: &QuestionSet, so_far: Vec<Answer>) -> Result<Outcome, Violations> {
        Outcome::new(set, self.status, so_far)
    }

    fn without_answers(status: Status) -> Outcome {
        Outcome { status, answers: Vec::new() }
    }

    /// An outcome of these questions, with the answers given until then. Answers get their canonical form.
    ///
    /// # Errors
    /// Every reason: an illegal answer, a second one to a question, a missing one where all were answered, words beyond the limit.
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

    /// The same outcome, made for these questions: it may have been made for others.
    ///
    /// # Errors
    /// Every reason why it does not fit.
    pub(crate) fn made_for(self, set: &QuestionSet) -> Result<Outcome, Violations> {
        Outcome::new(set, self.status, self.answers)
    }

    /// How it ended.
    pub fn status(&self) -> &Status {
        &self.status
    }

    /// The answers: all of them when answered, those given so far otherwise.
    pub fn answers(&self) -> &[Answer] {
        &self.answers
    }

    /// The outcome with the surface it came through.
    pub fn through(self, via: Via) -> Resolution {
        Resolution::new(self, via)
    }

    /// The fields of its JSON; through what it came is among them where it is known.
    pub(crate) fn fields(&self, via: Option<Value>) -> Map<String, Value> {
        let mut fields = Map::new();
        fields.insert("status".into(), self.status.name().into());
        fields.insert("answers".into(), json!(self.answers));
        if let Some(via) = via {
            fields.insert("via".into(), via);
        }
        // And the words that came with it.
        fields.extend(json!(self.status).as_object().cloned().unwrap_or_default());
        fields
    }
}

impl Serialize for Outcome {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.fields(None).serialize(serializer)
    }
}

/// The answers by the index of their question, in the order of the questions; `None` for one that is not legal.
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
