//! Runs a model with tools, pauses on a question to a person, and continues with the answer.
//!
//! ```text
//! Agent::run ──▶ turn: Model ─▶ tool calls ─▶ permission ─▶ Tool::run(call, ToolContext) ─▶ results ─┐
//!                  ▲                                            └ ctx.ask ─▶ Asker (a person)         │
//!                  └──────────────────────────── transcript ◀─────────────────────────────────────────┘
//! ```
//!
//! The loop derives the next step from the conversation. A resume after a crash therefore takes the same path as the
//! step after a tool. All state that must survive a crash is in the [`Transcript`] before it takes effect. The crate
//! writes no output and uses no terminal. The documentation of [`Agent`] has an example.

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
mod message;
mod model;
mod permission;
mod permission_rules;
#[cfg(feature = "providers")]
#[cfg_attr(docsrs, doc(cfg(feature = "providers")))]
pub mod provider;
mod skipped_calls;
mod user_command;
// The sandbox needs bubblewrap, which only Linux has.
mod agent_context;
#[cfg_attr(not(target_os = "linux"), allow(dead_code))]
mod sandbox;
mod script;
mod secrets;
pub mod shared_file;
mod text_call;
mod tool;
mod tool_input;
pub mod tools;
mod transcript;
mod truncated_call;
mod turn;
mod undo;

pub use agent::Agent;
pub use askuser_sys::regular_file;
pub use attachment::{ATTACHED, as_written, attached_files, files_below};
pub use context::ContextUse;
pub use conversation::{AgentEvents, AgentHandle};
pub use event::{AgentEvent, Failure, FailureKind, QuestionOutcome, Usage};
pub use event_channel::Run;
pub use message::{Block, CallResult, Message, ToolCall};
pub use model::{Model, ModelError, ModelEvent, ModelRequest, RecordedModel, ResponseStream};
pub use permission::{Allowed, PermissionMode, Permissions};
pub use permission_rules::{AllowedRule, PermissionRule, PermissionRules, Scope};
pub use sandbox::{Sandbox, SandboxSettings, check_kept};
pub use script::{Script, ScriptError};
pub use secrets::Secrets;
/// A token that stops a [`Run`]. It also tells a tool that its turn is being stopped.
pub use tokio_util::sync::CancellationToken;
pub use tool::{
    Access, Consent, Registry, ResultMetadata, Running, Stop, Tool, ToolContext, ToolDefinition, ToolResult,
};
pub use transcript::{Session, Transcript, TranscriptError};
pub use undo::{FileDiff, UndoError, Undone, UndoneState};
pub use user_command::USER_COMMAND;
