//! Formats JSON for standard output, and parses JSON that a person wrote.

use askuser::sanitize::is_invisible;
use jsonc_parser::{CollectOptions, ParseOptions, ast, parse_to_ast};
use serde::de::Error;
use serde_json::Value;
use std::collections::HashSet;

/// Formats JSON so that it is safe on a terminal. Invisible characters in a model's text are escaped, and parsers read
/// the same value.
pub(crate) fn escape_invisible(json: &serde_json::Value) -> String {
    let text = json.to_string();
    let acts =
        |c| !matches!(c, ' '..='~') && (c.is_control() || is_invisible(c) || matches!(c, '\u{2028}' | '\u{2029}'));
    if !text.contains(acts) {
        return text;
    }
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if acts(c) {
            c.encode_utf16(&mut [0; 2]).iter().for_each(|unit| out.push_str(&format!("\\u{unit:04x}")));
        } else {
            out.push(c);
        }
    }
    out
}

/// Parses JSON in which no object repeats a field. `serde_json` would silently use the last value.
pub(crate) fn without_repeats(text: &str) -> serde_json::Result<Value> {
    let value = serde_json::from_str(text)?;
    let parsed = parse_to_ast(text, &CollectOptions::default(), &ParseOptions::default()).map_err(Error::custom)?;
    match parsed.value.as_ref().and_then(repeated) {
        None => Ok(value),
        Some(key) => Err(Error::custom(format_args!("{key:?} is there twice"))),
    }
}

fn repeated<'a>(value: &'a ast::Value<'a>) -> Option<&'a str> {
    match value {
        ast::Value::Object(object) => {
            let mut seen = HashSet::new();
            let again = object.properties.iter().map(|field| field.name.as_str()).find(|name| !seen.insert(*name));
            again.or_else(|| object.properties.iter().find_map(|field| repeated(&field.value)))
        }
        ast::Value::Array(array) => array.elements.iter().find_map(repeated),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_field_that_is_there_twice_is_an_error_at_any_depth() {
        let value = r#"{"b": [1, -2, 0.5, null, true, {"c": "x"}], "a": {"c": "y"}}"#;
        assert_eq!(without_repeats(value).unwrap(), serde_json::from_str::<Value>(value).unwrap());
        for text in [r#"{"a": 1, "b": 2, "a": 1}"#, r#"{"b": {"a": 1, "a": 2}}"#, r#"[{"a": 1, "\u0061": 2}]"#] {
            let error = without_repeats(text).unwrap_err().to_string();
            assert!(error.contains("\"a\" is there twice"), "{error}");
        }
        assert!(without_repeats("{} x").is_err());
    }

    #[test]
    fn fillers_that_are_drawn_as_nothing_are_spelled_out() {
        let value = json!("\u{115f}\u{1160}\u{17b4}\u{17b5}\u{3164}\u{ffa0}");
        assert_eq!(escape_invisible(&value), r#""\u115f\u1160\u17b4\u17b5\u3164\uffa0""#);
    }

    #[test]
    fn json_on_a_terminal_has_nothing_invisible_and_means_the_same() {
        let value = json!({"a\u{9b}2J": ["\u{7f}\u{202e}é数", "\u{e0041}👨\u{200d}👩 \\ \" \n"]});
        let text = escape_invisible(&value);
        let expected = "{\"a\\u009b2J\":[\"\\u007f\\u202eé数\",\"\\udb40\\udc41👨\u{200d}👩 \\\\ \\\" \\n\"]}";
        assert_eq!(text, expected);
        assert_eq!(serde_json::from_str::<serde_json::Value>(&text).unwrap(), value);
    }
}
