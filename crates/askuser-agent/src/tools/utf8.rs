//! Decodes a stream of bytes as text.

/// Decodes UTF-8 that arrives in chunks. A character may be split between two chunks.
#[derive(Default)]
pub(crate) struct Utf8Decoder {
    /// The first bytes of a character whose end has not arrived yet.
    partial: Vec<u8>,
}

impl Utf8Decoder {
    /// Returns the text of a chunk. Invalid bytes become U+FFFD. The beginning of a character is kept for the next
    /// chunk.
    pub(crate) fn decode(&mut self, chunk: &[u8]) -> String {
        self.partial.extend_from_slice(chunk);
        let bytes = self.partial.as_slice();
        let is_beginning = |at: &usize| match std::str::from_utf8(&bytes[*at..]) {
            Err(error) => error.valid_up_to() == 0 && error.error_len().is_none(),
            Ok(_) => false,
        };
        let end = (bytes.len().saturating_sub(3)..bytes.len()).find(is_beginning).unwrap_or(bytes.len());
        let text = String::from_utf8_lossy(&bytes[..end]).into_owned();
        self.partial.drain(..end);
        text
    }

    /// Ends the text. Returns U+FFFD if a character is incomplete, otherwise an empty text.
    pub(crate) fn finish(&mut self) -> &'static str {
        if std::mem::take(&mut self.partial).is_empty() { "" } else { "\u{fffd}" }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decode(chunks: &[&[u8]]) -> String {
        let mut decoder = Utf8Decoder::default();
        let text: String = chunks.iter().map(|chunk| decoder.decode(chunk)).collect();
        text + decoder.finish()
    }

    #[test]
    fn a_character_in_two_chunks_is_one() {
        assert_eq!(decode(&[b"\xe2\x82", b"\xac!"]), "€!");
        assert_eq!(decode(&[b"\xe2", b"\x82", b"\xac!"]), "€!");
    }

    #[test]
    fn what_is_not_utf8_is_marked() {
        assert_eq!(decode(&[b"a\xffb", b"\xe2\x82"]), "a\u{fffd}b\u{fffd}");
    }
}
