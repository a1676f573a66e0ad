//! A temporary folder, a tool context and calls for the tests of the tools.

use crate::agent::Agent;
use crate::event::AgentEvent;
use crate::event_channel::EventSender;
use crate::message::ToolCall;
use crate::script::Script;
use crate::tool::{Consent, Stop, Tool, ToolContext, ToolResult};
use crate::tools::ConfinedPath;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use tempfile::TempDir;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio_util::sync::CancellationToken;

/// A temporary working folder with a context for tools.
pub(crate) struct TestFolder {
    pub(crate) context: ToolContext,
    /// The parent of the working folder. It makes paths outside the working folder possible.
    outer: TempDir,
    events: UnboundedReceiver<AgentEvent>,
}

impl TestFolder {
    pub(crate) fn new() -> TestFolder {
        let outer = tempfile::tempdir().unwrap();
        let cwd = outer.path().canonicalize().unwrap().join("work");
        std::fs::create_dir(&cwd).unwrap();
        let (events, receiver) = EventSender::channel();
        let context = ToolContext {
            cwd,
            allowed: Vec::new(),
            protected: Vec::new(),
            abort: CancellationToken::new(),
            asker: None,
            agreed: None,
            said_before: None,
            shared: Agent::new(Script::default()).shared,
            events,
            is_exclusive: false,
            user_returned: CancellationToken::new(),
        };
        TestFolder { context, outer, events: receiver }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.context.cwd.join(name)
    }

    pub(crate) fn outside(&self, name: &str) -> PathBuf {
        self.outer.path().canonicalize().unwrap().join(name)
    }

    /// Creates a file and records that the model has read it.
    pub(crate) fn with_file(self, name: &str, content: impl AsRef<[u8]>) -> TestFolder {
        let call = call(&super::Read, json!({"path": name}));
        if let Ok(path) = ConfinedPath::resolve(&call, name, &self.context) {
            self.context.shared.seen_files.has_read(&path, crate::tools::digest(content.as_ref()));
        }
        write(&self.path(name), content);
        self
    }

    pub(crate) fn text(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap()
    }

    /// Returns the events since the previous call.
    pub(crate) fn events(&mut self) -> Vec<AgentEvent> {
        std::iter::from_fn(|| self.events.try_recv().ok()).collect()
    }

    /// Runs a tool without asking for permission.
    pub(crate) async fn run(&self, tool: &impl Tool, input: Value) -> ToolResult {
        self.try_run(tool, input).await.unwrap()
    }

    pub(crate) async fn try_run(&self, tool: &impl Tool, input: Value) -> Result<ToolResult, Stop> {
        let mut result = tool.run(&call(tool, input), &self.context).await?;
        // The records of seen files would disturb every comparison.
        if let Some(metadata) = &mut result.metadata {
            let seen = metadata.details.as_mut().and_then(|details| details.as_object_mut()?.remove("seen"));
            metadata.details.take_if(|details| seen.is_some() && *details == json!({}));
        }
        Ok(result)
    }

    /// Sets the context as if the person had agreed to this call.
    pub(crate) fn agree(mut self, tool: &impl Tool, input: Value) -> TestFolder {
        self.context.agreed = self.consent(tool, input).unwrap().agreed;
        self
    }

    pub(crate) fn consent(&self, tool: &impl Tool, input: Value) -> Result<Consent, ToolResult> {
        tool.consent(&call(tool, input), &self.context)
    }
}

pub(crate) fn call(tool: &impl Tool, input: Value) -> ToolCall {
    ToolCall { id: "call_1".into(), name: tool.definition().name, input, extra: None }
}

pub(crate) fn write(path: &Path, content: impl AsRef<[u8]>) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, content).unwrap();
}
