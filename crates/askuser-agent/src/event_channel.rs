//! A turn as a stream of events.
//!
//! The turn works while its [`Run`] is polled. The reader takes each event before the turn continues, so text is on the
//! screen before a prompt is drawn under it.

use crate::event::AgentEvent;
use futures_util::Stream;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use tokio::sync::Notify;
use tokio::sync::mpsc::{self, UnboundedReceiver, UnboundedSender};
use tokio_util::sync::CancellationToken;

/// A running turn as a stream of its events. It works while it is polled. Dropping it interrupts the turn like a crash;
/// [`Run::stopper`] stops it in good order.
pub struct Run<'a> {
    work: Option<Pin<Box<dyn Future<Output = ()> + Send + 'a>>>,
    events: UnboundedReceiver<AgentEvent>,
    taken: Arc<Notify>,
    abort: CancellationToken,
}

impl<'a> Run<'a> {
    pub(crate) fn new<F>(abort: CancellationToken, work: impl FnOnce(EventSender) -> F) -> Run<'a>
    where
        F: Future<Output = ()> + Send + 'a,
    {
        let (sender, events) = EventSender::channel();
        let taken = sender.taken.clone();
        Run { work: Some(Box::pin(work(sender))), events, taken, abort }
    }

    /// A token that stops the turn when cancelled, from any thread.
    pub fn stopper(&self) -> CancellationToken {
        self.abort.clone()
    }
}

impl Stream for Run<'_> {
    type Item = AgentEvent;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<AgentEvent>> {
        let run = &mut *self;
        if let Ok(event) = run.events.try_recv() {
            return Poll::Ready(Some(event));
        }
        run.taken.notify_waiters();
        if let Some(work) = &mut run.work
            && work.as_mut().poll(context).is_ready()
        {
            run.work = None;
        }
        match run.work {
            Some(_) => run.events.poll_recv(context),
            // A tool may have kept a sender; the turn is over all the same.
            None => Poll::Ready(run.events.try_recv().ok()),
        }
    }
}

/// The sender of a run's events.
#[derive(Clone)]
pub(crate) struct EventSender {
    sender: UnboundedSender<AgentEvent>,
    taken: Arc<Notify>,
}

impl EventSender {
    pub(crate) fn channel() -> (EventSender, UnboundedReceiver<AgentEvent>) {
        let (sender, receiver) = mpsc::unbounded_channel();
        (EventSender { sender, taken: Arc::default() }, receiver)
    }

    pub(crate) fn send(&self, event: AgentEvent) {
        // Without a receiver the run is being dropped.
        let _ = self.sender.send(event);
    }

    /// Returns once the receiver has taken the last event. An event must have been sent before: only that wakes it.
    pub(crate) async fn wait_until_taken(&self) {
        self.taken.notified().await;
    }
}
