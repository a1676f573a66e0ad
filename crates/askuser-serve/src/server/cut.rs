//! A reply that ends early where the credential that asked for it is revoked.

use super::Body;
use bytes::Bytes;
use hyper::body::{Frame, SizeHint};
use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

type Revoked = Pin<Box<dyn Future<Output = ()> + Send>>;

pub(super) struct Cut {
    body: Body,
    /// `None` once it is: a future that is over is not asked again.
    revoked: Option<Revoked>,
}

impl Cut {
    pub(super) fn new(body: Body, revoked: Revoked) -> Cut {
        Cut { body, revoked: Some(revoked) }
    }
}

impl hyper::body::Body for Cut {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let Some(revoked) = &mut self.revoked else { return Poll::Ready(None) };
        if revoked.as_mut().poll(cx).is_ready() {
            self.revoked = None;
            // Whoever makes the body hears that nobody reads it any more.
            self.body = http_body_util::BodyExt::boxed_unsync(http_body_util::Empty::new());
            return Poll::Ready(None);
        }
        Pin::new(&mut self.body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
