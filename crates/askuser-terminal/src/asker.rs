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
    queue: Arc<Queue>,
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
    fn start(&self, request: Request) -> Result<Asked, AskError> {
        let failed = crate::ask::surface("cannot start asking");
        let (withdrawal, wanted) = io::pipe().map_err(&failed)?;
        let (options, turn) = (self.options.clone(), self.queue.join());
        let pending = Arc::new(Mutex::new(Pending::default()));
        let answer = Answer(pending.clone());
        // Waiting for a person blocks; an executor's thread is not ours to block.
        let thread = thread::Builder::new().name("askuser".into());
        let spawned = thread.spawn(move || {
            turn.wait();
            if Arc::strong_count(&answer.0) > 1 {
                answer.give(crate::ask::run(&request, &options, Some(withdrawal)));
            }
        });
        spawned.map_err(&failed)?;
        Ok(Asked { pending, _wanted: wanted })
    }
}

/// Where the thread puts what came of asking. Whatever happens to it, somebody is told.
struct Answer(Arc<Mutex<Pending>>);

impl Answer {
    fn give(&self, result: Result<Outcome, AskError>) {
        let mut pending = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        pending.result.get_or_insert(result);
        if let Some(waker) = pending.waker.take() {
            waker.wake();
        }
    }
}

impl Drop for Answer {
    fn drop(&mut self) {
        if thread::panicking() {
            self.give(Err(crate::ask::surface("the prompt failed")(io::Error::other("it panicked"))));
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

struct Asked {
    pending: Arc<Mutex<Pending>>,
    // The prompt sees this end of the pipe go, and goes too.
    _wanted: PipeWriter,
}

impl Future for Asked {
    type Output = Result<Outcome, AskError>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let mut pending = self.pending.lock().unwrap_or_else(PoisonError::into_inner);
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

    #[cfg(unix)]
    #[test]
    fn what_the_questions_are_about_stands_above_them_and_stays() {
        use crate::fixtures::database;
        use crate::in_a_terminal::{is_inside, run};
        if is_inside() {
            let mut options = Options::detect();
            (options.settings.arm, options.flash) = (std::time::Duration::ZERO, std::time::Duration::ZERO);
            let request = Request::new(database()).with_context("The plan:\x1b[2J\n1. look");
            for manner in [crate::Manner::Screen, crate::Manner::Line] {
                let options = Options { manner, ..options.clone() };
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
