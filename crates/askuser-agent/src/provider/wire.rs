//! What the protocols have in common: how calls are written down and read back.

use super::complaint::{Addressee, Complaint};
use super::sse::Event;
use crate::model::{ModelError, ModelEvent};
use serde_json::{Map, Value, json};

/// Understands one answer, event by event.
pub(super) trait Reader: Send {
    /// Takes in an event and adds what it says.
    fn read(&mut self, event: &Event, told: &mut Vec<ModelEvent>) -> Result<Flow, ModelError>;

    /// Nothing more comes: adds what was held back, and says whether the provider had finished.
    fn end(&mut self, told: &mut Vec<ModelEvent>) -> Result<Status, ModelError>;
}

/// Whether more is to come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Flow {
    More,
    Over,
}

/// How an answer ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Status {
    Whole,
    /// The provider has finished, but the model was not allowed to finish its words.
    AtLimit,
    /// The provider has not finished.
    Unfinished,
}

/// What was said last. Only that can have been cut by the limit of tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Said {
    Nothing,
    Words,
    Call,
}

/// The JSON of an event. A complaint inside a stream is an error like any other.
pub(super) fn json_of(event: &Event, addressee: &Addressee) -> Result<Value, ModelError> {
    let value: Value = serde_json::from_str(&event.data)
        .map_err(|error| addressee.misunderstood(format_args!("an event is not JSON: {error}")))?;
    match Complaint::in_json(&value) {
        Some(complaint) => Err(addressee.failure(&complaint)),
        None => Ok(value),
    }
}

/// The input of a call from the JSON that the model wrote: an object, or its very words where they are none. The tool
/// then says what is wrong with it, and the model can write it again.
pub(super) fn input(written: &str) -> Value {
    if written.trim().is_empty() {
        return json!({});
    }
    match serde_json::from_str(written) {
        Ok(Value::Object(object)) => Value::Object(object),
        Ok(_) | Err(_) => Value::String(written.to_owned()),
    }
}

/// The input of a call as it goes back to a provider. Providers refuse the whole conversation for an input that is no
/// object, then and ever after, so it goes back empty; the result that follows says what was wrong with it.
pub(super) fn echoed(input: &Value) -> Value {
    if input.is_object() { input.clone() } else { Value::Object(Map::new()) }
}

/// A call's id or tool as every provider accepts it: letters, digits, `_`, `-`. A conversation may have begun with a
/// provider that allows more.
pub(super) fn token(name: &str) -> String {
    let mut token = String::with_capacity(name.len());
    for c in name.chars() {
        match c {
            'a'..='z' | 'A'..='Z' | '0'..='9' | '_' | '-' => token.push(c),
            _ => token.push_str(&format!("_{:x}", u32::from(c))),
        }
    }
    if token.is_empty() { "_".into() } else { token }
}

/// Text that says something. Some providers refuse a message with text that does not.
pub(super) fn is_said(text: &str) -> bool {
    !text.trim().is_empty()
}

/// A number, or nothing.
pub(super) fn count(value: &Value, key: &str) -> Option<u64> {
    value.get(key)?.as_u64()
}

/// A string that says something.
pub(super) fn text<'a>(value: &'a Value, key: &str) -> Option<&'a str> {
    value.get(key)?.as_str().filter(|text| !text.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_input_that_is_no_object_is_kept_word_for_word() {
        for written in ["{\"a\":", "[1]", "\"{}\"", "null"] {
            assert_eq!(input(written), Value::String(written.into()));
        }
    }

    #[test]
    fn an_input_that_was_not_written_is_empty() {
        assert_eq!(input(" "), json!({}));
    }

    #[test]
    fn an_input_that_is_no_object_goes_back_empty() {
        assert_eq!(echoed(&json!("{\"a\":")), json!({}));
        assert_eq!(echoed(&json!({"a": 1})), json!({"a": 1}));
    }

    #[test]
    fn names_that_differ_still_differ_as_tokens() {
        assert_eq!(token("call_1-2"), "call_1-2");
        assert_eq!([token("a.b"), token("a:b"), token("")], ["a_2eb", "a_3ab", "_"]);
    }
}
