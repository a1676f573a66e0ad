//! The conversation as the model sees it, independent of the provider's protocol.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// One message. Results directly follow the assistant message with their calls: all of them, in the same order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "role", rename_all = "snake_case")]
#[allow(missing_docs)]
pub enum Message {
    /// A message of the user.
    User { text: String },
    /// A response of the model: its blocks, in order.
    Assistant { content: Vec<Block> },
    /// The results of tool calls, one for each.
    Results { results: Vec<CallResult> },
}

/// A part of an assistant message.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[allow(missing_docs)]
pub enum Block {
    /// Text.
    Text { text: String },
    /// A tool call.
    Call(ToolCall),
    /// Data that only its provider understands, such as signed thinking. It is sent back to that provider unchanged.
    Opaque { provider: String, value: Value },
}

/// A tool call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolCall {
    /// The id of the call, unique in a conversation.
    pub id: String,
    /// The name of the tool.
    pub name: String,
    /// The input: an object, or the model's text if that is not a JSON object.
    /// [`typed_input`](ToolCall::typed_input) reads it.
    pub input: Value,
    /// Data that only the provider understands; it is sent back with the call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extra: Option<Value>,
}

/// The result of a tool call, as the model reads it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallResult {
    /// The id of the call.
    pub id: String,
    /// The name of the tool; some providers match results by it.
    pub name: String,
    /// The text that the model reads.
    pub output: String,
    /// Whether the tool failed or was not run.
    pub is_error: bool,
}

/// The person's action beside the conversation, if the text records one: the first line, without the output.
pub(crate) fn aside(text: &str) -> Option<&str> {
    let did = text.lines().next()?.strip_prefix('[').filter(|did| did.starts_with("The user "))?;
    Some(did.strip_suffix(']').unwrap_or(did))
}

impl Block {
    pub(crate) fn as_call(&self) -> Option<&ToolCall> {
        match self {
            Block::Call(call) => Some(call),
            Block::Text { .. } | Block::Opaque { .. } => None,
        }
    }
}

impl Message {
    /// The tool calls of an assistant message. Empty for other messages.
    pub fn calls(&self) -> impl Iterator<Item = &ToolCall> {
        let content = match self {
            Message::Assistant { content } => content.as_slice(),
            Message::User { .. } | Message::Results { .. } => &[],
        };
        content.iter().filter_map(Block::as_call)
    }

    /// The text of an assistant message; empty for other messages.
    pub fn text(&self) -> String {
        match self {
            Message::Assistant { .. } => self.texts().join("\n\n"),
            Message::User { .. } | Message::Results { .. } => String::new(),
        }
    }

    /// The content of a message.
    pub(crate) fn texts(&self) -> Vec<&str> {
        match self {
            Message::User { text } => vec![text],
            Message::Assistant { content } => {
                let texts = content.iter().filter_map(|block| match block {
                    Block::Text { text } => Some(text.as_str()),
                    Block::Call(_) | Block::Opaque { .. } => None,
                });
                texts.collect()
            }
            Message::Results { results } => results.iter().map(|result| result.output.as_str()).collect(),
        }
    }
}
