//! The reply to a request on its way to the client: whether the client still reads, and whether the reply has arrived.
//!
//! An answer counts as delivered once it is written to a connection that the client still holds. Until then, the answer
//! stays stored for the next call.

use askuser::Delivery;
use hyper::http::request::Parts;
use rmcp::RoleServer;
use rmcp::service::RequestContext;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::watch;

/// The time in which a client may return to a broken stream. The client is asked to retry after one second.
const GRACE: Duration = Duration::from_secs(3);

/// The state of one reply, shared by the connection that sends it and the call that creates it.
#[derive(Clone)]
pub(crate) struct Exchange(Arc<Inner>);

struct Inner {
    /// Whether the connection reports the replies that it has written.
    is_acknowledged: bool,
    deliveries: Mutex<Vec<Delivery>>,
    readers: watch::Sender<Readers>,
}

/// The readers of the reply's stream.
#[derive(Clone, Copy, Debug)]
struct Readers {
    streams: usize,
    /// Whether the last stream broke and the client can resume it.
    may_return: bool,
}

impl Exchange {
    /// Creates an exchange for a connection that reports the replies that it has written.
    pub(crate) fn new() -> Exchange {
        Exchange::with(true)
    }

    fn with(is_acknowledged: bool) -> Exchange {
        let readers = watch::Sender::new(Readers { streams: 1, may_return: false });
        Exchange(Arc::new(Inner { is_acknowledged, deliveries: Mutex::default(), readers }))
    }

    /// Returns the exchange of a request. Without one, the connection does not report written replies.
    pub(crate) fn of(context: &RequestContext<RoleServer>) -> Exchange {
        let in_http = || context.extensions.get::<Parts>()?.extensions.get();
        context.extensions.get().or_else(in_http).cloned().unwrap_or_else(|| Exchange::with(false))
    }

    /// Attaches an answer to the reply. If the reply has no reader, the answer is not delivered.
    pub(crate) fn leaving(&self, delivery: Delivery) {
        if !self.0.is_acknowledged {
            // Without reports of the connection, an answer counts as delivered here.
            drop(delivery.stored());
            return;
        }
        // The lock is held while the readers are counted, so that a last reader that leaves now finds the delivery.
        let mut leaving = self.deliveries();
        if self.0.readers.borrow().streams > 0 {
            leaving.push(delivery);
        }
    }

    /// Ends the exchange, because the reply was written or never will be.
    pub(crate) fn left(&self, was_written: bool) {
        let deliveries = std::mem::take(&mut *self.deliveries());
        for delivery in deliveries {
            if was_written {
                drop(delivery.stored());
            } else {
                drop(delivery);
                tracing::info!("the client is gone or waits no longer: the answer stays for its next call");
            }
        }
    }

    /// Records that the client has resumed a broken stream.
    pub(crate) fn stream_opened(&self) {
        self.0.readers.send_modify(|readers| readers.streams += 1);
    }

    /// Records that a stream broke before the reply was written to it.
    pub(crate) fn stream_closed(&self, may_return: bool) {
        self.0.readers.send_modify(|readers| *readers = Readers { streams: readers.streams - 1, may_return });
        if self.0.readers.borrow().streams == 0 {
            self.left(false);
        }
    }

    /// Returns whether the client reads the reply, or resumes the stream in time.
    pub(crate) async fn is_read(&self) -> bool {
        let mut readers = self.0.readers.subscribe();
        let back = readers.wait_for(|readers| readers.streams > 0 || !readers.may_return);
        tokio::time::timeout(GRACE, back).await.is_ok_and(|back| back.is_ok_and(|readers| readers.streams > 0))
    }

    /// Waits until the client is gone and its grace period is over.
    pub(crate) async fn gone(&self) {
        let mut readers = self.0.readers.subscribe();
        while readers.wait_for(|readers| readers.streams == 0).await.is_ok() && self.is_read().await {}
    }

    fn deliveries(&self) -> std::sync::MutexGuard<'_, Vec<Delivery>> {
        self.0.deliveries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use askuser::{Outcome, Via};
    use std::sync::mpsc::{Receiver, channel};

    fn delivery() -> (Delivery, Receiver<bool>) {
        let (tell, told) = channel();
        let outcome = Outcome::cancelled().through(Via::Inbox);
        (Delivery::new(outcome, move |stored| tell.send(stored.is_ok()).unwrap()), told)
    }

    #[test]
    fn an_answer_counts_once_its_reply_is_written_and_not_before() {
        for was_written in [true, false] {
            let (exchange, (delivery, told)) = (Exchange::new(), delivery());
            exchange.leaving(delivery);
            assert!(told.try_recv().is_err(), "it is on its way");
            exchange.left(was_written);
            assert_eq!(told.try_recv(), Ok(was_written));
        }
    }

    #[test]
    fn where_nothing_is_acknowledged_handing_an_answer_over_counts() {
        let (delivery, told) = delivery();
        Exchange::with(false).leaving(delivery);
        assert_eq!(told.try_recv(), Ok(true));
    }

    #[test]
    fn an_answer_on_a_stream_that_is_not_read_any_more_does_not_count() {
        for may_return in [true, false] {
            let (exchange, (before, told_before), (after, told_after)) = (Exchange::new(), delivery(), delivery());
            exchange.leaving(before);
            exchange.stream_closed(may_return);
            exchange.leaving(after);
            exchange.left(true);
            assert_eq!((told_before.try_recv(), told_after.try_recv()), (Ok(false), Ok(false)), "{may_return}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_comes_back_in_time_was_not_gone() {
        let exchange = Exchange::new();
        assert!(exchange.is_read().await);
        exchange.stream_closed(true);
        let returning = async {
            tokio::time::sleep(GRACE / 2).await;
            exchange.stream_opened();
        };
        assert!(tokio::join!(exchange.is_read(), returning).0);
        assert!(tokio::time::timeout(10 * GRACE, exchange.gone()).await.is_err());
        exchange.stream_closed(true);
        exchange.gone().await;
        assert!(!exchange.is_read().await);
    }

    #[tokio::test(start_paused = true)]
    async fn a_stream_that_is_found_broken_after_the_client_has_come_back_breaks_nothing() {
        let (exchange, (delivery, told)) = (Exchange::new(), delivery());
        exchange.stream_opened();
        exchange.leaving(delivery);
        exchange.stream_closed(true);
        assert!(exchange.is_read().await);
        exchange.left(true);
        assert_eq!(told.try_recv(), Ok(true));
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_cannot_come_back_is_gone_at_once() {
        let exchange = Exchange::new();
        exchange.stream_closed(false);
        let now = tokio::time::Instant::now();
        exchange.gone().await;
        assert_eq!(now.elapsed(), Duration::ZERO);
    }
}
