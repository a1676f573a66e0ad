//! What the protocols share: reading a response event by event, and converting tool calls in both directions.

use super::api_error::ApiError;
use super::sse::SseEvent;
use super::target::Target;
use crate::message::ToolCall;
use crate::model::{ModelError, ModelEvent};
use serde_json::{Map, Value, json};

pub(super) trait ResponseReader: Send {
    /// Reads an event and appends what it contains to `output`.
    fn read(&mut self, event: &SseEvent, output: &mut Vec<ModelEvent>) -> Result<Flow, ModelError>;

    /// The stream has ended: appends what was held back, and says whether the provider had completed the response.
    fn end(&mut self, output: &mut Vec<ModelEvent>) -> Result<Completion, ModelError>;
}

/// Whether the response goes on after an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Flow {
    Continue,
    Done,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Completion {
    Complete,
    /// Its text ends at the token limit.
    TokenLimit,
    /// The provider has not said that it is complete.
    Unfinished,
}

/// The last output of a response: the only one that the token limit can have truncated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LastOutput {
    None,
    Text,
    Call,
}

/// The JSON of an event. An error object inside a stream becomes a model error.
pub(super) fn event_json(event: &SseEvent, target: &Target) -> Result<Value, ModelError> {
    let value: Value = serde_json::from_str(&event.data)
        .map_err(|error| target.protocol_error(format_args!("an event is not JSON: {error}")))?;
    match ApiError::from_json(&value) {
        Some(api_error) => Err(target.model_error(&api_error)),
        None => Ok(value),
    }
}

/// The input of a tool call from the JSON text of the model: an object, or the text itself if it is none. The tool then
/// rejects it, and the model can correct itself.
pub(super) fn parse_input(json: &str) -> Value {
    if json.trim().is_empty() {
        return json!({});
    }
    match serde_json::from_str(json) {
        Ok(Value::Object(object)) => Value::Object(object),
        Ok(_) | Err(_) => Value::String(json.to_owned()),
    }
}

/// A tool call that the token limit cut off. Its input stays text, also where the part would be complete by chance.
pub(super) fn truncated_call(id: String, name: String, written: String) -> ModelEvent {
    ModelEvent::TruncatedCall(ToolCall { id, name, input: Value::String(written), extra: None })
}

/// The input of an earlier tool call as it is sent back. Providers reject a conversation with an input that is not an
/// object, so such an input is sent as `{}`; the tool result says what was wrong with it.
pub(super) fn input_object(input: &Value) -> Value {
    if input.is_object() { input.clone() } else { Value::Object(Map::new()) }
}

/// A call id or tool name with only characters that every provider accepts: letters, digits, `_`, `-`. The conversation
/// may have begun with a provider that allows more.
pub(super) fn safe_name(name: &str) -> String {
    let mut safe = String::with_capacity(name.len());
    for c in name.chars() {
        match c {
            'a'..='z' | 'A'..='Z' | '0'..='9' | '_' | '-' => safe.push(c),
            _ => safe.push_str(&format!("_{:x}", u32::from(c))),
        }
    }
    if safe.is_empty() { "_".into() } else { safe }
}

/// Whether a text is not blank. Some providers reject messages with blank text.
pub(super) fn has_text(text: &str) -> bool {
    !text.trim().is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_input_that_is_no_object_is_kept_as_text() {
        for written in ["{\"a\":", "[1]", "\"{}\"", "null"] {
            assert_eq!(parse_input(written), Value::String(written.into()));
        }
    }

    #[test]
    fn a_blank_input_is_an_empty_object() {
        assert_eq!(parse_input(" "), json!({}));
    }

    #[test]
    fn an_input_that_is_no_object_is_sent_back_as_an_empty_object() {
        assert_eq!(input_object(&json!("{\"a\":")), json!({}));
        assert_eq!(input_object(&json!({"a": 1})), json!({"a": 1}));
    }

    #[test]
    fn different_names_stay_different_when_made_safe() {
        assert_eq!(safe_name("call_1-2"), "call_1-2");
        assert_eq!([safe_name("a.b"), safe_name("a:b"), safe_name("")], ["a_2eb", "a_3ab", "_"]);
    }
}
