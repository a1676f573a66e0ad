//! Formats an outcome for the model: as prose, as JSON, or as a record keyed by question text.
//!
//! Only [`Status::Answered`] reads as an answer. Typed text is indented inside its answer, so that it cannot pass for
//! another answer or for askuser's own text.

use crate::outcome::{Answer, Outcome, Status};
use crate::question::{Question, QuestionSet, name_of};
use crate::resolution::{Resolution, Via};
use crate::sanitize;
use crate::violation::Violations;
use serde_json::{Map, Value, json};
use std::fmt::Write;

/// Returns the tool result in prose.
pub fn prose(set: &QuestionSet, resolution: &Resolution) -> String {
    let mut out = String::new();
    let outcome = resolution.outcome();
    let via = resolution.via();
    let answers = outcome.answers();
    if let Some(by) = resolution.reported_by() {
        let _ = writeln!(out, "Reported by the asker ({}); no person is known to have answered.\n", sanitize::line(by));
    }
    match outcome.status() {
        Status::Answered => {
            let (opening, closing) = match resolution.reported_by() {
                Some(_) => ("The reported answers:\n\n", "Ask the user before you rely on them."),
                None => said_by(via),
            };
            out.push_str(opening);
            write_answers(&mut out, set, answers);
            out.push_str(closing);
        }
        status => {
            write_opening(&mut out, status, via);
            if !answers.is_empty() {
                out.push_str(match via {
                    Some(Via::AnswersFile) => "\nKnown from a file of answers, not from the user:\n\n",
                    Some(Via::Policy) => "\nTaken by policy, not by the user:\n\n",
                    _ => "\nAnswered so far, but not submitted:\n\n",
                });
                write_answers(&mut out, set, answers);
            } else {
                out.push('\n');
            }
            write_unanswered(&mut out, set, answers);
            out.push_str(advice(status));
        }
    }
    if !set.mended().is_empty() {
        out.push_str("\n\nYour input was mended; mind this next time:");
        for line in set.mended() {
            let _ = write!(out, "\n- {line}");
        }
    }
    out
}

/// Returns the tool result as JSON: `{status, answers, via}`. `reason` or `message` is present if the person gave one.
/// The rest of the provenance, such as `by` and `at_ms`, is present if known. `mended` lists the repairs of the input,
/// if there were any.
pub fn json(set: &QuestionSet, resolution: &Resolution) -> Value {
    let mut result = json!(resolution);
    if !set.mended().is_empty() {
        result["mended"] = json!(set.mended());
    }
    result
}

/// Returns the answers by question text: a string for single-select, an array for multi-select, with typed text. Notes
/// are left out; [`json()`] has them.
pub fn record(set: &QuestionSet, resolution: &Resolution) -> Value {
    let entry = |question: &Question| {
        let answer =
            resolution.outcome().answers().iter().find(|answer| answer.question == question.text_verbatim())?;
        let mut values: Vec<&str> = answer.selected_options.iter().map(String::as_str).collect();
        values.extend(answer.custom_input.as_deref());
        let value = if question.is_multi_select() { json!(values) } else { json!(values.first()) };
        Some((answer.question.clone(), value))
    };
    Value::Object(set.questions().iter().filter_map(entry).collect())
}

/// Returns the input of Claude Code's own AskUserQuestion with the answers. Claude Code's hooks, permission prompts and
/// Agent SDKs take this value as `updatedInput`. Several choices are joined by ", ". A note becomes an annotation of
/// its question. Other fields stay as sent.
pub fn claude_input(set: &QuestionSet, resolution: &Resolution) -> Value {
    let answers = resolution.outcome().answers();
    let text = |answer: &Answer| {
        let mut values: Vec<&str> = answer.selected_options.iter().map(String::as_str).collect();
        values.extend(answer.custom_input.as_deref());
        (answer.question.clone(), json!(values.join(", ")))
    };
    // If the questions were not sent as an array, the repaired questions replace them.
    let mut input = match set.input().get("questions") {
        Some(Value::Array(_)) => set.input().clone(),
        _ => json!({"questions": set.questions_json()}),
    };
    let note = |answer: &Answer| Some((answer.question.clone(), json!({"notes": answer.note.as_ref()?})));
    let notes: Map<String, Value> = answers.iter().filter_map(note).collect();
    input["answers"] = Value::Object(answers.iter().map(text).collect());
    input["annotations"] = notes.into();
    if input["annotations"] == json!({}) {
        input.as_object_mut().map(|input| input.remove("annotations"));
    }
    input
}

/// Returns the tool result for an invalid input, whose questions were not asked.
pub fn rejection(violations: &Violations) -> String {
    let mut out = String::from("Invalid AskUserQuestion input; nothing was asked. Correct this and call again:");
    for violation in violations.iter() {
        let _ = write!(out, "\n- {violation}");
    }
    out
}

/// Returns the labels of an answer for people, without "(Recommended)".
pub fn names(answer: &Answer) -> impl Iterator<Item = String> {
    answer.selected_options.iter().map(|label| name_of(label).0)
}

/// Returns the choice and the typed text for people: `PostgreSQL, with replicas`.
pub fn chosen(answer: &Answer) -> String {
    names(answer).chain(answer.custom_input.clone()).collect::<Vec<_>>().join(", ")
}

/// Returns the choice, the typed text and the note: `PostgreSQL, with replicas (note: for now)`.
pub fn chosen_with_note(answer: &Answer) -> String {
    let note = answer.note.as_ref().map(|note| format!(" (note: {note})")).unwrap_or_default();
    chosen(answer) + &note
}

/// Returns the decision on one line: `Database: PostgreSQL (note: for now) · Cache: Redis`, or the words of a refusal.
/// Returns `None` without answers and words.
pub fn decided(outcome: &Outcome) -> Option<String> {
    let answer = |answer: &Answer| format!("{}: {}", answer.header, chosen_with_note(answer));
    let words = match outcome.status() {
        Status::Declined { reason: words } | Status::Discuss { message: words } => words.clone(),
        _ => None,
    };
    let parts: Vec<String> = outcome.answers().iter().map(answer).chain(words).collect();
    (!parts.is_empty()).then(|| sanitize::line(&parts.join(" · ")).into_owned())
}

/// Returns the lines before and after the answers. Only a person's own answers are called the user's.
fn said_by(via: Option<Via>) -> (&'static str, &'static str) {
    match via {
        Some(Via::AnswersFile) => (
            "The user was not asked. These questions were answered from a file of answers written beforehand:\n\n",
            "Proceeding with these answers.",
        ),
        Some(Via::Policy) => (
            "The user was not asked. By the policy set for this run, these recommended options stand as the answers:\n\n",
            "Proceeding with these answers.",
        ),
        Some(Via::Terminal | Via::Line | Via::FrontEnd | Via::Inbox | Via::Web | Via::Elicitation | Via::Hook) => {
            ("User answered the following questions:\n\n", "Proceeding with user selections.")
        }
        // The author of a resolution without a surface is unknown.
        None => {
            ("These answers came from nowhere, and are not the user's:\n\n", "Ask the user before you rely on them.")
        }
    }
}

fn write_answers(out: &mut String, set: &QuestionSet, answers: &[Answer]) {
    for (i, question) in set.questions().iter().enumerate() {
        let Some(answer) = answers.iter().find(|answer| answer.question == question.text_verbatim()) else { continue };
        let header = sanitize::line(question.header_verbatim());
        let _ = writeln!(out, "{}. {} ({})", i + 1, sanitize::trim(&header), sanitize::line(question.text()));
        let names: Vec<String> = names(answer).collect();
        if !names.is_empty() {
            let _ = writeln!(out, "   Selected: {}", names.join(", "));
        }
        for (name, text) in [("Other", &answer.custom_input), ("Note", &answer.note)] {
            if let Some(text) = text {
                let _ = writeln!(out, "   {name}: {}", indented(text, "     "));
            }
        }
        out.push('\n');
    }
}

fn write_opening(out: &mut String, status: &Status, via: Option<Via>) {
    match status {
        Status::Answered => {}
        Status::Cancelled => out.push_str("The user cancelled: they dismissed the questions without submitting.\n"),
        Status::Declined { reason } => {
            out.push_str("The user declined to answer.\n");
            write_words(out, "Reason", reason.as_deref());
        }
        Status::Discuss { message } => {
            out.push_str("The user wants to talk about this before answering.\n");
            write_words(out, "They wrote", message.as_deref());
        }
        Status::TimedOut => out.push_str("The time ran out before the user answered. Silence is not consent.\n"),
        Status::Unavailable { reason } => {
            out.push_str(match via {
                Some(via) if via.is_a_person() => "The user was being asked, but cannot be reached any more.\n",
                Some(_) | None => "Nobody was asked: no user can be reached here.\n",
            });
            write_words(out, "Why", Some(reason));
        }
    }
}

fn write_words(out: &mut String, name: &str, words: Option<&str>) {
    if let Some(words) = words {
        let _ = writeln!(out, "{name}: {}", indented(words, "  "));
    }
}

fn write_unanswered(out: &mut String, set: &QuestionSet, answers: &[Answer]) {
    let open = |question: &&Question| answers.iter().all(|answer| answer.question != question.text_verbatim());
    let header = |question: &Question| sanitize::trim(&sanitize::line(question.header_verbatim())).to_owned();
    let headers: Vec<_> = set.questions().iter().filter(open).map(header).collect();
    if headers.is_empty() {
        out.push_str("Every question had an answer, but none was submitted: do not treat them as final. ");
    } else {
        let _ = write!(out, "Not answered: {}. Do not assume an answer. ", headers.join(", "));
    }
}

fn advice(status: &Status) -> &'static str {
    match status {
        Status::Answered => "",
        Status::Cancelled => "Stop and wait for the user, or go on only with work that does not depend on it.",
        Status::Declined { .. } => "Do not ask the same again; go on without it only where nothing depends on it.",
        Status::Discuss { .. } => "Reply to the user in the conversation first; ask again once it is settled.",
        Status::TimedOut | Status::Unavailable { .. } => {
            "Go on only with work that does not depend on it, and say plainly what is still open."
        }
    }
}

/// Indents every line but the first. Text from outside may have any line ends, which become newlines.
fn indented(text: &str, indent: &str) -> String {
    sanitize::block(text).replace('\n', &format!("\n{indent}"))
}

#[cfg(test)]
#[path = "report_tests.rs"]
mod tests;
