//! Models reached over HTTP: Anthropic Messages, OpenAI Responses, OpenAI-compatible chat completions, Gemini.
//!
//! ```text
//! connect ─▶ HttpModel: <protocol>::body ─▶ Endpoint::post ─▶ sse ─▶ ResponseReader ─▶ ModelEvents
//! ```
//!
//! A model makes one request and classifies its failure. The agent decides on retries. A response is complete only if
//! the provider says so. A stream that ends without this statement is an error. No error message contains an API key.

mod anthropic;
mod anthropic_models;
mod api_error;
mod catalog;
mod connect;
mod context_windows;
mod endpoint;
mod error_limits;
mod gemini;
mod http_model;
mod json;
mod model_list;
mod openai_chat;
mod openai_responses;
mod protocol;
mod request_options;
mod retry_after;
mod target;

pub use catalog::{Hosting, ModelProvider, PROVIDERS, Protocol, address_variables, key_variables, provider};
pub use connect::{ConnectError, ProviderConfig, connect};
pub use model_list::{ListError, ModelInfo, default_model, list_models};
pub use request_options::Effort;
