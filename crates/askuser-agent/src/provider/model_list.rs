//! Lists the models of a provider and chooses the default model.
//!
//! Each provider has its own format and order. The result has the newest models first. Models that do not write text
//! are left out, as far as the list shows it.

use super::catalog::{Hosting, ModelProvider, Protocol};
use super::connect::{self, ConnectError, ProviderConfig};
use super::endpoint::FailedRequest;
use super::json::{array_field, str_field, u64_field};
use crate::event::FailureKind;
use crate::model::ModelError;
use reqwest::Url;
use serde_json::Value;
use std::cmp::Reverse;

/// A model that a provider offers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelInfo {
    /// The name of the model, without the provider.
    pub name: String,
    /// The display name of the model; `None` if the provider states none.
    pub title: Option<String>,
    /// The maximum number of tokens of a conversation; `None` if the provider does not state it.
    pub context_window: Option<u64>,
}

/// The reason why the models of a provider cannot be listed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ListError {
    /// The connection settings of the provider are incomplete or invalid.
    #[error(transparent)]
    Connect(#[from] ConnectError),
    /// The request failed, or the reply is not a list of models.
    #[error(transparent)]
    Request(#[from] ModelError),
}

/// Requests the models of a provider. Returns the newest models first.
pub async fn list_models(provider: &ModelProvider, config: &ProviderConfig<'_>) -> Result<Vec<ModelInfo>, ListError> {
    let base = connect::reach(provider, "", config)?;
    let endpoint = base.at(list_url(base.url.clone(), provider.protocol));
    let list = endpoint.get_json().await.map_err(|failed| match failed {
        FailedRequest { api_error: Some(api_error), .. } if api_error.status == Some(404) => {
            let message = format!("{} at {} has no list of models (404)", provider.name, endpoint.target.host);
            ModelError::new(FailureKind::UnknownModel, message)
        }
        failed => failed.error,
    })?;
    Ok(read(provider, &list))
}

fn list_url(base: Url, protocol: Protocol) -> Url {
    let mut url = connect::versioned(base, protocol);
    if let Ok(mut path) = url.path_segments_mut() {
        path.push("models");
    }
    let limit = match protocol {
        Protocol::Anthropic => "limit",
        Protocol::Gemini => "pageSize",
        Protocol::OpenAiResponses | Protocol::OpenAiChat => return url,
    };
    url.query_pairs_mut().append_pair(limit, "1000");
    url
}

fn read(provider: &ModelProvider, list: &Value) -> Vec<ModelInfo> {
    let mut models: Vec<(Age, ModelInfo)> = match provider.protocol {
        Protocol::Gemini => array_field(list, "models").filter_map(gemini_model).collect(),
        _ => array_field(list, "data").filter_map(|model| other_model(provider, model)).collect(),
    };
    // Models of unknown age keep the provider's order.
    models.sort_by_key(|(age, _)| Reverse(*age));
    models.into_iter().map(|(_, model)| model).collect()
}

/// A number that grows with the release date of a model. It is comparable only among the models of one provider.
type Age = u64;

fn gemini_model(model: &Value) -> Option<(Age, ModelInfo)> {
    let name = str_field(model, "name")?;
    let name = name.strip_prefix("models/").unwrap_or(name);
    if !array_field(model, "supportedGenerationMethods").any(|method| method == "generateContent") {
        return None;
    }
    // The list states no dates. An alias of the current model comes first, then the highest version.
    let age = if name.ends_with("-latest") { u64::MAX } else { version(name) };
    let title = str_field(model, "displayName").map(str::to_owned);
    let context_window = u64_field(model, "inputTokenLimit");
    Some((age, ModelInfo { name: name.to_owned(), title, context_window }))
}

/// Returns the version in a name such as `gemini-2.5-pro`, in hundredths.
fn version(name: &str) -> u64 {
    let number = name.split('-').find_map(|part| part.parse::<f64>().ok()).unwrap_or(0.0);
    (number * 100.0) as u64
}

fn other_model(provider: &ModelProvider, model: &Value) -> Option<(Age, ModelInfo)> {
    let name = str_field(model, "id")?;
    if !writes_text(provider, name, model) {
        return None;
    }
    let age = match (u64_field(model, "created"), str_field(model, "created_at")) {
        // Ollama and vLLM state the time of the request or of the download instead.
        _ if provider.hosting != Hosting::Hosted => 0,
        (Some(seconds), _) => seconds,
        // The digits of a date such as 2025-02-19T00:00:00Z form a number that grows with time.
        (None, Some(date)) => {
            let digits: String = date.chars().filter(char::is_ascii_digit).take(14).collect();
            digits.parse().unwrap_or(0)
        }
        (None, None) => 0,
    };
    let title = str_field(model, "display_name").or_else(|| str_field(model, "name"));
    let title = title.filter(|title| *title != name).map(str::to_owned);
    let windows = ["max_input_tokens", "context_length", "max_model_len", "n_ctx"];
    // llama.cpp has the field one level deeper.
    let fields = [model, &model["meta"]];
    let found = fields.iter().find_map(|fields| windows.iter().find_map(|key| u64_field(fields, key)));
    let context_window = found.filter(|tokens| *tokens > 0);
    Some((age, ModelInfo { name: name.to_owned(), title, context_window }))
}

/// Whether the list allows the conclusion that a model writes text and calls tools.
fn writes_text(provider: &ModelProvider, name: &str, model: &Value) -> bool {
    match provider.name {
        "openai" | "openai-chat" => !OTHER_KINDS.iter().any(|kind| name.contains(kind)),
        "openrouter" => {
            let parameters = &model["supported_parameters"];
            !parameters.is_array() || array_field(model, "supported_parameters").any(|name| name == "tools")
        }
        _ => true,
    }
}

/// The parts of names of OpenAI's products that do not write text. Only the name tells the kind of a product.
const OTHER_KINDS: &[&str] = &[
    "embedding",
    "whisper",
    "tts",
    "dall-e",
    "moderation",
    "image",
    "audio",
    "realtime",
    "transcribe",
    "search",
    "sora",
    "davinci",
    "babbage",
    "instruct",
];

/// Returns the default model of a list that has the newest models first; `None` if the list is empty.
///
/// The default is the provider's alias for its current model. Without an alias, it is the newest model of the usual
/// kind, or else the first model.
pub fn default_model<'a>(provider: &ModelProvider, models: &'a [ModelInfo]) -> Option<&'a ModelInfo> {
    let kinds: &[fn(&str) -> bool] = match provider.name {
        "anthropic" => &[|name| name.contains("sonnet"), |name| !name.contains("haiku")],
        "openai" | "openai-chat" => &[is_plain_gpt, |name| name.starts_with("gpt-")],
        "gemini" => &[
            |name| name == "gemini-pro-latest",
            |name| name.starts_with("gemini-") && name.ends_with("-pro"),
            |name| name == "gemini-flash-latest",
        ],
        "openrouter" => &[|name| name == "openrouter/auto"],
        _ => &[],
    };
    kinds.iter().find_map(|kind| models.iter().find(|model| kind(&model.name))).or_else(|| models.first())
}

/// Whether a name is `gpt-` and a version without a suffix for small or special models.
fn is_plain_gpt(name: &str) -> bool {
    let version = name.strip_prefix("gpt-").unwrap_or_default();
    !version.is_empty() && version.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.')
}

#[cfg(test)]
mod tests {
    use super::super::catalog;
    use super::*;

    #[track_caller]
    fn check(provider: &str, newest_first: &[&str], expected: &str) {
        let model = |name: &&str| ModelInfo { name: (*name).into(), title: None, context_window: None };
        let models: Vec<ModelInfo> = newest_first.iter().map(model).collect();
        let provider = catalog::provider(provider).unwrap();
        assert_eq!(default_model(provider, &models).map(|model| model.name.as_str()), Some(expected));
    }

    #[test]
    fn the_default_is_the_providers_alias_or_the_newest_of_its_usual_kind() {
        check(
            "anthropic",
            &["claude-haiku-5", "claude-opus-5", "claude-sonnet-5", "claude-sonnet-4-6"],
            "claude-sonnet-5",
        );
        check("anthropic", &["claude-haiku-9", "claude-new-9"], "claude-new-9");
        check("openai", &["gpt-5.2-mini", "gpt-5.2-codex", "gpt-5.2", "gpt-5", "o3"], "gpt-5.2");
        check("openai", &["o9", "gpt-6-mini"], "gpt-6-mini");
        check("gemini", &["gemini-flash-latest", "gemini-pro-latest", "gemini-3-pro"], "gemini-pro-latest");
        check("gemini", &["gemini-flash-latest", "gemini-3-flash", "gemini-2.5-pro"], "gemini-2.5-pro");
        check("openrouter", &["a/new", "openrouter/auto"], "openrouter/auto");
        check("ollama", &["qwen3:8b", "llama3"], "qwen3:8b");
    }

    #[test]
    fn without_models_there_is_no_default() {
        assert_eq!(default_model(catalog::provider("ollama").unwrap(), &[]), None);
    }
}
