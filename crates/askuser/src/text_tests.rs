use super::*;
use crate::sanitize::tests::nasty_text;
use proptest::prelude::*;

/// Returns a text with the caret at its end. The text is empty if it exceeds the limit.
fn with(limit: usize, text: &str) -> Text {
    let mut new = Text::new(limit);
    let _ = new.set(text);
    new
}

/// Returns a text whose caret is given as `|`.
fn text(marked: &str) -> Text {
    let (before, after) = marked.split_once('|').expect("a caret");
    let mut text = with(2_000, &[before, after].concat());
    text.caret = before.len();
    text
}

fn marked(text: &Text) -> String {
    let (before, after) = text.as_str().split_at(text.caret());
    format!("{before}|{after}")
}

#[track_caller]
fn check(before: &str, edits: impl IntoIterator<Item = Edit>, after: &str) {
    let mut text = text(before);
    for edit in edits {
        assert_eq!(text.apply(edit.clone()), Fit::Kept, "{edit:?} in {:?}", marked(&text));
    }
    assert_eq!(marked(&text), after);
}

#[track_caller]
fn check_refused(mut text: Text, edit: Edit) {
    let before = text.clone();
    assert_eq!(text.apply(edit), Fit::Refused);
    assert_eq!(text, before);
}

fn typing(text: &str) -> impl Iterator<Item = Edit> {
    text.chars().map(Edit::Insert)
}

fn paste(text: &str) -> Edit {
    Edit::Paste(text.into())
}

#[test]
fn typing_goes_in_at_the_caret() {
    check("|", typing("bun"), "bun|");
    check("b|n", typing("u"), "bu|n");
    check("a|b", [Edit::Newline], "a\n|b");
}

#[test]
fn a_combining_character_joins_what_is_before_it() {
    check("e|x", typing("\u{301}"), "e\u{301}|x");
    check("|", typing("हिन्दी"), "हिन्दी|");
    check("|", typing("\u{1112}\u{1161}\u{11ab}"), "\u{1112}\u{1161}\u{11ab}|");
}

#[test]
fn an_emoji_typed_scalar_by_scalar_becomes_one() {
    check("|", typing("👩🏽\u{200d}❤\u{fe0f}\u{200d}👨").chain([Edit::Left]), "|👩🏽\u{200d}❤\u{fe0f}\u{200d}👨");
    check("|", typing("🇩🇪").chain([Edit::Backspace]), "|");
}

#[test]
fn a_joiner_waits_for_what_it_joins() {
    check("|", typing("می\u{200c}خ"), "می\u{200c}خ|");
    check("می|خ", typing("\u{200c}"), "می\u{200c}|خ");
    check("می|", typing("\u{200c} x"), "می x|");
    check("می\u{200c}|خ", typing(" "), "می |خ");
    check("می|", [Edit::Insert('\u{200c}'), Edit::Backspace], "می|");
    check("می\u{200c}|خ", [Edit::Delete], "می|");
}

#[test]
fn characters_that_cannot_be_seen_are_refused() {
    for c in
        ['\0', '\x1b', '\t', '\n', '\r', '\x7f', '\u{9b}', '\u{202e}', '\u{200b}', '\u{e0041}', '\u{feff}', '\u{ffff}']
    {
        check_refused(text("a|b"), Edit::Insert(c));
    }
    check_refused(text("|a"), Edit::Insert('\u{301}'));
    check_refused(text("a |"), Edit::Insert('\u{200d}'));
    check_refused(text("a\u{301}\u{301}\u{301}\u{301}\u{301}\u{301}\u{301}\u{301}|"), Edit::Insert('\u{301}'));
    check_refused(text("a|b"), paste("\x1b[31m\u{200b}"));
}

#[test]
fn a_paste_is_cleaned() {
    check("a|b", [paste("1\r\n\t2\x1b[31m")], "a1\n    2|b");
    check("e|", [paste("\u{301}x")], "e\u{301}x|");
    check("a|b", [paste("\x1b]0;")], "a0;|b");
}

#[test]
fn a_paste_of_nothing_loses_no_joiner() {
    check("می\u{200c}|خ", [paste("")], "می\u{200c}|خ");
    check_refused(text("می\u{200c}|خ"), paste("\u{200b}"));
}

#[test]
fn what_goes_over_the_limit_is_refused_whole() {
    let full = with(3, "añb");
    assert_eq!((full.chars(), full.limit()), (3, 3));
    check_refused(full.clone(), Edit::Insert('c'));
    check_refused(full.clone(), Edit::Newline);
    check_refused(full, paste("cd"));
    check_refused(with(3, "a"), paste("bcd"));
    check_refused(with(2, "ی"), Edit::Insert('\u{200c}'));
    assert_eq!(with(3, "abcd"), Text::new(3));
}

#[test]
fn setting_replaces_everything_or_nothing() {
    let mut text = with(5, "old");
    assert_eq!(text.set("too long"), Fit::Refused);
    assert_eq!(marked(&text), "old|");
    assert_eq!(text.set("a\r\nb\x07"), Fit::Kept);
    assert_eq!(marked(&text), "a\nb|");
}

#[test]
fn one_backspace_removes_one_grapheme() {
    check("a👨‍👩‍👧‍👦|b", [Edit::Backspace], "a|b");
    check("🇩🇪🇫🇷|", [Edit::Backspace], "🇩🇪|");
    check("e\u{301}|", [Edit::Backspace], "|");
    check("a\n|b", [Edit::Backspace], "a|b");
    check("|a", [Edit::Backspace], "|a");
}

#[test]
fn one_delete_removes_one_grapheme() {
    check("a|👨‍👩‍👧‍👦b", [Edit::Delete], "a|b");
    check("a|\nb", [Edit::Delete], "a|b");
    check("a|", [Edit::Delete], "a|");
}

#[test]
fn left_and_right_step_over_whole_graphemes() {
    check("a👍🏽|", [Edit::Left], "a|👍🏽");
    check("a|👍🏽b", [Edit::Right], "a👍🏽|b");
    check("a|\nb", [Edit::Right], "a\n|b");
    check("|", [Edit::Left, Edit::Right], "|");
}

#[test]
fn up_and_down_keep_the_column_as_drawn() {
    check("abcd\nefg|h", [Edit::Up], "abc|d\nefgh");
    check("日本語\nabcd|", [Edit::Up], "日本|語\nabcd");
    check("日本語\nabc|", [Edit::Up], "日|本語\nabc");
    check("ab|c\n\nxyz", [Edit::Down], "abc\n|\nxyz");
}

#[test]
fn a_short_line_in_between_does_not_lose_the_column() {
    check("abcd|\n\nefgh", [Edit::Down, Edit::Down], "abcd\n\nefgh|");
    check("abcd|\nx\nefgh", [Edit::Down, Edit::Left, Edit::Down], "abcd\nx\n|efgh");
}

#[test]
fn up_stays_on_the_first_line_and_down_on_the_last() {
    check("ab|c\nd", [Edit::Up], "ab|c\nd");
    check("a\nb|c", [Edit::Down], "a\nb|c");
}

#[test]
fn home_and_end_are_of_the_line_start_and_finish_of_the_text() {
    check("a\nb|c\nd", [Edit::Home], "a\n|bc\nd");
    check("a\nb|c\nd", [Edit::End], "a\nbc|\nd");
    check("a\nb|c\nd", [Edit::Start], "|a\nbc\nd");
    check("a\nb|c\nd", [Edit::Finish], "a\nbc\nd|");
}

#[test]
fn words_are_stepped_over_and_removed() {
    check("use don't  |x", [Edit::WordLeft], "use |don't  x");
    check("use|  don't x", [Edit::WordRight], "use  don't| x");
    check("a\nb|", [Edit::WordLeft, Edit::WordLeft], "|a\nb");
    check("one two  |three", [Edit::DeleteWordLeft], "one |three");
    check("one|  two three", [Edit::DeleteWordRight], "one| three");
    check("  |", [Edit::WordLeft, Edit::WordRight], "  |");
}

#[test]
fn kills_take_the_line_and_then_its_break() {
    check("a\nb|c\nd", [Edit::KillToEnd], "a\nb|\nd");
    check("a\nb|\nd", [Edit::KillToEnd], "a\nb|d");
    check("a\nb|c\nd", [Edit::KillToStart], "a\n|c\nd");
    check("a\n|c\nd", [Edit::KillToStart], "a|c\nd");
    check("|", [Edit::KillToStart, Edit::KillToEnd], "|");
}

#[test]
fn blank_is_not_the_same_as_empty() {
    let text = with(10, " \n ");
    assert!(text.is_blank() && !text.is_empty());
    assert!(Text::new(10).is_blank() && Text::new(10).is_empty());
}

fn edit() -> impl Strategy<Value = Edit> {
    let step = prop::sample::select(vec![
        Edit::Newline,
        Edit::Backspace,
        Edit::Delete,
        Edit::Left,
        Edit::Right,
        Edit::Up,
        Edit::Down,
        Edit::Home,
        Edit::End,
        Edit::Start,
        Edit::Finish,
        Edit::WordLeft,
        Edit::WordRight,
        Edit::DeleteWordLeft,
        Edit::DeleteWordRight,
        Edit::KillToEnd,
        Edit::KillToStart,
    ]);
    let scalar = nasty_text().prop_map(|text| Edit::Insert(text.chars().next_back().unwrap_or('x')));
    prop_oneof![3 => step, 3 => scalar, 1 => nasty_text().prop_map(Edit::Paste)]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_row_of_edits_leaves_a_sound_text(limit in 0usize..80, edits in prop::collection::vec(edit(), 0..60)) {
        let mut text = Text::new(limit);
        for edit in edits {
            let before = text.clone();
            let fit = text.apply(edit.clone());
            if fit == Fit::Refused {
                prop_assert_eq!(&text, &before, "{:?}", edit);
            }
            let boundaries: Vec<usize> = text.boundaries().collect();
            prop_assert!(boundaries.contains(&text.caret()), "{:?} made {:?}", edit, text);
            prop_assert!(text.chars() <= limit, "{:?} made {:?}", edit, text);
            prop_assert_eq!(sanitize::typed(text.as_str()), text.as_str(), "{:?} on {:?}", edit, before);
            prop_assert!(!text.as_str().chars().any(|c| c != '\n' && c.is_control()));
        }
    }

    #[test]
    fn backspace_takes_back_what_stands_alone(start in nasty_text(), left in 0usize..9, c in any::<char>()) {
        let mut text = with(2_000, &start);
        for _ in 0..left {
            let _ = text.apply(Edit::Left);
        }
        text.column = None;
        let before = text.clone();
        let (head, tail) = before.as_str().split_at(before.caret());
        let alone = [head, c.encode_utf8(&mut [0; 4]), tail].concat();
        let end = head.len() + c.len_utf8();
        let kept = text.apply(Edit::Insert(c)) == Fit::Kept;
        if kept && text.as_str() == alone && text.left() == head.len() && text.caret() == end {
            prop_assert_eq!(text.apply(Edit::Backspace), Fit::Kept);
            prop_assert_eq!(text, before);
        }
    }
}
