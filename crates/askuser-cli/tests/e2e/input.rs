//! Invalid input and arguments have exit code 2, and a message with the field, the fact and the limit.

use crate::terminal::{Ended, RESTORED, Select, Stage, example, input};
use serde_json::{Value, json};

/// Checks that a command fails because of invalid input, with this error and no other output.
#[track_caller]
fn check(ended: &Ended, stderr: &str) {
    assert_eq!((ended.stderr.as_str(), ended.stdout.as_str(), ended.code), (stderr, "", Some(2)));
}

/// Checks that a command fails because of invalid input, with this text in its error.
#[track_caller]
fn check_says(ended: &Ended, words: &str) {
    assert_eq!((ended.stdout.as_str(), ended.code), ("", Some(2)), "{}", ended.stderr);
    assert!(ended.stderr.contains(words), "{}", ended.stderr);
}

fn ask(json: &Value) -> Ended {
    Stage::new().run(&["ask", "--json", &json.to_string()])
}

fn question(changes: &[(&str, Value)]) -> Value {
    let mut question: Value =
        serde_json::from_str(&input("Which?", "Pick", &[("A", "a"), ("B", "b")], Select::Single)).unwrap();
    for (path, value) in changes {
        *question.pointer_mut(&format!("/questions/0{path}")).expect("a field") = value.clone();
    }
    question
}

#[test]
fn every_violation_is_reported_at_once() {
    let json = question(&[
        ("/header", json!("Thirteen char")),
        ("/multiSelect", json!("yes")),
        ("/options/0/label", json!("")),
        ("/options/1/description", json!("x".repeat(201))),
    ]);
    let expected = "askuser: invalid input, nothing was asked
  questions[0].header: 13 characters, at most 12
  questions[0].options[0].label: empty, at least 1
  questions[0].options[1].description: 201 characters, at most 200
  questions[0].multiSelect: a string, must be true or false
";
    check(&ask(&json), expected);
}

#[test]
fn a_model_reads_the_rejection_where_it_would_read_the_answer() {
    let json = question(&[("/header", json!("Thirteen char"))]).to_string();
    let in_format = |format: &str| Stage::new().run(&["ask", "--format", format, "--json", &json]);
    let ended = in_format("json");
    assert_eq!(ended.code, Some(2));
    let violation = json!({"path": "questions[0].header", "fact": "13 characters", "limit": "at most 12"});
    assert_eq!(ended.json(), json!({"status": "invalid", "violations": [violation]}));
    let ended = in_format("text");
    assert_eq!(ended.code, Some(2));
    let expected = "Invalid AskUserQuestion input; nothing was asked. Correct this and call again:\n\
                    - questions[0].header: 13 characters, at most 12\n";
    assert_eq!(ended.stdout, expected);
    assert!(ended.stderr.starts_with("askuser: invalid input, nothing was asked"), "{}", ended.stderr);
}

#[test]
fn counts_are_named() {
    check_says(&ask(&json!({"questions": []})), "questions: 0 questions, at least 1");
    let five: Vec<Value> =
        (0..5).map(|n| question(&[("/question", json!(format!("{n}?")))])["questions"][0].clone()).collect();
    check_says(&ask(&json!({"questions": five})), "questions: 5 questions, at most 4");
}

#[test]
fn a_hand_written_other_is_named() {
    let json = question(&[("/options/1/label", json!("Other"))]);
    check_says(&ask(&json), "questions[0].options[1].label: \"Other\" written by hand");
}

#[test]
fn bad_input_at_a_terminal_draws_nothing() {
    let ended = Stage::new().ask(&["--json", "{}"]).finish();
    assert_eq!((ended.code, ended.raw.len(), ended.modes), (Some(2), 0, RESTORED));
}

#[test]
fn what_is_not_json_is_told_where() {
    check_says(&Stage::new().run(&["ask", "--json", "{oops"]), "input: not JSON (");
    check_says(&Stage::new().run(&["ask", "--json", "[]"]), "input: an array, must be an object");
}

#[test]
fn an_empty_input_is_called_that_and_told_how_to_give_one() {
    let stage = Stage::new().file("empty.json", " \n");
    check(
        &stage.run(&["ask"]),
        "askuser: standard input: empty, must be a JSON object
hint: give a FILE, - (standard input), --json '{…}' or -q \"Which?\" -o A -o B
",
    );
    check(
        &stage.run(&["check", "empty.json"]),
        "askuser: empty.json: empty, must be a JSON object
hint: give a FILE, - (standard input) or --json '{…}'
",
    );
    check_says(&stage.run(&["ask", "--json", ""]), "askuser: --json: empty, must be a JSON object\n");
}

#[test]
fn what_was_meant_for_another_flag_is_told_which() {
    check_says(&Stage::new().run(&["ask", "{\"questions\": []}"]), "hint: JSON itself goes with --json\n");
    check_says(&Stage::new().run(&["ask", "Which database?"]), "hint: a question goes with -q: askuser ask -q");
}

#[test]
fn a_file_that_is_not_there_is_named() {
    let expected =
        "askuser: cannot open nowhere.json: No such file or directory\nhint: give a FILE, - (standard input), ";
    check_says(&Stage::new().run(&["ask", "nowhere.json"]), expected);
}

#[test]
fn a_folder_is_no_file() {
    let ended = Stage::new().run(&["ask", "/"]);
    check_says(&ended, "askuser: cannot read /: ");
}

#[test]
fn more_than_a_mebibyte_is_refused() {
    let stage = Stage::new().file("big.json", " ".repeat((1 << 20) + 1));
    let expected = "askuser: big.json: longer than 1048576 bytes, must be shorter\n";
    check(&stage.run(&["ask", "big.json"]), expected);
    let stdin = " ".repeat((1 << 20) + 1);
    check_says(&stage.run_with(&["ask", "-"], stdin.as_bytes()), "standard input: longer than 1048576 bytes");
}

#[test]
fn an_endless_stdin_is_refused() {
    let stage = Stage::new();
    let ended = stage.shell("askuser ask - </dev/zero >out 2>err; echo $? >code").finish();
    assert_eq!(ended.modes, RESTORED);
    assert_eq!(stage.read("code").trim(), "2");
    assert!(stage.read("err").contains("longer than 1048576 bytes"), "{}", stage.read("err"));
}

#[test]
fn a_mebibyte_of_padding_is_fine() {
    let mut json = question(&[]).to_string();
    json.push_str(&" ".repeat((1 << 20) - json.len()));
    let ended = Stage::new().file("q.json", json).run(&["check", "q.json"]);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
}

#[test]
fn invalid_utf_8_is_told_where() {
    let stage = Stage::new().file("q.json", b"{\"a\": \"\xff\"}");
    check(&stage.run(&["ask", "q.json"]), "askuser: q.json: not UTF-8 at byte 7, must be UTF-8 text\n");
}

#[test]
fn deep_nesting_is_refused_like_any_bad_json() {
    let json = "[".repeat(100_000);
    check_says(&Stage::new().run_with(&["ask"], json.as_bytes()), "input: not JSON (");
}

#[test]
fn unknown_fields_are_ignored() {
    let mut json = question(&[]);
    json["extra"] = json!(1);
    json["questions"][0]["extra"] = json!({"deep": []});
    assert_eq!(ask(&json).code, Some(3));
}

#[test]
fn no_input_at_a_terminal_is_told_how_to_give_one() {
    let ended = Stage::new().ask(&[]).finish();
    assert_eq!(ended.code, Some(2));
    assert!(
        ended.stderr.starts_with("askuser: no input\nhint: give a FILE, - (standard input), --json"),
        "{}",
        ended.stderr
    );
}

#[test]
fn the_quick_form_asks() {
    let stage = Stage::new();
    let args = ["-q", "Which database?", "-H", "Database", "-o", "PostgreSQL: rich features", "-o", "SQLite: embedded"];
    let mut terminal = stage.ask(&args);
    terminal.wait_for("? keys");
    let expected = "
╭─ Database ─╮
│
│  Which database?
│
│  1 > ○ PostgreSQL
│        rich features
│
│  2   ○ SQLite
│        embedded
│
│  3   ○ Other
│        Type something else…
│
╰───────────────────────────╯
  enter select • n note • c discuss • d decline • esc cancel • ? keys";
    terminal.wait_for_rest(1);
    assert_eq!(terminal.screen(), expected);
    terminal.keys("2");
    assert_eq!(terminal.finish().picks(), json!([["SQLite"]]));
}

#[test]
fn the_quick_form_needs_neither_header_nor_descriptions() {
    let mut terminal = Stage::new().ask(&["-q", "Go on?", "-o", "Yes", "-o", "No"]);
    terminal.wait_for("? keys");
    assert!(!terminal.screen().contains("Question"), "{}", terminal.screen());
    terminal.keys("1");
    let ended = terminal.finish();
    assert_eq!((ended.picks(), ended.screen.as_str()), (json!([["Yes"]]), "\n✔ Go on? Yes"));
}

#[test]
fn the_quick_form_takes_several() {
    let mut terminal = Stage::new().ask(&["-q", "Which?", "-o", "A", "-o", "B", "-o", "C", "--multi"]);
    terminal.wait_for("☐ A");
    terminal.keys("13<enter>");
    assert_eq!(terminal.finish().picks(), json!([["A", "C"]]));
}

#[test]
fn the_quick_form_keeps_colons_that_are_not_followed_by_a_space() {
    let mut terminal = Stage::new().ask(&["-q", "Which?", "-o", "http://a.example: one", "-o", "b:c"]);
    terminal.wait_for("? keys");
    terminal.keys("1");
    assert_eq!(terminal.finish().picks(), json!([["http://a.example"]]));
}

#[test]
fn the_quick_form_needs_two_options() {
    let expected =
        "askuser: invalid input, nothing was asked\n  -o: 1 option, at least 2, each as -o \"LABEL: DESCRIPTION\"\n";
    check(&Stage::new().run(&["ask", "-q", "Which?", "-o", "A"]), expected);
    check_says(&Stage::new().run(&["ask", "-q", "Which?"]), "\n  -o: 0 options, at least 2, each as -o");
}

#[test]
fn the_quick_form_has_the_same_limits() {
    let args = ["ask", "-q", "Which?", "-H", "Thirteen char", "-o", "A", "-o", "A"];
    let ended = Stage::new().run(&args);
    check_says(&ended, "\n  -H: 13 characters, at most 12\n");
    check_says(&ended, "\n  label of the second -o: repeats the label of the first -o, labels must differ\n");
    let ended = Stage::new().run(&["ask", "-q", "Which?", "-o", "A", "-o", "a"]);
    check_says(
        &ended,
        "\n  label of the second -o: repeats the label of the first -o in other letters, labels must differ\n",
    );
}

#[test]
fn an_option_with_a_colon_but_no_space_is_said_once_to_be_a_label() {
    let args = ["ask", "-q", "Which?", "-o", "a:b", "-o", "c:d", "--headless", "fail"];
    let stderr = Stage::new().run(&args).stderr;
    let message = "askuser: -o \"a:b\" is a label with a colon; a description follows \": \", with a space\n";
    assert!(stderr.starts_with(message) && stderr.matches("with a colon").count() == 1, "{stderr}");
    let args = ["ask", "-q", "Which?", "-o", "http://a.example", "-o", "10:30", "--headless", "fail"];
    assert!(!Stage::new().run(&args).stderr.contains("with a colon"));
}

#[test]
fn a_misspelt_key_is_named_where_the_right_one_is_missing() {
    let json = question(&[]).to_string().replace("\"header\"", "\"heading\"");
    let message = "\n  questions[0].header: missing, but there is \"heading\", must be a string\n";
    check_says(&Stage::new().run(&["ask", "--json", &json]), message);
}

#[test]
fn the_quick_form_and_a_file_exclude_each_other() {
    let file = example("database");
    check_says(&Stage::new().run(&["ask", &file, "-q", "Which?", "-o", "A", "-o", "B"]), "-q");
    check_says(&Stage::new().run(&["ask", "--json", "{}", "-q", "Which?", "-o", "A", "-o", "B"]), "-q");
}

#[test]
fn a_bad_value_of_a_flag_is_named_with_what_it_must_be() {
    let bad = |flag: &str, value: &str| Stage::new().run(&["ask", &example("database"), flag, value]);
    check(
        &bad("--timeout", "soon"),
        "askuser: timeout: \"soon\" (from flag, --timeout), must be a duration above 0, such as 30s, 5m or 1h\n",
    );
    check_says(&bad("--timeout", "0"), "above 0");
    check_says(&bad("--success-flash", "2s"), "at most 1s");
    check_says(&bad("--key-delay", "soon"), "a duration such as 250ms");
    check(
        &bad("--confirm", "loud"),
        "askuser: confirm: \"loud\" (from flag, --confirm), must be boxed|full|inline|none\n",
    );
    check_says(&bad("--theme", "blue"), "auto|dark|light");
    check_says(&bad("--headless", "guess"), "fail|recommended");
    check_says(&bad("--format", "xml"), "auto|text|json|record");
    check_says(&bad("--color", "8"), "auto|none|16|256|truecolor");
    let ended = Stage::new().run(&["ask", &example("database"), "--key-delay=-1s"]);
    check_says(&ended, "key_delay: \"-1s\" (from flag, --key-delay), must be a duration");
}

#[test]
fn cosmetic_faults_are_mended_when_asked_to_and_the_model_is_told() {
    let json = question(&[("/header", json!("A header too long")), ("/multiSelect", json!("false"))]);
    let stage = Stage::new().file("q.json", json.to_string());
    assert_eq!(stage.run(&["ask", "q.json"]).code, Some(2));
    let mut terminal = stage.ask(&["--repair", "q.json"]);
    terminal.wait_for("? keys");
    terminal.keys("1");
    let ended = terminal.finish();
    assert_eq!(ended.status(), ("answered".into(), 0));
    let mended = ended.json()["mended"].clone();
    assert_eq!(mended.as_array().map(Vec::len), Some(2), "{mended}");
    assert!(mended.to_string().contains("questions[0].header: 17 characters, at most 12"), "{mended}");
}

#[test]
fn faults_of_meaning_are_never_mended() {
    let mut json = question(&[]);
    json["questions"][0].as_object_mut().unwrap().remove("multiSelect");
    let ended = Stage::new().run(&["ask", "--repair", "--json", &json.to_string()]);
    check_says(&ended, "questions[0].multiSelect: missing, must be true or false");
}

#[test]
fn questions_with_a_preview_are_shown_as_markdown() {
    let preview =
        |text: &str| serde_json::json!({"label": text, "description": "d", "preview": format!("**{text}** it is")});
    let question = serde_json::json!({"question": "Which?", "header": "Look", "multiSelect": false,
        "options": [preview("Grid"), preview("Table")]});
    let input = serde_json::json!({"questions": [question]}).to_string();
    let stage = Stage::new().file("in.json", &input);
    for args in [&["in.json"][..], &["--json", &input]] {
        let quick = ["ask", "--key-delay", "0", "--success-flash", "0"];
        let mut terminal = stage.askuser(&[&quick[..], args].concat(), "");
        // The marks are not visible, because the prompt reads Markdown.
        terminal.wait_for("┃ Grid it is");
        terminal.keys("2");
        let ended = terminal.finish();
        assert_eq!((ended.code, ended.picks()), (Some(0), serde_json::json!([["Table"]])));
    }
}

#[test]
fn questions_with_a_list_are_shown_as_markdown() {
    let question = serde_json::json!({"question": "Which?\n- one\n- two", "header": "List", "multiSelect": false,
        "options": [{"label": "A", "description": "a"}, {"label": "B", "description": "b"}]});
    let stage = Stage::new().file("in.json", serde_json::json!({"questions": [question]}).to_string());
    let mut terminal = stage.ask(&["in.json"]);
    terminal.wait_for("┃ • two");
    terminal.keys("2");
    assert_eq!(terminal.finish().picks(), serde_json::json!([["B"]]));
}

#[test]
fn an_input_that_is_empty_too_long_or_no_text_is_rejected_where_a_model_reads_it() {
    let rejection = |input: &[u8], arguments: &[&str]| -> Value {
        let ended = Stage::new().run_with(arguments, input);
        assert_eq!(ended.code, Some(2), "{}", ended.stderr);
        serde_json::from_str(&ended.stdout).unwrap_or_else(|error| panic!("{error}: {:?}", ended.stdout))
    };
    let long = vec![b' '; (1 << 20) + 1];
    for (input, fact) in
        [(&b" \n"[..], "empty"), (&long, "longer than 1048576 bytes"), (b"{\"a\": \"\xff\"}", "not UTF-8 at byte 7")]
    {
        let rejected = rejection(input, &["ask", "--format", "json", "-"]);
        assert_eq!((&rejected["status"], &rejected["violations"][0]["fact"]), (&json!("invalid"), &json!(fact)));
        let checked = rejection(input, &["check", "--format", "json", "-"]);
        assert_eq!((&checked["valid"], &checked["violations"][0]["fact"]), (&json!(false), &json!(fact)));
        let text = Stage::new().run_with(&["ask", "--format", "text", "-"], input);
        assert!(text.stdout.contains(fact), "{}", text.stdout);
    }
}
