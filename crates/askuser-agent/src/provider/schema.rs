//! A JSON Schema reduced to what Gemini accepts: it refuses the whole request for a keyword it does not know.
//!
//! What cannot be said is left out, and the tool checks its input itself. Where Gemini insists on a type and there is
//! none, it is a string: anything can be written in one.

use serde_json::{Map, Value, json};

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
    Value::Object(reduce_in(schema, &Within { root: schema, opened: None }))
}

/// Where a schema stands.
struct Within<'a> {
    /// What references are looked up in.
    root: &'a Value,
    /// The reference that led here, and where it stood.
    opened: Option<(&'a str, &'a Within<'a>)>,
}

impl Within<'_> {
    /// Whether a reference leads back to where it stands.
    fn has_opened(&self, path: &str) -> bool {
        self.opened.is_some_and(|(opened, outer)| opened == path || outer.has_opened(path))
    }
}

fn reduce_in(schema: &Value, within: &Within<'_>) -> Map<String, Value> {
    typed(gather(schema, within))
}

/// What a schema says by itself and through others, which may be only a part of what is said of a value.
fn gather(schema: &Value, within: &Within<'_>) -> Map<String, Value> {
    let mut reduced = Map::new();
    let Some(full) = schema.as_object() else { return reduced };
    let inner = |schema: &Value| Value::Object(reduce_in(schema, within));
    if let Some(path) = full.get("$ref").and_then(Value::as_str) {
        let referred = path.strip_prefix('#').and_then(|path| within.root.pointer(path));
        match referred.filter(|_| !path.is_empty() && path != "#" && !within.has_opened(path)) {
            Some(referred) => {
                let within = Within { root: within.root, opened: Some((path, within)) };
                absorb(&mut reduced, gather(referred, &within));
            }
            // It would never end.
            None => absorb(&mut reduced, Map::from_iter([("type".into(), json!("object"))])),
        }
    }
    for part in full.get("allOf").and_then(Value::as_array).into_iter().flatten() {
        absorb(&mut reduced, gather(part, within));
    }
    for (key, value) in full {
        match key.as_str() {
            "type" => set_type(&mut reduced, value),
            "properties" => {
                let properties = value.as_object().into_iter().flatten();
                let properties: Map<_, _> = properties.map(|(name, schema)| (name.clone(), inner(schema))).collect();
                absorb(&mut reduced, Map::from_iter([(key.clone(), properties.into())]));
            }
            "required" => absorb(&mut reduced, Map::from_iter([(key.clone(), value.clone())])),
            "items" if value.is_object() => {
                reduced.insert(key.clone(), inner(value));
            }
            "anyOf" | "oneOf" => set_choices(&mut reduced, value.as_array().into_iter().flatten(), inner),
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
    reduced
}

/// Adds what another schema says of the same value.
fn absorb(reduced: &mut Map<String, Value>, other: Map<String, Value>) {
    for (key, value) in other {
        match (reduced.get_mut(&key), value) {
            (Some(Value::Object(own)), Value::Object(more)) if key == "properties" => own.extend(more),
            (Some(Value::Array(own)), Value::Array(more)) if key == "required" => own.extend(more),
            (_, value) => {
                reduced.insert(key, value);
            }
        }
    }
}

/// Everything has a type, and nothing that belongs to another. A choice stands alone.
fn typed(mut reduced: Map<String, Value>) -> Map<String, Value> {
    if !reduced.contains_key("type") {
        if let Some(Value::Array(choices)) = reduced.remove("anyOf") {
            return Map::from_iter([("anyOf".into(), described(choices, &reduced))]);
        }
        let kind = if reduced.contains_key("properties") { "object" } else { "string" };
        reduced.insert("type".into(), kind.into());
    }
    reduced.remove("anyOf");
    if reduced["type"] != "object" {
        reduced.remove("properties");
    }
    // A name that is no property is refused as well.
    let properties = reduced.get("properties").and_then(Value::as_object);
    let is_known =
        |name: &Value| properties.is_some_and(|all| name.as_str().is_some_and(|name| all.contains_key(name)));
    let required = reduced.get("required").and_then(Value::as_array).into_iter().flatten();
    let required: Vec<Value> = required.filter(|name| is_known(name)).cloned().collect();
    match required.is_empty() {
        true => reduced.remove("required"),
        false => reduced.insert("required".into(), required.into()),
    };
    if reduced["type"] == "array" {
        reduced.entry("items").or_insert_with(|| json!({"type": "string"}));
    } else {
        reduced.remove("items");
    }
    reduced
}

/// What is said beside a choice is said in each of it.
fn described(mut choices: Vec<Value>, beside: &Map<String, Value>) -> Value {
    for choice in choices.iter_mut().filter_map(Value::as_object_mut) {
        for key in ["description", "nullable"] {
            if let Some(value) = beside.get(key) {
                choice.entry(key).or_insert_with(|| value.clone());
            }
        }
    }
    choices.into()
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
fn set_choices<'a>(
    reduced: &mut Map<String, Value>,
    choices: impl Iterator<Item = &'a Value>,
    inner: impl Fn(&Value) -> Value,
) {
    let (null, some): (Vec<&Value>, Vec<&Value>) = choices.partition(|choice| choice["type"] == "null");
    if !null.is_empty() {
        reduced.insert("nullable".into(), true.into());
    }
    let mut some: Vec<Value> = some.into_iter().map(inner).collect();
    match some.pop() {
        Some(Value::Object(only)) if some.is_empty() => {
            for (key, value) in only {
                reduced.entry(key).or_insert(value);
            }
        }
        Some(last) => {
            some.push(last);
            reduced.insert("anyOf".into(), some.into());
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
        let object = json!({"type": "object"});
        check(
            json!({"type": "object", "properties": {"child": {"$ref": "#"}}}),
            json!({"type": "object", "properties": {"child": object}}),
        );
        let node = json!({"type": "object", "properties": {"next": {"$ref": "#/$defs/Node"}}});
        check(
            json!({"type": "object", "$defs": {"Node": node}, "properties": {"first": {"$ref": "#/$defs/Node"}}}),
            json!({"type": "object", "properties": {"first": {"type": "object", "properties": {"next": object}}}}),
        );
    }

    #[test]
    fn a_schema_used_twice_is_written_twice() {
        let full = json!({"$defs": {"N": {"type": "integer"}}, "type": "object", "properties": {
            "a": {"$ref": "#/$defs/N"}, "b": {"$ref": "#/$defs/N"},
        }});
        check(full, json!({"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}}}));
    }

    #[test]
    fn parts_of_a_schema_are_put_together() {
        let part = |name: &str| json!({"type": "object", "properties": {name: {"type": "string"}}, "required": [name]});
        check(
            json!({"allOf": [part("a"), part("b"), {"minProperties": 1}], "properties": {"c": {"type": "string"}}}),
            json!({
                "type": "object",
                "properties": {"a": {"type": "string"}, "b": {"type": "string"}, "c": {"type": "string"}},
                "required": ["a", "b"],
                "minProperties": 1,
            }),
        );
    }

    #[test]
    fn a_choice_stands_alone() {
        check(
            json!({"description": "How many", "anyOf": [{"type": "integer"}, {"type": "string"}, {"type": "null"}]}),
            json!({"anyOf": [
                {"type": "integer", "description": "How many", "nullable": true},
                {"type": "string", "description": "How many", "nullable": true},
            ]}),
        );
    }

    #[test]
    fn a_choice_of_what_is_required_is_left_out() {
        check(
            json!({"type": "object", "properties": {"a": {"type": "string"}}, "anyOf": [{"required": ["a"]}, {"required": ["b"]}]}),
            json!({"type": "object", "properties": {"a": {"type": "string"}}}),
        );
    }

    #[test]
    fn everything_has_a_type_and_nothing_of_another() {
        check(json!({"properties": {"a": {}}}), json!({"properties": {"a": {"type": "string"}}, "type": "object"}));
        check(json!({"type": "string", "properties": {}, "required": ["a"], "items": {}}), json!({"type": "string"}));
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
