//! The built-in tools, one file each, and their common parts.
//!
//! `confined_path` and `folder` control access, `file_change` applies changes, `process` runs commands, and `walk`
//! lists files.

mod ask_user;
mod bash;
mod blocking;
mod confined_path;
mod edit;
pub(crate) mod exit_plan_mode;
pub(crate) mod file_change;
mod folder;
mod glob;
mod grep;
mod head_tail;
mod ignore_rules;
mod live_output;
mod output_file;
mod process;
mod read;
mod seen_files;
mod sensitive;
mod task;
#[cfg(test)]
pub(crate) mod test_fixtures;
mod utf8;
pub(crate) mod walk;
mod write;

pub use ask_user::AskUserQuestion;
pub use bash::Bash;
pub(crate) use bash::run_command;
pub(crate) use confined_path::{ConfinedPath, resolve_links_with};
pub use edit::Edit;
pub use exit_plan_mode::{ExitPlanMode, plan_question};
pub(crate) use folder::Opened;
pub use glob::Glob;
pub use grep::Grep;
pub use process::STARTED_BY_AGENT;
pub use read::Read;
pub(crate) use seen_files::{SeenFiles, digest};
pub use task::Task;
pub use write::Write;

use crate::tool::{Registry, ToolDefinition};
use serde_json::{Value, json};

/// Returns a registry with all built-in tools.
pub fn all() -> Registry {
    talking().with(Read).with(Glob).with(Grep).with(Edit).with(Write).with(Bash::default())
}

/// Returns a registry with the tools that need no file system: asking, planning and subagents.
pub fn talking() -> Registry {
    Registry::new().with(AskUserQuestion::default()).with(ExitPlanMode).with(Task)
}

/// Creates the definition of a built-in tool from its description file and the properties of its input.
fn built_in(name: &str, description: &str, properties: Value, required: &[&str]) -> ToolDefinition {
    let schema = json!({"type": "object", "properties": properties, "required": required});
    ToolDefinition::new(name, description.trim_ascii_end(), schema)
}

fn s(count: usize) -> &'static str {
    if count == 1 { "" } else { "s" }
}
