//! Long text is read to its end before a choice, and no option off the screen is chosen unread.

use crate::terminal::{Select, Stage, Terminal, input};
use serde_json::json;
use std::collections::BTreeSet;

const LABELS: [&str; 4] = ["Alpha", "Beta", "Gamma", "Delta"];

/// Returns numbered words that show their position, with exactly `chars` characters.
fn words(prefix: char, chars: usize) -> String {
    let mut text: String = (0..).map(|n| format!("{prefix}{n:03} ")).take(chars / 5).collect();
    text.truncate(text.trim_end().len());
    text.extend(std::iter::repeat_n('!', chars - text.len()));
    text
}

/// Returns the input of a question of 2,000 characters with four descriptions of 200.
fn long() -> String {
    let descriptions = ['a', 'b', 'c', 'd'].map(|prefix| words(prefix, 200));
    let options: Vec<(&str, &str)> = LABELS.into_iter().zip(descriptions.iter().map(String::as_str)).collect();
    input(&words('q', 2000), "Long", &options, Select::Single)
}

fn ask(columns: u16, rows: u16) -> Terminal {
    let stage = Stage::new().size(columns, rows).file("long.json", long());
    let terminal = stage.ask(&["long.json"]);
    terminal.wait_until("the whole frame", |screen| screen.contains("╭ Long") && screen.contains('╰'));
    terminal.wait_for_rest(1);
    terminal
}

/// Returns the words of the question that are on the screen.
fn seen(terminal: &Terminal) -> BTreeSet<String> {
    let screen = terminal.screen();
    let own =
        |word: &&str| word.len() >= 4 && word.is_char_boundary(4) && word[1..4].chars().all(|c| c.is_ascii_digit());
    screen.split_whitespace().filter(own).map(|word| word[..4].to_owned()).collect()
}

/// Returns every word of the question and its descriptions.
fn all() -> BTreeSet<String> {
    let long = [('q', 400), ('a', 40), ('b', 40), ('c', 40), ('d', 40)];
    long.into_iter().flat_map(|(prefix, count)| (0..count).map(move |n| format!("{prefix}{n:03}"))).collect()
}

/// Returns whether lines are hidden below the screen.
fn has_more(terminal: &Terminal) -> bool {
    let rows = terminal.rows();
    // The beginning of the footer shows this. On a tiny screen without a footer, the last row is Other's.
    match rows.iter().find(|row| row.starts_with('╰')) {
        Some(footer) => {
            let first = footer.split(" · ").next().unwrap_or_default();
            first.contains('↓') && first.contains(|c: char| c.is_ascii_digit())
        }
        None => !rows.iter().any(|row| row.contains("Other")),
    }
}

/// Presses a key until the end, and returns all words that were visible.
#[track_caller]
fn read(terminal: &mut Terminal, key: &str) -> BTreeSet<String> {
    let mut read = seen(terminal);
    while has_more(terminal) {
        terminal.step(key);
        read.extend(seen(terminal));
    }
    read
}

/// Checks that a key leads through the whole text. Page keys omit the descriptions, which are shown only with the
/// cursor on their options.
#[track_caller]
fn check_read(columns: u16, rows: u16, key: &str) {
    let mut terminal = ask(columns, rows);
    let read = read(&mut terminal, key);
    let expected = all().into_iter().filter(|word| key == "<down>" || word.starts_with('q'));
    assert_eq!(expected.filter(|word| !read.contains(word)).collect::<Vec<_>>(), Vec::<String>::new());
}

#[test]
fn everything_is_read_with_page_down_at_80_by_24() {
    check_read(80, 24, "<pgdn>");
}

#[test]
fn everything_is_read_with_page_down_at_40_by_12() {
    check_read(40, 12, "<pgdn>");
}

#[test]
fn everything_is_read_with_the_arrow_at_80_by_24() {
    check_read(80, 24, "<down>");
}

#[test]
fn everything_is_read_with_the_arrow_at_40_by_12() {
    check_read(40, 12, "<down>");
}

#[test]
fn everything_is_read_with_page_down_at_20_by_5() {
    check_read(20, 5, "<pgdn>");
}

/// Goes to the end, then up to the first word. Every word must be visible on the way up.
#[track_caller]
fn check_read_upwards(columns: u16, rows: u16) {
    let mut terminal = ask(columns, rows);
    read(&mut terminal, "<down>");
    let mut read = seen(&terminal);
    while !terminal.screen().contains("q000") {
        terminal.step("<up>");
        read.extend(seen(&terminal));
    }
    let unread: Vec<String> = all().difference(&read).cloned().collect();
    assert_eq!(unread, Vec::<String>::new());
}

#[test]
fn everything_is_read_again_on_the_way_up_at_80_by_24() {
    check_read_upwards(80, 24);
}

#[test]
fn a_row_longer_than_the_screen_is_read_back_to_its_beginning_before_it_is_left() {
    let mut terminal = ask(20, 5);
    while !terminal.screen().contains("c039") {
        terminal.step("<down>");
    }
    let mut read = seen(&terminal);
    while !terminal.screen().contains("Gamma") {
        terminal.step("<up>");
        read.extend(seen(&terminal));
    }
    let row: BTreeSet<String> = (0..40).map(|n| format!("c{n:03}")).collect();
    assert_eq!(row.difference(&read).collect::<Vec<_>>(), Vec::<&String>::new());
}

#[test]
fn nothing_is_wider_than_the_screen() {
    for (columns, rows) in [(80, 24), (40, 12), (20, 5)] {
        let terminal = ask(columns, rows);
        assert!(terminal.rows().iter().all(|row| row.chars().count() < columns.into()), "{}", terminal.screen());
        assert!(terminal.rows().len() <= rows.into());
    }
}

#[track_caller]
fn check_answered(columns: u16, rows: u16) {
    let mut terminal = ask(columns, rows);
    while !terminal.screen().contains("> 4 ○ Delta") {
        terminal.step("<down>");
    }
    terminal.keys("<enter>");
    assert_eq!(terminal.finish().picks(), json!([["Delta"]]));
}

#[test]
fn a_long_question_is_answered_at_80_by_24() {
    check_answered(80, 24);
}

#[test]
fn a_long_question_is_answered_at_40_by_12() {
    check_answered(40, 12);
}

/// Checks that these keys answer nothing when a long question is first shown. They scroll to the option that they mean.
#[track_caller]
fn check_unread(key: &str, shown: &str) {
    for (columns, rows) in [(80, 24), (40, 12)] {
        let stage = Stage::new().size(columns, rows).file("long.json", long());
        let mut terminal = stage.ask(&["long.json"]);
        terminal.wait_for("╭ Long");
        assert!(!terminal.screen().contains(shown));
        terminal.keys(key);
        terminal.wait_for(shown);
        assert_eq!(stage.read("out"), "");
    }
}

#[test]
fn enter_on_an_option_off_the_screen_only_shows_it() {
    check_unread("<enter>", "> 1 ○ Alpha");
}

#[test]
fn space_on_an_option_off_the_screen_only_shows_it() {
    check_unread("<space>", "> 1 ○ Alpha");
}

#[test]
fn a_digit_for_an_option_off_the_screen_only_shows_it() {
    check_unread("4", "> 4 ○ Delta");
}

#[test]
fn a_digit_for_other_off_the_screen_only_shows_it() {
    check_unread("5", "> 5 ○ Other");
}

#[test]
fn two_enters_in_one_write_choose_what_the_first_one_showed() {
    let mut terminal = ask(80, 24);
    terminal.keys("<enter><enter>");
    assert_eq!(terminal.finish().picks(), json!([["Alpha"]]));
}

#[test]
fn the_border_says_how_much_more_there_is() {
    let mut terminal = ask(80, 24);
    terminal.wait_for("more lines, PgDn");
    while has_more(&terminal) {
        terminal.step("<pgdn>");
    }
    terminal.wait_for("more lines, PgUp");
}

#[test]
fn a_long_answer_scrolls_with_its_caret() {
    let mut terminal = ask(40, 12);
    // Typing is no choice, so the number of Other always opens it.
    terminal.keys("5");
    terminal.wait_for("Please specify:");
    let text = words('t', 1000);
    terminal.keys(&text);
    terminal.wait_for("t199!█");
    terminal.look(|screen| assert!(!screen.hide_cursor()));
    terminal.keys("<enter>");
    assert_eq!(terminal.finish().typed(), text);
}
