//! The conversation as the model sees it, in no provider's shape.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// One message. Results follow the assistant message whose calls they answer, all of them and in its order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "role", rename_all = "snake_case")]
pub enum Message {
    /// What the person said.
    User {
        /// Their words.
        text: String,
    },
    /// What the model said and called.
    Assistant {
        /// In the order it came.
        content: Vec<Block>,
    },
    /// What came of the calls.
    Results {
        /// One for each call.
        results: Vec<CallResult>,
    },
}

/// A part of an assistant message.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Block {
    /// Words.
    Text {
        /// The words.
        text: String,
    },
    /// A call of a tool.
    Call(ToolCall),
    /// Something only its provider understands, such as signed thoughts. It goes back to it as it came.
    Opaque {
        /// Whose it is.
        provider: String,
        /// What it is.
        value: Value,
    },
}

/// A call of a tool.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolCall {
    /// Names the call; unique in a conversation.
    pub id: String,
    /// Which tool.
    pub name: String,
    /// Its input: an object, or a string where the model's JSON could not be read.
    pub input: Value,
    /// Something only the provider understands, which goes back to it with the call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extra: Option<Value>,
}

/// What came of a call, as the model reads it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallResult {
    /// The call.
    pub id: String,
    /// The tool; some providers match by it.
    pub name: String,
    /// What the model reads.
    pub output: String,
    /// Whether the tool failed, or was kept from running.
    pub is_error: bool,
}

impl Message {
    /// The calls of an assistant message.
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

    /// The words of an assistant message.
    pub fn text(&self) -> String {
        let Message::Assistant { content } = self else { return String::new() };
        let text = content.iter().filter_map(|block| match block {
            Block::Text { text } => Some(text.as_str()),
            Block::Call(_) | Block::Opaque { .. } => None,
        });
        text.collect::<Vec<_>>().join("\n\n")
    }
}
