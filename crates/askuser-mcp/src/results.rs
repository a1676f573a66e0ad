//! The results for a model. The text and the structured content are each complete, because a client shows its model
//! only one of them.

use askuser::store::{QuestionId, StoredQuestion};
use askuser::{QuestionSet, Resolution, Status, report};
use rmcp::model::{CallToolResult, ContentBlock};
use serde_json::{Value, json};
use std::fmt::Write;
use std::time::Duration;

/// Returns the result of a resolved question. `age` describes an answer that was given before this call.
pub(crate) fn resolved(
    set: &QuestionSet,
    resolution: &Resolution,
    age: Option<(Duration, &'static str)>,
) -> CallToolResult {
    let mut words = report::prose(set, resolution);
    let mut structured = report::json(set, resolution);
    if let Some((age, what)) = age {
        let minutes = age.as_secs() / 60;
        let ago = match minutes {
            0 => "less than a minute".to_owned(),
            1..120 => format!("{minutes} min"),
            _ => format!("{} h", minutes / 60),
        };
        let _ = write!(words, "\n\nThis was answered {ago} ago, {what}.");
        structured["answered_seconds_ago"] = age.as_secs().into();
    }
    // A model that sees only the structured content must read as much as one that sees the text.
    if *resolution.outcome().status() != Status::Answered || !resolution.is_a_persons() {
        structured["instruction"] = words.as_str().into();
    }
    both(words, structured)
}

/// Returns the result if no person answered before the client would give up.
pub(crate) fn not_yet(id: &QuestionId) -> CallToolResult {
    let words = format!(
        "The user has not answered yet, and the question stays open. Tell them: \"{}\" Do not assume an answer and do not ask \
         again: call AskUserQuestionResult with {{\"ticket\": \"{id}\"}} to go on waiting.",
        where_to_answer(id)
    );
    both(words.clone(), json!({"status": "pending", "ticket": id, "message": words}))
}

/// Returns the result of a question that was asked in the background.
pub(crate) fn in_background(id: &QuestionId, is_pushed: bool) -> CallToolResult {
    let delivery = if is_pushed {
        "The answer will be delivered to you."
    } else {
        "Call AskUserQuestionResult with this ticket before you finish."
    };
    let words = format!(
        "Question {id} is with the user. Continue with work that does not depend on it. Do not ask again and do not assume \
         an answer. {delivery}"
    );
    both(words.clone(), json!({"status": "background", "ticket": id, "message": words}))
}

/// Returns the list of a conversation's questions.
pub(crate) fn listed(questions: &[StoredQuestion]) -> CallToolResult {
    let line = |question: &StoredQuestion| {
        format!("- {}: {}: {}\n", question.id, question.state().name(), question.request.title())
    };
    let words = if questions.is_empty() {
        "This session has asked no question; only a ticket finds earlier ones.".to_owned()
    } else {
        format!("You have asked:\n{}", questions.iter().map(line).collect::<String>())
    };
    let row = |question: &StoredQuestion| json!({"ticket": question.id, "state": question.state(), "question": question.request.title()});
    let rows: Vec<Value> = questions.iter().map(row).collect();
    both(words, json!({"status": "listed", "questions": rows}))
}

/// Returns the result of a question that the model withdrew.
pub(crate) fn taken_back(id: &QuestionId) -> CallToolResult {
    let words = format!("Question {id} was taken back: the user is not asked any more.");
    both(words.clone(), json!({"status": "withdrawn", "ticket": id, "message": words}))
}

/// Adds the ticket of an answer to its result, and whether the answer was sent before.
pub(crate) fn name(result: &mut CallToolResult, id: &QuestionId, is_again: bool) {
    let again = if is_again { ", again" } else { "" };
    prepend(result, &format!("Ticket {id}{again}:\n"));
    if let Some(structured) = &mut result.structured_content {
        structured["ticket"] = json!(id);
        if is_again {
            structured["again"] = true.into();
        }
    }
}

fn prepend(result: &mut CallToolResult, words: &str) {
    if let Some(first) = result.content.first_mut() {
        let rest = first.as_text().map(|block| block.text.clone()).unwrap_or_default();
        *first = ContentBlock::text(format!("{words}{rest}"));
    }
}

/// Adds the answer to an earlier question to a result, both to the text and to the structured content.
pub(crate) fn add_arrived(result: &mut CallToolResult, arrived: CallToolResult) {
    let words = arrived.content.iter().filter_map(|block| block.as_text());
    let words: String =
        words.map(|block| format!("\n\nMeanwhile an earlier question has ended. {}", block.text)).collect();
    result.content.push(ContentBlock::text(words.trim_start()));
    if let (Some(structured), Some(arrived)) = (&mut result.structured_content, arrived.structured_content) {
        match structured["arrived"].as_array_mut() {
            Some(others) => others.push(arrived),
            None => structured["arrived"] = json!([arrived]),
        }
    }
}

/// Returns the result of a question that a person withdrew.
pub(crate) fn withdrawn() -> CallToolResult {
    let words =
        "The question was withdrawn: nobody will answer it. Do not assume an answer, and do not ask the same again.";
    both(words.into(), json!({"status": "withdrawn", "message": words}))
}

/// Returns the error result of a call that asked no question, with the reason.
pub(crate) fn refused(why: impl Into<String>) -> CallToolResult {
    CallToolResult::error(vec![ContentBlock::text(why.into())])
}

/// Returns the error result if the question could not be put, or if waiting for it failed.
pub(crate) fn not_asked(why: &str) -> CallToolResult {
    refused(format!("The user could not be asked: {why}. Do not assume an answer."))
}

/// Returns the text that tells the person where to answer.
pub(crate) fn where_to_answer(id: &QuestionId) -> String {
    format!("A question waits for your answer: run `askuser inbox` in a terminal, or `askuser answer {id}`.")
}

fn both(words: String, structured: Value) -> CallToolResult {
    let mut result = CallToolResult::success(vec![ContentBlock::text(words)]);
    result.structured_content = Some(structured);
    result
}

#[cfg(test)]
mod tests {
    use super::*;
    use askuser::{Outcome, Rules, Via, reply};

    fn set() -> QuestionSet {
        let options = json!([{"label": "Yes", "description": "Now"}, {"label": "No", "description": "Later"}]);
        let question = json!({"question": "Deploy?", "header": "Deploy", "multiSelect": false, "options": options});
        QuestionSet::parse(json!({"questions": [question]}), &Rules::strict()).unwrap()
    }

    #[test]
    fn where_no_person_has_answered_the_structured_content_says_what_the_words_say() {
        let unanswered = [
            Outcome::declined(None),
            Outcome::declined(Some("not on a Friday".into())),
            Outcome::cancelled(),
            Outcome::discuss(Some("why now?".into())),
            Outcome::timed_out(),
            Outcome::unavailable("nobody is there"),
        ];
        let yes = reply::outcome(&set(), &json!({"answers": [{"selectedOptions": ["Yes"]}]})).unwrap();
        let mut resolutions: Vec<Resolution> =
            unanswered.into_iter().map(|outcome| outcome.through(Via::Inbox)).collect();
        resolutions.push(yes.clone().through(Via::Policy));
        for resolution in resolutions {
            let result = resolved(&set(), &resolution, None);
            let words = &result.content[0].as_text().unwrap().text;
            assert_eq!(result.structured_content.unwrap()["instruction"], words.as_str());
        }
        let result = resolved(&set(), &yes.through(Via::Inbox), None);
        assert!(result.structured_content.unwrap()["instruction"].is_null(), "the answer says it all");
    }
}
