//! The interface to a language model: a conversation goes in, text and tool calls are streamed out.

use crate::event::{Failure, FailureKind, Usage};
use crate::message::{Block, Message, ToolCall};
use crate::tool::ToolDefinition;
use futures_util::Stream;
use serde::{Deserialize, Serialize};
use std::pin::Pin;
use std::time::Duration;

/// A language model.
///
/// ```
/// use askuser_agent::{Agent, AgentEvent, Message, Model, ModelEvent, ModelRequest, ResponseStream};
/// use futures_util::{StreamExt, stream};
///
/// /// Repeats the last message.
/// struct Echo;
///
/// impl Model for Echo {
///     fn name(&self) -> String {
///         "echo".into()
///     }
///
///     fn respond<'a>(&'a self, request: ModelRequest<'a>) -> ResponseStream<'a> {
///         let said = match request.messages.last() {
///             Some(Message::User { text }) => text.clone(),
///             _ => "Nothing.".into(),
///         };
///         Box::pin(stream::iter([Ok(ModelEvent::Text(said))]))
///     }
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// let events: Vec<AgentEvent> = Agent::new(Echo).run("Hello").collect().await;
/// assert_eq!(events.last(), Some(&AgentEvent::Done { text: "Hello".into() }));
/// # }
/// ```
pub trait Model: Send + Sync {
    /// The name, as in `provider/name`.
    fn name(&self) -> String;

    /// The part that a session stores, to continue with the same model. `None` without a provider, as for a script.
    fn recorded(&self) -> Option<RecordedModel> {
        None
    }

    /// The maximum number of tokens of a conversation, if known.
    fn context_window(&self) -> Option<u64> {
        None
    }

    /// Makes one request. The stream ends when the response is complete, or with an error; dropping it cancels the
    /// request. Implementations do not retry: the loop does.
    fn respond<'a>(&'a self, request: ModelRequest<'a>) -> ResponseStream<'a>;
}

/// A model as a session stores it. The address is not stored: keys go only to addresses from the user's settings.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct RecordedModel {
    /// `provider/name`.
    pub name: String,
    /// Whether the address came from the user's settings.
    #[serde(default)]
    pub at_custom_address: bool,
}

impl RecordedModel {
    /// `provider/name`, at the provider's own address or at the user's.
    pub fn new(name: impl Into<String>, at_custom_address: bool) -> RecordedModel {
        RecordedModel { name: name.into(), at_custom_address }
    }
}

/// A streamed response.
pub type ResponseStream<'a> = Pin<Box<dyn Stream<Item = Result<ModelEvent, ModelError>> + Send + 'a>>;

/// A request to a model.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct ModelRequest<'a> {
    /// The system prompt.
    pub system: &'a str,
    /// The conversation so far.
    pub messages: &'a [Message],
    /// The tools it may call.
    pub tools: &'a [ToolDefinition],
    /// The description of the subagent that makes the request; `None` for the main agent.
    pub task: Option<&'a str>,
}

impl<'a> ModelRequest<'a> {
    /// A request of the main agent.
    pub fn new(system: &'a str, messages: &'a [Message], tools: &'a [ToolDefinition]) -> ModelRequest<'a> {
        ModelRequest { system, messages, tools, task: None }
    }
}

/// A part of a streamed response.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum ModelEvent {
    /// A text delta.
    Text(String),
    /// A part of its reasoning, in words for people.
    Thought(String),
    /// A complete tool call.
    Call(ToolCall),
    /// A [`Block::Opaque`], at its position in the response.
    Opaque(Block),
    /// Token usage so far; the last one is final.
    Usage(Usage),
    /// The text ends at the token limit.
    Truncated,
    /// A tool call that the token limit truncated, with its input so far. It does not run; the model learns why.
    TruncatedCall(ToolCall),
}

/// The error of a failed request or an incomplete response.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
#[non_exhaustive]
pub struct ModelError {
    /// The kind of failure.
    pub kind: FailureKind,
    /// The message and the remedy.
    pub message: String,
    /// The pause before a retry that the provider asks for.
    pub retry_after: Option<Duration>,
    /// The maximum number of tokens of a conversation, if the error states it.
    pub context_window: Option<u64>,
    /// The maximum number of retries, if lower than usual.
    pub max_retries: Option<u32>,
}

impl ModelError {
    /// An error without a retry delay.
    pub fn new(kind: FailureKind, message: impl Into<String>) -> ModelError {
        ModelError { kind, message: message.into(), retry_after: None, context_window: None, max_retries: None }
    }

    /// The error, with a retry after this long.
    pub fn with_retry_after(self, retry_after: Duration) -> ModelError {
        ModelError { retry_after: Some(retry_after), ..self }
    }

    /// The error, with at most this many retries.
    pub fn with_max_retries(self, max_retries: u32) -> ModelError {
        ModelError { max_retries: Some(max_retries), ..self }
    }

    /// Whether a retry of the same request may succeed.
    pub fn is_transient(&self) -> bool {
        matches!(self.kind, FailureKind::RateLimited | FailureKind::Overloaded | FailureKind::Network)
    }
}

impl From<ModelError> for Failure {
    fn from(error: ModelError) -> Failure {
        Failure { kind: error.kind, message: error.message }
    }
}

impl<M: Model + ?Sized> Model for std::sync::Arc<M> {
    fn name(&self) -> String {
        (**self).name()
    }

    fn recorded(&self) -> Option<RecordedModel> {
        (**self).recorded()
    }

    fn context_window(&self) -> Option<u64> {
        (**self).context_window()
    }

    fn respond<'a>(&'a self, request: ModelRequest<'a>) -> ResponseStream<'a> {
        (**self).respond(request)
    }
}
