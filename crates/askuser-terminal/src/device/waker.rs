//! Wakes a thread that waits for the terminal, through a pipe with at most one byte in it.

use std::io::{self, PipeReader, PipeWriter, Read, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Wakes a thread in [`Console::wait`](crate::Console::wait), from any other thread. Further calls before the waiter
/// wakes up have no additional effect.
#[derive(Clone, Debug)]
pub struct Waker {
    signalled: Arc<AtomicBool>,
    pipe: Arc<PipeWriter>,
}

impl Waker {
    /// Wakes the waiter, now or at its next wait. The caller publishes its data before this call.
    pub fn wake(&self) {
        if !self.signalled.swap(true, Ordering::SeqCst) {
            // The write fails only if the reader is gone.
            let _ = (&*self.pipe).write(&[0]);
        }
    }
}

/// The reading end of a wake pipe, which the device polls.
#[derive(Debug)]
pub(crate) struct WakePipe {
    signalled: Arc<AtomicBool>,
    pub(super) pipe: PipeReader,
}

impl WakePipe {
    /// Creates a pipe and returns both of its ends.
    pub(crate) fn new() -> io::Result<(Waker, WakePipe)> {
        let (read, write) = io::pipe()?;
        let signalled = Arc::new(AtomicBool::new(false));
        Ok((Waker { signalled: signalled.clone(), pipe: Arc::new(write) }, WakePipe { signalled, pipe: read }))
    }

    /// Reads the wake-up from the pipe, which must be readable.
    #[cfg_attr(not(unix), allow(dead_code))]
    pub(super) fn drain(&mut self) -> io::Result<()> {
        // The byte is read before the flag is cleared. A wake in between finds the flag still set, which is harmless,
        // because the waiter is about to look.
        let read = self.pipe.read(&mut [0; 16]).map(drop);
        self.signalled.store(false, Ordering::SeqCst);
        read
    }

    /// Reads the wake-up without waiting. Returns whether there was one.
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
    fn many_wakes_are_one_until_it_is_taken() {
        let (waker, mut pipe) = WakePipe::new().unwrap();
        waker.wake();
        waker.clone().wake();
        assert!(pipe.take().unwrap());
        assert!(!pipe.take().unwrap());
        waker.wake();
        assert!(pipe.take().unwrap());
    }

    #[test]
    fn waking_without_a_reader_is_no_error() {
        let (waker, pipe) = WakePipe::new().unwrap();
        drop(pipe);
        waker.wake();
        assert_eq!((&*waker.pipe).write(&[0]).unwrap_err().kind(), io::ErrorKind::BrokenPipe);
        assert!(waker.signalled.load(Ordering::SeqCst));
    }
}
