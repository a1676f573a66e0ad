//! The conversation as the model sees it, independent of the provider's protocol.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// One message. Results directly follow the assistant message with their calls: all of them, in the same order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "role", rename_all = "snake_case")]
pub enum Message {
    /// A message of the user.
    User {
        /// The text.
        text: String,
    },
    /// A response of the model.
    Assistant {
        /// Its blocks, in order.
        content: Vec<Block>,
    },
    /// The results of tool calls.
    Results {
        /// One for each call.
        results: Vec<CallResult>,
    },
}

/// A part of an assistant message.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Block {
    /// Text.
    Text {
        /// The text.
        text: String,
    },
    /// A tool call.
    Call(ToolCall),
    /// Data that only its provider understands, such as signed thinking. It is sent back to that provider unchanged.
    Opaque {
        /// The provider it came from.
        provider: String,
        /// The data.
        value: Value,
    },
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

/// What the person did beside the conversation, if a text tells that: the first line of a user action. Its output is left out.
pub(crate) fn aside(text: &str) -> Option<&str> {
    let did = text.lines().next()?.strip_prefix('[').filter(|did| did.starts_with("The user "))?;
    Some(did.strip_suffix(']').unwrap_or(did))
}

impl Message {
    /// The tool calls of an assistant message; none for other messages.
    pub fn calls(&self) -> impl Iterator<Item = &ToolCall> {
        let content = match self {
            Message::Assistant { content } => content.as_slice(),
            Message::User { .. } | Message::Results { .. } => &[],
        };
        content.iter().filter_map(|block| match block {
            Block::Call(call) => Some(call),
            Block::Text { .. } | Block::Opaque { .. } => None,
        })
    }

    /// The text of an assistant message; empty for other messages.
    pub fn text(&self) -> String {
        let Message::Assistant { content } = self else { return String::new() };
        let text = content.iter().filter_map(|block| match block {
            Block::Text { text } => Some(text.as_str()),
            Block::Call(_) | Block::Opaque { .. } => None,
        });
        text.collect::<Vec<_>>().join("\n\n")
    }
}
