//! `askuser init`: adds the askuser server to the configuration of a client, and removes it again.

pub(super) mod clients;
pub(super) mod confirm;
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

use crate::config::Settings;
use crate::failure::{Failure, OrFail, exit, notice};
use crate::result::write;
use crate::state_folder::state_folder;
use crate::store::{administration, done, location, origin};
use askuser::store::{CredentialScope, NewCredential};
use askuser_inbox::Location;
use askuser_terminal::Confirm;
use clap::ArgMatches;
use clients::{CLIENTS, Client, EXTRAS, Home, SERVER};
use detect::Ticked;
use file::{File, Owner};
use format::Format;
use serde_json::{Map, Value, json};
use server_command::Programs;
use std::cell::RefCell;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use undo::{Changes, LockedChanges, Splice};

pub(super) fn run(args: &ArgMatches, settings: &Settings) -> Result<u8, Failure> {
    let project = args.get_flag("project").then(current_project).transpose()?;
    let http = args.get_one::<String>("http").map(|server| HttpEntry::new(server, settings)).transpose()?;
    let setup = Setup { project, http, ..Setup::new(args, settings, args.get_flag("remove"))? };
    let is_guided = args.get_many::<String>("client").is_none() && !args.get_flag("all");
    let Some(chosen) = setup.chosen()? else { return Ok(exit::ANSWERED) };
    let (mut code, mut added) = setup.change_all(chosen)?;
    if ["remove", "print"].iter().any(|flag| args.get_flag(flag)) {
        return Ok(code);
    }
    // The extras are also offered if all clients were set up before, because the person may want them now.
    if is_guided && code == exit::ANSWERED && askuser_terminal::has_terminal().is_ok() {
        let (refused, extras) = setup.change_all(setup.extras()?)?;
        code = refused;
        added.extend(extras);
    }
    setup.try_out(&added).map(|()| code)
}

/// Removes all entries that any `askuser init` has added, as far as the person agrees. Returns the exit code.
pub(super) fn undo_everywhere(args: &ArgMatches, settings: &Settings) -> Result<u8, Failure> {
    let setup = Setup::new(args, settings, true)?;
    // A user's own file may have the path of a project's file: `~/.gemini/settings.json`.
    let is_the_users = |file: &Path| CLIENTS.iter().any(|client| client.user_file(&setup.home) == file);
    let changes = Changes::read(&state_folder()?)?;
    let of_projects = changes.files().filter(|file| !is_the_users(file)).filter_map(project_of);
    let projects: Vec<(&Client, PathBuf)> = of_projects.collect();
    let of_the_user = setup.there();
    if of_the_user.is_empty() && projects.is_empty() {
        notice(NOTHING_TO_REMOVE);
    }
    let (mut code, _) = setup.change_all(of_the_user)?;
    for (client, root) in projects {
        let setup = Setup { project: Some(root), ..Setup::new(args, settings, true)? };
        code = code.max(setup.change_all(vec![client])?.0);
    }
    Ok(code)
}

/// Returns the client that reads this file in a project, and the project. `None` if there is no such client.
fn project_of(file: &Path) -> Option<(&'static Client, PathBuf)> {
    let of = |client: &'static Client| {
        let root = file.ancestors().skip(1).find(|root| client.project_file(root).as_deref() == Some(file))?;
        Some((client, root.to_owned()))
    };
    file.exists().then(|| CLIENTS.iter().find_map(of))?
}

pub(super) fn home() -> Result<Home<'static>, Failure> {
    fn variable(name: &str) -> Option<String> {
        std::env::var(name).ok().filter(|value| !value.is_empty())
    }
    let folder = variable(if cfg!(windows) { "USERPROFILE" } else { "HOME" }).map(PathBuf::from);
    match folder.filter(|folder| folder.is_absolute()) {
        Some(folder) => Ok(Home { folder, variable: &variable }),
        None => Err(Failure::new("there is no home folder: HOME is not an absolute path")),
    }
}

const NOTHING_TO_REMOVE: &str = "no agent here is set up, there is nothing to remove";

struct Setup<'a> {
    home: Home<'a>,
    programs: Programs,
    settings: &'a Settings,
    args: &'a ArgMatches,
    /// Whether to remove entries instead of adding them.
    removing: bool,
    /// The project whose file is changed; `None` to change the user's file.
    project: Option<PathBuf>,
    /// The server that the client connects to over HTTP; `None` if the client starts the server.
    http: Option<HttpEntry>,
}

/// The entries with the address of `askuser serve`, and a token for each client.
struct HttpEntry {
    url: String,
    host: String,
    made: RefCell<HashMap<&'static str, (String, NewCredential)>>,
}

impl HttpEntry {
    fn new(server: &str, settings: &Settings) -> Result<HttpEntry, Failure> {
        let host = origin("").host.unwrap_or_else(|| "here".to_owned());
        Ok(HttpEntry {
            url: mcp_url(Some(server).filter(|server| !server.is_empty()), settings)?,
            host,
            made: RefCell::default(),
        })
    }

    /// Returns the fields of the entry for a client. An existing entry of the same server keeps its token.
    fn fields(
        &self,
        client: &Client,
        found: Option<&Value>,
        is_shown_only: bool,
    ) -> Result<Map<String, Value>, Failure> {
        let found = found.map(Value::to_string).filter(|found| found.contains(&json!(self.url).to_string()));
        let known = found.as_deref().and_then(|found| found.split("Bearer ").nth(1)?.split('"').next());
        let token = match known {
            Some(token) => token.to_owned(),
            None if is_shown_only => "TOKEN".to_owned(),
            None => self.token(client)?,
        };
        Ok(client.http_entry(&self.url, &token))
    }

    /// Returns the token of a client. It becomes valid with [`HttpEntry::store`].
    fn token(&self, client: &Client) -> Result<String, Failure> {
        let mut made = self.made.borrow_mut();
        if let Some((token, _)) = made.get(client.name) {
            return Ok(token.clone());
        }
        let name = format!("{} on {}", client.name, self.host);
        let new = askuser_serve::token::make(&name, CredentialScope::Ask, None).or_fail("cannot make a token")?;
        Ok(made.entry(client.name).or_insert(new).0.clone())
    }

    /// Stores the token of a client, if a new one was created.
    fn store(&self, client: &Client, settings: &Settings) -> Result<(), Failure> {
        match self.made.borrow_mut().remove(client.name) {
            Some((_, new)) => done(administration(settings)?.add_credential(&new)).map(drop),
            None => Ok(()),
        }
    }
}

/// Returns the address at which `askuser serve` speaks the Model Context Protocol.
pub(super) fn mcp_url(server: Option<&str>, settings: &Settings) -> Result<String, Failure> {
    let base = match (server, location(settings)?) {
        (Some(server), _) => {
            askuser_serve::public_url(server).map_err(|wrong| Failure::new(format!("the address: {wrong}")))?
        }
        (None, Location::Address(address)) => address.trim_end_matches('/').to_owned(),
        (None, _) => "http://127.0.0.1:7420".to_owned(),
    };
    Ok(format!("{base}/mcp"))
}

enum Done {
    Changed,
    Nothing,
    Refused,
}

struct Change {
    file: File,
    after: String,
    /// The undo record; `None` if the change is itself an undo.
    splice: Option<Splice>,
}

/// The names of all files, and the planned changes with the names of their files.
type Planned = (String, Vec<(String, Change)>);

impl<'a> Setup<'a> {
    fn new(args: &'a ArgMatches, settings: &'a Settings, removing: bool) -> Result<Setup<'a>, Failure> {
        let programs = Programs::of(std::env::var_os("PATH"));
        Ok(Setup { home: home()?, programs, settings, args, removing, project: None, http: None })
    }

    /// Returns the named clients, or the person's choice among the installed ones. `None` if the person chooses no
    /// client.
    fn chosen(&self) -> Result<Option<Vec<&'static Client>>, Failure> {
        let named: Vec<&String> = self.args.get_many("client").unwrap_or_default().collect();
        if !named.is_empty() {
            return Ok(Some(named.into_iter().filter_map(|name| Client::named(name)).collect()));
        }
        let candidates = if self.removing { self.there() } else { self.missing()? };
        if self.removing && candidates.is_empty() {
            notice(NOTHING_TO_REMOVE);
        }
        if self.args.get_flag("yes") && !self.args.get_flag("all") && !candidates.is_empty() {
            let names: Vec<&str> =
                candidates.iter().filter(|client| client.is_server()).map(|client| client.name).collect();
            return Err(Failure::new("--yes needs the names of the agents, or --all")
                .hint(format!("these would be asked about: {}", names.join(" "))));
        }
        // A single client needs no choice, because its change is shown before it is made.
        if candidates.len() < 2 || ["print", "all"].iter().any(|flag| self.args.get_flag(flag)) {
            return Ok(Some(candidates));
        }
        let (question, header) = if self.removing {
            ("What should askuser be removed from?", "Remove")
        } else {
            ("Which agents should be able to ask you?", "Set up")
        };
        let lines: Vec<_> = candidates.into_iter().map(|client| (self.line(client), client)).collect();
        let chosen = detect::choose(question, header, &lines, Ticked::All, self.settings)?;
        Ok(Some(chosen).filter(|chosen| !chosen.is_empty()))
    }

    fn line(&self, client: &Client) -> String {
        let path = self.home.shown(&client.user_file(&self.home));
        format!("{} ({path}{})", client.title, if client.tried.is_some() { "" } else { "; untested" })
    }

    /// Returns the clients and extras that were added here.
    fn there(&self) -> Vec<&'static Client> {
        let is_there = |client: &&'static Client| self.parts(client).into_iter().any(|part| self.is_there(part));
        CLIENTS.iter().chain(EXTRAS).filter(is_there).collect()
    }

    /// Returns the installed clients that are not set up yet.
    fn missing(&self) -> Result<Vec<&'static Client>, Failure> {
        let is_here = |client: &&Client| client.is_installed(&self.home, &|name| self.programs.find(name).is_some());
        let found: Vec<&Client> = CLIENTS.iter().filter(is_here).collect();
        let titles = |clients: &mut dyn Iterator<Item = &Client>| {
            clients.map(|client| client.title).collect::<Vec<_>>().join(", ")
        };
        if found.is_empty() {
            return Err(Failure::new("no agent that askuser can set up is installed here").hint(format!(
                "it looks for {}; `askuser init NAME` sets one up anyway",
                titles(&mut CLIENTS.iter())
            )));
        }
        let (done, open): (Vec<&Client>, Vec<&Client>) = found.into_iter().partition(|client| self.is_complete(client));
        if open.is_empty() {
            notice(&format!("set up already: {}", titles(&mut done.into_iter())));
        }
        Ok(open)
    }

    /// Returns the files that are changed together. In a project only the server is added, because the project is
    /// shared.
    fn parts(&self, client: &'static Client) -> Vec<&'static Client> {
        let is_alone = self.project.is_some() || self.args.try_get_one("mcp-only").ok().flatten() == Some(&true);
        [client].into_iter().chain(client.beside.filter(|_| !is_alone)).collect()
    }

    fn is_there(&self, client: &Client) -> bool {
        let found = self.read(client).map(|(_, file)| client.format.find(&file.text, client.servers));
        matches!(found, Ok(Ok(Some(_))))
    }

    /// Returns whether all entries exist that would be added. An existing entry of the server may have other fields.
    fn is_complete(&self, client: &'static Client) -> bool {
        let is_kept = |part: &Client| !matches!(part.format, Format::Hooks(_)) && self.is_there(part);
        let has_all = |part: &Client| self.plan(part, &Changes::default()).is_ok_and(|(_, change)| change.is_none());
        self.parts(client).into_iter().all(|part| is_kept(part) || has_all(part))
    }

    /// Returns the extras that the person wants in addition to the server.
    fn extras(&self) -> Result<Vec<&'static Client>, Failure> {
        let is_useful = |extra: &Client| extra.programs.iter().any(|program| self.programs.find(program).is_some());
        let extras = EXTRAS.iter().filter(|extra| is_useful(extra) && !self.is_there(extra));
        let offers: Vec<_> = extras.filter_map(|extra| Some((extra.offer?.to_owned(), extra))).collect();
        if offers.is_empty() {
            return Ok(Vec::new());
        }
        // The choice of extras needs no confirmation, because each chosen one is confirmed separately.
        let settings = Settings { confirm: Confirm::None, ..self.settings.clone() };
        detect::choose("Anything else? Esc for nothing.", "Set up", &offers, Ticked::None, &settings)
    }

    /// Makes every change that the person agrees to. Returns the exit code and the changed clients. A failed change
    /// does not stop the others.
    fn change_all(&self, clients: Vec<&'static Client>) -> Result<(u8, Vec<&'static Client>), Failure> {
        let is_alone = clients.len() == 1;
        let mut code = exit::ANSWERED;
        let mut changed = Vec::new();
        for client in clients {
            code = code.max(match self.change(client) {
                Ok(Done::Changed) => {
                    changed.push(client);
                    exit::ANSWERED
                }
                Ok(Done::Nothing) => exit::ANSWERED,
                Ok(Done::Refused) => exit::NOT_ANSWERED,
                Err(failure) if is_alone || failure.code == exit::INTERRUPTED => return Err(failure),
                Err(failure) => Failure { message: format!("{}: {}", client.title, failure.message), ..failure }.tell(),
            });
        }
        Ok((code, changed))
    }

    /// Starts the server once as a client would, and prints the next steps.
    fn try_out(&self, added: &[&'static Client]) -> Result<(), Failure> {
        if self.http.is_some() {
            notice("`askuser serve` has to run where the questions are kept");
        } else if let Some(client) = added.iter().find(|client| client.is_server()) {
            let server = Value::Object(self.server(client)?);
            if let Some(Err(why)) = status::command(&server).map(|words| status::asks(&words)) {
                return Err(Failure::new(format!("added, but {why}")).hint("`askuser doctor` tries it again"));
            }
            notice("the server starts, and a question reaches the inbox");
        }
        if added.iter().any(|client| client.name == "codex") {
            notice("Codex shows the hooks for review when it starts; `codex exec` leaves them out until then");
        }
        let is_restarted = |client: &&Client| added.iter().any(|one| one.name == client.name);
        let restarted: Vec<&str> = CLIENTS.iter().filter(is_restarted).map(|client| client.title).collect();
        let restart = (!restarted.is_empty()).then(|| format!("restart {}", restarted.join(", ")));
        let read_again = added.iter().filter(|client| !client.is_server()).filter_map(|extra| {
            Some(format!("run `{} {}`", extra.named_by?, self.home.shown(&extra.user_file(&self.home))))
        });
        let steps: Vec<String> = restart.into_iter().chain(read_again).collect();
        if !steps.is_empty() {
            notice(&format!("next: {}; then say: ask me which database to use", steps.join("; ")));
            notice("answer in the agent's own dialog if it has one, or with `askuser inbox`");
        }
        Ok(())
    }

    fn read(&self, client: &Client) -> Result<(PathBuf, File), Failure> {
        let (path, owner) = match &self.project {
            Some(root) if client.is_server() => {
                let none = || Failure::new(format!("{} has no file for a project; leave out --project", client.title));
                (client.project_file(root).ok_or_else(none)?, Owner::Project(root))
            }
            _ => (client.user_file(&self.home), Owner::User),
        };
        let file = File::read(&path, owner)?;
        Ok((path, file))
    }

    /// Returns the fields that the entry should have. The fields of a command are removed if the entry has an address,
    /// and vice versa.
    fn entry(&self, client: &Client, file: &File) -> Result<Map<String, Value>, Failure> {
        let command = self.server(client)?;
        let found = client.format.find(&file.text, client.servers).map_err(|why| unfit(file, why))?;
        let (mut fields, other) = match self.http.as_ref().filter(|_| !client.format.is_beside()) {
            Some(http) => (http.fields(client, found.as_ref(), self.args.get_flag("print"))?, command),
            None => (command, client.http_entry("", "")),
        };
        for name in other.keys().filter(|name| found.as_ref().is_some_and(|found| found.get(name).is_some())) {
            fields.entry(name.clone()).or_insert(Value::Null);
        }
        Ok(fields)
    }

    /// Returns the fields of the server that the client starts, or the command of an extra.
    fn server(&self, client: &Client) -> Result<Map<String, Value>, Failure> {
        let command = if self.project.is_some() && client.is_server() {
            // The program may be at another path for other users of the project.
            SERVER.to_owned()
        } else {
            let this = std::env::current_exe().or_fail("cannot find this program")?;
            self.programs.command(&this, client.is_desktop)
        };
        match (client.entry)(&command) {
            Value::Object(fields) => Ok(fields),
            _ => Ok(Map::new()),
        }
    }

    /// Shows the change of a client's files, and makes it if the person agrees.
    fn change(&self, client: &'static Client) -> Result<Done, Failure> {
        let [printing, yes] = ["print", "yes"].map(|flag| self.args.get_flag(flag));
        let removing = self.removing;
        let state = state_folder()?;
        let (shown, agreed) = self.plan_all(client, &Changes::read(&state)?)?;
        let nothing_to_do = || {
            let state = if removing { "is not set up" } else { "is set up already" };
            notice(&format!("{} {state} ({shown})", client.title));
            Ok(Done::Nothing)
        };
        if agreed.is_empty() {
            return nothing_to_do();
        }
        let diff: String =
            agreed.iter().map(|(shown, change)| confirm::diff(shown, &change.file.text, &change.after)).collect();
        if !removing && client.is_server() {
            let permissions = if self.parts(client).len() > 1 { " and permissions" } else { "" };
            notice(&format!("{}'s questions{permissions} will also reach your inbox.", client.title));
        }
        if printing {
            write(&diff)?;
            return Ok(Done::Nothing);
        }
        // The subject of the question, and the place for a client.
        let (what, place) = match (client.is_server(), removing) {
            (true, true) => ("askuser ", format!("from {}", client.title)),
            (true, false) => ("askuser ", format!("to {}", client.title)),
            (false, _) => ("", client.title.to_owned()),
        };
        let [verb, header] = if removing { ["Remove"; 2] } else { ["Add", "Set up"] };
        if !yes && !confirm::agrees(&format!("{verb} {what}{place}?"), header, &diff, self.settings)? {
            notice(&format!("{shown} was left as it is"));
            return Ok(Done::Refused);
        }
        // Another `askuser init` may have changed a file while the person read the question.
        let mut changes = LockedChanges::wait_for(&state)?;
        let (_, planned) = self.plan_all(client, &changes.changes)?;
        if planned.is_empty() {
            return nothing_to_do();
        }
        let is_as_shown = |change: &Change| agreed.iter().any(|(_, agreed)| change.is_shown_as(agreed));
        if let Some((_, other)) = planned.iter().find(|(_, change)| !yes && !is_as_shown(change)) {
            return Err(other.file.changed_meanwhile());
        }
        if let Some(http) = &self.http {
            http.store(client, self.settings)?;
        }
        planned.into_iter().try_for_each(|(_, change)| change.make(&mut changes))?;
        let untested = if client.tried.is_some() || !client.is_server() || removing {
            ""
        } else {
            "; this entry follows its documentation and is untested"
        };
        let by_hand = if removing { String::new() } else { client.by_hand(&shown) };
        let done = if removing { "removed" } else { "added" };
        notice(&format!("{done} {place} ({shown}){untested}{by_hand}"));
        Ok(Done::Changed)
    }

    /// Returns the names of a client's files, and the changes of those that need one.
    fn plan_all(&self, client: &'static Client, changes: &Changes) -> Result<Planned, Failure> {
        let parts = self.parts(client).into_iter().map(|part| self.plan(part, changes));
        let planned = parts.collect::<Result<Vec<_>, Failure>>()?;
        let shown = planned.iter().map(|(shown, _)| shown.as_str()).collect::<Vec<_>>().join(", ");
        Ok((shown, planned.into_iter().filter_map(|(shown, change)| Some((shown, change?))).collect()))
    }

    /// Returns the display name of a file, and its change if it needs one.
    fn plan(&self, client: &Client, changes: &Changes) -> Result<(String, Option<Change>), Failure> {
        let (path, file) = self.read(client)?;
        let shown = if file.path == path {
            self.home.shown(&path)
        } else {
            format!("{} -> {}", self.home.shown(&path), self.home.shown(&file.path))
        };
        let planned = if self.removing {
            removal(client, file, changes)?
        } else {
            let fields = self.entry(client, &file)?;
            addition(client, file, changes, &fields)?
        };
        Ok((shown, planned))
    }
}

fn unfit(file: &File, why: String) -> Failure {
    Failure::new(format!("{} {why}", file.path.display()))
        .hint("nothing was changed; fix it, or add the server by hand")
}

/// Returns the change that adds a server to a file, with its undo record. `None` if the file needs no change.
fn addition(
    client: &Client,
    file: File,
    changes: &Changes,
    server: &Map<String, Value>,
) -> Result<Option<Change>, Failure> {
    if client.format == Format::YamlFileOfItsOwn && file.exists() {
        let is_ours = client.format.find(&file.text, client.servers).map_err(|why| unfit(&file, why))?.is_some();
        if !is_ours {
            return Err(unfit(&file, "belongs to another user".into()));
        }
    }
    let after = client.format.add(&file.text, client.servers, server).map_err(|why| unfit(&file, why))?;
    if after == file.text && file.exists() {
        return Ok(None);
    }
    // An undo restores the content before askuser's first change.
    let earlier = changes.of(&file.path).and_then(|splice| Some((splice.undo(&file.text)?, splice)));
    let before = earlier.as_ref().map_or(file.text.as_str(), |(before, _)| before);
    let mut splice = Splice::between(before, &after);
    splice.made_table = client.format.makes_table(before, client.servers);
    splice.created = earlier.as_ref().map_or(!file.exists(), |(_, earlier)| earlier.created);
    splice.folders = match earlier {
        Some((_, earlier)) if file.exists() => earlier.folders.clone(),
        _ => file.missing_folders(),
    };
    Ok(Some(Change { file, after, splice: Some(splice) }))
}

/// Returns the change that removes a server from a file; `None` if the server is missing.
fn removal(client: &Client, file: File, changes: &Changes) -> Result<Option<Change>, Failure> {
    let find = |text: &str| client.format.find(text, client.servers);
    if !file.exists() || find(&file.text).map_err(|why| unfit(&file, why))?.is_none() {
        return Ok(None);
    }
    // If the inserted text is unchanged, the file is restored exactly, with any server that had this name before. If
    // that text was changed later, or was added by hand, only the server is removed.
    let undone = changes.of(&file.path).and_then(|splice| splice.undo(&file.text));
    let after = match undone.filter(|undone| client.format.differs_only_in(&file.text, undone, client.servers)) {
        Some(undone) => undone,
        None => {
            let made_table = changes.of(&file.path).is_some_and(|splice| splice.made_table);
            client.format.remove(&file.text, client.servers, made_table).map_err(|why| unfit(&file, why))?
        }
    };
    Ok(Some(Change { file, after, splice: None }))
}

impl Change {
    /// Returns whether the other change edits the same file, with the same text before and after.
    fn is_shown_as(&self, other: &Change) -> bool {
        let text = |change: &Change| (change.file.path.clone(), change.file.text.clone(), change.after.clone());
        text(self) == text(other)
    }

    /// Writes the file. The undo record is written to the disk first.
    fn make(self, changes: &mut LockedChanges) -> Result<(), Failure> {
        let path = &self.file.path;
        let earlier = changes.changes.of(path).cloned();
        if self.splice.is_some() {
            changes.keep(path, self.splice)?;
            return self.file.write(&self.after).inspect_err(|_| {
                // A stale undo record is harmless, but wrong.
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

/// Returns the repository around the current folder, or the folder itself.
fn current_project() -> Result<PathBuf, Failure> {
    let folder = std::env::current_dir().or_fail("cannot find the current folder")?;
    let is_root = |folder: &&Path| [".git", ".hg", ".jj"].iter().any(|name| folder.join(name).exists());
    Ok(folder.ancestors().find(is_root).unwrap_or(&folder).to_owned())
}
