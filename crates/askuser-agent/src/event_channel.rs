//! Runs a turn as a stream of events.
//!
//! The turn works while its [`Run`] is polled. It continues only after the reader has taken each event. So text is on
//! the screen before a prompt appears below it.

use crate::event::AgentEvent;
use futures_util::Stream;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use tokio::sync::Notify;
use tokio::sync::mpsc::{self, UnboundedReceiver, UnboundedSender};
use tokio_util::sync::CancellationToken;

/// A running turn as a stream of its events. The turn works while the stream is polled.
///
/// Dropping the stream interrupts the turn like a crash. [`Run::stopper`] stops the turn in good order.
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

    /// Returns a token that stops the turn when it is cancelled, from any thread.
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
            // A tool may still hold a sender, but the turn is over.
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
        // A missing receiver means that the run is being dropped.
        let _ = self.sender.send(event);
    }

    /// Waits until the receiver has taken the last event. The caller must have sent an event before, because only that
    /// wakes the wait.
    pub(crate) async fn wait_until_taken(&self) {
        self.taken.notified().await;
    }
}
