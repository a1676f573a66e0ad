//! The provider and the model that a request goes to, and the errors that name them.
//!
//! Text from outside is redacted in these errors. It becomes one line of limited length without the API key.

use super::api_error::ApiError;
use crate::event::{FailureKind, shortened};
use crate::model::ModelError;
use std::fmt::{self, Debug, Display, Formatter};

/// The maximum number of characters of a provider's text in an error message.
const MAX_QUOTED_CHARS: usize = 500;

#[derive(Clone, Debug)]
pub(super) struct Target {
    pub(super) provider: &'static str,
    pub(super) model: String,
    /// The host of the endpoint, with the port if the URL has one.
    pub(super) host: String,
    /// Whether the user set the endpoint's address.
    pub(super) is_custom: bool,
    pub(super) key_variables: &'static [&'static str],
    pub(super) key: Option<ApiKey>,
}

/// An API key, and the environment variable that contains it. The `Debug` output does not contain the key.
#[derive(Clone)]
pub(super) struct ApiKey {
    pub(super) variable: &'static str,
    pub(super) secret: String,
}

impl Debug for ApiKey {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "ApiKey({})", self.variable)
    }
}

impl Target {
    pub(super) fn model_error(&self, error: &ApiError) -> ModelError {
        let Target { provider, model, host, .. } = self;
        let detail = self.redact(&error.message);
        let status = error.status.map(|status| format!(" ({status})")).unwrap_or_default();
        let kind = error.kind();
        let message = match kind {
            FailureKind::Key => self.rejected_key(&status, &detail),
            FailureKind::UnknownModel => {
                format!("{provider} has no model {model:?}, or {host} is not its address{status}: {detail}")
            }
            FailureKind::ContextTooLong => {
                format!("the conversation is too long for {provider}/{model}{status}: {detail}")
            }
            FailureKind::RateLimited => format!("{provider} rate limit reached{status}: {detail}"),
            FailureKind::Overloaded => format!("{provider} is overloaded or has failed{status}: {detail}"),
            _ if error.is_out_of_credit() => {
                format!("{provider} requires more credit or a larger quota{status}: {detail}")
            }
            _ => format!("{provider} rejected the request{status}: {detail}"),
        };
        ModelError {
            kind,
            message,
            retry_after: error.retry_after,
            context_window: error.context_window(),
            max_retries: (kind == FailureKind::RateLimited && error.is_for_the_day()).then_some(0),
        }
    }

    fn rejected_key(&self, status: &str, detail: &str) -> String {
        match (&self.key, self.key_variables.first()) {
            (Some(key), _) => format!("the key in {} was rejected{status}: {detail}", key.variable),
            (None, Some(variable)) => format!("{} requires a key; set {variable}{status}: {detail}", self.provider),
            (None, None) => format!("{} requires a key{status}: {detail}", self.provider),
        }
    }

    pub(super) fn protocol_error(&self, why: impl Display) -> ModelError {
        let message = format!("cannot read the response of {}: {}", self.provider, self.redact(&why.to_string()));
        ModelError::new(FailureKind::Protocol, message)
    }

    /// Creates the error for a response that the provider ended early with a reason.
    pub(super) fn aborted(&self, kind: FailureKind, why: impl Display) -> ModelError {
        ModelError::new(kind, format!("{} aborted the response: {}", self.provider, self.redact(&why.to_string())))
    }

    pub(super) fn filtered(&self) -> ModelError {
        self.aborted(FailureKind::Rejected, "stopped by the content filter (content_filter)")
    }

    pub(super) fn failed(&self) -> ModelError {
        self.aborted(FailureKind::Overloaded, "it failed without a reason")
    }

    /// Creates the error for a response that reached its token limit before any output.
    pub(super) fn token_limit_reached(&self) -> ModelError {
        let message = format!(
            "the response of {}/{} reached its token limit before any output: raise max_tokens",
            self.provider, self.model
        );
        ModelError::new(FailureKind::Rejected, message)
    }

    pub(super) fn interrupted(&self, why: &str) -> ModelError {
        let message = format!("the response of {} was interrupted: {}", self.provider, self.redact(why));
        ModelError::new(FailureKind::Network, message)
    }

    /// Returns a text from outside that is safe for an error message: one line of limited length without the API key.
    pub(super) fn redact(&self, text: &str) -> String {
        let text = match &self.key {
            // Local servers accept any key. A short key is not secret and may be a common word.
            Some(key) if key.secret.len() >= 8 => text.replace(&key.secret, "[key]"),
            Some(_) | None => text.to_owned(),
        };
        shortened(text.split_whitespace().collect::<Vec<_>>().join(" "), MAX_QUOTED_CHARS)
    }
}
