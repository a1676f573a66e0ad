//! A parser for server-sent events in chunks of bytes that may be split anywhere.
//!
//! Only complete lines are decoded, so a split inside a character or between CR and LF does no harm. `id` and `retry` are
//! ignored: a response cannot be resumed.

/// The longest line and event. The longest that providers send are tool calls that write a file.
const MAX_EVENT_BYTES: usize = 16 * 1024 * 1024;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct SseEvent {
    /// The `event` field; empty if there is none.
    pub(super) name: String,
    /// The `data` fields, joined with line feeds.
    pub(super) data: String,
}

/// Why the bytes are not an event stream.
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
    event: SseEvent,
    has_data: bool,
    /// The last byte was a CR; an LF that follows belongs to it.
    after_cr: bool,
    /// The first line, which may start with a byte order mark, is over.
    past_first_line: bool,
}

impl Parser {
    /// Parses a chunk and appends the events that are complete now, also those before an error.
    pub(super) fn push(&mut self, mut bytes: &[u8], events: &mut Vec<SseEvent>) -> Result<(), SseError> {
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

    /// The stream has ended: returns an event that is complete but for the empty line after it. A line without its end may
    /// be truncated, and is dropped.
    pub(super) fn end(&mut self) -> Option<SseEvent> {
        self.line.clear();
        let event = std::mem::take(&mut self.event);
        std::mem::take(&mut self.has_data).then_some(event)
    }

    fn end_line(&mut self, events: &mut Vec<SseEvent>) -> Result<(), SseError> {
        let bytes = std::mem::take(&mut self.line);
        let line = std::str::from_utf8(&bytes).map_err(|_| SseError::NotUtf8)?;
        let line = if std::mem::replace(&mut self.past_first_line, true) {
            line
        } else {
            line.strip_prefix('\u{feff}').unwrap_or(line)
        };
        if line.is_empty() {
            let event = std::mem::take(&mut self.event);
            if std::mem::take(&mut self.has_data) {
                events.push(event);
            }
        } else {
            let (field, value) = line.split_once(':').unwrap_or((line, ""));
            let value = value.strip_prefix(' ').unwrap_or(value);
            // A comment is a line with an empty field name.
            match field {
                "data" => self.add_data(value)?,
                "event" => self.event.name = value.to_owned(),
                _ => {}
            }
        }
        // Reuse the buffer for the next line.
        self.line = bytes;
        self.line.clear();
        Ok(())
    }

    fn add_data(&mut self, value: &str) -> Result<(), SseError> {
        let data = &mut self.event.data;
        if data.len() + value.len() >= MAX_EVENT_BYTES {
            return Err(SseError::TooLong);
        }
        if std::mem::replace(&mut self.has_data, true) {
            data.push('\n');
        }
        data.push_str(value);
        Ok(())
    }
}

#[cfg(test)]
#[path = "sse_tests.rs"]
mod tests;
