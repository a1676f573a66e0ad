//! The errors of the API, as JSON.

use super::Question;
use askuser::store::{State, StoreError, StoredQuestion};
use askuser::{Violation, Violations};
use hyper::StatusCode;
use serde::{Deserialize, Serialize};

/// Declares the codes of errors, each with its status.
macro_rules! codes {
    ($($code:ident = $status:ident),* $(,)?) => {
        wire! {
            /// The kind of an error.
            #[derive(Clone, Copy, PartialEq, Eq)]
            #[serde(rename_all = "snake_case")]
            pub(crate) enum Code {
                $($code,)*
                /// A code of a later version.
                #[serde(other)]
                Other,
            }
        }

        impl Code {
            /// Returns the HTTP status of the error.
            pub(crate) fn status(self) -> StatusCode {
                match self {
                    $(Code::$code => StatusCode::$status,)*
                    Code::Other => StatusCode::INTERNAL_SERVER_ERROR,
                }
            }
        }
    };
}

codes! {
    BadRequest = BAD_REQUEST, Unmarked = BAD_REQUEST, Unauthorized = UNAUTHORIZED, Forbidden = FORBIDDEN,
    CrossSite = FORBIDDEN, Host = FORBIDDEN, NotFound = NOT_FOUND, MethodNotAllowed = METHOD_NOT_ALLOWED,
    Ended = CONFLICT, OtherQuestion = CONFLICT, Withdrawn = GONE, Gone = GONE, TooLarge = PAYLOAD_TOO_LARGE,
    NotJson = UNSUPPORTED_MEDIA_TYPE, Invalid = UNPROCESSABLE_ENTITY, Damaged = INTERNAL_SERVER_ERROR,
    Unknown = INTERNAL_SERVER_ERROR, Unavailable = SERVICE_UNAVAILABLE,
}

wire! {
    /// The body of an error.
    pub(crate) struct ErrorBody {
        pub(crate) error: Problem,
    }

    /// The reason why a request failed.
    pub(crate) struct Problem {
        pub(crate) code: Code,
        pub(crate) message: String,
        #[serde(flatten)]
        pub(crate) more: Box<Details>,
    }

    /// The details of a problem. Only some problems have them.
    #[derive(Default)]
    #[serde(default)]
    pub(crate) struct Details {
        /// All violations, if the request has any.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub(crate) violations: Option<Violations>,
        /// The question, if it had already ended.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub(crate) question: Option<Question>,
        /// The id or the key of the question, if it does not exist.
        #[serde(skip_serializing_if = "Option::is_none")]
        which: Option<String>,
        /// The key, if two different questions have it.
        #[serde(skip_serializing_if = "Option::is_none")]
        key: Option<String>,
        /// The question that is stored under the key, if two have it.
        #[serde(skip_serializing_if = "Option::is_none")]
        stored: Option<String>,
        /// The question of the request, if another has its key.
        #[serde(skip_serializing_if = "Option::is_none")]
        asked: Option<String>,
    }
}

impl Problem {
    pub(crate) fn new(code: Code, message: impl Into<String>) -> Problem {
        Problem { code, message: message.into(), more: Box::default() }
    }

    fn with(self, more: Details) -> Problem {
        Problem { more: Box::new(more), ..self }
    }

    pub(crate) fn not_found(message: impl Into<String>) -> Problem {
        Problem::new(Code::NotFound, message)
    }

    /// Creates the problem of a request with these violations.
    pub(crate) fn invalid(what: &str, violations: Violations) -> Problem {
        let lines: Vec<String> = violations.iter().map(ToString::to_string).collect();
        let problem = Problem::new(Code::Invalid, format!("{what}: {}", lines.join("\n")));
        problem.with(Details { violations: Some(violations), ..Details::default() })
    }

    /// Creates the problem of a request with one violation.
    pub(crate) fn violation(path: &str, fact: impl Into<String>, limit: impl Into<String>) -> Problem {
        Violation { path: path.to_owned(), fact: fact.into(), limit: limit.into() }.into()
    }

    /// Creates the problem of a question that had already ended.
    pub(crate) fn ended(question: &StoredQuestion, is_whole: bool) -> Problem {
        let problem = match question.state() {
            State::Withdrawn => Problem::new(Code::Withdrawn, "the question was withdrawn"),
            _ => Problem::new(Code::Ended, "the question has ended"),
        };
        problem.with(Details { question: Some(Question::new(question, is_whole)), ..Details::default() })
    }

    /// Converts the problem to the error of a store. Any other problem is a fault of the server, or of a proxy before
    /// it.
    pub(crate) fn into_store_error(self, what: String) -> StoreError {
        let text = |text: Option<String>| text.unwrap_or_default();
        let Details { violations, which, key, stored, asked, .. } = *self.more;
        match (self.code, which, violations) {
            (Code::NotFound, Some(which), _) => StoreError::NotFound(which),
            (Code::Forbidden, ..) => StoreError::Forbidden(self.message),
            (Code::OtherQuestion, ..) => {
                StoreError::OtherQuestion { key: text(key), stored: text(stored), asked: text(asked) }
            }
            (Code::Invalid, _, Some(violations)) => StoreError::Misfit(violations),
            (Code::Unknown, ..) => StoreError::unknown(what, self.message),
            (Code::Unavailable, ..) => StoreError::unavailable(what, self.message),
            (Code::Unauthorized, ..) => StoreError::Unauthorized(format!("{what}: {}", self.message)),
            _ => StoreError::damaged(what, self.message),
        }
    }
}

impl From<Violation> for Problem {
    fn from(violation: Violation) -> Problem {
        Problem::invalid("not valid", violation.into())
    }
}

impl From<StoreError> for Problem {
    fn from(error: StoreError) -> Problem {
        let chain = error.chain();
        let new = |code, more| Problem::new(code, chain).with(more);
        let none = Details::default();
        match error {
            StoreError::NotFound(which) => new(Code::NotFound, Details { which: Some(which), ..none }),
            StoreError::Ended(_) => new(Code::Ended, none),
            StoreError::OtherQuestion { key, stored, asked } => {
                let more = Details { key: Some(key), stored: Some(stored), asked: Some(asked), ..none };
                new(Code::OtherQuestion, more)
            }
            StoreError::Misfit(violations) => new(Code::Invalid, Details { violations: Some(violations), ..none }),
            StoreError::Forbidden(what) => Problem::new(Code::Forbidden, what),
            StoreError::Unauthorized(_) => new(Code::Unauthorized, none),
            StoreError::Unknown { .. } => new(Code::Unknown, none),
            StoreError::Damaged { .. } => new(Code::Damaged, none),
            _ => new(Code::Unavailable, none),
        }
    }
}
