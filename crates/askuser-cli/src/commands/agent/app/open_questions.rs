//! Hands questions from the agent thread to the UI thread.
//!
//! The questions wait in one [`QuestionQueue`]. The UI channel announces each question, so it arrives after all earlier
//! events. Its answer returns through the queue.

use super::state::Event;
use askuser::store::Ending;
use askuser::{QuestionQueue, QueueEvent, Request};
use askuser_terminal::{CloseSignal, Closer, Waker, close_signal};
use std::io;
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// The signal that is reported to the agent when the terminal goes away. Its number is the same on all systems.
pub(crate) const SIGHUP: i32 = 1;

#[derive(Clone, Debug)]
pub(crate) struct UiSender {
    sender: Sender<(Instant, Event)>,
    waker: Waker,
}

impl UiSender {
    pub(crate) fn new(sender: Sender<(Instant, Event)>, waker: Waker) -> UiSender {
        UiSender { sender, waker }
    }

    /// Sends an event. A missing receiver is no error, because the process is then about to end.
    pub(crate) fn send(&self, event: Event) {
        // The time is taken here, because events are not received while a question is open.
        let _ = self.sender.send((Instant::now(), event));
        self.waker.wake();
    }
}

/// The app's questions, which both threads use.
#[derive(Clone, Debug)]
pub(crate) struct Questions {
    pub(crate) queue: QuestionQueue,
    open: OpenQuestion,
}

/// The question on the screen, with the closer that the agent's side uses. `None` while no question is open.
type OpenQuestion = Arc<Mutex<Option<(Arc<Request>, Closer)>>>;

/// Closes the question if it is open. Without an ending, the caller has stopped waiting.
fn close(open: &OpenQuestion, request: &Arc<Request>, ending: Option<Ending>) {
    let taken = lock(open).take_if(|(open, _)| Arc::ptr_eq(open, request));
    if let (Some((_, closer)), Some(ending)) = (taken, ending) {
        closer.close(ending);
    }
}

fn lock(open: &OpenQuestion) -> MutexGuard<'_, Option<(Arc<Request>, Closer)>> {
    open.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Questions {
    pub(crate) fn new(ui: UiSender) -> Questions {
        let open = OpenQuestion::default();
        let shown = open.clone();
        let queue = QuestionQueue::new(move |_, event| {
            let (gone, ending) = match event {
                QueueEvent::Asked(request) => return ui.send(Event::QuestionArrived(request)),
                QueueEvent::Detached(request) => (request, None),
                QueueEvent::Closed(request, ending) => (request, Some(ending)),
                _ => return,
            };
            close(&shown, &gone, ending);
            ui.send(Event::QuestionGone(gone));
        });
        Questions { queue, open }
    }

    /// Makes a question the open one. Returns `None` if the question does not wait any more.
    pub(super) fn open(&self, request: &Arc<Request>) -> io::Result<Option<CloseSignal>> {
        let (closer, signal) = close_signal()?;
        *lock(&self.open) = Some((request.clone(), closer));
        // The question may have been withdrawn before it was the open one.
        let waits = self.queue.pending().iter().any(|pending| Arc::ptr_eq(pending, request));
        Ok(waits.then_some(signal))
    }

    pub(super) fn closed(&self) {
        *lock(&self.open) = None;
    }
}
