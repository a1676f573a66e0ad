//! The terminal as an [`Asker`], for agents that run on an async runtime of any kind.

use crate::Options;
use askuser::asker::Asking;
use askuser::{AskError, Asker, Outcome, QuestionSet};
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Waker};
use std::thread;

/// Asks on the controlling terminal. There is one, so questions that come together are asked one after the other.
#[derive(Clone, Debug)]
pub struct TerminalAsker {
    options: Options,
    turn: Arc<Mutex<()>>,
}

impl TerminalAsker {
    /// An asker with these options.
    pub fn new(options: Options) -> TerminalAsker {
        TerminalAsker { options, turn: Arc::default() }
    }
}

impl Asker for TerminalAsker {
    fn ask<'a>(&'a self, set: &'a QuestionSet) -> Asking<'a> {
        let (asker, set) = (self.clone(), set.clone());
        let pending = Arc::new(Mutex::new(Pending::default()));
        let answer = pending.clone();
        // Waiting for a person blocks; an executor's thread is not ours to block.
        let spawned = thread::Builder::new().name("askuser".into()).spawn(move || {
            let turn = asker.turn.lock().unwrap_or_else(PoisonError::into_inner);
            let result = crate::ask(&set, &asker.options);
            drop(turn);
            let mut pending = answer.lock().unwrap_or_else(PoisonError::into_inner);
            pending.result = Some(result);
            if let Some(waker) = pending.waker.take() {
                waker.wake();
            }
        });
        match spawned {
            Ok(_) => Box::pin(Answered(pending)),
            Err(error) => Box::pin(std::future::ready(Err(crate::surface("cannot start a thread")(error)))),
        }
    }
}

#[derive(Default)]
struct Pending {
    result: Option<Result<Outcome, AskError>>,
    waker: Option<Waker>,
}

struct Answered(Arc<Mutex<Pending>>);

impl Future for Answered {
    type Output = Result<Outcome, AskError>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let mut pending = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match pending.result.take() {
            Some(result) => Poll::Ready(result),
            None => {
                pending.waker = Some(context.waker().clone());
                Poll::Pending
            }
        }
    }
}
