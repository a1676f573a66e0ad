//! Wraps text without loss at grapheme boundaries, with a terminal's widths.

use ratatui_core::buffer::CellWidth;
use ratatui_core::style::Style;
use ratatui_core::text::{Line, Span};
use std::ops::Range;
use unicode_linebreak::{BreakOpportunity, linebreaks};
use unicode_segmentation::{GraphemeCursor, UnicodeSegmentation};

/// Returns the number of columns that a text takes on a terminal.
///
/// ```
/// assert_eq!(askuser_terminal::width("日本 ok"), 7);
/// ```
pub fn width(text: &str) -> usize {
    plain_columns(text).unwrap_or_else(|| text.graphemes(true).map(grapheme_columns).sum())
}

/// Returns the total number of columns of these spans.
pub(crate) fn spans_width(spans: &[Span<'_>]) -> usize {
    spans.iter().map(|span| width(&span.content)).sum()
}

/// Returns the number of columns of a grapheme. It is 0 for a control character, as in a buffer.
pub(crate) fn grapheme_columns(grapheme: &str) -> usize {
    if grapheme.contains(char::is_control) { 0 } else { usize::from(grapheme.cell_width()) }
}

/// Wraps `text` into one line of at most `first` columns and further lines of at most `rest`. Returns the byte range of
/// each line. Spaces at a break belong to the line before it and may exceed its width. A newline belongs to no line.
/// Widths below 2 count as 2.
///
/// ```
/// let text = "Which database?";
/// let lines: Vec<&str> = askuser_terminal::wrap(text, 8, 8).into_iter().map(|range| text[range].trim_end()).collect();
/// assert_eq!(lines, ["Which", "database", "?"]);
/// ```
pub fn wrap(text: &str, first: usize, rest: usize) -> Vec<Range<usize>> {
    let first = first.max(2);
    let rest = rest.max(2);
    if plain_columns(text).is_some_and(|columns| columns <= first) {
        return std::iter::once(0..text.len()).collect();
    }
    let mut lines = Lines { done: Vec::new(), start: 0, column: 0, first, rest };
    // The start of the word, and the positions at which a long word may be broken.
    let mut at = 0;
    let mut inside = Vec::new();
    let breaks = linebreaks(text).filter(|&(end, _)| is_boundary(text, end));
    for (end, kind) in breaks.map(|(end, kind)| (before_slash(text, end), kind)) {
        if kind != BreakOpportunity::Mandatory && !ends_word(text, end) {
            inside.push(end);
            continue;
        }
        let newline = text[at..end].ends_with('\n');
        if width(text[at..end].trim_end_matches([' ', '\n'])) > rest {
            for part in inside.drain(..) {
                lines.add(at, &text[at..part]);
                at = part;
            }
        }
        inside.clear();
        let body = &text[at..end - usize::from(newline)];
        lines.add(at, body);
        if newline {
            lines.end_at(at + body.len(), end);
        } else if kind == BreakOpportunity::Mandatory && end < text.len() {
            lines.end_at(end, end);
        }
        at = end;
    }
    lines.done.push(lines.start..text.len());
    lines.done
}

/// Returns whether a word ends here: at a blank, or beside a character of two columns, such as an ideograph.
fn ends_word(text: &str, at: usize) -> bool {
    let (before, after) = text.split_at(at);
    let is_wide = |c: char| !c.is_ascii() && grapheme_columns(c.encode_utf8(&mut [0; 4])) > 1;
    before.ends_with(' ') || before.chars().next_back().is_some_and(is_wide) || after.starts_with(is_wide)
}

/// Returns the position of a break, moved from after to before a leading slash of a word. `/help` stays whole, and
/// `src/main.rs` may be broken.
fn before_slash(text: &str, at: usize) -> usize {
    let before = text[..at].strip_suffix('/').filter(|_| at < text.len());
    match before {
        Some(before) if before.is_empty() || before.ends_with([' ', '\n']) => before.len(),
        _ => at,
    }
}

/// Wraps a text that is shown exactly, so that its rows determine it. Returns the range of each row, and whether the
/// row continues a line. A line of ASCII is wrapped between words ([`break_exactly`]), and any other line by cells.
pub(crate) fn wrap_exactly(text: &str, columns: usize) -> Vec<(Range<usize>, Start)> {
    let limit = columns.max(2);
    let mut rows = Vec::new();
    let mut at = 0;
    for line in text.split('\n') {
        let mut from = at;
        let mut column = 0;
        let mut start = Start::Line;
        // The text may be a long file, and most of its lines fit.
        let is_ascii = line.bytes().all(|byte| matches!(byte, b' '..=b'~'));
        if is_ascii || (line.len() <= limit && plain_columns(line).is_some()) {
            while at + line.len() - from > limit {
                let end = from + break_exactly(line.as_bytes(), from - at, limit);
                rows.push((from..end, start));
                (from, start) = (end, Start::Wrapped);
            }
            rows.push((from..at + line.len(), start));
            at += line.len() + 1;
            continue;
        }
        for (i, grapheme) in line.grapheme_indices(true) {
            let wide = grapheme_columns(grapheme);
            if column > 0 && column + wide > limit {
                rows.push((from..at + i, start));
                (from, column, start) = (at + i, 0, Start::Wrapped);
            }
            column += wide;
        }
        rows.push((from..at + line.len(), start));
        at += line.len() + 1;
    }
    rows
}

/// Returns the length of the row that begins at `from`, at most `limit` cells.
///
/// A short row ends with one blank, or without a blank if the next row begins with one. Blanks at a break can therefore
/// be counted. Only a word longer than the row is broken.
fn break_exactly(line: &[u8], from: usize, limit: usize) -> usize {
    let (row, rest) = line[from..].split_at(limit);
    let is_blank = |byte: &u8| *byte == b' ';
    if !is_blank(&row[limit - 1]) && rest.first().is_some_and(is_blank) {
        return limit;
    }
    let Some(last) = row.iter().rposition(is_blank) else { return limit };
    let first = row[..last].iter().rposition(|byte| !is_blank(byte)).map_or(0, |word| word + 1);
    match (first, last) {
        (0, _) => limit,
        (first, last) if first == last && !line.get(from + last + 1).is_some_and(is_blank) => last + 1,
        (first, _) => first,
    }
}

/// The way in which a row begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Start {
    /// The row begins a line of the text.
    Line,
    /// The row continues a line that did not fit.
    Wrapped,
}

/// Wraps text of several styles and returns its lines. The first line starts with `lead`, the others with `further`.
pub fn wrap_styled(
    words: impl IntoIterator<Item = (impl AsRef<str>, Style)>,
    lead: &[Span<'static>],
    further: &[Span<'static>],
    columns: usize,
) -> Vec<Line<'static>> {
    let mut text = String::new();
    let mut pieces = Vec::new();
    for (words, style) in words {
        text.push_str(words.as_ref());
        pieces.push((text.len(), style));
    }
    let ranges = wrap(&text, columns.saturating_sub(spans_width(lead)), columns.saturating_sub(spans_width(further)));
    let mut piece = 0;
    let lines = ranges.into_iter().enumerate().map(|(i, range)| {
        let end = range.start + text[range.clone()].trim_end_matches(' ').len();
        let mut spans = if i == 0 { lead.to_vec() } else { further.to_vec() };
        let mut at = range.start;
        while at < end {
            while pieces[piece].0 <= at {
                piece += 1;
            }
            let (piece_end, style) = pieces[piece];
            let to = piece_end.min(end);
            spans.push(Span::styled(text[at..to].to_owned(), style));
            at = to;
        }
        Line::from(spans)
    });
    lines.collect()
}

/// Returns whether a grapheme ends here. Unicode line breaking may break between a space and a combining mark, but a
/// terminal shows both in one cell.
fn is_boundary(text: &str, at: usize) -> bool {
    let plain = text.as_bytes()[at.saturating_sub(1)..].iter().take(2).all(u8::is_ascii);
    plain || GraphemeCursor::new(at, text.len(), true).is_boundary(text, 0).unwrap_or(true)
}

/// Returns the number of columns of a plain text, and `None` for any other text. A plain text has only ASCII and
/// single-width symbols such as box drawing. This is a fast path, since most text is plain.
pub(super) fn plain_columns(text: &str) -> Option<usize> {
    let is_plain = |c| matches!(c, ' '..='~' | '·' | '•' | '…' | '←'..='↓' | '─'..='╿' | '█' | '○' | '●' | '✔');
    if is_ascii(text) {
        return Some(text.len());
    }
    text.chars().try_fold(0, |columns, c| is_plain(c).then_some(columns + 1))
}

fn is_ascii(text: &str) -> bool {
    text.bytes().fold(true, |is_ascii, byte| is_ascii & matches!(byte, b' '..=b'~'))
}

struct Lines {
    done: Vec<Range<usize>>,
    start: usize,
    column: usize,
    first: usize,
    rest: usize,
}

impl Lines {
    fn limit(&self) -> usize {
        if self.done.is_empty() { self.first } else { self.rest }
    }

    fn end_at(&mut self, end: usize, next: usize) {
        self.done.push(self.start..end);
        self.start = next;
        self.column = 0;
    }

    fn add(&mut self, at: usize, segment: &str) {
        let visible = width(segment.trim_end_matches(' '));
        if self.column > 0 && self.column + visible > self.limit() {
            self.end_at(at, at);
        }
        if self.column + visible <= self.limit() {
            self.column += width(segment);
            return;
        }
        // The word is longer than a line.
        for (i, grapheme) in segment.grapheme_indices(true) {
            let wide = grapheme_columns(grapheme);
            if self.column > 0 && grapheme != " " && self.column + wide > self.limit() {
                self.end_at(at + i, at + i);
            }
            self.column += wide;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn check(text: &str, columns: usize, expected: &[&str]) {
        let lines: Vec<&str> =
            wrap(text, columns, columns).into_iter().map(|r| text[r].trim_end_matches(' ')).collect();
        assert_eq!(lines, expected);
    }

    #[test]
    fn plain_characters_are_one_column_each() {
        for c in (' '..='\u{2FFF}').filter(|c| plain_columns(&c.to_string()).is_some()) {
            assert_eq!(grapheme_columns(&c.to_string()), 1, "{c:?}");
        }
        for wide in ["e\u{301}", "✔\u{FE0F}", "世"] {
            assert_eq!(plain_columns(wide), None);
        }
    }

    #[test]
    fn breaks_between_words() {
        check("Which database should we use?", 14, &["Which database", "should we use?"]);
    }

    #[test]
    fn breaks_inside_a_word_only_when_it_must() {
        check("a abcdefghij", 5, &["a", "abcde", "fghij"]);
    }

    #[test]
    fn breaks_between_ideographs_and_never_inside_one() {
        check("使用哪个数据库", 5, &["使用", "哪个", "数据", "库"]);
    }

    #[test]
    fn keeps_an_emoji_family_whole() {
        check("👨‍👩‍👧👨‍👩‍👧", 2, &["👨‍👩‍👧", "👨‍👩‍👧"]);
    }

    #[test]
    fn a_mark_stays_with_the_space_before_it() {
        check("abc \u{301}de", 4, &["abc \u{301}", "de"]);
    }

    #[test]
    fn keeps_line_ends_and_empty_lines() {
        check("a\n\nb\n", 10, &["a", "", "b", ""]);
    }

    fn exactly(text: &str, columns: usize) -> Vec<(&str, Start)> {
        wrap_exactly(text, columns).into_iter().map(|(range, start)| (&text[range], start)).collect()
    }

    #[test]
    fn blanks_at_a_break_do_not_vanish_from_what_is_shown_exactly() {
        use Start::{Line, Wrapped};
        assert_eq!(exactly("rm -rf   /tmp", 8), [("rm -rf", Line), ("   /tmp", Wrapped)]);
        assert_eq!(exactly("rm -rf /tmp/a", 8), [("rm -rf ", Line), ("/tmp/a", Wrapped)]);
        assert_eq!(exactly("a  \n\n  b", 8), [("a  ", Line), ("", Line), ("  b", Line)]);
    }

    #[test]
    fn styles_stay_with_their_words_when_they_are_wrapped() {
        let bold = Style::new().bold();
        let plain = Style::new();
        let lines = wrap_styled([("one ", plain), ("two three", bold), ("", plain), (" four", plain)], &[], &[], 7);
        let spans =
            |line: &Line<'static>| line.spans.iter().map(|s| (s.content.to_string(), s.style)).collect::<Vec<_>>();
        let expected = [
            vec![("one ".to_owned(), plain), ("two".to_owned(), bold)],
            vec![("three".to_owned(), bold)],
            vec![("four".to_owned(), plain)],
        ];
        assert_eq!(lines.iter().map(spans).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn a_command_is_not_parted_from_its_slash() {
        let lines = |text: &'static str, columns| -> Vec<&str> {
            wrap(text, columns, columns).into_iter().map(|range| text[range].trim_end()).collect()
        };
        assert_eq!(lines("see it; /compact now", 10), ["see it;", "/compact", "now"]);
        assert_eq!(lines("in src/view/wrap.rs", 9), ["in src/", "view/", "wrap.rs"]);
        assert_eq!(lines("one or /", 6), ["one", "or /"]);
    }

    #[test]
    fn a_word_with_a_hyphen_or_a_slash_is_broken_only_if_it_is_longer_than_the_row() {
        check("a well-known and/or", 11, &["a", "well-known", "and/or"]);
        check("a well-known-name", 11, &["a well-", "known-name"]);
    }

    proptest! {
        /// The person sees the rows without their trailing blanks.
        #[test]
        fn rows_that_are_shown_exactly_determine_their_line(text in "[ab ]{0,40}[ab]", columns in 4usize..12) {
            let rows = exactly(&text, columns);
            let seen: Vec<&str> = rows.iter().map(|(row, _)| row.trim_end_matches(' ')).collect();
            let mut read = String::new();
            for (i, row) in seen.iter().enumerate() {
                let is_last = i + 1 == seen.len();
                let blanks = match seen.get(i + 1) {
                    _ if is_last || row.len() == columns => 0,
                    _ if row.is_empty() => columns,
                    Some(next) if next.starts_with(' ') || next.is_empty() => 0,
                    _ => 1,
                };
                read += row;
                read += &" ".repeat(blanks);
            }
            prop_assert_eq!(read, text);
        }

        #[test]
        fn what_is_shown_exactly_is_all_there(text in "[ -~\n世界é👍\u{301}\u{600}]{0,60}", columns in 4usize..20) {
            let mut shown = String::new();
            for (i, (row, start)) in exactly(&text, columns).into_iter().enumerate() {
                prop_assert!(width(row) <= columns || row.graphemes(true).count() == 1, "{:?}", row);
                if i > 0 && start == Start::Line {
                    shown.push('\n');
                }
                shown.push_str(row);
            }
            prop_assert_eq!(shown, text);
        }

        #[test]
        fn nothing_is_lost_and_nothing_is_too_wide(text in "[ -~\n世界é👍\u{301}\u{600}]{0,60}", columns in 4usize..20) {
            let lines = wrap(&text, columns, columns);
            let mut kept = String::new();
            let mut at = 0;
            for range in &lines {
                prop_assert!(text[at..range.start].chars().all(|c| c == '\n'));
                kept.push_str(&text[at..range.end]);
                at = range.end;
                let line = text[range.clone()].trim_end_matches(' ');
                // Only a cluster that is wider than the line may exceed its width.
                prop_assert!(width(line) <= columns || line.graphemes(true).count() == 1, "{:?}", line);
            }
            prop_assert_eq!(kept + &text[at..], text);
        }
    }
}
