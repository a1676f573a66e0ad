//! Models behind HTTP: Anthropic Messages, OpenAI-compatible chat completions, Gemini.
//!
//! ```text
//! connect ─▶ Remote: protocol::body ─▶ Endpoint::post ─▶ sse ─▶ protocol::Reader ─▶ ModelEvents
//! ```
//!
//! A provider makes one request and says what sort of failure there was; whether to try again is the loop's business. An
//! answer is finished only if the provider has said so: a stream that merely ends is an error. Keys are in no message.

mod anthropic;
mod choice;
mod complaint;
mod endpoint;
mod gemini;
mod openai;
mod remote;
mod retry_after;
mod schema;
mod sse;
mod wire;

pub use choice::{ConnectError, DEFAULT_MAX_TOKENS, PROVIDERS, Place, Protocol, Provider, Settings, connect};
