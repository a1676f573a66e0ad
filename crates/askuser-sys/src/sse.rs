//! Parses server-sent events from chunks of bytes, which may be split at any byte.
//!
//! Only complete lines are decoded. So a chunk may end inside a character or between CR and LF. An event consists of
//! its `data`, which also states its kind. `id` and `retry` are ignored, because a response cannot be resumed.

/// The maximum size of a line and of an event. The largest events are tool calls that write a file.
const MAX_EVENT_BYTES: usize = 16 * 1024 * 1024;

/// The reason why bytes are not a valid event stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SseError {
    /// A line or an event exceeds the bound.
    #[error("an event is longer than {} MiB", MAX_EVENT_BYTES / (1024 * 1024))]
    TooLong,
    /// A line is not UTF-8.
    #[error("a line is not UTF-8")]
    NotUtf8,
}

/// An event that has data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// Its name. Empty if it has none.
    pub name: String,
    /// Its data. Several lines are joined with line feeds.
    pub data: String,
}

/// The state of a stream.
#[derive(Debug, Default)]
pub struct Parser {
    line: Vec<u8>,
    /// The name of the event so far.
    name: String,
    /// The `data` fields of the event so far, joined with line feeds.
    data: Option<String>,
    /// Whether the last byte was a CR. An LF after it belongs to the same line end.
    after_cr: bool,
    /// Whether the first line is over. Only that line may start with a byte order mark.
    past_first_line: bool,
}

impl Parser {
    /// Parses a chunk and appends the events that are complete now, also those before an error.
    ///
    /// # Errors
    /// If a line or an event is too long, or a line is not UTF-8.
    pub fn push(&mut self, mut bytes: &[u8], events: &mut Vec<Event>) -> Result<(), SseError> {
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
    pub fn end(&mut self) -> Option<Event> {
        self.line.clear();
        self.take_event()
    }

    fn take_event(&mut self) -> Option<Event> {
        let name = std::mem::take(&mut self.name);
        self.data.take().map(|data| Event { name, data })
    }

    fn end_line(&mut self, events: &mut Vec<Event>) -> Result<(), SseError> {
        let bytes = std::mem::take(&mut self.line);
        let line = std::str::from_utf8(&bytes).map_err(|_| SseError::NotUtf8)?;
        let line = if std::mem::replace(&mut self.past_first_line, true) {
            line
        } else {
            line.strip_prefix('\u{feff}').unwrap_or(line)
        };
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "" if line.is_empty() => events.extend(self.take_event()),
            "data" => self.add_data(value)?,
            "event" => value.clone_into(&mut self.name),
            _ => {}
        }
        // The next line uses the same buffer.
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
