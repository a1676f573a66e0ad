//! What the settings say, once all their layers are laid.
//!
//! Values travel as text until then and each is parsed once, so that an error can name its origin.

mod files;
mod layers;
mod names;
mod values;

pub(crate) use files::{project_file_here, user_file, user_folder};
pub(crate) use layers::{Layers, Origin};
pub(crate) use names::misspelt_variables;
pub(crate) use values::{Effort, Format, Permit, Price, Surface, duration};

use crate::failure::Failure;
use askuser::policy::Headless;
use askuser_terminal::{Background, ColorDepth, Confirm};
use std::path::PathBuf;
use std::time::Duration;
use values::{names, surfaces, switch};

/// The settings, parsed.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    pub(crate) timeout: Option<Duration>,
    pub(crate) answers: Option<PathBuf>,
    pub(crate) headless: Option<Headless>,
    /// Who may answer, in order.
    pub(crate) via: Vec<Surface>,
    /// Where the inbox is, if not where it usually is.
    pub(crate) store: Option<PathBuf>,
    /// Whether a question in the inbox may open a popup.
    pub(crate) popup: bool,
    pub(crate) plain: bool,
    pub(crate) repair: bool,
    pub(crate) key_delay: Duration,
    pub(crate) success_flash: Duration,
    pub(crate) confirm: Confirm,
    pub(crate) background: Option<Background>,
    pub(crate) depth: Option<ColorDepth>,
    pub(crate) format: Option<Format>,
    pub(crate) model: Option<String>,
    pub(crate) base_url: Option<BaseUrl>,
    pub(crate) effort: Option<Effort>,
    pub(crate) max_tokens: Option<u32>,
    /// How many tokens the model takes, instead of what is known of it.
    pub(crate) context_window: Option<u64>,
    /// What tokens cost, for showing it.
    pub(crate) price: Option<Price>,
    pub(crate) permissions: Permit,
    pub(crate) on_question: Option<String>,
    /// Variables with keys that commands get all the same.
    pub(crate) pass_env: Vec<String>,
    pub(crate) notify: bool,
    /// How long a call of an MCP client waits, instead of what is known of the client.
    pub(crate) mcp_limit: Option<Duration>,
}

impl Settings {
    /// The same with another model, which is reached where these settings say, if they say so of its provider.
    #[must_use]
    pub(crate) fn with_model(self, model: &str) -> Settings {
        let provider = |name: &str| name.split('/').next().unwrap_or_default().to_owned();
        let same = self.model.as_deref().map(provider) == Some(provider(model));
        let base_url = self.base_url.filter(|base_url| base_url.is_for_any_model || same);
        Settings { model: Some(model.to_owned()), base_url, ..self }
    }
}

/// Where a provider is reached, if not where it usually is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct BaseUrl {
    pub(crate) url: String,
    pub(crate) origin: Origin,
    /// A flag or a variable without a model beside it is for whichever model is used; what stands in a file is for the model
    /// of that file.
    pub(crate) is_for_any_model: bool,
}

impl Layers {
    fn read<T>(&self, name: &str, parse: impl Fn(&str) -> Option<T>) -> Result<T, Failure> {
        let (setting, value, origin) = self
            .rows()
            .find(|(setting, ..)| setting.name == name)
            .ok_or_else(|| Failure::new(format!("no setting {name}")))?;
        parse(value).ok_or_else(|| {
            let must = match (name, setting.value) {
                ("timeout", _) => "a duration above 0, such as 30s, 5m or 1h",
                ("max_tokens", _) => "a whole number above 0",
                ("context_window", _) => "a whole number of at least 1000, or auto",
                ("price", _) => "two numbers with a slash between them, such as 3/15",
                ("via", _) => "policy, terminal or inbox, or several of them with commas",
                ("success_flash", _) => "a duration of at most 1s",
                ("answers", _) => "a JSON or TOML file",
                (_, "") => "true or false",
                (_, "DURATION") => "a duration such as 250ms, 30s, 5m or 1h",
                (_, choices) => choices,
            };
            Failure::new(format!("{name}: {value:?} (from {origin}), must be {must}"))
        })
    }

    /// An address is for the model it was set with: a model that was chosen closer by does not go there, and no key with it.
    fn base_url(&self) -> Result<Option<BaseUrl>, Failure> {
        let origin = |name: &str| {
            let row = self.rows().find(|(setting, ..)| setting.name == name);
            row.map_or(Origin::Default, |(.., origin)| origin.clone())
        };
        let url = self.read("base_url", |v| Some((v != "none").then(|| v.to_owned())))?;
        let (own, model) = (origin("base_url"), origin("model").level());
        let level = own.level();
        let is_for_any_model = level > model && !matches!(own, Origin::File(_));
        Ok(url.filter(|_| level >= model).map(|url| BaseUrl { url, origin: own, is_for_any_model }))
    }

    /// Parses every setting.
    pub(crate) fn settings(&self) -> Result<Settings, Failure> {
        Ok(Settings {
            timeout: self.read("timeout", |v| match v {
                "none" => Some(None),
                v => duration(v).filter(|timeout| !timeout.is_zero()).map(Some),
            })?,
            answers: self.read("answers", |v| (!v.is_empty()).then(|| (v != "none").then(|| PathBuf::from(v))))?,
            via: self.read("via", surfaces)?,
            headless: self.read("headless", |v| match v {
                "none" => Some(None),
                "fail" => Some(Some(Headless::Fail)),
                "recommended" => Some(Some(Headless::Recommended)),
                _ => None,
            })?,
            store: self.read("store", |v| Some((v != "auto").then(|| PathBuf::from(v))))?,
            popup: self.read("popup", |v| match v {
                "auto" => Some(true),
                "none" => Some(false),
                _ => None,
            })?,
            plain: self.read("plain", switch)?,
            repair: self.read("repair", switch)?,
            key_delay: self.read("key_delay", duration)?,
            success_flash: self
                .read("success_flash", |v| duration(v).filter(|flash| *flash <= Duration::from_secs(1)))?,
            confirm: self.read("confirm", |v| match v {
                "boxed" => Some(Confirm::Boxed),
                "full" => Some(Confirm::Full),
                "inline" => Some(Confirm::Inline),
                "none" => Some(Confirm::None),
                _ => None,
            })?,
            background: self.read("theme", |v| match v {
                "auto" => Some(None),
                "dark" => Some(Some(Background::Dark)),
                "light" => Some(Some(Background::Light)),
                "contrast" => Some(Some(Background::Contrast)),
                _ => None,
            })?,
            depth: self.read("color", |v| match v {
                "auto" => Some(None),
                "none" => Some(Some(ColorDepth::None)),
                "16" => Some(Some(ColorDepth::Ansi16)),
                "256" => Some(Some(ColorDepth::Ansi256)),
                "truecolor" => Some(Some(ColorDepth::TrueColor)),
                _ => None,
            })?,
            model: self.read("model", |v| Some((v != "none").then(|| v.to_owned())))?,
            base_url: self.base_url()?,
            effort: self.read("effort", |v| match v {
                "none" => Some(None),
                "low" => Some(Some(Effort::Low)),
                "medium" => Some(Some(Effort::Medium)),
                "high" => Some(Some(Effort::High)),
                _ => None,
            })?,
            max_tokens: self.read("max_tokens", |v| match v {
                "none" => Some(None),
                v => v.parse().ok().filter(|max| *max > 0).map(Some),
            })?,
            context_window: self.read("context_window", |v| match v {
                "auto" => Some(None),
                v => v.parse().ok().filter(|tokens| *tokens >= 1_000).map(Some),
            })?,
            price: self.read("price", |v| match v {
                "none" => Some(None),
                v => Price::parse(v).map(Some),
            })?,
            permissions: self.read("permissions", |v| match v {
                "ask" => Some(Permit::Ask),
                "accept-edits" => Some(Permit::AcceptEdits),
                "allow" => Some(Permit::Allow),
                _ => None,
            })?,
            on_question: self.read("on_question", |v| Some((v != "none").then(|| v.to_owned())))?,
            pass_env: self.read("pass_env", |v| Some(names(v)))?,
            notify: self.read("notify", switch)?,
            mcp_limit: self.read("mcp_limit", |v| match v {
                "auto" => Some(None),
                v => duration(v).filter(|limit| !limit.is_zero()).map(Some),
            })?,
            format: self.read("format", |v| match v {
                "auto" => Some(None),
                "text" => Some(Some(Format::Text)),
                "json" => Some(Some(Format::Json)),
                "record" => Some(Some(Format::Record)),
                "value" => Some(Some(Format::Value)),
                "claude" => Some(Some(Format::Claude)),
                _ => None,
            })?,
        })
    }
}

#[cfg(test)]
#[path = "config_tests.rs"]
mod tests;
