//! How another thread wakes the one that waits at the terminal: a pipe with at most one byte in it.

use std::io::{self, PipeReader, PipeWriter, Read, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Wakes whoever waits at a [`Console`](crate::Console), from any thread. However often it is called, nobody is woken twice
/// for what they could have seen the first time.
#[derive(Clone, Debug)]
pub struct Waker {
    signalled: Arc<AtomicBool>,
    pipe: Arc<PipeWriter>,
}

impl Waker {
    /// Wakes it. Whatever there is to see has to be there before.
    pub fn wake(&self) {
        if !self.signalled.swap(true, Ordering::SeqCst) {
            // With nobody left to read it there is nobody to wake.
            let _ = (&*self.pipe).write(&[0]);
        }
    }
}

/// The reading end, polled by the device.
#[derive(Debug)]
pub(crate) struct WakePipe {
    signalled: Arc<AtomicBool>,
    pub(super) pipe: PipeReader,
}

impl WakePipe {
    /// Both ends.
    pub(crate) fn new() -> io::Result<(Waker, WakePipe)> {
        let (read, write) = io::pipe()?;
        let signalled = Arc::new(AtomicBool::new(false));
        Ok((Waker { signalled: signalled.clone(), pipe: Arc::new(write) }, WakePipe { signalled, pipe: read }))
    }

    /// Takes a call whose byte is known to be there.
    #[cfg_attr(not(unix), allow(dead_code))]
    pub(super) fn drain(&mut self) -> io::Result<()> {
        // The byte goes first: a call in between then finds the flag up, and its reason is seen all the same.
        let read = self.pipe.read(&mut [0; 16]).map(drop);
        self.signalled.store(false, Ordering::SeqCst);
        read
    }

    /// Takes a call, if there is one, where the pipe cannot be waited for.
    #[cfg_attr(unix, allow(dead_code))]
    pub(super) fn take(&mut self) -> io::Result<bool> {
        let signalled = self.signalled.load(Ordering::SeqCst);
        if signalled {
            self.drain()?;
        }
        Ok(signalled)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_calls_are_one_until_it_is_taken() {
        let (waker, mut pipe) = WakePipe::new().unwrap();
        waker.wake();
        waker.clone().wake();
        assert!(pipe.take().unwrap());
        assert!(!pipe.take().unwrap());
        waker.wake();
        assert!(pipe.take().unwrap());
    }

    #[test]
    fn calling_nobody_is_no_error() {
        let (waker, pipe) = WakePipe::new().unwrap();
        drop(pipe);
        waker.wake();
    }
}
