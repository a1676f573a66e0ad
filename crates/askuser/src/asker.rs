//! The one seam to a human.
//!
//! An agent's loop holds an [`Asker`] and knows nothing of terminals, pages or protocols. Refusal, time-out and absence
//! are [`Outcome`]s; only an interrupt and a broken surface are errors.

use crate::outcome::Outcome;
use crate::question::QuestionSet;
use std::future::Future;
use std::pin::Pin;

/// Something that can put questions to a person.
pub trait Asker: Send + Sync {
    /// Asks, and completes when there is an outcome. Dropping the future withdraws a question that is not on the screen
    /// yet; one that is stays until the person is done with it, and its outcome goes nowhere.
    fn ask<'a>(&'a self, set: &'a QuestionSet) -> Asking<'a>;
}

/// A question being asked.
pub type Asking<'a> = Pin<Box<dyn Future<Output = Result<Outcome, AskError>> + Send + 'a>>;

/// Why asking broke off without an outcome.
#[derive(Debug, thiserror::Error)]
pub enum AskError {
    /// The person pressed Ctrl-C: the whole turn stops.
    #[error("interrupted")]
    Interrupted,
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
