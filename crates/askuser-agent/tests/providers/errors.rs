//! Failures over HTTP. Unit tests beside the code cover the texts of errors.

use crate::conversation::{SECRET, ask, ask_once, model_at};
use crate::server::{CannedResponse, End, Server};
use askuser_agent::provider::{ProviderConfig, connect};
use askuser_agent::{FailureKind, ModelError, ModelEvent, ModelRequest};
use futures_util::StreamExt;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

const SPECS: [&str; 4] = ["anthropic/m", "openai/m", "openai-chat/m", "gemini/m"];

async fn error(spec: &str, response: CannedResponse) -> ModelError {
    // Some providers are asked twice, in two protocols.
    let server = Server::start([response.clone(), response]).await;
    let (_, error) = ask(&*model_at(spec, &server.url)).await;
    error.expect("an error")
}

#[tokio::test]
async fn every_status_has_its_kind_with_every_provider() {
    for (status, kind) in [
        ("400 Bad Request", FailureKind::Rejected),
        ("401 Unauthorized", FailureKind::Key),
        ("403 Forbidden", FailureKind::Key),
        ("404 Not Found", FailureKind::UnknownModel),
        ("413 Payload Too Large", FailureKind::ContextTooLong),
        ("429 Too Many Requests", FailureKind::RateLimited),
        ("500 Internal Server Error", FailureKind::Overloaded),
        ("502 Bad Gateway", FailureKind::Overloaded),
        ("503 Service Unavailable", FailureKind::Overloaded),
        ("504 Gateway Timeout", FailureKind::Overloaded),
        ("529 Overloaded", FailureKind::Overloaded),
    ] {
        for spec in SPECS {
            let error = error(spec, CannedResponse::json(status, "{\"error\":{\"message\":\"So it is.\"}}")).await;
            assert_eq!(error.kind, kind, "{spec} {status}");
            assert!(error.message.ends_with(": So it is."), "{}", error.message);
        }
    }
}

#[tokio::test]
async fn a_key_is_not_leaked_even_by_a_provider_that_repeats_it() {
    for (spec, variable) in
        SPECS.into_iter().zip(["ANTHROPIC_API_KEY", "OPENAI_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY"])
    {
        let body = format!("{{\"error\":{{\"message\":\"Wrong key {SECRET}\",\"type\":\"{SECRET}\"}}}}");
        let error = error(spec, CannedResponse::json("401 Unauthorized", body)).await;
        assert_eq!(error.message, format!("the key in {variable} was rejected (401): Wrong key [key]"));
        assert!(!format!("{error:?}").contains(SECRET));
    }
}

#[tokio::test]
async fn retry_headers_set_the_delay() {
    for (headers, expected) in [
        ("", None),
        ("retry-after: 17\r\n", Some(Duration::from_secs(17))),
        ("retry-after: 0\r\n", Some(Duration::ZERO)),
        ("retry-after: 3\r\nretry-after-ms: 250\r\n", Some(Duration::from_millis(250))),
        ("retry-after: Sun, 06 Nov 1994 08:49:37 GMT\r\n", Some(Duration::ZERO)),
    ] {
        for status in ["429 Too Many Requests", "529 Overloaded"] {
            assert_eq!(error("anthropic/m", CannedResponse::new(status, headers, "")).await.retry_after, expected);
        }
    }
}

#[tokio::test]
async fn gemini_sends_the_retry_delay_in_the_body() {
    let body = r#"{"error":{"code":429,"message":"Quota.","status":"RESOURCE_EXHAUSTED","details":[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"41s"}]}}"#;
    assert_eq!(
        error("gemini/m", CannedResponse::json("429 Too Many Requests", body)).await,
        ModelError::new(FailureKind::RateLimited, "gemini rate limit reached (429): Quota.")
            .with_retry_after(Duration::from_secs(41))
    );
}

#[tokio::test]
async fn a_redirect_is_not_followed() {
    let other = Server::start([CannedResponse::stream("")]).await;
    for status in ["301 Moved Permanently", "302 Found", "307 Temporary Redirect", "308 Permanent Redirect"] {
        let headers = format!("location: {}/v1/messages?token=abc\r\n", other.url);
        let error = error("anthropic/m", CannedResponse::new(status, &headers, "")).await;
        assert_eq!(error.kind, FailureKind::Rejected);
        assert!(error.message.contains(&format!("redirects to {} ({})", other.url, &status[..3])), "{}", error.message);
    }
    assert_eq!(other.requests().len(), 0);
}

#[tokio::test]
async fn a_body_that_is_no_event_stream_is_a_protocol_error() {
    for (content_type, body) in [
        ("text/html", "<html>Please log in</html>"),
        ("text/plain", "Ollama is running"),
        ("application/x-ndjson", "{\"message\":{\"content\":\"Hi\"},\"done\":false}\n{\"done\":true}\n"),
        ("application/json", ""),
        ("application/json", "nonsense"),
        ("application/json", "{\"status\":\"ok\"}"),
        ("application/vnd.api+json", "[]"),
    ] {
        for (spec, path) in [
            ("anthropic/m", "/api/v1/messages"),
            ("openai/m", "/api/responses"),
            ("openai-chat/m", "/api/chat/completions"),
        ] {
            let headers = format!("content-type: {content_type}; charset=utf-8\r\n");
            let server = Server::start([CannedResponse::new("200 OK", &headers, body)]).await;
            let error = ask(&*model_at(spec, &format!("{}/api", server.url))).await.1.expect("an error");
            let provider = spec.trim_end_matches("/m");
            let host = server.url.trim_start_matches("http://");
            let message = format!(
                "cannot read the response of {provider}: {host} sent {content_type} for {path} instead of an event stream; \
                  is the base URL right?"
            );
            assert_eq!(error, ModelError::new(FailureKind::Protocol, message));
        }
    }
}

#[tokio::test]
async fn a_body_that_is_no_event_stream_is_not_read_to_its_end() {
    let line = "{\"message\":{\"content\":\"Hi\"},\"done\":false}\n";
    let response = CannedResponse::new("200 OK", "content-type: application/x-ndjson\r\n", line).ending(End::Hang);
    assert_eq!(error("ollama/m", response).await.kind, FailureKind::Protocol);
}

#[tokio::test]
async fn an_event_stream_needs_no_content_type() {
    let event = "data: {\"choices\":[{\"delta\":{\"content\":\"Hi\"},\"finish_reason\":\"stop\"}]}\n\n";
    let (events, error, _) = ask_once("vllm/m", CannedResponse::new("200 OK", "", event)).await;
    assert_eq!((events, error), (vec![ModelEvent::Text("Hi".into())], None));
}

#[tokio::test]
async fn an_api_error_may_come_with_status_200() {
    for content_type in ["application/json", "text/plain", "application/x-ndjson", "text/html"] {
        let headers = format!("content-type: {content_type}\r\n");
        let response =
            CannedResponse::new("200 OK", &headers, "{\"error\":{\"code\":429,\"message\":\"Slow down.\"}}\n");
        assert_eq!(
            error("openrouter/a/b", response).await,
            ModelError::new(FailureKind::RateLimited, "openrouter rate limit reached (429): Slow down.")
        );
    }
}

#[tokio::test]
async fn an_api_error_with_another_content_type_may_come_in_chunks() {
    let body = "{\"error\":{\"code\":429,\"message\":\"Slow down.\"}}";
    let chunks = body.bytes().map(|byte| vec![byte]).collect();
    let response = CannedResponse { chunks, ..CannedResponse::new("200 OK", "content-type: text/plain\r\n", "") };
    assert_eq!(error("openrouter/a/b", response).await.kind, FailureKind::RateLimited);
}

#[tokio::test]
async fn an_event_that_is_no_json_is_a_protocol_error() {
    for spec in SPECS {
        assert_eq!(error(spec, CannedResponse::stream("data: nonsense\n\n")).await.kind, FailureKind::Protocol);
    }
}

#[tokio::test]
async fn a_broken_connection_is_a_network_failure() {
    for spec in SPECS {
        let error = error(spec, CannedResponse::stream(": hello\n\n").ending(End::Cut)).await;
        assert_eq!(error.kind, FailureKind::Network, "{}", error.message);
    }
}

#[tokio::test]
async fn a_truncated_event_is_a_network_failure() {
    for spec in SPECS {
        let error = error(spec, CannedResponse::stream("data: {\"choices\":\ndata: ")).await;
        assert_eq!(error.kind, FailureKind::Network, "{}", error.message);
    }
}

#[tokio::test]
async fn an_idle_timeout_is_a_network_failure() {
    let nothing = CannedResponse { head: String::new(), chunks: Vec::new(), end: End::Hang };
    for response in [nothing, CannedResponse::stream(": hello\n\n").ending(End::Hang)] {
        let server = Server::start([response]).await;
        let environment = |_: &str| None;
        let base_url = Some(server.url.clone());
        let config = ProviderConfig::new(&environment)
            .with_base_url(base_url)
            .with_timeouts(Duration::from_secs(30), Duration::from_millis(50));
        let model = connect("ollama/m", &config).unwrap_or_else(|error| panic!("{error}"));
        let error = ask(&*model).await.1.unwrap();
        assert_eq!(error.kind, FailureKind::Network);
        assert!(error.message.contains("no data within the idle timeout"), "{}", error.message);
    }
}

#[tokio::test]
async fn a_refused_connection_is_a_network_failure() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let error = ask(&*model_at("ollama/m", &format!("http://{address}"))).await.1.unwrap();
    assert_eq!(error.kind, FailureKind::Network);
    assert_eq!(
        error.message,
        format!(
            "cannot reach ollama at {address}: the connection was refused; is ollama running there? OLLAMA_HOST says where"
        )
    );
    // A wait does not help, because no server starts on this machine meanwhile.
    assert_eq!(error.max_retries, Some(0));
}

#[tokio::test]
async fn a_name_that_does_not_resolve_is_retried_like_a_reset_connection() {
    let error = ask(&*model_at("anthropic/m", "http://no-such-host.invalid")).await.1.unwrap();
    assert_eq!((error.kind, error.max_retries), (FailureKind::Network, None), "{}", error.message);
    let message = "cannot reach anthropic at no-such-host.invalid: the host name is not known; check the network, the proxy, \
                   and ANTHROPIC_BASE_URL if it is set";
    assert_eq!(error.message, message);
}

#[tokio::test]
async fn dropping_the_response_closes_the_connection() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let model = model_at("openai-chat/m", &format!("http://{}", listener.local_addr().unwrap()));
    let server = async {
        let (mut stream, _) = listener.accept().await.unwrap();
        // The whole request fits into one read.
        let mut asked = Vec::new();
        stream.read_buf(&mut asked).await.unwrap();
        let event = "data: {\"choices\":[{\"delta\":{\"content\":\"Hi\"}}]}\n\n";
        let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n";
        stream.write_all(format!("{head}{event}").as_bytes()).await.unwrap();
        // The read ends when the client closes the connection.
        let _ = stream.read_to_end(&mut asked).await;
    };
    let client = async {
        let request = ModelRequest::new("", &[], &[]);
        let mut response = model.respond(request);
        let first = response.next().await;
        drop(response);
        first
    };
    let ((), first) = tokio::join!(server, client);
    assert_eq!(first, Some(Ok(ModelEvent::Text("Hi".into()))));
}
