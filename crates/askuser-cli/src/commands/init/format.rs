//! The formats of configuration files: adds, updates, finds or removes one entry without other changes.

use super::clients::SERVER;
use super::jsonc::HookFile;
use super::{jsonc, toml, yaml};
use serde_json::{Map, Value};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    /// JSON, with or without comments and trailing commas.
    Json,
    Toml,
    /// A YAML file that contains only the askuser server.
    YamlFileOfItsOwn,
    /// Any file, to which this line is added.
    Line(&'static str),
    /// The settings of an agent, to which askuser's hooks and a permission rule are added.
    Hooks(&'static HookFile),
}

/// The methods take the name of the table that holds the servers as `servers`. An error is the text that follows the
/// name of the file.
impl Format {
    /// Returns the file with the entry added. An existing entry keeps its other fields.
    pub(super) fn add(self, text: &str, servers: &str, value: &Map<String, Value>) -> Result<String, String> {
        let edited = match self {
            Format::Json => jsonc::add(text, servers, value)?,
            Format::Toml => toml::add(text, servers, value)?,
            Format::YamlFileOfItsOwn => return Ok(yaml::file(servers, value)),
            Format::Line(_) if self.find(text, servers)?.is_some() => return Ok(text.to_owned()),
            Format::Line(line) => {
                let end = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
                return Ok(format!("{text}{end}{line}\n"));
            }
            Format::Hooks(hooks) => return hooks.add(text, value["command"].as_str().unwrap_or(SERVER)),
        };
        // The result is parsed again. The edited file must keep its content and contain the entry.
        let mut expected = self.read(text)?;
        let table = expected.entry(servers).or_insert_with(|| Map::new().into());
        let found = table.as_object_mut().map(|table| table.entry(SERVER).or_insert_with(|| Map::new().into()));
        if let Some(Value::Object(fields)) = found {
            fields.extend(value.clone());
            // A field that is null is removed.
            fields.retain(|_, field| !field.is_null());
        }
        match self.read(&edited) {
            Ok(found) if found == expected => Ok(edited),
            _ => Err("is written in a way that cannot be edited safely".into()),
        }
    }

    /// Returns the file without the entry. With `with_empty_table`, the table that held it is also removed if it is
    /// empty.
    pub(super) fn remove(self, text: &str, servers: &str, with_empty_table: bool) -> Result<String, String> {
        let edited = match self {
            Format::Json => jsonc::remove(text, servers, with_empty_table)?,
            Format::Toml => toml::remove(text, servers)?,
            Format::YamlFileOfItsOwn => return Ok(String::new()),
            Format::Line(line) => {
                let is_other = |other: &&str| other.trim_end_matches(['\r', '\n']) != line;
                return Ok(text.split_inclusive('\n').filter(is_other).collect());
            }
            Format::Hooks(hooks) => return hooks.remove(text),
        };
        if self.differs_only_in(text, &edited, servers) && self.find(&edited, servers)?.is_none() {
            Ok(edited)
        } else {
            Err("is written in a way that cannot be edited safely".into())
        }
    }

    /// Returns whether adding the entry creates a table of servers in this file.
    pub(super) fn makes_table(self, text: &str, servers: &str) -> bool {
        !self.is_beside() && !self.read(text).is_ok_and(|fields| fields.contains_key(servers))
    }

    /// Returns whether the entry is a line or hooks, and not a server.
    pub(super) fn is_beside(self) -> bool {
        matches!(self, Format::Line(_) | Format::Hooks(_))
    }

    /// Returns the entry in the file, if it is there.
    pub(super) fn find(self, text: &str, servers: &str) -> Result<Option<Value>, String> {
        match self {
            Format::YamlFileOfItsOwn => Ok(yaml::find(text)),
            Format::Line(line) => Ok(text.lines().any(|other| other == line).then_some(Value::Null)),
            Format::Hooks(hooks) => Ok(hooks.entries(text)?.into_iter().flatten().next()),
            _ => Ok(self.read(text)?.get(servers).and_then(|servers| servers.get(SERVER)).cloned()),
        }
    }

    /// Returns whether two files differ only in the entry, and in a table that contains only the entry.
    pub(super) fn differs_only_in(self, one: &str, other: &str, servers: &str) -> bool {
        let rest = |text: &str| {
            let mut fields = self.read(text).ok()?;
            if let Some(Value::Object(table)) = fields.get_mut(servers) {
                table.shift_remove(SERVER);
                if table.is_empty() {
                    fields.shift_remove(servers);
                }
            }
            Some(fields)
        };
        self.is_beside() || matches!((rest(one), rest(other)), (Some(one), Some(other)) if one == other)
    }

    fn read(self, text: &str) -> Result<Map<String, Value>, String> {
        match self {
            Format::Json => jsonc::read(text),
            Format::Toml => toml::read(text),
            Format::YamlFileOfItsOwn | Format::Line(_) | Format::Hooks(_) => Ok(Map::new()),
        }
    }
}
