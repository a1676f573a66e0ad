//! A reply that ends when the credential that asked for it is revoked.

use super::Body;
use axum::body::HttpBody;
use bytes::Bytes;
use hyper::body::{Frame, SizeHint};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use tokio_util::sync::CancellationToken;

type Revoked = Pin<Box<dyn Future<Output = ()> + Send>>;

pub(super) struct RevocableBody {
    body: Body,
    /// `None` once it has completed.
    revoked: Option<Revoked>,
    last_words: Bytes,
}

impl RevocableBody {
    /// A body that ends with these words once the credential is revoked.
    pub(super) fn new(body: Body, revoked: Arc<CancellationToken>, last_words: Bytes) -> RevocableBody {
        let revoked: Revoked = Box::pin(async move { revoked.cancelled().await });
        RevocableBody { body, revoked: Some(revoked), last_words }
    }
}

impl HttpBody for RevocableBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let Some(revoked) = &mut self.revoked else { return Poll::Ready(None) };
        if revoked.as_mut().poll(cx).is_ready() {
            self.revoked = None;
            // Tells the producer of the body that it is not read any more.
            self.body = Body::empty();
            let last = std::mem::take(&mut self.last_words);
            return Poll::Ready((!last.is_empty()).then(|| Ok(Frame::data(last))));
        }
        Pin::new(&mut self.body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.revoked.is_some() && self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::default()
    }
}
