//! The events of a running agent. The first six have the names and fields of the proposals. The others are for front
//! ends.

use crate::permission::PermissionMode;
use crate::tool::ToolResult;
use askuser::{Answer, Reported, Request, RequestKey, Resolution, Status, Via};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::ops::AddAssign;

/// An event of a running agent. The field `id` names the call that the event is about.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[allow(missing_docs)]
#[non_exhaustive]
pub enum AgentEvent {
    /// The model wrote a complete text. Its parts came before as [`AgentEvent::TextDelta`]s.
    Text { text: String },
    /// A tool is about to run. `input` comes from the model.
    ToolStart { id: String, name: String, input: Value },
    /// A call has a result, because its tool ran or was skipped.
    ToolResult { id: String, name: String, result: ToolResult },
    /// A person is being asked. The turn pauses until there is an outcome.
    AskUser {
        /// The id of the question in the session. It is the call's id for a plain question, and an opaque text
        /// otherwise.
        id: String,
        /// The questions as JSON, as the model wrote them.
        questions: Value,
        /// The whole request for the question.
        request: Box<Request>,
    },
    /// A question has ended, possibly without being asked. A withdrawn question emits no such event.
    QuestionEnded {
        /// The id of the question, as in [`AgentEvent::AskUser`].
        id: String,
        /// The key of the question: the call that asked, and the purpose.
        key: RequestKey,
        outcome: Box<QuestionOutcome>,
    },
    /// The turn is over. `text` is the model's last message.
    Done { text: String },
    /// The turn ended early because of a failure or a stop.
    Error { error: Failure },
    /// A message of the person was read during a turn, or belongs to a resumed conversation.
    User { text: String },
    /// The model wrote a part of an unfinished text.
    TextDelta { text: String },
    /// The unfinished text is complete. It follows as an [`AgentEvent::Text`] after the response. Later deltas begin
    /// another text.
    TextEnd,
    /// The model wrote a part of its reasoning. The reasoning is for people and not part of the answer.
    ThoughtDelta { text: String },
    /// A running call printed output.
    ToolOutput { id: String, text: String },
    /// The conversation is about to be summarised because it nearly fills the model's context.
    Compacting,
    /// The conversation was summarised, and the model now reads the summary. Token counts are approximate.
    Compacted {
        before_tokens: u64,
        after_tokens: u64,
        /// The number of the person's messages and answers that the model no longer reads in full.
        #[serde(default)]
        left_out: usize,
    },
    /// The agent reports the fill level of the model's context. `tokens` is the approximate size of the next request.
    /// `window` is the maximum, if it is known.
    Context {
        tokens: u64,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        window: Option<u64>,
    },
    /// The provider reported the token counts of the last model request.
    Usage {
        #[serde(flatten)]
        usage: Usage,
    },
    /// The request failed and is retried after this time. The text deltas since the last complete text are void.
    Retry { error: Failure, after_ms: u64 },
    /// The agent has a message for the person. The turn continues.
    Notice { message: String },
    /// The permission mode has changed.
    Mode { mode: PermissionMode },
    /// The subagent that a call started emitted an event.
    Task { id: String, description: String, event: Box<AgentEvent> },
}

/// The outcome of a question, in the form of [`report::json`](askuser::report::json).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct QuestionOutcome {
    /// The way in which the question ended.
    #[serde(flatten)]
    pub status: Status,
    /// The answers so far. Some questions may have none.
    #[serde(default)]
    pub answers: Vec<Answer>,
    /// The surface of the answer; `None` if there was none.
    #[serde(default)]
    pub via: Option<Via>,
    /// The name of the author; `None` if it is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// The time of the ending in milliseconds since 1970; `None` if it is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_ms: Option<u64>,
    /// The credential that asked the question, if it settled the question itself; `None` for other endings. No person
    /// is known to have answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reported_by: Option<String>,
    /// The author and surface that the sender of the answer states; `None` if the sender states neither.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reported: Option<Reported>,
    /// The repairs that were made to the model's questions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mended: Vec<String>,
}

impl QuestionOutcome {
    pub(crate) fn new(resolution: &Resolution, mended: &[String]) -> QuestionOutcome {
        let outcome = resolution.outcome();
        QuestionOutcome {
            status: outcome.status().clone(),
            answers: outcome.answers().to_vec(),
            via: resolution.via(),
            by: resolution.by().map(str::to_owned),
            at_ms: resolution.at_ms(),
            reported_by: resolution.reported_by().map(str::to_owned),
            reported: resolution.reported().cloned(),
            mended: mended.to_vec(),
        }
    }
}

/// The error that ended a turn.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Failure {
    /// The kind of failure.
    pub kind: FailureKind,
    /// The message to show to a person.
    pub message: String,
}

impl Failure {
    /// Creates a failure of this kind.
    pub fn new(kind: FailureKind, message: impl Into<String>) -> Failure {
        Failure { kind, message: message.into() }
    }

    pub(crate) fn interrupted() -> Failure {
        Failure::new(FailureKind::Interrupted, "interrupted")
    }
}

/// The kind of failure of a model request or a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum FailureKind {
    /// The user stopped the turn.
    Interrupted,
    /// The process received a termination signal.
    Signal,
    /// The API key is missing or was rejected.
    Key,
    /// The model does not exist.
    UnknownModel,
    /// The conversation exceeds the model's context window.
    ContextTooLong,
    /// The provider refused the request because there were too many. A retry may succeed.
    RateLimited,
    /// The provider is overloaded or has failed. A retry may succeed.
    Overloaded,
    /// The connection to the provider failed. A retry may succeed.
    Network,
    /// The provider rejected the request.
    Rejected,
    /// The provider's response does not follow its protocol.
    Protocol,
    /// A question is pending, and this run can ask no person.
    NobodyThere,
    /// The script has no response for this request.
    Script,
    /// The transcript cannot be written.
    Transcript,
    /// The turn reached its maximum number of model requests.
    TooManyRequests,
}

/// Shortens text from outside for an error message to at most `max_chars` characters.
pub(crate) fn shortened(text: String, max_chars: usize) -> String {
    match text.char_indices().nth(max_chars) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

/// The token counts that the provider reports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Usage {
    /// The number of input tokens, including cached tokens.
    pub input_tokens: u64,
    /// The number of output tokens.
    pub output_tokens: u64,
}

impl Usage {
    /// Creates the token counts of a request.
    pub fn new(input_tokens: u64, output_tokens: u64) -> Usage {
        Usage { input_tokens, output_tokens }
    }
}

impl AddAssign for Usage {
    fn add_assign(&mut self, more: Usage) {
        self.input_tokens += more.input_tokens;
        self.output_tokens += more.output_tokens;
    }
}
