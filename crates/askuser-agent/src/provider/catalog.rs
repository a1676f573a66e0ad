//! The table of built-in providers with their protocols, default base URLs and environment variables.

use std::collections::BTreeSet;

/// A provider of models that askuser knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ModelProvider {
    /// The name of the provider, which is the part of a model's name before the slash.
    pub name: &'static str,
    /// The protocol that the provider's server uses.
    pub protocol: Protocol,
    /// The default base URL.
    pub base_url: &'static str,
    /// The environment variable that overrides the base URL. It is empty if there is none.
    pub base_url_variable: &'static str,
    /// The environment variables for the API key. The first one that is set is used.
    pub key_variables: &'static [&'static str],
    /// Whether the default endpoint requires an API key.
    pub needs_key: bool,
    /// The operator of the provider's server.
    pub hosting: Hosting,
}

/// The operator of a provider's server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
#[non_exhaustive]
pub enum Hosting {
    /// The provider operates the server. The base URL is complete.
    Hosted,
    /// The user operates the server. The user may write only `host` or `:port`. The scheme, this port and `/v1` are
    /// then added.
    Local { port: u16 },
}

/// The HTTP protocol of a provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Protocol {
    /// The Messages protocol of Anthropic.
    Anthropic,
    /// The Responses protocol of OpenAI. Servers without it get chat completions instead.
    OpenAiResponses,
    /// The chat completions protocol of OpenAI and of compatible servers.
    OpenAiChat,
    /// The generateContent protocol of Gemini.
    Gemini,
}

/// Returns the environment variables for API keys of all built-in providers.
pub fn key_variables() -> impl Iterator<Item = &'static str> {
    let variables = PROVIDERS.iter().flat_map(|provider| provider.key_variables.iter().copied());
    variables.collect::<BTreeSet<_>>().into_iter()
}

/// Returns the environment variables for addresses of all built-in providers.
pub fn address_variables() -> impl Iterator<Item = &'static str> {
    let variables = PROVIDERS.iter().map(|provider| provider.base_url_variable).filter(|name| !name.is_empty());
    variables.collect::<BTreeSet<_>>().into_iter()
}

/// Returns the built-in provider of this name; `None` if there is none.
pub fn provider(name: &str) -> Option<&'static ModelProvider> {
    PROVIDERS.iter().find(|provider| provider.name == name)
}

/// All built-in providers.
#[rustfmt::skip]
pub const PROVIDERS: &[ModelProvider] = &[
    row("anthropic", Protocol::Anthropic, Hosting::Hosted, "https://api.anthropic.com", "ANTHROPIC_BASE_URL", &["ANTHROPIC_API_KEY"]),
    row("openai", Protocol::OpenAiResponses, Hosting::Hosted, "https://api.openai.com/v1", "OPENAI_BASE_URL", &["OPENAI_API_KEY"]),
    // `openai-chat` is for servers that offer both protocols, but on which only chat completions work.
    row("openai-chat", Protocol::OpenAiChat, Hosting::Hosted, "https://api.openai.com/v1", "OPENAI_BASE_URL", &["OPENAI_API_KEY"]),
    row("gemini", Protocol::Gemini, Hosting::Hosted, "https://generativelanguage.googleapis.com", "GOOGLE_GEMINI_BASE_URL", &["GEMINI_API_KEY", "GOOGLE_API_KEY"]),
    row("openrouter", Protocol::OpenAiChat, Hosting::Hosted, "https://openrouter.ai/api/v1", "OPENROUTER_BASE_URL", &["OPENROUTER_API_KEY"]),
    row("ollama", Protocol::OpenAiChat, Hosting::Local { port: 11434 }, "http://127.0.0.1:11434/v1", "OLLAMA_HOST", &["OLLAMA_API_KEY"]),
    row("llamacpp", Protocol::OpenAiChat, Hosting::Local { port: 8080 }, "http://127.0.0.1:8080/v1", "LLAMACPP_BASE_URL", &["LLAMA_API_KEY"]),
    row("vllm", Protocol::OpenAiChat, Hosting::Local { port: 8000 }, "http://127.0.0.1:8000/v1", "VLLM_BASE_URL", &["VLLM_API_KEY"]),
];

const fn row(
    name: &'static str,
    protocol: Protocol,
    hosting: Hosting,
    base_url: &'static str,
    base_url_variable: &'static str,
    key_variables: &'static [&'static str],
) -> ModelProvider {
    let needs_key = matches!(hosting, Hosting::Hosted);
    ModelProvider { name, protocol, base_url, base_url_variable, key_variables, needs_key, hosting }
}
