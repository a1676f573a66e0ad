//! Tests of the text for the model: word by word where the proposal prints it, otherwise by snapshots.

use super::*;
use crate::outcome::Outcome;
use crate::rules::Rules;
use crate::store::Ending;

const DATABASE: &str = "Which database should we use for this project?";
const FEATURES: &str = "Which features should we enable?";
const MANAGER: &str = "Which package manager do you prefer?";

fn question(text: &str, header: &str, labels: &[&str], multi_select: bool) -> Value {
    let options: Vec<Value> = labels.iter().map(|label| json!({"label": label, "description": "d"})).collect();
    json!({"question": text, "header": header, "options": options, "multiSelect": multi_select})
}

fn set_of(questions: &[Value]) -> QuestionSet {
    QuestionSet::parse(json!({"questions": questions}), &Rules::default()).expect("a valid input")
}

fn database() -> Value {
    question(DATABASE, "Database", &["PostgreSQL (Recommended)", "MongoDB", "SQLite"], false)
}

fn features() -> Value {
    let labels = ["TypeScript", "ESLint + Prettier", "Testing (Vitest)", "Tailwind CSS"];
    question(FEATURES, "Features", &labels, true)
}

fn manager() -> Value {
    question(MANAGER, "Package Mgr", &["npm", "pnpm (Recommended)", "yarn"], false)
}

/// An answer as the picked rows, the typed text and the note.
type Picked<'a> = (&'a [usize], Option<&'a str>, Option<&'a str>);

fn answers(set: &QuestionSet, picked: &[Picked<'_>]) -> Vec<Answer> {
    let answer = |(question, (picks, typed, note)): (&Question, &Picked<'_>)| {
        question.answer(picks, typed.map(str::to_owned), note.map(str::to_owned)).expect("an answer")
    };
    set.questions().iter().zip(picked).map(answer).collect()
}

fn answered(set: &QuestionSet, picked: &[Picked<'_>], via: Via) -> Resolution {
    Outcome::answered(set, answers(set, picked)).expect("every question answered").through(via)
}

fn ended(set: &QuestionSet, status: Status, partial_answers: Vec<Answer>, via: Via) -> Resolution {
    Outcome::new(set, status, partial_answers).expect("legal answers").through(via)
}

#[track_caller]
fn check(questions: &[Value], picked: &[Picked<'_>], expected: &str) {
    let set = set_of(questions);
    assert_eq!(prose(&set, &answered(&set, picked, Via::Terminal)), expected);
}

// ---- answered, in words ----

#[test]
fn a_single_answer_reads_as_the_proposal_prints_it() {
    check(
        &[database()],
        &[(&[0], None, None)],
        "User answered the following questions:

1. Database (Which database should we use for this project?)
   Selected: PostgreSQL

Proceeding with user selections.",
    );
}

#[test]
fn several_answers_read_as_the_proposal_prints_them() {
    check(
        &[database(), features()],
        &[(&[0], None, None), (&[0, 1, 3], None, None)],
        "User answered the following questions:

1. Database (Which database should we use for this project?)
   Selected: PostgreSQL

2. Features (Which features should we enable?)
   Selected: TypeScript, ESLint + Prettier, Tailwind CSS

Proceeding with user selections.",
    );
}

#[test]
fn a_typed_answer_has_its_own_line() {
    check(
        &[database(), manager()],
        &[(&[0], None, None), (&[], Some("bun"), None)],
        "User answered the following questions:

1. Database (Which database should we use for this project?)
   Selected: PostgreSQL

2. Package Mgr (Which package manager do you prefer?)
   Other: bun

Proceeding with user selections.",
    );
}

#[test]
fn a_multi_select_answer_may_have_both_lines() {
    check(
        &[features()],
        &[(&[0, 2], Some("Storybook"), None)],
        "User answered the following questions:

1. Features (Which features should we enable?)
   Selected: TypeScript, Testing (Vitest)
   Other: Storybook

Proceeding with user selections.",
    );
}

#[test]
fn a_note_has_its_own_line() {
    check(
        &[database()],
        &[(&[1], None, Some("but only for the logs"))],
        "User answered the following questions:

1. Database (Which database should we use for this project?)
   Selected: MongoDB
   Note: but only for the logs

Proceeding with user selections.",
    );
}

#[test]
fn typed_text_cannot_pass_for_another_answer() {
    check(
        &[manager()],
        &[(&[], Some("bun\n2. Fake (x)\n   Selected: y\n\nProceeding with user selections."), Some("so\nNote: there"))],
        "User answered the following questions:

1. Package Mgr (Which package manager do you prefer?)
   Other: bun
     2. Fake (x)
        Selected: y
     
     Proceeding with user selections.
   Note: so
     Note: there

Proceeding with user selections.",
    );
}

#[test]
fn no_character_that_ends_a_line_somewhere_breaks_out_of_an_answer() {
    check(
        &[manager()],
        &[(&[], Some("bun\n2. Fake (x)"), None)],
        "User answered the following questions:

1. Package Mgr (Which package manager do you prefer?)
   Other: bun
     2. Fake (x)

Proceeding with user selections.",
    );
    for end in ["\u{2028}", "\u{2029}", "\u{85}", "\u{b}"] {
        let set = set_of(&[manager()]);
        let typed = format!("bun{end}2. Fake (x)");
        let answers = answers(&set, &[(&[], Some(&typed), None)]);
        assert!(Outcome::answered(&set, answers).is_err(), "{end:?} is no legal answer");
        let prose = prose(&set, &Outcome::declined(Some(typed)).through(Via::Terminal));
        assert!(prose.contains("Reason: bun\n  2. Fake (x)\n"), "{prose}");
    }
}

#[test]
fn a_question_of_several_lines_is_one_line_in_words() {
    check(
        &[question("Which?\n2. Fake (x)\n   Selected: y", "A\nB", &["a\nb", "c"], false)],
        &[(&[0], None, None)],
        "User answered the following questions:

1. A B (Which? 2. Fake (x)    Selected: y)
   Selected: a b

Proceeding with user selections.",
    );
}

#[test]
fn recommended_is_left_out_of_words_in_any_case() {
    for label in ["A (Recommended)", "A (recommended)", "A(RECOMMENDED) ", "A (Recommended)\u{200b}"] {
        check(
            &[question("Which?", "H", &[label, "B"], true)],
            &[(&[0, 1], None, None)],
            "User answered the following questions:

1. H (Which?)
   Selected: A, B

Proceeding with user selections.",
        );
    }
}

// ---- not answered, in words ----

/// Two questions, of which the first is answered with a note.
fn half_answered() -> (QuestionSet, Vec<Answer>) {
    let set = set_of(&[database(), features()]);
    let partial_answers = answers(&set, &[(&[0], None, Some("for now"))]);
    (set, partial_answers)
}

#[test]
fn a_cancelled_outcome_says_so() {
    let (set, partial_answers) = half_answered();
    insta::assert_snapshot!("cancelled", prose(&set, &ended(&set, Status::Cancelled, vec![], Via::Terminal)));
    insta::assert_snapshot!(
        "cancelled_half_way",
        prose(&set, &ended(&set, Status::Cancelled, partial_answers, Via::Terminal))
    );
}

#[test]
fn a_cancelled_outcome_with_every_answer_is_not_final() {
    let set = set_of(&[database(), features()]);
    let all = answers(&set, &[(&[0], None, None), (&[], Some("Storybook"), None)]);
    insta::assert_snapshot!("cancelled_on_review", prose(&set, &ended(&set, Status::Cancelled, all, Via::Terminal)));
}

#[test]
fn a_declined_outcome_says_so_and_why() {
    let (set, partial_answers) = half_answered();
    insta::assert_snapshot!(
        "declined",
        prose(&set, &ended(&set, Status::Declined { reason: None }, vec![], Via::Terminal))
    );
    let reason = Some("None of these.\nAnswered so far: all".into());
    insta::assert_snapshot!(
        "declined_with_reason",
        prose(&set, &ended(&set, Status::Declined { reason }, partial_answers, Via::Terminal))
    );
}

#[test]
fn a_wish_to_talk_first_says_so_and_about_what() {
    let (set, partial_answers) = half_answered();
    insta::assert_snapshot!(
        "discuss",
        prose(&set, &ended(&set, Status::Discuss { message: None }, vec![], Via::Terminal))
    );
    let message = Some("What does it cost?".into());
    insta::assert_snapshot!(
        "discuss_with_message",
        prose(&set, &ended(&set, Status::Discuss { message }, partial_answers, Via::Terminal))
    );
}

#[test]
fn a_timed_out_outcome_says_so() {
    let (set, partial_answers) = half_answered();
    insta::assert_snapshot!("timed_out", prose(&set, &ended(&set, Status::TimedOut, vec![], Via::Terminal)));
    insta::assert_snapshot!(
        "timed_out_half_way",
        prose(&set, &ended(&set, Status::TimedOut, partial_answers, Via::Terminal))
    );
}

#[test]
fn an_unavailable_outcome_says_so_and_why() {
    let (set, partial_answers) = half_answered();
    let outcome = |partial_answers| {
        ended(&set, Status::Unavailable { reason: "no terminal, no inbox".into() }, partial_answers, Via::Policy)
    };
    insta::assert_snapshot!("unavailable", prose(&set, &outcome(vec![])));
    insta::assert_snapshot!("unavailable_half_way", prose(&set, &outcome(partial_answers)));
}

#[test]
fn a_person_who_was_being_asked_when_the_terminal_went_was_asked() {
    let (set, _) = half_answered();
    let opening = |via| {
        let text = prose(&set, &ended(&set, Status::Unavailable { reason: "gone".into() }, vec![], via));
        text.lines().next().unwrap_or_default().to_owned()
    };
    assert_eq!(opening(Via::Terminal), "The user was being asked, but cannot be reached any more.");
    assert_eq!(opening(Via::AnswersFile), "Nobody was asked: no user can be reached here.");
}

/// One resolution of each kind without an answer, first with no answers and then with half of them.
fn unanswered() -> Vec<(QuestionSet, Resolution)> {
    let (set, half) = half_answered();
    let of = |partial_answers: Vec<Answer>| {
        [
            ended(&set, Status::Cancelled, partial_answers.clone(), Via::Terminal),
            ended(&set, Status::Declined { reason: Some("no".into()) }, partial_answers.clone(), Via::Terminal),
            ended(&set, Status::Discuss { message: Some("hm".into()) }, partial_answers.clone(), Via::Terminal),
            ended(&set, Status::TimedOut, partial_answers.clone(), Via::Terminal),
            ended(&set, Status::Unavailable { reason: "no person there".into() }, partial_answers, Via::Terminal),
        ]
    };
    of(vec![]).into_iter().chain(of(half)).map(|outcome| (set.clone(), outcome)).collect()
}

#[test]
fn only_an_answered_outcome_reads_as_one() {
    for (set, outcome) in unanswered() {
        let words = prose(&set, &outcome);
        assert!(!words.contains("User answered") && !words.contains("Proceeding"), "{words}");
    }
}

#[test]
fn every_unanswered_outcome_names_what_is_open_and_warns_of_assuming_it() {
    for (set, outcome) in unanswered() {
        let open = if outcome.outcome().answers().is_empty() { "Database, Features" } else { "Features" };
        let words = prose(&set, &outcome);
        assert!(words.contains(&format!("Not answered: {open}. Do not assume an answer.")), "{words}");
    }
}

#[test]
fn every_ending_reads_differently() {
    let words: Vec<String> = unanswered()[..5].iter().map(|(set, outcome)| prose(set, outcome)).collect();
    for (i, a) in words.iter().enumerate() {
        assert!(words[..i].iter().all(|b| a.lines().next() != b.lines().next()), "{a}");
    }
}

#[test]
fn open_questions_are_named_as_they_are_shown() {
    let set = set_of(&[question("Which?", " A\tB ", &["a", "b"], false)]);
    let words = prose(&set, &ended(&set, Status::Cancelled, vec![], Via::Terminal));
    assert!(words.contains("Not answered: A B. "), "{words}");
}

// ---- without the user ----

#[test]
fn answers_that_nobody_was_asked_for_are_not_called_the_users() {
    let set = mended();
    for (via, words) in [(Via::AnswersFile, "a file of answers"), (Via::Policy, "recommended options")] {
        let prose = prose(&set, &answered(&set, &[(&[0], None, None)], via));
        assert!(prose.starts_with("The user was not asked.") && prose.contains(words), "{prose}");
        assert!(prose.contains("Selected: PostgreSQL") && !prose.contains("User answered"), "{prose}");
    }
}

#[test]
fn answers_before_an_end_say_whose_they_are() {
    let (set, partial_answers) = half_answered();
    let file = "Known from a file of answers, not from the user:";
    let policy = "Taken by policy, not by the user:";
    let person = "Answered so far, but not submitted:";
    for via in Via::ALL {
        let expected = match via {
            Via::AnswersFile => file,
            Via::Policy => policy,
            _ => person,
        };
        for status in [Status::Cancelled, Status::TimedOut, Status::Unavailable { reason: "gone".into() }] {
            let words = prose(&set, &ended(&set, status, partial_answers.clone(), via));
            let picked: Vec<&str> =
                [file, policy, person].into_iter().filter(|picked| words.contains(picked)).collect();
            assert_eq!(picked, [expected], "{via:?}: {words}");
        }
    }
}

#[test]
fn every_way_to_a_person_and_only_those_read_as_the_users_answer() {
    let set = set_of(&[database()]);
    for via in Via::ALL {
        let words = prose(&set, &answered(&set, &[(&[1], None, None)], via));
        let is_the_users = words.starts_with("User answered the following questions:\n\n1. Database")
            && words.ends_with("Proceeding with user selections.");
        let was_not_asked = words.starts_with("The user was not asked.") && words.ends_with("with these answers.");
        assert_eq!((is_the_users, was_not_asked), (via.is_a_person(), !via.is_a_person()), "{via:?}: {words}");
    }
}

// ---- mended ----

fn mended() -> QuestionSet {
    let mut question = database();
    question["header"] = json!("Seventeen letters");
    question["options"][2]["label"] = json!("Other");
    let rules = Rules::repair();
    QuestionSet::parse(json!({"questions": [question]}), &rules).unwrap()
}

#[test]
fn what_was_mended_is_said_after_the_answers() {
    let set = mended();
    assert_eq!(
        prose(&set, &answered(&set, &[(&[0], None, None)], Via::Terminal)),
        "User answered the following questions:

1. Seventeen letters (Which database should we use for this project?)
   Selected: PostgreSQL

Proceeding with user selections.

Your input was mended; mind this next time:
- questions[0].options[2]: dropped, Other is always offered
- questions[0].header: 17 characters, at most 12, shown as \"Seventeen l…\""
    );
}

#[test]
fn what_was_mended_is_in_json_too() {
    let set = mended();
    let found = json(&set, &answered(&set, &[(&[0], None, None)], Via::Terminal));
    assert_eq!(found["mended"], json!(set.mended()));
}

// ---- JSON ----

#[test]
fn json_has_status_answers_and_via() {
    let set = set_of(&[database(), features()]);
    let outcome = answered(&set, &[(&[0], None, Some("for now")), (&[0, 3], Some("Story\nbook"), None)], Via::Terminal);
    let expected = json!({
        "status": "answered",
        "answers": [
            {
                "question": DATABASE,
                "header": "Database",
                "selectedOptions": ["PostgreSQL (Recommended)"],
                "note": "for now",
            },
            {
                "question": FEATURES,
                "header": "Features",
                "selectedOptions": ["TypeScript", "Tailwind CSS"],
                "customInput": "Story\nbook",
            },
        ],
        "via": "terminal",
    });
    // The comparison is of text, because a person sees the order of the keys.
    assert_eq!(json(&set, &outcome).to_string(), expected.to_string());
}

#[test]
fn json_of_an_unanswered_outcome_has_its_status_and_the_answers_so_far() {
    let (set, partial_answers) = half_answered();
    let answers = json!(partial_answers);
    for (outcome, expected) in [
        (
            ended(&set, Status::Cancelled, vec![], Via::Terminal),
            json!({"status": "cancelled", "answers": [], "via": "terminal"}),
        ),
        (
            ended(&set, Status::Cancelled, partial_answers.clone(), Via::Terminal),
            json!({"status": "cancelled", "answers": answers, "via": "terminal"}),
        ),
        (
            ended(&set, Status::Declined { reason: None }, vec![], Via::Terminal),
            json!({"status": "declined", "answers": [], "via": "terminal"}),
        ),
        (
            ended(&set, Status::Declined { reason: Some("no".into()) }, vec![], Via::Web),
            json!({"status": "declined", "answers": [], "via": "web", "reason": "no"}),
        ),
        (
            ended(&set, Status::Discuss { message: None }, vec![], Via::Terminal),
            json!({"status": "discuss", "answers": [], "via": "terminal"}),
        ),
        (
            ended(&set, Status::Discuss { message: Some("cost?".into()) }, vec![], Via::Line),
            json!({"status": "discuss", "answers": [], "via": "line", "message": "cost?"}),
        ),
        (
            ended(&set, Status::TimedOut, vec![], Via::Terminal),
            json!({"status": "timed_out", "answers": [], "via": "terminal"}),
        ),
        (
            Resolution::unavailable("no terminal"),
            json!({"status": "unavailable", "answers": [], "via": null, "reason": "no terminal"}),
        ),
    ] {
        assert_eq!(json(&set, &outcome), expected);
    }
}

#[test]
fn an_answer_survives_json() {
    let set = set_of(&[features()]);
    let answer = answers(&set, &[(&[0, 1], Some("a, b\nc"), Some("d"))]).remove(0);
    assert_eq!(serde_json::from_value::<Answer>(json!(answer)).unwrap(), answer);
}

// ---- record ----

#[test]
fn the_record_is_keyed_by_question_and_verbatim() {
    let set = set_of(&[database(), features(), manager()]);
    let picked: &[Picked<'_>] =
        &[(&[0], None, Some("left out")), (&[0, 3], Some("Storybook"), None), (&[], Some("bun"), None)];
    let expected = json!({
        DATABASE: "PostgreSQL (Recommended)",
        FEATURES: ["TypeScript", "Tailwind CSS", "Storybook"],
        MANAGER: "bun",
    });
    assert_eq!(record(&set, &answered(&set, picked, Via::Terminal)).to_string(), expected.to_string());
}

#[test]
fn one_pick_of_a_multi_select_question_is_still_an_array() {
    let set = set_of(&[features()]);
    assert_eq!(
        record(&set, &answered(&set, &[(&[1], None, None)], Via::Terminal)),
        json!({FEATURES: ["ESLint + Prettier"]})
    );
}

#[test]
fn a_label_with_a_comma_stays_one_label() {
    let set = set_of(&[question("Which?", "H", &["a, b", "c"], true)]);
    assert_eq!(
        record(&set, &answered(&set, &[(&[0, 1], None, None)], Via::Terminal)),
        json!({"Which?": ["a, b", "c"]})
    );
}

#[test]
fn what_was_not_answered_is_not_in_the_record() {
    let (set, partial_answers) = half_answered();
    assert_eq!(
        record(&set, &ended(&set, Status::Cancelled, partial_answers, Via::Terminal)),
        json!({DATABASE: "PostgreSQL (Recommended)"})
    );
    assert_eq!(record(&set, &ended(&set, Status::TimedOut, vec![], Via::Terminal)), json!({}));
}

// ---- rejection, names ----

#[test]
fn a_rejection_says_that_nothing_was_asked_and_every_violation() {
    let bad = QuestionSet::parse(
        json!({"questions": [{"question": "Which?", "header": "Seventeen letters"}]}),
        &Rules::default(),
    )
    .unwrap_err();
    assert_eq!(
        rejection(&bad),
        "Invalid AskUserQuestion input; nothing was asked. Correct this and call again:
- questions[0].header: 17 characters, at most 12
- questions[0].options: missing, must be an array
- questions[0].multiSelect: missing, must be true or false"
    );
}

#[test]
fn names_are_what_a_person_chose_from() {
    let set = set_of(&[question("Which?", "H", &["A (Recommended)", " \u{1b}[1mB\n"], true)]);
    let answer = answers(&set, &[(&[0, 1], None, None)]).remove(0);
    assert_eq!(names(&answer).collect::<Vec<_>>(), ["A", "B"]);
}

// ---- stored questions ----

#[test]
fn a_stored_question_says_where_it_stands_and_nothing_that_is_not_known() {
    use crate::store::{AskerPresence, Cursor, QuestionId, QuestionJson, StoredQuestion};
    use crate::{Context, Origin, Request, RequestKey};
    let set = set_of(&[question("Which?", "H", &["A", "B"], false)]);
    let request = Request::new(RequestKey::new("s", "c"), set)
        .with_origin(Origin::default().with_agent("bot"))
        .with_context(Context::Command("ls".into()));
    let id = QuestionId::parse("0123456789ab").unwrap();
    let mut kept = StoredQuestion::new(id, std::sync::Arc::new(request), 7, Cursor::default());
    kept.asker = AskerPresence::Waits;
    let pending = json!(QuestionJson::from(&kept));
    assert_eq!(
        pending,
        json!({
            "id": "0123456789ab", "state": "pending", "purpose": "question", "asked_ms": 7, "origin": {"agent": "bot"},
            "questions": kept.request.set().questions_json(), "asker": {"waits": true},
            "context": {"kind": "command", "text": "ls"},
        })
    );
    kept.asker = AskerPresence::Died(8);
    kept.ending = Some(Ending::Withdrawn { by: "ada".into(), at_ms: 9 });
    let withdrawn = json!(QuestionJson::from(&kept));
    assert_eq!(withdrawn["asker"], json!({"waits": false, "gone_ms": 8}));
    assert_eq!((&withdrawn["withdrawn_by"], &withdrawn["ended_ms"]), (&json!("ada"), &json!(9)));
    kept.asker = AskerPresence::Left(8);
    kept.ending = Some(Ending::Resolved(Outcome::declined(None).through(Via::Web).with_by("ada").with_time(9)));
    (kept.delivered_ms, kept.expires_ms) = (Some(10), Some(11));
    let declined = json!(QuestionJson::from(&kept));
    assert_eq!(declined["asker"], json!({"waits": false, "left_ms": 8}));
    assert_eq!(declined["resolution"]["via"], "web");
    assert_eq!((&declined["delivered_ms"], &declined["expires_ms"]), (&json!(10), &json!(11)));
}

// ---- Claude Code's own tool ----

#[test]
fn the_input_for_claude_joins_several_choices_and_has_no_other_fields() {
    let set = set_of(&[database(), features()]);
    let picked: &[Picked<'_>] = &[(&[0], None, None), (&[0, 2], Some("a, b"), None)];
    let expected = json!({
        "questions": [database(), features()],
        "answers": {DATABASE: "PostgreSQL (Recommended)", FEATURES: "TypeScript, Testing (Vitest), a, b"},
    });
    assert_eq!(claude_input(&set, &answered(&set, picked, Via::Terminal)).to_string(), expected.to_string());
}

#[test]
fn a_note_reaches_claude_as_an_annotation_of_its_question() {
    let set = set_of(&[database(), manager()]);
    let picked: &[Picked<'_>] = &[(&[1], None, Some("only for a start")), (&[], Some("bun"), None)];
    let input = claude_input(&set, &answered(&set, picked, Via::Terminal));
    assert_eq!(input["answers"], json!({DATABASE: "MongoDB", MANAGER: "bun"}));
    assert_eq!(input["annotations"], json!({DATABASE: {"notes": "only for a start"}}));
}

#[test]
fn what_the_asker_reported_is_never_called_the_users() {
    let set = set_of(&[database()]);
    let given = answered(&set, &[(&[2], None, None)], Via::Terminal).with_by("root");
    let ending = Ending::settled("ci", given.clone());
    let reported = ending.recorded().unwrap();
    let expected = "Reported by the asker (ci); no person is known to have answered.\n\nThe reported answers:\n\n1. Database (Which \
                    database should we use for this project?)\n   Selected: SQLite\n\nAsk the user before you rely on them.";
    assert_eq!(prose(&set, reported), expected);
    assert_eq!(
        (json(&set, reported)["reported_by"].clone(), json(&set, &given)["reported_by"].clone()),
        (json!("ci"), Value::Null)
    );
    let stored = crate::reply::resolution(&set, &json!(reported)).unwrap();
    assert_eq!(&stored, reported, "a record of it says so too");
    let no = Ending::settled("ci", ended(&set, Status::Declined { reason: None }, vec![], Via::Terminal));
    assert!(prose(&set, no.recorded().unwrap()).starts_with("Reported by the asker (ci)"));
}
