//! Errors of a provider's API, and their kinds.
//!
//! Each provider has its own JSON format and codes, which only this module interprets.
//! [`Target`](super::target::Target) writes the messages.

use super::error_limits;
use super::json::{array_field, str_field, u64_field};
use super::request_options::RejectedOption;
use super::retry_after;
use crate::event::FailureKind;
use serde_json::Value;
use std::time::Duration;

/// An error of a provider's API in a form that does not depend on the provider.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct ApiError {
    /// The HTTP status, or the status code in an event of a stream; `None` if there is neither.
    pub(super) status: Option<u16>,
    /// The codes, types and reasons in the error, in lower case.
    pub(super) codes: Vec<String>,
    /// The request field that caused the error; `None` if the error does not name one.
    pub(super) param: Option<String>,
    pub(super) message: String,
    /// The pause before a retry that the provider asks for; `None` if it asks for none.
    pub(super) retry_after: Option<Duration>,
}

impl ApiError {
    /// Returns the error in a JSON body or event; `None` if it contains no error. The error is an object under `error`.
    /// Google wraps the body in an array.
    pub(super) fn from_json(body: &Value) -> Option<ApiError> {
        let body = body.get(0).unwrap_or(body);
        // Older vLLM servers send the error without the `error` field.
        let bare = (str_field(body, "object") == Some("error")).then_some(body);
        let error = body.get("error").filter(|error| !error.is_null()).or(bare)?;
        let mut api_error = ApiError::default();
        if let Some(message) = error.as_str() {
            api_error.message = message.to_owned();
        }
        let text = |key: &str| str_field(error, key);
        api_error.message.push_str(text("message").unwrap_or_default());
        api_error.codes.extend(["type", "code", "status"].into_iter().filter_map(text).map(str::to_lowercase));
        api_error.param = text("param").map(str::to_lowercase);
        let code = u64_field(error, "code").and_then(|code| u16::try_from(code).ok());
        api_error.status = code.filter(|code| (400..600).contains(code));
        for detail in array_field(error, "details") {
            api_error.codes.extend(str_field(detail, "reason").map(str::to_lowercase));
            let quotas = array_field(detail, "violations").filter_map(|violation| str_field(violation, "quotaId"));
            api_error.codes.extend(quotas.map(str::to_lowercase));
            let delay = str_field(detail, "retryDelay").and_then(retry_after::from_duration);
            api_error.retry_after = api_error.retry_after.or(delay);
        }
        // OpenRouter includes the error of the upstream provider.
        if let Some(raw) = error.get("metadata").and_then(|metadata| str_field(metadata, "raw")) {
            api_error.message.push_str(": ");
            api_error.message.push_str(raw);
        }
        if api_error.message.is_empty() {
            api_error.message = api_error.codes.first().cloned().unwrap_or_else(|| "no reason given".into());
        }
        Some(api_error)
    }

    /// Returns the error in an HTTP response with this status and body. `reason` is the text of the status.
    pub(super) fn from_response(status: u16, reason: &str, body: &[u8]) -> ApiError {
        let from_json = serde_json::from_slice(body).ok().and_then(|body| ApiError::from_json(&body));
        let api_error = from_json.unwrap_or_else(|| {
            let text = String::from_utf8_lossy(body);
            let text = text.trim();
            // An HTML page comes from a proxy and says no more than the status.
            let message = if text.is_empty() || text.starts_with('<') { reason } else { text };
            ApiError { message: message.to_owned(), ..ApiError::default() }
        });
        ApiError { status: Some(status), ..api_error }
    }

    fn has_code(&self, codes: &[&str]) -> bool {
        self.codes.iter().any(|code| codes.contains(&code.as_str()))
    }

    /// Whether the credit or the quota is used up. A retry cannot help then.
    pub(super) fn is_out_of_credit(&self) -> bool {
        let message = self.message.to_lowercase();
        self.status == Some(402) || self.has_code(CREDIT_CODES) || message.contains("credit balance is too low")
    }

    /// Whether the daily quota is used up. A retry within minutes cannot help then.
    pub(super) fn is_for_the_day(&self) -> bool {
        let message = self.message.to_lowercase();
        DAY_PHRASES.iter().any(|phrase| message.contains(phrase) || self.codes.iter().any(|code| code.contains(phrase)))
    }

    /// Returns the optional feature that the model rejects; `None` if the error names none.
    pub(super) fn rejected_option(&self) -> Option<RejectedOption> {
        let message = self.message.to_lowercase();
        let is_about = |(_, fields, phrases): &&(RejectedOption, &[&str], &[&str])| {
            let named = self.param.iter().chain(&self.codes).any(|name| fields.contains(&name.as_str()));
            named || phrases.iter().any(|phrase| message.contains(phrase))
        };
        OPTIONS.iter().find(is_about).map(|(option, ..)| *option)
    }

    /// Returns the maximum number of tokens of a conversation if this error states it; `None` otherwise.
    pub(super) fn context_window(&self) -> Option<u64> {
        error_limits::context_window(&self.message).filter(|_| self.kind() == FailureKind::ContextTooLong)
    }

    pub(super) fn kind(&self) -> FailureKind {
        let message = self.message.to_lowercase();
        let mentions = |patterns: &[&str]| patterns.iter().any(|pattern| message.contains(pattern));
        let status = self.status.unwrap_or(0);
        if self.is_out_of_credit() {
            return FailureKind::Rejected;
        }
        let is_limited = status == 429 || self.has_code(RATE_LIMIT_CODES);
        if status == 413 || self.has_code(CONTEXT_CODES) || (!is_limited && mentions(CONTEXT_PHRASES)) {
            return FailureKind::ContextTooLong;
        }
        // Gemini replies to a wrong key with status 400.
        if matches!(status, 401 | 403) || self.has_code(KEY_CODES) {
            return FailureKind::Key;
        }
        if is_limited {
            return FailureKind::RateLimited;
        }
        let is_about_model = mentions(&["model"]) && mentions(UNKNOWN_MODEL_PHRASES);
        if status == 404 || self.has_code(MODEL_CODES) || (matches!(status, 0 | 400 | 422) && is_about_model) {
            return FailureKind::UnknownModel;
        }
        let is_server_failure = (status >= 500 && status != 501) || status == 408;
        // Some servers use the code `api_error` for every failure, so the status takes precedence.
        if is_server_failure || (status == 0 && self.has_code(OVERLOAD_CODES)) {
            return FailureKind::Overloaded;
        }
        FailureKind::Rejected
    }
}

const CREDIT_CODES: &[&str] = &[
    "insufficient_quota",
    "billing_error",
    "billing_not_active",
    "billing_hard_limit_reached",
    "insufficient_credits",
];
const DAY_PHRASES: &[&str] = &["per day", "perday", "per-day", "daily"];
const CONTEXT_CODES: &[&str] = &["context_length_exceeded", "request_too_large", "exceed_context_size_error"];
const CONTEXT_PHRASES: &[&str] = &[
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
/// The optional features, each with the fields, codes and phrases of errors about it.
const OPTIONS: &[(RejectedOption, &[&str], &[&str])] = &[
    (RejectedOption::StreamOptions, &["stream_options"], &["stream_options"]),
    // OpenAI streams its newest models only to verified organisations.
    (RejectedOption::Stream, &["stream"], &["must be verified to stream"]),
    (RejectedOption::OwnData, &["include", "invalid_encrypted_content"], OWN_DATA_PHRASES),
    (RejectedOption::Thoughts, &["reasoning.summary"], THOUGHTS_PHRASES),
    (RejectedOption::Effort, &["reasoning.effort", "reasoning_effort"], EFFORT_PHRASES),
    (RejectedOption::Thinking, &[], THINKING_PHRASES),
];
const OWN_DATA_PHRASES: &[&str] = &[
    "encrypted content",
    "invalid `signature`",
    "invalid signature",
    "thought signature",
    "thought_signature",
    "reasoning_content",
];
const THOUGHTS_PHRASES: &[&str] =
    &["reasoning.summary", "reasoning summar", "include_thoughts", "includethoughts", "thinking.adaptive.display"];
const EFFORT_PHRASES: &[&str] = &[
    "reasoning.effort",
    "reasoning_effort",
    "output_config",
    "budget_tokens",
    "thinking level",
    "thinking_level",
    "thinkinglevel",
    "thinking budget",
    "thinking_budget",
    "thinkingbudget",
];
const THINKING_PHRASES: &[&str] = &[
    "thinking is not",
    "thinking_config",
    "thinkingconfig",
    "thinking.type",
    "adaptive thinking",
    "not support thinking",
];
const KEY_CODES: &[&str] = &[
    "authentication_error",
    "permission_error",
    "invalid_api_key",
    "api_key_invalid",
    "unauthenticated",
    "permission_denied",
];
const RATE_LIMIT_CODES: &[&str] = &["rate_limit_error", "rate_limit_exceeded", "resource_exhausted"];
const MODEL_CODES: &[&str] = &["not_found_error", "model_not_found", "not_found"];
const UNKNOWN_MODEL_PHRASES: &[&str] = &["not found", "does not exist", "not a valid model", "invalid model"];
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

#[cfg(test)]
#[path = "api_error_tests.rs"]
mod tests;
