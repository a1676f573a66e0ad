//! The one interface to a person.
//!
//! An agent's loop holds an [`Asker`] and does not know terminals, pages or protocols. Refusal, time-out and absence
//! are outcomes. Only an interrupt, a withdrawal, a question put aside and a broken surface are errors.
//!
//! 1. [`Asker::decide`]: what is known without asking.
//! 2. [`Asker::ask`]: waits for the person. To stop waiting is to drop the future: it detaches, and withdraws nothing.
//! 3. [`Delivery::stored`]: tells the surface that the answer is kept, which is when it shows success.
//!
//! [`Asker::close`] tells a surface that its question has ended elsewhere.

use crate::draft::Draft;
use crate::outcome::{Answer, Status};
use crate::request::{Request, RequestKey};
use crate::resolution::Resolution;
use crate::store::{Ending, StoreError};
use crate::violation::Violations;
use std::error::Error;
use std::fmt;
use std::future::Future;
use std::pin::Pin;

/// Something that can put questions to a person.
///
/// ```
/// use askuser::{Asker, Asking, Outcome, Request, Via};
///
/// /// Says no to everything.
/// struct Grumpy;
///
/// impl Asker for Grumpy {
///     fn ask<'a>(&'a self, _request: &'a Request) -> Asking<'a> {
///         let no = Outcome::declined(Some("not today".into())).through(Via::FrontEnd);
///         Box::pin(std::future::ready(Ok(no.into())))
///     }
/// }
/// ```
pub trait Asker: Send + Sync {
    /// Returns the known answers to a request without asking. By default there are none.
    fn decide(&self, _request: &Request) -> Decision {
        Decision::Ask(Vec::new())
    }

    /// Asks, and completes when there is a resolution. Dropping the future detaches: a surface that keeps questions keeps
    /// this one, one that only shows it takes it off the screen.
    ///
    /// # Errors
    /// The future fails where asking breaks off without a resolution; see [`AskError`].
    fn ask<'a>(&'a self, request: &'a Request) -> Asking<'a>;

    /// Closes a question that has ended elsewhere. The surface shows the ending, and the future of its `ask` completes. A surface
    /// that shows no question needs no override.
    fn close(&self, _key: &RequestKey, _ending: &Ending) {}

    /// Withdraws a question from the store, at once. Completes with the answer that the store already had. Without one it fails
    /// with [`AskError::Withdrawn`].
    fn withdraw<'a>(&'a self, _request: &'a Request) -> Asking<'a> {
        Box::pin(std::future::ready(Err(AskError::Withdrawn)))
    }
}

/// The known part of a request before a person is asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision {
    /// It is settled; no person is asked.
    Settled(Resolution),
    /// A person is asked; these answers are already known.
    Ask(Vec<Answer>),
}

/// A question being asked.
pub type Asking<'a> = Pin<Box<dyn Future<Output = Result<Delivery, AskError>> + Send + 'a>>;

/// A resolution on its way from a surface to the caller. The surface shows success once the caller reports that the
/// resolution is stored. A dropped delivery reports a failure.
#[must_use = "the surface waits to be told that the answer is stored"]
pub struct Delivery {
    resolution: Resolution,
    acknowledge: Option<Acknowledge>,
}

/// Tells a surface whether what it delivered was stored, or why not.
type Acknowledge = Box<dyn FnOnce(Result<(), String>) + Send>;

impl Delivery {
    /// A delivery with a callback that reports to its surface whether it was stored.
    pub fn new(resolution: Resolution, acknowledge: impl FnOnce(Result<(), String>) + Send + 'static) -> Delivery {
        Delivery { resolution, acknowledge: Some(Box::new(acknowledge)) }
    }

    /// The resolution.
    pub fn resolution(&self) -> &Resolution {
        &self.resolution
    }

    /// It is stored where it must be, or need not be: the surface may show success.
    pub fn stored(mut self) -> Resolution {
        self.tell(Ok(()));
        self.resolution.clone()
    }

    /// It could not be stored; the surface says so.
    pub fn not_stored(mut self, why: impl Into<String>) -> Resolution {
        self.tell(Err(why.into()));
        self.resolution.clone()
    }

    /// Checks what a surface hands over to an asker that has no store: the outcome fits the request, and a person decided if a file
    /// or a rule has no say.
    ///
    /// # Errors
    /// [`AskError::WrongAnswer`] for an outcome of other questions, [`AskError::NotAPersons`] for a file or a rule, and
    /// [`AskError::Reported`] for the asker itself. The surface gets the error too.
    pub fn check(mut self, request: &Request) -> Result<Delivery, AskError> {
        match check(&self.resolution, request) {
            Ok(()) => Ok(self),
            Err(error) => {
                self.tell(Err(error.chain()));
                Err(error)
            }
        }
    }

    fn tell(&mut self, stored: Result<(), String>) {
        if let Some(acknowledge) = self.acknowledge.take() {
            acknowledge(stored);
        }
    }
}

fn check(resolution: &Resolution, request: &Request) -> Result<(), AskError> {
    resolution.outcome().clone().made_for(request.set()).map_err(AskError::WrongAnswer)?;
    if !request.asks_to_agree() {
        return Ok(());
    }
    let is_settled = !matches!(resolution.outcome().status(), Status::Unavailable { .. });
    match resolution.reported_by() {
        Some(by) => Err(AskError::Reported(by.to_owned())),
        None if is_settled && !resolution.is_a_persons() => Err(AskError::NotAPersons),
        None => Ok(()),
    }
}

impl Drop for Delivery {
    fn drop(&mut self) {
        self.tell(Err("the caller did not take the answer".into()));
    }
}

impl From<Resolution> for Delivery {
    /// A delivery whose surface waits for no word.
    fn from(resolution: Resolution) -> Delivery {
        Delivery { resolution, acknowledge: None }
    }
}

impl fmt::Debug for Delivery {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Delivery").field("resolution", &self.resolution).finish_non_exhaustive()
    }
}

impl From<StoreError> for AskError {
    fn from(error: StoreError) -> AskError {
        match error {
            StoreError::Ended(ending) => AskError::Ended(ending),
            StoreError::Misfit(violations) => AskError::WrongAnswer(violations),
            error => AskError::Store(error),
        }
    }
}

/// Why asking broke off without a resolution.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AskError {
    /// The person pressed Ctrl-C: the whole turn stops.
    #[error("interrupted")]
    Interrupted,
    /// The caller has withdrawn the question.
    #[error("withdrawn")]
    Withdrawn,
    /// The person opened a question that is kept elsewhere and put it aside. It waits on; the draft is to be filled in when it is
    /// opened again.
    #[error("put aside")]
    PutAside(Draft),
    /// The person put the question aside, and the store did not save their draft.
    #[error("the question is still waiting, but your draft could not be saved")]
    NotSaved(#[source] StoreError),
    /// The question ended elsewhere before it was answered here.
    #[error("the question has ended elsewhere")]
    Ended(Box<Ending>),
    /// The process was told to end. The person has not refused: the question stays open.
    #[error("ended by signal {0}")]
    Signal(i32),
    /// The surface handed back an outcome that is not one of the question it was asked.
    #[error("the answer does not belong to the question that was asked")]
    WrongAnswer(#[source] Violations),
    /// The store that keeps the question failed.
    #[error("the inbox failed")]
    Store(#[source] StoreError),
    /// The surface handed over what a file or a rule says, where only a person can agree.
    #[error("only a person can agree to this, and this answer is not a person's")]
    NotAPersons,
    /// The asker that uses the credential of this name settled the question itself, through the store.
    #[error("the asker ({0}) reported this outcome itself, and no person is known to have decided")]
    Reported(String),
    /// The surface failed.
    #[error("{what}")]
    Surface {
        /// The failed operation: `cannot open the terminal`.
        what: String,
        /// The cause.
        source: Box<dyn Error + Send + Sync>,
    },
}

impl AskError {
    /// The surface failed while doing this.
    pub fn surface(what: impl Into<String>, source: impl Into<Box<dyn Error + Send + Sync>>) -> AskError {
        AskError::Surface { what: what.into(), source: source.into() }
    }

    /// The error and its causes in one line, each once.
    pub fn chain(&self) -> String {
        crate::error_chain(self)
    }
}

macro_rules! forward {
    ($($pointer:ty),*) => {$(
        impl<A: Asker + ?Sized> Asker for $pointer {
            fn decide(&self, request: &Request) -> Decision {
                (**self).decide(request)
            }

            fn ask<'a>(&'a self, request: &'a Request) -> Asking<'a> {
                (**self).ask(request)
            }

            fn close(&self, key: &RequestKey, ending: &Ending) {
                (**self).close(key, ending);
            }

            fn withdraw<'a>(&'a self, request: &'a Request) -> Asking<'a> {
                (**self).withdraw(request)
            }
        }
    )*};
}

forward!(std::sync::Arc<A>, Box<A>, &A);

#[cfg(test)]
#[path = "asker_tests.rs"]
mod tests;
