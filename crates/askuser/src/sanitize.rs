//! The gate between untrusted text and a screen, for text of models and people. It removes deceptive characters. Text
//! that a person agrees to passes [`verbatim`](crate::verbatim) instead, which removes no character.
//!
//! The output cannot move the cursor, set a title, reorder or hide text. It has no control characters (except `\n` in a
//! [`block`]), no bidi controls and no invisible characters. Every grapheme cluster is short and at least one column
//! wide. A second pass changes the output no further. Wrapping, shortening and trimming belong to the code that knows
//! the width.

use std::borrow::Cow;

use unicode_segmentation::UnicodeSegmentation;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// The maximum number of zero-width scalars after a visible one. Living languages stay well below it, Zalgo text does
/// not.
const MAX_MARKS: usize = 8;
/// The maximum length of a grapheme cluster in bytes. A family of four with skin tones takes 41 bytes, the longest
/// Sanskrit conjuncts about 40.
const MAX_CLUSTER_BYTES: usize = 64;
/// The maximum width of a grapheme cluster in columns. Nearly all clusters take one or two; only Indic conjuncts and
/// decomposed Hangul take more.
const MAX_CLUSTER_WIDTH: usize = 8;

const TAB: &str = "    ";
const ESC: char = '\u{1b}';

/// Returns `text` as one line that is safe to show. Each line end and each tab becomes a space.
pub fn line(text: &str) -> Cow<'_, str> {
    pass(text, Lines::Join)
}

/// Returns `text` as lines that are safe to show. Every kind of line end becomes `\n`, and a tab becomes four spaces.
pub fn block(text: &str) -> Cow<'_, str> {
    pass(text, Lines::Keep)
}

/// Returns a person's text as an answer stores it: [`block`], owned.
pub fn typed(text: &str) -> String {
    block(text).into_owned()
}

/// Whether `text` has no visible character.
pub fn is_blank(text: &str) -> bool {
    // The Braille blank is a symbol in Unicode but looks like a gap.
    line(text).chars().all(|c| c.is_whitespace() || c == '\u{2800}')
}

/// Returns safe text without the blanks around it. Unlike [`str::trim`], it keeps a blank under a combining mark.
pub(crate) fn trim(safe: &str) -> &str {
    let text = safe.trim_end();
    let start = text.grapheme_indices(true).find(|(_, cluster)| !cluster.trim().is_empty());
    &text[start.map_or(text.len(), |(at, _)| at)..]
}

/// Whether `c` is a zero-width joiner or non-joiner. A joiner is kept between two visible characters and dropped
/// elsewhere.
pub(crate) fn is_joiner(c: char) -> bool {
    matches!(c, '\u{200c}' | '\u{200d}')
}

#[derive(Clone, Copy, PartialEq)]
enum Lines {
    Join,
    Keep,
}

fn pass(text: &str, lines: Lines) -> Cow<'_, str> {
    let untouched = |b: &u8| matches!(b, b' '..=b'~') || (*b == b'\n' && lines == Lines::Keep);
    let prefix = text.bytes().take_while(untouched).count();
    if prefix == text.len() {
        return Cow::Borrowed(text);
    }
    // The last scalar of the prefix is checked again, because the next one may join it.
    let (head, mut rest) = text.split_at(prefix.saturating_sub(1));
    let mut gate = Gate::after(head, text.len());
    while let Some(c) = rest.chars().next() {
        let mut used = c.len_utf8();
        match c {
            '\r' | '\n' | '\u{b}' | '\u{c}' | '\u{85}' | '\u{2028}' | '\u{2029}' => {
                if rest.starts_with("\r\n") {
                    used = 2;
                }
                match lines {
                    Lines::Join => _ = gate.feed(' '),
                    Lines::Keep => gate.put_sign("\n"),
                }
            }
            '\t' if lines == Lines::Join => _ = gate.feed(' '),
            '\t' => TAB.chars().for_each(|space| _ = gate.feed(space)),
            ESC | '\u{80}'..='\u{9f}' => used = escape_len(rest),
            _ if c.is_control() || is_invisible(c) => {}
            _ if is_noncharacter(c) => _ = gate.feed(char::REPLACEMENT_CHARACTER),
            _ => {
                let kept = gate.feed(c);
                if let Some(tail) = emoji_tail(c, &rest[used..]) {
                    used += tail.len();
                    if kept {
                        gate.feed_tail(tail);
                    }
                }
            }
        }
        rest = &rest[used..];
    }
    if gate.out == text { Cow::Borrowed(text) } else { Cow::Owned(gate.out) }
}

/// A filter that takes scalars one by one. It keeps a scalar that fits the current grapheme cluster or may begin a new
/// one.
///
/// Each decision depends only on the kept text and the next scalar. So a second pass makes the same decisions.
pub(crate) struct Gate {
    out: String,
    /// The start of the last cluster of `out`; the end of `out` if the next scalar begins a new cluster.
    cluster: usize,
    /// The number of zero-width scalars at the end of that cluster.
    marks: usize,
    /// Whether a plain scalar certainly begins a new cluster, which avoids the look-up.
    closed: bool,
    /// A joiner that is kept only if a visible character follows; `None` if no joiner is pending.
    joiner: Option<char>,
}

impl Gate {
    /// Creates a gate after the prefix `head`. The next scalar certainly begins a cluster.
    pub(crate) fn after(head: &str, capacity: usize) -> Gate {
        let mut out = String::with_capacity(capacity);
        out.push_str(head);
        Gate { cluster: out.len(), out, marks: 0, closed: true, joiner: None }
    }

    /// Appends text that is not part of the input. No following combining character attaches to it.
    pub(crate) fn put_sign(&mut self, sign: &str) {
        self.out.push_str(sign);
        (self.cluster, self.marks, self.closed, self.joiner) = (self.out.len(), 0, true, None);
    }

    /// Returns the base of a following combining character, if there is one.
    pub(crate) fn base(&self) -> Option<char> {
        self.out[self.cluster..].chars().next()
    }

    pub(crate) fn is_at_line_start(&self) -> bool {
        self.out.is_empty() || self.out.ends_with('\n')
    }

    pub(crate) fn into_text(self) -> String {
        self.out
    }

    /// Offers a scalar. Returns whether it was kept.
    pub(crate) fn feed(&mut self, c: char) -> bool {
        if is_joiner(c) {
            if self.joiner.is_none() && self.out.ends_with(|last: char| !last.is_whitespace()) {
                self.joiner = Some(c);
            }
            return false;
        }
        let kept = match self.joiner {
            Some(joiner) => self.admit_joined(joiner, c) || self.admit(c),
            None if self.closed && is_plain(c) => {
                self.cluster = self.out.len();
                self.marks = 0;
                self.out.push(c);
                true
            }
            None => self.admit(c),
        };
        if kept {
            self.joiner = None;
        }
        kept
    }

    /// Appends a fixed tail to an emoji, or no part of the tail. A second pass would remove a partial tail.
    fn feed_tail(&mut self, tail: &str) {
        let from = self.out.len();
        self.out.push_str(tail);
        let marks = self.marks + tail.chars().count();
        if marks <= MAX_MARKS && self.cluster_fits() {
            (self.marks, self.closed) = (marks, false);
        } else {
            self.out.truncate(from);
        }
    }

    /// Keeps a joiner and a scalar if the joiner has an effect: it ties emoji or a conjunct together, or shapes a
    /// letter of its script. Elsewhere a joiner would only make equal-looking texts differ.
    fn admit_joined(&mut self, joiner: char, c: char) -> bool {
        if c.is_whitespace() {
            return false;
        }
        let before = (self.out.len(), self.cluster, self.marks, self.closed);
        let shaped = shapes_by_joiner(c) || self.out.ends_with(shapes_by_joiner);
        if self.admit(joiner) && self.admit(c) {
            let ties = self.cluster == before.1 && width(c) > 0;
            if shaped || ties {
                return true;
            }
        }
        self.out.truncate(before.0);
        (_, self.cluster, self.marks, self.closed) = before;
        false
    }

    fn admit(&mut self, c: char) -> bool {
        let from = self.out.len();
        if is_presentation_selector(c) && !self.out.ends_with(has_presentations) {
            return false;
        }
        self.out.push(c);
        let width = width(c);
        let joins = from > self.cluster && is_one_cluster(&self.out[self.cluster..]);
        let marks = match (joins, width) {
            (true, 0) => self.marks + 1,
            _ => 0,
        };
        let fits = if joins {
            marks <= MAX_MARKS && self.cluster_fits() && (width == 0 || !self.cluster_is_open())
        } else {
            // A mark without a base would be drawn over the character to its left.
            width > 0
        };
        if !fits {
            self.out.truncate(from);
            return false;
        }
        if !joins {
            self.cluster = from;
        }
        (self.marks, self.closed) = (marks, is_plain(c));
        true
    }

    fn cluster_fits(&self) -> bool {
        let cluster = &self.out[self.cluster..];
        cluster.len() <= MAX_CLUSTER_BYTES && cluster.width() <= MAX_CLUSTER_WIDTH
    }

    /// Whether the cluster absorbs any following letter, as after a prepended sign (U+0600). One such sign may begin a
    /// cluster. A row of such signs would fill the cluster and swallow the next words.
    fn cluster_is_open(&mut self) -> bool {
        self.out.push('a');
        let open = is_one_cluster(&self.out[self.cluster..]);
        self.out.pop();
        open
    }
}

fn is_one_cluster(text: &str) -> bool {
    text.graphemes(true).nth(1).is_none()
}

fn width(c: char) -> usize {
    c.width().unwrap_or(0)
}

/// Returns the number of bytes to drop from the start of `text`, which is ESC or a C1 control.
///
/// A complete sequence is dropped. Only the introducer of an unterminated sequence is dropped; otherwise three bytes
/// could hide all text after them.
fn escape_len(text: &str) -> usize {
    let bytes = text.as_bytes();
    // An introducer is two bytes long: ESC and a letter, or a C1 control in UTF-8.
    let introducer = match bytes {
        [0x1b, b' '..=b'/', ..] => return closed_by(bytes, 1, |_| false, |b| matches!(b, b'0'..=b'~')).unwrap_or(1),
        [0x1b, letter @ b'0'..=b'~', ..] => *letter,
        [0x1b, ..] => return 1,
        [_, c1, ..] => c1 - 0x40,
        _ => return text.len(),
    };
    match introducer {
        b'[' => closed_by(bytes, 2, |b| matches!(b, b'0'..=b'?'), |b| matches!(b, b'@'..=b'~')).unwrap_or(2),
        b']' | b'P' | b'X' | b'^' | b'_' => string_len(text, introducer == b']').unwrap_or(2),
        _ => 2,
    }
}

/// Returns the length of a sequence whose parameters begin at `from`: parameters, intermediates, then the final byte.
/// Returns `None` if the sequence is incomplete.
fn closed_by(bytes: &[u8], from: usize, parameter: fn(u8) -> bool, last: fn(u8) -> bool) -> Option<usize> {
    let mut end = from;
    end += bytes[end..].iter().take_while(|b| parameter(**b)).count();
    end += bytes[end..].iter().take_while(|b| matches!(b, b' '..=b'/')).count();
    bytes.get(end).filter(|b| last(**b)).map(|_| end + 1)
}

/// Returns the length of a control string with its terminator; `None` if the string is not terminated. As in a
/// terminal, CAN, SUB and the start of another sequence abort the string. That also keeps the time linear for a row of
/// introducers.
fn string_len(text: &str, bell_ends_it: bool) -> Option<usize> {
    for (at, c) in text.char_indices().skip_while(|(at, _)| *at < 2) {
        match c {
            '\u{7}' if bell_ends_it => return Some(at + 1),
            '\u{9c}' => return Some(at + 2),
            ESC => return text[at..].starts_with("\u{1b}\\").then_some(at + 2),
            '\u{18}' | '\u{1a}' | '\u{80}'..='\u{9f}' => return None,
            _ => {}
        }
    }
    None
}

/// Whether a scalar is never shown. Such scalars are Unicode's default ignorables (bidi controls, fillers, tags and
/// variation selectors among them) and interlinear annotation. The joiners and the two presentation selectors are not,
/// because they depend on their neighbours.
pub fn is_invisible(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}' | '\u{180b}'..='\u{180f}'
        | '\u{200b}' | '\u{200e}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{3164}'
        | '\u{fe00}'..='\u{fe0d}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}' | '\u{1bca0}'..='\u{1bca3}'
        | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
}

/// Whether Unicode lets a scalar be ignored without a glyph, regardless of its neighbours.
pub(crate) fn is_ignorable(c: char) -> bool {
    is_invisible(c) || is_joiner(c) || is_presentation_selector(c)
}

/// Whether a code point is never a character. Such a code point is shown as U+FFFD to make the fault visible. Private
/// use passes: its glyph has a column and hides no text, and people type icons of their fonts.
fn is_noncharacter(c: char) -> bool {
    matches!(c, '\u{fdd0}'..='\u{fdef}') || c as u32 & 0xfffe == 0xfffe
}

/// Whether a scalar is plain. Two plain scalars in a row are always two clusters with widths. Only common scalars count
/// as plain.
fn is_plain(c: char) -> bool {
    matches!(c,
        ' '..='~' | '\u{a0}'..='\u{ac}' | '\u{ae}'..='\u{2ff}' | '\u{370}'..='\u{482}' | '\u{48a}'..='\u{52f}'
        | '\u{5d0}'..='\u{5ea}' | '\u{620}'..='\u{64a}' | '\u{2010}'..='\u{2027}' | '\u{2030}'..='\u{205e}'
        | '\u{20a0}'..='\u{20c0}' | '\u{2190}'..='\u{27ff}' | '\u{3001}'..='\u{3029}' | '\u{3041}'..='\u{3096}'
        | '\u{309b}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}' | '\u{ac00}'..='\u{d7a3}' | '\u{ff01}'..='\u{ff9d}')
}

/// Whether a scalar belongs to a script whose letters change shape beside a joiner: Arabic to Myanmar, Khmer to Vedic,
/// and their extensions.
fn shapes_by_joiner(c: char) -> bool {
    matches!(c,
        '\u{600}'..='\u{109f}' | '\u{1780}'..='\u{1cff}' | '\u{a800}'..='\u{abff}' | '\u{fb50}'..='\u{fdff}'
        | '\u{fe70}'..='\u{fefc}' | '\u{10a00}'..='\u{11fff}' | '\u{1e900}'..='\u{1e95f}')
}

fn is_presentation_selector(c: char) -> bool {
    matches!(c, '\u{fe0e}' | '\u{fe0f}')
}

/// Whether a presentation selector has an effect after `base`, by the width table. It has none after ASCII: a digit has
/// both forms, but only a keycap shows the difference (see [`emoji_tail`]).
fn has_presentations(base: char) -> bool {
    let with = |selector: char| [base, selector].iter().collect::<String>().width();
    !base.is_ascii()
        && !is_presentation_selector(base)
        && (with('\u{fe0f}') != width(base) || with('\u{fe0e}') != width(base))
}

/// Returns the rest of an emoji that consists of `c` and scalars kept only here; `None` for any other text. Such emoji
/// are keycaps and the three flags spelt with tag characters (England, Scotland, Wales).
fn emoji_tail(c: char, rest: &str) -> Option<&'static str> {
    let tails: &[&str] = match c {
        '0'..='9' | '#' | '*' => &["\u{fe0f}\u{20e3}"],
        '\u{1f3f4}' => &[
            "\u{e0067}\u{e0062}\u{e0065}\u{e006e}\u{e0067}\u{e007f}",
            "\u{e0067}\u{e0062}\u{e0073}\u{e0063}\u{e0074}\u{e007f}",
            "\u{e0067}\u{e0062}\u{e0077}\u{e006c}\u{e0073}\u{e007f}",
        ],
        _ => return None,
    };
    tails.iter().copied().find(|tail| rest.starts_with(tail))
}

#[cfg(test)]
#[path = "sanitize_tests.rs"]
pub(crate) mod tests;
