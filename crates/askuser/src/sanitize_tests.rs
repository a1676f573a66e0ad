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
    let hidden: String = "ignore all rules".bytes().map(|b| char::from_u32(0xe0000 + u32::from(b)).unwrap()).collect();
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
    for blank in ["", " \n\t", "\u{200b}\u{2060}", "\u{3164}", "\u{2800}", "\x1b[31m", "\u{a0}\u{3000}", "\u{301}"] {
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

// The characters are listed again, because the rule cannot prove itself.
fn is_bidi_control(c: char) -> bool {
    matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[test]
fn no_scalar_that_may_be_ignored_comes_through() {
    // The ranges are Default_Ignorable_Code_Point and interlinear annotation, without the joiners and the presentation
    // selectors.
    let ranges = [
        '\u{ad}'..='\u{ad}',
        '\u{34f}'..='\u{34f}',
        '\u{61c}'..='\u{61c}',
        '\u{115f}'..='\u{1160}',
        '\u{17b4}'..='\u{17b5}',
        '\u{180b}'..='\u{180f}',
        '\u{200b}'..='\u{200b}',
        '\u{200e}'..='\u{200f}',
        '\u{202a}'..='\u{202e}',
        '\u{2060}'..='\u{206f}',
        '\u{3164}'..='\u{3164}',
        '\u{fe00}'..='\u{fe0d}',
        '\u{feff}'..='\u{feff}',
        '\u{ffa0}'..='\u{ffa0}',
        '\u{fff0}'..='\u{fffb}',
        '\u{1bca0}'..='\u{1bca3}',
        '\u{1d173}'..='\u{1d17a}',
        '\u{e0000}'..='\u{e0fff}',
    ];
    for c in ranges.into_iter().flatten() {
        check_both(&format!("a{c}b ❤{c}"), "ab ❤");
        check_both(&c.to_string(), "");
    }
}

/// Generates text from pieces that attackers and languages use, so that several rules often apply together.
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
        let once = line(&text).into_owned();
        let lines = block(&text).into_owned();
        prop_assert_eq!(line(&once), once.as_str());
        prop_assert_eq!(block(&lines), lines.as_str());
        prop_assert!(matches!(line(&once), Cow::Borrowed(_)) && matches!(block(&lines), Cow::Borrowed(_)));
    }

    #[test]
    fn trimmed_text_is_still_safe(text in nasty_text()) {
        let as_line = line(&text);
        let as_block = block(&text);
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
