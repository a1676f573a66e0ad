//! JSON with or without comments, edited in place.

use super::clients::SERVER;
use jsonc_parser::cst::{CstInputValue, CstObject, CstRootNode};
use jsonc_parser::{CollectOptions, ParseOptions, ast, parse_to_ast};
use serde_json::{Map, Value, json};

/// What editors accept as JSON with comments, and not more.
const OPTIONS: ParseOptions = ParseOptions {
    allow_comments: true,
    allow_trailing_commas: true,
    allow_loose_object_property_names: false,
    allow_missing_commas: false,
    allow_single_quoted_strings: false,
    allow_hexadecimal_numbers: false,
    allow_unary_plus_numbers: false,
    allow_bare_decimal_point_numbers: false,
    allow_non_finite_numbers: false,
    allow_extended_string_escapes: false,
};

pub(super) fn read(text: &str) -> Result<Map<String, Value>, String> {
    let root = parse(text)?;
    match root.value() {
        None => Ok(Map::new()),
        Some(value) => match value.to_serde_value() {
            Some(Value::Object(fields)) => Ok(fields),
            _ => Err("is no JSON object".into()),
        },
    }
}

pub(super) fn add(text: &str, servers: &str, value: &Map<String, Value>) -> Result<String, String> {
    let root = parse(text)?;
    if let Some(edited) = add_in_line(text, servers, value) {
        return Ok(edited);
    }
    let not_an_object = |what: &str| format!("has {what} that is no object");
    let fields = root.object_value_or_create().ok_or_else(|| "is no JSON object".to_owned())?;
    let table = fields.object_value_or_create(servers).ok_or_else(|| not_an_object(servers))?;
    match table.get(SERVER) {
        None => drop(table.append(SERVER, input(&json!(value)))),
        Some(found) => {
            let found = found.object_value().ok_or_else(|| not_an_object(SERVER))?;
            value.iter().for_each(|(name, value)| set(&found, name, value));
        }
    }
    Ok(written(&root, text))
}

/// A new entry of an object that stands in one line stands there too: the editor would spread the object over several, and
/// with it what is not ours.
fn add_in_line(text: &str, servers: &str, value: &Map<String, Value>) -> Option<String> {
    let parsed = parse_to_ast(text, &CollectOptions::default(), &OPTIONS).ok()?;
    let Some(ast::Value::Object(root)) = parsed.value else { return None };
    let (object, name, value) = match root.get(servers).map(|found| &found.value) {
        None => (&root, servers, json!({SERVER: value})),
        Some(ast::Value::Object(table)) if table.get(SERVER).is_none() => (table, SERVER, json!(value)),
        Some(_) => return None,
    };
    let last = object.properties.last()?;
    if text.get(object.range.start..object.range.end)?.contains('\n') {
        return None;
    }
    let (before, after) = text.split_at_checked(last.range.end)?;
    let gap = if text.contains("\": ") { " " } else { "" };
    Some(format!("{before},{gap}{}:{gap}{value}{after}", json!(name)))
}

fn set(object: &CstObject, name: &str, value: &Value) {
    match object.get(name) {
        Some(found) if value.is_null() => found.remove(),
        None if value.is_null() => {}
        None => drop(object.append(name, input(value))),
        Some(found) if found.value().and_then(|found| found.to_serde_value()).as_ref() == Some(value) => {}
        Some(found) => found.set_value(input(value)),
    }
}

pub(super) fn remove(text: &str, servers: &str, with_empty_table: bool) -> Result<String, String> {
    let root = parse(text)?;
    let table = root.object_value().and_then(|fields| fields.get(servers));
    let servers = table.as_ref().and_then(|table| table.object_value());
    if let (Some(table), Some(servers)) = (table, servers) {
        if let Some(found) = servers.get(SERVER) {
            found.remove();
        }
        if with_empty_table && servers.properties().is_empty() {
            table.remove();
        }
    }
    Ok(root.to_string())
}

/// The events that `askuser hook` answers, and for how long Claude Code may wait.
const HOOKS: [(&str, Option<&str>, Option<u32>); 7] = [
    ("PreToolUse", Some("AskUserQuestion"), Some(86_400)),
    ("PermissionRequest", Some("*"), Some(86_400)),
    ("PostToolUse", Some("*"), None),
    ("PostToolUseFailure", Some("*"), None),
    ("Stop", None, None),
    ("SubagentStop", None, None),
    ("Elicitation", None, Some(86_400)),
];
/// The rule that lets Claude Code call our tools without its permission dialog.
const ALLOWED: &str = "mcp__askuser__*";

/// The lists in the settings of Claude Code that hold something of ours, the rule last.
fn lists() -> impl Iterator<Item = (&'static str, &'static str)> {
    HOOKS.iter().map(|(event, ..)| ("hooks", *event)).chain([("permissions", "allow")])
}

/// Our entry of each list.
pub(super) fn our_settings(text: &str) -> Result<Vec<Option<Value>>, String> {
    let fields = read(text)?;
    let ours =
        |(table, name): (&str, &str)| fields.get(table)?[name].as_array()?.iter().find(|entry| is_ours(entry)).cloned();
    Ok(lists().map(ours).collect())
}

fn is_ours(entry: &Value) -> bool {
    entry == ALLOWED || our_program(entry).is_some()
}

/// The program of a hook of ours.
pub(super) fn our_program(group: &Value) -> Option<&str> {
    let commands = group["hooks"].as_array()?.iter().filter_map(|hook| hook["command"].as_str());
    let programs = commands.filter_map(|command| Some(command.strip_suffix(" hook")?.trim_matches('"')));
    programs.into_iter().find(|program| *program == SERVER || program.ends_with("/askuser"))
}

/// The settings with our hooks and our rule, each where it is missing.
pub(super) fn add_settings(text: &str, askuser: &str) -> Result<String, String> {
    let root = parse(text)?;
    let settings = root.object_value_or_create().ok_or_else(|| "is no JSON object".to_owned())?;
    let command = if askuser.contains(' ') { format!("\"{askuser}\" hook") } else { format!("{askuser} hook") };
    for (table, name) in lists() {
        let no_object = format!("has {table} that are no object");
        let table = settings.object_value_or_create(table).ok_or(no_object)?;
        let list = table.array_value_or_create(name).ok_or_else(|| format!("has {name} that is no array"))?;
        if list.elements().iter().filter_map(|entry| entry.to_serde_value()).any(|entry| is_ours(&entry)) {
            continue;
        }
        let entry = match HOOKS.iter().find(|(event, ..)| *event == name) {
            None => ALLOWED.into(),
            Some((_, matcher, timeout)) => {
                let mut hook = json!({"type": "command", "command": command});
                timeout.iter().for_each(|timeout| hook["timeout"] = (*timeout).into());
                let mut group = matcher.map_or_else(|| json!({}), |matcher| json!({"matcher": matcher}));
                group["hooks"] = json!([hook]);
                group
            }
        };
        list.append(input(&entry));
    }
    Ok(written(&root, text))
}

/// The settings without what is ours, and without the lists that become empty by that.
pub(super) fn remove_settings(text: &str) -> Result<String, String> {
    let root = parse(text)?;
    for (table, name) in lists() {
        let table = root.object_value().and_then(|settings| settings.object_value(table));
        let Some((table, list)) = table.and_then(|table| Some((table.clone(), table.array_value(name)?))) else {
            continue;
        };
        let entries = list.elements().into_iter();
        let ours: Vec<_> = entries.filter(|entry| entry.to_serde_value().as_ref().is_some_and(is_ours)).collect();
        let is_emptied = !ours.is_empty() && ours.len() == list.elements().len();
        ours.into_iter().for_each(|entry| entry.remove());
        table.get(name).filter(|_| is_emptied).into_iter().for_each(|list| list.remove());
    }
    Ok(root.to_string())
}

/// The edited file; one that was empty before ends with a line end.
fn written(root: &CstRootNode, before: &str) -> String {
    let edited = root.to_string();
    if edited.ends_with('\n') || !before.trim().is_empty() { edited } else { edited + "\n" }
}

fn parse(text: &str) -> Result<CstRootNode, String> {
    let root = CstRootNode::parse(text, &OPTIONS).map_err(|error| {
        format!("is broken at line {}, column {}: {}", error.line_display(), error.column_display(), error.kind())
    })?;
    if root.to_string() == text { Ok(root) } else { Err("is written in a way that cannot be edited safely".into()) }
}

fn input(value: &Value) -> CstInputValue {
    match value {
        Value::Null => CstInputValue::Null,
        Value::Bool(truth) => CstInputValue::Bool(*truth),
        Value::Number(number) => CstInputValue::Number(number.to_string()),
        Value::String(text) => CstInputValue::String(text.clone()),
        Value::Array(items) => CstInputValue::Array(items.iter().map(input).collect()),
        Value::Object(fields) => {
            CstInputValue::Object(fields.iter().map(|(name, value)| (name.clone(), input(value))).collect())
        }
    }
}
