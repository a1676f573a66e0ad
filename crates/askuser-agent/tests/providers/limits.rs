//! Token limits: the client learns a model's limits from its errors.

use crate::conversation::{ask, model_at};
use crate::server::{CannedResponse, Server};
use askuser_agent::FailureKind;
use serde_json::{Value, json};

fn rejected(message: &str) -> CannedResponse {
    let error = json!({"type": "invalid_request_error", "message": message});
    CannedResponse::json("400 Bad Request", json!({"type": "error", "error": error}).to_string())
}

fn limits(server: &Server) -> Vec<Value> {
    server.requests().into_iter().map(|request| request.body["max_tokens"].clone()).collect()
}

fn nothing() -> CannedResponse {
    CannedResponse::stream("data: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"}}\n\n")
}

#[tokio::test]
async fn the_output_limit_that_a_model_allows_is_used_from_then_on() {
    let message = "max_tokens: 128000 > 32000, which is the maximum allowed number of output tokens for claude-new";
    let server = Server::start([rejected(message), nothing(), nothing()]).await;
    let model = model_at("anthropic/claude-new", &server.url);
    for _ in 0..2 {
        assert_eq!(ask(&*model).await.1, None);
    }
    assert_eq!(limits(&server), [128_000, 32_000, 32_000]);
}

#[tokio::test]
async fn a_long_conversation_gets_a_response_in_the_room_that_it_leaves() {
    let message = "input length and `max_tokens` exceed context limit: 188240 + 128000 > 200000, decrease input length";
    let server = Server::start([rejected(message), nothing(), nothing()]).await;
    let model = model_at("anthropic/claude-new", &server.url);
    for _ in 0..2 {
        assert_eq!(ask(&*model).await.1, None);
    }
    // A later conversation may be shorter, so the limit is not remembered.
    assert_eq!(limits(&server), [128_000, 11_760, 128_000]);
    assert_eq!(model.context_window(), Some(200_000));
}

#[tokio::test]
async fn the_context_window_is_learned_from_the_error() {
    let server = Server::start([rejected("prompt is too long: 208310 tokens > 200000 maximum")]).await;
    let model = model_at("anthropic/claude-opus-4-7", &server.url);
    assert_eq!(model.context_window(), None);
    let error = ask(&*model).await.1.expect("an error");
    assert_eq!((error.kind, error.context_window), (FailureKind::ContextTooLong, Some(200_000)));
    assert_eq!(model.context_window(), Some(200_000));
}
