//! Clients on this machine, over streamable HTTP. The port is open to everybody on it, web pages in a browser included:
//! the caller shows the token, and names this very server.

use crate::exchange::Exchange;
use crate::http_delivery::{Acknowledging, Watched, acknowledged};
use crate::server::Server;
use crate::sessions::Sessions;
use crate::stdio::ServeError;
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::header::{AUTHORIZATION, HOST, ORIGIN, WWW_AUTHENTICATE};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{HeaderMap, Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use sha2::{Digest, Sha256};
use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

/// Where the protocol is spoken.
pub const HTTP_PATH: &str = "/mcp";

type Reply = Response<BoxBody<Bytes, Infallible>>;

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
    let gate = Arc::new(Gate::of(address, token));
    let mut config = StreamableHttpServerConfig::default();
    config.allowed_hosts = gate.hosts.to_vec();
    config.allowed_origins = gate.origins.to_vec();
    config.cancellation_token = end.clone();
    // Nothing comes before the reply to `initialize`: which protocol is spoken is not known there.
    config.sse_retry = None;
    let server = server.over_http(end.child_token());
    let sessions = Arc::new(Sessions::new());
    let service = StreamableHttpService::new(move || Ok(server.clone().in_new_conversation()), sessions, config);
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
                Ok::<Reply, Infallible>(match gate.refuses(request.uri().path(), request.headers()) {
                    Some(refusal) => refusal,
                    None => {
                        // Nothing behind the gate needs it, not even a log.
                        request.headers_mut().remove(AUTHORIZATION);
                        let exchange = Exchange::new();
                        request.extensions_mut().insert(exchange.clone());
                        let is_end = request.method() == Method::DELETE;
                        let mut reply = service.handle(request).await;
                        if is_end && reply.status() == StatusCode::ACCEPTED {
                            // It is done, not only accepted: some clients warn otherwise.
                            *reply.status_mut() = StatusCode::NO_CONTENT;
                        }
                        reply.map(|body| Watched::new(body, exchange).boxed())
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

/// Who is let in.
struct Gate {
    hosts: [String; 2],
    origins: [String; 2],
    token: [u8; 32],
}

impl Gate {
    fn of(address: SocketAddr, token: &str) -> Gate {
        let hosts = [address.to_string(), format!("localhost:{}", address.port())];
        let origins = hosts.clone().map(|host| format!("http://{host}"));
        Gate { hosts, origins, token: digest(token) }
    }

    fn refuses(&self, path: &str, headers: &HeaderMap) -> Option<Reply> {
        // Said twice, it says nothing.
        let only = |name| {
            let mut values = headers.get_all(name).iter();
            values.next().filter(|_| values.next().is_none()).and_then(|value| value.to_str().ok())
        };
        // A page that made its own name point here calls us by that name.
        if !only(HOST).is_some_and(|host| self.hosts.iter().any(|known| known == host)) {
            return Some(refusal(StatusCode::FORBIDDEN, "Host header not allowed"));
        }
        if headers.contains_key(ORIGIN)
            && !only(ORIGIN).is_some_and(|origin| self.origins.iter().any(|known| known == origin))
        {
            return Some(refusal(StatusCode::FORBIDDEN, "Origin not allowed"));
        }
        let token = only(AUTHORIZATION).and_then(|value| value.strip_prefix("Bearer "));
        // Digests, so that how long the comparison takes tells nothing.
        if token.is_none_or(|token| digest(token) != self.token) {
            let mut refusal = refusal(StatusCode::UNAUTHORIZED, "the bearer token is missing or wrong");
            refusal.headers_mut().insert(WWW_AUTHENTICATE, "Bearer".parse().ok()?);
            return Some(refusal);
        }
        (path != HTTP_PATH).then(|| refusal(StatusCode::NOT_FOUND, "MCP is spoken at /mcp"))
    }
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
    use hyper::header::HeaderName;

    #[track_caller]
    fn check(headers: &[(HeaderName, &str)], path: &str, status: Option<u16>) {
        let gate = Gate::of(([127, 0, 0, 1], 8787).into(), "secret");
        let headers: HeaderMap = headers.iter().map(|(name, value)| (name.clone(), value.parse().unwrap())).collect();
        assert_eq!(gate.refuses(path, &headers).map(|refusal| refusal.status().as_u16()), status, "{headers:?}");
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
