//! MCP clients over streamable HTTP. The caller handles connections and authentication.

use crate::exchange::Exchange;
use crate::http_delivery::{Acknowledge, Watched};
use crate::server::Server;
use crate::sessions::Sessions;
use http_body_util::BodyExt;
use http_body_util::combinators::BoxBody;
use hyper::body::{Body, Bytes};
use hyper::{Method, Request, Response, StatusCode};
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use std::convert::Infallible;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// The path of the MCP endpoint.
pub const HTTP_PATH: &str = "/mcp";

/// An HTTP reply to an MCP client.
pub type Reply = Response<BoxBody<Bytes, Infallible>>;

/// A service that speaks MCP over the connections of a server. The server checks each request first.
#[derive(Clone)]
pub struct HttpService(StreamableHttpService<Server, Sessions>);

impl HttpService {
    /// Creates a service for authenticated clients.
    pub fn new(server: Server, end: CancellationToken) -> HttpService {
        let mut config = StreamableHttpServerConfig::default();
        // The server has checked hosts and origins already.
        (config.allowed_hosts, config.allowed_origins) = (Vec::new(), Vec::new());
        config.cancellation_token = end.clone();
        // The reply to `initialize` must come first, because the protocol version is unknown before it.
        config.sse_retry = None;
        let server = server.over_http(end.child_token());
        let sessions = Arc::new(Sessions::new());
        HttpService(StreamableHttpService::new(move || Ok(server.clone().in_new_conversation()), sessions, config))
    }

    /// Answers one request. An answer counts as delivered once the connection reports that it is written.
    pub async fn handle<B>(&self, mut request: Request<B>, acknowledge: Acknowledge) -> Reply
    where
        B: Body<Error: std::fmt::Display> + Send + 'static,
    {
        let exchange = Exchange::new();
        request.extensions_mut().insert(exchange.clone());
        let is_end = request.method() == Method::DELETE;
        let mut reply = self.0.handle(request).await;
        if is_end && reply.status() == StatusCode::ACCEPTED {
            // The session is ended, not only accepted for ending. Some clients would warn about the status 202.
            *reply.status_mut() = StatusCode::NO_CONTENT;
        }
        reply.map(|body| Watched::new(body, exchange, acknowledge).boxed())
    }
}
