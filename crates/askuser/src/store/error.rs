//! Why a store did not do what it was asked to, by what a caller can do about it.

use super::Ending;
use crate::request::Request;
use crate::violation::Violations;
use std::error::Error;

/// Why a store did not do what it was asked to. Nothing has changed then, unless it says that this is unknown.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// There is no such question.
    #[error("there is no question {0}")]
    NotFound(String),
    /// It had ended already, and this is how.
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
    /// Not an outcome of the question it is meant for.
    #[error("the answer does not fit: {0}")]
    Misfit(#[source] Violations),
    /// The principal may not do that.
    #[error("not allowed: {0}")]
    Forbidden(String),
    /// The principal's credential does not count, or not any more.
    #[error("{0}")]
    Unauthorized(String),
    /// The store cannot be read or written now. A later try may succeed.
    #[error("{what}")]
    Unavailable {
        /// What was being done, and with which store.
        what: String,
        /// What went wrong.
        source: Box<dyn Error + Send + Sync>,
    },
    /// It may have been done or not: repeat it with the same attempt.
    #[error("{what}")]
    Unknown {
        /// What was being done, and with which store.
        what: String,
        /// What went wrong.
        source: Box<dyn Error + Send + Sync>,
    },
    /// What is stored cannot be read, by this program or at all. To try again is of no use.
    #[error("{what}")]
    Damaged {
        /// What was being done, and with which store.
        what: String,
        /// What is wrong.
        source: Box<dyn Error + Send + Sync>,
    },
}

impl StoreError {
    /// The store cannot do this now.
    pub fn unavailable(what: impl Into<String>, source: impl Into<Box<dyn Error + Send + Sync>>) -> StoreError {
        StoreError::Unavailable { what: what.into(), source: source.into() }
    }

    /// It is unknown whether this was done.
    pub fn unknown(what: impl Into<String>, source: impl Into<Box<dyn Error + Send + Sync>>) -> StoreError {
        StoreError::Unknown { what: what.into(), source: source.into() }
    }

    /// What is stored cannot be read.
    pub fn damaged(what: impl Into<String>, source: impl Into<Box<dyn Error + Send + Sync>>) -> StoreError {
        StoreError::Damaged { what: what.into(), source: source.into() }
    }

    /// The principal's credential was revoked.
    pub fn revoked() -> StoreError {
        StoreError::Unauthorized("the token or device was revoked".into())
    }

    /// The key of what was asked is that of a question that is stored.
    pub fn other_question(stored: &Request, asked: &Request) -> StoreError {
        let shown = |request: &Request| {
            let context = request.context().map(|context| format!(", about {}", serde_json::json!(context)));
            let audience = request.audience_words().map(|names| format!(", for {names}")).unwrap_or_default();
            format!("{}{}{audience}", request.set().input(), context.unwrap_or_default())
        };
        StoreError::OtherQuestion { key: asked.key().to_string(), stored: shown(stored), asked: shown(asked) }
    }

    /// It had ended so already.
    pub fn ended(ending: Ending) -> StoreError {
        StoreError::Ended(Box::new(ending))
    }

    /// The error and its causes in one line, each once.
    pub fn chain(&self) -> String {
        crate::error_chain(self)
    }
}
