//! Encodes and decodes the OpenAI Responses protocol.
//!
//! The provider stores no conversation: each request contains the whole conversation with encrypted reasoning. An item
//! is output when it is complete. The token limit can truncate an item, so such an item is held back until the response
//! shows that it is complete.

use super::json::{array_field, str_field, u64_field};
use super::protocol::{Completion, Output, ResponseReader, has_text, input_object, safe_name};
use super::request_options::{RequestOptions, Requested};
use super::target::Target;
use crate::event::FailureKind;
use crate::message::{Block, CallResult, Message};
use crate::model::{ModelError, ModelRequest};
use crate::tool::ToolDefinition;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::ops::ControlFlow;

// ---- request ----

pub(super) fn body(request: &ModelRequest<'_>, target: &Target, options: RequestOptions) -> Value {
    let mut body = json!({"model": target.model, "stream": options.stream == Requested::Yes, "store": false});
    if has_text(request.system) {
        body["instructions"] = json!(request.system);
    }
    if let Some(max_tokens) = options.max_tokens {
        body["max_output_tokens"] = json!(max_tokens);
    }
    if reasons(&target.model) {
        if options.own_data == Requested::Yes {
            body["include"] = json!(["reasoning.encrypted_content"]);
        }
        if let Some(effort) = options.effort {
            body["reasoning"]["effort"] = json!(effort.as_str());
        }
        if options.thoughts == Requested::Yes {
            body["reasoning"]["summary"] = json!("auto");
        }
    }
    if !request.tools.is_empty() {
        let tool = |tool: &ToolDefinition| {
            let ToolDefinition { name, description, schema } = tool;
            // The default is strict, which rejects schemas with optional fields.
            json!({"type": "function", "name": name, "description": description, "strict": false, "parameters": schema})
        };
        body["tools"] = request.tools.iter().map(tool).collect();
    }
    body["input"] = request.messages.iter().flat_map(|message| items(message, target.provider, options)).collect();
    body
}

/// Whether a model reasons. Models of earlier generations reject the reasoning options.
fn reasons(model: &str) -> bool {
    !["gpt-3", "gpt-4", "chatgpt", "ft:gpt-3", "ft:gpt-4"].iter().any(|old| model.starts_with(old))
        && !model.contains("-chat")
}

fn items(message: &Message, provider: &str, options: RequestOptions) -> Vec<Value> {
    match message {
        Message::User { text } => {
            has_text(text).then(|| json!({"role": "user", "content": text})).into_iter().collect()
        }
        Message::Results { results } => results.iter().map(call_output).collect(),
        Message::Assistant { content } => assistant_items(content, provider, options),
    }
}

fn call_output(result: &CallResult) -> Value {
    json!({"type": "function_call_output", "call_id": safe_name(&result.id), "output": result.output})
}

fn assistant_items(content: &[Block], provider: &str, options: RequestOptions) -> Vec<Value> {
    let item = |(i, block): (usize, &Block)| match block {
        Block::Text { text } => has_text(text).then(|| {
            let mut message = json!({"role": "assistant", "content": text});
            if let Some(Block::Opaque { provider: owner, value }) = content.get(i + 1)
                && owner == provider
                && is_message(value)
            {
                value.get("phase").into_iter().for_each(|phase| message["phase"] = phase.clone());
            }
            message
        }),
        Block::Call(call) => {
            let id = safe_name(&call.id);
            let name = safe_name(&call.name);
            let arguments = input_object(&call.input).to_string();
            Some(json!({"type": "function_call", "call_id": id, "name": name, "arguments": arguments}))
        }
        Block::Opaque { provider: owner, value } if owner == provider && options.own_data == Requested::Yes => {
            reasoning_item(value)
        }
        Block::Opaque { .. } => None,
    };
    let mut items: Vec<Value> = content.iter().enumerate().filter_map(item).collect();
    // The provider rejects reasoning without the item that follows it.
    while items.last().is_some_and(is_reasoning) {
        items.pop();
    }
    items
}

/// Whether an item marks the preceding text as a separate message. Such an item may have a phase.
fn is_message(item: &Value) -> bool {
    str_field(item, "type") == Some("message")
}

fn is_reasoning(item: &Value) -> bool {
    str_field(item, "type") == Some("reasoning")
}

/// Converts a reasoning item for sending it back; `None` for other items. The id is left out, because the provider
/// stores no items.
fn reasoning_item(value: &Value) -> Option<Value> {
    let encrypted = str_field(value, "encrypted_content").filter(|_| is_reasoning(value))?;
    let summary = value.get("summary").filter(|summary| summary.is_array()).cloned().unwrap_or_else(|| json!([]));
    Some(json!({"type": "reasoning", "summary": summary, "encrypted_content": encrypted}))
}

// ---- response ----

#[derive(Default)]
pub(super) struct ResponsesReader {
    /// The indexes of the items that were output.
    complete: BTreeSet<u64>,
    /// The indexes of the messages whose text came in deltas.
    streamed: BTreeSet<u64>,
    /// The end of a message that was not output yet. It is output only if another message follows.
    ended_message: Option<Value>,
    completion: Completion,
}

impl ResponsesReader {
    fn push_text(&mut self, text: &str, output: &mut Output) {
        self.ended_message.take().into_iter().for_each(|value| output.opaque(value));
        output.text(text);
    }

    /// Outputs a complete item. Text that already came in deltas is not repeated.
    fn end_item(&mut self, index: u64, item: &Value, output: &mut Output) -> Result<(), ModelError> {
        if !self.complete.insert(index) {
            return Ok(());
        }
        match str_field(item, "type") {
            Some("function_call") => {
                self.ended_message = None;
                let id = str_field(item, "call_id").or_else(|| str_field(item, "id")).unwrap_or_default();
                let arguments = str_field(item, "arguments").unwrap_or_default();
                let name = output.call_name(str_field(item, "name"))?;
                output.written_call(id.into(), name, arguments, None);
            }
            Some("reasoning") => {
                self.ended_message = None;
                output.opaque(item.clone());
            }
            Some("message") => {
                let texts = array_field(item, "content").filter(|_| !self.streamed.contains(&index));
                let texts = texts.filter_map(|part| str_field(part, "text").or_else(|| str_field(part, "refusal")));
                texts.collect::<Vec<_>>().into_iter().for_each(|text| self.push_text(text, output));
                match item.get("phase").filter(|phase| phase.is_string()) {
                    Some(phase) => output.opaque(json!({"type": "message", "phase": phase})),
                    None => self.ended_message = Some(json!({"type": "message"})),
                }
            }
            // Other items are ignored: those of tools that the request does not offer, and those of later versions.
            _ => {}
        }
        Ok(())
    }

    /// Completes the response from its final event. That event contains all items, including those that had no event.
    fn end_response(&mut self, response: &Value, output: &mut Output) -> Result<ControlFlow<()>, ModelError> {
        output.check(response)?;
        for (index, item) in (0..).zip(array_field(response, "output")) {
            self.end_item(index, item, output)?;
        }
        let usage = &response["usage"];
        if usage.is_object() {
            let count = |key| u64_field(usage, key).unwrap_or(0);
            output.usage(count("input_tokens"), count("output_tokens"));
        }
        self.completion = match str_field(response, "status") {
            Some("completed") => Completion::Complete,
            Some("incomplete") => match str_field(&response["incomplete_details"], "reason") {
                Some("max_output_tokens" | "max_tokens") => Completion::TokenLimit,
                Some("content_filter") => return Err(output.target.filtered()),
                reason => {
                    let why = reason.unwrap_or("it is incomplete");
                    return Err(output.target.aborted(FailureKind::Rejected, why));
                }
            },
            Some("failed" | "cancelled") => return Err(output.target.failed()),
            // The response has not ended yet.
            _ => return Ok(ControlFlow::Continue(())),
        };
        Ok(ControlFlow::Break(()))
    }
}

impl ResponseReader for ResponsesReader {
    fn read(&mut self, event: &Value, output: &mut Output) -> Result<ControlFlow<()>, ModelError> {
        let index = u64_field(event, "output_index").unwrap_or(0);
        match (str_field(event, "type"), str_field(event, "delta")) {
            (Some("response.output_text.delta" | "response.refusal.delta"), Some(text)) => {
                self.streamed.insert(index);
                self.push_text(text, output);
            }
            (Some("response.reasoning_summary_text.delta" | "response.reasoning_text.delta"), Some(text)) => {
                output.thought(text);
            }
            (Some("response.reasoning_summary_part.added"), _) if u64_field(event, "summary_index") > Some(0) => {
                output.thought("\n\n");
            }
            (Some("response.output_item.done"), _) => self.end_item(index, &event["item"], output)?,
            (Some("response.completed" | "response.incomplete" | "response.failed" | "response.done"), _) => {
                return self.end_response(&event["response"], output);
            }
            (Some("error"), _) => output.check(&json!({"error": event}))?,
            // The server did not stream its response.
            (None, _) if str_field(event, "object") == Some("response") => return self.end_response(event, output),
            // Other events are ignored: the start of an item, the progress of a call, and events of later versions.
            _ => {}
        }
        Ok(ControlFlow::Continue(()))
    }

    fn end(&mut self, _output: &mut Output) -> Result<Completion, ModelError> {
        Ok(self.completion)
    }
}
