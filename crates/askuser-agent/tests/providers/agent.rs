//! The agent with a provider: requests that are worth a retry are retried.

use crate::conversation::model_at;
use crate::server::{CannedResponse, Server};
use askuser_agent::{Agent, AgentEvent, Failure, FailureKind, Script, Usage};
use futures_util::StreamExt;
use std::time::Duration;

const STREAM: &str = r#"data: {"type":"message_start","message":{"usage":{"input_tokens":3,"output_tokens":1}}}

data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}

data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Done."}}

data: {"type":"content_block_stop","index":0}

data: {"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":2}}

data: {"type":"message_stop"}

"#;

async fn run(responses: Vec<CannedResponse>) -> (Vec<AgentEvent>, usize) {
    run_with("anthropic/m", responses).await
}

async fn run_with(spec: &str, responses: Vec<CannedResponse>) -> (Vec<AgentEvent>, usize) {
    let server = Server::start(responses).await;
    let mut agent = Agent::new(Script::default()).with_retries(5, Duration::from_millis(1));
    agent.set_model(model_at(spec, &server.url));
    let events = agent.run("Hello").filter(|event| std::future::ready(!matches!(event, AgentEvent::Context { .. })));
    let events = events.collect().await;
    (events, server.requests().len())
}

fn answered() -> Vec<AgentEvent> {
    vec![
        AgentEvent::TextDelta { text: "Done.".into() },
        AgentEvent::TextEnd,
        AgentEvent::Text { text: "Done.".into() },
        AgentEvent::Usage { usage: Usage::new(3, 2) },
        AgentEvent::Done { text: "Done.".into() },
    ]
}

#[tokio::test]
async fn a_request_to_an_overloaded_provider_is_retried() {
    let overloaded = CannedResponse::json(
        "529 Overloaded",
        "{\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}",
    );
    let (events, requests) = run(vec![overloaded, CannedResponse::stream(STREAM)]).await;
    let error = Failure::new(FailureKind::Overloaded, "anthropic is overloaded or has failed (529): Overloaded");
    assert!(matches!(&events[0], AgentEvent::Retry { error: events, .. } if *events == error), "{events:?}");
    assert_eq!((&events[1..], requests), (&*answered(), 2));
}

#[tokio::test]
async fn a_retry_waits_as_long_as_the_provider_asks() {
    let limited = CannedResponse::new("429 Too Many Requests", "retry-after: 0\r\n", "");
    let (events, requests) = run(vec![limited, CannedResponse::stream(STREAM)]).await;
    let error = Failure::new(FailureKind::RateLimited, "anthropic rate limit reached (429): Too Many Requests");
    let mut expected = vec![AgentEvent::Retry { error, after_ms: 0 }];
    expected.extend(answered());
    assert_eq!((events, requests), (expected, 2));
}

#[tokio::test]
async fn an_interrupted_response_is_retried() {
    let part = &STREAM[..STREAM.find("data: {\"type\":\"content_block_stop\"").unwrap()];
    let (events, requests) = run(vec![CannedResponse::stream(part), CannedResponse::stream(STREAM)]).await;
    assert_eq!(events[0], AgentEvent::TextDelta { text: "Done.".into() });
    assert!(matches!(&events[1], AgentEvent::Retry { error, .. } if error.kind == FailureKind::Network), "{events:?}");
    assert_eq!((&events[2..], requests), (&*answered(), 2));
}

#[tokio::test]
async fn a_rejected_key_is_not_retried() {
    let refused = CannedResponse::json(
        "401 Unauthorized",
        "{\"error\":{\"type\":\"authentication_error\",\"message\":\"invalid x-api-key\"}}",
    );
    let (events, requests) = run(vec![refused, CannedResponse::stream(STREAM)]).await;
    let error = Failure::new(FailureKind::Key, "the key in ANTHROPIC_API_KEY was rejected (401): invalid x-api-key");
    assert_eq!((events, requests), (vec![AgentEvent::Error { error }], 1));
}

#[tokio::test]
async fn a_server_that_sends_no_events_is_not_retried() {
    let other = CannedResponse::new("200 OK", "content-type: application/x-ndjson\r\n", "{\"done\":true}\n");
    let (events, requests) = run(vec![other, CannedResponse::stream(STREAM)]).await;
    let is_protocol =
        |event: &AgentEvent| matches!(event, AgentEvent::Error { error } if error.kind == FailureKind::Protocol);
    assert_eq!((events.iter().map(is_protocol).collect::<Vec<_>>(), requests), (vec![true], 1), "{events:?}");
}

#[tokio::test]
async fn a_truncated_response_is_kept_and_a_notice_says_so() {
    let (events, _) = run(vec![CannedResponse::stream(STREAM.replace("end_turn", "max_tokens"))]).await;
    let mut expected = answered();
    let message = "the answer was cut off at the limit of its length: ask for the rest, or raise max_tokens".into();
    expected.insert(4, AgentEvent::Notice { message });
    assert_eq!(events, expected);
}

#[tokio::test]
async fn a_malformed_call_of_gemini_is_retried_a_few_times() {
    let malformed =
        CannedResponse::stream("data: {\"candidates\":[{\"finishReason\":\"MALFORMED_FUNCTION_CALL\"}]}\n\n");
    let good = CannedResponse::stream(
        "data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"Done.\"}]},\"finishReason\":\"STOP\"}]}\n\n",
    );
    let (events, requests) = run_with("gemini/m", vec![malformed.clone(), malformed.clone(), good]).await;
    assert_eq!((events.last(), requests), (Some(&AgentEvent::Done { text: "Done.".into() }), 3));
    let (events, requests) = run_with("gemini/m", vec![malformed; 9]).await;
    let kind = events
        .last()
        .map(|event| matches!(event, AgentEvent::Error { error } if error.kind == FailureKind::Overloaded));
    assert_eq!((kind, requests), (Some(true), 4));
}
