//! The live list of the inbox, at a real terminal.

use crate::inbox::{id, pending, run};
use crate::terminal::{RESTORED, Stage, Terminal, example};

fn put(stage: &Stage, name: &str, from: &str) {
    let args = ["ask", &example(name), "--via", "inbox", "--popup", "none", "--detach", "--from", from];
    assert_eq!(run(stage, &args).code, Some(75));
}

fn list(stage: &Stage) -> Terminal {
    stage.shell("exec askuser inbox --arm 0 --flash 0 2>err")
}

#[test]
fn a_question_is_found_opened_and_answered_and_moves_to_history() {
    let stage = Stage::new();
    put(&stage, "database", "claude-code");
    put(&stage, "features", "codex");
    let mut terminal = list(&stage);
    terminal.wait_for("Inbox · 2 waiting");
    terminal.wait_for("> 0 s");
    assert!(terminal.screen().contains("Robust relational DB"), "the question is previewed:\n{}", terminal.screen());
    terminal.keys("<down>");
    terminal.wait_for("codex · ");
    terminal.keys("<up>");
    terminal.wait_for("claude-code · ");
    terminal.keys("<enter>");
    terminal.wait_for("Asked by: claude-code in ");
    terminal.keys("3");
    terminal.wait_for("✔ Database: SQLite");
    terminal.wait_for("Inbox · 1 waiting");
    terminal.keys("h");
    terminal.wait_for("Inbox · history, 1 ended");
    terminal.wait_for("Database: SQLite ← Which database");
    terminal.keys("q");
    let ended = terminal.finish();
    assert_eq!((ended.code, ended.modes), (Some(0), RESTORED));
}

#[test]
fn new_questions_appear_and_ring_and_those_answered_elsewhere_go() {
    let stage = Stage::new();
    let mut terminal = list(&stage);
    terminal.wait_for("Nothing waits.");
    put(&stage, "database", "claude-code");
    terminal.wait_for("Inbox · 1 waiting");
    terminal.wait_raw("\x07");
    let asked = id(&pending(&stage, 1)[0]).to_owned();
    run(&stage, &["answer", &asked, "--select", "SQLite"]);
    terminal.wait_for("Nothing waits.");
    terminal.keys("q");
    assert_eq!(terminal.finish().modes, RESTORED);
}

#[test]
fn the_cursor_stays_on_its_question_when_one_above_goes() {
    let stage = Stage::new();
    for (name, from) in [("database", "claude-code"), ("features", "codex"), ("package-manager", "gemini")] {
        put(&stage, name, from);
    }
    let mut terminal = list(&stage);
    terminal.wait_for("Inbox · 3 waiting");
    terminal.keys("<down>");
    terminal.wait_for(" · codex · ");
    let first = id(&pending(&stage, 3)[0]).to_owned();
    run(&stage, &["answer", &first, "--select", "SQLite"]);
    terminal.wait_for("Inbox · 2 waiting");
    let screen = terminal.screen();
    assert!(screen.contains(" · codex · ") && !screen.contains(" · gemini · "), "the same is previewed:\n{screen}");
    assert!(screen.lines().any(|line| line.starts_with("> ") && line.contains("codex")), "{screen}");
    terminal.keys("q");
    terminal.finish();
}

#[test]
fn the_list_can_be_filtered_and_a_question_withdrawn_after_asking_once_more() {
    let stage = Stage::new();
    put(&stage, "database", "claude-code");
    put(&stage, "features", "codex");
    let mut terminal = list(&stage);
    terminal.wait_for("Inbox · 2 waiting");
    terminal.keys("/");
    terminal.wait_for("/█");
    terminal.keys("codex");
    terminal.wait_for("Inbox · 1 waiting · containing codex");
    terminal.keys("<enter>");
    terminal.wait_for("w withdraw");
    terminal.keys("w");
    terminal.wait_for("Withdraw it?");
    terminal.keys("j");
    terminal.wait_gone("Withdraw it?");
    assert_eq!(pending(&stage, 2).len(), 2, "any other key keeps it");
    terminal.keys("w");
    terminal.wait_for("Withdraw it?");
    terminal.keys("w");
    terminal.wait_for("Nothing contains that.");
    terminal.keys("<esc>");
    terminal.wait_for("Inbox · 1 waiting");
    assert_eq!(pending(&stage, 1)[0]["origin"]["agent"], "claude-code");
    terminal.keys("<c-c>");
    assert_eq!(terminal.finish().modes, RESTORED);
}

#[test]
fn a_small_terminal_still_shows_what_waits_and_what_it_is_about() {
    let stage = Stage::new().size(40, 12);
    put(&stage, "database", "claude-code");
    put(&stage, "features", "codex");
    let mut terminal = list(&stage);
    terminal.wait_for("Inbox · 2 waiting");
    terminal.wait_for("Which database should we use");
    terminal.wait_for("Enter answer");
    terminal.resize(100, 30);
    terminal.wait_for("h history");
    terminal.keys("q");
    assert_eq!(terminal.finish().modes, RESTORED);
}

#[test]
fn hostile_text_stays_inside_its_rows() {
    let stage = Stage::new();
    let args = [
        "ask",
        "--via",
        "inbox",
        "--popup",
        "none",
        "--detach",
        "--from",
        "\x1b[2J\x1b]0;x\x07 evil\nInbox · 0 waiting",
    ];
    let question = "Run it?\x1b[31m\n> 0 s  root  Deploy: Approved";
    let quick = ["-q", question, "-o", "Yes: do\u{202e}it", "-o", "No: don't"];
    assert_eq!(run(&stage, &[&args[..], &quick].concat()).code, Some(75));
    let mut terminal = list(&stage);
    terminal.wait_for("Inbox · 1 waiting");
    let screen = terminal.screen();
    assert_eq!(screen.lines().filter(|line| line.starts_with("Inbox ·")).count(), 1, "{screen}");
    assert_eq!(screen.lines().filter(|line| line.starts_with("> ")).count(), 1, "{screen}");
    terminal.keys("q");
    terminal.finish();
}

#[test]
fn the_oldest_is_answered_by_a_key_binding() {
    let stage = Stage::new();
    put(&stage, "database", "claude-code");
    put(&stage, "features", "codex");
    let mut terminal = stage.shell("exec askuser inbox --next --arm 0 --flash 0 2>err");
    terminal.wait_for("Which database");
    terminal.keys("1");
    assert_eq!(terminal.finish().code, Some(0));
    assert_eq!(pending(&stage, 1)[0]["origin"]["agent"], "codex");
}
