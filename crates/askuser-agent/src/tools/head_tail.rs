//! A buffer that keeps the beginning and the end of a text, and counts the characters between them. The end gets more
//! room, because commands report errors there.

use std::collections::VecDeque;

/// The beginning and the end of a text that is still growing.
#[derive(Default)]
pub(crate) struct HeadTail {
    /// The maximum number of characters of the beginning, and of the end.
    max_head: usize,
    max_tail: usize,
    head: String,
    head_chars: usize,
    tail: VecDeque<char>,
    left_out: u64,
}

impl HeadTail {
    /// Creates a buffer for at most `max` characters: a quarter of them from the beginning, the others from the end.
    pub(crate) fn new(max: usize) -> HeadTail {
        let max_head = max / 4;
        HeadTail { max_head, max_tail: max - max_head, ..HeadTail::default() }
    }

    pub(crate) fn push(&mut self, text: &str) {
        let mut chars = text.chars();
        while self.head_chars < self.max_head {
            let Some(c) = chars.next() else { return };
            self.head.push(c);
            self.head_chars += 1;
        }
        for c in chars {
            if self.tail.len() == self.max_tail {
                self.tail.pop_front();
                self.left_out += 1;
            }
            self.tail.push_back(c);
        }
    }

    /// Returns the text. A note replaces the missing characters, with their number and `where_it_is`.
    pub(crate) fn finish(self, where_it_is: &str) -> String {
        let mut text = self.head;
        if self.left_out > 0 {
            text.push_str(&format!("\n\n… {} characters left out{where_it_is} …\n\n", self.left_out));
        }
        text.extend(self.tail);
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head_tail(max: usize, pieces: &[&str]) -> String {
        let mut buffer = HeadTail::new(max);
        pieces.iter().for_each(|piece| buffer.push(piece));
        buffer.finish("")
    }

    #[test]
    fn a_text_that_fits_is_kept() {
        assert_eq!(head_tail(6, &["abc", "def"]), "abcdef");
    }

    #[test]
    fn a_longer_one_keeps_more_of_its_end_and_says_how_much_is_missing() {
        assert_eq!(head_tail(8, &["abcd", "efghi", "jk"]), "ab\n\n… 3 characters left out …\n\nfghijk");
    }
}
