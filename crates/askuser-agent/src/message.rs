//! The conversation as the model sees it, independent of the provider's protocol.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A message of the conversation. Results directly follow the assistant message with their calls. All calls have a
/// result, in the same order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "role", rename_all = "snake_case")]
#[allow(missing_docs)]
pub enum Message {
    /// The user wrote a message.
    User { text: String },
    /// The model responded with these blocks, in order.
    Assistant { content: Vec<Block> },
    /// The tool calls had these results, one for each call.
    Results { results: Vec<CallResult> },
}

/// A part of an assistant message.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[allow(missing_docs)]
pub enum Block {
    /// A block of text.
    Text { text: String },
    /// A tool call of the model.
    Call(ToolCall),
    /// Data that only this provider understands, such as signed thinking. The provider gets it back unchanged.
    Opaque { provider: String, value: Value },
}

/// A call of a tool by the model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolCall {
    /// The id of the call, which is unique in a conversation.
    pub id: String,
    /// The name of the tool.
    pub name: String,
    /// The input of the tool: an object, or the model's text if that text is not a JSON object.
    /// [`typed_input`](ToolCall::typed_input) parses it.
    pub input: Value,
    /// Data that only the provider understands; `None` if there is none. The provider gets it back with the call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extra: Option<Value>,
}

/// The result of a tool call, as the model reads it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallResult {
    /// The id of the call.
    pub id: String,
    /// The name of the tool, by which some providers match results.
    pub name: String,
    /// The text that the model reads.
    pub output: String,
    /// Whether the call failed or the tool did not run.
    pub is_error: bool,
}

/// Returns the first line of a text that records an action of the person, such as a command; `None` for other texts.
/// The output of the action is left out.
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
    /// Returns the tool calls of an assistant message. Other messages have none.
    pub fn calls(&self) -> impl Iterator<Item = &ToolCall> {
        let content = match self {
            Message::Assistant { content } => content.as_slice(),
            Message::User { .. } | Message::Results { .. } => &[],
        };
        content.iter().filter_map(Block::as_call)
    }

    /// Returns the text of an assistant message; empty for other messages.
    pub fn text(&self) -> String {
        match self {
            Message::Assistant { .. } => self.texts().join("\n\n"),
            Message::User { .. } | Message::Results { .. } => String::new(),
        }
    }

    /// Returns the texts of a message: what the user or the model wrote, or the outputs of tools.
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
