//! Edits JSON with or without comments in place.

use super::clients::SERVER;
use jsonc_parser::cst::{CstInputValue, CstObject, CstRootNode};
use jsonc_parser::{CollectOptions, ParseOptions, ast, parse_to_ast};
use serde_json::{Map, Value, json};

/// The variant of JSON with comments that editors accept.
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

/// Adds an entry to an object that stands on one line, on that line. The editor would spread the object over several
/// lines, together with other entries. Returns `None` if the object has several lines, no entries, or this entry
/// already.
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

/// A hook of askuser in the settings of an agent.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Hook {
    event: &'static str,
    matcher: Option<&'static str>,
    /// The time for which the agent waits for the hook, in seconds. `None` for the agent's default.
    timeout: Option<u32>,
    /// The arguments after `askuser hook`.
    flags: &'static str,
}

/// The hooks in a file of an agent, and the rule that permits calls of askuser's tools without a dialog.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct HookFile {
    hooks: &'static [Hook],
    rule: Option<&'static str>,
}

const DAY: Option<u32> = Some(86_400);

const fn hook(event: &'static str, matcher: Option<&'static str>, timeout: Option<u32>) -> Hook {
    Hook { event, matcher, timeout, flags: "" }
}

pub(super) const OF_CLAUDE: HookFile = HookFile {
    hooks: &[
        hook("PreToolUse", Some("AskUserQuestion"), DAY),
        hook("PermissionRequest", Some("*"), DAY),
        hook("PostToolUse", Some("*"), None),
        Hook { flags: ANSWERS, ..hook("PostToolUse", Some("mcp__askuser__AskUserQuestion"), DAY) },
        hook("PostToolUseFailure", Some("*"), None),
        hook("Stop", None, None),
        hook("SubagentStop", None, None),
        hook("SessionStart", Some("resume|compact"), None),
        hook("Elicitation", None, DAY),
    ],
    rule: Some("mcp__askuser__*"),
};

pub(super) const OF_CODEX: HookFile = HookFile {
    hooks: &[
        Hook { flags: CODEX, ..hook("SessionStart", Some("resume|compact"), None) },
        Hook { flags: CODEX, ..hook("Stop", None, None) },
    ],
    rule: None,
};

const ANSWERS: &str = " --answers";
const CODEX: &str = " --codex";

impl HookFile {
    /// Returns the lists that get an entry of askuser, the rule last. Each list has the entry to add or find.
    fn lists(&self) -> impl Iterator<Item = (&'static str, &'static str, Ours)> {
        let hooks = self.hooks.iter().map(|hook| ("hooks", hook.event, Ours::Hook(hook)));
        hooks.chain(self.rule.map(|rule| ("permissions", "allow", Ours::Rule(rule))))
    }

    /// Returns askuser's entry in each list; `None` for a list without such an entry.
    pub(super) fn entries(&self, text: &str) -> Result<Vec<Option<Value>>, String> {
        let fields = read(text)?;
        let entry = |(table, name, ours): (&str, &str, Ours)| {
            fields.get(table)?[name].as_array()?.iter().find(|entry| ours.is(entry)).cloned()
        };
        Ok(self.lists().map(entry).collect())
    }

    /// Returns the settings with askuser's hooks and rule added where they are missing.
    pub(super) fn add(&self, text: &str, askuser: &str) -> Result<String, String> {
        let root = parse(text)?;
        let settings = root.object_value_or_create().ok_or_else(|| "is no JSON object".to_owned())?;
        for (table, name, ours) in self.lists() {
            let no_object = format!("has {table} that are no object");
            let table = settings.object_value_or_create(table).ok_or(no_object)?;
            let list = table.array_value_or_create(name).ok_or_else(|| format!("has {name} that is no array"))?;
            if !list.elements().iter().filter_map(|entry| entry.to_serde_value()).any(|entry| ours.is(&entry)) {
                list.append(input(&ours.entry(askuser)));
            }
        }
        Ok(written(&root, text))
    }

    /// Returns the settings without askuser's entries, and without the lists that become empty.
    pub(super) fn remove(&self, text: &str) -> Result<String, String> {
        let root = parse(text)?;
        for (table, name, ours) in self.lists() {
            let table = root.object_value().and_then(|settings| settings.object_value(table));
            let Some((table, list)) = table.and_then(|table| Some((table.clone(), table.array_value(name)?))) else {
                continue;
            };
            let entries = list.elements().into_iter();
            let found: Vec<_> =
                entries.filter(|entry| entry.to_serde_value().is_some_and(|entry| ours.is(&entry))).collect();
            let is_emptied = !found.is_empty() && found.len() == list.elements().len();
            found.into_iter().for_each(|entry| entry.remove());
            table.get(name).filter(|_| is_emptied).into_iter().for_each(|list| list.remove());
        }
        Ok(root.to_string())
    }
}

/// An entry of askuser in a list of the settings.
#[derive(Clone, Copy)]
enum Ours {
    Hook(&'static Hook),
    Rule(&'static str),
}

impl Ours {
    fn is(self, entry: &Value) -> bool {
        match self {
            Ours::Hook(hook) => our_command(entry).is_some_and(|(_, flags)| flags == hook.flags),
            Ours::Rule(rule) => entry == rule,
        }
    }

    fn entry(self, askuser: &str) -> Value {
        let hook = match self {
            Ours::Hook(hook) => hook,
            Ours::Rule(rule) => return rule.into(),
        };
        let program = if askuser.contains(' ') { format!("\"{askuser}\"") } else { askuser.to_owned() };
        let mut command = json!({"type": "command", "command": format!("{program} hook{}", hook.flags)});
        hook.timeout.iter().for_each(|timeout| command["timeout"] = (*timeout).into());
        if hook.flags == ANSWERS {
            command["asyncRewake"] = true.into();
        }
        let mut group = hook.matcher.map_or_else(|| json!({}), |matcher| json!({"matcher": matcher}));
        group["hooks"] = json!([command]);
        group
    }
}

/// Returns the program and the flags of askuser's hook in a group; `None` if the group has no such hook.
fn our_command(group: &Value) -> Option<(&str, &str)> {
    let commands = group["hooks"].as_array()?.iter().filter_map(|hook| hook["command"].as_str());
    let split = |command: &'_ str| command.rfind(" hook").map(|at| (at, at + " hook".len()));
    let parts = commands.filter_map(|command| {
        let (at, end) = split(command)?;
        Some((command[..at].trim_matches('"'), &command[end..]))
    });
    let is_ours = |(program, _): &(&str, &str)| *program == SERVER || program.ends_with("/askuser");
    parts.into_iter().find(is_ours)
}

/// Returns the program of askuser's hook in a group; `None` if the group has no such hook.
pub(super) fn our_program(group: &Value) -> Option<&str> {
    our_command(group).map(|(program, _)| program)
}

/// Returns the text of the edited file. A file that was empty before gets a line end.
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
