//! The seam to a model: a conversation goes in, what the model says and calls comes out as it is written.

use crate::event::{Failure, FailureKind, Usage};
use crate::message::{Block, Message, ToolCall};
use crate::tool::ToolDefinition;
use futures_util::Stream;
use std::pin::Pin;
use std::time::Duration;

/// Something that answers conversations.
pub trait Model: Send + Sync {
    /// How it is chosen: `provider/name`.
    fn name(&self) -> String;

    /// Answers. The stream ends when the answer is whole, or with an error. Dropping it gives the answer up. It is made
    /// once: whoever calls decides whether to try again.
    fn respond<'a>(&'a self, request: ModelRequest<'a>) -> Responding<'a>;
}

/// An answer as it is written.
pub type Responding<'a> = Pin<Box<dyn Stream<Item = Result<ModelEvent, ModelError>> + Send + 'a>>;

/// What is asked of a model.
#[derive(Clone, Copy, Debug)]
pub struct ModelRequest<'a> {
    /// What it is told about its task.
    pub system: &'a str,
    /// The conversation.
    pub messages: &'a [Message],
    /// What it may call.
    pub tools: &'a [ToolDefinition],
    /// Which agent speaks: a subagent's description, nothing for the agent the person talks to.
    pub task: Option<&'a str>,
}

/// A part of an answer.
#[derive(Clone, Debug, PartialEq)]
pub enum ModelEvent {
    /// More words. Never cumulative.
    Text(String),
    /// A call, once it is whole.
    Call(ToolCall),
    /// Something opaque that belongs here in the answer; a [`Block::Opaque`].
    Opaque(Block),
    /// What the answer cost so far; the last one counts.
    Usage(Usage),
    /// The words end where the model was not allowed to write on. A call that is cut is an error instead.
    Cut,
}

/// Why there is no answer, or only a part of one.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ModelError {
    /// What sort of failure it is.
    pub kind: ModelErrorKind,
    /// What happened, and what to do about it.
    pub message: String,
    /// When the provider wants to be asked again.
    pub retry_after: Option<Duration>,
}

/// What sort of failure it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum ModelErrorKind {
    Key,
    UnknownModel,
    ContextTooLong,
    /// Too many requests; worth trying again.
    RateLimited,
    /// The provider is overloaded or has failed; worth trying again.
    Overloaded,
    /// The connection failed; worth trying again.
    Network,
    Rejected,
    Protocol,
    Script,
}

impl ModelError {
    /// An error without advice on when to try again.
    pub fn new(kind: ModelErrorKind, message: impl Into<String>) -> ModelError {
        ModelError { kind, message: message.into(), retry_after: None }
    }

    /// Whether the same request may succeed later.
    pub fn is_transient(&self) -> bool {
        matches!(self.kind, ModelErrorKind::RateLimited | ModelErrorKind::Overloaded | ModelErrorKind::Network)
    }
}

impl From<ModelError> for Failure {
    fn from(error: ModelError) -> Failure {
        let kind = match error.kind {
            ModelErrorKind::Key => FailureKind::Key,
            ModelErrorKind::UnknownModel => FailureKind::UnknownModel,
            ModelErrorKind::ContextTooLong => FailureKind::ContextTooLong,
            ModelErrorKind::RateLimited => FailureKind::RateLimited,
            ModelErrorKind::Overloaded => FailureKind::Overloaded,
            ModelErrorKind::Network => FailureKind::Network,
            ModelErrorKind::Rejected => FailureKind::Rejected,
            ModelErrorKind::Protocol => FailureKind::Protocol,
            ModelErrorKind::Script => FailureKind::Script,
        };
        Failure { kind, message: error.message }
    }
}

impl<M: Model + ?Sized> Model for std::sync::Arc<M> {
    fn name(&self) -> String {
        (**self).name()
    }

    fn respond<'a>(&'a self, request: ModelRequest<'a>) -> Responding<'a> {
        (**self).respond(request)
    }
}
