//! Closes a prompt from another thread, with a reason.
//!
//! The prompt waits for its terminal and for the end of a pipe. The reason is stored before the pipe ends, so the
//! prompt finds it when it wakes up. Dropping the [`Closer`] without a reason detaches: the prompt disappears without a
//! message.

use askuser::store::Ending;
use std::io::{self, PipeReader, PipeWriter};
use std::sync::{Arc, Mutex, PoisonError};

/// The sending end of a close signal, which closes a prompt.
#[derive(Debug)]
pub struct Closer {
    why: Arc<Mutex<Option<Ending>>>,
    // Dropping the writer ends the pipe, which wakes the prompt.
    _pipe: PipeWriter,
}

/// The receiving end of a close signal, on which a prompt waits.
#[derive(Debug)]
pub struct CloseSignal {
    why: Arc<Mutex<Option<Ending>>>,
    pub(crate) pipe: PipeReader,
}

/// Creates both ends of a close signal.
///
/// # Errors
/// If the system has no pipe left.
pub fn close_signal() -> io::Result<(Closer, CloseSignal)> {
    let (pipe, writer) = io::pipe()?;
    let why = Arc::default();
    Ok((Closer { why: Arc::clone(&why), _pipe: writer }, CloseSignal { why, pipe }))
}

impl Closer {
    /// Closes the prompt, which then shows how the question ended.
    pub fn close(self, ending: Ending) {
        *self.why.lock().unwrap_or_else(PoisonError::into_inner) = Some(ending);
    }
}

impl CloseSignal {
    /// Returns the reason why the prompt was closed. `None` while the prompt is open, or if the closer was dropped
    /// without a reason.
    pub(crate) fn why(&self) -> Option<Ending> {
        self.why.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns whether the prompt has been closed.
    pub(crate) fn is_closed(&self) -> bool {
        Arc::strong_count(&self.why) == 1
    }
}
