//! Write: creates a file, or replaces its whole content.

use super::blocking;
use super::file_change::{self, Change, Original};
use super::s;
use crate::message::ToolCall;
use crate::tool::{Access, Consent, Running, Tool, ToolContext, ToolDefinition, ToolResult};
use askuser::{Purpose, RequestKey};
use serde::Deserialize;
use serde_json::json;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use tokio_util::sync::CancellationToken;

/// Writes a file.
#[derive(Clone, Debug, Default)]
pub struct Write {
    /// By call, a hash of the content that the user saw when they were asked: they approved replacing that content only.
    seen: Arc<Mutex<VecDeque<(RequestKey, u64)>>>,
}

const NAME: &str = "Write";
/// Older entries are dropped: so many calls are never waiting for permission at the same time.
const MAX_SEEN: usize = 64;

#[derive(Deserialize)]
struct Input<'a> {
    path: &'a str,
    content: &'a str,
}

impl Tool for Write {
    fn definition(&self) -> ToolDefinition {
        ToolDefinition {
            name: NAME.into(),
            description: include_str!("../../prompts/tools/write.txt").trim_ascii_end().into(),
            schema: json!({
                "type": "object",
                "properties": {"path": {"type": "string"}, "content": {"type": "string"}},
                "required": ["path", "content"],
            }),
        }
    }

    fn access(&self) -> Access {
        Access::Act
    }

    fn consent(&self, call: &ToolCall, context: &ToolContext) -> Result<Consent, ToolResult> {
        let change = plan(call, context)?;
        self.remember(
            context.shared.key(&call.id, Purpose::Permission),
            Original::fingerprint(change.original.as_ref()),
        );
        Ok(change.consent(NAME, &change.new_content, context))
    }

    fn run<'a>(&'a self, call: &'a ToolCall, context: &'a ToolContext) -> Running<'a> {
        Box::pin(async move {
            let (tool, own_call, own_context) = (self.clone(), call.clone(), context.clone());
            let work = move |cancel: &CancellationToken| {
                tool.write(&own_call, &own_context, cancel).unwrap_or_else(|rejected| rejected)
            };
            Ok(blocking::run(context, work).await?.unwrap_or_else(|error| error))
        })
    }
}

impl Write {
    fn write(
        &self,
        call: &ToolCall,
        context: &ToolContext,
        cancel: &CancellationToken,
    ) -> Result<ToolResult, ToolResult> {
        let _lock = file_change::change_lock();
        let change = plan(call, context)?;
        let shown = change.path.display();
        let seen = self.recall(&context.shared.key(&call.id, Purpose::Permission));
        if seen.is_some_and(|seen| seen != Original::fingerprint(change.original.as_ref())) {
            return Err(ToolResult::error(format!(
                "{shown} was changed by someone else after permission was asked; nothing was written. Read it again first."
            )));
        }
        change.apply(cancel)?;
        let lines = change.new_content.lines().count();
        let did = if change.original.is_some() { "Replaced" } else { "Created" };
        Ok(change.result(NAME, format!("{did} {shown} ({lines} line{}).", s(lines))))
    }

    fn remember(&self, id: RequestKey, fingerprint: u64) {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        seen.retain(|(other, _)| *other != id);
        seen.push_back((id, fingerprint));
        if seen.len() > MAX_SEEN {
            seen.pop_front();
        }
    }

    fn recall(&self, id: &RequestKey) -> Option<u64> {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let index = seen.iter().position(|(other, _)| other == id)?;
        seen.remove(index).map(|(_, fingerprint)| fingerprint)
    }
}

fn plan(call: &ToolCall, context: &ToolContext) -> Result<Change, ToolResult> {
    let Input { path, content } = call.typed_input()?;
    let path = file_change::target_path(call, path, context)?;
    if content.len() > file_change::MAX_CONTENT {
        let (fact, limit) = (format!("{} bytes", content.len()), format!("at most {}", file_change::MAX_CONTENT));
        return Err(call.invalid_input("content", &fact, &limit));
    }
    let original = file_change::load(&path)?;
    if original.as_ref().is_some_and(|original| original.bytes == content.as_bytes()) {
        let shown = path.display();
        let same = format!("{shown} already has exactly this content; nothing was written.");
        return Err(ToolResult::ok(same).titled(NAME, shown));
    }
    Ok(Change { path, original, new_content: content.to_owned() })
}

#[cfg(all(test, unix))]
#[path = "write_tests.rs"]
mod tests;
