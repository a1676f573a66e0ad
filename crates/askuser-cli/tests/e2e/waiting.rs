//! Tests that a wait for a person ends after its time limit, unless a person is there.

use crate::terminal::{RESTORED, Stage, Terminal, example};
use serde_json::json;
use std::time::{Duration, Instant};

pub(crate) fn ask(args: &[&str]) -> Terminal {
    let file = example("database");
    let terminal = Stage::new().ask(&[&[file.as_str()], args].concat());
    terminal.wait_for("? keys");
    terminal
}

#[test]
fn time_runs_out_and_nothing_is_chosen() {
    let ended = ask(&["--timeout", "1s"]).finish();
    assert_eq!(ended.json(), json!({"status": "timed_out", "answers": [], "via": "terminal"}));
    assert_eq!((ended.code, ended.modes), (Some(1), RESTORED));
    assert!(ended.screen.contains("⚠ Timed out, no answer sent"), "{}", ended.screen);
}

#[test]
fn time_that_runs_out_leaves_nothing_where_no_confirmation_is_wanted() {
    let ended = ask(&["--timeout", "1s", "--confirm", "none"]).finish();
    assert_eq!((ended.status(), ended.screen.as_str(), ended.modes), (("timed_out".into(), 1), "", RESTORED));
}

#[test]
fn the_time_left_is_shown_and_counts_down() {
    let terminal = ask(&["--timeout", "3s"]);
    terminal.wait_for("3 s left · press any key to stop the clock");
    terminal.wait_for("2 s left · press any key to stop the clock");
    terminal.wait_for("1 s left · press any key to stop the clock");
    assert_eq!(terminal.finish().status(), ("timed_out".into(), 1));
}

#[test]
fn a_key_holds_the_time() {
    let started = Instant::now();
    let mut terminal = ask(&["--timeout", "2s"]);
    terminal.wait_for("left · press any key to stop the clock");
    terminal.keys("<down>");
    terminal.wait_for("> ○ MongoDB");
    terminal.wait_gone("stop the clock");
    assert!(!terminal.shows_within(Duration::from_millis(2500).saturating_sub(started.elapsed()), "Timed out"));
    terminal.keys("<enter>");
    assert_eq!(terminal.finish().picks(), json!([["MongoDB"]]));
}

#[test]
fn what_a_file_answered_is_not_passed_off_as_the_users_when_time_runs_out() {
    let stage = Stage::new().file("answers.json", r#"{"Auth Method": "JWT"}"#);
    let terminal = stage.ask(&[&example("authentication"), "--answers", "answers.json", "--timeout", "1s"]);
    terminal.wait_for("Question 2 of 2");
    let ended = terminal.finish();
    assert_eq!((ended.status(), ended.picks()), (("timed_out".into(), 1), json!([])));
}

#[test]
fn without_a_limit_it_waits() {
    let mut terminal = ask(&[]);
    assert!(!terminal.shows_within(Duration::from_millis(1500), "left"));
    terminal.keys("1");
    assert_eq!(terminal.finish().status(), ("answered".into(), 0));
}

#[test]
fn at_a_terminal_a_person_reads_the_answer_and_no_prose_for_models() {
    let reply = r#"{"status": "discuss", "message": "why?", "answers": [{"selectedOptions": ["SQLite"]}]}"#;
    let stage = Stage::new().file("reply.json", reply);
    let id = crate::inbox::detached(&stage, "database", &[]);
    crate::inbox::run(&stage, &["answer", &id, "--reply", stage.path("reply.json").to_str().unwrap()]);
    let terminal = stage.shell(&format!("askuser wait {id}; echo done"));
    terminal.wait_for("done");
    let screen = terminal.screen();
    assert!(screen.contains("Database: SQLite") && screen.contains("why?"), "{screen}");
    assert!(!screen.contains("User") && !screen.contains("Wait for"), "{screen}");
}
