//! Runs callbacks once a reply has been flushed to a client that still holds its socket.

use socket2::SockRef;
use std::io;
use std::mem::MaybeUninit;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

/// The callbacks of a connection that wait until its data is written.
#[derive(Clone, Default)]
pub struct WriteReceipts(Arc<Mutex<Vec<OnFlushed>>>);

/// A callback that gets whether the client still held its socket.
type OnFlushed = Box<dyn FnOnce(bool) + Send>;

impl WriteReceipts {
    /// Runs a callback once all present data of the connection is written. The callback gets whether the client still
    /// held its end. If the connection breaks before, the callback is dropped.
    pub fn then(&self, tell: impl FnOnce(bool) + Send + 'static) {
        self.lock().push(Box::new(tell));
    }

    fn lock(&self) -> MutexGuard<'_, Vec<OnFlushed>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A connection that can tell whether its other end is still open.
pub(super) trait PeerCheck {
    fn is_held(&self) -> bool;
}

impl PeerCheck for TcpStream {
    /// Asks the socket, because the runtime may not have noticed yet that it closed.
    fn is_held(&self) -> bool {
        match SockRef::from(self).peek(&mut [MaybeUninit::uninit()]) {
            Ok(read) => read > 0,
            Err(error) => error.kind() == io::ErrorKind::WouldBlock,
        }
    }
}

impl PeerCheck for tokio_rustls::server::TlsStream<TcpStream> {
    fn is_held(&self) -> bool {
        self.get_ref().0.is_held()
    }
}

/// A connection that runs callbacks once its data is written.
pub(super) struct FlushObserver<S> {
    stream: S,
    written: WriteReceipts,
    /// Whether the client held its socket when the last bytes were written. The client may leave afterwards, because it
    /// has the bytes.
    was_held: bool,
}

impl<S: PeerCheck> FlushObserver<S> {
    pub(super) fn new(stream: S, written: WriteReceipts) -> FlushObserver<S> {
        FlushObserver { stream, written, was_held: true }
    }

    fn look(&mut self) {
        if !self.written.lock().is_empty() {
            self.was_held = self.stream.is_held();
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for FlushObserver<S> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, bytes)
    }
}

impl<S: AsyncWrite + PeerCheck + Unpin> AsyncWrite for FlushObserver<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.look();
        Pin::new(&mut self.stream).poll_write(cx, bytes)
    }

    /// Flushes the stream and runs the callbacks, because all data of the connection is written.
    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(Pin::new(&mut self.stream).poll_flush(cx))?;
        let told = std::mem::take(&mut *self.written.lock());
        for tell in told {
            tell(self.was_held);
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

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::AsyncWriteExt;
    use tokio::net::TcpListener;

    /// Returns whether written data counts as arrived, for a client that holds its socket or has closed it before.
    async fn counts(is_held: bool) -> bool {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        let written = WriteReceipts::default();
        let mut connection = FlushObserver::new(listener.accept().await.unwrap().0, written.clone());
        let _client = is_held.then_some(client);
        let (tell, told) = std::sync::mpsc::channel();
        written.then(move |was_held| tell.send(was_held).unwrap());
        connection.write_all(b"the answer").await.unwrap();
        assert!(told.try_recv().is_err(), "it may still be in a buffer");
        connection.flush().await.unwrap();
        told.recv().unwrap()
    }

    #[tokio::test]
    async fn what_was_written_counts_where_the_client_still_holds_its_end() {
        assert!(counts(true).await);
        assert!(!counts(false).await);
    }
}
