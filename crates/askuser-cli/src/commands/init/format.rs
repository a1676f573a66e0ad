//! The formats of configuration files: one entry is added, updated, found or removed, and nothing else changes.

use super::{jsonc, toml, yaml};
use serde_json::{Map, Value};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    /// With or without comments and trailing commas.
    Json,
    Toml,
    /// A file that holds our server and nothing else.
    YamlFileOfItsOwn,
}

/// Which entry of a file is meant.
#[derive(Clone, Copy)]
pub(super) struct Entry<'a> {
    /// The table that holds the servers.
    pub(super) servers: &'a str,
    pub(super) name: &'a str,
}

impl Format {
    /// The file with the entry in it. An entry that is there keeps whatever else it says.
    ///
    /// # Errors
    /// Why the file cannot be edited: where it is broken, or what stands where a table should be.
    pub(super) fn add(self, text: &str, entry: Entry<'_>, value: &Map<String, Value>) -> Result<String, String> {
        let edited = match self {
            Format::Json => jsonc::add(text, entry, value)?,
            Format::Toml => toml::add(text, entry, value)?,
            Format::YamlFileOfItsOwn => return Ok(yaml::file(entry, value)),
        };
        // Whatever the editors do: the file must say what it said, and our entry.
        let mut expected = self.read(text)?;
        let servers = expected.entry(entry.servers).or_insert_with(|| Map::new().into());
        let found =
            servers.as_object_mut().map(|servers| servers.entry(entry.name).or_insert_with(|| Map::new().into()));
        if let Some(Value::Object(fields)) = found {
            fields.extend(value.clone());
        }
        match self.read(&edited) {
            Ok(found) if found == expected => Ok(edited),
            _ => Err("is written in a way that cannot be edited safely".into()),
        }
    }

    /// The file without the entry, and without the table that held it if that becomes empty and has to go too.
    ///
    /// # Errors
    /// Why the file cannot be edited.
    pub(super) fn remove(self, text: &str, entry: Entry<'_>, with_empty_table: bool) -> Result<String, String> {
        let edited = match self {
            Format::Json => jsonc::remove(text, entry, with_empty_table)?,
            Format::Toml => toml::remove(text, entry)?,
            Format::YamlFileOfItsOwn => return Ok(String::new()),
        };
        match self.differs_only_in(text, &edited, entry) && self.find(&edited, entry)?.is_none() {
            true => Ok(edited),
            false => Err("is written in a way that cannot be edited safely".into()),
        }
    }

    /// Whether a file has a table of servers, with or without ours.
    pub(super) fn has_servers(self, text: &str, entry: Entry<'_>) -> bool {
        self.read(text).is_ok_and(|fields| fields.contains_key(entry.servers))
    }

    /// What stands in the file for the entry.
    ///
    /// # Errors
    /// Where the file is broken.
    pub(super) fn find(self, text: &str, entry: Entry<'_>) -> Result<Option<Value>, String> {
        if self == Format::YamlFileOfItsOwn {
            return Ok(yaml::find(text));
        }
        Ok(self.read(text)?.get(entry.servers).and_then(|servers| servers.get(entry.name)).cloned())
    }

    /// Whether two files are the same except for the entry, and for a table that held nothing else.
    pub(super) fn differs_only_in(self, one: &str, other: &str, entry: Entry<'_>) -> bool {
        let rest = |text: &str| {
            let mut fields = self.read(text).ok()?;
            if let Some(Value::Object(servers)) = fields.get_mut(entry.servers) {
                servers.shift_remove(entry.name);
                if servers.is_empty() {
                    fields.shift_remove(entry.servers);
                }
            }
            Some(fields)
        };
        matches!((rest(one), rest(other)), (Some(one), Some(other)) if one == other)
    }

    /// All that a file says.
    fn read(self, text: &str) -> Result<Map<String, Value>, String> {
        match self {
            Format::Json => jsonc::read(text),
            Format::Toml => toml::read(text),
            Format::YamlFileOfItsOwn => Ok(Map::new()),
        }
    }
}
