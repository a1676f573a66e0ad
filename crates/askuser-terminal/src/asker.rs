//! The terminal as an [`Asker`], for agents that run on an async runtime of any kind.
//!
//! Questions wait in a [`QuestionQueue`]; one thread at a time asks the first of them, since waiting for a person blocks,
//! which must not happen on an executor's thread. Without questions there is no thread.

use crate::close_signal::{Closer, close_signal};
use crate::{Options, ask};
use askuser::store::Ending;
use askuser::{AskError, Asker, Asking, Delivery, QuestionQueue, QueueEvent, Request, RequestKey};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

/// Asks on the controlling terminal. There is one, so questions that come together are asked one after the other, in the
/// order they came. Dropping the future takes the question off the screen, or out of the queue; closing it says why.
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
/// Dropping the last clone waits until the terminal is given back, so that a program may end right after an answer.
#[derive(Clone, Debug)]
pub struct TerminalAsker {
    queue: QuestionQueue,
    _restored: Arc<WaitUntilRestored>,
}

/// Waits for the thread that asks to be done with the terminal.
#[derive(Debug)]
struct WaitUntilRestored(Arc<Prompts>);

impl Drop for WaitUntilRestored {
    fn drop(&mut self) {
        let running = |state: &mut State| state.running;
        drop(self.0.idle.wait_while(self.0.state(), running).unwrap_or_else(PoisonError::into_inner));
    }
}

impl TerminalAsker {
    /// An asker with these options.
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
    /// Notified when the thread that asks ends.
    idle: Condvar,
}

#[derive(Debug, Default)]
struct State {
    /// Whether a thread is asking.
    running: bool,
    /// The question on the screen, and what closes it.
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
        let (prompts, questions) = (self.clone(), queue.clone());
        let thread = thread::Builder::new().name("askuser".into());
        if let Err(error) = thread.spawn(move || prompts.run(&questions)) {
            self.state().running = false;
            for request in queue.pending() {
                let why = std::io::Error::new(error.kind(), error.to_string());
                let _ = queue.fail(&request, AskError::surface("cannot start asking", why));
            }
        }
    }

    /// Asks the waiting questions one after the other.
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
            // An answer that is not waited for is refused, and the prompt says so.
            let mut deliver = |delivery: Delivery| _ = queue.deliver(&request, delivery);
            let asked =
                catch_unwind(AssertUnwindSafe(|| ask::run(&request, &self.options, Some(signal), &mut deliver)));
            drop(self.take_closer(&request));
            // Delivered, withdrawn and detached questions do not wait any more, so this does not affect them. Any other
            // caller gets its result here.
            let _ = match asked {
                Ok(Ok(resolution)) => queue.answer(&request, resolution),
                Ok(Err(error)) => queue.fail(&request, error),
                Err(_) => queue.fail(&request, AskError::surface("the prompt failed", "it panicked")),
            };
        }
    }
}

// The terminal of these tests is a device of Unix.
#[cfg(all(test, unix))]
#[path = "asker_tests.rs"]
mod tests;
