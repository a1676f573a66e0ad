use crate::conversation::{
    SECRET, SYSTEM, any_cut_gives, ask, ask_once, call, fail, model_at, no_part_passes_for_the_whole, question_schema,
    read, text, usage,
};
use crate::server::{CannedResponse, Server};
use askuser_agent::provider::{Effort, ProviderConfig, connect};
use askuser_agent::{Block, FailureKind, Message, ModelEvent, ModelRequest};
use futures_util::StreamExt;
use serde_json::{Value, json};

const SPEC: &str = "openai/gpt-test";

const STREAM: &str = r#"event: response.created
data: {"type":"response.created","sequence_number":0,"response":{"id":"resp_1","object":"response","status":"in_progress","error":null,"incomplete_details":null,"output":[],"usage":null}}

event: response.in_progress
data: {"type":"response.in_progress","sequence_number":1,"response":{"id":"resp_1","object":"response","status":"in_progress","error":null,"output":[],"usage":null}}

event: response.output_item.added
data: {"type":"response.output_item.added","sequence_number":2,"output_index":0,"item":{"id":"rs_1","type":"reasoning","encrypted_content":"gAAAAAB-part","summary":[]}}

event: response.reasoning_summary_part.added
data: {"type":"response.reasoning_summary_part.added","sequence_number":3,"item_id":"rs_1","output_index":0,"summary_index":0,"part":{"type":"summary_text","text":""}}

event: response.reasoning_summary_text.delta
data: {"type":"response.reasoning_summary_text.delta","sequence_number":4,"item_id":"rs_1","output_index":0,"summary_index":0,"delta":"Größe fehlt."}

event: response.reasoning_summary_text.done
data: {"type":"response.reasoning_summary_text.done","sequence_number":5,"item_id":"rs_1","output_index":0,"summary_index":0,"text":"Größe fehlt."}

event: response.reasoning_summary_part.added
data: {"type":"response.reasoning_summary_part.added","sequence_number":6,"item_id":"rs_1","output_index":0,"summary_index":1,"part":{"type":"summary_text","text":""}}

event: response.reasoning_summary_text.delta
data: {"type":"response.reasoning_summary_text.delta","sequence_number":7,"item_id":"rs_1","output_index":0,"summary_index":1,"delta":"Also fragen."}

event: response.output_item.done
data: {"type":"response.output_item.done","sequence_number":8,"output_index":0,"item":{"id":"rs_1","type":"reasoning","encrypted_content":"gAAAAAB","summary":[{"type":"summary_text","text":"Größe fehlt."}]}}

event: response.output_item.added
data: {"type":"response.output_item.added","sequence_number":9,"output_index":1,"item":{"id":"msg_1","type":"message","status":"in_progress","content":[],"role":"assistant"}}

event: response.content_part.added
data: {"type":"response.content_part.added","sequence_number":10,"item_id":"msg_1","output_index":1,"content_index":0,"part":{"type":"output_text","annotations":[],"text":""}}

event: response.output_text.delta
data: {"type":"response.output_text.delta","sequence_number":11,"item_id":"msg_1","output_index":1,"content_index":0,"delta":"Eine Frage "}

event: response.output_text.delta
data: {"type":"response.output_text.delta","sequence_number":12,"item_id":"msg_1","output_index":1,"content_index":0,"delta":"vorab 🦀:"}

event: response.output_text.done
data: {"type":"response.output_text.done","sequence_number":13,"item_id":"msg_1","output_index":1,"content_index":0,"text":"Eine Frage vorab 🦀:"}

event: response.output_item.done
data: {"type":"response.output_item.done","sequence_number":14,"output_index":1,"item":{"id":"msg_1","type":"message","status":"completed","content":[{"type":"output_text","annotations":[],"text":"Eine Frage vorab 🦀:"}],"role":"assistant"}}

event: response.output_item.added
data: {"type":"response.output_item.added","sequence_number":15,"output_index":2,"item":{"id":"fc_1","type":"function_call","status":"in_progress","arguments":"","call_id":"call_A","name":"AskUserQuestion"}}

event: response.function_call_arguments.delta
data: {"type":"response.function_call_arguments.delta","sequence_number":16,"item_id":"fc_1","output_index":2,"delta":"{\"questions\": [{\"question\": \"Welche Gr"}

event: response.function_call_arguments.delta
data: {"type":"response.function_call_arguments.delta","sequence_number":17,"item_id":"fc_1","output_index":2,"delta":"öße 👩‍👧?\", \"header\": \"\\u00dc\"}]}"}

event: response.function_call_arguments.done
data: {"type":"response.function_call_arguments.done","sequence_number":18,"item_id":"fc_1","output_index":2,"arguments":"{\"questions\": [{\"question\": \"Welche Größe 👩‍👧?\", \"header\": \"\\u00dc\"}]}"}

event: response.output_item.done
data: {"type":"response.output_item.done","sequence_number":19,"output_index":2,"item":{"id":"fc_1","type":"function_call","status":"completed","arguments":"{\"questions\": [{\"question\": \"Welche Größe 👩‍👧?\", \"header\": \"\\u00dc\"}]}","call_id":"call_A","name":"AskUserQuestion"}}

event: response.output_item.done
data: {"type":"response.output_item.done","sequence_number":20,"output_index":3,"item":{"id":"fc_2","type":"function_call","status":"completed","arguments":"","call_id":"call_B","name":"Now"}}

event: response.completed
data: {"type":"response.completed","sequence_number":21,"response":{"id":"resp_1","object":"response","status":"completed","error":null,"incomplete_details":null,"output":[{"id":"rs_1","type":"reasoning","encrypted_content":"gAAAAAB","summary":[]},{"id":"msg_1","type":"message","status":"completed","content":[{"type":"output_text","annotations":[],"text":"Eine Frage vorab 🦀:"}],"role":"assistant"},{"id":"fc_1","type":"function_call","status":"completed","arguments":"{}","call_id":"call_A","name":"AskUserQuestion"},{"id":"fc_2","type":"function_call","status":"completed","arguments":"","call_id":"call_B","name":"Now"}],"usage":{"input_tokens":82,"input_tokens_details":{"cached_tokens":64},"output_tokens":17,"output_tokens_details":{"reasoning_tokens":9},"total_tokens":99}}}

"#;

fn thought(text: &str) -> ModelEvent {
    ModelEvent::Thought(text.into())
}

fn reasoning() -> ModelEvent {
    let summary = json!([{"type": "summary_text", "text": "Größe fehlt."}]);
    let value = json!({"id": "rs_1", "type": "reasoning", "encrypted_content": "gAAAAAB", "summary": summary});
    ModelEvent::Opaque(Block::Opaque { provider: "openai".into(), value })
}

#[tokio::test]
async fn any_split_of_the_stream_gives_the_same_events() {
    let question = json!({"questions": [{"question": "Welche Größe 👩‍👧?", "header": "Ü"}]});
    let events = [
        thought("Größe fehlt."),
        thought("\n\n"),
        thought("Also fragen."),
        reasoning(),
        text("Eine Frage "),
        text("vorab 🦀:"),
        ModelEvent::Call(call("call_A", "AskUserQuestion", question, None)),
        usage(82, 17),
        ModelEvent::Call(call("call_B", "Now", json!({}), None)),
    ];
    any_cut_gives(SPEC, STREAM, &events).await;
}

#[tokio::test]
async fn no_partial_response_passes_for_a_complete_one() {
    no_part_passes_for_the_whole(SPEC, STREAM, STREAM.find("event: response.completed").unwrap()).await;
}

/// Returns the conversation as the request contains it.
fn input() -> Value {
    json!([
        {"role": "user", "content": "Grüße 🦀"},
        {"type": "reasoning", "summary": [], "encrypted_content": "Z0FB"},
        {"role": "assistant", "content": "I will ask."},
        {"type": "function_call", "call_id": "toolu_1", "name": "AskUserQuestion", "arguments": "{\"questions\":[{\"header\":\"Größe\"}]}"},
        {"type": "function_call", "call_id": "call_3a2", "name": "Now", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "toolu_1", "output": "The user chose: groß"},
        {"type": "function_call_output", "call_id": "call_3a2", "output": "The input is no JSON."},
        {"role": "user", "content": "And?"},
        {"role": "user", "content": "Go on."},
    ])
}

#[tokio::test]
async fn the_request_has_the_whole_conversation() {
    let (_, _, request) = ask_once(SPEC, CannedResponse::stream(STREAM)).await;
    assert_eq!(request.line, "POST /responses HTTP/1.1");
    assert_eq!(request.header("authorization"), Some(&*format!("Bearer {SECRET}")));
    let function = |name: &str, description: &str, parameters: Value| json!({"type": "function", "name": name, "description": description, "strict": false, "parameters": parameters});
    assert_eq!(
        request.body,
        json!({
            "model": "gpt-test",
            "stream": true,
            "store": false,
            "instructions": SYSTEM,
            "include": ["reasoning.encrypted_content"],
            "reasoning": {"summary": "auto"},
            "tools": [
                function("AskUserQuestion", "Asks.", question_schema()),
                function("Now", "Tells the time.", json!({"type": "object", "properties": {}})),
            ],
            "input": input(),
        })
    );
}

#[tokio::test]
async fn a_model_that_does_not_reason_is_not_asked_for_reasoning() {
    for model in ["openai/gpt-4.1-mini", "openai/gpt-4o", "openai/gpt-5-chat-latest"] {
        let (_, _, request) = ask_once(model, CannedResponse::stream(STREAM)).await;
        assert_eq!((&request.body["include"], &request.body["reasoning"]), (&Value::Null, &Value::Null), "{model}");
    }
}

#[tokio::test]
async fn limit_and_effort_are_sent() {
    let server = Server::start([CannedResponse::stream(STREAM)]).await;
    let environment = |_: &str| None;
    let base_url = Some(server.url.clone());
    let max_tokens = Some(77);
    let config = ProviderConfig::new(&environment)
        .with_base_url(base_url)
        .with_max_tokens(max_tokens)
        .with_effort(Some(Effort::Low));
    let model = connect(SPEC, &config).unwrap_or_else(|error| panic!("{error}"));
    ask(&*model).await;
    let request = server.request();
    assert_eq!(
        (&request.body["max_output_tokens"], &request.body["reasoning"], request.header("authorization")),
        (&json!(77), &json!({"effort": "low", "summary": "auto"}), None)
    );
}

/// Returns a stream with these events. Each event has the name in its data.
fn stream(events: &[Value]) -> String {
    let event = |event: &Value| format!("event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap_or_default());
    events.iter().map(event).collect()
}

fn delta(text: &str) -> Value {
    json!({"type": "response.output_text.delta", "output_index": 0, "delta": text})
}

fn called(arguments: &str) -> Value {
    let item =
        json!({"type": "function_call", "status": "incomplete", "call_id": "a", "name": "Now", "arguments": arguments});
    json!({"type": "response.output_item.done", "output_index": 1, "item": item})
}

fn ended(status: &str, rest: Value) -> Value {
    let mut response = rest;
    response["status"] = json!(status);
    json!({"type": format!("response.{status}"), "response": response})
}

fn at_limit() -> Value {
    ended("incomplete", json!({"incomplete_details": {"reason": "max_output_tokens"}, "error": null}))
}

#[tokio::test]
async fn text_truncated_by_the_token_limit_is_kept_and_marked() {
    assert_eq!(read(SPEC, &stream(&[delta("Hi"), at_limit()])).await, [text("Hi"), ModelEvent::Truncated]);
}

#[tokio::test]
async fn a_complete_tool_call_before_the_token_limit_counts() {
    let events = read(SPEC, &stream(&[delta("Hi"), called("{\"zone\":1}"), at_limit()])).await;
    assert_eq!(events, [text("Hi"), ModelEvent::Call(call("a", "Now", json!({"zone": 1}), None))]);
}

#[tokio::test]
async fn a_tool_call_truncated_by_the_token_limit_is_marked() {
    for cut in ["", "{\"zone\":"] {
        let events = read(SPEC, &stream(&[called(cut), at_limit()])).await;
        assert_eq!(events, [ModelEvent::TruncatedCall(call("a", "Now", json!(cut), None))]);
    }
}

#[tokio::test]
async fn thoughts_alone_are_no_output() {
    let thinking = json!({"type": "response.reasoning_summary_text.delta", "delta": "Hm."});
    let (kind, message) = fail(SPEC, &stream(&[thinking, at_limit()])).await;
    assert_eq!(kind, FailureKind::Rejected);
    assert!(message.contains("reached its token limit before any output"), "{message}");
}

#[tokio::test]
async fn an_input_that_is_no_json_is_kept_so_that_the_tool_rejects_it() {
    let events = read(SPEC, &stream(&[called("{\"zone\": }"), ended("completed", json!({}))])).await;
    assert_eq!(events, [ModelEvent::Call(call("a", "Now", json!("{\"zone\": }"), None))]);
}

#[tokio::test]
async fn a_filtered_response_is_an_error() {
    let filtered = ended("incomplete", json!({"incomplete_details": {"reason": "content_filter"}}));
    assert_eq!(
        fail(SPEC, &stream(&[delta("Hi"), filtered])).await,
        (FailureKind::Rejected, "openai aborted the response: stopped by the content filter (content_filter)".into())
    );
}

#[tokio::test]
async fn a_failed_response_is_an_error() {
    for failed in [
        ended("failed", json!({"error": {"code": "server_error", "message": "It broke."}})),
        json!({"type": "error", "code": "server_error", "message": "It broke.", "param": null}),
        json!({"type": "error", "error": {"type": "server_error", "message": "It broke."}}),
    ] {
        assert_eq!(
            fail(SPEC, &stream(&[delta("Hi"), failed])).await,
            (FailureKind::Overloaded, "openai is overloaded or has failed: It broke.".into())
        );
    }
}

#[tokio::test]
async fn a_response_may_come_without_streaming() {
    let output = json!([
        {"type": "message", "content": [{"type": "output_text", "text": "Hi"}]},
        {"type": "function_call", "call_id": "a", "name": "Now", "arguments": "{\"zone\":1}"},
    ]);
    let usage_counts = json!({"input_tokens": 1, "output_tokens": 2});
    let response =
        json!({"object": "response", "status": "completed", "error": null, "output": output, "usage": usage_counts});
    let (events, error, _) = ask_once(SPEC, CannedResponse::json("200 OK", response.to_string())).await;
    let now = ModelEvent::Call(call("a", "Now", json!({"zone": 1}), None));
    assert_eq!((events, error), (vec![text("Hi"), now, usage(1, 2)], None));
}

const CHAT: &str =
    "data: {\"choices\":[{\"delta\":{\"content\":\"Hi\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";

#[tokio::test]
async fn a_server_without_responses_gets_chat_completions_from_then_on() {
    let missing = CannedResponse::json("404 Not Found", "{\"detail\":\"Not Found\"}");
    let server = Server::start([missing, CannedResponse::stream(CHAT), CannedResponse::stream(CHAT)]).await;
    let model = model_at(SPEC, &server.url);
    for _ in 0..2 {
        assert_eq!(ask(&*model).await, (vec![text("Hi")], None));
    }
    let lines: Vec<String> = server.requests().into_iter().map(|request| request.line).collect();
    let chat = "POST /chat/completions HTTP/1.1";
    assert_eq!(lines, ["POST /responses HTTP/1.1", chat, chat]);
    // Reasoning of the other protocol is not sent.
    let assistant = server.requests()[1].body["messages"][2].clone();
    assert_eq!((assistant.get("encrypted_content"), assistant.get("summary")), (None, None));
}

#[tokio::test]
async fn what_a_model_does_not_accept_is_left_out_from_then_on() {
    let rejected = |param: &str, code: Value, message: &str| {
        let error = json!({"message": message, "type": "invalid_request_error", "param": param, "code": code});
        CannedResponse::json("400 Bad Request", json!({"error": error}).to_string())
    };
    let server = Server::start([
        rejected("include", Value::Null, "Encrypted content is not supported with this model."),
        rejected("reasoning.summary", json!("unsupported_value"), "Your organization must be verified."),
        rejected("reasoning.effort", json!("unsupported_parameter"), "Unsupported parameter."),
        CannedResponse::stream(STREAM),
        CannedResponse::stream(STREAM),
    ])
    .await;
    let environment = |_: &str| None;
    let base_url = Some(server.url.clone());
    let config = ProviderConfig::new(&environment).with_base_url(base_url).with_effort(Some(Effort::High));
    let model = connect(SPEC, &config).unwrap_or_else(|error| panic!("{error}"));
    for _ in 0..2 {
        assert_eq!(ask(&*model).await.1, None);
    }
    let sent: Vec<(Value, Value)> = server
        .requests()
        .into_iter()
        .map(|request| (request.body["include"].clone(), request.body["reasoning"].clone()))
        .collect();
    let include = json!(["reasoning.encrypted_content"]);
    let both = json!({"effort": "high", "summary": "auto"});
    let effort = json!({"effort": "high"});
    let nothing = (Value::Null, Value::Null);
    assert_eq!(sent, [(include, both.clone()), (Value::Null, both), (Value::Null, effort), nothing.clone(), nothing]);
}

#[tokio::test]
async fn reasoning_that_cannot_be_verified_is_left_out() {
    let error = json!({"message": "The encrypted content gAAA…CwHs could not be verified.", "type": "invalid_request_error", "param": null, "code": "invalid_encrypted_content"});
    let rejected = CannedResponse::json("400 Bad Request", json!({"error": error}).to_string());
    let server = Server::start([rejected, CannedResponse::stream(STREAM)]).await;
    assert_eq!(ask(&*model_at(SPEC, &server.url)).await.1, None);
    let mut without = input();
    without.as_array_mut().unwrap().remove(1);
    assert_eq!(server.requests()[1].body["input"], without);
}

#[tokio::test]
async fn a_rejected_request_is_made_once_if_nothing_can_be_left_out() {
    let error = json!({"message": "Invalid schema for function 'Now'.", "type": "invalid_request_error", "param": "tools[1].parameters"});
    let (_, error, _) =
        ask_once(SPEC, CannedResponse::json("400 Bad Request", json!({"error": error}).to_string())).await;
    assert_eq!(error.map(|error| error.kind), Some(FailureKind::Rejected));
}

#[tokio::test]
async fn two_messages_of_one_response_stay_two_and_keep_their_phases() {
    let event = |value: Value| format!("data: {value}\n\n");
    let message = |index: u64, words: &str, phase: Option<&str>| {
        let delta = json!({"type": "response.output_text.delta", "output_index": index, "delta": words});
        let mut item = json!({"type": "message", "content": [{"type": "output_text", "text": words}]});
        phase.into_iter().for_each(|phase| item["phase"] = json!(phase));
        event(delta) + &event(json!({"type": "response.output_item.done", "output_index": index, "item": item}))
    };
    let end = event(json!({"type": "response.completed", "response": {"status": "completed", "output": []}}));
    let marked = |value| ModelEvent::Opaque(Block::Opaque { provider: "openai".into(), value });
    let [commentary, last] = ["commentary", "final_answer"].map(|phase| json!({"type": "message", "phase": phase}));
    let phases = message(0, "I look.", Some("commentary")) + &message(1, "Done.", Some("final_answer")) + &end;
    let events = read(SPEC, &phases).await;
    assert_eq!(events, [text("I look."), marked(commentary.clone()), text("Done."), marked(last.clone())]);
    let plain = message(0, "I look.", None) + &message(1, "Done.", None) + &end;
    assert_eq!(read(SPEC, &plain).await, [text("I look."), marked(json!({"type": "message"})), text("Done.")]);
    // The phases are sent back in the next request.
    let own = |value| Block::Opaque { provider: "openai".into(), value };
    let said = |words: &str| Block::Text { text: words.into() };
    let messages = [Message::Assistant { content: vec![said("I look."), own(commentary), said("Done."), own(last)] }];
    let server = Server::start([CannedResponse::stream("")]).await;
    let model = model_at(SPEC, &server.url);
    model.respond(ModelRequest::new("", &messages, &[])).collect::<Vec<_>>().await;
    let sent = json!([
        {"role": "assistant", "content": "I look.", "phase": "commentary"},
        {"role": "assistant", "content": "Done.", "phase": "final_answer"},
    ]);
    assert_eq!(server.request().body["input"], sent);
}
