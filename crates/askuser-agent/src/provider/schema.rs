//! A JSON Schema reduced to what Gemini accepts: it refuses the whole request for a keyword it does not know.
//!
//! What cannot be said is left out, never said wrongly: the reduced schema accepts whatever the full one does. The tool
//! checks its input itself.

use serde_json::{Map, Value, json};

/// References may lead back to where they are; nobody nests deeper than this.
const DEEPEST: usize = 16;

/// Keywords that mean the same to Gemini and hold no schema.
const KEPT: &[&str] = &[
    "title",
    "description",
    "nullable",
    "minItems",
    "maxItems",
    "minLength",
    "maxLength",
    "minimum",
    "maximum",
    "minProperties",
    "maxProperties",
    "pattern",
    "propertyOrdering",
];

/// Formats that Gemini knows.
const FORMATS: &[&str] = &["int32", "int64", "float", "double", "date-time", "enum"];

pub(super) fn reduce(schema: &Value) -> Value {
    Value::Object(reduce_in(schema, schema, 0))
}

fn reduce_in(schema: &Value, root: &Value, depth: usize) -> Map<String, Value> {
    let mut reduced = Map::new();
    let Some(full) = schema.as_object() else { return reduced };
    if depth > DEEPEST {
        return reduced;
    }
    let inner = |schema: &Value| Value::Object(reduce_in(schema, root, depth + 1));
    if let Some(referred) =
        full.get("$ref").and_then(Value::as_str).and_then(|path| root.pointer(path.strip_prefix('#')?))
    {
        reduced = reduce_in(referred, root, depth + 1);
    }
    for all in full.get("allOf").and_then(Value::as_array).into_iter().flatten() {
        reduced.extend(reduce_in(all, root, depth + 1));
    }
    for (key, value) in full {
        match key.as_str() {
            "type" => set_type(&mut reduced, value),
            "properties" => {
                let properties = value.as_object().into_iter().flatten();
                let properties: Map<_, _> = properties.map(|(name, schema)| (name.clone(), inner(schema))).collect();
                reduced.insert(key.clone(), properties.into());
            }
            "items" if value.is_object() => {
                reduced.insert(key.clone(), inner(value));
            }
            "anyOf" | "oneOf" => set_choices(&mut reduced, value.as_array().into_iter().flatten().map(inner).collect()),
            "enum" => set_values(&mut reduced, value.as_array().map(Vec::as_slice).unwrap_or_default()),
            "const" => set_values(&mut reduced, std::slice::from_ref(value)),
            "format" if value.as_str().is_some_and(|format| FORMATS.contains(&format)) => {
                reduced.insert(key.clone(), value.clone());
            }
            _ if KEPT.contains(&key.as_str()) => {
                reduced.insert(key.clone(), value.clone());
            }
            _ => {}
        }
    }
    if let Some(required) = full.get("required").and_then(Value::as_array) {
        // A name that is no property is refused as well.
        let is_known = |name: &&Value| reduced["properties"].get(name.as_str().unwrap_or_default()).is_some();
        let required: Vec<Value> = match reduced.contains_key("properties") {
            true => required.iter().filter(is_known).cloned().collect(),
            false => Vec::new(),
        };
        if !required.is_empty() {
            reduced.insert("required".into(), required.into());
        }
    }
    if reduced.get("type") == Some(&json!("array")) {
        reduced.entry("items").or_insert_with(|| json!({"type": "string"}));
    }
    reduced
}

/// One type, and whether it may be null. Several are a choice.
fn set_type(reduced: &mut Map<String, Value>, types: &Value) {
    let Some(types) = types.as_array() else {
        reduced.insert("type".into(), types.clone());
        return;
    };
    let mut some: Vec<&Value> = types.iter().filter(|kind| *kind != "null").collect();
    if some.len() < types.len() {
        reduced.insert("nullable".into(), true.into());
    }
    match (some.pop(), some.is_empty()) {
        (Some(only), true) => {
            reduced.insert("type".into(), only.clone());
        }
        (Some(last), false) => {
            let choices: Vec<Value> = some.into_iter().chain([last]).map(|kind| json!({"type": kind})).collect();
            reduced.insert("anyOf".into(), choices.into());
        }
        (None, _) => {}
    }
}

/// A choice with null is a value that may be null.
fn set_choices(reduced: &mut Map<String, Value>, mut choices: Vec<Value>) {
    let all = choices.len();
    choices.retain(|choice| choice["type"] != "null");
    if choices.len() < all {
        reduced.insert("nullable".into(), true.into());
    }
    match choices.pop() {
        Some(Value::Object(only)) if choices.is_empty() => {
            for (key, value) in only {
                reduced.entry(key).or_insert(value);
            }
        }
        Some(last) => {
            choices.push(last);
            reduced.insert("anyOf".into(), choices.into());
        }
        None => {}
    }
}

/// Only strings can be listed.
fn set_values(reduced: &mut Map<String, Value>, values: &[Value]) {
    let strings: Vec<Value> = values.iter().filter(|value| value.is_string()).cloned().collect();
    if values.iter().any(Value::is_null) {
        reduced.insert("nullable".into(), true.into());
    }
    if !strings.is_empty() && values.iter().all(|value| value.is_string() || value.is_null()) {
        reduced.insert("type".into(), "string".into());
        reduced.insert("enum".into(), strings.into());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(full: Value, reduced: Value) {
        assert_eq!(reduce(&full), reduced);
    }

    #[test]
    fn keywords_that_gemini_refuses_are_left_out_at_every_depth() {
        check(
            json!({
                "$schema": "https://json-schema.org/draft/2020-12/schema",
                "type": "object",
                "additionalProperties": false,
                "properties": {
                    "n": {"type": "integer", "exclusiveMinimum": 0, "format": "uint32", "minimum": 1},
                    "list": {"type": "array", "uniqueItems": true, "minItems": 1, "items": {
                        "type": "object", "additionalProperties": false, "properties": {"a": {"type": "string", "maxLength": 5}},
                    }},
                },
                "required": ["n", "gone"],
            }),
            json!({
                "type": "object",
                "properties": {
                    "n": {"type": "integer", "minimum": 1},
                    "list": {"type": "array", "minItems": 1, "items": {
                        "type": "object", "properties": {"a": {"type": "string", "maxLength": 5}},
                    }},
                },
                "required": ["n"],
            }),
        );
    }

    #[test]
    fn a_property_may_have_the_name_of_a_keyword() {
        let full = json!({"type": "object", "properties": {"$ref": {"type": "string"}, "const": {"type": "string"}}});
        check(full.clone(), full);
    }

    #[test]
    fn null_is_a_value_that_may_be_left_out() {
        check(json!({"type": ["string", "null"]}), json!({"nullable": true, "type": "string"}));
        check(json!({"anyOf": [{"type": "integer"}, {"type": "null"}]}), json!({"nullable": true, "type": "integer"}));
    }

    #[test]
    fn several_types_are_a_choice() {
        check(json!({"type": ["string", "integer"]}), json!({"anyOf": [{"type": "string"}, {"type": "integer"}]}));
        check(
            json!({"oneOf": [{"const": "a"}, {"type": "integer"}]}),
            json!({"anyOf": [{"type": "string", "enum": ["a"]}, {"type": "integer"}]}),
        );
    }

    #[test]
    fn only_strings_are_listed() {
        check(json!({"enum": ["a", "b"]}), json!({"type": "string", "enum": ["a", "b"]}));
        check(json!({"type": "integer", "enum": [1, 2]}), json!({"type": "integer"}));
    }

    #[test]
    fn references_are_replaced_by_what_they_refer_to() {
        check(
            json!({"$defs": {"Name": {"type": "string"}}, "type": "object", "properties": {"name": {"$ref": "#/$defs/Name"}}}),
            json!({"type": "object", "properties": {"name": {"type": "string"}}}),
        );
    }

    #[test]
    fn a_reference_to_itself_ends() {
        let full = json!({"type": "object", "properties": {"child": {"$ref": "#"}}});
        assert!(reduce(&full).to_string().len() < 2000);
    }

    #[test]
    fn a_list_of_anything_says_of_what() {
        check(json!({"type": "array"}), json!({"type": "array", "items": {"type": "string"}}));
    }

    #[test]
    fn the_question_tool_keeps_its_limits() {
        let reduced = reduce(&askuser::tool::schema(&askuser::Limits::DEFAULT));
        let questions = &reduced["properties"]["questions"];
        assert_eq!((&questions["minItems"], &questions["maxItems"]), (&json!(1), &json!(4)));
        assert!(!reduced.to_string().contains("additionalProperties"));
    }
}
