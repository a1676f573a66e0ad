//! The terminal as an [`Asker`], for agents that run on an async runtime of any kind.

use crate::Options;
use askuser::asker::Asking;
use askuser::{AskError, Asker, Outcome, QuestionSet};
use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::thread;

/// Asks on the controlling terminal. There is one, so questions that come together are asked one after the other, in the
/// order they came. A question withdrawn before its turn is not asked.
#[derive(Clone, Debug)]
pub struct TerminalAsker {
    options: Options,
    queue: Arc<Queue>,
}

impl TerminalAsker {
    /// An asker with these options.
    pub fn new(options: Options) -> TerminalAsker {
        TerminalAsker { options, queue: Arc::default() }
    }
}

impl Asker for TerminalAsker {
    fn ask<'a>(&'a self, set: &'a QuestionSet) -> Asking<'a> {
        let (asker, set, turn) = (self.clone(), set.clone(), self.queue.join());
        let pending = Arc::new(Mutex::new(Pending::default()));
        let answer = pending.clone();
        // Waiting for a person blocks; an executor's thread is not ours to block.
        let spawned = thread::Builder::new().name("askuser".into()).spawn(move || {
            turn.wait();
            if Arc::strong_count(&answer) == 1 {
                return;
            }
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

/// Who waits for the terminal; the first of them has it.
#[derive(Debug, Default)]
struct Queue {
    waiting: Mutex<Waiting>,
    moved: Condvar,
}

#[derive(Debug, Default)]
struct Waiting {
    numbers: VecDeque<u64>,
    last: u64,
}

/// A place in the queue, given up when dropped.
struct Turn {
    queue: Arc<Queue>,
    number: u64,
}

impl Queue {
    fn join(self: &Arc<Queue>) -> Turn {
        let mut waiting = self.waiting();
        waiting.last += 1;
        let number = waiting.last;
        waiting.numbers.push_back(number);
        Turn { queue: self.clone(), number }
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Turn {
    fn wait(&self) {
        let others_first = |waiting: &mut Waiting| waiting.numbers.front() != Some(&self.number);
        let waited = self.queue.moved.wait_while(self.queue.waiting(), others_first);
        drop(waited.unwrap_or_else(PoisonError::into_inner));
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.queue.waiting().numbers.retain(|number| *number != self.number);
        self.queue.moved.notify_all();
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn turns_come_in_the_order_of_joining_whoever_waits_first() {
        let (queue, order) = (Arc::new(Queue::default()), Arc::new(Mutex::new(Vec::new())));
        let turns: Vec<Turn> = (0..5).map(|_| queue.join()).collect();
        let threads = turns.into_iter().rev().map(|turn| {
            let order = order.clone();
            thread::spawn(move || {
                turn.wait();
                order.lock().unwrap().push(turn.number);
            })
        });
        threads.collect::<Vec<_>>().into_iter().for_each(|thread| thread.join().unwrap());
        assert_eq!(*order.lock().unwrap(), [1, 2, 3, 4, 5]);
    }

    #[test]
    fn a_place_given_up_holds_nobody() {
        let queue = Arc::new(Queue::default());
        let (first, second, third) = (queue.join(), queue.join(), queue.join());
        drop(second);
        drop(first);
        third.wait();
    }
}
