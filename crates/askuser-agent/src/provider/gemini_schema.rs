//! Reduces a JSON Schema to the subset that Gemini accepts: it rejects the whole request for an unknown keyword.
//!
//! Constraints that cannot be expressed are dropped; the tool validates its input anyway. Where Gemini requires a type
//! and the schema has none, it becomes a string.

use serde_json::{Map, Value, json};

/// Keywords that mean the same to Gemini and contain no schema.
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
    Value::Object(reduce_in_scope(schema, &Scope { root: schema, expanding: None }))
}

/// The context of a schema.
struct Scope<'a> {
    /// The document that references point into.
    root: &'a Value,
    /// The reference being expanded, and the context it stands in.
    expanding: Option<(&'a str, &'a Scope<'a>)>,
}

impl Scope<'_> {
    /// Whether a reference is being expanded already, so that expanding it would not end.
    fn is_expanding(&self, path: &str) -> bool {
        self.expanding.is_some_and(|(expanding, outer)| expanding == path || outer.is_expanding(path))
    }
}

fn reduce_in_scope(schema: &Value, scope: &Scope<'_>) -> Map<String, Value> {
    with_type(gather(schema, scope))
}

/// The keywords of a schema, of its `$ref` and of its `allOf`, without the types that Gemini requires.
fn gather(schema: &Value, scope: &Scope<'_>) -> Map<String, Value> {
    let mut reduced = Map::new();
    let Some(full) = schema.as_object() else { return reduced };
    let inner = |schema: &Value| Value::Object(reduce_in_scope(schema, scope));
    if let Some(path) = full.get("$ref").and_then(Value::as_str) {
        let referred = path.strip_prefix('#').and_then(|path| scope.root.pointer(path));
        match referred.filter(|_| !path.is_empty() && path != "#" && !scope.is_expanding(path)) {
            Some(referred) => {
                let scope = Scope { root: scope.root, expanding: Some((path, scope)) };
                merge(&mut reduced, gather(referred, &scope));
            }
            // A recursive or unknown reference.
            None => merge(&mut reduced, Map::from_iter([("type".into(), json!("object"))])),
        }
    }
    for part in full.get("allOf").and_then(Value::as_array).into_iter().flatten() {
        merge(&mut reduced, gather(part, scope));
    }
    for (key, value) in full {
        match key.as_str() {
            "type" => set_type(&mut reduced, value),
            "properties" => {
                let properties = value.as_object().into_iter().flatten();
                let properties: Map<_, _> = properties.map(|(name, schema)| (name.clone(), inner(schema))).collect();
                merge(&mut reduced, Map::from_iter([(key.clone(), properties.into())]));
            }
            "required" => merge(&mut reduced, Map::from_iter([(key.clone(), value.clone())])),
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

/// Adds the keywords of another schema for the same value.
fn merge(reduced: &mut Map<String, Value>, other: Map<String, Value>) {
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

/// Adds a missing type, and removes keywords of other types. `anyOf` stands without a type.
fn with_type(mut reduced: Map<String, Value>) -> Map<String, Value> {
    if !reduced.contains_key("type") {
        if let Some(Value::Array(choices)) = reduced.remove("anyOf") {
            return Map::from_iter([("anyOf".into(), with_siblings(choices, &reduced))]);
        }
        let kind = if reduced.contains_key("properties") { "object" } else { "string" };
        reduced.insert("type".into(), kind.into());
    }
    reduced.remove("anyOf");
    if reduced["type"] != "object" {
        reduced.remove("properties");
    }
    // Gemini rejects a required name that is not a property.
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

/// Copies the description and nullability beside an `anyOf` into each alternative.
fn with_siblings(mut choices: Vec<Value>, siblings: &Map<String, Value>) -> Value {
    for choice in choices.iter_mut().filter_map(Value::as_object_mut) {
        for key in ["description", "nullable"] {
            if let Some(value) = siblings.get(key) {
                choice.entry(key).or_insert_with(|| value.clone());
            }
        }
    }
    choices.into()
}

/// Sets the type and whether it is nullable. Several types become an `anyOf`.
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

/// Sets `anyOf`; a null alternative becomes `nullable`.
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

/// Sets `enum`, which Gemini accepts for strings only.
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
    fn several_types_become_any_of() {
        check(json!({"type": ["string", "integer"]}), json!({"anyOf": [{"type": "string"}, {"type": "integer"}]}));
        check(
            json!({"oneOf": [{"const": "a"}, {"type": "integer"}]}),
            json!({"anyOf": [{"type": "string", "enum": ["a"]}, {"type": "integer"}]}),
        );
    }

    #[test]
    fn only_strings_are_kept_in_enums() {
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
    fn a_recursive_reference_is_expanded_once() {
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
    fn any_of_stands_without_siblings() {
        check(
            json!({"description": "How many", "anyOf": [{"type": "integer"}, {"type": "string"}, {"type": "null"}]}),
            json!({"anyOf": [
                {"type": "integer", "description": "How many", "nullable": true},
                {"type": "string", "description": "How many", "nullable": true},
            ]}),
        );
    }

    #[test]
    fn any_of_without_types_is_left_out() {
        check(
            json!({"type": "object", "properties": {"a": {"type": "string"}}, "anyOf": [{"required": ["a"]}, {"required": ["b"]}]}),
            json!({"type": "object", "properties": {"a": {"type": "string"}}}),
        );
    }

    #[test]
    fn every_schema_has_a_type_and_only_its_keywords() {
        check(json!({"properties": {"a": {}}}), json!({"properties": {"a": {"type": "string"}}, "type": "object"}));
        check(json!({"type": "string", "properties": {}, "required": ["a"], "items": {}}), json!({"type": "string"}));
    }

    #[test]
    fn an_array_without_items_gets_string_items() {
        check(json!({"type": "array"}), json!({"type": "array", "items": {"type": "string"}}));
    }

    #[test]
    fn the_question_tool_keeps_its_limits() {
        let reduced = reduce(&askuser::tool::schema(&askuser::Limits::DEFAULT, &[]));
        let questions = &reduced["properties"]["questions"];
        assert_eq!((&questions["minItems"], &questions["maxItems"]), (&json!(1), &json!(4)));
        assert!(!reduced.to_string().contains("additionalProperties"));
    }
}
