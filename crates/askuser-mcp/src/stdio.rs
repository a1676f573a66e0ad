//! A client at the other end of two streams.

use crate::exchange::Exchange;
use crate::ids_from_one::IdsFromOne;
use crate::long_line::{MAX_LINE, Unread, Watched};
use crate::null_id::NullIds;
use crate::server::Server;
use rmcp::RoleServer;
use rmcp::model::{ClientNotification, ErrorData, GetExtensions, JsonRpcMessage, RequestId};
use rmcp::service::{RxJsonRpcMessage, ServerInitializeError, TxJsonRpcMessage, serve_server_with_ct};
use rmcp::transport::Transport;
use rmcp::transport::async_rw::AsyncRwTransport;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::mpsc::{self, UnboundedReceiver};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

/// The reason why a client could not be served.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServeError {
    /// The client does not speak the protocol.
    #[error("the client did not start as an MCP client: {0}")]
    Handshake(String),
}

/// Serves one client until it closes its stream or `end` is cancelled. Unanswered questions stay in the inbox.
///
/// ```no_run
/// use askuser_mcp::{Options, Server, serve};
/// use tokio_util::sync::CancellationToken;
/// # async fn example(inbox: std::sync::Arc<dyn askuser::Inbox>) -> Result<(), askuser_mcp::ServeError> {
/// let server = Server::new(inbox, Options::default());
/// serve(server, tokio::io::stdin(), tokio::io::stdout(), CancellationToken::new()).await
/// # }
/// ```
///
/// # Errors
/// If the client does not speak the protocol.
pub async fn serve(
    server: Server,
    read: impl AsyncRead + Send + Unpin + 'static,
    write: impl AsyncWrite + Send + Unpin + 'static,
    end: CancellationToken,
) -> Result<(), ServeError> {
    let closed = end.child_token();
    let server = server.of_connection(closed.clone());
    let (telling, unread) = mpsc::unbounded_channel();
    let streams = AsyncRwTransport::new_server(Watched::new(read, telling), NullIds::new(write));
    let streams = streams.with_max_line_length(MAX_LINE);
    let refusals = JoinSet::new();
    let exchanges = Exchanges::default();
    let connection = Connection { streams, unread, refusals, exchanges, closed, is_open: false };
    match serve_server_with_ct(server, IdsFromOne(connection), end).await {
        Ok(running) => {
            // The client ends the connection. If a call has panicked, its question is still in the inbox.
            let _ = running.waiting().await;
            Ok(())
        }
        Err(ServerInitializeError::Cancelled | ServerInitializeError::ConnectionClosed(_)) => Ok(()),
        Err(error) => Err(ServeError::Handshake(error.to_string())),
    }
}

/// The exchanges of requests that have no reply yet.
#[derive(Clone, Default)]
struct Exchanges(Arc<Mutex<HashMap<RequestId, Exchange>>>);

impl Exchanges {
    fn begin(&self, request: &RequestId) -> Exchange {
        let exchange = Exchange::new();
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(request.clone(), exchange.clone());
        exchange
    }

    /// Ends the exchange of a request, because its reply was written or never will be.
    fn end(&self, request: &RequestId, was_written: bool) {
        if let Some(exchange) = self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(request) {
            exchange.left(was_written);
        }
    }
}

/// The two streams, and the state of replies that are under way.
struct Connection<R: AsyncRead + Unpin, W: AsyncWrite + Unpin> {
    streams: AsyncRwTransport<RoleServer, Watched<R>, NullIds<W>>,
    unread: UnboundedReceiver<Unread>,
    /// The replies to unread messages that are being sent.
    refusals: JoinSet<()>,
    exchanges: Exchanges,
    closed: CancellationToken,
    is_open: bool,
}

impl<R, W> Connection<R, W>
where
    R: AsyncRead + Send + Unpin,
    W: AsyncWrite + Send + Unpin + 'static,
{
    /// Replies to an unread message in a separate task. The receiving future may be dropped at any moment, which must
    /// not interrupt the reply.
    fn refuse(&mut self, request: Unread) {
        let fact = format!("the message is longer than {MAX_LINE} bytes, and was not read");
        let reply = JsonRpcMessage::error(ErrorData::invalid_request(fact, None), request);
        let sending = self.streams.send(reply);
        while self.refusals.try_join_next().is_some() {}
        self.refusals.spawn(async move { drop(sending.await) });
    }
}

impl<R, W> Transport<RoleServer> for Connection<R, W>
where
    R: AsyncRead + Send + Unpin,
    W: AsyncWrite + Send + Unpin + 'static,
{
    type Error = std::io::Error;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        let request = match &message {
            JsonRpcMessage::Response(response) => Some(response.id.clone()),
            JsonRpcMessage::Error(error) => error.id.clone(),
            _ => None,
        };
        let exchanges = self.exchanges.clone();
        let sending = self.streams.send(message);
        async move {
            let sent = sending.await;
            if let Some(request) = request {
                exchanges.end(&request, sent.is_ok());
            }
            sent
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        loop {
            let mut message = tokio::select! {
                biased;
                Some(unread) = self.unread.recv() => {
                    self.refuse(unread);
                    continue;
                }
                message = self.streams.receive() => message,
            };
            match &mut message {
                // The client has closed its stream, so calls stop waiting for a person.
                None => {
                    self.closed.cancel();
                    while let Ok(unread) = self.unread.try_recv() {
                        self.refuse(unread);
                    }
                    while self.refusals.join_next().await.is_some() {}
                }
                // The SDK would end the connection on a notification before the first request.
                Some(JsonRpcMessage::Notification(_)) if !self.is_open => continue,
                Some(JsonRpcMessage::Notification(notification)) => {
                    if let ClientNotification::CancelledNotification(cancelled) = &notification.notification
                        && let Some(request) = &cancelled.params.request_id
                    {
                        self.exchanges.end(request, false);
                    }
                }
                Some(JsonRpcMessage::Request(request)) => {
                    self.is_open = true;
                    request.request.extensions_mut().insert(self.exchanges.begin(&request.id));
                }
                Some(_) => self.is_open = true,
            }
            return message;
        }
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.closed.cancel();
        self.streams.close().await
    }
}
