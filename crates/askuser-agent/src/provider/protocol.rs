//! The common part of the protocols: reading a response event by event, and converting tool calls.

use super::api_error::ApiError;
use super::target::Target;
use crate::event::Usage;
use crate::message::{Block, ToolCall};
use crate::model::{ModelError, ModelEvent};
use serde_json::{Map, Value, json};
use std::collections::VecDeque;
use std::ops::ControlFlow;
use std::sync::Arc;

pub(super) trait ResponseReader: Send {
    /// Reads an event. Breaks if the event ends the response.
    fn read(&mut self, event: &Value, output: &mut Output) -> Result<ControlFlow<()>, ModelError>;

    /// Handles the stream's own statement that it ends here.
    fn done(&mut self) {}

    /// Ends the stream. Outputs the held-back parts and returns whether the response is complete.
    fn end(&mut self, output: &mut Output) -> Result<Completion, ModelError>;
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Completion {
    Complete,
    /// The token limit truncated the last output.
    TokenLimit,
    /// The provider did not state that the response is complete.
    #[default]
    Unfinished,
}

/// The output of a response while it is read.
pub(super) struct Output {
    pub(super) target: Arc<Target>,
    /// The output that the caller has not taken yet.
    pub(super) events: VecDeque<ModelEvent>,
    /// The kind of the last output, which is the only one that the token limit may have truncated.
    pub(super) last: LastOutput,
    /// The last call while it may still be incomplete; `None` if there is no such call.
    pub(super) unconfirmed_call: Option<ToolCall>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LastOutput {
    None,
    Text,
    Call,
}

impl Output {
    pub(super) fn new(target: Arc<Target>) -> Output {
        Output { target, events: VecDeque::new(), last: LastOutput::None, unconfirmed_call: None }
    }

    pub(super) fn text(&mut self, text: &str) {
        if !text.is_empty() {
            self.confirm_call();
            self.last = LastOutput::Text;
            self.events.push_back(ModelEvent::Text(text.to_owned()));
        }
    }

    pub(super) fn thought(&mut self, text: &str) {
        self.events.push_back(ModelEvent::Thought(text.to_owned()));
    }

    /// Outputs data that only this provider understands.
    pub(super) fn opaque(&mut self, value: Value) {
        self.confirm_call();
        let provider = self.target.provider.into();
        self.events.push_back(ModelEvent::Opaque(Block::Opaque { provider, value }));
    }

    pub(super) fn usage(&mut self, input_tokens: u64, output_tokens: u64) {
        self.events.push_back(ModelEvent::Usage(Usage { input_tokens, output_tokens }));
    }

    /// Outputs a call that is known to be complete.
    pub(super) fn call(&mut self, call: ToolCall) {
        self.confirm_call();
        self.last = LastOutput::Call;
        self.events.push_back(ModelEvent::Call(call));
    }

    /// Outputs a call with its raw input. A JSON object is complete. Other input is held back until a later event
    /// confirms it.
    pub(super) fn written_call(&mut self, id: String, name: String, written: &str, extra: Option<Value>) {
        let call = ToolCall { id, name, input: parse_input(written), extra };
        if call.input.is_object() && has_text(written) {
            self.call(call);
        } else {
            self.confirm_call();
            self.unconfirmed_call = Some(call);
        }
    }

    /// Outputs the last call as complete, because output follows it or the response is complete.
    pub(super) fn confirm_call(&mut self) {
        if let Some(call) = self.unconfirmed_call.take() {
            self.call(call);
        }
    }

    /// Ends the response with this completion.
    ///
    /// # Errors
    /// Returns `unfinished` if the provider did not complete the response. Fails also if the token limit left no
    /// output.
    pub(super) fn end(&mut self, completion: Completion, unfinished: ModelError) -> Result<(), ModelError> {
        match (completion, self.unconfirmed_call.take(), self.last) {
            (Completion::Unfinished, ..) => return Err(unfinished),
            (Completion::Complete, None, _) | (Completion::TokenLimit, None, LastOutput::Call) => {}
            (Completion::Complete, Some(call), _) => self.call(call),
            (Completion::TokenLimit, Some(call), _) => {
                // The incomplete input stays text, even if it happens to be valid JSON.
                let input = Value::String(call.input.as_str().unwrap_or_default().to_owned());
                self.events.push_back(ModelEvent::TruncatedCall(ToolCall { input, ..call }));
            }
            (Completion::TokenLimit, None, LastOutput::Text) => self.events.push_back(ModelEvent::Truncated),
            (Completion::TokenLimit, None, LastOutput::None) => return Err(self.target.token_limit_reached()),
        }
        Ok(())
    }

    pub(super) fn call_name(&self, name: Option<&str>) -> Result<String, ModelError> {
        let name = name.filter(|name| !name.is_empty()).map(str::to_owned);
        name.ok_or_else(|| self.target.protocol_error("a tool call without a name"))
    }

    /// Converts an error object in a response into a model error.
    pub(super) fn check(&self, value: &Value) -> Result<(), ModelError> {
        ApiError::from_json(value).map_or(Ok(()), |api_error| Err(self.target.model_error(&api_error)))
    }
}

/// Parses the input of a tool call from the model's JSON text. Text that is not an object stays text. The tool rejects
/// it, so that the model can correct itself.
pub(super) fn parse_input(json: &str) -> Value {
    if json.trim().is_empty() {
        return json!({});
    }
    match serde_json::from_str(json) {
        Ok(Value::Object(object)) => Value::Object(object),
        Ok(_) | Err(_) => Value::String(json.to_owned()),
    }
}

/// Returns the input of an earlier call for sending it back. An input that is not an object becomes `{}`, because
/// providers reject it. The tool result states the error.
pub(super) fn input_object(input: &Value) -> Value {
    if input.is_object() { input.clone() } else { Value::Object(Map::new()) }
}

/// Encodes a call id or a tool name in characters that every provider accepts: letters, digits, `_` and `-`. The
/// conversation may come from a provider that allows other characters.
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
