//! A provider with Anthropic's protocol, on this machine.

use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

/// A running provider, which ends with the test.
pub(crate) struct Provider {
    pub(crate) url: String,
    requests: Arc<Mutex<Vec<(String, Value)>>>,
}

/// A function that returns the model's response to a request as blocks of content. Without blocks the model is
/// overloaded.
pub(crate) type Answer = fn(&Value) -> Vec<Value>;

const MODELS: &str = r#"{"data": [
    {"id": "claude-haiku-9", "display_name": "Claude Haiku 9", "created_at": "2027-01-01T00:00:00Z", "max_input_tokens": 200000},
    {"id": "claude-sonnet-9", "display_name": "Claude Sonnet 9", "created_at": "2026-12-01T00:00:00Z", "max_input_tokens": 123456}
]}"#;

impl Provider {
    pub(crate) fn start() -> Provider {
        Provider::answering(|_| vec![json!({"type": "text", "text": "Hi."})])
    }

    pub(crate) fn answering(answer: Answer) -> Provider {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let requests: Arc<Mutex<Vec<(String, Value)>>> = Arc::default();
        let kept = requests.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                // A client that is gone has no request.
                let _ = serve(stream.unwrap(), answer, &kept);
            }
        });
        Provider { url, requests }
    }

    pub(crate) fn requests(&self) -> Vec<(String, Value)> {
        self.requests.lock().unwrap().clone()
    }
}

fn serve(mut stream: TcpStream, answer: Answer, kept: &Mutex<Vec<(String, Value)>>) -> Option<()> {
    let mut reader = BufReader::new(stream.try_clone().ok()?);
    let mut line = String::new();
    reader.read_line(&mut line).ok()?;
    let mut length = 0;
    loop {
        let mut header = String::new();
        // The client may be gone.
        (reader.read_line(&mut header).ok()? > 0).then_some(())?;
        match header.trim().split_once(": ") {
            Some((name, value)) if name.eq_ignore_ascii_case("content-length") => length = value.parse().ok()?,
            Some(_) => {}
            None => break,
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    let body: Value = serde_json::from_slice(&body).unwrap_or_default();
    // The request is stored before the reply, because the client may inspect it once the reply arrives.
    kept.lock().unwrap().push((line.trim().to_owned(), body.clone()));
    let (status, kind, answer) = match answer(&body) {
        _ if line.starts_with("GET") => ("200 OK", "application/json", MODELS.to_owned()),
        blocks if blocks.is_empty() => ("503 Service Unavailable", "text/plain", String::new()),
        blocks => ("200 OK", "text/event-stream", streamed(&blocks)),
    };
    let head = format!(
        "HTTP/1.1 {status}\r\ncontent-type: {kind}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
        answer.len()
    );
    stream.write_all(format!("{head}{answer}").as_bytes()).ok()
}

fn streamed(blocks: &[Value]) -> String {
    let mut events = Vec::new();
    for (index, block) in blocks.iter().enumerate() {
        let mut begun = block.clone();
        if let Some(input) = begun.get_mut("input") {
            let whole = input.take().to_string();
            *input = json!({});
            let delta = json!({"type": "input_json_delta", "partial_json": whole});
            events.push(json!({"type": "content_block_start", "index": index, "content_block": begun}));
            events.push(json!({"type": "content_block_delta", "index": index, "delta": delta}));
        } else {
            events.push(json!({"type": "content_block_start", "index": index, "content_block": begun}));
        }
        events.push(json!({"type": "content_block_stop", "index": index}));
    }
    let calls = blocks.iter().any(|block| block["type"] == "tool_use");
    let reason = if calls { "tool_use" } else { "end_turn" };
    events.push(json!({"type": "message_delta", "delta": {"stop_reason": reason}}));
    events.push(json!({"type": "message_stop"}));
    events.iter().map(|event| format!("data: {event}\n\n")).collect()
}
