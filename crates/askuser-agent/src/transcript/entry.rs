//! The lines of a transcript: what can happen, and how it is written. Serialised names stay when Rust names change.

use crate::event::{Usage, shortened};
use crate::message::Block;
use crate::model::RecordedModel;
use crate::permission::PermissionMode;
use crate::tool::ToolResult;
use askuser::{Purpose, Request};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::path::PathBuf;

/// Something that happened.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(crate) enum Entry {
    /// The first line.
    Session { id: String, cwd: PathBuf, version: String },
    /// A message of the person.
    User { text: String },
    /// A message of the person's that the model reads between two calls: it is one once it is a [`Entry::User`].
    Said { text: String },
    /// They took it back before that.
    TakenBack { text: String },
    /// The person took an edit back. The model reads `text` with their next message; the person saw `shown`.
    Undone { text: String, shown: String },
    /// The person ran a command. The model reads it with their next message.
    UserCommand { command: String, result: ToolResult },
    /// A message for the model that the person did not write.
    Hint { text: String },
    /// The model answered.
    Assistant { content: Vec<Block>, usage: Usage },
    /// A question is about to be shown, on behalf of a call.
    Asked { id: String, purpose: Purpose, request: Box<Request> },
    /// The outcome of a question, which is checked against what was asked.
    Outcome { id: String, purpose: Purpose, outcome: Value },
    /// A tool that acts is about to run.
    Started { id: String },
    /// What came of a call, and why the later calls of its message do not run, if they do not.
    Result {
        id: String,
        name: String,
        result: ToolResult,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        halt: Option<Halt>,
    },
    /// The person stopped the turn.
    Interrupted,
    /// The conversation begins anew.
    Cleared,
    /// The older part of the conversation was replaced, for the model, by a summary that it wrote.
    Compacted {
        summary: String,
        /// What of that part the model still reads word for word, beside what it read so before.
        verbatim: Vec<Verbatim>,
        /// How many of the last messages stayed as they were.
        kept: usize,
        /// How many bytes of it, and of what was kept word for word earlier, the model reads.
        budget: usize,
        /// About how many tokens the conversation had before, and has since.
        before_tokens: u64,
        after_tokens: u64,
    },
    /// The mode has changed.
    Mode { mode: PermissionMode },
    /// This model answers from now on.
    Model(RecordedModel),
}

impl Entry {
    /// Whether a call begins by it: it acts, or a person has seen its question.
    pub(super) fn begins_call(&self) -> bool {
        matches!(self, Entry::Asked { purpose, .. } if *purpose != Purpose::Permission)
            || matches!(self, Entry::Started { .. })
    }

    /// The call that something was asked for, or that began to act.
    pub(super) fn call(&self) -> Option<&str> {
        match self {
            Entry::Asked { id, .. } | Entry::Outcome { id, .. } | Entry::Started { id } => Some(id),
            _ => None,
        }
    }
}

/// Something that no summary replaces.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(crate) enum Verbatim {
    /// A message of the person.
    #[serde(rename = "said")]
    Message { text: String },
    /// The person was asked something on behalf of a call, or did not allow it, and this came of it.
    Asked { name: String, input: Value, outcome: String },
}

/// Why the later calls of a message do not run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(clippy::enum_variant_names)]
pub(crate) enum Halt {
    /// A question before them has no answer: it was dismissed, declined, to be discussed, or no person was there.
    NotAnswered,
    /// A question before them was not put to anybody: its input was not valid.
    NotAsked,
    /// A call before them was not allowed.
    NotAllowed,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Line {
    /// Milliseconds since 1970.
    pub(super) at: u64,
    /// The calls that lead to the subagent it is about, the outermost first.
    #[serde(default, rename = "task", skip_serializing_if = "Vec::is_empty")]
    pub(super) tasks: Vec<String>,
    #[serde(flatten)]
    pub(super) entry: Entry,
}

pub(super) struct BadLine {
    /// Its number, from one.
    pub(super) line: usize,
    pub(super) fact: String,
}

/// How much is said of what is wrong with a line: errors quote it, and it may be long.
const MOST_FACT_CHARS: usize = 200;

/// Where the last whole line ends.
pub(super) fn end_of_lines(bytes: &[u8]) -> usize {
    bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |last| last + 1)
}

/// Reads whole lines, up to the first one that cannot be.
pub(super) fn read(bytes: &[u8]) -> Result<Vec<Line>, BadLine> {
    let mut lines = Vec::new();
    for (i, text) in bytes.split_inclusive(|byte| *byte == b'\n').enumerate().filter(|(_, text)| *text != b"\n") {
        let bad =
            |error: serde_json::Error| BadLine { line: i + 1, fact: shortened(error.to_string(), MOST_FACT_CHARS) };
        lines.push(serde_json::from_slice(text).map_err(bad)?);
    }
    Ok(lines)
}
