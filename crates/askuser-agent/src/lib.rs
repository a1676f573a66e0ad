//! Runs a model with tools; pauses on a question to a person, and continues with the answer.
//!
//! ```text
//! Agent::run ──▶ turn: Model ─▶ tool calls ─▶ permission ─▶ Tool::run(call, ToolContext) ─▶ results ─┐
//!                  ▲                                            └ ctx.ask ─▶ Asker (a person)         │
//!                  └──────────────────────────── transcript ◀─────────────────────────────────────────┘
//! ```
//!
//! The loop looks at the conversation to see what comes next, so going on after a crash is the same as going on after a
//! tool. Whatever must survive is in the [`Transcript`] before it is acted on. Nothing here prints or knows a terminal.
//!
//! ```
//! use askuser::policy::{Answers, Policy};
//! use askuser_agent::{Agent, AgentEvent, Script, tools};
//! use futures_util::StreamExt;
//! use std::sync::Arc;
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! // A model that follows a script; `provider::connect("anthropic/NAME", …)` gives a real one.
//! let model = Script::parse(r#"{"turns": [
//!     {"calls": [{"name": "AskUserQuestion", "input": {"questions": [{
//!         "question": "Which database?", "header": "Database", "multiSelect": false, "options": [
//!             {"label": "PostgreSQL", "description": "A server"}, {"label": "SQLite", "description": "A file"}]}]}}]},
//!     {"if": "Selected: SQLite", "text": "SQLite it is."}
//! ]}"#)?;
//! // Answers written beforehand; `askuser_terminal::TerminalAsker` asks a person.
//! let answers = Answers::parse(&serde_json::json!({"Database": "SQLite"}))?;
//! let asker = Policy { answers: Some(answers), headless: None };
//! let mut agent = Agent::new(model).with_tools(tools::talking()).with_asker(Arc::new(asker));
//! let events: Vec<AgentEvent> = agent.run("Set up storage").collect().await;
//! assert_eq!(events.last(), Some(&AgentEvent::Done { text: "SQLite it is.".into() }));
//! # Ok(())
//! # }
//! ```

#![cfg_attr(docsrs, feature(doc_cfg))]

mod agent;
mod asking;
pub mod atomic_file;
mod attachment;
mod calls;
mod command_prefix;
mod compaction;
mod context;
mod conversation;
mod event;
mod event_channel;
mod halting;
mod message;
mod model;
mod own_command;
mod permission;
mod permission_rules;
#[cfg(feature = "providers")]
#[cfg_attr(docsrs, doc(cfg(feature = "providers")))]
pub mod provider;
pub mod regular_file;
mod repetition;
mod sandbox;
mod script;
mod secrets;
mod shared;
pub mod shared_file;
mod tool;
mod tool_input;
pub mod tools;
mod transcript;
mod truncated_call;
mod turn;
mod undo;

pub use agent::Agent;
pub use attachment::{ATTACHED, as_written, files_below};
pub use command_prefix::{NotPlain, Prefixes};
pub use context::ContextUse;
pub use conversation::{AgentEvents, AgentHandle};
pub use event::{AgentEvent, Failure, FailureKind, QuestionOutcome, Usage};
pub use event_channel::Run;
pub use message::{Block, CallResult, Message, ToolCall};
pub use model::{Model, ModelError, ModelEvent, ModelRequest, RecordedModel, ResponseStream};
pub use own_command::OWN_COMMAND;
pub use permission::{Allowed, PermissionMode, Permissions};
pub use permission_rules::{AllowedRule, PermissionRule, PermissionRules, Scope};
pub use sandbox::{Sandbox, SandboxSettings};
pub use script::{Script, ScriptError};
pub use secrets::Secrets;
/// Stops a [`Run`] from anywhere, and tells a tool that its turn is stopped.
pub use tokio_util::sync::CancellationToken;
pub use tool::{
    Access, Consent, Registry, ResultMetadata, Running, Stop, Tool, ToolContext, ToolDefinition, ToolResult,
};
pub use transcript::{Entry, Halt, Session, Transcript, TranscriptError, Verbatim};
pub use undo::{FileDiff, UndoError, Undone, UndoneState};
