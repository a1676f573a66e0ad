//! Write, the tool that creates a file or replaces its whole content.

use super::file_change::{self, Change};
use super::s;
use crate::message::ToolCall;
use crate::tool::{Access, Consent, Running, Tool, ToolContext, ToolDefinition, ToolResult};
use askuser::Purpose;
use serde::Deserialize;
use serde_json::json;

/// A tool that writes a file.
#[derive(Clone, Copy, Debug, Default)]
pub struct Write;

const NAME: &str = "Write";

#[derive(Deserialize)]
struct Input<'a> {
    path: &'a str,
    content: &'a str,
}

impl Tool for Write {
    fn definition(&self) -> ToolDefinition {
        super::built_in(
            NAME,
            include_str!("../../prompts/tools/write.txt"),
            json!({"path": {"type": "string"}, "content": {"type": "string"}}),
            &["path", "content"],
        )
    }

    fn access(&self) -> Access {
        Access::Act
    }

    fn consent(&self, call: &ToolCall, context: &ToolContext) -> Result<Consent, ToolResult> {
        plan(call, context)?.consent(NAME, context)
    }

    fn run<'a>(&'a self, call: &'a ToolCall, context: &'a ToolContext) -> Running<'a> {
        Box::pin(file_change::run(NAME, plan, call, context))
    }
}

fn plan(call: &ToolCall, context: &ToolContext) -> Result<Change, ToolResult> {
    let Input { path, content } = call.typed_input()?;
    let path = file_change::target_path(call, path, context)?;
    if content.len() > file_change::MAX_CONTENT {
        let fact = format!("{} bytes", content.len());
        let limit = format!("at most {}", file_change::MAX_CONTENT);
        return Err(call.invalid_input("content", &fact, &limit));
    }
    let original = file_change::load_as_agreed(&path, context)?;
    if original.as_ref().is_some_and(|original| original.bytes == content.as_bytes()) {
        let shown = path.display();
        let same = format!("{shown} already has exactly this content; nothing was written.");
        return Err(ToolResult::ok(same).with_title(NAME, shown));
    }
    let shared = &context.shared;
    // A person who has already seen the diff decides, also after a resume.
    if let Some(original) = &original
        && shared.transcript.question(&shared.tasks, &call.id, Purpose::Permission).is_none()
    {
        shared.seen_files.check(&path, original)?;
    }
    let shown = path.display();
    let lines = content.lines().count();
    let did = if original.is_some() { "Replaced" } else { "Created" };
    let done = format!("{did} {shown} ({lines} line{}).", s(lines));
    Ok(Change { path, original, new_content: content.to_owned(), done })
}

#[cfg(test)]
#[path = "write_tests.rs"]
mod tests;
