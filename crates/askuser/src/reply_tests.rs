use super::*;
use crate::report;
use crate::rules::Rules;
use serde_json::json;

fn set() -> QuestionSet {
    let option = |label: &str| json!({"label": label, "description": "d"});
    let question = |text: &str, header: &str, multi: bool| {
        let options = ["Alpha (Recommended)", "Beta", "Gamma"].map(option);
        json!({"question": text, "header": header, "options": options, "multiSelect": multi})
    };
    let input = json!({"questions": [question("Which?", "One", false), question("Which all?", "Many", true)]});
    QuestionSet::parse(input, &Rules::default()).unwrap()
}

fn refused(reply: Value) -> String {
    outcome(&set(), &reply).unwrap_err().to_string()
}

#[test]
fn whatever_a_report_says_is_read_back_as_it_was() {
    let set = set();
    let one = set.questions()[0].answer(&[0], None, Some("soon".into())).unwrap();
    let many = set.questions()[1].answer(&[0, 2], Some("typed\ntext".into()), None).unwrap();
    for given in [
        Outcome::answered(&set, vec![one.clone(), many.clone()]).unwrap().through(Via::Terminal),
        Outcome::cancelled().with_answers(&set, vec![many]).unwrap().through(Via::Line).with_by("ann"),
        Outcome::declined(Some("no".into())).with_answers(&set, vec![one]).unwrap().through(Via::FrontEnd),
        Outcome::declined(None).through(Via::Inbox).with_time(1_700_000_000_000),
        Outcome::discuss(Some("first\nthis".into())).through(Via::Web),
        Outcome::timed_out().through(Via::Terminal),
        Outcome::unavailable("gone").through(Via::Terminal),
        Resolution::unavailable("no person there"),
    ] {
        assert_eq!(resolution(&set, &report::json(&set, &given)).as_ref(), Ok(&given));
    }
}

#[test]
fn an_answer_finds_its_question_by_text_by_header_or_by_index() {
    let by_index = json!({"answers": [{"selectedOptions": ["Alpha"]}, {"selectedOptions": "Beta"}]});
    let by_name = json!({"answers": [
        {"header": "Many", "selectedOptions": ["Beta"]},
        {"question": "Which?", "selectedOptions": ["Alpha (Recommended)"]},
    ]});
    let by_index = outcome(&set(), &by_index).unwrap();
    let by_name = outcome(&set(), &by_name).unwrap();
    assert_eq!(by_index, by_name);
    assert_eq!(by_index.answers()[0].selected_options, ["Alpha (Recommended)"]);
}

#[test]
fn nothing_illegal_gets_through_and_everything_wrong_is_said() {
    let too_long = "x".repeat(16_001);
    for (reply, message) in [
        (json!([]), "reply: not an object"),
        (json!({"status": "yes"}), "status: \"yes\" is unknown"),
        (json!({"answers": "Alpha"}), "answers: not an array"),
        (json!({}), "answers: none to \"One\", every question needs one\nanswers: none to \"Many\""),
        (
            json!({"answers": [{"selectedOptions": ["Delta"]}]}),
            "answers[0].selectedOptions[0]: \"Delta\" is not an option, must be one of \"Alpha\", \"Beta\", \"Gamma\"",
        ),
        (json!({"answers": [{"selectedOptions": ["Alpha", "Beta"]}]}), "answers[0]: several choices"),
        (json!({"answers": [{"selectedOptions": ["Alpha"], "customInput": "x"}]}), "answers[0]: several choices"),
        (json!({"answers": [{"selectedOptions": []}]}), "answers[0]: no choice"),
        (json!({"answers": [{"customInput": "  "}]}), "answers[0]: no choice"),
        (json!({"answers": [{"customInput": too_long}]}), "answers[0].customInput: 16001 characters, at most 16000"),
        (json!({"answers": [{"customInput": "a\u{1b}[2J"}]}), "answers[0].customInput: has control characters"),
        (json!({"answers": [{"header": "None", "selectedOptions": ["Alpha"]}]}), "\"None\" is the header of none"),
        (json!({"answers": [{"question": "Eh?", "selectedOptions": ["Alpha"]}]}), "\"Eh?\" was not asked"),
        (
            json!({"answers": [{"header": "One", "selectedOptions": ["Alpha"]}, {"header": "One", "selectedOptions": ["Beta"]}]}),
            "a second answer to \"One\"",
        ),
        (json!({"status": "declined", "reason": 4}), "reason: not a string"),
        (json!({"answers": [{"selectedOptions": ["Alpha"], "notes": "x"}]}), "answers[0].notes: not a list of notes"),
        (
            json!({"answers": [{"selectedOptions": ["Alpha"], "notes": [{"option": "Delta", "text": "x"}]}]}),
            "answers[0].notes[0].option: \"Delta\" is not an option, must be one of \"Alpha\", \"Beta\", \"Gamma\"",
        ),
        (
            json!({"answers": [{"selectedOptions": ["Alpha"], "notes": [{"text": "x"}, {"text": "y"}]}]}),
            "answers[0].notes[1]: a second note on one option, one is enough",
        ),
        (
            json!({"answers": [{"selectedOptions": ["Alpha"], "notes": [{"option": "Beta", "text": "a\u{7}"}]}]}),
            "answers[0].notes[0].text: has control characters",
        ),
    ] {
        let refusal = refused(reply.clone());
        assert!(refusal.contains(message), "{reply}: {refusal}");
    }
}

#[test]
fn what_a_reply_claims_about_itself_is_kept_and_not_believed() {
    let reply = json!({"answers": [{"selectedOptions": ["Alpha"]}, {"selectedOptions": ["Beta"]}], "via": "terminal", "by": "root"});
    let received = outcome(&set(), &reply).unwrap().through(Via::FrontEnd).with_reported(reported(&reply).unwrap());
    assert_eq!((received.via(), received.by()), (Some(Via::FrontEnd), None));
    assert_eq!(json!(received)["reported"], json!({"via": "terminal", "by": "root"}));
    assert_eq!(resolution(&set(), &json!(received)).unwrap(), received);
}

#[test]
fn what_a_reply_states_of_itself_is_typed() {
    assert_eq!(reported(&json!({"status": "cancelled"})).unwrap(), None);
    let refused = reported(&json!({"by": 4, "via": "magic"})).unwrap_err().to_string();
    assert!(refused.contains("by: not a string") && refused.contains("via: \"magic\" is unknown"), "{refused}");
}

#[test]
fn a_stored_surface_that_nobody_knows_is_named() {
    let refused = resolution(&set(), &json!({"status": "cancelled", "via": "magic"})).unwrap_err().to_string();
    assert!(refused.starts_with("via: \"magic\" is unknown, must be one of terminal, line, "), "{refused}");
}

#[test]
fn the_note_is_made_of_the_notes_and_they_are_kept_where_it_does_not_say_all() {
    let many = |notes: Value| {
        let reply = json!({"answers": [{
            "header": "Many", "selectedOptions": ["Beta", "Alpha"], "note": "forged", "notes": notes,
        }], "status": "cancelled"});
        outcome(&set(), &reply).unwrap().answers()[0].clone()
    };
    let answer = many(json!([{"text": "own"}, {"option": "Beta", "text": " "}, {"option": "Alpha", "text": "first"}]));
    assert_eq!(answer.note.as_deref(), Some("Alpha: first\nOther: own"));
    let notes = json!([{"option": "Alpha (Recommended)", "text": "first"}, {"text": "own"}]);
    assert_eq!(json!(answer)["notes"], notes);
    assert_eq!(many(json!([{"text": " "}])).note.as_deref(), Some("forged"), "without notes it is as it was sent");
    let one = json!({"answers": [{"selectedOptions": ["Beta"], "notes": [{"option": "Beta", "text": "why"}]}], "status": "cancelled"});
    let answer = outcome(&set(), &one).unwrap().answers()[0].clone();
    assert_eq!((answer.note.as_deref(), answer.notes), (Some("why"), Vec::new()));
}

#[test]
fn a_note_that_is_too_long_is_called_that() {
    let note = "x".repeat(65_000);
    let reply = json!({"answers": [{"selectedOptions": ["Alpha"], "note": note}, {"selectedOptions": ["Beta"]}]});
    assert_eq!(refused(reply), "answers[0].note: 65000 characters, at most 64212");
}

#[test]
fn answers_stored_before_everybody_was_gone_are_kept_where_no_surface_was_stored() {
    let stored =
        json!({"status": "unavailable", "reason": "gone", "answers": [{"header": "One", "selectedOptions": ["Beta"]}]});
    let read = resolution(&set(), &stored).unwrap();
    assert_eq!(read.outcome().answers()[0].selected_options, ["Beta"]);
    let nothing = resolution(&set(), &json!({"status": "unavailable", "reason": "gone"})).unwrap();
    assert_eq!(nothing, Resolution::unavailable("gone"));
}
