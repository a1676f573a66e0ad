//! Choosing a model: `provider/name`, with the key and the address from the environment.
//!
//! The providers are one table. A key is taken from a variable and nowhere else, and stands in no error.

use super::anthropic;
use super::complaint::{Addressee, Key};
use super::endpoint::{self, Endpoint};
use super::remote::Remote;
use crate::model::Model;
use reqwest::Url;
use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderName, HeaderValue};
use std::sync::Arc;
use std::time::Duration;

/// How many tokens an answer may have where the provider wants to be told.
pub const DEFAULT_MAX_TOKENS: u32 = anthropic::DEFAULT_MAX_TOKENS;

/// A provider that is known by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Provider {
    /// What stands before the slash.
    pub name: &'static str,
    /// What it speaks.
    pub protocol: Protocol,
    /// Where it is reached unless something else is said.
    pub base_url: &'static str,
    /// The variable that says something else.
    pub base_url_variable: &'static str,
    /// The variables its key may be in; the first that is set counts.
    pub key_variables: &'static [&'static str],
    /// Whether it does not work without a key.
    pub needs_key: bool,
    /// Where it runs.
    pub place: Place,
}

/// Where a provider runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// Somewhere else; its address is written out in full.
    Hosted,
    /// With the person, who writes its address as they like: this port and `/v1` are filled in.
    Local {
        /// Where it listens by default.
        port: u16,
    },
}

/// What a provider speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Protocol {
    /// Anthropic's Messages.
    Anthropic,
    /// OpenAI's chat completions, and everything compatible with them.
    OpenAi,
    Gemini,
}

/// The providers that are known by name.
pub const PROVIDERS: &[Provider] = &[
    Provider {
        name: "anthropic",
        protocol: Protocol::Anthropic,
        base_url: "https://api.anthropic.com",
        base_url_variable: "ANTHROPIC_BASE_URL",
        key_variables: &["ANTHROPIC_API_KEY"],
        needs_key: true,
        place: Place::Hosted,
    },
    Provider {
        name: "openai",
        protocol: Protocol::OpenAi,
        base_url: "https://api.openai.com/v1",
        base_url_variable: "OPENAI_BASE_URL",
        key_variables: &["OPENAI_API_KEY"],
        needs_key: true,
        place: Place::Hosted,
    },
    Provider {
        name: "gemini",
        protocol: Protocol::Gemini,
        base_url: "https://generativelanguage.googleapis.com",
        base_url_variable: "GOOGLE_GEMINI_BASE_URL",
        key_variables: &["GEMINI_API_KEY", "GOOGLE_API_KEY"],
        needs_key: true,
        place: Place::Hosted,
    },
    Provider {
        name: "openrouter",
        protocol: Protocol::OpenAi,
        base_url: "https://openrouter.ai/api/v1",
        base_url_variable: "OPENROUTER_BASE_URL",
        key_variables: &["OPENROUTER_API_KEY"],
        needs_key: true,
        place: Place::Hosted,
    },
    Provider {
        name: "ollama",
        protocol: Protocol::OpenAi,
        base_url: "http://127.0.0.1:11434/v1",
        base_url_variable: "OLLAMA_HOST",
        key_variables: &["OLLAMA_API_KEY"],
        needs_key: false,
        place: Place::Local { port: 11434 },
    },
    Provider {
        name: "llamacpp",
        protocol: Protocol::OpenAi,
        base_url: "http://127.0.0.1:8080/v1",
        base_url_variable: "LLAMACPP_BASE_URL",
        key_variables: &["LLAMA_API_KEY"],
        needs_key: false,
        place: Place::Local { port: 8080 },
    },
    Provider {
        name: "vllm",
        protocol: Protocol::OpenAi,
        base_url: "http://127.0.0.1:8000/v1",
        base_url_variable: "VLLM_BASE_URL",
        key_variables: &["VLLM_API_KEY"],
        needs_key: false,
        place: Place::Local { port: 8000 },
    },
];

/// What else is needed to reach a model.
#[derive(Clone)]
pub struct Settings<'a> {
    /// Where the provider is; wins over its variable. With an address of one's own a key is not insisted on.
    pub base_url: Option<String>,
    /// Looks up a variable.
    pub environment: &'a dyn Fn(&str) -> Option<String>,
    /// How many tokens an answer may have. Without it the provider decides, or [`DEFAULT_MAX_TOKENS`] where it wants to
    /// be told.
    pub max_tokens: Option<u32>,
    /// How long it may take to connect.
    pub connect_timeout: Duration,
    /// How long nothing may come, before an answer begins and in the middle of it.
    pub idle_timeout: Duration,
}

impl<'a> Settings<'a> {
    /// The usual ones.
    pub fn new(environment: &'a dyn Fn(&str) -> Option<String>) -> Settings<'a> {
        Settings {
            base_url: None,
            environment,
            max_tokens: None,
            connect_timeout: Duration::from_secs(30),
            idle_timeout: Duration::from_secs(300),
        }
    }

    fn variable(&self, name: &str) -> Option<String> {
        (self.environment)(name).map(|value| value.trim().to_owned()).filter(|value| !value.is_empty())
    }
}

/// Why there is no such model to talk to.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConnectError {
    /// Nobody is known by this name.
    #[error("there is no provider {name:?}; write provider/name, with one of: {}", known())]
    UnknownProvider {
        /// What stood before the slash.
        name: String,
    },
    /// Only the provider was named.
    #[error("{provider}: which model? write {provider}/name")]
    MissingName {
        /// The provider.
        provider: &'static str,
    },
    /// It does not work without a key, and there is none.
    #[error("{provider} needs a key: set {variable}")]
    MissingKey {
        /// The provider.
        provider: &'static str,
        /// The variable it is taken from.
        variable: &'static str,
    },
    /// The key has characters that cannot be sent.
    #[error("the key in {variable} has characters that no key has; is it the key, and nothing else?")]
    BadKey {
        /// The variable it was taken from.
        variable: &'static str,
    },
    /// The address is none.
    #[error("the base URL of {provider}{}: {why}", .variable.map(|name| format!(" in {name}")).unwrap_or_default())]
    BadBaseUrl {
        /// The provider.
        provider: &'static str,
        /// The variable it was taken from, unless it was given.
        variable: Option<&'static str>,
        /// What is wrong with it.
        why: String,
    },
    /// There can be no connections at all.
    #[error("cannot connect to anything: {why}")]
    NoClient {
        /// What is missing.
        why: String,
    },
}

fn known() -> String {
    PROVIDERS.iter().map(|provider| provider.name).collect::<Vec<_>>().join(", ")
}

/// The model of this name: `provider/name`. The name may have slashes of its own. Nothing is sent yet.
pub fn connect(spec: &str, settings: &Settings<'_>) -> Result<Arc<dyn Model>, ConnectError> {
    let (name, model) = spec.trim().split_once('/').unwrap_or((spec.trim(), ""));
    let provider = PROVIDERS.iter().find(|provider| provider.name == name);
    let provider = provider.ok_or_else(|| ConnectError::UnknownProvider { name: name.to_owned() })?;
    if model.is_empty() {
        return Err(ConnectError::MissingName { provider: provider.name });
    }
    let (base, is_own) = base_url(provider, settings)?;
    let key = key(provider, settings, is_own)?;
    let client = endpoint::client(&base, settings.connect_timeout, settings.idle_timeout)
        .map_err(|error| ConnectError::NoClient { why: endpoint::chain(&error) })?;
    let headers = headers(provider.protocol, key.as_ref())?;
    let host = base.host_str().unwrap_or_default();
    let host = base.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"));
    let addressee = Addressee {
        provider: provider.name,
        model: model.to_owned(),
        host,
        key_variables: provider.key_variables,
        key,
    };
    let endpoint =
        Endpoint { client, url: request_url(base, provider.protocol, model), headers, addressee: Arc::new(addressee) };
    Ok(Arc::new(Remote { protocol: provider.protocol, endpoint, max_tokens: settings.max_tokens }))
}

fn key(provider: &Provider, settings: &Settings<'_>, is_own: bool) -> Result<Option<Key>, ConnectError> {
    let keys = provider.key_variables.iter().find_map(|variable| Some((*variable, settings.variable(variable)?)));
    match (keys, provider.key_variables.first()) {
        (Some((variable, secret)), _) => Ok(Some(Key { variable, secret })),
        // Whoever runs a server or a gateway of their own knows whether it wants a key.
        (None, Some(variable)) if provider.needs_key && !is_own => {
            Err(ConnectError::MissingKey { provider: provider.name, variable })
        }
        (None, _) => Ok(None),
    }
}

fn headers(protocol: Protocol, key: Option<&Key>) -> Result<HeaderMap, ConnectError> {
    let mut headers = HeaderMap::new();
    if protocol == Protocol::Anthropic {
        headers.insert(HeaderName::from_static("anthropic-version"), HeaderValue::from_static("2023-06-01"));
    }
    if let Some(key) = key {
        let (name, value) = match protocol {
            Protocol::Anthropic => (HeaderName::from_static("x-api-key"), key.secret.clone()),
            Protocol::OpenAi => (AUTHORIZATION, format!("Bearer {}", key.secret)),
            Protocol::Gemini => (HeaderName::from_static("x-goog-api-key"), key.secret.clone()),
        };
        let bad = |_| ConnectError::BadKey { variable: key.variable };
        let mut value = HeaderValue::try_from(value).map_err(bad)?;
        value.set_sensitive(true);
        headers.insert(name, value);
    }
    Ok(headers)
}

/// The address, and whether it is one's own.
fn base_url(provider: &Provider, settings: &Settings<'_>) -> Result<(Url, bool), ConnectError> {
    let variable = provider.base_url_variable;
    let (written, variable) = match &settings.base_url {
        Some(given) => (Some(given.trim().to_owned()), None),
        None => (settings.variable(variable), Some(variable)),
    };
    let is_own = written.is_some();
    let bad = |why: String| ConnectError::BadBaseUrl { provider: provider.name, variable, why };
    let written = written.unwrap_or_else(|| provider.base_url.to_owned());
    let whole = match provider.place {
        Place::Local { port } => fill_in(&written, port),
        Place::Hosted => written,
    };
    let mut url = Url::parse(&whole).map_err(|error| bad(format!("it is no URL: {error}")))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(bad(format!("it begins with {}:, not with http: or https:", url.scheme())));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(bad("it has a user name or password in it; keys belong in a variable".into()));
    }
    url.set_fragment(None);
    if matches!(provider.place, Place::Local { .. }) && url.path() == "/" {
        url.set_path("/v1");
    }
    Ok((url, is_own))
}

/// An address as `OLLAMA_HOST` has it: `:11434`, `0.0.0.0`, `box:8000`, or a URL.
fn fill_in(written: &str, port: u16) -> String {
    if written.contains("://") {
        return written.to_owned();
    }
    let (authority, path) = written.split_at(written.find('/').unwrap_or(written.len()));
    let (host, own_port) = match authority.rsplit_once(':') {
        Some((host, digits)) if !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()) => {
            (host, digits.to_owned())
        }
        _ => (authority, port.to_string()),
    };
    // A server listens on all addresses; a client has to choose one.
    let host = if matches!(host, "" | "0.0.0.0") { "127.0.0.1" } else { host };
    format!("http://{host}:{own_port}{path}")
}

/// Where requests go. A version that the base URL has already is not added again.
fn request_url(mut base: Url, protocol: Protocol, model: &str) -> Url {
    let last = base.path_segments().and_then(|mut segments| segments.rfind(|segment| !segment.is_empty()));
    let last = last.unwrap_or_default().to_owned();
    if let Ok(mut path) = base.path_segments_mut() {
        path.pop_if_empty();
        match protocol {
            Protocol::Anthropic => {
                path.extend((last != "v1").then_some("v1")).push("messages");
            }
            Protocol::OpenAi => {
                path.extend(["chat", "completions"]);
            }
            Protocol::Gemini => {
                path.extend((!last.starts_with("v1")).then_some("v1beta"));
                let (kind, model) = model.split_once('/').unwrap_or(("models", model));
                path.push(kind).push(&format!("{model}:streamGenerateContent"));
            }
        }
    }
    if protocol == Protocol::Gemini {
        base.query_pairs_mut().append_pair("alt", "sse");
    }
    base
}

#[cfg(test)]
#[path = "choice_tests.rs"]
mod tests;
