//! How another thread wakes the one that waits at the terminal: a pipe with at most one byte in it.

use std::io::{self, PipeReader, PipeWriter, Read, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Wakes whoever waits at a [`Console`](crate::Console), from any thread. However often it is called, nobody is woken twice
/// for what they could have seen the first time.
#[derive(Clone, Debug)]
pub struct Waker {
    called: Arc<AtomicBool>,
    pipe: Arc<PipeWriter>,
}

impl Waker {
    /// Wakes it. Whatever there is to see has to be there before.
    pub fn wake(&self) {
        if !self.called.swap(true, Ordering::SeqCst) {
            // With nobody left to read it there is nobody to wake.
            let _ = (&*self.pipe).write(&[0]);
        }
    }
}

/// The end at which calls arrive.
#[derive(Debug)]
pub(crate) struct Calls {
    called: Arc<AtomicBool>,
    pub(super) pipe: PipeReader,
}

impl Calls {
    /// Both ends.
    pub(crate) fn new() -> io::Result<(Waker, Calls)> {
        let (read, write) = io::pipe()?;
        let called = Arc::new(AtomicBool::new(false));
        Ok((Waker { called: called.clone(), pipe: Arc::new(write) }, Calls { called, pipe: read }))
    }

    /// Takes a call whose byte is known to be there.
    #[cfg_attr(not(unix), allow(dead_code))]
    pub(super) fn answer(&mut self) -> io::Result<()> {
        // The byte goes first: a call in between then finds the flag up, and its reason is seen all the same.
        let read = self.pipe.read(&mut [0; 16]).map(drop);
        self.called.store(false, Ordering::SeqCst);
        read
    }

    /// Takes a call, if there is one, where the pipe cannot be waited for.
    #[cfg_attr(unix, allow(dead_code))]
    pub(super) fn take(&mut self) -> io::Result<bool> {
        let called = self.called.load(Ordering::SeqCst);
        if called {
            self.answer()?;
        }
        Ok(called)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_calls_are_one_until_it_is_taken() {
        let (waker, mut calls) = Calls::new().unwrap();
        waker.wake();
        waker.clone().wake();
        assert!(calls.take().unwrap());
        assert!(!calls.take().unwrap());
        waker.wake();
        assert!(calls.take().unwrap());
    }

    #[test]
    fn calling_nobody_is_no_error() {
        let (waker, calls) = Calls::new().unwrap();
        drop(calls);
        waker.wake();
    }
}
