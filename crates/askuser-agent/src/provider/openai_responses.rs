//! The OpenAI Responses protocol.
//!
//! Nothing is stored at the provider: the whole conversation is sent each time, and reasoning goes back encrypted. Items of
//! a response are passed on as they become complete; only the token limit can leave one incomplete, which is held back
//! until the response says so.

use super::api_error::ApiError;
use super::json::{array_field, str_field, u64_field};
use super::protocol::{
    Completion, Flow, LastOutput, ResponseReader, event_json, has_text, input_object, parse_input, safe_name,
    truncated_call,
};
use super::request_options::{RequestOptions, Requested};
use super::sse::SseEvent;
use super::target::Target;
use crate::event::{FailureKind, Usage};
use crate::message::{Block, CallResult, Message, ToolCall};
use crate::model::{ModelError, ModelEvent, ModelRequest};
use crate::tool::ToolDefinition;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::sync::Arc;

// ---- request ----

pub(super) fn body(request: &ModelRequest<'_>, target: &Target, options: RequestOptions) -> Value {
    let mut body = json!({"model": target.model, "stream": true, "store": false});
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
            // Strict is the default here, and rejects schemas with optional fields.
            json!({"type": "function", "name": name, "description": description, "strict": false, "parameters": schema})
        };
        body["tools"] = request.tools.iter().map(tool).collect();
    }
    body["input"] = request.messages.iter().flat_map(|message| items(message, target.provider, options)).collect();
    body
}

/// Whether a model reasons; those of earlier generations reject the options of reasoning.
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
            let (id, name) = (safe_name(&call.id), safe_name(&call.name));
            let arguments = input_object(&call.input).to_string();
            Some(json!({"type": "function_call", "call_id": id, "name": name, "arguments": arguments}))
        }
        Block::Opaque { provider: owner, value } if owner == provider && options.own_data == Requested::Yes => {
            reasoning_item(value)
        }
        Block::Opaque { .. } => None,
    };
    let mut items: Vec<Value> = content.iter().enumerate().filter_map(item).collect();
    // Reasoning without the item that it led to is rejected.
    while items.last().is_some_and(is_reasoning) {
        items.pop();
    }
    items
}

/// Whether an item says that the text before it was a message of its own, and perhaps its phase.
fn is_message(item: &Value) -> bool {
    str_field(item, "type") == Some("message")
}

fn is_reasoning(item: &Value) -> bool {
    str_field(item, "type") == Some("reasoning")
}

/// A reasoning item as it is sent back: without its id, since nothing is stored under it.
fn reasoning_item(value: &Value) -> Option<Value> {
    let encrypted = str_field(value, "encrypted_content").filter(|_| is_reasoning(value))?;
    let summary = value.get("summary").filter(|summary| summary.is_array()).cloned().unwrap_or_else(|| json!([]));
    Some(json!({"type": "reasoning", "summary": summary, "encrypted_content": encrypted}))
}

// ---- response ----

pub(super) struct ResponsesReader {
    target: Arc<Target>,
    /// The output items that have been passed on, by their index.
    complete: BTreeSet<u64>,
    /// The messages whose text came in deltas.
    streamed: BTreeSet<u64>,
    /// The end of a message, if it has not been passed on: it matters if another message follows.
    ended_message: Option<Value>,
    /// The last call, if its arguments are not complete.
    incomplete_call: Option<ToolCall>,
    completion: Completion,
    last_output: LastOutput,
}

impl ResponsesReader {
    pub(super) fn new(target: Arc<Target>) -> ResponsesReader {
        ResponsesReader {
            target,
            complete: BTreeSet::new(),
            streamed: BTreeSet::new(),
            ended_message: None,
            incomplete_call: None,
            completion: Completion::Unfinished,
            last_output: LastOutput::None,
        }
    }

    fn push_text(&mut self, text: &str, output: &mut Vec<ModelEvent>) {
        self.last_output = LastOutput::Text;
        let ended = self.ended_message.take();
        output.extend(ended.map(|value| self.opaque(value)));
        output.push(ModelEvent::Text(text.to_owned()));
    }

    fn opaque(&self, value: Value) -> ModelEvent {
        ModelEvent::Opaque(Block::Opaque { provider: self.target.provider.into(), value })
    }

    /// Passes on an item that gets no more deltas.
    fn end_item(&mut self, index: u64, item: &Value, output: &mut Vec<ModelEvent>) -> Result<(), ModelError> {
        if !self.complete.insert(index) {
            return Ok(());
        }
        match str_field(item, "type") {
            Some("function_call") => {
                self.ended_message = None;
                self.push_incomplete_call(output);
                self.end_call(item, output)?;
            }
            Some("reasoning") => {
                self.ended_message = None;
                output.push(self.opaque(item.clone()));
            }
            Some("message") => {
                let texts = array_field(item, "content").filter(|_| !self.streamed.contains(&index));
                let texts = texts.filter_map(|part| str_field(part, "text").or_else(|| str_field(part, "refusal")));
                texts.collect::<Vec<_>>().into_iter().for_each(|text| self.push_text(text, output));
                match item.get("phase").filter(|phase| phase.is_string()) {
                    Some(phase) => output.push(self.opaque(json!({"type": "message", "phase": phase}))),
                    None => self.ended_message = Some(json!({"type": "message"})),
                }
            }
            // Items of tools that are not asked for, and future ones.
            _ => {}
        }
        Ok(())
    }

    fn end_call(&mut self, item: &Value, output: &mut Vec<ModelEvent>) -> Result<(), ModelError> {
        let name = str_field(item, "name").ok_or_else(|| self.target.protocol_error("a tool call without a name"))?;
        let arguments = str_field(item, "arguments").unwrap_or_default();
        let id = str_field(item, "call_id").or_else(|| str_field(item, "id")).unwrap_or_default();
        let call = ToolCall { id: id.into(), name: name.into(), input: parse_input(arguments), extra: None };
        // A JSON object shows its own end.
        if call.input.is_object() && !arguments.trim().is_empty() {
            self.last_output = LastOutput::Call;
            output.push(ModelEvent::Call(call));
        } else {
            self.incomplete_call = Some(call);
        }
        Ok(())
    }

    /// The token limit has not truncated the call: something follows it, or the response is complete.
    fn push_incomplete_call(&mut self, output: &mut Vec<ModelEvent>) {
        if let Some(call) = self.incomplete_call.take() {
            self.last_output = LastOutput::Call;
            output.push(ModelEvent::Call(call));
        }
    }

    /// The response as a whole, at its end: what did not come in events is taken from it.
    fn end_response(&mut self, response: &Value, output: &mut Vec<ModelEvent>) -> Result<Flow, ModelError> {
        if let Some(api_error) = ApiError::from_json(response) {
            return Err(self.target.model_error(&api_error));
        }
        for (index, item) in (0..).zip(array_field(response, "output")) {
            self.end_item(index, item, output)?;
        }
        let usage = &response["usage"];
        if usage.is_object() {
            let count = |key| u64_field(usage, key).unwrap_or(0);
            let (input_tokens, output_tokens) = (count("input_tokens"), count("output_tokens"));
            output.push(ModelEvent::Usage(Usage { input_tokens, output_tokens }));
        }
        match str_field(response, "status") {
            Some("completed") => {
                self.push_incomplete_call(output);
                self.completion = Completion::Complete;
            }
            Some("incomplete") => self.end_incomplete(response, output)?,
            Some("failed" | "cancelled") => {
                return Err(self.target.aborted(FailureKind::Overloaded, "it failed without a reason"));
            }
            // It is not at its end.
            _ => return Ok(Flow::Continue),
        }
        Ok(Flow::Done)
    }

    fn end_incomplete(&mut self, response: &Value, output: &mut Vec<ModelEvent>) -> Result<(), ModelError> {
        match str_field(&response["incomplete_details"], "reason") {
            Some("max_output_tokens" | "max_tokens") => {
                if let Some(call) = self.incomplete_call.take() {
                    let written = call.input.as_str().unwrap_or_default().to_owned();
                    output.push(truncated_call(call.id, call.name, written));
                    self.last_output = LastOutput::Call;
                }
                self.completion = match self.last_output {
                    LastOutput::None => return Err(self.target.token_limit_reached()),
                    LastOutput::Text => Completion::TokenLimit,
                    LastOutput::Call => Completion::Complete,
                };
                Ok(())
            }
            Some("content_filter") => {
                let why = "stopped by the content filter (content_filter)";
                Err(self.target.aborted(FailureKind::Rejected, why))
            }
            reason => Err(self.target.aborted(FailureKind::Rejected, reason.unwrap_or("it is incomplete"))),
        }
    }
}

impl ResponseReader for ResponsesReader {
    fn read(&mut self, event: &SseEvent, output: &mut Vec<ModelEvent>) -> Result<Flow, ModelError> {
        let event = event_json(event, &self.target)?;
        let index = u64_field(&event, "output_index").unwrap_or(0);
        let delta = str_field(&event, "delta");
        match (str_field(&event, "type"), delta) {
            (Some("response.output_text.delta" | "response.refusal.delta"), Some(text)) => {
                self.push_incomplete_call(output);
                self.streamed.insert(index);
                self.push_text(text, output);
            }
            (Some("response.reasoning_summary_text.delta" | "response.reasoning_text.delta"), Some(text)) => {
                output.push(ModelEvent::Thought(text.to_owned()));
            }
            (Some("response.reasoning_summary_part.added"), _) if u64_field(&event, "summary_index") > Some(0) => {
                output.push(ModelEvent::Thought("\n\n".into()));
            }
            (Some("response.output_item.done"), _) => self.end_item(index, &event["item"], output)?,
            (Some("response.completed" | "response.incomplete" | "response.failed" | "response.done"), _) => {
                return self.end_response(&event["response"], output);
            }
            (Some("error"), _) => {
                let api_error = ApiError::from_json(&json!({"error": event})).unwrap_or_default();
                return Err(self.target.model_error(&api_error));
            }
            // A response that did not stream.
            (None, _) if str_field(&event, "object") == Some("response") => return self.end_response(&event, output),
            // The beginning of items, the progress of calls, and future events.
            _ => {}
        }
        Ok(Flow::Continue)
    }

    fn end(&mut self, _output: &mut Vec<ModelEvent>) -> Result<Completion, ModelError> {
        Ok(self.completion)
    }
}
