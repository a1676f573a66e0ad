//! Tests of the rules for questions and for their answers.

use super::*;
use crate::limits::Span;
use crate::outcome::Outcome;
use serde_json::json;

const STRICT: Rules = Rules::strict();
const REPAIR: Rules = Rules::repair();

/// Returns a valid input with two questions.
fn input() -> Value {
    json!({"questions": [
        {
            "question": "Which database should we use?",
            "header": "Database",
            "options": [
                {"label": "PostgreSQL (Recommended)", "description": "Relational DB with rich features"},
                {"label": "MongoDB", "description": "Document-based NoSQL database"},
                {"label": "SQLite", "description": "Lightweight embedded database"},
            ],
            "multiSelect": false,
        },
        {
            "question": "Which features should we enable?",
            "header": "Features",
            "options": [
                {"label": "TypeScript", "description": "Type safety"},
                {"label": "Tailwind, CSS", "description": "Utility-first"},
            ],
            "multiSelect": true,
        },
    ]})
}

/// The valid input with another value at a JSON pointer that exists.
fn with(pointer: &str, new: impl Into<Value>) -> Value {
    let mut value = input();
    *value.pointer_mut(pointer).expect("a pointer into the input") = new.into();
    value
}

/// The valid input without one key.
fn without(pointer: &str, key: &str) -> Value {
    let mut value = input();
    value.pointer_mut(pointer).unwrap().as_object_mut().unwrap().remove(key).expect("a key of the input");
    value
}

fn questions(count: usize) -> Value {
    let question = |i| {
        let mut question = input()["questions"][0].clone();
        question["question"] = format!("Which database for service {i}?").into();
        question
    };
    json!({"questions": (0..count).map(question).collect::<Vec<_>>()})
}

fn options(count: usize) -> Value {
    let option = |i| json!({"label": format!("Option {i}"), "description": "One of many"});
    with("/questions/0/options", (0..count).map(option).collect::<Vec<_>>())
}

fn parse(value: &Value) -> QuestionSet {
    QuestionSet::parse(value.clone(), &STRICT).expect("a valid input")
}

#[track_caller]
fn check_under(rules: &Rules, value: &Value, violations: &[&str]) {
    let found = match QuestionSet::parse(value.clone(), rules) {
        Ok(_) => Vec::new(),
        Err(found) => found.iter().map(ToString::to_string).collect(),
    };
    assert_eq!(found, violations, "in {value}");
}

/// Checks that an input has exactly these violations, in this order.
#[track_caller]
fn check(value: &Value, violations: &[&str]) {
    check_under(&STRICT, value, violations);
}

/// Checks that an input is accepted with repairs, with exactly these messages.
#[track_caller]
fn check_mended(value: &Value, mended: &[&str]) -> QuestionSet {
    let set = QuestionSet::parse(value.clone(), &REPAIR).unwrap_or_else(|bad| panic!("{bad}"));
    assert_eq!(set.mended(), mended, "in {value}");
    set
}

// ---- counts ----

#[test]
fn no_question_is_too_few() {
    check(&questions(0), &["questions: 0 questions, at least 1"]);
}

#[test]
fn one_to_four_questions_are_accepted() {
    for count in 1..=4 {
        check(&questions(count), &[]);
        assert_eq!(parse(&questions(count)).questions().len(), count);
    }
}

#[test]
fn five_questions_are_too_many() {
    check(&questions(5), &["questions: 5 questions, at most 4"]);
}

#[test]
fn no_option_or_one_is_too_few() {
    check(&options(0), &["questions[0].options: 0 options, at least 2"]);
    check(&options(1), &["questions[0].options: 1 option, at least 2"]);
}

#[test]
fn two_to_four_options_are_accepted() {
    for count in 2..=4 {
        check(&options(count), &[]);
        assert_eq!(parse(&options(count)).questions()[0].options().len(), count);
    }
}

#[test]
fn five_options_are_too_many() {
    check(&options(5), &["questions[0].options: 5 options, at most 4"]);
}

#[test]
fn a_flood_of_faulty_items_is_not_answered_with_a_flood() {
    let bad = QuestionSet::parse(json!({"questions": vec![json!({}); 10_000]}), &STRICT).unwrap_err();
    assert!(bad.iter().count() < 50, "{bad}");
    assert_eq!(bad.iter().next().unwrap().to_string(), "questions: 10000 questions, at most 4");
}

// ---- lengths ----

#[test]
fn headers_of_one_to_twelve_characters_are_accepted() {
    for header in ["D", "DB", "Database", "Auth Method", "Package Mgr!", "数据库数据库数据库数据库", &"🐘".repeat(12)]
    {
        check(&with("/questions/0/header", header), &[]);
    }
}

#[test]
fn an_empty_header_is_too_short() {
    check(&with("/questions/0/header", ""), &["questions[0].header: empty, at least 1"]);
}

#[test]
fn a_header_of_thirteen_or_more_characters_is_too_long() {
    check(&with("/questions/1/header", "Thirteen char"), &["questions[1].header: 13 characters, at most 12"]);
    check(&with("/questions/1/header", "Seventeen letters"), &["questions[1].header: 17 characters, at most 12"]);
    check(&with("/questions/1/header", "語".repeat(13)), &["questions[1].header: 13 characters, at most 12"]);
}

#[test]
fn lengths_count_scalars_and_not_what_they_look_like() {
    check(&with("/questions/0/header", "👨‍👩‍👧‍👦👨‍👩‍👧‍👦"), &["questions[0].header: 14 characters, at most 12"]);
    check(&with("/questions/0/header", "e\u{301}".repeat(6)), &[]);
}

#[test]
fn labels_have_at_most_fifty_characters() {
    check(&with("/questions/0/options/1/label", "é".repeat(50)), &[]);
    check(
        &with("/questions/0/options/1/label", "é".repeat(51)),
        &["questions[0].options[1].label: 51 characters, at most 50"],
    );
    check(&with("/questions/0/options/1/label", ""), &["questions[0].options[1].label: empty, at least 1"]);
}

#[test]
fn the_suffix_counts_towards_the_length_of_a_label() {
    let label = format!("{} (Recommended)", "a".repeat(37));
    check(&with("/questions/0/options/0/label", label), &["questions[0].options[0].label: 51 characters, at most 50"]);
}

#[test]
fn descriptions_have_at_most_two_hundred_characters() {
    check(&with("/questions/0/options/1/description", "é".repeat(200)), &[]);
    check(
        &with("/questions/0/options/1/description", "é".repeat(201)),
        &["questions[0].options[1].description: 201 characters, at most 200"],
    );
    check(&with("/questions/0/options/1/description", ""), &["questions[0].options[1].description: empty, at least 1"]);
}

#[test]
fn questions_have_at_most_ten_thousand_characters() {
    check(&with("/questions/0/question", "é".repeat(10_000)), &[]);
    check(
        &with("/questions/0/question", "é".repeat(10_001)),
        &["questions[0].question: 10001 characters, at most 10000"],
    );
    check(&with("/questions/0/question", ""), &["questions[0].question: empty, at least 1"]);
}

// ---- presence and kind ----

#[test]
fn multi_select_has_to_be_said() {
    check(&without("/questions/0", "multiSelect"), &["questions[0].multiSelect: missing, must be true or false"]);
}

#[test]
fn multi_select_is_taken_as_said() {
    let set = parse(&input());
    assert_eq!([0, 1].map(|i| set.questions()[i].is_multi_select()), [false, true]);
}

#[test]
fn multi_select_is_neither_a_word_nor_a_number() {
    check(&with("/questions/0/multiSelect", "true"), &["questions[0].multiSelect: a string, must be true or false"]);
    check(&with("/questions/0/multiSelect", 1), &["questions[0].multiSelect: a number, must be true or false"]);
}

#[test]
fn everything_missing_is_named() {
    check(&json!({}), &["questions: missing, must be an array"]);
    check(
        &json!({"questions": [{}]}),
        &[
            "questions[0].question: missing, must be a string",
            "questions[0].header: missing, must be a string",
            "questions[0].options: missing, must be an array",
            "questions[0].multiSelect: missing, must be true or false",
        ],
    );
    check(
        &with("/questions/0/options", json!([{}, {"label": "a", "description": "b"}])),
        &[
            "questions[0].options[0].label: missing, must be a string",
            "questions[0].options[0].description: missing, must be a string",
        ],
    );
}

#[test]
fn null_is_a_value_of_the_wrong_kind() {
    for (pointer, path, kind) in [
        ("/questions", "questions", "an array"),
        ("/questions/0", "questions[0]", "an object"),
        ("/questions/0/question", "questions[0].question", "a string"),
        ("/questions/0/header", "questions[0].header", "a string"),
        ("/questions/0/options", "questions[0].options", "an array"),
        ("/questions/0/options/1", "questions[0].options[1]", "an object"),
        ("/questions/0/options/1/label", "questions[0].options[1].label", "a string"),
        ("/questions/0/options/1/description", "questions[0].options[1].description", "a string"),
        ("/questions/0/multiSelect", "questions[0].multiSelect", "true or false"),
    ] {
        check(&with(pointer, Value::Null), &[&format!("{path}: null, must be {kind}")]);
    }
}

#[test]
fn every_wrong_kind_is_named() {
    for (value, kind) in
        [(json!(1), "a number"), (json!(true), "true or false"), (json!([]), "an array"), (json!({}), "an object")]
    {
        check(&with("/questions/0/header", value), &[&format!("questions[0].header: {kind}, must be a string")]);
    }
    check(&with("/questions/0/options", "a, b"), &["questions[0].options: a string, must be an array"]);
    check(&with("/questions/0/options/0", "a"), &["questions[0].options[0]: a string, must be an object"]);
    check(&with("/questions", json!({"0": {}})), &["questions: an object, must be an array"]);
}

#[test]
fn an_array_does_not_pass_for_an_object() {
    check(
        &with("/questions/0/options/0", json!(["PostgreSQL", "Relational"])),
        &["questions[0].options[0]: an array, must be an object"],
    );
    check(&json!([input()["questions"]]), &["input: an array, must be an object"]);
}

#[test]
fn an_input_that_is_no_object_is_said_to_be_none() {
    check(&Value::Null, &["input: null, must be an object"]);
    check(&json!("Which database?"), &["input: a string, must be an object"]);
}

#[test]
fn text_that_is_not_json_is_said_not_to_be() {
    let bad = QuestionSet::from_json("{\"questions\": [", &STRICT).unwrap_err().to_string();
    assert_eq!(bad, "input: not JSON (EOF while parsing a list at line 1 column 15), must be a JSON object");
}

#[test]
fn json_text_reads_like_its_value() {
    assert_eq!(QuestionSet::from_json(&input().to_string(), &STRICT).unwrap(), parse(&input()));
}

#[test]
fn input_made_in_code_is_held_to_the_same_rules() {
    let question = QuestionInput::new("Which?", "Header too long").option("a", "d").option("b", "d");
    let bad = QuestionSet::new([question], &STRICT).unwrap_err();
    assert_eq!(bad.to_string(), "questions[0].header: 15 characters, at most 12");
}

// ---- blank ----

#[test]
fn text_without_anything_to_see_is_blank() {
    for blank in
        [" ", "\n\t ", "\u{200b}", "\u{200b}\u{2060}\u{feff}", "\u{2800}", "\u{3164}", "\u{1b}[31m", "\u{e0041}"]
    {
        for (pointer, path) in [
            ("/questions/0/question", "questions[0].question"),
            ("/questions/0/header", "questions[0].header"),
            ("/questions/0/options/1/label", "questions[0].options[1].label"),
            ("/questions/0/options/1/description", "questions[0].options[1].description"),
        ] {
            check(&with(pointer, blank), &[&format!("{path}: blank, must have visible text")]);
        }
    }
}

#[test]
fn a_label_has_to_be_more_than_recommended() {
    for label in ["(Recommended)", " (recommended) ", "\u{200b}(Recommended)", "\u{2800} (Recommended)"] {
        check(
            &with("/questions/0/options/1/label", label),
            &["questions[0].options[1].label: only \"(Recommended)\", must name the option"],
        );
    }
}

// ---- repeats ----

#[test]
fn a_label_may_not_repeat_within_its_question() {
    check(
        &with("/questions/0/options/2/label", "MongoDB"),
        &["questions[0].options[2].label: repeats questions[0].options[1].label, labels must differ"],
    );
}

#[test]
fn labels_that_look_the_same_are_the_same() {
    for label in ["PostgreSQL", "PostgreSQL (RECOMMENDED)", " PostgreSQL ", "Postgre\u{200b}SQL", "\u{1b}[1mPostgreSQL"]
    {
        check(
            &with("/questions/0/options/2/label", label),
            &["questions[0].options[2].label: repeats questions[0].options[0].label, labels must differ"],
        );
    }
}

#[test]
fn every_repeat_refers_to_the_first() {
    let options = vec![json!({"label": "A", "description": "d"}); 3];
    check(
        &with("/questions/0/options", options),
        &[
            "questions[0].options[1].label: repeats questions[0].options[0].label, labels must differ",
            "questions[0].options[2].label: repeats questions[0].options[0].label, labels must differ",
        ],
    );
}

#[test]
fn labels_that_differ_in_case_alone_are_the_same() {
    check(
        &with("/questions/0/options/2/label", "mongodb"),
        &["questions[0].options[2].label: repeats questions[0].options[1].label in other letters, labels must differ"],
    );
}

#[test]
fn labels_of_different_questions_may_be_alike() {
    check(&with("/questions/1/options/0/label", "MongoDB"), &[]);
}

#[test]
fn a_question_may_not_repeat() {
    for text in
        ["Which database should we use?", " Which database should we use?\n", "Which database\u{200b} should we use?"]
    {
        check(
            &with("/questions/1/question", text),
            &["questions[1].question: repeats questions[0].question, question texts must differ"],
        );
    }
}

#[test]
fn a_question_may_not_repeat_in_other_letters() {
    for text in
        ["WHICH database should we use?", "Which d\u{430}tabase should we use?", "Ｗhich database should we use?"]
    {
        check(
            &with("/questions/1/question", text),
            &["questions[1].question: repeats questions[0].question in other letters, question texts must differ"],
        );
    }
}

#[test]
fn a_header_may_repeat() {
    check(&with("/questions/1/header", "Database"), &[]);
}

// ---- Other ----

#[test]
fn other_may_not_be_written_by_hand() {
    for label in ["Other", "other", "OTHER", " Other ", "Other…", "Other...", "Other:", "Oth\u{200b}er"] {
        let name = sanitize::line(label).trim().to_owned();
        let message = format!(
            "questions[0].options[1].label: \"{name}\" written by hand, must be left out: Other is always offered"
        );
        check(&with("/questions/0/options/1/label", label), &[&message]);
    }
}

#[test]
fn other_may_not_be_recommended_either() {
    check(
        &with("/questions/0/options/1/label", "Other (Recommended)"),
        &["questions[0].options[1].label: \"Other\" written by hand, must be left out: Other is always offered"],
    );
}

#[test]
fn other_may_not_be_written_in_brackets_or_in_letters_that_look_latin() {
    for label in ["[Other]", "\u{41e}ther", "Ｏｔｈｅｒ", "（Other）"] {
        let message = format!(
            "questions[0].options[1].label: \"{label}\" written by hand, must be left out: Other is always offered"
        );
        check(&with("/questions/0/options/1/label", label), &[&message]);
    }
}

#[test]
fn a_label_may_contain_the_word_other() {
    for label in ["Another", "Other vendors", "The other one", "Others"] {
        check(&with("/questions/0/options/1/label", label), &[]);
    }
}

// ---- several violations ----

#[test]
fn every_violation_is_reported_at_once_in_the_order_of_the_input() {
    let value = json!({"questions": [
        {
            "question": "Which?",
            "header": "Seventeen letters",
            "options": [
                {"label": "A", "description": ""},
                {"label": "A (Recommended)", "description": "d"},
                {"label": "Other"},
                {"label": "(Recommended)", "description": 1},
                7,
            ],
        },
        {"question": "Which?", "header": "\u{200b}", "options": [{"label": " ", "description": "d"}], "multiSelect": 1},
        null,
        {"question": null, "options": {}, "multiSelect": true},
        {"question": "Fifth?", "header": "H", "options": [], "multiSelect": true},
    ]});
    check(
        &value,
        &[
            "questions: 5 questions, at most 4",
            "questions[0].header: 17 characters, at most 12",
            "questions[0].options: 5 options, at most 4",
            "questions[0].options[0].description: empty, at least 1",
            "questions[0].options[1].label: repeats questions[0].options[0].label, labels must differ",
            "questions[0].options[2].label: \"Other\" written by hand, must be left out: Other is always offered",
            "questions[0].options[2].description: missing, must be a string",
            "questions[0].options[3].label: only \"(Recommended)\", must name the option",
            "questions[0].options[3].description: a number, must be a string",
            "questions[0].options[4]: a number, must be an object",
            "questions[0].multiSelect: missing, must be true or false",
            "questions[1].question: repeats questions[0].question, question texts must differ",
            "questions[1].header: blank, must have visible text",
            "questions[1].options: 1 option, at least 2",
            "questions[1].options[0].label: blank, must have visible text",
            "questions[1].multiSelect: a number, must be true or false",
            "questions[2]: null, must be an object",
            "questions[3].question: null, must be a string",
            "questions[3].header: missing, must be a string",
            "questions[3].options: an object, must be an array",
            "questions[4].options: 0 options, at least 2",
        ],
    );
}

#[test]
fn a_violation_is_data_too() {
    let bad = QuestionSet::parse(with("/questions/1/header", "Seventeen letters"), &STRICT).unwrap_err();
    assert_eq!(
        serde_json::to_value(bad).unwrap(),
        json!([{"path": "questions[1].header", "fact": "17 characters", "limit": "at most 12"}])
    );
}

// ---- what is ignored, kept and shown ----

#[test]
fn unknown_fields_are_ignored() {
    let mut value = input();
    value["mood"] = json!("good");
    value["questions"][0]["id"] = json!(7);
    value["questions"][0]["options"][0]["preview"] = json!(null);
    assert_eq!(parse(&value).questions(), parse(&input()).questions());
}

#[test]
fn answers_given_by_a_model_are_ignored() {
    let mut value = input();
    value["answers"] = json!({"Which database should we use?": "PostgreSQL"});
    assert_eq!(parse(&value).questions(), parse(&input()).questions());
}

#[test]
fn the_source_is_kept() {
    let mut value = input();
    value["metadata"] = json!({"source": "remember", "other": 1});
    assert_eq!(parse(&value).source(), Some("remember"));
}

#[test]
fn a_missing_or_odd_source_is_no_fault() {
    for metadata in [Value::Null, json!({}), json!({"source": 1}), json!("remember"), json!([])] {
        let mut value = input();
        value["metadata"] = metadata;
        assert_eq!(parse(&value).source(), None);
    }
}

#[test]
fn recommended_is_a_flag_in_any_case() {
    for label in [
        "A (Recommended)",
        "A (recommended)",
        "A (RECOMMENDED)",
        "A(Recommended)",
        "A (Recommended) ",
        "A (Recommended)\u{200b}",
    ] {
        let set = parse(&with("/questions/0/options/1/label", label));
        let choice = &set.questions()[0].options()[1];
        assert_eq!((choice.name(), choice.is_recommended()), ("A", true), "{label:?}");
        assert_eq!(choice.label_verbatim(), label);
    }
}

#[test]
fn recommended_elsewhere_in_a_label_is_not_a_flag() {
    for label in ["(Recommended) A", "A (Recommended) B", "A Recommended", "A (Recommended"] {
        let set = parse(&with("/questions/0/options/1/label", label));
        let choice = &set.questions()[0].options()[1];
        assert_eq!((choice.name(), choice.is_recommended()), (label, false));
    }
}

#[test]
fn a_label_that_ends_in_more_than_ascii_is_not_cut_apart() {
    for label in ["데이터베이스 선택하기 좋은 것", "ééééééééé", "🐘🐘🐘🐘"] {
        let set = parse(&with("/questions/0/options/1/label", label));
        assert_eq!(set.questions()[0].options()[1].name(), label);
    }
}

#[test]
fn what_is_shown_begins_with_no_mark_without_its_base() {
    let mut value = with("/questions/0/header", "\u{200b} \u{301}DB");
    value["questions"][0]["options"][0]["label"] = json!(" \u{301}A (Recommended)");
    let set = parse(&value);
    let question = &set.questions()[0];
    assert_eq!([question.header(), question.options()[0].name()], [" \u{301}DB", " \u{301}A"]);
}

#[test]
fn verbatim_text_is_kept_and_safe_text_is_shown() {
    let mut value = input();
    value["questions"][0]["question"] = json!(" Which\r\ndatabase\u{1b}[31m? ");
    value["questions"][0]["header"] = json!("\u{202e}DB\t1 ");
    value["questions"][0]["options"][0]["label"] = json!("Post\ngres (Recommended)");
    value["questions"][0]["options"][0]["description"] = json!("One\n\ttwo\u{7} ");
    let set = parse(&value);
    let question = &set.questions()[0];
    let choice = &question.options()[0];
    let shown = [question.text(), question.header(), choice.name(), choice.description()];
    assert_eq!(shown, ["Which\ndatabase?", "DB 1", "Post gres", "One\n    two"]);
    assert_eq!(set.questions_json(), value["questions"]);
}

// ---- repair ----

#[test]
fn strict_reading_mends_nothing() {
    assert!(parse(&input()).mended().is_empty());
}

#[test]
fn repair_has_nothing_to_say_about_a_valid_input() {
    assert_eq!(check_mended(&input(), &[]).questions(), parse(&input()).questions());
}

#[test]
fn a_long_header_is_shortened_for_display_only() {
    let value = with("/questions/1/header", "Seventeen letters");
    let set = check_mended(&value, &["questions[1].header: 17 characters, at most 12, shown as \"Seventeen l…\""]);
    let question = &set.questions()[1];
    assert_eq!((question.header(), question.header_verbatim()), ("Seventeen l…", "Seventeen letters"));
    assert_eq!(question.header().chars().count(), 12);
}

#[test]
fn a_shortened_header_ends_between_words_and_between_graphemes() {
    check_mended(
        &with("/questions/0/header", "Package Mgr of choice"),
        &["questions[0].header: 21 characters, at most 12, shown as \"Package Mgr…\""],
    );
    check_mended(
        &with("/questions/0/header", "Families 👨‍👩‍👧‍👦"),
        &["questions[0].header: 16 characters, at most 12, shown as \"Families…\""],
    );
}

#[test]
fn a_header_that_is_long_only_by_what_cannot_be_seen_is_shown_whole() {
    check_mended(
        &with("/questions/0/header", format!("Database{}", "\u{200b}".repeat(10))),
        &["questions[0].header: 18 characters, at most 12, shown as \"Database\""],
    );
    check_mended(
        &with("/questions/0/header", "Twelve chars\u{200b}"),
        &["questions[0].header: 13 characters, at most 12, shown as \"Twelve chars\""],
    );
}

#[test]
fn a_hand_written_other_is_dropped() {
    let mut value = input();
    value["questions"][0]["options"][2]["label"] = json!("Other…");
    let set = check_mended(&value, &["questions[0].options[2]: dropped, Other is always offered"]);
    let names: Vec<&str> = set.questions()[0].options().iter().map(Choice::name).collect();
    assert_eq!(names, ["PostgreSQL", "MongoDB"]);
}

#[test]
fn a_fifth_option_is_fine_if_it_is_other() {
    let mut value = options(4);
    value["questions"][0]["options"].as_array_mut().unwrap().push(json!({"label": "Other", "description": "Else"}));
    check_mended(&value, &["questions[0].options[4]: dropped, Other is always offered"]);
}

#[test]
fn json_sent_as_a_string_is_parsed() {
    let quoted = |value: &Value| Value::from(value.to_string());
    for (pointer, path) in [
        ("", "input"),
        ("/questions", "questions"),
        ("/questions/1", "questions[1]"),
        ("/questions/1/options", "questions[1].options"),
        ("/questions/1/options/0", "questions[1].options[0]"),
        ("/questions/1/multiSelect", "questions[1].multiSelect"),
    ] {
        let value = with(pointer, quoted(input().pointer(pointer).unwrap()));
        let set = check_mended(&value, &[&format!("{path}: JSON sent as a string, parsed")]);
        assert_eq!(set.questions(), parse(&input()).questions());
        assert!(QuestionSet::parse(value.clone(), &STRICT).is_err(), "{path} passes without repair");
    }
}

#[test]
fn text_that_happens_to_be_json_stays_text() {
    for pointer in ["/questions/0/question", "/questions/0/header", "/questions/0/options/1/label"] {
        assert_eq!(check_mended(&with(pointer, "true"), &[]).questions(), parse(&with(pointer, "true")).questions());
    }
}

#[test]
fn several_mends_are_all_told() {
    let mut value = with("/questions/0/options/2/label", "Other");
    value["questions"][0]["header"] = json!("Database engine");
    value["questions"][1]["multiSelect"] = json!("true");
    check_mended(
        &value,
        &[
            "questions[1].multiSelect: JSON sent as a string, parsed",
            "questions[0].options[2]: dropped, Other is always offered",
            "questions[0].header: 15 characters, at most 12, shown as \"Database en…\"",
        ],
    );
}

#[test]
fn faults_of_meaning_are_not_mended() {
    for (value, violation) in [
        (questions(0), "questions: 0 questions, at least 1"),
        (questions(5), "questions: 5 questions, at most 4"),
        (options(1), "questions[0].options: 1 option, at least 2"),
        (options(5), "questions[0].options: 5 options, at most 4"),
        (without("/questions/0", "multiSelect"), "questions[0].multiSelect: missing, must be true or false"),
        (with("/questions/0/multiSelect", "yes"), "questions[0].multiSelect: a string, must be true or false"),
        (with("/questions/0/multiSelect", 1), "questions[0].multiSelect: a number, must be true or false"),
        (with("/questions/0/header", ""), "questions[0].header: empty, at least 1"),
        (with("/questions/0/header", " ".repeat(13)), "questions[0].header: blank, must have visible text"),
        (without("/questions/0", "header"), "questions[0].header: missing, must be a string"),
        (
            with("/questions/0/options/1/label", "é".repeat(51)),
            "questions[0].options[1].label: 51 characters, at most 50",
        ),
        (
            with("/questions/0/options/1/label", "SQLite"),
            "questions[0].options[2].label: repeats questions[0].options[1].label, labels must differ",
        ),
        (json!("no JSON"), "input: a string, must be an object"),
    ] {
        check_under(&REPAIR, &value, &[violation]);
    }
}

#[test]
fn one_option_and_other_is_still_too_few() {
    let value = with(
        "/questions/0/options",
        json!([{"label": "PostgreSQL", "description": "d"}, {"label": "Other", "description": "d"}]),
    );
    check_under(&REPAIR, &value, &["questions[0].options: 1 option, at least 2"]);
}

// ---- limits ----

#[test]
fn raised_limits_are_what_counts() {
    let header_chars = Span { min: 1, max: 17 };
    let most_options = Span { min: 2, max: 5 };
    let limits = Limits { header_chars, options: most_options, questions: Span { min: 1, max: 5 }, ..Limits::DEFAULT };
    let rules = STRICT.with_limits(limits).unwrap();
    check_under(&rules, &with("/questions/1/header", "Seventeen letters"), &[]);
    check_under(
        &rules,
        &with("/questions/1/header", "Eighteen letters, "),
        &["questions[1].header: 18 characters, at most 17"],
    );
    check_under(&rules, &options(5), &[]);
    check_under(&rules, &options(6), &["questions[0].options: 6 options, at most 5"]);
    check_under(&rules, &questions(5), &[]);
}

#[test]
fn a_raised_minimum_is_told_too() {
    let rules = STRICT.with_limits(Limits { header_chars: Span { min: 3, max: 12 }, ..Limits::DEFAULT }).unwrap();
    check_under(&rules, &with("/questions/0/header", "DB"), &["questions[0].header: 2 characters, at least 3"]);
}

#[test]
fn a_set_keeps_the_limits_it_was_read_under() {
    let rules = STRICT.with_limits(Limits { typed_chars: 5, ..Limits::DEFAULT }).unwrap();
    let set = QuestionSet::parse(input(), &rules).unwrap();
    assert_eq!((set.limits(), set.rules()), (rules.limits(), &rules));
    let answer = |text: &str| set.questions()[0].answer(&[], Some(text.into()), None).unwrap();
    assert!(set.admits(&[answer("12345")]));
    assert!(!set.admits(&[answer("123456")]));
}

// ---- answers ----

/// Checks whether an answer to the first (single-select) or the second (multi-select) question is admitted.
#[track_caller]
fn check_answer(question: usize, labels: &[&str], typed: Option<&str>, admitted: bool) {
    let set = parse(&input());
    let asked = &set.questions()[question];
    let answer = Answer {
        question: asked.text_verbatim().into(),
        header: asked.header_verbatim().into(),
        selected_options: labels.iter().map(|label| (*label).to_owned()).collect(),
        custom_input: typed.map(str::to_owned),
        note: None,
        notes: Vec::new(),
    };
    assert_eq!(set.admits(std::slice::from_ref(&answer)), admitted, "{answer:?}");
}

#[test]
fn one_label_or_a_typed_text_answers_a_single_select_question() {
    check_answer(0, &["MongoDB"], None, true);
    check_answer(0, &["PostgreSQL (Recommended)"], None, true);
    check_answer(0, &[], Some("bun\nand deno"), true);
}

#[test]
fn labels_and_a_typed_text_answer_a_multi_select_question() {
    check_answer(1, &["TypeScript"], None, true);
    check_answer(1, &["TypeScript", "Tailwind, CSS"], Some("Vitest"), true);
    check_answer(1, &[], Some("Vitest"), true);
}

#[test]
fn nothing_is_no_answer() {
    check_answer(0, &[], None, false);
    check_answer(1, &[], None, false);
    check_answer(0, &[], Some(" \n"), false);
    check_answer(1, &["TypeScript"], Some(""), false);
}

#[test]
fn a_blank_text_is_called_no_choice_and_not_several() {
    let set = parse(&input());
    let mut answer = set.questions()[0].answer(&[0], None, None).unwrap();
    answer.selected_options.clear();
    answer.custom_input = Some("  ".into());
    let refused = Outcome::cancelled().with_answers(&set, vec![answer]).unwrap_err();
    assert_eq!(refused.to_string(), "answers[0]: no choice, needs one of selectedOptions or customInput");
}

#[test]
fn a_single_select_question_has_one_answer() {
    check_answer(0, &["MongoDB", "SQLite"], None, false);
    check_answer(0, &["MongoDB"], Some("bun"), false);
}

#[test]
fn labels_are_the_questions_own_verbatim_once_and_in_order() {
    check_answer(0, &["Oracle"], None, false);
    check_answer(0, &["Other"], None, false);
    check_answer(0, &["PostgreSQL"], None, false);
    check_answer(1, &["TypeScript", "TypeScript"], None, false);
    check_answer(1, &["Tailwind, CSS", "TypeScript"], None, false);
    check_answer(1, &["Tailwind"], None, false);
}

#[test]
fn typed_text_is_bounded_and_free_of_controls() {
    check_answer(0, &[], Some(&"é".repeat(16_000)), true);
    check_answer(0, &[], Some(&"é".repeat(16_001)), false);
    for text in ["a\u{1b}[31m", "a\rb", "a\tb", "a\u{7}", "a\u{9b}", "a\0"] {
        check_answer(0, &[], Some(text), false);
    }
}

#[test]
fn an_answer_is_built_in_the_order_of_the_question() {
    let set = parse(&input());
    let answer = set.questions()[1].answer(&[1, 0, 1], None, Some(" ".into())).unwrap();
    assert_eq!(answer.selected_options, ["TypeScript", "Tailwind, CSS"]);
    assert_eq!(answer.note, None);
}

#[test]
fn a_question_is_answered_once_and_no_other_question_at_all() {
    let set = parse(&input());
    let answer = set.questions()[0].answer(&[1], None, None).unwrap();
    assert!(set.admits(&[]));
    assert!(set.admits(std::slice::from_ref(&answer)));
    assert!(!set.admits(&[answer.clone(), answer.clone()]));
    assert!(!set.admits(&[Answer { question: "Which planet?".into(), ..answer.clone() }]));
    assert!(!set.admits(&[Answer { header: "Planet".into(), ..answer }]));
}

#[test]
fn only_every_answer_makes_an_answered_outcome() {
    let set = parse(&input());
    let answer = |i: usize| set.questions()[i].answer(&[1], None, None).unwrap();
    assert!(Outcome::answered(&set, vec![]).is_err());
    assert!(Outcome::answered(&set, vec![answer(0)]).is_err());
    let outcome = Outcome::answered(&set, vec![answer(0), answer(1)]).unwrap();
    assert_eq!(Outcome::answered(&set, vec![answer(1), answer(0)]).unwrap(), outcome, "in the order of the questions");
    assert_eq!((outcome.status().name(), outcome.answers().len()), ("answered", 2));
}

// ---- previews ----

fn with_preview(preview: serde_json::Value) -> serde_json::Value {
    let options = json!([{"label": "A", "description": "a", "preview": preview}, {"label": "B", "description": "b"}]);
    json!({"questions": [{"question": "Which?", "header": "Pick", "multiSelect": false, "options": options}]})
}

#[test]
fn a_preview_is_kept_for_machines_and_safe_for_people_and_stored_with_its_set() {
    let raw = "\n```rust\n\tfn\u{1b}[2J main() {}\n```\n\n";
    let set = QuestionSet::parse(with_preview(json!(raw)), &Rules::strict()).unwrap();
    let options = set.questions()[0].options();
    assert_eq!(options[0].preview(), Some("```rust\n    fn main() {}\n```"));
    assert_eq!(options[1].preview(), None);
    assert_eq!(set.questions_json()[0]["options"][0]["preview"], raw);
    assert!(set.questions_json()[0]["options"][1].get("preview").is_none());
    let stored = serde_json::to_string(&set).unwrap();
    assert_eq!(serde_json::from_str::<QuestionSet>(&stored).unwrap(), set);
    let built = QuestionInput::new("Which?", "Pick").option_with_preview("A", "a", raw).option("B", "b");
    assert_eq!(QuestionSet::new([built], &Rules::strict()).unwrap().questions(), set.questions());
}

#[test]
fn a_preview_that_is_absent_null_or_blank_is_none_and_one_too_long_or_no_text_is_refused() {
    let read = |preview| QuestionSet::parse(with_preview(preview), &Rules::strict());
    for none in [json!(null), json!(""), json!(" \n ")] {
        assert_eq!(read(none).unwrap().questions()[0].options()[0].preview(), None);
    }
    assert!(read(json!("é".repeat(4_000))).is_ok());
    let long = read(json!("x".repeat(4_001))).unwrap_err().to_string();
    assert!(long.contains("questions[0].options[0].preview") && long.contains("at most 4000"), "{long}");
    assert!(read(json!(7)).is_err());
}
