//! Connects a model given as `provider/name`: looks the provider up, takes key and base URL from the environment, and
//! builds the HTTP endpoint. An API key comes from an environment variable only, and appears in no error.

use super::catalog::{self, Hosting, ModelProvider, PROVIDERS, Protocol};
use super::endpoint::{self, Endpoint};
use super::http_model::HttpModel;
use super::request_options::{Effort, RequestOptions};
use super::target::{ApiKey, Target};
use crate::model::Model;
use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Client, Url};
use std::sync::Arc;
use std::time::Duration;

/// How to reach a provider.
#[derive(Clone)]
#[non_exhaustive]
pub struct ProviderConfig<'a> {
    /// The base URL; overrides the provider's variable. With a custom base URL no API key is required.
    pub base_url: Option<String>,
    /// Looks up an environment variable.
    pub environment: &'a (dyn Fn(&str) -> Option<String> + Sync),
    /// The output limit, in tokens. `None` leaves it to the provider, or is as much as the model may write for providers
    /// that require a limit.
    pub max_tokens: Option<u32>,
    /// How much the model thinks. `None` leaves it to the provider.
    pub effort: Option<Effort>,
    /// How many tokens a conversation may have, where the provider's list says so.
    pub context_window: Option<u64>,
    /// Timeout for connecting.
    pub connect_timeout: Duration,
    /// Timeout between two chunks of the response, and before the first.
    pub idle_timeout: Duration,
}

impl<'a> ProviderConfig<'a> {
    /// The defaults, with this environment.
    pub fn new(environment: &'a (dyn Fn(&str) -> Option<String> + Sync)) -> ProviderConfig<'a> {
        ProviderConfig {
            base_url: None,
            environment,
            max_tokens: None,
            effort: None,
            context_window: None,
            connect_timeout: Duration::from_secs(30),
            idle_timeout: Duration::from_secs(300),
        }
    }

    /// With this base URL, if any.
    pub fn with_base_url(self, base_url: Option<String>) -> ProviderConfig<'a> {
        ProviderConfig { base_url, ..self }
    }

    /// With this output limit, in tokens.
    pub fn with_max_tokens(self, max_tokens: Option<u32>) -> ProviderConfig<'a> {
        ProviderConfig { max_tokens, ..self }
    }

    /// Thinking this much.
    pub fn with_effort(self, effort: Option<Effort>) -> ProviderConfig<'a> {
        ProviderConfig { effort, ..self }
    }

    /// With what its list says of the model's context.
    pub fn with_context_window(self, context_window: Option<u64>) -> ProviderConfig<'a> {
        ProviderConfig { context_window, ..self }
    }

    /// Waiting this long to connect, and this long for data.
    pub fn with_timeouts(self, connect_timeout: Duration, idle_timeout: Duration) -> ProviderConfig<'a> {
        ProviderConfig { connect_timeout, idle_timeout, ..self }
    }

    fn variable(&self, name: &str) -> Option<String> {
        (self.environment)(name).map(|value| value.trim().to_owned()).filter(|value| !value.is_empty())
    }
}

/// Why a model cannot be connected.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ConnectError {
    /// There is no provider of this name.
    #[error("there is no provider {name:?}; write provider/name, with one of: {}", provider_names())]
    UnknownProvider {
        /// The part before the slash.
        name: String,
    },
    /// The part after the slash is missing.
    #[error("{provider}: which model? write {provider}/name")]
    MissingName {
        /// The provider.
        provider: &'static str,
    },
    /// The provider requires an API key, and none is set.
    #[error("{provider} needs a key: set {variable}")]
    MissingKey {
        /// The provider.
        provider: &'static str,
        /// The variable to set.
        variable: &'static str,
    },
    /// The key has characters that an HTTP header cannot hold.
    #[error("the key in {variable} has characters that cannot be sent in an HTTP header")]
    BadKey {
        /// The variable it was read from.
        variable: &'static str,
    },
    /// The base URL cannot be used.
    #[error("the base URL of {provider}{}: {why}", .variable.map(|name| format!(" in {name}")).unwrap_or_default())]
    BadBaseUrl {
        /// The provider.
        provider: &'static str,
        /// The variable it was read from; `None` if it was given in the config.
        variable: Option<&'static str>,
        /// What is wrong with it.
        why: String,
    },
    /// The HTTP client cannot be built.
    #[error("cannot set up the HTTP client: {why}")]
    NoClient {
        /// What failed.
        why: String,
    },
}

fn provider_names() -> String {
    PROVIDERS.iter().map(|provider| provider.name).collect::<Vec<_>>().join(", ")
}

/// Connects the model `provider/name`; `name` may contain slashes. Sends nothing yet.
///
/// # Errors
/// If the provider is unknown, its API key is missing, or the base URL cannot be used.
pub fn connect(spec: &str, config: &ProviderConfig<'_>) -> Result<Arc<dyn Model>, ConnectError> {
    let (name, model) = spec.trim().split_once('/').unwrap_or((spec.trim(), ""));
    let provider = catalog::provider(name).ok_or_else(|| ConnectError::UnknownProvider { name: name.to_owned() })?;
    if model.is_empty() {
        return Err(ConnectError::MissingName { provider: provider.name });
    }
    let connection = reach(provider, config)?;
    let endpoint = connection.endpoint(model, |base| request_url(base, provider.protocol, model));
    // OpenAI itself has Responses; a compatible server or gateway may not.
    let chat = (provider.protocol == Protocol::OpenAiResponses && connection.is_custom)
        .then(|| connection.endpoint(model, |base| request_url(base, Protocol::OpenAiChat, model)));
    let options = RequestOptions::new(config.max_tokens, config.effort);
    Ok(Arc::new(HttpModel::new(provider.protocol, endpoint, chat, options, config.context_window)))
}

/// What all requests to a provider have in common.
pub(super) struct Connection {
    provider: &'static str,
    base: Url,
    /// Whether the user set the base URL.
    is_custom: bool,
    client: Client,
    headers: HeaderMap,
    key: Option<ApiKey>,
    key_variables: &'static [&'static str],
}

impl Connection {
    /// Where requests about a model go; `url` makes their URL from the base URL.
    pub(super) fn endpoint(&self, model: &str, url: impl Fn(Url) -> Url) -> Endpoint {
        let host = self.base.host_str().unwrap_or_default();
        let host = self.base.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"));
        let Connection { provider, is_custom, key, key_variables, .. } = self;
        let (model, is_custom, key) = (model.to_owned(), *is_custom, key.clone());
        let target = Target { provider, model, host, is_custom, key_variables, key };
        let (client, headers) = (self.client.clone(), self.headers.clone());
        Endpoint { client, url: url(self.base.clone()), headers, target: Arc::new(target) }
    }
}

/// Finds out how to reach a provider. Sends nothing yet.
pub(super) fn reach(provider: &ModelProvider, config: &ProviderConfig<'_>) -> Result<Connection, ConnectError> {
    let (base, is_custom) = base_url(provider, config)?;
    let key = key(provider, config, is_custom)?;
    let client = endpoint::build_client(&base, config.connect_timeout, config.idle_timeout)
        .map_err(|error| ConnectError::NoClient { why: endpoint::error_chain(&error) })?;
    let headers = headers(provider.protocol, key.as_ref())?;
    let ModelProvider { name, key_variables, .. } = *provider;
    Ok(Connection { provider: name, base, is_custom, client, headers, key, key_variables })
}

fn key(provider: &ModelProvider, config: &ProviderConfig<'_>, is_custom: bool) -> Result<Option<ApiKey>, ConnectError> {
    let keys = provider.key_variables.iter().find_map(|variable| Some((*variable, config.variable(variable)?)));
    match (keys, provider.key_variables.first()) {
        (Some((variable, secret)), _) => Ok(Some(ApiKey { variable, secret })),
        // A custom server or gateway may not need a key.
        (None, Some(variable)) if provider.needs_key && !is_custom => {
            Err(ConnectError::MissingKey { provider: provider.name, variable })
        }
        (None, _) => Ok(None),
    }
}

fn headers(protocol: Protocol, key: Option<&ApiKey>) -> Result<HeaderMap, ConnectError> {
    let mut headers = HeaderMap::new();
    if protocol == Protocol::Anthropic {
        headers.insert(HeaderName::from_static("anthropic-version"), HeaderValue::from_static("2023-06-01"));
    }
    if let Some(key) = key {
        let (name, value) = match protocol {
            Protocol::Anthropic => (HeaderName::from_static("x-api-key"), key.secret.clone()),
            Protocol::OpenAiResponses | Protocol::OpenAiChat => (AUTHORIZATION, format!("Bearer {}", key.secret)),
            Protocol::Gemini => (HeaderName::from_static("x-goog-api-key"), key.secret.clone()),
        };
        let bad = |_| ConnectError::BadKey { variable: key.variable };
        let mut value = HeaderValue::try_from(value).map_err(bad)?;
        value.set_sensitive(true);
        headers.insert(name, value);
    }
    Ok(headers)
}

/// The base URL, and whether the user set it.
fn base_url(provider: &ModelProvider, config: &ProviderConfig<'_>) -> Result<(Url, bool), ConnectError> {
    let variable = provider.base_url_variable;
    let (written, variable) = match &config.base_url {
        Some(given) => (Some(given.trim().to_owned()), None),
        None => (config.variable(variable), Some(variable)),
    };
    let is_custom = written.is_some();
    let bad = |why: String| ConnectError::BadBaseUrl { provider: provider.name, variable, why };
    let written = written.unwrap_or_else(|| provider.base_url.to_owned());
    let completed = match provider.hosting {
        Hosting::Local { port } => complete_local(&written, port),
        Hosting::Hosted => written,
    };
    let mut url = Url::parse(&completed)
        .map_err(|error| bad(format!("not a URL ({error}), must be one such as https://host/v1")))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(bad(format!("scheme is {}, must be http or https", url.scheme())));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(bad("contains a user name or password; put keys in an environment variable".into()));
    }
    url.set_fragment(None);
    if matches!(provider.hosting, Hosting::Local { .. }) && url.path() == "/" {
        url.set_path("/v1");
    }
    Ok((url, is_custom))
}

/// Completes an address in the style of `OLLAMA_HOST`: `:11434`, `0.0.0.0`, `box:8000`, or a URL.
fn complete_local(written: &str, port: u16) -> String {
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
    // 0.0.0.0 is where a server listens; a client connects to the loopback address.
    let host = if matches!(host, "" | "0.0.0.0") { "127.0.0.1" } else { host };
    format!("http://{host}:{own_port}{path}")
}

/// The base URL with the version of the protocol, unless it is there already.
pub(super) fn versioned(mut base: Url, protocol: Protocol) -> Url {
    let last = base.path_segments().and_then(|mut segments| segments.rfind(|segment| !segment.is_empty()));
    let last = last.unwrap_or_default().to_owned();
    if let Ok(mut path) = base.path_segments_mut() {
        path.pop_if_empty();
        match protocol {
            Protocol::Anthropic => path.extend((last != "v1").then_some("v1")),
            Protocol::Gemini => path.extend((!last.starts_with("v1")).then_some("v1beta")),
            // Theirs has it.
            Protocol::OpenAiResponses | Protocol::OpenAiChat => &mut path,
        };
    }
    base
}

fn request_url(base: Url, protocol: Protocol, model: &str) -> Url {
    let mut url = versioned(base, protocol);
    if let Ok(mut path) = url.path_segments_mut() {
        match protocol {
            Protocol::Anthropic => path.push("messages"),
            Protocol::OpenAiResponses => path.push("responses"),
            Protocol::OpenAiChat => path.extend(["chat", "completions"]),
            Protocol::Gemini => {
                let (kind, model) = model.split_once('/').unwrap_or(("models", model));
                path.push(kind).push(&format!("{model}:streamGenerateContent"))
            }
        };
    }
    if protocol == Protocol::Gemini {
        url.query_pairs_mut().append_pair("alt", "sse");
    }
    url
}

#[cfg(test)]
#[path = "connect_tests.rs"]
mod tests;
