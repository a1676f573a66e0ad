//! What goes over the wire, both ways: questions, endings and errors as JSON.

use askuser::store::{
    AskerPresence, Cursor, Ending, Filter, QuestionId, QuestionRef, SavedDraft, Series, State, StoreError,
    StoredQuestion,
};
use askuser::{Request, RequestKey, Violations, reply, report};
use serde_json::{Value, json};
use std::sync::Arc;

/// The API as an OpenAPI document.
pub const OPENAPI: &str = include_str!("../openapi.json");

/// Where the API is.
pub(crate) const API: &str = "/api/v1";
/// The id that stands for a question named by its key.
pub(crate) const BY_KEY: &str = "-";
/// Says at which surface a person answers.
pub(crate) const VIA: &str = "x-askuser-via";
/// Names a question, or an attempt.
pub(crate) const IDEMPOTENCY_KEY: &str = "idempotency-key";

/// A question as any client reads it; `is_whole` for our own store, which rebuilds it.
pub(crate) fn question(question: &StoredQuestion, is_whole: bool) -> Value {
    let mut object = report::stored(question);
    object["purpose"] = json!(question.request.key().purpose);
    object["cursor"] = json!(question.cursor);
    object["read_ms"] = json!(question.read_ms);
    if is_whole {
        object["request"] = json!(*question.request);
    }
    object
}

/// The inverse, of a question that is whole.
pub(crate) fn read_question(value: &Value) -> Result<StoredQuestion, String> {
    let number = |name: &str| value[name].as_u64().ok_or_else(|| format!("the question has no {name}"));
    let id = value["id"].as_str().and_then(QuestionId::parse).ok_or("the question has no id")?;
    let request: Request = serde_json::from_value(value["request"].clone()).map_err(|error| error.to_string())?;
    let mut question = StoredQuestion::new(id, Arc::new(request), number("asked_ms")?, cursor(&value["cursor"])?);
    question.read_ms = number("read_ms")?;
    if !value["unsent"].is_null() {
        question.unsent = serde_json::from_value(value["unsent"].clone()).map_err(|error| error.to_string())?;
    }
    question.expires_ms = value["expires_ms"].as_u64();
    question.delivered_ms = value["delivered_ms"].as_u64();
    question.ending = ending(&question.request, value)?;
    let asker = &value["asker"];
    question.asker = match (asker["left_ms"].as_u64(), asker["gone_ms"].as_u64()) {
        (Some(at), _) => AskerPresence::Left(at),
        (_, Some(at)) => AskerPresence::Died(at),
        _ => AskerPresence::Waits,
    };
    Ok(question)
}

fn cursor(value: &Value) -> Result<Cursor, String> {
    value.as_str().and_then(Cursor::parse).ok_or_else(|| format!("the cursor is {value}"))
}

/// The place where the next page of a list begins.
pub(crate) fn next_page(body: &Value) -> Result<Option<Cursor>, String> {
    if body["next"].is_null() { Ok(None) } else { cursor(&body["next"]).map(Some) }
}

/// Reads the reply about drafts: the newest one, if the reply has it, and the others.
pub(crate) fn read_drafts(mut body: Value) -> Result<Vec<SavedDraft>, serde_json::Error> {
    let mut drafts: Vec<SavedDraft> = serde_json::from_value(body["others"].take())?;
    if !body["version"].is_null() {
        drafts.insert(0, serde_json::from_value(body)?);
    }
    Ok(drafts)
}

/// How a question ended, by what is told of it.
pub(crate) fn ending(request: &Request, question: &Value) -> Result<Option<Ending>, String> {
    let state = question["state"].as_str().and_then(State::named).ok_or("the question has no state")?;
    let resolution = |value| reply::resolution(request.set(), value).map_err(|violations| violations.to_string());
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    Ok(match state {
        State::Pending => None,
        State::Withdrawn => {
            let at_ms = question["ended_ms"].as_u64().unwrap_or_default();
            Some(Ending::Withdrawn { by: text(&question["withdrawn_by"]), at_ms })
        }
        State::Settled => {
            let settled = &question["settled"];
            Some(Ending::settled(text(&settled["by"]), resolution(&settled["reported"])?))
        }
        _ => Some(Ending::Resolved(resolution(&question["resolution"])?)),
    })
}

pub(crate) fn series(value: &Value) -> Option<Series> {
    let text = |name: &str| value[name].as_str().map(str::to_owned);
    text("name").zip(text("conversation")).map(|(name, conversation)| Series { name, conversation })
}

/// Where a question is under `/questions/`, and what the query says of it.
pub(crate) fn path(which: &QuestionRef) -> (String, Option<(&'static str, String)>) {
    match which {
        QuestionRef::Id(id) => (id.to_string(), None),
        QuestionRef::Key(key) => (BY_KEY.to_owned(), Some(("key", json!(key).to_string()))),
    }
}

/// The inverse.
pub(crate) fn which(segment: &str, key: Option<&str>) -> Option<QuestionRef> {
    match segment {
        BY_KEY => serde_json::from_str::<RequestKey>(key?).ok().map(QuestionRef::Key),
        id => QuestionId::parse(id).map(QuestionRef::Id),
    }
}

/// A filter as the parameters of a list.
pub(crate) fn parameters(filter: &Filter) -> Vec<(&'static str, String)> {
    let state = match filter.pending {
        Some(true) => "pending",
        Some(false) => "ended",
        None => "all",
    };
    let optional = [
        ("q", filter.containing.clone()),
        ("from", filter.from.clone()),
        ("since", filter.since_ms.map(|ms| ms.to_string())),
        ("cursor", filter.after.map(|cursor| cursor.to_string())),
        ("limit", filter.limit.map(|limit| limit.to_string())),
        ("order", Some(if filter.latest_first { "latest" } else { "earliest" }.to_owned())),
        ("mine", filter.mine.then(|| "1".to_owned())),
    ];
    let given = optional.into_iter().filter_map(|(name, value)| Some((name, value?)));
    std::iter::once(("state", state.to_owned())).chain(given).collect()
}

/// An error of a store: the status of the reply, its code, and what there is to say.
pub(crate) fn error(error: &StoreError) -> (u16, Value) {
    let (status, code, extra) = match error {
        StoreError::NotFound(which) => (404, "not_found", json!({ "which": which })),
        StoreError::Ended(_) => (409, "ended", Value::Null),
        StoreError::OtherQuestion { key, stored, asked } => {
            (409, "other_question", json!({"key": key, "stored": stored, "asked": asked}))
        }
        StoreError::Misfit(violations) => (422, "invalid", json!({"violations": violations})),
        StoreError::Forbidden(_) => (403, "forbidden", Value::Null),
        StoreError::Unauthorized(_) => (401, "unauthorized", Value::Null),
        StoreError::Unknown { .. } => (500, "unknown", Value::Null),
        StoreError::Damaged { .. } => (500, "damaged", Value::Null),
        _ => (503, "unavailable", Value::Null),
    };
    let message = match error {
        StoreError::Forbidden(what) => what.clone(),
        error => error.chain(),
    };
    let mut body = json!({"code": code, "message": message});
    if let (Value::Object(extra), Value::Object(body)) = (extra, &mut body) {
        body.extend(extra);
    }
    (status, json!({ "error": body }))
}

/// The inverse. What is no error of a store is one of the server, or of what stands before it.
pub(crate) fn read_error(status: u16, body: &Value, what: &str) -> StoreError {
    let error = &body["error"];
    let text = |name: &str| error[name].as_str().unwrap_or_default().to_owned();
    let why = match error["message"].as_str() {
        Some(message) => message.to_owned(),
        None => format!("the server said {status}"),
    };
    match error["code"].as_str() {
        Some("not_found") if error["which"].is_string() => StoreError::NotFound(text("which")),
        Some("forbidden") => StoreError::Forbidden(text("message")),
        Some("other_question") => {
            StoreError::OtherQuestion { key: text("key"), stored: text("stored"), asked: text("asked") }
        }
        Some("invalid") => match serde_json::from_value::<Violations>(error["violations"].clone()) {
            Ok(violations) => StoreError::Misfit(violations),
            Err(_) => StoreError::damaged(what, why),
        },
        Some("unknown") => StoreError::unknown(what, why),
        Some("unavailable") => StoreError::unavailable(what, why),
        Some("unauthorized") => StoreError::Unauthorized(format!("{what}: {why}")),
        _ => StoreError::damaged(what, why),
    }
}
