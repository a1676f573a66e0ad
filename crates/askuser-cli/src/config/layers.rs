//! The layers of settings (user file, project file, environment, flag), and where each value came from.

use super::files::{project_file, user_file};
use super::names::{similar_setting, variable, variable_of};
use crate::failure::{self, Failure, reason};
use crate::settings::{By, SETTINGS, Setting};
use crate::source;
use clap::ArgMatches;
use serde_json::Value;
use std::fmt;
use std::fs::File;
use std::path::{Path, PathBuf};

/// Where a value came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    Default,
    File(PathBuf),
    Environment(String),
    Flag(&'static str),
}

impl Origin {
    /// Later layers win.
    pub(super) fn level(&self) -> u8 {
        match self {
            Origin::Default => 0,
            Origin::File(_) => 1,
            Origin::Environment(_) => 2,
            Origin::Flag(_) => 3,
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
        }
    }
}

/// Every setting with its value and origin, in the order of the table.
#[derive(Clone, Debug)]
pub struct Layers {
    values: Vec<(String, Origin)>,
    /// What was ignored, and why.
    warnings: Vec<String>,
    /// What is wrong with the files, in their order; what is not wrong counts all the same.
    broken: Vec<Failure>,
}

/// What the layers are made from.
pub struct Sources<'a> {
    /// The user's file and the project's, where they exist.
    pub user: Option<PathBuf>,
    pub project: Option<PathBuf>,
    pub environment: &'a dyn Fn(&str) -> Option<String>,
    pub flag: &'a dyn Fn(&'static str) -> Option<String>,
}

impl Layers {
    /// The bottom layer.
    pub fn defaults() -> Layers {
        let values = SETTINGS.iter().map(|setting| (setting.default.to_owned(), Origin::Default)).collect();
        Layers { values, warnings: Vec::new(), broken: Vec::new() }
    }

    pub fn lay(sources: &Sources<'_>) -> Layers {
        let mut layers = Layers::defaults();
        for (path, by) in [(&sources.user, By::User), (&sources.project, By::Anybody)] {
            if let Some(path) = path
                && let Err(failure) = layers.lay_file(path, by)
            {
                layers.broken.push(failure);
            }
        }
        for (setting, slot) in SETTINGS.iter().zip(&mut layers.values) {
            // The old name first, so that the new one wins.
            for name in setting.old_name().map(variable_of).into_iter().chain([variable(setting)]) {
                if let Some(value) = (sources.environment)(&name).filter(|value| !value.is_empty()) {
                    *slot = (value, Origin::Environment(name));
                }
            }
            if let Some(value) = (sources.flag)(setting.name) {
                *slot = (value, Origin::Flag(setting.flag()));
            }
        }
        layers
    }

    /// From this user, this folder, this environment and these flags. The operator is told what is ignored.
    ///
    /// # Errors
    /// Where a file is broken.
    pub fn detect(args: &ArgMatches) -> Result<Layers, Failure> {
        Layers::inspect(args).sound()
    }

    /// The same for whoever looks at the settings: a broken file does not hide the rest.
    pub fn inspect(args: &ArgMatches) -> Layers {
        let environment = |name: &str| std::env::var(name).ok();
        let layers = Layers::lay(&Sources {
            user: user_file(environment),
            project: std::env::current_dir().ok().and_then(|folder| project_file(&folder)),
            environment: &environment,
            flag: &|name| args.try_get_one::<String>(name).ok().flatten().cloned(),
        });
        layers.warnings.iter().for_each(|warning| failure::notice("askuser", warning));
        layers
    }

    /// The layers, if no file is broken; otherwise everything that is wrong with the files.
    pub fn sound(mut self) -> Result<Layers, Failure> {
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

    /// Lays a file that `by` has written.
    fn lay_file(&mut self, path: &Path, by: By) -> Result<(), Failure> {
        let shown = path.display();
        let file =
            File::open(path).map_err(|error| Failure::new(format!("cannot open {shown}: {}", reason(&error))))?;
        let text = source::read(&shown.to_string(), file)?;
        let table = source::from_toml(&text)
            .map_err(|error| Failure::new(format!("{shown}: {}", error.to_string().trim_end())))?;
        for (key, value) in table.as_object().into_iter().flatten() {
            let Some(i) = SETTINGS.iter().position(|setting| setting.name == *key || setting.old_name() == Some(key))
            else {
                let unknown = Failure::new(format!("{shown}: unknown setting {key}"));
                self.broken.push(match value.is_object() {
                    true => unknown.hint("settings stand in no [section]: write them at the top of the file"),
                    false => unknown.hint(match similar_setting(key) {
                        Some(name) => format!("did you mean {name}? `askuser config` lists them"),
                        None => "`askuser config` lists the settings".to_owned(),
                    }),
                });
                continue;
            };
            if by == By::Anybody && SETTINGS[i].by == By::User {
                self.warnings.push(format!(
                    "{shown}: {key} is ignored, a project's file cannot set it; use your own file, the environment or a flag"
                ));
                continue;
            }
            let value = match value {
                Value::String(text) => text.clone(),
                Value::Number(_) | Value::Bool(_) => value.to_string(),
                _ => {
                    self.broken.push(Failure::new(format!("{shown}: {key} is a list or a table, must be a string")));
                    continue;
                }
            };
            // A path in a file is meant from where the file is; the word for none, or for the usual one, is no path.
            let value = match (key.as_str(), path.parent()) {
                ("answers" | "store", Some(folder)) if !value.is_empty() && value != SETTINGS[i].default => {
                    folder.join(value).display().to_string()
                }
                _ => value,
            };
            self.values[i] = (value, Origin::File(path.to_owned()));
        }
        Ok(())
    }

    /// Name, value and origin of each setting.
    pub fn rows(&self) -> impl Iterator<Item = (&'static Setting, &str, &Origin)> {
        SETTINGS.iter().zip(&self.values).map(|(setting, (value, origin))| (setting, value.as_str(), origin))
    }
}

#[cfg(test)]
#[path = "layers_tests.rs"]
pub(super) mod tests;
