//! Deserialises the input of a tool call.
//!
//! An error names the field, its value and the limit, so that the model can correct itself. Tools report other limits
//! in the same form.

use crate::message::ToolCall;
use crate::tool::ToolResult;
use serde::de::{self, IntoDeserializer, Unexpected, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use std::fmt;

const MAX_FACT_CHARS: usize = 100;

// ---- optional fields, in the forms that local models write ----

/// Reads an optional number. A string with a number counts as a number. Blank text and 0 mean the default.
pub(crate) fn number<'de, D: Deserializer<'de>>(field: D) -> Result<Option<u64>, D::Error> {
    let expected = "a whole number of at least 0";
    let number = match field.deserialize_any(Written(expected))? {
        Optional::Number(number) => number,
        Optional::Text(text) if text.trim().is_empty() => 0,
        Optional::Text(text) => text.trim().parse().map_err(|_| not(Unexpected::Str(text), expected))?,
        Optional::Flag(flag) => return Err(not(Unexpected::Bool(flag), expected)),
        Optional::Absent => 0,
    };
    Ok(Some(number).filter(|number| *number > 0))
}

/// Reads an optional boolean. A string with `true` or `false` counts as a boolean.
pub(crate) fn flag<'de, D: Deserializer<'de>>(field: D) -> Result<Option<bool>, D::Error> {
    let expected = "true or false";
    match field.deserialize_any(Written(expected))? {
        Optional::Flag(flag) => Ok(Some(flag)),
        Optional::Text(text) if text.trim().is_empty() => Ok(None),
        Optional::Text(text) => text.trim().parse().map(Some).map_err(|_| not(Unexpected::Str(text), expected)),
        Optional::Number(number) => Err(not(Unexpected::Unsigned(number), expected)),
        Optional::Absent => Ok(None),
    }
}

/// Reads an optional string. Blank text means the default.
pub(crate) fn text<'de, D: Deserializer<'de>>(field: D) -> Result<Option<&'de str>, D::Error> {
    Ok(Option::<&str>::deserialize(field)?.filter(|text| !text.trim().is_empty()))
}

/// Reads an optional value of an enum. Blank text means the default.
pub(crate) fn word<'de, D: Deserializer<'de>, T: Deserialize<'de>>(field: D) -> Result<Option<T>, D::Error> {
    text(field)?.map(|word| T::deserialize(word.into_deserializer())).transpose()
}

enum Optional<'de> {
    Absent,
    Number(u64),
    Flag(bool),
    Text(&'de str),
}

fn not<E: de::Error>(unexpected: Unexpected<'_>, expected: &str) -> E {
    E::invalid_type(unexpected, &expected)
}

/// A visitor that accepts all forms. Its text describes the expected values.
struct Written(&'static str);

impl<'de> Visitor<'de> for Written {
    type Value = Optional<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }

    fn visit_unit<E>(self) -> Result<Optional<'de>, E> {
        Ok(Optional::Absent)
    }

    fn visit_u64<E>(self, number: u64) -> Result<Optional<'de>, E> {
        Ok(Optional::Number(number))
    }

    fn visit_bool<E>(self, flag: bool) -> Result<Optional<'de>, E> {
        Ok(Optional::Flag(flag))
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Optional<'de>, E> {
        Ok(Optional::Text(text))
    }
}

impl ToolCall {
    /// Deserialises the input, as in the example of [`Tool`](crate::Tool). The type may borrow its strings from the
    /// call.
    ///
    /// # Errors
    /// If the input does not fit the type. The result names the field, its value and the limit.
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

    /// Creates the result for an invalid input. `fact` says what `field` is, and `limit` says what it must be.
    pub fn invalid_input(&self, field: &str, fact: &str, limit: &str) -> ToolResult {
        ToolResult::error(format!("Invalid {} input; nothing was done. {field}: {fact}, {limit}", self.name))
    }

    /// Returns `text`.
    ///
    /// # Errors
    /// If the text has more than `max` characters. `instead` ends the message.
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

    /// Returns `text`.
    ///
    /// # Errors
    /// If the text is blank.
    pub(crate) fn non_blank<'a>(&self, field: &str, text: &'a str) -> Result<&'a str, ToolResult> {
        if text.trim().is_empty() { Err(self.invalid_input(field, "blank", "must say something")) } else { Ok(text) }
    }
}

/// Splits an error of serde into field, fact and limit. The formats are "invalid type: FACT, expected LIMIT", "unknown
/// variant `FACT`, expected LIMIT" and "missing field `NAME`". Other texts stay unchanged.
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
    // serde quotes strings in full, so the text is shortened.
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

    #[derive(Debug, PartialEq, Deserialize)]
    struct Lenient<'a> {
        #[serde(default, deserialize_with = "number")]
        limit: Option<u64>,
        #[serde(default, deserialize_with = "flag")]
        all: Option<bool>,
        #[serde(default, borrow, deserialize_with = "text")]
        path: Option<&'a str>,
        #[serde(default, deserialize_with = "word")]
        mode: Option<Mode>,
    }

    #[test]
    fn optional_fields_are_read_as_they_are_meant() {
        for input in
            [json!({}), json!({"limit": "", "all": " ", "path": " ", "mode": ""}), json!({"limit": 0, "path": null})]
        {
            let expected = Lenient { limit: None, all: None, path: None, mode: None };
            assert_eq!(call(input).typed_input(), Ok(expected));
        }
        let input = call(json!({"limit": " 12 ", "all": "true", "path": "a", "mode": "files"}));
        let expected = Lenient { limit: Some(12), all: Some(true), path: Some("a"), mode: Some(Mode::Files) };
        assert_eq!(input.typed_input(), Ok(expected));
        for (field, value, why) in [
            ("limit", json!("ten"), "limit: string \"ten\", must be a whole number of at least 0"),
            ("limit", json!(-1), "limit: integer -1, must be a whole number of at least 0"),
            ("limit", json!(true), "limit: boolean true, must be a whole number of at least 0"),
            ("all", json!("yes"), "all: string \"yes\", must be true or false"),
            ("all", json!(1), "all: integer 1, must be true or false"),
            ("mode", json!("lines"), "mode: lines, must be content or files"),
        ] {
            let call = call(json!({field: value}));
            let rejected = call.typed_input::<Lenient<'_>>().unwrap_err();
            assert_eq!(rejected, ToolResult::error(format!("Invalid Own input; nothing was done. {why}")));
        }
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
