//! Answers on their way to the client. One counts as delivered once it is written to the connection: whatever happens
//! before, it is there when the same thing is asked again.

use askuser::Delivery;
use rmcp::model::RequestId;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The answers of one connection that have not been written yet.
#[derive(Clone, Default)]
pub(crate) struct Deliveries(Option<Arc<Mutex<HashMap<RequestId, Delivery>>>>);

impl Deliveries {
    /// For a connection that says what it has written.
    pub(crate) fn acknowledged() -> Deliveries {
        Deliveries(Some(Arc::default()))
    }

    /// This answer goes out with the reply to this request.
    pub(crate) fn leaving(&self, request: &RequestId, delivery: Delivery) {
        match self.waiting() {
            Some(mut waiting) => drop(waiting.insert(request.clone(), delivery)),
            // There is no acknowledgement: handing it over counts.
            None => drop(delivery.stored()),
        }
    }

    /// The reply to this request is written, or is not going to be.
    pub(crate) fn left(&self, request: &RequestId, was_written: bool) {
        let delivery = self.waiting().and_then(|mut waiting| waiting.remove(request));
        if let (Some(delivery), true) = (delivery, was_written) {
            drop(delivery.stored());
        }
    }

    fn waiting(&self) -> Option<MutexGuard<'_, HashMap<RequestId, Delivery>>> {
        self.0.as_ref().map(|waiting| waiting.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use askuser::{Outcome, Via};
    use std::sync::mpsc::channel;

    #[test]
    fn an_answer_counts_once_its_own_reply_is_written_and_not_before() {
        for was_written in [true, false] {
            let (deliveries, (tell, told)) = (Deliveries::acknowledged(), channel());
            let delivery = Delivery::new(Outcome::cancelled().through(Via::Inbox), move |stored| {
                tell.send(stored.is_ok()).unwrap();
            });
            deliveries.leaving(&RequestId::Number(1), delivery);
            deliveries.left(&RequestId::Number(2), true);
            assert!(told.try_recv().is_err(), "it is on its way");
            deliveries.left(&RequestId::Number(1), was_written);
            assert_eq!(told.try_recv().is_ok_and(|stored| stored), was_written);
        }
    }
}
