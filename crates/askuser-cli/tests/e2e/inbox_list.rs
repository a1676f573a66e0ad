//! Tests the live list of the inbox in a real terminal.

use crate::inbox::{id, pending, run};
use crate::terminal::{RESTORED, Stage, Terminal, example};
use std::io::{BufRead, BufReader};

fn put(stage: &Stage, name: &str, from: &str) {
    let args = ["ask", &example(name), "--via", "inbox", "--popup", "none", "--detach", "--from", from];
    assert_eq!(run(stage, &args).code, Some(75));
}

fn list(stage: &Stage) -> Terminal {
    stage.shell("exec askuser inbox --key-delay 0 --success-flash 0 2>err")
}

#[test]
fn a_question_that_cannot_be_read_is_named_in_lists() {
    let stage = Stage::new();
    put(&stage, "database", "claude-code");
    put(&stage, "features", "codex");
    let damaged = id(&pending(&stage, 2)[0]).to_owned();
    let file = rusqlite::Connection::open(stage.path(".local/state/askuser/inbox/inbox.sqlite")).unwrap();
    file.execute("UPDATE question SET request = '{}' WHERE id = ?1", [&damaged]).unwrap();
    drop(file);
    let named = format!("question {damaged} cannot be read");
    for args in [["inbox", "--json"], ["log", "--json"]] {
        let shown = run(&stage, &args);
        assert_eq!((shown.code, shown.stdout.lines().count()), (Some(0), 1), "{args:?}");
        assert!(shown.stderr.contains(&named), "{args:?}: {}", shown.stderr);
    }
    let mut terminal = list(&stage);
    terminal.wait_for("─╮  2 waiting");
    terminal.wait_for(&named);
    terminal.keys("q");
    terminal.finish();
    let mut terminal = stage.shell("exec askuser inbox --plain 2>err");
    terminal.wait_for(&named);
    terminal.keys("q<enter>");
    terminal.finish();
}

#[test]
fn a_question_that_cannot_be_read_does_not_end_follow() {
    let stage = Stage::new();
    put(&stage, "database", "claude-code");
    let damaged = id(&pending(&stage, 1)[0]).to_owned();
    let mut child = stage.spawn(&["inbox", "--json", "--follow"]);
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
    assert!(lines.next().unwrap().contains(&damaged));
    let file = rusqlite::Connection::open(stage.path(".local/state/askuser/inbox/inbox.sqlite")).unwrap();
    // The process already knows the request, so only the ending is unreadable.
    let damage = "UPDATE question SET state = 'answered', ending = '{}', ended_ms = 7 WHERE id = ?1";
    file.execute(damage, [&damaged]).unwrap();
    let event = "INSERT INTO event (question, state, at_ms) SELECT n, 'answered', 7 FROM question WHERE id = ?1";
    file.execute(event, [&damaged]).unwrap();
    drop(file);
    put(&stage, "features", "codex");
    let later = lines.next().expect("it goes on");
    assert!(later.contains("codex") && !later.contains(&damaged), "{later}");
    child.kill().unwrap();
    let stderr = std::io::read_to_string(child.stderr.take().unwrap()).unwrap();
    child.wait().unwrap();
    assert!(stderr.contains(&format!("question {damaged} cannot be read")), "{stderr}");
}

#[test]
fn a_question_is_found_opened_and_answered_and_moves_to_history() {
    let stage = Stage::new();
    put(&stage, "database", "claude-code");
    put(&stage, "features", "codex");
    let mut terminal = list(&stage);
    terminal.wait_for("Inbox ─╮  2 waiting");
    terminal.wait_for("1 > Claude Code");
    assert!(terminal.screen().contains("Robust relational DB"), "the question is previewed:\n{}", terminal.screen());
    terminal.keys("<down>");
    terminal.wait_for("From codex · ");
    terminal.keys("<up>");
    terminal.wait_for("From Claude Code · ");
    terminal.keys("<enter>");
    terminal.wait_for("Asked by: Claude Code in ");
    terminal.keys("3");
    // The list shows the result, in place of a confirmation.
    terminal.wait_for("Answered: Database");
    terminal.wait_for("Inbox ─╮  1 waiting");
    terminal.keys("h");
    terminal.wait_for("History ─╮  1 ended");
    terminal.wait_for("Database: SQLite ← Which database");
    terminal.keys("q");
    let ended = terminal.finish();
    assert_eq!((ended.code, ended.modes), (Some(0), RESTORED));
}

#[test]
fn new_questions_appear_and_ring_and_those_answered_elsewhere_go() {
    let stage = Stage::new();
    let mut terminal = list(&stage);
    terminal.wait_for("Nothing is waiting.");
    put(&stage, "database", "claude-code");
    terminal.wait_for("Inbox ─╮  1 waiting");
    terminal.wait_raw("\x07");
    let asked = id(&pending(&stage, 1)[0]).to_owned();
    run(&stage, &["answer", &asked, "--select", "SQLite"]);
    terminal.wait_for("Nothing is waiting.");
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
    terminal.wait_for("Inbox ─╮  3 waiting");
    terminal.keys("<down>");
    terminal.wait_for("From codex · ");
    let first = id(&pending(&stage, 3)[0]).to_owned();
    run(&stage, &["answer", &first, "--select", "SQLite"]);
    terminal.wait_for("Inbox ─╮  2 waiting");
    let screen = terminal.screen();
    assert!(screen.contains("From codex · ") && !screen.contains("From gemini · "), "the same is previewed:\n{screen}");
    assert!(screen.lines().any(|line| line.contains("> ") && line.contains("codex")), "{screen}");
    terminal.keys("q");
    terminal.finish();
}

#[test]
fn the_list_can_be_filtered_and_a_question_withdrawn_after_asking_once_more() {
    let stage = Stage::new();
    put(&stage, "database", "claude-code");
    put(&stage, "features", "codex");
    let mut terminal = list(&stage);
    terminal.wait_for("Inbox ─╮  2 waiting");
    terminal.keys("/");
    terminal.wait_for("/█");
    terminal.keys("codex");
    terminal.wait_for("Inbox ─╮  1 waiting");
    terminal.keys("<enter>");
    terminal.wait_for("1 waiting · filter: codex");
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
    terminal.wait_for("Inbox ─╮  1 waiting");
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
    terminal.wait_for("Inbox ─╮  2 waiting");
    terminal.wait_for("Which database should we use");
    terminal.wait_for("enter answer");
    terminal.keys("w");
    terminal.wait_for("w again: withdraw");
    terminal.keys("?");
    terminal.wait_for("any key: more keys, esc closes");
    terminal.keys(" ");
    terminal.wait_for("withdraw the question:");
    terminal.keys(" ");
    terminal.wait_for("leave. The questions");
    terminal.wait_for("any key closes");
    terminal.keys(" ");
    terminal.wait_for("Inbox ─╮");
    terminal.resize(100, 30);
    terminal.wait_for("h history");
    terminal.wait_for("1-2 open");
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
        "\x1b[2J\x1b]0;x\x07 evil\n╭─ Inbox ─╮  0 waiting",
    ];
    let question = "Run it?\x1b[31m\n1 > root  Deploy: Approved";
    let quick = ["-q", question, "-o", "Yes: do\u{202e}it", "-o", "No: don't"];
    assert_eq!(run(&stage, &[&args[..], &quick].concat()).code, Some(75));
    let mut terminal = list(&stage);
    terminal.wait_for("Inbox ─╮  1 waiting");
    let screen = terminal.screen();
    assert_eq!(screen.lines().filter(|line| line.starts_with("╭─ Inbox ─╮")).count(), 1, "{screen}");
    assert_eq!(screen.lines().filter(|line| line.get(2..4) == Some("> ")).count(), 1, "{screen}");
    terminal.keys("q");
    terminal.finish();
}

#[test]
fn the_oldest_is_answered_by_a_key_binding() {
    let stage = Stage::new();
    put(&stage, "database", "claude-code");
    put(&stage, "features", "codex");
    let mut terminal = stage.shell("exec askuser inbox --next --key-delay 0 --success-flash 0 2>err");
    terminal.wait_for("Which database");
    terminal.keys("1");
    assert_eq!(terminal.finish().code, Some(0));
    assert_eq!(pending(&stage, 1)[0]["origin"]["agent"], "codex");
}

#[test]
fn a_digit_opens_its_row_and_what_was_begun_is_saved_as_a_draft_and_marked() {
    let stage = Stage::new();
    put(&stage, "database", "claude-code");
    put(&stage, "authentication", "codex");
    let mut terminal = list(&stage);
    terminal.wait_for("2   codex");
    terminal.keys("2");
    terminal.wait_for("Question 1 of 2");
    terminal.keys("2");
    terminal.wait_for("Question 2 of 2");
    terminal.keys("<esc>");
    terminal.wait_for("Saved as draft: Auth Method");
    let screen = terminal.screen();
    let row = screen.lines().find(|line| line.starts_with("2 > codex")).unwrap_or_default();
    assert!(
        row.trim_end().ends_with("draft"),
        "the cursor is where the person was, and the draft is marked:\n{screen}"
    );
    let asked = id(&pending(&stage, 2)[1]).to_owned();
    assert!(!screen.contains(&asked), "people need no ids here:\n{screen}");
    terminal.wait_for("Your draft: Auth Method: JWT");
    terminal.keys("q");
    assert_eq!(terminal.finish().modes, RESTORED);
}

#[test]
fn columns_are_aligned_under_their_heads_and_give_way_by_width() {
    let stage = Stage::new().size(100, 24);
    put(&stage, "database", "claude-code");
    put(&stage, "features", "\u{6587}\u{5b57}");
    let mut terminal = list(&stage);
    terminal.wait_for("2   文字");
    let screen = terminal.screen();
    let rows: Vec<Vec<char>> = screen.lines().map(|line| line.replace(['文', '字'], "  ").chars().collect()).collect();
    let head = rows.iter().position(|row| row.iter().collect::<String>().contains("QUESTION")).expect("heads");
    for name in ["AGENT", "QUESTION", "AGE ", "STATE"] {
        let text: String = rows[head].iter().collect();
        let at = text.find(name).unwrap_or_else(|| panic!("no {name}:\n{screen}"));
        let is_start = |row: &Vec<char>| row[at - 1] == ' ' && (row[at] != ' ' || name == "AGENT");
        assert!(rows[head + 1..head + 3].iter().all(is_start), "{name}:\n{screen}");
    }
    terminal.resize(40, 12);
    terminal.wait_for("AGENT        QUESTION\n");
    terminal.keys("q");
    terminal.finish();
}

#[test]
fn keys_are_explained_and_esc_goes_back_one_step_at_a_time() {
    let stage = Stage::new();
    put(&stage, "database", "claude-code");
    let mut terminal = list(&stage);
    terminal.wait_for("1 waiting");
    terminal.keys("?");
    terminal.wait_for("╭─ Keys ─╮");
    terminal.wait_for("withdraw the question");
    terminal.keys("<esc>");
    terminal.wait_for("Inbox ─╮");
    terminal.keys("h");
    terminal.wait_for("History ─╮");
    terminal.keys("/x");
    terminal.wait_for("Nothing contains that.");
    terminal.keys("<enter>");
    terminal.wait_for("filter: x");
    terminal.keys("<esc>");
    terminal.wait_for("Nothing has been answered yet.");
    terminal.keys("<esc>");
    terminal.wait_for("Inbox ─╮  1 waiting");
    terminal.keys("<esc>");
    let ended = terminal.finish();
    assert_eq!((ended.code, ended.modes), (Some(0), RESTORED));
}

#[test]
fn without_a_screen_the_list_is_read_and_answered_by_the_line() {
    for (variable, value, flag) in [("ACCESSIBLE", "1", ""), ("TERM", "dumb", ""), ("PLAIN", "", " --plain")] {
        let stage = Stage::new().env(variable, value);
        put(&stage, "database", "claude-code");
        put(&stage, "features", "codex");
        let mut terminal = stage.shell(&format!("exec askuser inbox --key-delay 0 --success-flash 0{flag} 2>err"));
        terminal.wait_for("Inbox: 2 waiting");
        terminal.wait_for("1. Claude Code in ~, ");
        terminal.wait_for("Number to answer (? for help):");
        terminal.keys("1<enter>");
        terminal.wait_for("Choose 1 to 4");
        terminal.keys("3<enter>");
        terminal.wait_for("Database: SQLite");
        terminal.wait_for("Inbox: 1 waiting");
        put(&stage, "package-manager", "gemini");
        terminal.wait_for("New: gemini asks: Which package manager");
        terminal.keys("/codex<enter>");
        terminal.wait_for("Inbox: 1 waiting, filter: codex");
        terminal.keys("w 1<enter>");
        terminal.wait_for("Type yes to withdraw it.");
        terminal.keys("yes<enter>");
        terminal.wait_for("Withdrawn: Features");
        terminal.keys("q<enter>");
        assert_eq!(terminal.finish().code, Some(0), "{variable}");
        assert_eq!(pending(&stage, 1)[0]["origin"]["agent"], "gemini");
    }
}

#[test]
fn a_long_question_is_shortened_in_a_list_and_whole_once_it_is_opened() {
    let stage = Stage::new().env("ACCESSIBLE", "1").size(120, 50);
    let question = format!("{}the end?", "very long ".repeat(300));
    let args = ["ask", "-q", &question, "-o", "A", "-o", "B", "--via", "inbox", "--popup", "none", "--detach"];
    assert_eq!(run(&stage, &args).code, Some(75));
    let mut terminal = stage.shell("exec askuser inbox --key-delay 0 --success-flash 0 2>err");
    terminal.wait_for("very long [...]");
    assert!(!terminal.screen().contains("the end?"), "{}", terminal.screen());
    terminal.keys("1<enter>");
    terminal.wait_for("the end?");
    terminal.keys("q<enter>");
    terminal.wait_for("help): q\n\nInbox: 1 waiting");
    terminal.keys("q<enter>");
    assert_eq!(terminal.finish().code, Some(0));
}

#[test]
fn a_long_list_is_printed_by_pages_with_the_numbers_it_is_answered_by() {
    let stage = Stage::new().env("ACCESSIBLE", "1").size(120, 50);
    for n in 1..=23 {
        let args = ["ask", "-q", &format!("Number {n}?"), "-o", "A", "-o", "B", "--via", "inbox", "--popup", "none"];
        assert_eq!(run(&stage, &[&args[..], &["--detach"]].concat()).code, Some(75));
    }
    let mut terminal = stage.shell("exec askuser inbox --key-delay 0 --success-flash 0 2>err");
    terminal.wait_for("3 more: m");
    terminal.keys("m<enter>");
    terminal.wait_for("23. ");
    terminal.keys("22<enter>");
    terminal.wait_for("\nNumber 22?");
    terminal.keys("q<enter>");
    terminal.wait_for("help): q\n\nInbox: 23 waiting");
    terminal.keys("q<enter>");
    assert_eq!(terminal.finish().code, Some(0));
}
