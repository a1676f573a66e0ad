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
/// /// Says back what it was told last.
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
    /// Its name, as in `provider/name`.
    fn name(&self) -> String;

    /// What a session keeps of it, to be answered by it again; `None` if it is no provider's, as a script is not.
    fn recorded(&self) -> Option<RecordedModel> {
        None
    }

    /// How many tokens a conversation with it may have, where that is known.
    fn context_window(&self) -> Option<u64> {
        None
    }

    /// Makes one request. The stream ends when the response is complete, or with an error; dropping it cancels the
    /// request. Implementations do not retry: the loop does.
    fn respond<'a>(&'a self, request: ModelRequest<'a>) -> ResponseStream<'a>;
}

/// A model as a session remembers it. Where it is reached is not kept: keys go only where the user's settings say.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct RecordedModel {
    /// `provider/name`.
    pub name: String,
    /// Whether the user had set where it is reached.
    #[serde(default)]
    pub at_custom_address: bool,
}

impl RecordedModel {
    /// `provider/name`, at the provider's own address or at one that the user had set.
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
    /// A part of what it thinks, in words for people.
    Thought(String),
    /// A complete tool call.
    Call(ToolCall),
    /// A [`Block::Opaque`], at its position in the response.
    Opaque(Block),
    /// Token usage so far; the last one is final.
    Usage(Usage),
    /// The text ends at the token limit.
    Truncated,
    /// A tool call that the token limit cut off, with its input as far as it was written. It does not run; the model is
    /// told why.
    TruncatedCall(ToolCall),
}

/// Why a request failed, or its response broke off.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
#[non_exhaustive]
pub struct ModelError {
    /// What kind of failure it is.
    pub kind: FailureKind,
    /// What happened, and what to do about it.
    pub message: String,
    /// How long the provider asks to wait before a retry.
    pub retry_after: Option<Duration>,
    /// How many tokens a conversation may have, where the provider says so when one has more.
    pub context_window: Option<u64>,
    /// How often a retry is worth it at most, where that is less than usual.
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
