use crate::conversation::{
    SECRET, SYSTEM, any_cut_gives, ask_once, call, fail, model_at, no_part_passes_for_the_whole, question_schema, read,
    text, usage,
};
use crate::server::{CannedResponse, Server};
use askuser_agent::{Block, FailureKind, Message, ModelEvent, ModelRequest};
use futures_util::StreamExt;
use serde_json::json;

const SPEC: &str = "gemini/gemini-3-test";

const STREAM: &str = "data: {\"candidates\": [{\"content\": {\"parts\": [{\"text\": \"**Thinking**\",\"thought\": true}],\"role\": \"model\"},\"index\": 0}],\"usageMetadata\": {\"promptTokenCount\": 217,\"totalTokenCount\": 230,\"thoughtsTokenCount\": 13},\"modelVersion\": \"gemini-3-test\"}\r\n\r\ndata: {\"candidates\": [{\"content\": {\"parts\": [{\"text\": \"Eine Frage \"}],\"role\": \"model\"},\"index\": 0}],\"modelVersion\": \"gemini-3-test\"}\r\n\r\ndata: {\"candidates\": [{\"content\": {\"parts\": [{\"text\": \"vorab 🦀:\",\"thoughtSignature\": \"dGV4dA==\"}],\"role\": \"model\"},\"index\": 0}],\"modelVersion\": \"gemini-3-test\"}\r\n\r\ndata: {\"candidates\": [{\"content\": {\"parts\": [{\"functionCall\": {\"name\": \"AskUserQuestion\",\"args\": {\"questions\": [{\"question\": \"Welche Größe 👩\u{200d}👧?\",\"header\": \"\\u00dc\"}]},\"id\": \"own-9\"},\"thoughtSignature\": \"c2ln\"},{\"functionCall\": {\"name\": \"Now\"}}],\"role\": \"model\"},\"index\": 0}],\"modelVersion\": \"gemini-3-test\"}\r\n\r\ndata: {\"candidates\": [{\"content\": {\"parts\": [{\"text\": \"\"}],\"role\": \"model\"},\"finishReason\": \"STOP\",\"index\": 0}],\"usageMetadata\": {\"promptTokenCount\": 217,\"candidatesTokenCount\": 40,\"totalTokenCount\": 270,\"thoughtsTokenCount\": 13},\"modelVersion\": \"gemini-3-test\"}\r\n\r\n";

#[tokio::test]
async fn any_split_of_the_stream_gives_the_same_events() {
    let question = json!({"questions": [{"question": "Welche Größe 👩‍👧?", "header": "Ü"}]});
    let signed = json!({"gemini": {"id": "own-9", "thoughtSignature": "c2ln"}});
    let value = json!({"thoughtSignature": "dGV4dA==", "signed_bytes": "vorab 🦀:".len()});
    let events = [
        usage(217, 13),
        ModelEvent::Thought("**Thinking**".into()),
        text("Eine Frage "),
        text("vorab 🦀:"),
        ModelEvent::Opaque(Block::Opaque { provider: "gemini".into(), value }),
        ModelEvent::Call(call("own-9", "AskUserQuestion", question, Some(signed))),
        ModelEvent::Call(call("call_2", "Now", json!({}), None)),
        usage(217, 53),
    ];
    any_cut_gives(SPEC, STREAM, &events).await;
}

#[tokio::test]
async fn no_partial_response_passes_for_a_complete_one() {
    no_part_passes_for_the_whole(SPEC, STREAM, STREAM.find("\"finishReason\"").unwrap()).await;
}

#[tokio::test]
async fn the_request_has_the_whole_conversation() {
    let (_, _, request) = ask_once(SPEC, CannedResponse::stream(STREAM)).await;
    assert_eq!(request.line, "POST /v1beta/models/gemini-3-test:streamGenerateContent?alt=sse HTTP/1.1");
    assert_eq!(request.header("x-goog-api-key"), Some(SECRET));
    assert_eq!(
        request.body,
        json!({
            "contents": [
                {"role": "user", "parts": [{"text": "Grüße 🦀"}]},
                {"role": "model", "parts": [
                    {"text": "", "thoughtSignature": "dGV4dA=="},
                    {"text": "I will ask."},
                    {
                        "functionCall": {"name": "AskUserQuestion", "args": {"questions": [{"header": "Größe"}]}, "id": "own-1"},
                        "thoughtSignature": "c2ln",
                    },
                    {"functionCall": {"name": "Now", "args": {}}},
                ]},
                {"role": "user", "parts": [
                    {"functionResponse": {"name": "AskUserQuestion", "response": {"output": "The user chose: groß"}, "id": "own-1"}},
                    {"functionResponse": {"name": "Now", "response": {"error": "The input is no JSON."}}},
                ]},
                {"role": "user", "parts": [{"text": "And?"}]},
                {"role": "user", "parts": [{"text": "Go on."}]},
            ],
            "generationConfig": {"thinkingConfig": {"includeThoughts": true}},
            "systemInstruction": {"parts": [{"text": SYSTEM}]},
            "tools": [{"functionDeclarations": [
                {"name": "AskUserQuestion", "description": "Asks.", "parametersJsonSchema": question_schema()},
                {"name": "Now", "description": "Tells the time."},
            ]}],
        })
    );
}

fn finished(reason: &str, parts: &str) -> String {
    format!(
        "data: {{\"candidates\":[{{\"content\":{{\"parts\":[{parts}]}},\"finishReason\":\"{reason}\",\"finishMessage\":\"Because.\"}}]}}\n\n"
    )
}

#[tokio::test]
async fn only_the_reason_stop_completes_a_response() {
    for (reason, kind) in [
        ("SAFETY", FailureKind::Rejected),
        ("PROHIBITED_CONTENT", FailureKind::Rejected),
        ("SOMETHING_NEW", FailureKind::Rejected),
        ("MALFORMED_FUNCTION_CALL", FailureKind::Overloaded),
        ("UNEXPECTED_TOOL_CALL", FailureKind::Overloaded),
        ("TOO_MANY_TOOL_CALLS", FailureKind::Protocol),
    ] {
        let expected = (kind, format!("gemini aborted the response: {reason}: Because."));
        assert_eq!(fail(SPEC, &finished(reason, "{\"text\":\"Hi\"}")).await, expected);
    }
}

#[tokio::test]
async fn a_response_of_thoughts_only_is_an_error() {
    assert_eq!(
        fail(SPEC, &finished("MAX_TOKENS", "{\"text\":\"Hm\",\"thought\":true}")).await,
        (
            FailureKind::Rejected,
            "the response of gemini/gemini-3-test reached its token limit before any output: raise max_tokens".into()
        )
    );
}

#[tokio::test]
async fn text_truncated_by_the_token_limit_is_kept_and_marked() {
    assert_eq!(read(SPEC, &finished("MAX_TOKENS", "{\"text\":\"Hi\"}")).await, [text("Hi"), ModelEvent::Truncated]);
}

#[tokio::test]
async fn a_complete_tool_call_before_the_token_limit_counts() {
    let parts = "{\"text\":\"Hi\"},{\"functionCall\":{\"name\":\"Now\"}}";
    let now = ModelEvent::Call(call("call_1", "Now", json!({}), None));
    assert_eq!(read(SPEC, &finished("MAX_TOKENS", parts)).await, [text("Hi"), now]);
}

#[tokio::test]
async fn a_response_may_come_without_streaming() {
    let response = json!({"candidates": [{"content": {"parts": [{"text": "Hi"}]}, "finishReason": "STOP"}]});
    let (events, error, _) = ask_once(SPEC, CannedResponse::json("200 OK", response.to_string())).await;
    assert_eq!((events, error), (vec![text("Hi")], None));
}

#[tokio::test]
async fn a_blocked_prompt_is_rejected() {
    assert_eq!(
        fail(SPEC, "data: {\"promptFeedback\":{\"blockReason\":\"SAFETY\"}}\n\n").await,
        (FailureKind::Rejected, "gemini rejected the request: the prompt was blocked (SAFETY)".into())
    );
}

#[tokio::test]
async fn an_error_in_the_stream_is_an_error() {
    let failure =
        "data: {\"error\":{\"code\":503,\"message\":\"The model is overloaded.\",\"status\":\"UNAVAILABLE\"}}\n\n";
    assert_eq!(
        fail(SPEC, failure).await,
        (FailureKind::Overloaded, "gemini is overloaded or has failed (503): The model is overloaded.".into())
    );
}

#[tokio::test]
async fn a_call_of_another_model_gets_the_placeholder_signature() {
    use askuser_agent::{CallResult, Message, ModelRequest};
    use futures_util::StreamExt;
    let foreign = |id: &str| Block::Call(call(id, "Now", json!({}), None));
    let result = |id: &str| CallResult { id: id.into(), name: "Now".into(), output: "noon".into(), is_error: false };
    let messages = [
        Message::Assistant { content: vec![foreign("a"), foreign("b")] },
        Message::Results { results: vec![result("a"), result("b")] },
    ];
    for (model, signature) in
        [("gemini-3-test", json!("skip_thought_signature_validator")), ("gemini-2.5-pro", json!(null))]
    {
        let server = crate::server::Server::start([CannedResponse::stream(STREAM)]).await;
        let model = crate::conversation::model_at(&format!("gemini/{model}"), &server.url);
        let request = ModelRequest::new("", &messages, &[]);
        model.respond(request).collect::<Vec<_>>().await;
        let body = server.request().body;
        let parts = &body["contents"][0]["parts"];
        assert_eq!((&parts[0]["thoughtSignature"], &parts[1]["thoughtSignature"]), (&signature, &json!(null)));
    }
}

#[tokio::test]
async fn the_signature_of_a_text_part_goes_back_with_that_part() {
    let opaque = |value| Block::Opaque { provider: "gemini".into(), value };
    for (signed_bytes, parts) in [
        (2, json!([{"text": "A"}, {"text": "é", "thoughtSignature": "s"}])),
        (3, json!([{"text": "Aé", "thoughtSignature": "s"}])),
        (0, json!([{"text": "Aé"}, {"text": "", "thoughtSignature": "s"}])),
        // The length of the signed text was changed by hand in the transcript.
        (1, json!([{"text": "Aé"}, {"text": "", "thoughtSignature": "s"}])),
        (9, json!([{"text": "Aé"}, {"text": "", "thoughtSignature": "s"}])),
    ] {
        let value = json!({"thoughtSignature": "s", "signed_bytes": signed_bytes});
        let messages = [Message::Assistant { content: vec![Block::Text { text: "Aé".into() }, opaque(value)] }];
        let server = Server::start([CannedResponse::stream("")]).await;
        let model = model_at(SPEC, &server.url);
        model.respond(ModelRequest::new("", &messages, &[])).collect::<Vec<_>>().await;
        assert_eq!(server.request().body["contents"][0]["parts"], parts, "{signed_bytes}");
    }
}

#[tokio::test]
async fn a_response_that_does_not_stream_is_an_array_of_its_parts() {
    let part = |text: &str| json!({"candidates": [{"content": {"parts": [{"text": text}]}}]});
    let last = json!({"candidates": [{"content": {"parts": []}, "finishReason": "STOP"}]});
    let body = json!([part("Hi"), part("!"), last]).to_string();
    let (events, error, _) = ask_once(SPEC, CannedResponse::json("200 OK", body)).await;
    assert_eq!((events, error), (vec![text("Hi"), text("!")], None));
}

#[tokio::test]
async fn a_quota_of_the_day_is_not_tried_again() {
    for (details, retries) in [("GenerateRequestsPerDayPerProjectPerModel-FreeTier", Some(0)), ("PerMinute", None)] {
        let violations = json!([{"quotaId": details}]);
        let details = json!([{"violations": violations}, {"retryDelay": "17s"}]);
        let body =
            json!({"error": {"code": 429, "status": "RESOURCE_EXHAUSTED", "message": "Quota", "details": details}});
        let response = CannedResponse::json("429 Too Many Requests", body.to_string());
        let error = ask_once(SPEC, response).await.1.unwrap();
        assert_eq!((error.kind, error.max_retries), (FailureKind::RateLimited, retries));
    }
}
