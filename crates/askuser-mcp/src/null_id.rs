//! Adds the id `null` to error replies to unknown requests, as JSON-RPC requires. The SDK omits it.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use tokio::io::AsyncWrite;

/// The beginning of a reply without an id, as the SDK writes it.
const WITHOUT: &[u8] = br#"{"jsonrpc":"2.0","error":"#;
const WITH: &[u8] = br#"{"jsonrpc":"2.0","id":null,"error":"#;

/// A stream of lines, each of which is a message.
pub(crate) struct NullIds<W> {
    stream: W,
    is_between_lines: bool,
    /// The unwritten part of a replaced beginning of a line.
    beginning: &'static [u8],
}

impl<W: AsyncWrite + Unpin> NullIds<W> {
    pub(crate) fn new(stream: W) -> NullIds<W> {
        NullIds { stream, is_between_lines: true, beginning: b"" }
    }

    fn poll_beginning(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        while !self.beginning.is_empty() {
            match ready!(Pin::new(&mut self.stream).poll_write(cx, self.beginning))? {
                0 => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                written => self.beginning = &self.beginning[written..],
            }
        }
        Poll::Ready(Ok(()))
    }
}

impl<W: AsyncWrite + Unpin> AsyncWrite for NullIds<W> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        ready!(self.poll_beginning(cx))?;
        if self.is_between_lines && bytes.starts_with(WITHOUT) {
            (self.is_between_lines, self.beginning) = (false, WITH);
            return Poll::Ready(Ok(WITHOUT.len()));
        }
        let end = bytes.iter().position(|byte| *byte == b'\n').map_or(bytes.len(), |end| end + 1);
        let written = ready!(Pin::new(&mut self.stream).poll_write(cx, &bytes[..end]))?;
        if let Some(last) = bytes[..written].last() {
            self.is_between_lines = *last == b'\n';
        }
        Poll::Ready(Ok(written))
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.poll_beginning(cx))?;
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.poll_beginning(cx))?;
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    #[tokio::test]
    async fn only_errors_without_an_id_get_one_however_slowly_they_are_written() {
        let error = r#"{"jsonrpc":"2.0","error":{"code":1,"message":"{\"jsonrpc\":\"2.0\",\"error\":"}}"#;
        let with_id = error.replacen(r#""error""#, r#""id":null,"error""#, 1);
        let other = r#"{"jsonrpc":"2.0","id":1,"error":{"data":{"jsonrpc":"2.0","error":{}}}}"#;
        for room in [1, 7, 1000] {
            let (mut reader, writer) = tokio::io::duplex(room);
            let mut writer = NullIds::new(writer);
            let lines = format!("{error}\n{other}\n{error}\n");
            let writing = async move {
                writer.write_all(lines.as_bytes()).await.unwrap();
                writer.shutdown().await.unwrap();
            };
            let mut read = String::new();
            tokio::join!(writing, async { reader.read_to_string(&mut read).await.unwrap() });
            assert_eq!(read, format!("{with_id}\n{other}\n{with_id}\n"), "{room}");
        }
    }
}
