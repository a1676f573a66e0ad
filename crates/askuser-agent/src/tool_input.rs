//! Reads the input of a tool call into a type of the tool's. Every error names the field, the fact and the limit, so that
//! the model can correct itself; tools report limits that a type cannot express in the same words.

use crate::message::ToolCall;
use crate::tool::ToolResult;
use serde::Deserialize;
use serde_json::Value;

const MAX_FACT_CHARS: usize = 100;

impl ToolCall {
    /// Reads the input, as in the example of [`Tool`](crate::Tool). The type may borrow its strings from the call.
    ///
    /// # Errors
    /// If the input does not fit the type; the result tells the model which field, what it is, and what it must be.
    pub fn typed_input<'a, T: Deserialize<'a>>(&'a self) -> Result<T, ToolResult> {
        match &self.input {
            Value::Object(_) => {}
            Value::String(_) => return Err(self.invalid_input("input", "not JSON", "must be a JSON object")),
            _ => return Err(self.invalid_input("input", "not an object", "must be a JSON object")),
        }
        serde_path_to_error::deserialize(&self.input).map_err(|error| {
            let path = error.path().to_string();
            let (field, fact, limit) = explain(&path, &error.into_inner().to_string());
            self.invalid_input(&field, &fact, &limit)
        })
    }

    /// The result for an input that is not valid: `field` is `fact`, and `limit` says what it must be.
    pub fn invalid_input(&self, field: &str, fact: &str, limit: &str) -> ToolResult {
        ToolResult::error(format!("Invalid {} input; nothing was done. {field}: {fact}, {limit}", self.name))
    }

    /// `text`, unless it has more characters.
    pub(crate) fn at_most<'a>(
        &self,
        field: &str,
        text: &'a str,
        max: usize,
        instead: &str,
    ) -> Result<&'a str, ToolResult> {
        let chars = text.chars().count();
        if chars <= max {
            return Ok(text);
        }
        Err(self.invalid_input(field, &format!("{chars} characters"), &format!("at most {max}{instead}")))
    }

    /// `text`, unless it is blank.
    pub(crate) fn non_blank<'a>(&self, field: &str, text: &'a str) -> Result<&'a str, ToolResult> {
        if text.trim().is_empty() { Err(self.invalid_input(field, "blank", "must say something")) } else { Ok(text) }
    }
}

/// Field, fact and limit of an error of serde's: "invalid type: FACT, expected LIMIT", "unknown variant `FACT`, expected
/// LIMIT", "missing field `NAME`". Other texts are kept as they are.
fn explain(path: &str, message: &str) -> (String, String, String) {
    if let Some(name) = message.strip_prefix("missing field `").and_then(|rest| rest.strip_suffix('`')) {
        let field = if path == "." { name.to_owned() } else { format!("{path}.{name}") };
        return (field, "missing".into(), "is required".into());
    }
    let Some((fact, expected)) = message.split_once(", expected ") else {
        return (path.into(), "invalid".into(), message.into());
    };
    let prefixes = ["invalid type: ", "invalid value: ", "unknown variant "];
    let fact = prefixes.iter().find_map(|prefix| fact.strip_prefix(prefix)).unwrap_or(fact);
    let fact = match fact {
        "map" => "an object",
        "sequence" => "an array",
        other => other,
    };
    // serde quotes strings in full.
    let fact: String = fact.chars().filter(|c| *c != '`').take(MAX_FACT_CHARS).collect();
    let expected = match expected {
        "u8" | "u16" | "u32" | "u64" | "usize" => "a whole number of at least 0",
        "i8" | "i16" | "i32" | "i64" | "isize" => "a whole number",
        "f32" | "f64" => "a number",
        "a boolean" => "true or false",
        "a borrowed string" => "a string",
        other => other,
    };
    (path.into(), fact, format!("must be {}", expected.replace('`', "")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[derive(Debug, PartialEq, Deserialize)]
    struct Input<'a> {
        path: &'a str,
        limit: Option<u64>,
        all: Option<bool>,
        mode: Option<Mode>,
        items: Option<Vec<Item>>,
    }

    #[derive(Debug, PartialEq, Deserialize)]
    #[serde(rename_all = "lowercase")]
    enum Mode {
        Content,
        Files,
    }

    #[derive(Debug, PartialEq, Deserialize)]
    struct Item {
        name: String,
    }

    fn call(input: Value) -> ToolCall {
        ToolCall { id: "1".into(), name: "Own".into(), input, extra: None }
    }

    #[track_caller]
    fn rejects(input: Value, why: &str) {
        let call = call(input);
        let rejected = call.typed_input::<Input<'_>>().unwrap_err();
        assert_eq!(rejected, ToolResult::error(format!("Invalid Own input; nothing was done. {why}")));
    }

    #[test]
    fn absent_null_and_unknown_fields_are_ignored() {
        let call = call(json!({"path": "a", "limit": null, "other": 1}));
        let expected = Input { path: "a", limit: None, all: None, mode: None, items: None };
        assert_eq!(call.typed_input(), Ok(expected));
    }

    #[test]
    fn an_input_that_is_not_an_object_says_so() {
        rejects(json!("{\"path\":"), "input: not JSON, must be a JSON object");
        rejects(json!([]), "input: not an object, must be a JSON object");
    }

    #[test]
    fn a_long_value_is_not_repeated_in_full() {
        let call = call(json!({"path": "a", "limit": "9".repeat(100_000)}));
        assert!(call.typed_input::<Input<'_>>().unwrap_err().output.len() < 300);
    }

    #[test]
    fn every_error_names_field_fact_and_limit() {
        rejects(json!({}), "path: missing, is required");
        rejects(json!({"path": 5}), "path: integer 5, must be a string");
        rejects(json!({"path": {}}), "path: an object, must be a string");
        rejects(json!({"path": null}), "path: null, must be a string");
        rejects(json!({"path": "a", "limit": -1}), "limit: integer -1, must be a whole number of at least 0");
        rejects(json!({"path": "a", "limit": 1.5}), "limit: floating point 1.5, must be a whole number of at least 0");
        rejects(json!({"path": "a", "all": "yes"}), "all: string \"yes\", must be true or false");
        rejects(json!({"path": "a", "mode": "lines"}), "mode: lines, must be content or files");
        rejects(json!({"path": "a", "items": [{"name": "b"}, {}]}), "items[1].name: missing, is required");
    }
}
