//! Server-sent events, read from bytes that may be cut anywhere.
//!
//! Only whole lines are decoded, so a cut inside a character or between CR and LF changes nothing. `id` and `retry` are
//! of no use here: an answer cannot be taken up again in the middle.

/// No line and no event is longer than this. The longest that providers send are calls that write a file.
const LONGEST: usize = 16 * 1024 * 1024;

/// One event.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Event {
    /// What sort of event it is, if it says so.
    pub(super) name: String,
    /// What it carries; lines are joined with a line feed.
    pub(super) data: String,
}

/// Why the bytes are no events.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Malformed {
    #[error("an event is longer than {} MiB", LONGEST / (1024 * 1024))]
    TooLong,
    #[error("a line is not UTF-8")]
    NotUtf8,
}

/// Reads events from bytes as they come.
#[derive(Debug, Default)]
pub(super) struct Parser {
    line: Vec<u8>,
    event: Event,
    has_data: bool,
    /// The last byte was a CR: an LF now belongs to it.
    after_cr: bool,
    /// The first line is over; only it may begin with a byte order mark.
    begun: bool,
}

impl Parser {
    /// Takes in more bytes and adds the events that are whole now. Events before something malformed are added too.
    pub(super) fn push(&mut self, mut bytes: &[u8], events: &mut Vec<Event>) -> Result<(), Malformed> {
        while !bytes.is_empty() {
            if std::mem::take(&mut self.after_cr) && bytes[0] == b'\n' {
                bytes = &bytes[1..];
                continue;
            }
            let end = bytes.iter().position(|byte| matches!(byte, b'\r' | b'\n'));
            let (part, rest) = bytes.split_at(end.unwrap_or(bytes.len()));
            if self.line.len() + part.len() > LONGEST {
                return Err(Malformed::TooLong);
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

    /// The bytes have ended: gives the event whose lines are whole though no empty line follows. A line without an end
    /// may be cut off, so it does not count.
    pub(super) fn end(&mut self) -> Option<Event> {
        self.line.clear();
        let event = std::mem::take(&mut self.event);
        std::mem::take(&mut self.has_data).then_some(event)
    }

    fn end_line(&mut self, events: &mut Vec<Event>) -> Result<(), Malformed> {
        let bytes = std::mem::take(&mut self.line);
        let line = std::str::from_utf8(&bytes).map_err(|_| Malformed::NotUtf8)?;
        let line =
            if std::mem::replace(&mut self.begun, true) { line } else { line.strip_prefix('\u{feff}').unwrap_or(line) };
        if line.is_empty() {
            let event = std::mem::take(&mut self.event);
            if std::mem::take(&mut self.has_data) {
                events.push(event);
            }
        } else {
            let (field, value) = line.split_once(':').unwrap_or((line, ""));
            let value = value.strip_prefix(' ').unwrap_or(value);
            // A comment is a line whose field has no name.
            match field {
                "data" => self.add_data(value)?,
                "event" => self.event.name = value.to_owned(),
                _ => {}
            }
        }
        // The next line is read into the same memory.
        self.line = bytes;
        self.line.clear();
        Ok(())
    }

    fn add_data(&mut self, value: &str) -> Result<(), Malformed> {
        let data = &mut self.event.data;
        if data.len() + value.len() >= LONGEST {
            return Err(Malformed::TooLong);
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
