//! The interface to a language model. A request has the conversation, and the response is a stream of text and tool
//! calls.

use crate::event::{Failure, FailureKind, Usage};
use crate::message::{Block, Message, ToolCall};
use crate::tool::ToolDefinition;
use futures_util::Stream;
use serde::{Deserialize, Serialize};
use std::pin::Pin;
use std::time::Duration;

/// A language model that responds to a conversation.
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
    /// Returns the name of the model, as in `provider/name`.
    fn name(&self) -> String;

    /// Returns the data that a session stores in order to continue with the same model. `None` if the model has no
    /// provider, as for a script.
    fn recorded(&self) -> Option<RecordedModel> {
        None
    }

    /// Returns the maximum number of tokens of a conversation; `None` if it is unknown.
    fn context_window(&self) -> Option<u64> {
        None
    }

    /// Makes one request. The stream ends when the response is complete, or with an error. Dropping the stream cancels
    /// the request.
    ///
    /// Implementations must not retry, because the agent retries.
    fn respond<'a>(&'a self, request: ModelRequest<'a>) -> ResponseStream<'a>;
}

/// A model as a session stores it. The address is not stored, because keys go only to addresses from the user's
/// settings.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct RecordedModel {
    /// The name of the provider and of the model, as in `provider/name`.
    pub name: String,
    /// Whether the address came from the user's settings.
    #[serde(default)]
    pub at_custom_address: bool,
}

impl RecordedModel {
    /// Creates a record of a model. `name` has the form `provider/name`.
    pub fn new(name: impl Into<String>, at_custom_address: bool) -> RecordedModel {
        RecordedModel { name: name.into(), at_custom_address }
    }
}

/// The stream of a model's response to one request.
pub type ResponseStream<'a> = Pin<Box<dyn Stream<Item = Result<ModelEvent, ModelError>> + Send + 'a>>;

/// A request to a model for the next message.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct ModelRequest<'a> {
    /// The system prompt of the agent.
    pub system: &'a str,
    /// The conversation so far, oldest message first.
    pub messages: &'a [Message],
    /// The tools that the model may call.
    pub tools: &'a [ToolDefinition],
    /// The description of the subagent that makes the request; `None` for the main agent.
    pub task: Option<&'a str>,
}

impl<'a> ModelRequest<'a> {
    /// Creates a request of the main agent.
    pub fn new(system: &'a str, messages: &'a [Message], tools: &'a [ToolDefinition]) -> ModelRequest<'a> {
        ModelRequest { system, messages, tools, task: None }
    }
}

/// A part of a streamed response.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum ModelEvent {
    /// A part of the response's text.
    Text(String),
    /// A part of the model's reasoning, which is for people.
    Thought(String),
    /// A complete tool call.
    Call(ToolCall),
    /// A [`Block::Opaque`], at its position in the response.
    Opaque(Block),
    /// The token counts so far. The last ones are final.
    Usage(Usage),
    /// The text is incomplete, because the response reached its token limit.
    Truncated,
    /// A tool call that is incomplete, because the response reached its token limit. The call does not run, and the
    /// model learns why.
    TruncatedCall(ToolCall),
}

/// The error of a failed request or an incomplete response.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
#[non_exhaustive]
pub struct ModelError {
    /// The kind of failure.
    pub kind: FailureKind,
    /// The description of the error and its remedy.
    pub message: String,
    /// The pause before a retry that the provider asks for; `None` if it asks for none.
    pub retry_after: Option<Duration>,
    /// The maximum number of tokens of a conversation; `None` if the error does not state it.
    pub context_window: Option<u64>,
    /// The maximum number of retries if it is lower than usual; `None` for the usual number.
    pub max_retries: Option<u32>,
}

impl ModelError {
    /// Creates an error without a retry delay.
    pub fn new(kind: FailureKind, message: impl Into<String>) -> ModelError {
        ModelError { kind, message: message.into(), retry_after: None, context_window: None, max_retries: None }
    }

    /// Returns the error with this pause before a retry.
    pub fn with_retry_after(self, retry_after: Duration) -> ModelError {
        ModelError { retry_after: Some(retry_after), ..self }
    }

    /// Returns the error with this maximum number of retries.
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
