//! Hands questions from the agent's thread to the person's.
//!
//! All that the agent tells travels in one channel, in order: a question comes after everything that happened before it.

use super::worker::FromAgent;
use askuser::asker::Asking;
use askuser::{AskError, Asker, Outcome, Request};
use askuser_terminal::Waker;
use std::io::{self, PipeReader, PipeWriter};
use std::sync::mpsc::Sender;
use std::time::Instant;
use tokio::sync::oneshot;

/// What the end of the terminal means to who asks, the same number everywhere.
pub(crate) const SIGHUP: i32 = 1;

/// A question on its way to the person.
#[derive(Debug)]
pub(crate) struct Question {
    pub(crate) request: Request,
    /// Ends when nobody waits for the answer any more.
    pub(crate) withdrawal: PipeReader,
    pub(crate) answer: oneshot::Sender<Result<Outcome, AskError>>,
}

impl Question {
    pub(crate) fn is_withdrawn(&self) -> bool {
        self.answer.is_closed()
    }
}

/// Whatever is told to the person's thread, which is woken for it.
#[derive(Clone, Debug)]
pub(crate) struct Post {
    sender: Sender<(Instant, FromAgent)>,
    waker: Waker,
}

impl Post {
    pub(crate) fn new(sender: Sender<(Instant, FromAgent)>, waker: Waker) -> Post {
        Post { sender, waker }
    }

    /// Tells it. If nobody is left to be told, the process is about to end.
    pub(crate) fn tell(&self, news: FromAgent) {
        // It may be looked at late: while a question is open nothing else is.
        let _ = self.sender.send((Instant::now(), news));
        self.waker.wake();
    }
}

/// Asks the person in front of the terminal. Dropping the future takes the question off the screen, or out of the queue.
#[derive(Debug)]
pub(crate) struct AtTheTerminal {
    pub(crate) post: Post,
}

/// Tells that nobody waits any more. Without this, a question that has not been shown yet would be noticed late.
struct Wanted {
    post: Post,
    _pipe: PipeWriter,
}

impl Drop for Wanted {
    fn drop(&mut self) {
        self.post.waker.wake();
    }
}

impl Asker for AtTheTerminal {
    fn ask<'a>(&'a self, request: &'a Request) -> Asking<'a> {
        Box::pin(async move {
            let failed = |source| AskError::Surface { what: "cannot start asking", source };
            let (withdrawal, pipe) = io::pipe().map_err(failed)?;
            let (answer, outcome) = oneshot::channel();
            self.post.tell(FromAgent::Asks(Question { request: request.clone(), withdrawal, answer }));
            // Declared first, so dropped last: whoever is woken by it finds the question withdrawn.
            let _wanted = Wanted { post: self.post.clone(), _pipe: pipe };
            let asked = outcome.await;
            // Nobody has said no: the turn breaks off and asks again when it is taken up.
            asked.unwrap_or(Err(AskError::Signal(SIGHUP)))
        })
    }
}
