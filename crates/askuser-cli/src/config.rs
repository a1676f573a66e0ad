//! The layers of settings (user file, project file, environment, flag), and where each value came from.
//!
//! Values travel as text until all layers are laid, then each is parsed once, so that an error can name its origin.

use crate::failure::{self, Failure, reason};
use crate::ownership::{self, check_writers};
use crate::settings::{By, SETTINGS, Setting};
use crate::source;
use askuser::policy::Headless;
use askuser_terminal::{Background, ColorDepth, Confirm};
use clap::ArgMatches;
use serde_json::Value;
use std::fmt;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::Duration;

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
    fn level(&self) -> u8 {
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
        let (project, warning) = project_file_here();
        let mut layers = Layers::lay(&Sources {
            user: user_file(environment),
            project,
            environment: &environment,
            flag: &|name| args.try_get_one::<String>(name).ok().flatten().cloned(),
        });
        layers.warnings.extend(warning);
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

    /// Lays the user's file. What is wrong with it is an error: they rely on what it says.
    fn lay_users(&mut self, path: &Path) -> Result<(), Failure> {
        let shown = path.display();
        let file =
            File::open(path).map_err(|error| Failure::new(format!("cannot open {shown}: {}", reason(&error))))?;
        let untrusted = |path: &Path, error| {
            let shown = path.display();
            Failure::new(format!("{shown} {error}")).hint(format!("`chown $(id -u) {shown}` and `chmod go-w {shown}`"))
        };
        file.metadata().and_then(|metadata| check_writers(&metadata)).map_err(|error| untrusted(path, error))?;
        if let Some(folder) = path.parent() {
            let checked = folder.metadata().and_then(|metadata| check_writers(&metadata));
            checked.map_err(|error| untrusted(folder, error))?;
        }
        let text = source::read(&shown.to_string(), file)?;
        let table = source::from_toml(&text)
            .map_err(|error| Failure::new(format!("{shown}: {}", error.to_string().trim_end())))?;
        for (key, value) in table.as_object().into_iter().flatten() {
            let Some(i) = setting_named(key) else {
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
            let Some(value) = as_text(value) else {
                self.broken.push(Failure::new(format!("{shown}: {key} is a list or a table, must be a string")));
                continue;
            };
            // A path in a file is meant from where the file is.
            let value = match (key.as_str(), path.parent()) {
                ("answers" | "store", Some(folder)) if value != "auto" => folder.join(value).display().to_string(),
                _ => value,
            };
            self.values[i] = (value, Origin::File(path.to_owned()));
        }
        Ok(())
    }

    /// Lays a project's file, which is not trusted: what is wrong with it is a warning, which says where without quoting it.
    /// Inside, what is wrong with the whole.
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

    fn with(mut self, i: usize, value: (String, Origin)) -> Layers {
        self.values[i] = value;
        self
    }

    /// Name, value and origin of each setting.
    pub fn rows(&self) -> impl Iterator<Item = (&'static Setting, &str, &Origin)> {
        SETTINGS.iter().zip(&self.values).map(|(setting, (value, origin))| (setting, value.as_str(), origin))
    }

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
    pub fn settings(&self) -> Result<Settings, Failure> {
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

/// How much of an unknown key is shown.
const MOST_KEY_CHARS: usize = 40;

/// The setting of this name, or that had it once, by its index.
fn setting_named(key: &str) -> Option<usize> {
    SETTINGS.iter().position(|setting| setting.name == key || setting.old_name() == Some(key))
}

fn as_text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(_) | Value::Bool(_) => Some(value.to_string()),
        _ => None,
    }
}

/// The setting that somebody may have meant by a word that is none.
fn similar_setting(word: &str) -> Option<&'static str> {
    let likeness = |setting: &Setting| (strsim::normalized_damerau_levenshtein(word, setting.name), setting.name);
    let (likeness, name) = SETTINGS.iter().map(likeness).max_by(|a, b| a.0.total_cmp(&b.0))?;
    (likeness > 0.5).then_some(name)
}

/// Variables that set nothing but look as if they were meant to, with the one that may be meant.
pub fn misspelt_variables(names: impl Iterator<Item = String>) -> Vec<(String, String)> {
    // What commands of ours are started with.
    const TOLD_BY_US: [&str; 4] = ["ASKUSER_HEADER", "ASKUSER_QUESTION", "ASKUSER_FROM", "ASKUSER_STARTED_BY_AGENT"];
    let known = |name: &str| {
        let of = |setting: &Setting| setting.old_name().map(variable_of).into_iter().chain([variable(setting)]);
        TOLD_BY_US.contains(&name) || SETTINGS.iter().flat_map(of).any(|variable| variable == name)
    };
    let meant = |name: String| {
        let similar = similar_setting(&name.strip_prefix("ASKUSER_")?.to_lowercase())?;
        (!known(&name)).then(|| (name, variable_of(similar)))
    };
    names.filter_map(meant).collect()
}

/// Who may answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Surface {
    /// Answers written beforehand and the headless rule.
    Policy,
    /// A person at a terminal or at a front end.
    Terminal,
    /// Whoever opens the inbox, whenever that is.
    Inbox,
}

impl Surface {
    /// The name as the setting spells it.
    pub fn name(self) -> &'static str {
        match self {
            Surface::Policy => "policy",
            Surface::Terminal => "terminal",
            Surface::Inbox => "inbox",
        }
    }
}

fn surfaces(names: &str) -> Option<Vec<Surface>> {
    let surface = |name: &str| match name.trim() {
        "policy" => Some(Surface::Policy),
        "terminal" => Some(Surface::Terminal),
        "inbox" => Some(Surface::Inbox),
        _ => None,
    };
    names.split(',').map(surface).collect()
}

/// How a result is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    Text,
    Json,
    Record,
    /// The answer alone: one line per choice, typed text as it is.
    Value,
    /// What Claude Code takes for `updatedInput`.
    Claude,
}

/// What an agent may do without asking.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Permit {
    Ask,
    AcceptEdits,
    Allow,
}

/// What a million tokens cost, in dollars.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Price {
    pub input: f64,
    pub output: f64,
}

impl Price {
    fn parse(text: &str) -> Option<Price> {
        let number = |text: &str| text.trim().parse::<f64>().ok().filter(|n| n.is_finite() && *n >= 0.0);
        let (input, output) = text.split_once('/')?;
        Some(Price { input: number(input)?, output: number(output)? })
    }

    /// What so many tokens cost.
    pub fn of(self, input_tokens: u64, output_tokens: u64) -> f64 {
        (input_tokens as f64 * self.input + output_tokens as f64 * self.output) / 1e6
    }
}

/// How much a model thinks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effort {
    Low,
    Medium,
    High,
}

/// Where a provider is reached, if not where it usually is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BaseUrl {
    pub url: String,
    pub origin: Origin,
    /// A flag or a variable without a model beside it is for whichever model is used; what stands in a file is for the model
    /// of that file.
    pub is_for_any_model: bool,
}

/// The settings, parsed.
#[derive(Clone, Debug)]
pub struct Settings {
    pub timeout: Option<Duration>,
    pub answers: Option<PathBuf>,
    pub headless: Option<Headless>,
    /// Who may answer, in order.
    pub via: Vec<Surface>,
    /// Where the inbox is, if not where it usually is.
    pub store: Option<PathBuf>,
    /// Whether a question in the inbox may open a popup.
    pub popup: bool,
    pub plain: bool,
    pub repair: bool,
    pub key_delay: Duration,
    pub success_flash: Duration,
    pub confirm: Confirm,
    pub background: Option<Background>,
    pub depth: Option<ColorDepth>,
    pub format: Option<Format>,
    pub model: Option<String>,
    pub base_url: Option<BaseUrl>,
    pub effort: Option<Effort>,
    pub max_tokens: Option<u32>,
    /// How many tokens the model takes, instead of what is known of it.
    pub context_window: Option<u64>,
    /// What tokens cost, for showing it.
    pub price: Option<Price>,
    pub permissions: Permit,
    pub on_question: Option<String>,
    /// Variables with keys that commands get all the same.
    pub pass_env: Vec<String>,
    pub notify: bool,
    /// How long a call of an MCP client waits, instead of what is known of the client.
    pub mcp_limit: Option<Duration>,
}

impl Settings {
    /// The same with another model, which is reached where these settings say, if they say so of its provider.
    #[must_use]
    pub fn with_model(self, model: &str) -> Settings {
        let provider = |name: &str| name.split('/').next().unwrap_or_default().to_owned();
        let same = self.model.as_deref().map(provider) == Some(provider(model));
        let base_url = self.base_url.filter(|base_url| base_url.is_for_any_model || same);
        Settings { model: Some(model.to_owned()), base_url, ..self }
    }
}

/// The variable of a setting: `ASKUSER_TIMEOUT`.
pub fn variable(setting: &Setting) -> String {
    variable_of(setting.name)
}

fn variable_of(name: &str) -> String {
    format!("ASKUSER_{}", name.to_uppercase())
}

/// The user's folder: `$XDG_CONFIG_HOME/askuser`, or under `~/.config`.
pub fn user_folder(environment: impl Fn(&str) -> Option<String>) -> Option<PathBuf> {
    environment("XDG_CONFIG_HOME")
        .filter(|value| Path::new(value).is_absolute())
        .map(PathBuf::from)
        .or_else(|| environment("APPDATA").filter(|_| cfg!(windows)).map(PathBuf::from))
        .or_else(|| environment("HOME").filter(|home| !home.is_empty()).map(|home| Path::new(&home).join(".config")))
        .map(|folder| folder.join("askuser"))
}

/// The user's file, if there is one.
pub fn user_file(environment: impl Fn(&str) -> Option<String>) -> Option<PathBuf> {
    user_folder(environment).map(|folder| folder.join("askuser.toml")).filter(|path| path.is_file())
}

/// The project's file: the nearest `askuser.toml` from this folder up to the repository it is in, and a warning if that is
/// somebody else's. Outside a repository only this folder counts, so that nobody else's folder above has a say.
fn project_file(folder: &Path) -> (Option<PathBuf>, Option<String>) {
    let (root, warning) = match ownership::repository(folder) {
        Ok(root) => (root.unwrap_or(folder), None),
        Err(foreign) => (folder, foreign.left_out(&["askuser.toml"])),
    };
    let folders = folder.ancestors().take_while(|folder| folder.starts_with(root));
    let file = folders.map(|folder| folder.join("askuser.toml")).find(|path| path.symlink_metadata().is_ok());
    (file, warning)
}

/// The same for the current folder.
pub fn project_file_here() -> (Option<PathBuf>, Option<String>) {
    std::env::current_dir().map_or((None, None), |folder| project_file(&folder))
}

fn names(list: &str) -> Vec<String> {
    match list {
        "none" => Vec::new(),
        list => list.split(',').map(|name| name.trim().to_owned()).filter(|name| !name.is_empty()).collect(),
    }
}

fn switch(value: &str) -> Option<bool> {
    match value {
        "true" | "1" => Some(true),
        "false" | "0" => Some(false),
        _ => None,
    }
}

/// `250ms`, `30s`, `5m`, `1h`, `2d`; a bare number is seconds. At most a year.
pub fn duration(text: &str) -> Option<Duration> {
    let split = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(split);
    let number: f64 = number.parse().ok()?;
    let seconds = match unit.trim() {
        "ms" => number / 1000.0,
        "s" | "" => number,
        "m" | "min" => number * 60.0,
        "h" => number * 3600.0,
        "d" => number * 24.0 * 3600.0,
        _ => return None,
    };
    (seconds <= 366.0 * 24.0 * 3600.0).then(|| Duration::try_from_secs_f64(seconds).ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::Of;

    fn lay(
        user: Option<&str>,
        project: Option<&str>,
        environment: &[(&str, &str)],
        flags: &[(&str, &str)],
    ) -> Result<Layers, Failure> {
        lay_anyway(user, project, environment, flags).sound()
    }

    fn lay_anyway(
        user: Option<&str>,
        project: Option<&str>,
        environment: &[(&str, &str)],
        flags: &[(&str, &str)],
    ) -> Layers {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: Option<&str>| {
            text.map(|text| {
                let path = folder.path().join(name);
                std::fs::write(&path, text).unwrap();
                path
            })
        };
        let find = |list: &[(&str, &str)], name: &str| {
            list.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned())
        };
        Layers::lay(&Sources {
            user: write("user.toml", user),
            project: write("project.toml", project),
            environment: &|name| find(environment, name),
            flag: &|name| find(flags, name),
        })
    }

    fn check(layers: &Layers, name: &str, value: &str, origin: &str) {
        let row = layers.rows().find(|(setting, ..)| setting.name == name).unwrap();
        assert_eq!(row.1, value);
        assert!(row.2.to_string().contains(origin), "{}", row.2);
    }

    #[test]
    fn later_layers_win_and_the_origin_is_known() {
        let user = Some("timeout = \"1m\"\narm = \"1s\"\ntheme = \"light\"\nconfirm = \"none\"");
        let project = Some("color = \"16\"\nrepair = true\ntheme = \"dark\"");
        let environment = [("ASKUSER_TIMEOUT", "3m"), ("ASKUSER_ARM", "3s"), ("ASKUSER_COLOR", "256")];
        let layers = lay(user, project, &environment, &[("timeout", "4m")]).unwrap();
        check(&layers, "timeout", "4m", "flag, --timeout");
        check(&layers, "key_delay", "3s", "environment, ASKUSER_ARM");
        check(&layers, "color", "256", "environment, ASKUSER_COLOR");
        check(&layers, "repair", "true", "project.toml");
        check(&layers, "theme", "dark", "project.toml");
        check(&layers, "confirm", "none", "user.toml");
        check(&layers, "format", "auto", "default");
        assert_eq!(layers.settings().unwrap().timeout, Some(Duration::from_secs(240)));
    }

    /// Everything a project may say. Whoever adds a setting says here on purpose that it belongs to projects; none of these
    /// says who answers, what runs, or where a key goes.
    const OF_PROJECTS: [&str; 7] = ["plain", "repair", "confirm", "theme", "color", "format", "max_tokens"];

    #[test]
    fn the_old_names_of_settings_are_still_read_and_the_new_ones_win() {
        let layers = lay(Some("arm = \"1s\"\nflash = \"0\""), None, &[], &[]).unwrap();
        check(&layers, "key_delay", "1s", "user.toml");
        check(&layers, "success_flash", "0", "user.toml");
        let both = [("ASKUSER_ARM", "2s"), ("ASKUSER_KEY_DELAY", "3s")];
        check(&lay(None, None, &both, &[]).unwrap(), "key_delay", "3s", "environment, ASKUSER_KEY_DELAY");
    }

    #[test]
    fn a_project_sets_nothing_that_says_who_answers_what_runs_or_where_a_key_goes() {
        for setting in SETTINGS {
            let line = format!("{} = {:?}", setting.name, setting.default);
            let origin = |layers: &Layers| layers.rows().find(|row| row.0.name == setting.name).unwrap().2.clone();
            let layers = lay(None, Some(&line), &[], &[]).unwrap();
            let is_set = origin(&layers) != Origin::Default;
            assert_eq!(is_set, OF_PROJECTS.contains(&setting.name), "{}", setting.name);
            let warned =
                layers.warnings.iter().any(|warning| warning.contains(&format!(": {} is ignored", setting.name)));
            assert_eq!(warned, !is_set, "{}: {:?}", setting.name, layers.warnings);
            let layers = lay(Some(&line), None, &[], &[]).unwrap();
            assert!(origin(&layers) != Origin::Default && layers.warnings.is_empty(), "{} is the user's", setting.name);
        }
    }

    #[test]
    fn a_projects_model_does_not_send_a_key_to_the_users_address() {
        let user = Some("base_url = \"http://127.0.0.1:1/v1\"");
        let settings = lay(user, Some("model = \"anthropic/y\""), &[], &[]).unwrap().settings().unwrap();
        assert_eq!(settings.model, None);
    }

    #[test]
    fn an_address_is_not_for_a_model_that_was_chosen_closer_by() {
        let user = Some("model = \"ollama/x\"\nbase_url = \"http://127.0.0.1:1/v1\"");
        let url = |flags: &[(&str, &str)]| {
            lay(user, None, &[], flags).unwrap().settings().unwrap().base_url.map(|base_url| base_url.url)
        };
        assert_eq!(url(&[]).as_deref(), Some("http://127.0.0.1:1/v1"));
        assert_eq!(url(&[("model", "anthropic/y")]), None);
        assert_eq!(url(&[("model", "anthropic/y"), ("base_url", "http://h/")]).as_deref(), Some("http://h/"));
        assert_eq!(url(&[("base_url", "http://h/")]).as_deref(), Some("http://h/"));
    }

    #[test]
    fn an_address_is_for_another_model_only_if_nothing_else_was_said_of_it() {
        let address = |user: &str, flags: &[(&str, &str)], model: &str| {
            let settings = lay(Some(user), None, &[], flags).unwrap().settings().unwrap().with_model(model);
            settings.base_url.map(|base_url| base_url.url)
        };
        let (given, file) = ([("base_url", "http://h/")], "model = \"ollama/x\"\nbase_url = \"http://f/\"");
        assert_eq!(address("", &given, "anthropic/y").as_deref(), Some("http://h/"));
        assert_eq!(address(file, &given, "anthropic/y").as_deref(), Some("http://h/"));
        assert_eq!(address(file, &[], "ollama/z").as_deref(), Some("http://f/"));
        assert_eq!(address(file, &[], "anthropic/y"), None);
        assert_eq!(address("base_url = \"http://f/\"", &[], "anthropic/y"), None);
        let beside = [("model", "ollama/x"), ("base_url", "http://h/")];
        assert_eq!(address("", &beside, "anthropic/y"), None);
    }

    #[test]
    fn a_bad_value_is_named_with_its_origin_and_what_it_must_be() {
        let layers = lay(None, None, &[("ASKUSER_TIMEOUT", "5 parsecs")], &[]).unwrap();
        let message = layers.settings().unwrap_err().message;
        assert_eq!(
            message,
            "timeout: \"5 parsecs\" (from environment, ASKUSER_TIMEOUT), must be a duration above 0, such as 30s, 5m or 1h"
        );
    }

    /// What a setting means with this value; `None` if it is refused.
    fn read<T>(name: &str, value: &str, field: impl Fn(Settings) -> T) -> Option<T> {
        lay(None, None, &[], &[(name, value)]).unwrap().settings().ok().map(field)
    }

    #[test]
    fn every_choice_that_the_help_names_is_read_and_no_other() {
        for setting in SETTINGS.iter().filter(|setting| setting.value.contains('|')) {
            for choice in setting.value.split('|').chain([setting.default]) {
                assert!(read(setting.name, choice, |_| ()).is_some(), "{} {choice}", setting.name);
            }
            assert!(read(setting.name, "xyzzy", |_| ()).is_none(), "{}", setting.name);
        }
    }

    #[test]
    fn flags_of_results_of_the_agent_and_of_the_server_are_not_for_every_command() {
        let of = |wanted: Of| {
            SETTINGS.iter().filter(|setting| setting.of == wanted).map(|setting| setting.name).collect::<Vec<_>>()
        };
        assert!(of(Of::Asking).contains(&"timeout") && !of(Of::Asking).contains(&"model"));
        assert!(of(Of::Results).contains(&"format"));
        assert!(["model", "base_url", "permissions"].iter().all(|name| of(Of::Agent).contains(name)));
        assert!(of(Of::Mcp).contains(&"mcp_limit"));
    }

    #[test]
    fn settings_mean_what_they_say() {
        let second = Duration::from_secs(1);
        assert_eq!(["none", "1s"].map(|v| read("timeout", v, |s| s.timeout)), [Some(None), Some(Some(second))]);
        assert_eq!(["0", "x"].map(|v| read("timeout", v, |s| s.timeout)), [None, None]);
        let file = || Some(Some(PathBuf::from("f")));
        assert_eq!(["none", "f", ""].map(|v| read("answers", v, |s| s.answers)), [Some(None), file(), None]);
        assert_eq!(["auto", "f"].map(|v| read("store", v, |s| s.store)), [Some(None), file()]);
        let headless = [Some(None), Some(Some(Headless::Fail)), Some(Some(Headless::Recommended))];
        assert_eq!(["none", "fail", "recommended"].map(|v| read("headless", v, |s| s.headless)), headless);
        assert_eq!(["auto", "none"].map(|v| read("popup", v, |s| s.popup)), [Some(true), Some(false)]);
        let switched = [Some(true), Some(true), Some(false), Some(false), None];
        let values = ["true", "1", "false", "0", "yes"];
        assert_eq!(values.map(|v| read("plain", v, |s| s.plain)), switched);
        assert_eq!(values.map(|v| read("repair", v, |s| s.repair)), switched);
        assert_eq!(values.map(|v| read("notify", v, |s| s.notify)), switched);
        assert_eq!(["1s", "2s"].map(|v| read("success_flash", v, |s| s.success_flash)), [Some(second), None]);
        let confirm = [Confirm::Boxed, Confirm::Full, Confirm::Inline, Confirm::None].map(Some);
        assert_eq!(["boxed", "full", "inline", "none"].map(|v| read("confirm", v, |s| s.confirm)), confirm);
        let themes = [None, Some(Background::Dark), Some(Background::Light), Some(Background::Contrast)].map(Some);
        assert_eq!(["auto", "dark", "light", "contrast"].map(|v| read("theme", v, |s| s.background)), themes);
        let depths = [ColorDepth::None, ColorDepth::Ansi16, ColorDepth::Ansi256, ColorDepth::TrueColor];
        assert_eq!(
            ["none", "16", "256", "truecolor"].map(|v| read("color", v, |s| s.depth)),
            depths.map(|d| Some(Some(d)))
        );
        assert_eq!(read("color", "auto", |s| s.depth), Some(None));
        assert_eq!(["none", "a/b"].map(|v| read("model", v, |s| s.model)), [Some(None), Some(Some("a/b".to_owned()))]);
        assert_eq!(
            ["none", "u"].map(|v| read("base_url", v, |s| s.base_url.map(|base_url| base_url.url))),
            [Some(None), Some(Some("u".to_owned()))]
        );
        let commands = [Some(None), Some(Some("c".to_owned()))];
        assert_eq!(["none", "c"].map(|v| read("on_question", v, |s| s.on_question)), commands);
        assert_eq!(
            ["none", "5", "0"].map(|v| read("max_tokens", v, |s| s.max_tokens)),
            [Some(None), Some(Some(5)), None]
        );
        let permits = [Permit::Ask, Permit::AcceptEdits, Permit::Allow].map(Some);
        assert_eq!(["ask", "accept-edits", "allow"].map(|v| read("permissions", v, |s| s.permissions)), permits);
        let named = [Vec::new(), vec!["A".to_owned(), "B".to_owned()]].map(Some);
        assert_eq!(["none", "A, B,"].map(|v| read("pass_env", v, |s| s.pass_env)), named);
        assert_eq!(
            ["auto", "1s", "0"].map(|v| read("mcp_limit", v, |s| s.mcp_limit)),
            [Some(None), Some(Some(second)), None]
        );
        let formats = [Format::Text, Format::Json, Format::Record, Format::Value, Format::Claude];
        let read_formats = ["text", "json", "record", "value", "claude"].map(|v| read("format", v, |s| s.format));
        assert_eq!(read_formats, formats.map(|format| Some(Some(format))));
        assert_eq!(read("format", "auto", |s| s.format), Some(None));
        let (policy, terminal, inbox) = (Surface::Policy, Surface::Terminal, Surface::Inbox);
        assert_eq!(read("via", "terminal,inbox", |s| s.via), Some(vec![terminal, inbox]));
        assert_eq!(read("via", "policy", |s| s.via), Some(vec![policy]));
        assert_eq!(read("via", "letter", |s| s.via), None);
    }

    #[test]
    fn a_projects_file_is_looked_for_up_to_the_repository_and_no_further() {
        let outside = tempfile::tempdir().unwrap();
        let (repository, inside) = (outside.path().join("repo"), outside.path().join("repo/src/deep"));
        std::fs::create_dir_all(&inside).unwrap();
        std::fs::write(outside.path().join("askuser.toml"), "").unwrap();
        assert_eq!(project_file(&inside), (None, None));
        std::fs::create_dir(repository.join(".git")).unwrap();
        assert_eq!(project_file(&inside), (None, None));
        std::fs::write(repository.join("askuser.toml"), "").unwrap();
        assert_eq!(project_file(&inside), (Some(repository.join("askuser.toml")), None));
    }

    #[test]
    fn an_unknown_setting_is_an_error_and_the_one_that_may_be_meant_is_named() {
        let failure = lay(Some("timeot = \"1m\""), None, &[], &[]).unwrap_err();
        assert!(failure.message.ends_with("unknown setting timeot"), "{}", failure.message);
        assert_eq!(failure.hint.as_deref(), Some("did you mean timeout? `askuser config` lists them"));
    }

    #[test]
    fn a_broken_file_hides_neither_the_rest_of_it_nor_what_comes_after() {
        let user = Some("nonsense = 1\ntimeout = \"1m\"\nvia = [1]");
        let layers = lay_anyway(user, Some("= 1"), &[("ASKUSER_COLOR", "16")], &[("theme", "dark")]);
        check(&layers, "timeout", "1m", "user.toml");
        check(&layers, "color", "16", "environment, ASKUSER_COLOR");
        check(&layers, "theme", "dark", "flag, --theme");
        let message = layers.sound().unwrap_err().message;
        for words in ["unknown setting nonsense", "via is a list or a table"] {
            assert!(message.contains(words), "{words}: {message}");
        }
    }

    #[test]
    fn a_broken_project_file_is_a_warning_that_quotes_nothing_of_it() {
        let warnings = |project: &str| {
            let layers = lay(None, Some(project), &[], &[]).expect("it starts all the same");
            layers.settings().expect("a bad value does not count");
            check(&layers, "theme", "auto", "default");
            layers.warnings
        };
        let told = |project: &str, words: &str| {
            let warnings = warnings(project);
            assert!(warnings.len() == 1 && warnings[0].ends_with(words), "{project}: {warnings:?}");
            assert!(!warnings[0].contains("secret"), "{warnings:?}");
        };
        told("root:secret:19000:0:99999:7:::\n", "project.toml, line 1: not TOML: it is ignored");
        told("color = \"16\"\nbroken secret\n", "project.toml, line 2: not TOML: it is ignored");
        let unknown = "nonsense is ignored, there is no such setting; `askuser config` lists them";
        told("color = \"16\"\n\nnonsense = \"secret\"\n", &format!("project.toml, line 3: {unknown}"));
        let bad = "theme is ignored, its value is none that it can have; `askuser config` lists them";
        told("theme = \"secret\"\n", &format!("project.toml, line 1: {bad}"));
        told("theme = [\"secret\"]\n", &format!("project.toml, line 1: {bad}"));
        told(
            "[secret_section]\ntheme = \"dark\"\n".replace("secret", "other").as_str(),
            unknown.replace("nonsense", "other_section").as_str(),
        );
    }

    #[cfg(unix)]
    #[test]
    fn a_project_file_that_is_a_link_is_not_followed() {
        let folder = tempfile::tempdir().unwrap();
        let (secret, project) = (folder.path().join("shadow"), folder.path().join("askuser.toml"));
        std::fs::write(&secret, "theme = \"dark\"\nroot:secret").unwrap();
        std::os::unix::fs::symlink(&secret, &project).unwrap();
        let layers = of_files(None, Some(project));
        check(&layers, "theme", "auto", "default");
        let [warning] = &layers.warnings[..] else { panic!("{:?}", layers.warnings) };
        assert!(warning.ends_with("askuser.toml is not a regular file: it is ignored"), "{warning}");
    }

    #[cfg(unix)]
    #[test]
    fn a_file_of_settings_that_others_can_write_is_not_taken_for_the_users() {
        use std::os::unix::fs::{PermissionsExt, chown};
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("askuser.toml");
        std::fs::write(&file, "permissions = \"allow\"").unwrap();
        let set_mode =
            |path: &Path, mode| std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
        let laid = || of_files(Some(file.clone()), None).sound();
        assert_eq!(laid().unwrap().settings().unwrap().permissions, Permit::Allow);
        for path in [&*file, folder.path()] {
            set_mode(path, 0o777);
            let failure = laid().unwrap_err();
            assert!(failure.message.contains("has mode 777, must not be writable"), "{}", failure.message);
            set_mode(path, 0o700);
            // Only root can give something away.
            if chown(path, Some(65534), None).is_ok() {
                let failure = laid().unwrap_err();
                assert!(failure.message.contains("is owned by user 65534"), "{}", failure.message);
                chown(path, Some(0), None).unwrap();
            }
        }
        assert!(laid().is_ok());
    }

    fn of_files(user: Option<PathBuf>, project: Option<PathBuf>) -> Layers {
        Layers::lay(&Sources { user, project, environment: &|_| None, flag: &|_| None })
    }

    #[test]
    fn a_section_is_told_that_there_are_none() {
        let failure = lay(Some("[ask]\ntimeout = 5"), None, &[], &[]).unwrap_err();
        assert_eq!(failure.hint.as_deref(), Some("settings stand in no [section]: write them at the top of the file"));
    }

    #[test]
    fn a_misspelt_variable_is_found_and_others_of_ours_are_not() {
        let names = ["ASKUSER_TIMEOT", "ASKUSER_TIMEOUT", "ASKUSER_ARM", "ASKUSER_XYZZY", "ASKUSER_QUESTION", "TIMEOT"];
        let found = misspelt_variables(names.iter().map(|name| (*name).to_owned()));
        assert_eq!(found, [("ASKUSER_TIMEOT".to_owned(), "ASKUSER_TIMEOUT".to_owned())]);
    }

    #[test]
    fn durations_have_units() {
        let check = |text, millis: Option<u64>| assert_eq!(duration(text), millis.map(Duration::from_millis), "{text}");
        check("250ms", Some(250));
        check("0", Some(0));
        check("30s", Some(30_000));
        check("1.5m", Some(90_000));
        check("1h", Some(3_600_000));
        check("", None);
        check("-1s", None);
        check("5x", None);
        check("999999999999h", None);
    }
}
