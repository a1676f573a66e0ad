//! Edits TOML in place. A new entry is a section at the end of the file, so that no byte before it changes.

use super::clients::SERVER;
use crate::source::from_toml;
use serde_json::{Map, Value};
use toml_edit::{Array, DocumentMut, InlineTable, Item, Table, value};

pub(super) fn read(text: &str) -> Result<Map<String, Value>, String> {
    match from_toml(text) {
        Ok(Value::Object(fields)) => Ok(fields),
        Ok(_) => Ok(Map::new()),
        Err(error) => {
            let (line, column) = place(text, error.span().map_or(0, |span| span.start));
            Err(format!("is broken at line {line}, column {column}: {}", error.message()))
        }
    }
}

pub(super) fn add(text: &str, servers: &str, fields: &Map<String, Value>) -> Result<String, String> {
    let found = read(text)?;
    match found.get(servers).map(|table| table.get(SERVER)) {
        Some(Some(_)) => update(text, servers, fields),
        _ => {
            let newline = if text.contains("\r\n") { "\r\n" } else { "\n" };
            let mut section = DocumentMut::new();
            let mut table = Table::new();
            table.set_implicit(true);
            let mut server = Table::new();
            fields.iter().for_each(|(name, field)| drop(server.insert(name, item(field))));
            table.insert(SERVER, Item::Table(server));
            section.insert(servers, Item::Table(table));
            let section = section.to_string().trim_start().replace('\n', newline);
            let between = match text {
                "" => String::new(),
                text if text.ends_with('\n') => newline.to_owned(),
                _ => newline.repeat(2),
            };
            Ok(format!("{text}{between}{section}"))
        }
    }
}

fn update(text: &str, servers: &str, fields: &Map<String, Value>) -> Result<String, String> {
    edit(text, |document| {
        let Some(table) =
            document.get_mut(servers).and_then(|table| table.get_mut(SERVER)).and_then(Item::as_table_like_mut)
        else {
            return;
        };
        for (name, field) in fields {
            if field.is_null() {
                table.remove(name);
                continue;
            }
            let new = item(field);
            let is_same = table.get(name).is_some_and(|old| old.to_string().trim() == new.to_string().trim());
            if !is_same {
                table.insert(name, new);
            }
        }
    })
}

pub(super) fn remove(text: &str, servers: &str) -> Result<String, String> {
    edit(text, |document| {
        if let Some(table) = document.get_mut(servers).and_then(Item::as_table_like_mut) {
            table.remove(SERVER);
        }
    })
}

/// Edits a file and returns its text. The editor must be able to reproduce the original file exactly.
fn edit(text: &str, change: impl FnOnce(&mut DocumentMut)) -> Result<String, String> {
    let windows = text.contains("\r\n");
    let plain = if windows { text.replace("\r\n", "\n") } else { text.to_owned() };
    let mut document: DocumentMut = plain.parse().map_err(|_| "is no TOML that can be edited".to_owned())?;
    if document.to_string() != plain || (windows && plain.replace('\n', "\r\n") != text) {
        return Err("is written in a way that cannot be edited safely".into());
    }
    change(&mut document);
    let edited = document.to_string();
    Ok(if windows { edited.replace('\n', "\r\n") } else { edited })
}

fn item(field: &Value) -> Item {
    match field {
        Value::Bool(truth) => value(*truth),
        Value::Array(items) => value(items.iter().filter_map(Value::as_str).collect::<Array>()),
        Value::Object(fields) => {
            let fields = fields.iter().filter_map(|(name, field)| Some((name, field.as_str()?)));
            value(fields.collect::<InlineTable>())
        }
        other => value(other.as_str().unwrap_or_default()),
    }
}

/// Returns the line and the column of a byte, counted from 1.
fn place(text: &str, at: usize) -> (usize, usize) {
    let before = text.get(..at).unwrap_or(text);
    let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
    (before.matches('\n').count() + 1, before[line_start..].chars().count() + 1)
}
