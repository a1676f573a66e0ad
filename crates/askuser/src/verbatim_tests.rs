use super::*;
use crate::sanitize::tests::nasty_text;
use proptest::prelude::*;

#[track_caller]
fn check(text: &str, expected: &str) {
    assert_eq!(shown(text, Charset::Utf8), expected, "{text:?}");
    for charset in [Charset::Utf8, Charset::Ascii] {
        assert_eq!(read(&shown(text, charset)), text, "{charset:?}");
    }
}

#[track_caller]
fn check_same(text: &str) {
    check(text, text);
    assert!(matches!(shown(text, Charset::Utf8), Cow::Borrowed(_)), "{text:?} was copied");
}

#[test]
fn text_that_can_be_seen_is_shown_as_it_is() {
    check_same("");
    check_same("cargo test --workspace && git push <origin> \"$@\" \\\n  -- a  b");
    check_same("Größe, naïve, “quotes” — and € 5 → done");
    check_same("データベース 한국어 각 שָׁלוֹם العربية हिन्दी ภาษาไทย Việt e\u{301}");
    check_same("✅ 👍 🇩🇪 ⚠ ┃ ✔ Allow once");
}

#[test]
fn a_control_string_is_shown_with_all_that_it_holds() {
    check("echo hello \x1b];touch PWNED;\x07", "echo hello <U+001B>];touch PWNED;<U+0007>");
    check("a\x1bP+q\x1b\\b\x1b_c\x1b\\d", "a<U+001B>P+q<U+001B>\\b<U+001B>_c<U+001B>\\d");
    check(" one\u{9d}\n-two\n+2\n \u{9c}three", " one<U+009D>\n-two\n+2\n <U+009C>three");
    check("\x1b[2J\x1b[Hx", "<U+001B>[2J<U+001B>[Hx");
}

#[test]
fn what_has_no_glyph_is_spelled_out() {
    for c in [
        '\0',
        '\x08',
        '\x0b',
        '\x0c',
        '\x7f',
        '\u{80}',
        '\u{85}',
        '\u{9b}',
        '\u{ad}',
        '\u{34f}',
        '\u{61c}',
        '\u{115f}',
        '\u{1160}',
        '\u{17b4}',
        '\u{180b}',
        '\u{180e}',
        '\u{200b}',
        '\u{200c}',
        '\u{200d}',
        '\u{200e}',
        '\u{2028}',
        '\u{2029}',
        '\u{202e}',
        '\u{2060}',
        '\u{2066}',
        '\u{2800}',
        '\u{3164}',
        '\u{fe00}',
        '\u{fe01}',
        '\u{fe0d}',
        '\u{fe0e}',
        '\u{fe0f}',
        '\u{feff}',
        '\u{ffa0}',
        '\u{fff9}',
        '\u{e0001}',
        '\u{e0061}',
        '\u{e0100}',
        // Blanks that a shell takes for letters.
        '\u{a0}',
        '\u{1680}',
        '\u{2003}',
        '\u{202f}',
        '\u{205f}',
        '\u{3000}',
        // Private-use characters, noncharacters and unassigned code points.
        '\u{e0b0}',
        '\u{f8ff}',
        '\u{100000}',
        '\u{ffff}',
        '\u{fdd0}',
        '\u{378}',
        '\u{e0080}',
    ] {
        check(&format!("a{c}b"), &format!("a<U+{:04X}>b", c as u32));
    }
}

#[test]
fn a_sign_in_the_text_does_not_pass_for_one_of_ours() {
    check("echo <U+001B>", "echo <U+003C>U+001B>");
    check("<U+003C>U+001B>", "<U+003C>U+003C>U+001B>");
    check("a ␣", "a <U+2423>");
    check("a␍", "a<U+240D>");
    check("a→   b", "a<U+2192>   b");
    check("a→\nb →", "a<U+2192>\nb <U+2192>");
    check_same("a < U+1 <u+1> <U 1");
    check_same("a → b →  c");
}

#[test]
fn a_tab_is_an_arrow_of_four_columns() {
    check("\tgo\t", "→   go→   ");
    assert_eq!(read("→   go→"), "\tgo\t", "a screen cuts off the blanks at the end");
    assert_eq!(shown("\tgo", Charset::Ascii), "<U+0009>go");
}

#[test]
fn a_carriage_return_is_no_line_end_and_overwrites_nothing() {
    check("rm -r x\rls     \r\n", "rm -r x␍ls     ␍\n");
}

#[test]
fn a_blank_that_ends_a_line_is_seen() {
    check("a \\ \nb  \n\n \n  \n", "a \\␣\nb ␣\n\n \n ␣\n");
    assert_eq!(shown("a b \n \n", Charset::Ascii), "a b<U+0020>\n \n");
}

#[test]
fn a_mark_stands_on_a_letter_of_the_text_or_is_spelled_out() {
    check_same("e\u{301}\u{323} n\u{303}");
    check("\u{301}a", "<U+0301>a");
    check("*\u{301}b* \u{301}", "*<U+0301>b* <U+0301>");
    check("\t\u{301}\x1b\u{301}", "→   <U+0301><U+001B><U+0301>");
    check(&format!("a{}", "\u{301}".repeat(9)), &format!("a{}<U+0301>", "\u{301}".repeat(8)));
}

#[test]
fn a_surface_that_has_only_ascii_gets_only_ascii() {
    assert_eq!(shown("é→語", Charset::Ascii), "<U+00E9><U+2192><U+8A9E>");
    assert_eq!(read("<U+00E9><U+2192><U+8A9E>"), "é→語");
}

#[test]
fn rows_are_counted_as_they_are_wrapped() {
    assert_eq!([rows("", 10), rows("0123456789", 10), rows("0123456789a", 10), rows("a\n\nb\n", 10)], [1, 1, 2, 4]);
    assert_eq!(rows("語語語語語語", 10), 2);
}

#[test]
fn every_line_stands_behind_a_bar() {
    assert_eq!(barred("ls\n\n- Allow: yes"), "┃ ls\n┃\n┃ - Allow: yes");
}

fn any_text() -> impl Strategy<Value = String> {
    let signs = prop::sample::select(vec!["<", "U+", "<U+", "9D>", "→", "   ", " ", "␣", "␍", "\n", "\t", "\r", "*"]);
    let piece = prop_oneof![signs.prop_map(str::to_owned), nasty_text(), any::<char>().prop_map(String::from)];
    prop::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_is_shown_determines_the_text(text in any_text()) {
        prop_assert_eq!(read(&shown(&text, Charset::Utf8)), text.as_str());
        prop_assert_eq!(read(&shown(&text, Charset::Ascii)), text.as_str());
    }

    #[test]
    fn what_is_shown_passes_the_other_gate_unchanged(text in any_text()) {
        let out = shown(&text, Charset::Utf8);
        prop_assert_eq!(sanitize::block(&out), out.as_ref());
        prop_assert!(shown(&text, Charset::Ascii).bytes().all(|b| matches!(b, b' '..=b'~' | b'\n')));
    }

    #[test]
    fn what_a_screen_leaves_of_it_determines_the_text(text in any_text()) {
        let out = shown(&text, Charset::Utf8);
        let screen = out.split('\n').map(str::trim_end).collect::<Vec<_>>().join("\n");
        let without = |text: &str| text.split('\n').map(|line| if line == " " { "" } else { line }).collect::<Vec<_>>().join("\n");
        prop_assert_eq!(without(&read(&screen)), without(&text));
    }

    #[test]
    fn every_character_of_a_line_takes_up_room(text in any_text()) {
        let out = shown(&text, Charset::Utf8);
        for c in out.chars().filter(|c| *c != '\n') {
            prop_assert!(has_glyph(c, Charset::Utf8), "{:?} of {:?}", c, out);
        }
    }
}
