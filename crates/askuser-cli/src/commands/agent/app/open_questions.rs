//! Hands questions from the agent thread to the UI thread.
//!
//! They wait in one [`QuestionQueue`]. The UI thread is told of each through the channel that carries everything else, so a
//! question arrives after all events that preceded it; its answer goes back through the queue.

use super::state::Event;
use askuser::{Closed, QuestionQueue, QueueEvent, Request};
use askuser_terminal::{CloseSignal, Closer, Waker, close_signal};
use std::io;
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

/// Reported to the agent when the terminal goes away; the number is the same on all systems.
pub(crate) const SIGHUP: i32 = 1;

/// Sends events to the UI thread and wakes it.
#[derive(Clone, Debug)]
pub(crate) struct UiSender {
    sender: Sender<(Instant, Event)>,
    waker: Waker,
}

impl UiSender {
    pub(crate) fn new(sender: Sender<(Instant, Event)>, waker: Waker) -> UiSender {
        UiSender { sender, waker }
    }

    /// Sends an event. Without a receiver the process is about to end, so that is no error.
    pub(crate) fn send(&self, event: Event) {
        // Stamped here, because events are not received while a question is open.
        let _ = self.sender.send((Instant::now(), event));
        self.waker.wake();
    }
}

/// The app's questions, for both threads.
#[derive(Clone, Debug)]
pub(crate) struct Questions {
    pub(crate) queue: QuestionQueue,
    open: Arc<OpenQuestion>,
}

/// The question on the screen, and what closes it from the agent's side.
#[derive(Debug, Default)]
struct OpenQuestion(Mutex<Option<(Arc<Request>, Closer)>>);

impl OpenQuestion {
    fn set(&self, open: Option<(Arc<Request>, Closer)>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = open;
    }

    /// Closes the question if it is open; without a reason the caller has stopped waiting.
    fn close(&self, request: &Arc<Request>, why: Option<Closed>) {
        let mut open = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if open.as_ref().is_some_and(|(open, _)| Arc::ptr_eq(open, request))
            && let (Some((_, closer)), Some(why)) = (open.take(), why)
        {
            closer.close(why);
        }
    }
}

impl Questions {
    pub(crate) fn new(ui: UiSender) -> Questions {
        let open = Arc::<OpenQuestion>::default();
        let shown = open.clone();
        let queue = QuestionQueue::new(move |_, event| match event {
            QueueEvent::Asked(request) => ui.send(Event::QuestionArrived(request)),
            QueueEvent::Detached(request) => {
                shown.close(&request, None);
                ui.send(Event::QuestionGone(request));
            }
            QueueEvent::Closed(request, why) => {
                shown.close(&request, Some(why));
                ui.send(Event::QuestionGone(request));
            }
            _ => {}
        });
        Questions { queue, open }
    }

    /// Makes a question the open one; `None` where it does not wait any more.
    pub(super) fn open(&self, request: &Arc<Request>) -> io::Result<Option<CloseSignal>> {
        let (closer, signal) = close_signal()?;
        self.open.set(Some((request.clone(), closer)));
        // It may have gone before it was the open one.
        let waits = self.queue.pending().iter().any(|pending| Arc::ptr_eq(pending, request));
        Ok(waits.then_some(signal))
    }

    pub(super) fn closed(&self) {
        self.open.set(None);
    }
}
