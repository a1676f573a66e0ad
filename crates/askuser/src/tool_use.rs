//! A call of another agent's tool, and its display.
//!
//! A person agrees to the input, which is stored unchanged. The displayed parts are renderings of the input: the
//! command, the plan, the diff of an edit, and a table of the remaining fields.

use crate::request::Context;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// A tool call that waits for permission.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ToolUse {
    tool: String,
    input: Map<String, Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    change: Option<FileChange>,
}

/// The change that an edit makes to one file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FileChange {
    /// The display path of the file: relative inside the project.
    pub path: String,
    /// Whether the edit creates the file.
    pub is_new: bool,
    /// The number of added lines.
    pub added: usize,
    /// The number of removed lines.
    pub removed: usize,
    /// The change as a unified diff.
    pub diff: String,
}

impl FileChange {
    /// Returns the question for permission, such as `Edit src/retry.rs (+2 −1)?` or `Create src/backoff.rs (+6)?`.
    pub fn title(&self) -> String {
        let FileChange { path, added, removed, .. } = self;
        if self.is_new { format!("Create {path} (+{added})?") } else { format!("Edit {path} (+{added} −{removed})?") }
    }
}

/// The tools with a special rendering, each with the input fields that the rendering contains.
const COMMAND: (&str, &str) = ("Bash", "command");
const PLAN: (&str, &str) = ("ExitPlanMode", "plan");
const FETCH: (&str, &str) = ("WebFetch", "url");
const EDITS: [(&str, &[&str]); 4] = [
    ("Edit", &["file_path", "old_string", "new_string", "replace_all"]),
    ("MultiEdit", &["file_path", "edits"]),
    ("Write", &["file_path", "content"]),
    ("NotebookEdit", &["notebook_path", "new_source"]),
];

/// Returns the names of other agents' tools with a special rendering. These names are headers of permissions.
pub(crate) fn known_tools<'a>() -> impl Iterator<Item = &'a str> {
    [COMMAND.0, PLAN.0, FETCH.0].into_iter().chain(EDITS.iter().map(|(tool, _)| *tool))
}

/// The maximum width of a field name that has its value beside it.
const MAX_NAME: usize = 20;

impl ToolUse {
    /// Creates a call with its complete input.
    pub fn new(tool: impl Into<String>, input: Map<String, Value>) -> ToolUse {
        ToolUse { tool: tool.into(), input, change: None }
    }

    /// Adds the change that the call makes to a file.
    #[must_use]
    pub fn with_change(self, change: impl Into<Option<FileChange>>) -> ToolUse {
        ToolUse { change: change.into(), ..self }
    }

    /// The name of the tool.
    pub fn tool(&self) -> &str {
        &self.tool
    }

    /// The input of the call, unchanged.
    pub fn input(&self) -> &Map<String, Value> {
        &self.input
    }

    pub(crate) fn command(&self) -> Option<&str> {
        self.field(COMMAND)
    }

    /// Returns the question for permission, with the changed file or the address if known.
    pub(crate) fn question(&self) -> String {
        let tool = &self.tool;
        match (&self.change, self.field(FETCH)) {
            (Some(change), _) => change.title(),
            (None, Some(address)) if address.chars().count() <= MAX_ADDRESS => format!("Fetch {address}?"),
            _ if self.command().is_some() => "Run this command?".to_owned(),
            _ if self.field(PLAN).is_some() => "Approve this plan?".to_owned(),
            _ => format!("Run {tool} with this input?"),
        }
    }

    /// Returns the special rendering, if there is one, then a table of the remaining fields.
    pub(crate) fn parts(&self) -> Vec<Context> {
        let (main, contained): (Option<Context>, &[&str]) = match (&self.change, self.command(), self.field(PLAN)) {
            (Some(change), ..) => (Some(Context::Diff(change.diff.clone())), self.contained_in_diff()),
            (None, Some(command), _) => (Some(Context::Command(command.to_owned())), &[COMMAND.1]),
            (None, None, Some(plan)) => (Some(Context::Prose(plan.to_owned())), &[PLAN.1]),
            (None, None, None) => (None, &[]),
        };
        let rest: Vec<_> = self.input.iter().filter(|(name, _)| !contained.contains(&name.as_str())).collect();
        let table = (!rest.is_empty() || main.is_none()).then(|| Context::ToolInput(table(&rest)));
        main.into_iter().chain(table).collect()
    }

    fn contained_in_diff(&self) -> &'static [&'static str] {
        EDITS.iter().find(|(tool, _)| *tool == self.tool).map_or(&[], |(_, contained)| contained)
    }

    fn field(&self, (tool, field): (&str, &str)) -> Option<&str> {
        self.input.get(field)?.as_str().filter(|_| self.tool == tool)
    }
}

/// The maximum length of an address in a question. A longer address appears only in the table.
const MAX_ADDRESS: usize = 200;

/// Formats fields as a table. The values have a separate column, so that no value can pass for a field.
fn table(fields: &[(&String, &Value)]) -> String {
    if fields.is_empty() {
        return "{}".to_owned();
    }
    let is_plain = |name: &str| !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || "_-.$".contains(c));
    let quoted = |name: &str| if is_plain(name) { name.to_owned() } else { Value::from(name).to_string() };
    let chars = |name: &str| name.chars().count();
    let fields: Vec<(String, &Value)> = fields.iter().map(|(name, value)| (quoted(name), *value)).collect();
    let widths = fields.iter().map(|(name, _)| chars(name)).filter(|width| *width <= MAX_NAME);
    let indent = widths.max().unwrap_or(0) + 2;
    let mut lines = Vec::new();
    for (mut name, value) in fields {
        if chars(&name) > indent - 2 {
            lines.push(std::mem::take(&mut name));
        }
        for line in value_text(value).split('\n') {
            let name = std::mem::take(&mut name);
            lines.push(format!("{name}{}{line}", " ".repeat(indent - chars(&name))));
        }
    }
    lines.join("\n")
}

/// Returns the display of a value: a text with its own line breaks, any other value as JSON. A text that reads like
/// JSON is quoted to distinguish it.
fn value_text(value: &Value) -> String {
    match value {
        Value::String(text) if serde_json::from_str::<Value>(text).is_err() && !text.is_empty() => text.clone(),
        Value::Array(_) | Value::Object(_) => format!("{value:#}"),
        value => value.to_string(),
    }
}

#[cfg(test)]
#[path = "tool_use_tests.rs"]
mod tests;
