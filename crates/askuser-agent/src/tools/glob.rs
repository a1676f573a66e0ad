//! Glob: files by name, in path order.

use super::background::{self, OUT_OF_TIME};
use super::folder::Thing;
use super::input::{Fields, refuse};
use super::paths::{self, Place};
use super::s;
use super::walk::{self, Next, Pattern};
use crate::message::ToolCall;
use crate::tool::{Access, Running, Tool, ToolContext, ToolDefinition, ToolResult};
use serde_json::json;
use tokio_util::sync::CancellationToken;

/// Finds files by name.
#[derive(Clone, Copy, Debug, Default)]
pub struct Glob;

const NAME: &str = "Glob";
const MOST_FILES: usize = 200;
const NONE: &str = "No files match. Ignored files are not looked at, hidden ones only if the pattern names them.";

impl Tool for Glob {
    fn definition(&self) -> ToolDefinition {
        ToolDefinition {
            name: NAME.into(),
            description: include_str!("../../prompts/tools/glob.txt").trim_ascii_end().into(),
            schema: json!({
                "type": "object",
                "properties": {
                    "pattern": {"type": "string"},
                    "path": {"type": "string", "description": "Folder to search; default the working folder"},
                },
                "required": ["pattern"],
            }),
        }
    }

    fn access(&self) -> Access {
        Access::Read
    }

    fn run<'a>(&'a self, call: &'a ToolCall, context: &'a ToolContext) -> Running<'a> {
        Box::pin(async move {
            let (place, pattern, text) = match parse(call, context) {
                Ok(parsed) => parsed,
                Err(refused) => return Ok(refused),
            };
            let result = background::run(context, move |stopped| find(&place, &pattern, stopped)).await?;
            Ok(result.unwrap_or_else(|broken| broken).titled(NAME, text))
        })
    }
}

fn parse<'a>(call: &'a ToolCall, context: &ToolContext) -> Result<(Place, Pattern, &'a str), ToolResult> {
    let fields = Fields::of(call)?;
    let text = fields.text("pattern")?;
    let pattern = Pattern::parse(text).map_err(|why| refuse(call, "pattern", text, &why))?;
    Ok((Place::of(call, fields.optional_text("path")?.unwrap_or("."), context)?, pattern, text))
}

fn find(place: &Place, pattern: &Pattern, stopped: &CancellationToken) -> ToolResult {
    let shown = place.shown();
    match place.thing() {
        Ok(Thing::Folder(_)) => {}
        Ok(Thing::Nothing) => return ToolResult::error(format!("path: {shown} does not exist")),
        Ok(Thing::File(..) | Thing::Other) => return ToolResult::error(format!("path: {shown} is not a folder")),
        Err(error) => return paths::failure(&shown, "cannot be searched", &error),
    }
    let mut output = String::new();
    let mut count = 0;
    walk::files(&place.real(), Some(pattern), stopped, |below, _| {
        count += 1;
        if count <= MOST_FILES {
            output.push_str(&format!("{}\n", place.below(below)));
        }
        Next::Continue
    });
    if count > MOST_FILES {
        let more = count - MOST_FILES;
        output.push_str(&format!("({more} more file{}; narrow the pattern or path)\n", s(more)));
    }
    if stopped.is_cancelled() {
        output.push_str(&format!("({OUT_OF_TIME})\n"));
    } else if count == 0 {
        output.push_str(NONE);
    }
    ToolResult::ok(output)
}

#[cfg(all(test, unix))]
#[path = "glob_tests.rs"]
mod tests;
