//! The terminal as an [`Asker`], for agents that run on an async runtime of any kind.

use crate::Options;
use askuser::asker::Asking;
use askuser::{AskError, Asker, Outcome, Request};
use std::collections::VecDeque;
use std::future::Future;
use std::io::{self, PipeWriter};
use std::pin::Pin;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::thread;

/// Asks on the controlling terminal. There is one, so questions that come together are asked one after the other, in the
/// order they came. Dropping the future takes the question off the screen, or out of the queue.
#[derive(Clone, Debug)]
pub struct TerminalAsker {
    options: Options,
    queue: Arc<PromptQueue>,
}

impl TerminalAsker {
    /// An asker with these options.
    pub fn new(options: Options) -> TerminalAsker {
        TerminalAsker { options, queue: Arc::default() }
    }
}

impl Asker for TerminalAsker {
    fn ask<'a>(&'a self, request: &'a Request) -> Asking<'a> {
        match self.start(request.clone()) {
            Ok(asked) => Box::pin(asked),
            Err(error) => Box::pin(std::future::ready(Err(error))),
        }
    }
}

impl TerminalAsker {
    fn start(&self, request: Request) -> Result<PromptFuture, AskError> {
        let failed = crate::ask::surface("cannot start asking");
        let (withdrawal, wanted) = io::pipe().map_err(&failed)?;
        let (options, ticket) = (self.options.clone(), self.queue.join());
        let slot = Arc::new(Mutex::new(ResultSlot::default()));
        let sender = ResultSender(slot.clone());
        // Waiting for a person blocks, which must not happen on an executor's thread.
        let thread = thread::Builder::new().name("askuser".into());
        let spawned = thread.spawn(move || {
            ticket.wait();
            if Arc::strong_count(&sender.0) > 1 {
                sender.send(crate::ask::run(&request, &options, Some(withdrawal)));
            }
        });
        spawned.map_err(&failed)?;
        Ok(PromptFuture { slot, _wanted: wanted })
    }
}

/// Where the thread puts what came of asking. Whatever happens to it, somebody is told.
struct ResultSender(Arc<Mutex<ResultSlot>>);

impl ResultSender {
    fn send(&self, result: Result<Outcome, AskError>) {
        let mut slot = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        slot.result.get_or_insert(result);
        if let Some(waker) = slot.waker.take() {
            waker.wake();
        }
    }
}

impl Drop for ResultSender {
    fn drop(&mut self) {
        if thread::panicking() {
            self.send(Err(crate::ask::surface("the prompt failed")(io::Error::other("it panicked"))));
        }
    }
}

/// Who waits for the terminal; the first of them has it.
#[derive(Debug, Default)]
struct PromptQueue {
    state: Mutex<QueueState>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct QueueState {
    tickets: VecDeque<u64>,
    last: u64,
}

/// A place in the queue, given up when dropped.
struct QueueTicket {
    queue: Arc<PromptQueue>,
    number: u64,
}

impl PromptQueue {
    fn join(self: &Arc<PromptQueue>) -> QueueTicket {
        let mut state = self.state();
        state.last += 1;
        let number = state.last;
        state.tickets.push_back(number);
        QueueTicket { queue: self.clone(), number }
    }

    fn state(&self) -> MutexGuard<'_, QueueState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl QueueTicket {
    fn wait(&self) {
        let not_first = |state: &mut QueueState| state.tickets.front() != Some(&self.number);
        let waited = self.queue.changed.wait_while(self.queue.state(), not_first);
        drop(waited.unwrap_or_else(PoisonError::into_inner));
    }
}

impl Drop for QueueTicket {
    fn drop(&mut self) {
        self.queue.state().tickets.retain(|number| *number != self.number);
        self.queue.changed.notify_all();
    }
}

#[derive(Default)]
struct ResultSlot {
    result: Option<Result<Outcome, AskError>>,
    waker: Option<Waker>,
}

struct PromptFuture {
    slot: Arc<Mutex<ResultSlot>>,
    // The prompt sees this end of the pipe go, and goes too.
    _wanted: PipeWriter,
}

impl Future for PromptFuture {
    type Output = Result<Outcome, AskError>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let mut slot = self.slot.lock().unwrap_or_else(PoisonError::into_inner);
        match slot.result.take() {
            Some(result) => Poll::Ready(result),
            None => {
                slot.waker = Some(context.waker().clone());
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
        let (queue, order) = (Arc::new(PromptQueue::default()), Arc::new(Mutex::new(Vec::new())));
        let tickets: Vec<QueueTicket> = (0..5).map(|_| queue.join()).collect();
        let threads = tickets.into_iter().rev().map(|ticket| {
            let order = order.clone();
            thread::spawn(move || {
                ticket.wait();
                order.lock().unwrap().push(ticket.number);
            })
        });
        threads.collect::<Vec<_>>().into_iter().for_each(|thread| thread.join().unwrap());
        assert_eq!(*order.lock().unwrap(), [1, 2, 3, 4, 5]);
    }

    #[test]
    fn a_place_given_up_holds_nobody() {
        let queue = Arc::new(PromptQueue::default());
        let (first, second, third) = (queue.join(), queue.join(), queue.join());
        drop(second);
        drop(first);
        third.wait();
    }

    #[cfg(unix)]
    #[test]
    fn what_the_questions_are_about_stands_above_them_and_stays() {
        use crate::fixtures::database;
        use crate::in_a_terminal::{is_inside, run};
        if is_inside() {
            let mut options = Options::detect();
            (options.settings.arm, options.flash) = (std::time::Duration::ZERO, std::time::Duration::ZERO);
            let request = Request::new(database()).with_context("The plan:\x1b[2J\n1. look");
            for presentation in [crate::Presentation::Screen, crate::Presentation::Line] {
                let options = Options { presentation, ..options.clone() };
                crate::ask::run(&request, &options, None).expect("an outcome");
            }
            return;
        }
        let name = "asker::tests::what_the_questions_are_about_stands_above_them_and_stays";
        let output = run(name, &[("? keys", "\r"), ("Choose 1 to 4", "1\r")]);
        assert_eq!(output.matches("The plan:").count(), 2, "{output}");
        assert!(output.find("1. look") < output.find("Which database"), "{output}");
        assert!(!output.contains("\x1b[2J"), "{output}");
    }

    #[cfg(unix)]
    #[test]
    #[allow(clippy::print_stdout, reason = "how the process in the terminal speaks to the one outside")]
    fn a_dropped_future_takes_its_question_off_the_screen_and_the_next_is_asked() {
        use crate::fixtures::{database, features};
        use crate::in_a_terminal::{is_inside, modes, run};
        if is_inside() {
            let mut options = Options::detect();
            options.settings.arm = std::time::Duration::ZERO;
            let asker = TerminalAsker::new(options);
            let (withdrawn, kept) = (Request::new(database()), Request::new(features()).with_origin("task 'x'"));
            let mut first = asker.ask(&withdrawn);
            let mut second = asker.ask(&kept);
            let mut context = Context::from_waker(Waker::noop());
            assert!(first.as_mut().poll(&mut context).is_pending());
            // Long enough to be on the screen.
            thread::sleep(std::time::Duration::from_millis(500));
            drop(first);
            loop {
                match second.as_mut().poll(&mut context) {
                    Poll::Ready(outcome) => return println!("OUTCOME {}", outcome.expect("an outcome").status_name()),
                    Poll::Pending => thread::sleep(std::time::Duration::from_millis(10)),
                }
            }
        }
        let name = "asker::tests::a_dropped_future_takes_its_question_off_the_screen_and_the_next_is_asked";
        let output = run(name, &[("Tailwind", "1\r")]);
        assert!(output.contains("PostgreSQL") && output.contains("Asked by: task 'x'"), "{output}");
        assert!(output.contains("OUTCOME answered") && !output.contains("✔ Database"), "{output}");
        let (before, after) = modes(&output);
        assert_eq!(before, after, "{output}");
    }
}
