use crate::conversation::{
    SECRET, SYSTEM, any_cut_gives, ask_once, call, fail, no_part_passes_for_the_whole, question_schema, read, text,
    usage,
};
use crate::server::CannedResponse;
use askuser_agent::{Block, FailureKind, ModelEvent};
use serde_json::{Value, json};

const SPEC: &str = "anthropic/claude-test";

const STREAM: &str = r#"event: message_start
data: {"type":"message_start","message":{"id":"msg_01","type":"message","role":"assistant","model":"claude-test","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":472,"cache_creation_input_tokens":20,"cache_read_input_tokens":1000,"output_tokens":2}}}

event: ping
data: {"type": "ping"}

event: content_block_start
data: {"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"Größe "}}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"fehlt."}}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"EqQBCgIYAhIM"}}

event: content_block_stop
data: {"type":"content_block_stop","index":0}

event: content_block_start
data: {"type":"content_block_start","index":1,"content_block":{"type":"redacted_thinking","data":"EmwKAhgB"}}

event: content_block_stop
data: {"type":"content_block_stop","index":1}

event: content_block_start
data: {"type":"content_block_start","index":2,"content_block":{"type":"text","text":""}}

event: content_block_delta
data: {"type":"content_block_delta","index":2,"delta":{"type":"text_delta","text":"Eine Frage "}}

event: content_block_delta
data: {"type":"content_block_delta","index":2,"delta":{"type":"text_delta","text":"vorab 🦀:"}}

event: content_block_stop
data: {"type":"content_block_stop","index":2}

event: content_block_start
data: {"type":"content_block_start","index":3,"content_block":{"type":"tool_use","id":"toolu_01","name":"AskUserQuestion","input":{}}}

event: content_block_delta
data: {"type":"content_block_delta","index":3,"delta":{"type":"input_json_delta","partial_json":""}}

event: content_block_delta
data: {"type":"content_block_delta","index":3,"delta":{"type":"input_json_delta","partial_json":"{\"questions\": [{\"question\": \"Welche Gr"}}

event: content_block_delta
data: {"type":"content_block_delta","index":3,"delta":{"type":"input_json_delta","partial_json":"öße 👩‍👧?\", \"header\": \"\\u00dc\"}]}"}}

event: content_block_stop
data: {"type":"content_block_stop","index":3}

event: content_block_start
data: {"type":"content_block_start","index":4,"content_block":{"type":"tool_use","id":"toolu_02","name":"Now","input":{}}}

event: content_block_stop
data: {"type":"content_block_stop","index":4}

event: message_delta
data: {"type":"message_delta","delta":{"stop_reason":"tool_use","stop_sequence":null},"usage":{"output_tokens":89}}

event: message_stop
data: {"type":"message_stop"}

"#;

fn opaque(value: Value) -> ModelEvent {
    ModelEvent::Opaque(Block::Opaque { provider: "anthropic".into(), value })
}

fn events() -> Vec<ModelEvent> {
    vec![
        usage(1492, 2),
        ModelEvent::Thought("Größe ".into()),
        ModelEvent::Thought("fehlt.".into()),
        opaque(json!({"type": "thinking", "thinking": "Größe fehlt.", "signature": "EqQBCgIYAhIM"})),
        opaque(json!({"type": "redacted_thinking", "data": "EmwKAhgB"})),
        text("Eine Frage "),
        text("vorab 🦀:"),
        ModelEvent::Call(call(
            "toolu_01",
            "AskUserQuestion",
            json!({"questions": [{"question": "Welche Größe 👩‍👧?", "header": "Ü"}]}),
            None,
        )),
        usage(1492, 89),
        ModelEvent::Call(call("toolu_02", "Now", json!({}), None)),
    ]
}

#[tokio::test]
async fn any_split_of_the_stream_gives_the_same_events() {
    any_cut_gives(SPEC, STREAM, &events()).await;
}

#[tokio::test]
async fn no_partial_response_passes_for_a_complete_one() {
    no_part_passes_for_the_whole(SPEC, STREAM, STREAM.find("event: message_delta").unwrap()).await;
}

#[tokio::test]
async fn the_request_has_the_whole_conversation() {
    let (_, _, request) = ask_once(SPEC, CannedResponse::stream(STREAM)).await;
    assert_eq!(request.line, "POST /v1/messages HTTP/1.1");
    assert_eq!(request.header("x-api-key"), Some(SECRET));
    assert_eq!(request.header("anthropic-version"), Some("2023-06-01"));
    assert_eq!(request.header("authorization"), None);
    let cached = json!({"type": "ephemeral"});
    assert_eq!(
        request.body,
        json!({
            "model": "claude-test",
            "max_tokens": 128_000,
            "stream": true,
            "system": [{"type": "text", "text": SYSTEM, "cache_control": cached}],
            "tools": [
                {"name": "AskUserQuestion", "description": "Asks.", "input_schema": question_schema()},
                {"name": "Now", "description": "Tells the time.", "input_schema": {"type": "object", "properties": {}}},
            ],
            "messages": [
                {"role": "user", "content": [{"type": "text", "text": "Grüße 🦀"}]},
                {"role": "assistant", "content": [
                    {"type": "thinking", "thinking": "Hm.", "signature": "EqQB"},
                    {"type": "text", "text": "I will ask."},
                    {"type": "tool_use", "id": "toolu_1", "name": "AskUserQuestion", "input": {"questions": [{"header": "Größe"}]}},
                    {"type": "tool_use", "id": "call_3a2", "name": "Now", "input": {}},
                ]},
                {"role": "user", "content": [
                    {"type": "tool_result", "tool_use_id": "toolu_1", "content": "The user chose: groß"},
                    {"type": "tool_result", "tool_use_id": "call_3a2", "content": "The input is no JSON.", "is_error": true},
                    {"type": "text", "text": "And?"},
                    {"type": "text", "text": "Go on.", "cache_control": cached},
                ]},
            ],
        })
    );
}

fn stopped(blocks: &str, reason: &str) -> String {
    let begin = r#"{"type":"message_start","message":{"usage":{"input_tokens":1,"output_tokens":1}}}"#;
    let delta =
        format!(r#"{{"type":"message_delta","delta":{{"stop_reason":"{reason}"}},"usage":{{"output_tokens":2}}}}"#);
    let events = [begin].into_iter().chain(blocks.lines()).chain([&*delta, r#"{"type":"message_stop"}"#]);
    events.map(|event| format!("data: {event}\n\n")).collect()
}

const TEXT: &str = r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":"Well"}}
{"type":"content_block_stop","index":0}"#;

fn called(json: &str) -> String {
    let json = serde_json::to_string(json).unwrap();
    format!(
        r#"{{"type":"content_block_start","index":1,"content_block":{{"type":"tool_use","id":"t","name":"Now","input":{{}}}}}}
{{"type":"content_block_delta","index":1,"delta":{{"type":"input_json_delta","partial_json":{json}}}}}
{{"type":"content_block_stop","index":1}}"#
    )
}

#[tokio::test]
async fn a_tool_call_truncated_by_the_token_limit_is_marked() {
    for cut in ["", "{\"zone\": \"Eur"] {
        let events = read(SPEC, &stopped(&called(cut), "max_tokens")).await;
        let truncated = ModelEvent::TruncatedCall(call("t", "Now", json!(cut), None));
        assert_eq!(events, [usage(1, 1), usage(1, 2), truncated]);
    }
}

#[tokio::test]
async fn a_tool_call_truncated_by_the_context_window_is_an_error() {
    let (kind, message) = fail(SPEC, &stopped(&called("{\"zone\": "), "model_context_window_exceeded")).await;
    assert_eq!(kind, FailureKind::ContextTooLong);
    assert!(message.ends_with("the context window was full inside a call of Now"), "{message}");
}

#[tokio::test]
async fn a_tool_call_without_its_end_is_an_error() {
    let begun = called("{}").lines().take(2).collect::<Vec<_>>().join("\n");
    assert_eq!(
        fail(SPEC, &stopped(&begun, "tool_use")).await,
        (
            FailureKind::Network,
            "the response of anthropic was interrupted: it ended before the response was complete".into()
        )
    );
}

#[tokio::test]
async fn a_complete_tool_call_before_the_token_limit_counts() {
    let events = read(SPEC, &stopped(&called("{\"zone\": 1}"), "max_tokens")).await;
    let now = ModelEvent::Call(call("t", "Now", json!({"zone": 1}), None));
    assert_eq!(events, [usage(1, 1), now, usage(1, 2)]);
}

#[tokio::test]
async fn text_truncated_by_a_limit_is_kept_and_marked() {
    for reason in ["max_tokens", "model_context_window_exceeded"] {
        let events = read(SPEC, &stopped(TEXT, reason)).await;
        assert_eq!(events, [usage(1, 1), text("Well"), usage(1, 2), ModelEvent::Truncated], "{reason}");
    }
}

#[tokio::test]
async fn complete_text_is_not_marked_as_truncated() {
    for reason in ["end_turn", "stop_sequence"] {
        let events = read(SPEC, &stopped(TEXT, reason)).await;
        assert_eq!(events, [usage(1, 1), text("Well"), usage(1, 2)], "{reason}");
    }
}

#[tokio::test]
async fn text_before_a_complete_tool_call_is_not_marked_as_truncated() {
    let blocks = format!("{TEXT}\n{}", called("{\"zone\": 1}"));
    let now = ModelEvent::Call(call("t", "Now", json!({"zone": 1}), None));
    assert_eq!(read(SPEC, &stopped(&blocks, "max_tokens")).await, [usage(1, 1), text("Well"), now, usage(1, 2)]);
}

#[tokio::test]
async fn an_input_that_is_no_json_is_kept_so_that_the_tool_rejects_it() {
    let events = read(SPEC, &stopped(&called("{\"zone\": }"), "tool_use")).await;
    assert_eq!(events[2], ModelEvent::Call(call("t", "Now", json!("{\"zone\": }"), None)));
}

#[tokio::test]
async fn a_refusal_is_an_error() {
    assert_eq!(
        fail(SPEC, &stopped(TEXT, "refusal")).await,
        (FailureKind::Rejected, "anthropic aborted the response: the model refused to respond (refusal)".into())
    );
}

#[tokio::test]
async fn an_error_in_the_stream_comes_after_the_events_before_it() {
    let stream = "event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"Well\"}}\n\nevent: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}\n\n";
    let (events, error, _) = ask_once(SPEC, CannedResponse::stream(stream)).await;
    let error = error.unwrap();
    assert_eq!(events, [text("Well")]);
    assert_eq!(
        (error.kind, error.message.as_str()),
        (FailureKind::Overloaded, "anthropic is overloaded or has failed: Overloaded")
    );
}

#[tokio::test]
async fn a_response_that_does_not_stream_reads_the_same() {
    let thinking = json!({"type": "thinking", "thinking": "Hm.", "signature": "s"});
    let body = json!({
        "type": "message", "role": "assistant", "stop_reason": "tool_use", "usage": {"input_tokens": 3, "output_tokens": 2},
        "content": [thinking, {"type": "text", "text": "Hi"}, {"type": "tool_use", "id": "a", "name": "Now", "input": {}}],
    });
    let (events, error, _) = ask_once(SPEC, CannedResponse::json("200 OK", body.to_string())).await;
    let kept = ModelEvent::Opaque(Block::Opaque { provider: "anthropic".into(), value: thinking });
    let now = ModelEvent::Call(call("a", "Now", json!({}), None));
    assert_eq!(error, None);
    assert_eq!(events, [ModelEvent::Thought("Hm.".into()), kept, text("Hi"), usage(3, 2), now]);
}
