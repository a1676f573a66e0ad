//! Connects a model given as `provider/name`.
//!
//! The module looks up the provider, takes the API key and the base URL from the environment, and builds the HTTP
//! endpoint. An API key comes only from an environment variable, and no error contains it.

use super::catalog::{self, Hosting, ModelProvider, PROVIDERS, Protocol};
use super::endpoint::{self, Endpoint};
use super::http_model::HttpModel;
use super::request_options::{Effort, RequestOptions};
use super::target::{ApiKey, Target};
use crate::model::Model;
use reqwest::Url;
use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderName, HeaderValue};
use std::sync::Arc;
use std::time::Duration;

/// The connection settings of a provider.
#[derive(Clone)]
pub struct ProviderConfig<'a> {
    base_url: Option<String>,
    environment: &'a (dyn Fn(&str) -> Option<String> + Sync),
    max_tokens: Option<u32>,
    effort: Option<Effort>,
    connect_timeout: Duration,
    idle_timeout: Duration,
}

impl<'a> ProviderConfig<'a> {
    /// Creates the default settings. `environment` looks up environment variables.
    pub fn new(environment: &'a (dyn Fn(&str) -> Option<String> + Sync)) -> ProviderConfig<'a> {
        ProviderConfig {
            base_url: None,
            environment,
            max_tokens: None,
            effort: None,
            connect_timeout: Duration::from_secs(30),
            idle_timeout: Duration::from_secs(300),
        }
    }

    /// Sets the base URL, which overrides the provider's environment variable. A custom base URL requires no API key.
    pub fn with_base_url(self, base_url: Option<String>) -> ProviderConfig<'a> {
        ProviderConfig { base_url, ..self }
    }

    /// Sets the maximum number of output tokens. `None` leaves the limit to the provider. Where the protocol requires a
    /// limit, `None` means the model's maximum.
    pub fn with_max_tokens(self, max_tokens: Option<u32>) -> ProviderConfig<'a> {
        ProviderConfig { max_tokens, ..self }
    }

    /// Sets the effort of reasoning. `None` leaves it to the provider.
    pub fn with_effort(self, effort: Option<Effort>) -> ProviderConfig<'a> {
        ProviderConfig { effort, ..self }
    }

    /// Sets the time limit for a connection, and the time limit for each wait for data.
    pub fn with_timeouts(self, connect_timeout: Duration, idle_timeout: Duration) -> ProviderConfig<'a> {
        ProviderConfig { connect_timeout, idle_timeout, ..self }
    }

    fn variable(&self, name: &str) -> Option<String> {
        (self.environment)(name).map(|value| value.trim().to_owned()).filter(|value| !value.is_empty())
    }
}

/// The reason why a model cannot be connected.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs)]
#[non_exhaustive]
pub enum ConnectError {
    #[error("there is no provider {name:?}; write provider/name, with one of: {}", provider_names())]
    UnknownProvider { name: String },
    #[error("{provider}: which model? write {provider}/name")]
    MissingName { provider: &'static str },
    #[error("{provider} needs a key: set {variable}")]
    MissingKey { provider: &'static str, variable: &'static str },
    #[error("the key in {variable} has characters that cannot be sent in an HTTP header")]
    BadKey { variable: &'static str },
    /// The base URL is invalid. `variable` is the environment variable with the URL; `None` if the settings contain it.
    #[error("the base URL of {provider}{}: {why}", .variable.map(|name| format!(" in {name}")).unwrap_or_default())]
    BadBaseUrl { provider: &'static str, variable: Option<&'static str>, why: String },
    #[error("cannot set up the HTTP client: {why}")]
    NoClient { why: String },
}

fn provider_names() -> String {
    PROVIDERS.iter().map(|provider| provider.name).collect::<Vec<_>>().join(", ")
}

/// Connects the model `provider/name` without sending a request. `name` may contain slashes.
pub fn connect(spec: &str, config: &ProviderConfig<'_>) -> Result<Arc<dyn Model>, ConnectError> {
    let (name, model) = spec.trim().split_once('/').unwrap_or((spec.trim(), ""));
    let provider = catalog::provider(name).ok_or_else(|| ConnectError::UnknownProvider { name: name.to_owned() })?;
    if model.is_empty() {
        return Err(ConnectError::MissingName { provider: provider.name });
    }
    let base = reach(provider, model, config)?;
    let at = |protocol| base.at(request_url(base.url.clone(), protocol, model));
    // OpenAI itself has the Responses protocol. A compatible server may lack it.
    let may_lack_responses = provider.protocol == Protocol::OpenAiResponses && base.target.is_custom;
    let chat = may_lack_responses.then(|| at(Protocol::OpenAiChat));
    let options = RequestOptions::new(config.max_tokens, config.effort);
    Ok(Arc::new(HttpModel::new(provider.protocol, at(provider.protocol), chat, options)))
}

/// Resolves the base URL and the API key of a provider without sending a request.
pub(super) fn reach(
    provider: &ModelProvider,
    model: &str,
    config: &ProviderConfig<'_>,
) -> Result<Endpoint, ConnectError> {
    let (url, is_custom) = base_url(provider, config)?;
    let key = key(provider, config, is_custom)?;
    let client = endpoint::build_client(&url, config.connect_timeout, config.idle_timeout)
        .map_err(|error| ConnectError::NoClient { why: endpoint::error_chain(&error) })?;
    let headers = headers(provider.protocol, key.as_ref())?;
    let host = url.host_str().unwrap_or_default();
    let host = url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"));
    let ModelProvider { name: provider, key_variables, .. } = *provider;
    let target = Arc::new(Target { provider, model: model.to_owned(), host, is_custom, key_variables, key });
    Ok(Endpoint { client, url, headers, target })
}

fn key(provider: &ModelProvider, config: &ProviderConfig<'_>, is_custom: bool) -> Result<Option<ApiKey>, ConnectError> {
    let keys = provider.key_variables.iter().find_map(|variable| Some((*variable, config.variable(variable)?)));
    match (keys, provider.key_variables.first()) {
        (Some((variable, secret)), _) => Ok(Some(ApiKey { variable, secret })),
        // A custom server may work without a key.
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

/// Returns the base URL, and whether the user has set it.
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

/// Completes an address in the format of `OLLAMA_HOST`: `:11434`, `0.0.0.0`, `box:8000`, or a URL.
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
    // A server listens on 0.0.0.0. A client connects to the loopback address instead.
    let host = if matches!(host, "" | "0.0.0.0") { "127.0.0.1" } else { host };
    format!("http://{host}:{own_port}{path}")
}

/// Returns the base URL with the version of the protocol. A missing version is appended.
pub(super) fn versioned(mut base: Url, protocol: Protocol) -> Url {
    let last = base.path_segments().and_then(|mut segments| segments.rfind(|segment| !segment.is_empty()));
    let last = last.unwrap_or_default().to_owned();
    if let Ok(mut path) = base.path_segments_mut() {
        path.pop_if_empty();
        match protocol {
            Protocol::Anthropic => path.extend((last != "v1").then_some("v1")),
            Protocol::Gemini => path.extend((!last.starts_with("v1")).then_some("v1beta")),
            // The base URL of these providers already has the version.
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
