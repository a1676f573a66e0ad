//! Ends a prompt from another thread, and says why.
//!
//! The prompt waits for its terminal and for the end of a pipe. The reason stands beside the pipe before the pipe ends, so
//! the prompt finds it when it wakes up. Dropping the [`Closer`] without a reason detaches: the prompt goes without a word.

use askuser::store::Ending;
use std::io::{self, PipeReader, PipeWriter};
use std::sync::{Arc, Mutex, PoisonError};

/// The end that closes a prompt.
#[derive(Debug)]
pub struct Closer {
    why: Arc<Mutex<Option<Ending>>>,
    // Its end wakes the prompt.
    _pipe: PipeWriter,
}

/// The end that a prompt waits at.
#[derive(Debug)]
pub struct CloseSignal {
    why: Arc<Mutex<Option<Ending>>>,
    pub(crate) pipe: PipeReader,
}

/// Both ends.
///
/// # Errors
/// Where the system has no pipe left.
pub fn close_signal() -> io::Result<(Closer, CloseSignal)> {
    let (pipe, writer) = io::pipe()?;
    let why = Arc::default();
    Ok((Closer { why: Arc::clone(&why), _pipe: writer }, CloseSignal { why, pipe }))
}

impl Closer {
    /// Closes the prompt, which tells the person how the question ended.
    pub fn close(self, ending: Ending) {
        *self.why.lock().unwrap_or_else(PoisonError::into_inner) = Some(ending);
    }
}

impl CloseSignal {
    /// Why the prompt was closed; `None` while it is not, or where the caller does not wait for the answer any more.
    pub(crate) fn why(&self) -> Option<Ending> {
        self.why.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Whether the prompt has been closed.
    pub(crate) fn is_closed(&self) -> bool {
        Arc::strong_count(&self.why) == 1
    }
}
