//! The errors of a store. Each kind has its own remedy.

use super::Ending;
use crate::request::Request;
use crate::violation::Violations;
use std::error::Error;

/// An error of a store. The call changed no state, but after [`StoreError::Unknown`] this is uncertain.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The question does not exist.
    #[error("there is no question {0}")]
    NotFound(String),
    /// The question had already ended in this way.
    #[error("the question has ended")]
    Ended(Box<Ending>),
    /// The key belongs to another question.
    #[error("the key {key} belongs to another question\n  stored: {stored}\n  asked:  {asked}")]
    OtherQuestion {
        /// The key of both questions.
        key: String,
        /// The stored question.
        stored: String,
        /// The question that the caller wanted to put.
        asked: String,
    },
    /// The outcome does not fit the question.
    #[error("the answer does not fit: {0}")]
    Misfit(#[source] Violations),
    /// The principal has no right to this call.
    #[error("not allowed: {0}")]
    Forbidden(String),
    /// The principal's credential is not valid.
    #[error("{0}")]
    Unauthorized(String),
    /// The store is not available now. A retry may succeed.
    #[error("{what}")]
    Unavailable {
        /// The failed operation and the store.
        what: String,
        /// The error that caused the failure.
        source: Box<dyn Error + Send + Sync>,
    },
    /// The effect of the call is unknown. The caller repeats the call with the same attempt.
    #[error("{what}")]
    Unknown {
        /// The failed operation and the store.
        what: String,
        /// The error that caused the failure.
        source: Box<dyn Error + Send + Sync>,
    },
    /// The stored data cannot be read by this program, or by any program. A retry is useless.
    #[error("{what}")]
    Damaged {
        /// The failed operation and the store.
        what: String,
        /// The error that caused the failure.
        source: Box<dyn Error + Send + Sync>,
    },
}

impl StoreError {
    /// Creates a [`StoreError::Unavailable`].
    pub fn unavailable(what: impl Into<String>, source: impl Into<Box<dyn Error + Send + Sync>>) -> StoreError {
        StoreError::Unavailable { what: what.into(), source: source.into() }
    }

    /// Creates a [`StoreError::Unknown`].
    pub fn unknown(what: impl Into<String>, source: impl Into<Box<dyn Error + Send + Sync>>) -> StoreError {
        StoreError::Unknown { what: what.into(), source: source.into() }
    }

    /// Creates a [`StoreError::Damaged`].
    pub fn damaged(what: impl Into<String>, source: impl Into<Box<dyn Error + Send + Sync>>) -> StoreError {
        StoreError::Damaged { what: what.into(), source: source.into() }
    }

    /// Creates the error of a principal whose credential was revoked.
    pub fn revoked() -> StoreError {
        StoreError::Unauthorized("the token or device was revoked".into())
    }

    /// Creates the error of a key that belongs to another stored question.
    pub fn other_question(stored: &Request, asked: &Request) -> StoreError {
        let shown = |request: &Request| {
            let context = request.context().map(|context| format!(", about {}", serde_json::json!(context)));
            let audience = request.audience_words().map(|names| format!(", for {names}")).unwrap_or_default();
            format!("{}{}{audience}", request.set().input(), context.unwrap_or_default())
        };
        StoreError::OtherQuestion { key: asked.key().to_string(), stored: shown(stored), asked: shown(asked) }
    }

    /// Creates the error of a question that had already ended.
    pub fn ended(ending: Ending) -> StoreError {
        StoreError::Ended(Box::new(ending))
    }

    /// Returns the error and its causes as one line, without repetitions.
    pub fn chain(&self) -> String {
        crate::error_chain(self)
    }
}
