//! Runs file work on a blocking thread with a time limit.
//!
//! The work is cancelled when the turn is stopped, the future is dropped or the time is up. Work that does not react to
//! that is abandoned.

use crate::tool::{Stop, ToolContext, ToolResult};
use std::fs::File;
use std::io::{self, Read};
use std::time::Duration;
use tokio_util::sync::CancellationToken;

const TIME_LIMIT: Duration = Duration::from_secs(60);
/// The time for which cancelled work may continue. Only a hanging file system takes longer.
const GRACE: Duration = Duration::from_secs(5);

/// The note in results that are incomplete because the time was up.
pub(crate) const TIMED_OUT: &str = "Stopped after 60 s; the result is incomplete. Narrow the path or pattern.";

/// Runs `work` on a blocking thread.
///
/// The token of the work is cancelled when the turn is stopped, the returned future is dropped, or the time is up. Only
/// in the last case is the return value still used.
pub(crate) async fn run<T: Send + 'static>(
    context: &ToolContext,
    work: impl FnOnce(&CancellationToken) -> T + Send + 'static,
) -> Result<Result<T, ToolResult>, Stop> {
    run_within(context, TIME_LIMIT, GRACE, work).await
}

/// Runs `work` with the parsed input of a tool. Returns the error of the input if it was rejected.
pub(crate) async fn run_parsed<T: Send + 'static>(
    tool: &str,
    context: &ToolContext,
    parsed: Result<(T, String), ToolResult>,
    work: impl FnOnce(T, &CancellationToken) -> ToolResult + Send + 'static,
) -> Result<ToolResult, Stop> {
    let (input, subtitle) = match parsed {
        Ok(parsed) => parsed,
        Err(rejected) => return Ok(rejected),
    };
    let result = run(context, move |cancel| work(input, cancel)).await?;
    Ok(result.unwrap_or_else(|failed| failed).with_title(tool, subtitle))
}

async fn run_within<T: Send + 'static>(
    context: &ToolContext,
    time: Duration,
    grace: Duration,
    work: impl FnOnce(&CancellationToken) -> T + Send + 'static,
) -> Result<Result<T, ToolResult>, Stop> {
    let cancel = context.abort.child_token();
    let _cancel_on_drop = cancel.clone().drop_guard();
    let token = cancel.clone();
    let mut task = tokio::task::spawn_blocking(move || work(&token));
    let mut done = tokio::time::timeout(time, &mut task).await;
    if done.is_err() {
        cancel.cancel();
        done = tokio::time::timeout(grace, task).await;
    }
    if context.abort.is_cancelled() {
        return Err(Stop::Interrupted);
    }
    Ok(match done {
        Ok(done) => done.map_err(|error| ToolResult::error(format!("The tool failed: {error}"))),
        Err(_) => Err(ToolResult::error("The file system does not respond.")),
    })
}

/// A file whose reads fail once the token is cancelled.
pub(crate) struct CancellableFile<'a> {
    pub(crate) file: File,
    pub(crate) cancel: &'a CancellationToken,
}

impl Read for CancellableFile<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.cancel.is_cancelled() {
            return Err(io::Error::other(TIMED_OUT));
        }
        self.file.read(buffer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools::test_fixtures::TestFolder;
    use futures_util::FutureExt;
    use std::sync::mpsc;

    fn wait_for(cancel: &CancellationToken) {
        while !cancel.is_cancelled() {
            std::thread::yield_now();
        }
    }

    #[tokio::test]
    async fn a_partial_result_is_returned_when_the_time_is_up() {
        let work = |cancel: &CancellationToken| {
            wait_for(cancel);
            "half"
        };
        assert_eq!(run_within(&TestFolder::new().context, Duration::ZERO, GRACE, work).await, Ok(Ok("half")));
    }

    #[tokio::test]
    async fn work_that_ignores_its_cancellation_is_abandoned() {
        let (end, ends) = mpsc::channel::<()>();
        let work = move |_: &CancellationToken| _ = ends.recv();
        let result = run_within(&TestFolder::new().context, Duration::ZERO, Duration::ZERO, work).await;
        assert_eq!(result, Ok(Err(ToolResult::error("The file system does not respond."))));
        drop(end);
    }

    #[tokio::test]
    async fn dropped_work_is_cancelled() {
        let test = TestFolder::new();
        let (started, starts) = mpsc::channel();
        let (ended, ends) = mpsc::channel();
        let mut work = Box::pin(run(&test.context, move |cancel| {
            started.send(()).unwrap();
            wait_for(cancel);
            ended.send(()).unwrap();
        }));
        assert!((&mut work).now_or_never().is_none());
        starts.recv().unwrap();
        drop(work);
        ends.recv().unwrap();
    }

    #[tokio::test]
    async fn work_is_cancelled_with_the_turn() {
        let test = TestFolder::new();
        let abort = test.context.abort.clone();
        let work = move |cancel: &CancellationToken| {
            abort.cancel();
            wait_for(cancel);
        };
        assert_eq!(run(&test.context, work).await, Err(Stop::Interrupted));
    }

    #[tokio::test]
    async fn work_that_panics_is_an_error() {
        let result = run(&TestFolder::new().context, |_| panic!("on purpose")).await;
        assert!(result.is_ok_and(|done: Result<(), _>| done.is_err_and(|error| !error.success)));
    }
}
