//! Write: a file as a whole, new or in place of what was there.

use super::change::{self, Before, Change};
use super::input::{Fields, refuse};
use super::s;
use crate::message::ToolCall;
use crate::tool::{Access, Consent, Running, Tool, ToolContext, ToolDefinition, ToolResult};
use serde_json::json;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

/// Writes a file.
#[derive(Clone, Debug, Default)]
pub struct Write {
    /// What stood there when the person was asked, by call. They agreed to replace that and nothing else.
    seen: Arc<Mutex<VecDeque<(String, u64)>>>,
}

const NAME: &str = "Write";
/// More calls than this never wait for permission at the same time.
const MOST_SEEN: usize = 64;

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
        self.remember(context.shared.public_id(&call.id), Before::fingerprint(change.before.as_ref()));
        Ok(change.consent(NAME, &change.after, context))
    }

    fn run<'a>(&'a self, call: &'a ToolCall, context: &'a ToolContext) -> Running<'a> {
        Box::pin(async move { Ok(self.write(call, context).unwrap_or_else(|refused| refused)) })
    }
}

impl Write {
    fn write(&self, call: &ToolCall, context: &ToolContext) -> Result<ToolResult, ToolResult> {
        let _turn = change::turn();
        let change = plan(call, context)?;
        let shown = change.place.shown();
        let seen = self.recall(&context.shared.public_id(&call.id));
        if seen.is_some_and(|seen| seen != Before::fingerprint(change.before.as_ref())) {
            return Err(ToolResult::error(format!(
                "{shown} was changed by somebody else after permission was asked; nothing was written. Read it again first."
            )));
        }
        change.apply()?;
        let lines = change.after.lines().count();
        let did = if change.before.is_some() { "Replaced" } else { "Created" };
        Ok(change.result(NAME, format!("{did} {shown} ({lines} line{}).", s(lines))))
    }

    fn remember(&self, id: String, fingerprint: u64) {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        seen.retain(|(other, _)| *other != id);
        seen.push_back((id, fingerprint));
        if seen.len() > MOST_SEEN {
            seen.pop_front();
        }
    }

    fn recall(&self, id: &str) -> Option<u64> {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let at = seen.iter().position(|(other, _)| other == id)?;
        seen.remove(at).map(|(_, fingerprint)| fingerprint)
    }
}

fn plan(call: &ToolCall, context: &ToolContext) -> Result<Change, ToolResult> {
    let fields = Fields::of(call)?;
    let place = change::place(call, fields.text("path")?, context)?;
    let content = fields.text("content")?;
    if content.len() > change::MOST_CONTENT {
        let (fact, limit) = (format!("{} bytes", content.len()), format!("at most {}", change::MOST_CONTENT));
        return Err(refuse(call, "content", &fact, &limit));
    }
    let before = change::load(&place)?;
    if before.as_ref().is_some_and(|before| before.bytes == content.as_bytes()) {
        let shown = place.shown();
        let same = format!("{shown} already has exactly this content; nothing had to be written.");
        return Err(ToolResult::ok(same).titled(NAME, shown));
    }
    Ok(Change { place, before, after: content.to_owned() })
}

#[cfg(all(test, unix))]
#[path = "write_tests.rs"]
mod tests;
