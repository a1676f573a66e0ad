use crate::conversation::{
    SECRET, SYSTEM, any_cut_gives, ask, ask_once, call, fail, model_at, no_part_passes_for_the_whole, question_schema,
    read, text, usage,
};
use crate::server::{CannedResponse, End, Server};
use askuser_agent::provider::{ProviderConfig, connect};
use askuser_agent::{Block, CallResult, FailureKind, Message, ModelEvent, ModelRequest};
use futures_util::StreamExt;
use serde_json::{Value, json};

const SPEC: &str = "openai-chat/gpt-test";

const STREAM: &str = r#"data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"gpt-test","choices":[{"index":0,"delta":{"role":"assistant","content":"","refusal":null},"logprobs":null,"finish_reason":null}],"usage":null}

data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"gpt-test","choices":[{"index":0,"delta":{"content":"Eine Frage "},"logprobs":null,"finish_reason":null}],"usage":null}

data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"gpt-test","choices":[{"index":0,"delta":{"content":"vorab 🦀:"},"logprobs":null,"finish_reason":null}],"usage":null}

data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"gpt-test","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"call_A","type":"function","function":{"name":"AskUserQuestion","arguments":""}}]},"logprobs":null,"finish_reason":null}],"usage":null}

data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"gpt-test","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{\"questions\": [{\"question\": \"Welche Gr"}}]},"logprobs":null,"finish_reason":null}],"usage":null}

data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"gpt-test","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"öße 👩‍👧?\", \"header\": \"\\u00dc\"}]}"}}]},"logprobs":null,"finish_reason":null}],"usage":null}

data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"gpt-test","choices":[{"index":0,"delta":{"tool_calls":[{"index":1,"id":"call_B","type":"function","function":{"name":"Now","arguments":"{}"}}]},"logprobs":null,"finish_reason":null}],"usage":null}

data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"gpt-test","choices":[{"index":0,"delta":{},"logprobs":null,"finish_reason":"tool_calls"}],"usage":null}

data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"gpt-test","choices":[],"usage":{"prompt_tokens":82,"completion_tokens":17,"total_tokens":99,"prompt_tokens_details":{"cached_tokens":64}}}

data: [DONE]

"#;

fn question() -> Value {
    json!({"questions": [{"question": "Welche Größe 👩‍👧?", "header": "Ü"}]})
}

#[tokio::test]
async fn any_split_of_the_stream_gives_the_same_events() {
    let events = [
        text("Eine Frage "),
        text("vorab 🦀:"),
        usage(82, 17),
        ModelEvent::Call(call("call_A", "AskUserQuestion", question(), None)),
        ModelEvent::Call(call("call_B", "Now", json!({}), None)),
    ];
    any_cut_gives(SPEC, STREAM, &events).await;
}

#[tokio::test]
async fn no_partial_response_passes_for_a_complete_one() {
    let finished_at = STREAM.find("\"finish_reason\":\"tool_calls\"").unwrap();
    no_part_passes_for_the_whole(SPEC, STREAM, finished_at).await;
}

/// Returns a stream of chunks with these deltas in their first choice, and then the usage.
fn chunks(deltas: &[Value], reason: &str, rest: &Value) -> String {
    let chunk = |choices: Value| {
        let mut chunk =
            json!({"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": choices});
        chunk.as_object_mut().unwrap().extend(rest.as_object().unwrap().clone());
        chunk
    };
    let delta = |delta: &Value| chunk(json!([{"index": 0, "delta": delta, "logprobs": null, "finish_reason": null}]));
    let mut chunks: Vec<Value> = deltas.iter().map(delta).collect();
    chunks.push(chunk(json!([{"index": 0, "delta": {}, "finish_reason": reason}])));
    let mut last = chunk(json!([]));
    last["usage"] = json!({"prompt_tokens": 82, "completion_tokens": 17, "total_tokens": 99});
    chunks.push(last);
    chunks.iter().map(|chunk| format!("data: {chunk}\n\n")).collect::<String>() + "data: [DONE]\n\n"
}

#[tokio::test]
async fn any_split_of_a_local_servers_stream_gives_the_same_events() {
    let call_part = |index: u64, id: Option<&str>, name: Option<&str>, arguments: &str| {
        let mut part = json!({"index": index, "function": {"arguments": arguments}});
        id.into_iter().for_each(|id| part["id"] = json!(id));
        name.into_iter().for_each(|name| part["function"]["name"] = json!(name));
        part
    };
    let whole = question().to_string();
    let (begin, end) = whole.split_at(whole.find("öße").unwrap());
    // Ollama sends every call whole with index 0, and content in every delta.
    let beside = |delta: Value| {
        let mut beside = json!({"role": "assistant", "content": ""});
        beside.as_object_mut().unwrap().extend(delta.as_object().unwrap().clone());
        beside
    };
    let ollama = chunks(
        &[
            beside(json!({"reasoning": "Größe fehlt."})),
            beside(json!({"content": "Eine Frage "})),
            beside(json!({"content": "vorab 🦀:"})),
            beside(json!({"tool_calls": [call_part(0, Some("call_A"), Some("AskUserQuestion"), &whole)]})),
            beside(json!({"tool_calls": [call_part(0, Some("call_B"), Some("Now"), "{}")]})),
        ],
        "tool_calls",
        &json!({"system_fingerprint": "fp_ollama"}),
    );
    // llama.cpp sends null as content, arguments in pieces, and timings.
    let pieces = [
        json!({"role": "assistant", "content": null}),
        json!({"reasoning_content": "Größe fehlt."}),
        json!({"content": "Eine Frage "}),
        json!({"content": "vorab 🦀:"}),
        json!({"tool_calls": [call_part(0, Some("call_A"), Some("AskUserQuestion"), "")]}),
        json!({"tool_calls": [call_part(0, None, None, begin)]}),
        json!({"tool_calls": [call_part(0, None, None, end)]}),
        json!({"tool_calls": [call_part(1, Some("call_B"), Some("Now"), "{}")]}),
    ];
    let llama_cpp = chunks(&pieces, "tool_calls", &json!({"timings": {"prompt_n": 82}}));
    // vLLM sends the same, with an empty `data` line and a choice that was not requested.
    let other = json!({"choices": [{"index": 1, "delta": {"content": "Something else"}, "finish_reason": null}]});
    let vllm = chunks(&pieces, "tool_calls", &json!({"prompt_token_ids": null}));
    let vllm = vllm.replacen("\n\n", &format!("\n\ndata:\n\ndata: {other}\n\n"), 1);
    for (spec, stream, field) in [
        ("ollama/qwen3:8b", ollama, "reasoning"),
        ("llamacpp/m", llama_cpp, "reasoning_content"),
        ("vllm/m", vllm, "reasoning_content"),
    ] {
        let provider = spec.split('/').next().unwrap().to_owned();
        let events = [
            ModelEvent::Thought("Größe fehlt.".into()),
            text("Eine Frage "),
            text("vorab 🦀:"),
            usage(82, 17),
            ModelEvent::Opaque(Block::Opaque { provider, value: json!({field: "Größe fehlt."}) }),
            ModelEvent::Call(call("call_A", "AskUserQuestion", question(), None)),
            ModelEvent::Call(call("call_B", "Now", json!({}), None)),
        ];
        any_cut_gives(spec, &stream, &events).await;
        let finished_at = stream.find("\"finish_reason\":\"tool_calls\"").unwrap();
        no_part_passes_for_the_whole(spec, &stream, finished_at).await;
    }
}

fn conversation() -> Value {
    json!([
        {"role": "system", "content": SYSTEM},
        {"role": "user", "content": "Grüße 🦀"},
        {"role": "assistant", "content": "I will ask.", "tool_calls": [
            {"id": "toolu_1", "type": "function", "function": {"name": "AskUserQuestion", "arguments": "{\"questions\":[{\"header\":\"Größe\"}]}"}},
            {"id": "call_3a2", "type": "function", "function": {"name": "Now", "arguments": "{}"}},
        ]},
        {"role": "tool", "tool_call_id": "toolu_1", "content": "The user chose: groß"},
        {"role": "tool", "tool_call_id": "call_3a2", "content": "The input is no JSON."},
        {"role": "user", "content": "And?"},
        {"role": "user", "content": "Go on."},
    ])
}

#[tokio::test]
async fn the_request_has_the_whole_conversation() {
    let (_, _, request) = ask_once(SPEC, CannedResponse::stream(STREAM)).await;
    assert_eq!(request.line, "POST /chat/completions HTTP/1.1");
    assert_eq!(request.header("authorization"), Some(&*format!("Bearer {SECRET}")));
    let function = |name: &str, description: &str, parameters: Value| json!({"type": "function", "function": {"name": name, "description": description, "parameters": parameters}});
    assert_eq!(
        request.body,
        json!({
            "model": "gpt-test",
            "stream": true,
            "stream_options": {"include_usage": true},
            "tools": [
                function("AskUserQuestion", "Asks.", question_schema()),
                function("Now", "Tells the time.", json!({"type": "object", "properties": {}})),
            ],
            "messages": conversation(),
        })
    );
}

#[tokio::test]
async fn reasoning_details_are_sent_back_to_openrouter() {
    let (_, _, request) = ask_once("openrouter/some/model", CannedResponse::stream(STREAM)).await;
    let mut expected = conversation();
    expected[2]["reasoning_details"] = json!([{"type": "reasoning.encrypted", "data": "ZW5j"}]);
    assert_eq!((&request.body["model"], &request.body["messages"]), (&json!("some/model"), &expected));
}

#[tokio::test]
async fn the_token_limit_has_the_name_that_the_server_knows() {
    for (provider, name) in [("openai-chat", "max_completion_tokens"), ("vllm", "max_tokens")] {
        let server = Server::start([CannedResponse::stream(STREAM)]).await;
        let environment = |_: &str| None;
        let base_url = Some(server.url.clone());
        let config = ProviderConfig::new(&environment).with_base_url(base_url).with_max_tokens(Some(77));
        let model = connect(&format!("{provider}/m"), &config).unwrap_or_else(|error| panic!("{error}"));
        ask(&*model).await;
        let request = server.request();
        assert_eq!((&request.body[name], request.header("authorization")), (&json!(77), None));
    }
}

/// Returns a stream of chunks with these deltas and this finish reason.
fn stream(deltas: &[Value], reason: &str) -> String {
    let chunk = |delta: &Value, reason: Value| {
        format!("data: {}\n\n", json!({"choices": [{"index": 0, "delta": delta, "finish_reason": reason}]}))
    };
    let deltas: String = deltas.iter().map(|delta| chunk(delta, Value::Null)).collect();
    format!("{deltas}{}data: [DONE]\n\n", chunk(&json!({}), json!(reason)))
}

async fn calls(parts: &[Value]) -> Vec<ModelEvent> {
    let deltas: Vec<Value> =
        parts.iter().map(|part| json!({"role": "assistant", "content": null, "tool_calls": part})).collect();
    read(SPEC, &stream(&deltas, "stop")).await
}

fn now(id: &str, zone: u32) -> ModelEvent {
    ModelEvent::Call(call(id, "Now", json!({"zone": zone}), None))
}

fn part(rest: Value, name: Option<&str>, arguments: Value) -> Value {
    let mut part = rest;
    part["function"] = json!({"name": name, "arguments": arguments});
    part
}

#[tokio::test]
async fn complete_calls_count_although_the_reason_is_stop() {
    let both = json!([
        part(json!({"index": 0, "id": "a"}), Some("Now"), json!("{\"zone\":1}")),
        part(json!({"index": 1, "id": "b"}), Some("Now"), json!("{\"zone\":2}")),
    ]);
    assert_eq!(calls(&[both]).await, [now("a", 1), now("b", 2)]);
}

#[tokio::test]
async fn calls_may_share_an_index() {
    let one = json!([part(json!({"index": 0, "id": "a"}), Some("Now"), json!("{\"zone\":1}"))]);
    let two = json!([part(json!({"index": 0, "id": "b"}), Some("Now"), json!("{\"zone\":2}"))]);
    assert_eq!(calls(&[one, two]).await, [now("a", 1), now("b", 2)]);
}

#[tokio::test]
async fn calls_without_arguments_may_share_an_index() {
    let one = json!([part(json!({"index": 0, "id": "a"}), Some("Now"), json!(""))]);
    let two = json!([part(json!({"index": 0, "id": "b"}), Some("Now"), json!(""))]);
    let now = |id: &str| ModelEvent::Call(call(id, "Now", json!({}), None));
    assert_eq!(calls(&[one, two]).await, [now("a"), now("b")]);
}

#[tokio::test]
async fn whole_calls_without_ids_may_share_an_index() {
    let one = json!([part(json!({"index": 0}), Some("Now"), json!("{\"zone\":1}"))]);
    let two = json!([part(json!({"index": 0}), Some("Now"), json!("{\"zone\":2}"))]);
    assert_eq!(calls(&[one, two]).await, [now("call_1", 1), now("call_2", 2)]);
}

#[tokio::test]
async fn calls_may_have_neither_index_nor_id() {
    let one = json!([part(json!({}), Some("Now"), json!("{\"zone\":1}"))]);
    let two = json!([part(json!({}), Some("Now"), json!("{\"zone\":2}"))]);
    assert_eq!(calls(&[one, two]).await, [now("call_1", 1), now("call_2", 2)]);
}

#[tokio::test]
async fn calls_may_have_an_index_and_no_id() {
    let parts = [
        json!([part(json!({"index": 0}), Some("Now"), json!("{\"zo"))]),
        json!([part(json!({"index": 0}), None, json!("ne\":1}"))]),
        json!([part(json!({"index": 1, "id": ""}), Some("Now"), json!("{\"zone\":2}"))]),
    ];
    assert_eq!(calls(&parts).await, [now("call_1", 1), now("call_2", 2)]);
}

#[tokio::test]
async fn parts_of_calls_may_be_mixed() {
    let parts = [
        json!([
            part(json!({"index": 0, "id": "a"}), Some("Now"), json!("")),
            part(json!({"index": 1, "id": "b"}), Some("Now"), json!(""))
        ]),
        json!([part(json!({"index": 1}), None, json!("{\"zone\":2}"))]),
        json!([part(json!({"index": 0}), None, json!("{\"zone\":1}"))]),
    ];
    assert_eq!(calls(&parts).await, [now("a", 1), now("b", 2)]);
}

#[tokio::test]
async fn every_part_may_repeat_id_and_name() {
    let parts = [
        json!([part(json!({"index": 0, "id": "a"}), Some("Now"), json!("{\"zone\""))]),
        json!([part(json!({"index": 0, "id": "a"}), Some("Now"), json!(":1}"))]),
    ];
    assert_eq!(calls(&parts).await, [now("a", 1)]);
}

#[tokio::test]
async fn calls_at_two_indexes_may_share_an_id() {
    let parts = [
        json!([part(json!({"index": 0, "id": "a"}), Some("Now"), json!("{\"zone\""))]),
        json!([part(json!({"index": 1, "id": "a"}), Some("Now"), json!("{\"zone\""))]),
        json!([part(json!({"index": 0, "id": "a"}), None, json!(":1}"))]),
        json!([part(json!({"index": 1, "id": "a"}), None, json!(":2}"))]),
    ];
    assert_eq!(calls(&parts).await, [now("a", 1), now("a", 2)]);
}

#[tokio::test]
async fn a_part_without_a_name_belongs_to_its_id_whatever_its_index() {
    let parts = [
        json!([part(json!({"index": 0, "id": "a"}), Some("Now"), json!("{\"zone\""))]),
        json!([part(json!({"index": 1, "id": "a"}), None, json!(":1}"))]),
    ];
    assert_eq!(calls(&parts).await, [now("a", 1)]);
}

#[tokio::test]
async fn arguments_may_be_an_object() {
    assert_eq!(calls(&[json!([part(json!({"id": "a"}), Some("Now"), json!({"zone": 1}))])]).await, [now("a", 1)]);
}

#[tokio::test]
async fn what_goes_back_with_a_call_is_kept() {
    let mut signed = part(json!({"id": "a"}), Some("Now"), json!("{\"zone\":1}"));
    signed["extra_content"] = json!({"google": {"thought_signature": "c2ln"}});
    let extra = json!({"openai-chat": {"google": {"thought_signature": "c2ln"}}});
    assert_eq!(calls(&[json!([signed])]).await, [ModelEvent::Call(call("a", "Now", json!({"zone": 1}), Some(extra)))]);
}

#[tokio::test]
async fn a_call_without_a_name_is_a_protocol_error() {
    let stream = stream(&[json!({"tool_calls": [{"index": 0, "function": {"arguments": "{}"}}]})], "tool_calls");
    assert_eq!(
        fail(SPEC, &stream).await,
        (FailureKind::Protocol, "cannot read the response of openai-chat: a tool call without a name".into())
    );
}

#[tokio::test]
async fn deltas_and_choices_may_be_null() {
    let stream = "data: {\"choices\":null}\n\ndata: {\"choices\":[{\"delta\":null}]}\n\ndata: {\"choices\":[{\"delta\":{\"content\":\"Hi\",\"tool_calls\":null},\"finish_reason\":\"stop\"}]}\n\n";
    assert_eq!(read(SPEC, stream).await, [text("Hi")]);
}

/// Returns the events of a stream with these choices, one per chunk.
async fn read_choices(choices: &[Value]) -> Vec<ModelEvent> {
    let event = |choice: &Value| format!("data: {}\n\n", json!({"choices": [choice]}));
    let events: String = choices.iter().map(event).collect();
    read(SPEC, &format!("{events}data: [DONE]\n\n")).await
}

#[tokio::test]
async fn a_chunk_may_have_message_instead_of_delta() {
    let calls = json!([part(json!({"id": "a"}), Some("Now"), json!("{\"zone\":1}"))]);
    let choices = [
        json!({"delta": {"role": "assistant"}, "message": {"content": "Eine "}}),
        json!({"delta": null, "message": {"content": "Frage"}}),
        json!({"message": {"content": null, "tool_calls": calls}, "finish_reason": "tool_calls"}),
    ];
    assert_eq!(read_choices(&choices).await, [text("Eine "), text("Frage"), now("a", 1)]);
}

#[tokio::test]
async fn a_message_that_repeats_the_deltas_is_ignored() {
    let choices = [
        json!({"delta": {"content": "Eine "}, "message": {"content": "Eine "}}),
        json!({"delta": {"content": "Frage"}, "message": {"content": "Eine Frage"}}),
        json!({"delta": {}, "message": {"content": "Eine Frage"}}),
        json!({"message": {"content": "Eine Frage"}, "finish_reason": "stop"}),
    ];
    assert_eq!(read_choices(&choices).await, [text("Eine "), text("Frage")]);
}

#[tokio::test]
async fn content_may_come_in_parts() {
    let thought = json!({"type": "thinking", "thinking": [{"type": "text", "text": "Hm."}]});
    let content = json!([thought, {"type": "text", "text": "Eine "}, {"type": "text", "text": ""}, {"text": "Frage"}]);
    for choice in [json!({"delta": {"content": content}}), json!({"message": {"content": content}})] {
        assert_eq!(read_choices(&[choice]).await, [text("Eine "), text("Frage")]);
    }
}

#[tokio::test]
async fn nulls_and_empty_lists_are_no_content() {
    let stream = "data: {\"choices\":[]}\n\ndata: {\"choices\":null}\n\ndata: {\"choices\":[null]}\n\ndata: {\"choices\":[{\"delta\":null,\"message\":null}]}\n\ndata: {\"choices\":[{\"delta\":{\"content\":[]}}]}\n\n";
    assert_eq!(read(SPEC, &format!("{stream}data: [DONE]\n\n")).await, []);
}

/// Returns a response without streaming.
fn at_once(message: Value, reason: Value) -> CannedResponse {
    let choices = json!([{"index": 0, "message": message, "finish_reason": reason}]);
    let usage = json!({"prompt_tokens": 82, "completion_tokens": 17});
    let response = json!({"object": "chat.completion", "choices": choices, "usage": usage});
    CannedResponse::json("200 OK", response.to_string())
}

#[tokio::test]
async fn a_response_may_come_without_streaming() {
    let calls = json!([
        part(json!({"id": "a", "type": "function"}), Some("Now"), json!("{\"zone\":1}")),
        part(json!({"id": "b", "type": "function"}), Some("Now"), json!("{\"zone\":2}")),
    ]);
    let message = json!({"role": "assistant", "content": "Eine Frage", "tool_calls": calls});
    let (events, error, _) = ask_once(SPEC, at_once(message, json!("tool_calls"))).await;
    assert_eq!((events, error), (vec![usage(82, 17), text("Eine Frage"), now("a", 1), now("b", 2)], None));
}

#[tokio::test]
async fn a_response_without_streaming_may_be_longer_than_an_error() {
    let long = "é".repeat(100_000);
    let (events, error, _) = ask_once(SPEC, at_once(json!({"content": long}), json!("stop"))).await;
    assert_eq!((events, error), (vec![usage(82, 17), text(&long)], None));
}

#[tokio::test]
async fn a_response_without_streaming_must_be_complete() {
    let (_, error, _) = ask_once(SPEC, at_once(json!({"content": "Hi"}), Value::Null)).await;
    assert_eq!(error.map(|error| error.kind), Some(FailureKind::Protocol));
}

#[tokio::test]
async fn a_broken_response_without_streaming_is_a_network_failure() {
    for end in [End::Whole, End::Cut] {
        let response = CannedResponse::json("200 OK", "{\"choices\":[{\"message\":{\"content\":\"Hi").ending(end);
        let (events, error, _) = ask_once(SPEC, response).await;
        assert_eq!((events, error.map(|error| error.kind)), (Vec::new(), Some(FailureKind::Network)));
    }
}

#[tokio::test]
async fn text_truncated_by_the_token_limit_is_kept_and_marked() {
    let events = read(SPEC, &stream(&[json!({"content": "Hi"})], "length")).await;
    assert_eq!(events, [text("Hi"), ModelEvent::Truncated]);
}

#[tokio::test]
async fn a_complete_tool_call_before_the_token_limit_counts() {
    let calls = json!([part(json!({"index": 0, "id": "a"}), Some("Now"), json!("{\"zone\":1}"))]);
    let events = read(SPEC, &stream(&[json!({"content": "Hi"}), json!({"tool_calls": calls})], "length")).await;
    assert_eq!(events, [text("Hi"), now("a", 1)]);
}

#[tokio::test]
async fn done_completes_a_response_without_a_finish_reason() {
    assert_eq!(
        read(SPEC, "data: {\"choices\":[{\"delta\":{\"content\":\"Hi\"}}]}\n\ndata: [DONE]\n").await,
        [text("Hi")]
    );
}

#[tokio::test]
async fn comments_keep_the_connection_alive() {
    let stream = format!(": OPENROUTER PROCESSING\n\n{}", stream(&[json!({"content": "Hi"})], "stop"));
    assert_eq!(read("openrouter/a/b", &stream).await, [text("Hi")]);
}

#[tokio::test]
async fn reasoning_details_of_openrouter_are_merged() {
    let thought = |more: Value| json!({"content": "", "reasoning_details": [more]});
    let stream = stream(
        &[
            thought(json!({"type": "reasoning.text", "text": "Let me ", "index": 0})),
            thought(json!({"type": "reasoning.text", "text": "see.", "index": 0})),
            thought(json!({"type": "reasoning.text", "signature": "sig", "index": 0})),
            json!({"content": "Hi"}),
        ],
        "stop",
    );
    let value = json!({"reasoning_details": [{"type": "reasoning.text", "text": "Let me see.", "index": 0, "signature": "sig"}]});
    let opaque = ModelEvent::Opaque(Block::Opaque { provider: "openrouter".into(), value });
    assert_eq!(read("openrouter/a/b", &stream).await, [text("Hi"), opaque]);
}

#[tokio::test]
async fn thoughts_have_two_names() {
    for name in ["reasoning_content", "reasoning"] {
        let stream = stream(&[json!({"role": "assistant", name: "Hm."}), json!({"content": "Hi"})], "stop");
        let kept = ModelEvent::Opaque(Block::Opaque { provider: "openai-chat".into(), value: json!({name: "Hm."}) });
        assert_eq!(read(SPEC, &stream).await, [ModelEvent::Thought("Hm.".into()), text("Hi"), kept], "{name}");
    }
}

/// DeepSeek rejects a request without this field (400) after a call. Kimi and vLLM lose their reasoning without it.
#[tokio::test]
async fn reasoning_content_is_sent_back_with_the_message_it_came_with() {
    let own = Block::Opaque { provider: "openai-chat".into(), value: json!({"reasoning_content": "Hm."}) };
    let content = vec![own, Block::Call(call("a", "Now", json!({}), None))];
    let result = CallResult { id: "a".into(), name: "Now".into(), output: "noon".into(), is_error: false };
    let messages = [Message::Assistant { content }, Message::Results { results: vec![result] }];
    let rejected = json!({"error": {"message": "Unrecognized field: reasoning_content"}}).to_string();
    let server = Server::start([CannedResponse::json("400 Bad Request", rejected), CannedResponse::stream("")]).await;
    let model = model_at(SPEC, &server.url);
    model.respond(ModelRequest::new("", &messages, &[])).collect::<Vec<_>>().await;
    let sent: Vec<Value> =
        server.requests().iter().map(|request| request.body["messages"][0]["reasoning_content"].clone()).collect();
    assert_eq!(sent, [json!("Hm."), Value::Null], "a server that does not know it gets none");
}

#[tokio::test]
async fn a_closed_think_at_the_start_of_the_content_is_a_thought() {
    let thought = |words: &str| ModelEvent::Thought(words.into());
    for (deltas, expected) in [
        (vec!["\n<th", "ink>Hm", ".</thi", "nk>\n\nHi", "!"], vec![thought("Hm."), text("Hi"), text("!")]),
        (vec!["<think>never closed"], vec![text("<think>never closed")]),
        (vec!["Say <think>x</think>"], vec![text("Say <think>x</think>")]),
        (vec!["<thinner>"], vec![text("<thinner>")]),
        (vec!["<t"], vec![text("<t")]),
    ] {
        let deltas: Vec<Value> = deltas.into_iter().map(|content| json!({"content": content})).collect();
        assert_eq!(read(SPEC, &stream(&deltas, "stop")).await, expected);
    }
}

#[tokio::test]
async fn rejected_stream_options_are_left_out_from_then_on() {
    let rejected = json!({"error": {"message": "stream_options: extra inputs are not permitted"}}).to_string();
    let server = Server::start([
        CannedResponse::json("400 Bad Request", rejected),
        CannedResponse::stream(STREAM),
        CannedResponse::stream(STREAM),
    ])
    .await;
    let model = model_at(SPEC, &server.url);
    for _ in 0..2 {
        assert_eq!(ask(&*model).await.1, None);
    }
    let has: Vec<bool> = server.requests().iter().map(|request| request.body.get("stream_options").is_some()).collect();
    assert_eq!(has, [true, false, false]);
}

#[tokio::test]
async fn a_tools_name_may_come_in_two_deltas() {
    let first = part(json!({"index": 0, "id": "a"}), Some("AskUser"), json!(""));
    let second = part(json!({"index": 0}), Some("Question"), json!("{}"));
    let repeated = part(json!({"index": 0}), Some("AskUser"), json!("{}"));
    let whole = |name: &str| [ModelEvent::Call(call("a", name, json!({}), None))];
    assert_eq!(calls(&[json!([first.clone()]), json!([second])]).await, whole("AskUserQuestion"));
    assert_eq!(calls(&[json!([first]), json!([repeated])]).await, whole("AskUser"));
}

#[tokio::test]
async fn a_tool_call_truncated_by_the_token_limit_is_marked() {
    for cut in ["", "{\"zone\":"] {
        let part = part(json!({"index": 0, "id": "a"}), Some("Now"), json!(cut));
        let events = read(SPEC, &stream(&[json!({"tool_calls": [part]})], "length")).await;
        assert_eq!(events, [ModelEvent::TruncatedCall(call("a", "Now", json!(cut), None))]);
    }
}

#[tokio::test]
async fn a_filtered_response_is_an_error() {
    assert_eq!(
        fail(SPEC, &stream(&[json!({"content": "Hi"})], "content_filter")).await,
        (
            FailureKind::Rejected,
            "openai-chat aborted the response: stopped by the content filter (content_filter)".into()
        )
    );
}

#[tokio::test]
async fn an_error_in_the_stream_is_an_error() {
    for failure in [
        json!({"error": {"code": 502, "message": "ModelProvider disconnected"}, "choices": [{"delta": {"content": ""}, "finish_reason": "error"}]}),
        json!({"choices": [{"delta": {"content": ""}, "finish_reason": "error", "error": {"code": 502, "message": "ModelProvider disconnected"}}]}),
    ] {
        assert_eq!(
            fail("openrouter/a/b", &format!("data: {failure}\n\n")).await,
            (
                FailureKind::Overloaded,
                "openrouter is overloaded or has failed (502): ModelProvider disconnected".into()
            )
        );
    }
}

#[tokio::test]
async fn nothing_is_read_after_done() {
    for rest in ["data: nonsense\n\n", "data: nonsense\n"] {
        let response = CannedResponse::stream(format!("{STREAM}{rest}")).ending(End::Hang);
        let (events, error, _) = ask_once(SPEC, response).await;
        assert_eq!((events.len(), error), (5, None));
    }
}

#[tokio::test]
async fn who_may_not_stream_gets_the_response_as_a_whole() {
    let message = "Your organization must be verified to stream this model. Please go to: https://platform.openai.com";
    let error = json!({"error": {"message": message, "type": "invalid_request_error", "param": "stream", "code": "unsupported_value"}});
    let whole = json!({"choices": [{"message": {"role": "assistant", "content": "Hello."}, "finish_reason": "stop"}]})
        .to_string();
    let server = Server::start([
        CannedResponse::json("400 Bad Request", error.to_string()),
        CannedResponse::json("200 OK", whole.clone()),
        CannedResponse::json("200 OK", whole),
    ])
    .await;
    let model = model_at(SPEC, &server.url);
    for _ in 0..2 {
        let (events, error) = ask(&*model).await;
        assert_eq!(error, None);
        assert!(events.iter().any(|event| matches!(event, ModelEvent::Text(text) if text == "Hello.")), "{events:?}");
    }
    let asked: Vec<_> = server
        .requests()
        .iter()
        .map(|it| (it.body["stream"].clone(), it.body.get("stream_options").is_some()))
        .collect();
    assert_eq!(asked, [(json!(true), true), (json!(false), false), (json!(false), false)]);
}
