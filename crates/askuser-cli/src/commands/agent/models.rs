//! Chooses a model: by its name, by its provider, or by the first key in the environment. `askuser agent models` lists
//! the candidates.

use crate::config::{BaseUrl, Layers, Settings};
use crate::environment;
use crate::failure::{self, Failure, exit};
use crate::json::escape_invisible;
use crate::result::write;
use askuser_agent::provider::{self, ConnectError, ModelInfo, ModelProvider, ProviderConfig};
use askuser_agent::{Model, ModelRequest, RecordedModel, ResponseStream};
use clap::ArgMatches;
use serde_json::json;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

/// The timeout for a list of models. A list is short, so a longer wait is useless.
const LIST_TIMEOUT: Duration = Duration::from_secs(15);

#[derive(Clone)]
pub(crate) struct Models {
    settings: Settings,
    /// The context sizes of the listed models, by full name.
    windows: Arc<Mutex<HashMap<String, u64>>>,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Offered {
    pub(crate) provider: &'static ModelProvider,
    pub(crate) models: Vec<ModelInfo>,
}

impl Models {
    pub(crate) fn new(settings: &Settings) -> Models {
        Models { settings: settings.clone(), windows: Arc::default() }
    }

    /// Returns the initial model. If the user did not choose it, a notice gives the model and the reason.
    pub(crate) fn first(&self) -> Result<Arc<dyn Model>, Failure> {
        if let Some(name) = &self.settings.model {
            let model = wait_for(self.connect(name))??;
            if !name.contains('/') {
                failure::notice(&format!("the model is {}", model.name()));
            }
            return Ok(model);
        }
        let with_key: Vec<(&ModelProvider, &str)> = providers_with_key().collect();
        if let Some(base_url) = &self.settings.base_url {
            return Err(needs_model(
                base_url,
                with_key.first().map_or("openai-chat/NAME", |(provider, _)| provider.name),
            ));
        }
        let Some((provider, variable)) = with_key.first() else { return Err(no_model()) };
        let model = wait_for(self.connect(provider.name))??;
        let others = match &with_key[1..] {
            [] => String::new(),
            others => {
                format!(" (and before {})", others.iter().map(|(_, other)| *other).collect::<Vec<_>>().join(", "))
            }
        };
        let words = format!(
            "the model is {}, since {variable} is set{others}; --model chooses another, `askuser agent models` lists them",
            model.name()
        );
        failure::notice(&words);
        Ok(model)
    }

    /// Returns the model of a resumed session. Its address is not stored. A custom address that was set then and is
    /// missing now is an error, so that no other address is used.
    pub(crate) fn again(&self, before: &RecordedModel) -> Result<Arc<dyn Model>, Failure> {
        let RecordedModel { name, at_custom_address, .. } = before;
        let model = self.connect_by_name(name).map_err(|failure| {
            let message = format!("{name} answered before in this session: {}", failure.message);
            Failure { message, ..failure }.hint("--model chooses another")
        })?;
        if *at_custom_address && !model.recorded().is_some_and(|model| model.at_custom_address) {
            return Err(Failure::new(format!(
                "{name} answered before in this session, at an address that was set then and is not now"
            ))
            .hint(format!(
                "give --base-url again; or --model {name} for the provider's own address, or another model"
            )));
        }
        Ok(model)
    }

    /// Connects to a model by its name. If the name is only a provider, its default model is used.
    pub(crate) async fn connect(&self, name: &str) -> Result<Arc<dyn Model>, Failure> {
        let Some(provider) = provider::provider(name.trim().trim_end_matches('/')) else {
            return self.connect_by_name(name);
        };
        let models = self.list(provider).await?;
        let Some(model) = provider::default_model(provider, &models) else {
            return Err(Failure::new(format!("{} has no models", provider.name)));
        };
        self.connect_by_name(&format!("{}/{}", provider.name, model.name))
    }

    fn connect_by_name(&self, name: &str) -> Result<Arc<dyn Model>, Failure> {
        let config = ProviderConfig::new(&environment::variable)
            .with_base_url(self.base_url(provider_of(name))?)
            .with_max_tokens(self.settings.max_tokens)
            .with_effort(self.settings.effort);
        let model = provider::connect(name, &config).map_err(Failure::new)?;
        if model.context_window().is_none() && self.settings.context_window.is_none() {
            self.look_for_window(name.trim());
        }
        Ok(Arc::new(Listed { model, windows: self.windows.clone() }))
    }

    /// Requests the model list of this model's provider in the background. The list may contain the size of the model's
    /// context.
    fn look_for_window(&self, name: &str) {
        let is_known = self.windows().contains_key(name);
        let Some(provider) = provider::provider(provider_of(name)).filter(|_| !is_known) else { return };
        let models = self.clone();
        // Without the list, the size is learned from the first request that is too long.
        let look = move || drop(wait_for(models.list(provider)));
        let _ = thread::Builder::new().name("models".into()).spawn(look);
    }

    fn windows(&self) -> MutexGuard<'_, HashMap<String, u64>> {
        lock(&self.windows)
    }

    /// Returns the models of the current provider. For a script, these are the models of the first provider with a key.
    pub(crate) async fn offered(&self, current: &str) -> Result<Offered, Failure> {
        let own = provider::provider(provider_of(current));
        let with_key = || providers_with_key().map(|(provider, _)| provider).next();
        let provider = own.or_else(with_key).ok_or_else(no_model)?;
        Ok(Offered { provider, models: self.list(provider).await? })
    }

    /// Returns the models of a provider, newest first.
    pub(crate) async fn list(&self, provider: &ModelProvider) -> Result<Vec<ModelInfo>, Failure> {
        let config = ProviderConfig::new(&environment::variable)
            .with_base_url(self.base_url(provider.name)?)
            .with_timeouts(LIST_TIMEOUT, LIST_TIMEOUT);
        let models = provider::list_models(provider, &config).await.map_err(|error| {
            Failure::new(format!("cannot tell which models {} has: {error}", provider.name))
                .hint(format!("a full model name needs no list: --model {}/NAME", provider.name))
        })?;
        let known = models.iter().filter_map(|model| Some((model, model.context_window?)));
        let known = known.map(|(model, window)| (format!("{}/{}", provider.name, model.name), window));
        self.windows().extend(known);
        Ok(models)
    }

    /// Returns the address that was set for this provider; `None` for its usual address. An address applies only to the
    /// provider of the set model, because no key may go to another provider's address. An address without a provider is
    /// an error, because the user's key could go to an unintended server.
    fn base_url(&self, provider: &str) -> Result<Option<String>, Failure> {
        match (&self.settings.base_url, &self.settings.model) {
            (Some(base_url), None) => Err(needs_model(base_url, provider)),
            (Some(base_url), Some(model)) if provider_of(model) == provider => Ok(Some(base_url.url.clone())),
            _ => Ok(None),
        }
    }
}

/// A model that finds its context size in its provider's list.
struct Listed {
    model: Arc<dyn Model>,
    windows: Arc<Mutex<HashMap<String, u64>>>,
}

impl Model for Listed {
    fn name(&self) -> String {
        self.model.name()
    }

    fn recorded(&self) -> Option<RecordedModel> {
        self.model.recorded()
    }

    fn context_window(&self) -> Option<u64> {
        self.model.context_window().or_else(|| lock(&self.windows).get(&self.name()).copied())
    }

    fn respond<'a>(&'a self, request: ModelRequest<'a>) -> ResponseStream<'a> {
        self.model.respond(request)
    }
}

fn lock(windows: &Mutex<HashMap<String, u64>>) -> MutexGuard<'_, HashMap<String, u64>> {
    windows.lock().unwrap_or_else(PoisonError::into_inner)
}

fn provider_of(name: &str) -> &str {
    name.split('/').next().unwrap_or(name)
}

/// Returns the hosted providers whose key is in the environment, with its variable, in the order of the table.
fn providers_with_key() -> impl Iterator<Item = (&'static ModelProvider, &'static str)> {
    let is_set = |variable: &&&str| environment::variable(variable).is_some_and(|value| !value.trim().is_empty());
    let mut seen = Vec::new();
    provider::PROVIDERS.iter().filter(|provider| provider.needs_key).filter_map(move |provider| {
        let variable = *provider.key_variables.iter().find(is_set)?;
        // A provider with several entries and the same key counts once.
        if seen.contains(&variable) {
            return None;
        }
        seen.push(variable);
        Some((provider, variable))
    })
}

fn needs_model(base_url: &BaseUrl, provider: &str) -> Failure {
    let origin = &base_url.origin;
    Failure::new(format!("base_url (from {origin}) needs a model: the address does not name the provider"))
        .hint(format!("name it with --model, such as --model {provider}"))
}

fn no_model() -> Failure {
    let hosted = provider::PROVIDERS.iter().filter(|provider| provider.needs_key);
    let mut variables: Vec<&str> = hosted.filter_map(|provider| provider.key_variables.first().copied()).collect();
    variables.dedup();
    Failure::new("no model is chosen, and no key is set").hint(format!(
        "set one of {}; or --model ollama for what runs on this machine; --script demo needs neither key nor network",
        variables.join(", ")
    ))
}

/// Runs a future to its end, and returns its output. It is used for network requests before the agent runs.
fn wait_for<T>(work: impl Future<Output = T>) -> Result<T, Failure> {
    Ok(crate::store::runtime()?.block_on(work))
}

pub(crate) fn run(args: &ArgMatches) -> Result<u8, Failure> {
    let mut settings = Layers::detect(args)?.settings()?;
    let named = args.get_one::<String>("provider").map(String::as_str);
    if let Some(name) = named {
        settings = settings.with_model(name);
    } else if let (Some(base_url), None) = (&settings.base_url, &settings.model) {
        let origin = &base_url.origin;
        let fault = format!("base_url (from {origin}) needs a provider: it does not say which one is reached there");
        return Err(Failure::new(fault).hint("name it: askuser agent models PROVIDER"));
    }
    let providers: Vec<&ModelProvider> = match named {
        Some(name) => {
            let unknown = || Failure::new(ConnectError::UnknownProvider { name: name.to_owned() });
            vec![provider::provider(provider_of(name)).ok_or_else(unknown)?]
        }
        None => {
            let chosen = settings.model.as_deref().and_then(|name| provider::provider(provider_of(name)));
            let with_key = providers_with_key().map(|(provider, _)| provider).filter(|other| Some(*other) != chosen);
            chosen.into_iter().chain(with_key).collect()
        }
    };
    if providers.is_empty() {
        return Err(no_model());
    }
    let models = Models::new(&settings);
    let mut failed = None;
    for provider in providers {
        match wait_for(models.list(provider))? {
            Ok(list) => write(&show(provider, &list, args.get_flag("json")))?,
            Err(failure) if named.is_some() => return Err(failure),
            Err(failure) => {
                failure::notice(&failure.message);
                failed = Some(exit::BAD_INPUT);
            }
        }
    }
    Ok(failed.unwrap_or(exit::ANSWERED))
}

/// Returns a line for each model: `anthropic/claude-sonnet-4-6  Claude Sonnet 4.6, 200000 tokens (default)`.
fn show(provider: &ModelProvider, models: &[ModelInfo], as_json: bool) -> String {
    let default = provider::default_model(provider, models);
    let full_name = |model: &ModelInfo| format!("{}/{}", provider.name, askuser::sanitize::line(&model.name));
    let width = models.iter().map(|model| full_name(model).chars().count()).max().unwrap_or(0);
    let line = |model: &ModelInfo| {
        let name = full_name(model);
        let is_default = Some(model) == default;
        if as_json {
            let ModelInfo { title, context_window, .. } = model;
            let line = json!({"model": name, "title": title, "context_window": context_window, "default": is_default});
            return format!("{}\n", escape_invisible(&line));
        }
        let about = describe(model);
        let mark = if is_default { "(default)" } else { "" };
        format!("{name:width$}  {about} {mark}").trim_end().to_owned() + "\n"
    };
    models.iter().map(line).collect()
}

/// Formats the facts about a model, without its name.
pub(crate) fn describe(model: &ModelInfo) -> String {
    let title = model.title.as_deref().map(askuser::sanitize::line);
    let window = model.context_window.map(|tokens| format!("{tokens} tokens"));
    title.map(String::from).into_iter().chain(window).collect::<Vec<_>>().join(", ")
}
