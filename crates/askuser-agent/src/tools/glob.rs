//! Glob, the tool that finds files by name, in path order.

use super::blocking::{self, TIMED_OUT};
use super::confined_path::{self, ConfinedPath};
use super::folder::Opened;
use super::s;
use super::walk::{self, Pattern};
use crate::message::ToolCall;
use crate::tool::{Access, Running, Tool, ToolContext, ToolDefinition, ToolResult};
use crate::tool_input;
use serde::Deserialize;
use serde_json::json;
use std::ops::ControlFlow;
use tokio_util::sync::CancellationToken;

/// A tool that finds files by name.
#[derive(Clone, Copy, Debug, Default)]
pub struct Glob;

const NAME: &str = "Glob";
const MAX_FILES: usize = 200;
const NO_MATCHES: &str = "No files match. Ignored files are not searched, hidden ones only if the pattern names them.";

impl Tool for Glob {
    fn definition(&self) -> ToolDefinition {
        super::built_in(
            NAME,
            include_str!("../../prompts/tools/glob.txt"),
            json!({
                "pattern": {"type": "string"},
                "path": {"type": "string", "description": "Folder to search; default the working folder"},
            }),
            &["pattern"],
        )
    }

    fn access(&self) -> Access {
        Access::Read
    }

    fn run<'a>(&'a self, call: &'a ToolCall, context: &'a ToolContext) -> Running<'a> {
        let work = |(path, pattern): (ConfinedPath, Pattern), cancel: &CancellationToken| find(&path, &pattern, cancel);
        Box::pin(blocking::run_parsed(NAME, context, parse(call, context), work))
    }
}

#[derive(Deserialize)]
struct Input<'a> {
    pattern: &'a str,
    #[serde(default, borrow, deserialize_with = "tool_input::text")]
    path: Option<&'a str>,
}

fn parse(call: &ToolCall, context: &ToolContext) -> Result<((ConfinedPath, Pattern), String), ToolResult> {
    let Input { pattern: text, path } = call.typed_input()?;
    let pattern = Pattern::parse(text).map_err(|why| call.invalid_input("pattern", text, &why))?;
    Ok(((ConfinedPath::resolve(call, path.unwrap_or("."), context)?, pattern), text.to_owned()))
}

fn find(path: &ConfinedPath, pattern: &Pattern, cancel: &CancellationToken) -> ToolResult {
    let shown = path.display();
    match path.open() {
        Ok(Opened::Folder(_)) => {}
        Ok(Opened::Missing) => return ToolResult::error(format!("path: {shown} does not exist")),
        Ok(Opened::File(..) | Opened::Other) => return ToolResult::error(format!("path: {shown} is not a folder")),
        Err(error) => return confined_path::path_error(&shown, "cannot be searched", &error),
    }
    let mut output = String::new();
    let mut count = 0;
    walk::files(&path.absolute(), Some(pattern), cancel, |below, _| {
        count += 1;
        if count <= MAX_FILES {
            output.push_str(&format!("{}\n", path.display_below(below)));
        }
        ControlFlow::Continue(())
    });
    if count > MAX_FILES {
        let more = count - MAX_FILES;
        output.push_str(&format!("({more} more file{}; narrow the pattern or path)\n", s(more)));
    }
    if cancel.is_cancelled() {
        output.push_str(&format!("({TIMED_OUT})\n"));
        return ToolResult::ok(output);
    }
    if count == 0 {
        output.push_str(NO_MATCHES);
    }
    ToolResult::ok(output).with_details(json!({"files": count}))
}

// The paths in these tests have the format of Unix.
#[cfg(all(test, unix))]
#[path = "glob_tests.rs"]
mod tests;
