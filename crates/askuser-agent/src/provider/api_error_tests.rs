use super::super::target::{ApiKey, Target};
use super::*;
use crate::model::ModelError;
use serde_json::json;

fn target() -> Target {
    Target {
        provider: "openai",
        model: "gpt".into(),
        host: "api.example".into(),
        is_custom: false,
        key_variables: &["OPENAI_API_KEY"],
        key: Some(ApiKey { variable: "OPENAI_API_KEY", secret: "sk-very-secret".into() }),
    }
}

#[track_caller]
fn check(status: u16, body: &str, kind: FailureKind, message: &str) {
    let error = target().model_error(&ApiError::from_response(status, "Reason", body.as_bytes()));
    assert_eq!((error.kind, error.message.as_str()), (kind, message));
}

#[test]
fn a_rejected_key_is_named_by_its_variable() {
    check(
        401,
        r#"{"error":{"message":"Incorrect API key provided: sk-very-secret.","type":"invalid_request_error","code":"invalid_api_key"}}"#,
        FailureKind::Key,
        "the key in OPENAI_API_KEY was rejected (401): Incorrect API key provided: [key].",
    );
}

#[test]
fn gemini_says_400_to_a_wrong_key() {
    check(
        400,
        r#"{"error":{"code":400,"message":"API key not valid.","status":"INVALID_ARGUMENT","details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"API_KEY_INVALID"}]}}"#,
        FailureKind::Key,
        "the key in OPENAI_API_KEY was rejected (400): API key not valid.",
    );
}

#[test]
fn without_a_key_the_error_names_the_variable_to_set() {
    let target = Target { key: None, ..target() };
    let error = target.model_error(&ApiError::from_response(401, "Unauthorized", b""));
    assert_eq!(error.message, "openai requires a key; set OPENAI_API_KEY (401): Unauthorized");
}

#[test]
fn an_unknown_model_is_named() {
    check(
        404,
        r#"{"error":{"message":"The model `gpt` does not exist","type":"invalid_request_error","code":"model_not_found"}}"#,
        FailureKind::UnknownModel,
        "openai has no model \"gpt\", or api.example is not its address (404): The model `gpt` does not exist",
    );
}

#[test]
fn openrouter_says_400_to_an_unknown_model() {
    check(
        400,
        r#"{"error":{"message":"foo/bar is not a valid model ID","code":400}}"#,
        FailureKind::UnknownModel,
        "openai has no model \"gpt\", or api.example is not its address (400): foo/bar is not a valid model ID",
    );
}

#[test]
fn every_provider_says_differently_that_a_conversation_is_too_long() {
    for (status, body) in [
        (
            413,
            json!({"type": "error", "error": {"type": "request_too_large", "message": "Request exceeds the maximum size"}}),
        ),
        (
            400,
            json!({"type": "error", "error": {"type": "invalid_request_error", "message": "prompt is too long: 208310 tokens > 200000 maximum"}}),
        ),
        (
            400,
            json!({"error": {"message": "This model's maximum context length is 128000 tokens.", "code": "context_length_exceeded"}}),
        ),
        (
            400,
            json!({"error": {"code": 400, "message": "The input token count (1196265) exceeds the maximum number of tokens allowed (1048575).", "status": "INVALID_ARGUMENT"}}),
        ),
        (
            400,
            json!({"error": {"code": 400, "message": "the request exceeds the available context size", "type": "exceed_context_size_error"}}),
        ),
        (
            400,
            json!({"object": "error", "message": "This model's maximum context length is 4096 tokens.", "type": "BadRequestError", "code": 400}),
        ),
    ] {
        let api_error = ApiError::from_response(status, "", body.to_string().as_bytes());
        assert_eq!(target().model_error(&api_error).kind, FailureKind::ContextTooLong, "{body}");
    }
}

#[test]
fn a_limit_on_tokens_per_minute_is_a_rate_limit() {
    check(
        429,
        r#"{"error":{"message":"Rate limit: input token count per minute","type":"tokens","code":"rate_limit_exceeded"}}"#,
        FailureKind::RateLimited,
        "openai rate limit reached (429): Rate limit: input token count per minute",
    );
}

#[test]
fn gemini_sends_the_retry_delay_in_the_error() {
    let body = r#"[{"error":{"code":429,"message":"Quota","status":"RESOURCE_EXHAUSTED","details":[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"17.5s"}]}}]"#;
    let error = target().model_error(&ApiError::from_response(429, "", body.as_bytes()));
    assert_eq!((error.kind, error.retry_after), (FailureKind::RateLimited, Some(Duration::from_millis(17_500))));
}

#[test]
fn missing_credit_is_not_retried() {
    for (status, body) in [
        (
            429,
            r#"{"error":{"message":"You exceeded your current quota","type":"insufficient_quota","code":"insufficient_quota"}}"#,
        ),
        (
            400,
            r#"{"type":"error","error":{"type":"invalid_request_error","message":"Your credit balance is too low to access the API"}}"#,
        ),
        (402, r#"{"error":{"message":"Insufficient credits","code":402}}"#),
    ] {
        let error = target().model_error(&ApiError::from_response(status, "", body.as_bytes()));
        assert_eq!((error.kind, error.is_transient()), (FailureKind::Rejected, false), "{body}");
    }
}

#[test]
fn server_errors_are_transient() {
    for status in [500, 502, 503, 504, 529] {
        assert_eq!(
            target().model_error(&ApiError::from_response(status, "Reason", b"")).message,
            format!("openai is overloaded or has failed ({status}): Reason")
        );
    }
}

#[test]
fn a_failure_inside_a_stream_has_no_status() {
    let api_error =
        ApiError::from_json(&json!({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}));
    let error = target().model_error(&api_error.unwrap());
    assert_eq!(error, ModelError::new(FailureKind::Overloaded, "openai is overloaded or has failed: Overloaded"));
}

#[test]
fn the_status_takes_precedence_over_a_generic_code() {
    check(
        400,
        r#"{"error":{"message":"tools are not supported","type":"api_error"}}"#,
        FailureKind::Rejected,
        "openai rejected the request (400): tools are not supported",
    );
}

#[test]
fn an_html_page_is_not_quoted() {
    check(
        502,
        "<!DOCTYPE html><html><body><h1>Bad gateway</h1></body></html>",
        FailureKind::Overloaded,
        "openai is overloaded or has failed (502): Reason",
    );
}

#[test]
fn quoted_text_is_bounded_and_on_one_line() {
    let error = target().model_error(&ApiError::from_response(400, "", format!("a\n\n{}", "é".repeat(600)).as_bytes()));
    assert_eq!(error.message, format!("openai rejected the request (400): a {}…", "é".repeat(498)));
}

#[test]
fn debug_output_does_not_contain_the_key() {
    assert!(!format!("{:?}", target()).contains("secret"));
}
