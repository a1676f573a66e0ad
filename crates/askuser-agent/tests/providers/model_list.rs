//! The lists of models that providers offer.

use crate::conversation::SECRET;
use crate::server::{CannedResponse, Request, Server};
use askuser_agent::provider::{self, ListError, ModelInfo, ProviderConfig, list_models};
use askuser_agent::{FailureKind, ModelError};
use serde_json::{Value, json};

async fn ask(name: &str, response: CannedResponse) -> (Result<Vec<ModelInfo>, ListError>, Request) {
    let server = Server::start([response]).await;
    let environment = |name: &str| name.ends_with("_API_KEY").then(|| SECRET.to_owned());
    let config = ProviderConfig::new(&environment).with_base_url(Some(server.url.clone()));
    let listed = list_models(provider::provider(name).unwrap(), &config).await;
    (listed, server.request())
}

async fn read(name: &str, list: Value) -> (Vec<(String, Option<String>, Option<u64>)>, Request) {
    let (listed, request) = ask(name, CannedResponse::json("200 OK", list.to_string())).await;
    let models = listed.unwrap_or_else(|error| panic!("{error}"));
    (models.into_iter().map(|model| (model.name, model.title, model.context_window)).collect(), request)
}

fn model(name: &str, title: Option<&str>, window: Option<u64>) -> (String, Option<String>, Option<u64>) {
    (name.into(), title.map(str::to_owned), window)
}

#[tokio::test]
async fn anthropics_models_come_with_their_names_for_people() {
    let list = json!({"data": [
        {"type": "model", "id": "claude-sonnet-4-6", "display_name": "Claude Sonnet 4.6", "created_at": "2026-02-17T00:00:00Z"},
        {"type": "model", "id": "claude-opus-5", "display_name": "Claude Opus 5", "created_at": "2026-08-01T00:00:00Z", "max_input_tokens": 1_000_000},
    ], "has_more": false});
    let (models, request) = read("anthropic", list).await;
    assert_eq!(request.line, "GET /v1/models?limit=1000 HTTP/1.1");
    assert_eq!((request.header("x-api-key"), request.header("anthropic-version")), (Some(SECRET), Some("2023-06-01")));
    let expected = [
        model("claude-opus-5", Some("Claude Opus 5"), Some(1_000_000)),
        model("claude-sonnet-4-6", Some("Claude Sonnet 4.6"), None),
    ];
    assert_eq!(models, expected);
}

#[tokio::test]
async fn models_of_openai_that_do_not_write_text_are_left_out() {
    let names = ["gpt-4o", "gpt-5.2", "text-embedding-3-large", "whisper-1", "gpt-image-1", "gpt-realtime", "o3"];
    let created = [3, 9, 4, 4, 8, 8, 5];
    let data: Vec<Value> = names
        .iter()
        .zip(created)
        .map(|(name, created)| json!({"id": name, "object": "model", "created": created, "owned_by": "openai"}))
        .collect();
    let (models, request) = read("openai", json!({"object": "list", "data": data})).await;
    assert_eq!(request.line, "GET /models HTTP/1.1");
    assert_eq!(models, [model("gpt-5.2", None, None), model("o3", None, None), model("gpt-4o", None, None)]);
}

#[tokio::test]
async fn gemini_tells_what_a_model_can_do_and_what_it_takes() {
    let model_of = |name: &str, methods: &[&str]| json!({"name": format!("models/{name}"), "displayName": "A model", "inputTokenLimit": 1_048_576, "supportedGenerationMethods": methods});
    let list = json!({"models": [
        model_of("gemini-2.5-pro", &["generateContent", "countTokens"]),
        model_of("gemini-embedding-001", &["embedContent"]),
        model_of("gemini-3-pro", &["generateContent"]),
        model_of("gemini-flash-latest", &["generateContent"]),
    ]});
    let (models, request) = read("gemini", list).await;
    assert_eq!(request.line, "GET /v1beta/models?pageSize=1000 HTTP/1.1");
    let expected = ["gemini-flash-latest", "gemini-3-pro", "gemini-2.5-pro"];
    assert_eq!(models, expected.map(|name| model(name, Some("A model"), Some(1_048_576))));
}

#[tokio::test]
async fn models_of_openrouter_that_cannot_call_tools_are_left_out() {
    let list = json!({"data": [
        {"id": "a/old", "name": "Old", "created": 1, "context_length": 4096, "supported_parameters": ["tools"]},
        {"id": "a/new", "name": "New", "created": 2, "context_length": 8192, "supported_parameters": ["tools"]},
        {"id": "a/plain", "name": "Plain", "created": 3, "supported_parameters": ["temperature"]},
    ]});
    let expected = [model("a/new", Some("New"), Some(8192)), model("a/old", Some("Old"), Some(4096))];
    assert_eq!(read("openrouter", list).await.0, expected);
}

#[tokio::test]
async fn a_local_server_keeps_its_order() {
    let list = json!({"object": "list", "data": [{"id": "b", "created": 1}, {"id": "a", "created": 2, "max_model_len": 32_768}]});
    let (models, request) = read("vllm", list).await;
    assert_eq!(request.line, "GET /v1/models HTTP/1.1");
    assert_eq!(models, [model("b", None, None), model("a", None, Some(32_768))]);
    let list =
        json!({"data": [{"id": "m", "meta": {"n_ctx_train": 131_072, "n_ctx": 8_192}}, {"id": "n", "n_ctx": 4_096}]});
    assert_eq!(read("llamacpp", list).await.0, [model("m", None, Some(8_192)), model("n", None, Some(4_096))]);
}

#[tokio::test]
async fn a_rejected_key_is_named() {
    let body = "{\"error\":{\"type\":\"authentication_error\",\"message\":\"invalid x-api-key\"}}";
    let (listed, _) = ask("anthropic", CannedResponse::json("401 Unauthorized", body)).await;
    let message = "the key in ANTHROPIC_API_KEY was rejected (401): invalid x-api-key";
    assert_eq!(listed, Err(ListError::Request(ModelError::new(FailureKind::Key, message))));
}

#[tokio::test]
async fn a_server_without_a_list_is_an_error_that_says_so() {
    let (listed, _) = ask("openai", CannedResponse::json("404 Not Found", "{}")).await;
    let message = listed.unwrap_err().to_string();
    assert!(
        message.starts_with("openai at 127.0.0.1:") && message.ends_with("has no list of models (404)"),
        "{message}"
    );
    let (listed, _) = ask("ollama", CannedResponse::new("200 OK", "content-type: text/html\r\n", "<html>")).await;
    let message = listed.unwrap_err().to_string();
    assert!(message.ends_with("sent no JSON for /v1/models"), "{message}");
}
