//! A parser for server-sent events in chunks of bytes that may be split anywhere.
//!
//! Only complete lines are decoded, so a split inside a character or between CR and LF does no harm. An event is its
//! `data`, which also contains its kind. `id` and `retry` are ignored: a response cannot be resumed.

/// The longest line and event. The longest that providers send are tool calls that write a file.
const MAX_EVENT_BYTES: usize = 16 * 1024 * 1024;

/// The reason why the bytes are no event stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum SseError {
    #[error("an event is longer than {} MiB", MAX_EVENT_BYTES / (1024 * 1024))]
    TooLong,
    #[error("a line is not UTF-8")]
    NotUtf8,
}

#[derive(Debug, Default)]
pub(super) struct Parser {
    line: Vec<u8>,
    /// The `data` fields of the event so far, joined with line feeds.
    data: Option<String>,
    /// The last byte was a CR; an LF that follows belongs to it.
    after_cr: bool,
    /// The first line, which may start with a byte order mark, is over.
    past_first_line: bool,
}

impl Parser {
    /// Parses a chunk and appends the events that are complete now, also those before an error.
    pub(super) fn push(&mut self, mut bytes: &[u8], events: &mut Vec<String>) -> Result<(), SseError> {
        while !bytes.is_empty() {
            if std::mem::take(&mut self.after_cr) && bytes[0] == b'\n' {
                bytes = &bytes[1..];
                continue;
            }
            let end = bytes.iter().position(|byte| matches!(byte, b'\r' | b'\n'));
            let (part, rest) = bytes.split_at(end.unwrap_or(bytes.len()));
            if self.line.len() + part.len() > MAX_EVENT_BYTES {
                return Err(SseError::TooLong);
            }
            self.line.extend_from_slice(part);
            bytes = rest;
            if let Some((ending, rest)) = rest.split_first() {
                self.after_cr = *ending == b'\r';
                bytes = rest;
                self.end_line(events)?;
            }
        }
        Ok(())
    }

    /// Ends the stream. Returns an event that is complete but for the empty line after it. A line without its end may
    /// be truncated, and is dropped.
    pub(super) fn end(&mut self) -> Option<String> {
        self.line.clear();
        self.data.take()
    }

    fn end_line(&mut self, events: &mut Vec<String>) -> Result<(), SseError> {
        let bytes = std::mem::take(&mut self.line);
        let line = std::str::from_utf8(&bytes).map_err(|_| SseError::NotUtf8)?;
        let line = if std::mem::replace(&mut self.past_first_line, true) {
            line
        } else {
            line.strip_prefix('\u{feff}').unwrap_or(line)
        };
        match line.split_once(':').unwrap_or((line, "")) {
            _ if line.is_empty() => events.extend(self.data.take()),
            ("data", value) => self.add_data(value.strip_prefix(' ').unwrap_or(value))?,
            _ => {}
        }
        // Reuse the buffer for the next line.
        self.line = bytes;
        self.line.clear();
        Ok(())
    }

    fn add_data(&mut self, value: &str) -> Result<(), SseError> {
        let before = self.data.as_ref().map_or(0, String::len);
        if before + value.len() >= MAX_EVENT_BYTES {
            return Err(SseError::TooLong);
        }
        match &mut self.data {
            Some(data) => data.extend(["\n", value]),
            None => self.data = Some(value.to_owned()),
        }
        Ok(())
    }
}

#[cfg(test)]
#[path = "sse_tests.rs"]
mod tests;
