//! Errors of a store, by the caller's remedy.

use super::Ending;
use crate::request::Request;
use crate::violation::Violations;
use std::error::Error;

/// An error of a store. The call changed no state, unless the error says that this is unknown.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The question does not exist.
    #[error("there is no question {0}")]
    NotFound(String),
    /// The question had ended already in this way.
    #[error("the question has ended")]
    Ended(Box<Ending>),
    /// The key is taken.
    #[error("the key {key} belongs to another question\n  stored: {stored}\n  asked:  {asked}")]
    OtherQuestion {
        /// The key of both.
        key: String,
        /// The question that is stored.
        stored: String,
        /// The one that was to be put.
        asked: String,
    },
    /// The outcome does not fit the question.
    #[error("the answer does not fit: {0}")]
    Misfit(#[source] Violations),
    /// The principal has no right to do that.
    #[error("not allowed: {0}")]
    Forbidden(String),
    /// The principal's credential is not valid.
    #[error("{0}")]
    Unauthorized(String),
    /// The store is not available now. A retry may succeed.
    #[error("{what}")]
    Unavailable {
        /// The operation and the store.
        what: String,
        /// The cause.
        source: Box<dyn Error + Send + Sync>,
    },
    /// The effect is unknown: repeat it with the same attempt.
    #[error("{what}")]
    Unknown {
        /// The operation and the store.
        what: String,
        /// The cause.
        source: Box<dyn Error + Send + Sync>,
    },
    /// The stored data cannot be read, by this program or by any. A retry is useless.
    #[error("{what}")]
    Damaged {
        /// The operation and the store.
        what: String,
        /// The problem.
        source: Box<dyn Error + Send + Sync>,
    },
}

impl StoreError {
    /// The store is not available now.
    pub fn unavailable(what: impl Into<String>, source: impl Into<Box<dyn Error + Send + Sync>>) -> StoreError {
        StoreError::Unavailable { what: what.into(), source: source.into() }
    }

    /// The effect is unknown.
    pub fn unknown(what: impl Into<String>, source: impl Into<Box<dyn Error + Send + Sync>>) -> StoreError {
        StoreError::Unknown { what: what.into(), source: source.into() }
    }

    /// The stored data cannot be read.
    pub fn damaged(what: impl Into<String>, source: impl Into<Box<dyn Error + Send + Sync>>) -> StoreError {
        StoreError::Damaged { what: what.into(), source: source.into() }
    }

    /// The principal's credential was revoked.
    pub fn revoked() -> StoreError {
        StoreError::Unauthorized("the token or device was revoked".into())
    }

    /// An error for a key that belongs to another stored question.
    pub fn other_question(stored: &Request, asked: &Request) -> StoreError {
        let shown = |request: &Request| {
            let context = request.context().map(|context| format!(", about {}", serde_json::json!(context)));
            let audience = request.audience_words().map(|names| format!(", for {names}")).unwrap_or_default();
            format!("{}{}{audience}", request.set().input(), context.unwrap_or_default())
        };
        StoreError::OtherQuestion { key: asked.key().to_string(), stored: shown(stored), asked: shown(asked) }
    }

    /// An error with the earlier ending.
    pub fn ended(ending: Ending) -> StoreError {
        StoreError::Ended(Box::new(ending))
    }

    /// The error and its causes in one line, without repetitions.
    pub fn chain(&self) -> String {
        crate::error_chain(self)
    }
}
