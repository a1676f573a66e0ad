//! Runs a model with tools; pauses on a question to a person, and goes on with the answer.
//!
//! ```text
//! Agent::run ──▶ turn: Model ─▶ tool calls ─▶ permission ─▶ Tool::run(call, ToolContext) ─▶ results ─┐
//!                  ▲                                            └ ctx.ask ─▶ Asker (a person)         │
//!                  └──────────────────────────── transcript ◀─────────────────────────────────────────┘
//! ```
//!
//! The loop looks at the conversation to see what comes next, so going on after a crash is the same as going on after a
//! tool. Whatever must survive is in the [`Transcript`] before it is acted on. Nothing here prints or knows a terminal.

mod agent;
mod event;
mod message;
mod model;
mod permission;
#[cfg(feature = "providers")]
pub mod provider;
mod script;
mod tool;
pub mod tools;
mod transcript;
mod turn;

pub use agent::{Agent, Run};
pub use event::{AgentEvent, Failure, FailureKind, Usage};
pub use message::{Block, CallResult, Message, ToolCall};
pub use model::{Model, ModelError, ModelErrorKind, ModelEvent, ModelRequest, Responding};
pub use permission::{Allowed, Mode, Permissions};
pub use script::{Script, ScriptError};
pub use tool::{Access, Consent, Metadata, Registry, Running, Stop, Tool, ToolContext, ToolDefinition, ToolResult};
pub use transcript::{Entry, Session, Transcript, TranscriptError};
