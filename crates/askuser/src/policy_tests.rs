//! Tests of prepared answers: matching keys, refused values, and questions left to a person.

use super::*;
use crate::input::QuestionInput;
use crate::outcome::Status;
use crate::request::{Purpose, RequestKey};
use crate::rules::Rules;
use serde_json::json;

const DATABASE: &str = "Which database should we use?";
const FEATURES: &str = "Which features should we enable?";

fn asking(set: &QuestionSet) -> Request {
    Request::new(RequestKey::new("s", "c"), set.clone())
}

/// A single-select question with a recommended option, and a multi-select one without.
fn set() -> QuestionSet {
    let option = |label: &str| json!({"label": label, "description": "d"});
    let input = json!({"questions": [
        {
            "question": DATABASE,
            "header": "Database",
            "options": [option("PostgreSQL (Recommended)"), option("MySQL"), option("SQLite")],
            "multiSelect": false,
        },
        {
            "question": FEATURES,
            "header": "Features",
            "options": [option("TypeScript"), option("ESLint, Prettier"), option("Testing (Vitest)")],
            "multiSelect": true,
        },
    ]});
    QuestionSet::parse(input.clone(), &Rules::default()).expect("a valid input")
}

/// Applies these answers and this rule to the set. Returns the decision in one line.
fn decide(answers: &Value, headless: Option<Headless>) -> String {
    let set = set();
    let decided = Answers::parse(answers)
        .and_then(|answers| Policy { answers: Some(answers), headless }.apply_to(&asking(&set)))
        .map_err(|bad| bad.to_string());
    let answers = |answers: &[Answer]| {
        assert!(set.admits(answers), "{answers:?}");
        let one = |answer: &Answer| {
            let mut parts: Vec<String> = answer.selected_options.clone();
            parts.extend(answer.custom_input.as_ref().map(|text| format!("“{text}”")));
            let note = answer.note.as_ref().map(|note| format!(" (note: {note})")).unwrap_or_default();
            format!("{}: {}{note}", answer.header, parts.join(" + "))
        };
        answers.iter().map(one).collect::<Vec<_>>().join("; ")
    };
    match decided {
        Err(bad) => bad,
        Ok(Decision::Ask(known)) => format!("ask | {}", answers(&known)),
        Ok(Decision::Settled(resolution)) => {
            let (outcome, via) = (resolution.outcome(), resolution.via().map(|via| format!(" via {}", via.name())));
            let why = match outcome.status() {
                Status::Unavailable { reason } => format!(" because {reason}"),
                _ => String::new(),
            };
            let status = outcome.status().name();
            format!("{status}{}{why} | {}", via.unwrap_or_default(), answers(outcome.answers()))
        }
    }
}

/// Checks the decision by answers without a rule.
#[track_caller]
fn check(answers: Value, expected: &str) {
    assert_eq!(decide(&answers, None), expected, "{answers}");
}

// ---- keys ----

#[test]
fn a_key_is_a_header() {
    check(json!({"Database": "SQLite"}), "ask | Database: SQLite");
}

#[test]
fn a_key_is_a_question() {
    check(json!({DATABASE: "SQLite"}), "ask | Database: SQLite");
}

#[test]
fn a_key_is_exact() {
    check(json!({"database": "SQLite", "Data": "SQLite"}), "ask | ");
}

#[test]
fn a_key_between_slashes_is_an_expression() {
    check(json!({"/^Data/": "SQLite"}), "ask | Database: SQLite");
    check(json!({"/which .*database/i": "SQLite"}), "ask | Database: SQLite");
    check(json!({"/which .*database/": "SQLite"}), "ask | ");
}

#[test]
fn an_exact_key_goes_before_an_expression() {
    check(json!({"/Data/": "MySQL", "Database": "SQLite"}), "ask | Database: SQLite");
}

#[test]
fn of_several_expressions_the_first_counts() {
    check(json!({"/base/": "SQLite", "/Data/": "MySQL"}), "ask | Database: SQLite");
}

#[test]
fn one_expression_may_answer_several_questions() {
    check(
        json!({"/Which/": {"other": "you decide"}}),
        "answered via answers-file | Database: “you decide”; Features: “you decide”",
    );
}

#[test]
fn a_key_for_another_question_is_no_fault() {
    check(json!({"Colour": "red", "Database": "SQLite"}), "ask | Database: SQLite");
}

#[test]
fn the_header_as_it_is_shown_is_a_key_too() {
    let mut input = json!({"questions": set().questions_json()});
    input["questions"][0]["header"] = json!(" Data\u{200b}base ");
    let set = QuestionSet::parse(input.clone(), &Rules::default()).unwrap();
    let answers = Some(Answers::parse(&json!({"Database": "SQLite"})).unwrap());
    let decision = Policy { answers, headless: None }.apply_to(&asking(&set)).unwrap();
    assert!(matches!(decision, Decision::Ask(known) if known.len() == 1));
}

// ---- values ----

#[test]
fn a_label_is_found_with_and_without_recommended() {
    check(json!({"Database": "PostgreSQL"}), "ask | Database: PostgreSQL (Recommended)");
    check(json!({"Database": "PostgreSQL (Recommended)"}), "ask | Database: PostgreSQL (Recommended)");
}

#[test]
fn a_label_may_be_an_expression() {
    check(json!({"Database": "/lite$/i"}), "ask | Database: SQLite");
    check(json!({"Features": "/^T/"}), "ask | Features: TypeScript + Testing (Vitest)");
}

#[test]
fn an_array_picks_several_in_the_order_of_the_question() {
    check(
        json!({"Features": ["Testing (Vitest)", "TypeScript", "/^Type/"]}),
        "ask | Features: TypeScript + Testing (Vitest)",
    );
}

#[test]
fn an_array_of_one_answers_a_single_select_question() {
    check(json!({"Database": ["SQLite"]}), "ask | Database: SQLite");
}

#[test]
fn a_label_with_a_comma_is_one_label() {
    check(json!({"Features": "ESLint, Prettier"}), "ask | Features: ESLint, Prettier");
}

#[test]
fn other_is_typed_text() {
    check(json!({"Database": {"other": "DuckDB\nin memory"}}), "ask | Database: “DuckDB\nin memory”");
    check(
        json!({"Features": {"select": ["TypeScript"], "other": "Storybook"}}),
        "ask | Features: TypeScript + “Storybook”",
    );
}

#[test]
fn a_note_goes_with_a_choice() {
    check(json!({"Database": {"select": "SQLite", "note": "for now"}}), "ask | Database: SQLite (note: for now)");
}

#[test]
fn every_question_answered_settles_it() {
    check(
        json!({"Database": "SQLite", "Features": ["TypeScript"]}),
        "answered via answers-file | Database: SQLite; Features: TypeScript",
    );
}

#[test]
fn no_answers_leave_everything_to_a_person() {
    check(json!({}), "ask | ");
    assert_eq!(Policy::default().apply_to(&asking(&set())).unwrap(), Decision::Ask(vec![]));
}

// ---- what does not fit ----

#[test]
fn a_label_that_is_no_option_is_refused() {
    check(
        json!({"Database": "Oracle"}),
        r#"answers["Database"]: "Oracle" is not an option, must be one of "PostgreSQL", "MySQL", "SQLite""#,
    );
    check(
        json!({"Features": ["TypeScript", "/^V/"]}),
        r#"answers["Features"]: /^V/ is not an option, must be one of "TypeScript", "ESLint, Prettier", "Testing (Vitest)""#,
    );
}

#[test]
fn a_label_differing_in_case_is_no_option() {
    check(
        json!({"Database": "sqlite"}),
        r#"answers["Database"]: "sqlite" is not an option, must be one of "PostgreSQL", "MySQL", "SQLite""#,
    );
}

#[test]
fn several_answers_to_a_single_select_question_are_refused() {
    let refused = r#"answers["Database"]: several answers to a single-select question, must be one"#;
    check(json!({"Database": ["MySQL", "SQLite"]}), refused);
    check(json!({"Database": {"select": "MySQL", "other": "DuckDB"}}), refused);
}

#[test]
fn an_expression_has_to_match_one_option_of_a_single_select_question() {
    check(json!({"Database": "/SQL/"}), r#"answers["Database"]: /SQL/ matches 3 options, must match one"#);
}

#[test]
fn nothing_is_not_an_answer() {
    let refused = r#"answers["Database"]: no answer, must select an option or give other"#;
    check(json!({"Database": []}), refused);
    check(json!({"Database": {}}), refused);
    check(json!({"Database": {"other": " \u{200b}"}}), refused);
    check(json!({"Database": {"note": "only a note"}}), refused);
}

#[test]
fn typed_text_keeps_to_the_limits() {
    let refused = r#"answers["Database"]: text too long, or with control or invisible characters, at most 16000 visible characters and newlines"#;
    check(json!({"Database": {"other": "a\u{202e}b"}}), refused);
    check(json!({"Database": {"other": "é".repeat(16_001)}}), refused);
    check(json!({"Database": {"other": "a\u{1b}[31m"}}), refused);
    check(json!({"Database": {"select": "SQLite", "note": "a\u{7}"}}), refused);
    check(json!({"Database": {"select": "SQLite", "note": "é".repeat(16_001)}}), refused);
}

#[test]
fn values_of_the_wrong_kind_are_refused() {
    let label = "not a label, must be a string, an array of strings or an object";
    for value in [json!(1), json!(null), json!(true), json!([1]), json!([["SQLite"]]), json!({"select": 1})] {
        check(json!({"Database": value}), &format!("answers[\"Database\"]: {label}"));
    }
    check(json!({"Database": {"other": 1}}), r#"answers["Database"].other: not a string, must be a string"#);
    check(
        json!({"Database": {"select": "SQLite", "note": null}}),
        r#"answers["Database"].note: not a string, must be a string"#,
    );
}

#[test]
fn an_unknown_field_of_an_answer_is_refused() {
    check(
        json!({"Database": {"select": "SQLite", "notes": "x"}}),
        r#"answers["Database"].notes: unknown, must be select, other or note"#,
    );
}

#[test]
fn answers_that_are_no_object_are_refused() {
    check(json!(["SQLite"]), "answers: not an object, must be an object from header or question to answer");
}

#[test]
fn a_broken_expression_is_refused() {
    for answers in [json!({"/(/": "SQLite"}), json!({"Database": "/(/"})] {
        let refused = decide(&answers, None);
        assert!(refused.contains("/(/ is not a regular expression ("), "{refused}");
        assert!(refused.ends_with("must be one between slashes"), "{refused}");
    }
}

#[test]
fn every_misfit_is_told_at_once() {
    check(
        json!({"Database": ["MySQL", "SQLite"], "Features": "Vim"}),
        r#"answers["Database"]: several answers to a single-select question, must be one
answers["Features"]: "Vim" is not an option, must be one of "TypeScript", "ESLint, Prettier", "Testing (Vitest)""#,
    );
}

// ---- no person to ask ----

#[test]
fn fail_asks_nobody_and_guesses_nothing() {
    let because = "because the policy is to fail rather than to ask";
    assert_eq!(decide(&json!({}), Some(Headless::Fail)), format!("unavailable {because} | "));
    assert_eq!(
        decide(&json!({"Database": "SQLite"}), Some(Headless::Fail)),
        format!("unavailable via answers-file {because} | Database: SQLite")
    );
}

#[test]
fn fail_lets_a_full_answers_file_answer() {
    assert_eq!(
        decide(&json!({"Database": "SQLite", "Features": "TypeScript"}), Some(Headless::Fail)),
        "answered via answers-file | Database: SQLite; Features: TypeScript"
    );
}

#[test]
fn recommended_leaves_open_what_has_no_recommendation() {
    assert_eq!(
        decide(&json!({}), Some(Headless::Recommended)),
        "unavailable via policy because the policy is to take recommended options, and not every question has one | Database: \
         PostgreSQL (Recommended)"
    );
}

#[test]
fn an_answer_goes_before_a_recommendation() {
    assert_eq!(
        decide(&json!({"Database": "SQLite", "Features": "TypeScript"}), Some(Headless::Recommended)),
        "answered via answers-file | Database: SQLite; Features: TypeScript"
    );
}

#[test]
fn a_recommendation_fills_in_for_an_answer_and_says_so() {
    assert_eq!(
        decide(&json!({"Features": "TypeScript"}), Some(Headless::Recommended)),
        "answered via policy | Database: PostgreSQL (Recommended); Features: TypeScript"
    );
}

#[test]
fn a_misfit_is_not_papered_over_by_a_recommendation() {
    let refused = decide(&json!({"Database": "Oracle", "Features": "TypeScript"}), Some(Headless::Recommended));
    assert!(refused.starts_with(r#"answers["Database"]: "Oracle" is not an option"#), "{refused}");
}

/// Returns the options that `recommended` takes for one question with these labels.
fn recommend(labels: &[&str], multi_select: bool) -> Vec<String> {
    let options: Vec<Value> = labels.iter().map(|label| json!({"label": label, "description": "d"})).collect();
    let question = json!({"question": "Which?", "header": "H", "options": options, "multiSelect": multi_select});
    let rules = Rules::strict();
    let set = QuestionSet::parse(json!({"questions": [question]}), &rules).unwrap();
    match (Policy { answers: None, headless: Some(Headless::Recommended) }).apply_to(&asking(&set)).unwrap() {
        Decision::Settled(resolution) => {
            resolution.outcome().answers().iter().flat_map(|a| a.selected_options.clone()).collect()
        }
        Decision::Ask(_) => panic!("a person was asked"),
    }
}

#[test]
fn every_recommended_option_of_a_multi_select_question_is_taken() {
    assert_eq!(recommend(&["a (Recommended)", "b", "c (recommended)"], true), ["a (Recommended)", "c (recommended)"]);
}

#[test]
fn two_recommendations_for_one_choice_are_none() {
    assert!(recommend(&["a (Recommended)", "b (Recommended)"], false).is_empty());
}

#[test]
fn keys_that_match_nothing_are_named_where_a_question_is_without_an_answer() {
    let unmatched = |answers: Value| {
        let found = Answers::parse(&answers).unwrap().unmatched(&set());
        found.map(|Unmatched { headers, keys }| format!("{} | {}", headers.join(", "), keys.join(", ")))
    };
    let misspelt = json!({"Databse": "SQLite", "/featurs/i": "TypeScript"});
    assert_eq!(unmatched(misspelt).as_deref(), Some("Database, Features | \"Databse\", /featurs/i"));
    assert_eq!(unmatched(json!({"Database": "SQLite", "X": "y"})).as_deref(), Some("Features | \"X\""));
    // Answers to other questions do not concern this set.
    assert_eq!(unmatched(json!({"Database": "SQLite", "Features": "TypeScript", "X": "y"})), None);
    assert_eq!(unmatched(json!({"Database": "SQLite"})), None);
}

#[test]
fn an_expression_with_a_flag_nobody_knows_is_told_and_a_path_is_a_text() {
    let parse = |key: &str| Answers::parse(&json!({key: "SQLite"})).map(drop).map_err(|bad| bad.to_string());
    for (key, flags) in [("/data/g", "g"), ("/data/gm", "gm"), ("/a/b/gim", "gim")] {
        let bad = parse(key).expect_err("unknown flags");
        assert!(bad.contains(&format!("{key} has the flags {flags:?}, only i is known")), "{bad}");
    }
    for key in ["/data/", "/data/i", "/usr/local", "/data/X", "/data/1", "/data"] {
        assert_eq!(parse(key), Ok(()), "{key}");
    }
}

#[test]
fn only_an_option_decides_a_permission() {
    let set = set();
    let request = |purpose| Request::new(RequestKey::new("s", "c").for_purpose(purpose), set.clone());
    let policy = |value| Policy { answers: Some(Answers::parse(&value).unwrap()), headless: None };
    let words = policy(json!({"/.*/": {"other": "bun"}}));
    for purpose in [Purpose::Permission, Purpose::Plan] {
        assert_eq!(words.apply_to(&request(purpose)).unwrap(), Decision::Ask(vec![]));
    }
    assert!(matches!(words.apply_to(&request(Purpose::Question)).unwrap(), Decision::Settled(_)));
    let alone = words.alone(&request(Purpose::Permission));
    assert!(matches!(alone.outcome().status(), Status::Unavailable { .. }), "no person is behind it");
}

/// Returns the request for a permission of Bash, or for a plan.
fn to_agree_to(purpose: Purpose) -> Request {
    let set = match purpose {
        Purpose::Permission => {
            let bash = permission::Permission::new("Bash", "Run this command?\n\n  rm -r x").or_always(
                (),
                "in this folder",
                "m",
            );
            bash.question_set().unwrap()
        }
        _ => {
            let plan = QuestionInput::new("Go ahead?", "Plan")
                .option("Go ahead (Recommended)", "now")
                .option("Keep planning", "d");
            QuestionSet::new([plan], &Rules::strict()).unwrap()
        }
    };
    Request::new(RequestKey::new("s", "c").for_purpose(purpose), set)
}

/// Returns the options that these answers choose; `None` if the person is asked.
fn decided(answers: Answers, purpose: Purpose) -> Option<String> {
    match (Policy { answers: Some(answers), headless: None }).apply_to(&to_agree_to(purpose)).unwrap() {
        Decision::Settled(resolution) => {
            assert_eq!(resolution.via(), Some(Via::AnswersFile));
            Some(resolution.outcome().answers()[0].selected_options.join(", "))
        }
        Decision::Ask(known) => {
            assert_eq!(known, []);
            None
        }
    }
}

#[test]
fn a_file_of_answers_permits_and_approves_only_where_it_was_given_that_right() {
    for (purpose, key, yes, no) in [
        (Purpose::Permission, "Bash", "Allow once", "Don't run it"),
        (Purpose::Permission, "Bash", "Always allow in this folder", "Don't run it"),
        (Purpose::Plan, "Plan", "Go ahead (Recommended)", "Keep planning"),
    ] {
        let file = |label: &str| Answers::parse(&json!({ key: label })).unwrap();
        assert_eq!(decided(file(yes), purpose), None, "{yes}");
        assert_eq!(decided(file(yes).permitting(), purpose).as_deref(), Some(yes));
        // A refusal needs no right.
        assert_eq!(decided(file(no), purpose).as_deref(), Some(no));
    }
}

#[test]
fn a_file_says_yes_to_a_confirm_only_with_that_right() {
    let question = QuestionInput::new("Deploy?", "Confirm").option("Yes", "").option("No", "");
    let set = QuestionSet::new([question], &Rules::confirm()).unwrap();
    let chosen = |label: &str, may: bool| {
        let answers = Answers::parse(&json!({ "Confirm": label })).unwrap();
        let answers = if may { answers.permitting() } else { answers };
        matches!(
            Policy { answers: Some(answers), headless: None }.apply_to(&asking(&set)).unwrap(),
            Decision::Settled(_)
        )
    };
    assert_eq!(
        [("Yes", false), ("Yes", true), ("No", false)].map(|(label, may)| chosen(label, may)),
        [false, true, true]
    );
}

#[test]
fn no_rule_permits_or_approves_even_what_is_recommended() {
    for headless in [Headless::Recommended, Headless::Fail] {
        let answers = Answers::default().permitting();
        let policy = Policy { answers: Some(answers), headless: Some(headless) };
        for purpose in [Purpose::Permission, Purpose::Plan] {
            let decision = policy.apply_to(&to_agree_to(purpose)).unwrap();
            let Decision::Settled(resolution) = decision else { panic!("{decision:?}") };
            assert!(matches!(resolution.outcome().status(), Status::Unavailable { .. }), "{resolution:?}");
            assert_eq!(resolution.outcome().answers(), []);
        }
    }
}

#[test]
fn a_file_gives_a_question_for_a_text_its_text() {
    let set = QuestionSet::new([QuestionInput::new("Name?", "Name")], &Rules::input()).unwrap();
    let typed = |value: Value| {
        let policy = Policy { answers: Some(Answers::parse(&json!({ "Name": value })).unwrap()), headless: None };
        let Decision::Settled(given) = policy.apply_to(&asking(&set)).unwrap() else { panic!("it is answered") };
        given.outcome().answers()[0].custom_input.clone()
    };
    assert_eq!([typed(json!("bob")), typed(json!({"other": "eve"}))], [Some("bob".into()), Some("eve".into())]);
}
