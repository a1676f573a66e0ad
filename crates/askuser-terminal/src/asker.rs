//! The terminal as an [`Asker`], for agents that run on an async runtime of any kind.
//!
//! Questions wait in a [`QuestionQueue`]. One thread at a time asks the first of them, because waiting for a person
//! would block an executor's thread. The thread ends when the queue is empty.

use crate::close_signal::{Closer, close_signal};
use crate::{Options, ask};
use askuser::store::Ending;
use askuser::{AskError, Asker, Asking, Delivery, QuestionQueue, QueueEvent, Request, RequestKey};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

/// Asks on the controlling terminal. The terminal shows one question at a time, in the order of asking. Dropping the
/// future removes its question from the screen or from the queue. Closing the question shows the reason.
///
/// ```no_run
/// use askuser::Asker;
/// use askuser_terminal::{Options, TerminalAsker};
///
/// # async fn ask(request: askuser::Request) -> Result<(), askuser::AskError> {
/// let asker = TerminalAsker::new(Options::detect());
/// let delivery = asker.ask(&request).await?;
/// // The prompt shows success once the answer is stored.
/// let resolution = delivery.stored();
/// # Ok(())
/// # }
/// ```
///
/// Dropping the last clone waits until the terminal is restored, so that a program may end right after an answer.
#[derive(Clone, Debug)]
pub struct TerminalAsker {
    queue: QuestionQueue,
    _restored: Arc<WaitUntilRestored>,
}

/// Waits on drop until the asking thread has restored the terminal.
#[derive(Debug)]
struct WaitUntilRestored(Arc<Prompts>);

impl Drop for WaitUntilRestored {
    fn drop(&mut self) {
        let running = |state: &mut State| state.running;
        drop(self.0.idle.wait_while(self.0.state(), running).unwrap_or_else(PoisonError::into_inner));
    }
}

impl TerminalAsker {
    /// Creates an asker with these options.
    pub fn new(options: Options) -> TerminalAsker {
        let prompts = Arc::new(Prompts { options, state: Mutex::default(), idle: Condvar::new() });
        let restored = Arc::new(WaitUntilRestored(prompts.clone()));
        let queue = QuestionQueue::new(move |queue, event| match event {
            QueueEvent::Asked(_) => prompts.start(queue),
            QueueEvent::Detached(request) => drop(prompts.take_closer(&request)),
            QueueEvent::Closed(request, ending) => {
                if let Some(closer) = prompts.take_closer(&request) {
                    closer.close(ending);
                }
            }
            _ => {}
        });
        TerminalAsker { queue, _restored: restored }
    }
}

impl Asker for TerminalAsker {
    fn ask<'a>(&'a self, request: &'a Request) -> Asking<'a> {
        self.queue.ask(request)
    }

    fn close(&self, key: &RequestKey, ending: &Ending) {
        self.queue.close(key, ending);
    }
}

/// The state shared by the asking thread and its callers.
#[derive(Debug)]
struct Prompts {
    options: Options,
    state: Mutex<State>,
    /// The condition variable that is notified when the asking thread ends.
    idle: Condvar,
}

#[derive(Debug, Default)]
struct State {
    /// Whether a thread is asking.
    running: bool,
    /// The question on the screen, with the closer of its prompt. `None` while no prompt is shown.
    shown: Option<(Arc<Request>, Closer)>,
}

impl Prompts {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take_closer(&self, request: &Arc<Request>) -> Option<Closer> {
        let mut state = self.state();
        let is_shown = state.shown.as_ref().is_some_and(|(shown, _)| Arc::ptr_eq(shown, request));
        if is_shown { state.shown.take().map(|(_, closer)| closer) } else { None }
    }

    fn start(self: &Arc<Prompts>, queue: &QuestionQueue) {
        if std::mem::replace(&mut self.state().running, true) {
            return;
        }
        let prompts = self.clone();
        let questions = queue.clone();
        let thread = thread::Builder::new().name("askuser".into());
        if let Err(error) = thread.spawn(move || prompts.run(&questions)) {
            self.state().running = false;
            for request in queue.pending() {
                let why = std::io::Error::new(error.kind(), error.to_string());
                let _ = queue.fail(&request, AskError::surface("cannot start asking", why));
            }
        }
    }

    /// Asks the waiting questions one after the other, and returns when none is left.
    fn run(&self, queue: &QuestionQueue) {
        loop {
            let mut state = self.state();
            let Some(request) = queue.pending().first().cloned() else {
                state.running = false;
                self.idle.notify_all();
                return;
            };
            let signal = match close_signal() {
                Ok((closer, signal)) => {
                    state.shown = Some((request.clone(), closer));
                    signal
                }
                Err(error) => {
                    drop(state);
                    let _ = queue.fail(&request, AskError::surface("cannot start asking", error));
                    continue;
                }
            };
            drop(state);
            // The queue refuses an answer without a waiting caller, and the prompt shows the refusal.
            let mut deliver = |delivery: Delivery| _ = queue.deliver(&request, delivery);
            let asked =
                catch_unwind(AssertUnwindSafe(|| ask::run(&request, &self.options, Some(signal), &mut deliver)));
            drop(self.take_closer(&request));
            // This does not affect questions that were delivered, withdrawn or detached. Any other caller gets its
            // result here.
            let _ = match asked {
                Ok(Ok(resolution)) => queue.answer(&request, resolution),
                Ok(Err(error)) => queue.fail(&request, error),
                Err(_) => queue.fail(&request, AskError::surface("the prompt failed", "it panicked")),
            };
        }
    }
}

// The tests use a device that exists only on Unix.
#[cfg(all(test, unix))]
#[path = "asker_tests.rs"]
mod tests;
