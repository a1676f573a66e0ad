//! `askuser init`: adds our server to the configuration of a client, and removes it again.

mod clients;
mod confirm;
mod detect;
pub(super) mod file;
mod format;
mod jsonc;
mod server_command;
pub(super) mod status;
mod toml;
mod undo;
mod yaml;

#[cfg(test)]
mod tests;

use crate::args;
use crate::config::Settings;
use crate::failure::{self, Failure, exit, notice};
use crate::result::write;
use crate::state_folder::state_folder;
use clap::ArgMatches;
use clients::{Client, Home, SERVER};
use file::{File, Owner};
use format::Entry;
use serde_json::{Map, Value};
use server_command::Programs;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use undo::{Changes, LockedChanges, Splice};

pub(super) fn run(words: impl Iterator<Item = OsString>) -> Result<u8, Failure> {
    let (args, settings) = super::parse(args::init(), words)?;
    let programs = Programs::of(std::env::var_os("PATH"));
    let setup = Setup { home: home()?, programs, settings: &settings, args: &args };
    let chosen = setup.chosen()?;
    let is_alone = chosen.len() == 1;
    let mut code = exit::ANSWERED;
    for client in chosen {
        code = code.max(match setup.change(client) {
            Ok(code) => code,
            Err(failure) if is_alone || failure.code == exit::INTERRUPTED => return Err(failure),
            // The others are no worse for it.
            Err(failure) => {
                let failure = Failure { message: format!("{}: {}", client.title, failure.message), ..failure };
                failure::tell("askuser", &failure);
                failure.code
            }
        });
    }
    Ok(code)
}

/// This user's home folder.
fn home() -> Result<Home<'static>, Failure> {
    fn variable(name: &str) -> Option<String> {
        std::env::var(name).ok().filter(|value| !value.is_empty())
    }
    let folder = variable(if cfg!(windows) { "USERPROFILE" } else { "HOME" }).map(PathBuf::from);
    match folder.filter(|folder| folder.is_absolute()) {
        Some(folder) => Ok(Home { folder, variable: &variable }),
        None => Err(Failure::new("there is no home folder: HOME is not an absolute path")),
    }
}

struct Setup<'a> {
    home: Home<'a>,
    programs: Programs,
    settings: &'a Settings,
    args: &'a ArgMatches,
}

/// A client's file before and after the change.
struct Change {
    file: File,
    after: String,
    /// What undoes it; none if it undoes one itself.
    splice: Option<Splice>,
}

impl Setup<'_> {
    /// The clients that were named, or that the person chooses among those that are here.
    fn chosen(&self) -> Result<Vec<&'static Client>, Failure> {
        let named: Vec<&String> = self.args.get_many("client").unwrap_or_default().collect();
        if !named.is_empty() {
            return Ok(named.into_iter().filter_map(|name| Client::named(name)).collect());
        }
        let found = detect::installed(&self.home, &|program| self.programs.find(program).is_some());
        let is_set_up = |client: &&Client| {
            let file = self.read(client);
            file.is_ok_and(|(_, file)| matches!(client.format.find(&file.text, entry(client)), Ok(Some(_))))
        };
        let removing = self.args.get_flag("remove");
        let (done, open): (Vec<_>, Vec<_>) = found.into_iter().partition(is_set_up);
        let of_interest = if removing { done } else { open };
        if of_interest.is_empty() {
            let what = if removing { "no client here is set up" } else { "no client was found that is not set up yet" };
            return Err(Failure::new(what).hint("name one: `askuser init --help` lists them"));
        }
        if self.args.get_flag("yes") {
            let names: Vec<&str> = of_interest.iter().map(|client| client.name).collect();
            return Err(Failure::new("--yes needs the names of the clients")
                .hint(format!("these would be asked about: {}", names.join(" "))));
        }
        match self.args.get_flag("print") {
            true => Ok(of_interest),
            false => detect::choose(&of_interest, &self.home, self.settings),
        }
    }

    /// The file of a client that is meant here.
    fn read(&self, client: &Client) -> Result<(PathBuf, File), Failure> {
        if !self.args.get_flag("project") {
            let path = client.user_file(&self.home);
            let file = File::read(&path, Owner::User)?;
            return Ok((path, file));
        }
        let folder = std::env::current_dir()
            .map_err(|error| Failure::new(format!("cannot find the current folder: {error}")))?;
        let root = project_root(&folder);
        let path = client
            .project_file(&root)
            .ok_or_else(|| Failure::new(format!("{} has no file for a project; leave out --project", client.title)))?;
        let file = File::read(&path, Owner::Project(&root))?;
        Ok((path, file))
    }

    /// The content that a client's file should have.
    fn server(&self, client: &Client) -> Result<Map<String, Value>, Failure> {
        let command = match self.args.get_flag("project") {
            // Others have it elsewhere.
            true => SERVER.to_owned(),
            false => self.programs.command(&server_command::this_program()?, client.is_desktop),
        };
        match (client.entry)(&command) {
            Value::Object(fields) => Ok(fields),
            _ => Ok(Map::new()),
        }
    }

    /// Shows what would change for a client, and changes it if that is agreed to.
    fn change(&self, client: &Client) -> Result<u8, Failure> {
        let [removing, printing, yes] = ["remove", "print", "yes"].map(|flag| self.args.get_flag(flag));
        let state = state_folder()?;
        let (shown, planned) = self.plan(client, &Changes::read(&state)?)?;
        let nothing_to_do = || {
            let state = if removing { "is not set up" } else { "is set up already" };
            notice("askuser", &format!("{} {state} ({shown})", client.title));
            Ok(exit::ANSWERED)
        };
        let Some(agreed) = planned else { return nothing_to_do() };
        let diff = confirm::diff(&shown, &agreed.file.text, &agreed.after);
        if printing {
            write(&diff)?;
            return Ok(exit::ANSWERED);
        }
        let question = match removing {
            true => format!("Remove askuser from {}?", client.title),
            false => format!("Add askuser to {}?", client.title),
        };
        if !yes && !confirm::agrees(&question, &diff, self.settings)? {
            notice("askuser", &format!("{} was left as it is ({shown})", client.title));
            return Ok(exit::NOT_ANSWERED);
        }
        // Another `askuser init` may have changed something while this one was read.
        let mut changes = LockedChanges::wait_for(&state)?;
        let Some(change) = self.plan(client, &changes)?.1 else { return nothing_to_do() };
        if !yes && !change.is_shown_as(&agreed) {
            return Err(change.file.changed_meanwhile());
        }
        change.make(&mut changes)?;
        let done = if removing { "taken out of" } else { "added to" };
        let tried = if client.is_measured || removing { "" } else { "; by its documentation, not tried with it" };
        let by_hand = if removing { String::new() } else { client.by_hand(&shown) };
        notice("askuser", &format!("{done} {} ({shown}){tried}{by_hand}", client.title));
        Ok(exit::ANSWERED)
    }

    /// What a client's file is called, and what has to change in it.
    fn plan(&self, client: &Client, changes: &Changes) -> Result<(String, Option<Change>), Failure> {
        let (path, file) = self.read(client)?;
        let shown = match file.path == path {
            true => self.home.shown(&path),
            false => format!("{} -> {}", self.home.shown(&path), self.home.shown(&file.path)),
        };
        let planned = match self.args.get_flag("remove") {
            true => removal(client, file, changes)?,
            false => addition(client, file, changes, &self.server(client)?)?,
        };
        Ok((shown, planned))
    }
}

fn entry(client: &Client) -> Entry<'static> {
    Entry { servers: client.servers, name: SERVER }
}

fn unfit(file: &File, why: String) -> Failure {
    Failure::new(format!("{} {why}", file.path.display()))
        .hint("nothing was changed; fix it, or add the server by hand")
}

/// What adds a server to a file; `None` if it is there.
fn addition(
    client: &Client,
    file: File,
    changes: &Changes,
    server: &Map<String, Value>,
) -> Result<Option<Change>, Failure> {
    let entry = entry(client);
    if client.format == format::Format::YamlFileOfItsOwn && file.exists() {
        let is_ours = client.format.find(&file.text, entry).map_err(|why| unfit(&file, why))?.is_some();
        if !is_ours {
            return Err(unfit(&file, "belongs to another user".into()));
        }
    }
    let after = client.format.add(&file.text, entry, server).map_err(|why| unfit(&file, why))?;
    if after == file.text && file.exists() {
        return Ok(None);
    }
    // The content before our first change is the one to restore.
    let earlier = changes.of(&file.path).and_then(|splice| Some((splice.undo(&file.text)?, splice)));
    let before = earlier.as_ref().map_or(file.text.as_str(), |(before, _)| before);
    let mut splice = Splice::between(before, &after);
    splice.made_table = !client.format.has_servers(before, entry);
    splice.created = earlier.as_ref().map_or(!file.exists(), |(_, earlier)| earlier.created);
    splice.folders = match earlier {
        Some((_, earlier)) if file.exists() => earlier.folders.clone(),
        _ => file.missing_folders(),
    };
    Ok(Some(Change { file, after, splice: Some(splice) }))
}

/// What takes a server out of a file again; `None` if it is not there.
fn removal(client: &Client, file: File, changes: &Changes) -> Result<Option<Change>, Failure> {
    let entry = entry(client);
    let find = |text: &str| client.format.find(text, entry);
    if !file.exists() || find(&file.text).map_err(|why| unfit(&file, why))?.is_none() {
        return Ok(None);
    }
    // Exactly as it was, if what we wrote is still what stands there; a server that had this name before comes back. Where
    // it was changed since, or added by hand, the server alone goes.
    let undone = changes.of(&file.path).and_then(|splice| splice.undo(&file.text));
    let after = match undone.filter(|undone| client.format.differs_only_in(&file.text, undone, entry)) {
        Some(undone) => undone,
        None => {
            let made_table = changes.of(&file.path).is_some_and(|splice| splice.made_table);
            client.format.remove(&file.text, entry, made_table).map_err(|why| unfit(&file, why))?
        }
    };
    Ok(Some(Change { file, after, splice: None }))
}

impl Change {
    /// Whether it changes the same text in the same way, in the same file.
    fn is_shown_as(&self, other: &Change) -> bool {
        let text = |change: &Change| (change.file.path.clone(), change.file.text.clone(), change.after.clone());
        text(self) == text(other)
    }

    /// Writes the file. What undoes it is on the disk before it is needed.
    fn make(self, changes: &mut LockedChanges) -> Result<(), Failure> {
        let path = &self.file.path;
        let earlier = changes.of(path).cloned();
        if self.splice.is_some() {
            changes.keep(path, self.splice)?;
            return self.file.write(&self.after).inspect_err(|_| {
                // One that undoes nothing does no harm, but says what is not so.
                let _ = changes.keep(path, earlier);
            });
        }
        match earlier {
            Some(Splice { created: true, folders, .. }) if self.after.is_empty() => self.file.delete(&folders)?,
            _ => self.file.write(&self.after)?,
        }
        changes.keep(path, None)
    }
}

/// The repository that a folder is in, or the folder itself.
fn project_root(folder: &Path) -> PathBuf {
    let is_root = |folder: &&Path| [".git", ".hg", ".jj"].iter().any(|name| folder.join(name).exists());
    folder.ancestors().find(is_root).unwrap_or(folder).to_owned()
}
