//! The table of built-in providers: name, protocol, default base URL and the environment variables they read.

use std::collections::BTreeSet;

/// A built-in provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ModelProvider {
    /// The part of a model's name before the slash.
    pub name: &'static str,
    /// The protocol it speaks.
    pub protocol: Protocol,
    /// The default base URL.
    pub base_url: &'static str,
    /// The environment variable that overrides the base URL.
    pub base_url_variable: &'static str,
    /// The environment variables its API key may be in; the first one that is set is used.
    pub key_variables: &'static [&'static str],
    /// Whether its default endpoint requires an API key.
    pub needs_key: bool,
    /// Hosted by the provider, or run by the user.
    pub hosting: Hosting,
}

/// Who runs a provider's server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Hosting {
    /// The provider; its base URL is complete.
    Hosted,
    /// The user, who may write just `host` or `:port`: scheme, port and `/v1` are filled in.
    Local {
        /// The default port.
        port: u16,
    },
}

/// The HTTP protocol of a provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Protocol {
    /// Anthropic Messages.
    Anthropic,
    /// OpenAI Responses; chat completions with servers that do not have it.
    OpenAiResponses,
    /// OpenAI chat completions, and compatible servers.
    OpenAiChat,
    /// Gemini generateContent.
    Gemini,
}

/// Every environment variable that a key of a built-in provider may be in.
pub fn key_variables() -> impl Iterator<Item = &'static str> {
    let variables = PROVIDERS.iter().flat_map(|provider| provider.key_variables.iter().copied());
    variables.collect::<BTreeSet<_>>().into_iter()
}

/// Every environment variable that the address of a built-in provider may be in.
pub fn address_variables() -> impl Iterator<Item = &'static str> {
    let variables = PROVIDERS.iter().map(|provider| provider.base_url_variable).filter(|name| !name.is_empty());
    variables.collect::<BTreeSet<_>>().into_iter()
}

/// The built-in provider of this name.
pub fn provider(name: &str) -> Option<&'static ModelProvider> {
    PROVIDERS.iter().find(|provider| provider.name == name)
}

/// All built-in providers.
pub const PROVIDERS: &[ModelProvider] = &[
    ModelProvider {
        name: "anthropic",
        protocol: Protocol::Anthropic,
        base_url: "https://api.anthropic.com",
        base_url_variable: "ANTHROPIC_BASE_URL",
        key_variables: &["ANTHROPIC_API_KEY"],
        needs_key: true,
        hosting: Hosting::Hosted,
    },
    ModelProvider {
        name: "openai",
        protocol: Protocol::OpenAiResponses,
        base_url: "https://api.openai.com/v1",
        base_url_variable: "OPENAI_BASE_URL",
        key_variables: &["OPENAI_API_KEY"],
        needs_key: true,
        hosting: Hosting::Hosted,
    },
    // For servers that have both protocols, and only this one right.
    ModelProvider {
        name: "openai-chat",
        protocol: Protocol::OpenAiChat,
        base_url: "https://api.openai.com/v1",
        base_url_variable: "OPENAI_BASE_URL",
        key_variables: &["OPENAI_API_KEY"],
        needs_key: true,
        hosting: Hosting::Hosted,
    },
    ModelProvider {
        name: "gemini",
        protocol: Protocol::Gemini,
        base_url: "https://generativelanguage.googleapis.com",
        base_url_variable: "GOOGLE_GEMINI_BASE_URL",
        key_variables: &["GEMINI_API_KEY", "GOOGLE_API_KEY"],
        needs_key: true,
        hosting: Hosting::Hosted,
    },
    ModelProvider {
        name: "openrouter",
        protocol: Protocol::OpenAiChat,
        base_url: "https://openrouter.ai/api/v1",
        base_url_variable: "OPENROUTER_BASE_URL",
        key_variables: &["OPENROUTER_API_KEY"],
        needs_key: true,
        hosting: Hosting::Hosted,
    },
    ModelProvider {
        name: "ollama",
        protocol: Protocol::OpenAiChat,
        base_url: "http://127.0.0.1:11434/v1",
        base_url_variable: "OLLAMA_HOST",
        key_variables: &["OLLAMA_API_KEY"],
        needs_key: false,
        hosting: Hosting::Local { port: 11434 },
    },
    ModelProvider {
        name: "llamacpp",
        protocol: Protocol::OpenAiChat,
        base_url: "http://127.0.0.1:8080/v1",
        base_url_variable: "LLAMACPP_BASE_URL",
        key_variables: &["LLAMA_API_KEY"],
        needs_key: false,
        hosting: Hosting::Local { port: 8080 },
    },
    ModelProvider {
        name: "vllm",
        protocol: Protocol::OpenAiChat,
        base_url: "http://127.0.0.1:8000/v1",
        base_url_variable: "VLLM_BASE_URL",
        key_variables: &["VLLM_API_KEY"],
        needs_key: false,
        hosting: Hosting::Local { port: 8000 },
    },
];
