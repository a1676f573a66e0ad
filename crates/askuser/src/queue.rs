//! Questions in memory, between the asking and the showing side: an agent on one side, a page, a window or a protocol on
//! the other.
//!
//! The asking side holds the queue as an [`Asker`]. The showing side is told by a [`QueueEvent`] whenever something changes,
//! and answers. An answer is for the very request that the queue handed out, not for another with the same key that was asked
//! since. It keeps nothing beyond the process: when a caller stops waiting, its question leaves the queue.

use crate::asker::{AskError, Asker, Asking, Delivery};
use crate::request::{Request, RequestKey};
use crate::resolution::Resolution;
use crate::store::Ending;
use futures_channel::oneshot;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Questions that wait for an answer, in the order they were asked. Clones share them.
///
/// ```
/// # use askuser::input::QuestionInput;
/// use askuser::{Asker, Outcome, QuestionQueue, Request, RequestKey, QuestionSet, Rules, Via};
/// # use std::future::Future;
/// # use std::task::{Context, Waker};
///
/// # let question = QuestionInput::new("Which?", "Pick").option("A", "a").option("B", "b");
/// # let set = QuestionSet::new([question], &Rules::strict())?;
/// let queue = QuestionQueue::new(|queue, event| { /* wake the part that shows questions */ });
/// // One side asks …
/// let request = Request::new(RequestKey::new("session", "call"), set);
/// let mut asking = queue.ask(&request);
/// # let mut context = Context::from_waker(Waker::noop());
/// # assert!(asking.as_mut().poll(&mut context).is_pending());
/// // … the other shows what is pending, and answers.
/// let shown = &queue.pending()[0];
/// let answer = shown.set().questions()[0].answer(&[0], None, None).unwrap();
/// queue.answer(shown, Outcome::answered(shown.set(), vec![answer])?.through(Via::Web))?;
/// # assert!(asking.as_mut().poll(&mut context).is_ready());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct QuestionQueue(Arc<Inner>);

struct Inner {
    state: Mutex<State>,
    listener: Box<Listener>,
}

type Listener = dyn Fn(&QuestionQueue, QueueEvent) + Send + Sync;

#[derive(Default)]
struct State {
    pending: Vec<Pending>,
    /// Told to the caller once questions are no longer answered.
    ended: Option<Resolution>,
}

struct Pending {
    request: Arc<Request>,
    answer: oneshot::Sender<Result<Delivery, AskError>>,
}

/// A message to the showing side.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum QueueEvent {
    /// A question waits for its answer.
    Asked(Arc<Request>),
    /// The caller has stopped waiting: take it off the screen.
    Detached(Arc<Request>),
    /// It ended elsewhere: say how, and take it off the screen.
    Closed(Arc<Request>, Ending),
}

/// The question does not wait: it was never asked, or is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no such question waits for an answer")]
pub struct NotPending;

impl QuestionQueue {
    /// An empty queue. The listener is called on the thread that asks, answers or closes, and must not wait.
    pub fn new(listener: impl Fn(&QuestionQueue, QueueEvent) + Send + Sync + 'static) -> QuestionQueue {
        QuestionQueue(Arc::new(Inner { state: Mutex::default(), listener: Box::new(listener) }))
    }

    /// The questions that wait, the one asked first first.
    pub fn pending(&self) -> Vec<Arc<Request>> {
        self.state().pending.iter().map(|pending| pending.request.clone()).collect()
    }

    /// Answers a question that waits.
    ///
    /// # Errors
    /// Where no such question waits; then nothing has changed.
    pub fn answer(&self, request: &Arc<Request>, resolution: Resolution) -> Result<(), NotPending> {
        self.deliver(request, resolution.into())
    }

    /// Answers a question that waits, to be told whether the answer was stored.
    ///
    /// # Errors
    /// Where no such question waits; then nothing has changed.
    pub fn deliver(&self, request: &Arc<Request>, delivery: Delivery) -> Result<(), NotPending> {
        self.finish(request, Ok(delivery))
    }

    /// Breaks off asking a question that waits.
    ///
    /// # Errors
    /// Where no such question waits.
    pub fn fail(&self, request: &Arc<Request>, error: AskError) -> Result<(), NotPending> {
        self.finish(request, Err(error))
    }

    fn finish(&self, request: &Arc<Request>, result: Result<Delivery, AskError>) -> Result<(), NotPending> {
        match (self.take(|pending| Arc::ptr_eq(&pending.request, request)), result) {
            (Some(pending), result) => pending.finish(result),
            (None, result) => {
                drop(result.map(|delivery| delivery.not_stored(NotPending.to_string())));
                return Err(NotPending);
            }
        }
        Ok(())
    }

    /// Ends the queue: what waits, and what is still to be asked, is unavailable.
    pub fn end(&self, reason: &str) {
        let ended = Resolution::unavailable(reason);
        let pending = {
            let mut state = self.state();
            state.ended = Some(ended.clone());
            std::mem::take(&mut state.pending)
        };
        pending.into_iter().for_each(|pending| pending.finish(Ok(ended.clone().into())));
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a question out of the queue.
    fn take(&self, is_wanted: impl FnMut(&Pending) -> bool) -> Option<Pending> {
        let mut state = self.state();
        let index = state.pending.iter().position(is_wanted)?;
        Some(state.pending.remove(index))
    }

    fn tell(&self, event: QueueEvent) {
        (self.0.listener)(self, event);
    }
}

impl Pending {
    fn finish(self, result: Result<Delivery, AskError>) {
        // A caller that waits no more takes none.
        let _ = self.answer.send(result);
    }
}

impl Asker for QuestionQueue {
    fn ask<'a>(&'a self, request: &'a Request) -> Asking<'a> {
        Box::pin(async move {
            let (answer, answered) = oneshot::channel();
            let request = Arc::new(request.clone());
            {
                let mut state = self.state();
                if let Some(ended) = &state.ended {
                    return Ok(ended.clone().into());
                }
                if state.pending.iter().any(|pending| pending.request.key() == request.key()) {
                    let why = format!("{} already waits for its answer", request.key());
                    return Err(AskError::surface("cannot ask the same question twice at once", why));
                }
                state.pending.push(Pending { request: request.clone(), answer });
            }
            let _waiting = Waiting { queue: self, request: request.clone() };
            self.tell(QueueEvent::Asked(request));
            answered.await.unwrap_or(Err(AskError::Withdrawn))
        })
    }

    fn close(&self, key: &RequestKey, ending: &Ending) {
        let result = ending.resolution().cloned().map(Delivery::from).ok_or(AskError::Withdrawn);
        let Some(pending) = self.take(|pending| pending.request.key() == key) else { return };
        let request = pending.request.clone();
        pending.finish(result);
        self.tell(QueueEvent::Closed(request, ending.clone()));
    }
}

/// A caller that waits; dropping it detaches.
struct Waiting<'a> {
    queue: &'a QuestionQueue,
    request: Arc<Request>,
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        if let Some(pending) = self.queue.take(|pending| Arc::ptr_eq(&pending.request, &self.request)) {
            self.queue.tell(QueueEvent::Detached(pending.request));
        }
    }
}

impl fmt::Debug for QuestionQueue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("QuestionQueue").field("pending", &self.pending().len()).finish()
    }
}

#[cfg(test)]
#[path = "queue_tests.rs"]
mod tests;
