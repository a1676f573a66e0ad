//! What came of asking: a closed set, in which only one member says that the person answered.

use crate::question::QuestionSet;
use serde::{Deserialize, Serialize};

/// The answer to one question. Labels are verbatim; typed text and notes are kept apart from them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Answer {
    /// The question's text, verbatim.
    pub question: String,
    /// The question's header, verbatim.
    pub header: String,
    /// The labels picked, verbatim, in the order of the question.
    pub selected_options: Vec<String>,
    /// What was typed under Other.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub custom_input: Option<String>,
    /// What the person added to their choice.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// How asking ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Status {
    /// Every question was answered.
    Answered,
    /// The person dismissed the questions.
    Cancelled,
    /// The person said no.
    Declined {
        /// Why, if they said.
        reason: Option<String>,
    },
    /// The person wants to talk first.
    Discuss {
        /// What they typed.
        message: Option<String>,
    },
    /// Nobody answered in time.
    TimedOut,
    /// Nobody could be asked.
    Unavailable {
        /// Why not.
        reason: String,
    },
}

/// Who answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[allow(missing_docs)]
pub enum Via {
    Terminal,
    Line,
    Web,
    Elicitation,
    AnswersFile,
    Policy,
}

/// What came of asking a [`QuestionSet`]: how it ended, and the answers given until then.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    status: Status,
    answers: Vec<Answer>,
    via: Option<Via>,
}

impl Outcome {
    /// Every question answered, in order; `None` where that is not so.
    pub fn answered(set: &QuestionSet, answers: Vec<Answer>) -> Option<Outcome> {
        let whole = answers.len() == set.questions().len()
            && set.questions().iter().zip(&answers).all(|(question, answer)| question.admits(answer, set.limits()));
        whole.then_some(Outcome { status: Status::Answered, answers, via: None })
    }

    /// The person dismissed the questions.
    pub fn cancelled(so_far: Vec<Answer>) -> Outcome {
        Outcome { status: Status::Cancelled, answers: so_far, via: None }
    }

    /// The person said no.
    pub fn declined(reason: Option<String>, so_far: Vec<Answer>) -> Outcome {
        Outcome { status: Status::Declined { reason }, answers: so_far, via: None }
    }

    /// The person wants to talk first.
    pub fn discuss(message: Option<String>, so_far: Vec<Answer>) -> Outcome {
        Outcome { status: Status::Discuss { message }, answers: so_far, via: None }
    }

    /// Nobody answered in time.
    pub fn timed_out(so_far: Vec<Answer>) -> Outcome {
        Outcome { status: Status::TimedOut, answers: so_far, via: None }
    }

    /// Nobody could be asked.
    pub fn unavailable(reason: impl Into<String>, so_far: Vec<Answer>) -> Outcome {
        Outcome { status: Status::Unavailable { reason: reason.into() }, answers: so_far, via: None }
    }

    /// Says who answered.
    pub fn with_via(self, via: Via) -> Outcome {
        Outcome { via: Some(via), ..self }
    }

    /// How it ended.
    pub fn status(&self) -> &Status {
        &self.status
    }

    /// The answers: all of them when answered, those given so far otherwise.
    pub fn answers(&self) -> &[Answer] {
        &self.answers
    }

    /// Who answered, where somebody did.
    pub fn via(&self) -> Option<Via> {
        self.via
    }

    /// The status as JSON spells it.
    pub fn status_name(&self) -> &'static str {
        match self.status {
            Status::Answered => "answered",
            Status::Cancelled => "cancelled",
            Status::Declined { .. } => "declined",
            Status::Discuss { .. } => "discuss",
            Status::TimedOut => "timed_out",
            Status::Unavailable { .. } => "unavailable",
        }
    }
}
