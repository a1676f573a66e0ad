//! The settings, with all their layers merged.
//!
//! The layers hold values as text. Each value is parsed once, after merging, so that an error can name its origin.

mod files;
mod layers;
mod names;
mod values;

pub(crate) use files::{project_file_here, user_file, user_folder};
pub(crate) use layers::{Layers, Origin};
pub(crate) use names::misspelt_variables;
pub(crate) use values::{Format, Price, Surface, duration};

use crate::failure::Failure;
use crate::settings::Setting;
use askuser::policy::Headless;
use askuser_agent::PermissionMode;
use askuser_agent::provider::Effort;
use askuser_terminal::{Background, ColorDepth, Confirm, PromptStyle};
use std::path::PathBuf;
use std::time::Duration;
use values::{names, one_of, path, positive, surfaces, switch, text, unless};

macro_rules! parse {
    ($($name:ident: $kind:ty = $parse:expr => { $help:literal, $($rest:tt)* })*) => {
        #[derive(Clone, Debug)]
        pub(crate) struct Settings {
            $(#[doc = $help] pub(crate) $name: $kind,)*
        }

        impl Settings {
            /// Parses every setting. An invalid value is an error with the setting's name.
            fn parse(layers: &Layers) -> Result<Settings, Failure> {
                let mut rows = layers.rows();
                $(let $name = parse(&mut rows, $parse)?;)*
                Ok(Settings { $($name),* })
            }
        }
    };
}

/// Parses the value of the next row.
fn parse<'a, T>(
    rows: &mut impl Iterator<Item = (&'static Setting, &'a str, &'a Origin)>,
    parse: fn(&str) -> Option<T>,
) -> Result<T, Failure> {
    let Some((setting, value, origin)) = rows.next() else { return Err(Failure::new("there is no such setting")) };
    let Setting { name, must_be, .. } = setting;
    parse(value).ok_or_else(|| Failure::new(format!("{name}: {value:?} (from {origin}), must be {must_be}")))
}

settings!(parse);

impl Settings {
    /// Returns these settings with another model. Their address is kept if it applies to the new model's provider.
    #[must_use]
    pub(crate) fn with_model(self, model: &str) -> Settings {
        let provider = |name: &str| name.split('/').next().unwrap_or_default().to_owned();
        let same = self.model.as_deref().map(provider) == Some(provider(model));
        let base_url = self.base_url.filter(|base_url| base_url.is_for_any_model || same);
        Settings { model: Some(model.to_owned()), base_url, ..self }
    }
}

/// The address of a provider, if it is not the default.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct BaseUrl {
    pub(crate) url: String,
    pub(crate) origin: Origin,
    /// Whether the address applies to any model. Only an address from a flag or variable without a model does. An
    /// address in a file applies only to the model of that file.
    pub(crate) is_for_any_model: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TokenFile {
    pub(crate) path: PathBuf,
    /// The server that accepts the token. It is the store in the same layer of settings, or in a lower layer. `None` if
    /// there is no server.
    pub(crate) server: Option<String>,
    /// Whether a settings file names the token file. The token then belongs to this person's device.
    pub(crate) is_in_file: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct AnswersFile {
    pub(crate) path: PathBuf,
    /// Whether the command line of this command names the file, rather than a setting or a variable.
    pub(crate) is_on_command_line: bool,
}

impl Layers {
    pub(crate) fn settings(&self) -> Result<Settings, Failure> {
        let settings = Settings::parse(self)?;
        let base_url = settings.base_url.and_then(|base_url| self.address(base_url.url));
        let named_by = self.value("token_file").1;
        let server = self.value_up_to("store", named_by.level()).filter(|store| store.contains("://"));
        let server = server.map(str::to_owned);
        let is_in_file = matches!(named_by, Origin::File(_));
        let token_file = settings.token_file.map(|file| TokenFile { server, is_in_file, ..file });
        let is_on_command_line = matches!(self.value("answers").1, Origin::Flag(_));
        let answers = settings.answers.map(|file| AnswersFile { is_on_command_line, ..file });
        Ok(Settings { base_url, token_file, answers, ..settings })
    }

    /// Returns the address for the model of the settings. An address belongs to the model it was set with. `None` if
    /// the model is from a higher layer, so that no key is sent there.
    fn address(&self, url: String) -> Option<BaseUrl> {
        let ((_, own), (_, model)) = (self.value("base_url"), self.value("model"));
        let (level, model) = (own.level(), model.level());
        let is_for_any_model = level > model && !matches!(own, Origin::File(_));
        (level >= model).then(|| BaseUrl { url, origin: own.clone(), is_for_any_model })
    }
}

#[cfg(test)]
#[path = "config_tests.rs"]
mod tests;
