//! Reads fields of a provider's JSON.
//!
//! Providers add fields, omit fields, or send `null` or an empty string instead. So every field is optional, and a
//! field of the wrong type counts as absent.

use serde_json::Value;

/// Returns a string field; `None` if the field is absent or empty.
pub(super) fn str_field<'a>(value: &'a Value, key: &str) -> Option<&'a str> {
    value.get(key)?.as_str().filter(|text| !text.is_empty())
}

pub(super) fn u64_field(value: &Value, key: &str) -> Option<u64> {
    value.get(key)?.as_u64()
}

/// Returns the elements of an array field. A field of another type has no elements.
pub(super) fn array_field<'a>(value: &'a Value, key: &str) -> impl Iterator<Item = &'a Value> {
    value.get(key).and_then(Value::as_array).into_iter().flatten()
}
