//! When a reply over HTTP has arrived: written to a connection whose other end is still held.

use crate::exchange::Exchange;
use http_body_util::combinators::BoxBody;
use hyper::body::{Body, Bytes, Frame, SizeHint};
use socket2::SockRef;
use std::cell::RefCell;
use std::convert::Infallible;
use std::io;
use std::mem::MaybeUninit;
use std::pin::Pin;
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
pub(crate) struct Acknowledging(TcpStream);

impl Acknowledging {
    pub(crate) fn new(stream: TcpStream) -> Acknowledging {
        Acknowledging(stream)
    }

    /// Whether the client still holds its end. The socket is asked: that it closed may not have been noticed yet.
    fn is_held(&self) -> bool {
        match SockRef::from(&self.0).peek(&mut [MaybeUninit::uninit()]) {
            Ok(read) => read > 0,
            Err(error) => error.kind() == io::ErrorKind::WouldBlock,
        }
    }
}

impl AsyncRead for Acknowledging {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(cx, bytes)
    }
}

impl AsyncWrite for Acknowledging {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(cx, bytes)
    }

    /// Called when everything is written that the connection had.
    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(Pin::new(&mut self.0).poll_flush(cx))?;
        let written = HANDED_OVER.try_with(RefCell::take).unwrap_or_default();
        for exchange in written {
            exchange.left(self.is_held());
        }
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(cx)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write_vectored(cx, bytes)
    }

    fn is_write_vectored(&self) -> bool {
        self.0.is_write_vectored()
    }
}

/// The reply to a request outside of any session: it goes out with the end of its body.
pub(crate) struct Watched {
    body: BoxBody<Bytes, Infallible>,
    exchange: Option<Exchange>,
}

impl Watched {
    pub(crate) fn new(body: BoxBody<Bytes, Infallible>, exchange: Exchange) -> Watched {
        Watched { body, exchange: Some(exchange) }
    }
}

impl Body for Watched {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let frame = ready!(Pin::new(&mut self.body).poll_frame(cx));
        if frame.is_none()
            && let Some(exchange) = self.exchange.take()
        {
            handed_over(exchange);
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
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
        let mut connection = Acknowledging(listener.accept().await.unwrap().0);
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

    #[tokio::test]
    async fn what_is_written_to_a_client_that_has_let_go_is_not_delivered_though_nobody_has_noticed_yet() {
        assert!(counts(true).await);
        assert!(!counts(false).await);
    }
}
