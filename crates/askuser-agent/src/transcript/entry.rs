//! The lines of a transcript. Serialised names stay when Rust names change.

use crate::event::{Usage, shortened};
use crate::message::Block;
use crate::model::RecordedModel;
use crate::permission::PermissionMode;
use crate::tool::ToolResult;
use askuser::{Purpose, Request};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::path::PathBuf;

/// An entry of a transcript.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(crate) enum Entry {
    /// The first line.
    Session { id: String, cwd: PathBuf, version: String },
    /// A message of the person.
    User { text: String },
    /// A message of the person during a turn. It becomes an [`Entry::User`] once the model reads it.
    Said { text: String },
    /// The person withdrew it before that.
    TakenBack { text: String },
    /// The person undid an edit. The model reads `text` with their next message; the person saw `shown`.
    Undone { text: String, shown: String },
    /// The person ran a command. The model reads it with their next message.
    UserCommand { command: String, result: ToolResult },
    /// A message for the model that the person did not write.
    Hint { text: String },
    /// A response of the model.
    Assistant { content: Vec<Block>, usage: Usage },
    /// A question of a call is about to be shown.
    Asked { id: String, purpose: Purpose, request: Box<Request> },
    /// The outcome of a question, checked against the question as asked.
    Outcome { id: String, purpose: Purpose, outcome: Value },
    /// A tool that acts is about to run.
    Started { id: String },
    /// The result of a call, and the reason if it skips the later calls of its message.
    Result {
        id: String,
        name: String,
        result: ToolResult,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        halt: Option<Halt>,
    },
    /// The person stopped the turn.
    Interrupted,
    /// A new conversation begins.
    Cleared,
    /// A summary by the model replaced the older part of the conversation.
    Compacted {
        summary: String,
        /// The part that the model still reads word for word, beside earlier such parts.
        verbatim: Vec<Verbatim>,
        /// The number of last messages that stayed unchanged.
        kept: usize,
        /// The maximum size in bytes of all verbatim parts, as the model reads them.
        budget: usize,
        /// The approximate tokens of the conversation before and after.
        before_tokens: u64,
        after_tokens: u64,
    },
    /// The mode has changed.
    Mode { mode: PermissionMode },
    /// The model of the following responses.
    Model(RecordedModel),
}

impl Entry {
    /// Whether the entry starts a call: it acts, or a person has seen its question.
    pub(super) fn begins_call(&self) -> bool {
        matches!(self, Entry::Asked { purpose, .. } if *purpose != Purpose::Permission)
            || matches!(self, Entry::Started { .. })
    }

    /// The call that asked or started.
    pub(super) fn call(&self) -> Option<&str> {
        match self {
            Entry::Asked { id, .. } | Entry::Outcome { id, .. } | Entry::Started { id } => Some(id),
            _ => None,
        }
    }
}

/// A text that no summary replaces.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(crate) enum Verbatim {
    /// A message of the person.
    #[serde(rename = "said")]
    Message { text: String },
    /// A question to the person, or a refused permission, on behalf of a call, with its outcome.
    Asked { name: String, input: Value, outcome: String },
}

/// The reason why the later calls of a message are skipped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(clippy::enum_variant_names)]
pub(crate) enum Halt {
    /// An earlier question has no answer: dismissed, declined, to be discussed, or without a person.
    NotAnswered,
    /// An earlier question had an invalid input and was not asked.
    NotAsked,
    /// An earlier call was not allowed.
    NotAllowed,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Line {
    /// Milliseconds since 1970.
    pub(super) at: u64,
    /// The calls that lead to the subagent of the entry, outermost first.
    #[serde(default, rename = "task", skip_serializing_if = "Vec::is_empty")]
    pub(super) tasks: Vec<String>,
    #[serde(flatten)]
    pub(super) entry: Entry,
}

pub(super) struct BadLine {
    /// The line number, from one.
    pub(super) line: usize,
    pub(super) fact: String,
}

/// The maximum length of an error about a line. Errors quote it, and it may be long.
const MOST_FACT_CHARS: usize = 200;

/// The end of the last complete line.
pub(super) fn end_of_lines(bytes: &[u8]) -> usize {
    bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |last| last + 1)
}

/// Reads complete lines up to the first invalid one.
pub(super) fn read(bytes: &[u8]) -> Result<Vec<Line>, BadLine> {
    let mut lines = Vec::new();
    for (i, text) in bytes.split_inclusive(|byte| *byte == b'\n').enumerate().filter(|(_, text)| *text != b"\n") {
        let bad =
            |error: serde_json::Error| BadLine { line: i + 1, fact: shortened(error.to_string(), MOST_FACT_CHARS) };
        lines.push(serde_json::from_slice(text).map_err(bad)?);
    }
    Ok(lines)
}
