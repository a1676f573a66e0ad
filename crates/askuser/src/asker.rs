//! The interface through which an agent asks a person.
//!
//! An agent's loop holds an [`Asker`] and does not know terminals, pages or protocols. Refusal, time-out and absence
//! are outcomes, not errors. See [`AskError`] for the errors.
//!
//! 1. [`Asker::decide`] returns the answers that are known without asking.
//! 2. [`Asker::ask`] waits for the person. Dropping its future stops waiting, but does not withdraw the question.
//! 3. [`Delivery::stored`] tells the surface that the answer is stored. The surface shows success then.
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

/// A way to ask a person questions.
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
    /// Returns the known answers to a request without asking. The default implementation knows none.
    fn decide(&self, _request: &Request) -> Decision {
        Decision::Ask(Vec::new())
    }

    /// Asks the person, and completes with the resolution. Dropping the future detaches the caller. A surface that
    /// stores questions keeps the question open; any other surface removes it from the screen.
    ///
    /// # Errors
    /// If asking ends without a resolution; see [`AskError`].
    fn ask<'a>(&'a self, request: &'a Request) -> Asking<'a>;

    /// Closes a question that has ended elsewhere. The surface shows the ending, and the future of its `ask` completes.
    /// A surface that shows no questions needs no override.
    fn close(&self, _key: &RequestKey, _ending: &Ending) {}

    /// Withdraws a question from the store immediately. Completes with the stored answer if there already is one.
    /// Otherwise it fails with [`AskError::Withdrawn`].
    fn withdraw<'a>(&'a self, _request: &'a Request) -> Asking<'a> {
        Box::pin(std::future::ready(Err(AskError::Withdrawn)))
    }
}

/// The decision about a request before a person is asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision {
    /// The request is settled. No person is asked.
    Settled(Resolution),
    /// A person is asked. These answers are already known.
    Ask(Vec<Answer>),
}

/// The future of [`Asker::ask`].
pub type Asking<'a> = Pin<Box<dyn Future<Output = Result<Delivery, AskError>> + Send + 'a>>;

/// A resolution on its way from a surface to the caller. The surface shows success once the caller reports that the
/// resolution is stored. A dropped delivery reports a failure.
#[must_use = "the surface waits to be told that the answer is stored"]
pub struct Delivery {
    resolution: Resolution,
    acknowledge: Option<Acknowledge>,
}

/// A callback that tells a surface whether its resolution was stored. An error states the reason.
type Acknowledge = Box<dyn FnOnce(Result<(), String>) + Send>;

impl Delivery {
    /// Creates a delivery with a callback that reports to the surface whether the resolution was stored.
    pub fn new(resolution: Resolution, acknowledge: impl FnOnce(Result<(), String>) + Send + 'static) -> Delivery {
        Delivery { resolution, acknowledge: Some(Box::new(acknowledge)) }
    }

    /// The delivered resolution.
    pub fn resolution(&self) -> &Resolution {
        &self.resolution
    }

    /// Reports that the resolution is stored, or need not be stored. The surface may show success then.
    pub fn stored(mut self) -> Resolution {
        self.tell(Ok(()));
        self.resolution.clone()
    }

    /// Reports that the resolution could not be stored. The surface shows the reason.
    pub fn not_stored(mut self, why: impl Into<String>) -> Resolution {
        self.tell(Err(why.into()));
        self.resolution.clone()
    }

    /// Checks the resolution for an asker without a store. The outcome must fit the request. If the request asks for
    /// consent, a person must have decided. A failed check is also reported to the surface.
    ///
    /// # Errors
    /// Returns [`AskError::WrongAnswer`] if the outcome belongs to other questions. Returns [`AskError::NotAPersons`]
    /// if a file or a rule decided, and [`AskError::Reported`] if the asker itself reported the outcome.
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
    /// Creates a delivery without a callback.
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

/// The reason why asking ended without a resolution.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AskError {
    /// The person pressed Ctrl-C. The whole turn stops.
    #[error("interrupted")]
    Interrupted,
    /// The caller withdrew the question.
    #[error("withdrawn")]
    Withdrawn,
    /// The person opened a stored question and chose Later. The question stays open. The draft is filled in when the
    /// question is opened again.
    #[error("put aside")]
    PutAside(Draft),
    /// The person put the question aside, and the store could not save the draft.
    #[error("the question is still waiting, but your draft could not be saved")]
    NotSaved(#[source] StoreError),
    /// The question ended elsewhere before it was answered here.
    #[error("the question has ended elsewhere")]
    Ended(Box<Ending>),
    /// The process was told to terminate. The question stays open, because a termination is not a refusal.
    #[error("ended by signal {0}")]
    Signal(i32),
    /// The surface delivered an outcome that does not fit the question.
    #[error("the answer does not belong to the question that was asked")]
    WrongAnswer(#[source] Violations),
    /// The store of the question failed.
    #[error("the inbox failed")]
    Store(#[source] StoreError),
    /// A file or a rule decided a request that needs a person's consent.
    #[error("only a person can agree to this, and this answer is not a person's")]
    NotAPersons,
    /// The asker with the credential of this name reported the outcome itself, through the store.
    #[error("the asker ({0}) reported this outcome itself, and no person is known to have decided")]
    Reported(String),
    /// The surface failed.
    #[error("{what}")]
    Surface {
        /// The failed operation, such as `cannot open the terminal`.
        what: String,
        /// The error that caused the failure.
        source: Box<dyn Error + Send + Sync>,
    },
}

impl AskError {
    /// Creates an [`AskError::Surface`].
    pub fn surface(what: impl Into<String>, source: impl Into<Box<dyn Error + Send + Sync>>) -> AskError {
        AskError::Surface { what: what.into(), source: source.into() }
    }

    /// Returns the error and its causes in one line, without repetitions.
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
