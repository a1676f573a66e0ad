//! Reading a tool's input, with errors a model can act on.

use crate::message::ToolCall;
use crate::tool::ToolResult;
use serde_json::Value;

/// The fields of a call's input. Every complaint names the field, the fact and the limit.
pub(crate) struct Fields<'a> {
    call: &'a ToolCall,
}

impl<'a> Fields<'a> {
    pub(crate) fn of(call: &'a ToolCall) -> Result<Fields<'a>, ToolResult> {
        match &call.input {
            Value::Object(_) => Ok(Fields { call }),
            Value::String(_) => Err(refuse(call, "input", "not JSON", "must be a JSON object")),
            _ => Err(refuse(call, "input", "not an object", "must be a JSON object")),
        }
    }

    /// A string that has to be there.
    pub(crate) fn text(&self, field: &str) -> Result<&'a str, ToolResult> {
        self.optional_text(field)?.ok_or_else(|| refuse(self.call, field, "missing", "must be a string"))
    }

    /// A string that has to be there and has to say something.
    pub(crate) fn words(&self, field: &str) -> Result<&'a str, ToolResult> {
        let text = self.text(field)?;
        if text.trim().is_empty() { Err(refuse(self.call, field, "blank", "must say something")) } else { Ok(text) }
    }

    pub(crate) fn optional_text(&self, field: &str) -> Result<Option<&'a str>, ToolResult> {
        match &self.call.input[field] {
            Value::Null => Ok(None),
            Value::String(text) => Ok(Some(text)),
            _ => Err(refuse(self.call, field, "not a string", "must be a string")),
        }
    }

    pub(crate) fn optional_number(&self, field: &str) -> Result<Option<u64>, ToolResult> {
        match &self.call.input[field] {
            Value::Null => Ok(None),
            value => match value.as_u64() {
                Some(number) => Ok(Some(number)),
                None => Err(refuse(self.call, field, &format!("{value}"), "must be a whole number, not below 0")),
            },
        }
    }

    pub(crate) fn flag(&self, field: &str) -> Result<bool, ToolResult> {
        match &self.call.input[field] {
            Value::Null => Ok(false),
            Value::Bool(flag) => Ok(*flag),
            _ => Err(refuse(self.call, field, "not true or false", "must be true or false")),
        }
    }
}

/// An error result about a field.
pub(crate) fn refuse(call: &ToolCall, field: &str, fact: &str, limit: &str) -> ToolResult {
    ToolResult::error(format!("Invalid {} input; nothing was done. {field}: {fact}, {limit}", call.name))
}
