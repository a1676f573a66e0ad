//! Tests `askuser answer` in scripts: every way to end a question without a prompt.

use crate::inbox::{detached, pending, run};
use crate::terminal::Stage;
use serde_json::{Value, json};

/// Answers with these arguments, and returns the asker's result.
#[track_caller]
fn answered(name: &str, args: &[&str]) -> Value {
    let stage = Stage::new().file("reply.json", r#"{"answers": [{"customInput": "DuckDB", "note": "in memory"}]}"#);
    let id = detached(&stage, name, &[]);
    let ended = run(&stage, &[&["answer", &id], args].concat());
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    serde_json::from_str(&run(&stage, &["wait", &id, "--format", "json"]).stdout).unwrap()
}

#[test]
fn a_script_declines_with_or_without_a_reason_and_discusses() {
    let declined = answered("database", &["--decline"]);
    assert_eq!((&declined["status"], &declined["reason"]), (&json!("declined"), &Value::Null));
    let declined = answered("database", &["--decline", "not today"]);
    assert_eq!((&declined["status"], &declined["reason"]), (&json!("declined"), &json!("not today")));
    let discuss = answered("database", &["--discuss", "why not a file?"]);
    assert_eq!((&discuss["status"], &discuss["message"]), (&json!("discuss"), &json!("why not a file?")));
}

#[test]
fn a_note_goes_with_the_answer_it_names() {
    let both = ["--select", "Auth Method=JWT", "--other", "Providers=GitLab", "--note", "Providers=self-hosted, a=b"];
    let answers = &answered("authentication", &both)["answers"];
    assert_eq!((&answers[0]["note"], &answers[1]["note"]), (&Value::Null, &json!("self-hosted, a=b")));
    let alone = answered("database", &["--other", "x=y", "--note", "only = here"]);
    assert_eq!(alone["answers"][0]["customInput"], "x=y", "with one question an = is a character like any other");
    assert_eq!(alone["answers"][0]["note"], "only = here");
}

#[test]
fn a_reply_in_json_is_read_from_a_file_or_from_standard_input() {
    let by_file = answered("database", &["--reply", "reply.json"]);
    let answer = &by_file["answers"][0];
    assert_eq!((&answer["customInput"], &answer["note"]), (&json!("DuckDB"), &json!("in memory")));
    let stage = Stage::new();
    let id = detached(&stage, "database", &[]);
    let reply = br#"{"status": "declined", "reason": "later"}"#;
    assert_eq!(stage.run_with(&["answer", &id, "--reply", "-"], reply).code, Some(0));
    assert!(run(&stage, &["wait", &id]).stdout.contains("later"));
}

#[test]
fn what_is_no_reply_of_a_person_is_refused_and_changes_nothing() {
    let stage = Stage::new();
    let id = detached(&stage, "database", &[]);
    let refused = |args: &[&str], stdin: &[u8], why: &str| {
        let ended = stage.run_with(&[&["answer", &id], args].concat(), stdin);
        assert!(ended.code == Some(2) && ended.stderr.contains(why), "{args:?}: {}", ended.stderr);
    };
    let reply = ["--reply", "-"];
    for status in ["timed_out", "unavailable"] {
        let why = format!("--reply: status is \"{status}\", must be answered, cancelled, declined or discuss");
        refused(&reply, json!({"status": status}).to_string().as_bytes(), &why);
    }
    refused(&reply, b"{", "--reply: - is not JSON (");
    refused(&reply, br#"{"answers": [], "answers": []}"#, "--reply: - is not JSON (");
    refused(&reply, b"{}", "invalid answer, nothing was recorded");
    refused(&["--reply", "nowhere"], b"", "--reply: cannot open nowhere: No such file or directory");
    refused(&["--reply", "-", "--decline"], b"", "cannot be used together");
    refused(&["--decline", "--discuss", "x"], b"", "cannot be used together");
    for given in ["--select", "--other", "--note"] {
        refused(&[given, "SQLite", "--decline", "no"], b"", "cannot be used together");
    }
    refused(&["--discuss", " "], b"", "--discuss: \" \", must not be blank");
    let no_choice = "invalid answer, nothing was recorded\n  Database: no choice, needs one of --select or --other\n";
    refused(&["--note", "alone"], b"", no_choice);
    refused(&["--select", "Nope"], b"", "\n  --select Database: \"Nope\" is not an option, must be one of ");
    refused(&["--other", "a", "--other", "b"], b"", "--other: given twice for \"Database\", at most once");
    assert_eq!(pending(&stage, 1).len(), 1);
}

#[test]
fn formats_without_notes_say_on_standard_error_that_there_was_one() {
    let stage = Stage::new();
    let id = detached(&stage, "database", &[]);
    run(&stage, &["answer", &id, "--select", "SQLite", "--note", "for\nnow"]);
    for format in ["value", "record"] {
        let printed = run(&stage, &["wait", &id, "--format", format]);
        assert_eq!(
            (printed.code, printed.stderr.as_str()),
            (Some(0), "askuser: note on Database: for now\n"),
            "{format}"
        );
        assert!(!printed.stdout.contains("now"), "{}", printed.stdout);
    }
    assert_eq!(run(&stage, &["wait", &id, "--format", "json"]).stderr, "");
}
