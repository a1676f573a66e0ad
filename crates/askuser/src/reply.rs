//! An outcome as a machine sends it: a front end that asked for us, a record that was kept. The inverse of
//! [`report::json`](crate::report::json), and as strict with answers as the prompt itself.

use crate::outcome::{Answer, Outcome, Via};
use crate::question::{Question, QuestionSet};
use crate::sanitize;
use crate::violation::{Gathered, Violations};
use serde_json::Value;

/// Reads `{status, answers, via, reason, message}`. Without a status it is `answered`. An answer belongs to the question
/// or header it names, or else to the one in its place; a label may leave out "(Recommended)".
pub fn read(set: &QuestionSet, reply: &Value) -> Result<Outcome, Violations> {
    let mut bad = Gathered::default();
    if !reply.is_object() {
        bad.add("reply", "not an object", "must be {\"answers\": […]}");
        return bad.into_result(None);
    }
    let status = match &reply["status"] {
        Value::Null => "answered",
        Value::String(status) => status,
        _ => "",
    };
    let (answers, tried) = answers(set, &reply["answers"], &mut bad);
    let outcome = match status {
        "answered" => {
            for (place, question) in set.questions().iter().enumerate() {
                if !tried.contains(&place) {
                    bad.add("answers", format!("none to {:?}", question.header()), "every question needs one");
                }
            }
            Outcome::answered(set, answers)
        }
        "cancelled" => Some(Outcome::cancelled(answers)),
        "declined" => Some(Outcome::declined(words(set, reply, "reason", &mut bad), answers)),
        "discuss" => Some(Outcome::discuss(words(set, reply, "message", &mut bad), answers)),
        "timed_out" => Some(Outcome::timed_out(answers)),
        "unavailable" => Some(Outcome::unavailable(words(set, reply, "reason", &mut bad).unwrap_or_default(), answers)),
        _ => {
            let known = "must be answered, cancelled, declined, discuss, timed_out or unavailable";
            bad.add("status", format!("{} is unknown", reply["status"]), known);
            None
        }
    };
    let via = match &reply["via"] {
        Value::Null => None,
        via => {
            let known: Option<Via> = serde_json::from_value(via.clone()).ok();
            if known.is_none() {
                let names = "must be terminal, line, web, elicitation, answers-file or policy";
                bad.add("via", format!("{via} is unknown"), names);
            }
            known
        }
    };
    bad.into_result(outcome.map(|outcome| match via {
        Some(via) => outcome.with_via(via),
        None => outcome,
    }))
}

/// The answers in the order of the questions, and which questions were answered, rightly or wrongly.
fn answers(set: &QuestionSet, given: &Value, bad: &mut Gathered) -> (Vec<Answer>, Vec<usize>) {
    let given = match given {
        Value::Null => &[],
        Value::Array(given) => given.as_slice(),
        _ => {
            bad.add("answers", "not an array", "must be an array of answers");
            &[]
        }
    };
    let (mut answers, mut tried): (Vec<(usize, Answer)>, Vec<usize>) = Default::default();
    for (i, value) in given.iter().enumerate() {
        let path = format!("answers[{i}]");
        let Some(place) = place(set, value, i, &path, bad) else { continue };
        if tried.contains(&place) {
            bad.add(path, format!("a second answer to {:?}", set.questions()[place].header()), "one is enough");
            continue;
        }
        tried.push(place);
        answers.extend(answer(set, &set.questions()[place], value, &path, bad).map(|answer| (place, answer)));
    }
    answers.sort_by_key(|(place, _)| *place);
    (answers.into_iter().map(|(_, answer)| answer).collect(), tried)
}

/// Which question an answer is to.
fn place(set: &QuestionSet, value: &Value, i: usize, path: &str, bad: &mut Gathered) -> Option<usize> {
    let questions = set.questions();
    if !value.is_object() {
        bad.add(path, "not an object", "must be {\"selectedOptions\": […]} or {\"customInput\": \"…\"}");
        return None;
    }
    if let Some(text) = value["question"].as_str() {
        let place = questions.iter().position(|question| [question.text_verbatim(), question.text()].contains(&text));
        if place.is_none() {
            bad.add(format!("{path}.question"), format!("{text:?} was not asked"), "must be a question's text");
        }
        return place;
    }
    if let Some(header) = value["header"].as_str() {
        let is_it = |question: &Question| [question.header_verbatim(), question.header()].contains(&header);
        let mut places = (0..questions.len()).filter(|place| is_it(&questions[*place]));
        let place = places.next();
        if place.is_none() || places.next().is_some() {
            let fact = format!("{header:?} is the header of {}", if place.is_none() { "none" } else { "several" });
            bad.add(format!("{path}.header"), fact, "must name one question");
            return None;
        }
        return place;
    }
    if i >= questions.len() {
        bad.add(path, format!("{} questions were asked", questions.len()), "one answer each");
        return None;
    }
    Some(i)
}

fn answer(set: &QuestionSet, question: &Question, value: &Value, path: &str, bad: &mut Gathered) -> Option<Answer> {
    let options = question.options();
    let labels: &[Value] = match &value["selectedOptions"] {
        Value::Null => &[],
        Value::Array(labels) => labels,
        label @ Value::String(_) => std::slice::from_ref(label),
        _ => {
            bad.add(format!("{path}.selectedOptions"), "not an array", "must be an array of labels");
            return None;
        }
    };
    let mut picks = Vec::new();
    for (i, label) in labels.iter().enumerate() {
        let known = label.as_str().and_then(|label| {
            let exact = options.iter().position(|option| option.label_verbatim() == label);
            exact.or_else(|| options.iter().position(|option| option.name() == label))
        });
        match known {
            Some(pick) => picks.push(pick),
            None => {
                let names: Vec<String> = options.iter().map(|option| format!("{:?}", option.name())).collect();
                let limit = format!("must be one of {}", names.join(", "));
                bad.add(format!("{path}.selectedOptions[{i}]"), format!("{label} is not an option"), limit);
            }
        }
    }
    if picks.len() < labels.len() {
        return None;
    }
    let [custom_input, note] = ["customInput", "note"].map(|field| text(set, &value[field], path, field, bad));
    if !question.is_multi_select() && picks.len() + usize::from(custom_input.is_some()) > 1 {
        bad.add(path, "several choices", "this question takes one");
        return None;
    }
    let answer = question.answer(&picks, custom_input, note);
    let answer = answer.filter(|answer| question.admits(answer, set.limits()));
    if answer.is_none() {
        bad.add(path, "no choice", "needs one of selectedOptions or customInput");
    }
    answer
}

fn words(set: &QuestionSet, reply: &Value, field: &str, bad: &mut Gathered) -> Option<String> {
    text(set, &reply[field], "", field, bad)
}

fn text(set: &QuestionSet, value: &Value, path: &str, field: &str, bad: &mut Gathered) -> Option<String> {
    let dot = if path.is_empty() { "" } else { "." };
    let mut refuse = |fact: String, limit: String| {
        bad.add(format!("{path}{dot}{field}"), fact, limit);
        None
    };
    match value {
        Value::Null => None,
        Value::String(text) => {
            // A note may be the notes of several rows, each with its label.
            let rows = if field == "note" { 9 } else { 1 };
            let (chars, limit) = (text.chars().count(), set.limits().typed_chars * rows);
            if chars > limit {
                refuse(format!("{chars} characters"), format!("at most {limit}"))
            } else if sanitize::typed(text) != *text {
                refuse("has control characters".into(), "must be plain text with newlines at most".into())
            } else {
                Some(text.clone()).filter(|text| !sanitize::is_blank(text))
            }
        }
        _ => refuse("not a string".into(), "must be a string".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::question::Rules;
    use crate::report;
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
        read(&set(), &reply).unwrap_err().to_string()
    }

    #[test]
    fn whatever_a_report_says_is_read_back_as_it_was() {
        let set = set();
        let one = set.questions()[0].answer(&[0], None, Some("soon".into())).unwrap();
        let many = set.questions()[1].answer(&[0, 2], Some("typed\ntext".into()), None).unwrap();
        for outcome in [
            Outcome::answered(&set, vec![one.clone(), many.clone()]).unwrap().with_via(Via::Terminal),
            Outcome::cancelled(vec![many]).with_via(Via::Line),
            Outcome::declined(Some("no".into()), vec![one]),
            Outcome::declined(None, vec![]),
            Outcome::discuss(Some("first\nthis".into()), vec![]).with_via(Via::Web),
            Outcome::timed_out(vec![]),
            Outcome::unavailable("gone", vec![]),
        ] {
            assert_eq!(read(&set, &report::json(&set, &outcome)).as_ref(), Ok(&outcome));
        }
    }

    #[test]
    fn an_answer_finds_its_question_by_text_by_header_or_by_place() {
        let by_place = json!({"answers": [{"selectedOptions": ["Alpha"]}, {"selectedOptions": "Beta"}]});
        let by_name = json!({"answers": [
            {"header": "Many", "selectedOptions": ["Beta"]},
            {"question": "Which?", "selectedOptions": ["Alpha (Recommended)"]},
        ]});
        let (by_place, by_name) = (read(&set(), &by_place).unwrap(), read(&set(), &by_name).unwrap());
        assert_eq!(by_place, by_name);
        assert_eq!(by_place.answers()[0].selected_options, ["Alpha (Recommended)"]);
    }

    #[test]
    fn nothing_illegal_gets_through_and_everything_wrong_is_said() {
        let too_long = "x".repeat(2001);
        for (reply, said) in [
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
            (json!({"answers": [{"customInput": too_long}]}), "answers[0].customInput: 2001 characters, at most 2000"),
            (json!({"answers": [{"customInput": "a\u{1b}[2J"}]}), "answers[0].customInput: has control characters"),
            (json!({"answers": [{"header": "None", "selectedOptions": ["Alpha"]}]}), "\"None\" is the header of none"),
            (json!({"answers": [{"question": "Eh?", "selectedOptions": ["Alpha"]}]}), "\"Eh?\" was not asked"),
            (
                json!({"answers": [{"header": "One", "selectedOptions": ["Alpha"]}, {"header": "One", "selectedOptions": ["Beta"]}]}),
                "a second answer to \"One\"",
            ),
            (json!({"status": "declined", "reason": 4}), "reason: not a string"),
            (json!({"status": "cancelled", "via": "magic"}), "via: \"magic\" is unknown"),
        ] {
            let refusal = refused(reply.clone());
            assert!(refusal.contains(said), "{reply}: {refusal}");
        }
    }
}
