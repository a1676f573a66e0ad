//! Parses an outcome from the JSON of a front end or a store. It inverts [`report::json`](crate::report::json), and
//! checks answers as strictly as the prompt.
//!
//! A reply from outside may state its own provenance (`via`, `by`). [`outcome`] ignores it, and [`reported`] returns
//! it. [`resolution`] trusts the provenance, so it is only for askuser's own stores.

use crate::outcome::{Answer, Note, Outcome, Status};
use crate::question::{Question, QuestionSet, check_typed};
use crate::resolution::{Reported, Resolution, Via};
use crate::sanitize;
use crate::violation::{Gathered, Violations};
use serde::Deserialize;
use serde_json::Value;

/// Parses `{status, answers, reason, message}`. The default status is `answered`. An answer belongs to the question or
/// header that it names, or else to the question at its index. A label may omit "(Recommended)".
///
/// # Errors
/// Returns all errors, not only the first.
pub fn outcome(set: &QuestionSet, reply: &Value) -> Result<Outcome, Violations> {
    let mut bad = Gathered::default();
    if !reply.is_object() {
        bad.add("reply", "not an object", "must be {\"answers\": […]}");
        return bad.into_result(None);
    }
    let status = match &reply["status"] {
        Value::Null => Some(Status::Answered),
        Value::String(name) => match name.as_str() {
            "answered" => Some(Status::Answered),
            "cancelled" => Some(Status::Cancelled),
            "declined" => Some(Status::Declined { reason: words(set, reply, "reason", &mut bad) }),
            "discuss" => Some(Status::Discuss { message: words(set, reply, "message", &mut bad) }),
            "timed_out" => Some(Status::TimedOut),
            "unavailable" => {
                Some(Status::Unavailable { reason: words(set, reply, "reason", &mut bad).unwrap_or_default() })
            }
            _ => None,
        },
        _ => None,
    };
    if status.is_none() {
        let known = "must be answered, cancelled, declined, discuss, timed_out or unavailable";
        bad.add("status", format!("{} is unknown", reply["status"]), known);
    }
    let answers = answers(set, &reply["answers"], &mut bad);
    bad.into_result(Some(()))?;
    Outcome::new(set, status.unwrap_or(Status::Cancelled), answers)
}

/// Parses a stored outcome with its provenance.
///
/// # Errors
/// Returns all errors, not only the first.
pub fn resolution(set: &QuestionSet, stored: &Value) -> Result<Resolution, Violations> {
    let outcome = outcome(set, stored)?;
    let mut bad = Gathered::default();
    let via = match &stored["via"] {
        Value::Null => None,
        via => {
            let known = via.as_str().and_then(Via::named);
            if known.is_none() {
                let names = Via::ALL.map(Via::name).join(", ");
                bad.add("via", format!("{via} is unknown"), format!("must be one of {names}"));
            }
            known
        }
    };
    bad.into_result(Some(()))?;
    let text = |name: &str| stored[name].as_str().map(str::to_owned);
    let [by, device, reported_by] = ["by", "device", "reported_by"].map(text);
    let reported = reported(&stored["reported"])?;
    Ok(Resolution { outcome, via, by, device, at_ms: stored["at_ms"].as_u64(), reported_by, reported })
}

/// Returns the provenance that a reply states by `by` and `via`; `None` if both are missing.
///
/// # Errors
/// If `by` is not a string, or if `via` is unknown.
pub fn reported(reply: &Value) -> Result<Option<Reported>, Violations> {
    let mut bad = Gathered::default();
    if !(reply["by"].is_null() || reply["by"].is_string()) {
        bad.add("by", "not a string", "must be the name of a person");
    }
    let via = reply["via"].as_str().and_then(Via::named);
    if via.is_none() && !reply["via"].is_null() {
        let names = Via::ALL.map(Via::name).join(", ");
        bad.add("via", format!("{} is unknown", reply["via"]), format!("must be one of {names}"));
    }
    let reported = Reported { by: reply["by"].as_str().map(str::to_owned), via };
    bad.into_result(Some(Some(reported).filter(|reported| *reported != Reported::default())))
}

/// Parses the answers. Their labels are as the model wrote them.
fn answers(set: &QuestionSet, given: &Value, bad: &mut Gathered) -> Vec<Answer> {
    let given = match given {
        Value::Null => &[],
        Value::Array(given) => given.as_slice(),
        _ => {
            bad.add("answers", "not an array", "must be an array of answers");
            &[]
        }
    };
    let answer = |(i, value): (usize, &Value)| {
        let path = format!("answers[{i}]");
        let question = question(set, value, i, &path, bad)?;
        answer(question, value, &path, bad)
    };
    given.iter().enumerate().filter_map(answer).collect()
}

/// Returns the question to which an answer belongs. If there is none, adds a violation and returns `None`.
fn question<'a>(set: &'a QuestionSet, value: &Value, i: usize, path: &str, bad: &mut Gathered) -> Option<&'a Question> {
    let questions = set.questions();
    if !value.is_object() {
        bad.add(path, "not an object", "must be {\"selectedOptions\": […]} or {\"customInput\": \"…\"}");
        return None;
    }
    if let Some(text) = value["question"].as_str() {
        let found = questions.iter().find(|question| [question.text_verbatim(), question.text()].contains(&text));
        if found.is_none() {
            bad.add(format!("{path}.question"), format!("{text:?} was not asked"), "must be a question's text");
        }
        return found;
    }
    if let Some(header) = value["header"].as_str() {
        let mut found =
            questions.iter().filter(|question| [question.header_verbatim(), question.header()].contains(&header));
        let first = found.next();
        let second = found.next();
        if first.is_none() || second.is_some() {
            let fact = format!("{header:?} is the header of {}", if first.is_none() { "none" } else { "several" });
            bad.add(format!("{path}.header"), fact, "must name one question");
            return None;
        }
        return first;
    }
    if i >= questions.len() {
        bad.add(path, format!("{} questions were asked", questions.len()), "one answer each");
    }
    questions.get(i)
}

fn answer(question: &Question, value: &Value, path: &str, bad: &mut Gathered) -> Option<Answer> {
    let labels: &[Value] = match &value["selectedOptions"] {
        Value::Null => &[],
        Value::Array(labels) => labels,
        label @ Value::String(_) => std::slice::from_ref(label),
        _ => {
            bad.add(format!("{path}.selectedOptions"), "not an array", "must be an array of labels");
            return None;
        }
    };
    let options = question.options();
    let verbatim = |label: &str| {
        let exact = options.iter().find(|option| option.label_verbatim() == label);
        let named = exact.or_else(|| options.iter().find(|option| option.name() == label));
        named.map_or(label, |option| option.label_verbatim()).to_owned()
    };
    let selected = |label: &Value| label.as_str().map_or_else(|| label.to_string(), verbatim);
    let mut text = |field: &str| match &value[field] {
        Value::Null => None,
        Value::String(text) => Some(text.clone()).filter(|text| !sanitize::is_blank(text)),
        _ => {
            bad.add(format!("{path}.{field}"), "not a string", "must be a string");
            None
        }
    };
    let custom_input = text("customInput");
    let note = text("note");
    let notes = match &value["notes"] {
        Value::Null => Ok(Vec::new()),
        notes => Vec::<Note>::deserialize(notes),
    };
    let Ok(mut notes) = notes else {
        bad.add(format!("{path}.notes"), "not a list of notes", "must be [{\"option\": a label, \"text\": …}]");
        return None;
    };
    for option in notes.iter_mut().filter_map(|note| note.option.as_mut()) {
        *option = verbatim(option);
    }
    Some(Answer {
        question: question.text_verbatim().to_owned(),
        header: question.header_verbatim().to_owned(),
        selected_options: labels.iter().map(selected).collect(),
        custom_input,
        note,
        notes,
    })
}

fn words(set: &QuestionSet, reply: &Value, field: &str, bad: &mut Gathered) -> Option<String> {
    match &reply[field] {
        Value::Null => None,
        Value::String(text) => {
            check_typed(Some(text), set.limits().typed_chars, field, bad);
            Some(text.clone()).filter(|text| !sanitize::is_blank(text))
        }
        _ => {
            bad.add(field, "not a string", "must be a string");
            None
        }
    }
}

#[cfg(test)]
#[path = "reply_tests.rs"]
mod tests;
