//! Events of a running agent. The first six have the proposals' names and fields; the others are for front ends.

use crate::permission::PermissionMode;
use crate::tool::ToolResult;
use askuser::{Answer, Reported, Request, RequestKey, Resolution, Status, Via};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::ops::AddAssign;

/// An event. An `id` names its call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[allow(missing_docs)]
#[non_exhaustive]
pub enum AgentEvent {
    /// A complete text of the model. Its parts came before as [`AgentEvent::TextDelta`]s.
    Text { text: String },
    /// A tool is about to run with this input from the model.
    ToolStart { id: String, name: String, input: Value },
    /// A tool has run or was skipped.
    ToolResult { id: String, name: String, result: ToolResult },
    /// A person is being asked. The turn pauses until there is an outcome.
    AskUser {
        /// The id of the question in the session: the call's id for a plain question, opaque for others.
        id: String,
        /// The questions, as the model wrote them.
        questions: Value,
        /// The whole request.
        request: Box<Request>,
    },
    /// A question has ended, also without being asked. A withdrawn question has no outcome.
    QuestionEnded {
        /// The id of the question, as in [`AgentEvent::AskUser`].
        id: String,
        /// The call that asked, and its purpose.
        key: RequestKey,
        outcome: Box<QuestionOutcome>,
    },
    /// The turn is over. The text is the model's last message.
    Done { text: String },
    /// The turn ended early, by a failure or a stop.
    Error { error: Failure },
    /// A message of the person, from a resumed conversation or read during a turn.
    User { text: String },
    /// A part of an unfinished text.
    TextDelta { text: String },
    /// The unfinished text is complete and follows as an [`AgentEvent::Text`] after the response. Later parts begin
    /// another text.
    TextEnd,
    /// A part of the model's reasoning. It is for people and not part of the answer.
    ThoughtDelta { text: String },
    /// Output of a running call.
    ToolOutput { id: String, text: String },
    /// The conversation is about to be summarised because it nearly fills the model's context.
    Compacting,
    /// The conversation was summarised. The model reads the summary from now on. Token counts are approximate.
    Compacted {
        before_tokens: u64,
        after_tokens: u64,
        /// The number of the person's messages and answers that the model no longer reads in full.
        #[serde(default)]
        left_out: usize,
    },
    /// The fill level of the model's context: the approximate tokens of the next request, and the maximum if known.
    Context {
        tokens: u64,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        window: Option<u64>,
    },
    /// The cost of the last model request.
    Usage {
        #[serde(flatten)]
        usage: Usage,
    },
    /// The request failed and is retried after this time. Deltas since the last complete text are void.
    Retry { error: Failure, after_ms: u64 },
    /// A notice for the person. The turn continues.
    Notice { message: String },
    /// The mode has changed.
    Mode { mode: PermissionMode },
    /// An event of the subagent that a call started.
    Task { id: String, description: String, event: Box<AgentEvent> },
}

/// The outcome of a question, in the form of [`report::json`](askuser::report::json).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct QuestionOutcome {
    /// The kind of ending.
    #[serde(flatten)]
    pub status: Status,
    /// The answers. They may be partial.
    #[serde(default)]
    pub answers: Vec<Answer>,
    /// The surface of the answer; `None` without one.
    #[serde(default)]
    pub via: Option<Via>,
    /// The author, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// The time in milliseconds since 1970, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_ms: Option<u64>,
    /// The credential that asked, if it settled the question itself. No person is known to have answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reported_by: Option<String>,
    /// The provenance as stated by the answer's sender.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reported: Option<Reported>,
    /// The repairs of the questions.
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
    /// The message for a person.
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
    /// Too many requests; a retry may succeed.
    RateLimited,
    /// The provider is overloaded or has failed; a retry may succeed.
    Overloaded,
    /// The connection failed; a retry may succeed.
    Network,
    /// The provider rejected the request.
    Rejected,
    /// The provider's response does not follow its protocol.
    Protocol,
    /// A question is pending, and no person can be asked.
    NobodyThere,
    /// The script has no response for this request.
    Script,
    /// The transcript cannot be written.
    Transcript,
    /// The turn reached its limit of requests.
    TooManyRequests,
}

/// Text from outside in an error message, limited to this many characters.
pub(crate) fn shortened(text: String, max_chars: usize) -> String {
    match text.char_indices().nth(max_chars) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

/// Token counts of the provider.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Usage {
    /// Input tokens, including cached ones.
    pub input_tokens: u64,
    /// Output tokens.
    pub output_tokens: u64,
}

impl Usage {
    /// The token counts.
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
