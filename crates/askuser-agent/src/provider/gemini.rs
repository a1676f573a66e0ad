//! Gemini's generateContent, streamed.
//!
//! Signatures of thoughts go back where they stood: those of calls with the call, others as a part of their own. Calls
//! come whole, and often without an id.

use super::complaint::{Addressee, Complaint};
use super::schema;
use super::sse::Event;
use super::wire::{Flow, Reader, Said, Status, count, echoed, is_said, json_of, text, token};
use crate::event::Usage;
use crate::message::{Block, CallResult, Message, ToolCall};
use crate::model::{ModelError, ModelErrorKind, ModelEvent, ModelRequest};
use crate::tool::ToolDefinition;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::sync::Arc;

/// What Gemini takes instead of a signature for a call that it did not make. Its documentation names it.
const UNSIGNED: &str = "skip_thought_signature_validator";

// ---- the request ----

pub(super) fn body(request: &ModelRequest<'_>, addressee: &Addressee, max_tokens: Option<u32>) -> Value {
    let mut body = json!({"contents": contents(request.messages, addressee)});
    if is_said(request.system) {
        body["systemInstruction"] = json!({"parts": [{"text": request.system}]});
    }
    if !request.tools.is_empty() {
        let declarations: Vec<Value> = request.tools.iter().map(declaration).collect();
        body["tools"] = json!([{"functionDeclarations": declarations}]);
    }
    if let Some(most) = max_tokens {
        body["generationConfig"] = json!({"maxOutputTokens": most});
    }
    body
}

fn declaration(tool: &ToolDefinition) -> Value {
    let mut declaration = json!({"name": tool.name, "description": tool.description});
    // An object without properties is refused; a function without parameters is not.
    let parameters = schema::reduce(&tool.schema);
    if parameters["properties"].as_object().is_some_and(|properties| !properties.is_empty()) {
        declaration["parameters"] = parameters;
    }
    declaration
}

fn contents(conversation: &[Message], addressee: &Addressee) -> Value {
    // Gemini's own ids, by ours.
    let mut ids: HashMap<&str, &str> = HashMap::new();
    let mut contents = Vec::new();
    for message in conversation {
        let (role, parts) = match message {
            Message::User { text } => ("user", vec![json!({"text": text})]),
            Message::Results { results } => {
                let part = |result| response(result, ids.get(&*result.id).copied());
                ("user", results.iter().map(part).collect())
            }
            Message::Assistant { content } => {
                let own_id = |call| Some((call, text(own(call, addressee)?, "id")?));
                ids.extend(message.calls().filter_map(own_id).map(|(call, id)| (call.id.as_str(), id)));
                ("model", answer(content, addressee))
            }
        };
        let says_something = |part: &Value| match part.get("text") {
            Some(text) => text.as_str().is_some_and(is_said),
            None => true,
        };
        if parts.iter().any(says_something) {
            contents.push(json!({"role": role, "parts": parts}));
        }
    }
    contents.into()
}

/// What Gemini itself knows about a call.
fn own<'a>(call: &'a ToolCall, addressee: &Addressee) -> Option<&'a Value> {
    call.extra.as_ref()?.get(addressee.provider)
}

fn answer(content: &[Block], addressee: &Addressee) -> Vec<Value> {
    let mut wants_signature = wants_signatures(&addressee.model);
    let part = |block: &Block| match block {
        Block::Text { text } => is_said(text).then(|| json!({"text": text})),
        Block::Opaque { provider, value } => {
            let signature = text(value, "thoughtSignature").filter(|_| provider == addressee.provider)?;
            Some(json!({"text": "", "thoughtSignature": signature}))
        }
        Block::Call(call) => {
            let mut part = json!({"functionCall": {"name": token(&call.name), "args": echoed(&call.input)}});
            let own = own(call, addressee).unwrap_or(&Value::Null);
            if let Some(id) = text(own, "id") {
                part["functionCall"]["id"] = json!(id);
            }
            // Only the first call of several is signed.
            let stand_in = std::mem::take(&mut wants_signature).then_some(UNSIGNED);
            if let Some(signature) = text(own, "thoughtSignature").or(stand_in) {
                part["thoughtSignature"] = json!(signature);
            }
            Some(part)
        }
    };
    content.iter().filter_map(part).collect()
}

/// Models before the third generation neither sign calls always nor want them signed.
fn wants_signatures(model: &str) -> bool {
    let name = model.rsplit('/').next().unwrap_or(model);
    !["gemini-1", "gemini-2", "gemma"].iter().any(|old| name.starts_with(old))
}

fn response(result: &CallResult, id: Option<&str>) -> Value {
    let key = if result.is_error { "error" } else { "output" };
    let mut response = json!({"name": token(&result.name), "response": {key: result.output}});
    if let Some(id) = id {
        response["id"] = json!(id);
    }
    json!({"functionResponse": response})
}

// ---- the answer ----

/// An answer as far as it has come.
pub(super) struct Answer {
    addressee: Arc<Addressee>,
    calls: usize,
    finished: Option<String>,
    said: Said,
}

impl Answer {
    pub(super) fn new(addressee: Arc<Addressee>) -> Answer {
        Answer { addressee, calls: 0, finished: None, said: Said::Nothing }
    }

    fn tell(&mut self, part: &Value, told: &mut Vec<ModelEvent>) -> Result<(), ModelError> {
        let provider = self.addressee.provider;
        let signature = text(part, "thoughtSignature");
        if let Some(call) = part.get("functionCall") {
            let name = text(call, "name").ok_or_else(|| self.addressee.misunderstood("a call without a name"))?;
            self.calls += 1;
            self.said = Said::Call;
            let id = text(call, "id");
            let mut own = json!({});
            if let Some(id) = id {
                own["id"] = json!(id);
            }
            if let Some(signature) = signature {
                own["thoughtSignature"] = json!(signature);
            }
            let has_own = own.as_object().is_some_and(|own| !own.is_empty());
            let input = match &call["args"] {
                Value::Null => json!({}),
                args @ Value::Object(_) => args.clone(),
                other => Value::String(other.to_string()),
            };
            let id = id.map_or_else(|| format!("call_{}", self.calls), str::to_owned);
            let extra = has_own.then(|| json!({provider: own}));
            told.push(ModelEvent::Call(ToolCall { id, name: name.to_owned(), input, extra }));
            return Ok(());
        }
        // A summary of thoughts is nothing the model says.
        if part["thought"] != true
            && let Some(words) = text(part, "text")
        {
            self.said = Said::Words;
            told.push(ModelEvent::Text(words.to_owned()));
        }
        if let Some(signature) = signature {
            let value = json!({"thoughtSignature": signature});
            told.push(ModelEvent::Opaque(Block::Opaque { provider: provider.into(), value }));
        }
        Ok(())
    }

    fn check_reason(&self, reason: &str, candidate: &Value) -> Result<(), ModelError> {
        let why = match text(candidate, "finishMessage") {
            Some(message) => format!("{reason}: {message}"),
            None => reason.to_owned(),
        };
        match reason {
            "STOP" | "FINISH_REASON_UNSPECIFIED" => Ok(()),
            "MAX_TOKENS" if self.said != Said::Nothing => Ok(()),
            "MAX_TOKENS" => Err(self.addressee.out_of_tokens("before it said anything")),
            "MALFORMED_FUNCTION_CALL"
            | "UNEXPECTED_TOOL_CALL"
            | "MALFORMED_RESPONSE"
            | "TOO_MANY_TOOL_CALLS"
            | "MISSING_THOUGHT_SIGNATURE" => Err(self.addressee.broken_off(ModelErrorKind::Protocol, why)),
            // SAFETY, RECITATION, PROHIBITED_CONTENT, and what may be added one day: it did not stop because it was done.
            _ => Err(self.addressee.broken_off(ModelErrorKind::Rejected, why)),
        }
    }
}

impl Reader for Answer {
    fn read(&mut self, event: &Event, told: &mut Vec<ModelEvent>) -> Result<Flow, ModelError> {
        let event = json_of(event, &self.addressee)?;
        if let Some(reason) = text(&event["promptFeedback"], "blockReason") {
            let message = format!("the prompt was blocked ({reason})");
            return Err(self.addressee.failure(&Complaint { message, ..Complaint::default() }));
        }
        let usage = &event["usageMetadata"];
        if usage.is_object() {
            let count = |key| count(usage, key).unwrap_or(0);
            let input_tokens = count("promptTokenCount") + count("toolUsePromptTokenCount");
            let output_tokens = count("candidatesTokenCount") + count("thoughtsTokenCount");
            told.push(ModelEvent::Usage(Usage { input_tokens, output_tokens }));
        }
        let candidate = &event["candidates"][0];
        for part in candidate["content"]["parts"].as_array().into_iter().flatten() {
            self.tell(part, told)?;
        }
        if let Some(reason) = text(candidate, "finishReason") {
            self.check_reason(reason, candidate)?;
            self.finished = Some(reason.to_owned());
        }
        Ok(Flow::More)
    }

    fn end(&mut self, _told: &mut Vec<ModelEvent>) -> Result<Status, ModelError> {
        Ok(match self.finished.as_deref() {
            None => Status::Unfinished,
            Some("MAX_TOKENS") if self.said == Said::Words => Status::AtLimit,
            Some(_) => Status::Whole,
        })
    }
}
