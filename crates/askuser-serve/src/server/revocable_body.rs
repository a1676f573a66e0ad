//! A reply that ends when the credential of its caller is revoked.

use super::Body;
use bytes::Bytes;
use futures_util::stream;
use http_body_util::{BodyExt, StreamBody};
use hyper::body::Frame;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// Returns a body that ends with these words once the credential is revoked.
pub(super) fn revocable(body: Body, revoked: Arc<CancellationToken>, last_words: Bytes) -> Body {
    let frames = stream::unfold(Some((body, revoked, last_words)), async |state| {
        let (mut body, revoked, last_words) = state?;
        let frame = tokio::select! {
            biased;
            () = revoked.cancelled() => None,
            frame = body.frame() => Some(frame?),
        };
        match frame {
            Some(frame) => Some((frame, Some((body, revoked, last_words)))),
            // Dropping the body tells its producer that the client no longer reads it.
            None => (!last_words.is_empty()).then(|| (Ok(Frame::data(last_words)), None)),
        }
    });
    Body::new(StreamBody::new(frames))
}
