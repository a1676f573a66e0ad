//! What a running command writes, told while it runs, so that a person can read all of it. Pieces come at most ten
//! times a second, and of a flood only the end of each. The result has what the model reads.

use crate::event::AgentEvent;
use crate::tool::ToolContext;
use std::time::Duration;
use tokio::time::Instant;

/// The shortest time between two pieces.
const INTERVAL: Duration = Duration::from_millis(100);
const MAX_PIECE: usize = 64 << 10;
/// Stands for what was left out before the end of a flood, in a line of its own.
const LEFT_OUT: &str = "\n…\n";

pub(crate) struct LiveOutput<'a> {
    context: &'a ToolContext,
    call: &'a str,
    /// What has not been told yet.
    unsent: String,
    /// Whether something before it was left out.
    cut: bool,
    /// Nothing is told before this.
    due: Instant,
}

impl<'a> LiveOutput<'a> {
    pub(crate) fn new(call: &'a str, context: &'a ToolContext) -> LiveOutput<'a> {
        LiveOutput { context, call, unsent: String::new(), cut: false, due: Instant::now() }
    }

    /// Takes in what was written, and tells it if the last piece is long enough ago.
    pub(crate) fn push(&mut self, text: &str) {
        self.unsent.push_str(text);
        if self.unsent.len() > MAX_PIECE {
            let from = self.unsent.ceil_char_boundary(self.unsent.len() - MAX_PIECE);
            let line = self.unsent[from..].find('\n').map(|end| from + end + 1);
            // A line that is longer than a piece is cut anywhere.
            self.unsent.drain(..line.filter(|line| *line < self.unsent.len()).unwrap_or(from));
            self.cut = true;
        }
        if Instant::now() >= self.due {
            self.tell();
        }
    }

    /// Returns when the next piece is due; never, if there is none.
    pub(crate) async fn wait_until_due(&self) {
        match self.unsent.is_empty() {
            true => std::future::pending().await,
            false => tokio::time::sleep_until(self.due).await,
        }
    }

    /// Tells what has not been told.
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
