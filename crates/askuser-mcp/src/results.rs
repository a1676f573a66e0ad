//! What a model reads. Text and structured content each say everything: clients show their model one or the other.

use askuser::store::QuestionId;
use askuser::{QuestionSet, Resolution, report};
use rmcp::model::{CallToolResult, ContentBlock};
use serde_json::{Value, json};
use std::fmt::Write;
use std::time::Duration;

/// What came of asking; `age` where that is no answer to this very call, and what it is.
pub(crate) fn resolved(
    set: &QuestionSet,
    resolution: &Resolution,
    age: Option<(Duration, &'static str)>,
) -> CallToolResult {
    let (mut words, mut structured) = (report::prose(set, resolution), report::json(set, resolution));
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
    both(words, structured)
}

/// No person has answered before the client would have given up.
pub(crate) fn not_yet(id: &QuestionId) -> CallToolResult {
    let words = format!(
        "The user has not answered yet. The question stays open: they answer it with `{}`. Do not assume an answer and do \
         not ask again: call AskUserQuestionResult with {{\"ticket\": \"{id}\"}} to go on waiting.",
        how_to_answer(id)
    );
    both(words.clone(), json!({"status": "pending", "ticket": id, "message": words}))
}

/// A person has taken the question off the list.
pub(crate) fn withdrawn() -> CallToolResult {
    let words =
        "The question was withdrawn: nobody will answer it. Do not assume an answer, and do not ask the same again.";
    both(words.into(), json!({"status": "withdrawn", "message": words}))
}

/// Nothing was asked, and this is why.
pub(crate) fn refused(why: impl Into<String>) -> CallToolResult {
    CallToolResult::error(vec![ContentBlock::text(why.into())])
}

/// How a person answers a question.
pub(crate) fn how_to_answer(id: &QuestionId) -> String {
    format!("askuser answer {id}` or `askuser inbox")
}

fn both(words: String, structured: Value) -> CallToolResult {
    let mut result = CallToolResult::success(vec![ContentBlock::text(words)]);
    result.structured_content = Some(structured);
    result
}
