//! Clients on this machine, over streamable HTTP. The port is open to everybody on it, web pages in a browser included:
//! the caller shows the token, and names this very server.

use crate::exchange::Exchange;
use crate::http_delivery::{Acknowledge, Acknowledging, Watched, acknowledged};
use crate::server::Server;
use crate::sessions::Sessions;
use crate::stdio::ServeError;
use askuser::gate::{Area, Gate, Headers, Refusal, Said, is_same};
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::header::{AUTHORIZATION, HOST, HeaderName, HeaderValue, ORIGIN, WWW_AUTHENTICATE};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use sha2::{Digest, Sha256};
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

/// Where the protocol is spoken.
pub const HTTP_PATH: &str = "/mcp";

/// A reply to a client.
pub type Reply = Response<BoxBody<Bytes, Infallible>>;

/// Serves clients on this machine that know the token, until `end` is cancelled.
///
/// # Errors
/// Where others than this machine could connect.
pub async fn serve_http(
    server: Server,
    listener: TcpListener,
    token: &str,
    end: CancellationToken,
) -> Result<(), ServeError> {
    let address = listener.local_addr().map_err(ServeError::Listen)?;
    if !address.ip().is_loopback() {
        return Err(ServeError::NotLoopback(address));
    }
    let gate = Arc::new((Gate::of_socket(address, false).or_localhost(address.port()), digest(token)));
    let service = HttpService::with(server, gate.0.hosts().to_vec(), gate.0.origins().to_vec(), end.clone());
    loop {
        let stream = tokio::select! {
            () = end.cancelled() => return Ok(()),
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => stream,
                // Too many open files, or a client that is gone already: the next one may fare better.
                Err(_) => {
                    tokio::time::sleep(Duration::from_millis(100)).await;
                    continue;
                }
            },
        };
        let (service, gate) = (service.clone(), gate.clone());
        let answer = move |mut request: Request<Incoming>| {
            let (service, gate) = (service.clone(), gate.clone());
            async move {
                Ok::<Reply, Infallible>(match refuses(&gate.0, &gate.1, &request) {
                    Some(refusal) => refusal,
                    None => {
                        // Nothing behind the gate needs it, not even a log.
                        request.headers_mut().remove(AUTHORIZATION);
                        service.handle(request, None).await
                    }
                })
            }
        };
        tokio::spawn(async move {
            let mut http = http1::Builder::new();
            http.timer(TokioTimer::new());
            // A connection that breaks is the client's affair.
            let serving = http.serve_connection(TokioIo::new(Acknowledging::new(stream)), service_fn(answer));
            let _ = acknowledged(serving).await;
        });
    }
}

/// Speaks the protocol over a connection, which may be another's, behind a gate of its own.
#[derive(Clone)]
pub struct HttpService(StreamableHttpService<Server, Sessions>);

impl HttpService {
    /// For clients that one gate lets in.
    pub fn new(server: Server, end: CancellationToken) -> HttpService {
        // The gate has looked at these.
        HttpService::with(server, Vec::new(), Vec::new(), end)
    }

    fn with(server: Server, hosts: Vec<String>, origins: Vec<String>, end: CancellationToken) -> HttpService {
        let mut config = StreamableHttpServerConfig::default();
        config.allowed_hosts = hosts;
        config.allowed_origins = origins;
        config.cancellation_token = end.clone();
        // Nothing comes before the reply to `initialize`: which protocol is spoken is not known there.
        config.sse_retry = None;
        let server = server.over_http(end.child_token());
        let sessions = Arc::new(Sessions::new());
        HttpService(StreamableHttpService::new(move || Ok(server.clone().in_new_conversation()), sessions, config))
    }

    /// Answers one request. An answer counts as delivered once the connection says that it is written.
    pub async fn handle(&self, mut request: Request<Incoming>, acknowledge: Option<Acknowledge>) -> Reply {
        let exchange = Exchange::new();
        request.extensions_mut().insert(exchange.clone());
        let is_end = request.method() == Method::DELETE;
        let mut reply = self.0.handle(request).await;
        if is_end && reply.status() == StatusCode::ACCEPTED {
            // It is done, not only accepted: some clients warn otherwise.
            *reply.status_mut() = StatusCode::NO_CONTENT;
        }
        reply.map(|body| Watched::new(body, exchange, acknowledge).boxed())
    }
}

/// Why a request is not let in, if it is not.
fn refuses<T>(gate: &Gate, secret: &[u8; 32], request: &Request<T>) -> Option<Reply> {
    let said = |name| Said::of(request.headers().get_all(name).iter().map(|value| value.as_bytes()));
    let headers = Headers {
        host: said(HOST),
        origin: said(ORIGIN),
        sec_fetch_site: said(HeaderName::from_static("sec-fetch-site")),
        authorization: said(AUTHORIZATION),
        ..Headers::default()
    };
    let token = match gate.admit(&headers, Area::Mcp) {
        Ok(token) => token.unwrap_or_default(),
        Err(refusal) => return Some(refused(refusal)),
    };
    if !is_same(&digest(token), secret) {
        return Some(refused(Refusal::NoToken));
    }
    (request.uri().path() != HTTP_PATH).then(|| refusal(StatusCode::NOT_FOUND, "MCP is spoken at /mcp"))
}

fn refused(why: Refusal) -> Reply {
    let mut reply = refusal(StatusCode::from_u16(why.status()).unwrap_or(StatusCode::FORBIDDEN), why.words());
    if why == Refusal::NoToken {
        reply.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    }
    reply
}

fn digest(token: &str) -> [u8; 32] {
    Sha256::digest(token).into()
}

fn refusal(status: StatusCode, why: &'static str) -> Reply {
    tracing::warn!(status = status.as_u16(), why, "refused");
    let mut reply = Response::new(Full::new(Bytes::from_static(why.as_bytes())).boxed());
    *reply.status_mut() = status;
    reply
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(headers: &[(HeaderName, &str)], path: &str, status: Option<u16>) {
        let gate = Gate::of_socket(([127, 0, 0, 1], 8787).into(), false).or_localhost(8787);
        let request = headers.iter().fold(Request::get(path), |request, (name, value)| request.header(name, *value));
        let refusal = refuses(&gate, &digest("secret"), &request.body(()).unwrap());
        assert_eq!(refusal.map(|refusal| refusal.status().as_u16()), status, "{headers:?}");
    }

    #[test]
    fn only_the_token_the_name_and_the_origin_of_this_very_server_are_let_in() {
        let (host, auth) = ((HOST, "127.0.0.1:8787"), (AUTHORIZATION, "Bearer secret"));
        check(&[host.clone(), auth.clone()], "/mcp", None);
        check(&[(HOST, "localhost:8787"), auth.clone()], "/mcp", None);
        check(&[host.clone(), auth.clone(), (ORIGIN, "http://localhost:8787")], "/mcp", None);
        check(&[host.clone(), auth.clone()], "/", Some(404));
        for wrong in ["Bearer Secret", "Bearer secret ", "Bearer ", "secret", "Basic secret"] {
            check(&[host.clone(), (AUTHORIZATION, wrong)], "/mcp", Some(401));
        }
        check(std::slice::from_ref(&host), "/mcp", Some(401));
        for foreign in ["evil.example:8787", "127.0.0.1", "127.0.0.1:8788", "localhost", "127.0.0.1:8787.evil.example"]
        {
            check(&[(HOST, foreign), auth.clone()], "/mcp", Some(403));
        }
        check(std::slice::from_ref(&auth), "/mcp", Some(403));
        for foreign in ["http://evil.example", "null", "https://127.0.0.1:8787", "http://127.0.0.1", ""] {
            check(&[host.clone(), auth.clone(), (ORIGIN, foreign)], "/mcp", Some(403));
        }
    }
}
