//! Encodes and decodes the OpenAI chat completions protocol. OpenAI, OpenRouter, Ollama, llama.cpp and vLLM use it.
//!
//! Servers differ most in how they stream tool calls. So a call is assembled from the parts that arrive, and calls are
//! held back until the response is complete. The reader ignores the finish reason if the response has calls. A response
//! without streaming has the same form, with `message` instead of `delta`. It is read as one event.

use super::json::{array_field, str_field, u64_field};
use super::protocol::{Completion, LastOutput, Output, ResponseReader, has_text, input_object, parse_input, safe_name};
use super::request_options::{RequestOptions, Requested};
use super::target::Target;
use crate::message::{Block, CallResult, Message, ToolCall};
use crate::model::{ModelError, ModelRequest};
use crate::tool::ToolDefinition;
use serde_json::{Map, Value, json};
use std::ops::ControlFlow;

/// The names of the field for reasoning text on different servers. DeepSeek requires the text back with the calls after
/// it.
const THOUGHT_FIELDS: [&str; 2] = ["reasoning_content", "reasoning"];
const THINK: &str = "<think>";
const END_OF_THINK: &str = "</think>";
const MAX_THINK: usize = 1 << 20;

// ---- request ----

pub(super) fn body(request: &ModelRequest<'_>, target: &Target, options: RequestOptions) -> Value {
    let mut body = json!({"model": target.model, "stream": options.stream == Requested::Yes});
    if options.stream_options == Requested::Yes {
        body["stream_options"] = json!({"include_usage": true});
    }
    if let Some(max_tokens) = options.max_tokens {
        // OpenAI's newer models reject the old name. Most other servers do not know the new name.
        let name =
            if matches!(target.provider, "openai" | "openai-chat") { "max_completion_tokens" } else { "max_tokens" };
        body[name] = json!(max_tokens);
    }
    if let Some(effort) = options.effort {
        match target.provider {
            "openrouter" => body["reasoning"] = json!({"effort": effort.as_str()}),
            _ => body["reasoning_effort"] = json!(effort.as_str()),
        }
    }
    if !request.tools.is_empty() {
        let tool = |tool: &ToolDefinition| {
            let function = json!({"name": tool.name, "description": tool.description, "parameters": tool.schema});
            json!({"type": "function", "function": function})
        };
        body["tools"] = request.tools.iter().map(tool).collect();
    }
    let system = has_text(request.system).then(|| json!({"role": "system", "content": request.system}));
    let conversation = request.messages.iter().flat_map(|message| messages(message, target.provider, options));
    body["messages"] = system.into_iter().chain(conversation).collect();
    body
}

fn messages(message: &Message, provider: &str, options: RequestOptions) -> Vec<Value> {
    match message {
        Message::User { text } => vec![json!({"role": "user", "content": text})],
        Message::Results { results } => {
            let result = |result: &CallResult| {
                let id = safe_name(&result.id);
                json!({"role": "tool", "tool_call_id": id, "content": result.output})
            };
            results.iter().map(result).collect()
        }
        Message::Assistant { content } => assistant_message(message, content, provider, options).into_iter().collect(),
    }
}

fn assistant_message(message: &Message, content: &[Block], provider: &str, options: RequestOptions) -> Option<Value> {
    let text = message.text();
    let calls: Vec<Value> = message.calls().map(|call| tool_call(call, provider)).collect();
    if !has_text(&text) && calls.is_empty() {
        return None;
    }
    let mut assistant = json!({"role": "assistant", "content": has_text(&text).then_some(text)});
    if !calls.is_empty() {
        assistant["tool_calls"] = calls.into();
    }
    for block in content {
        // Blocks of this provider's other protocol have other fields.
        if let Block::Opaque { provider: owner, value } = block
            && owner == provider
            && options.own_data == Requested::Yes
        {
            for name in ["reasoning_details"].into_iter().chain(THOUGHT_FIELDS) {
                value.get(name).into_iter().for_each(|thoughts| assistant[name] = thoughts.clone());
            }
        }
    }
    Some(assistant)
}

fn tool_call(call: &ToolCall, provider: &str) -> Value {
    let function = json!({"name": safe_name(&call.name), "arguments": input_object(&call.input).to_string()});
    let mut tool_call = json!({"id": safe_name(&call.id), "type": "function", "function": function});
    if let Some(extra) = call.extra.as_ref().and_then(|extra| extra.get(provider)) {
        tool_call["extra_content"] = extra.clone();
    }
    tool_call
}

// ---- response ----

#[derive(Default)]
pub(super) struct ChatReader {
    calls: Vec<PartialCall>,
    /// The reasoning details of OpenRouter, which are sent back.
    reasoning: Vec<Value>,
    /// The reasoning text and the name of its field, which are sent back; `None` without reasoning.
    thoughts: Option<(&'static str, String)>,
    /// The beginning of the content, while it may be a thought between tags. Some servers leave thoughts in the
    /// content.
    head: String,
    past_head: bool,
    finish_reason: Option<String>,
    done: bool,
    /// Whether the response arrives in `delta`. A `message` is then ignored, because it repeats the content.
    has_deltas: bool,
}

#[derive(Default)]
struct PartialCall {
    index: Option<u64>,
    id: Option<String>,
    name: String,
    arguments: String,
    /// Data that is sent back with the call, because Google's models require it.
    extra: Option<Value>,
}

impl ChatReader {
    fn add_call(&mut self, part: &Value) {
        let function = &part["function"];
        let index = u64_field(part, "index");
        let id = str_field(part, "id");
        let name = str_field(function, "name");
        let position = self.find_call(index, id, name).unwrap_or_else(|| {
            self.calls.push(PartialCall { index, ..PartialCall::default() });
            self.calls.len() - 1
        });
        let call = &mut self.calls[position];
        call.id = call.id.take().or_else(|| id.map(str::to_owned));
        // A name may arrive in parts. Some servers repeat the whole name instead.
        if let Some(name) = name.filter(|name| call.arguments.is_empty() && *name != call.name) {
            call.name.push_str(name);
        }
        match &function["arguments"] {
            Value::String(more) => call.arguments.push_str(more),
            Value::Null => {}
            // Some servers send an object instead of JSON text.
            object => call.arguments = object.to_string(),
        }
        if let Some(extra) = part.get("extra_content").filter(|extra| !extra.is_null()) {
            call.extra = Some(extra.clone());
        }
    }

    /// Returns the position of the call that a part belongs to; `None` if the part starts a new call.
    ///
    /// Calls are matched by id. Some servers give every call the same id. A part with a name at another index shows
    /// that, and starts a new call.
    ///
    /// Without an id, a part with a name starts a new call. It continues the call at its index only if that call has no
    /// complete arguments yet.
    fn find_call(&self, index: Option<u64>, id: Option<&str>, name: Option<&str>) -> Option<usize> {
        let has_same_id = |call: &PartialCall| id.is_some() && call.id.as_deref() == id;
        let is_at_other_index = |call: &PartialCall| name.is_some() && index.is_some() && call.index.is_some();
        let exactly = self.calls.iter().rposition(|call| has_same_id(call) && call.index == index);
        if let Some(same) =
            exactly.or_else(|| self.calls.iter().rposition(|call| has_same_id(call) && !is_at_other_index(call)))
        {
            return Some(same);
        }
        let position = match index {
            Some(_) => self.calls.iter().rposition(|call| call.index == index)?,
            None => self.calls.len().checked_sub(1)?,
        };
        let call = &self.calls[position];
        // Ollama gives every call the index 0.
        let has_other_id = id.is_some() && call.id.is_some();
        let is_complete = !call.arguments.trim().is_empty() && parse_input(&call.arguments).is_object();
        let is_next = name.is_some() && !call.name.is_empty() && (index.is_none() || is_complete);
        (!has_other_id && !is_next).then_some(position)
    }

    fn add_reasoning(&mut self, details: &Value) {
        for part in details.as_array().into_iter().flatten() {
            let is_same = |detail: &&mut Value| detail["type"] == part["type"] && detail["index"] == part["index"];
            match (self.reasoning.last_mut().filter(is_same), part.as_object()) {
                (Some(Value::Object(detail)), Some(part)) => merge(detail, part),
                _ => self.reasoning.push(part.clone()),
            }
        }
    }

    /// Adds a part of the content. Text between thought tags becomes a thought once the closing tag has arrived.
    fn add_text(&mut self, text: &str, output: &mut Output) {
        if self.past_head {
            return output.text(text);
        }
        self.head.push_str(text);
        let start = self.head.trim_start();
        match start.strip_prefix(THINK).map(|inside| inside.split_once(END_OF_THINK)) {
            Some(None) if self.head.len() < MAX_THINK => return,
            None if THINK.starts_with(start) => return,
            Some(Some((thought, said))) => {
                output.thought(thought.trim());
                output.text(said.trim_start());
            }
            _ => output.text(&self.head),
        }
        self.past_head = true;
    }

    /// Records reasoning text under the field name that the server uses.
    fn add_thought(&mut self, message: &Value, output: &mut Output) {
        let Some((name, text)) = thought(message) else { return };
        self.thoughts.get_or_insert((name, String::new())).1.push_str(text);
        output.thought(text);
    }

    fn finish(&mut self, output: &mut Output) -> Result<(), ModelError> {
        // A thought without a closing tag counts as text.
        if !self.past_head {
            output.text(&self.head);
        }
        match self.finish_reason.as_deref() {
            Some("content_filter") => return Err(output.target.filtered()),
            Some("error") => return Err(output.target.failed()),
            _ => {}
        }
        let thoughts = self.thoughts.take().map(|(name, text)| json!({name: text}));
        let value = if self.reasoning.is_empty() {
            thoughts
        } else {
            Some(json!({"reasoning_details": std::mem::take(&mut self.reasoning)}))
        };
        value.into_iter().for_each(|value| output.opaque(value));
        // Text may have followed the calls in the stream, so `last` must not become the last call.
        let last = output.last;
        for (i, call) in std::mem::take(&mut self.calls).into_iter().enumerate() {
            let name = output.call_name(Some(&call.name))?;
            let id = call.id.unwrap_or_else(|| format!("call_{}", i + 1));
            let extra = call.extra.map(|extra| json!({(output.target.provider): extra}));
            output.written_call(id, name, &call.arguments, extra);
        }
        output.last = last;
        Ok(())
    }
}

fn has_content(delta: &Value) -> bool {
    let has = |key: &str| delta[key].as_array().is_some_and(|parts| !parts.is_empty());
    has("tool_calls")
        || has("reasoning_details")
        || str_field(delta, "refusal").is_some()
        || thought(delta).is_some()
        || !content_texts(delta).is_empty()
}

/// Returns the reasoning text of a message and the name of its field; `None` without reasoning.
fn thought(message: &Value) -> Option<(&'static str, &str)> {
    THOUGHT_FIELDS.into_iter().find_map(|name| Some((name, str_field(message, name)?)))
}

/// Returns the texts of a message's content, which is a string or an array of parts.
fn content_texts(message: &Value) -> Vec<&str> {
    let content = &message["content"];
    let parts = content.as_array().map_or(std::slice::from_ref(content), Vec::as_slice);
    parts.iter().filter_map(part_text).filter(|text| !text.is_empty()).collect()
}

fn part_text(part: &Value) -> Option<&str> {
    match (part.as_str(), str_field(part, "type")) {
        (Some(text), _) => Some(text),
        (None, Some("text") | None) => str_field(part, "text"),
        (None, Some("refusal")) => str_field(part, "refusal"),
        // Reasoning is not part of the text.
        (None, Some(_)) => None,
    }
}

/// Appends the text fields of `part` to those of `detail`. Replaces other fields.
fn merge(detail: &mut Map<String, Value>, part: &Map<String, Value>) {
    for (key, value) in part {
        match (detail.get_mut(key), value) {
            (Some(Value::String(text)), Value::String(more)) if matches!(key.as_str(), "text" | "summary" | "data") => {
                text.push_str(more);
            }
            (Some(_), Value::Null) => {}
            _ => {
                detail.insert(key.clone(), value.clone());
            }
        }
    }
}

impl ResponseReader for ChatReader {
    fn read(&mut self, event: &Value, output: &mut Output) -> Result<ControlFlow<()>, ModelError> {
        if let Some(usage) = event.get("usage").filter(|usage| usage.is_object()) {
            let count = |key| u64_field(usage, key).unwrap_or(0);
            output.usage(count("prompt_tokens"), count("completion_tokens"));
        }
        // The request asks for one answer, but some servers send more.
        let is_first = |choice: &&Value| u64_field(choice, "index").unwrap_or(0) == 0;
        let choice = array_field(event, "choices").find(is_first).unwrap_or(&Value::Null);
        // OpenRouter reports errors of the upstream provider in the choice.
        output.check(choice)?;
        let delta = &choice["delta"];
        self.has_deltas |= has_content(delta);
        let message = if self.has_deltas { delta } else { &choice["message"] };
        self.add_thought(message, output);
        for text in content_texts(message).into_iter().chain(str_field(message, "refusal")) {
            self.add_text(text, output);
        }
        self.add_reasoning(&message["reasoning_details"]);
        for part in array_field(message, "tool_calls") {
            self.add_call(part);
            output.last = LastOutput::Call;
        }
        if let Some(reason) = str_field(choice, "finish_reason") {
            self.finish_reason = Some(reason.to_owned());
        }
        Ok(ControlFlow::Continue(()))
    }

    fn done(&mut self) {
        self.done = true;
    }

    fn end(&mut self, output: &mut Output) -> Result<Completion, ModelError> {
        if !self.done && self.finish_reason.is_none() {
            return Ok(Completion::Unfinished);
        }
        self.finish(output)?;
        let is_truncated = self.finish_reason.as_deref() == Some("length");
        Ok(if is_truncated { Completion::TokenLimit } else { Completion::Complete })
    }
}
