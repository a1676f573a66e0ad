//! Streams the output of a running command, so that a person can read it.
//!
//! At most ten pieces are sent per second. If output arrives faster, only the end of each piece is sent. The result has
//! separate output for the model.

use crate::event::AgentEvent;
use crate::tool::ToolContext;
use std::time::Duration;
use tokio::time::Instant;

/// The shortest time between two pieces of output.
const INTERVAL: Duration = Duration::from_millis(100);
const MAX_PIECE: usize = 64 << 10;
/// The line that replaces text that was left out.
const LEFT_OUT: &str = "\n…\n";

pub(crate) struct LiveOutput<'a> {
    context: &'a ToolContext,
    call: &'a str,
    /// The output that was not sent yet.
    unsent: String,
    /// Whether output before `unsent` was left out.
    cut: bool,
    /// The earliest time to send the next piece.
    due: Instant,
}

impl<'a> LiveOutput<'a> {
    pub(crate) fn new(call: &'a str, context: &'a ToolContext) -> LiveOutput<'a> {
        LiveOutput { context, call, unsent: String::new(), cut: false, due: Instant::now() }
    }

    /// Adds output. Sends a piece if the previous one is old enough.
    pub(crate) fn push(&mut self, text: &str) {
        self.unsent.push_str(text);
        if self.unsent.len() > MAX_PIECE {
            let from = self.unsent.ceil_char_boundary(self.unsent.len() - MAX_PIECE);
            let line = self.unsent[from..].find('\n').map(|end| from + end + 1);
            // A line that is longer than a piece is cut at any character.
            self.unsent.drain(..line.filter(|line| *line < self.unsent.len()).unwrap_or(from));
            self.cut = true;
        }
        if Instant::now() >= self.due {
            self.tell();
        }
    }

    /// Waits until the next piece is due. Without unsent output it waits forever.
    pub(crate) async fn wait_until_due(&self) {
        if self.unsent.is_empty() { std::future::pending().await } else { tokio::time::sleep_until(self.due).await }
    }

    /// Sends the output that was not sent yet.
    pub(crate) fn tell(&mut self) {
        if self.unsent.is_empty() {
            return;
        }
        let unsent = std::mem::take(&mut self.unsent);
        let text = if std::mem::take(&mut self.cut) { format!("{LEFT_OUT}{unsent}") } else { unsent };
        self.context.emit(AgentEvent::ToolOutput { id: self.call.to_owned(), text });
        self.due = Instant::now() + INTERVAL;
    }
}
