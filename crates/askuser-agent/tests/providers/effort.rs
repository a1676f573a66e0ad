//! The effort of reasoning. Providers, and generations of their models, have different options for it.

use crate::conversation::{ask, call};
use crate::server::{CannedResponse, Server};
use askuser_agent::provider::{Effort, ProviderConfig, connect};
use askuser_agent::{Block, CallResult, Message, ModelRequest};
use futures_util::StreamExt;
use serde_json::{Value, json};

/// Returns the bodies of the requests that a model sends with this effort.
async fn sent(spec: &str, effort: Option<Effort>, responses: Vec<CannedResponse>) -> Vec<Value> {
    let server = Server::start(responses).await;
    let environment = |_: &str| None;
    let config = ProviderConfig::new(&environment).with_base_url(Some(server.url.clone())).with_effort(effort);
    let model = connect(spec, &config).unwrap_or_else(|error| panic!("{error}"));
    ask(&*model).await;
    server.requests().into_iter().map(|request| request.body).collect()
}

#[track_caller]
fn check(body: &Value, expected: &[(&str, Value)]) {
    for (pointer, value) in expected {
        assert_eq!(body.pointer(pointer).unwrap_or(&Value::Null), value, "{pointer}");
    }
}

async fn is_sent(spec: &str, effort: Option<Effort>, expected: &[(&str, Value)]) {
    check(&sent(spec, effort, vec![CannedResponse::stream("")]).await[0], expected);
}

#[tokio::test]
async fn a_current_model_of_anthropic_decides_itself_guided_by_the_effort() {
    let thinking = json!({"type": "adaptive", "display": "summarized"});
    let expected = [("/thinking", thinking), ("/output_config", json!({"effort": "medium"}))];
    is_sent("anthropic/claude-opus-4-7", Some(Effort::Medium), &expected).await;
}

#[tokio::test]
async fn an_earlier_model_of_anthropic_gets_a_budget_below_its_limit() {
    for (model, effort, budget) in [
        ("claude-sonnet-4-5", Effort::Low, 4_000),
        ("claude-sonnet-4-5", Effort::High, 32_000),
        ("claude-opus-4-1", Effort::High, 16_000),
    ] {
        let thinking = json!({"type": "enabled", "budget_tokens": budget});
        let expected = [("/thinking", thinking), ("/output_config", Value::Null)];
        is_sent(&format!("anthropic/{model}"), Some(effort), &expected).await;
    }
}

#[tokio::test]
async fn a_model_that_does_not_think_is_not_told_to() {
    let nothing = [("/thinking", Value::Null), ("/output_config", Value::Null)];
    is_sent("anthropic/claude-3-5-haiku-latest", Some(Effort::High), &nothing).await;
    is_sent("gemini/gemini-2.0-flash", Some(Effort::High), &[("/generationConfig", Value::Null)]).await;
}

#[tokio::test]
async fn without_an_effort_thinking_is_left_to_the_provider() {
    is_sent("anthropic/claude-opus-4-7", None, &[("/thinking", Value::Null), ("/output_config", Value::Null)]).await;
    is_sent("openai-chat/gpt-5", None, &[("/reasoning_effort", Value::Null)]).await;
    is_sent("gemini/gemini-3-pro", None, &[("/generationConfig/thinkingConfig", json!({"includeThoughts": true}))])
        .await;
}

#[tokio::test]
async fn chat_completions_have_two_names_for_it() {
    is_sent("openai-chat/gpt-5", Some(Effort::High), &[("/reasoning_effort", json!("high"))]).await;
    is_sent("ollama/gpt-oss", Some(Effort::Low), &[("/reasoning_effort", json!("low"))]).await;
    is_sent("openrouter/a/b", Some(Effort::Low), &[("/reasoning", json!({"effort": "low"}))]).await;
}

#[tokio::test]
async fn gemini_has_levels_and_before_them_budgets() {
    let level = json!({"includeThoughts": true, "thinkingLevel": "low"});
    is_sent("gemini/gemini-3-pro", Some(Effort::Low), &[("/generationConfig/thinkingConfig", level)]).await;
    let budget = json!({"includeThoughts": true, "thinkingBudget": 8192});
    is_sent("gemini/gemini-2.5-pro", Some(Effort::Medium), &[("/generationConfig/thinkingConfig", budget)]).await;
}

#[tokio::test]
async fn the_highest_efforts_are_said_where_they_are_names_and_are_as_much_as_there_is_elsewhere() {
    for (effort, name) in [(Effort::XHigh, "xhigh"), (Effort::Max, "max")] {
        let effort = Some(effort);
        is_sent("anthropic/claude-opus-4-7", effort, &[("/output_config", json!({"effort": name}))]).await;
        is_sent("openai/gpt-6", effort, &[("/reasoning/effort", json!(name))]).await;
        is_sent("openai-chat/gpt-6", effort, &[("/reasoning_effort", json!(name))]).await;
        is_sent("openrouter/a/b", effort, &[("/reasoning", json!({"effort": name}))]).await;
        is_sent("anthropic/claude-sonnet-4-5", effort, &[("/thinking/budget_tokens", json!(32_000))]).await;
        is_sent("gemini/gemini-2.5-pro", effort, &[("/generationConfig/thinkingConfig/thinkingBudget", json!(24_576))])
            .await;
        is_sent("gemini/gemini-3-pro", effort, &[("/generationConfig/thinkingConfig/thinkingLevel", json!("high"))])
            .await;
    }
}

#[tokio::test]
async fn a_model_that_does_not_know_the_highest_efforts_gets_the_next_lower_one() {
    let refuse = |value: &str| rejected(&format!("Unsupported value: 'reasoning_effort' does not support '{value}'"));
    let responses = vec![refuse("max"), refuse("xhigh"), CannedResponse::stream("")];
    let bodies = sent("openai-chat/gpt-6", Some(Effort::Max), responses).await;
    let efforts: Vec<&Value> = bodies.iter().map(|body| &body["reasoning_effort"]).collect();
    assert_eq!(efforts, ["max", "xhigh", "high"]);
}

#[tokio::test]
async fn a_model_does_not_begin_to_think_between_a_call_and_its_result() {
    let messages = [
        Message::User { text: "What time is it?".into() },
        Message::Assistant { content: vec![Block::Call(call("a", "Now", json!({}), None))] },
        Message::Results {
            results: vec![CallResult { id: "a".into(), name: "Now".into(), output: "noon".into(), is_error: false }],
        },
    ];
    let server = Server::start([CannedResponse::stream("")]).await;
    let environment = |_: &str| None;
    let base_url = Some(server.url.clone());
    let effort = Some(Effort::High);
    let config = ProviderConfig::new(&environment).with_base_url(base_url).with_effort(effort);
    let model = connect("anthropic/claude-sonnet-4-5", &config).unwrap_or_else(|error| panic!("{error}"));
    model.respond(ModelRequest::new("", &messages, &[])).collect::<Vec<_>>().await;
    check(&server.request().body, &[("/thinking", Value::Null)]);
}

fn rejected(message: &str) -> CannedResponse {
    let error = json!({"type": "invalid_request_error", "message": message});
    CannedResponse::json("400 Bad Request", json!({"type": "error", "error": error}).to_string())
}

#[tokio::test]
async fn a_model_that_rejects_the_effort_gets_none() {
    for (spec, message, pointers) in [
        (
            "anthropic/claude-new",
            "adaptive thinking is not supported on this model",
            ["/thinking", "/output_config"].as_slice(),
        ),
        ("anthropic/claude-new", "output_config.effort: Extra inputs are not permitted", &["/thinking"]),
        ("openai-chat/gpt-4o", "Unrecognized request argument supplied: reasoning_effort", &["/reasoning_effort"]),
        (
            "gemini/gemini-3-pro",
            "Thinking level MEDIUM is not supported for this model.",
            &["/generationConfig/thinkingConfig/thinkingLevel"],
        ),
        ("gemini/gemini-9", "Thinking is not enabled for this model.", &["/generationConfig"]),
    ] {
        let bodies = sent(spec, Some(Effort::Medium), vec![rejected(message), CannedResponse::stream("")]).await;
        assert_eq!(bodies.len(), 2, "{message}");
        for pointer in pointers {
            assert!(bodies[0].pointer(pointer).is_some(), "{pointer}");
            assert_eq!(bodies[1].pointer(pointer), None, "{pointer}");
        }
    }
}

#[tokio::test]
async fn thoughts_whose_signature_is_not_accepted_are_left_out() {
    let invalid = rejected("messages.1.content.0: Invalid `signature` in `thinking` block");
    let bodies = sent("anthropic/claude-new", None, vec![invalid, CannedResponse::stream("")]).await;
    let types = |body: &Value| -> Vec<Value> {
        let content = body["messages"][1]["content"].as_array().cloned().unwrap_or_default();
        content.into_iter().map(|block| block["type"].clone()).collect()
    };
    assert_eq!(types(&bodies[0]), ["thinking", "text", "tool_use", "tool_use"]);
    assert_eq!(types(&bodies[1]), ["text", "tool_use", "tool_use"]);
}
