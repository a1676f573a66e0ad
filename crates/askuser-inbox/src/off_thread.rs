//! What blocks for as long as a disk takes, away from an executor's thread.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Waker};

/// Runs this on a thread of its own; completes with what it returns, or `None` if it panicked or no thread could be had.
pub(crate) fn off_thread<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> OffThread<T> {
    let slot = Arc::new(Mutex::new(Slot { result: None, is_over: false, waker: None }));
    let over = Over(slot.clone());
    let started = std::thread::Builder::new().name("askuser-inbox".into()).spawn(move || {
        let result = work();
        over.0.lock().unwrap_or_else(PoisonError::into_inner).result = Some(result);
        drop(over);
    });
    // The closure, and with it the word that it is over, is dropped where no thread starts.
    drop(started);
    OffThread(slot)
}

struct Slot<T> {
    result: Option<T>,
    is_over: bool,
    waker: Option<Waker>,
}

/// Says that it is over, however it ended.
struct Over<T>(Arc<Mutex<Slot<T>>>);

impl<T> Drop for Over<T> {
    fn drop(&mut self) {
        let mut slot = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        slot.is_over = true;
        if let Some(waker) = slot.waker.take() {
            waker.wake();
        }
    }
}

pub(crate) struct OffThread<T>(Arc<Mutex<Slot<T>>>);

impl<T> Future for OffThread<T> {
    type Output = Option<T>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<T>> {
        let mut slot = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if slot.is_over {
            return Poll::Ready(slot.result.take());
        }
        slot.waker = Some(context.waker().clone());
        Poll::Pending
    }
}
