//! Without a person to ask, a command neither hangs nor guesses.

use crate::terminal::{Ended, Select, Stage, example, input};
use serde_json::{Value, json};
use std::fs;
use std::time::{Duration, Instant};

fn ask(stage: &Stage, name: &str, args: &[&str]) -> Ended {
    let file = example(name);
    stage.run(&[&["ask", file.as_str()], args].concat())
}

fn database(label: &str, via: &str) -> Value {
    let answer = json!({
        "question": "Which database should we use for this project?",
        "header": "Database",
        "selectedOptions": [label],
    });
    json!({"status": "answered", "answers": [answer], "via": via})
}

#[test]
fn what_a_file_knows_of_questions_nobody_was_asked_is_not_the_users() {
    let stage = Stage::new().file("answers.json", "{\"Auth Method\": \"JWT\"}");
    let ended = ask(&stage, "authentication", &["--answers", "answers.json", "--format", "text"]);
    assert_eq!(ended.code, Some(3));
    assert!(ended.stdout.contains("Known from a file of answers, not from the user:"), "{}", ended.stdout);
    assert!(!ended.stdout.contains("Answered so far"), "{}", ended.stdout);
}

#[test]
fn what_a_policy_or_a_file_answered_is_not_said_to_be_the_users_answer() {
    let stage = Stage::new().file("answers.json", "{\"Database\": \"SQLite\"}");
    for how in [&["--headless", "recommended"], &["--answers", "answers.json"]] {
        let ended = stage.run(&[&["ask", "--format", "text", &example("database")][..], how].concat());
        assert_eq!(ended.code, Some(0), "{}", ended.stderr);
        assert!(ended.stdout.starts_with("The user was not asked."), "{}", ended.stdout);
    }
}

#[test]
fn without_a_terminal_it_ends_at_once_and_says_so() {
    let started = Instant::now();
    let ended = ask(&Stage::new(), "database", &[]);
    assert!(started.elapsed() < Duration::from_secs(5));
    assert_eq!(ended.code, Some(3));
    let result = json!({
        "status": "unavailable",
        "answers": [],
        "via": null,
        "reason": "cannot open the terminal: this process has no controlling terminal",
    });
    assert_eq!(ended.json(), result);
    let lines: Vec<&str> = ended.stderr.lines().collect();
    assert_eq!(lines.len(), 2, "{}", ended.stderr);
    assert!(lines[0].starts_with("askuser: no person can be asked: "), "{}", lines[0]);
    assert!(lines[1].starts_with("hint: ") && lines[1].contains("--answers"), "{}", lines[1]);
}

#[test]
fn without_a_terminal_line_mode_ends_at_once_too() {
    assert_eq!(ask(&Stage::new(), "database", &["--plain"]).status(), ("unavailable".into(), 3));
}

#[test]
fn without_a_terminal_the_demo_ends_at_once_too() {
    let ended = Stage::new().run(&["demo"]);
    assert_eq!(ended.code, Some(3));
    assert!(ended.stderr.contains("no person can be asked"), "{}", ended.stderr);
}

#[test]
fn without_a_terminal_the_prose_says_that_nobody_was_asked() {
    let ended = ask(&Stage::new(), "database", &["--format", "text"]);
    assert!(ended.stdout.starts_with("Nobody was asked"), "{}", ended.stdout);
    assert!(!ended.stdout.contains("answered the following"), "{}", ended.stdout);
}

#[test]
fn the_policy_takes_what_is_recommended() {
    let ended = ask(&Stage::new(), "database", &["--headless", "recommended"]);
    assert_eq!((ended.code, ended.json()), (Some(0), database("PostgreSQL (Recommended)", "policy")));
}

#[test]
fn the_policy_answers_nothing_that_is_not_recommended() {
    let ended = ask(&Stage::new(), "authentication", &["--headless", "recommended"]);
    assert_eq!(ended.status(), ("unavailable".into(), 3));
    assert_eq!(ended.picks(), json!([["OAuth 2.0 (Recommended)"]]));
}

#[test]
fn the_policy_to_fail_fails() {
    let ended = ask(&Stage::new(), "database", &["--headless", "fail"]);
    assert_eq!(ended.status(), ("unavailable".into(), 3));
    assert!(ended.stderr.contains("the policy is to fail rather than to ask"), "{}", ended.stderr);
}

#[test]
fn a_policy_asks_nobody_even_at_a_terminal() {
    let ended = Stage::new().ask(&[&example("database"), "--headless", "recommended"]).finish();
    assert_eq!((ended.code, ended.screen.as_str(), ended.raw.len()), (Some(0), "", 0));
}

#[test]
fn an_answers_file_in_json_answers_by_header() {
    let stage = Stage::new().file("answers.json", r#"{"Database": "SQLite"}"#);
    let ended = ask(&stage, "database", &["--answers", "answers.json"]);
    assert_eq!((ended.code, ended.json()), (Some(0), database("SQLite", "answers-file")));
}

#[test]
fn an_answers_file_in_toml_answers_by_question() {
    let toml = "\"Which database should we use for this project?\" = \"MongoDB\"\n";
    let stage = Stage::new().file("answers.toml", toml);
    let ended = ask(&stage, "database", &["--answers", "answers.toml"]);
    assert_eq!((ended.code, ended.json()), (Some(0), database("MongoDB", "answers-file")));
}

#[test]
fn an_answers_file_answers_by_expression() {
    let stage = Stage::new().file("answers.json", r#"{"/which .*database/i": "/postgres/i"}"#);
    let ended = ask(&stage, "database", &["--answers", "answers.json"]);
    assert_eq!(ended.picks(), json!([["PostgreSQL (Recommended)"]]));
}

#[test]
fn an_answers_file_holds_several_labels_words_and_notes() {
    let toml =
        "\"Auth Method\" = \"JWT\"\n[Providers]\nselect = [\"Google\", \"Apple\"]\nother = \"Okta\"\nnote = \"n\"\n";
    let stage = Stage::new().file("answers.toml", toml);
    let ended = ask(&stage, "authentication", &["--answers", "answers.toml"]);
    assert_eq!(ended.picks(), json!([["JWT"], ["Google", "Apple"]]));
    let second = &ended.json()["answers"][1];
    assert_eq!((&second["customInput"], &second["note"]), (&json!("Okta"), &json!("n")));
}

#[test]
fn a_label_that_is_no_option_is_an_error_that_names_them() {
    let stage = Stage::new().file("answers.json", r#"{"Database": "Oracle"}"#);
    let ended = ask(&stage, "database", &["--answers", "answers.json"]);
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(2), ""));
    let expected = "askuser: answers.json does not fit, nothing was asked
  answers[\"Database\"]: \"Oracle\" is not an option, must be one of \"PostgreSQL\", \"MongoDB\", \"SQLite\"
";
    assert_eq!(ended.stderr, expected);
}

#[test]
fn an_answers_file_that_covers_a_part_leaves_the_rest_open() {
    let stage = Stage::new().file("answers.json", r#"{"Auth Method": "JWT"}"#);
    let ended = ask(&stage, "authentication", &["--answers", "answers.json"]);
    assert_eq!((ended.status(), ended.picks()), (("unavailable".into(), 3), json!([["JWT"]])));
}

#[test]
fn an_answers_file_that_covers_a_part_is_filled_in_at_the_terminal() {
    let stage = Stage::new().file("answers.json", r#"{"Auth Method": "JWT"}"#);
    let mut terminal = stage.ask(&[&example("authentication"), "--answers", "answers.json"]);
    terminal.wait_for("Question 2 of 2");
    terminal.keys("1<enter>");
    terminal.wait_for("Send these answers");
    terminal.wait_for("✔ JWT");
    terminal.keys("<enter>");
    let ended = terminal.finish();
    assert_eq!((ended.picks(), &ended.json()["via"]), (json!([["JWT"], ["Google"]]), &json!("terminal")));
}

#[test]
fn an_answers_file_and_the_policy_complete_each_other() {
    let stage = Stage::new().file("answers.json", r#"{"Providers": ["GitHub"]}"#);
    let args = ["--answers", "answers.json", "--headless", "recommended"];
    let ended = ask(&stage, "authentication", &args);
    assert_eq!(ended.picks(), json!([["OAuth 2.0 (Recommended)"], ["GitHub"]]));
}

#[test]
fn an_answers_file_that_is_not_there_is_an_error() {
    let ended = ask(&Stage::new(), "database", &["--answers", "nowhere.json"]);
    assert_eq!(ended.code, Some(2));
    assert!(ended.stderr.starts_with("askuser: answers: cannot open nowhere.json: "), "{}", ended.stderr);
}

#[test]
fn an_answers_file_that_cannot_be_read_is_an_error() {
    for (name, contents, fact) in [
        ("a.json", "{", "answers: a.json is not JSON"),
        ("a.toml", "= 1", "a.toml: "),
        ("a.json", "[]", "answers: not an object, must be an object"),
        ("a.json", r#"{"Database": 1}"#, "answers[\"Database\"]: not a label"),
        ("a.json", r#"{"/(/": "SQLite"}"#, "is not a regular expression"),
        ("a.json", r#"{"Database": {"pick": "SQLite"}}"#, "answers[\"Database\"].pick: unknown"),
    ] {
        let ended = ask(&Stage::new().file(name, contents), "database", &["--answers", name]);
        assert_eq!(ended.code, Some(2), "{contents}");
        assert!(ended.stderr.contains(fact), "{contents}: {}", ended.stderr);
    }
}

#[test]
fn answers_in_the_input_itself_are_not_believed() {
    let mut value: Value = serde_json::from_str(&fs::read_to_string(example("database")).unwrap()).unwrap();
    value["answers"] = json!({"Which database should we use for this project?": "SQLite"});
    let ended = Stage::new().file("q.json", value.to_string()).run(&["ask", "q.json"]);
    assert_eq!((ended.status(), ended.picks()), (("unavailable".into(), 3), json!([])));
}

#[test]
fn a_hostile_label_in_an_error_stays_text() {
    let json = input("Go?", "H", &[("A\u{9b}2J", "d"), ("B", "d")], Select::Single);
    let stage = Stage::new().file("q.json", json).file("answers.json", r#"{"H": "C\u001b[2J"}"#);
    let ended = stage.run(&["ask", "q.json", "--answers", "answers.json"]);
    assert_eq!(ended.code, Some(2));
    assert!(!ended.stderr.contains(['\x1b', '\u{9b}']), "{:?}", ended.stderr);
}

#[test]
fn the_value_format_is_the_answer_alone_and_nothing_unless_answered() {
    let answers =
        r#"{"Database": "PostgreSQL", "Features": {"select": ["TypeScript", "Tailwind CSS"], "other": "a\nb"}}"#;
    let stage = Stage::new().file("answers.json", answers);
    let value = |name: &str, args: &[&str]| ask(&stage, name, &[&["--format", "value"], args].concat());
    assert_eq!(value("database", &["--answers", "answers.json"]).stdout, "PostgreSQL\n");
    assert_eq!(value("features", &["--answers", "answers.json"]).stdout, "TypeScript\nTailwind CSS\na\nb\n");
    for format in ["value", "record", "claude"] {
        let ended = ask(&stage, "database", &["--format", format, "--headless", "fail"]);
        assert_eq!((ended.stdout.as_str(), ended.code), ("", Some(3)), "{format}: {}", ended.stderr);
    }
}

#[test]
fn via_leaves_out_what_it_does_not_name() {
    let stage = Stage::new().file("answers.json", "{\"Database\": \"SQLite\"}");
    let ended = ask(&stage, "database", &["--via", "terminal", "--answers", "answers.json"]);
    assert_eq!((ended.code, &ended.json()["status"]), (Some(3), &json!("unavailable")), "{}", ended.stderr);
    let ended = ask(&stage, "database", &["--via", "policy", "--answers", "answers.json"]);
    assert_eq!((ended.code, ended.json()), (Some(0), database("SQLite", "answers-file")), "{}", ended.stderr);
    let ended = ask(&stage, "database", &["--via", "telepathy"]);
    assert_eq!(ended.code, Some(2));
    assert!(
        ended.stderr.contains("via: \"telepathy\"") && ended.stderr.contains("must be policy, terminal"),
        "{}",
        ended.stderr
    );
}

#[test]
fn a_misspelt_key_of_an_answers_file_is_named() {
    let stage = Stage::new().file("answers.json", r#"{"Databse": "SQLite"}"#);
    let ended = ask(&stage, "database", &["--answers", "answers.json"]);
    let message = "askuser: answers.json: no answer to \"Database\"; no question matches its keys \"Databse\"\n";
    assert!(ended.code == Some(3) && ended.stderr.starts_with(message), "{}", ended.stderr);
}

#[test]
fn the_claude_format_is_its_updated_input_and_nothing_else() {
    let stage = Stage::new().file("answers.json", r#"{"Features": ["TypeScript", "Testing (Vitest)"]}"#);
    let ended = ask(&stage, "features", &["--format", "claude", "--answers", "answers.json"]);
    let input: Value = serde_json::from_str(&fs::read_to_string(example("features")).unwrap()).unwrap();
    let question = input["questions"][0]["question"].as_str().unwrap();
    let expected = json!({
        "questions": input["questions"],
        "answers": {question: "TypeScript, Testing (Vitest)"},
    });
    assert_eq!((ended.json(), ended.code), (expected, Some(0)), "{}", ended.stderr);
}
