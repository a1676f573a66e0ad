//! The one seam to a human.
//!
//! An agent's loop holds an [`Asker`] and knows nothing of terminals, pages or protocols. Refusal, time-out and absence
//! are [`Outcome`]s; only an interrupt and a broken surface are errors.

use crate::outcome::Outcome;
use crate::question::QuestionSet;
use std::future::Future;
use std::pin::Pin;

/// What is asked, and for whom.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Request {
    /// The questions.
    pub set: QuestionSet,
    /// Names this asking: a surface that keeps questions takes the same key for the same question, asked again.
    pub key: Option<String>,
    /// Who asks, where it is not the agent the person talks to: `task 'audit deps'`. It is shown to them.
    pub origin: Option<String>,
    /// What the questions are about, where they do not say it themselves: a plan, a diff. A surface that has not shown it
    /// already shows it above them.
    pub context: Option<String>,
}

impl Request {
    /// A request that needs nothing but its questions.
    pub fn new(set: QuestionSet) -> Request {
        Request { set, key: None, origin: None, context: None }
    }

    /// Names this asking.
    pub fn with_key(self, key: impl Into<String>) -> Request {
        Request { key: Some(key.into()), ..self }
    }

    /// Says who asks.
    pub fn with_origin(self, origin: impl Into<String>) -> Request {
        Request { origin: Some(origin.into()), ..self }
    }

    /// Says what the questions are about.
    pub fn with_context(self, context: impl Into<String>) -> Request {
        Request { context: Some(context.into()), ..self }
    }
}

/// Something that can put questions to a person.
pub trait Asker: Send + Sync {
    /// Asks, and completes when there is an outcome. Dropping the future withdraws the question.
    fn ask<'a>(&'a self, request: &'a Request) -> Asking<'a>;
}

/// A question being asked.
pub type Asking<'a> = Pin<Box<dyn Future<Output = Result<Outcome, AskError>> + Send + 'a>>;

/// Why asking broke off without an outcome.
#[derive(Debug, thiserror::Error)]
pub enum AskError {
    /// The person pressed Ctrl-C: the whole turn stops.
    #[error("interrupted")]
    Interrupted,
    /// Whoever asked has withdrawn the question.
    #[error("withdrawn")]
    Withdrawn,
    /// The process was told to end.
    #[error("ended by signal {0}")]
    Signal(i32),
    /// The surface failed.
    #[error("{what}: {source}")]
    Surface {
        /// What was being done: `cannot open the terminal`.
        what: &'static str,
        /// What went wrong.
        source: std::io::Error,
    },
}
