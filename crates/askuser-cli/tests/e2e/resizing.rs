//! Tests a resize at any moment. The screen must then look as if the prompt had started in the new size.
//!
//! The terminal of these tests keeps its lines, as xterm does. The terminal of the tmux tests rewraps them.

use crate::terminal::{Stage, Terminal, example};
use serde_json::json;

const SIZES: [(u16, u16); 8] = [(100, 30), (60, 20), (40, 12), (20, 5), (80, 24), (30, 40), (132, 10), (80, 24)];

fn stage(columns: u16, rows: u16) -> Stage {
    Stage::new().size(columns, rows).env("XTERM_VERSION", "XTerm(390)")
}

/// Returns the frame on the screen, without the conversation above it.
fn frame(screen: &str) -> String {
    screen.split('\n').skip_while(|line| !line.starts_with('╭')).collect::<Vec<_>>().join("\n")
}

/// Returns the screen of a prompt that starts in this size, after these keys.
fn fresh(columns: u16, rows: u16, keys: &str, text: &str) -> String {
    let mut terminal = stage(columns, rows).ask(&[&example("database")]);
    terminal.wait_until("the frame", |screen| screen.contains('╭') && screen.contains(" Database"));
    terminal.keys(keys);
    terminal.wait_for(text);
    frame(&terminal.screen())
}

#[track_caller]
fn check_frame(terminal: &Terminal, (columns, rows): (u16, u16), expected: &str) {
    terminal.wait_until(&format!("at {columns}x{rows}:\n{expected}"), |screen| frame(screen) == expected);
    assert_eq!(terminal.screen().matches('╭').count(), 1, "{}", terminal.screen());
}

/// Resizes a prompt to each size, and compares it with a prompt that started in that size.
#[track_caller]
fn check_sizes(keys: &str, text: &str, sizes: &[(u16, u16)]) -> Terminal {
    let stage = stage(80, 24);
    let mut terminal = stage.shell(&format!(
        "echo conversation; exec askuser ask --key-delay 0 --success-flash 0 {} >out 2>err",
        example("database")
    ));
    terminal.wait_for("? keys");
    terminal.keys(keys);
    terminal.wait_for(text);
    for &(columns, rows) in sizes {
        terminal.resize(columns, rows);
        check_frame(&terminal, (columns, rows), &fresh(columns, rows, keys, text));
    }
    terminal
}

#[test]
fn a_resize_while_choosing_leaves_one_clean_frame() {
    let mut terminal = check_sizes("", "Database", &SIZES);
    terminal.keys("<down><enter>");
    assert_eq!(terminal.finish().picks(), json!([["MongoDB"]]));
}

#[test]
fn a_resize_further_down_the_options_leaves_one_clean_frame() {
    let sizes = [(100, 30), (60, 20), (80, 24)];
    let mut terminal = check_sizes("<down><down>", "> ○ SQLite", &sizes);
    terminal.keys("<enter>");
    assert_eq!(terminal.finish().picks(), json!([["SQLite"]]));
}

#[test]
fn a_resize_while_typing_leaves_one_clean_frame_and_the_draft() {
    let mut terminal = check_sizes("4half a thought", "thought█", &[(100, 30), (60, 20), (50, 19), (80, 24)]);
    terminal.keys("!<enter>");
    assert_eq!(terminal.finish().typed(), "half a thought!");
}

#[test]
fn fewer_rows_while_typing_and_back_leave_no_rows_of_an_old_frame() {
    let sizes = [(80, 14), (80, 24), (80, 10), (60, 12), (80, 24)];
    let mut terminal = check_sizes("4half a thought", "thought█", &sizes);
    assert_eq!(terminal.history().matches("╭─ Database").count(), 1, "{}", terminal.history());
    terminal.keys("<enter>");
    assert_eq!(terminal.finish().screen, "conversation\n\n✔ Database: half a thought");
}

#[test]
fn a_terminal_that_does_not_say_where_the_cursor_is_is_resized_all_the_same() {
    let mut terminal = stage(80, 24).silent().ask(&[&example("database")]);
    terminal.wait_for("? keys");
    for (columns, rows) in [(60, 20), (100, 30), (80, 24)] {
        terminal.resize(columns, rows);
        terminal.keys("<down>");
        check_frame(&terminal, (columns, rows), &fresh(columns, rows, "<down>", "> ○ MongoDB"));
        terminal.keys("<up>");
    }
    terminal.keys("<down><enter>");
    assert_eq!(terminal.finish().picks(), json!([["MongoDB"]]));
}

#[test]
fn typing_goes_on_through_sizes_too_small_for_the_frame() {
    let mut terminal = stage(80, 24).ask(&[&example("database")]);
    terminal.wait_for("? keys");
    terminal.keys("4a");
    for (letter, (columns, rows)) in ('b'..).zip(SIZES) {
        terminal.resize(columns, rows);
        terminal.keys(&letter.to_string());
        let typed = format!("{letter}█");
        terminal.wait_for(&typed);
    }
    terminal.keys("<enter>");
    let ended = terminal.finish();
    assert_eq!(ended.typed(), "abcdefghi");
}

#[test]
fn the_conversation_above_survives_resizes_of_the_width() {
    let mut terminal = check_sizes("", "Database", &[(60, 24), (100, 24), (80, 24)]);
    assert!(terminal.screen().starts_with("conversation\n\n╭─ Database"), "{}", terminal.screen());
    terminal.keys("1");
    assert_eq!(terminal.finish().screen, "conversation\n\n✔ Database: PostgreSQL");
}

#[test]
fn a_resize_on_the_review_page_leaves_one_clean_frame() {
    let mut terminal = stage(80, 24).ask(&[&example("authentication")]);
    terminal.wait_for("? keys");
    terminal.keys("1<enter><enter>");
    terminal.wait_for("╭─ Review ─╮");
    for (columns, rows) in [(50, 20), (100, 30)] {
        terminal.resize(columns, rows);
        let fits = |screen: &str| screen.lines().all(|row| row.chars().count() < usize::from(columns));
        terminal.wait_until("the review", |screen| screen.contains("Send these answers") && fits(screen));
        assert_eq!(terminal.screen().matches("╭─ Review ─╮").count(), 1, "{}", terminal.screen());
    }
    terminal.keys("<enter>");
    assert_eq!(terminal.finish().status(), ("answered".into(), 0));
}

#[test]
fn a_storm_of_resizes_and_keys_ends_in_one_clean_frame() {
    let mut terminal = stage(80, 24).ask(&[&example("database")]);
    terminal.wait_for("? keys");
    for n in 0..60u16 {
        terminal.resize(20 + n * 7 % 90, 5 + n * 5 % 30);
        terminal.keys(if n % 3 == 0 { "<up>" } else { "<down>" });
    }
    terminal.keys("<up><up><up><up><up><up>");
    terminal.resize(80, 24);
    terminal.keys("<pgup>");
    terminal.wait_for("? keys");
    check_frame(&terminal, (80, 24), &fresh(80, 24, "", "> ○ PostgreSQL"));
    terminal.keys("<enter>");
    assert_eq!(terminal.finish().picks(), json!([["PostgreSQL (Recommended)"]]));
}

#[test]
fn a_terminal_of_one_row_still_takes_an_answer() {
    let mut terminal = stage(80, 1).ask(&[&example("database")]);
    terminal.wait_until("something", |screen| !screen.is_empty());
    for _ in 0..60 {
        terminal.keys("<pgdn>");
    }
    terminal.keys("<up><up><up><up><up><enter><enter><enter>");
    assert_eq!(terminal.finish().status(), ("answered".into(), 0));
}

#[test]
fn a_terminal_that_does_not_tell_its_size_is_taken_for_the_classic_one() {
    let mut terminal = stage(80, 24).shell(&format!(
        "stty cols 0 rows 0; exec askuser ask --key-delay 0 --success-flash 0 {} >out 2>err",
        example("database")
    ));
    // More columns show more keys, and fewer columns show fewer.
    terminal.wait_for("\n  enter select • n note • c discuss • d decline • esc cancel • ? keys");
    terminal.keys("1");
    assert_eq!(terminal.finish().status(), ("answered".into(), 0));
}
