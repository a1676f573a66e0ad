//! When a reply over HTTP has arrived: written to a connection whose other end is still held.

use crate::exchange::Exchange;
use http_body_util::combinators::BoxBody;
use hyper::body::{Body, Bytes, Frame, SizeHint};
use serde::Deserialize;
use serde::de::IgnoredAny;
use socket2::SockRef;
use std::cell::RefCell;
use std::convert::Infallible;
use std::io;
use std::mem::MaybeUninit;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

tokio::task_local! {
    /// Replies that are in the buffer of the connection which this task serves, and not written yet.
    static HANDED_OVER: RefCell<Vec<Exchange>>;
}

/// Serves a connection, which says what it has written.
pub(crate) fn acknowledged<F: Future>(serving: F) -> impl Future<Output = F::Output> {
    HANDED_OVER.scope(RefCell::default(), serving)
}

/// The reply of this request is handed to the connection. Called where the connection takes it.
pub(crate) fn handed_over(exchange: Exchange) {
    // Elsewhere there is no connection to acknowledge it.
    let _ = HANDED_OVER.try_with(|replies| replies.borrow_mut().push(exchange));
}

/// A connection that says what it has written.
pub(crate) struct Acknowledging {
    stream: TcpStream,
    /// Whether the client was there when the last bytes of a reply were written. Afterwards it may leave: it has them.
    was_held: bool,
}

impl Acknowledging {
    pub(crate) fn new(stream: TcpStream) -> Acknowledging {
        Acknowledging { stream, was_held: true }
    }

    /// Looks before a reply is written whether the client still holds its end. The socket is asked: that it closed may not have been
    /// noticed yet.
    fn look(&mut self) {
        if HANDED_OVER.try_with(|replies| !replies.borrow().is_empty()).unwrap_or(false) {
            self.was_held = match SockRef::from(&self.stream).peek(&mut [MaybeUninit::uninit()]) {
                Ok(read) => read > 0,
                Err(error) => error.kind() == io::ErrorKind::WouldBlock,
            };
        }
    }
}

impl AsyncRead for Acknowledging {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, bytes)
    }
}

impl AsyncWrite for Acknowledging {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.look();
        Pin::new(&mut self.stream).poll_write(cx, bytes)
    }

    /// Called when everything is written that the connection had.
    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(Pin::new(&mut self.stream).poll_flush(cx))?;
        let written = HANDED_OVER.try_with(RefCell::take).unwrap_or_default();
        for exchange in written {
            exchange.left(self.was_held);
        }
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.look();
        Pin::new(&mut self.stream).poll_write_vectored(cx, bytes)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}

/// A connection that is another's: told what to do once everything is written, with whether the client still held its end.
pub type Acknowledge = Arc<dyn Fn(Box<dyn FnOnce(bool) + Send>) + Send + Sync>;

/// What a request is answered with, and what becomes of that where it is outside of any session.
pub(crate) struct Watched {
    body: BoxBody<Bytes, Infallible>,
    exchange: Option<Exchange>,
    /// `None` where the connection is ours.
    acknowledge: Option<Acknowledge>,
}

impl Watched {
    pub(crate) fn new(
        body: BoxBody<Bytes, Infallible>,
        exchange: Exchange,
        acknowledge: Option<Acknowledge>,
    ) -> Watched {
        Watched { body, exchange: Some(exchange), acknowledge }
    }

    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let frame = ready!(Pin::new(&mut self.body).poll_frame(cx));
        let event = frame.as_ref().and_then(|frame| frame.as_ref().ok()?.data_ref());
        if event.is_some_and(|event| is_reply(event))
            && let Some(exchange) = self.exchange.take()
        {
            handed_over(exchange);
        }
        Poll::Ready(frame)
    }
}

impl Body for Watched {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let Some(acknowledge) = self.acknowledge.clone() else { return self.poll(cx) };
        let (frame, handed_over) =
            HANDED_OVER.sync_scope(RefCell::default(), || (self.poll(cx), HANDED_OVER.with(RefCell::take)));
        for exchange in handed_over {
            acknowledge(Box::new(move |was_held| exchange.left(was_held)));
        }
        frame
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// Whether an event is the reply to a request, and no message on the way to it.
fn is_reply(event: &[u8]) -> bool {
    #[derive(Deserialize)]
    struct Reply {
        #[serde(rename = "result")]
        _result: IgnoredAny,
    }
    event.strip_prefix(b"data:").is_some_and(|message| serde_json::from_slice::<Reply>(message).is_ok())
}

impl Drop for Watched {
    fn drop(&mut self) {
        if let Some(exchange) = &self.exchange {
            exchange.stream_closed(false);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use askuser::{Delivery, Outcome, Via};
    use tokio::io::AsyncWriteExt;
    use tokio::net::TcpListener;

    /// Whether an answer counts as delivered that was written to a client which has let go before, or has not.
    async fn counts(is_held: bool) -> bool {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        let mut connection = Acknowledging::new(listener.accept().await.unwrap().0);
        let (tell, told) = std::sync::mpsc::channel();
        let answer = Delivery::new(Outcome::cancelled().through(Via::Inbox), move |stored| tell.send(stored).unwrap());
        let exchange = Exchange::new();
        exchange.leaving(answer);
        let _client = is_held.then_some(client);
        acknowledged(async {
            handed_over(exchange);
            connection.write_all(b"the answer").await.unwrap();
            assert!(told.try_recv().is_err(), "it may still be in a buffer");
            connection.flush().await.unwrap();
        })
        .await;
        told.recv().unwrap().is_ok()
    }

    #[test]
    fn only_a_reply_is_one() {
        let events = [
            ("data: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n\n", true),
            ("data: {\"jsonrpc\":\"2.0\",\"method\":\"p\",\"params\":{\"result\":1}}\n\n", false),
            ("data: {\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{}}\n\n", false),
            (":\n\n", false),
        ];
        for (event, expected) in events {
            assert_eq!(is_reply(event.as_bytes()), expected, "{event}");
        }
    }

    #[tokio::test]
    async fn what_is_written_to_a_client_that_has_let_go_is_not_delivered_though_nobody_has_noticed_yet() {
        assert!(counts(true).await);
        assert!(!counts(false).await);
    }
}
