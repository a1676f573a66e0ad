//! Work on files that may take long: on a thread of its own, and over soon after nobody wants it any more.

use crate::tool::{Stop, ToolContext, ToolResult};
use std::fs::File;
use std::io::{self, Read};
use tokio_util::sync::CancellationToken;

/// Runs `work` beside the turn. Its token is cancelled when the turn is stopped or the returned future is dropped.
pub(crate) async fn run<T: Send + 'static>(
    context: &ToolContext,
    work: impl FnOnce(&CancellationToken) -> T + Send + 'static,
) -> Result<Result<T, ToolResult>, Stop> {
    let stopped = context.abort.child_token();
    let _stops_when_dropped = stopped.clone().drop_guard();
    let token = stopped.clone();
    let done = tokio::task::spawn_blocking(move || work(&token)).await;
    if context.abort.is_cancelled() {
        return Err(Stop::Interrupted);
    }
    Ok(done.map_err(|error| ToolResult::error(format!("This tool broke off: {error}"))))
}

/// A file that cannot be read on once the token is cancelled.
pub(crate) struct Stoppable<'a> {
    pub(crate) file: File,
    pub(crate) stopped: &'a CancellationToken,
}

impl Read for Stoppable<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.stopped.is_cancelled() {
            return Err(io::Error::other("stopped"));
        }
        self.file.read(buffer)
    }
}
