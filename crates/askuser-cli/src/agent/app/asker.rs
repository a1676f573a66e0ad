//! Hands questions from the agent thread to the UI thread.
//!
//! Everything from the agent goes through one channel, in order: a question arrives after all events that preceded it.

use super::agent_thread::AgentUpdate;
use askuser::asker::Asking;
use askuser::{AskError, Asker, Outcome, Request};
use askuser_terminal::Waker;
use std::io::{self, PipeReader, PipeWriter};
use std::sync::mpsc::Sender;
use std::time::Instant;
use tokio::sync::oneshot;

/// Reported to the agent when the terminal goes away; the number is the same on all systems.
pub(crate) const SIGHUP: i32 = 1;

/// A question waiting for the person, with the channel for its answer.
#[derive(Debug)]
pub(crate) struct QueuedQuestion {
    pub(crate) request: Request,
    /// Reaches its end when the agent no longer waits for the answer.
    pub(crate) withdrawal: PipeReader,
    pub(crate) answer: oneshot::Sender<Result<Outcome, AskError>>,
}

impl QueuedQuestion {
    pub(crate) fn is_withdrawn(&self) -> bool {
        self.answer.is_closed()
    }
}

/// Sends updates to the UI thread and wakes it.
#[derive(Clone, Debug)]
pub(crate) struct UiSender {
    sender: Sender<(Instant, AgentUpdate)>,
    waker: Waker,
}

impl UiSender {
    pub(crate) fn new(sender: Sender<(Instant, AgentUpdate)>, waker: Waker) -> UiSender {
        UiSender { sender, waker }
    }

    /// Sends an update. Without a receiver the process is about to end, so that is no error.
    pub(crate) fn send(&self, updates: AgentUpdate) {
        // Stamped here, because updates are not received while a question is open.
        let _ = self.sender.send((Instant::now(), updates));
        self.waker.wake();
    }
}

/// Asks in the app's terminal. Dropping the future takes the question off the screen, or out of the queue.
#[derive(Debug)]
pub(crate) struct AppAsker {
    pub(crate) ui: UiSender,
}

/// Wakes the UI thread when the agent stops waiting, so that a question still in the queue is removed at once.
struct WakeOnDrop {
    ui: UiSender,
    _pipe: PipeWriter,
}

impl Drop for WakeOnDrop {
    fn drop(&mut self) {
        self.ui.waker.wake();
    }
}

impl Asker for AppAsker {
    fn ask<'a>(&'a self, request: &'a Request) -> Asking<'a> {
        Box::pin(async move {
            let failed = |source| AskError::Surface { what: "cannot start asking", source };
            let (withdrawal, pipe) = io::pipe().map_err(failed)?;
            let (answer, outcome) = oneshot::channel();
            self.ui.send(AgentUpdate::Question(QueuedQuestion { request: request.clone(), withdrawal, answer }));
            // Declared before the future that holds the receiver, so dropped after it: the UI thread, once awake, finds the
            // question withdrawn.
            let _wanted = WakeOnDrop { ui: self.ui.clone(), _pipe: pipe };
            let asked = outcome.await;
            // No answer, so no refusal either: the turn breaks off and asks again when it is resumed.
            asked.unwrap_or(Err(AskError::Signal(SIGHUP)))
        })
    }
}
