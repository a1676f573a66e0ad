//! The layers of settings (user file, project file, environment, flag), with the origin of each value.

use super::files::{project_file_here, user_file};
use super::names::{similar_setting, variable_of};
use crate::failure::{self, Failure, OrFail, reason};
use crate::ownership::{self, check_writers};
use crate::settings::{By, SETTINGS, Setting};

use crate::source;
use clap::ArgMatches;
use serde_json::Value;
use std::fmt;
use std::fs::File;
use std::path::{Path, PathBuf};

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    Default,
    File(PathBuf),
    Environment(String),
    Flag(&'static str),
    /// A value that is about to be written into the user's file.
    ToBeSet,
}

impl Origin {
    /// Returns the level of a layer. A higher level has priority.
    pub(super) fn level(&self) -> u8 {
        match self {
            Origin::Default => 0,
            Origin::File(_) => 1,
            Origin::Environment(_) => 2,
            Origin::Flag(_) | Origin::ToBeSet => 3,
        }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Origin::Default => f.write_str("default"),
            Origin::File(path) => write!(f, "{}", path.display()),
            Origin::Environment(name) => write!(f, "environment, {name}"),
            Origin::Flag(name) => write!(f, "flag, --{name}"),
            Origin::ToBeSet => f.write_str("config set"),
        }
    }
}

/// Every setting with its value and its origin, in the order of the table.
#[derive(Clone, Debug)]
pub(crate) struct Layers {
    values: Vec<(String, Origin)>,
    /// The values that a higher layer has replaced, with the index of their setting.
    replaced: Vec<(usize, (String, Origin))>,
    /// The warnings about ignored entries, with the reasons.
    warnings: Vec<String>,
    /// The errors in the files, in order. The valid entries still count.
    broken: Vec<Failure>,
}

/// The inputs from which the layers of settings are read.
pub(crate) struct Sources<'a> {
    /// The user's file and the project's file; `None` if a file does not exist.
    pub(crate) user: Option<PathBuf>,
    pub(crate) project: Option<PathBuf>,
    pub(crate) environment: &'a dyn Fn(&str) -> Option<String>,
    pub(crate) flag: &'a dyn Fn(&'static str) -> Option<String>,
}

impl Layers {
    /// Returns the bottom layer, with the defaults.
    pub(crate) fn defaults() -> Layers {
        let values = SETTINGS.iter().map(|setting| (setting.default.to_owned(), Origin::Default)).collect();
        Layers { values, replaced: Vec::new(), warnings: Vec::new(), broken: Vec::new() }
    }

    pub(crate) fn lay(sources: &Sources<'_>) -> Layers {
        let mut layers = Layers::defaults();
        if let Some(path) = &sources.user
            && let Err(failure) = layers.lay_users(path)
        {
            layers.broken.push(failure);
        }
        if let Some(path) = &sources.project
            && let Err(fact) = layers.lay_projects(path)
        {
            layers.warnings.push(format!("{}{fact}: it is ignored", path.display()));
        }
        for (i, setting) in SETTINGS.iter().enumerate() {
            let name = variable_of(setting.name);
            if let Some(value) = (sources.environment)(&name).filter(|value| !value.is_empty()) {
                layers.replace(i, (value, Origin::Environment(name)));
            }
            if let Some(value) = (sources.flag)(setting.name) {
                layers.replace(i, (value, Origin::Flag(setting.flag)));
            }
        }
        layers
    }

    /// Reads the layers of this user, folder, environment and command line. The operator gets warnings about ignored
    /// entries.
    pub(crate) fn detect(args: &ArgMatches) -> Result<Layers, Failure> {
        Layers::inspect(args).sound()
    }

    /// Reads the same layers for display. An invalid file does not hide the other layers.
    pub(crate) fn inspect(args: &ArgMatches) -> Layers {
        let environment = crate::environment::variable;
        let (project, warning) = project_file_here();
        let mut layers = Layers::lay(&Sources {
            user: user_file(environment),
            project,
            environment: &environment,
            flag: &|name| args.try_get_one::<String>(name).ok().flatten().cloned(),
        });
        layers.warnings.extend(warning);
        layers.warnings.iter().for_each(|warning| failure::notice(warning));
        layers
    }

    /// Returns the layers if all files are valid. Otherwise returns all errors in the files.
    pub(crate) fn sound(mut self) -> Result<Layers, Failure> {
        if self.broken.is_empty() {
            return Ok(self);
        }
        let first = self.broken.remove(0);
        Err(self.broken.into_iter().fold(first, |all, next| Failure {
            message: format!("{}\n{}", all.message, next.message),
            hint: all.hint.or(next.hint),
            code: all.code,
        }))
    }

    /// Applies the user's file. An invalid entry is an error, because the user relies on it.
    fn lay_users(&mut self, path: &Path) -> Result<(), Failure> {
        let shown = path.display();
        let file = File::open(path).or_fail(format!("cannot open {shown}"))?;
        let untrusted = |path: &Path, error| {
            let shown = path.display();
            Failure::new(format!("{shown} {error}")).hint(format!("`chown $(id -u) {shown}` and `chmod go-w {shown}`"))
        };
        file.metadata().and_then(|metadata| check_writers(&metadata)).map_err(|error| untrusted(path, error))?;
        // The folder and its parent are checked too, because a user who can write there can replace the file.
        for folder in path.ancestors().skip(1).take(2) {
            let checked = folder.metadata().and_then(|metadata| check_writers(&metadata));
            checked.map_err(|error| untrusted(folder, error))?;
        }
        let text = source::read(&shown.to_string(), file)?;
        let table = source::from_toml(&text)
            .map_err(|error| Failure::new(format!("{shown}: {}", error.to_string().trim_end())))?;
        for (key, value) in table.as_object().into_iter().flatten() {
            let Some(i) = setting_named(key) else {
                let unknown = unknown(key);
                let unknown = Failure { message: format!("{shown}: {}", unknown.message), ..unknown };
                self.broken.push(if value.is_object() {
                    unknown.hint("settings do not belong in a [section]: write them at the top of the file")
                } else {
                    unknown
                });
                continue;
            };
            let Some(value) = as_text(value) else {
                self.broken.push(Failure::new(format!("{shown}: {key} is a list or a table, must be a string")));
                continue;
            };
            // A path in a file is relative to the file. The words for an empty value and for the default are no paths.
            let value = match (key.as_str(), path.parent()) {
                ("store", _) if value.contains("://") => value,
                ("answers" | "store", Some(folder)) if !value.is_empty() && value != SETTINGS[i].default => {
                    folder.join(value).display().to_string()
                }
                _ => value,
            };
            self.replace(i, (value, Origin::File(path.to_owned())));
        }
        Ok(())
    }

    /// Applies a project's file, which is untrusted. Errors in its entries are warnings, which name the line without
    /// quoting it. Returns an error if the whole file is unusable.
    fn lay_projects(&mut self, path: &Path) -> Result<(), String> {
        let shown = path.display();
        let file = ownership::open_found(path).map_err(|error| format!(" {}", reason(&error)))?;
        let text = source::read("", file).map_err(|failure| failure.message)?;
        let line_of = |at: usize| 1 + text[..at.min(text.len())].matches('\n').count();
        let table = source::from_toml(&text)
            .map_err(|error| format!(", line {}: not TOML", line_of(error.span().map_or(0, |span| span.start))))?;
        for (key, value) in table.as_object().into_iter().flatten() {
            let line = source::toml_key_offset(&text, key).map_or(1, line_of);
            let named: String = key.chars().take(MOST_KEY_CHARS).collect();
            let mut ignore = |why: &str| self.warnings.push(format!("{shown}, line {line}: {named} is ignored, {why}"));
            let Some(i) = setting_named(key) else {
                ignore("there is no such setting; `askuser config` lists them");
                continue;
            };
            if SETTINGS[i].by == By::User {
                ignore("a project's file cannot set it; use your own file, the environment or a flag");
                continue;
            }
            let laid = as_text(value).map(|value| (value, Origin::File(path.to_owned())));
            match laid.filter(|laid| Layers::defaults().with(i, laid.clone()).settings().is_ok()) {
                Some(laid) => self.values[i] = laid,
                None => ignore("its value is none that it can have; `askuser config` lists them"),
            }
        }
        Ok(())
    }

    /// Checks a value for the user's file, and returns its setting.
    pub(crate) fn check(key: &str, value: &str) -> Result<&'static Setting, Failure> {
        let Some(i) = setting_named(&key.replace('-', "_")) else { return Err(unknown(key)) };
        Layers::defaults().with(i, (value.to_owned(), Origin::ToBeSet)).settings().map(|_| &SETTINGS[i])
    }

    fn replace(&mut self, i: usize, value: (String, Origin)) {
        let before = std::mem::replace(&mut self.values[i], value);
        self.replaced.push((i, before));
    }

    /// Returns the value of a setting without the layers above this level; `None` for an unknown name.
    pub(super) fn value_up_to(&self, name: &str, level: u8) -> Option<&str> {
        let i = setting_named(name)?;
        let replaced = self.replaced.iter().filter(|(of, _)| *of == i).map(|(_, value)| value);
        let found = replaced.chain([&self.values[i]]).rfind(|(_, origin)| origin.level() <= level);
        found.map(|(value, _)| value.as_str())
    }

    fn with(mut self, i: usize, value: (String, Origin)) -> Layers {
        self.values[i] = value;
        self
    }

    /// Returns the value of a setting and its origin.
    pub(super) fn value(&self, name: &str) -> (&str, &Origin) {
        let row = self.rows().find(|(setting, ..)| setting.name == name);
        row.map_or(("", &Origin::Default), |(_, value, origin)| (value, origin))
    }

    pub(crate) fn rows(&self) -> impl Iterator<Item = (&'static Setting, &str, &Origin)> {
        SETTINGS.iter().zip(&self.values).map(|(setting, (value, origin))| (setting, value.as_str(), origin))
    }
}

fn unknown(key: &str) -> Failure {
    Failure::new(format!("unknown setting {key}")).hint(match similar_setting(key) {
        Some(name) => format!("did you mean {name}? `askuser config` lists them"),
        None => "`askuser config` lists the settings".to_owned(),
    })
}

/// The number of characters that are shown of an unknown key.
const MOST_KEY_CHARS: usize = 40;

/// Returns the index of the setting with this name; `None` if there is none.
fn setting_named(key: &str) -> Option<usize> {
    SETTINGS.iter().position(|setting| setting.name == key)
}

fn as_text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(_) | Value::Bool(_) => Some(value.to_string()),
        _ => None,
    }
}

#[cfg(test)]
#[path = "layers_tests.rs"]
pub(super) mod tests;
