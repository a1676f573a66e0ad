//! Encodes and decodes the Gemini generateContent protocol with streaming.
//!
//! Thought signatures are sent back in place: with their tool call or text, otherwise as a separate part. Tool calls
//! are not streamed in parts and often have no id.

use super::api_error::ApiError;
use super::json::{array_field, str_field, u64_field};
use super::protocol::{Completion, Output, ResponseReader, has_text, input_object, safe_name};
use super::request_options::{Effort, RequestOptions, Requested};
use super::target::Target;
use crate::event::FailureKind;
use crate::message::{Block, CallResult, Message, ToolCall};
use crate::model::{ModelError, ModelRequest};
use crate::tool::ToolDefinition;
use serde_json::{Map, Value, json};
use std::collections::HashMap;
use std::ops::ControlFlow;

/// The documented placeholder for the signature of a call that Gemini did not make.
const UNSIGNED_CALL: &str = "skip_thought_signature_validator";

/// The maximum number of retries after a malformed call. The number is low, because each retry costs a whole response.
const MAX_MALFORMED_RETRIES: u32 = 3;

// ---- request ----

pub(super) fn body(request: &ModelRequest<'_>, target: &Target, options: RequestOptions) -> Value {
    let mut body = json!({"contents": contents(request.messages, target, options)});
    if has_text(request.system) {
        body["systemInstruction"] = json!({"parts": [{"text": request.system}]});
    }
    if !request.tools.is_empty() {
        let declarations: Vec<Value> = request.tools.iter().map(declaration).collect();
        body["tools"] = json!([{"functionDeclarations": declarations}]);
    }
    if let Some(max_tokens) = options.max_tokens {
        body["generationConfig"]["maxOutputTokens"] = json!(max_tokens);
    }
    if let Some(thinking) = thinking_config(&target.model, options) {
        body["generationConfig"]["thinkingConfig"] = thinking;
    }
    body
}

/// Returns the thinking settings; `None` for the default settings, or for a model that cannot think.
fn thinking_config(model: &str, options: RequestOptions) -> Option<Value> {
    let name = model.rsplit('/').next().unwrap_or(model);
    if !name.starts_with("gemini-") || ["gemini-1", "gemini-2.0"].iter().any(|old| name.starts_with(old)) {
        return None;
    }
    let mut config = json!({});
    if options.thoughts == Requested::Yes {
        config["includeThoughts"] = json!(true);
    }
    match options.effort {
        Some(effort) if name.starts_with("gemini-2") => {
            config["thinkingBudget"] = json!(match effort {
                Effort::Low => 1024,
                Effort::Medium => 8192,
                Effort::High | Effort::XHigh | Effort::Max => 24_576,
            });
        }
        // Gemini has no level above `high`.
        Some(Effort::XHigh | Effort::Max) => config["thinkingLevel"] = json!(Effort::High.as_str()),
        Some(effort) => config["thinkingLevel"] = json!(effort.as_str()),
        None => {}
    }
    config.as_object().is_some_and(|config| !config.is_empty()).then_some(config)
}

fn declaration(tool: &ToolDefinition) -> Value {
    let mut declaration = json!({"name": tool.name, "description": tool.description});
    // Gemini rejects an object schema without properties, but accepts a function without a schema.
    if tool.schema["properties"].as_object().is_some_and(|properties| !properties.is_empty()) {
        // `parametersJsonSchema` accepts JSON Schema unchanged. The older field `parameters` rejects some keywords.
        declaration["parametersJsonSchema"] = tool.schema.clone();
    }
    declaration
}

fn contents(conversation: &[Message], target: &Target, options: RequestOptions) -> Value {
    // The map from this crate's call ids to Gemini's.
    let mut ids: HashMap<&str, &str> = HashMap::new();
    let mut contents = Vec::new();
    for message in conversation {
        let (role, parts) = match message {
            Message::User { text } => ("user", vec![json!({"text": text})]),
            Message::Results { results } => {
                let part = |result| function_response(result, ids.get(&*result.id).copied());
                ("user", results.iter().map(part).collect())
            }
            Message::Assistant { content } => {
                let gemini_id = |call| Some((call, str_field(call_extra(call, target)?, "id")?));
                ids.extend(message.calls().filter_map(gemini_id).map(|(call, id)| (call.id.as_str(), id)));
                ("model", model_parts(content, target, options))
            }
        };
        let has_content = |part: &Value| match part.get("text") {
            Some(text) => text.as_str().is_some_and(has_text),
            None => true,
        };
        if parts.iter().any(has_content) {
            contents.push(json!({"role": role, "parts": parts}));
        }
    }
    contents.into()
}

/// Returns the id and the signature that Gemini sent with a call; `None` if it sent neither.
fn call_extra<'a>(call: &'a ToolCall, target: &Target) -> Option<&'a Value> {
    call.extra.as_ref()?.get(target.provider)
}

fn model_parts(content: &[Block], target: &Target, options: RequestOptions) -> Vec<Value> {
    let mut requires_signature = requires_signatures(&target.model);
    let mut parts: Vec<Value> = Vec::new();
    for block in content {
        match block {
            Block::Text { text } => parts.extend(has_text(text).then(|| json!({"text": text}))),
            Block::Opaque { provider, value } => {
                let is_own = provider == target.provider && options.own_data == Requested::Yes;
                let Some(signature) = str_field(value, "thoughtSignature").filter(|_| is_own) else { continue };
                let signed = take_end(&mut parts, u64_field(value, "signed_bytes").unwrap_or(0));
                parts.push(json!({"text": signed, "thoughtSignature": signature}));
            }
            Block::Call(call) => parts.push(call_part(call, target, options, &mut requires_signature)),
        }
    }
    parts
}

/// Splits off the end of the last text, which arrived as a separate part. Returns that end.
fn take_end(parts: &mut Vec<Value>, bytes: u64) -> String {
    let Some(Value::String(text)) = parts.last_mut().and_then(|part| part.get_mut("text")) else {
        return String::new();
    };
    let at = text.len().checked_sub(bytes as usize).filter(|at| text.is_char_boundary(*at)).unwrap_or(text.len());
    let end = text.split_off(at);
    if text.is_empty() && !end.is_empty() {
        parts.pop();
    }
    end
}

fn call_part(call: &ToolCall, target: &Target, options: RequestOptions, requires_signature: &mut bool) -> Value {
    let mut part = json!({"functionCall": {"name": safe_name(&call.name), "args": input_object(&call.input)}});
    let extra = call_extra(call, target).unwrap_or(&Value::Null);
    if let Some(id) = str_field(extra, "id") {
        part["functionCall"]["id"] = json!(id);
    }
    // Gemini signs only the first of several calls, so only the first one needs a placeholder.
    let placeholder = std::mem::take(requires_signature).then_some(UNSIGNED_CALL);
    let signature = str_field(extra, "thoughtSignature").filter(|_| options.own_data == Requested::Yes);
    if let Some(signature) = signature.or(placeholder) {
        part["thoughtSignature"] = json!(signature);
    }
    part
}

/// Whether the model requires signatures of calls. Models before Gemini 3 do not.
fn requires_signatures(model: &str) -> bool {
    let name = model.rsplit('/').next().unwrap_or(model);
    !["gemini-1", "gemini-2", "gemma"].iter().any(|old| name.starts_with(old))
}

fn function_response(result: &CallResult, id: Option<&str>) -> Value {
    let key = if result.is_error { "error" } else { "output" };
    let mut response = json!({"name": safe_name(&result.name), "response": {key: result.output}});
    if let Some(id) = id {
        response["id"] = json!(id);
    }
    json!({"functionResponse": response})
}

// ---- response ----

#[derive(Default)]
pub(super) struct GeminiReader {
    call_count: usize,
    completion: Completion,
}

impl GeminiReader {
    fn read_part(&mut self, part: &Value, output: &mut Output) -> Result<(), ModelError> {
        let signature = part.get("thoughtSignature").filter(|_| str_field(part, "thoughtSignature").is_some());
        if let Some(call) = part.get("functionCall") {
            self.call_count += 1;
            let id = str_field(call, "id");
            let own = [("id", id.map(Value::from)), ("thoughtSignature", signature.cloned())];
            let own: Map<_, _> = own.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?))).collect();
            let extra = (!own.is_empty()).then(|| json!({(output.target.provider): own}));
            let input = match &call["args"] {
                Value::Null => json!({}),
                args @ Value::Object(_) => args.clone(),
                other => Value::String(other.to_string()),
            };
            let id = id.map_or_else(|| format!("call_{}", self.call_count), str::to_owned);
            let name = output.call_name(str_field(call, "name"))?;
            output.call(ToolCall { id, name, input, extra });
            return Ok(());
        }
        let is_thought = part["thought"] == true;
        let text = str_field(part, "text").unwrap_or_default();
        if !is_thought {
            output.text(text);
        } else if !text.is_empty() {
            output.thought(text);
        }
        if let Some(signature) = signature {
            let mut value = json!({"thoughtSignature": signature});
            if !is_thought && !text.is_empty() {
                value["signed_bytes"] = json!(text.len());
            }
            output.opaque(value);
        }
        Ok(())
    }
}

/// Returns whether a response with this finish reason is complete.
///
/// # Errors
/// If the response is unusable for this reason.
fn completion(reason: &str, candidate: &Value, target: &Target) -> Result<Completion, ModelError> {
    let why = match str_field(candidate, "finishMessage") {
        Some(message) => format!("{reason}: {message}"),
        None => reason.to_owned(),
    };
    match reason {
        "STOP" | "FINISH_REASON_UNSPECIFIED" => Ok(Completion::Complete),
        "MAX_TOKENS" => Ok(Completion::TokenLimit),
        // A malformed call is a failure of the model. A retry mostly succeeds.
        "MALFORMED_FUNCTION_CALL" | "UNEXPECTED_TOOL_CALL" | "MALFORMED_RESPONSE" => {
            Err(target.aborted(FailureKind::Overloaded, why).with_max_retries(MAX_MALFORMED_RETRIES))
        }
        "TOO_MANY_TOOL_CALLS" | "MISSING_THOUGHT_SIGNATURE" => Err(target.aborted(FailureKind::Protocol, why)),
        // Other reasons, such as SAFETY and RECITATION, mean that the response is incomplete.
        _ => Err(target.aborted(FailureKind::Rejected, why)),
    }
}

impl ResponseReader for GeminiReader {
    fn read(&mut self, event: &Value, output: &mut Output) -> Result<ControlFlow<()>, ModelError> {
        if let Some(reason) = str_field(&event["promptFeedback"], "blockReason") {
            let message = format!("the prompt was blocked ({reason})");
            return Err(output.target.model_error(&ApiError { message, ..ApiError::default() }));
        }
        let usage = &event["usageMetadata"];
        if usage.is_object() {
            let count = |key| u64_field(usage, key).unwrap_or(0);
            let input = count("promptTokenCount") + count("toolUsePromptTokenCount");
            output.usage(input, count("candidatesTokenCount") + count("thoughtsTokenCount"));
        }
        let candidate = &event["candidates"][0];
        for part in array_field(&candidate["content"], "parts") {
            self.read_part(part, output)?;
        }
        if let Some(reason) = str_field(candidate, "finishReason") {
            self.completion = completion(reason, candidate, &output.target)?;
        }
        Ok(ControlFlow::Continue(()))
    }

    fn end(&mut self, _output: &mut Output) -> Result<Completion, ModelError> {
        Ok(self.completion)
    }
}
