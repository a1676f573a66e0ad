//! Detects messages that are too long, and replies with an error.
//!
//! The SDK drops such a line silently, and the client would wait forever. So the bytes are inspected on their way to
//! the SDK. Only the request's id is kept, from any place in the line.

use rmcp::model::RequestId;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use tokio::io::{AsyncRead, ReadBuf};
use tokio::sync::mpsc::UnboundedSender;

/// The maximum length of a line, including its end.
pub(crate) const MAX_LINE: usize = 16 << 20;

/// The id of a request that was not read; `None` if the message is not known to be a request with an id.
pub(crate) type Unread = Option<RequestId>;

/// A stream of lines that reports each line that is too long.
pub(crate) struct Watched<R> {
    stream: R,
    line: Line,
    unread: UnboundedSender<Unread>,
}

/// The line that is being read.
#[derive(Default)]
struct Line {
    length: usize,
    envelope: Envelope,
    is_answered: bool,
}

impl<R> Watched<R> {
    pub(crate) fn new(stream: R, unread: UnboundedSender<Unread>) -> Watched<R> {
        Watched { stream, line: Line::default(), unread }
    }
}

impl Line {
    /// Takes the next byte. Returns the request to answer once the line is too long, otherwise `None`. A known request
    /// is returned immediately, an unknown one at the end of the line.
    fn push(&mut self, byte: u8) -> Option<Unread> {
        self.length += 1;
        self.envelope.push(byte);
        let is_over = byte == b'\n';
        let known = if self.length > MAX_LINE && !self.is_answered { self.envelope.request() } else { None };
        let answer = match known {
            Some(id) => Some(Some(id)),
            None => (is_over && self.length > MAX_LINE && !self.is_answered).then_some(None),
        };
        self.is_answered |= answer.is_some();
        if is_over {
            *self = Line::default();
        }
        answer
    }
}

impl<R: AsyncRead + Unpin> AsyncRead for Watched<R> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<std::io::Result<()>> {
        let this = &mut *self;
        let start = buf.filled().len();
        ready!(Pin::new(&mut this.stream).poll_read(cx, buf))?;
        for byte in &buf.filled()[start..] {
            if let Some(unread) = this.line.push(*byte) {
                let _ = this.unread.send(unread);
            }
        }
        Poll::Ready(Ok(()))
    }
}

/// The fields of a message's outermost object that are known before the end of the message.
#[derive(Default)]
struct Envelope {
    depth: usize,
    string: Option<Escape>,
    /// The name or value that is being read in the outermost object, at most one byte longer than [`MAX_TOKEN`].
    token: Vec<u8>,
    /// The name whose value comes next, if any.
    name: Option<Name>,
    id: Option<RequestId>,
    has_method: bool,
}

/// The escape state of a string: `Yes` if its next character is escaped.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Escape {
    No,
    Yes,
}

/// The relevant names of the outermost object.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Name {
    Id,
    Method,
    Other,
}

/// The maximum length of a name or an id.
const MAX_TOKEN: usize = 1 << 10;

impl Envelope {
    /// Returns the id of a request; `None` for other messages. A response has no method, and its id is one of the
    /// server's own.
    fn request(&self) -> Option<RequestId> {
        self.id.clone().filter(|_| self.has_method)
    }

    fn push(&mut self, byte: u8) {
        if let Some(escape) = self.string {
            self.keep(byte);
            self.string = match (escape, byte) {
                (Escape::No, b'"') => {
                    self.end_of_string();
                    None
                }
                (Escape::No, b'\\') => Some(Escape::Yes),
                _ => Some(Escape::No),
            };
            return;
        }
        match byte {
            b'"' => {
                self.token.clear();
                self.keep(byte);
                self.string = Some(Escape::No);
            }
            b'{' | b'[' => self.depth += 1,
            b'}' | b']' => {
                self.end_of_value();
                self.depth = self.depth.saturating_sub(1);
            }
            b',' => self.end_of_value(),
            b':' if self.depth == 1 => self.token.clear(),
            byte if byte.is_ascii_whitespace() => {}
            byte => self.keep(byte),
        }
    }

    fn keep(&mut self, byte: u8) {
        // One byte more than the maximum marks a token as too long.
        if self.depth == 1 && self.token.len() <= MAX_TOKEN {
            self.token.push(byte);
        }
    }

    fn end_of_string(&mut self) {
        if self.depth == 1 && self.name.is_none() {
            let name = serde_json::from_slice::<String>(&self.token);
            self.name = Some(match name.as_deref() {
                Ok("id") => Name::Id,
                Ok("method") => Name::Method,
                _ => Name::Other,
            });
            self.token.clear();
        }
    }

    fn end_of_value(&mut self) {
        if self.depth != 1 {
            return;
        }
        match self.name.take() {
            Some(Name::Id) if self.token.len() <= MAX_TOKEN => self.id = serde_json::from_slice(&self.token).ok(),
            Some(Name::Method) => self.has_method = true,
            _ => {}
        }
        self.token.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn request_of(line: &str) -> Option<Value> {
        let mut envelope = Envelope::default();
        line.bytes().for_each(|byte| envelope.push(byte));
        envelope.request().map(RequestId::into_json_value)
    }

    #[test]
    fn the_id_of_a_request_is_found_wherever_it_stands() {
        for (line, id) in [
            (r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{}}"#, json!(7)),
            (r#"{"method":"x","params":{"id":1,"a":[{"id":2}]},"jsonrpc":"2.0","id":-8}"#, json!(-8)),
            (r#" { "id" : "a\"},{\\" , "method" : "x" }"#, json!("a\"},{\\")),
            (r#"{"params":{"text":"\"id\":1,}{\\"},"\u0069d":9,"method":"x"}"#, json!(9)),
            (r#"{"id":3,"params":"id","method":"x"}"#, json!(3)),
        ] {
            assert_eq!(request_of(line), Some(id), "{line}");
        }
    }

    #[test]
    fn what_is_no_request_or_has_no_usable_id_has_none() {
        for line in [
            r#"{"jsonrpc":"2.0","id":7,"result":{"method":"x"}}"#,
            r#"{"jsonrpc":"2.0","method":"notifications/x","params":{"id":7}}"#,
            r#"[{"id":7,"method":"x"}]"#,
            r#"{"id":null,"method":"x"}"#,
            r#"{"id":{"id":7},"method":"x"}"#,
            r#"{"id":1.5,"method":"x"}"#,
            "id method 7",
            "}}}]]],,,:::",
        ] {
            assert_eq!(request_of(line), None, "{line}");
        }
        let long = format!(r#"{{"id":"{}","method":"x"}}"#, "a".repeat(MAX_TOKEN));
        assert_eq!(request_of(&long), None);
    }

    #[test]
    fn a_line_is_too_long_where_the_sdk_takes_it_for_that() {
        let answers = |length: usize| -> Vec<Unread> {
            let mut line = Line::default();
            let text = [br#"{"id":1,"method":"x","params":""#, vec![b'a'; length].as_slice()].concat();
            text[..length - 1].iter().chain(b"\n{}\n").filter_map(|byte| line.push(*byte)).collect()
        };
        assert_eq!(answers(MAX_LINE), []);
        assert_eq!(answers(MAX_LINE + 1), [Some(RequestId::Number(1))], "once");
    }
}
