//! Encodes and decodes the Anthropic Messages protocol.
//!
//! Thinking blocks are sent back unchanged, because the server verifies their signatures. A tool call is held back
//! until it is known to be complete. The next block or the stop reason shows that the token limit has not truncated it.

use super::anthropic_models::{self, Thinking};
use super::json::{array_field, str_field, u64_field};
use super::protocol::{Completion, LastOutput, Output, ResponseReader, has_text, input_object, safe_name};
use super::request_options::{Effort, RequestOptions, Requested};
use super::target::Target;
use crate::event::FailureKind;
use crate::message::{Block, CallResult, Message, ToolCall};
use crate::model::{ModelError, ModelRequest};
use crate::tool::ToolDefinition;
use serde_json::{Map, Value, json};
use std::collections::HashMap;
use std::ops::ControlFlow;

// ---- request ----

pub(super) fn body(request: &ModelRequest<'_>, target: &Target, options: RequestOptions) -> Value {
    let facts = anthropic_models::facts(&target.model);
    let max_tokens = options.max_tokens.unwrap_or(facts.max_tokens);
    let mut body = json!({"model": target.model, "max_tokens": max_tokens, "stream": true});
    if let Some(effort) = options.effort {
        match facts.thinking {
            Thinking::None => {}
            Thinking::Budget => {
                if let Some(budget) = budget(effort, max_tokens).filter(|_| may_think(request, target, options)) {
                    body["thinking"] = json!({"type": "enabled", "budget_tokens": budget});
                }
            }
            Thinking::Adaptive => {
                body["output_config"] = json!({"effort": effort.as_str()});
                body["thinking"] = json!({"type": "adaptive"});
                if options.thoughts == Requested::Yes {
                    // Without this option, current models leave out the text of their thinking.
                    body["thinking"]["display"] = json!("summarized");
                }
            }
        }
    }
    if has_text(request.system) {
        // The cached part includes the tools, because they precede the system prompt.
        body["system"] = json!([{"type": "text", "text": request.system, "cache_control": {"type": "ephemeral"}}]);
    }
    if !request.tools.is_empty() {
        let tool = |tool: &ToolDefinition| {
            let ToolDefinition { name, description, schema } = tool;
            json!({"name": name, "description": description, "input_schema": schema})
        };
        body["tools"] = request.tools.iter().map(tool).collect();
    }
    body["messages"] = messages(request.messages, target, options);
    body
}

/// Returns the thinking budget within the token limit; `None` if the limit is too low.
fn budget(effort: Effort, max_tokens: u32) -> Option<u32> {
    let budget: u32 = match effort {
        Effort::Low => 4_000,
        Effort::Medium => 12_000,
        Effort::High | Effort::XHigh | Effort::Max => 32_000,
    };
    Some(budget.min(max_tokens / 2)).filter(|budget| *budget >= MIN_BUDGET)
}

const MIN_BUDGET: u32 = 1024;

/// Whether a model with a thinking budget may think now. Such a model must not think when it continues after calls that
/// it made without thinking.
fn may_think(request: &ModelRequest<'_>, target: &Target, options: RequestOptions) -> bool {
    match request.messages {
        [.., Message::Assistant { content }, Message::Results { .. }] => {
            let first = assistant_content(content, target, options).into_iter().next();
            first.is_some_and(|block| matches!(str_field(&block, "type"), Some("thinking" | "redacted_thinking")))
        }
        _ => true,
    }
}

fn messages(conversation: &[Message], target: &Target, options: RequestOptions) -> Value {
    let mut messages: Vec<(&str, Vec<Value>)> = Vec::new();
    for message in conversation {
        let (role, content) = match message {
            Message::User { text } if has_text(text) => ("user", vec![json!({"type": "text", "text": text})]),
            Message::User { .. } => continue,
            Message::Results { results } => ("user", results.iter().map(result).collect()),
            Message::Assistant { content } => ("assistant", assistant_content(content, target, options)),
        };
        match messages.last_mut() {
            // The protocol requires alternating roles, and results first. Results are first because they directly
            // follow their calls.
            Some((last, earlier)) if *last == role => earlier.extend(content),
            _ if content.is_empty() => {}
            _ => messages.push((role, content)),
        }
    }
    let last = messages.last_mut().and_then(|(_, content)| content.last_mut());
    if let Some(block) =
        last.filter(|block| matches!(str_field(block, "type"), Some("text" | "tool_use" | "tool_result")))
    {
        block["cache_control"] = json!({"type": "ephemeral"});
    }
    messages.into_iter().map(|(role, content)| json!({"role": role, "content": content})).collect()
}

fn result(result: &CallResult) -> Value {
    let mut block = json!({"type": "tool_result", "tool_use_id": safe_name(&result.id)});
    if has_text(&result.output) {
        block["content"] = json!(result.output);
    }
    if result.is_error {
        block["is_error"] = json!(true);
    }
    block
}

/// Returns the content blocks of an assistant message. Opaque blocks of other providers are left out. A message without
/// text or calls has no blocks.
fn assistant_content(content: &[Block], target: &Target, options: RequestOptions) -> Vec<Value> {
    let is_visible = |block: &Block| match block {
        Block::Text { text } => has_text(text),
        Block::Call(_) => true,
        Block::Opaque { .. } => false,
    };
    if !content.iter().any(is_visible) {
        return Vec::new();
    }
    let block = |block: &Block| match block {
        Block::Text { text } => has_text(text).then(|| json!({"type": "text", "text": text})),
        Block::Call(call) => {
            let id = safe_name(&call.id);
            let name = safe_name(&call.name);
            let input = input_object(&call.input);
            Some(json!({"type": "tool_use", "id": id, "name": name, "input": input}))
        }
        Block::Opaque { provider, value } => {
            let is_own = provider == target.provider && options.own_data == Requested::Yes;
            is_own.then(|| value.clone())
        }
    };
    content.iter().filter_map(block).collect()
}

// ---- response ----

#[derive(Default)]
pub(super) struct AnthropicReader {
    open_blocks: HashMap<u64, OpenBlock>,
    usage: Map<String, Value>,
    stop_reason: Option<String>,
}

/// A content block that the server has not finished. `open_blocks` finds it by its index.
enum OpenBlock {
    Text,
    Call { id: String, name: String, initial_input: Value, json: String },
    Opaque(Value),
}

impl AnthropicReader {
    fn start_block(&mut self, index: u64, block: &Value, output: &mut Output) -> Result<(), ModelError> {
        // The token limit can truncate only the last block, so the previous call is complete.
        output.confirm_call();
        let open_block = match str_field(block, "type") {
            Some("text") => {
                output.text(str_field(block, "text").unwrap_or_default());
                OpenBlock::Text
            }
            Some("tool_use") => {
                let (name, id) =
                    (output.call_name(str_field(block, "name"))?, str_field(block, "id").unwrap_or_default().into());
                OpenBlock::Call { id, name, initial_input: block["input"].clone(), json: String::new() }
            }
            _ => OpenBlock::Opaque(block.clone()),
        };
        self.open_blocks.insert(index, open_block);
        Ok(())
    }

    fn add_delta(&mut self, index: u64, delta: &Value, output: &mut Output) -> Result<(), ModelError> {
        match (self.open_blocks.get_mut(&index), str_field(delta, "type")) {
            (Some(OpenBlock::Text), Some("text_delta")) => output.text(str_field(delta, "text").unwrap_or_default()),
            (Some(OpenBlock::Call { json, .. }), Some("input_json_delta")) => {
                json.push_str(str_field(delta, "partial_json").unwrap_or_default());
            }
            (Some(OpenBlock::Opaque(block)), Some("thinking_delta")) => {
                append(block, "thinking", delta);
                str_field(delta, "thinking").into_iter().for_each(|text| output.thought(text));
            }
            (Some(OpenBlock::Opaque(block)), Some("signature_delta")) => append(block, "signature", delta),
            // The protocol asks clients to ignore other deltas, such as citations.
            (Some(_), _) => {}
            (None, _) => return Err(output.target.protocol_error("a delta of a block that was not started")),
        }
        Ok(())
    }

    fn stop_block(&mut self, index: u64, output: &mut Output) {
        match self.open_blocks.remove(&index) {
            // Some servers send the whole input at the start of the block.
            Some(OpenBlock::Call { id, name, initial_input: input @ Value::Object(_), json })
                if json.is_empty() && input != json!({}) =>
            {
                output.call(ToolCall { id, name, input, extra: None });
            }
            Some(OpenBlock::Call { id, name, json, .. }) => output.written_call(id, name, &json, None),
            Some(OpenBlock::Opaque(value)) => output.opaque(value),
            Some(OpenBlock::Text) | None => {}
        }
    }

    /// Replaces the token counts that a usage report contains. Other counts stay unchanged.
    fn add_usage(&mut self, usage: &Value, output: &mut Output) {
        let Some(usage) = usage.as_object() else { return };
        self.usage.extend(usage.iter().filter(|(_, value)| value.is_u64()).map(|(k, v)| (k.clone(), v.clone())));
        let count = |key| self.usage.get(key).and_then(Value::as_u64).unwrap_or(0);
        let input = count("input_tokens") + count("cache_creation_input_tokens") + count("cache_read_input_tokens");
        output.usage(input, count("output_tokens"));
    }

    /// Records a stop reason, which completes the response.
    ///
    /// # Errors
    /// If the model refused, or if the context window was full before the output was complete.
    fn stop(&mut self, reason: Option<&str>, output: &mut Output) -> Result<(), ModelError> {
        let Some(reason) = reason else { return Ok(()) };
        let when = match &output.unconfirmed_call {
            Some(call) => Some(format!("inside a call of {}", call.name)),
            None => (output.last == LastOutput::None).then(|| "before any output".into()),
        };
        match (reason, when) {
            ("model_context_window_exceeded", Some(when)) => {
                let why = format!("the context window was full {when}");
                return Err(output.target.aborted(FailureKind::ContextTooLong, why));
            }
            ("refusal", _) => {
                let why = "the model refused to respond (refusal)";
                return Err(output.target.aborted(FailureKind::Rejected, why));
            }
            _ => {}
        }
        self.stop_reason = Some(reason.to_owned());
        Ok(())
    }
}

impl ResponseReader for AnthropicReader {
    fn read(&mut self, event: &Value, output: &mut Output) -> Result<ControlFlow<()>, ModelError> {
        let index = u64_field(event, "index").unwrap_or(0);
        match str_field(event, "type") {
            Some("message_start") => self.add_usage(&event["message"]["usage"], output),
            Some("content_block_start") => self.start_block(index, &event["content_block"], output)?,
            Some("content_block_delta") => self.add_delta(index, &event["delta"], output)?,
            Some("content_block_stop") => self.stop_block(index, output),
            Some("message_delta") => {
                self.add_usage(&event["usage"], output);
                self.stop(str_field(&event["delta"], "stop_reason"), output)?;
            }
            // The server did not stream its response.
            Some("message") => {
                for (index, block) in (0..).zip(array_field(event, "content")) {
                    str_field(block, "thinking").into_iter().for_each(|text| output.thought(text));
                    self.start_block(index, block, output)?;
                    self.stop_block(index, output);
                }
                self.add_usage(&event["usage"], output);
                self.stop(str_field(event, "stop_reason"), output)?;
                return Ok(ControlFlow::Break(()));
            }
            Some("message_stop") => return Ok(ControlFlow::Break(())),
            // Other events are ignored, such as `ping` and events of later versions.
            _ => {}
        }
        Ok(ControlFlow::Continue(()))
    }

    fn end(&mut self, _output: &mut Output) -> Result<Completion, ModelError> {
        // An open block means that the response is incomplete, in spite of a stop reason.
        Ok(match self.stop_reason.as_deref() {
            None => Completion::Unfinished,
            Some(_) if !self.open_blocks.is_empty() => Completion::Unfinished,
            Some("max_tokens" | "model_context_window_exceeded") => Completion::TokenLimit,
            Some(_) => Completion::Complete,
        })
    }
}

fn append(block: &mut Value, key: &str, delta: &Value) {
    let more = str_field(delta, key).unwrap_or_default();
    match &mut block[key] {
        Value::String(text) => text.push_str(more),
        missing => *missing = json!(more),
    }
}
