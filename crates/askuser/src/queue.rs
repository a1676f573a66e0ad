//! Questions in memory. An agent asks them, and a page, a window or a protocol shows them.
//!
//! The agent holds the queue as an [`Asker`]. The surface gets a [`QueueEvent`] when a question is asked, detached or
//! closed, and answers questions. An answer belongs to the request that the queue handed out, not to a later request
//! with the same key. Questions are not stored: when a caller stops waiting, its question leaves the queue.

use crate::asker::{AskError, Asker, Asking, Delivery};
use crate::request::{Request, RequestKey};
use crate::resolution::Resolution;
use crate::store::Ending;
use futures_channel::oneshot;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Questions that wait for an answer, in the order in which they were asked. Clones share the questions.
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
    /// The resolution of every further question once the queue has ended; `None` before.
    ended: Option<Resolution>,
}

struct Pending {
    request: Arc<Request>,
    answer: oneshot::Sender<Result<Delivery, AskError>>,
}

/// A message to the surface that shows the questions.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum QueueEvent {
    /// A question was asked and waits for its answer.
    Asked(Arc<Request>),
    /// The caller has stopped waiting. The surface removes the question from the screen.
    Detached(Arc<Request>),
    /// The question ended elsewhere. The surface shows the ending and removes the question from the screen.
    Closed(Arc<Request>, Ending),
}

/// The error of an answer to a question that does not wait, because it was never asked or has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no such question waits for an answer")]
pub struct NotPending;

impl QuestionQueue {
    /// Creates an empty queue. The listener runs on the thread that asks, closes or drops a question. It must not
    /// block.
    pub fn new(listener: impl Fn(&QuestionQueue, QueueEvent) + Send + Sync + 'static) -> QuestionQueue {
        QuestionQueue(Arc::new(Inner { state: Mutex::default(), listener: Box::new(listener) }))
    }

    /// The waiting questions, oldest first.
    pub fn pending(&self) -> Vec<Arc<Request>> {
        self.state().pending.iter().map(|pending| pending.request.clone()).collect()
    }

    /// Answers a waiting question.
    ///
    /// # Errors
    /// If no such question waits. The queue is unchanged then.
    pub fn answer(&self, request: &Arc<Request>, resolution: Resolution) -> Result<(), NotPending> {
        self.deliver(request, resolution.into())
    }

    /// Answers a waiting question. The callback of the delivery learns whether the answer was stored.
    ///
    /// # Errors
    /// If no such question waits. The queue is unchanged then.
    pub fn deliver(&self, request: &Arc<Request>, delivery: Delivery) -> Result<(), NotPending> {
        self.finish(request, Ok(delivery))
    }

    /// Ends a waiting question with an error.
    ///
    /// # Errors
    /// If no such question waits.
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

    /// Ends the queue. All waiting and all later questions are unavailable for this reason.
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

    /// Removes the first wanted question from the queue and returns it, if there is one.
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
        // Sending fails if the caller has stopped waiting.
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

/// The guard of a waiting caller. Dropping the guard removes the question from the queue.
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
