//! Asks through an `Asker`, as an agent does. Two questions are asked at once, and the terminal shows one after the
//! other.
//!
//! `cargo run -p askuser-terminal --example asker`
#![allow(clippy::print_stdout, reason = "the answers belong on stdout")]

use askuser::{Asker, Origin, QuestionSet, Request, RequestKey, Rules, report};
use askuser_terminal::{Options, TerminalAsker};
use std::error::Error;
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};

fn main() -> Result<(), Box<dyn Error>> {
    let asker: Box<dyn Asker> = Box::new(TerminalAsker::new(Options::detect()));
    let database = QuestionSet::from_json(include_str!("database.json"), &Rules::default())?;
    let features = QuestionSet::from_json(include_str!("features.json"), &Rules::default())?;
    let database = Request::new(RequestKey::new("session", "call-1"), database);
    let origin = Origin::default().with_task("set up the front end");
    let features = Request::new(RequestKey::new("session", "call-2"), features).with_origin(origin);
    // Both questions are pending from here. The loop awaits them in the same way for every asker.
    let first = asker.ask(&database);
    let second = asker.ask(&features);
    let first = block_on(first)?.stored();
    let second = block_on(second)?.stored();
    // Dropping the asker waits until the terminal is restored. Before that, a printed line would stand in the middle of
    // a prompt.
    drop(asker);
    println!("{}\n\n{}", report::prose(database.set(), &first), report::prose(features.set(), &second));
    Ok(())
}

/// A minimal executor, which sleeps until the future wakes it.
fn block_on<F: Future>(future: F) -> F::Output {
    struct Unpark(Thread);
    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut future = pin!(future);
    loop {
        match future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(output) => return output,
            Poll::Pending => thread::park(),
        }
    }
}
