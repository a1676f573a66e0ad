//! What a provider says went wrong, and what sort of failure that is.
//!
//! Every provider has its own shape and codes; this is the one place that knows them all. Messages name the provider and
//! the fact, are bounded, and never hold the key, not even if the provider repeats it.

use super::retry_after;
use crate::model::{ModelError, ModelErrorKind};
use serde_json::Value;
use std::time::Duration;

/// The longest text of a provider's that goes into a message, in characters.
const LONGEST: usize = 500;

/// Whom the request went to; what messages say about it.
#[derive(Clone, Debug)]
pub(super) struct Addressee {
    /// The provider's name.
    pub(super) provider: &'static str,
    /// The model's name, without the provider.
    pub(super) model: String,
    /// Where the provider was reached: host, and port if it says one.
    pub(super) host: String,
    /// Where a key is looked for; the first has the say.
    pub(super) key_variables: &'static [&'static str],
    /// The key, and the variable it came from.
    pub(super) key: Option<Key>,
}

/// A key. It is only ever compared and sent.
#[derive(Clone)]
pub(super) struct Key {
    pub(super) variable: &'static str,
    pub(super) secret: String,
}

impl std::fmt::Debug for Key {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Key({})", self.variable)
    }
}

/// What a provider says went wrong, in no provider's shape.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Complaint {
    /// The HTTP status, or what stands for it inside a stream.
    pub(super) status: Option<u16>,
    /// Codes, types and reasons, in lower case.
    pub(super) codes: Vec<String>,
    /// The provider's words.
    pub(super) message: String,
    /// When it wants to be asked again.
    pub(super) retry_after: Option<Duration>,
}

impl Complaint {
    /// The complaint in a body of JSON, if there is one: an object under `error`, or what Google puts in an array.
    pub(super) fn in_json(body: &Value) -> Option<Complaint> {
        let body = body.get(0).unwrap_or(body);
        // Older vLLM servers put nothing around it.
        let bare = (body.get("object").and_then(Value::as_str) == Some("error")).then_some(body);
        let error = body.get("error").filter(|error| !error.is_null()).or(bare)?;
        let mut complaint = Complaint::default();
        if let Some(message) = error.as_str() {
            complaint.message = message.to_owned();
        }
        let text = |key: &str| error.get(key).and_then(Value::as_str);
        complaint.message.push_str(text("message").unwrap_or_default());
        complaint.codes.extend(["type", "code", "status"].into_iter().filter_map(text).map(str::to_lowercase));
        let code = error.get("code").and_then(Value::as_u64).and_then(|code| u16::try_from(code).ok());
        complaint.status = code.filter(|code| (400..600).contains(code));
        for detail in error.get("details").and_then(Value::as_array).into_iter().flatten() {
            complaint.codes.extend(detail.get("reason").and_then(Value::as_str).map(str::to_lowercase));
            let delay = detail.get("retryDelay").and_then(Value::as_str).and_then(retry_after::from_duration);
            complaint.retry_after = complaint.retry_after.or(delay);
        }
        // OpenRouter says what the provider behind it said.
        if let Some(raw) = error.pointer("/metadata/raw").and_then(Value::as_str) {
            complaint.message.push_str(": ");
            complaint.message.push_str(raw);
        }
        if complaint.message.is_empty() {
            complaint.message = complaint.codes.first().cloned().unwrap_or_else(|| "no reason given".into());
        }
        Some(complaint)
    }

    /// The complaint in the body of an answer with this status.
    pub(super) fn in_body(status: u16, reason: &str, body: &[u8]) -> Complaint {
        let in_json = serde_json::from_slice(body).ok().and_then(|body| Complaint::in_json(&body));
        let complaint = in_json.unwrap_or_else(|| {
            let text = String::from_utf8_lossy(body);
            let text = text.trim();
            // A page of HTML comes from something in between, and says nothing that the status does not.
            let message = if text.is_empty() || text.starts_with('<') { reason } else { text };
            Complaint { message: message.to_owned(), ..Complaint::default() }
        });
        Complaint { status: Some(status), ..complaint }
    }

    fn has_code(&self, codes: &[&str]) -> bool {
        self.codes.iter().any(|code| codes.contains(&code.as_str()))
    }

    fn kind(&self) -> Sort {
        let says = {
            let message = self.message.to_lowercase();
            move |patterns: &[&str]| patterns.iter().any(|pattern| message.contains(pattern))
        };
        let status = self.status.unwrap_or(0);
        if status == 402 || self.has_code(CREDIT_CODES) || says(&["credit balance is too low"]) {
            return Sort::Credit;
        }
        let is_limited = status == 429 || self.has_code(LIMIT_CODES);
        if status == 413 || self.has_code(CONTEXT_CODES) || (!is_limited && says(CONTEXT_WORDS)) {
            return Sort::Kind(ModelErrorKind::ContextTooLong);
        }
        // Gemini answers 400 to a wrong key.
        if matches!(status, 401 | 403) || self.has_code(KEY_CODES) {
            return Sort::Kind(ModelErrorKind::Key);
        }
        if is_limited {
            return Sort::Kind(ModelErrorKind::RateLimited);
        }
        let no_model = says(&["model"]) && says(&["not found", "does not exist", "not a valid model", "invalid model"]);
        if status == 404 || self.has_code(MODEL_CODES) || (matches!(status, 0 | 400 | 422) && no_model) {
            return Sort::Kind(ModelErrorKind::UnknownModel);
        }
        let is_server_failure = (status >= 500 && status != 501) || status == 408;
        // Some servers call every failure of a request `api_error`; the status knows better.
        if is_server_failure || (status == 0 && self.has_code(OVERLOAD_CODES)) {
            return Sort::Kind(ModelErrorKind::Overloaded);
        }
        Sort::Kind(ModelErrorKind::Rejected)
    }
}

/// A kind, or one that is told apart by its message only: more credit has to be bought, so trying again is of no use.
enum Sort {
    Kind(ModelErrorKind),
    Credit,
}

const CREDIT_CODES: &[&str] = &[
    "insufficient_quota",
    "billing_error",
    "billing_not_active",
    "billing_hard_limit_reached",
    "insufficient_credits",
];
const CONTEXT_CODES: &[&str] = &["context_length_exceeded", "request_too_large", "exceed_context_size_error"];
const CONTEXT_WORDS: &[&str] = &[
    "prompt is too long",
    "context length",
    "context window",
    "context size",
    "context limit",
    "exceeds the maximum number of tokens",
    "input token count",
    "input is too long",
    "maximum input length",
];
const KEY_CODES: &[&str] = &[
    "authentication_error",
    "permission_error",
    "invalid_api_key",
    "api_key_invalid",
    "unauthenticated",
    "permission_denied",
];
const LIMIT_CODES: &[&str] = &["rate_limit_error", "rate_limit_exceeded", "resource_exhausted"];
const MODEL_CODES: &[&str] = &["not_found_error", "model_not_found", "not_found"];
const OVERLOAD_CODES: &[&str] = &[
    "overloaded_error",
    "overloaded",
    "api_error",
    "timeout_error",
    "server_error",
    "internal_server_error",
    "server_overloaded",
    "unavailable",
    "internal",
    "deadline_exceeded",
];

impl Addressee {
    /// The failure that this complaint is.
    pub(super) fn failure(&self, complaint: &Complaint) -> ModelError {
        let Addressee { provider, model, host, .. } = self;
        let words = self.quote(&complaint.message);
        let status = complaint.status.map(|status| format!(" ({status})")).unwrap_or_default();
        let (kind, message) = match complaint.kind() {
            Sort::Credit => {
                (ModelErrorKind::Rejected, format!("{provider} wants more credit or a larger quota{status}: {words}"))
            }
            Sort::Kind(kind) => {
                let message = match kind {
                    ModelErrorKind::Key => self.refused_key(&status, &words),
                    ModelErrorKind::UnknownModel => {
                        format!("{provider} has no model {model:?}, or {host} is not its address{status}: {words}")
                    }
                    ModelErrorKind::ContextTooLong => {
                        format!("the conversation is too long for {provider}/{model}{status}: {words}")
                    }
                    ModelErrorKind::RateLimited => format!("{provider} limits the rate of requests{status}: {words}"),
                    ModelErrorKind::Overloaded => format!("{provider} is overloaded or has failed{status}: {words}"),
                    ModelErrorKind::Network
                    | ModelErrorKind::Rejected
                    | ModelErrorKind::Protocol
                    | ModelErrorKind::Script => format!("{provider} rejected the request{status}: {words}"),
                };
                (kind, message)
            }
        };
        ModelError { kind, message, retry_after: complaint.retry_after }
    }

    fn refused_key(&self, status: &str, words: &str) -> String {
        match (&self.key, self.key_variables.first()) {
            (Some(key), _) => format!("the key in {} was refused{status}: {words}", key.variable),
            (None, Some(variable)) => format!("{} wants a key; set {variable}{status}: {words}", self.provider),
            (None, None) => format!("{} wants a key{status}: {words}", self.provider),
        }
    }

    /// The provider sent something that cannot be understood.
    pub(super) fn misunderstood(&self, what: impl std::fmt::Display) -> ModelError {
        let message = format!("the answer of {} cannot be read: {}", self.provider, self.quote(&what.to_string()));
        ModelError::new(ModelErrorKind::Protocol, message)
    }

    /// The provider broke the answer off on purpose.
    pub(super) fn broken_off(&self, kind: ModelErrorKind, why: impl std::fmt::Display) -> ModelError {
        ModelError::new(kind, format!("{} broke the answer off: {}", self.provider, self.quote(&why.to_string())))
    }

    /// The answer was cut by its limit where a part of it would be taken for the whole.
    pub(super) fn out_of_tokens(&self, where_: &str) -> ModelError {
        let message = format!(
            "the answer of {}/{} reached its limit of tokens {where_}; nothing of it was done: raise max_tokens",
            self.provider, self.model
        );
        ModelError::new(ModelErrorKind::Rejected, message)
    }

    /// The stream ended before the answer did.
    pub(super) fn cut_off(&self, why: &str) -> ModelError {
        let message = format!("the answer of {} was cut off: {}", self.provider, self.quote(why));
        ModelError::new(ModelErrorKind::Network, message)
    }

    /// Somebody else's words, as they can stand in a message: on one line, bounded, without the key.
    pub(super) fn quote(&self, words: &str) -> String {
        let words = match &self.key {
            // What local servers take for a key is a common word, and no secret.
            Some(key) if key.secret.len() >= 8 => words.replace(&key.secret, "[key]"),
            Some(_) | None => words.to_owned(),
        };
        let words = words.split_whitespace().collect::<Vec<_>>().join(" ");
        match words.char_indices().nth(LONGEST) {
            Some((end, _)) => format!("{}…", &words[..end]),
            None => words,
        }
    }
}

#[cfg(test)]
#[path = "complaint_tests.rs"]
mod tests;
