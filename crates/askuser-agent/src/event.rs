//! What an agent tells while it runs. The first six are the proposals', with their names and fields; the rest is what a
//! front end needs besides.

use crate::permission::PermissionMode;
use crate::tool::ToolResult;
use askuser::{Answer, Reported, Request, RequestKey, Resolution, Status, Via};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::ops::AddAssign;

/// One thing that happened. An `id` names the call it is about.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[allow(missing_docs)]
#[non_exhaustive]
pub enum AgentEvent {
    /// A whole piece of text from the model. Its parts came before, as [`AgentEvent::TextDelta`]s.
    Text { text: String },
    /// A tool is about to run, with the input that the model gave it.
    ToolStart { id: String, name: String, input: Value },
    /// A tool has run, or was kept from it.
    ToolResult { id: String, name: String, result: ToolResult },
    /// A person is being asked; the turn pauses until there is an outcome.
    AskUser {
        /// Names the question among those of the session: the call's id for a plain question, opaque for others.
        id: String,
        /// The questions, as the model wrote them.
        questions: Value,
        /// All there is to know about it.
        request: Box<Request>,
    },
    /// A question has ended, also one that was settled without asking. One that is withdrawn has no outcome.
    QuestionEnded {
        /// Names the question, as in [`AgentEvent::AskUser`].
        id: String,
        /// The call it was asked for, and what for.
        key: RequestKey,
        outcome: Box<QuestionOutcome>,
    },
    /// The turn is over; these are the model's last words.
    Done { text: String },
    /// The turn broke off.
    Error { error: Failure },
    /// A message of the person: of a conversation that is resumed, or one that the model hears while it works.
    User { text: String },
    /// A part of a text that is still being written.
    TextDelta { text: String },
    /// The text that was being written is whole, and comes as a [`AgentEvent::Text`] once the response is. A later part begins
    /// another one.
    TextEnd,
    /// A part of what the model thinks before it says or does something. It is for people: it is not part of the answer.
    ThoughtDelta { text: String },
    /// What a call that is still running has written.
    ToolOutput { id: String, text: String },
    /// The conversation is about to be summarised, because it nearly fills the model's context.
    Compacting,
    /// The conversation was summarised; the model reads the summary in its place from now on. The numbers of tokens are about right.
    Compacted {
        before_tokens: u64,
        after_tokens: u64,
        /// How many of what the person said and answered the model does not read as a whole any more.
        #[serde(default)]
        left_out: usize,
    },
    /// How full the model's context is: about how many tokens the next request has, and how many it may have, where that is known.
    Context {
        tokens: u64,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        window: Option<u64>,
    },
    /// What the last request to the model cost.
    Usage {
        #[serde(flatten)]
        usage: Usage,
    },
    /// The request failed and will be made again, so long from now. Deltas since the last whole text are void.
    Retry { error: Failure, after_ms: u64 },
    /// Something the person should know; the turn continues.
    Notice { message: String },
    /// The mode has changed.
    Mode { mode: PermissionMode },
    /// Something happened in the subagent that a call started.
    Task { id: String, description: String, event: Box<AgentEvent> },
}

/// What came of a question, as [`report::json`](askuser::report::json) writes it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct QuestionOutcome {
    /// How it ended.
    #[serde(flatten)]
    pub status: Status,
    /// All answers, or those given so far.
    #[serde(default)]
    pub answers: Vec<Answer>,
    /// Through which surface; `None` where there was none.
    #[serde(default)]
    pub via: Option<Via>,
    /// Who answered, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// When, in milliseconds since 1970, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_ms: Option<u64>,
    /// The credential whose asker settled the question itself: no person is known to have answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reported_by: Option<String>,
    /// The provenance that the sender of the answer stated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reported: Option<Reported>,
    /// What was repaired in the questions.
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

/// Why a turn broke off.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Failure {
    /// What kind of failure it is.
    pub kind: FailureKind,
    /// What happened, for a person.
    pub message: String,
}

impl Failure {
    /// A failure of this kind.
    pub fn new(kind: FailureKind, message: impl Into<String>) -> Failure {
        Failure { kind, message: message.into() }
    }

    pub(crate) fn interrupted() -> Failure {
        Failure::new(FailureKind::Interrupted, "interrupted")
    }
}

/// What kind of failure it is: of a request to a model, or of a turn.
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
    /// There is no such model.
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

/// The text of others in an error message, with at most so many characters.
pub(crate) fn shortened(text: String, max_chars: usize) -> String {
    match text.char_indices().nth(max_chars) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

/// Tokens, as the provider counts them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Usage {
    /// Tokens read, those from a cache included.
    pub input_tokens: u64,
    /// Tokens written.
    pub output_tokens: u64,
}

impl Usage {
    /// This many tokens.
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
