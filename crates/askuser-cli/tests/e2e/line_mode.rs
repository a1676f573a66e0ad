//! Tests the prompt line by line, for screen readers, dumb terminals and logs.

use crate::terminal::{Ended, RESTORED, Stage, Terminal, example};
use rustix::process::Signal;
use serde_json::json;

/// Returns a test environment with a terminal that supports only lines.
fn dumb() -> Stage {
    Stage::new().env("TERM", "dumb")
}

fn ask(stage: &Stage, name: &str, args: &[&str]) -> Terminal {
    let file = example(name);
    let terminal = stage.ask(&[&[file.as_str()], args].concat());
    terminal.wait_for("(? for help):");
    terminal
}

/// Types these lines, each after the text before it is visible.
#[track_caller]
fn converse(mut terminal: Terminal, lines: &[(&str, &str)]) -> Ended {
    for (text, line) in lines {
        terminal.wait_for(text);
        terminal.keys(&format!("{line}<enter>"));
    }
    let ended = terminal.finish();
    assert_eq!(ended.modes, RESTORED);
    ended
}

#[test]
fn a_question_reads_like_a_form() {
    let terminal = ask(&dumb(), "database", &[]);
    let expected = "
Database:
Which database should we use for this project?
  1. PostgreSQL (Recommended): Robust relational DB, great for complex queries
  2. MongoDB: Document DB, flexible schema for rapid development
  3. SQLite: Embedded DB, zero configuration, good for small apps
  4. Other: Type something else
Choose 1 to 4 (? for help):";
    assert_eq!(terminal.screen(), expected);
}

#[test]
fn a_number_answers() {
    let ended = converse(ask(&dumb(), "database", &[]), &[("Choose", "2")]);
    let answers = json!([{
        "question": "Which database should we use for this project?",
        "header": "Database",
        "selectedOptions": ["MongoDB"],
    }]);
    assert_eq!(ended.json(), json!({"status": "answered", "answers": answers, "via": "line"}));
    assert_eq!(ended.code, Some(0));
    assert!(ended.screen.ends_with("Choose 1 to 4 (? for help): 2\n✔ Database: MongoDB"), "{}", ended.screen);
}

#[test]
fn a_dumb_terminal_gets_no_escape_sequence_at_all() {
    let ended = converse(ask(&dumb(), "database", &[]), &[("Choose", "2")]);
    assert!(!ended.raw.contains(&0x1b), "{:?}", String::from_utf8_lossy(&ended.raw));
}

#[test]
fn plain_without_colour_has_no_escape_sequence_at_all() {
    let stage = Stage::new().env("NO_COLOR", "1");
    let ended = converse(ask(&stage, "database", &["--plain"]), &[("Choose", "2")]);
    assert!(!ended.raw.contains(&0x1b), "{:?}", String::from_utf8_lossy(&ended.raw));
    assert_eq!(ended.json()["via"], "line");
}

#[test]
fn screen_readers_get_lines() {
    let stage = Stage::new().env("ACCESSIBLE", "1").env("NO_COLOR", "1");
    let ended = converse(ask(&stage, "database", &[]), &[("Choose", "3")]);
    assert_eq!(ended.picks(), json!([["SQLite"]]));
    assert!(!ended.raw.contains(&0x1b), "{:?}", String::from_utf8_lossy(&ended.raw));
}

#[test]
fn line_mode_never_moves_the_cursor() {
    let ended = converse(ask(&Stage::new(), "database", &["--plain"]), &[("Choose", "2")]);
    let text = String::from_utf8_lossy(&ended.raw).into_owned();
    let moves = text
        .split("\x1b[")
        .skip(1)
        .filter(|rest| rest.find(|c: char| c.is_ascii_alphabetic()).is_none_or(|end| !rest[end..].starts_with('m')));
    assert_eq!(moves.collect::<Vec<_>>(), Vec::<&str>::new());
}

#[test]
fn several_numbers_answer_where_several_may_be_chosen() {
    let ended = converse(ask(&dumb(), "features", &[]), &[("Choose one or more", "1,3")]);
    assert_eq!(ended.picks(), json!([["TypeScript", "Testing (Vitest)"]]));
}

#[test]
fn several_numbers_may_be_apart_by_spaces() {
    let ended = converse(ask(&dumb(), "features", &[]), &[("Choose one or more", "4 2")]);
    assert_eq!(ended.picks(), json!([["ESLint + Prettier", "Tailwind CSS"]]));
}

#[test]
fn several_numbers_do_not_answer_where_one_may_be_chosen() {
    let lines = [("Choose", "1,2"), ("Type a number from 1 to 4", "1")];
    let ended = converse(ask(&dumb(), "database", &[]), &lines);
    assert_eq!(ended.picks(), json!([["PostgreSQL (Recommended)"]]));
}

#[test]
fn the_last_number_asks_for_words() {
    let ended = converse(ask(&dumb(), "package-manager", &[]), &[("Choose", "4"), ("Please specify", "bun 数")]);
    assert_eq!((ended.typed().as_str(), ended.status()), ("bun 数", ("answered".into(), 0)));
}

#[test]
fn an_empty_line_goes_back_from_other() {
    let mut terminal = ask(&dumb(), "package-manager", &[]);
    terminal.keys("4<enter>");
    terminal.wait_for("Please specify");
    terminal.keys("<enter>");
    terminal.wait_until("the question again", |screen| screen.matches("Choose 1 to 4").count() == 2);
    terminal.keys("1<enter>");
    assert_eq!(terminal.finish().picks(), json!([["npm"]]));
}

#[test]
fn numbers_and_words_are_one_answer_of_several() {
    let lines = [("Choose one or more", "1,5"), ("Please specify", "Storybook")];
    let ended = converse(ask(&dumb(), "features", &[]), &lines);
    assert_eq!((ended.picks(), ended.typed().as_str()), (json!([["TypeScript"]]), "Storybook"));
}

#[test]
fn a_note_is_taken_before_the_choice() {
    let lines = [("Choose", "n 2"), ("(empty for none):", "only in tests"), ("only in tests\n", "2")];
    let ended = converse(ask(&dumb(), "database", &[]), &lines);
    assert_eq!(ended.json()["answers"][0]["note"], "only in tests");
    assert_eq!(ended.picks(), json!([["MongoDB"]]));
}

#[test]
fn several_questions_end_on_a_review() {
    let lines = [
        ("Question 1 of 2", "2"),
        ("Question 2 of 2", "1,2"),
        ("  1. Auth Method: JWT\n  2. Providers: Google, GitHub\nSend them?", "y"),
    ];
    let ended = converse(ask(&dumb(), "authentication", &[]), &lines);
    assert_eq!(ended.picks(), json!([["JWT"], ["Google", "GitHub"]]));
}

#[test]
fn an_answer_can_be_changed_from_the_review() {
    let lines = [
        ("Question 1 of 2", "2"),
        ("Question 2 of 2", "1"),
        ("Send them?", "1"),
        ("JWT [chosen]", "3"),
        ("  1. Auth Method: Session-based", "y"),
    ];
    let ended = converse(ask(&dumb(), "authentication", &[]), &lines);
    assert_eq!(ended.picks(), json!([["Session-based"], ["Google"]]));
}

#[test]
fn back_and_forward_keep_answers() {
    let lines = [("Question 1 of 2", "2"), ("Question 2 of 2", "b"), ("JWT [chosen]", "f"), ("2 of 2", "1")];
    let mut terminal = ask(&dumb(), "authentication", &[]);
    for (text, line) in lines {
        terminal.wait_for(text);
        terminal.keys(&format!("{line}<enter>"));
    }
    let ended = converse(terminal, &[("Send them?", "y")]);
    assert_eq!(ended.picks(), json!([["JWT"], ["Google"]]));
}

#[test]
fn a_bad_line_is_told_what_would_be_good() {
    let lines = [("Choose", "9"), ("Type a number from 1 to 4, or ? for help.", "what"), ("help): what\n", "1")];
    let ended = converse(ask(&dumb(), "database", &[]), &lines);
    assert_eq!(ended.status(), ("answered".into(), 0));
}

#[test]
fn an_empty_line_answers_nothing() {
    let lines = [("Choose", ""), ("Type a number from 1 to 4", "1")];
    assert_eq!(converse(ask(&dumb(), "database", &[]), &lines).status(), ("answered".into(), 0));
}

#[test]
fn help_lists_what_can_be_said() {
    let lines = [("Choose", "?"), ("add a note to option 2", "1")];
    assert_eq!(converse(ask(&dumb(), "database", &[]), &lines).status(), ("answered".into(), 0));
}

#[test]
fn q_cancels() {
    let ended = converse(ask(&dumb(), "database", &[]), &[("Choose", "q")]);
    assert_eq!(ended.json(), json!({"status": "cancelled", "answers": [], "via": "line"}));
    assert_eq!(ended.code, Some(1));
}

#[test]
fn q_asks_once_more_when_something_would_be_lost() {
    let lines = [("Question 1 of 2", "2"), ("Question 2 of 2", "q"), ("(y/n):", "y")];
    let ended = converse(ask(&dumb(), "authentication", &[]), &lines);
    assert_eq!((ended.status(), ended.picks()), (("cancelled".into(), 1), json!([["JWT"]])));
}

#[test]
fn d_declines_with_a_reason() {
    let ended = converse(ask(&dumb(), "database", &[]), &[("Choose", "d"), ("Reason for declining", "no")]);
    assert_eq!((ended.status(), &ended.json()["reason"]), (("declined".into(), 1), &json!("no")));
}

#[test]
fn c_talks_first() {
    let ended = converse(ask(&dumb(), "database", &[]), &[("Choose", "c"), ("clarify first?", "why?")]);
    assert_eq!((ended.status(), &ended.json()["message"]), (("discuss".into(), 1), &json!("why?")));
}

#[test]
fn control_d_cancels() {
    let mut terminal = ask(&dumb(), "database", &[]);
    terminal.keys("<c-d>");
    assert_eq!(converse(terminal, &[]).status(), ("cancelled".into(), 1));
}

#[test]
fn control_c_interrupts() {
    let mut terminal = ask(&dumb(), "database", &[]);
    terminal.keys("<c-c>");
    let ended = converse(terminal, &[]);
    assert_eq!((ended.code, ended.stdout.as_str(), ended.stderr.as_str()), (Some(130), "", "askuser: interrupted\n"));
}

#[test]
fn sigterm_ends_it() {
    let terminal = ask(&dumb(), "database", &[]);
    terminal.signal(Signal::TERM);
    assert_eq!(converse(terminal, &[]).signal.as_deref(), Some("Terminated"));
}

#[test]
fn time_runs_out() {
    let ended = converse(ask(&dumb(), "database", &["--timeout", "1s"]), &[]);
    assert_eq!(ended.json(), json!({"status": "timed_out", "answers": [], "via": "line"}));
    assert!(ended.screen.contains("Time limit: 1 s") && ended.screen.contains("Timed out, no answer sent"));
}

#[test]
fn the_terminals_own_line_editing_works() {
    let mut terminal = ask(&dumb(), "database", &[]);
    terminal.keys("3<bs>2");
    assert_eq!(converse(terminal, &[("Choose", "")]).picks(), json!([["MongoDB"]]));
}

#[test]
fn lines_that_arrive_together_are_heard_in_order() {
    let mut terminal = ask(&dumb(), "authentication", &[]);
    terminal.keys("2<enter>1,2<enter>y<enter>");
    assert_eq!(terminal.finish().picks(), json!([["JWT"], ["Google", "GitHub"]]));
}

#[test]
fn a_terminal_left_raw_by_another_program_still_works() {
    let stage = dumb();
    let mut terminal = stage.shell(&format!("stty raw -echo; exec askuser ask {} >out 2>err", example("database")));
    terminal.wait_for("(? for help):");
    terminal.keys("2<enter>");
    assert_eq!(terminal.finish().picks(), json!([["MongoDB"]]));
}

#[test]
fn a_paste_of_16_000_characters_is_one_line() {
    let text = "0123456789".repeat(1_600);
    let ended = converse(ask(&dumb(), "database", &[]), &[("Choose", "4"), ("Please specify", &text)]);
    assert_eq!(ended.json()["answers"][0]["customInput"], text);
}

#[test]
fn a_line_is_edited_before_it_is_sent() {
    let mut terminal = ask(&dumb(), "database", &[]);
    terminal.write(b"12\x7f\x7f3");
    terminal.wait_for("(? for help): 3");
    terminal.keys("<enter>");
    assert_eq!(terminal.finish().json()["answers"][0]["selectedOptions"], json!(["SQLite"]));
}
