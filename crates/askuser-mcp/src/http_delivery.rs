//! Detects the arrival of a reply over HTTP. A reply has arrived once it is written to a connection that the client
//! still holds.

use crate::exchange::Exchange;
use http_body_util::combinators::BoxBody;
use hyper::body::{Body, Bytes, Frame, SizeHint};
use serde::Deserialize;
use serde::de::IgnoredAny;
use std::cell::RefCell;
use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

tokio::task_local! {
    /// The replies in the body that is being polled, which are not written yet.
    static HANDED_OVER: RefCell<Vec<Exchange>>;
}

/// Records that the connection takes the reply of a request. It must be called while the connection polls the body.
pub(crate) fn handed_over(exchange: Exchange) {
    // Outside of such a poll, no connection can acknowledge the reply.
    let _ = HANDED_OVER.try_with(|replies| replies.borrow_mut().push(exchange));
}

/// A function of a connection that takes a callback. The callback runs once all data of the connection is written. Its
/// argument is whether the client still held the connection.
pub type Acknowledge = Arc<dyn Fn(Box<dyn FnOnce(bool) + Send>) + Send + Sync>;

/// The body of a reply. Outside of a session it also tracks whether the reply has arrived.
pub(crate) struct Watched {
    body: BoxBody<Bytes, Infallible>,
    exchange: Option<Exchange>,
    acknowledge: Acknowledge,
}

impl Watched {
    pub(crate) fn new(body: BoxBody<Bytes, Infallible>, exchange: Exchange, acknowledge: Acknowledge) -> Watched {
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
        let (frame, handed_over) =
            HANDED_OVER.sync_scope(RefCell::default(), || (self.poll(cx), HANDED_OVER.with(RefCell::take)));
        for exchange in handed_over {
            (self.acknowledge)(Box::new(move |was_held| exchange.left(was_held)));
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

/// Whether an event is the reply to a request, rather than an earlier message.
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
