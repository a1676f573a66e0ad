//! A buffer that keeps the beginning and the end of a stream of text, and counts the characters left out between them.

use std::collections::VecDeque;

/// The head and tail of a text, as far as it has been read.
pub(crate) struct HeadTail {
    /// The maximum length of head and of tail, in characters.
    half: usize,
    head: String,
    head_chars: usize,
    tail: VecDeque<char>,
    left_out: u64,
    /// The first bytes of an incomplete UTF-8 sequence.
    partial: Vec<u8>,
}

impl HeadTail {
    /// Keeps at most `max` characters.
    pub(crate) fn new(max: usize) -> HeadTail {
        let half = max / 2;
        HeadTail { half, head: String::new(), head_chars: 0, tail: VecDeque::new(), left_out: 0, partial: Vec::new() }
    }

    /// Appends a chunk. Invalid UTF-8 becomes U+FFFD.
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        let mut joined = std::mem::take(&mut self.partial);
        let mut rest = bytes;
        if !joined.is_empty() {
            joined.extend_from_slice(bytes);
            rest = &joined;
        }
        loop {
            match std::str::from_utf8(rest) {
                Ok(text) => return self.push_text(text),
                Err(error) => {
                    let (text, bad) = rest.split_at(error.valid_up_to());
                    self.push_text(&String::from_utf8_lossy(text));
                    let Some(bad_bytes) = error.error_len() else {
                        self.partial = bad.to_vec();
                        return;
                    };
                    self.push_text("\u{fffd}");
                    rest = &bad[bad_bytes..];
                }
            }
        }
    }

    fn push_text(&mut self, text: &str) {
        let mut chars = text.chars();
        while self.head_chars < self.half {
            let Some(c) = chars.next() else { return };
            self.head.push(c);
            self.head_chars += 1;
        }
        for c in chars {
            if self.tail.len() == self.half {
                self.tail.pop_front();
                self.left_out += 1;
            }
            self.tail.push_back(c);
        }
    }

    /// The text, with a note about what is left out.
    pub(crate) fn finish(mut self) -> String {
        if !std::mem::take(&mut self.partial).is_empty() {
            self.push_text("\u{fffd}");
        }
        let mut text = self.head;
        if self.left_out > 0 {
            text.push_str(&format!("\n\n… {} characters left out …\n\n", self.left_out));
        }
        text.extend(self.tail);
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head_tail(max: usize, pieces: &[&[u8]]) -> String {
        let mut buffer = HeadTail::new(max);
        pieces.iter().for_each(|piece| buffer.push(piece));
        buffer.finish()
    }

    #[test]
    fn a_text_that_fits_is_kept() {
        assert_eq!(head_tail(6, &[b"abc", b"def"]), "abcdef");
    }

    #[test]
    fn a_longer_one_keeps_both_ends_and_says_how_much_is_missing() {
        assert_eq!(head_tail(6, &[b"abcd", b"efghi", b"jk"]), "abc\n\n… 5 characters left out …\n\nijk");
    }

    #[test]
    fn a_character_in_two_pieces_is_one() {
        assert_eq!(head_tail(6, &[b"\xe2\x82", b"\xac!"]), "€!");
    }

    #[test]
    fn what_is_not_utf8_is_marked() {
        assert_eq!(head_tail(20, &[b"a\xffb", b"\xe2\x82"]), "a\u{fffd}b\u{fffd}");
    }
}
