//! A body, read field by field: everything that is wrong with it is said at once, and no key is passed over.

use super::reply::Problem;
use askuser::Violation;
use serde::de::DeserializeOwned;
use serde_json::Value;

pub(super) struct Envelope<'a> {
    body: &'a Value,
    wrong: Vec<Violation>,
}

impl<'a> Envelope<'a> {
    /// A body that may have these keys, and no other.
    pub(super) fn new(body: &'a Value, keys: &[&str]) -> Envelope<'a> {
        let mut envelope = Envelope { body, wrong: Vec::new() };
        if !body.is_object() {
            envelope.add("body", kind(body), "must be an object");
        }
        envelope.refuse_others("", body, keys);
        envelope
    }

    /// One more thing that is wrong.
    pub(super) fn add(&mut self, path: impl Into<String>, fact: impl Into<String>, limit: impl Into<String>) {
        self.wrong.push(Violation { path: path.into(), fact: fact.into(), limit: limit.into() });
    }

    /// The same for several.
    pub(super) fn extend(&mut self, wrong: impl IntoIterator<Item = Violation>) {
        self.wrong.extend(wrong);
    }

    /// No other keys in this object, which is at this path.
    pub(super) fn refuse_others(&mut self, path: &str, object: &Value, keys: &[&str]) {
        let others = object.as_object().into_iter().flat_map(|fields| fields.keys());
        for other in others.filter(|key| !keys.contains(&key.as_str())) {
            let path = if path.is_empty() { other.clone() } else { format!("{path}.{other}") };
            self.add(path, "unknown", format!("must be one of {}", keys.join(", ")));
        }
    }

    /// A field that may be missing.
    pub(super) fn read<T: DeserializeOwned>(&mut self, key: &str, limit: &str) -> Option<T> {
        let value = &self.body[key];
        if value.is_null() {
            return None;
        }
        let read = serde_json::from_value(value.clone());
        read.map_err(|error| self.add(key, error.to_string(), limit)).ok()
    }

    /// What was read, if nothing is wrong.
    pub(super) fn finish<T>(self, what: &str, read: Option<T>) -> Result<T, Problem> {
        match read {
            Some(read) if self.wrong.is_empty() => Ok(read),
            _ => Err(Problem::invalid(what, &self.wrong)),
        }
    }
}

/// What a value is, in words.
pub(super) fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "missing",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}
