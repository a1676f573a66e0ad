//! A YAML file that contains only one server. It is written and deleted as a whole.

use super::clients::SERVER;
use serde_json::{Map, Value, json};

/// The first line, which identifies a file that askuser has written.
const MARK: &str = "# Written by `askuser init`; `askuser init continue --remove` deletes it.";

pub(super) fn file(servers: &str, fields: &Map<String, Value>) -> String {
    // JSON is valid YAML. In JSON's quotes, no path can have another meaning.
    let fields = fields.iter().filter(|(_, value)| !value.is_null());
    let fields: String = fields.map(|(name, value)| format!("    {name}: {value}\n")).collect();
    format!("{MARK}\nname: {SERVER}\nversion: 1.0.0\nschema: v1\n{servers}:\n  - name: {SERVER}\n{fields}")
}

/// Returns the server's entry in the file; `None` if askuser has not written the file.
pub(super) fn find(text: &str) -> Option<Value> {
    let fields = text.strip_prefix(MARK)?.lines().filter_map(|line| line.strip_prefix("    "));
    let fields = fields.filter_map(|line| {
        let (name, value) = line.split_once(": ")?;
        Some((name.to_owned(), serde_json::from_str(value).ok()?))
    });
    Some(json!(fields.collect::<Map<String, Value>>()))
}
