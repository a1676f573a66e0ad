//! The limit of a prompt's wait for a store that does not reply.
//!
//! The store may be an unreachable server. Calls to the store continue, but the prompt does not wait for them.

use crate::device;
use askuser::store::{Call, StoreError};
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

/// The longest wait, and the longest wait after a signal that ends the process.
const LIMIT: Duration = Duration::from_secs(1);
const GRACE: Duration = Duration::from_millis(100);
/// The interval at which a wait checks for signals.
const STEP: Duration = Duration::from_millis(20);

/// Returns a function that returns whether a wait that begins now is over. The wait is over after a second, or soon
/// after a signal that ends the process.
pub(crate) fn patience() -> impl FnMut() -> bool {
    let began = Instant::now();
    let mut told = None;
    move || {
        if told.is_none() && device::is_told_to_end() {
            told = Some(Instant::now());
        }
        began.elapsed() >= LIMIT || told.is_some_and(|told| told.elapsed() >= GRACE)
    }
}

/// Waits for a call to a store and returns its result.
///
/// # Errors
/// If the call fails or does not return in time.
pub(crate) fn within<T>(mut call: Call<T>) -> Result<T, StoreError> {
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut is_over = patience();
    loop {
        if let Poll::Ready(result) = call.as_mut().poll(&mut Context::from_waker(&waker)) {
            return result;
        }
        if is_over() {
            return Err(StoreError::unknown("cannot reach the inbox", "no reply yet"));
        }
        thread::park_timeout(STEP);
    }
}

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Unpark>) {
        self.0.unpark();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prompt_does_not_wait_for_a_store_that_never_replies() {
        let began = Instant::now();
        let error = within::<()>(Box::pin(std::future::pending())).unwrap_err();
        assert_eq!(error.chain(), "cannot reach the inbox: no reply yet");
        assert!(began.elapsed() >= LIMIT);
        assert_eq!(within(Box::pin(std::future::ready(Ok(7)))).unwrap(), 7);
    }
}
