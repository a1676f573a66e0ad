//! A conversation with every kind of message, and the checks that every provider must pass.

use crate::server::{CannedResponse, Request, Server};
use askuser_agent::provider::{ProviderConfig, connect};
use askuser_agent::{
    Block, CallResult, FailureKind, Message, Model, ModelError, ModelEvent, ModelRequest, ToolCall, ToolDefinition,
};
use futures_util::StreamExt;
use serde_json::{Value, json};
use std::sync::Arc;

pub(crate) const SECRET: &str = "sk-test-0123456789-secret";
pub(crate) const SYSTEM: &str = "Be brief. Ask when in doubt.";

/// Returns a model at this address, with an API key.
pub(crate) fn model_at(spec: &str, url: &str) -> Arc<dyn Model> {
    let environment = |name: &str| name.ends_with("_API_KEY").then(|| SECRET.to_owned());
    let config = ProviderConfig::new(&environment).with_base_url(Some(url.to_owned()));
    connect(spec, &config).unwrap_or_else(|error| panic!("{error}"))
}

pub(crate) fn question_schema() -> Value {
    json!({
        "type": "object",
        "properties": {"questions": {"type": "array", "minItems": 1, "maxItems": 4, "items": {"type": "object"}}},
        "required": ["questions"],
        "additionalProperties": false,
    })
}

pub(crate) fn tools() -> Vec<ToolDefinition> {
    let definition = |name: &str, description: &str, schema| ToolDefinition::new(name, description, schema);
    vec![
        definition("AskUserQuestion", "Asks.", question_schema()),
        definition("Now", "Tells the time.", json!({"type": "object", "properties": {}})),
    ]
}

pub(crate) fn call(id: &str, name: &str, input: Value, extra: Option<Value>) -> ToolCall {
    ToolCall { id: id.into(), name: name.into(), input, extra }
}

/// Returns the conversation. It has two calls, one of them with invalid input, the thoughts of four providers, an empty
/// response, and two consecutive messages.
pub(crate) fn messages() -> Vec<Message> {
    let opaque = |provider: &str, value| Block::Opaque { provider: provider.into(), value };
    let signed = json!({"gemini": {"id": "own-1", "thoughtSignature": "c2ln"}});
    let result = |id: &str, name: &str, output: &str, is_error| CallResult {
        id: id.into(),
        name: name.into(),
        output: output.into(),
        is_error,
    };
    vec![
        Message::User { text: "Grüße 🦀".into() },
        Message::Assistant {
            content: vec![
                opaque("anthropic", json!({"type": "thinking", "thinking": "Hm.", "signature": "EqQB"})),
                opaque("openrouter", json!({"reasoning_details": [{"type": "reasoning.encrypted", "data": "ZW5j"}]})),
                opaque(
                    "openai",
                    json!({"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "Z0FB"}),
                ),
                opaque("gemini", json!({"thoughtSignature": "dGV4dA=="})),
                Block::Text { text: "I will ask.".into() },
                Block::Call(call(
                    "toolu_1",
                    "AskUserQuestion",
                    json!({"questions": [{"header": "Größe"}]}),
                    Some(signed),
                )),
                Block::Call(call("call:2", "Now", json!("{\"zone\":"), None)),
            ],
        },
        Message::Results {
            results: vec![
                result("toolu_1", "AskUserQuestion", "The user chose: groß", false),
                result("call:2", "Now", "The input is no JSON.", true),
            ],
        },
        Message::User { text: "And?".into() },
        Message::Assistant { content: vec![opaque("anthropic", json!({"type": "redacted_thinking", "data": "x"}))] },
        Message::User { text: "Go on.".into() },
    ]
}

/// Requests a response to the whole conversation. Returns the events and the error.
pub(crate) async fn ask(model: &dyn Model) -> (Vec<ModelEvent>, Option<ModelError>) {
    let messages = messages();
    let tools = tools();
    let request = ModelRequest::new(SYSTEM, &messages, &tools);
    let mut response = model.respond(request);
    let mut events = Vec::new();
    let mut error = None;
    while let Some(next) = response.next().await {
        assert_eq!(error, None, "nothing comes after an error");
        match next {
            Ok(event) => events.push(event),
            Err(failed) => error = Some(failed),
        }
    }
    (events, error)
}

/// Requests one response. Returns its events, its error, and the request that the server got.
pub(crate) async fn ask_once(spec: &str, response: CannedResponse) -> (Vec<ModelEvent>, Option<ModelError>, Request) {
    let server = Server::start([response]).await;
    let (events, error) = ask(&*model_at(spec, &server.url)).await;
    (events, error, server.request())
}

/// Returns the events of a complete stream.
pub(crate) async fn read(spec: &str, stream: &str) -> Vec<ModelEvent> {
    let (events, error, _) = ask_once(spec, CannedResponse::stream(stream)).await;
    assert_eq!(error, None);
    events
}

/// Returns the error at the end of a stream.
pub(crate) async fn fail(spec: &str, stream: &str) -> (FailureKind, String) {
    let (_, error, _) = ask_once(spec, CannedResponse::stream(stream)).await;
    let error = error.expect("an error");
    (error.kind, error.message)
}

/// Asserts that a stream gives the same events wherever its bytes are split.
pub(crate) async fn any_cut_gives(spec: &str, stream: &str, expected: &[ModelEvent]) {
    let bytes = stream.as_bytes().to_vec();
    let whole = CannedResponse { chunks: Vec::new(), ..CannedResponse::stream("") };
    let single = CannedResponse { chunks: bytes.iter().map(|byte| vec![*byte]).collect(), ..whole.clone() };
    let length = bytes.len();
    let cuts = (0..length)
        .map(move |i| CannedResponse { chunks: vec![bytes[..i].to_vec(), bytes[i..].to_vec()], ..whole.clone() });
    let server = Server::start(std::iter::once(single).chain(cuts)).await;
    let model = model_at(spec, &server.url);
    for i in 0..=length {
        assert_eq!(ask(&*model).await, (expected.to_vec(), None), "cut {i}");
    }
}

/// Asserts that a response is incomplete if it ends anywhere before its final event.
pub(crate) async fn no_part_passes_for_the_whole(spec: &str, stream: &str, finished_at: usize) {
    let bytes = stream.as_bytes()[..finished_at].to_vec();
    let part = CannedResponse { chunks: Vec::new(), ..CannedResponse::stream("") };
    let parts = (0..finished_at).map(move |i| CannedResponse { chunks: vec![bytes[..i].to_vec()], ..part.clone() });
    let server = Server::start(parts).await;
    let model = model_at(spec, &server.url);
    for i in 0..finished_at {
        let (_, error) = ask(&*model).await;
        assert_eq!(error.map(|error| error.kind), Some(FailureKind::Network), "cut {i}");
    }
}

pub(crate) fn text(text: &str) -> ModelEvent {
    ModelEvent::Text(text.into())
}

pub(crate) fn usage(input_tokens: u64, output_tokens: u64) -> ModelEvent {
    ModelEvent::Usage(askuser_agent::Usage::new(input_tokens, output_tokens))
}
