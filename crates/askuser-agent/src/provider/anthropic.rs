//! Anthropic's Messages.
//!
//! Thoughts are kept as they came and go back unchanged: their signatures are checked. A call is told only when the next
//! block or the stop reason shows that the limit of tokens has not cut it.

use super::complaint::Addressee;
use super::sse::Event;
use super::wire::{Flow, Reader, Said, Status, count, echoed, input, is_said, json_of, text, token};
use crate::event::Usage;
use crate::message::{Block, CallResult, Message, ToolCall};
use crate::model::{ModelError, ModelErrorKind, ModelEvent, ModelRequest};
use crate::tool::ToolDefinition;
use serde_json::{Map, Value, json};
use std::collections::HashMap;
use std::sync::Arc;

/// The protocol wants a limit.
pub(super) const DEFAULT_MAX_TOKENS: u32 = 8192;

// ---- the request ----

pub(super) fn body(request: &ModelRequest<'_>, addressee: &Addressee, max_tokens: Option<u32>) -> Value {
    let mut body = json!({
        "model": addressee.model,
        "max_tokens": max_tokens.unwrap_or(DEFAULT_MAX_TOKENS),
        "stream": true,
    });
    if is_said(request.system) {
        // Tools come before it, so this caches them as well.
        body["system"] = json!([{"type": "text", "text": request.system, "cache_control": {"type": "ephemeral"}}]);
    }
    if !request.tools.is_empty() {
        let tool = |tool: &ToolDefinition| {
            let ToolDefinition { name, description, schema } = tool;
            json!({"name": name, "description": description, "input_schema": schema})
        };
        body["tools"] = request.tools.iter().map(tool).collect();
    }
    body["messages"] = messages(request.messages, addressee.provider);
    body
}

fn messages(conversation: &[Message], provider: &str) -> Value {
    let mut messages: Vec<(&str, Vec<Value>)> = Vec::new();
    for message in conversation {
        let (role, content) = match message {
            Message::User { text } if is_said(text) => ("user", vec![json!({"type": "text", "text": text})]),
            Message::User { .. } => continue,
            Message::Results { results } => ("user", results.iter().map(result).collect()),
            Message::Assistant { content } => ("assistant", answer(content, provider)),
        };
        match messages.last_mut() {
            // Roles have to alternate, and results have to come first: they do, since they follow their calls.
            Some((last, earlier)) if *last == role => earlier.extend(content),
            _ if content.is_empty() => {}
            _ => messages.push((role, content)),
        }
    }
    let last = messages.last_mut().and_then(|(_, content)| content.last_mut());
    if let Some(block) = last.filter(|block| matches!(text(block, "type"), Some("text" | "tool_use" | "tool_result"))) {
        block["cache_control"] = json!({"type": "ephemeral"});
    }
    messages.into_iter().map(|(role, content)| json!({"role": role, "content": content})).collect()
}

fn result(result: &CallResult) -> Value {
    let mut block = json!({"type": "tool_result", "tool_use_id": token(&result.id)});
    if is_said(&result.output) {
        block["content"] = json!(result.output);
    }
    if result.is_error {
        block["is_error"] = json!(true);
    }
    block
}

/// What the model said. Thoughts alone are no message, and those of another provider mean nothing here.
fn answer(content: &[Block], provider: &str) -> Vec<Value> {
    let is_something = |block: &Block| match block {
        Block::Text { text } => is_said(text),
        Block::Call(_) => true,
        Block::Opaque { .. } => false,
    };
    if !content.iter().any(is_something) {
        return Vec::new();
    }
    let block = |block: &Block| match block {
        Block::Text { text } => is_said(text).then(|| json!({"type": "text", "text": text})),
        Block::Call(call) => {
            let (id, name, input) = (token(&call.id), token(&call.name), echoed(&call.input));
            Some(json!({"type": "tool_use", "id": id, "name": name, "input": input}))
        }
        Block::Opaque { provider: whose, value } => (whose == provider).then(|| value.clone()),
    };
    content.iter().filter_map(block).collect()
}

// ---- the answer ----

/// An answer as far as it has come.
pub(super) struct Answer {
    addressee: Arc<Addressee>,
    open: HashMap<u64, Open>,
    /// The last call: whole, unless the limit of tokens has cut it.
    last_call: Option<(ToolCall, Written)>,
    usage: Map<String, Value>,
    stopped: Option<String>,
    said: Said,
}

/// A block that is being written.
enum Open {
    Text,
    Call { id: String, name: String, start: Value, json: String },
    Opaque(Value),
}

/// Whether a call is whole by itself: an object says where it ends.
#[derive(PartialEq)]
enum Written {
    Whole,
    MaybeCut,
}

impl Answer {
    pub(super) fn new(addressee: Arc<Addressee>) -> Answer {
        let (open, usage) = (HashMap::new(), Map::new());
        Answer { addressee, open, last_call: None, usage, stopped: None, said: Said::Nothing }
    }

    fn start(&mut self, index: u64, block: &Value, told: &mut Vec<ModelEvent>) -> Result<(), ModelError> {
        // Only the last block can be cut, and the last call was not the last block.
        self.tell_last_call(told);
        let open = match text(block, "type") {
            Some("text") => {
                self.tell_text(text(block, "text"), told);
                Open::Text
            }
            Some("tool_use") => {
                let name = text(block, "name").ok_or_else(|| self.addressee.misunderstood("a call without a name"))?;
                let (id, start) = (text(block, "id").unwrap_or_default(), &block["input"]);
                Open::Call { id: id.into(), name: name.into(), start: start.clone(), json: String::new() }
            }
            _ => Open::Opaque(block.clone()),
        };
        self.open.insert(index, open);
        Ok(())
    }

    fn add(&mut self, index: u64, delta: &Value, told: &mut Vec<ModelEvent>) -> Result<(), ModelError> {
        match (self.open.get_mut(&index), text(delta, "type")) {
            (Some(Open::Text), Some("text_delta")) => self.tell_text(text(delta, "text"), told),
            (Some(Open::Call { json, .. }), Some("input_json_delta")) => {
                json.push_str(text(delta, "partial_json").unwrap_or_default());
            }
            (Some(Open::Opaque(block)), Some("thinking_delta")) => append(block, "thinking", delta),
            (Some(Open::Opaque(block)), Some("signature_delta")) => append(block, "signature", delta),
            // Citations and whatever else may come: the protocol asks that unknown deltas be passed over.
            (Some(_), _) => {}
            (None, _) => return Err(self.addressee.misunderstood("a part of a block that was not begun")),
        }
        Ok(())
    }

    fn stop(&mut self, index: u64, told: &mut Vec<ModelEvent>) {
        match self.open.remove(&index) {
            Some(Open::Call { id, name, start, json }) => {
                // Some servers give the whole input at once.
                let given = start.as_object().is_some_and(|start| !start.is_empty()) && json.is_empty();
                let input = if given { start } else { input(&json) };
                let whole = input.is_object() && (given || !json.is_empty());
                let written = if whole { Written::Whole } else { Written::MaybeCut };
                self.last_call = Some((ToolCall { id, name, input, extra: None }, written));
            }
            Some(Open::Opaque(value)) => {
                told.push(ModelEvent::Opaque(Block::Opaque { provider: self.addressee.provider.into(), value }));
            }
            Some(Open::Text) | None => {}
        }
    }

    fn tell_text(&mut self, text: Option<&str>, told: &mut Vec<ModelEvent>) {
        if let Some(text) = text {
            self.said = Said::Words;
            told.push(ModelEvent::Text(text.to_owned()));
        }
    }

    fn tell_last_call(&mut self, told: &mut Vec<ModelEvent>) {
        if let Some((call, _)) = self.last_call.take() {
            self.said = Said::Call;
            told.push(ModelEvent::Call(call));
        }
    }

    /// Later counts replace earlier ones; a count that is left out stands.
    fn count(&mut self, usage: &Value, told: &mut Vec<ModelEvent>) {
        let Some(usage) = usage.as_object() else { return };
        self.usage.extend(usage.iter().filter(|(_, value)| value.is_u64()).map(|(k, v)| (k.clone(), v.clone())));
        let all = Value::Object(std::mem::take(&mut self.usage));
        let count = |key| count(&all, key).unwrap_or(0);
        let input_tokens =
            count("input_tokens") + count("cache_creation_input_tokens") + count("cache_read_input_tokens");
        told.push(ModelEvent::Usage(Usage { input_tokens, output_tokens: count("output_tokens") }));
        if let Value::Object(all) = all {
            self.usage = all;
        }
    }

    /// The reasons that make a part look like the whole are errors.
    fn check_reason(&self, reason: &str) -> Result<(), ModelError> {
        let cut_call = match &self.last_call {
            Some((call, Written::MaybeCut)) => Some(call.name.as_str()),
            _ => None,
        };
        let in_call = cut_call.map(|name| format!("in the middle of a call of {name}"));
        let said_nothing = self.said == Said::Nothing && self.last_call.is_none();
        match reason {
            "max_tokens" => match in_call {
                Some(in_call) => Err(self.addressee.out_of_tokens(&in_call)),
                None if said_nothing => Err(self.addressee.out_of_tokens("before it said anything")),
                None => Ok(()),
            },
            "model_context_window_exceeded" if in_call.is_some() || said_nothing => {
                let at = in_call.unwrap_or_else(|| "before it said anything".into());
                let why = format!("the context window was full {at}");
                Err(self.addressee.broken_off(ModelErrorKind::ContextTooLong, why))
            }
            "refusal" => Err(self.addressee.broken_off(ModelErrorKind::Rejected, "it declines to answer (refusal)")),
            _ => Ok(()),
        }
    }
}

impl Reader for Answer {
    fn read(&mut self, event: &Event, told: &mut Vec<ModelEvent>) -> Result<Flow, ModelError> {
        let event = json_of(event, &self.addressee)?;
        let index = count(&event, "index").unwrap_or(0);
        match text(&event, "type") {
            Some("message_start") => self.count(&event["message"]["usage"], told),
            Some("content_block_start") => self.start(index, &event["content_block"], told)?,
            Some("content_block_delta") => self.add(index, &event["delta"], told)?,
            Some("content_block_stop") => self.stop(index, told),
            Some("message_delta") => {
                self.count(&event["usage"], told);
                if let Some(reason) = text(&event["delta"], "stop_reason") {
                    self.check_reason(reason)?;
                    self.tell_last_call(told);
                    self.stopped = Some(reason.to_owned());
                }
            }
            Some("message_stop") => return Ok(Flow::Over),
            // `ping`, and what may be added one day.
            _ => {}
        }
        Ok(Flow::More)
    }

    fn end(&mut self, _told: &mut Vec<ModelEvent>) -> Result<Status, ModelError> {
        // A call that is still open is not a call, whatever the stop reason says.
        Ok(match self.stopped.as_deref() {
            None => Status::Unfinished,
            Some(_) if !self.open.is_empty() => Status::Unfinished,
            Some("max_tokens" | "model_context_window_exceeded") if self.said == Said::Words => Status::AtLimit,
            Some(_) => Status::Whole,
        })
    }
}

fn append(block: &mut Value, key: &str, delta: &Value) {
    let more = text(delta, key).unwrap_or_default();
    match &mut block[key] {
        Value::String(text) => text.push_str(more),
        missing => *missing = json!(more),
    }
}
