//! The lines of a transcript. Their serialised names stay the same when Rust names change.

use crate::event::{Usage, shortened};
use crate::message::Block;
use crate::model::RecordedModel;
use crate::permission::PermissionMode;
use crate::tool::ToolResult;
use askuser::{Purpose, Request};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::path::PathBuf;

/// A line's content: an event of the session that a resume needs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(crate) enum Entry {
    /// The session began. This is the first line.
    Session { id: String, cwd: PathBuf, version: String },
    /// The model reads a message of the person.
    User { text: String },
    /// The person sent a message during a turn. An [`Entry::User`] follows once the model reads it.
    Said { text: String },
    /// The person withdrew the message of an [`Entry::Said`] before the model read it.
    TakenBack { text: String },
    /// The person undid an edit. The model reads `text` with the person's next message. The person saw `shown`.
    Undone { text: String, shown: String },
    /// The person ran a command. The model reads it with the person's next message.
    UserCommand { command: String, result: ToolResult },
    /// The model reads a message that the person did not write.
    Hint { text: String },
    /// The model responded.
    Assistant { content: Vec<Block>, usage: Usage },
    /// A question of a call is about to be shown to the person.
    Asked { id: String, purpose: Purpose, request: Box<Request> },
    /// A question got an outcome, which was checked against the question.
    Outcome { id: String, purpose: Purpose, outcome: Value },
    /// A tool that acts is about to run.
    Started { id: String },
    /// A call has a result. `halt` is the reason to skip the later calls of its message; `None` if they may run.
    Result {
        id: String,
        name: String,
        result: ToolResult,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        halt: Option<Halt>,
    },
    /// The person stopped the turn.
    Interrupted,
    /// The person cleared the conversation, and a new one begins.
    Cleared,
    /// A summary by the model replaced the older part of the conversation.
    Compacted {
        summary: String,
        /// The dropped texts that the model still reads word for word, in addition to those of earlier summaries.
        verbatim: Vec<Verbatim>,
        /// The number of messages at the end that stayed unchanged.
        kept: usize,
        /// The maximum size in bytes of all verbatim texts, as the model reads them.
        budget: usize,
        /// The approximate number of tokens of the conversation before the summary, and after it.
        before_tokens: u64,
        after_tokens: u64,
    },
    /// The permission mode changed.
    Mode { mode: PermissionMode },
    /// The later responses come from this model.
    Model(RecordedModel),
}

impl Entry {
    /// Whether a call begins with this entry: it starts to act, or the person sees its question. A request for
    /// permission does not count.
    pub(super) fn begins_call(&self) -> bool {
        matches!(self, Entry::Asked { purpose, .. } if *purpose != Purpose::Permission)
            || matches!(self, Entry::Started { .. })
    }

    /// Returns the id of the call that asked or started; `None` for other entries.
    pub(super) fn call(&self) -> Option<&str> {
        match self {
            Entry::Asked { id, .. } | Entry::Outcome { id, .. } | Entry::Started { id } => Some(id),
            _ => None,
        }
    }
}

/// A text that the model still reads after a summary.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(crate) enum Verbatim {
    /// A message of the person.
    #[serde(rename = "said")]
    Message { text: String },
    /// A question to the person, or a refused permission, with its outcome. `name` and `input` are those of the call.
    Asked { name: String, input: Value, outcome: String },
}

/// The reason to skip the later calls of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(clippy::enum_variant_names)]
pub(crate) enum Halt {
    /// An earlier question has no answer. The person dismissed it, declined it or wants to discuss it, or no person
    /// could be asked.
    NotAnswered,
    /// An earlier question was invalid and was not asked.
    NotAsked,
    /// An earlier call was not allowed.
    NotAllowed,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Line {
    /// The time of the entry in milliseconds since 1970.
    pub(super) at: u64,
    /// The ids of the calls that lead to the subagent of the entry, outermost first. Entries of the main agent have
    /// none.
    #[serde(default, rename = "task", skip_serializing_if = "Vec::is_empty")]
    pub(super) tasks: Vec<String>,
    #[serde(flatten)]
    pub(super) entry: Entry,
}

pub(super) struct BadLine {
    /// The number of the line. The first line has number 1.
    pub(super) line: usize,
    pub(super) fact: String,
}

/// The maximum number of characters of an error about a line. Errors quote the line, which may be long.
const MOST_FACT_CHARS: usize = 200;

/// Returns the position after the last complete line.
pub(super) fn end_of_lines(bytes: &[u8]) -> usize {
    bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |last| last + 1)
}

/// Parses complete lines.
///
/// # Errors
/// Returns the first invalid line.
pub(super) fn read(bytes: &[u8]) -> Result<Vec<Line>, BadLine> {
    let mut lines = Vec::new();
    for (i, text) in bytes.split_inclusive(|byte| *byte == b'\n').enumerate().filter(|(_, text)| *text != b"\n") {
        let bad =
            |error: serde_json::Error| BadLine { line: i + 1, fact: shortened(error.to_string(), MOST_FACT_CHARS) };
        lines.push(serde_json::from_slice(text).map_err(bad)?);
    }
    Ok(lines)
}
