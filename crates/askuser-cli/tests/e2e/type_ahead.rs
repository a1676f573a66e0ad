//! Tests that keys typed before the prompt was readable give no answer.

use crate::terminal::{PATIENCE, Stage, example};
use serde_json::json;
use std::fs;
use std::time::{Duration, Instant};

const DOWN: (&str, &str) = ("<down>", "> ○ MongoDB");

/// Types while another program runs, then starts the prompt. Checks that the typed keys have no effect.
#[track_caller]
fn check_discarded(args: &str, keys: &str, echo: &str, unanswered: &str, (harmless, shown): (&str, &str)) {
    let stage = Stage::new();
    let script = format!(
        "echo busy; while [ ! -e go ]; do sleep 0.02; done; clear; exec askuser ask --success-flash 0 {args} {} >out 2>err",
        example("database")
    );
    let mut terminal = stage.shell(&script);
    terminal.wait_for("busy");
    terminal.keys(keys);
    // The terminal echoes the text that the next reader will receive.
    terminal.wait_for(echo);
    fs::write(stage.path("go"), "").unwrap();
    terminal.wait_for(unanswered);
    // Once this key has its effect, all earlier keys would have had theirs.
    terminal.keys(harmless);
    terminal.wait_for(shown);
    assert_eq!(stage.read("out"), "");
    terminal.signal(rustix::process::Signal::TERM);
    assert_eq!(terminal.finish().stdout, "");
}

#[test]
fn enter_typed_before_the_prompt_answers_nothing() {
    check_discarded("--key-delay 0", "x<enter>", "x", "> ○ PostgreSQL", DOWN);
}

#[test]
fn a_digit_and_arrows_typed_before_the_prompt_answer_nothing() {
    check_discarded("--key-delay 0", "<down><down>3", "3", "> ○ PostgreSQL", DOWN);
}

#[test]
fn escape_typed_before_the_prompt_cancels_nothing() {
    check_discarded("--key-delay 0", "x<esc><esc>", "x", "> ○ PostgreSQL", DOWN);
}

#[test]
fn a_line_typed_before_line_mode_answers_nothing() {
    check_discarded(
        "--plain",
        "2<enter>",
        "2",
        "Choose 1 to 4 (? for help):",
        ("9<enter>", "Type a number from 1 to 4"),
    );
}

#[test]
fn enter_space_and_digits_are_ignored_until_the_prompt_is_armed() {
    let mut terminal =
        Stage::new().askuser(&["ask", "--key-delay", "3s", "--success-flash", "0", &example("database")], "");
    terminal.wait_for("? keys");
    let seen = Instant::now();
    terminal.keys("<enter><space>3<down>");
    // The rest of the keys that were typed at once is ignored with its first key.
    terminal.wait_for("Not taken: keys count once you stop typing for a moment");
    terminal.wait_for("> ○ PostgreSQL");
    assert!(!terminal.screen().contains('●'), "{}", terminal.screen());
    // After a pause, the key counts.
    while !terminal.shows_within(Duration::from_secs(1), "✔ Database: PostgreSQL") {
        assert!(seen.elapsed() < PATIENCE, "{}", terminal.screen());
        terminal.keys("<enter>");
    }
    assert_eq!(terminal.finish().picks(), json!([["PostgreSQL (Recommended)"]]));
}

#[test]
fn a_paste_is_ignored_until_the_prompt_is_armed() {
    let mut terminal = Stage::new().askuser(&["ask", "--key-delay", "1h", &example("database")], "");
    terminal.wait_for("? keys");
    terminal.paste("3\r");
    terminal.wait_for("Not taken: keys count once you stop typing for a moment");
    terminal.wait_for("> ○ PostgreSQL");
}

#[test]
fn the_arming_delay_is_on_by_default() {
    // The key is written right after the first frame, to arrive early. If the machine was too slow, Enter counts.
    let stage = Stage::new();
    let row = stage.run(&["config"]).stdout;
    assert!(row.lines().any(|line| line.starts_with("key_delay       250ms ")), "{row}");
}
