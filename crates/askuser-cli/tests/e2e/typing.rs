//! Tests typed text: scripts of the world, pastes, drafts and limits.

use crate::terminal::{Select, Stage, Terminal, example, input};
use serde_json::json;
use std::time::{Duration, Instant};

/// The column where the text begins, after the border, the indent and `Please specify: `.
const START: u16 = 1 + 8 + 16;

/// Returns a prompt whose field for Other is open.
fn typing() -> Terminal {
    let mut terminal = Stage::new().ask(&[&example("package-manager")]);
    terminal.wait_for("? keys");
    terminal.keys("4");
    terminal.wait_for("Please specify:");
    terminal
}

/// Returns the row of the text field.
fn row(terminal: &Terminal) -> u16 {
    let at = terminal.rows().iter().position(|row| row.contains("Please specify:"));
    u16::try_from(at.expect("a field")).expect("a row")
}

/// Checks that typing this text moves the visible hardware cursor this many columns from the start. The text is then
/// the answer.
#[track_caller]
fn check_caret(text: &str, columns: u16) {
    let mut terminal = typing();
    let row = row(&terminal);
    terminal.wait_for_cursor(row, START);
    terminal.keys(text);
    terminal.wait_for_cursor(row, START + columns);
    assert!(!terminal.look(vt100::Screen::hide_cursor));
    terminal.keys("<enter>");
    assert_eq!(terminal.finish().typed(), text);
}

/// Checks that Backspace after `text` leaves `left`.
#[track_caller]
fn check_backspace(text: &str, left: &str) {
    let mut terminal = typing();
    terminal.keys(text);
    terminal.keys("<bs>");
    terminal.keys("<enter>");
    assert_eq!(terminal.finish().typed(), left);
}

#[test]
fn the_cursor_follows_plain_text() {
    check_caret("bun", 3);
}

#[test]
fn the_cursor_follows_ideographs_of_two_columns() {
    check_caret("数据库", 6);
}

#[test]
fn the_cursor_follows_hangul_and_kana() {
    check_caret("한글かな", 8);
}

#[test]
fn the_cursor_follows_emoji() {
    check_caret("🎉👍", 4);
}

#[test]
fn the_cursor_follows_an_emoji_of_several_parts() {
    check_caret("a👨\u{200d}👩\u{200d}👧b", 4);
}

#[test]
fn the_cursor_does_not_move_for_a_combining_mark() {
    check_caret("cafe\u{301}", 4);
}

#[test]
fn the_cursor_follows_text_from_right_to_left() {
    check_caret("שלום", 4);
    check_caret("مرحبا", 5);
}

#[test]
fn the_cursor_goes_back_over_a_wide_character_in_one_step() {
    let mut terminal = typing();
    let row = row(&terminal);
    terminal.keys("a数b");
    terminal.wait_for_cursor(row, START + 4);
    terminal.keys("<left><left>");
    terminal.wait_for_cursor(row, START + 1);
    terminal.keys("据<enter>");
    assert_eq!(terminal.finish().typed(), "a据数b");
}

#[test]
fn backspace_removes_an_ideograph() {
    check_backspace("数据", "数");
}

#[test]
fn backspace_removes_a_letter_with_its_mark() {
    check_backspace("cafe\u{301}", "caf");
}

#[test]
fn backspace_removes_a_family_at_once() {
    check_backspace("a👨\u{200d}👩\u{200d}👧", "a");
}

#[test]
fn backspace_removes_a_flag_at_once() {
    check_backspace("a🇩🇪", "a");
}

#[test]
fn a_character_that_arrives_byte_by_byte_is_one_character() {
    let mut terminal = typing();
    for byte in "数é👍".bytes() {
        terminal.write(&[byte]);
    }
    terminal.wait_for("👍");
    terminal.keys("<enter>");
    assert_eq!(terminal.finish().typed(), "数é👍");
}

#[test]
fn letters_digits_and_spaces_are_text_while_typing() {
    let mut terminal = typing();
    terminal.keys("j k 1 n c d ? q");
    terminal.wait_for("j k 1 n c d ? q█");
    terminal.keys("<enter>");
    assert_eq!(terminal.finish().typed(), "j k 1 n c d ? q");
}

#[test]
fn options_in_scripts_of_the_world_are_aligned_and_answered_verbatim() {
    let options = [("数据库", "使用数据库"), ("🎉 파티", "이모지"), ("שלום", "مرحبا"), ("cafe\u{301}", "e\u{301}")];
    let stage = Stage::new().file("q.json", input("どれ？", "質問", &options, Select::Single));
    let mut terminal = stage.ask(&["q.json"]);
    terminal.wait_for("? keys");
    terminal.wait_for_rest(1);
    let marks: Vec<u16> = terminal.look(|screen| {
        let (rows, columns) = screen.size();
        let is_mark = |row: u16, column: u16| screen.cell(row, column).is_some_and(|cell| cell.contents() == "○");
        (0..rows.get()).filter_map(|row| (0..columns.get()).find(|&column| is_mark(row, column))).collect()
    });
    assert_eq!(marks, [7; 5], "{}", terminal.screen());
    // The bottom border is as long as the widest row.
    let bottom = format!("╰{}╯", "─".repeat("│        Type something else…".chars().count() - 2));
    assert!(terminal.rows().contains(&bottom), "{}", terminal.screen());
    terminal.keys("4");
    let ended = terminal.finish();
    assert_eq!(ended.picks(), json!([["cafe\u{301}"]]));
    assert_eq!(ended.screen, "\n✔ 質問: cafe\u{301}");
}

#[test]
fn a_paste_of_several_lines_is_one_answer_of_several_lines() {
    let mut terminal = typing();
    terminal.paste("one\rtwo\rthree");
    terminal.wait_for("three█");
    terminal.keys("<enter>");
    let ended = terminal.finish();
    assert_eq!(ended.typed(), "one\ntwo\nthree");
    assert_eq!(ended.screen, "\n✔ Package Mgr: one\n  ┃ two\n  ┃ three");
}

#[test]
fn a_paste_with_line_feeds_is_the_same() {
    let mut terminal = typing();
    terminal.paste("one\ntwo\r\nthree");
    terminal.wait_for("three█");
    terminal.keys("<enter>");
    assert_eq!(terminal.finish().typed(), "one\ntwo\nthree");
}

#[test]
fn a_paste_that_arrives_in_pieces_is_one_paste() {
    let mut terminal = typing();
    for piece in ["\x1b[20", "0~on", "e\r", "two\x1b[2", "01~"] {
        terminal.write(piece.as_bytes());
    }
    terminal.wait_for("two█");
    terminal.keys("<enter>");
    assert_eq!(terminal.finish().typed(), "one\ntwo");
}

#[test]
fn a_paste_followed_by_enter_in_one_write_is_text_and_then_a_key() {
    let mut terminal = typing();
    terminal.write(b"\x1b[200~one\rtwo\x1b[201~\r");
    assert_eq!(terminal.finish().typed(), "one\ntwo");
}

#[test]
fn a_pasted_escape_sequence_is_neither_a_key_nor_part_of_the_answer() {
    let mut terminal = typing();
    terminal.paste("a\x1b[31mb\x1b]0;t\x07c\u{202e}\x08d\x03");
    terminal.wait_for("abcd█");
    terminal.keys("<enter>");
    let ended = terminal.finish();
    assert_eq!((ended.typed().as_str(), ended.surprises), ("abcd", Vec::new()));
}

#[test]
fn a_paste_among_the_options_answers_nothing() {
    let mut terminal = Stage::new().ask(&[&example("database")]);
    terminal.wait_for("? keys");
    terminal.paste("3\r\r");
    terminal.wait_for("Choose Other or press n before pasting");
    assert!(terminal.screen().contains("> ○ PostgreSQL"));
    terminal.keys("2");
    assert_eq!(terminal.finish().picks(), json!([["MongoDB"]]));
}

#[test]
fn alt_enter_and_control_j_begin_a_new_line() {
    let mut terminal = typing();
    terminal.keys("one<a-enter>two<c-j>three");
    terminal.wait_for("three█");
    terminal.keys("<enter>");
    assert_eq!(terminal.finish().typed(), "one\ntwo\nthree");
}

#[test]
fn escape_while_typing_goes_back_to_the_options_and_keeps_the_draft() {
    let mut terminal = typing();
    terminal.keys("bu");
    terminal.wait_for("bu█");
    terminal.keys("<esc>");
    terminal.wait_for("enter type");
    terminal.wait_for("Please specify: bu");
    terminal.keys("<enter>");
    terminal.wait_for("bu█");
    terminal.keys("n<enter>");
    assert_eq!(terminal.finish().typed(), "bun");
}

#[test]
fn drafts_survive_moving_between_questions() {
    let mut terminal = Stage::new().ask(&[&example("authentication")]);
    terminal.wait_for("? keys");
    terminal.keys("4");
    terminal.wait_for("Please specify:");
    terminal.keys("SAML");
    terminal.wait_for("SAML█");
    terminal.keys("<tab>");
    terminal.wait_for("Question 2 of 2");
    terminal.keys("<space>");
    terminal.wait_for("> ☑ Google");
    terminal.keys("<s-tab>");
    terminal.wait_for("Please specify: SAML");
    terminal.keys("<enter>");
    terminal.wait_for("SAML█");
    terminal.keys("<enter>");
    terminal.wait_for("Send these answers");
    terminal.keys("<enter>");
    let ended = terminal.finish();
    assert_eq!((ended.typed().as_str(), ended.picks()), ("SAML", json!([[], ["Google"]])));
}

#[test]
fn an_empty_answer_is_none() {
    let mut terminal = typing();
    terminal.keys("   <enter>");
    terminal.wait_for("Type an answer, or press Esc to go back");
}

#[test]
fn a_paste_of_16_000_characters_is_taken() {
    let text = "0123456789".repeat(1_600);
    let mut terminal = typing();
    terminal.paste(&text);
    terminal.wait_for("789█");
    terminal.keys("<enter>");
    assert_eq!(terminal.finish().typed(), text);
}

#[test]
fn more_than_16_000_characters_are_refused_and_nothing_is_lost() {
    let mut terminal = typing();
    terminal.keys("kept");
    terminal.paste(&"0123456789".repeat(1_600));
    terminal.wait_for("Not pasted: 16000 characters, room for 15996 (at most 16000)");
    terminal.keys("<enter>");
    assert_eq!(terminal.finish().typed(), "kept");
}

#[test]
fn editing_keys_of_the_shell_work() {
    let mut terminal = typing();
    terminal.keys("one two<c-w>three<c-a>four <c-e>!<c-a><c-k>five<enter>");
    assert_eq!(terminal.finish().typed(), "five");
}

#[test]
fn the_cursor_is_hidden_among_the_options_and_shown_while_typing() {
    let mut terminal = Stage::new().ask(&[&example("package-manager")]);
    terminal.wait_for("? keys");
    assert!(terminal.look(vt100::Screen::hide_cursor));
    terminal.keys("4");
    terminal.wait_for("Please specify:");
    terminal.wait_for_cursor(row(&terminal), START);
    assert!(!terminal.look(vt100::Screen::hide_cursor));
    terminal.keys("<esc>");
    terminal.wait_for("enter type");
    terminal.wait_for_rest(1);
    assert!(terminal.look(vt100::Screen::hide_cursor));
}

#[test]
fn at_forty_columns_the_footer_still_says_how_to_finish_typing_and_how_to_go_back() {
    let mut terminal = Stage::new().size(40, 20).ask(&[&example("package-manager")]);
    terminal.wait_for("? keys");
    terminal.keys("4");
    terminal.wait_for("Please specify:");
    let screen = terminal.screen();
    assert!(screen.contains("enter send") && screen.contains("esc back"), "{screen}");
}

/// The time in which the rest of a sequence may arrive.
const SEQUENCE_GAP: Duration = Duration::from_millis(150);

/// Presses a key whose bytes arrive in two parts, with this pause in milliseconds, as over a slow link. If the machine
/// itself is too slow, the test starts again.
fn split(start: impl Fn() -> Terminal, rest: &str, millis: u64) -> Terminal {
    loop {
        let mut terminal = start();
        let began = Instant::now();
        terminal.keys("<esc>");
        std::thread::sleep(Duration::from_millis(millis));
        terminal.keys(rest);
        if began.elapsed() < SEQUENCE_GAP {
            return terminal;
        }
    }
}

const SLOW_LINKS: [u64; 4] = [10, 35, 80, 120];

fn choosing() -> Terminal {
    let terminal = Stage::new().ask(&[&example("database")]);
    terminal.wait_for("> ○ PostgreSQL");
    terminal
}

#[test]
fn an_arrow_key_split_by_a_slow_link_moves_and_cancels_nothing() {
    for millis in SLOW_LINKS {
        let mut terminal = split(choosing, "[B", millis);
        terminal.wait_for("> ○ MongoDB");
        terminal.keys("<enter>");
        assert_eq!(terminal.finish().picks(), json!([["MongoDB"]]), "{millis} ms");
    }
}

#[test]
fn a_split_arrow_key_with_something_to_lose_discards_nothing() {
    let marked = || {
        let mut terminal = choosing();
        terminal.keys("<space>");
        terminal.wait_for("● PostgreSQL");
        terminal
    };
    for millis in SLOW_LINKS {
        let mut terminal = split(marked, "[B", millis);
        terminal.wait_for("enter select");
        terminal.keys("<enter>");
        assert_eq!(terminal.finish().status(), ("answered".into(), 0), "{millis} ms");
    }
}

#[test]
fn a_split_arrow_key_while_typing_types_nothing() {
    for millis in SLOW_LINKS {
        let mut terminal = split(typing, "[D", millis);
        terminal.keys("<esc>");
        terminal.wait_for("esc cancel");
        assert!(!terminal.screen().contains("[D"), "{millis} ms: {}", terminal.screen());
    }
}

#[test]
fn a_split_alt_enter_while_declining_answers_nothing() {
    let declining = || {
        let mut terminal = choosing();
        terminal.keys("d");
        terminal.wait_for("enter send");
        terminal.keys("no");
        terminal.wait_for("no█");
        terminal
    };
    for millis in SLOW_LINKS {
        let mut terminal = split(declining, "<enter>", millis);
        terminal.keys("x");
        terminal.wait_for("x█");
        terminal.keys("<enter>");
        assert_eq!(terminal.finish().json()["reason"], "no\nx", "{millis} ms");
    }
}

#[test]
fn escape_that_only_goes_back_does_not_wait_for_the_rest_of_a_sequence() {
    // On a busy machine any attempt may be slow, but not every one.
    let goes_back_at_once = || {
        let mut terminal = typing();
        terminal.keys("a");
        terminal.wait_for("a█");
        let began = Instant::now();
        terminal.keys("<esc>");
        terminal.wait_for("esc cancel");
        began.elapsed() < SEQUENCE_GAP
    };
    assert!((0..30).any(|_| goes_back_at_once()));
}

#[test]
fn a_word_typed_on_other_is_the_answer_whatever_letter_it_begins_with() {
    let mut terminal = Stage::new().ask(&[&example("database")]);
    terminal.wait_for("> ○ PostgreSQL");
    terminal.keys("<down><down><down>");
    terminal.wait_for("> ○ Other");
    terminal.keys("deno");
    terminal.wait_for("deno█");
    terminal.keys("<enter>");
    assert_eq!(terminal.finish().typed(), "deno");
}
