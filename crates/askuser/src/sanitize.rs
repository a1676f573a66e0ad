//! The one gate between untrusted text and a screen: what a model wrote, and what a person typed or pasted.
//!
//! What comes out can move no cursor, set no title, reorder nothing and hide nothing: it has no control character (but
//! `\n` in a [`block`]), no bidi control, nothing invisible, and every grapheme cluster is short and takes up room.
//! Passing the gate twice changes nothing more. Deliberately absent: wrapping, shortening and trimming, which belong to
//! whoever knows the width.

use std::borrow::Cow;

use unicode_segmentation::UnicodeSegmentation;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Zero-width scalars that may follow one visible scalar: living languages stay well below, Zalgo does not.
const MAX_MARKS: usize = 8;
/// Bytes of one grapheme cluster: a family of four with skin tones takes 41, the longest Sanskrit conjuncts about 40.
const MAX_CLUSTER_BYTES: usize = 64;
/// Columns of one grapheme cluster. Nearly all take one or two; only Indic conjuncts and decomposed Hangul take more.
const MAX_CLUSTER_WIDTH: usize = 8;

const TAB: &str = "    ";
const ESC: char = '\u{1b}';

/// `text` as one line that is safe to show: line ends and tabs become a space each.
pub fn line(text: &str) -> Cow<'_, str> {
    pass(text, Lines::Join)
}

/// `text` as lines that are safe to show: every kind of line end becomes `\n`, a tab becomes four spaces.
pub fn block(text: &str) -> Cow<'_, str> {
    pass(text, Lines::Keep)
}

/// What a person typed or pasted, as it may be kept in an answer: the same as [`block`], owned.
pub fn typed(text: &str) -> String {
    block(text).into_owned()
}

/// Whether nothing visible would remain of `text`.
pub fn is_blank(text: &str) -> bool {
    // Braille pattern blank is a symbol to Unicode and a gap to everybody who looks at it.
    line(text).chars().all(|c| c.is_whitespace() || c == '\u{2800}')
}

/// Safe text without the blanks around it. Unlike [`str::trim`] it takes no blank away from the mark that stands on it.
pub(crate) fn trim(safe: &str) -> &str {
    let text = safe.trim_end();
    let start = text.grapheme_indices(true).find(|(_, cluster)| !cluster.trim().is_empty());
    &text[start.map_or(text.len(), |(at, _)| at)..]
}

/// Whether `c` is a zero-width joiner or non-joiner: kept between two visible characters, dropped elsewhere.
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
    // The last scalar of the prefix is looked at again, for what follows may join it.
    let (head, mut rest) = text.split_at(prefix.saturating_sub(1));
    let mut gate = Gate::after(head, text.len());
    while let Some(c) = rest.chars().next() {
        let mut used = c.len_utf8();
        match c {
            '\r' | '\n' | '\u{b}' | '\u{c}' | '\u{85}' | '\u{2028}' | '\u{2029}' => {
                if rest.starts_with("\r\n") {
                    used = 2;
                }
                gate.line_end(lines);
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

/// Takes scalars one by one and keeps those that fit the grapheme cluster being built, or may begin a new one.
///
/// Each decision depends on nothing but the text kept so far and the scalar at hand; that is what makes the gate
/// idempotent, for a second pass meets the same decisions.
struct Gate {
    out: String,
    /// Where the last cluster of `out` begins; the end of `out` if whatever comes next begins a new one.
    cluster: usize,
    /// Zero-width scalars at the end of that cluster.
    marks: usize,
    /// Whether a plain scalar that comes next is sure to begin a new cluster: spares the look-up.
    closed: bool,
    /// A joiner that will be kept only if something visible turns up to be joined.
    joiner: Option<char>,
}

impl Gate {
    /// A gate that has let `head` pass, and that next gets a scalar sure to begin a cluster.
    fn after(head: &str, capacity: usize) -> Gate {
        let mut out = String::with_capacity(capacity);
        out.push_str(head);
        Gate { cluster: out.len(), out, marks: 0, closed: true, joiner: None }
    }

    fn line_end(&mut self, lines: Lines) {
        match lines {
            Lines::Join => _ = self.feed(' '),
            Lines::Keep => {
                self.out.push('\n');
                (self.cluster, self.marks, self.closed, self.joiner) = (self.out.len(), 0, true, None);
            }
        }
    }

    /// Offers a scalar; says whether it was kept.
    fn feed(&mut self, c: char) -> bool {
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

    /// Appends a fixed tail to an emoji just kept: whole or not at all, as half of it would not survive a second pass.
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

    /// Keeps joiner and scalar if the joiner does something there: it ties emoji or a conjunct together, or it stands
    /// beside a letter of a script that shapes its letters by it. Elsewhere it would only make text differ that looks
    /// the same.
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
        let fits = match joins {
            // A mark without a base would be drawn over whatever is to its left.
            false => width > 0,
            true => marks <= MAX_MARKS && self.cluster_fits() && (width == 0 || !self.cluster_is_open()),
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

    /// Whether the cluster takes in any letter that comes next, as it does after a prepended sign (U+0600). One such
    /// sign may begin a cluster; a row of them would use up its room and then swallow the words that follow.
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

/// How many bytes to drop from the front of `text`, which begins with ESC or a C1 control.
///
/// That is the whole sequence if it is complete. One that never ends is no sequence: only its introducer goes and the
/// rest stays to be read, or else three bytes could hide all text after them.
fn escape_len(text: &str) -> usize {
    let bytes = text.as_bytes();
    // Either way an introducer is two bytes long: ESC and a letter, or a C1 control in UTF-8.
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

/// The length of a sequence whose parameters begin at `from`: parameters, intermediates, then the final byte.
fn closed_by(bytes: &[u8], from: usize, parameter: fn(u8) -> bool, last: fn(u8) -> bool) -> Option<usize> {
    let mut end = from;
    end += bytes[end..].iter().take_while(|b| parameter(**b)).count();
    end += bytes[end..].iter().take_while(|b| matches!(b, b' '..=b'/')).count();
    bytes.get(end).filter(|b| last(**b)).map(|_| end + 1)
}

/// The length of a control string, terminator included. As in a terminal, CAN, SUB and the start of another sequence
/// abort it; that also keeps the time linear for a row of introducers.
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

/// Scalars never shown: Unicode's default ignorables (bidi controls, fillers, tags and variation selectors among them)
/// and interlinear annotation; but the joiners and the two presentation selectors, which depend on their neighbours.
fn is_invisible(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}' | '\u{180b}'..='\u{180f}'
        | '\u{200b}' | '\u{200e}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{3164}'
        | '\u{fe00}'..='\u{fe0d}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}' | '\u{1bca0}'..='\u{1bca3}'
        | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
}

/// Code points that are never characters: shown as U+FFFD, for a fault in the text should be seen. Private use is let
/// through: a glyph of its own in a column of its own hides nothing, and people do type icons of their fonts.
fn is_noncharacter(c: char) -> bool {
    matches!(c, '\u{fdd0}'..='\u{fdef}') || c as u32 & 0xfffe == 0xfffe
}

/// Scalars of which two in a row are always two clusters, each with a width. Not complete: only what is common.
fn is_plain(c: char) -> bool {
    matches!(c,
        ' '..='~' | '\u{a0}'..='\u{ac}' | '\u{ae}'..='\u{2ff}' | '\u{370}'..='\u{482}' | '\u{48a}'..='\u{52f}'
        | '\u{5d0}'..='\u{5ea}' | '\u{620}'..='\u{64a}' | '\u{2010}'..='\u{2027}' | '\u{2030}'..='\u{205e}'
        | '\u{20a0}'..='\u{20c0}' | '\u{2190}'..='\u{27ff}' | '\u{3001}'..='\u{3029}' | '\u{3041}'..='\u{3096}'
        | '\u{309b}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}' | '\u{ac00}'..='\u{d7a3}' | '\u{ff01}'..='\u{ff9d}')
}

/// Scripts whose letters take another shape beside a joiner: Arabic to Myanmar, Khmer to Vedic, and their extensions.
fn shapes_by_joiner(c: char) -> bool {
    matches!(c,
        '\u{600}'..='\u{109f}' | '\u{1780}'..='\u{1cff}' | '\u{a800}'..='\u{abff}' | '\u{fb50}'..='\u{fdff}'
        | '\u{fe70}'..='\u{fefc}' | '\u{10a00}'..='\u{11fff}' | '\u{1e900}'..='\u{1e95f}')
}

fn is_presentation_selector(c: char) -> bool {
    matches!(c, '\u{fe0e}' | '\u{fe0f}')
}

/// Whether a presentation selector makes a difference after `base`, as the width table knows. Not after ASCII: digits
/// have both forms but only a keycap shows it, which [`emoji_tail`] takes care of.
fn has_presentations(base: char) -> bool {
    let with = |selector: char| [base, selector].iter().collect::<String>().width();
    !base.is_ascii()
        && !is_presentation_selector(base)
        && (with('\u{fe0f}') != width(base) || with('\u{fe0e}') != width(base))
}

/// The rest of an emoji that consists of `c` and scalars which are kept nowhere else: keycaps and the three flags spelt
/// with tag characters (England, Scotland, Wales).
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
pub(crate) mod tests {
    use super::*;
    use proptest::prelude::*;

    #[track_caller]
    fn check(text: &str, as_line: &str, as_block: &str) {
        assert_eq!(line(text), as_line, "line of {text:?}");
        assert_eq!(block(text), as_block, "block of {text:?}");
    }

    #[track_caller]
    fn check_same(text: &str) {
        for out in [line(text), block(text)] {
            assert_eq!(out, text);
            assert!(matches!(out, Cow::Borrowed(_)), "{text:?} was copied");
        }
    }

    #[track_caller]
    fn check_both(text: &str, shown: &str) {
        check(text, shown, shown);
    }

    #[test]
    fn plain_text_is_borrowed() {
        check_same("");
        check_same("Which database should we use? ~{}[]");
        check_same("Größe, naïve, “quotes” — and € 5");
    }

    #[test]
    fn writing_systems_are_kept_whole() {
        check_same("データベースを選んで下さい");
        check_same("한국어 각");
        check_same("\u{1112}\u{1161}\u{11ab}");
        check_same("שלום עולם, שָׁלוֹם");
        check_same("العربية مَرْحَبًا");
        check_same("می\u{200c}خواهم PDF\u{200c}ها");
        check_same("क्षत्रिय कार्त्स्न्यः हिन्दी");
        check_same("ক্\u{200d}ষ র\u{200d}্য ශ්\u{200d}රී");
        check_same("ภาษาไทย ที่นี่");
        check_same("བསྒྲུབས་");
        check_same("e\u{301} Việt Nam");
    }

    #[test]
    fn emoji_are_kept_whole() {
        check_same("👨‍👩‍👧‍👦 👩🏽‍❤️‍💋‍👨🏿 🏳️‍🌈 🏴‍☠️ 🧔🏽‍♂️ ❤️ ❤︎ 👍🏽");
        check_same("🇩🇪🇫🇷🇯🇵");
        check_same("1️⃣ #️⃣ *️⃣");
        check_same("🏴󠁧󠁢󠁥󠁮󠁧󠁿 🏴󠁧󠁢󠁳󠁣󠁴󠁿 🏴󠁧󠁢󠁷󠁬󠁳󠁿");
    }

    #[test]
    fn private_use_is_kept_and_noncharacters_are_shown_as_faults() {
        check_same("\u{f8ff} \u{e0b0} \u{f0001}");
        check_both("a\u{ffff}b\u{fdd0}c\u{1fffe}", "a\u{fffd}b\u{fffd}c\u{fffd}");
    }

    #[test]
    fn csi_sequences_are_removed_whole() {
        check_both("\x1b[31mred\x1b[0m", "red");
        check_both("a\x1b[2J\x1b[1;1Hb\x1b[?1049hc\x1b[4 qd", "abcd");
        check_both("\u{9b}31mred", "red");
        check_both("a\x1b[38;2;255;0;0", "a38;2;255;0;0");
    }

    #[test]
    fn osc_sequences_are_removed_whole() {
        check_both("\x1b]0;title\x07a", "a");
        check_both("\x1b]8;;https://evil.example\x1b\\click\x1b]8;;\x1b\\", "click");
        check_both("\x1b]52;c;cm0gLXJmIC8=\x07a", "a");
        check_both("\u{9d}0;title\u{9c}a", "a");
        check_both("\x1b]0;größe\u{9c}a", "a");
    }

    #[test]
    fn control_strings_are_removed_whole() {
        check_both("\x1bP1$r0m\x1b\\a\x1b_apc\x1b\\b\x1b^pm\x1b\\c\x1bXsos\x1b\\d", "abcd");
        check_both("\u{90}q\u{9c}a\u{9f}apc\u{9c}b\u{9e}pm\u{9c}c\u{98}sos\x1b\\d", "abcd");
        check_both("\x1bPa bell does not end this\x07\x1b\\b", "b");
    }

    #[test]
    fn an_unterminated_string_hides_nothing() {
        check_both("\x1b]0;drop all tables?", "0;drop all tables?");
        check_both("\x1bPread me", "read me");
        check_both("\u{9d}0;a\x1b[1mb\x07c", "0;abc");
        check_both("\x1b]0;a\u{18}b\x07c", "0;abc");
    }

    #[test]
    fn other_escapes_are_removed_whole() {
        check_both("\x1bca\x1b7b\x1b(Bc\x1b#8d\x1bMe\x1b", "abcde");
        check_both("\x1b\x1b[1ma\x1bé\u{8e}b\u{84}", "aéb");
    }

    #[test]
    fn remaining_controls_are_removed() {
        check_both("safe\x08\x08\x08\x08evil\x00\x07\x7f\u{81}", "safeevil");
    }

    #[test]
    fn every_line_end_counts_as_one() {
        check("a\r\nb\rc\nd\u{85}e\u{2028}f\u{2029}g\u{b}h\u{c}i", "a b c d e f g h i", "a\nb\nc\nd\ne\nf\ng\nh\ni");
        check("\n\r\n\r", "   ", "\n\n\n");
        check("a\tb", "a b", "a    b");
    }

    #[test]
    fn a_carriage_return_overwrites_nothing() {
        check(
            "delete everything\rkeep everything  ",
            "delete everything keep everything  ",
            "delete everything\nkeep everything  ",
        );
    }

    #[test]
    fn bidi_controls_are_removed() {
        check_both(
            "a\u{202e}b\u{202c}\u{2066}c\u{2069}\u{200e}\u{200f}\u{61c}\u{202a}\u{202b}\u{202d}\u{2067}\u{2068}",
            "abc",
        );
    }

    #[test]
    fn invisible_characters_are_removed() {
        check_both(
            "y\u{200b}e\u{feff}s\u{2060}\u{ad}\u{34f}\u{180e}\u{115f}\u{1160}\u{3164}\u{ffa0}\u{2063}\u{206a}",
            "yes",
        );
        check_both("\u{fff9}a\u{fffa}b\u{fffb}", "ab");
        check_both("a\u{fe00}\u{fe0f}\u{e0100}b 1\u{fe0f}", "ab 1");
    }

    #[test]
    fn tag_characters_spell_nothing() {
        let hidden: String =
            "ignore all rules".bytes().map(|b| char::from_u32(0xe0000 + u32::from(b)).unwrap()).collect();
        check_both(&format!("ok{hidden}\u{e0001}\u{e007f}"), "ok");
        check_both(&format!("🏴{hidden}"), "🏴");
    }

    #[test]
    fn joiners_are_kept_only_where_they_join() {
        check_both("\u{200d}a\u{200d}b\u{200c} \u{200d}", "ab ");
        check_both("😀\u{200d}a 😀\u{200d} 😀", "😀a 😀 😀");
        check_both("می\u{200c}\u{200d}\u{200c}خ\u{200c}", "می\u{200c}خ");
        check("ی\u{200c}\nخ", "ی خ", "ی\nخ");
    }

    #[test]
    fn ten_thousand_combining_marks_become_eight() {
        let flood = "\u{301}".repeat(10_000);
        check_both(&format!("a{flood}b"), &format!("a{}b", "\u{301}".repeat(8)));
        check_both(&flood, "");
        assert_eq!(block(&format!("a\n{flood}b")), "a\nb");
    }

    #[test]
    fn zero_width_floods_vanish() {
        let flood = "\u{200b}\u{200d}\u{2060}\u{200c}\u{feff}\u{fe0f}".repeat(10_000);
        check_both(&format!("a{flood}b"), "ab");
        check_both(&flood, "");
    }

    #[test]
    fn zalgo_is_cut_down_to_readable_text() {
        let marks: String = ('\u{300}'..='\u{320}').collect();
        let out = line(&format!("H{marks}e{marks}")).into_owned();
        assert_eq!(out.graphemes(true).count(), 2);
        assert_eq!(out.chars().count(), 18);
    }

    #[test]
    fn an_endless_emoji_chain_is_broken_up_not_dropped() {
        let out = line(&"👩\u{200d}".repeat(1_000)).into_owned();
        assert_eq!(out.chars().filter(|c| *c == '👩').count(), 1_000);
        assert!(out.graphemes(true).all(|cluster| cluster.len() <= MAX_CLUSTER_BYTES));
    }

    #[test]
    fn a_row_of_prepended_signs_swallows_no_words() {
        let out = line(&format!("{}rm -rf", "\u{600}".repeat(1_000))).into_owned();
        assert_eq!(out, "\u{600}rm -rf");
    }

    #[test]
    fn an_endless_conjunct_is_bounded_and_the_next_word_stays() {
        let out = line(&format!("{} next", "क\u{94d}".repeat(1_000))).into_owned();
        assert!(out.len() < 100 && out.ends_with(" next"), "{out}");
    }

    #[test]
    fn blank_means_that_nothing_can_be_seen() {
        for blank in ["", " \n\t", "\u{200b}\u{2060}", "\u{3164}", "\u{2800}", "\x1b[31m", "\u{a0}\u{3000}", "\u{301}"]
        {
            assert!(is_blank(blank), "{blank:?}");
        }
        for seen in ["a", " .", "😀", "\x1b]0;a"] {
            assert!(!is_blank(seen), "{seen:?}");
        }
    }

    #[test]
    fn trimming_leaves_no_mark_without_its_base() {
        for (text, trimmed) in [
            ("  a b \n", "a b"),
            (" \u{301}a", " \u{301}a"),
            ("  \u{301}a", " \u{301}a"),
            ("a \u{301} ", "a \u{301}"),
            ("\n \n", ""),
            ("", ""),
        ] {
            assert_eq!(trim(&block(text)), trimmed);
        }
    }

    #[test]
    fn typed_text_has_plain_line_ends_and_no_tabs() {
        assert_eq!(typed("a\r\n\tb\x1b[200~"), "a\n    b");
    }

    #[test]
    fn plain_scalars_stand_alone() {
        for c in ('\0'..=char::MAX).filter(|c| is_plain(*c)) {
            assert!(width(c) > 0 && !is_invisible(c) && !is_joiner(c) && !c.is_control(), "{c:?}");
            for other in ['a', '각', '가', '❤'] {
                assert_eq!(format!("{other}{c}{other}").graphemes(true).count(), 3, "{c:?}");
            }
        }
    }

    #[test]
    fn every_scalar_is_either_seen_or_dropped() {
        for c in '\0'..=char::MAX {
            let out = line(c.encode_utf8(&mut [0; 4])).into_owned();
            assert!(out.is_empty() || out.width() > 0, "{c:?}");
        }
    }

    // Spelt out once more: the rule itself is not to be trusted with its own proof.
    fn is_bidi_control(c: char) -> bool {
        matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    }

    /// Text made of what attackers and languages use, so that rules meet each other often.
    pub(crate) fn nasty_text() -> impl Strategy<Value = String> {
        const PIECES: &str = "\x1b|\x1b[|\x1b]|\x1bP|\x1b\\|\x07|\u{9b}|\u{9c}|\u{9d}|\u{90}|31m|0;t|\x18|\r|\n|\r\n|\
            \t|\x08|\u{85}|\u{2028}| |a|1|#|\u{20e3}|\u{fe0f}|\u{fe0e}|\u{200b}|\u{200c}|\u{200d}|\u{202e}|\u{2066}|\
            \u{feff}|\u{ad}|\u{301}|\u{489}|\u{34f}|👩|👩\u{200d}👩\u{200d}👩\u{200d}|❤|🏽|🏴|\u{e0067}|🇩|\u{600}|क|\
            \u{e0067}\u{e0062}\u{e0065}\u{e006e}\u{e0067}\u{e007f}|\u{301}\u{301}\u{301}\u{301}\u{301}\u{301}\u{301}|\
            \u{94d}|\u{93e}|क\u{94d}क\u{94d}क\u{94d}क\u{94d}|র|\u{1100}|\u{1161}|\u{11a8}|각|ی|خ|ש|語|\u{3099}|\u{e33}|\
            \u{110bd}|\u{ffff}|\u{e000}|\u{13430}|\u{2800}|\u{3164}";
        let piece = prop_oneof![
            6 => prop::sample::select(PIECES.split('|').collect::<Vec<_>>()).prop_map(str::to_owned),
            1 => any::<char>().prop_map(String::from),
            1 => prop::char::range('\u{300}', '\u{2100}').prop_map(String::from),
        ];
        prop::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn passing_twice_changes_nothing_more(text in nasty_text()) {
            let (once, lines) = (line(&text).into_owned(), block(&text).into_owned());
            prop_assert_eq!(line(&once), once.as_str());
            prop_assert_eq!(block(&lines), lines.as_str());
            prop_assert!(matches!(line(&once), Cow::Borrowed(_)) && matches!(block(&lines), Cow::Borrowed(_)));
        }

        #[test]
        fn trimmed_text_is_still_safe(text in nasty_text()) {
            let (as_line, as_block) = (line(&text), block(&text));
            prop_assert_eq!(line(trim(&as_line)), trim(&as_line));
            prop_assert_eq!(block(trim(&as_block)), trim(&as_block));
        }

        #[test]
        fn a_line_is_safe_for_a_block_too(text in nasty_text()) {
            let once = line(&text).into_owned();
            prop_assert_eq!(block(&once), once.as_str());
        }

        #[test]
        fn nothing_that_acts_or_hides_comes_through(text in nasty_text()) {
            prop_assert!(!line(&text).contains('\n'));
            for out in [line(&text), block(&text)] {
                prop_assert!(!out.chars().any(|c| c != '\n' && c.is_control()), "{:?}", out);
                prop_assert!(!out.contains(is_bidi_control), "{:?}", out);
            }
        }

        #[test]
        fn every_cluster_is_short_and_takes_up_room(text in nasty_text()) {
            for cluster in block(&text).graphemes(true).filter(|cluster| *cluster != "\n") {
                prop_assert!(cluster.len() <= MAX_CLUSTER_BYTES, "{:?}", cluster);
                prop_assert!((1..=MAX_CLUSTER_WIDTH).contains(&cluster.width()), "{:?}", cluster);
            }
        }

        #[test]
        fn text_after_a_space_is_never_swallowed(text in nasty_text()) {
            let unfinished = text.replace(['\u{1b}', '\u{7}', '\u{9c}'], "");
            let out = line(&format!("{unfinished}\u{18} seen")).into_owned();
            prop_assert!(out.ends_with(" seen"), "{:?}", out);
        }
    }
}
