use super::*;
use crate::view::Background;
use proptest::prelude::*;

fn all_at_once(bytes: &[u8]) -> Vec<TerminalInput> {
    let mut decoder = Decoder::default();
    let mut out = Vec::new();
    decoder.feed(bytes, &mut out);
    decoder.flush(&mut out);
    out
}

fn byte_by_byte(bytes: &[u8]) -> Vec<TerminalInput> {
    let mut decoder = Decoder::default();
    let mut out = Vec::new();
    for byte in bytes {
        decoder.feed(std::slice::from_ref(byte), &mut out);
    }
    decoder.flush(&mut out);
    out
}

#[track_caller]
fn check(bytes: impl AsRef<[u8]>, expected: &[Key]) {
    let expected: Vec<TerminalInput> = expected.iter().map(|key| TerminalInput::Key(*key)).collect();
    let bytes = bytes.as_ref();
    assert_eq!(all_at_once(bytes), expected, "{:?}", bytes.escape_ascii().to_string());
    assert_eq!(byte_by_byte(bytes), expected, "{:?}", bytes.escape_ascii().to_string());
}

fn key(code: KeyCode) -> Key {
    Key::plain(code)
}

fn with(mods: Mods, code: KeyCode) -> Key {
    Key { code, mods }
}

fn typed(text: &str) -> Vec<Key> {
    text.chars().map(|c| key(KeyCode::Char(c))).collect()
}

const CTRL_SHIFT: Mods = Mods { ctrl: true, shift: true, alt: false };
const CTRL_ALT: Mods = Mods { ctrl: true, shift: false, alt: true };

#[test]
fn ctrl_c_ends_a_paste_whose_end_never_comes() {
    let mut decoder = Decoder::default();
    let mut out = Vec::new();
    decoder.feed(b"\x1b[200~abc", &mut out);
    assert!(!decoder.is_waiting());
    decoder.feed(b"\x1b[B\x03", &mut out);
    assert!(decoder.is_waiting() && out.is_empty());
    decoder.flush(&mut out);
    assert_eq!(out, [TerminalInput::Key(Key::ctrl('c'))]);
    decoder.feed(b"x", &mut out);
    assert_eq!(out.len(), 2);
}

#[test]
fn a_pasted_control_c_is_text_like_any_other() {
    let mut decoder = Decoder::default();
    let mut out = Vec::new();
    decoder.feed(b"\x1b[200~a\x03b\x1b[201~", &mut out);
    assert_eq!(out, [TerminalInput::Paste("a\u{3}b".into())]);
}

#[test]
fn control_bytes_are_control_keys() {
    check(b"\r", &[key(KeyCode::Enter)]);
    check(b"\n", &[Key::ctrl('j')]);
    check(b"\t", &[key(KeyCode::Tab)]);
    check(b"\x7f\x08", &[key(KeyCode::Backspace), key(KeyCode::Backspace)]);
    check(b"\x00", &[Key::ctrl(' ')]);
    check(b"\x01\x03\x1a", &[Key::ctrl('a'), Key::ctrl('c'), Key::ctrl('z')]);
    check(b"\x1c\x1d\x1e\x1f", &[Key::ctrl('\\'), Key::ctrl(']'), Key::ctrl('^'), Key::ctrl('_')]);
}

#[test]
fn text_is_typed_characters() {
    check("aZ ~é漢🦀e\u{301}", &typed("aZ ~é漢🦀e\u{301}"));
}

#[test]
fn bytes_that_are_not_utf8_are_dropped() {
    check(b"a\xffb\xc3c\xe6\xbcd\x80\xbfe\xc0\x80f", &typed("abcdef"));
    check(b"\xed\xa0\x80x\xf4\x90\x80\x80y\xe0\x80\x80z", &typed("xyz"));
}

#[test]
fn control_characters_in_utf8_are_dropped() {
    check("\u{9b}\u{85}x", &typed("x"));
}

#[test]
fn a_lone_escape_byte_is_esc() {
    check(b"\x1b", &[key(KeyCode::Esc)]);
    check(b"\x1b\x1b", &[key(KeyCode::Esc), key(KeyCode::Esc)]);
    check(b"\x1b\x1b\x1b", &[key(KeyCode::Esc), key(KeyCode::Esc), key(KeyCode::Esc)]);
}

#[test]
fn arrows_and_their_neighbours_in_every_dialect() {
    let table: &[(KeyCode, &[&str])] = &[
        (KeyCode::Up, &["\x1b[A", "\x1bOA", "\x1b[1;1A", "\x1b[57419u"]),
        (KeyCode::Down, &["\x1b[B", "\x1bOB", "\x1b[57420u"]),
        (KeyCode::Right, &["\x1b[C", "\x1bOC", "\x1b[57418u"]),
        (KeyCode::Left, &["\x1b[D", "\x1bOD", "\x1b[57417u"]),
        (KeyCode::Home, &["\x1b[H", "\x1bOH", "\x1b[1~", "\x1b[7~", "\x1b[57423u"]),
        (KeyCode::End, &["\x1b[F", "\x1bOF", "\x1b[4~", "\x1b[8~", "\x1b[57424u"]),
        (KeyCode::PageUp, &["\x1b[5~", "\x1b[57421u"]),
        (KeyCode::PageDown, &["\x1b[6~", "\x1b[57422u"]),
        (KeyCode::Delete, &["\x1b[3~", "\x1b[57426u"]),
        (KeyCode::BackTab, &["\x1b[Z", "\x1b[1;2Z", "\x1b[9;2u", "\x1b[27;2;9~"]),
        (KeyCode::Enter, &["\x1bOM", "\x1b[13u", "\x1b[57414u"]),
        (KeyCode::Esc, &["\x1b[27u"]),
        (KeyCode::Tab, &["\x1b[9u"]),
        (KeyCode::Backspace, &["\x1b[127u"]),
    ];
    for (code, forms) in table {
        for form in *forms {
            check(form, &[key(*code)]);
        }
    }
}

#[test]
fn modifiers_come_along() {
    check("\x1b[1;2A", &[with(Mods::SHIFT, KeyCode::Up)]);
    check("\x1b[1;3A", &[with(Mods::ALT, KeyCode::Up)]);
    check("\x1b[1;5C", &[with(Mods::CTRL, KeyCode::Right)]);
    check("\x1b[1;6D", &[with(CTRL_SHIFT, KeyCode::Left)]);
    check("\x1b[1;9D", &[with(Mods::ALT, KeyCode::Left)]);
    check("\x1b[5C", &[with(Mods::CTRL, KeyCode::Right)]);
    check("\x1bO5C", &[with(Mods::CTRL, KeyCode::Right)]);
    check("\x1bO1;5C", &[with(Mods::CTRL, KeyCode::Right)]);
    check("\x1b[3;5~", &[with(Mods::CTRL, KeyCode::Delete)]);
    check("\x1b[a", &[with(Mods::SHIFT, KeyCode::Up)]);
    check("\x1bOd", &[with(Mods::CTRL, KeyCode::Left)]);
    check("\x1b[7^", &[with(Mods::CTRL, KeyCode::Home)]);
    check("\x1b[3$", &[with(Mods::SHIFT, KeyCode::Delete)]);
    check("\x1b[8@", &[with(CTRL_SHIFT, KeyCode::End)]);
}

#[test]
fn keys_reported_by_code_point() {
    check("\x1b[27;5;13~", &[with(Mods::CTRL, KeyCode::Enter)]);
    check("\x1b[27;6;67~", &[Key::ctrl('c')]);
    check("\x1b[13;2u", &[with(Mods::SHIFT, KeyCode::Enter)]);
    check("\x1b[99;5u", &[Key::ctrl('c')]);
    check("\x1b[97;4u", &[Key::alt(KeyCode::Char('A'))]);
    check("\x1b[97:65;2u", &typed("A"));
    check("\x1b[49:33;2u", &typed("!"));
    check("\x1b[97;65u", &typed("A"));
    check("\x1b[57402u", &typed("3"));
    check("\x1b[32;5u", &[Key::ctrl(' ')]);
}

#[test]
fn letting_go_of_a_key_is_nothing_and_repeating_it_is() {
    check("\x1b[97;1:1u\x1b[97;1:2u\x1b[97;1:3u", &typed("aa"));
    check("\x1b[1;1:1A\x1b[1;1:3A\x1b[3;1:3~", &[key(KeyCode::Up)]);
}

#[test]
fn shortcuts_with_super_are_not_typed() {
    check("\x1b[99;9u\x1b[57441u\x1b[0u\x1b[4294967296u", &[]);
}

#[test]
fn an_escape_byte_before_a_key_is_alt() {
    check("\x1bx", &[Key::alt(KeyCode::Char('x'))]);
    check("\x1bé", &[Key::alt(KeyCode::Char('é'))]);
    check("\x1b\r\x1b\n", &[Key::alt(KeyCode::Enter), Key::alt(KeyCode::Enter)]);
    check("\x1b\x7f", &[Key::alt(KeyCode::Backspace)]);
    check("\x1b\x02", &[with(CTRL_ALT, KeyCode::Char('b'))]);
    check("\x1b\x1b[A", &[Key::alt(KeyCode::Up)]);
    check("\x1b\x1bOA", &[Key::alt(KeyCode::Up)]);
    check("\x1b\x1b[3~", &[Key::alt(KeyCode::Delete)]);
    check("\x1b\x1bx", &[key(KeyCode::Esc), Key::alt(KeyCode::Char('x'))]);
}

#[test]
fn esc_survives_a_report_right_behind_it() {
    check("\x1b\x1b[M !!", &[key(KeyCode::Esc)]);
    check("\x1b\x1b[", &[key(KeyCode::Esc)]);
    check("\x1b\x1b]11;rgb:0/0/0\x07", &[key(KeyCode::Esc)]);
}

#[test]
fn focus_is_told_and_types_nothing() {
    let bytes = b"\x1b[Ib\x1b\x1b[O";
    let b = TerminalInput::Key(key(KeyCode::Char('b')));
    let esc = TerminalInput::Key(key(KeyCode::Esc));
    let expected = [TerminalInput::Focus(Focus::Gained), b, esc, TerminalInput::Focus(Focus::Lost)];
    assert_eq!(all_at_once(bytes), expected);
    assert_eq!(byte_by_byte(bytes), expected);
}

#[test]
fn what_is_no_key_of_ours_is_swallowed_whole() {
    let reports: &[&[u8]] = &[
        b"\x1b[M !!",
        b"\x1b[M\x1b\xff\x80",
        b"\x1b[<0;10;20M",
        b"\x1b[<0;10;20m",
        b"\x1b[32;10;20M",
        b"\x1b[?62;22c",
        b"\x1b[>0;276;0c",
        b"\x1b[24;80R",
        b"\x1b[?2026;2$y",
        b"\x1b[20;2$y",
        b"\x1b[0n",
        b"\x1b[?1u",
        b"\x1b[8;24;80t",
        b"\x1b]11;rgb:1e1e/1e1e/1e1e\x1b\\",
        b"\x1b]52;c;aGk=\x07",
        b"\x1bP>|XTerm(390)\x1b\\",
        b"\x1b_Gi=1;OK\x1b\\",
        b"\x1bOP",
        b"\x1bO2P",
        b"\x1bOw",
        b"\x1b[11~",
        b"\x1b[15;5~",
        b"\x1b[2~",
        b"\x1b[201~",
        b"\x1b[[A",
        b"\x1b[E",
        b"\x1b[1;2;3;4;5A",
        b"\x1b[99999999999~",
    ];
    for report in reports {
        check(report, &[]);
        check([b"a", *report, b"b"].concat(), &typed("ab"));
    }
}

#[test]
fn a_sequence_broken_off_does_not_take_the_next_key_along() {
    check("\x1b[1;\x1b[A", &[key(KeyCode::Up)]);
    check("\x1b[1;\rx", &[key(KeyCode::Enter), key(KeyCode::Char('x'))]);
    check("\x1b[1;\x18x", &typed("x"));
    check("\x1b]0;title\x1b[A", &[key(KeyCode::Up)]);
    check("\x1bOé", &typed("é"));
}

#[test]
fn flushing_drops_what_is_unfinished() {
    for unfinished in ["\x1b[", "\x1b[1;5", "\x1bO", "\x1b]0;t", "\x1b]0;t\x1b", "\x1bP", "\x1b[M!", "\x1b[["] {
        let mut decoder = Decoder::default();
        let mut out = Vec::new();
        decoder.feed(unfinished.as_bytes(), &mut out);
        assert!(decoder.is_waiting(), "{unfinished:?}");
        decoder.flush(&mut out);
        assert!(!decoder.is_waiting(), "{unfinished:?}");
        decoder.feed(b"A", &mut out);
        assert_eq!(out, [TerminalInput::Key(KeyCode::Char('A').into())], "{unfinished:?}");
    }
}

#[test]
fn an_endless_sequence_takes_no_memory() {
    for head in ["\x1b[", "\x1b]", "\x1bO"] {
        let mut decoder = Decoder::default();
        let mut out = Vec::new();
        decoder.feed(head.as_bytes(), &mut out);
        for _ in 0..1000 {
            decoder.feed(&[b'1'; 1000], &mut out);
        }
        assert!(decoder.params.capacity() <= 4096);
        decoder.feed(b"A", &mut out);
        decoder.flush(&mut out);
        assert_eq!(out, [], "{head:?}");
    }
}

#[test]
fn a_paste_is_one_input() {
    let paste = |text: &str| TerminalInput::Paste(text.into());
    assert_eq!(all_at_once(b"\x1b[200~a\rb\x1b[201~"), [paste("a\rb")]);
    assert_eq!(byte_by_byte("\x1b[200~é漢\x1b[A\x1b\x1b[201~".as_bytes()), [paste("é漢\x1b[A\x1b")]);
    assert_eq!(all_at_once(b"\x1b[200~\x1b[201~"), [paste("")]);
    assert_eq!(all_at_once(b"\x1b[200~\xff\x1b[201~"), [paste("\u{fffd}")]);
}

#[test]
fn a_paste_waits_for_its_end() {
    let mut decoder = Decoder::default();
    let mut out = Vec::new();
    decoder.feed(b"\x1b[200~one\x1b[20", &mut out);
    assert!(!decoder.is_waiting());
    decoder.flush(&mut out);
    decoder.feed(b"1~x", &mut out);
    assert_eq!(out, [TerminalInput::Paste("one".into()), TerminalInput::Key(KeyCode::Char('x').into())]);
}

#[test]
fn a_huge_paste_is_cut_at_a_character() {
    let mut decoder = Decoder::default();
    let mut out = Vec::new();
    decoder.feed(b"\x1b[200~", &mut out);
    for _ in 0..300 {
        decoder.feed("漢".repeat(2000).as_bytes(), &mut out);
    }
    decoder.feed(b"\x1b[201~", &mut out);
    assert_eq!(out, [TerminalInput::Paste("漢".repeat(MAX_PASTE_BYTES / 3))]);
}

/// Generates input bytes: arbitrary ones, and parts of sequences in any order.
fn stream() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        2 => prop::collection::vec(any::<u8>(), 0..6),
        2 => "[a-z0-9;:<>?$~é漢🦀]{0,6}".prop_map(String::into_bytes),
        6 => prop::sample::select(vec![
            "\x1b", "\x1b[", "\x1bO", "\x1b]", "\x1bP", "\x1b\\", "\x07", "\x1b[M", "\x1b[[", "\x1b[200~", "\x1b[201~",
            "\x1b[A", "\x1b[1;5C", "\x1b[97;1:3u", "\x1b[27;5;13~", "\x1b[<0;1;1M", "\x1b[3$", "\r", "\x18", "~", "u", "A",
        ]).prop_map(|piece| piece.as_bytes().to_vec()),
    ];
    prop::collection::vec(piece, 0..24).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn it_does_not_matter_where_reads_end(
        bytes in stream(),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..12),
    ) {
        let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
        cuts.sort_unstable();
        let mut decoder = Decoder::default();
        let mut out = Vec::new();
        let mut from = 0;
        for to in cuts {
            decoder.feed(&bytes[from..to], &mut out);
            from = to;
        }
        decoder.feed(&bytes[from..], &mut out);
        decoder.flush(&mut out);
        prop_assert_eq!(&out, &all_at_once(&bytes));
        prop_assert_eq!(&out, &byte_by_byte(&bytes));
    }

    #[test]
    fn typed_characters_are_never_controls_and_carry_no_shift(bytes in stream()) {
        for input in all_at_once(&bytes) {
            if let TerminalInput::Key(Key { code: KeyCode::Char(c), mods }) = input {
                prop_assert!(!c.is_control() && !mods.shift, "{:?} {:?}", c, mods);
            }
        }
    }

    #[test]
    fn flushing_leaves_nothing_to_wait_for(bytes in stream()) {
        let mut decoder = Decoder::default();
        let mut out = Vec::new();
        decoder.feed(&bytes, &mut out);
        decoder.flush(&mut out);
        prop_assert!(!decoder.is_waiting());
    }

    #[test]
    fn a_csi_sequence_of_any_kind_types_nothing(params in "[0-9;:<=>?]{0,80}", end in b'@'..=b'~') {
        // The test above covers the two sequences that continue after their final byte.
        prop_assume!(!(params.is_empty() && (end == b'M' || end == b'[')) && !(params == "200" && end == b'~'));
        prop_assume!(end != b'u' && !params.starts_with("27;"));
        let bytes = [b"\x1b[", params.as_bytes(), &[end], b"x"].concat();
        let out = all_at_once(&bytes);
        let chars = out.iter().filter(|i| matches!(i, TerminalInput::Key(Key { code: KeyCode::Char(_), .. }))).count();
        prop_assert_eq!(chars, 1, "{:?}", out);
    }
}

#[test]
fn the_reply_about_the_background_is_read_however_it_is_split_and_is_never_typed() {
    for (reply, expected) in [
        ("\x1b]11;rgb:ffff/ffff/ffff\x1b\\", Some(Background::Told([255; 3]))),
        ("\x1b]11;rgb:1e/1e/2e\x07", Some(Background::Told([0x1e, 0x1e, 0x2e]))),
        ("\x1b]11;nonsense\x07", None),
        ("\x1b]11;\u{e9}:0/0\x07", None),
    ] {
        for split in 1..reply.len() {
            let mut decoder = Decoder::default();
            let mut inputs = Vec::new();
            decoder.replies.expect_background();
            decoder.feed(&reply.as_bytes()[..split], &mut inputs);
            // The device flushes only a decoder that is waiting.
            if split > 1 && decoder.is_waiting() {
                panic!("{reply:?} would be cut at {split}");
            }
            decoder.feed(&reply.as_bytes()[split..], &mut inputs);
            assert_eq!((decoder.replies.take_background(), inputs), (expected, vec![]), "{reply:?} at {split}");
        }
    }
}

#[test]
fn a_reply_that_nobody_asked_for_is_dropped() {
    let mut decoder = Decoder::default();
    let mut inputs = Vec::new();
    decoder.feed(b"\x1b]11;rgb:ffff/ffff/ffff\x07", &mut inputs);
    assert_eq!((decoder.replies.take_background(), inputs), (None, vec![]));
}

#[test]
fn the_attributes_asked_for_behind_the_background_end_the_wait_for_it() {
    let mut decoder = Decoder::default();
    let mut inputs = Vec::new();
    decoder.replies.expect_background();
    decoder.feed(b"x", &mut inputs);
    assert!(decoder.replies.are_due());
    decoder.feed(b"\x1b[?62;22;52c", &mut inputs);
    assert!(!decoder.replies.are_due());
    assert_eq!(inputs, [TerminalInput::Key(KeyCode::Char('x').into())]);
    // A late reply is still read.
    decoder.feed(b"\x1b]11;rgb:0/0/0\x07", &mut inputs);
    assert_eq!((decoder.replies.take_background(), inputs.len()), (Some(Background::Told([0; 3])), 1));
}

#[test]
fn the_cursors_rows_are_those_of_the_last_replies_and_are_never_typed() {
    let mut decoder = Decoder::default();
    let mut inputs = Vec::new();
    decoder.feed(b"\x1b[7;1R", &mut inputs);
    assert_eq!(decoder.replies.take_cursor_rows(1), None);
    // One query had a late reply, and two more queries follow.
    decoder.replies.expect_cursor(1);
    decoder.replies.expect_cursor(2);
    decoder.feed(b"\x1b[5;10R\x1b[6;10R", &mut inputs);
    assert_eq!(decoder.replies.take_cursor_rows(2), None);
    decoder.feed(b"\x1b[;R\x1b[0;1R\x1b[70000;1R\x1b[12;40R", &mut inputs);
    assert_eq!((decoder.replies.take_cursor_rows(2), decoder.replies.are_due()), (Some(vec![5, 11]), false));
    assert_eq!((decoder.replies.take_cursor_rows(1), inputs), (None, vec![]));
}

#[test]
fn a_sequence_split_behind_an_escape_that_was_taken_at_once_types_nothing() {
    for (rest, key) in [
        ("[A", Some(KeyCode::Up.into())),
        ("OB", Some(KeyCode::Down.into())),
        ("[<0;1;1M", None),
        ("\r", Some(KeyCode::Enter.into())),
        ("b", Some(KeyCode::Char('b').into())),
        ("\x1b[A", Some(KeyCode::Up.into())),
    ] {
        let mut decoder = Decoder::default();
        let mut inputs = Vec::new();
        decoder.feed(b"\x1b", &mut inputs);
        decoder.take_escape(&mut inputs);
        assert_eq!(inputs, [TerminalInput::Key(KeyCode::Esc.into())]);
        decoder.feed(rest.as_bytes(), &mut inputs);
        decoder.flush(&mut inputs);
        assert_eq!(inputs[1..], key.map(TerminalInput::Key).into_iter().collect::<Vec<_>>(), "{rest:?}");
    }
}

#[test]
fn an_escape_that_was_taken_at_once_is_one_key() {
    let mut decoder = Decoder::default();
    let mut inputs = Vec::new();
    decoder.feed(b"\x1b", &mut inputs);
    decoder.take_escape(&mut inputs);
    decoder.take_escape(&mut inputs);
    decoder.flush(&mut inputs);
    decoder.feed(b"j", &mut inputs);
    assert_eq!(inputs, [KeyCode::Esc, KeyCode::Char('j')].map(|code| TerminalInput::Key(code.into())));
}

#[test]
fn a_reply_that_is_half_read_when_a_question_comes_is_not_typed_into_it() {
    let mut decoder = Decoder::default();
    let mut inputs = Vec::new();
    decoder.replies.expect_background();
    decoder.feed(b"\x1b]11;rgb:ffff/", &mut inputs);
    decoder.restart();
    decoder.feed(b"ffff/ffff\x07\x1b[?6", &mut inputs);
    decoder.restart();
    decoder.feed(b"2cx", &mut inputs);
    assert_eq!(inputs, [TerminalInput::Key(KeyCode::Char('x').into())]);
    assert_eq!(decoder.replies.take_background(), Some(Background::Told([255; 3])));
}

#[test]
fn a_reply_whose_end_is_lost_swallows_no_key_for_long_and_enter_sends_nothing_behind_it() {
    let heard = |typed: &[u8]| {
        let mut decoder = Decoder::default();
        let mut inputs = Vec::new();
        decoder.replies.expect_background();
        decoder.feed(b"\x1b]11;rgb:ffff/ff", &mut inputs);
        assert!(decoder.is_in_reply() && !decoder.is_waiting());
        decoder.feed(typed, &mut inputs);
        (inputs, decoder)
    };
    let keys = |codes: &[KeyCode]| codes.iter().map(|code| TerminalInput::Key((*code).into())).collect::<Vec<_>>();
    assert_eq!(heard(b"\x03").0, [TerminalInput::Key(Key::ctrl('c'))]);
    assert_eq!(heard(b"\x1b[B\r").0, keys(&[KeyCode::Down, KeyCode::Enter]));
    // These bytes may belong to the reply, so Enter does not confirm them as typed text.
    assert_eq!(heard(b"4ab\r4\r").0, []);
    // The first byte that cannot belong to the reply ends the long wait for its rest.
    let (mut inputs, mut decoder) = heard(b"j\r");
    assert!(inputs.is_empty() && decoder.is_waiting() && !decoder.is_in_reply());
    decoder.flush(&mut inputs);
    decoder.feed(b"j\r", &mut inputs);
    assert_eq!(inputs, keys(&[KeyCode::Char('j'), KeyCode::Enter]));
}

/// Replies with text that would answer a question, in every form. No reply ends before its last bytes.
const TALKATIVE: [&[u8]; 9] = [
    b"\x1b]l1\n2\r\x1b\\",
    b"\x1b]11;rgb:0/0\n1\r\x07",
    b"\x1bP1$r\r\n1\r\n\x1b\\",
    b"\x1b_\xc3\x9c1\r\x1b\\",
    b"\x9d11;rgb:0/0/0\n1\r\x9c",
    b"\x9d11;\xc3\x9c1\r\x9c",
    b"\xc2\x9d11;\xc3\x9c1\n2\r\xc2\x9c",
    b"\x9b?62;22c",
    b"\xc2\x9b?62;22c",
];

#[test]
fn a_reply_with_line_ends_or_in_eight_bits_is_neither_keys_nor_answers() {
    for reply in TALKATIVE {
        for is_expected in [false, true] {
            for split in 0..=reply.len() {
                let mut decoder = Decoder::default();
                let mut inputs = Vec::new();
                if is_expected {
                    decoder.replies.expect_background();
                }
                decoder.feed(&reply[..split], &mut inputs);
                decoder.feed(&reply[split..], &mut inputs);
                decoder.feed(b"x", &mut inputs);
                let reply = reply.escape_ascii();
                assert_eq!(inputs, [TerminalInput::Key(KeyCode::Char('x').into())], "{reply} cut at {split}");
            }
        }
    }
}

#[test]
fn a_reply_in_eight_bits_is_read_as_the_one_in_seven() {
    for reply in [
        "\x1b]11;rgb:ffff/ffff/ffff\x1b\\\x1b[?62c".as_bytes(),
        b"\x9d11;rgb:f/f/f\x9c\x9b?62c",
        b"\xc2\x9d11;rgb:f/f/f\xc2\x9c\xc2\x9b?62c",
    ] {
        let mut decoder = Decoder::default();
        let mut inputs = Vec::new();
        decoder.replies.expect_background();
        decoder.feed(reply, &mut inputs);
        assert_eq!((decoder.replies.take_background(), inputs), (Some(Background::Told([255; 3])), vec![]));
        assert!(!decoder.replies.are_due());
    }
    // Keys in eight bits are decoded, too.
    check(b"\x9bA\x8fB\xc2\x9b3~", &[key(KeyCode::Up), key(KeyCode::Down), key(KeyCode::Delete)]);
}

#[test]
fn a_sequence_that_is_too_long_becomes_no_key_of_what_fits() {
    let long = |head: &str, end: &str| format!("\x1b{head}{}{end}", "0".repeat(MAX_PARAM_BYTES));
    check(long("[13;1;", "u"), &[]);
    check(long("[1;5:1;", "A"), &[]);
    check("\x1b[13;1;00u", &[key(KeyCode::Enter)]);
}
