//! Work on files that may take long: on a thread of its own, over soon after nobody wants it any more, and over in any
//! case before an agent that nobody watches seems to hang.

use crate::tool::{Stop, ToolContext, ToolResult};
use std::fs::File;
use std::io::{self, Read};
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// How long it may take.
const MOST_TIME: Duration = Duration::from_secs(60);
/// How long it may take to notice that it is to stop. Only a file system that does not answer takes longer.
const GRACE: Duration = Duration::from_secs(5);

/// Said where the time ran out.
pub(crate) const OUT_OF_TIME: &str = "Stopped after 60 s; not everything was looked at. Narrow the path or pattern.";

/// Runs `work` beside the turn. Its token is cancelled when the turn is stopped, when the returned future is dropped, and
/// when the time is up; only after the last is what it returns still read.
pub(crate) async fn run<T: Send + 'static>(
    context: &ToolContext,
    work: impl FnOnce(&CancellationToken) -> T + Send + 'static,
) -> Result<Result<T, ToolResult>, Stop> {
    run_within(context, MOST_TIME, GRACE, work).await
}

async fn run_within<T: Send + 'static>(
    context: &ToolContext,
    time: Duration,
    grace: Duration,
    work: impl FnOnce(&CancellationToken) -> T + Send + 'static,
) -> Result<Result<T, ToolResult>, Stop> {
    let stopped = context.abort.child_token();
    let _stops_when_dropped = stopped.clone().drop_guard();
    let token = stopped.clone();
    let mut task = tokio::task::spawn_blocking(move || work(&token));
    let mut done = tokio::time::timeout(time, &mut task).await;
    if done.is_err() {
        stopped.cancel();
        done = tokio::time::timeout(grace, task).await;
    }
    if context.abort.is_cancelled() {
        return Err(Stop::Interrupted);
    }
    Ok(match done {
        Ok(done) => done.map_err(|error| ToolResult::error(format!("This tool broke off: {error}"))),
        Err(_) => Err(ToolResult::error("The file system does not answer.")),
    })
}

/// A file that cannot be read on once the token is cancelled.
pub(crate) struct Stoppable<'a> {
    pub(crate) file: File,
    pub(crate) stopped: &'a CancellationToken,
}

impl Read for Stoppable<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.stopped.is_cancelled() {
            return Err(io::Error::other(OUT_OF_TIME));
        }
        self.file.read(buffer)
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use crate::tools::fixtures::Desk;
    use futures_util::FutureExt;
    use std::sync::mpsc;

    fn wait_for(stopped: &CancellationToken) {
        while !stopped.is_cancelled() {
            std::thread::yield_now();
        }
    }

    #[tokio::test]
    async fn what_was_found_when_the_time_ran_out_counts() {
        let work = |stopped: &CancellationToken| {
            wait_for(stopped);
            "half"
        };
        assert_eq!(run_within(&Desk::new().context, Duration::ZERO, GRACE, work).await, Ok(Ok("half")));
    }

    #[tokio::test]
    async fn work_that_does_not_stop_is_not_waited_for() {
        let (end, ends) = mpsc::channel::<()>();
        let work = move |_: &CancellationToken| _ = ends.recv();
        let result = run_within(&Desk::new().context, Duration::ZERO, Duration::ZERO, work).await;
        assert_eq!(result, Ok(Err(ToolResult::error("The file system does not answer."))));
        drop(end);
    }

    #[tokio::test]
    async fn work_that_is_dropped_stops() {
        let desk = Desk::new();
        let (started, starts) = mpsc::channel();
        let (ended, ends) = mpsc::channel();
        let mut work = Box::pin(run(&desk.context, move |stopped| {
            started.send(()).unwrap();
            wait_for(stopped);
            ended.send(()).unwrap();
        }));
        assert!((&mut work).now_or_never().is_none());
        starts.recv().unwrap();
        drop(work);
        ends.recv().unwrap();
    }

    #[tokio::test]
    async fn work_stops_with_the_turn() {
        let desk = Desk::new();
        let abort = desk.context.abort.clone();
        let work = move |stopped: &CancellationToken| {
            abort.cancel();
            wait_for(stopped);
        };
        assert_eq!(run(&desk.context, work).await, Err(Stop::Interrupted));
    }

    #[tokio::test]
    async fn work_that_panics_is_an_error() {
        let result = run(&Desk::new().context, |_| panic!("on purpose")).await;
        assert!(result.is_ok_and(|done: Result<(), _>| done.is_err_and(|error| !error.success)));
    }
}
