use super::*;
use proptest::prelude::*;

/// The data of the events.
fn read_in(parts: &[&[u8]]) -> (Vec<String>, Result<(), SseError>) {
    let mut parser = Parser::default();
    let mut events = Vec::new();
    let read = parts.iter().try_for_each(|part| parser.push(part, &mut events));
    events.extend(read.is_ok().then(|| parser.end()).flatten());
    (events.into_iter().map(|event| event.data).collect(), read)
}

#[test]
fn an_event_has_its_own_name_or_none() {
    let mut events = Vec::new();
    Parser::default().push(b"event: ping\n\nevent: a\nevent: b\ndata: 1\n\ndata: 2\n\n", &mut events).unwrap();
    let names: Vec<(&str, &str)> = events.iter().map(|event| (&*event.name, &*event.data)).collect();
    assert_eq!(names, [("b", "1"), ("", "2")]);
}

fn check(bytes: &[u8], expected: &[&str]) {
    let expected: Vec<String> = expected.iter().map(|data| (*data).to_owned()).collect();
    assert_eq!(read_in(&[bytes]), (expected, Ok(())));
}

#[test]
fn an_event_is_its_data_whatever_its_name() {
    check(b"event: ping\ndata: {}\n\n", &["{}"]);
}

#[test]
fn lines_end_with_lf_cr_or_both() {
    check(b"data: a\n\ndata: b\r\rdata: c\r\n\r\n", &["a", "b", "c"]);
}

#[test]
fn cr_and_lf_together_end_one_line() {
    check(b"event: x\r\ndata: a\r\ndata: b\r\n\r\n", &["a\nb"]);
}

#[test]
fn lines_of_data_are_joined() {
    check(b"data: a\ndata:\ndata: b\n\n", &["a\n\nb"]);
}

#[test]
fn only_one_space_after_the_colon_is_left_out() {
    check(b"data:  a\n\ndata:b\n\n", &[" a", "b"]);
}

#[test]
fn comments_and_other_fields_are_ignored() {
    check(b": OPENROUTER PROCESSING\n\nid: 7\nretry: 10\ndata: a\nnonsense\n\n", &["a"]);
}

#[test]
fn a_name_without_data_is_no_event() {
    check(b"event: ping\n\ndata: a\n\n", &["a"]);
}

#[test]
fn an_event_may_have_empty_data() {
    check(b"data\n\n", &[""]);
}

#[test]
fn a_byte_order_mark_may_come_first_and_nowhere_else() {
    check("\u{feff}data: a\n\n\u{feff}data: b\n\n".as_bytes(), &["a"]);
}

#[test]
fn the_last_event_needs_no_empty_line() {
    check(b"data: a\n\ndata: [DONE]\n", &["a", "[DONE]"]);
}

#[test]
fn a_last_line_without_an_end_does_not_count() {
    check(b"data: a\n\ndata: [DO", &["a"]);
}

#[test]
fn a_line_that_is_not_utf_8_is_malformed_and_events_before_it_count() {
    assert_eq!(read_in(&[b"data: a\n\ndata: \xff\n\n"]), (vec!["a".to_owned()], Err(SseError::NotUtf8)));
}

#[test]
fn a_line_without_end_is_an_error() {
    let part = vec![b'x'; MAX_EVENT_BYTES / 2 + 1];
    assert_eq!(read_in(&[&part, &part]), (Vec::new(), Err(SseError::TooLong)));
}

#[test]
fn an_event_without_end_is_an_error() {
    let line = [b"data: ".as_slice(), &vec![b'x'; MAX_EVENT_BYTES / 2 + 1], b"\n"].concat();
    assert_eq!(read_in(&[&line, &line]), (Vec::new(), Err(SseError::TooLong)));
}

fn pieces() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        Just("data: ".to_owned()),
        Just("data".to_owned()),
        Just("event: ".to_owned()),
        Just(": ".to_owned()),
        Just("\n".to_owned()),
        Just("\r".to_owned()),
        Just("\r\n".to_owned()),
        Just("\u{feff}".to_owned()),
        "[a-zé🦀:]{0,6}",
    ];
    prop::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat().into_bytes())
}

proptest! {
    #[test]
    fn any_cutting_gives_the_same_events(bytes in pieces(), cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..8)) {
        let mut at: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
        at.extend([0, bytes.len()]);
        at.sort_unstable();
        let parts: Vec<&[u8]> = at.windows(2).map(|pair| &bytes[pair[0]..pair[1]]).collect();
        let single: Vec<&[u8]> = bytes.chunks(1).collect();
        prop_assert_eq!(read_in(&parts), read_in(&[&bytes]));
        prop_assert_eq!(read_in(&single), read_in(&[&bytes]));
    }

    #[test]
    fn any_bytes_are_read_without_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let single: Vec<&[u8]> = bytes.chunks(1).collect();
        prop_assert_eq!(read_in(&single), read_in(&[&bytes]));
    }
}
