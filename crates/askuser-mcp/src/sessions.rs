//! Sessions of clients over HTTP, which the SDK stores. This module tracks their streams and ends unused sessions.

use crate::exchange::Exchange;
use crate::http_delivery::handed_over;
use crate::ids_from_one::IdsFromOne;
use futures_util::Stream;
use rmcp::model::{
    ClientJsonRpcMessage, GetExtensions, JsonRpcMessage, ProtocolVersion, ServerJsonRpcMessage, ServerResult,
};
use rmcp::transport::streamable_http_server::session::local::{LocalSessionManager, LocalSessionManagerError};
use rmcp::transport::streamable_http_server::session::{ServerSseMessage, SessionId, SessionManager};
use std::collections::HashMap;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::Instant;

/// The lifetime of a session that has no stream and that its client has not ended.
const UNUSED: Duration = Duration::from_secs(60 * 60);
/// The maximum number of sessions without a stream.
const MOST_UNUSED: usize = 100;
/// The pause before a client returns to a broken stream.
const RETRY: Duration = Duration::from_secs(1);

#[derive(Clone)]
pub(crate) struct Sessions {
    local: Arc<LocalSessionManager>,
    known: Arc<Mutex<HashMap<SessionId, Arc<Session>>>>,
}

struct Session {
    /// The time when the session was created, or when its last stream ended.
    used: Mutex<Instant>,
    /// A flag that is set if streams begin with an empty event, to which a client can return. Clients of protocols
    /// before 2025-11-25 take the event for a broken message.
    is_primed: AtomicBool,
    streams: watch::Sender<usize>,
    /// The exchanges whose streams can be resumed, by the SDK's name of the request.
    exchanges: Mutex<HashMap<String, Exchange>>,
}

impl Sessions {
    pub(crate) fn new() -> Sessions {
        let mut local = LocalSessionManager::default();
        local.session_config.keep_alive = None;
        local.session_config.sse_retry = Some(RETRY);
        Sessions { local: Arc::new(local), known: Arc::default() }
    }

    fn session(&self, id: &SessionId) -> Result<Arc<Session>, LocalSessionManagerError> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.get(id).cloned().ok_or_else(|| LocalSessionManagerError::SessionNotFound(id.clone()))
    }

    /// Returns the session that has had no stream for the longest time, if there is no room for another session.
    fn one_too_many(&self) -> Option<SessionId> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let unused: Vec<_> = known.iter().filter(|(_, session)| *session.streams.borrow() == 0).collect();
        let longest = unused.iter().min_by_key(|(_, session)| *session.used()).filter(|_| unused.len() >= MOST_UNUSED);
        longest.map(|(id, _)| (*id).clone())
    }

    /// Waits until a session has had no stream for too long, and ends the session.
    async fn let_go(self, id: SessionId, mut streams: watch::Receiver<usize>) {
        while streams.wait_for(|open| *open == 0).await.is_ok() {
            let used = tokio::time::timeout(UNUSED, streams.changed()).await;
            match used.map(|used| used.is_ok()) {
                Ok(true) => {}
                // The session has ended already.
                Ok(false) => return,
                Err(_) => {
                    // A session that has ended meanwhile need not be closed.
                    let _ = self.close_session(&id).await;
                    return;
                }
            }
        }
    }
}

impl SessionManager for Sessions {
    type Error = LocalSessionManagerError;
    type Transport = IdsFromOne<<LocalSessionManager as SessionManager>::Transport>;

    async fn create_session(&self) -> Result<(SessionId, Self::Transport), Self::Error> {
        if let Some(id) = self.one_too_many() {
            self.close_session(&id).await?;
        }
        let (id, transport) = self.local.create_session().await?;
        let session = Arc::new(Session::new());
        tokio::spawn(self.clone().let_go(id.clone(), session.streams.subscribe()));
        self.known.lock().unwrap_or_else(PoisonError::into_inner).insert(id.clone(), session);
        Ok((id, IdsFromOne(transport)))
    }

    async fn initialize_session(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<ServerJsonRpcMessage, Self::Error> {
        let reply = self.local.initialize_session(id, message).await?;
        if let JsonRpcMessage::Response(response) = &reply
            && let ServerResult::InitializeResult(result) = &response.result
        {
            let is_primed = result.protocol_version.as_str() >= ProtocolVersion::V_2025_11_25.as_str();
            self.session(id)?.is_primed.store(is_primed, Ordering::Relaxed);
        }
        Ok(reply)
    }

    async fn has_session(&self, id: &SessionId) -> Result<bool, Self::Error> {
        self.local.has_session(id).await
    }

    async fn close_session(&self, id: &SessionId) -> Result<(), Self::Error> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner).remove(id);
        self.local.close_session(id).await
    }

    async fn create_stream(
        &self,
        id: &SessionId,
        mut message: ClientJsonRpcMessage,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Self::Error> {
        let session = self.session(id)?;
        let exchange = Exchange::new();
        if let JsonRpcMessage::Request(request) = &mut message {
            request.request.extensions_mut().insert(exchange.clone());
        }
        Ok(Watched::new(self.local.create_stream(id, message).await?, session, Some(exchange)))
    }

    async fn accept_message(&self, id: &SessionId, message: ClientJsonRpcMessage) -> Result<(), Self::Error> {
        self.local.accept_message(id, message).await
    }

    async fn create_standalone_stream(
        &self,
        id: &SessionId,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Self::Error> {
        Ok(Watched::new(self.local.create_standalone_stream(id).await?, self.session(id)?, None))
    }

    async fn resume(
        &self,
        id: &SessionId,
        last_event_id: String,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Self::Error> {
        let session = self.session(id)?;
        let exchange = request_of(&last_event_id).and_then(|request| session.exchanges().get(request).cloned());
        let stream = self.local.resume(id, last_event_id).await?;
        if let Some(exchange) = &exchange {
            exchange.stream_opened();
        }
        Ok(Watched::new(stream, session, exchange))
    }
}

impl Session {
    fn new() -> Session {
        let used = Mutex::new(Instant::now());
        Session {
            used,
            is_primed: AtomicBool::default(),
            streams: watch::Sender::default(),
            exchanges: Mutex::default(),
        }
    }

    fn used(&self) -> MutexGuard<'_, Instant> {
        self.used.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn exchanges(&self) -> MutexGuard<'_, HashMap<String, Exchange>> {
        self.exchanges.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the request to which the stream of an event belongs. An event is named `index/request`; any other name gives
/// `None`.
fn request_of(event: &str) -> Option<&str> {
    event.split_once('/').map(|(_, request)| request)
}

/// A stream to a client that records its end.
struct Watched<S> {
    stream: Pin<Box<S>>,
    session: Arc<Session>,
    exchange: Option<Exchange>,
    /// The SDK's name of the request; `None` until the client knows the name and can return.
    name: Option<String>,
}

impl<S: Stream<Item = ServerSseMessage>> Watched<S> {
    fn new(stream: S, session: Arc<Session>, exchange: Option<Exchange>) -> Watched<S> {
        session.streams.send_modify(|open| *open += 1);
        Watched { stream: Box::pin(stream), session, exchange, name: None }
    }
}

impl<S: Stream<Item = ServerSseMessage>> Stream for Watched<S> {
    type Item = ServerSseMessage;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<ServerSseMessage>> {
        loop {
            let Some(event) = ready!(self.stream.as_mut().poll_next(cx)) else { return Poll::Ready(None) };
            if event.message.is_none() && !self.session.is_primed.load(Ordering::Relaxed) {
                continue;
            }
            if let Some(exchange) = self.exchange.clone() {
                if let (None, Some(name)) = (&self.name, event.event_id.as_deref().and_then(request_of)) {
                    self.name = Some(name.to_owned());
                    self.session.exchanges().insert(name.to_owned(), exchange.clone());
                }
                if let Some(JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_)) = event.message.as_deref() {
                    // The reply is the last message of the stream.
                    self.end();
                    handed_over(exchange);
                }
            }
            return Poll::Ready(Some(event));
        }
    }
}

impl<S> Watched<S> {
    /// Records that there is no stream to return to.
    fn end(&mut self) {
        self.exchange = None;
        if let Some(name) = self.name.take() {
            self.session.exchanges().remove(&name);
        }
    }
}

impl<S> Drop for Watched<S> {
    fn drop(&mut self) {
        if let Some(exchange) = &self.exchange {
            exchange.stream_closed(self.name.is_some());
        }
        *self.session.used() = Instant::now();
        self.session.streams.send_modify(|open| *open -= 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::stream;

    #[tokio::test(start_paused = true)]
    async fn of_a_hundred_idle_sessions_the_oldest_makes_room() {
        let sessions = Sessions::new();
        let mut ids = Vec::new();
        let mut transports = Vec::new();
        for _ in 0..MOST_UNUSED {
            let (id, transport) = sessions.create_session().await.unwrap();
            ids.push(id);
            transports.push(transport);
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        // The first session was used last.
        drop(Watched::new(stream::pending(), sessions.session(&ids[0]).unwrap(), None));
        let open = Watched::new(stream::pending(), sessions.session(&ids[1]).unwrap(), None);
        let _more = [sessions.create_session().await.unwrap(), sessions.create_session().await.unwrap()];
        let mut known = Vec::new();
        for id in &ids[..4] {
            known.push(sessions.has_session(id).await.unwrap());
        }
        assert_eq!(known, [true, true, false, true], "the longest without a stream");
        drop(open);
    }

    #[tokio::test(start_paused = true)]
    async fn a_session_is_let_go_after_an_hour_without_a_stream() {
        let sessions = Sessions::new();
        let (id, _transport) = sessions.create_session().await.unwrap();
        let minute = Duration::from_secs(60);
        let stream = Watched::new(stream::pending(), sessions.session(&id).unwrap(), None);
        tokio::time::sleep(1_000 * minute).await;
        assert!(sessions.has_session(&id).await.unwrap(), "it is in use");
        drop(stream);
        tokio::time::sleep(59 * minute).await;
        drop(Watched::new(stream::pending(), sessions.session(&id).unwrap(), None));
        tokio::time::sleep(59 * minute).await;
        assert!(sessions.has_session(&id).await.unwrap(), "it was used in between");
        tokio::time::sleep(2 * minute).await;
        assert!(!sessions.has_session(&id).await.unwrap());
        assert!(sessions.session(&id).is_err(), "nothing of it is kept");
    }
}
