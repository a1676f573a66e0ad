//! The lasting permissions of a folder. They are in a file that the agent's tools cannot write without asking. People
//! may read and edit the file: docs/permissions.md.

use crate::state_folder::{check_state_folder, state_folder, trusted};
use askuser_agent::atomic_file::{self, FilePermissions};
use askuser_agent::regular_file::{self, Links};
use askuser_agent::{Allowed, AllowedRule, PermissionRule, Scope};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Returns the permissions of this folder. `None` without a state folder, and then permissions last as long as the
/// session.
pub(crate) fn here(cwd: &Path) -> Option<Arc<dyn Allowed>> {
    let file = state_folder().ok()?.join("allowed.json");
    Some(Arc::new(File { file, folder: cwd.display().to_string() }))
}

/// Returns the warning to a user whose earlier permissions are ignored; `None` if they are valid.
pub(crate) fn warning() -> Option<String> {
    let file = File { file: state_folder().ok()?.join("allowed.json"), folder: String::new() };
    let error = file.read().err()?;
    Some(format!("what was allowed for good is asked for again: {error}"))
}

struct File {
    file: PathBuf,
    folder: String,
}

/// The rules by folder and tool, as [`display`] spells them.
#[derive(Default, Serialize, Deserialize)]
struct Rules(BTreeMap<String, BTreeMap<String, BTreeSet<String>>>);

/// The size limit of the file, which exceeds the permissions that a person gives one by one.
const MAX_BYTES: u64 = 16 << 20;

/// The name that stands for every folder. No folder has this name, because folders are absolute paths.
const EVERYWHERE: &str = "*";

impl File {
    /// Reads the rules. An unreadable file, or one that another user could have written, allows no call.
    fn read(&self) -> io::Result<Rules> {
        if let Some(state) = self.file.parent() {
            check_state_folder(state).map_err(|failure| io::Error::other(failure.message))?;
        }
        let fault = |words: String| io::Error::other(format!("{} {words}", self.file.display()));
        trusted(&self.file).map_err(|error| fault(error.to_string()))?;
        match regular_file::read(&self.file, Links::Follow, MAX_BYTES) {
            // Some editors begin a file with a byte order mark.
            Ok(bytes) => serde_json::from_slice(bytes.strip_prefix("\u{feff}".as_bytes()).unwrap_or(&bytes))
                .map_err(|error| fault(format!("cannot be read: {error}"))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Rules::default()),
            Err(error) if error.kind() == io::ErrorKind::InvalidInput => Err(fault(error.to_string())),
            Err(error) => Err(fault(format!("cannot be read: {error}"))),
        }
    }

    fn change(&self, change: impl FnOnce(&mut Rules)) -> io::Result<()> {
        if let Some(folder) = self.file.parent() {
            regular_file::make_private_folder(folder)?;
        }
        // Another session may be changing the file at the same time. Without support for locks, that risk is accepted.
        let mut options = regular_file::private();
        options.write(true).create(true).truncate(true);
        let lock = regular_file::open_with(&mut options, &self.file.with_extension("lock"), Links::Follow)?;
        let _ = lock.lock();
        let mut rules = self.read()?;
        change(&mut rules);
        atomic_file::replace(&self.file, &serde_json::to_vec_pretty(&rules)?, FilePermissions::OwnerOnly)
    }

    /// Returns the rules of this folder, with their scopes.
    fn here<'a>(&'a self, rules: &'a Rules) -> impl Iterator<Item = (Scope, &'a BTreeMap<String, BTreeSet<String>>)> {
        let places = [(Scope::Folder, self.folder.as_str()), (Scope::Everywhere, EVERYWHERE)];
        places.into_iter().filter_map(|(scope, place)| Some((scope, rules.0.get(place)?)))
    }
}

const COMMANDS: &str = "Bash";
const COMMANDS_WITH_NETWORK: &str = "Bash network";
const COMMANDS_OUTSIDE: &str = "Bash outside";
const COMMAND_PREFIXES: &str = "Bash prefix";
const EDITS: &str = "edits";
const EDIT: &str = "edit";
const EDIT_IN: &str = "edit in ";
const EDIT_FILE: &str = "edit ";

fn words(rule: &PermissionRule) -> (&str, Cow<'_, str>) {
    match rule {
        PermissionRule::Command(command) => (COMMANDS, command.into()),
        PermissionRule::CommandWithNetwork(command) => (COMMANDS_WITH_NETWORK, command.into()),
        PermissionRule::CommandOutside(command) => (COMMANDS_OUTSIDE, command.into()),
        PermissionRule::CommandPrefix(words) => (COMMAND_PREFIXES, words.into()),
        PermissionRule::Edits => (EDITS, EDIT.into()),
        PermissionRule::EditsIn(folder) => (EDITS, format!("{EDIT_IN}{folder}").into()),
        PermissionRule::File { tool, path } => (tool, format!("{EDIT_FILE}{path}").into()),
        PermissionRule::Tool(tool) => (tool, tool.into()),
        PermissionRule::Own { tool, rule } => (tool, rule.into()),
    }
}

/// Returns the meaning of a rule. An unknown name allows no call.
fn rule(tool: &str, rule: &str) -> PermissionRule {
    match (tool, rule.strip_prefix(EDIT_FILE), rule.strip_prefix(EDIT_IN)) {
        (COMMANDS, ..) => PermissionRule::Command(rule.to_owned()),
        (COMMANDS_WITH_NETWORK, ..) => PermissionRule::CommandWithNetwork(rule.to_owned()),
        (COMMANDS_OUTSIDE, ..) => PermissionRule::CommandOutside(rule.to_owned()),
        (COMMAND_PREFIXES, ..) => PermissionRule::CommandPrefix(rule.to_owned()),
        (EDITS, _, Some(folder)) => PermissionRule::EditsIn(folder.to_owned()),
        (EDITS, ..) if rule == EDIT => PermissionRule::Edits,
        ("Edit" | "Write", Some(path), _) => PermissionRule::File { tool: tool.to_owned(), path: path.to_owned() },
        _ if tool == rule => PermissionRule::Tool(tool.to_owned()),
        _ => PermissionRule::Own { tool: tool.to_owned(), rule: rule.to_owned() },
    }
}

impl Allowed for File {
    fn insert(&self, rule: &PermissionRule) -> io::Result<()> {
        let (tool, rule) = words(rule);
        self.change(|Rules(rules)| {
            let tools = rules.entry(self.folder.clone()).or_default();
            tools.entry(tool.to_owned()).or_default().insert(rule.into_owned());
        })
    }

    fn rules(&self) -> io::Result<Vec<AllowedRule>> {
        let rules = self.read()?;
        let listed = self.here(&rules).flat_map(|(scope, tools)| {
            tools.iter().flat_map(move |(tool, rules)| {
                rules.iter().map(move |words| AllowedRule::new(rule(tool, words), scope))
            })
        });
        Ok(listed.collect())
    }

    fn remove(&self, rule: &AllowedRule) -> io::Result<()> {
        let place = match rule.scope {
            Scope::Everywhere => EVERYWHERE,
            Scope::Folder | Scope::Session => &self.folder,
        };
        let (tool, rule) = words(&rule.rule);
        self.change(|Rules(folders)| {
            let Some(tools) = folders.get_mut(place) else { return };
            if let Some(rules) = tools.get_mut(tool) {
                rules.remove(&*rule);
            }
            tools.retain(|_, rules| !rules.is_empty());
            folders.retain(|_, tools| !tools.is_empty());
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn command(command: &str) -> PermissionRule {
        PermissionRule::Command(command.into())
    }

    impl File {
        fn contains(&self, rule: &PermissionRule) -> bool {
            self.rules().is_ok_and(|rules| rules.iter().any(|kept| kept.rule == *rule))
        }
    }

    #[test]
    fn every_rule_is_written_as_ever_and_read_as_it_was_meant() {
        let own = |tool: &str, rule: &str| PermissionRule::Own { tool: tool.into(), rule: rule.into() };
        let file = |tool: &str, path: &str| PermissionRule::File { tool: tool.into(), path: path.into() };
        for (meant, tool, written) in [
            (command("git status"), "Bash", "git status"),
            (command("edit x"), "Bash", "edit x"),
            (command("Bash"), "Bash", "Bash"),
            (PermissionRule::CommandWithNetwork("npm ci".into()), "Bash network", "npm ci"),
            (PermissionRule::CommandOutside("git push".into()), "Bash outside", "git push"),
            (PermissionRule::CommandPrefix("cargo test".into()), "Bash prefix", "cargo test"),
            (PermissionRule::Edits, "edits", "edit"),
            (PermissionRule::EditsIn("/x y".into()), "edits", "edit in /x y"),
            (file("Edit", "/x/.env"), "Edit", "edit /x/.env"),
            (file("Write", "/x/.env"), "Write", "edit /x/.env"),
            (PermissionRule::Tool("Deploy".into()), "Deploy", "Deploy"),
            (own("Deploy", "edit staging"), "Deploy", "edit staging"),
            // The rule was written by hand, or by an unknown version.
            (own("edits", "all"), "edits", "all"),
            (own("Edit", "edit"), "Edit", "edit"),
        ] {
            assert_eq!(rule(tool, written), meant);
            assert_eq!(words(&meant), (tool, written.into()));
        }
    }

    // Windows has no file modes.
    #[cfg(unix)]
    #[test]
    fn a_file_that_others_can_write_allows_nothing() {
        use std::os::unix::fs::PermissionsExt;
        let state = tempfile::tempdir().unwrap();
        let folder = state.path().join("askuser");
        let rules = File { file: folder.join("allowed.json"), folder: "/a".into() };
        rules.insert(&command("ls")).unwrap();
        let set_mode = |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        for (path, private) in [(&rules.file, 0o600), (&folder, 0o700)] {
            assert!(rules.contains(&command("ls")));
            set_mode(path, private | 0o022);
            assert!(!rules.contains(&command("ls")) && rules.insert(&command("rm")).is_err(), "{}", path.display());
            set_mode(path, private);
        }
    }

    // Windows has no file modes.
    #[cfg(unix)]
    #[test]
    fn the_lock_and_its_folder_are_private() {
        use std::os::unix::fs::PermissionsExt;
        let state = tempfile::tempdir().unwrap();
        let rules = File { file: state.path().join("askuser/allowed.json"), folder: "/a".into() };
        rules.insert(&command("ls")).unwrap();
        let mode = |name: &str| fs::metadata(state.path().join(name)).unwrap().permissions().mode() & 0o777;
        assert_eq!(
            (mode("askuser"), mode("askuser/allowed.lock"), mode("askuser/allowed.json")),
            (0o700, 0o600, 0o600)
        );
    }

    #[test]
    fn what_is_allowed_in_a_folder_is_allowed_there_only_and_for_good() {
        let state = tempfile::tempdir().unwrap();
        let rules = |folder: &str| File { file: state.path().join("allowed.json"), folder: folder.into() };
        rules("/a").insert(&command("cargo test")).unwrap();
        rules("/a").insert(&PermissionRule::Edits).unwrap();
        assert!(rules("/a").contains(&command("cargo test")) && rules("/a").contains(&PermissionRule::Edits));
        assert!(!rules("/b").contains(&command("cargo test")));
        assert!(!rules("/a").contains(&command("cargo test; rm -rf ~")));
    }

    #[test]
    fn rules_that_a_person_wrote_for_every_folder_hold_in_each_and_can_be_taken_back() {
        let state = tempfile::tempdir().unwrap();
        let file = state.path().join("allowed.json");
        fs::write(&file, r#"{"*": {"Bash": ["git status"], "Bash prefix": ["cargo test"]}, "/a": {"Bash": ["ls"]}}"#)
            .unwrap();
        let rules = File { file: file.clone(), folder: "/a".into() };
        let prefix = PermissionRule::CommandPrefix("cargo test".into());
        assert!(rules.contains(&command("git status")) && rules.contains(&prefix));
        let expected = [
            AllowedRule::new(command("ls"), Scope::Folder),
            AllowedRule::new(command("git status"), Scope::Everywhere),
            AllowedRule::new(prefix.clone(), Scope::Everywhere),
        ];
        assert_eq!(rules.rules().unwrap(), expected);
        rules.remove(&expected[0]).unwrap();
        rules.remove(&expected[2]).unwrap();
        assert!(!rules.contains(&command("ls")) && !rules.contains(&prefix));
        let left: serde_json::Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
        assert_eq!(left, serde_json::json!({"*": {"Bash": ["git status"]}}));
    }

    // Only rustix for Linux can create pipes.
    #[cfg(target_os = "linux")]
    #[test]
    fn a_pipe_in_place_of_the_rules_or_their_lock_hangs_nothing_and_allows_nothing() {
        for name in ["allowed.json", "allowed.lock"] {
            let state = tempfile::tempdir().unwrap();
            let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
            rustix::fs::mkfifoat(rustix::fs::CWD, state.path().join(name), mode).unwrap();
            let rules = File { file: state.path().join("allowed.json"), folder: "/a".into() };
            assert!(!rules.contains(&command("ls")));
            let error = rules.insert(&command("ls")).unwrap_err().to_string();
            assert!(error.ends_with("is a pipe, must be a regular file"), "{error}");
        }
    }

    #[test]
    fn a_byte_order_mark_takes_nothing_back() {
        let state = tempfile::tempdir().unwrap();
        let file = state.path().join("allowed.json");
        fs::write(&file, "\u{feff}{\"/a\": {\"Bash\": [\"ls\"]}}").unwrap();
        assert!(File { file, folder: "/a".into() }.contains(&command("ls")));
    }

    #[test]
    fn a_broken_file_allows_nothing_and_is_not_overwritten() {
        let state = tempfile::tempdir().unwrap();
        let file = state.path().join("allowed.json");
        fs::write(&file, "{").unwrap();
        let rules = File { file: file.clone(), folder: "/a".into() };
        assert!(rules.insert(&command("ls")).is_err() && !rules.contains(&command("ls")) && rules.rules().is_err());
        assert_eq!(fs::read_to_string(file).unwrap(), "{");
    }
}
