//! Decodes a stream of bytes as text, piece by piece.

/// Decodes UTF-8 that arrives in chunks; a character may be split between two.
#[derive(Default)]
pub(crate) struct Utf8Decoder {
    /// The first bytes of an incomplete character.
    partial: Vec<u8>,
}

impl Utf8Decoder {
    /// The text of a chunk. Invalid bytes become U+FFFD; the beginning of a character waits for its end.
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

    /// The replacement of an incomplete character at the end.
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
