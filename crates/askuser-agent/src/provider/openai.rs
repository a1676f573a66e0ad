//! OpenAI's chat completions, as OpenAI, OpenRouter, Ollama, llama.cpp and vLLM speak them.
//!
//! Servers differ most in how they write calls, so a call is put together from whatever there is, and calls are told only
//! when the answer is whole. What decides is whether there are calls, not the reason given for stopping. An answer that
//! comes at once has the same shape, with a `message` in the place of the deltas, and is read as one event.

use super::complaint::{Addressee, Complaint};
use super::sse::Event;
use super::wire::{Flow, Reader, Said, Status, count, echoed, input, is_said, json_of, text, token};
use crate::event::Usage;
use crate::message::{Block, CallResult, Message, ToolCall};
use crate::model::{ModelError, ModelErrorKind, ModelEvent, ModelRequest};
use crate::tool::ToolDefinition;
use serde_json::{Map, Value, json};
use std::sync::Arc;

// ---- the request ----

pub(super) fn body(request: &ModelRequest<'_>, addressee: &Addressee, max_tokens: Option<u32>) -> Value {
    let mut body = json!({
        "model": addressee.model,
        "stream": true,
        "stream_options": {"include_usage": true},
    });
    if let Some(most) = max_tokens {
        // OpenAI's newer models refuse the old name, and most other servers do not know the new one.
        let name = if addressee.provider == "openai" { "max_completion_tokens" } else { "max_tokens" };
        body[name] = json!(most);
    }
    if !request.tools.is_empty() {
        let tool = |tool: &ToolDefinition| {
            let function = json!({"name": tool.name, "description": tool.description, "parameters": tool.schema});
            json!({"type": "function", "function": function})
        };
        body["tools"] = request.tools.iter().map(tool).collect();
    }
    let system = is_said(request.system).then(|| json!({"role": "system", "content": request.system}));
    let conversation = request.messages.iter().flat_map(|message| messages(message, addressee.provider));
    body["messages"] = system.into_iter().chain(conversation).collect();
    body
}

fn messages(message: &Message, provider: &str) -> Vec<Value> {
    match message {
        Message::User { text } => vec![json!({"role": "user", "content": text})],
        Message::Results { results } => {
            let result = |result: &CallResult| {
                let id = token(&result.id);
                json!({"role": "tool", "tool_call_id": id, "content": result.output})
            };
            results.iter().map(result).collect()
        }
        Message::Assistant { content } => answer(message, content, provider).into_iter().collect(),
    }
}

fn answer(message: &Message, content: &[Block], provider: &str) -> Option<Value> {
    let text = message.text();
    let calls: Vec<Value> = message.calls().map(|call| written(call, provider)).collect();
    if !is_said(&text) && calls.is_empty() {
        return None;
    }
    let mut answer = json!({"role": "assistant", "content": is_said(&text).then_some(text)});
    if !calls.is_empty() {
        answer["tool_calls"] = calls.into();
    }
    for block in content {
        if let Block::Opaque { provider: whose, value: Value::Object(fields) } = block
            && whose == provider
        {
            answer.as_object_mut()?.extend(fields.clone());
        }
    }
    Some(answer)
}

fn written(call: &ToolCall, provider: &str) -> Value {
    let function = json!({"name": token(&call.name), "arguments": echoed(&call.input).to_string()});
    let mut written = json!({"id": token(&call.id), "type": "function", "function": function});
    if let Some(extra) = call.extra.as_ref().and_then(|extra| extra.get(provider)) {
        written["extra_content"] = extra.clone();
    }
    written
}

// ---- the answer ----

/// An answer as far as it has come.
pub(super) struct Answer {
    addressee: Arc<Addressee>,
    calls: Vec<Call>,
    /// Thoughts that OpenRouter wants back.
    thoughts: Vec<Value>,
    finished: Option<String>,
    done: bool,
    said: Said,
    form: Form,
}

/// Where the answer stands in its events.
#[derive(PartialEq)]
enum Form {
    /// Nothing has shown it yet. A `message` is read, as some servers write it for `delta`.
    Open,
    /// In deltas. A `message` beside or after them repeats what they said.
    Deltas,
}

/// A call that is being written.
#[derive(Default)]
struct Call {
    index: Option<u64>,
    id: Option<String>,
    name: String,
    arguments: String,
    /// What Google's models want back with the call.
    extra: Option<Value>,
}

impl Answer {
    pub(super) fn new(addressee: Arc<Addressee>) -> Answer {
        let (calls, thoughts) = (Vec::new(), Vec::new());
        Answer { addressee, calls, thoughts, finished: None, done: false, said: Said::Nothing, form: Form::Open }
    }

    fn add_call(&mut self, part: &Value) {
        self.said = Said::Call;
        let function = &part["function"];
        let (index, id, name) = (count(part, "index"), text(part, "id"), text(function, "name"));
        let at = self.find(index, id, name).unwrap_or_else(|| {
            self.calls.push(Call { index, ..Call::default() });
            self.calls.len() - 1
        });
        let call = &mut self.calls[at];
        call.id = call.id.take().or_else(|| id.map(str::to_owned));
        if call.name.is_empty() {
            call.name = name.unwrap_or_default().to_owned();
        }
        match &function["arguments"] {
            Value::String(more) => call.arguments.push_str(more),
            Value::Null => {}
            // Not a part but the whole.
            whole => call.arguments = whole.to_string(),
        }
        if let Some(extra) = part.get("extra_content").filter(|extra| !extra.is_null()) {
            call.extra = Some(extra.clone());
        }
    }

    /// Which call a part belongs to; none if a new one begins. An id tells, unless a name at another index shows that the
    /// server gives the same id to every call. Without one, a part with a name begins a new call unless the call at its
    /// index still waits for its arguments.
    fn find(&self, index: Option<u64>, id: Option<&str>, name: Option<&str>) -> Option<usize> {
        let is_same = |call: &Call| id.is_some() && call.id.as_deref() == id;
        let is_elsewhere = |call: &Call| name.is_some() && index.is_some() && call.index.is_some();
        let exactly = self.calls.iter().rposition(|call| is_same(call) && call.index == index);
        if let Some(same) = exactly.or_else(|| self.calls.iter().rposition(|call| is_same(call) && !is_elsewhere(call)))
        {
            return Some(same);
        }
        let at = match index {
            Some(_) => self.calls.iter().rposition(|call| call.index == index)?,
            None => self.calls.len().checked_sub(1)?,
        };
        let call = &self.calls[at];
        // Ollama gives every call the index 0.
        let is_other = id.is_some() && call.id.is_some();
        let is_written = !call.arguments.trim().is_empty() && input(&call.arguments).is_object();
        let is_next = name.is_some() && !call.name.is_empty() && (index.is_none() || is_written);
        (!is_other && !is_next).then_some(at)
    }

    fn add_thoughts(&mut self, thoughts: &Value) {
        for part in thoughts.as_array().into_iter().flatten() {
            let same = |thought: &&mut Value| thought["type"] == part["type"] && thought["index"] == part["index"];
            match (self.thoughts.last_mut().filter(same), part.as_object()) {
                (Some(Value::Object(thought)), Some(part)) => merge(thought, part),
                _ => self.thoughts.push(part.clone()),
            }
        }
    }

    fn finish(&mut self, told: &mut Vec<ModelEvent>) -> Result<(), ModelError> {
        let reason = self.finished.as_deref();
        match reason {
            Some("content_filter") => {
                let why = "its content filter stopped it (content_filter)";
                return Err(self.addressee.broken_off(ModelErrorKind::Rejected, why));
            }
            Some("error") => {
                return Err(self.addressee.broken_off(ModelErrorKind::Overloaded, "it failed, and did not say why"));
            }
            Some("length") if self.said == Said::Nothing => {
                return Err(self.addressee.out_of_tokens("before it said anything"));
            }
            _ => {}
        }
        if !self.thoughts.is_empty() {
            let value = json!({"reasoning_details": std::mem::take(&mut self.thoughts)});
            told.push(ModelEvent::Opaque(Block::Opaque { provider: self.addressee.provider.into(), value }));
        }
        let last = self.calls.len();
        for (i, call) in std::mem::take(&mut self.calls).into_iter().enumerate() {
            if call.name.is_empty() {
                return Err(self.addressee.misunderstood("a call without a name"));
            }
            let input = input(&call.arguments);
            let is_cut = !input.is_object() || call.arguments.trim().is_empty();
            if reason == Some("length") && i + 1 == last && is_cut {
                return Err(self.addressee.out_of_tokens(&format!("in the middle of a call of {}", call.name)));
            }
            let id = call.id.unwrap_or_else(|| format!("call_{}", i + 1));
            let extra = call.extra.map(|extra| json!({(self.addressee.provider): extra}));
            told.push(ModelEvent::Call(ToolCall { id, name: call.name, input, extra }));
        }
        Ok(())
    }
}

/// Whether anything in a delta is read.
fn says_something(delta: &Value) -> bool {
    let has = |key: &str| delta[key].as_array().is_some_and(|parts| !parts.is_empty());
    has("tool_calls") || has("reasoning_details") || text(delta, "refusal").is_some() || !words(delta).is_empty()
}

/// What is said in a content: a string, or parts of which some are text.
fn words(more: &Value) -> Vec<&str> {
    let content = &more["content"];
    let parts = content.as_array().map_or(std::slice::from_ref(content), Vec::as_slice);
    parts.iter().filter_map(part_words).filter(|words| !words.is_empty()).collect()
}

fn part_words(part: &Value) -> Option<&str> {
    match (part.as_str(), text(part, "type")) {
        (Some(words), _) => Some(words),
        (None, Some("text") | None) => text(part, "text"),
        (None, Some("refusal")) => text(part, "refusal"),
        // Thoughts are nothing the model says.
        (None, Some(_)) => None,
    }
}

/// Words grow; everything else is replaced.
fn merge(thought: &mut Map<String, Value>, part: &Map<String, Value>) {
    for (key, value) in part {
        match (thought.get_mut(key), value) {
            (Some(Value::String(words)), Value::String(more))
                if matches!(key.as_str(), "text" | "summary" | "data") =>
            {
                words.push_str(more);
            }
            (Some(_), Value::Null) => {}
            _ => {
                thought.insert(key.clone(), value.clone());
            }
        }
    }
}

impl Reader for Answer {
    fn read(&mut self, event: &Event, told: &mut Vec<ModelEvent>) -> Result<Flow, ModelError> {
        if event.data.trim() == "[DONE]" {
            self.done = true;
            return Ok(Flow::Over);
        }
        let event = json_of(event, &self.addressee)?;
        if let Some(usage) = event.get("usage").filter(|usage| usage.is_object()) {
            let count = |key| count(usage, key).unwrap_or(0);
            let usage = Usage { input_tokens: count("prompt_tokens"), output_tokens: count("completion_tokens") };
            told.push(ModelEvent::Usage(usage));
        }
        let choice = &event["choices"][0];
        // OpenRouter puts a failure of the provider behind it here.
        if let Some(complaint) = Complaint::in_json(choice) {
            return Err(self.addressee.failure(&complaint));
        }
        let delta = &choice["delta"];
        if says_something(delta) {
            self.form = Form::Deltas;
        }
        let more = if self.form == Form::Deltas { delta } else { &choice["message"] };
        for words in words(more).into_iter().chain(text(more, "refusal")) {
            self.said = Said::Words;
            told.push(ModelEvent::Text(words.to_owned()));
        }
        self.add_thoughts(&more["reasoning_details"]);
        for part in more["tool_calls"].as_array().into_iter().flatten() {
            self.add_call(part);
        }
        if let Some(reason) = text(choice, "finish_reason") {
            self.finished = Some(reason.to_owned());
        }
        Ok(Flow::More)
    }

    fn end(&mut self, told: &mut Vec<ModelEvent>) -> Result<Status, ModelError> {
        if !self.done && self.finished.is_none() {
            return Ok(Status::Unfinished);
        }
        self.finish(told)?;
        let is_cut = self.finished.as_deref() == Some("length") && self.said == Said::Words;
        Ok(if is_cut { Status::AtLimit } else { Status::Whole })
    }
}
